"""One goal of the planner's action `execute_task`: its thread, its mailbox, and the ports of its runner."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from graph_planner_ros import msg as messages
from graph_planner_ros.nodes.mailbox import Mailbox
from graph_planner_ros.nodes.task_messages import task_id_of
from graph_planner_ros.nodes.task_runner import TaskView
from graph_planner_ros.planning.result import TaskStatus


class TaskOwner(Protocol):
    """What a task needs of its node."""

    def now(self) -> float:
        """Return ROS time [s]."""

    def on_executor(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function on the executor thread."""

    def feedback(self, task: PlannerTask) -> None:
        """Send the feedback of a task."""

    def publish_view(self, task: PlannerTask) -> None:
        """Publish plan, trace and status of a task."""


class PlannerTask:
    """See the top of this file.

    Args:
        instruction: in words; that of the request, or what an empty one stands for.
    """

    def __init__(self, node: TaskOwner, goal_handle: Any, instruction: str) -> None:
        self.node = node
        self.goal_handle = goal_handle
        self.task_id = task_id_of(goal_handle.goal_id)
        self.instruction = instruction
        self.mailbox = Mailbox()
        self.phase_text = "starting"
        self.view = TaskView(self.task_id, self.instruction, "", TaskStatus.RUNNING, "", 0, 0, 0)
        self.thread: threading.Thread | None = None
        self.plan = messages.Plan(task_id=self.task_id, instruction=self.instruction)

    def now(self) -> float:
        """Return ROS time [s]."""
        return self.node.now()

    def phase(self, text: str) -> None:
        """Keep the phase for the feedback."""
        self.phase_text = text
        self.node.on_executor(self.node.feedback, self)

    def publish(self, view: TaskView) -> None:
        """Publish a new revision: status first, so that the executor knows the task when its plan comes."""
        self.view = view
        self.node.publish_view(self)
