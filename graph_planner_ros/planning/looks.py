"""What a look for something unseen has found: its placeholder gets the name of a thing."""

from __future__ import annotations

from dataclasses import replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.planning.hypotheses import PLACEHOLDER_PREFIX, find_arguments
from graph_planner_ros.planning.tracking import place_of
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import SceneGraph


def name_what_was_found(
    domain: Domain, before: SceneGraph, after: SceneGraph, action: GroundAction
) -> tuple[GroundAction, bool]:
    """Return an action with the name of what it found, and whether it found anything.

    Actions that look for nothing unseen stay as they are. A look in vain keeps its placeholder.

    Args:
        before, after: what was believed before and after the action, which was carried out.
    """
    hypotheses = domain.hypotheses
    if hypotheses is None or action.name != hypotheses.action:
        return action, True
    thing, place = find_arguments(domain, action.arguments)
    if thing in before.nodes:
        return action, True
    found = _newest(domain, before, after, thing, place)
    if found is None:
        return action, False
    return replace(action, arguments=tuple(found if name == thing else name for name in action.arguments)), True


def _newest(domain: Domain, before: SceneGraph, after: SceneGraph, placeholder: str, place: str) -> str | None:
    """Return the newest thing in a place of the class that a placeholder stands for; None without one."""
    state = symbolic_state(after, domain)
    stem = placeholder.removeprefix(PLACEHOLDER_PREFIX).rpartition("_")[0]
    here = [
        name
        for name, node in after.nodes.items()
        if node.label.lower() == stem and name in state.objects and place_of(domain, state, name) == place
    ]
    return min(here, key=lambda name: (name in before.nodes, -after.nodes[name].first_seen, name), default=None)
