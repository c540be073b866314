"""The executor node with a fake bridge, a fake perception and plans published by the test."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from harness import Client, FakeBridge, FakePerception, System, add_item, kitchen, wait_until

from graph_planner_ros import msg as messages
from graph_planner_ros.conversions import header
from graph_planner_ros.nodes.base import LATCHED
from graph_planner_ros.nodes.executor import ExecutorNode
from graph_planner_ros.skills.result import SkillResult, SkillStatus

FAST = {"settle": 0.0, "server_timeout": 1.0, "acknowledge_timeout": 1.0, "feedback_timeout": 2.0}


class Boss:
    """Publishes plans and the planner's heartbeat."""

    def __init__(self, system: System, client: Client) -> None:
        self.system, self.client = system, client
        self.plans = client.create_publisher(messages.Plan, "plan", LATCHED)
        self.statuses = client.create_publisher(messages.GoalStatus, "goal_status", LATCHED)
        self.task, self.revision = "task", 0
        self.silent = False
        client.create_timer(0.2, self.beat, clock=client.steady_clock)

    def beat(self) -> None:
        if not self.silent and self.revision:
            status = messages.GoalStatus(header=header(self.client.now()), task_id=self.task)
            status.status = messages.GoalStatus.RUNNING
            self.statuses.publish(status)

    def send(self, action: str, *arguments: str, status: int = messages.Plan.ACTIVE, task: str = "task") -> None:
        self.revision += 1
        self.task = task
        subtask = messages.Subtask(action=action, arguments=list(arguments), text=f"{action} {arguments}")
        plan = messages.Plan(header=header(self.client.now()), task_id=task, revision=self.revision, status=status)
        plan.subtasks = [subtask] if action else []
        self.system.on_thread(self.client, self.plans.publish, plan)

    def event(self, number: int = 0) -> Any:
        wait_until(lambda: len(self.client.events) > number, "the executor reports the end of the subtask")
        return self.client.events[number]


@pytest.fixture()
def boss(system: System) -> Boss:
    return Boss(system, system.add(Client))


def scene(system: System) -> FakePerception:
    graph = kitchen()
    add_item(graph, "mug_1", "Mug", "counter_top_1")
    return system.add(FakePerception, graph)


def test_a_subtask_becomes_one_skill_and_one_event(system: System, boss: Boss) -> None:
    scene(system)
    bridge = system.add(FakeBridge)
    system.add(ExecutorNode, **FAST)
    boss.send("go_to", "start", "counter_top_1")
    event = boss.event()
    assert isinstance(event, messages.SubtaskCompleted), event
    assert (event.task_id, event.revision, event.index, event.attempts) == ("task", 1, 0, 1)
    assert bridge.calls == [("go_to", ("counter_top_1",))]


def test_a_revision_is_run_once_however_often_its_plan_arrives(system: System, boss: Boss) -> None:
    scene(system)
    bridge = system.add(FakeBridge)
    system.add(ExecutorNode, **FAST)
    boss.send("go_to", "start", "counter_top_1")
    boss.event()
    boss.revision -= 1
    boss.send("go_to", "start", "counter_top_1")
    boss.send("go_to", "counter_top_1", "fridge_1")
    boss.event(1)
    assert [call[1] for call in bridge.calls] == [("counter_top_1",), ("fridge_1",)]


def test_an_unmet_precondition_is_reported_before_the_robot_moves(system: System, boss: Boss) -> None:
    scene(system)
    bridge = system.add(FakeBridge)
    system.add(ExecutorNode, **FAST)
    boss.send("pick_up", "mug_1", "counter_top_1")  # the robot is not there yet
    event = boss.event()
    assert event.status == messages.ActionFailure.PRECONDITION_FAILED
    assert "at(counter_top_1)" in event.reason
    assert bridge.calls == []


def test_recoverable_failures_are_retried_before_the_planner_hears_of_them(system: System, boss: Boss) -> None:
    scene(system)
    slip = SkillResult(SkillStatus.EXECUTION_FAILED, "collision", "bumped into a chair", recoverable=True)
    bridge = system.add(FakeBridge, {"go_to": [slip, slip]})
    system.add(ExecutorNode, **FAST)
    boss.send("go_to", "start", "fridge_1")
    event = boss.event()
    assert isinstance(event, messages.SubtaskCompleted) and event.attempts == 3
    assert len(bridge.calls) == 3


def test_a_failure_that_stays_is_reported_with_code_and_attempts(system: System, boss: Boss) -> None:
    scene(system)
    stuck = SkillResult(SkillStatus.EXECUTION_FAILED, "collision", "bumped into a chair", recoverable=True)
    system.add(FakeBridge, {"go_to": [stuck] * 5})
    system.add(ExecutorNode, max_attempts=2, **FAST)
    boss.send("go_to", "start", "fridge_1")
    event = boss.event()
    assert (event.status, event.code, event.attempts) == (messages.ActionFailure.EXECUTION_FAILED, "collision", 2)


def test_without_a_bridge_the_wait_is_bounded_and_the_failure_says_what_skills_there_are(
    system: System, boss: Boss
) -> None:
    scene(system)
    system.add(ExecutorNode, **FAST)
    boss.send("go_to", "start", "fridge_1")
    event = boss.event()
    assert event.status == messages.ActionFailure.SERVER_LOST
    assert "execute_skill" in event.reason and "skills there are: none" in event.reason


def test_a_cancelled_plan_stops_the_skill_and_the_next_one_runs(system: System, boss: Boss) -> None:
    scene(system)
    bridge = system.add(FakeBridge, {"go_to": ["hang"]})
    system.add(ExecutorNode, **FAST)
    boss.send("go_to", "start", "fridge_1")
    wait_until(lambda: bridge.calls, "the skill runs")
    boss.send("", status=messages.Plan.CANCELLED)
    boss.send("go_to", "start", "counter_top_1", task="next")
    first, second = boss.event(0), boss.event(1)
    assert first.status == messages.ActionFailure.CANCELLED and bridge.stopped
    assert isinstance(second, messages.SubtaskCompleted) and second.task_id == "next"


def test_when_the_planner_falls_silent_the_skill_is_stopped(system: System, boss: Boss) -> None:
    scene(system)
    bridge = system.add(FakeBridge, {"go_to": ["hang"]})
    system.add(ExecutorNode, planner_timeout=1.0, **FAST)
    boss.send("go_to", "start", "fridge_1")
    wait_until(lambda: bridge.calls, "the skill runs")
    boss.silent = True
    event = boss.event()
    assert event.status == messages.ActionFailure.CANCELLED and "planner" in event.reason
    assert bridge.stopped


def test_a_bridge_that_falls_silent_during_a_skill_is_reported_as_lost(system: System, boss: Boss) -> None:
    scene(system)
    bridge = system.add(FakeBridge, {"go_to": ["hang"]})
    bridge.silent = True
    system.add(ExecutorNode, **FAST)
    boss.send("go_to", "start", "fridge_1")
    event = boss.event()
    assert event.status == messages.ActionFailure.SERVER_LOST
    wait_until(lambda: bridge.stopped, "the goal is cancelled all the same")


def test_an_executor_that_comes_back_runs_the_plan_in_force(system: System, boss: Boss) -> None:
    scene(system)
    bridge = system.add(FakeBridge, {"go_to": ["hang"]})
    executor = system.add(ExecutorNode, **FAST)
    boss.send("go_to", "start", "fridge_1")
    wait_until(lambda: bridge.calls, "the skill runs")
    system.remove(executor)
    wait_until(lambda: bridge.stopped, "the skill is stopped with its executor")
    system.add(ExecutorNode, **FAST)
    wait_until(
        lambda: any(isinstance(event, messages.SubtaskCompleted) for event in boss.client.events),
        "the subtask is carried out by the new executor",
    )


def test_a_goal_that_is_accepted_after_everybody_gave_up_is_cancelled(system: System, boss: Boss) -> None:
    scene(system)
    bridge = system.add(FakeBridge, {"go_to": ["hang"]})
    executor = system.add(ExecutorNode, **FAST)
    wait_until(lambda: executor._skills.client.server_is_ready(), "the executor knows the bridge")
    hold = threading.Event()
    bridge.executor.create_task(hold.wait, 60.0)  # the bridge answers nobody for a while
    try:
        boss.send("go_to", "start", "fridge_1")
        assert boss.event().status == messages.ActionFailure.SERVER_LOST
        assert not bridge.calls
    finally:
        hold.set()
    wait_until(lambda: bridge.calls and bridge.stopped, "the skill is stopped as soon as its goal is accepted")
