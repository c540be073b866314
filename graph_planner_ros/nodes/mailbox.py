"""What a task's thread knows of the world outside: the newest belief, events, heartbeats, a cancel. No rclpy here."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.scene.graph import SceneGraph
from graph_planner_ros.skills.result import SkillResult

T = TypeVar("T")


class TaskCancelled(Exception):
    """The task was cancelled while it waited; the message says by whom or why."""


@dataclass(frozen=True)
class StepEvent:
    """The end of one subtask: ``stamp`` in seconds of ROS time."""

    task_id: str
    revision: int
    index: int
    action: GroundAction
    result: SkillResult
    stamp: float
    attempts: int = 1


@dataclass(frozen=True)
class ExecutorBeat:
    """Heartbeat of the executor. ``idle``: it runs nothing, although it may have been given something."""

    task_id: str
    revision: int
    idle: bool
    phase: str = ""


class Mailbox:
    """Thread-safe: callbacks put, the task's thread waits.

    All waits are bounded in wall time, because simulated time stops when the simulator dies; what they wait *for* is
    given in ROS time. `TaskCancelled` is raised out of every wait as soon as the task is cancelled.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._graph: SceneGraph | None = None
        self._events: deque[StepEvent] = deque()
        self._beat: ExecutorBeat | None = None
        self._beat_time = 0.0
        self._cancelled = ""
        self._epoch = 0

    # ---- putting (any thread)

    def put_graph(self, graph: SceneGraph) -> None:
        """Take a newer belief."""
        with self._condition:
            self._graph = graph
            self._condition.notify_all()

    def put_event(self, event: StepEvent) -> None:
        """Take the end of a subtask."""
        with self._condition:
            self._events.append(event)
            self._condition.notify_all()

    def put_beat(self, beat: ExecutorBeat) -> None:
        """Take a heartbeat of the executor."""
        with self._condition:
            self._beat, self._beat_time = beat, time.monotonic()
            self._condition.notify_all()

    def cancel(self, reason: str) -> None:
        """End the task; the first reason stays."""
        with self._condition:
            self._cancelled = self._cancelled or reason
            self._condition.notify_all()

    def time_jumped(self) -> None:
        """ROS time went back: stamps from before mean nothing any more."""
        with self._condition:
            self._epoch += 1
            self._graph = None
            self._condition.notify_all()

    def wake(self) -> None:
        """Let waiters look again at what they wait for."""
        with self._condition:
            self._condition.notify_all()

    # ---- looking

    @property
    def cancelled(self) -> str:
        """The reason why the task was cancelled, or an empty string."""
        return self._cancelled

    @property
    def graph(self) -> SceneGraph | None:
        """The newest belief."""
        return self._graph

    @property
    def beat(self) -> ExecutorBeat | None:
        """The newest heartbeat of the executor."""
        return self._beat

    def beat_age(self) -> float:
        """Seconds of wall time since the executor's last heartbeat; infinite if there was none."""
        return time.monotonic() - self._beat_time if self._beat_time else float("inf")

    # ---- waiting (the task's thread)

    def wait_for(self, look: Callable[[], T | None], timeout: float) -> T | None:
        """Return what ``look`` returns once that is not None; None after ``timeout`` seconds of wall time."""
        end = time.monotonic() + timeout
        with self._condition:
            while True:
                if self._cancelled:
                    raise TaskCancelled(self._cancelled)
                found = look()
                if found is not None:
                    return found
                left = end - time.monotonic()
                if left <= 0.0:
                    return None
                self._condition.wait(left)

    def wait_graph(self, stamp: float, timeout: float) -> SceneGraph | None:
        """Return a belief whose newest image is not older than ``stamp`` [s, ROS time], or None after ``timeout``.

        When ROS time jumps back while waiting, the first belief after the jump is returned.
        """
        epoch = self._epoch

        def look() -> SceneGraph | None:
            graph = self._graph
            if graph is not None and (graph.stamp >= stamp or self._epoch != epoch):
                return graph
            return None

        return self.wait_for(look, timeout)

    def wait_event(self, task_id: str, revision: int, timeout: float) -> StepEvent | None:
        """Return the event that ends the subtask of this revision; events of others are dropped."""

        def look() -> StepEvent | None:
            while self._events:
                event = self._events.popleft()
                if event.task_id == task_id and event.revision == revision:
                    return event
            return None

        return self.wait_for(look, timeout)
