"""One instruction from its words to its outcome, on a thread of its own. No rclpy here: the node gives the ports."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import goal_to_pddl
from graph_planner_ros.domain.names import NameMap
from graph_planner_ros.domain.symbols import Goal, GroundAction, SymbolicState
from graph_planner_ros.language.instruction import ParsedInstruction, ParseStatus
from graph_planner_ros.language.world_goals import InstructionReader
from graph_planner_ros.nodes.mailbox import Mailbox, StepEvent, TaskCancelled
from graph_planner_ros.planning.result import PlannedStep, TaskStatus
from graph_planner_ros.planning.session import Decision, DecisionKind, TaskSession
from graph_planner_ros.planning.ways import is_under_way
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import SceneGraph
from graph_planner_ros.skills.result import SkillResult, SkillStatus

T = TypeVar("T")


@dataclass(frozen=True)
class RunnerSettings:
    """Times: ``settle`` and ``confirm`` in seconds of ROS time, all others in seconds of wall time.

    Attributes:
        settle: how much newer than the end of a skill the belief must be that the next decision rests on.
        confirm: the same after the last step of a plan.
        scene_timeout: longest wait for such a belief.
        heartbeat_timeout: silence of the executor after which it counts as lost.
        restart_timeout: how long a lost node may take to come back.
    """

    settle: float = 0.4
    confirm: float = 1.5
    scene_timeout: float = 30.0
    heartbeat_timeout: float = 10.0
    restart_timeout: float = 30.0


@dataclass
class TaskOutcome:
    """Result of a task; the fields are those of the action ``ExecuteTask``."""

    status: TaskStatus
    reason: str
    task_id: str = ""
    steps: int = 0
    replans: int = 0
    planning_time: float = 0.0
    duration: float = 0.0
    not_understood: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskView:
    """What is published about a task at one moment."""

    task_id: str
    instruction: str
    goal: str
    status: TaskStatus
    reason: str
    revision: int
    steps: int
    replans: int
    decision: Decision | None = None
    decision_time: float = 0.0
    goals: tuple[Goal, ...] = ()


class TaskPorts(Protocol):
    """What the node does for a task; called on the task's thread."""

    def now(self) -> float:
        """Return ROS time [s]."""

    def publish(self, view: TaskView) -> None:
        """Publish plan, verification trace and goal status of a new revision."""

    def phase(self, text: str) -> None:
        """Say what the task is doing now."""


class TaskWorld(Protocol):
    """What a world that talks adds to a task; see `WorldTask`."""

    def own(self) -> str:
        """Return the goal of the game that is played; empty while nobody has said it."""

    def take(self, instruction: str) -> None:
        """Take another instruction than at first."""

    def goals(self, goals: Sequence[Goal], graph: SceneGraph) -> tuple[Goal, ...]:
        """Return the goals of an instruction with those that the world has brought so far."""

    def supplement(self, graph: SceneGraph) -> SceneGraph:
        """Return the belief with the things that goals name and nobody has seen."""

    def learn(self, session: TaskSession, graph: SceneGraph) -> SceneGraph:
        """Hand new goals to the session; return the belief with what they name."""

    def judge(self, decision: Decision) -> Decision:
        """Return the decision as it is when the world's own word counts as well."""


class TaskExperience(Protocol):
    """A memory that is asked before the first plan; see `ToldExperience`."""

    def ask(self, scene: SceneGraph, goals: Sequence[Goal], cancelled: Callable[[], bool]) -> bool:
        """Ask what is known of such tasks; return whether there was an answer in time."""


class NodeLost(Exception):
    """A node that the task needs went away and did not come back."""


@dataclass
class TaskRunner:
    """Carries out one instruction: words -> goals -> session -> plan -> events -> ... -> outcome."""

    task_id: str
    instruction: str
    domain: Domain
    parser: InstructionReader
    make_session: Callable[[str, tuple[Goal, ...], threading.Event], TaskSession]
    ports: TaskPorts
    mailbox: Mailbox
    settings: RunnerSettings = field(default_factory=RunnerSettings)
    world: TaskWorld | None = None
    experience: TaskExperience | None = None
    goal_text: str = ""
    revision: int = 0
    steps: int = 0
    replans: int = 0
    planning_time: float = 0.0
    decision_time: float = 0.0
    status: TaskStatus = TaskStatus.RUNNING
    reason: str = ""
    _session: TaskSession | None = None
    _cancel_planner: threading.Event = field(default_factory=threading.Event)

    def run(self) -> TaskOutcome:
        """Do it; returns within a second of a cancel, whatever the planner is doing."""
        started = self.ports.now()
        not_understood: tuple[str, ...] = ()
        suggestions: tuple[str, ...] = ()
        decision: Decision | None = None
        try:
            self.ports.phase("reading the instruction")
            if not self.instruction and self.world is not None:
                self.instruction = self._own_goal(self.world)
            parsed = self.parser.parse(self.instruction, self.mailbox.graph)
            if parsed.status is not ParseStatus.UNDERSTOOD:
                not_understood, suggestions = parsed.not_understood, parsed.suggestions
                self.status, self.reason = TaskStatus.INSTRUCTION_NOT_UNDERSTOOD, parsed.reason
            else:
                decision = self._carry_out(parsed, self._first_graph(started))
                # what was guessed, or left out of the instruction, is told with the outcome
                self.status, self.reason = decision.status, "; ".join(filter(None, (decision.reason, *parsed.notes)))
        except TaskCancelled as cancelled:
            self.status, self.reason = TaskStatus.CANCELLED, str(cancelled)
        except NodeLost as lost:
            self.status, self.reason = TaskStatus.NODE_LOST, str(lost)
        except Exception as error:
            # Whatever goes wrong inside must reach the person who waits for the task, not only the log.
            self.status = TaskStatus.PLANNER_CRASHED
            self.reason = f"the planner node failed: {type(error).__name__}: {error}"
            raise
        finally:
            self._cancel_planner.set()
            self.revision += 1
            self.ports.publish(self._view(decision))
        return TaskOutcome(
            self.status,
            self.reason,
            self.task_id,
            self.steps,
            self.replans,
            self.planning_time,
            max(0.0, self.ports.now() - started),
            not_understood,
            suggestions,
        )

    # ---- the loop

    def _carry_out(self, parsed: ParsedInstruction, graph: SceneGraph) -> Decision:
        goals, world = parsed.goals, self.world
        if world is not None:
            goals = world.goals(goals, graph)
            graph = world.supplement(graph)
        session = self._session = self.make_session(self.instruction, goals, self._cancel_planner)
        if self.experience is not None:
            self.ports.phase("asking the memory")
            self.experience.ask(graph, goals, lambda: bool(self.mailbox.cancelled))
        self.ports.phase("planning")
        decision = self._judged(self._decide(session.start, graph, self._state(graph)))
        while decision.kind not in (DecisionKind.DONE, DecisionKind.FAILED):
            self.revision += 1
            self.ports.publish(self._view(decision))
            step = decision.steps[decision.next]
            self.ports.phase(step.text or str(step.action))
            event = self._wait_event()
            self.steps += 1
            if event.result.status is SkillStatus.SERVER_LOST:
                raise NodeLost(event.result.reason)
            self.ports.phase("looking at what came of it")
            # After the last step of a plan a longer look: what is reported as done must be seen to be done.
            last = decision.next + 1 >= len(decision.steps)
            graph = self._wait_graph(event.stamp + (self.settings.confirm if last else self.settings.settle))
            self.ports.phase("deciding")
            if world is not None:
                graph = world.learn(session, graph)
            decision = self._judged(self._next(session, step, event, graph))
        return decision

    def _next(self, session: TaskSession, step: PlannedStep, event: StepEvent, graph: SceneGraph) -> Decision:
        state = self._state(graph)
        if not event.result.succeeded:
            return self._decide(session.after_failure, step, event.result, graph, state)
        if is_under_way(self.domain, state, step.action):
            return self._decide(session.after_progress, step, graph, state)
        return self._decide(session.after_success, step, graph, state)

    def _judged(self, decision: Decision) -> Decision:
        return self.world.judge(decision) if self.world is not None else decision

    def _decide(self, call: Callable[..., Decision], *arguments: Any) -> Decision:
        """Run a call of the session on a thread of its own, so that a cancel need not wait for it."""
        box: list[Decision | BaseException] = []

        def work() -> None:
            try:
                box.append(call(*arguments))
            except BaseException as error:  # handed on to the task's thread
                box.append(error)
            self.mailbox.wake()

        started = time.perf_counter()
        threading.Thread(target=work, name=f"planning {self.task_id}", daemon=True).start()
        try:
            found = self.mailbox.wait_for(lambda: _first(box), 1e6)
        finally:
            self.decision_time = time.perf_counter() - started
            self.planning_time += self.decision_time
        if not isinstance(found, Decision):
            raise found if isinstance(found, BaseException) else RuntimeError("the planning thread gave no answer")
        if self._session is not None:
            self.replans = self._session.replans
            self.goal_text = goal_to_pddl(self._session.goal, NameMap(self.domain))
        return found

    def _state(self, graph: SceneGraph) -> SymbolicState:
        return symbolic_state(graph, self.domain)

    def _view(self, decision: Decision | None) -> TaskView:
        return TaskView(
            self.task_id,
            self.instruction,
            self.goal_text,
            self.status,
            self.reason,
            self.revision,
            self.steps,
            self.replans,
            decision,
            self.decision_time,
            self._session.goals if self._session is not None else (),
        )

    # ---- waiting

    def _own_goal(self, world: TaskWorld) -> str:
        """Wait for the goal of the game that is played: it may begin at this moment. Empty if there is none."""
        found = self.mailbox.wait_for(lambda: world.own() or None, self.settings.scene_timeout) or ""
        world.take(found)
        return found

    def _first_graph(self, started: float) -> SceneGraph:
        self.ports.phase("waiting for the scene")
        graph = self.mailbox.wait_graph(started, self.settings.scene_timeout)
        if graph is None:
            raise NodeLost(
                f"perception: no scene graph newer than the instruction came within {self.settings.scene_timeout:g} s"
            )
        return graph

    def _wait_graph(self, stamp: float) -> SceneGraph:
        graph = self.mailbox.wait_graph(stamp, self.settings.scene_timeout)
        if graph is None:
            raise NodeLost(
                "perception: no scene graph that is newer than the end of the skill came within "
                f"{self.settings.scene_timeout:g} s"
            )
        return graph

    def _wait_event(self) -> StepEvent:
        """Wait for the end of the running subtask, as long as there is an executor that works on it."""
        idle_since = None
        while True:
            event = self.mailbox.wait_event(self.task_id, self.revision, 0.5)
            if event is not None:
                return event
            age = self.mailbox.beat_age()
            if age > self.settings.heartbeat_timeout:
                self._wait_executor()
                idle_since = None
                continue
            beat = self.mailbox.beat
            done = beat is not None and beat.idle and (beat.task_id, beat.revision) == (self.task_id, self.revision)
            if not done:
                idle_since = None
            elif idle_since is None:
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since > self.settings.heartbeat_timeout:
                # It says that it has finished and its event never came.
                return self._lost_event()

    def _wait_executor(self) -> None:
        self.ports.phase("waiting for the executor to come back")
        settings = self.settings
        back = self.mailbox.wait_for(
            lambda: True if self.mailbox.beat_age() <= settings.heartbeat_timeout else None, settings.restart_timeout
        )
        if back is None:
            silence = settings.heartbeat_timeout + settings.restart_timeout
            raise NodeLost(f"executor: no heartbeat for {silence:g} s")

    def _lost_event(self) -> StepEvent:
        result = SkillResult(
            SkillStatus.EXECUTION_FAILED, "event_lost", "the executor finished the step but its event never arrived"
        )
        return StepEvent(self.task_id, self.revision, 0, GroundAction(""), result, self.ports.now())


def _first(box: list[Decision | BaseException]) -> Decision | BaseException | None:
    return box[0] if box else None
