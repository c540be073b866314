"""Things that are not where they were: images that show their place free are counted until they are absent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.scene.belief import (
    NEXT_TO,
    PLACE_RELATIONS,
    contents,
    is_fixture,
    is_movable_receptacle,
    remove_relations,
)
from graph_planner_ros.scene.graph import FloatArray, Presence, SceneGraph, SceneNode
from graph_planner_ros.scene.observation import View
from graph_planner_ros.scene.presence import Sight, sight
from graph_planner_ros.scene.tracking import MergeConfig, MergeReport, Track


@dataclass
class AbsenceJudge:
    """Counts negative evidence. ``tracks`` is shared with merging; ``last_pose`` is the camera's in the last image."""

    _domain: Domain
    _config: MergeConfig
    _tracks: dict[str, Track]
    last_pose: FloatArray | None = None

    def is_still(self, view: View) -> bool:
        """Return whether the camera has hardly moved since the last image; a moving camera is no witness."""
        if self.last_pose is None:
            return False
        pose = np.asarray(view.camera_pose, dtype=np.float64)
        shift = float(np.linalg.norm(pose[:3, 3] - self.last_pose[:3, 3]))
        turn = float(np.arccos(np.clip((np.trace(pose[:3, :3].T @ self.last_pose[:3, :3]) - 1.0) / 2.0, -1.0, 1.0)))
        return shift <= self._config.still_distance and turn <= self._config.still_angle

    def count_misses(self, graph: SceneGraph, view: View, excused: frozenset[str], report: MergeReport) -> None:
        """Count an image against everything whose place it shows free; enough of them make it stale, then absent.

        Args:
            excused: ids of things that need not be where they are believed just now: what is held, what moves.
        """
        excused |= {inner for node_id in excused for inner in contents(graph, node_id)}
        for node_id, node in list(graph.nodes.items()):
            if node.box is None or node.presence is Presence.ABSENT or is_fixture(self._domain, node):
                continue
            if node.last_seen == view.stamp or node_id in excused:
                continue
            if sight(node.box, view) is not Sight.FREE and not self._is_taken(graph, node, view.stamp):
                continue
            track = self._tracks.setdefault(node_id, Track(weight=min(node.observations, self._config.memory)))
            track.first_miss = view.stamp if track.misses == 0 else track.first_miss
            track.misses += 1
            if view.stamp - track.first_miss < self._config.settle:
                continue
            if track.misses >= self._config.absent_after:
                self._mark_absent(graph, node, report)
            elif track.misses >= self._config.stale_after and node.presence is Presence.PRESENT:
                node.presence = Presence.STALE
                report.stale.append(node_id)

    def _is_taken(self, graph: SceneGraph, node: SceneNode, stamp: float) -> bool:
        """Whether another solid thing was just seen in the very place of this one."""
        if node.box is None or is_movable_receptacle(self._domain, node.label):
            return False
        for other in graph.nodes.values():
            if other.instance_id == node.instance_id or other.last_seen != stamp or other.box is None:
                continue
            if is_movable_receptacle(self._domain, other.label) or is_fixture(self._domain, other):
                continue
            if np.linalg.norm(other.box.center - node.box.center) < 0.3 * float(node.box.extent.min()):
                return True
        return False

    def _mark_absent(self, graph: SceneGraph, node: SceneNode, report: MergeReport) -> None:
        """Forget where it is; a thing that was hardly ever seen was none, and is forgotten altogether."""
        remove_relations(graph, (*PLACE_RELATIONS, NEXT_TO), subject=node.instance_id)
        remove_relations(graph, (NEXT_TO,), object=node.instance_id)
        node.presence = Presence.ABSENT
        report.absent.append(node.instance_id)
        if node.observations <= self._config.ghost_observations and not contents(graph, node.instance_id):
            del graph.nodes[node.instance_id]
            self._tracks.pop(node.instance_id, None)
