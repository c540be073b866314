"""The kitchens' floor plans: everything fits, can be opened and can be reached."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from graph_planner_ros.sim.fixture_map import FixtureMap
from graph_planner_ros.sim.infos import DoorInfo
from graph_planner_ros.sim.layouts import LAYOUTS, ROOM_SIZE, Placement, describe_layouts, get_layout, snake_case
from graph_planner_ros.sim.navigation import Rectangle
from graph_planner_ros.sim.world import KitchenWorld

REQUIRED = {
    "CounterTop": 2, "DiningTable": 1, "SinkBasin": 1, "StoveBurner": 1, "Fridge": 1, "Microwave": 1,
    "Cabinet": 2, "Drawer": 2, "DeskLamp": 1,
}  # fmt: skip
each_layout = pytest.mark.parametrize("name", sorted(LAYOUTS))


def corners(x: float, y: float, yaw: float, depth: float, width: float) -> np.ndarray:
    c, s = math.cos(yaw), math.sin(yaw)
    local = np.array([(a * depth / 2, b * width / 2) for a, b in ((1, 1), (1, -1), (-1, -1), (-1, 1))])
    return local @ np.array([[c, s], [-s, c]]) + (x, y)


def footprint(place: Placement) -> np.ndarray:
    return corners(place.x, place.y, place.yaw, place.unit.depth, place.unit.width)


def overlap(first: np.ndarray, second: np.ndarray, tolerance: float = 1e-3) -> bool:
    """Separating axes of two rectangles."""
    for rectangle in (first, second):
        for k in range(2):
            axis = rectangle[k + 1] - rectangle[k]
            axis = axis / np.linalg.norm(axis)
            a, b = first @ axis, second @ axis
            if a.max() < b.min() + tolerance or b.max() < a.min() + tolerance:
                return False
    return True


def door_leaf(place: Placement, door: DoorInfo, width: float, angle: float) -> np.ndarray:
    """The open leaf of a hinged door as a thin rectangle."""
    heading = place.yaw - door.side * math.pi / 2 + door.side * angle
    pivot = np.array(door.pivot)
    middle = pivot + width / 2 * np.array([math.cos(heading), math.sin(heading)])
    return corners(*middle, heading, width, 0.02)


def test_there_are_at_least_three_described_layouts() -> None:
    assert len(LAYOUTS) >= 3
    assert set(describe_layouts()) == set(LAYOUTS)
    assert all(describe_layouts().values())


def test_an_unknown_layout_is_refused_with_the_names_of_all() -> None:
    with pytest.raises(ValueError, match="island") as error:
        get_layout("ballroom")
    assert "ballroom" in str(error.value)


def test_instance_ids_are_made_of_the_class_label() -> None:
    assert snake_case("CounterTop") == "counter_top"
    assert snake_case("Fridge") == "fridge"


@each_layout
def test_every_kitchen_has_every_kind_of_fixture(name: str) -> None:
    labels = [place.unit.label for place in LAYOUTS[name].placements]
    assert {label: labels.count(label) for label in REQUIRED if labels.count(label) < REQUIRED[label]} == {}
    assert len({place.instance_id for place in LAYOUTS[name].placements}) == len(labels)


@each_layout
def test_fixtures_stand_inside_the_room_and_apart(name: str) -> None:
    places = LAYOUTS[name].placements
    for index, place in enumerate(places):
        assert np.abs(footprint(place)).max() <= ROOM_SIZE / 2 + 1e-6, place.instance_id
        for other in places[index + 1 :]:
            assert not overlap(footprint(place), footprint(other)), (place.instance_id, other.instance_id)


@each_layout
def test_there_is_room_for_the_robot_in_front_of_every_fixture(name: str) -> None:
    places = LAYOUTS[name].placements
    for place in places:
        ahead = place.unit.depth / 2 + 0.45
        middle = (place.x + math.cos(place.yaw) * ahead, place.y + math.sin(place.yaw) * ahead)
        zone = corners(*middle, place.yaw, 0.9, 0.5)
        blocked = [other.instance_id for other in places if other is not place and overlap(zone, footprint(other))]
        assert blocked == [], place.instance_id
        assert np.abs(zone).max() <= ROOM_SIZE / 2


@each_layout
def test_an_open_door_touches_no_fixture_and_no_wall(name: str) -> None:
    world = KitchenWorld(name, 0, robot=False)
    places = {place.instance_id: place for place in world.layout.placements}
    for fixture, info in world.fixtures.items():
        if info.door is None or info.door.kind != "hinge":
            continue
        width = 0.465 if info.label == "Microwave" else places[fixture].unit.width
        leaf = door_leaf(places[fixture], info.door, width, math.radians(110))
        assert np.abs(leaf).max() <= ROOM_SIZE / 2, fixture
        for other in places.values():
            if other.instance_id != fixture:
                assert not overlap(leaf, footprint(other)), (fixture, other.instance_id)


def outline_of(block: Rectangle) -> np.ndarray:
    return corners(block.x, block.y, block.yaw, 2 * block.half_x, 2 * block.half_y)


def meet(first: Rectangle, second: Rectangle) -> bool:
    """Whether two upright blocks share room."""
    same_height = first.low < second.high and second.low < first.high
    return same_height and overlap(outline_of(first), outline_of(second))


@each_layout
def test_a_door_on_its_way_meets_no_other_door_open_or_shut(name: str) -> None:
    doors = {
        fixture: found.door
        for fixture, found in FixtureMap(KitchenWorld(name, 0, robot=False)).fixtures.items()
        if found.door
    }
    for (one, moving), (two, other) in itertools.permutations(doors.items(), 2):
        sweep = [moving.leaf(position) for position in np.linspace(0.0, moving.open_position, 25)]
        for standing in (0.0, other.open_position):
            assert not any(meet(leaf, other.leaf(standing)) for leaf in sweep), (one, two, standing)


@each_layout
def test_the_robot_starts_on_free_floor(name: str) -> None:
    x, y = LAYOUTS[name].start
    circle = corners(x, y, 0.0, 0.6, 0.6)
    assert [place.instance_id for place in LAYOUTS[name].placements if overlap(circle, footprint(place))] == []
