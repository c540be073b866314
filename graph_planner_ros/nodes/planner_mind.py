"""What the planner node thinks with: language, engine and memories, and how sessions are made of them."""

from __future__ import annotations

import importlib
import threading
from dataclasses import dataclass, field, replace
from typing import Any

from graph_planner_ros import msg as messages
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import describe_goal, goal_to_pddl
from graph_planner_ros.domain.names import NameMap
from graph_planner_ros.domain.symbols import Goal
from graph_planner_ros.language.instruction import ParseStatus
from graph_planner_ros.language.interface import ObservationParser
from graph_planner_ros.language.world_goals import InstructionReader
from graph_planner_ros.nodes.planner_parameters import LLM, LLM_ACTIONS, ModelUse
from graph_planner_ros.nodes.task_messages import fill_preview
from graph_planner_ros.nodes.told_experience import ToldExperience
from graph_planner_ros.nodes.world_task import WorldTask
from graph_planner_ros.nodes.world_texts import WorldTexts
from graph_planner_ros.planning.advice import Advice
from graph_planner_ros.planning.engines import make_engine
from graph_planner_ros.planning.llm import ActionPlanner, GuessingPlanner, LlmPlanner, ModelExperience, Reviser
from graph_planner_ros.planning.memory import NegativeMemory, PositiveMemory
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.planner import Planner
from graph_planner_ros.planning.result import TaskStatus
from graph_planner_ros.planning.session import TaskSession
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import SceneGraph


@dataclass(frozen=True)
class PlanningOptions:
    """Bounds of planning; the fields are parameters of the planner node."""

    planning_timeout: float
    max_replans: int
    max_failures: int
    beam: int
    max_states: int


@dataclass
class PlannerMind:
    """See the top of this file.

    Attributes:
        reader: of instructions. text_parser, texts: of a text world, and what it said; None elsewhere.
        model: a language model, and what it is used for; None: nothing.
        experience: what the graph memory tells; None: nothing.
        positive, negative: MemPlan's memories, which outlive a task.
    """

    domain: Domain
    reader: InstructionReader
    text_parser: ObservationParser | None
    engine: Any
    options: PlanningOptions
    model: ModelUse | None = None
    texts: WorldTexts | None = None
    experience: ToldExperience | None = None
    positive: PositiveMemory = field(init=False)
    negative: NegativeMemory = field(init=False)

    def __post_init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget everything that was learned."""
        self.positive, self.negative = PositiveMemory(self.domain), NegativeMemory()

    def meant(self, instruction: str) -> str:
        """Return an instruction, or what an empty one stands for: the goal of the game that is played."""
        return instruction.strip() or (self.texts.view.goal if self.texts is not None else "")

    def make_session(self, instruction: str, goals: tuple[Goal, ...], cancel: threading.Event) -> TaskSession:
        """Return a new session with the memories of before."""
        return self._session(instruction, goals, self.negative, cancel)

    def world_task(self, instruction: str) -> WorldTask | None:
        """Return what the text world adds to a task; None if there is none."""
        if self.texts is None or self.text_parser is None:
            return None
        return WorldTask(self.domain, self.text_parser, self.texts, instruction)

    def preview(self, instruction: str, graph: SceneGraph | None, response: Any, now: float) -> None:
        """Plan from a belief without acting, and fill in the response of the service `plan_task`."""
        instruction = self.meant(instruction)
        parsed = self.reader.parse(instruction, graph)
        if parsed.status is not ParseStatus.UNDERSTOOD:
            response.status, response.reason = TaskStatus.INSTRUCTION_NOT_UNDERSTOOD.value, parsed.reason
            return
        if graph is None:
            response.status = messages.GoalStatus.NODE_LOST
            response.reason = "perception: no scene graph has come yet"
            return
        goals, world = parsed.goals, self.world_task(instruction)
        if world is not None:
            goals = world.goals(goals, graph)
            graph = world.supplement(graph)
        # Memories of its own: looking ahead must not change what a running task has learned.
        session = self._session(instruction, goals, NegativeMemory(), None)
        decision = session.start(graph, symbolic_state(graph, self.domain))
        fill_preview(response, decision, instruction, goal_to_pddl(session.goal, NameMap(self.domain)), now)
        if decision.status is TaskStatus.RUNNING:
            response.reason = "; ".join(filter(None, (response.reason, *parsed.notes, self._afterwards(session))))

    def _afterwards(self, session: TaskSession) -> str:
        """Return what is planned for once the goal of a plan is reached; empty if nothing."""
        later = session.goals[session.goals.index(session.goal) + 1 :]
        texts = [describe_goal(replace(goal, text=""), self.domain) for goal in later]
        return f"after that, with a plan of its own: {', then '.join(texts)}" if texts else ""

    def _session(
        self, instruction: str, goals: tuple[Goal, ...], negative: NegativeMemory, cancel: threading.Event | None
    ) -> TaskSession:
        options, use = self.options, self.model
        advice, guesses = self.experience.advice() if self.experience is not None else None, None
        if use is not None and use.guesses:
            # planning waits for the guesses: it and the questions about the plan must have time left
            allowance = min(use.planning.timeout / 3, options.planning_timeout / 2)
            guesses = ModelExperience(use.model, self.experience, timeout=allowance, allowance=allowance)
            advice = Advice(self.domain, guesses)
        memplan = MemPlan(
            self.domain,
            self.engine,
            self.positive,
            negative,
            options.planning_timeout,
            options.beam,
            options.max_states or None,
            advice=advice,
        )
        planner: Planner = memplan
        reviser = None
        if use is not None and use.method == LLM:
            planner = LlmPlanner(self.domain, self.engine, use.model, memplan, options=use.planning)
        elif use is not None and use.method == LLM_ACTIONS:
            planner = ActionPlanner(self.domain, self.engine, use.model, memplan, use.planning)
        if use is not None and use.revises:
            timeout, rounds = use.planning.timeout, use.planning.rounds
            reviser = Reviser(self.domain, self.engine, use.model, timeout=timeout, rounds=rounds)
        if guesses is not None:
            planner = GuessingPlanner(planner, guesses)
        return TaskSession(
            self.domain,
            planner,
            instruction,
            list(goals),
            max_replans=options.max_replans,
            max_failures=options.max_failures,
            replan_every_step=use is not None and use.method == LLM_ACTIONS,
            reviser=reviser,
            cancel=cancel,
        )


def engine_called(name: str) -> Any:
    """Return the engine of that name, or what ``module:function`` returns for planners from elsewhere."""
    if ":" not in name:
        return make_engine(name)
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)()
