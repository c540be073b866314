"""Bounded lookahead, P(s) = {(a, T(s, a)) : a applies in s} (GiG): what each action would lead to, one step ahead.

Where the domain tells the effects of an action, T is the domain's. Where it does not, T is what was learned, and only
if that is sure enough; else the action is left out: a wrong successor is worse than none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.state import applicable_actions, is_applicable, successor
from graph_planner_ros.domain.symbols import GroundAction, SymbolicState
from graph_planner_ros.memory.transition_model import Prediction, TransitionModel
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import SceneGraph

LEAST_CONFIDENCE = 0.8
"""Confidence below which a learned successor is not used."""


@dataclass(frozen=True)
class Projection:
    """An action and the state that it leads to.

    Attributes:
        known: the domain told the effects; else they were learned. confidence: 1 if known.
        scene: the predicted scene; None if the domain told the effects.
    """

    action: GroundAction
    state: SymbolicState
    known: bool = True
    confidence: float = 1.0
    scene: SceneGraph | None = None


def effects_are_known(domain: Domain, action: GroundAction) -> bool:
    """Return whether the domain says what an action changes."""
    schema = domain.actions.get(action.name)
    return schema is not None and bool(schema.added or schema.deleted)


def lookahead(
    domain: Domain,
    state: SymbolicState,
    *,
    scene: SceneGraph | None = None,
    model: TransitionModel | None = None,
    least_confidence: float = LEAST_CONFIDENCE,
    actions: Iterable[GroundAction] | None = None,
    untold: Collection[str] = (),
    history: Sequence[GroundAction] = (),
) -> tuple[Projection, ...]:
    """Return what each action would lead to.

    Args:
        scene: the state as a scene; learned successors need it. model: learned effects; None: only the domain's.
        actions: to project; all that apply if left out. Those of the domain that do not apply are left out.
        untold: actions whose effects in the domain are not to be relied on, such as those that show what is not known.
        history: actions before the state, newest last; learned effects may depend on it.

    Raises:
        ValueError: the least confidence is no number from 0 to 1.
    """
    if not 0.0 <= least_confidence <= 1.0:
        raise ValueError(f"a confidence lies between 0 and 1, not {least_confidence}")
    found: list[Projection] = []
    for action in applicable_actions(domain, state) if actions is None else actions:
        if action.name in domain.actions and not is_applicable(domain, state, action):
            continue
        if effects_are_known(domain, action) and action.name not in untold:
            found.append(Projection(action, successor(domain, state, action)))
        elif model is not None and scene is not None:
            learned = _learned(domain, scene, model.predict(scene, action, history), least_confidence)
            if learned is not None:
                found.append(learned)
    return tuple(found)


def _learned(domain: Domain, scene: SceneGraph, prediction: Prediction, least: float) -> Projection | None:
    if not prediction.votes or prediction.confidence < least:
        return None
    after = prediction.apply(scene)
    try:
        return Projection(prediction.action, symbolic_state(after, domain), False, prediction.confidence, after)
    except DomainError:
        return None  # a scene with a class that the domain does not have is no state
