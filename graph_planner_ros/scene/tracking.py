"""What merging remembers of every node: running means of boxes, misses, votes; and how two nodes become one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.scene.belief import PLACE_RELATIONS, place_relation
from graph_planner_ros.scene.geometry import outside_distance, weighted_box
from graph_planner_ros.scene.graph import Box, Relation, SceneGraph, SceneNode
from graph_planner_ros.scene.observation import ObservedObject


@dataclass(frozen=True)
class MergeConfig:
    """How fast the belief follows the images.

    Attributes:
        memory: number of observations that the running means remember.
        jump: a thing seen at least this far from where it was [m] has moved; its mean starts anew.
        stale_after, absent_after: images that show a thing's place free until it is stale, absent.
        settle: a thing is not stale before its place was seen free over this time [s].
        still_angle, still_distance: between two images the camera moved at most this far [rad, m], or the newer
            one is no negative evidence.
        place_votes, effect_votes: images that must agree before a seen, a caused place is replaced by another.
        ghost_observations: things seen at most so often and then found absent are forgotten.
        leave_distance: the robot is no longer at a place whose footprint is further from its base than this [m].
    """

    memory: float = 10.0
    jump: float = 0.04
    stale_after: int = 3
    absent_after: int = 8
    settle: float = 0.3
    still_angle: float = 0.06
    still_distance: float = 0.06
    place_votes: int = 2
    effect_votes: int = 3
    ghost_observations: int = 3
    leave_distance: float = 1.6


@dataclass
class MergeReport:
    """What one image changed: ids of nodes, and contradictions between image and belief that are not decided yet."""

    created: list[str] = field(default_factory=list)
    matched: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    merged: list[tuple[str, str]] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    changed: bool = False


@dataclass
class Track:
    """What merging remembers of a node beside the graph."""

    weight: float = 1.0
    area: float = 0.0
    misses: int = 0
    first_miss: float = 0.0
    place_votes: tuple[tuple[str, str] | None, int] = (None, 0)


def mean_box(node: SceneNode, seen: ObservedObject, track: Track, moved: bool, config: MergeConfig) -> Box:
    """Return the running mean of a node's box, in which a view counts by how much of the thing it shows, squared.

    Args:
        track: changed in place. moved: forget where it was.
    """
    area = visible_area(seen)
    if moved or node.box is None:
        track.weight, track.area = (1.0 if seen.complete else 0.1), area
        # a glimpse tells where a thing is and little of how large it is
        keep = node.box is not None and not seen.complete
        return Box(seen.box.center, node.box.extent, node.box.yaw) if keep and node.box else seen.box
    if area > 1.5 * track.area > 0.0:
        track.weight *= (track.area / area) ** 2
    track.area = max(track.area, area)
    share = min(1.0, area / track.area) ** 2 if track.area > 0.0 else 1.0
    weight = max(0.01, share * (1.0 if seen.complete else 0.1))
    apart = float(np.linalg.norm(node.box.center - seen.box.center))
    if apart > 3.0 * config.jump and outside_distance(node.box, seen.box.center) > config.jump:
        track.weight = 0.5
        extent, yaw = (seen.box.extent, seen.box.yaw) if share > 0.4 else (node.box.extent, node.box.yaw)
        return Box(seen.box.center, extent, yaw)
    if apart > config.jump and share > 0.4 and seen.complete:
        track.weight = min(track.weight, 0.5)
    box = weighted_box(node.box, track.weight, seen.box, weight)
    track.weight = min(track.weight + weight, config.memory)
    return box


def fuse(graph: SceneGraph, kept: SceneNode, gone: SceneNode) -> None:
    """Make one node of two: boxes are averaged by the number of observations, relations go to ``kept``."""
    if kept.box is not None and gone.box is not None:
        kept.box = weighted_box(kept.box, max(kept.observations, 1), gone.box, max(gone.observations, 1))
    elif kept.box is None:
        kept.box = gone.box
    kept.first_seen = min(kept.first_seen, gone.first_seen)
    kept.last_seen = max(kept.last_seen, gone.last_seen)
    kept.observations += gone.observations
    for name, attribute in gone.attributes.items():
        known = kept.attributes.get(name)
        if known is None or known.value is Truth.UNKNOWN or attribute.stamp > known.stamp:
            kept.attributes[name] = attribute
    placed = place_relation(graph, kept.instance_id) is not None
    relations: list[Relation] = []
    for relation in graph.relations:
        if relation.subject == gone.instance_id and relation.predicate in PLACE_RELATIONS and placed:
            continue
        if relation.subject == gone.instance_id:
            relation.subject = kept.instance_id
        if relation.object == gone.instance_id:
            relation.object = kept.instance_id
        if relation.subject != relation.object:
            relations.append(relation)
    graph.relations = relations
    del graph.nodes[gone.instance_id]


def visible_area(seen: ObservedObject) -> float:
    """Return about the visible area, in pixels as seen from one metre."""
    return seen.pixels * seen.distance**2
