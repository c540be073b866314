"""Putting down: on a free spot of a fixture, or into a movable receptacle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.scene.graph import Box, SceneNode
from graph_planner_ros.sim.fixture_map import Fixture, rotation
from graph_planner_ros.sim.grips import WALL
from graph_planner_ros.sim.motion import LIFT_TOP, TIP, SkillFailure
from graph_planner_ros.sim.navigation import Rectangle
from graph_planner_ros.sim.reach import Stand, stands_over
from graph_planner_ros.sim.robot_model import FINGER_THICKNESS, HAND_LENGTH, OPENING
from graph_planner_ros.sim.skill_context import Held, Skill, SkillContext, long_side, outline, precondition
from graph_planner_ros.sim.skills_pick import Entry, plan_entry, stand_of, surface_under

FloatArray = NDArray[np.float64]
GAP = 0.035
"""Least room [m] between the thing and others, for fingers that open beside it."""
WIDE_OPEN, BESIDE_OTHERS = 0.035, 0.012
"""How much the fingers open [m] to let go, on free ground and among other things in a vessel."""
EDGE = 0.02
SHELF_SIDE = 0.085
"""Least distance [m] from a compartment's side wall to a thing's middle, for the hand."""
TALL = 0.40
"""Clearance [m] of compartments in which things can be lifted over others."""
DEPTH = 0.42
"""How far behind the front edge [m] things are put."""


@dataclass(frozen=True)
class Spot:
    """A place for the held thing: middle (2,) in the map, its surface, heading of its long side, and how good it is."""

    point: FloatArray
    surface: Box
    heading: float
    score: float


def find_spots(context: SkillContext, fixture: Fixture, held: Held, seen: FloatArray | None) -> list[Spot]:
    """Free spots of a fixture, best first, given the believed things and what a scan has seen (n, 2)."""
    spots: list[Spot] = []
    for surface in fixture.surfaces:
        spots += _spots_on(context, fixture, surface, held, seen)
    return sorted(spots, key=lambda spot: -spot.score)


def _occupied(context: SkillContext, surface: Box, held: Held, seen: FloatArray | None) -> FloatArray:
    """Points (n, 2) of the map that are taken on a surface."""
    floor = surface.center[2] - surface.extent[2] / 2
    points = [np.zeros((0, 2))] if seen is None else [seen]
    for node in context.believed:
        if (
            node.box is None
            or node.instance_id in context.fixtures.fixtures
            or node.instance_id == held.node.instance_id
        ):
            continue
        if floor - 0.03 < node.box.center[2] < floor + surface.extent[2]:
            points.append(outline(node.box))
    return np.concatenate(points)


def _spots_on(context: SkillContext, fixture: Fixture, surface: Box, held: Held, seen: FloatArray | None) -> list[Spot]:
    half, along, across = surface.extent[:2] / 2, held.length / 2, held.width / 2
    side = across + EDGE
    if fixture.is_enclosed:
        side = max(side + 0.03, SHELF_SIDE)
    elif fixture.is_drawer:
        side += 0.03
    back = max(-half[0] + along + EDGE, half[0] - DEPTH)
    xs = np.arange(half[0] - along - EDGE - (0.02 if not fixture.is_enclosed else 0.0), back - 1e-6, -0.03)
    if len(xs) == 0 and half[0] > along:
        xs = np.array([0.0])
    ys = np.arange(-half[1] + side, half[1] - side + 1e-6, 0.03)
    if len(ys) == 0 and half[1] > across:
        ys = np.array([0.0])
    taken = (_occupied(context, surface, held, seen) - surface.center[:2]) @ rotation(surface.yaw)
    inside = (np.abs(taken) < half + 0.1).all(axis=1)
    taken = taken[inside]
    spots = []
    for x in xs:
        for y in ys:
            gap = _gap(taken, Rectangle(x, y, along, across, 0.0), fixture, float(surface.extent[2]))
            if gap < GAP:
                continue
            depth = half[0] - x
            # In compartments the sides are filled first, so that the rest stays usable.
            aside = 0.15 * abs(y) if fixture.is_enclosed else -0.02 * abs(y)
            score = min(gap, 0.12) - 0.3 * abs(depth - max(0.16, along + EDGE)) + aside
            point = surface.center[:2] + rotation(surface.yaw) @ np.array([x, y])
            spots.append(Spot(point, surface, surface.yaw, score))
    return spots


def _gap(taken: FloatArray, spot: Rectangle, fixture: Fixture, clearance: float) -> float:
    """Room [m] around a spot, up to 0.15, given taken points (n, 2) in the surface's frame (x out of the front)."""
    if not len(taken):
        return 0.15
    gap = min(0.15, float(spot.distance(taken).min()))
    if fixture.is_enclosed:
        # The hand comes along x. What stands in that way it can pass over only where there is height for it.
        beside = float(np.abs(taken[:, 1] - spot.y).min()) - spot.half_y
        gap = min(gap, beside) if clearance < TALL else gap if beside >= GAP else min(gap, GAP + 0.001)
    return gap


def put(context: SkillContext, item: SceneNode, place: SceneNode) -> Skill:
    """Put the held item on or into a fixture, or into a movable receptacle."""
    held = context.must_hold(item)
    if place.instance_id in context.fixtures.fixtures:
        yield from _put_on_fixture(context, held, context.fixture(place))
    else:
        yield from _put_into(context, held, place)
    context.held = None
    context.enter("done", 1.0)


def _entry(context: SkillContext, fixture: Fixture, surface: Box, held: Held) -> Entry:
    floor = float(surface.center[2] - surface.extent[2] / 2)
    return plan_entry(context, fixture, surface, floor + held.above_bottom, held.above_bottom)


def _margin(held: Held) -> float:
    return max(0.075, held.width / 2 + 0.02)


def _choose(
    context: SkillContext, fixture: Fixture, held: Held, seen: FloatArray | None
) -> tuple[Spot, list[Stand], Entry]:
    """The best free spot that the robot can reach, with where to stand for it."""
    spots = find_spots(context, fixture, held, seen)
    if not spots:
        raise SkillFailure(
            "no_free_space", f"there is no free spot for {held.node.instance_id} on {fixture.fixture_id}"
        )
    navigation = context.fixtures.navigation()
    options = []
    for spot in spots[:14]:
        entry = _entry(context, fixture, spot.surface, held)
        stands = stands_over(context.fixtures, spot.point, entry.corridor, fixture, context.robot.pose,
                             margin=_margin(held), navigation=navigation)  # fmt: skip
        if stands:
            options.append((spot.score - 0.1 * stands[0].cost, spot, stands, entry))
    if not options:
        raise SkillFailure("not_reachable", f"no free spot on {fixture.fixture_id} is within reach")
    _, spot, stands, entry = max(options, key=lambda option: option[0])
    return spot, stands, entry


def _put_on_fixture(context: SkillContext, held: Held, fixture: Fixture) -> Skill:
    if not fixture.surfaces:
        raise precondition("no_free_space", f"nothing can be put on {fixture.fixture_id}")
    context.must_be_open(fixture)
    context.enter("driving to the place", 0.05)
    spot, stands, entry = _choose(context, fixture, held, None)
    context.robot.move("lift", max(entry.over, 0.9) + HAND_LENGTH)
    yield from context.go(stands, f"put something on {fixture.fixture_id}", np.append(spot.point, entry.floor))
    # Look before putting: what the belief did not know shows in the scan.
    yield from context.mover.gaze(np.append(spot.point, entry.floor))
    seen = np.concatenate([context.scan(surface) for surface in fixture.surfaces])
    spot, stands, entry = _choose(context, fixture, held, seen)
    here = context.robot.pose
    if math.hypot(stands[0].x - here[0], stands[0].y - here[1]) > 0.01 or abs(stands[0].yaw - here[2]) > 0.01:
        yield from context.go(stands, f"put something on {fixture.fixture_id}")
    context.enter("reaching", 0.45)
    yield from context.mover.hand_height(entry.over)
    yield from context.mover.extend_over(np.append(spot.point, 0.0))
    yield from _turn(context, held, spot.heading)
    _must_still_hold(context, held)
    yield from _release(context, held, entry, entry.floor + held.above_bottom)


def _turn(context: SkillContext, held: Held, heading: float) -> Skill:
    """Turn the wrist so that the held thing's long side points along a heading."""
    roll = context.mover.roll_for(heading - held.in_hand)
    yield from context.mover.joints(wrist_roll=roll, strict=False, limit=2.5)


def _must_still_hold(context: SkillContext, held: Held) -> None:
    if not context.robot.holding:
        raise SkillFailure("slipped", f"{held.node.instance_id} was lost on the way")


def _release(context: SkillContext, held: Held, entry: Entry, height: float, wider: float = WIDE_OPEN) -> Skill:
    """Lower the thing until it stands, open, and leave upwards."""
    robot, mover = context.robot, context.mover
    context.enter("putting down", 0.65)
    yield from mover.lower_until_touch(height - 0.012, speed=0.3)
    _must_still_hold(context, held)
    yield from mover.wait(0.1)
    opening = min(robot.opening + wider, OPENING)
    _remember(context, held)
    robot.release()
    yield from mover.fingers(opening, limit=1.0)
    yield from mover.wait(0.1)
    context.enter("retracting", 0.8)
    yield from mover.hand_height(min(max(entry.over, height + 0.03), LIFT_TOP), speed=0.6)
    if entry.fixture.is_enclosed:
        # Under a roof the fingers may still stand beside the thing: they leave along its sides.
        yield from mover.joints(arm=0.0, speed=0.7)
    yield from mover.home()
    robot.move("gripper", 0.0)


def _remember(context: SkillContext, held: Held) -> None:
    """Where the hand lets go of the thing."""
    center = context.robot.gripper_position
    center[2] += held.height / 2 - held.above_bottom
    extent = np.array([held.length, held.width, held.height])
    context.put_at = Box(center, extent, context.mover.hand_heading + held.in_hand)


def _put_into(context: SkillContext, held: Held, vessel: SceneNode) -> Skill:
    box = context.box_of(vessel)
    fixture = context.fixtures.containing(box.center)
    if fixture is None:
        raise SkillFailure("not_reachable", f"{vessel.instance_id} is believed where no fixture holds it")
    context.must_be_open(fixture)
    surface = surface_under(fixture, box.center)
    rim = float(box.center[2] + box.extent[2] / 2)
    bottom = float(surface.center[2] - surface.extent[2] / 2)
    # Into a wide vessel the thing is lowered to the bottom; into a narrow one it falls the last centimetres.
    length, width, long_heading = long_side(box)
    wide = length - 2 * 0.012 > held.width + 0.05
    contents = contents_of(context, vessel, held)
    along = free_along(box, [node.box for node in contents if node.box is not None], held.width)
    if along is None:
        names = ", ".join(node.instance_id for node in contents)
        reason = f"{vessel.instance_id} is full: {names} in it leaves no room for {held.node.instance_id}"
        raise SkillFailure("no_free_space", reason, recoverable=False)
    target = box.center + along * np.array([math.cos(long_heading), math.sin(long_heading), 0.0])
    lowest = (
        bottom + 0.016 + held.above_bottom
        if wide
        else max(rim - 0.005 + min(held.above_bottom, TIP + 0.005), bottom + held.above_bottom)
    )
    entry = plan_entry(context, fixture, surface, lowest, held.above_bottom)
    context.enter("driving to the receptacle", 0.05)
    stands = stands_over(context.fixtures, target, entry.corridor, fixture, context.robot.pose, margin=_margin(held))
    context.robot.move("lift", max(entry.over, 0.9) + HAND_LENGTH)
    yield from context.go(stands, f"put something into {vessel.instance_id}", np.asarray(box.center))
    context.enter("reaching", 0.45)
    yield from context.mover.gaze(np.asarray(box.center))
    if context.sees_nothing_on(stand_of(box, bottom)):
        raise SkillFailure("object_not_found", f"{vessel.instance_id} is not where it was believed to be")
    yield from context.mover.hand_height(entry.over)
    yield from context.mover.extend_over(target)
    if length > 1.2 * width:  # fingers open along the vessel's long side
        yield from context.mover.joints(wrist_roll=context.mover.roll_for(long_heading), strict=False, limit=2.5)
    _must_still_hold(context, held)
    yield from _release(context, held, entry, lowest, BESIDE_OTHERS if contents else WIDE_OPEN)


def contents_of(context: SkillContext, vessel: SceneNode, held: Held) -> list[SceneNode]:
    """What is believed to lie in a movable receptacle already."""
    box = context.box_of(vessel)
    low, rim = float(box.center[2] - box.extent[2] / 2), float(box.center[2] + box.extent[2] / 2)
    inside = []
    for node in context.believed:
        others = node.instance_id not in (vessel.instance_id, held.node.instance_id, *context.fixtures.fixtures)
        if node.box is None or not others:
            continue
        offset = np.abs(rotation(-box.yaw) @ (node.box.center[:2] - box.center[:2]))
        level = low < node.box.center[2] < rim + node.box.extent[2] / 2 + 0.02
        if level and (offset < box.extent[:2] / 2).all():
            inside.append(node)
    return inside


def free_along(vessel: Box, contents: Sequence[Box], width: float) -> float | None:
    """Where a thing that is held across its ``width`` fits into a vessel with contents.

    Returns:
        Offset [m] from the vessel's middle along its long side, the smallest there is; None if it is full.
    """
    if not contents:
        return 0.0
    length, short, heading = long_side(vessel)
    if length < 1.2 * short:  # a mug or a pot has room for one thing
        return None
    axis = np.array([math.cos(heading), math.sin(heading)])
    need = width / 2 + FINGER_THICKNESS + BESIDE_OTHERS / 2
    room = length / 2 - WALL - need
    offsets = np.arange(-room, room + 1e-6, 0.003) if room > 0 else np.zeros(0)
    for box in contents:
        long, across, turned = long_side(box)
        half = float(np.hypot(long * math.cos(turned - heading), across * math.sin(turned - heading))) / 2
        offsets = offsets[np.abs(offsets - (box.center[:2] - vessel.center[:2]) @ axis) > half + need]
    return float(min(offsets, key=abs)) if len(offsets) else None
