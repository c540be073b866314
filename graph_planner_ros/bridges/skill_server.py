"""The action server `execute_skill` of a bridge: preemption, cancel, clients that vanish."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.task import Future

from graph_planner_ros import msg as messages
from graph_planner_ros.action import ExecuteSkill
from graph_planner_ros.conversions import node_from_msg, skill_result_to_msg
from graph_planner_ros.nodes.base import LATCHED, ManagedNode
from graph_planner_ros.scene.graph import SceneNode
from graph_planner_ros.skills.result import SkillResult, SkillStatus


class ServedSkill:
    """One accepted goal. `ended` and `feedback` may be called from any thread."""

    def __init__(self, server: SkillServer, goal_handle: Any) -> None:
        self.server, self.goal_handle = server, goal_handle
        self.skill = str(goal_handle.request.skill)
        self.future: Future = Future()
        self.stop: Callable[[str], None] = lambda reason: None
        self.accepted = time.monotonic()

    def feedback(self, progress: float, phase: str) -> None:
        """Publish progress."""
        self.server.node.on_executor(self._feedback, min(1.0, max(0.0, progress)), phase)

    def _feedback(self, progress: float, phase: str) -> None:
        if self.goal_handle.is_active:
            self.goal_handle.publish_feedback(ExecuteSkill.Feedback(progress=progress, phase=phase))

    def ended(self, result: SkillResult) -> None:
        """Hand the result to the client."""
        self.server.node.on_executor(self._set, result)

    def _set(self, result: SkillResult) -> None:
        if not self.future.done():
            self.future.set_result(result)

    def alive(self) -> bool:
        """Say whether anybody still waits for this skill; see `SkillServer.watch`."""
        return not self.server.is_orphan(self)


class SkillServer:
    """Serves `execute_skill`: a new goal stops the one before; a goal that nobody waits for any more is stopped.

    A client counts as gone when nobody subscribes to the action's feedback any more, or when the executor's heartbeat,
    heard before during this goal, has been silent for ``client_timeout`` seconds of wall time: a killed process keeps
    its subscriptions in the middleware for a while.

    Args:
        begin: starts a skill and returns a function that stops it with a reason; runs on the executor thread.
    """

    def __init__(
        self,
        node: ManagedNode,
        begin: Callable[[ServedSkill, str, list[SceneNode], float], Callable[[str], None]],
        frame_id: str = "map",
        client_timeout: float = 5.0,
    ) -> None:
        self.node, self._begin, self._frame_id, self._timeout = node, begin, frame_id, client_timeout
        self._current: ServedSkill | None = None
        self._beat = 0.0
        self._alone_since: float | None = None
        self._orphan: ServedSkill | None = None
        self._server = ActionServer(
            node,
            ExecuteSkill,
            "execute_skill",
            self._execute,
            goal_callback=self._on_goal,
            cancel_callback=self._on_cancel,
        )
        self._feedback_topic = node.resolve_topic_name("execute_skill") + "/_action/feedback"
        self._entities = [
            self._server,
            node.create_subscription(messages.ExecutorState, "executor/state", self._on_beat, LATCHED),
            node.create_timer(0.5, self.watch, clock=node.steady_clock),
        ]

    def destroy(self) -> None:
        """Destroy the interfaces."""
        self.node.destroy_all(self._entities)
        self._entities = []

    @property
    def busy(self) -> bool:
        """Whether a skill runs."""
        return self._current is not None

    def stop_current(self, reason: str) -> None:
        """Stop the skill that runs."""
        if self._current is not None:
            self._current.stop(reason)

    def is_orphan(self, served: ServedSkill) -> bool:
        """Return whether nobody waits for this goal any more."""
        return self._orphan is served

    def watch(self) -> None:
        """Look whether the client of the running goal is still there."""
        served, now = self._current, time.monotonic()
        if served is None:
            self._alone_since = None
            return
        if self.node.count_subscribers(self._feedback_topic) > 0:
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = now
        alone = self._alone_since is not None and now - self._alone_since >= 1.0
        silent = self._beat > served.accepted and now - self._beat > self._timeout
        if alone or silent:
            self._orphan = served

    def _on_beat(self, message: messages.ExecutorState) -> None:
        self._beat = time.monotonic()

    def _on_goal(self, request: Any) -> GoalResponse:
        if self.node.active:
            return GoalResponse.ACCEPT
        self.node.get_logger().warning(f"skill '{request.skill}' refused: the bridge is not active")
        return GoalResponse.REJECT

    def _on_cancel(self, goal_handle: Any) -> CancelResponse:
        served = self._current
        if served is not None and served.goal_handle.goal_id == goal_handle.goal_id:
            served.stop("cancelled by its client")
        return CancelResponse.ACCEPT

    async def _execute(self, goal_handle: Any) -> Any:
        served = ServedSkill(self, goal_handle)
        if self._current is not None:
            self._current.stop(f"replaced by {served.skill}")
        self._current = served
        try:
            result = await self._carry_out(served, goal_handle)
        except Exception as error:
            # without an answer of its own the client would read an empty one, which says that all went well
            self.node.errors += 1
            self.node.get_logger().error(f"skill '{served.skill}': {type(error).__name__}: {error}")
            reason = f"the bridge failed in {served.skill}: {type(error).__name__}: {error}"
            result = SkillResult(SkillStatus.EXECUTION_FAILED, "bridge_error", reason)
        if self._current is served:
            self._current = None
        if goal_handle.is_cancel_requested:
            goal_handle.canceled()
        elif result.succeeded:
            goal_handle.succeed()
        else:
            goal_handle.abort()
        return skill_result_to_msg(result)

    async def _carry_out(self, served: ServedSkill, goal_handle: Any) -> SkillResult:
        request = goal_handle.request
        refused, arguments = _read_arguments(request)
        refused = self._refusal(request) or refused
        if refused is not None:
            return refused
        served.stop = self._begin(served, served.skill, arguments, float(request.timeout))
        if goal_handle.is_cancel_requested:
            served.stop("cancelled by its client")
        return await served.future

    def _refusal(self, request: Any) -> SkillResult | None:
        if request.frame_id not in ("", self._frame_id):
            return SkillResult(
                SkillStatus.PRECONDITION_FAILED,
                "bad_arguments",
                f"poses must be in frame '{self._frame_id}', not '{request.frame_id}'",
            )
        if not request.timeout >= 0.0:
            return SkillResult(
                SkillStatus.PRECONDITION_FAILED, "bad_arguments", f"a timeout of {request.timeout} s makes no sense"
            )
        return None


def _read_arguments(request: Any) -> tuple[SkillResult | None, list[SceneNode]]:
    try:
        return None, [node_from_msg(node) for node in request.arguments]
    except ValueError as error:
        return SkillResult(SkillStatus.PRECONDITION_FAILED, "bad_arguments", f"arguments refused: {error}"), []
