"""Opening and closing doors and drawers: the hand hooks the handle and leads it along its way."""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.scene.graph import SceneNode
from graph_planner_ros.sim.fixture_map import Door, Fixture
from graph_planner_ros.sim.motion import DOWN, FORWARD, SkillFailure
from graph_planner_ros.sim.reach import stands_at_door
from graph_planner_ros.sim.robot import wrap_angle
from graph_planner_ros.sim.robot_model import HAND_LENGTH, WRIST_FORWARD
from graph_planner_ros.sim.skill_context import Skill, SkillContext, precondition

FloatArray = NDArray[np.float64]
REACH = WRIST_FORWARD + HAND_LENGTH
BEFORE = 0.09
"""Distance [m] in front of the handle at which the hand stops before it reaches in."""
STUCK = 0.09
"""Distance [m] between where the hand leads the handle and where it is that means a stuck door."""
PUSH_AT = 0.55
"""Where a door is pushed shut if its handle is out of reach: share of the way from hinge to handle."""
SPEED = {"hinge": 0.75, "slide": 0.3}
"""Speed of doors [rad/s] and drawers [m/s]."""


def open_door(context: SkillContext, node: SceneNode) -> Skill:
    """Open a fixture's door or drawer."""
    door = _door(context, context.fixture(node))
    yield from move_door(context, context.fixture(node), door.open_position)


def close_door(context: SkillContext, node: SceneNode) -> Skill:
    """Close a fixture's door or drawer."""
    _door(context, context.fixture(node))
    yield from move_door(context, context.fixture(node), 0.0)


def _door(context: SkillContext, fixture: Fixture) -> Door:
    if fixture.door is None:
        raise precondition("not_reachable", f"{fixture.fixture_id} has no door")
    return fixture.door


def move_door(context: SkillContext, fixture: Fixture, goal: float) -> Skill:
    """Lead a door from where it is to a position [rad or m]."""
    context.must_be_free()
    door = _door(context, fixture)
    tolerance = 0.06 if door.hinged else 0.03
    if abs(door.position - goal) < tolerance and (goal > 0 or door.is_closed):
        context.enter("already done", 1.0)
        return
    along, stages = _stages(context, fixture, goal)
    for stage in stages:
        yield from _move_from_one_place(context, fixture, stage, along)
    context.enter("done", 1.0)


def _stages(context: SkillContext, fixture: Fixture, goal: float) -> tuple[float, list[float]]:
    """Where to hold the door (see `Door.handle`) and positions to go through, each move possible from one place."""
    door = fixture.door
    assert door is not None
    here, start = context.robot.pose, door.position
    # A door whose handle cannot be got at can still be pushed shut by its face.
    holds = (1.0, PUSH_AT) if goal < start and door.hinged else (1.0,)
    for along in holds:
        for count in (1, 2, 3):
            positions = [float(p) for p in np.linspace(start, goal, count + 1)]
            pairs = itertools.pairwise(positions)
            if all(stands_at_door(context.fixtures, fixture, a, b, here, along) for a, b in pairs):
                return along, positions[1:]
    raise SkillFailure(
        "not_reachable", f"there is no place from which the robot could move the door of {fixture.fixture_id}"
    )


def _move_from_one_place(context: SkillContext, fixture: Fixture, goal: float, along: float) -> Skill:
    door = _door(context, fixture)
    start = door.position
    context.enter("driving to the door", 0.05)
    stands = stands_at_door(context.fixtures, fixture, start, goal, context.robot.pose, along)
    context.robot.move("lift", float(door.handle(start)[2]))
    yield from context.go(stands, f"move the door of {fixture.fixture_id}", door.handle(start, along))
    try:
        yield from _grip(context, door, start, along)
        moved = yield from _lead(context, door, start, goal, along)
    finally:
        context.robot.release_handle()
    yield from _leave(context)
    if not moved:
        _tell_stuck(context, fixture)
        verb = "open" if goal > start else "close"
        raise SkillFailure(
            "door_stuck", f"the door of {fixture.fixture_id} does not {verb}: it did not follow the hand"
        )


def _tell_stuck(context: SkillContext, fixture: Fixture) -> None:
    """A failed pull also loosens a stuck door; the world counts those of the skill ``open`` itself."""
    disturber = getattr(context.world, "disturber", None)
    if disturber is not None and context.skill != "open":
        disturber.opening_attempt(fixture.fixture_id)


def _hand_to(context: SkillContext, handle: FloatArray, short: float) -> tuple[float, float]:
    """Base heading and arm extension that bring the forward hand to ``short`` before a point."""
    x, y, _ = context.robot.pose
    dx, dy = handle[0] - x, handle[1] - y
    here = context.robot.commanded("base_yaw")
    return here + wrap_angle(math.atan2(dy, dx) - here), math.hypot(dx, dy) - REACH - short


def _grip(context: SkillContext, door: Door, position: float, along: float) -> Skill:
    context.enter("reaching for the handle", 0.35)
    robot, mover = context.robot, context.mover
    handle = door.handle(position, along)
    yaw, extension = _hand_to(context, handle, BEFORE)
    yield from mover.gaze(handle, wait=False)
    robot.move("wrist_roll", 0.0)
    robot.move("gripper", 0.03)
    yield from mover.joints(lift=float(handle[2]), wrist_pitch=FORWARD, base_yaw=yaw, strict=False)
    robot.hand_solid(False)  # part of the grip assist, see `MujocoRobot.grip_handle`
    yield from mover.joints(arm=max(extension, 0.0), base_yaw=yaw)
    yaw, extension = _hand_to(context, handle, 0.0)
    yield from mover.joints(arm=max(extension, 0.0), base_yaw=yaw, speed=0.5)
    yield from mover.fingers(0.018, limit=0.6)
    if float(np.linalg.norm(robot.gripper_position - handle)) > 0.04:
        raise SkillFailure("collision", "the hand did not get to the handle")
    robot.grip_handle(door.body, handle)


def _lead(context: SkillContext, door: Door, start: float, goal: float, along: float) -> Generator[None, None, bool]:
    """Move the hooked handle along its way; returns whether the door has followed to the end."""
    context.enter("moving the door", 0.5)
    robot, dt = context.robot, context.robot.period
    top = SPEED["hinge" if door.hinged else "slide"]
    slow = top * 1.5
    position, speed, behind = start, 0.0, 0.0
    sign = math.copysign(1.0, goal - start)
    beyond = goal + sign * (0.03 if door.hinged else 0.01) if goal > start else goal - (0.04 if door.hinged else 0.012)
    limit = context.mover.time + 12.0
    while abs(beyond - position) > 1e-4 or speed > 1e-3:
        left = abs(beyond - position)
        speed = min(top, speed + slow * dt, math.sqrt(2 * slow * left) + 1e-3, left / dt)
        position += sign * speed * dt
        handle = door.handle(position, along)
        yaw, extension = _hand_to(context, handle, 0.0)
        robot.follow("base_yaw", yaw)
        robot.follow("arm", extension)
        yield
        gap = float(np.hypot(*(robot.gripper_position - handle)[:2]))
        behind = behind + dt if gap > STUCK else 0.0
        if behind > 0.25 or context.mover.time > limit:
            robot.stop()
            return False
        if abs(beyond - position) < 1e-3:
            break
    yield from context.mover.wait(0.25)
    reached = door.position_of(robot.gripper_position, along)
    context.enter("letting go", 0.8)
    if goal > start:
        return bool(reached > start + 0.88 * (goal - start))
    return bool(reached < max(0.8 * door.closed_below, start - 0.88 * (start - goal)))


def _leave(context: SkillContext) -> Skill:
    robot, mover = context.robot, context.mover
    yield from mover.fingers(0.06, limit=0.5)
    yield from mover.joints(arm=0.0)
    yield from mover.joints(wrist_pitch=DOWN, lift=1.0 + HAND_LENGTH, gripper=0.0, strict=False)
    robot.hand_solid(True)
