"""Which observed thing is which known thing: by label and distance, each at most once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from graph_planner_ros.scene.geometry import outside_distance
from graph_planner_ros.scene.graph import Box, FloatArray, Presence, SceneGraph
from graph_planner_ros.scene.observation import ObservedObject

BASE_GATE = 0.06
"""Distance [m] within which an observation may be a known thing whatever its size."""
SIZE_GATE = 0.35
"""Share of the thing's longest side that is added to the gate."""
PART_OFFSET = 0.03
"""Distance [m] at which a part that lies inside the known box is counted."""
HELD_GATE = 0.20
"""Gate [m] of a thing in the gripper: it is somewhere about the finger tips."""
LOOSE_GATE = 0.35
"""Horizontal gate [m] of a thing that left the gripper and has not been seen since."""

DISPLACED_GATE = 0.5
"""How far [m] a thing may have rolled or been pushed within one place."""


def separation(known: Box, seen: ObservedObject) -> float:
    """Return how far an observation is from where a thing should be [m].

    A view from one side sees a part, whose centre may be half a size away from the whole's: a part that lies
    inside the known box counts as near.
    """
    apart = float(np.linalg.norm(known.center - seen.box.center))
    return min(apart, PART_OFFSET + outside_distance(known, seen.box.center))


def gate(known: Box, seen: ObservedObject) -> float:
    """Return the largest separation [m] at which both may be the same thing."""
    longest = max(float(known.extent.max()), float(seen.box.extent.max()))
    return BASE_GATE + SIZE_GATE * min(longest, 0.4)


def associate(
    graph: SceneGraph, objects: Sequence[ObservedObject], predicted: Mapping[str, Box], held: frozenset[str]
) -> dict[int, str]:
    """Return index of an observation -> id of the node that it is, for those that are where they were expected.

    Pairs are made nearest first, so two things side by side keep apart as long as both are seen.

    Args:
        predicted: node id -> where it is expected; nodes that are not in it cannot be matched here.
    """
    pairs: list[tuple[float, int, str]] = []
    for index, seen in enumerate(objects):
        for node_id, box in predicted.items():
            if graph.nodes[node_id].label != seen.label:
                continue
            apart = separation(box, seen)
            if apart <= (HELD_GATE if node_id in held else gate(box, seen)):
                pairs.append((apart, index, node_id))
    return _nearest_first(pairs, {}, set())


def reassociate(
    graph: SceneGraph,
    objects: Sequence[ObservedObject],
    places: Mapping[int, str | None],
    matched: dict[int, str],
    loose: Mapping[str, Box],
    lost: Sequence[str],
    displaced: Mapping[str, AbstractSet[str | None]],
) -> dict[int, str]:
    """Return more pairs, for observations that are not ``matched``: things that moved unseen.

    First things that left the gripper (``loose``: id -> where), then things put somewhere that have no position
    yet (at the place they are believed at), then those that are not in their spot but may lie elsewhere in the same
    place (``displaced``: id -> where they may be), then those that are missed (``lost``), which may be
    anywhere.

    Args:
        places: index of an observation -> id of the fixture or receptacle where it lies.
    """
    found = dict(matched)
    used = set(matched.values())
    open_indices = [index for index in range(len(objects)) if index not in matched]
    pairs: list[tuple[float, int, str]] = []
    for index in open_indices:
        seen = objects[index]
        for node_id, node in graph.nodes.items():
            if node_id in used or node.label != seen.label:
                continue
            cost = _moved_cost(graph, node_id, seen.box.center, places.get(index), loose, lost, displaced)
            if cost is not None:
                pairs.append((cost, index, node_id))
    return _nearest_first(pairs, found, used)


def _moved_cost(
    graph: SceneGraph,
    node_id: str,
    center: FloatArray,
    place: str | None,
    loose: Mapping[str, Box],
    lost: Sequence[str],
    displaced: Mapping[str, AbstractSet[str | None]],
) -> float | None:
    node = graph.nodes[node_id]
    if node_id in loose:
        apart = float(np.linalg.norm(loose[node_id].center[:2] - center[:2]))
        if apart <= LOOSE_GATE:
            return apart
    believed = [r.object for r in graph.relations if r.subject == node_id and r.object == place]
    if node.box is None and place is not None and believed:
        return 1.0
    if node.box is not None and place in displaced.get(node_id, ()):
        apart = float(np.linalg.norm(node.box.center - center))
        if apart <= DISPLACED_GATE:
            return 1.0 + apart
    if node_id in lost:
        return 2.0 + (float(np.linalg.norm(node.box.center - center)) if node.box is not None else 0.0)
    if node.presence is Presence.ABSENT:
        return 10.0 + (float(np.linalg.norm(node.box.center - center)) if node.box is not None else 0.0)
    return None


def _nearest_first(pairs: list[tuple[float, int, str]], found: dict[int, str], used: set[str]) -> dict[int, str]:
    for _, index, node_id in sorted(pairs):
        if index not in found and node_id not in used:
            found[index] = node_id
            used.add(node_id)
    return found
