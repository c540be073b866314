"""Does anything that a language model says get past the planner? Thousands of made-up answers, each plan judged anew.

The answers go through `LlmPlanner` in kitchens whose names, scene and instruction try to talk the model into something.
Of each plan it is checked, with nothing but the domain's actions, that it can be carried out and reaches the goal.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console

from graph_planner_ros.benchmarks.generated import generate_goals, generate_world
from graph_planner_ros.benchmarks.model_outputs import INJECTIONS, AnswerMaker, MadeAnswer
from graph_planner_ros.console import table
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import goal_holds
from graph_planner_ros.domain.state import successor, unmet_preconditions
from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction, SymbolicState
from graph_planner_ros.language.models import Reply, ReplyStatus, Request
from graph_planner_ros.planning.engines.base import Engine
from graph_planner_ros.planning.hypotheses import with_hypotheses
from graph_planner_ros.planning.llm import LlmPlanner, ModelPlanning, Names, read_plan
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.problem import bind_placeholders, is_excluded
from graph_planner_ros.planning.result import PlanningResult, PlanningStatus
from graph_planner_ros.planning.supposing import Evidence
from graph_planner_ros.planning.task_graph import KnownThings, Subtask, TaskGraph, implied_parameters, subtasks_of
from graph_planner_ros.scene.graph import SceneGraph, SceneNode

TASKS = 24
PLACES, THINGS = 8, 12
MOST_TEXT, MOST_PROMPT = 10_000, 100_000
"""Characters of a round in the trace, and of a question, that are still bounded."""
MOST_READING = 2.0
"""Seconds of the processor after which an answer counts as too dear to read."""
_SICK = 0.03
"""Share of the questions at which the endpoint is ill instead."""


@dataclass(frozen=True)
class FuzzTask:
    """A task in which a model is asked; ``plan`` is right, ``excluded`` holds an action that must not be used.

    ``names``: classes and instances that a plan may speak of.
    """

    state: SymbolicState
    goal: Goal
    evidence: Evidence
    plan: tuple[Subtask, ...]
    excluded: tuple[GroundAction, ...]
    names: tuple[str, ...]


@dataclass
class FuzzRow:
    """What came of the answers with one kind of change, form, wrapping or damage.

    Attributes:
        answers: how many. taken: with a plan that was carried out as it was. reading: the most seconds of the processor
            that it took to read one. seconds: the longest time for a plan with one of them.
    """

    answers: int = 0
    taken: int = 0
    reading: float = 0.0
    seconds: float = 0.0


@dataclass
class FuzzReport:
    """What came of all answers.

    Attributes:
        answers: that were given. plans: that were asked for. seed: of everything.
        raised: exceptions out of the planner. caught: those that it caught itself and should not have had.
        wrong: plans that cannot be carried out, miss the goal or use what is excluded; none at all. unbounded: texts or
            questions that are too long, answers that are too dear to read. Each with the number of the plan.
        proposed, completed, searched: plans as the model said, completed by search, and by MemPlan alone.
        times: seconds for each plan. rows: by (part, kind).
    """

    seed: int
    answers: int = 0
    plans: int = 0
    raised: list[str] = field(default_factory=list)
    caught: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    unbounded: list[str] = field(default_factory=list)
    proposed: int = 0
    completed: int = 0
    searched: int = 0
    times: list[float] = field(default_factory=list)
    rows: dict[tuple[str, str], FuzzRow] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        """Whether nothing got past the planner."""
        return not (self.raised or self.caught or self.wrong or self.unbounded)

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain data."""
        rows = [{"part": part, "kind": kind, **asdict(row)} for (part, kind), row in self.rows.items()]
        return {**{k: v for k, v in vars(self).items() if k != "rows"}, "rows": rows}


def fuzz_planner(
    domain: Domain,
    engine: Engine,
    count: int,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> FuzzReport:
    """Give ``count`` answers to the planner, up to three for a plan.

    Args:
        domain: must have hypotheses, for the worlds. engine: of planner and judge. seed: of worlds and answers.
        progress: is told now and then. stop: ends it early.
    """
    rng = random.Random(seed)
    report = FuzzReport(seed)
    tasks = list(_tasks(domain, engine, rng))
    graph = TaskGraph.of(domain)
    while report.answers < count and not stop():
        task = tasks[report.plans % len(tasks)]
        maker = AnswerMaker(rng, [*graph.by_action, *implied_parameters(domain)], task.names)
        model = _FuzzModel(maker, task.plan, rng)
        _one(domain, engine, graph, task, model, report)
        if progress is not None and report.plans % 250 == 0:
            progress(f"{report.answers} answers, {report.plans} plans")
    return report


def print_fuzz(report: FuzzReport, console: Console) -> None:
    """Print the figures as tables."""
    rows = [
        (part, kind, str(row.answers), str(row.taken), f"{1000 * row.reading:.0f}", f"{row.seconds:.2f}")
        for (part, kind), row in sorted(report.rows.items())
    ]
    title = f"{report.answers} answers for {report.plans} plans, seed {report.seed}"
    columns = ("part", "kind", "answers", "taken as they are", "longest reading ms", "longest plan s")
    console.print(table(title, columns, rows))
    times = sorted(report.times) or [0.0]
    console.print(
        f"plans as the model said {report.proposed}, completed by search {report.completed}, MemPlan alone "
        f"{report.searched}; seconds for a plan: median {times[len(times) // 2]:.3f}, longest {times[-1]:.2f}"
    )
    for name, found in (
        ("exceptions out of the planner", report.raised),
        ("exceptions that it caught", report.caught),
        ("plans that are wrong", report.wrong),
        ("texts without bounds", report.unbounded),
    ):
        console.print(f"{name}: {len(found)}")
        for text in found[:5]:
            console.print(f"  {text[:300]!r}", markup=False)


class _FuzzModel:
    """Says made-up answers, is ill now and then, and raises now and then."""

    name = "fuzz"

    def __init__(self, maker: AnswerMaker, plan: tuple[Subtask, ...], rng: random.Random) -> None:
        self._maker, self._plan, self._rng = maker, plan, rng
        self.said: list[MadeAnswer] = []
        self.longest_question = 0
        self.broken = False

    def ask(self, request: Request, *, timeout: float | None = None, cancel: Any = None) -> Reply:
        del timeout, cancel
        self.longest_question = max(self.longest_question, sum(len(item.content) for item in request.messages))
        made = self._maker.make(self._plan)
        self.said.append(made)
        if self._rng.random() < _SICK:
            statuses = [status for status in ReplyStatus if status is not ReplyStatus.CANCELLED]
            status = self._rng.choice((*statuses, None))
            if status is None:
                self.broken = True
                raise RuntimeError(self._rng.choice(INJECTIONS))
            return Reply(status, made.text, self._rng.choice(INJECTIONS), model=self.name)
        return Reply(ReplyStatus.ANSWERED, made.text, model=self.name)


def _one(
    domain: Domain, engine: Engine, graph: TaskGraph, task: FuzzTask, model: _FuzzModel, report: FuzzReport
) -> None:
    """Ask for one plan and judge it."""
    planner = LlmPlanner(domain, engine, model, MemPlan(domain, engine), graph, ModelPlanning(timeout=60.0))
    number = f"plan {report.plans}"
    started = time.perf_counter()
    try:
        result = planner.plan(task.state, task.goal, evidence=task.evidence, excluded=task.excluded)
    except Exception as error:
        report.raised.append(f"{number}: {type(error).__name__}: {error}")
        result = None
    spent = time.perf_counter() - started
    report.plans += 1
    report.answers += len(model.said)
    report.times.append(spent)
    taken = result is not None and result.engine.startswith("llm") and "completed by search" not in result.reason
    names = Names([*graph.by_action, *implied_parameters(domain)], task.names)
    for place, made in enumerate(model.said):
        last = place == len(model.said) - 1
        reading = _reading_time(made.text, names, number, report)
        for part in ("change", "form", "wrapping", "damage"):
            row = report.rows.setdefault((part, getattr(made, part)), FuzzRow())
            row.answers += 1
            row.taken += taken and last
            row.reading, row.seconds = max(row.reading, reading), max(row.seconds, spent)
    if result is None:
        return
    report.proposed += taken
    report.completed += "completed by search" in result.reason
    report.searched += not result.engine.startswith("llm")
    if "planning with it failed" in result.reason and not model.broken:
        report.caught.append(f"{number}: {result.reason}")
    problem = judge(domain, task, result)
    if problem:
        report.wrong.append(f"{number}: {problem}")
    if model.longest_question > MOST_PROMPT:
        report.unbounded.append(f"{number}: a question of {model.longest_question} characters")
    longest = max((len(item.text) + sum(map(len, item.problems)) for item in result.rounds), default=0)
    if longest + len(result.reason) > 2 * MOST_TEXT:
        report.unbounded.append(f"{number}: {longest} characters of a round, {len(result.reason)} of the reason")


def _reading_time(text: str, names: Names, number: str, report: FuzzReport) -> float:
    """Read an answer by itself, and return the seconds of the processor that it took."""
    started = time.thread_time()
    try:
        parsed = read_plan(text, names)
    except Exception as error:
        report.raised.append(f"{number}: read_plan: {type(error).__name__}: {error}")
        return 0.0
    spent = time.thread_time() - started
    if spent > MOST_READING:
        report.unbounded.append(f"{number}: {spent:.1f} s to read an answer of {len(text)} characters: {text[:80]!r}")
    if sum(map(len, parsed.problems)) > MOST_TEXT:
        report.unbounded.append(f"{number}: {sum(map(len, parsed.problems))} characters of problems")
    return spent


def judge(domain: Domain, task: FuzzTask, result: PlanningResult) -> str:
    """Return what is wrong with a plan; empty if nothing is. The verifier is not asked."""
    if result.status is not PlanningStatus.SOLVED:
        return f"{result.status.value}: {result.reason}"
    state = with_hypotheses(domain, task.state, result.hypotheses)
    for step in result.steps:
        action = step.action
        if action.name not in domain.planned_actions:
            return f"there is no action {action.name!r}"
        if is_excluded(action, task.excluded):
            return f"{action} is excluded"
        unmet = unmet_preconditions(domain, state, action)
        if unmet:
            return f"{action} cannot be carried out: {unmet}"
        state = successor(domain, state, action)
    if not goal_holds(bind_placeholders(domain, task.goal, result.hypotheses), state, domain):
        return "the goal does not hold at the end"
    return ""


# ---- tasks


def _tasks(domain: Domain, engine: Engine, rng: random.Random) -> Iterator[FuzzTask]:
    """Yield tasks that MemPlan solves."""
    made = 0
    while made < TASKS:
        seed = rng.getrandbits(32)
        world = generate_world(domain, PLACES, THINGS, seed)
        goal = next(generate_goals(domain, world, seed))
        state = _renamed(world.state, rng)
        found = MemPlan(domain, engine).plan(state, goal)
        if found.status is not PlanningStatus.SOLVED:
            continue
        labels = {**KnownThings.of(domain, state).labels, **found.placeholders}
        plan = subtasks_of(domain, found.steps, labels)
        excluded = _excluded(domain, engine, state, goal, found)
        evidence = Evidence(instruction=rng.choice(INJECTIONS), scene=_scene(rng))
        yield FuzzTask(state, goal, evidence, plan, excluded, tuple(sorted({*labels, *labels.values()})))
        made += 1


def _excluded(
    domain: Domain, engine: Engine, state: SymbolicState, goal: Goal, found: PlanningResult
) -> tuple[GroundAction, ...]:
    """Return an action of the plan without which the goal can be reached as well; nothing if there is none."""
    for step in found.steps:
        if not set(step.action.arguments) & set(found.placeholders):
            other = MemPlan(domain, engine).plan(state, goal, excluded=(step.action,))
            if other.status is PlanningStatus.SOLVED:
                return (step.action,)
    return ()


def _renamed(state: SymbolicState, rng: random.Random) -> SymbolicState:
    """Give one thing a name that tries something."""
    names = sorted(name for name in state.objects if name.rpartition("_")[2].isdigit())
    old, new = rng.choice(names), f"{rng.choice(INJECTIONS)} {rng.randrange(10)}"

    def atom(item: Atom) -> Atom:
        return Atom(item.predicate, tuple(new if name == old else name for name in item.arguments))

    objects = {new if name == old else name: of for name, of in state.objects.items()}
    functions = {atom(item): value for item, value in state.functions.items()}
    return SymbolicState(objects, frozenset(map(atom, state.atoms)), functions)


def _scene(rng: random.Random) -> SceneGraph:
    """Return a scene whose names and labels try something."""
    scene = SceneGraph("map")
    for number in range(rng.choice((1, 5, 300))):
        name = f"{rng.choice(INJECTIONS) * rng.choice((1, 1, 200))}{number}"
        scene.nodes[name] = SceneNode(name, rng.choice(INJECTIONS))
    return scene
