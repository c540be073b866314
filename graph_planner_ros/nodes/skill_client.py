"""Calls of the action `execute_skill` from a worker thread: bounded, cancellable, and never leaving a robot running."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient

from graph_planner_ros.action import ExecuteSkill
from graph_planner_ros.conversions import node_to_msg, skill_result_from_msg
from graph_planner_ros.nodes.base import ManagedNode
from graph_planner_ros.scene.graph import SceneNode
from graph_planner_ros.skills.result import SkillResult, SkillStatus


@dataclass(frozen=True)
class SkillTimeouts:
    """Seconds of wall time, since they are about processes that answer or do not.

    Attributes:
        server: longest wait for a server to appear.
        acknowledge: longest wait for it to accept or refuse a goal.
        feedback: longest silence of a running skill.
        cancel: longest wait for a cancelled skill to end.
    """

    server: float = 10.0
    acknowledge: float = 5.0
    feedback: float = 10.0
    cancel: float = 5.0


class _Call:
    """One goal on its way; its callbacks run on the executor thread and fill the queue that the worker reads."""

    def __init__(self) -> None:
        self.queue: queue.Queue[tuple[str, Any]] = queue.Queue()
        self.lock = threading.Lock()
        self.abandoned = False
        self.handle: Any = None


class SkillClient:
    """The robot's skills as a function call.

    If the caller gives up before the server has answered, the goal is cancelled as soon as the answer comes, so that
    no skill runs that nobody waits for.
    """

    def __init__(self, node: ManagedNode, timeouts: SkillTimeouts) -> None:
        self.node = node
        self.timeouts = timeouts
        self.client = ActionClient(node, ExecuteSkill, "execute_skill")
        self._open: set[_Call] = set()

    def cancel_all(self, reason: str) -> None:
        """Cancel every goal on its way and let its caller go; on the executor thread only."""
        for call in list(self._open):
            with call.lock:
                call.abandoned = True
            self._cancel_if_known(call)
            call.queue.put(("result", SkillResult(SkillStatus.CANCELLED, "cancelled", reason)))

    def destroy(self) -> None:
        """Destroy the action client, after `cancel_all`."""
        self.cancel_all("the client of the skill ends")
        self.client.destroy()

    def execute(
        self,
        skill: str,
        arguments: list[SceneNode],
        frame_id: str,
        timeout: float,
        cancelled: threading.Event,
        on_feedback: Callable[[float, str], None],
    ) -> SkillResult:
        """Carry out ``skill`` and return what came of it.

        Args:
            timeout: seconds of ROS time that the skill may take; 0: no limit.
            cancelled: ends the skill when set; the result is then CANCELLED unless it had ended before.
        """
        failure = self._wait_for_server(skill, cancelled)
        if failure is not None:
            return failure
        goal = ExecuteSkill.Goal(
            skill=skill, arguments=[node_to_msg(node) for node in arguments], frame_id=frame_id, timeout=float(timeout)
        )
        call = _Call()
        self._open.add(call)
        self.node.on_executor(self._send, call, goal)
        try:
            return self._follow(call, skill, cancelled, on_feedback)
        finally:
            self._abandon(call)
            self._open.discard(call)

    # ---- the worker's side

    def _wait_for_server(self, skill: str, cancelled: threading.Event) -> SkillResult | None:
        end = time.monotonic() + self.timeouts.server
        while not self.client.server_is_ready():
            if cancelled.wait(0.05):
                return SkillResult(SkillStatus.CANCELLED, "cancelled", f"{skill} was cancelled before it began")
            if time.monotonic() > end:
                return SkillResult(
                    SkillStatus.SERVER_LOST,
                    "no_server",
                    f"nobody offers the action execute_skill, so {skill} cannot be carried out "
                    f"(waited {self.timeouts.server:g} s for a bridge; skills there are: none)",
                )
        return None

    def _follow(
        self, call: _Call, skill: str, cancelled: threading.Event, on_feedback: Callable[[float, str], None]
    ) -> SkillResult:
        limits = self.timeouts
        heard = time.monotonic()
        accepted = False
        cancel_sent: float | None = None
        while True:
            try:
                kind, value = call.queue.get(timeout=0.05)
            except queue.Empty:
                kind, value = "", None
            now = time.monotonic()
            if kind == "result":
                return value
            if kind == "refused":
                return SkillResult(SkillStatus.EXECUTION_FAILED, "refused", f"the bridge refused {skill}: {value}")
            if kind in ("accepted", "feedback"):
                accepted, heard = True, now
            if kind == "feedback":
                on_feedback(float(value.progress), str(value.phase))
            if cancelled.is_set() and cancel_sent is None:
                cancel_sent = now
                self._abandon(call)
            if cancel_sent is not None and now - cancel_sent > limits.cancel:
                return SkillResult(
                    SkillStatus.CANCELLED, "cancelled", f"{skill} was cancelled; the bridge has not confirmed it"
                )
            if now - heard > (limits.feedback if accepted else limits.acknowledge):
                what = "stopped answering" if accepted else "did not answer"
                return SkillResult(
                    SkillStatus.SERVER_LOST,
                    "server_lost",
                    f"the bridge that offers execute_skill {what} during {skill}",
                )

    def _abandon(self, call: _Call) -> None:
        """Have the goal cancelled, now or when its acceptance arrives."""
        with call.lock:
            if call.abandoned:
                return
            call.abandoned = True
        self.node.on_executor(self._cancel_if_known, call)

    # ---- the executor thread's side

    def _send(self, call: _Call, goal: ExecuteSkill.Goal) -> None:
        try:
            future = self.client.send_goal_async(goal, lambda message: call.queue.put(("feedback", message.feedback)))
        except Exception as error:
            call.queue.put(("refused", str(error)))
            return
        future.add_done_callback(lambda done: self._answered(call, done))

    def _answered(self, call: _Call, future: Any) -> None:
        handle = future.result()
        if handle is None or not handle.accepted:
            call.queue.put(("refused", "the goal was rejected (is the bridge active?)"))
            return
        call.handle = handle
        call.queue.put(("accepted", None))
        handle.get_result_async().add_done_callback(lambda done: self._ended(call, done))
        self._cancel_if_known(call)

    def _cancel_if_known(self, call: _Call) -> None:
        with call.lock:
            due = call.abandoned and call.handle is not None
            handle = call.handle
            if due:
                call.handle = None
        if due:
            handle.cancel_goal_async()

    def _ended(self, call: _Call, future: Any) -> None:
        response = future.result()
        if response is None:
            return
        call.handle = None
        result = skill_result_from_msg(response.result)
        if result.succeeded and response.status in (GoalStatus.STATUS_ABORTED, GoalStatus.STATUS_UNKNOWN):
            # a server that failed inside sends an empty result, whose status reads as success
            reason = f"the bridge gave no outcome (state {response.status} of its action)"
            result = SkillResult(SkillStatus.EXECUTION_FAILED, "no_outcome", reason)
        call.queue.put(("result", result))
