"""The simulated kitchen: reproducible, at rest, reachable, and with doors that behave."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.sim.items import ITEM_LABELS, item_size
from graph_planner_ros.sim.layouts import LAYOUTS
from graph_planner_ros.sim.placement import REACH, SPACING
from graph_planner_ros.sim.room import KitchenOptions
from graph_planner_ros.sim.truth import container_of, contains
from graph_planner_ros.sim.world import KitchenWorld

each_kitchen = pytest.mark.parametrize(
    ("layout", "seed"), [(name, seed) for name in sorted(LAYOUTS) for seed in (0, 1)]
)


@pytest.fixture(scope="module")
def still() -> KitchenWorld:
    """A kitchen that no test changes."""
    return KitchenWorld("l_shape", 0, robot=False)


@pytest.fixture
def world() -> KitchenWorld:
    return KitchenWorld("l_shape", 3, robot=False)


def seconds(world: KitchenWorld, time: float) -> None:
    world.step(round(time / world.model.opt.timestep))


def all_poses(world: KitchenWorld) -> np.ndarray:
    return np.array([world.item_pose(name)[0] for name in world.items])


def test_the_same_layout_and_seed_give_the_same_kitchen(still: KitchenWorld) -> None:
    again = KitchenWorld("l_shape", 0, robot=False)
    assert list(again.items) == list(still.items)
    assert np.array_equal(all_poses(again), all_poses(still))
    assert again.properties == still.properties
    assert again.start_pose == still.start_pose


def test_another_seed_gives_another_kitchen(still: KitchenWorld) -> None:
    other = KitchenWorld("l_shape", 1, robot=False)
    assert np.abs(all_poses(other) - all_poses(still)).max() > 0.1


@each_kitchen
def test_items_stand_still_and_upright_where_they_were_put(layout: str, seed: int) -> None:
    world = KitchenWorld(layout, seed, robot=False)
    before = all_poses(world)
    seconds(world, 2.0)
    assert np.abs(all_poses(world) - before).max() < 2e-3
    for name, spec in zip(world.items, world.layout.items, strict=True):
        assert world.item_pose(name)[1][2, 2] > 0.999, name
        place = container_of(world, name)
        assert place is not None and world.fixtures[place].label in spec.places, name


@each_kitchen
def test_items_are_within_reach_and_apart(layout: str, seed: int) -> None:
    world = KitchenWorld(layout, seed, robot=False)
    by_place: dict[str, list[str]] = {}
    for name in world.items:
        by_place.setdefault(str(container_of(world, name)), []).append(name)
    for place, names in by_place.items():
        info = world.fixtures[place]
        front = np.array([math.cos(info.front), math.sin(info.front), 0])
        for index, name in enumerate(names):
            position = world.item_pose(name)[0]
            behind_edge = info.box.extent[0] / 2 - (position - info.box.center) @ front
            assert 0.03 < behind_edge < REACH + 0.15, name
            for other in names[index + 1 :]:
                apart = position - world.item_pose(other)[0]
                same_shelf = abs(apart[2]) < 0.2
                assert not same_shelf or np.linalg.norm(apart[:2]) > SPACING - 5e-3, (name, other)


@each_kitchen
def test_some_things_are_several_of_a_kind_and_some_are_shut_away(layout: str, seed: int) -> None:
    world = KitchenWorld(layout, seed, robot=False)
    labels = [item.label for item in world.items.values()]
    assert sum(labels.count(label) > 1 for label in set(labels)) >= 4
    hidden = [name for name in world.items if container_of(world, name) in world.shut_fixtures()]
    assert len(hidden) >= 6
    assert all(container_of(world, name) in hidden_in for name, hidden_in in
               [(n, world.shut_fixtures()) for n in world.items if world.items[n].label == "Tomato"])  # fmt: skip


def test_every_class_of_the_world_is_a_class_of_the_domain(still: KitchenWorld) -> None:
    domain = load_domain("household")
    labels = {info.label for info in still.fixtures.values()} | {item.label for item in still.items.values()}
    assert labels <= set(domain.classes)


@pytest.mark.parametrize("label", ITEM_LABELS)
def test_every_item_fits_between_the_fingers(label: str) -> None:
    assert item_size(label)[1] <= 0.082


def test_receptacles_hold_an_egg_that_is_put_into_them(world: KitchenWorld) -> None:
    for name in ("mug_1", "cup_1", "bowl_1", "plate_1", "pot_1"):
        inner = world.inner_volume(name)
        assert inner is not None
        above = inner.center.copy()
        above[2] = world.item_pose(name)[0][2] + world.items[name].size[2] / 2 + 0.05
        world.set_item_pose("egg_2", above, 0.0)
        seconds(world, 1.0)
        assert container_of(world, "egg_2") == name
        assert world.item_pose(name)[1][2, 2] > 0.99


@pytest.mark.parametrize("aside", [-0.008, 0.0, 0.008])
def test_an_apple_that_is_let_go_over_a_bowl_falls_into_it(world: KitchenWorld, aside: float) -> None:
    bowl = "bowl_1"
    position, rotation = world.item_pose(bowl)
    release = position + rotation @ np.array([0.005, aside, 0.0])
    release[2] = position[2] + world.items[bowl].size[2] / 2 + world.items["apple_1"].size[2] / 2 + 0.015
    world.set_item_pose("apple_1", release, 0.0)
    seconds(world, 1.5)
    assert container_of(world, "apple_1") == bowl
    assert world.item_pose("apple_1")[0][2] < position[2] + 0.03


def test_doors_stay_where_they_are_left(world: KitchenWorld) -> None:
    for name, info in world.fixtures.items():
        if info.door:
            world.set_door(name, 0.6 * info.door.open_position)
    seconds(world, 2.0)
    for name, info in world.fixtures.items():
        if info.door:
            assert world.door_position(name) == pytest.approx(0.6 * info.door.open_position, abs=0.01), name
            assert not world.is_closed(name)


def test_a_door_moves_when_it_is_pulled_and_stops_when_it_is_let_go(world: KitchenWorld) -> None:
    for name in ("fridge_1", "cabinet_1", "microwave_1", "drawer_1"):
        door = world.fixtures[name].door
        assert door is not None
        force = 12.0 if door.kind == "slide" else 3.0
        dof = int(world.model.joint(door.joint).dofadr[0])
        assert world.is_closed(name)
        world.data.qfrc_applied[dof] = force
        seconds(world, 2.5)
        world.data.qfrc_applied[dof] = 0.0
        assert not world.is_closed(name), name
        seconds(world, 1.0)
        left_at = world.door_position(name)
        seconds(world, 1.0)
        assert world.door_position(name) == pytest.approx(left_at, abs=2e-3), name


def test_a_pulled_drawer_takes_its_content_along_and_has_nothing_above_it(world: KitchenWorld) -> None:
    knife = next(name for name in world.items if name.startswith("knife"))
    drawer = str(container_of(world, knife))
    door = world.fixtures[drawer].door
    assert door is not None
    before = world.item_pose(knife)[0]
    dof = int(world.model.joint(door.joint).dofadr[0])
    world.data.qfrc_applied[dof] = 12.0
    seconds(world, 3.0)
    world.data.qfrc_applied[dof] = 0.0
    seconds(world, 0.5)
    assert world.door_position(drawer) > 0.35
    assert container_of(world, knife) == drawer
    heading = world.fixtures[drawer].front
    out = (world.item_pose(knife)[0] - before) @ np.array([math.cos(heading), math.sin(heading), 0])
    assert out == pytest.approx(world.door_position(drawer), abs=0.08)
    surface = world.surfaces(drawer)[0]
    assert contains(surface, world.item_pose(knife)[0])
    edge = world.fixtures[drawer].box.extent[0] / 2
    inner = (surface.center - world.fixtures[drawer].box.center) @ np.array([math.cos(heading), math.sin(heading), 0])
    assert inner - surface.extent[0] / 2 > edge - 0.03


def test_handles_stand_out_of_the_front(still: KitchenWorld) -> None:
    for name, info in still.fixtures.items():
        if info.door is None:
            continue
        position, _ = still.site(info.door.handle)
        front = np.array([math.cos(info.front), math.sin(info.front), 0])
        out = (position - info.box.center) @ front - info.box.extent[0] / 2
        assert 0.04 < out < 0.12, name
        assert 0.5 < position[2] < 1.3, name


def test_switches_are_on_the_front_where_nothing_is_in_the_way(still: KitchenWorld) -> None:
    for name, info in still.fixtures.items():
        if info.button is None:
            continue
        position, _ = still.site(info.button)
        front = np.array([math.cos(info.front), math.sin(info.front), 0])
        assert (position - info.box.center) @ front == pytest.approx(info.box.extent[0] / 2, abs=0.04), name
        assert 0.5 < position[2] < 1.2, name


def test_asking_for_what_is_not_there_names_it(still: KitchenWorld) -> None:
    with pytest.raises(ValueError, match="mug_99"):
        still.item_pose("mug_99")
    with pytest.raises(ValueError, match="fridge_7"):
        still.is_closed("fridge_7")
    with pytest.raises(ValueError, match="no door"):
        still.door_position("counter_top_1")
    with pytest.raises(ValueError, match="no switch"):
        still.switch("fridge_1", True)
    with pytest.raises(ValueError, match="cannot be sliced"):
        still.slice_item("mug_1")


def test_the_robot_can_be_part_of_the_kitchen() -> None:
    world = KitchenWorld("galley", 0, robot=True)
    seconds(world, 0.5)
    base = world.data.body("base_link").xpos
    assert base[:2] == pytest.approx(world.layout.start, abs=0.02)
    assert world.held is None


@pytest.mark.parametrize("rest", [1, 8, 9, 10, 11, 12, 400])
def test_a_thing_that_is_put_into_the_air_falls_however_long_it_has_been_at_rest(
    world: KitchenWorld, rest: int
) -> None:
    world.step(400)
    place = world.item_pose("apple_1")[0]
    for _ in range(2):
        world.set_item_pose("apple_1", place, 0.0)
        world.step(rest)
        world.set_item_pose("apple_1", place + np.array([0, 0, 0.3]), 0.0)
        seconds(world, 0.1)
        assert world.item_pose("apple_1")[0][2] < place[2] + 0.27


def test_things_at_rest_cost_no_time(world: KitchenWorld) -> None:
    seconds(world, 3.0)
    assert world.data.ntree_awake <= 1


def test_a_kitchen_without_sleep_behaves_the_same() -> None:
    world = KitchenWorld("l_shape", 0, KitchenOptions(sleep=False))
    place = world.item_pose("apple_1")[0]
    world.set_item_pose("apple_1", place + np.array([0, 0, 0.1]), 0.0)
    seconds(world, 1.0)
    assert world.item_pose("apple_1")[0] == pytest.approx(place, abs=0.03)
