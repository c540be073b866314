"""Plans in stages: how much is searched for them is counted, and what the clock has ended is told."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest
from pottery import Pottery, goal, pottery

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import goal_holds
from graph_planner_ros.domain.state import effects
from graph_planner_ros.domain.symbols import SymbolicState
from graph_planner_ros.planning.engines import MimirEngine
from graph_planner_ros.planning.engines.base import EngineResult
from graph_planner_ros.planning.result import PlanningStatus
from graph_planner_ros.planning.scheduling import Scheduler
from graph_planner_ros.planning.stages import SPENT_SEARCHES, STAGE_STATES, StagePlanner
from graph_planner_ros.planning.timed import plan_in_time
from graph_planner_ros.planning.verifier import verify

WANTED = goal("fired(v)", "polished(j)", "stands(j, s)", v="Vase", j="Jug", s="Shelf")


class Watched:
    """Searches, or gives up some searches: as if they had visited all their states, or as if time was over."""

    name = "watched"

    def __init__(self, spent: int = 0, late: int = 0) -> None:
        self.spent = spent
        self.late = late
        self.states: list[int | None] = []
        self._engine = MimirEngine()

    def solve(
        self,
        domain_pddl: str,
        problem_pddl: str,
        timeout: float,
        cancel: threading.Event | None = None,
        states: int | None = None,
    ) -> EngineResult:
        self.states.append(states)
        count = len(self.states)
        if count <= self.spent + self.late:
            by_clock = count > self.spent
            return EngineResult(PlanningStatus.TIMED_OUT, reason="no plan", by_clock=by_clock)
        return self._engine.solve(domain_pddl, problem_pddl, timeout, cancel, states)


@pytest.fixture(scope="module")
def domain() -> Domain:
    return pottery()


@pytest.fixture
def state(domain: Domain) -> SymbolicState:
    return Pottery(domain).state()


def soon() -> float:
    return time.monotonic() + 600.0


def test_every_search_may_visit_a_number_of_states(domain: Domain, state: SymbolicState) -> None:
    engine = Watched()
    found = StagePlanner(domain, engine).plan(state, WANTED, soon())
    assert found.status is PlanningStatus.SOLVED and not found.by_clock and found.goal is not None
    assert engine.states and set(engine.states) == {STAGE_STATES}
    for action in found.actions:
        added, deleted = effects(domain, action)
        state = SymbolicState(state.objects, (state.atoms - deleted) | added, state.functions)
    assert goal_holds(found.goal, state, domain)


def test_a_search_without_outcome_is_put_in_another_way(domain: Domain, state: SymbolicState) -> None:
    found = StagePlanner(domain, Watched(spent=1)).plan(state, WANTED, soon())
    assert found.status is PlanningStatus.SOLVED and not found.by_clock


def test_searches_that_lead_nowhere_are_not_repeated_without_end(domain: Domain, state: SymbolicState) -> None:
    engine = Watched(spent=10_000)
    found = StagePlanner(domain, engine).plan(state, WANTED, soon())
    assert found.status is PlanningStatus.TIMED_OUT and not found.by_clock
    assert 0 < len(engine.states) <= SPENT_SEARCHES + 2


def test_what_the_clock_has_ended_is_told(domain: Domain, state: SymbolicState) -> None:
    result = plan_in_time(domain, Watched(late=1), state, WANTED, soon())
    assert result.status is PlanningStatus.SOLVED and result.by_clock
    for engine in (Watched(late=10_000), Watched()):
        result = plan_in_time(domain, engine, state, WANTED, soon() if engine.late else time.monotonic() - 1.0)
        assert result.status is PlanningStatus.TIMED_OUT and result.by_clock
    assert not plan_in_time(domain, Watched(), state, WANTED, soon()).by_clock


def test_the_same_task_is_planned_alike_whatever_was_planned_before(domain: Domain, state: SymbolicState) -> None:
    engine = MimirEngine()
    first = plan_in_time(domain, engine, state, WANTED, soon())
    plan_in_time(domain, engine, state, goal("fired(v)", v="Vase"), soon())
    again = plan_in_time(domain, engine, state, WANTED, soon())
    assert first.steps and replace(first, time=0.0) == replace(again, time=0.0)


def test_plans_of_other_orders_are_given_as_well(domain: Domain, state: SymbolicState) -> None:
    found = StagePlanner(domain, MimirEngine()).plan(state, WANTED, soon())
    assert found.others and found.goal is not None
    for actions, wanted in ((found.actions, found.goal), *found.others):
        assert all(variable.instance is not None for variable in wanted.variables)
        assert verify(domain, state, wanted, actions).valid
        assert len(found.actions) <= len(actions)


def test_the_plan_that_takes_the_least_time_is_taken(domain: Domain, state: SymbolicState) -> None:
    found = StagePlanner(domain, MimirEngine()).plan(state, WANTED, soon())
    result = plan_in_time(domain, MimirEngine(), state, WANTED, soon())
    for actions, wanted in ((found.actions, found.goal), *found.others):
        assert wanted is not None
        times = Scheduler(domain, state, wanted, {}).improve(list(actions))
        assert times is not None and result.cost <= sum(cost for _, cost in times)
