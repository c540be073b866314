"""Planner and executor as processes that are killed during a task."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import Client, FakeBridge, FakePerception, Sent, System, add_item, kitchen, wait_until
from processes import Processes

from graph_planner_ros import msg as messages

EXECUTOR = {"settle": 0.0, "planner_timeout": 2.0, "feedback_timeout": 3.0}
PLANNER = {"settle": 0.0, "confirm": 0.0, "scene_timeout": 10.0, "executor_timeout": 3.0, "restart_timeout": 30.0}
Status = messages.GoalStatus


class Rig:
    """Fakes in this process, the real nodes in others."""

    def __init__(self, system: System, folder: Path, script: dict[str, list[Any]] | None = None) -> None:
        self.system = system
        graph = kitchen()
        add_item(graph, "mug_1", "Mug", "counter_top_1")
        self.perception = system.add(FakePerception, graph)
        self.bridge = system.add(FakeBridge, script)
        self.client = system.add(Client)
        self.nodes = Processes(system.domain_id, folder)
        self.nodes.start("nodes.executor", "executor", **EXECUTOR)
        self.nodes.start("nodes.planner", "planner", **PLANNER)

    def send(self, instruction: str) -> Sent:
        return Sent(self.system, self.client, instruction)

    def picks_up(self) -> bool:
        return "pick_up" in [skill for skill, _ in self.bridge.calls]


@pytest.fixture()
def rig(system: System, tmp_path: Path) -> Iterator[Rig]:
    made = Rig(system, tmp_path, {"pick_up": ["hang"]})
    try:
        yield made
    finally:
        made.nodes.close()


def test_an_executor_killed_during_a_skill_is_replaced_and_the_task_succeeds(rig: Rig) -> None:
    sent = rig.send("put a mug on the dining table")
    wait_until(rig.picks_up, "the robot picks up")
    rig.nodes.kill("executor")
    rig.nodes.start("nodes.executor", "executor", **EXECUTOR)
    result = sent.result(60.0)
    assert result.status == Status.SUCCEEDED, result.reason + rig.nodes.output()
    assert rig.bridge.stopped, "the skill of the dead executor was stopped"


def test_when_the_planner_is_killed_the_robot_stops_and_a_new_planner_takes_the_next_task(rig: Rig) -> None:
    rig.send("put a mug on the dining table")
    wait_until(rig.picks_up, "the robot picks up")
    rig.nodes.kill("planner")
    wait_until(lambda: rig.bridge.stopped, "the executor stops the skill")
    failure = wait_until(
        lambda: next((e for e in rig.client.events if isinstance(e, messages.ActionFailure)), None), "the event"
    )
    assert failure.status == messages.ActionFailure.CANCELLED and "planner" in failure.reason
    rig.nodes.start("nodes.planner", "planner", **PLANNER)
    wait_until(lambda: rig.client.statuses[-1].status == Status.IDLE, "the new planner says that it is idle")
    # The middleware believes in the dead planner's server for a while; the new one must be the one that answers.
    wait_until(lambda: rig.client.count_publishers("plan") >= 1, "the new planner publishes")
    result = rig.send("open the fridge").result(60.0)
    assert result.status == Status.SUCCEEDED, result.reason + rig.nodes.output()


def test_nodes_that_are_told_to_end_during_a_task_end_in_good_order(rig: Rig) -> None:
    sent = rig.send("put a mug on the dining table")
    wait_until(rig.picks_up, "the robot picks up")
    assert rig.nodes.stop("planner") == 0, rig.nodes.output()
    assert sent.result().status == Status.CANCELLED, "the result still came"
    wait_until(lambda: rig.client.plans[-1].status == messages.Plan.CANCELLED, "the plan is cancelled")
    wait_until(lambda: rig.bridge.stopped, "the skill is stopped")
    assert rig.nodes.stop("executor") == 0, rig.nodes.output()
