"""The graph memory node: remembers episodes and says what past ones did in situations like the present one (GiG).

Subscribes: `scene_graph`, `goal_status`, `plan` (latched), `events/subtask_completed`, `events/action_failure`.
Publishes, latched: `memory/advice` (MemoryAdvice), `memory/state_graph` (StateTransitionGraph), `memory/statistics`.
Services: `retrieve_experience`, `~/save`, `~/load`, `~/statistics`.
Embedding, looking up and writing are done on a thread of their own (`memory_worker`).
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.clock import JumpThreshold
from rclpy.duration import Duration
from rclpy.task import Future as RosFuture

from graph_planner_ros import msg as messages
from graph_planner_ros import srv as services
from graph_planner_ros.conversions import (
    advice_to_msg,
    from_stamp,
    goal_from_msg,
    state_graph_to_msg,
    statistics_to_msg,
    step_from_msg,
)
from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.domain.goal import check_goal
from graph_planner_ros.domain.symbols import Goal, GroundAction
from graph_planner_ros.memory.bank import LIMIT_STEPS
from graph_planner_ros.memory.encoder import load_encoder
from graph_planner_ros.memory.experience import EpisodeStatus
from graph_planner_ros.nodes.base import LATCHED, RELIABLE, ManagedNode, Param
from graph_planner_ros.nodes.belief_messages import receive_graph
from graph_planner_ros.nodes.memory_worker import MemoryWorker, Recollection
from graph_planner_ros.nodes.process import run_node
from graph_planner_ros.planning.result import TaskStatus

PARAMETERS = (
    Param("domain", "household", "planning domain: a folder under config/domains, or a path"),
    Param("bank_file", "", "file of the experience bank (SQLite); empty: experience ends with the node"),
    Param("limit_steps", LIMIT_STEPS, "steps that the bank keeps at most", 1, 10**9),
    Param("robot_name", "", "what episodes of this robot are called; empty: the node's namespace"),
    Param("tau", 0.0, "cosine distance up to which experience fits; 0: what was found at training", 0.0, 2.0),
    Param("count", 3, "remembered actions in an advice", 1, 100),
    Param("advice_period", 1.0, "shortest time between two advices for a changed scene, wall seconds", 0.05, 60.0),
    Param("advise", True, "publish advice; false: only remember, for comparisons"),
)
ENDED = {
    TaskStatus.SUCCEEDED: EpisodeStatus.SUCCEEDED,
    TaskStatus.ALREADY_SATISFIED: EpisodeStatus.SUCCEEDED,
    TaskStatus.CANCELLED: EpisodeStatus.INTERRUPTED,
    TaskStatus.NODE_LOST: EpisodeStatus.INTERRUPTED,
}
"""State of a task that has ended -> state of its episode; all others are FAILED."""


class GraphMemoryNode(ManagedNode):
    """See the module's description."""

    def __init__(self, **options: Any) -> None:
        super().__init__("graph_memory", PARAMETERS, **options)
        self._entities: list[Any] = []
        self._worker: MemoryWorker | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._graph: Any = None
        self._task = ""
        self._goals: tuple[Goal, ...] = ()
        self._ended = -math.inf  # when the last subtask ended, seconds of ROS time
        self._later: Callable[[], None] | None = None
        self._waiting = False
        self._last_advice = 0.0
        self._advised = 0
        self._cycle = ""
        self._jump: Any = None

    # ---- life cycle

    def configure(self) -> None:
        """Load the encoder, open the bank, create the interfaces."""
        self._domain = load_domain(self.value("domain"))
        encoder = load_encoder()
        self._worker = MemoryWorker(
            self._domain,
            encoder,
            self._bank_path(),
            origin=self.value("robot_name") or self.get_namespace().strip("/") or "robot",
            tau=self.value("tau") or encoder.tau,
            count=self.value("count"),
            limit_steps=self.value("limit_steps"),
            on_error=lambda text: self.on_executor(self._failed, text),
        )
        self._advice = self.create_publisher(messages.MemoryAdvice, "memory/advice", LATCHED)
        self._states = self.create_publisher(messages.StateTransitionGraph, "memory/state_graph", LATCHED)
        self._statistics = self.create_publisher(messages.MemoryStatistics, "memory/statistics", LATCHED)
        self._entities = [
            self._advice,
            self._states,
            self._statistics,
            self.create_subscription(messages.SceneGraph, "scene_graph", self._on_graph, LATCHED),
            self.create_subscription(messages.GoalStatus, "goal_status", self._on_status, LATCHED),
            self.create_subscription(messages.Plan, "plan", self._on_plan, LATCHED),
            self.create_subscription(messages.SubtaskCompleted, "events/subtask_completed", self._on_done, RELIABLE),
            self.create_subscription(messages.ActionFailure, "events/action_failure", self._on_failed, RELIABLE),
            self.create_service(services.RetrieveExperience, "retrieve_experience", self._on_retrieve),
            self.create_service(services.SaveExperience, "~/save", self._on_save),
            self.create_service(services.LoadExperience, "~/load", self._on_load),
            self.create_service(services.GetMemoryStatistics, "~/statistics", self._on_get_statistics),
        ]
        self._jump = self.get_clock().create_jump_callback(
            JumpThreshold(min_forward=None, min_backward=Duration(seconds=-0.1), on_clock_change=False),
            post_callback=self._on_jump,
        )

    def activate(self) -> None:
        """Tell what is remembered."""
        self._publish_statistics()

    def release(self) -> None:
        """Destroy the interfaces and close the bank."""
        if self._jump is not None:
            self._jump.unregister()
            self._jump = None
        self.destroy_all(self._entities)
        self._entities = []
        self._flush()
        if self._worker is not None:
            self._worker.close()
            self._worker = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
        self._graph, self._task, self._goals, self._waiting = None, "", (), False
        self._ended, self._later = -math.inf, None

    def diagnose(self) -> tuple[bytes, str, dict[str, Any]]:
        """Say whether an episode is being written, and whether it goes in circles."""
        values = {"advised": self._advised, "errors": self.errors}
        if self._cycle:
            return DiagnosticStatus.WARN, f"the task goes in circles: {self._cycle}", values
        text = "writing an episode" if self._task else "ready" if self.active else "not active"
        return DiagnosticStatus.OK, text, values

    def _bank_path(self) -> Path:
        if self.value("bank_file"):
            return Path(str(self.value("bank_file"))).expanduser()
        self._folder = tempfile.TemporaryDirectory(prefix="graph_memory_")
        return Path(self._folder.name) / "experience.sqlite"

    # ---- what happens

    def _on_graph(self, message: messages.SceneGraph) -> None:
        graph = receive_graph(message, self._domain, lambda text: self.warn_once(text, text))
        if graph is None:
            return
        news = self._graph is None or graph.revision != self._graph.revision
        self._graph = graph
        self._with_effects()
        now = self.steady_clock.now().nanoseconds * 1e-9
        if news and self._task and not self._waiting and now - self._last_advice >= self.value("advice_period"):
            self._ask(lambda worker: worker.recall(graph))

    def _on_status(self, message: messages.GoalStatus) -> None:
        if not self.active or self._worker is None:
            return
        if message.status == messages.GoalStatus.RUNNING:
            goals = self._checked(message.goals)
            if message.task_id != self._task or goals != self._goals:
                self._begin(message.task_id, message.instruction, goals)
        elif self._task and message.task_id in ("", self._task):
            status, task_id = EpisodeStatus.INTERRUPTED, self._task
            if message.status != messages.GoalStatus.IDLE:
                status = ENDED.get(TaskStatus(message.status), EpisodeStatus.FAILED)
            self._task, self._goals, self._cycle = "", (), ""
            self._with_effects(lambda: self._finish(task_id, status, message.reason))

    def _on_plan(self, message: messages.Plan) -> None:
        if not self.active or self._graph is None or message.status != messages.Plan.ACTIVE:
            return
        if message.task_id != self._task:
            self._begin(message.task_id, message.instruction, ())
        if message.next < len(message.subtasks):
            action = step_from_msg(message.subtasks[message.next]).action
            self._with_effects(lambda: self._next_step(message.task_id, message.revision, action))

    def _next_step(self, task_id: str, revision: int, action: GroundAction) -> None:
        graph = self._graph
        self._ask(lambda worker: worker.next_step(task_id, revision, action, graph))

    def _finish(self, task_id: str, status: EpisodeStatus, reason: str) -> None:
        if self._worker is not None:
            self._worker.finish(task_id, status, reason, self._graph)
            self._publish_statistics()

    def _with_effects(self, then: Callable[[], None] | None = None) -> None:
        """Do something as soon as the scene is newer than the end of the last subtask.

        The planner has seen such a scene before it says what comes next, but its word may arrive first here. What comes
        after that does not wait: then the newest scene must do.
        """
        if then is not None:
            self._flush()
            self._later = then
        if self._graph is not None and self._graph.stamp >= self._ended:
            self._flush()

    def _flush(self) -> None:
        later, self._later = self._later, None
        if later is not None:
            later()

    def _begin(self, task_id: str, instruction: str, goals: tuple[Goal, ...]) -> None:
        assert self._worker is not None
        if task_id != self._task:
            self._flush()
        self._task, self._goals = task_id, goals
        self._worker.begin(task_id, instruction, goals)

    def _on_done(self, message: messages.SubtaskCompleted) -> None:
        self._on_ended(message, True)

    def _on_failed(self, message: messages.ActionFailure) -> None:
        self._on_ended(message, False)

    def _on_ended(self, message: messages.SubtaskCompleted | messages.ActionFailure, succeeded: bool) -> None:
        if self._worker is not None:
            self._flush()
            self._ended = from_stamp(message.header.stamp)
            self._worker.ended_step(message.task_id, message.revision, succeeded)

    def _on_jump(self, _: Any) -> None:
        """Time went back, so the running episode has no end; what is remembered stays."""
        if self._worker is not None and self._task:
            self._worker.finish(self._task, EpisodeStatus.INTERRUPTED, "ROS time went back", None)
        self._graph, self._task, self._goals = None, "", ()
        self._ended, self._later = -math.inf, None

    def _checked(self, goals: Sequence[messages.TaskGoal]) -> tuple[Goal, ...]:
        """Return the goals that the domain can speak of."""
        found = []
        for message in goals:
            goal = goal_from_msg(message)
            try:
                check_goal(goal, self._domain)
            except ValueError as error:
                self.warn_once(str(error), f"a goal is left out: {error}")
                continue
            found.append(goal)
        return tuple(found)

    # ---- advice

    def _ask(self, ask: Any) -> None:
        """Let the worker look something up, and publish what it says."""
        if self._worker is None:
            return
        self._waiting = True
        promise: Future[Recollection] = ask(self._worker)
        promise.add_done_callback(lambda done: self.on_executor(self._said, done))

    def _said(self, done: Future[Recollection]) -> None:
        self._waiting = False
        self._last_advice = self.steady_clock.now().nanoseconds * 1e-9
        if done.exception() is not None or not self._entities:
            return
        said = done.result()
        cycle = str(said.loop) if said.loop is not None else ""
        if cycle and cycle != self._cycle:
            self.get_logger().warning(f"the task goes in circles: {cycle}")
        self._cycle = cycle
        if self.value("advise"):
            self._advised += 1
            self._advice.publish(self._message(said))
        if self._worker is not None and self._states.get_subscription_count() > 0:
            graph = self._worker.state_graph()
            graph.add_done_callback(lambda found: self.on_executor(self._publish_states, found, said))

    def _message(self, said: Recollection) -> messages.MemoryAdvice:
        return advice_to_msg(self._domain, said.actions, said.places, said.loop, stamp=said.stamp, task_id=said.task_id)

    def _publish_states(self, found: Future[Any], said: Recollection) -> None:
        if self._entities and found.exception() is None:
            self._states.publish(state_graph_to_msg(found.result(), stamp=said.stamp, task_id=said.task_id))

    def _publish_statistics(self) -> None:
        if self._worker is not None:
            self._worker.statistics().add_done_callback(lambda done: self.on_executor(self._publish_found, done))

    def _publish_found(self, done: Future[Any]) -> None:
        if self._entities and done.exception() is None:
            self._statistics.publish(self._statistics_message(done.result()))

    def _statistics_message(self, stats: Any) -> messages.MemoryStatistics:
        return statistics_to_msg(stats, stamp=self.now(), bank=str(self.value("bank_file")))

    def _failed(self, text: str) -> None:
        self.errors += 1
        self.get_logger().error(f"graph memory: {text}")

    # ---- services: each waits for the worker without holding up the executor

    async def _on_retrieve(
        self, request: services.RetrieveExperience.Request, response: services.RetrieveExperience.Response
    ) -> services.RetrieveExperience.Response:
        scene = self._graph
        if request.scene_graph.nodes:
            told: list[str] = []
            scene = receive_graph(request.scene_graph, self._domain, told.append)
            if scene is None:
                response.reason = "; ".join(told)
                return response
        if scene is None or self._worker is None:
            response.reason = "there is no scene graph yet"
            return response
        goals, worker = self._checked(request.goals), self._worker
        said, response.reason = await self._outcome(worker.recall(scene, goals, request.count))
        if said is not None:
            response.success, response.advice = True, self._message(said)
            response.reason = f"{len(said.actions)} remembered actions, places of {len(said.places)} classes"
        return response

    async def _on_save(
        self, request: services.SaveExperience.Request, response: services.SaveExperience.Response
    ) -> services.SaveExperience.Response:
        return await self._count(request.path, response, "save", "written to")

    async def _on_load(
        self, request: services.LoadExperience.Request, response: services.LoadExperience.Response
    ) -> services.LoadExperience.Response:
        await self._count(request.path, response, "load", "new from")
        self._publish_statistics()
        return response

    async def _count(self, path: str, response: Any, what: str, words: str) -> Any:
        if self._worker is None or not path:
            response.reason = f"expected the path of a file to {what}"
            return response
        count, response.reason = await self._outcome(getattr(self._worker, what)(Path(path).expanduser()))
        if count is not None:
            response.success, response.episodes = True, count
            response.reason = f"{count} episodes {words} {path}"
        return response

    async def _on_get_statistics(
        self, _: services.GetMemoryStatistics.Request, response: services.GetMemoryStatistics.Response
    ) -> services.GetMemoryStatistics.Response:
        if self._worker is not None:
            stats, _reason = await self._outcome(self._worker.statistics())
            if stats is not None:
                response.statistics = self._statistics_message(stats)
        return response

    async def _outcome(self, promise: Future[Any]) -> tuple[Any, str]:
        """Return what the worker promised, or None and why there is nothing."""
        ended: RosFuture = RosFuture()
        promise.add_done_callback(lambda done: self.on_executor(ended.set_result, done))
        done = await ended
        error = done.exception()
        return (done.result(), "") if error is None else (None, str(error))


def main() -> int:
    """Run the graph memory node."""
    return run_node(GraphMemoryNode, sys.argv)


if __name__ == "__main__":
    sys.exit(main())
