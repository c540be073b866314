"""What part a thing plays in a situation, and how well a thing of another situation would play it.

Names mean nothing across homes. What a thing is to a task is its class and type, its place in the goal, its attributes
and its relations to the other things. `agreement` compares these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Goal, SymbolicState

_GoalRole = tuple[str, int, bool]
_Link = tuple[str, int, str, frozenset[_GoalRole], int]

_Item = TypeVar("_Item")

CLASS_WEIGHT = 2.0
GOAL_WEIGHT = 2.0
ATTRIBUTE_WEIGHT = 1.5
RELATION_WEIGHT = 1.5
"""How much each part of a role counts in the agreement of two."""
ANY = "*"
"""Stands for a thing that has no place in a goal."""
SAME_PART = 0.6
"""How much a thing of another class counts that has the same place in its goal."""
SAME_TYPE = 0.3
"""How much a thing of another class counts that has the same type."""


@dataclass(frozen=True)
class Role:
    """What part a thing plays.

    Attributes:
        label: its class; empty if it has none. type_name: its PDDL type; empty if it is not in the state.
        attributes: predicates that are true of it alone.
        goal: (predicate, position, positive) of the goal's literals that may be about it.
        links: (predicate, position, class and goal roles of the other thing, number of such a link).
    """

    label: str
    type_name: str
    attributes: frozenset[str]
    goal: frozenset[_GoalRole]
    links: frozenset[_Link]


class Situation:
    """A state with the goals that are pursued in it.

    Args:
        domain: of both. state: what is true. goals: of the task.
        labels: thing -> class, for things whose class the state does not say.

    Attributes:
        groundings: action -> arguments with which it applies, as far as they were asked for.
    """

    def __init__(
        self, domain: Domain, state: SymbolicState, goals: Iterable[Goal], labels: Mapping[str, str] | None = None
    ) -> None:
        self.domain = domain
        self.state = state
        self.goals = tuple(goals)
        self.given_labels = dict(labels or {})
        self.groundings: dict[str, list[tuple[str, ...]]] = {}
        self._roles: dict[str, Role] = {}
        self._goal_roles: dict[str, frozenset[_GoalRole]] = {}

    def role(self, name: str) -> Role:
        """Return the role of a thing; that of a thing that is not in the state is its class and place in the goal."""
        role = self._roles.get(name)
        if role is None:
            role = self._roles[name] = Role(
                self.label(name),
                self.type_of(name),
                frozenset(self._facts.get(name, ())),
                self.goal_roles(name),
                self._counted_links(name),
            )
        return role

    def label(self, name: str) -> str:
        """Return the class of a thing, empty if nobody knows it."""
        return self._labels.get(name) or self.given_labels.get(name, "")

    def type_of(self, name: str) -> str:
        """Return the type of a thing, empty if it has none."""
        known = self.state.objects.get(name) or self.domain.constants.get(name)
        if known is None and self.label(name) in self.domain.classes:
            known = self.domain.classes[self.label(name)].type_name
        return known or ""

    def goal_roles(self, name: str) -> frozenset[_GoalRole]:
        """Return the places in the goals' literals that a thing may take."""
        known = self._goal_roles.get(name)
        if known is not None:
            return known
        label, of = self.label(name), self.type_of(name)
        found: set[_GoalRole] = set()
        for number, goal in enumerate(self.goals):
            for variable in goal.variables:
                if variable.instance is not None:
                    fits = variable.instance == name
                elif variable.class_name is not None:
                    fits = variable.class_name == label
                else:
                    fits = self.domain.is_a(of, variable.type_name)
                if fits:
                    found.update(self._places[number, variable.name])
        self._goal_roles[name] = frozenset(found)
        return self._goal_roles[name]

    def related(self, first: str, second: str) -> frozenset[tuple[str, bool]]:
        """Return the predicates that tie two things together, each with whether the first comes first."""
        return self._pairs.get((first, second), frozenset())

    @cached_property
    def progress(self) -> Counter[tuple[object, ...]]:
        """How far the goals are, as far as facts tell: those about things with a place in a goal, counted.

        Things are told by their places in the goals, and all others that have a class are alike. So other things in
        another home are as far if the same holds of them.
        """
        counts: Counter[tuple[object, ...]] = Counter()
        for atom in self.state.atoms:
            if atom.predicate == self.domain.class_predicate:
                continue
            parts = [self.goal_roles(name) for name in atom.arguments]
            if any(parts):
                pairs = zip(parts, atom.arguments, strict=True)
                counts[(atom.predicate, *(part or (ANY if self.label(name) else name) for part, name in pairs))] += 1
        return counts

    @cached_property
    def _places(self) -> dict[tuple[int, str], frozenset[_GoalRole]]:
        return {
            (number, variable.name): frozenset(
                (literal.predicate, position, literal.positive)
                for literal in goal.literals
                for position, argument in enumerate(literal.arguments)
                if argument == variable.name
            )
            for number, goal in enumerate(self.goals)
            for variable in goal.variables
        }

    @cached_property
    def _labels(self) -> dict[str, str]:
        wanted = self.domain.class_predicate
        return {
            atom.arguments[0]: atom.arguments[1]
            for atom in self.state.atoms
            if atom.predicate == wanted and len(atom.arguments) == 2
        }

    @cached_property
    def _facts(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for atom in self.state.atoms:
            if len(atom.arguments) == 1:
                found.setdefault(atom.arguments[0], set()).add(atom.predicate)
        return found

    @cached_property
    def _links(self) -> dict[str, list[tuple[str, int, str]]]:
        found: dict[str, list[tuple[str, int, str]]] = {}
        for atom in self.state.atoms:
            if len(atom.arguments) < 2 or atom.predicate == self.domain.class_predicate:
                continue
            for position, name in enumerate(atom.arguments):
                for other in atom.arguments[:position] + atom.arguments[position + 1 :]:
                    found.setdefault(name, []).append((atom.predicate, position, other))
        return found

    @cached_property
    def _pairs(self) -> dict[tuple[str, str], frozenset[tuple[str, bool]]]:
        found: dict[tuple[str, str], set[tuple[str, bool]]] = {}
        for atom in self.state.atoms:
            if len(atom.arguments) == 2 and atom.predicate != self.domain.class_predicate:
                first, second = atom.arguments
                found.setdefault((first, second), set()).add((atom.predicate, True))
                found.setdefault((second, first), set()).add((atom.predicate, False))
        return {pair: frozenset(names) for pair, names in found.items()}

    def _counted_links(self, name: str) -> frozenset[_Link]:
        counts: Counter[tuple[str, int, str, frozenset[_GoalRole]]] = Counter(
            (predicate, position, self.label(other), self.goal_roles(other))
            for predicate, position, other in self._links.get(name, ())
        )
        return frozenset((*link, number) for link, count in counts.items() for number in range(count))


@lru_cache(maxsize=1 << 16)
def agreement(first: Role, second: Role) -> float:
    """Return how well a thing with the second role would play the first, 0 to 1."""
    if first.label and first.label == second.label:
        same_class = 1.0
    elif first.goal and first.goal == second.goal:
        same_class = SAME_PART
    else:
        same_class = SAME_TYPE if first.type_name and first.type_name == second.type_name else 0.0
    parts = (
        (CLASS_WEIGHT, same_class),
        (GOAL_WEIGHT, _overlap(first.goal, second.goal)),
        (ATTRIBUTE_WEIGHT, _overlap(first.attributes, second.attributes)),
        (RELATION_WEIGHT, _overlap(first.links, second.links)),
    )
    return sum(weight * value for weight, value in parts) / sum(weight for weight, _ in parts)


def _overlap(first: frozenset[_Item], second: frozenset[_Item]) -> float:
    union = len(first | second)
    return len(first & second) / union if union else 1.0
