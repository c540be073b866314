"""Does anything that a language model says get past the planner? Thousands of made-up answers, each plan judged anew.

The answers go through all that asks a model: `LlmPlanner`, and in `llm_fuzz_questions` choices of actions, key objects,
guesses of places and revisions, in kitchens whose names, scene and instruction try to talk the model into something.
Of each plan it is checked, with nothing but the domain's actions, that it can be carried out and reaches the goal.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console

from graph_planner_ros.benchmarks.generated import generate_goals, generate_world
from graph_planner_ros.benchmarks.llm_fuzz_questions import QUESTIONS, Findings, FuzzModel, FuzzTask, reading_seconds
from graph_planner_ros.benchmarks.model_objects import ObjectMaker
from graph_planner_ros.benchmarks.model_outputs import INJECTIONS, AnswerMaker
from graph_planner_ros.console import table
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import goal_holds
from graph_planner_ros.domain.state import successor, unmet_preconditions
from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction, SymbolicState
from graph_planner_ros.planning.engines.base import Engine
from graph_planner_ros.planning.hypotheses import with_hypotheses
from graph_planner_ros.planning.llm import LlmPlanner, ModelPlanning, Names, read_plan
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.problem import bind_placeholders, is_excluded
from graph_planner_ros.planning.result import ModelRound, PlanningResult, PlanningStatus
from graph_planner_ros.planning.supposing import Evidence
from graph_planner_ros.planning.task_graph import KnownThings, TaskGraph, implied_parameters, subtasks_of
from graph_planner_ros.scene.graph import SceneGraph, SceneNode

TASKS = 24
PLACES, THINGS = 8, 12
MOST_TEXT, MOST_PROMPT = 10_000, 100_000
"""Characters of a round in the trace, and of a question, that are still bounded."""
MOST_READING = 2.0
"""Seconds of the processor after which an answer counts as too dear to read."""
PLANS = "plans"
PARTS = (PLANS, *QUESTIONS)
"""What a model is asked for."""


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
        asked: part -> times that it was asked for. counted: part -> times that what the model said counted.
        raised: exceptions out of the planner. caught: those that it caught itself and should not have had.
        wrong: plans that cannot be carried out, miss the goal or use what is excluded; none at all. unbounded: texts or
            questions that are too long, answers that are too dear to read. Each with the part and its number.
        proposed, completed, searched: plans as the model said, completed by search, and by MemPlan alone.
        times: seconds for each plan. rows: by (part, kind).
    """

    seed: int
    answers: int = 0
    plans: int = 0
    asked: dict[str, int] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)
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
    parts: Sequence[str] = PARTS,
) -> FuzzReport:
    """Give ``count`` answers, up to three for a plan, an action or a revision.

    Args:
        domain: must have hypotheses, for the worlds. engine: of planner and judge. seed: of worlds and answers.
        progress: is told now and then. stop: ends it early. parts: of `PARTS`, in turn.

    Raises:
        ValueError: naming what is no part.
    """
    if wrong := sorted(set(parts) - set(PARTS)) or not parts:
        raise ValueError(f"a model is asked for {', '.join(PARTS)}, not for {wrong if parts else 'nothing'}")
    rng = random.Random(seed)
    report = FuzzReport(seed)
    tasks = list(_tasks(domain, engine, rng))
    graph = TaskGraph.of(domain)
    for turn in itertools.count():
        if report.answers >= count or stop():
            break
        part, task = parts[turn % len(parts)], tasks[turn // len(parts) % len(tasks)]
        maker = AnswerMaker(rng, [*graph.by_action, *implied_parameters(domain)], task.names)
        model = FuzzModel(ObjectMaker(rng, maker, task.plan).make, rng)
        if part == PLANS:
            _one(domain, engine, graph, task, model, report)
        else:
            _question(domain, engine, part, task, model, report)
        if progress is not None and (turn + 1) % 500 == 0:
            progress(f"{report.answers} answers, {turn + 1} questions")
    return report


def print_fuzz(report: FuzzReport, console: Console) -> None:
    """Print the figures as tables."""
    rows = [
        (part, kind, str(row.answers), str(row.taken), f"{1000 * row.reading:.0f}", f"{row.seconds:.2f}")
        for (part, kind), row in sorted(report.rows.items())
    ]
    title = f"{report.answers} answers for {sum(report.asked.values())} questions, seed {report.seed}"
    columns = ("part", "kind", "answers", "taken as they are", "longest reading ms", "longest plan s")
    console.print(table(title, columns, rows))
    for part, asked in report.asked.items():
        console.print(
            f"{part}: asked for {asked} times, what the model said counted {report.counted.get(part, 0)} times"
        )
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


def _one(
    domain: Domain, engine: Engine, graph: TaskGraph, task: FuzzTask, model: FuzzModel, report: FuzzReport
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
    report.asked[PLANS] = report.asked.get(PLANS, 0) + 1
    report.counted[PLANS] = report.counted.get(PLANS, 0) + taken
    names = Names([*graph.by_action, *implied_parameters(domain)], task.names)
    _note(model, taken, spent, lambda text: _reading_time(text, names, number, report), report)
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
    _check_bounds(number, model, result.rounds, result.reason, report)


def _question(domain: Domain, engine: Engine, part: str, task: FuzzTask, model: FuzzModel, report: FuzzReport) -> None:
    """Ask for something else than a plan and judge what comes of it."""
    number = f"{part} {report.asked.get(part, 0)}"
    report.asked[part] = report.asked.get(part, 0) + 1
    started = time.perf_counter()
    try:
        found = QUESTIONS[part](domain, engine, task, model, lambda case, result: judge(domain, case, result))
    except Exception as error:
        report.raised.append(f"{number}: {type(error).__name__}: {error}")
        found = Findings()
    spent = time.perf_counter() - started
    report.answers += len(model.said)
    report.times.append(spent)
    report.counted[part] = report.counted.get(part, 0) + found.taken

    def read(text: str) -> float:
        seconds = reading_seconds(part, text)
        if seconds > MOST_READING:
            report.unbounded.append(f"{number}: {seconds:.1f} s to read {len(text)} characters: {text[:80]!r}")
        return seconds

    _note(model, found.taken, spent, read, report)
    report.wrong += [f"{number}: {text}" for text in found.wrong]
    failed = [text for item in found.rounds if item.status == "failed" for text in item.problems]
    failed += [found.reason] if "failed: " in found.reason else []
    if failed and not model.broken:
        report.caught.append(f"{number}: {failed[0]}")
    _check_bounds(number, model, found.rounds, found.reason, report)


def _note(model: FuzzModel, taken: bool, spent: float, read: Callable[[str], float], report: FuzzReport) -> None:
    """Enter what a model said into the rows, each answer with the seconds of the processor that it takes to read."""
    for place, made in enumerate(model.said):
        last = place == len(model.said) - 1
        reading = read(made.text)
        for part in ("change", "form", "wrapping", "damage"):
            row = report.rows.setdefault((part, getattr(made, part)), FuzzRow())
            row.answers += 1
            row.taken += taken and last
            row.reading, row.seconds = max(row.reading, reading), max(row.seconds, spent)


def _check_bounds(number: str, model: FuzzModel, rounds: Sequence[ModelRound], reason: str, report: FuzzReport) -> None:
    """Enter questions and published texts that are too long."""
    if model.longest_question > MOST_PROMPT:
        report.unbounded.append(f"{number}: a question of {model.longest_question} characters")
    longest = max((len(item.text) + sum(map(len, item.problems)) for item in rounds), default=0)
    if longest + len(reason) > 2 * MOST_TEXT:
        report.unbounded.append(f"{number}: {longest} characters of a round, {len(reason)} of the reason")


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
        yield FuzzTask(state, goal, evidence, plan, excluded, tuple(sorted({*labels, *labels.values()})), found)
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
