"""Scene graphs that come by topic: what is taken of them, and what is said about the rest."""

from __future__ import annotations

from collections.abc import Callable

from graph_planner_ros import msg as messages
from graph_planner_ros.conversions import graph_from_msg
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.scene.admission import known_part, summary
from graph_planner_ros.scene.graph import SceneGraph


def receive_graph(
    message: messages.SceneGraph, domain: Domain, complain: Callable[[str], None], what: str = "scene graph"
) -> SceneGraph | None:
    """Return what the domain knows of a scene graph; None if it is of another domain or something in it cannot be.

    Args:
        complain: gets a sentence for a graph that is refused or taken in part. what: its name in the sentence.
    """
    if message.domain and message.domain != domain.name:
        complain(f"{what} of domain '{message.domain}' ignored; this is '{domain.name}'")
        return None
    try:
        graph, left_out = known_part(graph_from_msg(message), domain)
    except ValueError as error:
        complain(f"{what} refused: {error}")
        return None
    if left_out:
        complain(f"{what}: {summary(left_out)}")
    return graph
