"""Long goals one part after the other: a goal of many literals is planned for with the next few things of it.

The effort of a search grows with every thing that a goal speaks of, and what is seen on the way changes the plan
anyway.
"""

from __future__ import annotations

from dataclasses import replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import unmet_literals
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, SymbolicState

MOST_LITERALS = 10
"""Literals that are to be achieved by one plan, unless one thing alone has more."""


def next_part(domain: Domain, state: SymbolicState, goal: Goal, most: int = MOST_LITERALS) -> Goal:
    """Return the goal if it is short, else one that asks for what is reached of it and for some more things.

    Only goals that name their things are taken apart: others would need the same choice of things in every part. Things
    that are at hand come first; where the robot is to be at the end comes last.

    Args:
        domain: of the goal. state: what is believed. goal: to be reached.
        most: literals that are still to be achieved.
    """
    named = {variable.name: variable.instance for variable in goal.variables if variable.instance is not None}
    if not named:
        return goal
    unmet = unmet_literals(goal, state, domain)
    parts: dict[str, list[GoalLiteral]] = {}
    for literal in unmet:
        parts.setdefault(literal.arguments[0] if literal.arguments else "", []).append(literal)
    if len(unmet) <= most or not parts.keys() - {""} <= named.keys() | _ends(domain, goal):
        return goal
    order = sorted((name for name in parts if name in named), key=lambda name: named[name] not in state.objects)
    chosen: set[GoalLiteral] = set()
    for name in order:
        if chosen and len(chosen) + len(parts[name]) > most:
            break
        chosen.update(parts[name])
    if not chosen:
        return goal
    left = [literal for literal in unmet if literal not in chosen]
    literals = tuple(item for item in goal.literals if item not in left and item.predicate != domain.location)
    used = {name for literal in literals for name in literal.arguments}
    distinct = tuple(group for row in goal.distinct if len(group := tuple(n for n in row if n in used)) > 1)
    variables = tuple(variable for variable in goal.variables if variable.name in used)
    return replace(goal, variables=variables, literals=literals, distinct=distinct)


def _ends(domain: Domain, goal: Goal) -> set[str]:
    """Return variables of which the goal says only that the robot is to be there."""
    about: dict[str, set[str]] = {}
    for literal in goal.literals:
        for name in literal.arguments:
            about.setdefault(name, set()).add(literal.predicate)
    return {name for name, predicates in about.items() if predicates == {domain.location}}
