"""The graph memory's worker: what of a task becomes an episode, and what is said about the next one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable, GroundAction, Truth
from graph_planner_ros.memory.episode_files import read_episodes, write_episodes
from graph_planner_ros.memory.experience import EpisodeStatus
from graph_planner_ros.memory.triple_encoder import TripleBagEncoder
from graph_planner_ros.nodes.memory_worker import MemoryWorker
from graph_planner_ros.scene.graph import MAP, Attribute, Relation, SceneGraph, SceneNode

DOMAIN = load_domain("household")
GOAL = Goal(
    (GoalVariable("?m", "item", "Mug"), GoalVariable("?t", "fixture", "DiningTable")),
    (GoalLiteral("in", ("?m", "?t")),),
    text="put a mug on the table",
)
LOOK = GroundAction("find", ("unseen_mug_1", "cabinet_1"))
GO = GroundAction("go_to", ("start", "cabinet_1"))
TIMEOUT = 30.0


def scene(stamp: float, mug_in: str = "", at: str = "cabinet_1") -> SceneGraph:
    """A kitchen with an open cabinet and a table; the mug is known if it is somewhere."""
    graph = SceneGraph(stamp=stamp, domain="household", revision=int(stamp))
    for name, label in (("cabinet_1", "Cabinet"), ("dining_table_1", "DiningTable")):
        graph.nodes[name] = SceneNode(name, label, source=MAP)
    graph.nodes["cabinet_1"].attributes["open"] = Attribute("open", Truth.TRUE)
    graph.relations.append(Relation("robot", "at", at))
    if mug_in:
        graph.nodes["mug_1"] = SceneNode("mug_1", "Mug", first_seen=stamp, last_seen=stamp)
        graph.relations.append(Relation("mug_1", "in", mug_in))
    return graph


@pytest.fixture
def errors() -> list[str]:
    return []


@pytest.fixture
def worker(tmp_path: Path, errors: list[str]) -> Iterator[MemoryWorker]:
    made = make(tmp_path / "bank.sqlite", errors)
    yield made
    made.close()


def make(path: Path, errors: list[str]) -> MemoryWorker:
    return MemoryWorker(DOMAIN, TripleBagEncoder(), path, origin="robbie", tau=0.9, on_error=errors.append)


def one_task(worker: MemoryWorker, task_id: str, found: bool = True) -> None:
    """The robot goes to a cabinet and looks for a mug there; this returns when it is all written."""
    worker.begin(task_id, "put a mug on the table", (GOAL,))
    worker.next_step(task_id, 1, GO, scene(1.0, at="start"))
    worker.ended_step(task_id, 1, True)
    worker.next_step(task_id, 2, LOOK, scene(2.0))
    worker.ended_step(task_id, 2, True)
    status = EpisodeStatus.SUCCEEDED if found else EpisodeStatus.FAILED
    result(worker.finish(task_id, status, "that is it", scene(3.0, "cabinet_1" if found else "")))


def result(promise: Any) -> Any:
    return promise.result(timeout=TIMEOUT)


def test_a_task_becomes_an_episode_in_which_a_look_names_what_it_found(worker: MemoryWorker, errors: list[str]) -> None:
    one_task(worker, "a")
    assert result(worker.statistics()).episodes["succeeded"] == 1
    (header,) = worker.bank.headers()
    assert (header.instruction, header.goals, header.origin) == ("put a mug on the table", (GOAL,), "robbie")
    steps = worker.bank.episode(header.episode_id).steps
    assert [step.action for step in steps] == [GO, GroundAction("find", ("mug_1", "cabinet_1")), None]
    assert [step.succeeded for step in steps] == [True, True, None]
    assert [step.scene.stamp for step in steps] == [1.0, 2.0, 3.0]
    assert not errors


def test_a_look_in_vain_keeps_its_placeholder_and_has_not_succeeded(worker: MemoryWorker) -> None:
    one_task(worker, "a", found=False)
    result(worker.statistics())
    (header,) = worker.bank.headers()
    assert header.status is EpisodeStatus.FAILED and header.reason == "that is it"
    looked = worker.bank.episode(header.episode_id).steps[1]
    assert (looked.action, looked.succeeded) == (LOOK, False)


def test_the_next_task_is_told_where_such_things_were(worker: MemoryWorker) -> None:
    assert not result(worker.recall(scene(1.0), (GOAL,))).places
    one_task(worker, "a")
    said = result(worker.recall(scene(1.0), (GOAL,)))
    assert said.places["Mug"]["cabinet_1"] > said.places["Mug"]["dining_table_1"]


def test_a_new_task_interrupts_the_one_before_and_one_without_a_step_leaves_nothing(worker: MemoryWorker) -> None:
    worker.begin("a", "first", (GOAL,))
    worker.next_step("a", 1, GO, scene(1.0, at="start"))
    worker.ended_step("a", 1, True)
    worker.begin("b", "second", (GOAL,))
    worker.finish("b", EpisodeStatus.SUCCEEDED, "already true", scene(2.0))
    result(worker.statistics())
    (header,) = worker.bank.headers()
    assert (header.instruction, header.status) == ("first", EpisodeStatus.INTERRUPTED)


def test_events_of_another_revision_or_task_and_plans_that_come_twice_change_nothing(worker: MemoryWorker) -> None:
    worker.begin("a", "first", (GOAL,))
    worker.next_step("a", 2, GO, scene(1.0, at="start"))
    worker.next_step("a", 2, LOOK, scene(1.5))
    worker.ended_step("a", 1, False)
    worker.ended_step("b", 2, False)
    worker.ended_step("a", 2, True)
    worker.finish("a", EpisodeStatus.SUCCEEDED, "", scene(2.0))
    result(worker.statistics())
    (header,) = worker.bank.headers()
    assert [step.action for step in worker.bank.episode(header.episode_id).steps] == [GO, None]


def test_goals_that_become_known_after_the_first_plan_are_kept(worker: MemoryWorker) -> None:
    worker.begin("a", "first", ())
    worker.next_step("a", 1, GO, scene(1.0, at="start"))
    worker.ended_step("a", 1, True)
    worker.begin("a", "first", (GOAL,))
    worker.finish("a", EpisodeStatus.SUCCEEDED, "", scene(2.0))
    result(worker.statistics())
    assert worker.bank.headers()[0].goals == (GOAL,)


def test_going_in_circles_is_named(worker: MemoryWorker) -> None:
    there = GroundAction("go_to", ("cabinet_1", "dining_table_1"))
    back = GroundAction("go_to", ("dining_table_1", "cabinet_1"))
    worker.begin("a", "first", (GOAL,))
    for revision, (action, at) in enumerate([(there, "cabinet_1"), (back, "dining_table_1"), (there, "cabinet_1")], 1):
        said = worker.next_step("a", revision, action, scene(float(revision), at=at))
        worker.ended_step("a", revision, True)
    assert result(said).loop.actions == (there, back)


def test_what_was_remembered_is_there_after_a_restart_and_what_ran_was_interrupted(
    tmp_path: Path, errors: list[str]
) -> None:
    first = make(tmp_path / "bank.sqlite", errors)
    one_task(first, "a")
    first.begin("b", "second", (GOAL,))
    first.next_step("b", 1, GO, scene(1.0, at="start"))
    first.ended_step("b", 1, True)
    first.close()
    again = make(tmp_path / "bank.sqlite", errors)
    statuses = [header.status for header in again.bank.headers()]
    again.close()
    assert statuses == [EpisodeStatus.SUCCEEDED, EpisodeStatus.INTERRUPTED]
    assert not errors


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".sqlite"])
def test_what_one_robot_saved_another_takes_over_once(
    worker: MemoryWorker, tmp_path: Path, errors: list[str], suffix: str
) -> None:
    one_task(worker, "a")
    path = tmp_path / f"saved{suffix}"
    if suffix == ".sqlite":
        path = worker.path
    else:
        assert result(worker.save(path)) == 1
    other = make(tmp_path / "other.sqlite", errors)
    counts = [result(other.load(path)), result(other.load(path))]
    other.close()
    assert counts == [1, 0]


def test_a_damaged_file_adds_nothing_and_vectors_of_another_model_do_not_come_in(
    worker: MemoryWorker, tmp_path: Path, errors: list[str]
) -> None:
    one_task(worker, "a")
    saved, damaged, foreign = (tmp_path / f"{name}.jsonl" for name in ("saved", "damaged", "foreign"))
    result(worker.save(saved))
    damaged.write_text(saved.read_text() + "no episode\n")
    (stored,) = read_episodes(saved)
    turned = tuple(replace(step, embedding=np.eye(1, 128, dtype=np.float32)[0]) for step in stored.steps)
    write_episodes(foreign, [replace(stored, steps=turned)])
    other = make(tmp_path / "other.sqlite", errors)
    with pytest.raises(ValueError, match="line 2"):
        result(other.load(damaged))
    assert not result(other.statistics()).episodes
    assert result(other.load(foreign)) == 1
    ours, theirs = (item.bank.episode(stored.header.episode_id) for item in (worker, other))
    other.close()
    for mine, taken in zip(ours.steps, theirs.steps, strict=True):
        np.testing.assert_allclose(mine.embedding, taken.embedding, atol=1e-6)


def test_a_wrong_file_is_an_error_for_who_asked_and_the_worker_goes_on(
    worker: MemoryWorker, tmp_path: Path, errors: list[str]
) -> None:
    one_task(worker, "a")
    there = tmp_path / "there.jsonl"
    there.write_text("not an episode\n")
    with pytest.raises(FileExistsError, match=r"there\.jsonl"):
        result(worker.save(there))
    with pytest.raises(ValueError, match=r"there\.jsonl, line 1"):
        result(worker.load(there))
    with pytest.raises(ValueError, match="jsonl"):
        result(worker.save(tmp_path / "wrong.txt"))
    with pytest.raises(FileNotFoundError, match="nothing"):
        result(worker.load(tmp_path / "nothing.sqlite"))
    assert there.read_text() == "not an episode\n"
    assert len(errors) == 4
    assert result(worker.statistics()).episodes["succeeded"] == 1
