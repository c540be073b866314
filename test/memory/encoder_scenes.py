"""Scenes for tests of the graph encoder, made up by hypothesis, and the changes that must not matter."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import strategies as st

from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.scene.graph import ROBOT_ID, Attribute, Box, Presence, Relation, SceneGraph, SceneNode

CLASSES = ("Cabinet", "Mug", "DiningTable", "mug", "stove_burner", "")
"""Few, so that many examples need few sentence vectors."""
PREDICATES = ("on", "in", "holding", "nextTo")
ATTRIBUTES = ("open", "is_dirty", "switched_on")


@st.composite
def scenes(draw: st.DrawFn) -> SceneGraph:
    """Draw a scene, as messages and files may bring it: with the robot or without, with ends that are not listed."""
    names = draw(st.lists(st.text(min_size=1, max_size=4), unique=True, max_size=8))
    graph = SceneGraph()
    for name in names:
        attributes = draw(st.dictionaries(st.sampled_from(ATTRIBUTES), st.sampled_from(Truth), max_size=3))
        graph.nodes[name] = SceneNode(
            name,
            draw(st.sampled_from(CLASSES)),
            presence=draw(st.sampled_from(Presence)),
            attributes={key: Attribute(key, value) for key, value in attributes.items()},
        )
    ends = st.sampled_from([*names, ROBOT_ID, "not listed"])
    for _ in range(draw(st.integers(0, 8))):
        graph.relations.append(
            Relation(draw(ends), draw(st.sampled_from(PREDICATES)), draw(ends), draw(st.sampled_from(Truth)))
        )
    return graph


def disguised(scene: SceneGraph, seed: int) -> SceneGraph:
    """Return the same scene under other names, in another order, at another time, with boxes that are not numbers."""
    rng = random.Random(seed)
    names = {name for relation in scene.relations for name in (relation.subject, relation.object)} | set(scene.nodes)
    order = sorted(names - {ROBOT_ID})
    rng.shuffle(order)
    new = {name: f"thing_{number}" for number, name in enumerate(order)} | {ROBOT_ID: ROBOT_ID}
    nodes = [
        SceneNode(
            new[name],
            node.label,
            box=Box(np.full(3, np.nan), np.full(3, np.inf), float("nan")),
            presence=node.presence,
            attributes=dict(rng.sample(sorted(node.attributes.items()), len(node.attributes))),
            source="elsewhere",
            first_seen=3.0,
            last_seen=rng.uniform(3.0, 9.0),
            observations=rng.randrange(9),
            confidence=rng.random(),
        )
        for name, node in scene.nodes.items()
    ]
    relations = [
        Relation(new[item.subject], item.predicate, new[item.object], item.value, "elsewhere", 5.0, rng.random())
        for item in [*scene.relations, *scene.relations[:2]]
    ]
    rng.shuffle(nodes)
    rng.shuffle(relations)
    return SceneGraph("odom", 77.0, "other", 12, {node.instance_id: node for node in nodes}, relations)
