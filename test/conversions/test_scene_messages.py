"""Scene graphs come back from their messages as they were; what cannot be is refused by name."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from message_values import FINE, GRAPHS, HOUSEHOLD, leaves, put, same_box, through_the_wire

import graph_planner_ros.msg as messages
from graph_planner_ros import conversions
from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.scene.admission import known_part
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import Attribute, Box, Relation, SceneGraph, SceneNode


@FINE
@given(GRAPHS)
def test_scene_graphs_come_back(graph: SceneGraph) -> None:
    back = conversions.graph_from_msg(through_the_wire(conversions.graph_to_msg(graph)))
    assert (back.frame_id, back.domain, back.revision) == (graph.frame_id, graph.domain, graph.revision)
    assert list(back.nodes) == list(graph.nodes)
    for name, node in graph.nodes.items():
        other = back.nodes[name]
        assert (other.label, other.presence, other.source) == (node.label, node.presence, node.source)
        assert (other.observations, other.confidence) == (node.observations, node.confidence)
        assert other.last_seen == pytest.approx(node.last_seen, abs=1e-6)
        assert other.first_seen == pytest.approx(node.first_seen, abs=1e-6)
        assert same_box(other.box, node.box) and same_box(other.containment, node.containment)
        assert {k: (a.value, a.source, a.confidence) for k, a in other.attributes.items()} == {
            k: (a.value, a.source, a.confidence) for k, a in node.attributes.items()
        }
    assert back.limits == graph.limits
    triples = [(r.subject, r.predicate, r.object, r.value, r.source) for r in graph.relations]
    assert [(r.subject, r.predicate, r.object, r.value, r.source) for r in back.relations] == triples


NONSENSE: tuple[Any, ...] = (math.nan, math.inf, -math.inf, -1.0, 1e300, 255, -1, 2**31 - 1, "")


def full_graph() -> messages.SceneGraph:
    box = Box(np.array([1.0, 2.0, 0.5]), np.array([0.1, 0.1, 0.1]), 0.3)
    mug = SceneNode("mug_1", "Mug", box, box, attributes={"dirty": Attribute("dirty", Truth.TRUE)}, observations=3)
    table = SceneNode("table", "DiningTable", box, box)
    nodes = {"mug_1": mug, "table": table}
    return conversions.graph_to_msg(
        SceneGraph("map", 5.0, "household", 1, nodes, [Relation("mug_1", "on", "table", stamp=4.0)], {"holding": 1})
    )


@pytest.mark.parametrize("path", list(leaves(full_graph())), ids=str)
@pytest.mark.parametrize("value", NONSENSE, ids=repr)
def test_nonsense_in_a_scene_graph_is_refused_by_name_or_can_be_planned_with(path: Any, value: Any) -> None:
    message = full_graph()
    try:
        put(message, path, value)
    except AssertionError:
        return  # the middleware cannot carry it either
    try:
        graph = conversions.graph_from_msg(message)
    except ValueError as error:
        assert re.search(r"node|relation|scene graph|limit", str(error))  # what is wrong is named
        return
    known, _ = known_part(graph, HOUSEHOLD)
    symbolic_state(known, HOUSEHOLD)
    conversions.graph_to_msg(known)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("nodes", 0, "pose", "position", "x"), math.nan, "'mug_1'.*centre"),
        (("nodes", 0, "pose", "orientation", "w"), math.nan, "'mug_1'.*quaternion"),
        (("nodes", 0, "containment_extent", "y"), -0.1, "'mug_1'.*containment"),
        (("nodes", 0, "instance_id"), "", "instance id"),
        (("nodes", 1, "instance_id"), "mug_1", "mug_1"),
        (("nodes", 0, "presence"), 9, "'mug_1'.*presence.*9"),
        (("nodes", 0, "confidence"), 1.5, "'mug_1'.*confidence"),
        (("nodes", 0, "last_seen", "sec"), -3, "'mug_1'.*last_seen"),
        (("nodes", 0, "attributes", 0, "value"), 7, "'mug_1'.*'dirty'.*7"),
        (("relations", 0, "value"), 7, "'mug_1 on table'.*7"),
        (("relations", 0, "confidence"), math.nan, "'mug_1 on table'.*confidence"),
        (("relations", 0, "stamp", "sec"), -1, "'mug_1 on table'.*stamp"),
        (("relations", 0, "predicate"), "", "predicate"),
        (("header", "stamp", "sec"), -5, "scene graph.*stamp"),
        (("limits", 0, "predicate"), "", "limit.*predicate"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_with_the_thing_and_the_field(path: Any, value: Any, words: str) -> None:
    message = full_graph()
    put(message, path, value)
    with pytest.raises(ValueError, match=words):
        conversions.graph_from_msg(message)


def test_two_nodes_of_one_id_are_refused_by_name() -> None:
    message = messages.SceneGraph(nodes=[messages.SceneNode(instance_id="mug_1")] * 2)
    with pytest.raises(ValueError, match="mug_1"):
        conversions.graph_from_msg(message)
