"""Carries remembered actions over to the present: from the things of then to those that play their roles now.

Candidates are the groundings of the same action that apply at present, so what is lifted always applies, to things
that exist, of types that fit. Among them the one is taken whose things agree best with the remembered ones in their
roles and in how they are related to each other. What follows is lifted step by step along the states that the domain
predicts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.matching import bindings, index_of
from graph_planner_ros.domain.schema import ActionSchema
from graph_planner_ros.domain.state import successor
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.memory.roles import Situation, agreement
from graph_planner_ros.scene.graph import SceneGraph

MAX_GROUNDINGS = 4096
"""Groundings of one action that are compared; more are cut off in the order of their names."""
RELATED_WEIGHT = 0.5
"""How much the relations among the things of an action count beside their own roles."""
_NUMBER = re.compile(r"(\d+)")


@dataclass(frozen=True)
class Lifted:
    """An action carried over: ``binding`` is remembered thing -> present one, ``agreement`` of their roles 0 to 1."""

    action: GroundAction
    binding: Mapping[str, str] = field(hash=False)
    agreement: float


def lift_action(
    remembered: Situation, action: GroundAction, present: Situation, known: Mapping[str, str] | None = None
) -> Lifted | None:
    """Return the present action that comes nearest to a remembered one; None if none applies.

    Args:
        remembered: the situation in which the action was done. present: the situation now.
        known: things that were carried over already; they stay what they are.
    """
    domain = present.domain
    schema = domain.actions.get(action.name)
    if schema is None or len(schema.parameters) != len(action.arguments):
        return None
    fixed = dict(known or {})
    fixed.update({name: name for name in action.arguments if name in domain.constants})
    best: tuple[float, list[object], dict[str, str]] | None = None
    for row in _groundings(present, schema, action, fixed):
        binding = dict(zip(action.arguments, row, strict=True))
        if not _fits(action, row, binding, fixed):
            continue
        score = _score(remembered, present, binding, fixed)
        ties = _natural(row)
        if best is None or (-score, ties) < (-best[0], best[1]):
            best = (score, ties, binding)
    if best is None:
        return None
    score, _, binding = best
    return Lifted(
        GroundAction(action.name, tuple(binding[name] for name in action.arguments)), {**fixed, **binding}, score
    )


def lift_sequence(
    steps: Sequence[tuple[Situation, GroundAction]], first: Lifted, present: Situation, least: float
) -> tuple[GroundAction, ...]:
    """Return what followed the first of some remembered actions, as far as it can be carried over.

    Args:
        steps: situations and the actions done in them, the first one included. first: as it was carried over.
        present: where the first one applies. least: agreement of roles at which a step ends the sequence.
    """
    found: list[GroundAction] = []
    current, lifted = present, first
    for situation, action in steps[1:]:
        after = successor(current.domain, current.state, lifted.action)
        current = Situation(current.domain, after, current.goals, current.given_labels)
        step = lift_action(situation, action, current, lifted.binding)
        if step is None or step.agreement < least:
            break
        lifted = step
        found.append(step.action)
    return tuple(found)


def _groundings(
    present: Situation, schema: ActionSchema, action: GroundAction, fixed: Mapping[str, str]
) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of applicable actions, those that are carried over already fixed."""
    names = [parameter.name for parameter in schema.parameters]
    bound = {name: fixed[value] for name, value in zip(names, action.arguments, strict=True) if value in fixed}
    if not bound and schema.name in present.groundings:
        return iter(present.groundings[schema.name])
    index = index_of(present.domain, present.state)
    found = bindings(index, dict(schema.parameters), schema.preconditions, schema.equalities, bound)
    rows = sorted({tuple(binding[name] for name in names) for binding in islice(found, MAX_GROUNDINGS)})
    legal = [row for row in rows if all(_is_legal(present, name) for name in row)]
    if not bound:
        present.groundings[schema.name] = legal
    return iter(legal)


def _is_legal(present: Situation, name: str) -> bool:
    """Return whether a thing is of a class that the domain knows, or of none, as constants and start places are."""
    label = present.label(name)
    return not label or label in present.domain.classes


def _fits(action: GroundAction, row: tuple[str, ...], binding: Mapping[str, str], fixed: Mapping[str, str]) -> bool:
    """Return whether different things stay different, and the same thing one thing."""
    if any(binding[then] != now for then, now in zip(action.arguments, row, strict=True)):
        return False
    images = {**fixed, **binding}
    return len(set(images.values())) == len(images)


def _score(remembered: Situation, present: Situation, binding: Mapping[str, str], known: Mapping[str, str]) -> float:
    if not binding:
        return 1.0
    own = sum(agreement(remembered.role(then), present.role(now)) for then, now in binding.items()) / len(binding)
    pairs = list(_pairs(binding, known))
    if not pairs:
        return own
    shared = sum(_same_relations(remembered, present, *pair) for pair in pairs) / len(pairs)
    return (own + RELATED_WEIGHT * shared) / (1.0 + RELATED_WEIGHT)


def _pairs(binding: Mapping[str, str], known: Mapping[str, str]) -> Iterable[tuple[tuple[str, str], tuple[str, str]]]:
    yield from combinations(binding.items(), 2)
    others = [entry for entry in known.items() if entry[0] not in binding]
    yield from ((entry, other) for entry in binding.items() for other in others)


def _same_relations(
    remembered: Situation, present: Situation, first: tuple[str, str], second: tuple[str, str]
) -> float:
    then, now = remembered.related(first[0], second[0]), present.related(first[1], second[1])
    union = len(then | now)
    return len(then & now) / union if union else 1.0


def _natural(row: tuple[str, ...]) -> list[object]:
    """Return a key that puts ``shelf_2`` before ``shelf_10``: where roles are alike, the order of names decides."""
    return [(0, int(part)) if part.isdigit() else (1, part) for name in row for part in _NUMBER.split(name)]


def labels_of(scenes: Iterable[SceneGraph], domain: Domain) -> dict[str, str]:
    """Return thing -> class over all scenes of an episode, classes that the domain does not have left out."""
    found: dict[str, str] = {}
    for scene in scenes:
        for name, node in scene.nodes.items():
            if node.label in domain.classes:
                found.setdefault(name, node.label)
    return found
