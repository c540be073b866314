"""A language model proposes, the task graph decides (GraphThink III-A2, III-A4), and MemPlan takes over where it fails.

The model is asked for a plan of subtasks. Its nodes and edges are checked, the plan is executed symbolically from the
present belief, with MemPlan's hypotheses for what nobody has seen, and must reach the goal. What is wrong is told to
it, with what would be allowed there, and it may mend its plan. After the last round the longest part that can be
carried out is completed by the planning engine; if there is none, or the model does not answer in time, MemPlan plans
alone.
Nothing that the verifier has not let pass is ever returned as a plan.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import describe_goal, goal_holds
from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction, SymbolicState
from graph_planner_ros.language.models import LanguageModel, Message, Reply, ReplyStatus, Request, load_prompt
from graph_planner_ros.planning.advice import Advice
from graph_planner_ros.planning.engines.base import Engine
from graph_planner_ros.planning.hypotheses import Hypotheses, with_hypotheses
from graph_planner_ros.planning.llm import prompting
from graph_planner_ros.planning.llm.borrowed import BorrowedMemories
from graph_planner_ros.planning.llm.reading import KEY, Names, read_plan
from graph_planner_ros.planning.llm.task_scene import KeyObjects, task_scene
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.problem import complete_functions
from graph_planner_ros.planning.result import ModelRound, PlanningResult, PlanningStatus, planned_steps
from graph_planner_ros.planning.supposing import Evidence, Supposer, missing_things
from graph_planner_ros.planning.task_graph import (
    KnownThings,
    Refinement,
    Refiner,
    Subtask,
    TaskGraph,
    check_edges,
    check_nodes,
    implied_parameters,
)

LEAST_SEARCH = 0.5
"""Seconds in which an answer that came in time is looked at, even if hardly any of the time for questions is left."""
MAX_SHOWN = 8000
"""Characters of an answer that are kept for the trace."""
MAX_PROBLEMS, MAX_PROBLEM = 20, 400
"""Problems of an answer that are kept for the trace, and characters of each."""
PLAN_SCHEMA = {
    "type": "object",
    "properties": {
        KEY: {"type": "array", "maxItems": 40, "items": {"type": "array", "minItems": 1, "items": {"type": "string"}}}
    },
    "required": [KEY],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class ModelPlanning:
    """How a model is asked for plans.

    Attributes:
        timeout: seconds for all questions about one plan. rounds: answers that may be corrected (GraphThink: 3).
        max_tokens: of one answer.
        task_graph_prompt, advice, lookahead: what the prompt has (for ablations). verification: tell the model what is
            wrong; without it there is one round, whose plan is still executed symbolically.
        key_objects: ask the model first which classes matter, and show it only the part of the scene about them.
    """

    timeout: float = 20.0
    rounds: int = 3
    max_tokens: int = 1024
    task_graph_prompt: bool = True
    verification: bool = True
    advice: bool = True
    lookahead: bool = True
    key_objects: bool = False


@dataclass
class _Attempt:
    """What came of the rounds so far."""

    rounds: list[ModelRound] = field(default_factory=list)
    best: tuple[Subtask, ...] = ()
    failure: str = ""


@dataclass(frozen=True)
class _Judgement:
    """What is to be said of an answer: its subtasks, how far they can be carried out, what is wrong, and whether it is
    a plan that reaches the goal."""

    subtasks: tuple[Subtask, ...]
    refined: Refinement | None
    problems: tuple[str, ...]
    right: bool


class LlmPlanner(BorrowedMemories):
    """Plans with a language model; takes the place of `MemPlan` in a `TaskSession`.

    Args:
        domain: fixed. engine: completes and executes plans. model: proposes. memplan: takes over, and has the memories.
        graph: the task graph; that of the domain, if left out. options: see there.
    """

    def __init__(
        self,
        domain: Domain,
        engine: Engine,
        model: LanguageModel,
        memplan: MemPlan,
        graph: TaskGraph | None = None,
        options: ModelPlanning | None = None,
    ) -> None:
        super().__init__(memplan)
        self.domain, self.engine, self.model, self.memplan = domain, engine, model, memplan
        self.graph = graph or TaskGraph.of(domain)
        self.options = options or ModelPlanning()
        self.timeout = memplan.timeout
        self._refiner = Refiner(domain, self.graph, engine)
        self._prompt, self._feedback = load_prompt("plan"), load_prompt("plan_feedback")
        self._key_objects = KeyObjects(domain, model, self.options.timeout / 3)

    @property
    def advice(self) -> Advice | None:
        """What experience says."""
        return self.memplan.advice

    @property
    def supposer(self) -> Supposer:
        """Makes the hypotheses."""
        return self.memplan.supposer

    def plan(
        self,
        state: SymbolicState,
        goal: Goal,
        cancel: threading.Event | None = None,
        *,
        evidence: Evidence | None = None,
        excluded: Iterable[GroundAction] = (),
        remaining: Mapping[Atom, int] | None = None,
    ) -> PlanningResult:
        """Plan from what is believed; see `MemPlan.plan`."""
        started = time.monotonic()
        known, banned = evidence or Evidence(), tuple(excluded)
        attempt = _Attempt()
        if not self.domain.takes_time and not self.memplan.refusal(state, goal, known):
            try:
                found = self._propose(state, goal, known, banned, cancel, attempt, started)
            except Exception as error:  # a model must never end a task
                attempt.failure, found = f"planning with it failed: {type(error).__name__}: {error}", None
            if found is not None:
                return replace(found, rounds=tuple(attempt.rounds), time=time.monotonic() - started)
        result = self.memplan.plan(state, goal, cancel, evidence=known, excluded=banned, remaining=remaining)
        reason = result.reason
        if attempt.failure:
            reason = f"{reason}; planned without the model {self.model.name}: {attempt.failure}"
        return replace(result, reason=reason, rounds=tuple(attempt.rounds), time=time.monotonic() - started)

    # ---- asking

    def _propose(
        self,
        state: SymbolicState,
        goal: Goal,
        evidence: Evidence,
        banned: tuple[GroundAction, ...],
        cancel: threading.Event | None,
        attempt: _Attempt,
        started: float,
    ) -> PlanningResult | None:
        """Return a verified plan of the model, or that the call was cancelled; None if MemPlan has to plan."""
        if goal_holds(goal, state, self.domain):
            return None
        whole = complete_functions(self.domain, state)
        missing = missing_things(self.domain, whole, goal, evidence)
        self.supposer.note_observed(whole, missing, evidence)
        hypotheses = self.supposer.suppose(whole, goal, missing, evidence)
        if any(item.need and not hypotheses.placeholders for item in missing):
            return None  # MemPlan says what is nowhere
        task = _Task(whole, goal, hypotheses, banned, cancel, with_hypotheses(self.domain, whole, hypotheses))
        messages = self._question(task, evidence, attempt)
        for number in range(1, (self.options.rounds if self.options.verification else 1) + 1):
            left = started + self.options.timeout - time.monotonic()
            if left <= 0.0:
                attempt.failure = f"no plan of it was right within {self.options.timeout:g} s"
                break
            request = Request(messages, schema=PLAN_SCHEMA, max_tokens=self.options.max_tokens)
            reply = self.model.ask(request, timeout=left, cancel=cancel)
            if reply.status is ReplyStatus.CANCELLED or (cancel is not None and cancel.is_set()):
                return PlanningResult(PlanningStatus.CANCELLED, "cancelled while a language model was asked")
            if not reply.answered:
                attempt.rounds.append(self._round(number, reply, (reply.reason,)))
                attempt.failure = f"{reply.status.value.replace('_', ' ')}: {reply.reason}"
                break
            judged = self._judge(task, reply, max(LEAST_SEARCH, started + self.options.timeout - time.monotonic()))
            attempt.rounds.append(self._round(number, reply, judged.problems))
            refined = judged.refined
            if refined is not None and judged.right:
                return self._result(task, refined.steps, f"as the model {self.model.name} proposed, round {number}")
            if refined is not None and refined.status is PlanningStatus.CANCELLED:
                return PlanningResult(PlanningStatus.CANCELLED, refined.reason or "cancelled")
            if refined is not None and refined.executed > len(attempt.best):
                attempt.best = judged.subtasks[: refined.executed]
            attempt.failure = f"its plan was refused: {_cut(judged.problems)[0] if judged.problems else 'no reason'}"
            more = self._feedback.render(problems=prompting.describe_problems(judged.problems))
            messages = (*messages, Message("assistant", reply.text[:MAX_SHOWN]), *more)
        return self._completed(task, attempt)

    def _completed(self, task: _Task, attempt: _Attempt) -> PlanningResult | None:
        """Complete the longest part of a plan that can be carried out; None if there is none, or it leads nowhere."""
        if not attempt.best:
            return None
        found = self._refiner.complete(
            task.state,
            task.goal,
            attempt.best,
            hypotheses=task.hypotheses,
            excluded=task.banned,
            timeout=self.memplan.timeout,
            cancel=task.cancel,
        )
        if found.status is PlanningStatus.CANCELLED:
            return PlanningResult(PlanningStatus.CANCELLED, "cancelled while a plan was completed")
        if not found.valid:
            return None
        count = len(attempt.best)
        why = f"the first {count} subtask{'s' if count > 1 else ''} of the model {self.model.name}, completed by search"
        return self._result(task, found.steps, f"{why}, since {attempt.failure}")

    def _question(self, task: _Task, evidence: Evidence, attempt: _Attempt) -> tuple[Message, ...]:
        options = self.options
        known = KnownThings.of(self.domain, task.full)
        spoken: Sequence[str] = sorted({item.class_name for item in task.goal.variables if item.class_name})
        scene = evidence.scene
        if options.key_objects:
            spoken, entry = self._key_objects.of(known, task.goal, evidence, options.timeout, task.cancel)
            attempt.rounds += [entry] if entry is not None else []
            scene = task_scene(self.domain, scene, task.goal, tuple(spoken))
        origins: Mapping[GroundAction, str] = {}
        if options.advice and self.advice is not None:
            _, origins = self.advice.discounts(evidence.scene, task.full, task.goal, before=evidence.before)
        nodes, edges = prompting.describe_nodes(self.graph), prompting.describe_edges(self.graph)
        graph = "The subtasks are:\n" + "\n".join(node.text.split("] ", 1)[1] for node in self.graph.nodes)
        if options.task_graph_prompt:
            graph = f"The subtasks, each with its label and the kinds of things that it takes:\n{nodes}\n"
            graph += f"After a subtask only these may follow:\n{edges}"
        projections = prompting.describe_projections(self.domain, task.full, task.goal) if options.lookahead else ""
        return self._prompt.render(
            task_graph=graph,
            objects=prompting.describe_things(known, self.domain),
            key_objects=", ".join(map(prompting.named, spoken)) or prompting.NOTHING,
            scene=prompting.describe_scene(scene, spoken),
            advice=prompting.describe_advice(self.domain, origins),
            projections=projections or prompting.NOTHING,
            goal=prompting.quoted(describe_goal(task.goal, self.domain), prompting.MAX_INSTRUCTION),
            instruction=prompting.quoted(evidence.instruction, prompting.MAX_INSTRUCTION),
        )

    # ---- judging

    def _judge(self, task: _Task, reply: Reply, left: float) -> _Judgement:
        """Read an answer, check its nodes and edges, and execute it symbolically.

        Args:
            left: seconds for that; the engine's own limit holds as well.
        """
        known = KnownThings.of(self.domain, task.full)
        actions = [*self.graph.by_action, *implied_parameters(self.domain)]
        parsed = read_plan(reply.text, Names(actions, [*known.labels, *known.labels.values()]))
        objections = check_nodes(self.graph, parsed.subtasks, known) + check_edges(self.graph, parsed.subtasks)
        objections.sort(key=lambda item: item.index)
        first = objections[0].index if objections else len(parsed.subtasks)
        problems = [*parsed.problems]
        if reply.status is ReplyStatus.TRUNCATED:
            cut = f"the answer was cut off after {reply.completion_tokens or self.options.max_tokens} tokens"
            problems.insert(0, f"{cut}: answer with the JSON object only, without thoughts")
        for item in objections:
            instead = f"; possible there: {', '.join(item.allowed)}" if item.allowed else ""
            problems.append(f"subtask {item.index + 1}: {item.reason}{instead}")
        if not parsed.subtasks[:first]:
            empty = ("the plan is empty, and the goal does not hold yet",)
            return _Judgement(parsed.subtasks, None, tuple(problems) or empty, False)
        refined = self._refiner.refine(
            task.state,
            None if objections else task.goal,  # with objections it is only asked how far the plan can be carried out
            parsed.subtasks[:first],
            hypotheses=task.hypotheses,
            excluded=task.banned,
            timeout=min(self.memplan.timeout, left),
            cancel=task.cancel,
        )
        if not refined.valid and not problems:
            instead = f"; possible there: {', '.join(refined.allowed)}" if refined.allowed else ""
            problems.append(f"{refined.reason}{instead}")
        right = refined.valid and not objections  # odd in form perhaps, and right
        return _Judgement(parsed.subtasks, refined, tuple(problems), right)

    def _round(self, number: int, reply: Reply, problems: Sequence[str]) -> ModelRound:
        return ModelRound(
            number,
            reply.model or self.model.name,
            reply.status.value,
            reply.text[:MAX_SHOWN],
            _cut(problems),
            reply.prompt_tokens,
            reply.completion_tokens,
            reply.latency,
            reply.cached,
        )

    def _result(self, task: _Task, steps: Sequence[GroundAction], why: str) -> PlanningResult:
        """Return the result of steps that the verifier has let pass (`Refiner` asks it last of all)."""
        used = {name for action in steps for name in action.arguments}
        things = tuple(item for item in task.hypotheses.placeholders if item.name in used)
        classes = {item.name: item.class_name for item in things}
        planned = planned_steps(self.domain, task.full, steps, classes)
        return PlanningResult(
            PlanningStatus.SOLVED,
            f"{len(planned)} steps, {why}",
            planned,
            classes,
            sum(step.cost for step in planned),
            engine=f"llm {self.model.name}",
            hypotheses=task.hypotheses,
        )


def _cut(problems: Sequence[str]) -> tuple[str, ...]:
    """Return problems for the trace: a plan of a hundred wrong subtasks has a hundred of them."""
    kept = [text if len(text) <= MAX_PROBLEM else f"{text[:MAX_PROBLEM]}..." for text in problems[:MAX_PROBLEMS]]
    more = len(problems) - len(kept)
    return (*kept, f"... and {more} more") if more else tuple(kept)


@dataclass(frozen=True)
class _Task:
    """What a plan is wanted for; ``full`` is the state with the hypotheses in it."""

    state: SymbolicState
    goal: Goal
    hypotheses: Hypotheses
    banned: tuple[GroundAction, ...]
    cancel: threading.Event | None
    full: SymbolicState
