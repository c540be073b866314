"""Going to a fixture and looking at it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.scene.graph import SceneNode
from graph_planner_ros.sim.fixture_map import Fixture, rotation
from graph_planner_ros.sim.navigation import Rectangle
from graph_planner_ros.sim.reach import Stand
from graph_planner_ros.sim.robot_model import BASE_RADIUS, HEAD_HEIGHT
from graph_planner_ros.sim.skill_context import Skill, SkillContext

FloatArray = NDArray[np.float64]
DWELL = 0.85
"""Time [s] for which the camera rests on each part of a fixture."""
DISTANCE = 0.6
"""Best distance [m] of the base axis from a fixture's front."""


def go_to(context: SkillContext, node: SceneNode) -> Skill:
    """Drive to a fixture and face it."""
    fixture = context.fixture(node) if node.instance_id in context.fixtures.fixtures else context.place_of(node)
    context.enter("driving", 0.05)
    middle = _middle(fixture)
    yield from context.go(view_stands(context, fixture), f"stand at {fixture.fixture_id}", middle)
    yield from context.mover.gaze(middle)
    context.enter("there", 1.0)


def look(context: SkillContext, node: SceneNode) -> Skill:
    """Look at all of a fixture's containment volume from a good place."""
    fixture = context.fixture(node) if node.instance_id in context.fixtures.fixtures else context.place_of(node)
    yield from look_at(context, fixture, DWELL)
    context.enter("seen", 1.0)


def look_at(context: SkillContext, fixture: Fixture, dwell: float) -> Skill:
    """Drive to where the fixture can be seen, unless the robot already is there, and rest the gaze on its parts."""
    context.enter("driving", 0.05)
    if not _stands_well(context, fixture):
        yield from context.go(view_stands(context, fixture), f"look at {fixture.fixture_id}", _middle(fixture))
    x, y, _ = context.robot.pose
    here = context.robot.commanded("base_yaw")
    middle = _middle(fixture)
    wanted = math.atan2(middle[1] - y, middle[0] - x)
    yield from context.mover.joints(base_yaw=here + math.remainder(wanted - here, 2 * math.pi))
    points = gaze_points(fixture)
    for index, point in enumerate(points):
        context.enter("looking", 0.3 + 0.6 * index / len(points))
        yield from context.mover.gaze(point)
        yield from context.mover.wait(dwell)


def _middle(fixture: Fixture) -> FloatArray:
    surfaces = fixture.surfaces
    if not surfaces:
        return np.asarray(fixture.box.center, dtype=float)
    floor = surfaces[0].center[2] - surfaces[0].extent[2] / 2
    return np.array([*surfaces[0].center[:2], floor])


def gaze_points(fixture: Fixture) -> list[FloatArray]:
    """Points (3,) in the map that the camera rests on one after the other, so that it sees the whole fixture."""
    points: list[FloatArray] = []
    for surface in fixture.surfaces:
        floor = surface.center[2] - surface.extent[2] / 2 + 0.04
        width = surface.extent[1]
        count = 1 if width < 0.7 else 2
        for index in range(count):
            offset = width * ((index + 0.5) / count - 0.5)
            center = surface.center[:2] + rotation(surface.yaw) @ np.array([0.0, offset])
            points.append(np.array([*center, floor]))
    return points or [np.asarray(fixture.box.center, dtype=float)]


def view_stands(context: SkillContext, fixture: Fixture) -> list[Stand]:
    """Base poses in front of a fixture that see onto or into it, best first."""
    navigation = context.fixtures.navigation()
    target = _middle(fixture)
    half = float(fixture.box.extent[0]) / 2
    edge = fixture.box.center[:2] + half * fixture.front
    angles = fixture.box.yaw + np.radians(np.arange(-50, 51, 10.0))
    distances = np.arange(BASE_RADIUS + 0.07, 1.2, 0.06)
    if fixture.is_drawer:  # its front is where it is pulled to
        edge = target[:2] + 0.2 * fixture.front
    angle, distance = (g.ravel() for g in np.meshgrid(angles, distances))
    base = edge + distance[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    keep = navigation.is_free(base)
    base, angle, distance = base[keep], angle[keep], distance[keep]
    x, y, _ = context.robot.pose
    best = DISTANCE if not fixture.is_drawer else 0.45
    cost = np.abs(distance - best) + 0.5 * np.abs(np.sin((angle - fixture.box.yaw) / 2)) * 2
    cost += 0.25 * np.hypot(base[:, 0] - x, base[:, 1] - y)
    for blocker in _sight_blockers(context, fixture, target):
        for index in range(len(base)):
            if blocker.segment_distance(base[index], target[:2]) < 0.03:
                cost[index] += 3.0
    stands = [Stand(float(b[0]), float(b[1]), math.atan2(target[1] - b[1], target[0] - b[0]), float(c))
              for b, c in zip(base, cost, strict=True)]  # fmt: skip
    return sorted(stands, key=lambda stand: stand.cost)


def _sight_blockers(context: SkillContext, fixture: Fixture, target: FloatArray) -> list[Rectangle]:
    """Other fixtures and door leaves that are as high as the line of sight."""
    blockers = context.fixtures.leaves(without=fixture.fixture_id if fixture.is_drawer else "")
    for other in context.fixtures.fixtures.values():
        if other is not fixture:
            blockers += other.arm_obstacles()
    if fixture.door is not None and fixture.door.is_closed:
        own = fixture.door.leaf(fixture.door.position)
        blockers = [b for b in blockers if b != own]
    return [b for b in blockers if b.high > target[2] + 0.15 and b.low < HEAD_HEIGHT]


def _stands_well(context: SkillContext, fixture: Fixture) -> bool:
    """True if the robot already is where it sees the fixture well."""
    x, y, _ = context.robot.pose
    target = _middle(fixture)
    offset = np.array([x, y]) - target[:2]
    distance = float(np.linalg.norm(offset))
    angle = math.remainder(math.atan2(offset[1], offset[0]) - fixture.box.yaw, 2 * math.pi)
    front = float((np.array([x, y]) - fixture.box.center[:2]) @ fixture.front) - float(fixture.box.extent[0]) / 2
    if not (0.3 < front < 1.0 and abs(angle) < math.radians(35) and distance < 1.3):
        return False
    base = np.array([x, y])
    return all(b.segment_distance(base, target[:2]) >= 0.03 for b in _sight_blockers(context, fixture, target))
