"""The robot's map: fixtures with their doors, as obstacles for base and arm.

Fixtures and how far their doors stand open are known to the robot (its semantic map and range sensors); items are not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.scene.graph import Box
from graph_planner_ros.sim.layouts import ROOM_SIZE
from graph_planner_ros.sim.navigation import NavigationMap, Rectangle, rectangle_of

FloatArray = NDArray[np.float64]


def rotation(angle: float) -> FloatArray:
    """2x2 rotation matrix."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s], [s, c]])


class Door:
    """A hinged door or drawer of the map: where its handle and its leaf are at any position of its joint."""

    def __init__(self, world: Any, info: Any, yaw: float) -> None:
        self.model, self.data, self.info = world.model, world.data, info
        self.hinged = info.kind == "hinge"
        self.front = np.array([math.cos(yaw), math.sin(yaw)])
        self.yaw = yaw
        self.pivot = np.array(info.pivot[:2], dtype=float)
        self.body = info.body
        self.open_position = float(info.open_position)
        self.closed_below = float(info.closed_below)
        self._qpos = int(self.model.joint(info.joint).qposadr[0])
        self._body = self.model.body(info.body).id
        self._site = self.model.site(info.handle).id
        self._box = self._body_box()

    def _body_box(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper corner of all solid geoms of the leaf in its own frame."""
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for geom in np.flatnonzero(self.model.geom_bodyid == self._body):
            if not self.model.geom_contype[geom]:
                continue
            matrix = np.zeros(9)
            _quat_to_matrix(matrix, self.model.geom_quat[geom])
            aabb = self.model.geom_aabb[geom]
            half = np.abs(matrix.reshape(3, 3)) @ aabb[3:]
            center = self.model.geom_pos[geom] + matrix.reshape(3, 3) @ aabb[:3]
            low, high = np.minimum(low, center - half), np.maximum(high, center + half)
        return low, high

    @property
    def position(self) -> float:
        """How far it stands open now [rad or m]."""
        return float(self.data.qpos[self._qpos])

    @property
    def is_closed(self) -> bool:
        """True if it counts as closed."""
        return self.position < self.closed_below

    def handle(self, position: float, along: float = 1.0) -> FloatArray:
        """Handle point (3,) in the map with the door at ``position``.

        ``along`` < 1 gives a point on the outer face that much nearer to the hinge, where one can push.
        """
        point = np.array(self.data.site_xpos[self._site])
        change = position - self.position
        if self.hinged:
            if along < 1.0:
                normal = self.normal(self.position)
                out = float((point[:2] - self.pivot) @ normal)
                tangent = point[:2] - self.pivot - out * normal
                point[:2] = self.pivot + along * tangent + (out - 0.02) * normal
            point[:2] = self.pivot + rotation(self.info.side * change) @ (point[:2] - self.pivot)
        else:
            point[:2] += change * self.front
        return point

    def normal(self, position: float) -> FloatArray:
        """Unit vector (2,) out of the outer face."""
        return rotation(self.info.side * position) @ self.front if self.hinged else self.front

    def leaf(self, position: float) -> Rectangle:
        """The block that the moving part fills with the door at ``position``."""
        low, high = self._box
        change = position - self.position
        origin = np.array(self.data.xpos[self._body][:2])
        matrix = self.data.xmat[self._body].reshape(3, 3)
        yaw = math.atan2(matrix[1, 0], matrix[0, 0])
        if self.hinged:
            yaw += self.info.side * change
        else:
            origin = origin + change * self.front
        center = origin + rotation(yaw) @ ((low + high) / 2)[:2]
        half = (high - low) / 2
        return Rectangle(center[0], center[1], half[0], half[1], yaw, float(low[2]), float(high[2]))

    def position_of(self, handle: FloatArray, along: float = 1.0) -> float:
        """The joint position that puts the handle nearest to this point: what the hand feels of the door."""
        closed = self.handle(0.0, along)[:2]
        if not self.hinged:
            return float((handle[:2] - closed) @ self.front)
        a, b = closed - self.pivot, handle[:2] - self.pivot
        return self.info.side * math.atan2(a[0] * b[1] - a[1] * b[0], float(a @ b))


def _quat_to_matrix(out: FloatArray, quaternion: FloatArray) -> None:
    import mujoco

    mujoco.mju_quat2Mat(out, quaternion)


class Fixture:
    """One fixture of the map."""

    def __init__(self, world: Any, fixture_id: str, info: Any) -> None:
        self.world, self.fixture_id, self.info = world, fixture_id, info
        self.label, self.box = str(info.label), info.box
        self.front = np.array([math.cos(self.box.yaw), math.sin(self.box.yaw)])
        self.door = Door(world, info.door, self.box.yaw) if info.door is not None else None
        self._button = world.model.site(info.button).id if info.button else None

    @property
    def containment(self) -> Box | None:
        """Volume that holds what is in or on it."""
        containment: Box | None = self.info.containment
        return containment

    @property
    def surfaces(self) -> list[Box]:
        """Volumes above its supporting planes as they are now: a drawer's moves with the drawer."""
        surfaces = list(self.info.surfaces)
        if self.is_drawer and self.door is not None:
            shift = np.append(self.door.front * self.door.position, 0.0)
            surfaces = [Box(s.center + shift, s.extent, s.yaw) for s in surfaces]
        return surfaces

    @property
    def is_drawer(self) -> bool:
        """True for a sliding part."""
        return self.door is not None and not self.door.hinged

    @property
    def is_enclosed(self) -> bool:
        """True if one can only reach in from the front."""
        return self.door is not None and self.door.hinged

    @property
    def button(self) -> FloatArray | None:
        """Tip of its switch (3,) in the map; None if it has none."""
        return None if self._button is None else np.array(self.world.data.site_xpos[self._button])

    def local(self, point: FloatArray) -> FloatArray:
        """A point's x, y in the fixture's frame (x out of the front, origin in its box's centre)."""
        return rotation(-self.box.yaw) @ (np.asarray(point)[:2] - self.box.center[:2])

    def arm_obstacles(self) -> list[Rectangle]:
        """What of the fixture stands in the way of an arm: all of it, or its walls if one reaches in from the front."""
        whole = rectangle_of(self.box)
        if not self.is_enclosed or self.containment is None:
            return [whole]
        hollow = self.containment
        middle = rotation(-self.box.yaw) @ (hollow.center[:2] - self.box.center[:2])
        half, inner = self.box.extent[:2] / 2, hollow.extent[:2] / 2
        strips = [  # x range, y range in the fixture's frame
            ((-half[0], half[0]), (-half[1], middle[1] - inner[1])),
            ((-half[0], half[0]), (middle[1] + inner[1], half[1])),
            ((-half[0], middle[0] - inner[0]), (-half[1], half[1])),
        ]
        walls = []
        for (x0, x1), (y0, y1) in strips:
            center = self.box.center[:2] + rotation(self.box.yaw) @ np.array([(x0 + x1) / 2, (y0 + y1) / 2])
            walls.append(
                Rectangle(center[0], center[1], (x1 - x0) / 2, (y1 - y0) / 2, self.box.yaw, whole.low, whole.high)
            )
        return walls


class FixtureMap:
    """All fixtures of a world by id, and the navigation map as the doors now stand."""

    def __init__(self, world: Any) -> None:
        self.fixtures = {fixture_id: Fixture(world, fixture_id, info) for fixture_id, info in world.fixtures.items()}
        half = ROOM_SIZE / 2
        self.room = (-half, -half, half, half)
        self.footprints = [rectangle_of(box) for box in world.obstacles]

    def leaves(self, without: str = "") -> list[Rectangle]:
        """Door leaves and drawers where they stand now."""
        return [f.door.leaf(f.door.position) for f in self.fixtures.values() if f.door and f.fixture_id != without]

    def navigation(self, without_door: str = "", extra: Iterable[Rectangle] = ()) -> NavigationMap:
        """Free space of the base; one fixture's door can be left out."""
        return NavigationMap(self.room, [*self.footprints, *self.leaves(without_door), *extra])

    def containing(self, point: FloatArray) -> Fixture | None:
        """The fixture whose containment volume holds this point; the nearest one below if none does."""
        best, best_gap = None, 0.12
        for fixture in self.fixtures.values():
            box = fixture.containment
            if box is None:
                continue
            offset = rotation(-box.yaw) @ (np.asarray(point)[:2] - box.center[:2])
            outside = np.abs(np.append(offset, point[2] - box.center[2])) - box.extent / 2
            gap = float(np.linalg.norm(np.maximum(outside, 0.0)))
            if gap < best_gap:
                best, best_gap = fixture, gap
        return best
