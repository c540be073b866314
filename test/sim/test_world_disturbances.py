"""Disturbances: read with clear errors, carried out on the right thing at the right time."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_in import StandIn

from graph_planner_ros.scene.graph import Box, SceneNode
from graph_planner_ros.sim.disturbances import KINDS, PHASES, DisturbanceError, DisturbanceSchedule
from graph_planner_ros.sim.truth import container_of
from graph_planner_ros.sim.world import KitchenWorld


@pytest.fixture
def world() -> KitchenWorld:
    world = KitchenWorld("l_shape", 3, robot=False)
    world.robot = StandIn()
    return world


def node(world: KitchenWorld, name: str) -> SceneNode:
    """The belief's node of an item, under an id of its own."""
    return SceneNode("thing_7", world.items[name].label, Box(world.item_pose(name)[0] + 0.01, np.full(3, 0.05)))


def fixture_node(world: KitchenWorld, name: str) -> SceneNode:
    return SceneNode(name, world.fixtures[name].label, world.fixtures[name].box)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[{", "not JSON"),
        ("{}", "list"),
        ('["move"]', "disturbance 1"),
        ('[{"kind": "explode"}]', "explode"),
        ('[{"kind": "move"}, {"target": "Mug"}]', "disturbance 2"),
        ('[{"kind": "move", "wehn": {}}]', "wehn"),
        ('[{"kind": "move", "when": {"nth": 0}}]', "nth"),
        ('[{"kind": "move", "when": {"phase": "before"}}]', "before"),
        ('[{"kind": "move", "target": 3}]', "target"),
    ],
)
def test_a_wrong_schedule_is_refused_and_says_where(text: str, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        DisturbanceSchedule.from_json(text)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(KINDS), st.text(max_size=8), st.text(max_size=8), st.integers(1, 5), st.sampled_from(PHASES)
        ),
        max_size=4,
    )
)
def test_every_well_formed_schedule_is_read_as_it_stands(entries: list[tuple[str, str, str, int, str]]) -> None:
    plain = [
        {"kind": kind, "target": target, "when": {"skill": skill, "nth": nth, "phase": phase}}
        for kind, target, skill, nth, phase in entries
    ]
    schedule = DisturbanceSchedule.from_json(json.dumps(plain))
    read = [(d.kind, d.target, d.when.skill, d.when.nth, d.when.phase) for d in schedule.waiting]
    assert read == entries
    assert DisturbanceSchedule.from_json(plain).waiting == schedule.waiting


def test_moving_puts_a_thing_on_another_open_surface(world: KitchenWorld) -> None:
    before = {name: container_of(world, name) for name in world.items}
    told = world.disturb("move", "Plate")
    world.step(200)
    moved = [name for name in world.items if container_of(world, name) != before[name]]
    assert len(moved) == 1 and moved[0] in told and moved[0].startswith("plate")
    place = container_of(world, moved[0])
    assert world.fixtures[str(place)].label in ("CounterTop", "DiningTable")
    assert world.item_pose(moved[0])[1][2, 2] > 0.99


def test_nobody_moves_what_is_behind_a_closed_door(world: KitchenWorld) -> None:
    with pytest.raises(DisturbanceError, match="Tomato"):
        world.disturb("move", "Tomato")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "slip"])
def test_a_target_that_is_nothing_here_is_named_with_what_there_is(world: KitchenWorld, kind: str) -> None:
    with pytest.raises(DisturbanceError, match=r"'Nosuch'.*Mug"):
        world.disturb(kind, "Nosuch")


def test_a_moved_receptacle_takes_its_content_along(world: KitchenWorld) -> None:
    bowl = "bowl_1"
    inner = world.inner_volume(bowl)
    assert inner is not None
    world.set_item_pose("egg_2", inner.center + np.array([0, 0, 0.01]), 0.0)
    world.step(150)
    assert container_of(world, "egg_2") == bowl
    world.disturb("move", bowl)
    world.step(200)
    assert container_of(world, "egg_2") == bowl


def test_swapping_exchanges_two_things_of_one_class(world: KitchenWorld) -> None:
    first, second = world.item_pose("mug_1")[0], world.item_pose("mug_2")[0]
    told = world.disturb("swap_instance", "Mug")
    assert "mug_1" in told and "mug_2" in told
    assert np.allclose(world.item_pose("mug_1")[0], second) and np.allclose(world.item_pose("mug_2")[0], first)
    with pytest.raises(DisturbanceError, match="Pot"):
        world.disturb("swap_instance", "Pot")


def test_dropping_and_slipping_reach_the_robot(world: KitchenWorld) -> None:
    with pytest.raises(DisturbanceError, match="nothing"):
        world.disturb("drop")
    robot = world.robot
    assert isinstance(robot, StandIn)
    robot.held_body = "egg_1"
    with pytest.raises(DisturbanceError, match="Mug"):
        world.disturb("drop", "Mug")
    world.disturb("drop", "Egg")
    assert world.held is None
    world.disturb("slip")
    assert robot.slip_next


def test_what_drops_over_a_surface_falls_on_it_and_elsewhere_it_is_put_back(world: KitchenWorld) -> None:
    robot = world.robot
    assert isinstance(robot, StandIn)
    counter = world.fixtures["counter_top_3"]
    robot.held_body = "egg_1"
    above = counter.box.center.copy()
    above[2] = 1.0
    world.set_item_pose("egg_1", above, 0.0)
    world.disturb("drop")
    assert np.allclose(world.item_pose("egg_1")[0], above), "it falls by itself"
    robot.held_body = "egg_1"
    world.set_item_pose("egg_1", np.array([*world.layout.start, 1.0]), 0.0)
    world.disturb("drop")
    world.step(200)
    place = container_of(world, "egg_1")
    assert place is not None and world.fixtures[place].label in ("CounterTop", "DiningTable")


def test_a_stuck_door_resists_and_comes_free_after_the_failed_attempts(world: KitchenWorld) -> None:
    dof = int(world.model.joint("fridge_1/door").dofadr[0])
    world.disturb("stick_door", "Fridge")
    attempts = world.disturber.stuck["fridge_1"]
    assert 1 <= attempts <= 2
    for _ in range(attempts):
        world.data.qfrc_applied[dof] = 60.0
        world.step(250)
        world.data.qfrc_applied[dof] = 0.0
        assert world.is_closed("fridge_1")
        world.on_skill("open", [fixture_node(world, "fridge_1")], "end")
    assert "fridge_1" not in world.disturber.stuck
    world.data.qfrc_applied[dof] = 3.0
    world.step(500)
    assert not world.is_closed("fridge_1")
    with pytest.raises(DisturbanceError, match="no door"):
        world.disturb("stick_door", "CounterTop")


def test_a_scheduled_disturbance_comes_on_the_nth_matching_skill_and_once(world: KitchenWorld) -> None:
    when = {"skill": "pick_up", "target": "Plate", "nth": 2, "phase": "start"}
    world.disturbances = DisturbanceSchedule.from_json([{"kind": "slip", "when": when}])
    plate, mug = [node(world, "plate_1")], [node(world, "mug_1")]
    calls = [("pick_up", plate, "start"), ("pick_up", mug, "start"), ("put", plate, "start"), ("pick_up", plate, "end")]
    assert [world.on_skill(*call) for call in calls] == [[], [], [], []]
    assert len(world.on_skill("pick_up", plate, "start")) == 1
    assert world.on_skill("pick_up", plate, "start") == []


def test_a_scheduled_disturbance_befalls_the_thing_that_the_skill_is_about(world: KitchenWorld) -> None:
    world.set_door("cabinet_1", 1.5)
    for name in ("plate_1", "plate_2"):
        fresh = KitchenWorld("l_shape", 3, robot=False)
        for fixture, info in fresh.fixtures.items():
            if info.door:
                fresh.set_door(fixture, info.door.open_position)
        fresh.disturbances = DisturbanceSchedule.from_json(
            [{"kind": "move", "target": "Plate", "when": {"skill": "pick_up"}}]
        )
        assert name in fresh.on_skill("pick_up", [node(fresh, name)], "start")[0]
    when = {"skill": "open", "target": "Cabinet"}
    world.disturbances = DisturbanceSchedule.from_json([{"kind": "stick_door", "target": "Cabinet", "when": when}])
    world.on_skill("open", [fixture_node(world, "cabinet_2")], "start")
    assert set(world.disturber.stuck) == {"cabinet_2"}


def test_what_cannot_be_done_yet_waits_for_the_next_time(world: KitchenWorld) -> None:
    world.disturbances = DisturbanceSchedule.from_json(
        [{"kind": "drop", "when": {"skill": "go_to", "phase": "middle"}}]
    )
    assert world.on_skill("go_to", [], "middle") == []
    assert isinstance(world.robot, StandIn)
    world.robot.held_body = "egg_1"
    assert len(world.on_skill("go_to", [], "middle")) == 1


def test_disturbances_are_the_same_for_the_same_seed() -> None:
    told = []
    for _ in range(2):
        world = KitchenWorld("island", 2, robot=False)
        told.append([world.disturb("move"), world.disturb("swap_instance"), world.disturb("stick_door")])
    assert told[0] == told[1]


def test_an_unknown_kind_is_refused_with_the_kinds_there_are(world: KitchenWorld) -> None:
    with pytest.raises(ValueError, match="swap_instance"):
        world.disturb("earthquake")
