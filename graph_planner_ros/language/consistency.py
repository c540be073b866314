"""What the domain's actions say about literals: which can be brought about, which exclude each other, which are means.

All of it follows from preconditions and effects; nothing about kitchens is here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import ActionSchema, Literal
from graph_planner_ros.domain.symbols import Goal, GoalLiteral

Binding = Mapping[str, str]
"""Action parameter -> goal variable; a parameter that is missing may be anything."""


def find_ring(domain: Domain, goal: Goal) -> tuple[str, ...]:
    """Return variables of which each is to be in or on the next and the last is the first; empty if there is no ring.

    What a thing is in or on is what the domain's relations of two things say ("subject" and "object").
    """
    places = {entry.predicate for entry in domain.relations.values() if set(entry.arguments) == {"subject", "object"}}
    holders: dict[str, set[str]] = {}
    for literal in goal.literals:
        if literal.positive and literal.predicate in places:
            holders.setdefault(literal.arguments[0], set()).add(literal.arguments[1])
    waiting: list[tuple[str, ...]] = [(name,) for name in holders]
    while waiting:
        path = waiting.pop()
        for holder in holders.get(path[-1], ()):
            if holder == path[0]:
                return (*path, holder)
            if holder not in path:
                waiting.append((*path, holder))
    return ()


class LiteralRules:
    """Answers questions about literals over variables, whose PDDL types are given where they matter."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        hypothesis = domain.hypotheses.action if domain.hypotheses else None
        self._actions = [action for action in domain.actions.values() if action.name != hypothesis]

    # -- classes --------------------------------------------------------------------------------------------------

    def objection(self, predicate: str, positive: bool, index: int, class_name: str) -> str | None:
        """Return why no thing of a class can be argument ``index`` of a literal, or None if it can.

        A static predicate must be a fact of the class. Any other must be brought about by some action that takes such
        things there; if no action does, the predicate's own type decides.
        """
        entry = self._domain.class_of(class_name)
        schema = self._domain.predicates[predicate]
        expected = schema.parameters[index].type_name
        if not self._domain.is_a(entry.type_name, expected):
            return f"{predicate} is about the type {expected}, and {class_name} is a {entry.type_name}"
        if predicate in self._domain.static_predicates:
            if schema.arity == 1 and (predicate in entry.facts) != positive:
                return f"{class_name} is not {predicate}"
            return None
        objections = []
        for action, effect in self._makers(predicate, positive):
            problem = self._unsuitable(action, effect[index], class_name)
            if problem is None:
                return None
            objections.append(problem)
        return objections[0] if objections else None

    def _unsuitable(self, action: ActionSchema, parameter: str, class_name: str) -> str | None:
        entry = self._domain.class_of(class_name)
        expected = {item.name: item.type_name for item in action.parameters}.get(parameter)
        if expected is not None and not self._domain.is_a(entry.type_name, expected):
            return f"{action.name} takes a {expected} there, and {class_name} is a {entry.type_name}"
        for literal in action.preconditions:
            static = literal.predicate in self._domain.static_predicates and literal.arguments == (parameter,)
            if static and (literal.predicate in entry.facts) != literal.positive:
                return f"{action.name} needs what is {literal.predicate}, and {class_name} is not"
        return None

    def _makers(self, predicate: str, positive: bool) -> Iterator[tuple[ActionSchema, tuple[str, ...]]]:
        for action in self._actions:
            for term in action.added if positive else action.deleted:
                if term.predicate == predicate:
                    yield action, term.arguments

    # -- pairs of literals ----------------------------------------------------------------------------------------

    def conflict(self, first: GoalLiteral, second: GoalLiteral, types: Mapping[str, str]) -> bool:
        """Return whether two literals cannot both be made true: each undoes the other, or is its opposite.

        Where the robot is passes by: ``first`` being about that, it is enough that ``second`` leads it elsewhere.

        Args:
            first: what was asked for earlier. second: what is asked for now.
            types: variable -> PDDL type.
        """
        if (first.predicate, first.arguments) == (second.predicate, second.arguments):
            return first.positive != second.positive
        undone, undoes = self._undoes(second, first, types), self._undoes(first, second, types)
        if first.predicate == self._domain.location and undone:
            return True
        return (undone is True and undoes is not False) or (undoes is True and undone is not False)

    def is_means(self, first: GoalLiteral, second: GoalLiteral, types: Mapping[str, str]) -> bool:
        """Return whether ``first`` is only a step towards ``second``: an action for it needs ``first`` and ends it."""
        if not (first.positive and second.positive):
            return False
        for action, binding in self._achievers(second, types):
            needed = any(self._same(literal, first, binding) for literal in action.preconditions if literal.positive)
            if needed and any(self._same(Literal(*term), first, binding) for term in action.deleted):
                return True
        return False

    def _undoes(self, made: GoalLiteral, other: GoalLiteral, types: Mapping[str, str]) -> bool | None:
        """Return whether bringing ``made`` about makes ``other`` false; None if no action brings it about."""
        achievers = list(self._achievers(made, types))
        if not achievers:
            return None
        return any(self._ends(action, binding, other, types) for action, binding in achievers)

    def _ends(self, action: ActionSchema, binding: Binding, other: GoalLiteral, types: Mapping[str, str]) -> bool:
        """Return whether an action, or one that prepares one of its preconditions, makes ``other`` false."""
        if self._ends_directly(action, binding, other, types):
            return True
        for literal in action.preconditions:
            if not literal.positive or literal.predicate in self._domain.static_predicates:
                continue
            if self._may_be(literal, other, binding, action, types):
                continue  # it needs ``other`` itself
            for before, effect in self._makers(literal.predicate, True):
                inner = {
                    parameter: binding[name]
                    for parameter, name in zip(effect, literal.arguments, strict=True)
                    if name in binding
                }
                if self._fits(before, inner, types) and self._ends_directly(before, inner, other, types):
                    return True
        return False

    def _ends_directly(
        self, action: ActionSchema, binding: Binding, other: GoalLiteral, types: Mapping[str, str]
    ) -> bool:
        terms = action.deleted if other.positive else action.added
        return any(self._may_be(Literal(*term), other, binding, action, types) for term in terms)

    def _achievers(self, literal: GoalLiteral, types: Mapping[str, str]) -> Iterator[tuple[ActionSchema, Binding]]:
        for action, effect in self._makers(literal.predicate, literal.positive):
            binding = dict(zip(effect, literal.arguments, strict=True))
            if self._fits(action, binding, types):
                yield action, binding

    def _fits(self, action: ActionSchema, binding: Binding, types: Mapping[str, str]) -> bool:
        return all(
            self._domain.is_a(types[binding[parameter.name]], parameter.type_name)
            for parameter in action.parameters
            if parameter.name in binding
        )

    def _same(self, literal: Literal, other: GoalLiteral, binding: Binding) -> bool:
        arguments = tuple(binding.get(name, "") for name in literal.arguments)
        return (literal.predicate, arguments) == (other.predicate, other.arguments)

    def _may_be(
        self, literal: Literal, other: GoalLiteral, binding: Binding, action: ActionSchema, types: Mapping[str, str]
    ) -> bool:
        """Return whether a literal of an action is ``other`` for some choice of its unbound parameters."""
        if literal.predicate != other.predicate:
            return False
        expected = {parameter.name: parameter.type_name for parameter in action.parameters}
        for name, variable in zip(literal.arguments, other.arguments, strict=True):
            if name in binding:
                if binding[name] != variable:
                    return False
            elif name in expected and not self._domain.is_a(types[variable], expected[name]):
                return False
        return True
