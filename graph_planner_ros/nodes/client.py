"""A client of the planner: sends one instruction and tells what happens. For command line and evaluation."""

from __future__ import annotations

import itertools
import os
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import rclpy
from action_msgs.msg import GoalInfo
from action_msgs.msg import GoalStatus as ActionStatus
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

import graph_planner_ros.msg as messages
from graph_planner_ros.action import ExecuteTask
from graph_planner_ros.nodes.base import LATCHED, RELIABLE
from graph_planner_ros.nodes.task_messages import task_id_of
from graph_planner_ros.planning.result import TaskStatus

SUCCESS = (TaskStatus.SUCCEEDED, TaskStatus.ALREADY_SATISFIED)
RESENDS = 2
"""How often an instruction is sent again because the planner was restarted."""
Listener = Callable[[Any], None]
_numbers = itertools.count()


def task_status(number: int) -> TaskStatus:
    """Return the outcome of that number; what is none counts as lost."""
    try:
        status = TaskStatus(number)
    except ValueError:
        return TaskStatus.NODE_LOST
    return TaskStatus.NODE_LOST if status in (TaskStatus.IDLE, TaskStatus.RUNNING) else status


@dataclass
class TaskReport:
    """What came of an instruction.

    Attributes:
        planning_time: seconds that planner calls took. duration: seconds of ROS time. wall_time: seconds.
        revisions: number of plan messages.
        steps, replans: subtasks run, and plans replaced.
        failures: sentences of failed subtasks that the planner heard of.
        history: carried out subtasks with whether they succeeded.
    """

    instruction: str
    status: TaskStatus
    reason: str = ""
    task_id: str = ""
    steps: int = 0
    replans: int = 0
    planning_time: float = 0.0
    duration: float = 0.0
    wall_time: float = 0.0
    revisions: int = 0
    not_understood: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    failures: list[str] = field(default_factory=list)
    history: list[tuple[str, bool]] = field(default_factory=list)
    plans: list[Any] = field(default_factory=list, repr=False)

    @property
    def succeeded(self) -> bool:
        """True if the goal holds, as far as the robot believes."""
        return self.status in SUCCESS


class TaskClient:
    """One node with its own context, so that several can live in one process. Use it in a ``with`` block.

    Args:
        namespace: of the robot. on_message: called with every Plan, SubtaskCompleted, ActionFailure and GoalStatus of
            the instruction under way; what is told of others' instructions is left out.
        domain_id: ROS domain; None: that of the environment.
    """

    def __init__(
        self, namespace: str = "", on_message: Listener = lambda message: None, domain_id: int | None = None
    ) -> None:
        self.context = rclpy.Context()
        # Signals stay with the program: a Ctrl-C must cancel the task, not close the context under it.
        # The words of the command line are none of ROS's: ``sim:=mujoco`` is no remapping here.
        rclpy.init(args=[], context=self.context, domain_id=domain_id, signal_handler_options=SignalHandlerOptions.NO)
        name = f"graph_planner_client_{os.getpid()}_{next(_numbers)}"  # several live in one evaluation
        self.node = Node(name, namespace=namespace, context=self.context, use_global_arguments=False)
        self._executor = SingleThreadedExecutor(context=self.context)
        self._executor.add_node(self.node)
        self._on_message = on_message
        self._action = ActionClient(self.node, ExecuteTask, "execute_task")
        self._report: TaskReport | None = None
        self._task_id = ""
        self._seen = 0.0
        self._idle = False
        self.node.create_subscription(messages.Plan, "plan", self._receive, LATCHED)
        self.node.create_subscription(messages.GoalStatus, "goal_status", self._receive, LATCHED)
        self.node.create_subscription(messages.SubtaskCompleted, "events/subtask_completed", self._receive, RELIABLE)
        self.node.create_subscription(messages.ActionFailure, "events/action_failure", self._receive, RELIABLE)

    def __enter__(self) -> TaskClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._action.destroy()
        self._executor.remove_node(self.node)
        self._executor.shutdown(timeout_sec=1.0)
        self.node.destroy_node()
        self.context.try_shutdown()

    def spin(self, seconds: float) -> None:
        """Handle messages for at most ``seconds`` of wall time, or until one was handled."""
        self._executor.spin_once(timeout_sec=seconds)

    def spin_until(self, condition: Callable[[], bool], timeout: float, abort: Callable[[], bool]) -> bool:
        """Handle messages until ``condition`` holds (True), or ``abort`` does or ``timeout`` seconds passed (False)."""
        deadline = time.monotonic() + timeout
        while not condition():
            if abort() or time.monotonic() >= deadline:
                return False
            self.spin(0.05)
        return True

    def wait_ready(self, timeout: float, abort: Callable[[], bool] = lambda: False) -> str:
        """Wait for the planner's action and a scene graph on the line; return what is missing, or an empty string."""
        if not self.spin_until(self._action.server_is_ready, timeout, abort):
            return "no planner answers: the action execute_task is not there"
        topic = self.node.resolve_topic_name("scene_graph")
        if not self.spin_until(lambda: self.node.count_publishers(topic) > 0, timeout, abort):
            return f"nobody publishes {topic}: there is no perception"
        return ""

    def missing(self) -> str:
        """Return what is missing at present for an instruction to be sent, or an empty string."""
        return self.wait_ready(0.0)

    def execute(
        self,
        instruction: str,
        timeout: float = 3600.0,
        cancel: Callable[[], bool] = lambda: False,
        abort: Callable[[], str] = lambda: "",
    ) -> TaskReport:
        """Send an instruction and wait for its end.

        If the planner dies and comes back, the instruction is sent again, at most ``RESENDS`` times: the belief
        outlives the planner, so the task goes on from what has been done.

        Args:
            timeout: seconds of wall time after which the task is cancelled.
            cancel: when it becomes True, the task is cancelled and its answer awaited.
            abort: when it returns a sentence, the wait ends with NODE_LOST and that reason.
        """
        start = time.monotonic()
        report = self._report = TaskReport(instruction, TaskStatus.RUNNING)
        steps = replans = 0
        for resend in range(RESENDS + 1):
            again = self._execute_once(report, start + timeout, cancel, abort)
            if not again:
                break
            steps, replans = len(report.history), max(0, report.revisions - len(report.history))
            report.status, report.reason = TaskStatus.NODE_LOST, f"{again}, {resend + 1} times"
            report.failures.append(again)
        report.steps = max(report.steps, steps)
        report.replans = max(report.replans, replans)
        report.wall_time = time.monotonic() - start
        return report

    def _execute_once(
        self, report: TaskReport, deadline: float, cancel: Callable[[], bool], abort: Callable[[], str]
    ) -> str:
        """Send the instruction and fill in the report; return why it must be sent again, or an empty string."""
        known = self._planners()
        goal_id = GoalInfo().goal_id
        goal_id.uuid = list(uuid.uuid4().bytes)
        self._task_id = report.task_id = task_id_of(goal_id)
        sent = self._action.send_goal_async(ExecuteTask.Goal(instruction=report.instruction), goal_uuid=goal_id)
        try:
            return self._follow(report, sent, known, deadline, cancel, abort)
        except BaseException:
            self._call_off(sent)
            raise

    def _call_off(self, sent: Any) -> None:
        """Cancel what was sent, since nobody will hear of its end: whoever waited for it failed or was interrupted."""
        self._on_message = lambda message: None
        if self.spin_until(sent.done, 3.0, lambda: False) and sent.result().accepted:
            self.spin_until(sent.result().cancel_goal_async().done, 3.0, lambda: False)

    def _follow(
        self,
        report: TaskReport,
        sent: Any,
        known: frozenset[bytes],
        deadline: float,
        cancel: Callable[[], bool],
        abort: Callable[[], str],
    ) -> str:
        sent_at = time.monotonic()

        def answered() -> bool:
            # what was sent to a planner that has just died is answered by nobody
            return sent.done() or (time.monotonic() - sent_at > 3.0 and bool(self._planners() - known))

        if not self.spin_until(answered, 15.0, lambda: bool(abort())):
            return self._lost(report, abort() or "the planner did not acknowledge the instruction")
        if not sent.done():
            self._wait_for_planner(abort)
            return "the planner was restarted before it took the instruction, which was sent again"
        handle = sent.result()
        if not handle.accepted:
            return self._lost(report, "the planner refused the instruction: it is not active")
        ended = handle.get_result_async()
        self._seen = time.monotonic()
        cancelled_at: float | None = None
        while not ended.done():
            now = time.monotonic()
            if abort():
                return self._lost(report, abort())
            if cancelled_at is None and (cancel() or now > deadline):
                cancelled_at = now
                handle.cancel_goal_async()
            if cancelled_at is not None and now - cancelled_at > 10.0:
                return self._lost(report, "the planner did not answer the cancellation within 10 s")
            if self._planners() - known and not ended.done():
                self._wait_for_planner(abort)
                return "the planner was restarted during the task and the instruction sent again"
            if self._action_gone(now):
                return self._lost(report, "the planner died: its action server is gone")
            self.spin(0.05)
        self._finish(report, ended.result())
        return ""

    def _planners(self) -> frozenset[bytes]:
        """Return who publishes the goal status; a planner that was restarted is somebody else."""
        topic = self.node.resolve_topic_name("goal_status")
        return frozenset(bytes(info.endpoint_gid) for info in self.node.get_publishers_info_by_topic(topic))

    def _wait_for_planner(self, abort: Callable[[], str]) -> None:
        """Wait until a planner that has just come back takes goals (it publishes before its action server is up)."""
        self._idle = False
        self.spin_until(lambda: self._idle and self._action.server_is_ready(), 30.0, lambda: bool(abort()))

    def _action_gone(self, now: float) -> bool:
        """Return whether the planner has been missing for 15 s; a result of a dead server never comes."""
        if self._action.server_is_ready():
            self._seen = now
        return now - self._seen > 15.0

    def _lost(self, report: TaskReport, reason: str) -> str:
        report.status, report.reason = TaskStatus.NODE_LOST, reason
        return ""

    def _finish(self, report: TaskReport, answer: Any) -> None:
        result = answer.result
        if answer.status == ActionStatus.STATUS_UNKNOWN:
            report.status, report.reason = TaskStatus.NODE_LOST, "the planner lost the task"
            return
        report.status, report.reason = task_status(result.status), result.reason
        if report.status is TaskStatus.NODE_LOST and not report.reason:
            report.reason = f"the planner gave no outcome (status {result.status})"
        report.steps, report.replans = result.steps, result.replans
        report.planning_time, report.duration = result.planning_time, result.duration
        report.not_understood, report.suggestions = tuple(result.not_understood), tuple(result.suggestions)

    def _receive(self, message: Any) -> None:
        report = self._report
        if message.task_id and message.task_id != self._task_id:
            return  # somebody else's
        if report is not None and message.task_id:
            if isinstance(message, messages.Plan):
                report.revisions += 1
                report.plans.append(message)
            elif isinstance(message, messages.ActionFailure):
                report.failures.append(f"{message.subtask.text}: {message.reason}")
                report.history.append((message.subtask.text, False))
            elif isinstance(message, messages.SubtaskCompleted):
                report.history.append((message.subtask.text, True))
        if isinstance(message, messages.GoalStatus) and message.status == messages.GoalStatus.IDLE:
            self._idle = True  # a planner says so when it becomes active
        self._on_message(message)
