"""One sample from its instruction to the judgement of its plan; a crash is a failure with its reason."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from graph_planner_ros.benchmarks.alfred.annotation_map import AnnotationMap
from graph_planner_ros.benchmarks.alfred.judge import Judge, Judgement
from graph_planner_ros.benchmarks.alfred.readers import Reader
from graph_planner_ros.benchmarks.alfred.samples import Sample
from graph_planner_ros.benchmarks.alfred.scene import labels_of, make_scene
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import anchored, describe_goal, goal_holds
from graph_planner_ros.domain.state import effects
from graph_planner_ros.domain.symbols import Goal, GroundAction, SymbolicState
from graph_planner_ros.language.models import LanguageModel
from graph_planner_ros.planning.advice import Advice
from graph_planner_ros.planning.engines import Engine
from graph_planner_ros.planning.llm import LlmPlanner, ModelPlanning
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.result import ModelRound, PlanningResult, PlanningStatus
from graph_planner_ros.planning.staging import next_part
from graph_planner_ros.planning.supposing import Evidence
from graph_planner_ros.scene.facts import symbolic_state

SUCCEEDED = "succeeded"
NOT_UNDERSTOOD = "not_understood"
NO_PLAN = "no_plan"
NOT_EXECUTABLE = "not_executable"
GRAPH = "graph"
GOAL_MISSED = "goal_missed"
CRASHED = "crashed"
"""What became of a sample."""
_PARTS = 20
"""Plans that one goal may take, where it is planned for in parts."""

Planner = Callable[[Evidence, SymbolicState, Goal], PlanningResult]
"""Plans: what is known beside the state, the state, and the goal -> result."""


@dataclass
class Outcome:
    """What became of one sample, before it is judged.

    Attributes:
        status: empty while nothing went wrong. reason: a sentence.
        goals: as understood; ``understood``: the same in words.
        actions: the whole plan. confidence, question: of the reader.
        tokens: of a language model. rounds: its answers. model_first: its first answer was right, for every plan and
            action that it was asked for; model_own: one of its answers was.
        seconds: of understanding and of planning, wall time. cpu_seconds: of both together, of the processor; it says
            more where other programs run beside.
    """

    status: str = ""
    reason: str = ""
    goals: tuple[Goal, ...] = ()
    understood: list[str] = field(default_factory=list)
    actions: list[GroundAction] = field(default_factory=list)
    confidence: float = 1.0
    question: str = ""
    tokens: int = 0
    rounds: list[ModelRound] = field(default_factory=list)
    model_first: bool = False
    model_own: bool = False
    understanding_seconds: float = 0.0
    planning_seconds: float = 0.0
    cpu_seconds: float = 0.0
    by_clock: bool = False


class Evaluator:
    """Evaluates samples.

    Args:
        annotations: the ground truth's meaning. reader: understands. planner: called anew for every sample.
        judge: compares with the ground truth. seed: of the scenes.
    """

    def __init__(
        self,
        annotations: AnnotationMap,
        reader: Reader,
        planner: Callable[[], Planner],
        judge: Judge,
        seed: int = 0,
    ) -> None:
        self._annotations = annotations
        self._domain = annotations.domain
        self._reader = reader
        self._planner = planner
        self._judge = judge
        self._seed = seed

    def evaluate(self, sample: Sample) -> dict[str, Any]:
        """Return the row of a sample for the file of results."""
        outcome = Outcome()
        started = time.perf_counter()
        try:
            judgement = self._evaluate(sample, outcome)
        except Exception as error:  # whatever it is, it is this sample's failure and not the end of the run
            outcome.status, outcome.reason = CRASHED, f"{type(error).__name__}: {error}"
            judgement = Judgement.failed()
        return self._row(sample, outcome, judgement, time.perf_counter() - started)

    def _evaluate(self, sample: Sample, outcome: Outcome) -> Judgement:
        graph = make_scene(sample, self._annotations, self._seed)
        state = symbolic_state(graph, self._domain)
        started, cpu = time.perf_counter(), time.process_time()
        parsed = self._reader.read(sample, graph)
        outcome.understanding_seconds, outcome.cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
        outcome.confidence = getattr(parsed, "confidence", 1.0)
        outcome.question = getattr(parsed, "question", "")
        if not parsed.understood:
            outcome.status, outcome.reason = NOT_UNDERSTOOD, parsed.reason or parsed.status.value
            return Judgement.failed()
        outcome.goals = parsed.goals
        outcome.understood = [_literals(goal, self._domain) for goal in parsed.goals]
        planner = self._planner()
        started, cpu = time.perf_counter(), time.process_time()
        evidence = Evidence(labels=labels_of(graph), instruction=sample.instruction, scene=graph)
        plan_goals(self._domain, planner, evidence, state, outcome)
        outcome.planning_seconds = time.perf_counter() - started
        outcome.cpu_seconds += time.process_time() - cpu
        if outcome.status:
            return Judgement.failed()
        judgement = self._judge.judge(sample, state, labels_of(graph), outcome.actions)
        if not judgement.execution.valid:
            outcome.status = NOT_EXECUTABLE
        elif judgement.graph is False:
            outcome.status = GRAPH
        elif not judgement.execution.reached:
            outcome.status = GOAL_MISSED
        outcome.reason = outcome.reason or judgement.reason
        return judgement

    def _row(self, sample: Sample, outcome: Outcome, judgement: Judgement, seconds: float) -> dict[str, Any]:
        row = {
            "name": sample.name,
            "seed": self._seed,
            "group": sample.group,
            "trajectory": sample.parts[0] if len(sample.parts) == 1 else sample.name,
            "horizon": sample.horizon,
            "instruction": sample.instruction,
            "status": outcome.status or SUCCEEDED,
            "reason": outcome.reason,
            "goals": outcome.understood,
            "truth": _literals(self._annotations.goal(sample.requests), self._domain),
            "classes": list(sample.classes),
            "confidence": outcome.confidence,
            "question": outcome.question,
            "plan": [str(action) for action in outcome.actions],
            "tokens": outcome.tokens,
            "understanding_seconds": outcome.understanding_seconds,
            "planning_seconds": outcome.planning_seconds,
            "cpu_seconds": outcome.cpu_seconds,
            "seconds": seconds,
            "by_clock": outcome.by_clock,
            "model_first": outcome.model_first,
            "model_own": outcome.model_own,
            "rounds": [asdict(item) for item in outcome.rounds],
        }
        reference = [list(step) for step in sample.plan]
        return {**row, "reference": reference, **judgement.as_json(), "success": not outcome.status}


def plan_goals(domain: Domain, planner: Planner, evidence: Evidence, state: SymbolicState, outcome: Outcome) -> None:
    """Plan for one goal after the other, each from where the plan before it ends, as a task's session does."""
    firsts: list[bool] = []
    owns: list[bool] = []
    for goal in outcome.goals:
        goal = anchored(goal, state, domain)
        for _ in range(_PARTS):
            if goal_holds(goal, state, domain):
                break
            part = next_part(domain, state, goal)
            result = planner(evidence, state, part)
            if result.status is not PlanningStatus.SOLVED and part != goal:
                result = planner(evidence, state, goal)
            outcome.tokens += sum(item.prompt_tokens + item.completion_tokens for item in result.rounds)
            outcome.rounds += result.rounds
            questions = _questions(result.rounds)
            owns.append(bool(questions) and not any(rounds[-1].problems for rounds in questions))
            firsts.append(owns[-1] and all(len(rounds) == 1 for rounds in questions))
            outcome.model_first, outcome.model_own = all(firsts), all(owns)
            outcome.by_clock |= result.by_clock
            if result.status is not PlanningStatus.SOLVED:
                outcome.status, outcome.reason = NO_PLAN, f"{result.status.value}: {result.reason}"
                return
            actions = [step.action for step in result.steps]
            outcome.actions += actions
            if result.placeholders:
                names = ", ".join(sorted(set(result.placeholders.values())))
                outcome.status, outcome.reason = NO_PLAN, f"the plan looks for what is not there: {names}"
                return
            state = _after(domain, state, actions)
        else:
            outcome.status, outcome.reason = NO_PLAN, f"the goal is not reached after {_PARTS} plans"
            return


def _questions(rounds: Sequence[ModelRound]) -> list[list[ModelRound]]:
    """Return the rounds of each plan or action that a model was asked for; key objects and places are none."""
    found: list[list[ModelRound]] = []
    for item in rounds:
        if item.number == 1:
            found.append([])
        if item.number and found:
            found[-1].append(item)
    return found


def _after(domain: Domain, state: SymbolicState, actions: Sequence[GroundAction]) -> SymbolicState:
    atoms = state.atoms
    for action in actions:
        added, deleted = effects(domain, action)
        atoms = (atoms - deleted) | added
    return SymbolicState(state.objects, atoms, state.functions)


def _literals(goal: Goal, domain: Domain) -> str:
    """Return what a goal asks for and not the words that it came from."""
    return describe_goal(replace(goal, text=""), domain)


def memplan_factory(annotations: AnnotationMap, engine: Engine, timeout: float) -> Callable[[], Planner]:
    """Return what makes a MemPlan with memories of its own for each sample."""

    def make() -> Planner:
        planner = MemPlan(annotations.domain, engine, timeout=timeout)
        return lambda evidence, state, goal: planner.plan(state, goal, evidence=evidence)

    return make


def llm_factory(
    annotations: AnnotationMap,
    engine: Engine,
    timeout: float,
    model: LanguageModel,
    planning: ModelPlanning,
    advice: Callable[[], Advice | None],
) -> Callable[[], Planner]:
    """Return what makes a planner with a language model, with memories of its own for each sample."""

    def make() -> Planner:
        memplan = MemPlan(annotations.domain, engine, timeout=timeout, advice=advice())
        planner = LlmPlanner(annotations.domain, engine, model, memplan, options=planning)
        return lambda evidence, state, goal: planner.plan(state, goal, evidence=evidence)

    return make
