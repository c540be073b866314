"""Whether a goal holds in the belief."""

from __future__ import annotations

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import goal_holds
from graph_planner_ros.domain.symbols import Goal
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import SceneGraph


def goal_is_believed(graph: SceneGraph, goal: Goal, domain: Domain) -> bool:
    """Return whether a goal holds in what is believed present; things nobody has seen cannot fulfil it."""
    return goal_holds(goal, symbolic_state(graph, domain), domain)
