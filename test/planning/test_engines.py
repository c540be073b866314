"""Both engines take the same texts, and say what came of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from engine_tasks import CHAIN_DOMAIN, GOALS, TOMATO, hanoi

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.goal import goal_holds, goal_to_pddl
from graph_planner_ros.domain.names import NameMap
from graph_planner_ros.domain.state import cost, successor
from graph_planner_ros.domain.symbols import Atom, Goal, GoalLiteral, GoalVariable, SymbolicState
from graph_planner_ros.planning.engines import Engine, EngineMissingError, make_engine
from graph_planner_ros.planning.engines.mimir import MimirEngine
from graph_planner_ros.planning.problem import build_problem
from graph_planner_ros.planning.result import PlanningStatus

DOMAINS = Path(__file__).parents[1] / "fixtures" / "domains"


@pytest.fixture(params=["mimir", "fast_downward"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each of the engines in turn."""
    return make_engine(request.param)


def execute(domain: Domain, state: SymbolicState, goal: Goal, engine: Engine) -> float:
    """Plan, carry the plan out symbolically, check that it reaches the goal, and return its cost."""
    names = NameMap(domain)
    text = build_problem(domain, state, goal, name_map=names)
    result = engine.solve(domain.pddl_text, text, timeout=60.0)
    assert result.status is PlanningStatus.SOLVED, result.reason
    assert result.engine == engine.name
    total = 0.0
    for action in map(names.action_from_pddl, result.plan):
        total += cost(domain, state, action)
        state = successor(domain, state, action)
    assert goal_holds(goal, state, domain)
    assert result.cost == pytest.approx(total, abs=0.01)
    return total


@pytest.mark.parametrize("name", GOALS)
def test_plans_reach_the_goal_at_the_cost_that_is_told(
    household: Domain, kitchen: SymbolicState, engine: Engine, name: str
) -> None:
    execute(household, kitchen, GOALS[name], engine)


def test_the_cheaper_of_two_ways_is_taken(household: Domain, kitchen: SymbolicState) -> None:
    # 2.25 to the counter, 2 to pick up, 4.25 to the table, 2 to put; by the fridge it is a door more
    assert execute(household, kitchen, GOALS["move"], MimirEngine()) == pytest.approx(10.5)


@pytest.mark.parametrize("name", GOALS)
def test_fewer_efforts_still_bring_plans_nearly_as_cheap(household: Domain, kitchen: SymbolicState, name: str) -> None:
    usual = execute(household, kitchen, GOALS[name], MimirEngine(effort=5000))
    hasty = execute(household, kitchen, GOALS[name], MimirEngine(effort=4))
    assert hasty <= 1.1 * usual + 0.01


def test_what_is_looked_for_is_looked_for_where_it_is_likely_and_not_excluded(
    household: Domain, kitchen: SymbolicState, engine: Engine
) -> None:
    objects = {**kitchen.objects, "unseen_egg_1": "item", "Egg": "class"}
    atoms = kitchen.atoms | {Atom("instance_of", ("unseen_egg_1", "Egg")), Atom("pickupable", ("unseen_egg_1",))}
    prices = {"fridge_1": 1.0, "counter_1": 30.0, "drawer_1": 30.0}
    atoms |= {Atom("candidate", ("unseen_egg_1", place)) for place in prices}
    functions = dict(kitchen.functions)
    functions |= {Atom("check_cost", ("unseen_egg_1", place)): price for place, price in prices.items()}
    goal = Goal((GoalVariable("?e", "item", "Egg"),), (GoalLiteral("holding", ("?e",)),))

    def looked_at(refuted: list[str]) -> str:
        more = {Atom("refuted", ("unseen_egg_1", place)) for place in refuted}
        state = SymbolicState(objects, atoms | more, functions)
        text = build_problem(household, state, goal)
        result = engine.solve(household.pddl_text, text, 60.0)
        return next((action.arguments[1] for action in result.plan if action.name == "find"), result.status.name)

    assert looked_at([]) == "fridge_1"
    assert looked_at(["fridge_1"]) == "counter_1"
    assert looked_at(list(prices)) == "UNREACHABLE"


def test_a_goal_that_holds_already_needs_no_action(household: Domain, kitchen: SymbolicState, engine: Engine) -> None:
    goal = Goal((TOMATO, GoalVariable("?f", "fixture", "Fridge")), (GoalLiteral("in", ("?t", "?f")),))
    result = engine.solve(household.pddl_text, build_problem(household, kitchen, goal), 60.0)
    assert (result.status, result.plan, result.cost) == (PlanningStatus.SOLVED, (), 0.0)


def test_an_unreachable_goal_is_told_apart_from_no_time(
    household: Domain, kitchen: SymbolicState, engine: Engine
) -> None:
    goal = Goal((TOMATO,), (GoalLiteral("hot", ("?t",)),))  # nothing heats here
    result = engine.solve(household.pddl_text, build_problem(household, kitchen, goal), 60.0)
    assert result.status is PlanningStatus.UNREACHABLE
    assert "no sequence of actions" in result.reason


def test_pddl_may_have_or_and_forall_in_the_goal(household: Domain, kitchen: SymbolicState, engine: Engine) -> None:
    names = NameMap(household)
    text = build_problem(household, kitchen, GOALS["negative"], name_map=names)
    goal = goal_to_pddl(GOALS["negative"], names)
    wider = text.replace(goal, "(or (forall (?x - fixture) (closed ?x)) (at table_1))")
    assert wider != text
    result = engine.solve(household.pddl_text, wider, 60.0)
    assert result.status is PlanningStatus.SOLVED, result.reason
    assert [action.name for action in result.plan] == ["go_to"]


def test_a_domain_without_costs_is_planned_for_too(engine: Engine) -> None:
    result = engine.solve(CHAIN_DOMAIN, hanoi(3), 60.0)
    assert result.status is PlanningStatus.SOLVED, result.reason
    assert len(result.plan) >= 7 and result.cost == len(result.plan)


def test_another_domain_is_planned_for_in_its_own_spelling(engine: Engine) -> None:
    warehouse = load_domain(DOMAINS / "warehouse")
    objects = {"Dock 1": "Dock", "dock 1": "Dock", "carrier": "Robot", "and": "Crate", "Crate": "kind"}
    facts = [("standsAt", "carrier", "Home"), ("notFilling", "carrier"), ("stored", "and", "Dock 1")]
    atoms = frozenset(Atom(name, tuple(rest)) for name, *rest in [*facts, ("kindOf", "and", "Crate")])
    docks = ["Home", "Dock 1", "dock 1"]
    metres = {Atom("metres", (a, b)): 3.0 for a in docks for b in docks}
    goal = Goal(
        (GoalVariable("?c", "Crate", "Crate"), GoalVariable("?d", "Dock", instance="dock 1")),
        (GoalLiteral("stored", ("?c", "?d")),),
    )
    assert execute(warehouse, SymbolicState(objects, atoms, metres), goal, engine) == 10.0


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("(hand_empty)", "(hand_empty) (flies mug_1)", "no predicate 'flies'"),
        ("(in mug_1 ", "(in mug_7 ", "mug_7"),
        ("(:goal", "(:gaol", "no \\(:goal"),
        ("(hand_empty)", "(hand_empty))", "brackets|bracket too many"),
        ("(hand_empty)", "hand_empty", "expected an atom"),
    ],
)
def test_text_that_is_wrong_is_refused_by_name(
    household: Domain, kitchen: SymbolicState, engine: Engine, old: str, new: str, expected: str
) -> None:
    text = build_problem(household, kitchen, GOALS["two"])
    assert old in text
    result = engine.solve(household.pddl_text, text.replace(old, new, 1), 60.0)
    assert result.status is PlanningStatus.REFUSED
    assert re.search(expected, result.reason)


def test_a_goal_about_a_thing_that_does_not_exist_is_refused(
    household: Domain, kitchen: SymbolicState, engine: Engine
) -> None:
    text = build_problem(household, kitchen, GOALS["named"]).replace(
        "(:goal (and (holding mug_2", "(:goal (and (holding mug_9"
    )
    result = engine.solve(household.pddl_text, text, 60.0)
    assert result.status is PlanningStatus.REFUSED
    assert "mug_9" in result.reason


def test_time_is_up_when_it_is_up(engine: Engine) -> None:
    result = engine.solve(CHAIN_DOMAIN, hanoi(18), 0.5)
    assert result.status is PlanningStatus.TIMED_OUT and result.by_clock
    assert "0.5 s" in result.reason


def test_states_are_counted_and_not_timed() -> None:
    results = [MimirEngine().solve(CHAIN_DOMAIN, hanoi(18), 600.0, states=1500) for _ in range(2)]
    for result in results:
        assert result.status is PlanningStatus.TIMED_OUT and not result.by_clock
        assert "1500 states" in result.reason
    assert MimirEngine().solve(CHAIN_DOMAIN, hanoi(18), 0.2, states=10**9).by_clock
    solved = [MimirEngine().solve(CHAIN_DOMAIN, hanoi(3), 600.0, states=states) for states in (10**6, None)]
    assert solved[0].plan == solved[1].plan and not solved[0].by_clock


def test_a_search_that_is_cancelled_ends_at_once(engine: Engine) -> None:
    cancel = threading.Event()
    results = []
    thread = threading.Thread(target=lambda: results.append(engine.solve(CHAIN_DOMAIN, hanoi(18), 600.0, cancel)))
    thread.start()
    assert not cancel.wait(0.3)
    cancel.set()
    thread.join(timeout=30.0)
    assert not thread.is_alive()
    assert results[0].status is PlanningStatus.CANCELLED


def test_a_call_that_waits_for_another_is_cancelled_at_once() -> None:
    engine = MimirEngine()
    first, second = threading.Event(), threading.Event()
    busy = threading.Thread(target=lambda: engine.solve(CHAIN_DOMAIN, hanoi(18), 600.0, first))
    busy.start()
    second.set()
    assert engine.solve(CHAIN_DOMAIN, hanoi(3), 600.0, second).status is PlanningStatus.CANCELLED
    first.set()
    busy.join(timeout=30.0)
    assert engine.solve(CHAIN_DOMAIN, hanoi(3), 60.0).status is PlanningStatus.SOLVED


def test_a_cancelled_search_leaves_other_threads_running(household: Domain) -> None:
    """The search holds Python's lock; others must get their turn all the same."""
    beats = 0
    cancel = threading.Event()
    thread = threading.Thread(target=lambda: MimirEngine().solve(CHAIN_DOMAIN, hanoi(18), 600.0, cancel))
    thread.start()
    while thread.is_alive() and beats < 20:
        time.sleep(0.001)
        beats += 1
    cancel.set()
    thread.join(timeout=30.0)
    assert beats == 20


def test_mimir_prints_nothing_and_leaves_stdout_usable() -> None:
    program = """
    from graph_planner_ros.planning.engines.mimir import MimirEngine
    from engine_tasks import CHAIN_DOMAIN, hanoi
    print("before")
    print(MimirEngine().solve(CHAIN_DOMAIN, hanoi(3), 60.0).status.name)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)])},
    )
    assert done.stdout == "before\nSOLVED\n"
    assert "leaked" not in done.stderr


def test_engines_are_made_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert make_engine().name == make_engine("auto").name == "mimir"
    with pytest.raises(ValueError, match=r"'lama'.*mimir, fast_downward"):
        make_engine("lama")
    monkeypatch.setitem(sys.modules, "pymimir", None)
    with pytest.raises(EngineMissingError, match="extra 'planners'"):
        make_engine("mimir")
    assert make_engine().name == "fast_downward"
