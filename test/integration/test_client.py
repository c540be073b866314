"""The client of the planner: whose task is whose, planners that are restarted, and clients that go away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness import FakeBridge, System, wait_until
from rclpy.action import ActionServer
from test_task import PLANNER, Robot

from graph_planner_ros import msg as messages
from graph_planner_ros.action import ExecuteTask
from graph_planner_ros.nodes.base import LATCHED, ManagedNode
from graph_planner_ros.nodes.client import RESENDS, TaskClient, TaskReport
from graph_planner_ros.nodes.planner import PlannerNode
from graph_planner_ros.planning.result import TaskStatus
from graph_planner_ros.skills.result import SkillResult, SkillStatus

Status = messages.GoalStatus
INSTRUCTION = "put a mug on the dining table"


class Sender:
    """An instruction sent by a client on a thread of its own."""

    def __init__(
        self, system: System, instruction: str = INSTRUCTION, on_message: Callable[[Any], None] | None = None
    ) -> None:
        self.heard: list[Any] = []
        self.report: TaskReport | None = None
        self.error: BaseException | None = None
        self.stop = threading.Event()
        self._on_message = on_message or self.heard.append
        self._system, self._instruction = system, instruction
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        with TaskClient(on_message=self._on_message, domain_id=self._system.domain_id) as client:
            try:
                missing = client.wait_ready(30.0)
                assert not missing, missing
                self.report = client.execute(self._instruction, cancel=self.stop.is_set)
            except BaseException as error:
                self.error = error

    def ended(self) -> TaskReport:
        wait_until(lambda: not self.thread.is_alive(), "the client ends", 90.0)
        assert self.report is not None, self.error
        return self.report


def skills(bridge: FakeBridge) -> list[str]:
    return [skill for skill, _ in bridge.calls]


def vanish(system: System, planner: PlannerNode) -> None:
    """End a planner without a word, as a kill does."""
    spinner = next(spinner for spinner, node in system._spinners if node is planner)
    system._spinners.remove((spinner, planner))
    spinner.stop()
    task = planner._task
    planner._entities = []
    planner.destroy_node()
    if task is not None:
        task.mailbox.cancel("killed")


def test_an_instruction_is_sent_again_to_a_planner_that_was_restarted(system: System) -> None:
    robot = Robot(system, script={"pick_up": ["hang"]})
    sender = Sender(system)
    wait_until(lambda: "pick_up" in skills(robot.bridge), "the robot picks up")
    vanish(system, robot.planner)
    system.add(PlannerNode, **PLANNER)
    report = sender.ended()
    assert report.status is TaskStatus.SUCCEEDED, report.reason
    assert len([text for text in report.failures if "restarted" in text]) == 1
    assert robot.bridge.stopped, "the skill of the dead planner's task was stopped"


def test_an_instruction_is_not_sent_again_for_ever(system: System) -> None:
    robot = Robot(system, script={"pick_up": ["hang"] * 10})
    sender = Sender(system)
    planner = robot.planner
    for number in range(RESENDS + 1):
        wait_until(lambda number=number: skills(robot.bridge).count("pick_up") > number, "the robot picks up")
        vanish(system, planner)
        planner = system.add(PlannerNode, **PLANNER)
    report = sender.ended()
    assert report.status is TaskStatus.NODE_LOST
    assert "restarted" in report.reason and f"{RESENDS + 1} times" in report.reason


@pytest.mark.parametrize("second", [INSTRUCTION, "open the fridge"])
def test_of_two_clients_each_hears_of_its_own_task_and_how_it_ended(system: System, second: str) -> None:
    robot = Robot(system, script={"pick_up": ["hang"]})
    first = Sender(system)
    wait_until(lambda: "pick_up" in skills(robot.bridge), "the robot picks up for the first")
    other = Sender(system, second)
    replaced, done = first.ended(), other.ended()
    assert replaced.status is TaskStatus.CANCELLED and f"replaced by a new instruction: {second}" in replaced.reason
    assert done.status is TaskStatus.SUCCEEDED, done.reason
    assert replaced.task_id and done.task_id and replaced.task_id != done.task_id
    for sender, report in ((first, replaced), (other, done)):
        assert {message.task_id for message in sender.heard} - {""} == {report.task_id}
        assert {plan.task_id for plan in report.plans} == {report.task_id}
    assert len(done.history) == done.steps, "and no step of the other's"


def test_a_client_that_fails_does_not_leave_the_robot_working(system: System) -> None:
    robot = Robot(system, script={"pick_up": ["hang"]})

    def listen(message: Any) -> None:
        if isinstance(message, messages.Plan) and message.subtasks[message.next].action == "pick_up":
            raise OSError("the terminal is gone")

    sender = Sender(system, on_message=listen)
    wait_until(lambda: not sender.thread.is_alive(), "the client ends")
    assert isinstance(sender.error, OSError)
    wait_until(lambda: robot.client.statuses[-1].status == Status.CANCELLED, "the task is cancelled")


class OddPlanner(ManagedNode):
    """Answers every instruction in a way that no planner of ours does."""

    def __init__(self, how: str, **options: Any) -> None:
        super().__init__("planner", (), **options)
        self.how = how

    def configure(self) -> None:
        self._statuses = self.create_publisher(messages.GoalStatus, "goal_status", LATCHED)
        self._graphs = self.create_publisher(messages.SceneGraph, "scene_graph", LATCHED)
        self._server = ActionServer(self, ExecuteTask, "execute_task", self._execute)

    def release(self) -> None:
        self.destroy_all([self._server, self._statuses, self._graphs])

    def _execute(self, goal_handle: Any) -> Any:
        if self.how == "raises":
            raise RuntimeError("on purpose")
        goal_handle.succeed()
        return ExecuteTask.Result(status=99)


@pytest.mark.parametrize("how", ["raises", "status 99"])
def test_an_answer_that_is_none_is_no_success(system: System, how: str) -> None:
    system.add(OddPlanner, how)
    report = Sender(system).ended()
    assert not report.succeeded and report.status is TaskStatus.NODE_LOST
    assert "no outcome" in report.reason


def command(system: System, folder: Path) -> subprocess.Popen[str]:
    """Start ``graph-planner send``."""
    return subprocess.Popen(
        [sys.executable, "-m", "graph_planner_ros.cli", "send", INSTRUCTION],
        env={**os.environ, "ROS_DOMAIN_ID": str(system.domain_id), "ROS_LOG_DIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, "the reader goes"])
def test_whoever_ends_the_command_cancels_the_task(system: System, tmp_path: Path, how: Any) -> None:
    robot = Robot(system, script={"go_to": ["hang"], "pick_up": ["hang"]})
    process = command(system, tmp_path)
    try:
        assert process.stdout is not None and process.stderr is not None
        wait_until(lambda: robot.bridge.calls, "the robot sets out")
        if how == "the reader goes":
            process.stdout.close()
            # the next thing to be shown finds no reader
            system.on_thread(robot.bridge, robot.bridge._running.ended, SkillResult(SkillStatus.SUCCEEDED))
        else:
            process.send_signal(how)
        assert process.wait(30) == 130
        assert "Traceback" not in process.stderr.read()
        wait_until(lambda: robot.client.statuses[-1].status == Status.CANCELLED, "the task is cancelled")
        wait_until(lambda: robot.planner._task is None and robot.executor._job is None, "nothing works on it any more")
        if how != "the reader goes":
            assert "cancelled" in process.stdout.read()
    finally:
        process.kill()
        process.wait()
