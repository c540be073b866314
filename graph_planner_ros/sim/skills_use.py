"""Using appliances and tools: switches, heating, cooling, washing, slicing, examining."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.scene.graph import SceneNode
from graph_planner_ros.sim.fixture_map import Fixture
from graph_planner_ros.sim.motion import DOWN, FORWARD, TIP, SkillFailure
from graph_planner_ros.sim.reach import Stand, stands_over
from graph_planner_ros.sim.robot_model import ARM_LENGTH, HAND_LENGTH, ROD_FORWARD, ROD_LEFT, ROD_LENGTH, WRIST_FORWARD
from graph_planner_ros.sim.skill_context import Skill, SkillContext, long_side, precondition
from graph_planner_ros.sim.skills_door import move_door
from graph_planner_ros.sim.skills_pick import pick_up, plan_entry, surface_under
from graph_planner_ros.sim.skills_put import put
from graph_planner_ros.sim.skills_view import look_at

FloatArray = NDArray[np.float64]
PRESSED = 0.018
"""Distance [m] between tool and switch at which the switch is pressed."""
HEATING, COOLING, WASHING, LIGHTING = 3.6, 3.6, 2.6, 1.5
"""How long the robot waits for each effect [s]."""


# --- switches -----------------------------------------------------------------------------------------------------
def toggle(context: SkillContext, node: SceneNode, on: bool) -> Skill:
    """Press a fixture's switch."""
    yield from press(context, context.fixture(node), on)
    context.enter("retracting", 0.9)
    yield from context.mover.home()
    context.enter("done", 1.0)


def press(context: SkillContext, fixture: Fixture, on: bool) -> Skill:
    """Drive to the switch and press it: with the finger tips, or, if the hand is full, with the rod beside it."""
    button = fixture.button
    if button is None:
        raise precondition("not_reachable", f"{fixture.fixture_id} has no switch")
    context.enter("driving to the switch", 0.05)
    stands = _switch_stands(context, fixture, button, _tool(context))
    yield from context.go(stands, f"press the switch of {fixture.fixture_id}", button)
    context.enter("pressing the switch", 0.5)
    yield from _press_here(context, fixture, button, on)


@dataclass(frozen=True)
class _Tool:
    """What presses: the joint that moves it, how far it travels, and where it is when drawn in [m]."""

    joint: str
    travel: float
    forward: float
    lateral: float
    pitch: float


def _tool(context: SkillContext) -> _Tool:
    if context.robot.holding:
        return _Tool("rod", ROD_LENGTH, WRIST_FORWARD + ROD_FORWARD, ROD_LEFT, DOWN)
    return _Tool("arm", ARM_LENGTH, WRIST_FORWARD + HAND_LENGTH + TIP, 0.0, FORWARD)


def _switch_stands(context: SkillContext, fixture: Fixture, button: FloatArray, tool: _Tool) -> list[Stand]:
    heights = (float(button[2]) - 0.03, float(button[2]) + 0.03)
    stands = stands_over(context.fixtures, button[:2], heights, fixture, context.robot.pose, tool.forward, tool.lateral,
                         margin=0.07, own_blocks=False, travel=tool.travel)  # fmt: skip
    heading = fixture.box.yaw + math.pi
    # A switch is pressed along the direction that it faces.
    return [s for s in stands if math.cos(s.yaw - heading) > math.cos(math.radians(40))] or stands


def _press_here(context: SkillContext, fixture: Fixture, button: FloatArray, on: bool) -> Skill:
    robot, mover, tool = context.robot, context.mover, _tool(context)
    if tool.joint == "arm":
        robot.move("gripper", 0.0)
    yield from mover.gaze(button, wait=False)
    yield from mover.joints(lift=float(button[2]), wrist_pitch=tool.pitch, strict=False)
    x, y, _ = robot.pose
    distance = float(np.hypot(button[0] - x, button[1] - y))
    along = math.sqrt(max(distance**2 - tool.lateral**2, 0.0)) - tool.forward
    here = robot.commanded("base_yaw")
    yaw = math.atan2(button[1] - y, button[0] - x) - math.asin(min(tool.lateral / distance, 1.0))
    yield from mover.joints(base_yaw=here + math.remainder(yaw - here, 2 * math.pi))
    yield from mover.joint(tool.joint, max(along - 0.04, 0.0))
    robot.move(tool.joint, along, 0.3)
    yield from mover.until(lambda: robot.arrived(tool.joint, tolerance=0.004), 2.0)
    tip = robot.rod_position if tool.joint == "rod" else _finger_tip(context)
    pressed = float(np.linalg.norm(tip - button)) < PRESSED
    if pressed:
        context.world.switch(fixture.fixture_id, on)
        yield from mover.wait(0.15)
    yield from mover.joint(tool.joint, 0.0 if tool.joint == "rod" else max(along - 0.08, 0.0))
    if not pressed:
        yield from mover.home()
        raise SkillFailure("not_reachable", f"the hand did not get to the switch of {fixture.fixture_id}")


def _finger_tip(context: SkillContext) -> FloatArray:
    robot = context.robot
    yaw, pitch = robot.pose[2], robot.position("wrist_pitch")
    direction = np.array([math.cos(yaw) * math.cos(pitch), math.sin(yaw) * math.cos(pitch), -math.sin(pitch)])
    return np.asarray(robot.gripper_position + TIP * direction)


# --- heat and cool ------------------------------------------------------------------------------------------------
def heat(context: SkillContext, item: SceneNode, place: SceneNode) -> Skill:
    """Put the held item in, shut the door, run the appliance, and take the item out again."""
    yield from _treat(context, item, place, True)


def cool(context: SkillContext, item: SceneNode, place: SceneNode) -> Skill:
    """Put the held item in, shut the door for a while, and take the item out again."""
    yield from _treat(context, item, place, False)


def _treat(context: SkillContext, item: SceneNode, place: SceneNode, switch: bool) -> Skill:
    held = context.must_hold(item)
    fixture = context.fixture(place)
    door = fixture.door
    if door is None or not fixture.surfaces:
        raise precondition("not_reachable", f"{fixture.fixture_id} is nothing that one can put things into and shut")
    context.must_be_open(fixture)
    context.span = (0.0, 0.2)
    yield from put(context, item, place)
    where = context.put_at
    assert where is not None
    context.span = (0.2, 0.4)
    yield from move_door(context, fixture, 0.0)
    context.span = (0.4, 0.6)
    if switch:
        yield from press(context, fixture, True)
    context.enter("waiting", 0.9)
    yield from context.mover.wait(HEATING if switch else COOLING)
    if switch:
        assert fixture.button is not None
        yield from _press_here(context, fixture, fixture.button, False)
        yield from context.mover.home()
    context.span = (0.6, 0.8)
    yield from move_door(context, fixture, door.open_position)
    context.span = (0.8, 1.0)
    again = SceneNode(item.instance_id, item.label, where)
    yield from pick_up(context, again, place)
    if context.held is not None:
        context.held.node = held.node


# --- wash ---------------------------------------------------------------------------------------------------------
def clean(context: SkillContext, item: SceneNode, place: SceneNode) -> Skill:
    """Turn the tap on, hold the item in the stream, turn the tap off."""
    held = context.must_hold(item)
    fixture = context.fixture(place)
    if fixture.button is None or not fixture.surfaces:
        raise precondition("not_reachable", f"{fixture.fixture_id} has no tap")
    context.span = (0.0, 0.4)
    yield from press(context, fixture, True)
    yield from context.mover.home()
    context.span = (0.4, 0.8)
    basin = fixture.surfaces[0]
    floor = float(basin.center[2] - basin.extent[2] / 2)
    height = floor + 0.05 + held.above_bottom
    entry = plan_entry(context, fixture, basin, height, held.above_bottom)
    stands = stands_over(context.fixtures, basin.center, entry.corridor, fixture, context.robot.pose)
    context.enter("driving to the sink", 0.1)
    yield from context.go(stands, f"hold something in {fixture.fixture_id}", np.asarray(basin.center))
    context.enter("washing", 0.5)
    yield from context.mover.hand_height(entry.over)
    yield from context.mover.extend_over(basin.center)
    yield from context.mover.lower_until_touch(height)
    yield from context.mover.wait(WASHING)
    yield from context.mover.hand_height(entry.over)
    yield from context.mover.home()
    context.span = (0.8, 1.0)
    yield from press(context, fixture, False)
    yield from context.mover.home()
    if not context.robot.holding:
        raise SkillFailure("slipped", f"{item.instance_id} was lost while being washed")
    context.enter("done", 1.0)


# --- slice --------------------------------------------------------------------------------------------------------
def cut(context: SkillContext, item: SceneNode, knife: SceneNode) -> Skill:
    """Bring the held knife down on an item and draw it back and forth."""
    held = context.must_hold(knife)
    box = context.box_of(item)
    fixture = context.place_of(item)
    context.must_be_open(fixture)
    surface = surface_under(fixture, box.center)
    top = float(box.center[2] + box.extent[2] / 2)
    entry = plan_entry(context, fixture, surface, top - 0.02, held.above_bottom)
    context.enter("driving to the object", 0.05)
    stands = stands_over(context.fixtures, box.center, entry.corridor, fixture, context.robot.pose)
    context.robot.move("lift", max(entry.over, 0.9) + HAND_LENGTH)
    yield from context.go(stands, f"cut {item.instance_id}", np.asarray(box.center))
    context.enter("cutting", 0.5)
    yield from context.mover.gaze(np.asarray(box.center), wait=False)
    yield from context.mover.hand_height(entry.over)
    yield from context.mover.extend_over(box.center)
    # Across the long side: the blade's long axis runs across the thing.
    heading = long_side(box)[2] + math.pi / 2
    yield from context.mover.joints(wrist_roll=context.mover.roll_for(heading - held.in_hand), strict=False, limit=2.5)
    touched = yield from context.mover.lower_until_touch(
        max(top - 0.025, entry.floor + 0.012) + held.above_bottom, speed=0.3
    )
    cut_through = False
    if touched:
        extension = context.robot.commanded("arm")
        for offset in (0.012, -0.012, 0.0):
            yield from context.mover.joints(arm=extension + offset, speed=0.4, strict=False, limit=1.0)
            cut_through = cut_through or _cut_touched(context, item)
    yield from context.mover.hand_height(entry.over)
    yield from context.mover.home()
    if not context.robot.holding:
        raise SkillFailure("slipped", f"{knife.instance_id} was lost while cutting")
    if not cut_through:
        raise SkillFailure("object_not_found", f"the knife did not meet {item.instance_id} where it was believed to be")
    context.enter("done", 1.0)


def _cut_touched(context: SkillContext, item: SceneNode) -> bool:
    """What a blade does to what it touches; the world decides, whatever the robot believes it is."""
    done = False
    for name in context.robot.touch.by_held():
        info = context.world.items.get(name)
        if info is not None and info.looks.get("sliced"):
            context.world.slice_item(name)
            done = done or info.label == item.label
    return done


# --- examine ------------------------------------------------------------------------------------------------------
def examine(context: SkillContext, item: SceneNode, lamp: SceneNode) -> Skill:
    """Hold the item into the light of a lamp and look at it."""
    context.must_hold(item)
    fixture = context.fixture(lamp)
    yield from look_at(context, fixture, dwell=0.0)
    if not context.sees_light_of(fixture):
        raise precondition("occluded", f"{fixture.fixture_id} gives no light to examine {item.instance_id} by")
    context.enter("holding it into the light", 0.5)
    x, y, _ = context.robot.pose
    distance = float(np.hypot(fixture.box.center[0] - x, fixture.box.center[1] - y))
    yield from context.mover.hand_height(1.15)
    yield from context.mover.extend_over(
        fixture.box.center - _away(context, fixture, min(0.35, max(distance - 0.2, 0.0)))
    )
    yield from context.mover.gaze(context.robot.gripper_position)
    yield from context.mover.wait(LIGHTING)
    yield from context.mover.home()
    if not context.robot.holding:
        raise SkillFailure("slipped", f"{item.instance_id} was lost")
    context.enter("done", 1.0)


def _away(context: SkillContext, fixture: Fixture, distance: float) -> FloatArray:
    """Vector (3,) of a length [m] from the robot towards a fixture."""
    x, y, _ = context.robot.pose
    offset = np.array([fixture.box.center[0] - x, fixture.box.center[1] - y, 0.0])
    return np.asarray(offset / max(float(np.linalg.norm(offset)), 1e-6) * distance)
