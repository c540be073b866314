"""The comparison of engines: made-up worlds are sound, and the figures are those of the steps."""

from __future__ import annotations

import io
import json
import threading

import pytest
from rich.console import Console

from graph_planner_ros.benchmarks.generated import generate_goals, generate_world
from graph_planner_ros.benchmarks.planner import benchmark_planner, print_benchmark
from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.goal import check_goal
from graph_planner_ros.domain.state import applicable_actions, cost
from graph_planner_ros.planning.engines import EngineResult, MimirEngine
from graph_planner_ros.planning.result import PlanningStatus


@pytest.fixture(scope="module")
def household() -> Domain:
    """The domain that the package brings."""
    return load_domain("household")


class Refusing:
    """An engine that is never of use."""

    name = "refusing"

    def solve(
        self,
        domain_pddl: str,
        problem_pddl: str,
        timeout: float,
        cancel: threading.Event | None = None,
        states: int | None = None,
    ) -> EngineResult:
        """Refuse."""
        return EngineResult(PlanningStatus.REFUSED, reason="not today", engine=self.name)


@pytest.mark.parametrize("seed", range(4))
def test_a_world_is_one_that_the_domain_can_mean(household: Domain, seed: int) -> None:
    world = generate_world(household, 9, 14, seed)
    for atom in world.state.atoms:
        parameters = household.predicates[atom.predicate].parameters
        for name, (_, of) in zip(atom.arguments, parameters, strict=True):
            assert household.is_a(world.state.objects[name], of)
    actions = applicable_actions(household, world.state)
    assert actions and all(cost(household, world.state, action) >= 0 for action in actions)
    goals = generate_goals(household, world, seed)
    for _ in range(10):
        check_goal(next(goals), household)


def test_a_world_is_its_seed(household: Domain) -> None:
    assert generate_world(household, 9, 14, 5) == generate_world(household, 9, 14, 5)
    assert generate_world(household, 9, 14, 5) != generate_world(household, 9, 14, 6)


def test_figures_are_those_of_the_steps(household: Domain) -> None:
    report = benchmark_planner(household, sizes=((7, 8),), tasks=2, steps=2, engines=(MimirEngine(), MimirEngine()))
    assert 2 <= len(report.steps) <= 4
    assert report.overall.count == len(report.steps)
    assert report.overall.cost_ratio.estimate == pytest.approx(1.0)
    assert report.overall.fast.low <= report.overall.fast.estimate <= report.overall.fast.high
    assert json.loads(json.dumps(report.as_json()))["steps"][0]["places"] == 7
    text = io.StringIO()
    print_benchmark(report, Console(file=text, width=160))
    assert "7 x 8" in text.getvalue() and "cost ratio" in text.getvalue()


def test_a_task_that_an_engine_cannot_do_is_left_out_with_its_reason(household: Domain) -> None:
    report = benchmark_planner(household, sizes=((7, 8),), tasks=1, steps=1, engines=(MimirEngine(), Refusing()))
    assert not report.steps
    assert any("refusing" in reason and "not today" in reason for reason in report.skipped)
    text = io.StringIO()
    print_benchmark(report, Console(file=text, width=160))
    assert "not today" in text.getvalue()
