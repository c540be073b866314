"""What a part of a plan had better leave alone, so that the parts that come later can be reached."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import ActionSchema
from graph_planner_ros.domain.symbols import Goal, GroundAction, SymbolicState
from graph_planner_ros.planning.problem import ANY, is_excluded
from graph_planner_ros.planning.relevance import eligible, things_of


def find_bystanders(domain: Domain, state: SymbolicState, needed: Collection[str]) -> frozenset[str]:
    """Return the things that can only be in the way: no action asks for what they are, and they are not needed."""
    asked = {
        literal.predicate
        for action in domain.actions.values()
        for literal in action.preconditions
        if literal.predicate in domain.static_predicates
    }
    plain = {name for name, entry in domain.classes.items() if asked.isdisjoint(entry.facts)}
    return frozenset(name for label in plain for name in things_of(domain, state, label)).difference(needed)


def spoiling_actions(
    domain: Domain, state: SymbolicState, goal: Goal, wanted: Collection[str]
) -> tuple[GroundAction, ...]:
    """Return actions that join something wanted to something else for good, where the goal does not ask for that.

    Args:
        goal: of this part. wanted: everything that the whole goal speaks of.
    """
    fitting = {variable.name: eligible(domain, state, goal, variable.name) for variable in goal.variables}
    undone = {term.predicate for action in domain.actions.values() for term in action.deleted}
    found = []
    for action in domain.actions.values():
        for term in action.added:
            if term.predicate in undone or len(term.arguments) != 2:
                continue
            asked = {
                pair
                for literal in goal.literals
                if literal.positive and literal.predicate == term.predicate
                for pair in itertools.product(*(fitting.get(name, (name,)) for name in literal.arguments))
            }
            for pair in _pairs(domain, state, action, term.arguments):
                if not set(wanted).isdisjoint(pair) and pair not in asked:
                    found.append(_with(action, term.arguments, pair))
    return tuple(found)


def count_spoiling(domain: Domain, state: SymbolicState, goal: Goal, actions: Iterable[GroundAction]) -> int:
    """Return how many actions of a plan join something of the goal, which names its things, to what is not wanted."""
    wanted = {variable.instance for variable in goal.variables if variable.instance is not None}
    banned = spoiling_actions(domain, state, goal, wanted)
    return sum(is_excluded(action, banned) for action in actions)


def mixing_actions(
    domain: Domain, state: SymbolicState, wanted: Collection[str], own: Collection[str], material: Collection[str]
) -> tuple[GroundAction, ...]:
    """Return actions that bring together what had better stay apart.

    That is: what the whole goal speaks of with what it does not, and with what this part is not about.

    Args:
        wanted: everything that the whole goal speaks of. own: what this part is about.
        material: types of the things that the goal wants something of.
    """
    found = []
    for action in domain.actions.values():
        types = dict(action.parameters)
        for ends in sorted({term.arguments for term in action.added if len(term.arguments) == 2}):
            if not all(types.get(name) in material for name in ends):
                continue
            for pair in _pairs(domain, state, action, ends):
                both = set(pair)
                if len(both) == 2 and not both.isdisjoint(wanted) and (both.isdisjoint(own) or both.difference(wanted)):
                    found.append(_with(action, ends, pair))
    return tuple(found)


def _pairs(
    domain: Domain, state: SymbolicState, action: ActionSchema, ends: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the things that two parameters of an action may stand for."""
    types = dict(action.parameters)
    rows = [[name for name, of in state.objects.items() if domain.is_a(of, types[end])] for end in ends]
    first, second = rows
    yield from itertools.product(first, second)


def _with(action: ActionSchema, ends: Sequence[str], pair: Sequence[str]) -> GroundAction:
    """Return all groundings of an action in which two parameters stand for certain things."""
    values = dict(zip(ends, pair, strict=True))
    return GroundAction(action.name, tuple(values.get(name, ANY) for name, _ in action.parameters))
