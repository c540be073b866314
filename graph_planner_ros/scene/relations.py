"""Relations from geometry: what is on or in what, and what is next to what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.scene.belief import is_movable_receptacle, is_shut, place_relation
from graph_planner_ros.scene.geometry import bottom, extended, gap, outside_distance, to_local, top, volume
from graph_planner_ros.scene.graph import Box, Presence, SceneGraph, SceneNode
from graph_planner_ros.scene.plausibility import holds_things, implausible, relation_name

PLACE_TOLERANCE = 0.05
"""How far outside of a volume [m] the centre of its content may be estimated (partial views: about 3 cm)."""
STICKINESS = 0.02
"""How much better [m] another place must fit before a thing is believed to be there instead."""
NEXT_TO_GAP = 0.10
"""Things on one place with less than this between them [m] are next to each other."""
DEEP = 0.035
"""What is seen at least so far inside the volume of something shut [m] is in there: estimates are not that far off."""
_LEVEL_SLACK = 0.02


@dataclass(frozen=True)
class Place:
    """Where a thing is: the relation, the id of what it is on or in, and how well that fits (0: wholly) [m]."""

    relation: str
    object_id: str
    misfit: float

    @property
    def pair(self) -> tuple[str, str]:
        """Relation and object id."""
        return self.relation, self.object_id


def find_place(
    graph: SceneGraph,
    domain: Domain,
    node: SceneNode,
    slides: Mapping[str, float] | None = None,
    open_now: AbstractSet[str] = frozenset(),
) -> Place | None:
    """Return where a thing is by its box, or None if it is nowhere.

    Movable receptacles come before fixtures; of several fixtures whose volumes hold the centre of the thing the
    smallest wins (the microwave before the counter that it stands on).

    Args:
        slides: fixture id -> how far its sliding part is out [m]; its volume reaches that far out of its front.
        open_now: ids of fixtures that stand open in this very image, though they may be believed shut.
    """
    if node.box is None:
        return None
    carriers = [
        Place(relation_name(domain, other.label), other.instance_id, 0.0)
        for other in graph.nodes.values()
        if _carries(graph, domain, other, node)
    ]
    if carriers:
        return min(carriers, key=lambda place: _volume_of(graph.nodes[place.object_id]))
    current = place_relation(graph, node.instance_id)
    best: tuple[tuple[float, float], Place] | None = None
    for other in graph.nodes.values():
        if other.containment is None:
            continue
        room = extended(other.containment, (slides or {}).get(other.instance_id, 0.0))
        misfit = outside_distance(room, node.box.center)
        name = relation_name(domain, other.label)
        if misfit > PLACE_TOLERANCE or _ruled_out(graph, domain, node, name, other, open_now):
            continue
        bonus = STICKINESS if current is not None and current.object == other.instance_id else 0.0
        key = (max(misfit - bonus, 0.0), volume(room))
        if best is None or key < best[0]:
            best = key, Place(name, other.instance_id, misfit)
    return best[1] if best is not None else None


def _ruled_out(
    graph: SceneGraph, domain: Domain, node: SceneNode, name: str, place: SceneNode, open_now: AbstractSet[str]
) -> bool:
    """Whether a thing cannot be at a place. Nothing is seen inside what is shut, but for what is known to be there
    and what is seen deep inside nonetheless, through a gap or a pane."""
    current = place_relation(graph, node.instance_id)
    known = current is not None and current.object == place.instance_id
    seen = not known and place.instance_id not in open_now and not _deep_inside(place, node)
    if node.instance_id in graph.nodes:
        return bool(implausible(graph, domain, node.instance_id, name, place.instance_id, seen=seen))
    # a thing that has just been seen for the first time is in no relation yet
    return not holds_things(domain, place.label) or (seen and is_shut(domain, place))


def _deep_inside(place: SceneNode, node: SceneNode) -> bool:
    if place.containment is None or node.box is None:
        return False
    margin = np.array([2.0 * DEEP, 0.0, 0.0])  # from front and back: the sides are walls
    core = Box(place.containment.center, np.maximum(place.containment.extent - margin, 0.0), place.containment.yaw)
    return outside_distance(core, node.box.center) == 0.0


def _volume_of(node: SceneNode) -> float:
    return volume(node.box) if node.box is not None else float("inf")


def _carries(graph: SceneGraph, domain: Domain, carrier: SceneNode, thing: SceneNode) -> bool:
    """Whether a movable receptacle has the thing's centre over its footprint and near enough above its bottom."""
    if carrier.box is None or thing.box is None or carrier.presence is not Presence.PRESENT:
        return False
    if not is_movable_receptacle(domain, carrier.label) or carrier.instance_id == thing.instance_id:
        return False
    current = place_relation(graph, thing.instance_id)
    known = current is not None and current.object == carrier.instance_id
    # of two things in the same spot the larger carries the smaller; the other way round is a bad estimate,
    # unless something that is larger has been put there
    if not known and float(np.prod(thing.box.extent[:2])) > 0.9 * float(np.prod(carrier.box.extent[:2])):
        return False
    reach, slack = (0.6, 2.5 * _LEVEL_SLACK) if known else (0.45, _LEVEL_SLACK)
    local = to_local(carrier.box, thing.box.center.reshape(1, 3))[0]
    inside = float(np.sum((local[:2] / (reach * carrier.box.extent[:2])) ** 2)) <= 1.0
    low, high = bottom(carrier.box) - slack, top(carrier.box) + 0.5 * float(thing.box.extent[2]) + slack
    level = bottom(thing.box) >= low and low <= float(thing.box.center[2]) <= high
    if not (inside and level):
        return False
    name = relation_name(domain, carrier.label)
    return not implausible(graph, domain, thing.instance_id, name, carrier.instance_id)


def neighbours(graph: SceneGraph, ids: Iterable[str]) -> set[tuple[str, str]]:
    """Return the pairs of these things that share a place and are next to each other (sorted ids in each pair)."""
    placed: list[tuple[str, str, Box]] = []
    for node_id in sorted(set(ids)):
        relation, node = place_relation(graph, node_id), graph.nodes.get(node_id)
        if relation is not None and node is not None and node.box is not None:
            placed.append((node_id, relation.object, node.box))
    return {
        (first, second)
        for index, (first, place, box) in enumerate(placed)
        for second, other_place, other_box in placed[index + 1 :]
        if place == other_place and gap(box, other_box) < NEXT_TO_GAP
    }
