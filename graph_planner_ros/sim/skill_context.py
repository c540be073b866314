"""What all skills share: robot, map, the passed belief, what the hand holds, and how far the skill has come."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.scene.graph import Box, SceneNode
from graph_planner_ros.sim.fixture_map import Fixture, FixtureMap, rotation
from graph_planner_ros.sim.motion import Mover, SkillFailure
from graph_planner_ros.sim.reach import Stand
from graph_planner_ros.sim.robot import MujocoRobot
from graph_planner_ros.skills.result import SkillStatus

FloatArray = NDArray[np.float64]
Skill = Generator[None, None, None]
SKILL_CODES = (
    "collision", "not_reachable", "occluded", "grasp_failed", "door_stuck",
    "object_not_found", "slipped", "no_free_space", "timeout",
)  # fmt: skip


@dataclass
class Held:
    """What the robot knows about the thing in its hand.

    Attributes:
        node: as believed when it was picked up.
        above_bottom: grasp point above the thing's bottom [m].
        length, width, height: extent [m]; length is the side that the fingers do not span.
        in_hand: heading of the long side relative to the fingers' closing axis [rad].
    """

    node: SceneNode
    above_bottom: float
    length: float
    width: float
    height: float
    in_hand: float = math.pi / 2


class SkillContext:
    """One skill's run: access to the robot and the belief it was called with."""

    def __init__(self, world: Any, robot: MujocoRobot, fixtures: FixtureMap, mover: Mover,
                 believed: Sequence[SceneNode], skill: str, on_middle: Callable[[], None]) -> None:  # fmt: skip
        self.world, self.robot, self.fixtures, self.mover = world, robot, fixtures, mover
        self.believed = list(believed)
        self.skill, self.phase, self.progress = skill, "starting", 0.0
        self.held: Held | None = None
        self.put_at: Box | None = None
        self.span = (0.0, 1.0)
        self._on_middle: Callable[[], None] | None = on_middle

    def enter(self, phase: str, progress: float) -> None:
        """Say what is being done now; ``progress`` 0..1 of the (sub-)skill."""
        self.phase = phase
        self.progress = self.span[0] + (self.span[1] - self.span[0]) * progress
        if self._on_middle is not None and self.progress >= 0.5:
            told, self._on_middle = self._on_middle, None
            told()

    # --- arguments ----------------------------------------------------------------------------------------------
    def fixture(self, node: SceneNode) -> Fixture:
        """The map's fixture for an argument; a failure that names it if there is none."""
        found = self.fixtures.fixtures.get(node.instance_id)
        if found is None:
            raise precondition("object_not_found", f"{node.instance_id} is no fixture on the robot's map")
        return found

    def place_of(self, node: SceneNode) -> Fixture:
        """The fixture that an argument is or lies in."""
        if node.instance_id in self.fixtures.fixtures:
            return self.fixtures.fixtures[node.instance_id]
        box = self.box_of(node)
        found = self.fixtures.containing(box.center)
        if found is None:
            raise SkillFailure("not_reachable", f"{node.instance_id} is believed where no fixture holds it")
        return found

    @staticmethod
    def box_of(node: SceneNode) -> Box:
        """Where an argument is believed to be; a failure that names it if nobody knows."""
        if node.box is None:
            raise precondition("object_not_found", f"nobody knows where {node.instance_id} is")
        return node.box

    def must_hold(self, node: SceneNode) -> Held:
        """What is in the hand; a precondition failure if it is empty."""
        if not self.robot.holding or self.held is None:
            raise precondition("slipped", f"the hand is empty, so {node.instance_id} cannot be in it")
        return self.held

    def must_be_free(self) -> None:
        """A precondition failure if the hand holds something."""
        if self.robot.holding:
            raise precondition("grasp_failed", "the hand already holds something")

    def must_be_open(self, fixture: Fixture) -> None:
        """A precondition failure if one cannot reach into the fixture."""
        if fixture.door is not None and fixture.door.position < 0.6 * fixture.door.open_position:
            raise precondition("occluded", f"{fixture.fixture_id} is not open")

    # --- moving -------------------------------------------------------------------------------------------------
    def go(self, stands: Sequence[Stand], what: str, gaze: FloatArray | None = None, tries: int = 8) -> Skill:
        """Drive to the first of these base poses that a way leads to."""
        navigation = self.fixtures.navigation()
        here = self.robot.pose
        places = np.array([(stand.x, stand.y) for stand in stands]).reshape(-1, 2)
        connected = [stand for stand, ok in zip(stands, navigation.is_connected(places), strict=True) if ok]
        for stand in connected[:tries]:
            if navigation.path(here, (stand.x, stand.y)) is not None:
                yield from self.mover.drive_to(stand, gaze)
                return
        reason = "no way leads to any place" if stands else "there is no free place"
        raise SkillFailure("not_reachable", f"{reason} from which the robot could {what}")

    # --- senses -------------------------------------------------------------------------------------------------
    def scan(self, surface: Box, step: float = 0.03) -> FloatArray:
        """Points (n, 2) in the map where the head's depth sensor sees something standing on a surface.

        A coarse scan: one ray a grid cell of the surface, from the camera.
        """
        return self._look_at(surface, step)[0]

    def sees_nothing_on(self, surface: Box, step: float = 0.008, least: int = 5) -> bool:
        """True if the depth sensor sees the bare surface and nothing standing on it; False if the view is hidden."""
        standing, bare = self._look_at(surface, step)
        return len(standing) == 0 and len(bare) >= least

    def sees_light_of(self, fixture: Fixture) -> bool:
        """Whether the lamp that the head looks at shines, as the camera shows it."""
        return fixture.fixture_id in self.world.switched_on

    def _look_at(self, surface: Box, step: float) -> tuple[FloatArray, FloatArray]:
        """Points (n, 2) on things that stand on a surface, and points (m, 2) of the surface itself."""
        eye = self.robot.camera_pose()[:3, 3]
        floor = surface.center[2] - surface.extent[2] / 2
        half = surface.extent[:2] / 2
        xs, ys = (np.arange(-h + step / 2, h, step) for h in half)
        grid = np.stack(np.meshgrid(xs, ys, indexing="ij"), axis=-1).reshape(-1, 2)
        cells = np.column_stack([grid @ rotation(surface.yaw).T + surface.center[:2], np.full(len(grid), floor)])
        rays = cells - eye
        rays /= np.linalg.norm(rays, axis=1)[:, None]
        distance, geoms = np.zeros(len(rays)), np.zeros(len(rays), dtype=np.int32)
        groups = np.array([1, 1, 1, 0, 0, 0], dtype=np.uint8)
        mujoco.mj_multiRay(self.robot.model, self.robot.data, eye, rays.ravel(), groups, 1, -1, geoms, distance,
                           None, len(rays), 6.0)  # fmt: skip
        hits = eye + rays * distance[:, None]
        bodies = self.robot.model.geom_bodyid[np.maximum(geoms, 0)]
        # Fixtures are on the map; what else is hit is a thing that stands there.
        loose = np.array([self.robot.touch.is_loose(int(body)) for body in bodies])
        local = (hits[:, :2] - surface.center[:2]) @ rotation(surface.yaw)
        seen = (distance > 0) & (np.abs(local) < half + 0.01).all(axis=1)
        above = (hits[:, 2] > floor + 0.012) & (hits[:, 2] < floor + min(surface.extent[2], 0.3) - 0.03)
        held = [b for b in (self.robot.held_body, *self.robot.carried_bodies) if b]
        mine = np.isin(bodies, [self.robot.model.body(name).id for name in held])
        bare = seen & ~loose & (np.abs(hits[:, 2] - floor) < 0.01)
        return np.asarray(hits[seen & loose & above & ~mine][:, :2]), np.asarray(hits[bare][:, :2])


def precondition(code: str, reason: str) -> SkillFailure:
    """A failure that says that the skill could not begin."""
    return SkillFailure(code, reason, recoverable=False, status=SkillStatus.PRECONDITION_FAILED)


def long_side(box: Box) -> tuple[float, float, float]:
    """Longer and shorter horizontal side [m] of a box and the heading [rad] of the longer one."""
    if box.extent[0] >= box.extent[1]:
        return float(box.extent[0]), float(box.extent[1]), box.yaw
    return float(box.extent[1]), float(box.extent[0]), box.yaw + math.pi / 2


def outline(box: Box, count: int = 5) -> FloatArray:
    """Grid of points (count^2, 2) over the footprint of a box."""
    line = np.linspace(-0.5, 0.5, count)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2) * box.extent[:2]
    return np.asarray(grid @ rotation(box.yaw).T + box.center[:2])
