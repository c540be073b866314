"""Picking up: the hand comes from above, or into a compartment from the front, and closes around the thing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.scene.graph import Box, SceneNode
from graph_planner_ros.sim.fixture_map import Fixture
from graph_planner_ros.sim.grips import Grip, feel_the_way, grip_in_the_open, grip_in_vessel
from graph_planner_ros.sim.motion import LIFT_TOP, TIP, SkillFailure
from graph_planner_ros.sim.reach import stands_over
from graph_planner_ros.sim.robot_model import ARM_HALF_HEIGHT, HAND_LENGTH, OPENING
from graph_planner_ros.sim.skill_context import Held, Skill, SkillContext, long_side, precondition

FloatArray = NDArray[np.float64]
ROOF_GAP = 0.015
OVER = 0.03
"""Gap [m] that hand and held thing keep above what they pass over."""
LEAST_DEPTH = 0.015
"""How far below a thing's top [m] finger tips in a vessel must get to have hold of it."""
PALM_GAP = 0.045
"""Grasp point below a thing's top [m], so that the palm stays clear of it."""


@dataclass(frozen=True)
class Entry:
    """How to get to a spot on a surface: heights [m] of surface, passing hand, and the arm's corridor."""

    fixture: Fixture
    floor: float
    over: float
    corridor: tuple[float, float]


def surface_under(fixture: Fixture, point: FloatArray) -> Box:
    """The surface of a fixture that a point (3,) lies on: the highest one below it."""
    below = [s for s in fixture.surfaces if s.center[2] - s.extent[2] / 2 < point[2] + 0.03]
    if not fixture.surfaces:
        raise precondition("not_reachable", f"{fixture.fixture_id} holds nothing")
    return max(below or fixture.surfaces[:1], key=lambda s: float(s.center[2] - s.extent[2] / 2))


def plan_entry(context: SkillContext, fixture: Fixture, surface: Box, lowest: float, hanging: float) -> Entry:
    """Heights for reaching over a surface.

    Args:
        lowest: lowest grasp point [m] that is wanted there. hanging: how far hand or held thing reach below it [m].
    """
    floor = float(surface.center[2] - surface.extent[2] / 2)
    tops = [float(n.box.center[2] + n.box.extent[2] / 2) for n in context.believed
            if n.box is not None and n.instance_id not in context.fixtures.fixtures
            and context.fixtures.containing(n.box.center) is fixture]  # fmt: skip
    tops = [top for top in tops if floor < top < floor + 0.25]
    wanted = max([floor + 0.13, *tops]) + OVER
    if fixture.is_enclosed:
        roof = floor + float(surface.extent[2])
        over = min(wanted + hanging, roof - ROOF_GAP - ARM_HALF_HEIGHT - HAND_LENGTH)
        over = max(over, lowest)
    else:
        rim = fixture.door.leaf(fixture.door.position).high if fixture.is_drawer and fixture.door else 0.0
        if not fixture.is_drawer:
            rim = float(fixture.box.center[2] + fixture.box.extent[2] / 2)
        over = max(wanted, rim + OVER) + hanging
        over = min(over, _ceiling(fixture, surface) - ARM_HALF_HEIGHT - HAND_LENGTH, LIFT_TOP)
    low = min(over - hanging, lowest + HAND_LENGTH - ARM_HALF_HEIGHT)
    return Entry(fixture, floor, over, (low, over + HAND_LENGTH + ARM_HALF_HEIGHT))


def _ceiling(fixture: Fixture, surface: Box) -> float:
    """Lowest thing over an open surface that the arm must stay under: the mouth of a tap, where there is one."""
    if fixture.is_drawer or fixture.button is None:
        return 10.0
    top = float(surface.center[2] + surface.extent[2] / 2)
    rim = float(fixture.box.center[2] + fixture.box.extent[2] / 2)
    sunk = float(surface.center[2] - surface.extent[2] / 2) < rim - 0.05
    return top - 0.01 if sunk else 10.0


def pick_up(context: SkillContext, item: SceneNode, place: SceneNode) -> Skill:
    """Pick an item up from the fixture or movable receptacle where it is believed to be."""
    context.must_be_free()
    box = context.box_of(item)
    inside = place if place.instance_id not in context.fixtures.fixtures else None
    fixture = context.place_of(inside or place)
    context.must_be_open(fixture)
    surface = surface_under(fixture, box.center)
    top = float(box.center[2] + box.extent[2] / 2)
    floor = float(surface.center[2] - surface.extent[2] / 2)
    bottom = floor
    if inside is None:
        grip = grip_in_the_open(box)
    else:
        holder = context.box_of(inside)
        bottom = max(floor, float(holder.center[2] - holder.extent[2] / 2)) + 0.014
        grip = grip_in_vessel(item, box, inside, holder)
    length, width, heading = long_side(box)
    grasp = max(bottom + TIP + 0.004, top - PALM_GAP)
    grasp = max(grasp, grip.lowest)
    entry = plan_entry(context, fixture, surface, grasp, TIP)
    yield from _approach(context, item, Box(np.append(grip.point, grasp), box.extent, box.yaw), entry, grip.opening)
    yield from _grasp(context, item, entry, grasp, grip)
    above = float(context.robot.gripper_position[2]) if context.robot.holding else grasp
    relative = heading - context.mover.hand_heading
    context.held = Held(item, above - bottom, length, width, max(top - bottom, 0.02), relative)
    yield from _lift(context, item, entry)
    if inside and context.sees_nothing_on(stand_of(context.box_of(inside), floor)):
        yield from _set_back(context, entry, above)
        raise SkillFailure("grasp_failed", f"{inside.instance_id} came along with {item.instance_id}")
    yield from _carry_off(context, item)


def stand_of(vessel: Box, floor: float) -> Box:
    """The volume over the middle of the spot that a vessel stands on, which it covers wherever it really stands."""
    extent = np.array([0.6 * vessel.extent[0], 0.6 * vessel.extent[1], vessel.extent[2] + 0.06])
    return Box(np.append(vessel.center[:2], floor + extent[2] / 2), extent, vessel.yaw)


def _approach(context: SkillContext, item: SceneNode, box: Box, entry: Entry, opening: float) -> Skill:
    context.enter("driving to the object", 0.05)
    robot, mover = context.robot, context.mover
    margin = max(0.075, opening / 2 + 0.02)
    stands = stands_over(context.fixtures, box.center, entry.corridor, entry.fixture, robot.pose, margin=margin)
    robot.move("lift", entry.over + HAND_LENGTH)
    yield from context.go(stands, f"reach {item.instance_id}", np.asarray(box.center))
    context.enter("reaching", 0.4)
    robot.move("gripper", opening / 2)
    yield from mover.gaze(np.asarray(box.center), wait=False)
    yield from mover.hand_height(entry.over)
    yield from mover.extend_over(box.center)


def _grasp(context: SkillContext, item: SceneNode, entry: Entry, height: float, grip: Grip) -> Skill:
    """Close around the thing; a few tries with other wrist angles, heights and places before giving up."""
    robot, mover = context.robot, context.mover
    touched, doubt = False, ""
    reach, point = robot.target("arm"), grip.point
    for index, trial in enumerate(grip.tries):
        context.enter("grasping", 0.5 + 0.04 * index)
        if index:
            yield from mover.hand_height(entry.over)
            if grip.in_vessel:
                yield from mover.extend_over(point)
            else:
                yield from mover.joints(arm=reach + trial.farther, strict=False)
        opening = grip.retry_opening if index else grip.opening
        roll = mover.roll_for(grip.closing + trial.turn)
        yield from mover.joints(wrist_roll=roll, gripper=opening / 2, strict=False, limit=2.0)
        lowest = max(entry.floor + TIP + 0.003, height + trial.sink)
        if (yield from mover.lower_until_touch(lowest)):
            touched = True
            tip = float(robot.gripper_position[2]) - TIP
            if grip.in_vessel:
                point = point + feel_the_way(grip, robot.touch.met_by(), tip, index + 1)
            yield from mover.hand_height(tip + TIP + 0.004, speed=0.3)
            if grip.in_vessel and tip > grip.top - LEAST_DEPTH:
                continue  # the tips stand on a rim, above the thing
        yield from _close(context)
        touched |= any(robot.touch.fingers().values())
        if robot.try_grasp():
            doubt = grip.contradiction(robot.opening, float(robot.gripper_position[2]))
            if not doubt:
                return
            robot.release()
        yield from mover.fingers(grip.opening if grip.in_vessel else OPENING, limit=1.0)
    yield from _back_off(context, entry)
    if touched:
        reason = f"the fingers did not get hold of {item.instance_id}"
        raise SkillFailure("grasp_failed", f"{reason}: {doubt}" if doubt else reason)
    raise SkillFailure("object_not_found", f"the fingers closed on nothing where {item.instance_id} was believed to be")


def _close(context: SkillContext) -> Skill:
    """Close the fingers until both feel one thing or they meet."""
    robot, mover = context.robot, context.mover

    def gripped() -> bool:
        felt = robot.touch.fingers()
        return bool(felt["left"] & felt["right"]) or robot.arrived("gripper", tolerance=0.002)

    robot.move("gripper", 0.0)
    yield from mover.until(gripped, 1.6)
    if not robot.arrived("gripper", tolerance=0.002):
        yield from mover.wait(0.1)


def _back_off(context: SkillContext, entry: Entry) -> Skill:
    yield from context.mover.hand_height(entry.over)
    yield from context.mover.fingers(0.02, limit=0.5)
    yield from context.mover.home()


def _set_back(context: SkillContext, entry: Entry, height: float) -> Skill:
    """Put down again what should not have come along, where it stood."""
    yield from context.mover.lower_until_touch(height - 0.005, speed=0.3)
    context.robot.release()
    yield from context.mover.fingers(OPENING, limit=1.0)
    yield from _back_off(context, entry)


def _lift(context: SkillContext, item: SceneNode, entry: Entry) -> Skill:
    """Lift and check that it is still there."""
    robot, mover = context.robot, context.mover
    context.enter("lifting", 0.75)
    held = context.held
    raised = (
        max(entry.over - TIP + held.above_bottom, entry.over) if held and not entry.fixture.is_enclosed else entry.over
    )
    raised = min(raised, LIFT_TOP)
    first = min(raised, float(robot.gripper_position[2]) + 0.06)
    yield from mover.hand_height(first, speed=0.5)
    if not robot.holding:
        yield from _back_off(context, entry)
        raise SkillFailure("slipped", f"{item.instance_id} slipped out of the fingers while being lifted")
    yield from mover.hand_height(raised)


def _carry_off(context: SkillContext, item: SceneNode) -> Skill:
    """Retract, and check that it is still there."""
    robot, mover = context.robot, context.mover
    context.enter("retracting", 0.85)
    yield from mover.home()
    if not robot.holding:
        raise SkillFailure("slipped", f"{item.instance_id} was lost on the way")
    context.enter("holding", 1.0)
