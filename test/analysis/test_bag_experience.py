"""Messages of a recorded run become episodes, in whatever order and however the run ends."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graph_planner_ros.analysis.bag_experience import DONE, FAILED, PLAN, STATUS, BagTelling, episodes_of_bag, find_bags
from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.memory.experience import EpisodeStatus
from graph_planner_ros.planning.result import TaskStatus
from graph_planner_ros.scene.belief import set_place
from graph_planner_ros.scene.graph import MAP, SceneGraph, SceneNode

DOMAIN = load_domain("household")
TEXT = "put a mug on the dining table"


def scene(stamp: float, *things: tuple[str, str, str]) -> SceneGraph:
    graph = SceneGraph(stamp=stamp, domain="household")
    for name, label in (("cabinet_1", "Cabinet"), ("dining_table_1", "DiningTable")):
        graph.nodes[name] = SceneNode(name, label, source=MAP)
    for name, label, place in things:
        graph.nodes[name] = SceneNode(name, label, first_seen=stamp)
        set_place(graph, name, ("in", place))
    return graph


def plan(revision: int, *actions: str, index: int = 0, task: str = "t1") -> Any:
    subtasks = [SimpleNamespace(action=a.split()[0], arguments=a.split()[1:]) for a in actions]
    return SimpleNamespace(task_id=task, revision=revision, instruction=TEXT, subtasks=subtasks, next=index)


def event(revision: int, task: str = "t1") -> Any:
    return SimpleNamespace(task_id=task, revision=revision)


def status(value: TaskStatus, task: str = "t1", reason: str = "") -> Any:
    return SimpleNamespace(task_id=task, status=value.value, instruction=TEXT, reason=reason)


def test_a_run_is_an_episode_of_scenes_before_each_action() -> None:
    telling = BagTelling(DOMAIN, "a bag")
    telling.scene(scene(1.0))
    telling.tell(STATUS, status(TaskStatus.RUNNING), 1.0)
    telling.tell(PLAN, plan(1, "find unseen_mug_1 dining_table_1"), 1.0)
    telling.scene(scene(2.0))
    telling.tell(DONE, event(1), 2.0)
    telling.tell(PLAN, plan(2, "find unseen_mug_1 cabinet_1", "pick_up unseen_mug_1 cabinet_1"), 2.1)
    telling.tell(PLAN, plan(2, "find unseen_mug_1 cabinet_1"), 2.2)  # it is latched: seen twice is one action
    telling.tell(DONE, event(1), 2.3)  # late, and of another revision
    telling.scene(scene(3.0, ("mug_1", "Mug", "cabinet_1")))
    telling.tell(DONE, event(2), 3.0)
    telling.tell(PLAN, plan(3, "pick_up mug_1 cabinet_1"), 3.1)
    telling.tell(FAILED, event(3), 4.0)
    telling.tell(STATUS, status(TaskStatus.SUCCEEDED, reason="the goal is reached"), 5.0)
    (episode,) = telling.finish()
    assert episode.header.status is EpisodeStatus.SUCCEEDED and episode.header.reason == "the goal is reached"
    assert episode.header.instruction == TEXT and episode.header.goals[0].text == TEXT
    shown = [(str(step.action), step.succeeded, step.stamp) for step in episode.steps]
    assert shown == [
        ("find(unseen_mug_1, dining_table_1)", False, 1.0),
        ("find(mug_1, cabinet_1)", True, 2.0),
        ("pick_up(mug_1, cabinet_1)", False, 3.0),
        ("None", None, 3.0),
    ]


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (TaskStatus.CANCELLED, EpisodeStatus.INTERRUPTED),
        (TaskStatus.NODE_LOST, EpisodeStatus.INTERRUPTED),
        (TaskStatus.GOAL_UNKNOWN, EpisodeStatus.FAILED),
        (None, EpisodeStatus.INTERRUPTED),
    ],
)
def test_how_a_task_ends_is_how_its_episode_ends(end: TaskStatus | None, expected: EpisodeStatus) -> None:
    telling = BagTelling(DOMAIN, "a bag")
    telling.scene(scene(1.0))
    telling.tell(PLAN, plan(1, "go_to start cabinet_1"), 1.0)
    telling.tell(DONE, event(1), 2.0)
    telling.tell(PLAN, plan(2, "open cabinet_1"), 2.1)  # nobody saw how that went
    if end is not None:
        telling.tell(STATUS, status(end), 3.0)
    (episode,) = telling.finish()
    assert episode.header.status is expected
    assert [str(step.action) for step in episode.steps] == ["go_to(start, cabinet_1)", "None"]


def test_tasks_in_which_nothing_was_done_and_scenes_of_other_domains_leave_nothing() -> None:
    telling = BagTelling(DOMAIN, "a bag")
    telling.tell(PLAN, plan(1, "go_to start cabinet_1"), 1.0)  # no scene was seen yet
    telling.tell(DONE, event(1), 2.0)
    other = scene(1.0)
    other.domain = "greenhouse"
    telling.scene(other)
    telling.tell(PLAN, plan(2, "go_to start cabinet_1"), 2.0)
    telling.tell(DONE, event(2), 3.0)
    telling.tell(STATUS, status(TaskStatus.SUCCEEDED), 3.0)
    assert telling.finish() == []


def test_the_same_task_has_the_same_id_and_two_tasks_are_two_episodes() -> None:
    ids = []
    for _ in range(2):
        telling = BagTelling(DOMAIN, "a bag")
        telling.scene(scene(1.0))
        for task in ("t1", "t2"):
            telling.tell(PLAN, plan(1, "go_to start cabinet_1", task=task), 1.0)
            telling.tell(DONE, event(1, task), 2.0)
            telling.tell(STATUS, status(TaskStatus.SUCCEEDED, task), 2.0)
        ids.append([episode.header.episode_id for episode in telling.finish()])
    assert ids[0] == ids[1] and len(set(ids[0])) == 2


def test_what_is_no_bag_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        episodes_of_bag(tmp_path / "nowhere", DOMAIN)
    with pytest.raises(FileNotFoundError, match="no bag in"):
        list(find_bags([tmp_path]))
