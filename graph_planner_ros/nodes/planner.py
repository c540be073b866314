"""The planner node: instruction -> goal -> plan -> events -> ... -> outcome; all the thinking is done in the core."""

from __future__ import annotations

import dataclasses
import sys
import threading
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import JumpThreshold
from rclpy.duration import Duration
from rclpy.task import Future

from graph_planner_ros import msg as messages
from graph_planner_ros.action import ExecuteTask
from graph_planner_ros.conversions import (
    failure_from_msg,
    from_stamp,
    header,
    step_from_msg,
)
from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.language.instruction import ParseStatus
from graph_planner_ros.language.world_goals import WorldGoals
from graph_planner_ros.nodes.base import LATCHED, RELIABLE, ManagedNode
from graph_planner_ros.nodes.belief_messages import receive_graph
from graph_planner_ros.nodes.mailbox import ExecutorBeat, StepEvent
from graph_planner_ros.nodes.planner_mind import PlannerMind, PlanningOptions, engine_called
from graph_planner_ros.nodes.planner_parameters import PARAMETERS, open_model, open_reader
from graph_planner_ros.nodes.planner_task import PlannerTask
from graph_planner_ros.nodes.process import run_node
from graph_planner_ros.nodes.task_messages import (
    plan_message,
    result_message,
    status_message,
    trace_message,
)
from graph_planner_ros.nodes.task_runner import RunnerSettings, TaskOutcome, TaskRunner
from graph_planner_ros.nodes.told_experience import ToldExperience
from graph_planner_ros.nodes.world_texts import WorldTexts
from graph_planner_ros.planning.result import TaskStatus
from graph_planner_ros.scene.graph import SceneGraph
from graph_planner_ros.skills.result import SkillResult, SkillStatus
from graph_planner_ros.srv import PlanTask


class PlannerNode(ManagedNode):
    """Serves `execute_task` and `plan_task`. One task at a time; a new one ends the one before.

    In a text world (a domain with a ``language.yaml``) instructions are goals in the world's words, an empty one stands
    for the goal of the game that is played, and `observation_text` brings goals and says how the game stands.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("planner", PARAMETERS, **options)
        self._entities: list[Any] = []
        self._task: PlannerTask | None = None
        self._graph: Any = None
        self._held: Any = None
        self._texts: WorldTexts | None = None
        self._mind: PlannerMind
        self._beat_seen: ExecutorBeat | None = None
        self._jump: Any = None
        self._last = messages.GoalStatus()

    # ---- life cycle

    def configure(self) -> None:
        """Load domain, language and planner; create the interfaces."""
        self._domain = load_domain(self.value("domain"))
        reader, text_parser = open_reader(self._domain, str(self.value("reader")))
        options = {field.name: self.value(field.name) for field in dataclasses.fields(PlanningOptions)}
        engine = engine_called(str(self.value("engine")))
        model = open_model(self.value)
        self._mind = PlannerMind(self._domain, reader, text_parser, engine, PlanningOptions(**options), model)
        self._memory_file = Path(str(self.value("memory_file"))) if self.value("memory_file") else None
        if self._memory_file is not None and self._memory_file.exists():
            self._mind.negative.load(self._memory_file)
        self._settings = RunnerSettings(
            self.value("settle"),
            self.value("confirm"),
            self.value("scene_timeout"),
            self.value("executor_timeout"),
            self.value("restart_timeout"),
        )
        self._plans = self.create_publisher(messages.Plan, "plan", LATCHED)
        self._traces = self.create_publisher(messages.VerificationTrace, "plan/trace", LATCHED)
        self._statuses = self.create_publisher(messages.GoalStatus, "goal_status", LATCHED)
        if text_parser is not None:  # before the scene graph, which is made of the texts
            self._texts = self._mind.texts = WorldTexts(self, self._on_new_game, self._on_text)
        self._mind.experience = ToldExperience(self, self._domain, self.value("memory_timeout"))
        self._entities = [
            *self._mind.experience.entities,
            *(self._texts.entities if self._texts is not None else ()),
            self._plans,
            self._traces,
            self._statuses,
            self.create_subscription(messages.SceneGraph, "scene_graph", self._on_graph, LATCHED),
            self.create_subscription(messages.SubtaskCompleted, "events/subtask_completed", self._on_done, RELIABLE),
            self.create_subscription(messages.ActionFailure, "events/action_failure", self._on_failed, RELIABLE),
            self.create_subscription(messages.ExecutorState, "executor/state", self._on_executor_state, LATCHED),
            self.create_service(PlanTask, "plan_task", self._on_plan_task, callback_group=ReentrantCallbackGroup()),
            self.create_timer(1.0, self._heartbeat, clock=self.steady_clock),
            ActionServer(
                self,
                ExecuteTask,
                "execute_task",
                self._execute,
                goal_callback=self._on_goal,
                cancel_callback=self._on_cancel,
            ),
        ]
        self._jump = self.get_clock().create_jump_callback(
            JumpThreshold(min_forward=None, min_backward=Duration(seconds=-0.1), on_clock_change=False),
            post_callback=self._on_jump,
        )

    def activate(self) -> None:
        """Say that no task runs; an executor that still works for a planner of before stops then."""
        self._last = messages.GoalStatus(header=header(self.now()), status=messages.GoalStatus.IDLE)
        self._statuses.publish(self._last)

    def deactivate(self) -> None:
        """Cancel the running task and wait for its last words."""
        task = self._task
        if task is not None:
            task.mailbox.cancel("the planner was deactivated")
            if task.thread is not None:
                task.thread.join(timeout=3.0)

    def release(self) -> None:
        """Destroy the interfaces."""
        if self._jump is not None:
            self._jump.unregister()
            self._jump = None
        self.destroy_all(self._entities)
        self._entities = []
        self._graph, self._held, self._texts = None, None, None

    def busy(self) -> bool:
        """Return whether a task has not given its result yet."""
        return self._task is not None

    def diagnose(self) -> tuple[bytes, str, dict[str, Any]]:
        """Say which task runs and what it is doing."""
        task = self._task
        if task is None:
            return (
                DiagnosticStatus.OK,
                "idle" if self.active else "not active",
                {"scene_graph": self._graph is not None},
            )
        return DiagnosticStatus.OK, task.phase_text, {"task": task.task_id, "revision": task.view.revision}

    # ---- the action

    def _on_goal(self, request: Any) -> GoalResponse:
        if not self.active:
            self.get_logger().warning(f"instruction '{request.instruction}' refused: the planner is not active")
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _on_cancel(self, goal_handle: Any) -> CancelResponse:
        task = self._task
        if task is not None and task.goal_handle.goal_id == goal_handle.goal_id:
            task.mailbox.cancel("cancelled on request")
        return CancelResponse.ACCEPT

    async def _execute(self, goal_handle: Any) -> Any:
        task = PlannerTask(self, goal_handle, self._mind.meant(str(goal_handle.request.instruction)))
        if self._task is not None:
            # A slip of the tongue must not end a task that runs: only what is understood replaces it.
            unread = await self._unread(task)
            if unread is not None and self._task is not None:
                goal_handle.abort()
                return result_message(unread)
            if not self.active:
                goal_handle.abort()
                why = "the planner was deactivated while it read the instruction"
                return result_message(TaskOutcome(TaskStatus.CANCELLED, why, task.task_id))
        before, self._task = self._task, task
        if before is not None:
            before.mailbox.cancel(f"replaced by a new instruction: {task.instruction}")
        if goal_handle.is_cancel_requested:
            task.mailbox.cancel("cancelled on request")
        if self._graph is not None:
            task.mailbox.put_graph(self._graph)
        if self._beat_seen is not None:
            task.mailbox.put_beat(self._beat_seen)
        ended: Future = Future()
        task.thread = threading.Thread(
            target=self._run, args=(task, before, ended), name=f"task {task.task_id}", daemon=True
        )
        task.thread.start()
        outcome: TaskOutcome = await ended
        if self._task is task:
            self._task = None
        if outcome.status is TaskStatus.CANCELLED and goal_handle.is_cancel_requested:
            goal_handle.canceled()
        elif outcome.status in (TaskStatus.SUCCEEDED, TaskStatus.ALREADY_SATISFIED):
            goal_handle.succeed()
        else:
            goal_handle.abort()
        return result_message(outcome)

    async def _unread(self, task: PlannerTask) -> TaskOutcome | None:
        """Return the outcome of an instruction that is not understood; None if it is. Read on a thread of its own."""
        ended: Future = Future()

        def work() -> None:
            outcome = None
            try:
                parsed = self._mind.reader.parse(task.instruction, self._graph)
                if parsed.status is not ParseStatus.UNDERSTOOD:
                    outcome = TaskOutcome(
                        TaskStatus.INSTRUCTION_NOT_UNDERSTOOD,
                        parsed.reason,
                        task.task_id,
                        not_understood=parsed.not_understood,
                        suggestions=parsed.suggestions,
                    )
            except Exception as error:  # the task itself meets it again, and says it in its own outcome
                self.get_logger().warning(f"reading '{task.instruction}': {error}")
            self.on_executor(ended.set_result, outcome)

        threading.Thread(target=work, name=f"reading {task.task_id}", daemon=True).start()
        outcome: TaskOutcome | None = await ended
        return outcome

    def _run(self, task: PlannerTask, before: PlannerTask | None, ended: Future) -> None:
        if before is not None and before.thread is not None:
            before.thread.join(timeout=5.0)  # its last plan must be published before our first
        self.on_executor(self._heartbeat)
        runner = TaskRunner(
            task.task_id,
            task.instruction,
            self._domain,
            self._mind.reader,
            self._mind.make_session,
            task,
            task.mailbox,
            self._settings,
            self._mind.world_task(task.instruction),
            self._mind.experience,
        )
        try:
            outcome = runner.run()
        except Exception as error:
            self.errors += 1
            self.get_logger().error(f"task {task.task_id}: {type(error).__name__}: {error}")
            outcome = TaskOutcome(runner.status, runner.reason, task.task_id, runner.steps, runner.replans)
        if self._memory_file is not None:
            self._mind.negative.save(self._memory_file)
        self.get_logger().info(f"task {task.task_id}: {outcome.status.name}: {outcome.reason}")
        self.on_executor(ended.set_result, outcome)

    # ---- publishing

    def publish_view(self, task: PlannerTask) -> None:
        """Publish goal status, verification trace and plan of a task's newest revision (any thread)."""
        if not self._entities:
            return
        view, now = task.view, self.now()
        self._statuses.publish(status_message(view, now))
        trace = trace_message(view, now)
        if trace is not None:
            self._traces.publish(trace)
        task.plan = plan_message(view, now)
        self._plans.publish(task.plan)
        self.on_executor(self.feedback, task)

    def feedback(self, task: PlannerTask) -> None:
        """Tell the client of the action the plan and the phase."""
        if task.goal_handle.is_active:
            task.goal_handle.publish_feedback(ExecuteTask.Feedback(plan=task.plan, phase=task.phase_text))

    def _heartbeat(self) -> None:
        task = self._task
        if task is None or not self._entities:
            return
        if task.view.status is TaskStatus.RUNNING:
            self._statuses.publish(status_message(task.view, self.now()))
        self.feedback(task)

    # ---- subscriptions

    def _on_graph(self, message: messages.SceneGraph) -> None:
        graph = receive_graph(message, self._domain, lambda text: self.warn_once(text, text))
        if graph is None:
            return
        if self._texts is not None and not self._texts.covers(graph):
            self._held = graph
            return
        self._take_graph(graph)

    def _take_graph(self, graph: SceneGraph) -> None:
        self._graph, self._held = graph, None
        if self._task is not None:
            self._task.mailbox.put_graph(graph)

    def _on_text(self) -> None:
        if self._texts is None:
            return
        if isinstance(self._mind.reader, WorldGoals):
            self._mind.reader.own = self._texts.view.goal
        if self._task is not None:
            self._task.mailbox.wake()
        if self._held is not None and self._texts.covers(self._held):
            self._take_graph(self._held)

    def _on_new_game(self, name: str) -> None:
        """Forget what was learned in the game before: it says nothing about this one, whose things have its names."""
        self._mind.forget()
        self._graph, self._held = None, None
        if self._task is not None:
            self._task.mailbox.cancel(f"another game began: {name}")

    def _on_done(self, message: messages.SubtaskCompleted) -> None:
        self._event(message, SkillResult(SkillStatus.SUCCEEDED))

    def _on_failed(self, message: messages.ActionFailure) -> None:
        self._event(message, failure_from_msg(message))

    def _event(self, message: Any, result: SkillResult) -> None:
        if self._task is not None and message.task_id == self._task.task_id:
            self._task.mailbox.put_event(
                StepEvent(
                    message.task_id,
                    message.revision,
                    message.index,
                    step_from_msg(message.subtask).action,
                    result,
                    from_stamp(message.header.stamp),
                    message.attempts,
                )
            )

    def _on_executor_state(self, message: messages.ExecutorState) -> None:
        idle = message.state == messages.ExecutorState.IDLE
        self._beat_seen = ExecutorBeat(message.task_id, message.revision, idle, message.phase)
        if self._task is not None:
            self._task.mailbox.put_beat(self._beat_seen)

    def _on_jump(self, jump: Any) -> None:
        self.get_logger().warning("time jumped back: beliefs from before are forgotten")
        self._graph = None
        if self._task is not None:
            self._task.mailbox.time_jumped()

    # ---- plan_task

    async def _on_plan_task(self, request: Any, response: Any) -> Any:
        """Plan from the present belief without acting."""
        ended: Future = Future()

        def work() -> None:
            try:
                if self.active:
                    self._mind.preview(request.instruction, self._graph, response, self.now())
                else:
                    response.status, response.reason = messages.GoalStatus.NODE_LOST, "the planner is not active"
            except Exception as error:
                response.status = messages.GoalStatus.PLANNER_CRASHED
                response.reason = f"the planner node failed: {type(error).__name__}: {error}"
            self.on_executor(ended.set_result, True)

        threading.Thread(target=work, name="plan_task", daemon=True).start()
        await ended
        return response


def main() -> int:
    """Run the planner node."""
    return run_node(PlannerNode, sys.argv)


if __name__ == "__main__":
    sys.exit(main())
