"""Merging what an image shows into the belief: identity, position, presence, attributes, places, conflicts."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.scene.absence import AbsenceJudge
from graph_planner_ros.scene.association import associate, reassociate
from graph_planner_ros.scene.attributes import AttributeBelief
from graph_planner_ros.scene.belief import (
    AT,
    NEXT_TO,
    age_stamps,
    can_have,
    held,
    is_fixture,
    is_movable_receptacle,
    part_attributes,
    place_relation,
    remove_relations,
    set_place,
)
from graph_planner_ros.scene.geometry import extended, footprint_distance, outside_distance, overlap
from graph_planner_ros.scene.graph import (
    EFFECT,
    MAP,
    PERCEPTION,
    ROBOT_ID,
    Box,
    Presence,
    Relation,
    SceneGraph,
    SceneNode,
)
from graph_planner_ros.scene.gripper import GripperBelief, carry
from graph_planner_ros.scene.observation import Observations, ObservedObject, RobotState, View
from graph_planner_ros.scene.presence import Sight, sight
from graph_planner_ros.scene.relations import find_place, neighbours
from graph_planner_ros.scene.tracking import MergeConfig, MergeReport, Track, fuse, mean_box, visible_area

JUST_SEEN = 2.5
"""A thing seen at most so long ago [s] may have moved on with a drawer that is being opened."""
SHARED_ROOM = 0.4
"""Share of a thing's box inside another's of its class from which both are the same thing."""
DRAWER_REACH = 0.45
"""How far out of its fixture [m] a drawer may carry things."""


class SceneUpdater:
    """Keeps one belief in step with images. Not thread-safe: one thread feeds it, in the order of the stamps."""

    def __init__(
        self, domain: Domain, fixtures: SceneGraph | Iterable[SceneNode] = (), config: MergeConfig | None = None
    ) -> None:
        self._domain = domain
        self._config = config or MergeConfig()
        self._fixtures: dict[str, SceneNode] = {}
        self._tracks: dict[str, Track] = {}
        self._numbers: dict[str, int] = {}
        self._last_stamp: float | None = None
        self._clock_restarted = False
        self._parts = part_attributes(domain)
        self._absence = AbsenceJudge(domain, self._config, self._tracks)
        self.gripper = GripperBelief(domain)
        self.attributes = AttributeBelief(domain)
        self.set_fixtures(fixtures)

    def set_fixtures(self, fixtures: SceneGraph | Iterable[SceneNode]) -> None:
        """Take over the robot's map of the fixtures: their poses, extents and volumes."""
        nodes = fixtures.nodes.values() if isinstance(fixtures, SceneGraph) else fixtures
        self._fixtures = {node.instance_id: node for node in nodes}

    @property
    def slides(self) -> dict[str, float]:
        """Fixture id -> how far its sliding part is out [m]."""
        return self.attributes.slides

    @property
    def _open_now(self) -> set[str]:
        return self.attributes.doubted

    def time_jumped(self) -> None:
        """Drop what depends on the flow of time, after time has jumped back; the belief itself is kept."""
        self._last_stamp = None
        self._clock_restarted = True
        self._absence.last_pose = None
        self.gripper.time_jumped()
        self.attributes.time_jumped()
        for track in self._tracks.values():
            track.misses, track.place_votes = 0, (None, 0)

    def update(
        self, graph: SceneGraph, observations: Observations, view: View, robot: RobotState | None = None
    ) -> MergeReport:
        """Merge one image into ``graph``, which is changed in place.

        Every observed object gets the ``node_id`` that it became part of. ``graph.revision`` grows if the content
        changed; ``graph.stamp`` becomes that of the image.
        """
        robot, report, stamp = robot or RobotState(), MergeReport(), view.stamp
        # a belief that was stored may be of a time that has begun anew since then
        if stamp < (self._last_stamp if self._last_stamp is not None else graph.stamp):
            self.time_jumped()
        if self._clock_restarted:
            self._clock_restarted = False
            age_stamps(graph, stamp)
        graph.stamp, graph.domain = stamp, graph.domain or self._domain.name
        report.changed |= self._write_fixtures(graph)
        report.changed |= self.gripper.update(graph, robot, stamp)
        report.changed |= self.attributes.update_fixtures(graph, observations, stamp)
        pairs = self._associate(graph, observations.objects, view)
        in_hand = frozenset(held(graph))
        seen_ids = frozenset(pairs.values())
        for index, seen in enumerate(observations.objects):
            node_id = pairs.get(index)
            node = self._create(graph, seen, report, stamp) if node_id is None else graph.nodes[node_id]
            seen.node_id = node.instance_id
            if node_id is not None:
                self._merge(graph, node, seen, stamp, robot, in_hand, seen_ids)
                report.matched.append(node_id)
            report.changed |= self.attributes.update_item(node, seen, stamp)
        self._fuse_duplicates(graph, observations.objects, report)
        self._update_places(graph, observations.objects, stamp, in_hand, report)
        if self._absence.is_still(view):
            excused = in_hand | frozenset(self.attributes.unsettled)
            self._absence.count_misses(graph, view, excused, report)
        for node_id in report.absent:
            self.gripper.loose.pop(node_id, None)
        report.changed |= self._check_location(graph, robot)
        report.changed |= bool(report.created or report.stale or report.absent or report.merged)
        graph.revision += int(report.changed)
        self._last_stamp, self._absence.last_pose = stamp, np.array(view.camera_pose, dtype=np.float64)
        return report

    # -- fixtures -------------------------------------------------------------------------------------------------

    def _write_fixtures(self, graph: SceneGraph) -> bool:
        changed = False
        for node_id, fixture in self._fixtures.items():
            node = graph.nodes.get(node_id)
            if node is None:
                graph.nodes[node_id] = SceneNode(node_id, fixture.label, source=MAP)
                node, changed = graph.nodes[node_id], True
                node.attributes.update(fixture.attributes)
            node.box, node.containment, node.presence = fixture.box, fixture.containment, Presence.PRESENT
        return changed

    # -- identity -------------------------------------------------------------------------------------------------

    def _associate(self, graph: SceneGraph, objects: list[ObservedObject], view: View) -> dict[int, str]:
        loose = self.gripper.loose
        predicted = {
            node_id: node.box
            for node_id, node in graph.nodes.items()
            if node.box is not None and node.presence is not Presence.ABSENT and not is_fixture(self._domain, node)
        }
        matched = associate(graph, objects, predicted, frozenset(held(graph)))
        if len(matched) == len(objects):
            return matched
        places: dict[int, str | None] = {}
        for index, seen in enumerate(objects):
            if index not in matched:
                place = find_place(
                    graph, self._domain, SceneNode("?", seen.label, seen.box), self.slides, self._open_now
                )
                places[index] = place.object_id if place is not None else None
        lost = [
            node_id
            for node_id, node in graph.nodes.items()
            if node_id in loose or (node.box is None and node_id not in held(graph))
        ]
        return reassociate(graph, objects, places, matched, loose, lost, self._displaced(graph, matched, places, view))

    def _displaced(
        self, graph: SceneGraph, matched: dict[int, str], places: dict[int, str | None], view: View
    ) -> dict[str, frozenset[str | None]]:
        """Things that are not seen where they should be: id -> the places where they may be now (None: nowhere known).

        They were pushed or rolled, which takes a free spot as a witness, or a drawer moves with them, which does not.
        """
        found: dict[str, frozenset[str | None]] = {}
        skip = {*matched.values(), *held(graph)}
        for node_id, node in graph.nodes.items():
            if node_id in skip or node.box is None or is_fixture(self._domain, node):
                continue
            relation = place_relation(graph, node_id)
            place = relation.object if relation is not None else None
            drawer = self._moving_drawer(node, place, view.stamp)
            if drawer is not None:
                found[node_id] = frozenset((drawer, None, place))
            elif (place is None or place in places.values()) and sight(node.box, view) is Sight.FREE:
                found[node_id] = frozenset((place,)) if place is not None else frozenset((None, *places.values()))
        return found

    def _moving_drawer(self, node: SceneNode, place: str | None, stamp: float) -> str | None:
        """The drawer that a thing lies in, if it may be moving, or that may have come out where it was just seen."""
        attributes = self.attributes
        if node.box is None:
            return None
        recent = stamp - node.last_seen <= JUST_SEEN
        for node_id, fixture in self._fixtures.items():
            if fixture.containment is None or node_id in attributes.hinged:
                continue
            if not any(can_have(self._domain, fixture.label, name) for name in self._parts):
                continue
            if node_id == place:
                return node_id  # even if it seems shut: the hand that opens it may hide that it moves
            if node_id in attributes.settled_now:
                continue
            if recent and outside_distance(extended(fixture.containment, DRAWER_REACH), node.box.center) <= 0.05:
                return node_id
        return None

    def _create(self, graph: SceneGraph, seen: ObservedObject, report: MergeReport, stamp: float) -> SceneNode:
        node = SceneNode(
            self._new_id(graph, seen.label),
            seen.label,
            box=seen.box,
            first_seen=stamp,
            last_seen=stamp,
            observations=1,
            confidence=seen.score,
        )
        graph.nodes[node.instance_id] = node
        self._tracks[node.instance_id] = Track(weight=1.0 if seen.complete else 0.1, area=visible_area(seen))
        report.created.append(node.instance_id)
        return node

    def _new_id(self, graph: SceneGraph, label: str) -> str:
        spaced = re.sub(r"(?<=[^\W\d_])(?<![A-Z])(?=[A-Z])", "_", label)
        base = re.sub(r"\W+", "_", spaced.lower()).strip("_") or "thing"
        number = self._numbers.get(base, 0) + 1
        while f"{base}_{number}" in graph.nodes:
            number += 1
        self._numbers[base] = number
        return f"{base}_{number}"

    # -- position -------------------------------------------------------------------------------------------------

    def _merge(
        self,
        graph: SceneGraph,
        node: SceneNode,
        seen: ObservedObject,
        stamp: float,
        robot: RobotState,
        in_hand: frozenset[str],
        seen_ids: frozenset[str],
    ) -> None:
        track = self._tracks.setdefault(node.instance_id, Track(weight=min(node.observations, self._config.memory)))
        returning = node.presence is Presence.ABSENT
        node.last_seen, node.presence = stamp, Presence.PRESENT
        node.observations += 1
        node.confidence = seen.score
        track.misses = 0
        if returning:
            self.attributes.forget_effects(node, stamp)
        if node.instance_id in in_hand and robot.gripper is not None:
            self.gripper.seen_in_hand(graph, robot, node.instance_id, seen.box.center)
            return
        moved = node.box is None or returning or node.instance_id in self.gripper.loose
        self.gripper.loose.pop(node.instance_id, None)
        place = place_relation(graph, node.instance_id)
        if place is not None and not moved and self.attributes.in_motion(place.object):
            return
        old_center = None if node.box is None else node.box.center
        node.box = mean_box(node, seen, track, moved, self._config)
        if old_center is not None and is_movable_receptacle(self._domain, node.label):
            new_box, node.box = node.box, Box(old_center, node.box.extent, node.box.yaw)
            carry(graph, node.instance_id, new_box.center, seen_ids)

    def _fuse_duplicates(self, graph: SceneGraph, objects: list[ObservedObject], report: MergeReport) -> None:
        """Two nodes of one class in the same room, of which only one is seen, are one thing: solids do not overlap."""
        touched = {seen.node_id for seen in objects}
        in_hand = held(graph)
        for node_id in sorted(touched):
            node = graph.nodes.get(node_id)
            if node is None or node.box is None:
                continue
            for other in list(graph.nodes.values()):
                if other.label != node.label or other.instance_id == node_id or other.box is None:
                    continue
                if other.presence is Presence.ABSENT or other.instance_id in touched or other.instance_id in in_hand:
                    continue
                near = 0.4 * min(float(node.box.extent.min()), float(other.box.extent.min())) + 0.01
                solid = not is_movable_receptacle(self._domain, node.label)
                apart = float(np.linalg.norm(node.box.center - other.box.center))
                if apart < near or (solid and apart < 0.5 and overlap(node.box, other.box) > SHARED_ROOM):
                    kept, gone = sorted((node, other), key=lambda n: (n.first_seen, n.instance_id))
                    if gone.instance_id in in_hand:
                        kept, gone = gone, kept
                    fuse(graph, kept, gone)
                    self._tracks.pop(gone.instance_id, None)
                    for seen in objects:
                        seen.node_id = kept.instance_id if seen.node_id == gone.instance_id else seen.node_id
                    report.merged.append((kept.instance_id, gone.instance_id))
                    break

    # -- places ---------------------------------------------------------------------------------------------------

    def _update_places(
        self,
        graph: SceneGraph,
        objects: list[ObservedObject],
        stamp: float,
        in_hand: frozenset[str],
        report: MergeReport,
    ) -> None:
        judged = [seen.node_id for seen in objects if seen.in_view_cone and seen.node_id not in in_hand]
        for node_id in judged:
            node = graph.nodes[node_id]
            place = find_place(graph, self._domain, node, self.slides, self._open_now)
            report.changed |= self._vote_place(graph, node_id, place.pair if place else None, stamp, report)
            if place is not None and (node_id in report.created or not self.attributes.in_motion(place.object_id)):
                self.attributes.note_seen(node_id, place.object_id)
        # what is inside a thing that was seen has not been seen itself, so only pairs of seen things are judged
        pairs = neighbours(graph, judged)
        known = {(r.subject, r.object) for r in graph.relations if r.predicate == NEXT_TO}
        gone = {pair for pair in known - pairs if pair[0] in judged and pair[1] in judged}
        graph.relations = [r for r in graph.relations if r.predicate != NEXT_TO or (r.subject, r.object) not in gone]
        graph.relations += [Relation(a, NEXT_TO, b, stamp=stamp) for a, b in sorted(pairs - known)]
        report.changed |= bool(gone or pairs - known)

    def _vote_place(
        self, graph: SceneGraph, node_id: str, pair: tuple[str, str] | None, stamp: float, report: MergeReport
    ) -> bool:
        """Replace a place only when several images agree; until then it is a conflict to be looked at again."""
        track = self._tracks.setdefault(node_id, Track())
        current = place_relation(graph, node_id)
        if current is None or pair == (current.predicate, current.object):
            track.place_votes = (None, 0)
            return set_place(graph, node_id, pair, PERCEPTION, stamp)
        votes = track.place_votes[1] + 1 if track.place_votes[0] == pair else 1
        track.place_votes = pair, votes
        needed = self._config.effect_votes if current.source == EFFECT else self._config.place_votes
        if votes >= needed:
            track.place_votes = (None, 0)
            return set_place(graph, node_id, pair, PERCEPTION, stamp)
        seen_at = f"{pair[0]} {pair[1]}" if pair else "nowhere known"
        report.conflicts.append(f"{node_id} is believed {current.predicate} {current.object} and seen {seen_at}")
        return False

    def _check_location(self, graph: SceneGraph, robot: RobotState) -> bool:
        """The robot is not at a place that it has driven away from, whatever the last skill said."""
        position = np.array([*robot.position, 0.0])
        for relation in [r for r in graph.relations if r.predicate == AT and r.subject == ROBOT_ID]:
            node = graph.nodes.get(relation.object)
            if node is None or node.box is None or robot.position == (0.0, 0.0):
                continue
            if footprint_distance(node.box, position) > self._config.leave_distance:
                remove_relations(graph, (AT,), ROBOT_ID, relation.object)
                return True
        return False
