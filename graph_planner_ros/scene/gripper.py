"""What the robot holds: skill effects say so, the gripper's own sense confirms or refutes it."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field

import numpy as np

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.scene.belief import (
    HOLDING,
    PLACE_RELATIONS,
    contents,
    held,
    is_fixture,
    place_relation,
    remove_relations,
    set_place,
)
from graph_planner_ros.scene.graph import (
    EFFECT,
    PERCEPTION,
    ROBOT_ID,
    Box,
    FloatArray,
    Presence,
    Relation,
    SceneGraph,
)
from graph_planner_ros.scene.observation import RobotState
from graph_planner_ros.scene.relations import find_place

PERSISTENCE = 0.5
"""Seconds for which the gripper must feel the contrary before the belief follows it."""
ADOPTION_RANGE = 0.12
"""A thing within this distance [m] of the finger tips is what was grasped."""
RELEASE_RANGE = 0.30
"""The thing that was let go last is taken to be grasped again within this distance [m]."""
RELEASE_MEMORY = 60.0


@dataclass
class _Adopted:
    """A thing believed held because the gripper feels something, and where it was before."""

    node_id: str
    box: Box | None
    place: tuple[str, str] | None


@dataclass
class GripperBelief:
    """Keeps the relation ``holding`` in step with the gripper, and the boxes of held things at the gripper.

    Attributes:
        loose: id -> box of things that left the gripper and have not been seen since.
    """

    domain: Domain
    loose: dict[str, Box] = field(default_factory=dict)
    _held: frozenset[str] = frozenset()
    _offsets: dict[str, FloatArray] = field(default_factory=dict)
    _contrary: tuple[bool, float, int] | None = None
    _closed_at: FloatArray | None = None
    _adopted: _Adopted | None = None
    _released: tuple[str, float] | None = None

    def time_jumped(self) -> None:
        """Drop what depends on the flow of time, after time has jumped back."""
        self._contrary = None
        self._released = None

    def update(self, graph: SceneGraph, robot: RobotState, stamp: float) -> bool:
        """Bring the belief in step with the gripper. Return whether relations changed."""
        changed = self._drop_wrong_adoption(graph)
        changed |= self._compare(graph, robot, stamp)
        now = frozenset(held(graph))
        for node_id in self._held - now:
            node = graph.nodes.get(node_id)
            if node is not None:
                self._released = node_id, stamp
                if node.box is not None:
                    self.loose[node_id] = copy.deepcopy(node.box)
        for node_id in now:
            self.loose.pop(node_id, None)
            self._follow(graph, robot, node_id)
        self._offsets = {name: offset for name, offset in self._offsets.items() if name in now}
        self._held = now
        return changed

    def seen_in_hand(self, graph: SceneGraph, robot: RobotState, node_id: str, center: FloatArray) -> None:
        """Learn from an image where a held thing is relative to the finger tips."""
        if robot.gripper is None:
            return
        offset = _turn(center - np.asarray(robot.gripper), -robot.yaw)
        old = self._offsets.get(node_id)
        self._offsets[node_id] = offset if old is None else 0.5 * (old + offset)
        self._follow(graph, robot, node_id)

    def _compare(self, graph: SceneGraph, robot: RobotState, stamp: float) -> bool:
        believed = held(graph)
        if robot.holding is None or robot.holding == bool(believed):
            self._contrary = None
            return False
        if self._contrary is None or self._contrary[0] != robot.holding or stamp < self._contrary[1]:
            self._contrary = robot.holding, stamp, 0
            # Where the hand was when it began to feel something; the arm moves on while the belief waits.
            self._closed_at = None if robot.gripper is None else np.asarray(robot.gripper, dtype=np.float64)
        _, since, count = self._contrary
        self._contrary = robot.holding, since, count + 1
        if stamp - since < PERSISTENCE or count < 1:
            return False
        self._contrary = None
        return self._adopt(graph, robot, stamp) if robot.holding else self._refute(graph, believed, stamp)

    def _refute(self, graph: SceneGraph, believed: list[str], stamp: float) -> bool:
        """The hand is empty: what it held is about where it was last."""
        fresh = [r for r in graph.relations if r.predicate == HOLDING and stamp - r.stamp < PERSISTENCE]
        if fresh and all(r.source == EFFECT for r in fresh):
            return False
        for node_id in believed:
            remove_relations(graph, (HOLDING,), ROBOT_ID, node_id)
            place = find_place(graph, self.domain, graph.nodes[node_id]) if node_id in graph.nodes else None
            if place is not None:
                set_place(graph, node_id, place.pair, PERCEPTION, stamp, 0.5)
        return True

    def _adopt(self, graph: SceneGraph, robot: RobotState, stamp: float) -> bool:
        """The hand feels something that no skill has reported yet: the thing nearest to the finger tips."""
        closed_at = self._closed_at
        if closed_at is None:
            return False
        candidates: list[tuple[float, str]] = []
        for node_id, node in graph.nodes.items():
            if node.box is None or node.presence is Presence.ABSENT or is_fixture(self.domain, node):
                continue
            apart = float(np.linalg.norm(node.box.center - closed_at))
            apart = max(0.0, apart - 0.5 * float(node.box.extent[2]))
            again = self._released is not None and self._released[0] == node_id
            recent = again and self._released is not None and stamp - self._released[1] <= RELEASE_MEMORY
            if apart <= (RELEASE_RANGE if recent else ADOPTION_RANGE):
                candidates.append((apart - (0.1 if recent else 0.0), node_id))
        if not candidates and self._released is not None and stamp - self._released[1] <= RELEASE_MEMORY:
            # Nothing is known to be there: it is what was let go last, if that has not been seen anywhere since.
            candidates += [(0.0, name) for name in self.loose if name == self._released[0] and name in graph.nodes]
        if not candidates:
            return False
        node = graph.nodes[min(candidates)[1]]
        place = place_relation(graph, node.instance_id)
        self._adopted = _Adopted(
            node.instance_id, copy.deepcopy(node.box), (place.predicate, place.object) if place else None
        )
        remove_relations(graph, PLACE_RELATIONS, subject=node.instance_id)
        graph.relations.append(Relation(ROBOT_ID, HOLDING, node.instance_id, Truth.TRUE, PERCEPTION, stamp, 0.7))
        return True

    def _drop_wrong_adoption(self, graph: SceneGraph) -> bool:
        """A skill reported another thing in the hand than the one that was nearest: put that one back."""
        adopted, believed = self._adopted, held(graph)
        if adopted is None:
            return False
        if adopted.node_id not in believed:
            self._adopted = None
            return False
        by_effect = [r.object for r in graph.relations if r.predicate == HOLDING and r.source == EFFECT]
        if not by_effect:
            return False
        self._adopted = None
        if adopted.node_id in by_effect:
            remove_relations(graph, (HOLDING,), ROBOT_ID, adopted.node_id)
            newest = [Relation(ROBOT_ID, HOLDING, adopted.node_id, Truth.TRUE, EFFECT, graph.stamp)]
            graph.relations += newest
            return False
        remove_relations(graph, (HOLDING,), ROBOT_ID, adopted.node_id)
        self._held -= {adopted.node_id}
        if adopted.node_id in graph.nodes:
            graph.nodes[adopted.node_id].box = adopted.box
            set_place(graph, adopted.node_id, adopted.place, PERCEPTION, graph.stamp)
        return True

    def _follow(self, graph: SceneGraph, robot: RobotState, node_id: str) -> None:
        node = graph.nodes.get(node_id)
        if node is None or robot.gripper is None:
            return
        offset = self._offsets.get(node_id)
        center = np.asarray(robot.gripper, dtype=np.float64)
        center = center + (_turn(offset, robot.yaw) if offset is not None else 0.0)
        if node.box is None:
            node.box = Box(center, np.full(3, 0.06), robot.yaw)
            return
        carry(graph, node_id, center)


def carry(graph: SceneGraph, node_id: str, center: FloatArray, leave: frozenset[str] = frozenset()) -> None:
    """Move a thing to a new centre [m, map], and its content with it except for the ids in ``leave``."""
    node = graph.nodes[node_id]
    if node.box is None:
        return
    shift = np.asarray(center, dtype=np.float64) - node.box.center
    node.box = Box(node.box.center + shift, node.box.extent, node.box.yaw)
    for inner in contents(graph, node_id):
        box = graph.nodes[inner].box if inner in graph.nodes else None
        if box is not None and inner not in leave:
            graph.nodes[inner].box = Box(box.center + shift, box.extent, box.yaw)


def _turn(vector: FloatArray, angle: float) -> FloatArray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([c * vector[0] - s * vector[1], s * vector[0] + c * vector[1], vector[2]])
