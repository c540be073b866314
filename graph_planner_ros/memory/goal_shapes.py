"""When two tasks ask for the same kind of thing: goals compared by what they say, not by the names in them."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from graph_planner_ros.domain.symbols import Goal, GoalVariable


class GoalTier(enum.IntEnum):
    """How much two tasks have in common; more is better."""

    OTHER = 0
    RELATED = 1
    SAME_SHAPE = 2
    SAME_CLASSES = 3


@dataclass(frozen=True, order=True)
class GoalMatch:
    """Attributes: tier: see `GoalTier`. overlap: share of literals that both have, classes counted, 0 to 1."""

    tier: GoalTier
    overlap: float


_Literal = tuple[str, bool, tuple[tuple[str, ...], ...]]


def match_goals(first: Iterable[Goal], second: Iterable[Goal]) -> GoalMatch:
    """Compare the goals of two tasks.

    They have the same shape if their literals are the same up to a renaming of variables and classes; RELATED if they
    share a predicate.
    """
    one, two = tuple(first), tuple(second)
    literals, others = _literals(one, True), _literals(two, True)
    union = sum((literals | others).values())
    overlap = sum((literals & others).values()) / union if union else 1.0
    if _shape(one, True) == _shape(two, True):
        return GoalMatch(GoalTier.SAME_CLASSES, 1.0)
    if _shape(one, False) == _shape(two, False):
        return GoalMatch(GoalTier.SAME_SHAPE, overlap)
    predicates = {(name, positive) for name, positive, _ in literals}
    related = any((name, positive) in predicates for name, positive, _ in others)
    return GoalMatch(GoalTier.RELATED if related else GoalTier.OTHER, overlap)


@lru_cache(maxsize=1024)
def _literals(goals: tuple[Goal, ...], classes: bool) -> Counter[_Literal]:
    found: Counter[_Literal] = Counter()
    for goal in goals:
        variables = {variable.name: variable for variable in goal.variables}
        for literal in goal.literals:
            row = tuple(_kind(variables.get(name), name, classes) for name in literal.arguments)
            found[literal.predicate, literal.positive, row] += 1
    return found


@lru_cache(maxsize=1024)
def _shape(goals: tuple[Goal, ...], classes: bool) -> tuple[tuple[object, ...], ...]:
    """Return goals with their variables named after what is said of them, in an order that names do not change."""
    return tuple(sorted((_goal_shape(goal, classes) for goal in goals), key=repr))


def _goal_shape(goal: Goal, classes: bool) -> tuple[object, ...]:
    variables = {variable.name: variable for variable in goal.variables}
    colours: dict[str, object] = {name: _kind(variable, name, classes) for name, variable in variables.items()}
    for _ in range(2):
        colours = {name: (colours[name], tuple(sorted((_uses(goal, name, colours)), key=repr))) for name in variables}
    literals = [
        (item.predicate, item.positive, tuple(colours.get(name, name) for name in item.arguments))
        for item in goal.literals
    ]
    distinct = [tuple(sorted((colours.get(name, name) for name in group), key=repr)) for group in goal.distinct]
    return tuple(sorted(literals, key=repr)), tuple(sorted(distinct, key=repr))


def _uses(goal: Goal, name: str, colours: dict[str, object]) -> Iterable[object]:
    for literal in goal.literals:
        for position, argument in enumerate(literal.arguments):
            if argument == name:
                others = tuple("*" if other == name else colours.get(other, other) for other in literal.arguments)
                yield literal.predicate, literal.positive, position, others


def _kind(variable: GoalVariable | None, name: str, classes: bool) -> tuple[str, ...]:
    if variable is None:
        return ("constant", name)
    return (variable.type_name, variable.class_name or "") if classes else (variable.type_name,)
