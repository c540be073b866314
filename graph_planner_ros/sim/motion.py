"""Primitive motions as generators: each yields once per control period and ends, or raises `SkillFailure`.

Every primitive has a time limit of its own, so that nothing hangs whatever the world does.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Generator

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.sim.fixture_map import FixtureMap
from graph_planner_ros.sim.reach import Stand
from graph_planner_ros.sim.robot import MujocoRobot, wrap_angle
from graph_planner_ros.sim.robot_model import FINGER_TIP, HAND_LENGTH, HOME, JOINTS, OPENING, WRIST_FORWARD
from graph_planner_ros.skills.result import SkillStatus

FloatArray = NDArray[np.float64]
Motion = Generator[None, None, None]
DOWN, FORWARD = math.pi / 2, 0.0
STALLED = 0.14
"""Distance [m] between where the base should be and where it is that means a collision."""


class SkillFailure(Exception):
    """A skill cannot go on; becomes its result.

    Args:
        code, reason, recoverable, status: see `SkillResult`.
    """

    def __init__(self, code: str, reason: str, recoverable: bool = True,
                 status: SkillStatus = SkillStatus.EXECUTION_FAILED) -> None:  # fmt: skip
        super().__init__(reason)
        self.code, self.reason, self.recoverable, self.status = code, reason, recoverable, status


class Mover:
    """The robot's primitive motions in a kitchen whose fixtures it knows."""

    def __init__(self, robot: MujocoRobot, fixtures: FixtureMap) -> None:
        self.robot, self.fixtures = robot, fixtures

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return float(self.robot.data.time)

    def wait(self, seconds: float) -> Motion:
        """Stand still for a while."""
        end = self.time + seconds
        while self.time < end:
            yield

    def until(self, done: Callable[[], bool], limit: float) -> Generator[None, None, bool]:
        """Wait for a condition, at most ``limit`` seconds; returns whether it came true."""
        end = self.time + limit
        while not done():
            if self.time >= end:
                return False
            yield
        return True

    def joints(self, limit: float = 6.0, speed: float = 1.0, strict: bool = True, **targets: float) -> Motion:
        """Move joints together and wait until they are there."""
        for joint, target in targets.items():
            self.robot.move(joint, target, speed)
        tolerance = 0.012
        arrived = yield from self.until(lambda: self.robot.arrived(*targets, tolerance=tolerance), limit)
        if not arrived and strict:
            late = [j for j in targets if not self.robot.arrived(j, tolerance=tolerance)]
            raise SkillFailure("collision", f"joint {', '.join(late)} is blocked: {self.robot.touch.blocked_by()}")

    def joint(self, name: str, target: float) -> Motion:
        """Move one joint by name and wait until it is there."""
        targets = {name: target}
        yield from self.joints(6.0, 1.0, True, **targets)

    def fingers(self, opening: float, limit: float = 1.5) -> Motion:
        """Open or close the fingers to an opening [m]; something between them stops them, which is no failure."""
        self.robot.move("gripper", min(max(opening, 0.0), OPENING) / 2)
        yield from self.until(lambda: self.robot.arrived("gripper", tolerance=0.003), limit)

    def home(self) -> Motion:
        """Retract the arm (straight back), then hand down at carrying height."""
        yield from self.joints(arm=0.0, rod=0.0)
        yield from self.joints(lift=HOME["lift"], wrist_pitch=DOWN, wrist_roll=0.0)

    def recover(self) -> Motion:
        """Bring the arm home from wherever a stopped skill has left it: up first, where it can, then back."""
        robot = self.robot
        if robot.position("wrist_pitch") > 1.2:
            yield from self.joints(lift=min(robot.position("lift") + 0.05, LIFT_TOP), strict=False, limit=1.0)
        yield from self.joints(arm=0.0, rod=0.0, strict=False)
        yield from self.joints(lift=HOME["lift"], wrist_pitch=DOWN, wrist_roll=0.0, strict=False)
        robot.hand_solid(True)

    def gaze(self, point: FloatArray, wait: bool = True) -> Motion:
        """Turn the head so that the camera looks at a point (3,) in the map."""
        yaw = self.robot.pose[2]
        eye = self.robot.camera_pose()[:3, 3]
        dx, dy = point[0] - eye[0], point[1] - eye[1]
        pan = wrap_angle(math.atan2(dy, dx) - yaw)
        tilt = math.atan2(eye[2] - point[2], max(math.hypot(dx, dy), 0.05))
        self.robot.move("head_pan", pan)
        self.robot.move("head_tilt", tilt)
        if wait:
            yield from self.until(lambda: self.robot.arrived("head_pan", "head_tilt", tolerance=0.03), 2.0)

    # --- base ---------------------------------------------------------------------------------------------------
    def drive_to(self, stand: Stand, gaze: FloatArray | None = None) -> Motion:
        """Drive around obstacles to a base pose."""
        navigation = self.fixtures.navigation()
        start = self.robot.pose
        path = navigation.path(start, (stand.x, stand.y))
        if path is None:
            raise SkillFailure("not_reachable", "no free way leads to the place where the robot has to stand")
        yield from self._follow([np.array(start[:2]), *path], stand.yaw, gaze)

    def _follow(self, points: list[FloatArray], yaw: float, gaze: FloatArray | None) -> Motion:
        lengths = [float(np.hypot(*(b - a))) for a, b in itertools.pairwise(points)]
        total, done, speed = sum(lengths), 0.0, 0.0
        dt, top, acceleration = self.robot.period, 0.75, 1.2
        limit = self.time + 8.0 + 4.0 * total
        while True:
            left = total - done
            corner = self._to_corner(lengths, done)
            allowed = min(top, math.sqrt(2 * acceleration * left), math.sqrt(0.3**2 + 2 * acceleration * corner))
            speed = min(allowed, speed + acceleration * dt)
            done = min(done + speed * dt, total)
            x, y, heading = self._point(points, lengths, done)
            self.robot.follow("base_x", x)
            self.robot.follow("base_y", y)
            # Look where you go on long ways, and turn to the final heading in time.
            wanted = heading if total > 1.2 and left > 0.7 and heading is not None else yaw
            here = self.robot.commanded("base_yaw")
            self.robot.move("base_yaw", here + wrap_angle(wanted - here))
            if gaze is not None:
                yield from self.gaze(gaze, wait=False)
            yield
            self._check_base()
            if left < 1e-4 and self.robot.arrived("base_x", "base_y", "base_yaw", tolerance=0.006):
                return
            if self.time > limit:
                raise SkillFailure("timeout", "the base did not get to its target in time")

    def _check_base(self) -> None:
        robot = self.robot
        lag = math.hypot(*(robot.commanded(j) - robot.position(j) for j in ("base_x", "base_y")))
        if lag > STALLED:
            what = robot.touch.blocked_by()
            robot.stop()
            raise SkillFailure("collision", f"the base is blocked: {what}")

    @staticmethod
    def _to_corner(lengths: list[float], done: float) -> float:
        for length in lengths:
            if done < length:
                return length - done
            done -= length
        return 0.0

    @staticmethod
    def _point(points: list[FloatArray], lengths: list[float], done: float) -> tuple[float, float, float | None]:
        for (a, b), length in zip(itertools.pairwise(points), lengths, strict=True):
            if done <= length and length > 1e-9:
                point = a + (b - a) * (done / length)
                return float(point[0]), float(point[1]), math.atan2(*(b - a)[::-1])
            done -= length
        return float(points[-1][0]), float(points[-1][1]), None

    # --- hand ---------------------------------------------------------------------------------------------------
    def hand_height(self, z: float, limit: float = 5.0, speed: float = 1.0) -> Motion:
        """Bring the grasp point of the downward hand to a height [m]."""
        yield from self.joints(limit=limit, speed=speed, lift=z + HAND_LENGTH)

    def extend_over(
        self, point: FloatArray, limit: float = 5.0, speed: float = 1.0, forward: float = WRIST_FORWARD
    ) -> Motion:
        """Turn to a point and extend the arm until the tool, drawn in ``forward`` of the base axis [m], is over it."""
        x, y, _ = self.robot.pose
        dx, dy = point[0] - x, point[1] - y
        here = self.robot.commanded("base_yaw")
        yaw = here + wrap_angle(math.atan2(dy, dx) - here)
        yield from self.joints(limit=limit, speed=speed, arm=math.hypot(dx, dy) - forward, base_yaw=yaw)

    def lower_until_touch(self, z: float, speed: float = 0.35, limit: float = 6.0) -> Generator[None, None, bool]:
        """Lower the downward hand to a height, or until it or what it holds touches something; returns whether so."""
        robot = self.robot
        robot.move("lift", z + HAND_LENGTH, speed)
        end = self.time + limit
        while not robot.arrived("lift", tolerance=0.004):
            if robot.touch.hand():
                robot.move("lift", robot.position("lift") - 0.002, speed)
                return True
            if self.time > end:
                raise SkillFailure("timeout", "the hand did not come down in time")
            yield
        return robot.touch.hand()

    def roll_for(self, heading: float) -> float:
        """Wrist roll [rad] that turns the lowered fingers' closing axis to a heading in the map, modulo a half turn."""
        yaw = self.robot.target("base_yaw")
        roll = wrap_angle(yaw + math.pi / 2 - heading)
        if roll > math.pi / 2:
            roll -= math.pi
        elif roll < -math.pi / 2:
            roll += math.pi
        return roll

    @property
    def hand_heading(self) -> float:
        """Heading [rad] in the map of the downward fingers' closing axis."""
        return wrap_angle(self.robot.pose[2] + math.pi / 2 - self.robot.position("wrist_roll"))


LIFT_TOP = JOINTS["lift"].upper - HAND_LENGTH
"""Highest grasp point [m] of the downward hand."""
TIP = FINGER_TIP
