"""The kitchen without physics: what is true decides, only looking reveals, and the same seed is the same kitchen."""

from __future__ import annotations

from pathlib import Path

import pytest

from graph_planner_ros.benchmarks.experience import collect_from_kitchens
from graph_planner_ros.benchmarks.symbolic_kitchen import (
    KitchenTask,
    SymbolicKitchen,
    list_tasks,
    play_kitchen,
    true_scene,
)
from graph_planner_ros.benchmarks.worlds.recording import Recorder
from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable, GroundAction
from graph_planner_ros.memory.episode_files import read_episodes, write_episodes
from graph_planner_ros.memory.experience import EpisodeStatus
from graph_planner_ros.planning.engines import make_engine
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.scene.belief import contents, is_fixture

DOMAIN: Domain = load_domain("household")
ENGINE = make_engine("auto")
KNIFE_GOAL = Goal(
    (GoalVariable("?x", "item", "Knife"), GoalVariable("?p", "fixture", "DiningTable")),
    (GoalLiteral("in", ("?x", "?p")),),
    text="Knife to DiningTable",
)


def planner() -> MemPlan:
    return MemPlan(DOMAIN, ENGINE)


def new_kitchen() -> SymbolicKitchen:
    return SymbolicKitchen(DOMAIN, true_scene(DOMAIN, "galley", 1))


def do(kitchen: SymbolicKitchen, text: str) -> bool:
    name, *arguments = text.split()
    return kitchen.execute(GroundAction(name, tuple(arguments))).succeeded


def things(kitchen: SymbolicKitchen) -> set[str]:
    return {name for name, node in kitchen.belief.nodes.items() if not is_fixture(DOMAIN, node)}


def test_at_first_only_the_fixtures_are_known() -> None:
    kitchen = new_kitchen()
    assert things(kitchen) == set()
    assert kitchen.belief.nodes.keys() == {n for n, node in kitchen.truth.nodes.items() if is_fixture(DOMAIN, node)}


def test_what_lies_open_is_seen_on_arrival_and_what_is_behind_a_door_only_by_looking() -> None:
    kitchen = new_kitchen()
    table, fridge = set(contents(kitchen.truth, "dining_table_1")), set(contents(kitchen.truth, "fridge_1"))
    assert table and fridge
    assert do(kitchen, "go_to start dining_table_1")
    assert things(kitchen) == table
    assert do(kitchen, "go_to dining_table_1 fridge_1")
    assert not do(kitchen, "look fridge_1"), "it is closed"
    assert do(kitchen, "open fridge_1")
    assert things(kitchen) == table
    assert do(kitchen, "look fridge_1")
    assert things(kitchen) == table | fridge


def test_what_the_truth_does_not_allow_fails_and_changes_nothing() -> None:
    kitchen = new_kitchen()
    before = kitchen.truth.relations.copy()
    for action in ("pick_up knife_1 drawer_1", "open fridge_1", "put knife_1 dining_table_1", "look fridge_1"):
        result = kitchen.execute(GroundAction(action.split()[0], tuple(action.split()[1:])))
        assert not result.succeeded and result.reason
    assert kitchen.truth.relations == before


def test_a_task_is_solved_recorded_and_the_same_again() -> None:
    task = KitchenTask("galley", 1, 0, "in", KNIFE_GOAL, 0)
    recorder = Recorder(DOMAIN, task.spec(), "galley")
    record = play_kitchen(DOMAIN, planner(), task, recorder)
    assert record.won and record.steps_taken > 0 and record.invalid == 0
    again = play_kitchen(DOMAIN, planner(), task)
    assert [step.action for step in again.steps] == [step.action for step in record.steps]
    episode = recorder.episode
    assert episode is not None and episode.header.status is EpisodeStatus.SUCCEEDED
    assert episode.header.goals == (KNIFE_GOAL,) and episode.header.layout == "galley"
    assert len(episode.steps) == record.steps_taken + 1 and episode.steps[-1].action is None
    assert not things_of_scene(episode.steps[0].scene.nodes.keys()), "nothing but fixtures is known at the start"


def things_of_scene(names: object) -> list[str]:
    return [name for name in names if "knife" in name]  # type: ignore[attr-defined]


def test_a_recorded_look_names_what_it_found_and_one_in_vain_did_not_succeed() -> None:
    recorder = Recorder(DOMAIN, KitchenTask("galley", 1, 0, "in", KNIFE_GOAL, 0).spec())
    play_kitchen(DOMAIN, planner(), KitchenTask("galley", 1, 0, "in", KNIFE_GOAL, 0), recorder)
    assert recorder.episode is not None
    looked = [step for step in recorder.episode.steps if step.action is not None and step.action.name == "find"]
    assert looked
    for step in looked:
        assert step.action is not None
        assert step.succeeded == (not step.action.arguments[0].startswith("unseen_"))
    assert looked[-1].action is not None and looked[-1].action.arguments[0] == "knife_1"


def test_made_up_tasks_can_be_solved_and_are_the_same_every_time() -> None:
    first = list(list_tasks(DOMAIN, planner(), ["island"], [7], 3))
    assert [task.number for task in first] == [0, 1, 2]
    assert first == list(list_tasks(DOMAIN, planner(), ["island"], [7], 3))
    assert all(play_kitchen(DOMAIN, planner(), task).steps_taken >= task.shortest > 0 for task in first)


def test_an_unknown_layout_is_named() -> None:
    with pytest.raises(ValueError, match="igloo"):
        true_scene(DOMAIN, "igloo", 0)


def test_collected_episodes_are_read_back_and_known_ones_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "kitchen.jsonl.gz"
    found = list(collect_from_kitchens(DOMAIN, ["galley"], [1], 2))
    assert write_episodes(path, found) == 2
    again = list(read_episodes(path))
    assert [episode.header for episode in again] == [episode.header for episode in found]
    assert [[step.action for step in e.steps] for e in again] == [[step.action for step in e.steps] for e in found]
    known = {(episode.header.origin, episode.header.seed) for episode in again[:1]}
    rest = list(collect_from_kitchens(DOMAIN, ["galley"], [1], 2, known))
    assert [episode.header.origin for episode in rest] == [again[1].header.origin]
