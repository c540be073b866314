"""Other ways to do what an action does: with the same thing and to the same end, but elsewhere or with another tool."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import ActionSchema
from graph_planner_ros.domain.symbols import GroundAction


class Alternatives:
    """Finds actions that could stand for others.

    Args:
        domain: of the actions. objects: name -> type of everything that they may be about.
    """

    def __init__(self, domain: Domain, objects: Mapping[str, str]) -> None:
        self._domain = domain
        self._objects = objects
        self._known: dict[tuple[str, str], list[GroundAction]] = {}
        self._subjects: dict[str, int] = {}
        self._by_type: dict[str, list[str]] = {}

    def of(self, action: GroundAction) -> list[GroundAction]:
        """Return all actions that do something alike with the same thing, itself included."""
        if not action.arguments:
            return [action]
        key = (action.name, action.arguments[self._subject(action.name)])
        if key not in self._known:
            self._known[key] = [row for schema in self._alike(action.name) for row in self._rows(schema, key[1])]
        return self._known[key]

    def _rows(self, schema: ActionSchema, thing: str) -> list[GroundAction]:
        fixed = self._subject(schema.name)
        choices = [
            [thing] if index == fixed else self._of_type(type_name)
            for index, (_, type_name) in enumerate(schema.parameters)
        ]
        return [GroundAction(schema.name, row) for row in itertools.product(*choices)]

    def _of_type(self, type_name: str) -> list[str]:
        if type_name not in self._by_type:
            self._by_type[type_name] = sorted(n for n, of in self._objects.items() if self._domain.is_a(of, type_name))
        return self._by_type[type_name]

    def _subject(self, name: str) -> int:
        """Return which parameter of an action its effects are about most."""
        if name not in self._subjects:
            schema = self._domain.action(name)
            terms = (*schema.added, *schema.deleted)
            counts = [sum(parameter.name in term.arguments for term in terms) for parameter in schema.parameters]
            self._subjects[name] = counts.index(max(counts)) if counts else 0
        return self._subjects[name]

    def _alike(self, name: str) -> list[ActionSchema]:
        """Return an action and those that make the same predicate true of their own subject."""
        schema = self._domain.action(name)
        wanted = self._outcome(schema)
        others = [
            other
            for other in self._domain.actions.values()
            if other is not schema
            and other.parameters
            and other.name not in self._domain.delays
            and not wanted.isdisjoint(self._outcome(other))
        ]
        return [schema, *others]

    def _outcome(self, schema: ActionSchema) -> set[tuple[str, int]]:
        subject = schema.parameters[self._subject(schema.name)].name
        return {
            (term.predicate, term.arguments.index(subject))
            for term in schema.added
            if len(term.arguments) > 1 and subject in term.arguments
        }
