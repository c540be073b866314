"""The task graph: subtasks, which may follow which, and plans of subtasks executed symbolically (GraphThink III-A)."""

from graph_planner_ros.planning.task_graph.checks import (
    KnownThings,
    Objection,
    ObjectionKind,
    check_edges,
    check_nodes,
)
from graph_planner_ros.planning.task_graph.exports import edge_lines
from graph_planner_ros.planning.task_graph.graph import Edge, EdgeKind, NodeParameter, SubtaskNode, TaskGraph
from graph_planner_ros.planning.task_graph.refinement import MAX_SUBTASKS, Refinement, Refiner
from graph_planner_ros.planning.task_graph.semantic import SemanticCheck, semantic_check
from graph_planner_ros.planning.task_graph.subtasks import Subtask, implied_parameters, said_parameters, subtasks_of

__all__ = [
    "MAX_SUBTASKS",
    "Edge",
    "EdgeKind",
    "KnownThings",
    "NodeParameter",
    "Objection",
    "ObjectionKind",
    "Refinement",
    "Refiner",
    "SemanticCheck",
    "Subtask",
    "SubtaskNode",
    "TaskGraph",
    "check_edges",
    "check_nodes",
    "edge_lines",
    "implied_parameters",
    "said_parameters",
    "semantic_check",
    "subtasks_of",
]
