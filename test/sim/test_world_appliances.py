"""What appliances do: only the right one, only long enough, only to what is really inside."""

from __future__ import annotations

import math

import numpy as np
import pytest
from stand_in import StandIn

from graph_planner_ros.sim.properties import COOL_TIME, HEAT_TIME, WASH_TIME
from graph_planner_ros.sim.truth import container_of
from graph_planner_ros.sim.world import KitchenWorld


@pytest.fixture
def world() -> KitchenWorld:
    return KitchenWorld("l_shape", 3, robot=False)


def seconds(world: KitchenWorld, time: float) -> None:
    for _ in range(round(time / 0.1)):
        world.step(round(0.1 / world.model.opt.timestep))


def put_in(world: KitchenWorld, item: str, fixture: str) -> None:
    surface = world.surfaces(fixture)[0]
    position = surface.center.copy()
    position[2] += -surface.extent[2] / 2 + world.items[item].size[2] / 2 + 0.002
    world.set_item_pose(item, position, world.fixtures[fixture].front)


def in_the_open(world: KitchenWorld, label: str) -> str:
    shut = world.shut_fixtures()
    return next(n for n, i in world.items.items() if i.label == label and container_of(world, n) not in shut)


def test_a_running_closed_microwave_heats_what_is_inside_after_a_while(world: KitchenWorld) -> None:
    apple = in_the_open(world, "Apple")
    put_in(world, apple, "microwave_1")
    world.switch("microwave_1", True)
    seconds(world, HEAT_TIME - 0.5)
    assert not world.properties[apple].hot
    seconds(world, 1.0)
    assert world.properties[apple].hot
    assert not any(world.properties[name].hot for name in world.items if name != apple)


@pytest.mark.parametrize(("on", "door"), [(False, 0.0), (True, 1.0)])
def test_a_microwave_that_is_off_or_open_heats_nothing(world: KitchenWorld, on: bool, door: float) -> None:
    apple = in_the_open(world, "Apple")
    put_in(world, apple, "microwave_1")
    world.set_door("microwave_1", door)
    world.switch("microwave_1", on)
    seconds(world, HEAT_TIME + 1)
    assert not world.properties[apple].hot


def test_opening_the_microwave_in_between_starts_the_time_again(world: KitchenWorld) -> None:
    apple = in_the_open(world, "Apple")
    put_in(world, apple, "microwave_1")
    world.switch("microwave_1", True)
    seconds(world, HEAT_TIME - 0.5)
    world.set_door("microwave_1", 1.0)
    seconds(world, 0.2)
    world.set_door("microwave_1", 0.0)
    seconds(world, HEAT_TIME - 0.5)
    assert not world.properties[apple].hot


@pytest.mark.parametrize("door", [0.0, 1.2])
def test_the_fridge_cools_what_is_inside_and_makes_hot_things_cold(world: KitchenWorld, door: float) -> None:
    apple = in_the_open(world, "Apple")
    world.properties[apple].hot = True
    world.set_door("fridge_1", door)
    put_in(world, apple, "fridge_1")
    seconds(world, COOL_TIME - 0.5)
    assert world.properties[apple].hot
    seconds(world, 1.0)
    assert world.properties[apple].cold and not world.properties[apple].hot


def test_running_water_washes_what_lies_in_the_basin_or_is_held_under_the_tap(world: KitchenWorld) -> None:
    dirty = next(name for name, properties in world.properties.items() if properties.dirty)
    potato = in_the_open(world, "Potato")
    put_in(world, dirty, "sink_basin_1")
    seconds(world, WASH_TIME + 1)
    assert world.properties[dirty].dirty, "no water runs yet"
    world.switch("sink_basin_1", True)
    seconds(world, WASH_TIME + 0.5)
    assert world.properties[dirty].cleaned and not world.properties[dirty].dirty
    # held: the pose is set again and again, the item never rests
    place = world.fixtures["sink_basin_1"].surfaces[0].center + np.array([0, 0, 0.1])
    for _ in range(round((WASH_TIME + 0.5) / 0.1)):
        world.set_item_pose(potato, place, 0.0)
        world.step(25)
    assert world.properties[potato].cleaned


def test_a_dry_item_beside_the_basin_is_not_washed(world: KitchenWorld) -> None:
    world.switch("sink_basin_1", True)
    seconds(world, WASH_TIME + 1)
    outside = [name for name in world.items if container_of(world, name) != "sink_basin_1"]
    assert not any(world.properties[name].cleaned for name in outside)


def test_what_is_held_near_a_lit_lamp_counts_as_examined(world: KitchenWorld) -> None:
    robot = StandIn()
    world.robot = robot
    egg = "egg_1"
    lamp = world.fixtures["desk_lamp_1"]
    place = lamp.box.center + 0.5 * np.array([math.cos(lamp.front), math.sin(lamp.front), 1.0])

    def hold(time: float) -> None:
        for _ in range(round(time / 0.1)):
            world.set_item_pose(egg, place, 0.0)
            world.step(25)

    robot.held_body = egg
    hold(1.5)
    assert not world.properties[egg].examined, "the lamp is off"
    world.switch("desk_lamp_1", True)
    hold(1.5)
    assert world.properties[egg].examined
    assert sum(properties.examined for properties in world.properties.values()) == 1


def test_slicing_changes_the_look_and_only_that_item(world: KitchenWorld) -> None:
    bread = "bread_1"
    whole, sliced = world.items[bread].looks["whole"], world.items[bread].looks["sliced"]

    def groups(names: tuple[str, ...]) -> set[int]:
        return {int(world.model.geom(name).group[0]) for name in names}

    hidden = groups(sliced)
    shown = groups(whole)
    world.slice_item(bread)
    assert groups(sliced) == shown and groups(whole) == hidden
    assert [name for name, properties in world.properties.items() if properties.sliced] == [bread]
