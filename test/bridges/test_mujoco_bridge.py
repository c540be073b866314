"""Skills of the simulated robot, seen from the outside: start, tick, cancel, results, disturbances."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from graph_planner_ros.scene.graph import Box, SceneNode
from graph_planner_ros.skills.result import SkillStatus

sys.path.insert(0, str(Path(__file__).parents[1] / "sim"))

from robot_stress import Driver, of_class, tour


@pytest.fixture
def driver() -> Driver:
    """A kitchen, its robot and a noisy belief."""
    return Driver("l_shape", 0)


def _open_item(driver: Driver, label: str = "") -> tuple[str, str]:
    """An item that lies in the open, and where."""
    open_places = {n for n, info in driver.world.fixtures.items() if info.label in ("CounterTop", "DiningTable")}
    for name, info in driver.world.items.items():
        place = driver.place(name)
        if place in open_places and label in ("", info.label):
            return name, str(place)
    raise AssertionError(f"no {label} lies in the open")


def test_item_is_picked_up_and_put_down_where_it_was_asked_for(driver: Driver) -> None:
    item, place = _open_item(driver)
    assert driver.do("pick_up", item, place).succeeded
    assert driver.world.held == item
    assert driver.robot.position("arm") < 0.01
    target = next(n for n in of_class(driver, "CounterTop") if n != place)
    assert driver.do("put", item, target).succeeded
    assert driver.place(item) == target
    assert not driver.tally.failures


def test_door_opens_wide_and_closes(driver: Driver) -> None:
    cabinet = of_class(driver, "Cabinet")[0]
    assert driver.do("open", cabinet).succeeded
    assert driver.world.door_position(cabinet) > np.radians(85)
    assert driver.do("close", cabinet).succeeded
    assert driver.world.is_closed(cabinet)


def test_drawer_opens_at_least_thirty_centimetres(driver: Driver) -> None:
    drawer = of_class(driver, "Drawer")[0]
    assert driver.do("open", drawer).succeeded
    assert driver.world.door_position(drawer) >= 0.3


def test_stuck_door_is_told_and_gives_way_later(driver: Driver) -> None:
    cabinet = of_class(driver, "Cabinet")[0]
    driver.world.disturb("stick_door", cabinet)
    first = driver.do("open", cabinet)
    assert first.status is SkillStatus.EXECUTION_FAILED
    assert first.code == "door_stuck" and first.recoverable
    results = [driver.do("open", cabinet) for _ in range(2)]
    assert results[-1].succeeded


def test_slip_is_reported_honestly(driver: Driver) -> None:
    item, place = _open_item(driver)
    driver.world.disturb("slip")
    result = driver.do("pick_up", item, place)
    assert result.code == "slipped"
    assert not driver.robot.holding


def test_item_that_is_not_where_it_is_believed_is_not_grasped(driver: Driver) -> None:
    table = of_class(driver, "DiningTable")[0]
    surface = driver.world.fixtures[table].surfaces[0]
    taken = [driver.world.item_pose(n)[0] for n in driver.world.items]
    free = next(
        point
        for dx in np.arange(-0.2, 0.25, 0.05)
        for dy in np.arange(-0.4, 0.45, 0.05)
        if min(np.hypot(*(np.array(t) - (point := surface.center + np.array([dx, dy, 0])))[:2]) for t in taken) > 0.2
    )
    floor = surface.center[2] - surface.extent[2] / 2
    ghost = SceneNode("mug_7", "Mug", Box(np.array([*free[:2], floor + 0.045]), np.array([0.08, 0.08, 0.09])))
    result = driver.bridge.start("pick_up", [ghost, driver.fixture(table)]).run()
    assert result.status is SkillStatus.EXECUTION_FAILED
    assert result.code == "object_not_found"
    assert "mug_7" in result.reason


def _put_in(driver: Driver, item: str, vessel: str, along: float = 0.012) -> None:
    """Let an item lie in a vessel."""
    world = driver.world
    position, rotation = world.item_pose(vessel)
    bottom = position[2] - world.items[vessel].size[2] / 2 + 0.016
    place = position + rotation @ np.array([along, 0.0, 0.0])
    world.set_item_pose(item, np.array([*place[:2], bottom + world.items[item].size[2] / 2]), world.item_yaw(vessel))
    world.step(250)
    assert driver.place(item) == vessel


@pytest.mark.parametrize(("vessel", "item"), [("Bowl", "apple_1"), ("Plate", "egg_1"), ("Bowl", "potato_1")])
def test_a_thing_is_taken_out_of_a_vessel_without_the_vessel(driver: Driver, vessel: str, item: str) -> None:
    name, place = _open_item(driver, vessel)
    _put_in(driver, item, name)
    results = [driver.do("pick_up", item, name)]
    if not results[0].succeeded:  # it may say that it failed, and then try again
        results.append(driver.do("pick_up", item, name))
    assert results[-1].succeeded
    assert driver.world.held == item and driver.place(name) == place


@pytest.mark.parametrize("moved", [True, False])
def test_a_thing_is_put_into_a_vessel_only_where_that_stands(driver: Driver, moved: bool) -> None:
    bowl, place = _open_item(driver, "Bowl")
    item, source = _open_item(driver, "Apple")
    believed = driver.item(bowl)
    assert driver.do("pick_up", item, source).succeeded
    if moved:
        driver.world.disturb("move", bowl)
        driver.world.step(100)
    result = driver.bridge.start("put", [driver.item(item), believed]).run()
    if moved:
        assert (result.code, result.recoverable) == ("object_not_found", True)
        assert driver.world.held == item
    else:
        assert result.succeeded and driver.place(item) == bowl, (result, place)


def test_nothing_is_put_into_a_vessel_that_is_full(driver: Driver) -> None:
    bowl, _ = _open_item(driver, "Bowl")
    _put_in(driver, "apple_2", bowl)
    item, place = _open_item(driver, "Potato")
    assert driver.do("pick_up", item, place).succeeded
    result = driver.do("put", item, bowl)
    assert result.code == "no_free_space" and bowl in result.reason and "apple_2" in result.reason
    assert driver.world.held == item


def test_a_second_egg_fits_beside_the_first(driver: Driver) -> None:
    plate, _ = _open_item(driver, "Plate")
    _put_in(driver, "egg_1", plate)
    assert driver.do("pick_up", "egg_1", plate).succeeded
    _put_in(driver, "egg_2", plate, along=-0.04)
    assert driver.do("put", "egg_1", plate).succeeded
    assert driver.place("egg_1") == driver.place("egg_2") == plate


def test_nothing_is_examined_in_the_dark(driver: Driver) -> None:
    item, place = _open_item(driver)
    lamp = of_class(driver, "DeskLamp")[0]
    assert driver.do("pick_up", item, place).succeeded
    result = driver.do("examine", item, lamp)
    assert result.status is SkillStatus.PRECONDITION_FAILED and lamp in result.reason
    assert driver.do("toggle_on", lamp).succeeded
    assert driver.do("examine", item, lamp).succeeded
    assert driver.world.properties[item].examined


def test_a_thing_deep_in_a_mug_is_refused_with_the_reason(driver: Driver) -> None:
    mug, _ = _open_item(driver, "Mug")
    _put_in(driver, "apple_1", mug)
    result = driver.do("pick_up", "apple_1", mug)
    assert result.code == "not_reachable" and mug in result.reason
    assert not driver.robot.holding


def test_a_mug_where_a_knife_is_believed_is_not_picked_up_as_a_knife(driver: Driver) -> None:
    mug, place = _open_item(driver, "Mug")
    center = driver.world.item_pose(mug)[0]
    knife = SceneNode("knife_7", "Knife", Box(center, np.array([0.22, 0.03, 0.09])))
    result = driver.bridge.start("pick_up", [knife, driver.fixture(place)]).run()
    assert result.code == "grasp_failed" and "knife_7" in result.reason
    assert not driver.robot.holding


def test_unknown_skill_lists_those_there_are(driver: Driver) -> None:
    result = driver.bridge.start("juggle", []).run()
    assert result.status is SkillStatus.UNKNOWN_SKILL
    assert result.skills == driver.bridge.skills
    assert "pick_up" in result.reason


def test_wrong_arguments_are_named(driver: Driver) -> None:
    cabinet = driver.fixture(of_class(driver, "Cabinet")[0])
    lost = SceneNode("mug_9", "Mug")
    assert "argument" in driver.bridge.start("pick_up", [cabinet]).run().reason
    result = driver.bridge.start("pick_up", [lost, cabinet]).run()
    assert result.status is SkillStatus.PRECONDITION_FAILED and "mug_9" in result.reason
    assert driver.bridge.start("put", [lost, cabinet]).run().status is SkillStatus.PRECONDITION_FAILED


def test_closed_fixture_is_not_reached_into(driver: Driver) -> None:
    item = next(n for n in driver.world.items if driver.place(n) in driver.world.shut_fixtures())
    result = driver.do("pick_up", item, str(driver.place(item)))
    assert result.status is SkillStatus.PRECONDITION_FAILED


def test_timeout_ends_a_skill(driver: Driver) -> None:
    run = driver.bridge.start("go_to", [driver.fixture(of_class(driver, "Fridge")[0])], timeout=0.3)
    assert run.run().code == "timeout"
    assert driver.world.time < 1.0


@pytest.mark.parametrize("moment", [0.5, 5.0])
def test_skill_right_after_a_cancel_runs(driver: Driver, moment: float) -> None:
    item, place = _open_item(driver)
    run = driver.bridge.start("pick_up", [driver.item(item), driver.fixture(place)])
    while driver.world.time < moment and run.result is None:
        run.tick()
    run.cancel()
    assert run.result is not None and run.result.status is SkillStatus.CANCELLED
    for _ in range(10):
        driver.bridge.tick()
    before = driver.robot.joint_states()
    for _ in range(10):
        driver.bridge.tick()
    assert driver.robot.joint_states() == pytest.approx(before, abs=3e-3)
    if driver.robot.holding:
        assert driver.do("put", item, place).succeeded
    else:
        assert driver.do("pick_up", item, place).succeeded


def test_new_skill_preempts_the_running_one(driver: Driver) -> None:
    first = driver.bridge.start("go_to", [driver.fixture(of_class(driver, "Fridge")[0])])
    first.tick()
    second = driver.bridge.start("go_to", [driver.fixture(of_class(driver, "DiningTable")[0])])
    assert first.result is not None and first.result.status is SkillStatus.CANCELLED
    assert second.run().succeeded


def test_progress_never_goes_back_and_phases_are_told(driver: Driver) -> None:
    item, place = _open_item(driver)
    run = driver.bridge.start("pick_up", [driver.item(item), driver.fixture(place)])
    progress, phases = [0.0], set()
    while run.result is None:
        run.tick()
        progress.append(run.progress)
        phases.add(run.phase)
    assert progress == sorted(progress) and progress[-1] == 1.0
    assert {"reaching", "grasping", "lifting"} <= phases


def test_dropped_thing_is_noticed(driver: Driver) -> None:
    item, place = _open_item(driver)
    assert driver.do("pick_up", item, place).succeeded
    run = driver.bridge.start("put", [driver.item(item), driver.fixture(of_class(driver, "DiningTable")[0])])
    for _ in range(20):
        run.tick()
    driver.world.disturb("drop")
    result = run.run()
    assert result.code == "slipped"


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["l_shape", "galley", "island"])
@pytest.mark.parametrize("seed", range(3))
def test_undisturbed_skills_succeed(layout: str, seed: int) -> None:
    driver = Driver(layout, seed)
    tour(driver)
    assert driver.tally.rate() >= 0.98, "\n".join(driver.tally.failures)
