"""Compares the planning engines on made-up kitchens of growing size, replanning at every step as MemPlan does.

MemPlan plans the same steps with the one engine and with the other; the time is that of the whole step, from the
belief to the verified plan. The first action is taken to succeed, and so on to the goal.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from graph_planner_ros.benchmarks.generated import generate_goals, generate_world
from graph_planner_ros.benchmarks.statistics import Interval, bootstrap
from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.goal import goal_holds
from graph_planner_ros.domain.state import successor
from graph_planner_ros.domain.symbols import Goal, SymbolicState
from graph_planner_ros.planning.engines import Engine, make_engine
from graph_planner_ros.planning.hypotheses import Hypotheses, Placeholder, find_arguments, with_hypotheses
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.result import PlanningResult, PlanningStatus

SIZES = ((8, 12), (12, 18), (15, 25), (20, 40))
"""Places and things of the kitchens that are made up."""

_GOALS_TRIED = 40


@dataclass(frozen=True)
class StepMeasurement:
    """One planning step, done with both engines: seconds from belief to verified plan, and costs of the plans."""

    places: int
    things: int
    task: str
    step: int
    fast_seconds: float
    slow_seconds: float
    fast_cost: float
    slow_cost: float


@dataclass(frozen=True)
class SizeSummary:
    """Figures for kitchens of one size (or of all): medians with bootstrap intervals; ``count`` steps."""

    name: str
    count: int
    fast: Interval
    slow: Interval
    speedup: Interval
    cost_ratio: Interval


@dataclass
class PlannerBenchmark:
    """What came of the comparison.

    Attributes:
        fast, slow: names of the engines. seed: of the kitchens.
        steps: every measurement. summaries: by size, the last one over all.
        skipped: tasks that were left out, each with the reason.
    """

    fast: str
    slow: str
    seed: int
    steps: list[StepMeasurement] = field(default_factory=list)
    summaries: list[SizeSummary] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    @property
    def overall(self) -> SizeSummary:
        """Figures over all sizes."""
        return self.summaries[-1]

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return dataclasses.asdict(self)


def benchmark_planner(
    domain: str | Domain = "household",
    sizes: Sequence[tuple[int, int]] = SIZES,
    tasks: int = 3,
    steps: int = 5,
    seed: int = 0,
    timeout: float = 30.0,
    engines: tuple[Engine, Engine] | None = None,
    progress: Callable[[str], None] | None = None,
) -> PlannerBenchmark:
    """Measure planning times and costs of two engines, by default mimir and Fast Downward.

    Args:
        domain: of the kitchens. sizes: (places, things) of each kind of kitchen.
        tasks: tasks for each size. steps: steps of each task at most.
        seed: of kitchens and goals. timeout: seconds for one call.
        engines: the fast one and the slow one. progress: is told what is being done.

    Raises:
        EngineMissingError: if an engine is not installed.
    """
    chosen = load_domain(domain) if isinstance(domain, str) else domain
    fast, slow = engines or (make_engine("mimir"), make_engine("fast_downward"))
    report = PlannerBenchmark(fast.name, slow.name, seed)
    run = _Run(chosen, fast, slow, steps, timeout, report)
    for number, (places, things) in enumerate(sizes):
        done = 0
        for attempt in range(_GOALS_TRIED):
            if done == tasks:
                break
            world_seed = seed + 1000 * number + attempt
            world = generate_world(chosen, places, things, world_seed)
            goal = _nth(generate_goals(chosen, world, world_seed), attempt)
            if progress is not None:
                progress(f"{places} places, {things} things: {goal.text}")
            done += run.task(places, things, world.state, goal)
        report.summaries.append(_summary(f"{places} x {things}", [s for s in report.steps if s.places == places]))
    report.summaries.append(_summary("all", report.steps))
    return report


def print_benchmark(report: PlannerBenchmark, console: Console | None = None) -> None:
    """Print the figures as a table."""
    table = Table(title=f"planning a step: {report.fast} and {report.slow} on the same problems (median [95 %])")
    for name in ("places x things", "steps", f"{report.fast} ms", f"{report.slow} ms", "times faster", "cost ratio"):
        table.add_column(name, justify="right")
    for row in report.summaries:
        table.add_row(
            row.name,
            str(row.count),
            _figure(row.fast, 1000.0, 1),
            _figure(row.slow, 1000.0, 0),
            _figure(row.speedup, 1.0, 1),
            _figure(row.cost_ratio, 1.0, 3),
        )
    output = console or Console()
    output.print(table)
    output.print(
        "cost ratio: cost of the faster engine's plans over the other's, summed over the steps. "
        f"Tasks left out: {len(report.skipped)}"
    )
    for reason in report.skipped:
        output.print(f"  {reason}", markup=False)


class _Run:
    """Carries tasks out symbolically and measures both engines at each step."""

    def __init__(
        self, domain: Domain, fast: Engine, slow: Engine, steps: int, timeout: float, report: PlannerBenchmark
    ) -> None:
        self._domain = domain
        self._fast = fast
        self._slow = slow
        self._steps = steps
        self._timeout = timeout
        self._report = report

    def task(self, places: int, things: int, state: SymbolicState, goal: Goal) -> bool:
        """Measure the steps of one task; False if it was left out."""
        name = f"{places} x {things}: {goal.text}"
        if goal_holds(goal, state, self._domain):
            self._report.skipped.append(f"{name}: the goal holds at the start")
            return False
        found: list[StepMeasurement] = []
        for step in range(self._steps):
            if goal_holds(goal, state, self._domain):
                break
            fast, fast_seconds = self._plan(self._fast, state, goal)
            slow, slow_seconds = self._plan(self._slow, state, goal)
            for result, engine in ((fast, self._fast), (slow, self._slow)):
                if result.status is not PlanningStatus.SOLVED:
                    self._report.skipped.append(f"{name}: {engine.name} at step {step}: {result.reason}")
                    return False
            found.append(
                StepMeasurement(places, things, goal.text, step, fast_seconds, slow_seconds, fast.cost, slow.cost)
            )
            state = self._after(state, fast)
        self._report.steps.extend(found)
        return True

    def _after(self, state: SymbolicState, result: PlanningResult) -> SymbolicState:
        """Return the state after a plan's first step; what was looked for there is found."""
        action = result.steps[0].action
        symbols = self._domain.hypotheses
        if symbols is not None and action.name == symbols.action:
            thing, place = find_arguments(self._domain, action.arguments)
            if thing in result.placeholders:
                placeholder = Placeholder(thing, result.placeholders[thing])
                state = with_hypotheses(self._domain, state, Hypotheses((placeholder,), {(thing, place): 0.0}))
        return successor(self._domain, state, action)

    def _plan(self, engine: Engine, state: SymbolicState, goal: Goal) -> tuple[PlanningResult, float]:
        """Plan anew with memories of its own, so that neither engine profits from the other's work."""
        planner = MemPlan(self._domain, engine, timeout=self._timeout)
        fresh = SymbolicState(state.objects, state.atoms, state.functions)
        start = time.perf_counter()
        result = planner.plan(fresh, goal)
        return result, time.perf_counter() - start


def _summary(name: str, steps: Sequence[StepMeasurement]) -> SizeSummary:
    """Return medians; the cost ratio is one of sums, so that near-free last steps do not dominate it."""

    def cost_ratio(rows: Any) -> float:
        chosen = [steps[int(row)] for row in rows]
        total = sum(step.slow_cost for step in chosen)
        return sum(step.fast_cost for step in chosen) / total if total else 1.0

    return SizeSummary(
        name,
        len(steps),
        bootstrap([step.fast_seconds for step in steps]),
        bootstrap([step.slow_seconds for step in steps]),
        bootstrap([step.slow_seconds / step.fast_seconds for step in steps]),
        bootstrap(range(len(steps)), cost_ratio),
    )


def _figure(interval: Interval, scale: float, digits: int) -> str:
    low, middle, high = (f"{value * scale:.{digits}f}" for value in (interval.low, interval.estimate, interval.high))
    return f"{middle} [{low}, {high}]"


def _nth(goals: Any, number: int) -> Goal:
    for _ in range(number):
        next(goals)
    goal: Goal = next(goals)
    return goal


__all__ = ["PlannerBenchmark", "SizeSummary", "StepMeasurement", "benchmark_planner", "print_benchmark"]
