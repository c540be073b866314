"""The executor node: runs the next subtask of the plan in force with skills of the robot, and reports one event."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus

from graph_planner_ros import msg as messages
from graph_planner_ros.conversions import (
    completion_to_msg,
    failure_to_msg,
    from_stamp,
    header,
    step_from_msg,
)
from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.nodes.base import KEPT, LATCHED, RELIABLE, ManagedNode, Param
from graph_planner_ros.nodes.belief_messages import receive_graph
from graph_planner_ros.nodes.mailbox import Mailbox
from graph_planner_ros.nodes.process import run_node
from graph_planner_ros.nodes.skill_client import SkillClient, SkillTimeouts
from graph_planner_ros.nodes.step_runner import StepRunner, StepSettings
from graph_planner_ros.nodes.task_memory import TaskMemory
from graph_planner_ros.scene.graph import SceneNode
from graph_planner_ros.skills.executor import ExecutionPolicy
from graph_planner_ros.skills.result import SkillResult, SkillStatus

PARAMETERS = (
    Param("domain", "household", "planning domain: a folder under config/domains, or a path"),
    Param("skill_timeout", 120.0, "seconds of ROS time that one skill may take", 1.0, 3600.0, dynamic=True),
    Param("max_attempts", 3, "attempts at a subtask before the planner hears of its failure", 1, 20, dynamic=True),
    Param("settle", 0.4, "seconds of ROS time for the belief to catch up after a skill", 0.0, 30.0, dynamic=True),
    Param("scene_timeout", 10.0, "longest wait for a scene graph, wall seconds", 0.1, 300.0, dynamic=True),
    Param("server_timeout", 10.0, "longest wait for an execute_skill server, wall seconds", 0.1, 300.0),
    Param("acknowledge_timeout", 5.0, "longest wait for a skill goal to be accepted, wall seconds", 0.1, 60.0),
    Param("feedback_timeout", 10.0, "longest silence of a running skill, wall seconds", 0.5, 300.0),
    Param("planner_timeout", 10.0, "silence of the planner after which a skill is stopped, wall seconds", 0.5, 300.0),
    Param("base_frame", "base_link", "frame of the robot's base"),
    Param("memory_file", "", "file of what was seen of the task's things, and from where (JSON); empty: not kept"),
)


class _Job:
    """One (task_id, revision): the plan message and the thread that works on it."""

    def __init__(self, plan: messages.Plan, runner: StepRunner) -> None:
        self.plan = plan
        self.runner = runner
        self.started = time.monotonic()
        self.thread: threading.Thread | None = None

    @property
    def key(self) -> tuple[str, int]:
        return self.plan.task_id, self.plan.revision


class ExecutorNode(ManagedNode):
    """Runs each (task_id, revision) of an ACTIVE plan once; stops the skill when the plan or the planner goes away."""

    def __init__(self, **options: Any) -> None:
        super().__init__("executor", PARAMETERS, **options)
        self._entities: list[Any] = []
        self._job: _Job | None = None
        self._waiting: messages.Plan | None = None
        self._done: tuple[str, int] = ("", 0)
        self._graph: Any = None
        self._phase = ""
        self._planner_heard = 0.0
        self._skills: SkillClient | None = None
        self._memory: TaskMemory | None = None

    # ---- life cycle

    def configure(self) -> None:
        """Load the domain and create the interfaces."""
        self._domain = load_domain(self.value("domain"))
        timeouts = SkillTimeouts(
            server=self.value("server_timeout"),
            acknowledge=self.value("acknowledge_timeout"),
            feedback=self.value("feedback_timeout"),
        )
        self._skills = SkillClient(self, timeouts)
        name = str(self.value("memory_file"))
        file = Path(name).expanduser() if name else None
        self._memory = TaskMemory(self, self._domain, str(self.value("base_frame")), file)
        self._failures = self.create_publisher(messages.ActionFailure, "events/action_failure", RELIABLE)
        self._completions = self.create_publisher(messages.SubtaskCompleted, "events/subtask_completed", KEPT)
        self._states = self.create_publisher(messages.ExecutorState, "executor/state", LATCHED)
        self._entities = [
            self._failures,
            self._completions,
            self._states,
            self.create_subscription(messages.Plan, "plan", self._on_plan, LATCHED),
            self.create_subscription(messages.SceneGraph, "scene_graph", self._on_graph, LATCHED),
            self.create_subscription(messages.GoalStatus, "goal_status", self._on_goal_status, LATCHED),
            self.create_timer(0.25, self._watch, clock=self.steady_clock),
            self.create_timer(1.0, self._beat, clock=self.steady_clock),
        ]

    def activate(self) -> None:
        """Run the plan that came while inactive, if one is in force."""
        if self._waiting is not None and self._job is None:
            plan, self._waiting = self._waiting, None
            self._start(plan)

    def deactivate(self) -> None:
        """Stop the running skill."""
        self._waiting = None
        self._stop_job("the executor was deactivated")
        if self._skills is not None:
            self._skills.cancel_all("the executor was deactivated")
        job = self._job
        if job is not None and job.thread is not None:
            job.thread.join(timeout=3.0)

    def release(self) -> None:
        """Destroy the interfaces and forget the task."""
        self.destroy_all(self._entities)
        self._entities = []
        if self._skills is not None:
            self._skills.destroy()
            self._skills = None
        if self._memory is not None:
            self._memory.destroy()
            self._memory = None
        self._job, self._waiting, self._graph, self._done = None, None, None, ("", 0)

    def busy(self) -> bool:
        """Return whether a subtask has not been reported yet."""
        return self._job is not None

    def diagnose(self) -> tuple[bytes, str, dict[str, Any]]:
        """Say what is being run and whether there is a bridge."""
        server = self._skills is not None and self._skills.client.server_is_ready()
        values = {"task": self._done[0], "phase": self._phase, "skill_server": server, "remembered": self._remembered()}
        if self.active and not server:
            return DiagnosticStatus.WARN, "nobody offers execute_skill", values
        return DiagnosticStatus.OK, "running" if self._job else "idle", values

    # ---- callbacks

    def _on_graph(self, message: messages.SceneGraph) -> None:
        graph = receive_graph(message, self._domain, lambda text: self.warn_once(text, text))
        if graph is None:
            return
        self._graph = graph
        if self._memory is not None:
            self._memory.put_graph(self._graph)
        if self._job is not None:
            self._job.runner.mailbox.put_graph(self._graph)

    def _on_plan(self, plan: messages.Plan) -> None:
        job = self._job
        if self._memory is not None:
            self._memory.follow(plan)
        if job is not None and job.key != (plan.task_id, plan.revision):
            self._stop_job(f"the plan changed: {plan.reason}" if plan.reason else "the plan changed")
        if plan.status != messages.Plan.ACTIVE:
            self._waiting = None
            return
        if (plan.task_id, plan.revision) == self._done or (
            job is not None and job.key == (plan.task_id, plan.revision)
        ):
            return
        if plan.next >= len(plan.subtasks):
            self.get_logger().error(f"plan {plan.task_id} revision {plan.revision} has no subtask {plan.next}; ignored")
            return
        if job is not None or not self.active:
            self._waiting = plan
        else:
            self._start(plan)

    def _on_goal_status(self, status: messages.GoalStatus) -> None:
        self._planner_heard = time.monotonic()
        job = self._job
        # Compared by stamp, because the latched status of the task before may come after the new task's first plan.
        if job is None or from_stamp(status.header.stamp) <= from_stamp(job.plan.header.stamp):
            return
        if status.task_id != job.plan.task_id or status.status != messages.GoalStatus.RUNNING:
            self._stop_job("the planner no longer works on this task")

    def _watch(self) -> None:
        job = self._job
        if job is None:
            return
        limit = self.value("planner_timeout")
        if time.monotonic() - max(self._planner_heard, job.started) > limit:
            self._stop_job(f"planner: no heartbeat on goal_status for {limit:g} s")

    # ---- jobs

    def _start(self, plan: messages.Plan) -> None:
        mailbox = Mailbox()
        if self._graph is not None:
            mailbox.put_graph(self._graph)
        runner = StepRunner(
            self._domain,
            step_from_msg(plan.subtasks[plan.next]).action,
            from_stamp(plan.header.stamp),
            ExecutionPolicy(max_attempts=self.value("max_attempts")),
            self,
            mailbox,
            StepSettings(self.value("settle"), self.value("scene_timeout"), self.value("skill_timeout")),
            memory=self._memory,
        )
        job = _Job(plan, runner)
        job.thread = threading.Thread(target=self._run, args=(job,), name=f"step {plan.revision}", daemon=True)
        self._job = job
        self._done = job.key
        job.thread.start()
        self._beat()

    def _stop_job(self, reason: str) -> None:
        if self._job is not None and not self._job.runner.cancelled.is_set():
            self.get_logger().info(f"stopping {self._job.runner.action}: {reason}")
            self._job.runner.cancel(reason)

    def _run(self, job: _Job) -> None:
        begun = self.now()
        try:
            result = job.runner.run()
        except Exception as error:
            self.errors += 1
            result = SkillResult(
                SkillStatus.EXECUTION_FAILED, "executor_error", f"the executor failed: {type(error).__name__}: {error}"
            )
        self.on_executor(self._finish, job, result, max(0.0, self.now() - begun))

    def _finish(self, job: _Job, result: SkillResult, duration: float) -> None:
        if self._job is job:
            self._job = None
        self._phase = ""
        if not self._entities:
            return
        attempts, now = job.runner.attempts, self.now()
        if result.succeeded:
            self._completions.publish(completion_to_msg(job.plan, stamp=now, attempts=attempts, duration=duration))
        else:
            self.get_logger().info(f"{job.runner.action} failed: {result.reason}")
            self._failures.publish(failure_to_msg(job.plan, result, stamp=now, attempts=attempts, duration=duration))
        plan, self._waiting = self._waiting, None
        if plan is not None and self.active:
            self._start(plan)
        else:
            self._beat()

    # ---- what the step's thread calls

    def execute_skill(
        self, skill: str, arguments: list[SceneNode], frame_id: str, timeout: float, cancelled: threading.Event
    ) -> SkillResult:
        """Call the bridge; see `SkillClient.execute`."""
        if self._skills is None:
            return SkillResult(SkillStatus.CANCELLED, "cancelled", "the executor was cleaned up")
        return self._skills.execute(
            skill, arguments, frame_id, timeout, cancelled, lambda _, phase: self.phase(f"{skill}: {phase}")
        )

    def phase(self, text: str) -> None:
        """Publish the phase of the running step when it changes."""
        if text != self._phase:
            self._phase = text
            self.on_executor(self._beat)

    def _remembered(self) -> int:
        return len(self._memory) if self._memory is not None else 0

    def _beat(self) -> None:
        if not self._entities:
            return
        job = self._job
        state = messages.ExecutorState(header=header(self.now()), phase=self._phase)
        state.cached_waypoints = self._remembered()
        state.task_id, state.revision = job.key if job is not None else self._done
        state.state = messages.ExecutorState.RUNNING if job is not None else messages.ExecutorState.IDLE
        if job is not None:
            state.subtask = job.plan.subtasks[job.plan.next]
            if job.runner.attempts == 0:
                state.state = messages.ExecutorState.WAITING
        self._states.publish(state)


def main() -> int:
    """Run the executor node."""
    return run_node(ExecutorNode, sys.argv)


if __name__ == "__main__":
    sys.exit(main())
