"""What the memory has to say at a moment, in words."""

from __future__ import annotations

from collections.abc import Sequence

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.domain.wording import describe_action
from graph_planner_ros.memory.retrieval import RetrievedAction
from graph_planner_ros.memory.state_graph import Loop


def describe_advice(
    domain: Domain, retrieved: Sequence[RetrievedAction], loop: Loop | None = None, following: int = 3
) -> str:
    """Return advice as short sentences for people and prompts; empty if there is none.

    Args:
        retrieved: remembered actions, best first. loop: that the last action closed; None if it closed none.
        following: actions that are told after each remembered one.
    """
    lines = []
    if loop is not None:
        words = " -> ".join(_words(domain, loop.actions))
        times = f", {loop.turns} times in a row" if loop.turns > 1 else ""
        lines.append(f"You went in a circle{times}: {words}.")
    for item in retrieved:
        words = ", then ".join(_words(domain, (item.action, *item.following[:following])))
        lines.append(f"In a similar situation (distance {item.distance:.2f}): {words}.")
    return "\n".join(lines)


def _words(domain: Domain, actions: Sequence[GroundAction]) -> list[str]:
    return [describe_action(domain, action) for action in actions]
