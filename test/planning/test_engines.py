"""Both engines take the same texts, and say what came of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.goal import goal_holds, goal_to_pddl
from graph_planner_ros.domain.names import NameMap
from graph_planner_ros.domain.state import cost, successor
from graph_planner_ros.domain.symbols import Atom, Goal, GoalLiteral, GoalVariable, SymbolicState
from graph_planner_ros.planning.engines import Engine, EngineMissingError, make_engine
from graph_planner_ros.planning.engines.compilation import compile_task
from graph_planner_ros.planning.engines.fast_downward import FastDownwardEngine, scale_costs
from graph_planner_ros.planning.engines.mimir import MimirEngine
from graph_planner_ros.planning.engines.model import read_domain, read_problem
from graph_planner_ros.planning.engines.relevance import relevant_parts
from graph_planner_ros.planning.problem import build_problem
from graph_planner_ros.planning.result import PlanningStatus

DOMAINS = Path(__file__).parents[1] / "fixtures" / "domains"
TOMATO = GoalVariable("?t", "item", "Tomato")
TABLE = GoalVariable("?d", "fixture", "DiningTable")

CHAIN_DOMAIN = """
(define (domain chain) (:requirements :strips :typing) (:types peg disc)
 (:predicates (on ?d - disc ?x - object) (clear ?x - object) (smaller ?d - disc ?x - object))
 (:action move :parameters (?d - disc ?from - object ?to - object)
  :precondition (and (on ?d ?from) (clear ?d) (clear ?to) (smaller ?d ?to))
  :effect (and (on ?d ?to) (clear ?from) (not (on ?d ?from)) (not (clear ?to)))))
"""


def hanoi(discs: int) -> str:
    """The towers of Hanoi: 2^discs - 1 moves, too many for any engine if there are enough discs."""
    names = [f"d{number}" for number in range(1, discs + 1)]
    below = [*names[1:], "p1"]
    facts = [f"(on {name} {under})" for name, under in zip(names, below, strict=True)]
    facts += ["(clear d1)", "(clear p2)", "(clear p3)"]
    facts += [f"(smaller {name} {peg})" for name in names for peg in ("p1", "p2", "p3")]
    facts += [f"(smaller {a} {b})" for index, a in enumerate(names) for b in names[index + 1 :]]
    goal = " ".join(f"(on {name} {under})" for name, under in zip(names, [*names[1:], "p3"], strict=True))
    return (
        f"(define (problem hanoi) (:domain chain) (:objects {' '.join(names)} - disc p1 p2 p3 - peg) "
        f"(:init {' '.join(facts)}) (:goal (and {goal})))"
    )


@pytest.fixture(scope="module")
def household() -> Domain:
    """The domain that the package brings."""
    return load_domain("household")


@pytest.fixture(scope="module")
def kitchen(household: Domain) -> SymbolicState:
    """Two tomatoes, the near one in a closed fridge; two mugs; a knife in a closed drawer; a sink and a table."""
    things = {
        "counter_1": "CounterTop",
        "table_1": "DiningTable",
        "fridge_1": "Fridge",
        "drawer_1": "Drawer",
        "sink_1": "SinkBasin",
        "tomato_1": "Tomato",
        "tomato_2": "Tomato",
        "mug_1": "Mug",
        "mug_2": "Mug",
        "knife_1": "Knife",
    }
    where = {"tomato_1": "fridge_1", "tomato_2": "counter_1", "mug_1": "counter_1", "mug_2": "sink_1"}
    where["knife_1"] = "drawer_1"
    at = {"start": 0.0, "fridge_1": 1.0, "counter_1": 2.0, "drawer_1": 3.0, "sink_1": 4.0, "table_1": 6.0}
    atoms = {Atom("at", ("start",)), Atom("hand_empty"), Atom("closed", ("fridge_1",)), Atom("closed", ("drawer_1",))}
    atoms |= {Atom("in", pair) for pair in where.items()}
    objects = {"start": "place"}
    for name, label in things.items():
        objects[name] = household.classes[label].type_name
        objects[label] = "class"
        atoms |= {Atom("instance_of", (name, label)), *(Atom(fact, (name,)) for fact in household.classes[label].facts)}
    ways = {
        Atom("distance", (a, b)): abs(at[a] - at[b]) + (0.25 if a != b else 0.0) for a in at for b in at if b != "start"
    }
    return SymbolicState(objects, frozenset(atoms), ways)


@pytest.fixture(params=["mimir", "fast_downward"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each of the engines in turn."""
    return make_engine(request.param)


GOALS = {
    "move": Goal((TOMATO, TABLE), (GoalLiteral("in", ("?t", "?d")),)),
    "change": Goal((TOMATO, TABLE), (GoalLiteral("in", ("?t", "?d")), GoalLiteral("cold", ("?t",)))),
    "tool": Goal((TOMATO, TABLE), (GoalLiteral("sliced", ("?t",)), GoalLiteral("in", ("?t", "?d")))),
    "two": Goal(
        (GoalVariable("?a", "item", "Mug"), GoalVariable("?b", "item", "Mug"), TABLE),
        (GoalLiteral("in", ("?a", "?d")), GoalLiteral("in", ("?b", "?d"))),
        (("?a", "?b"),),
    ),
    "inside": Goal(
        (TOMATO, GoalVariable("?m", "movable_receptacle", "Mug"), TABLE),
        (GoalLiteral("in", ("?t", "?m")), GoalLiteral("in", ("?m", "?d"))),
    ),
    "negative": Goal((GoalVariable("?f", "fixture", "Fridge"),), (GoalLiteral("closed", ("?f",), False),)),
    "named": Goal((GoalVariable("?x", "item", instance="mug_2"),), (GoalLiteral("holding", ("?x",)),)),
    "place": Goal((TABLE,), (GoalLiteral("at", ("?d",)),)),
}


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
    assert result.status is PlanningStatus.TIMED_OUT
    assert "0.5 s" in result.reason


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


def script(folder: Path, text: str) -> list[str]:
    """A command that stands in for Fast Downward."""
    path = folder / "planner.py"
    path.write_text(textwrap.dedent(text))
    return [sys.executable, str(path)]


@pytest.fixture
def task(household: Domain, kitchen: SymbolicState) -> Iterator[tuple[str, str]]:
    """A domain and a problem that any planner solves."""
    yield household.pddl_text, build_problem(household, kitchen, GOALS["move"])


def test_a_planner_that_crashes_is_told_with_its_exit_code_and_last_words(
    tmp_path: Path, task: tuple[str, str]
) -> None:
    command = script(tmp_path, "import sys; print('out of luck', file=sys.stderr); sys.exit(77)")
    result = FastDownwardEngine(command=command).solve(*task, 60.0)
    assert result.status is PlanningStatus.CRASHED
    assert result.exit_code == 77
    assert result.stderr == "out of luck"
    assert "77" in result.reason and "out of luck" in result.reason


def test_a_planner_killed_by_a_signal_is_a_crash(tmp_path: Path, task: tuple[str, str]) -> None:
    command = script(tmp_path, "import os; os.kill(os.getpid(), 11)")
    result = FastDownwardEngine(command=command).solve(*task, 60.0)
    assert (result.status, result.exit_code) == (PlanningStatus.CRASHED, -11)


@pytest.mark.parametrize("cancelled", [True, False])
def test_nothing_of_a_planner_lives_on_after_a_time_out_or_a_cancel(
    tmp_path: Path, task: tuple[str, str], cancelled: bool
) -> None:
    """The planner has a child that ignores SIGTERM, as a search may be deep in C++."""
    pids = tmp_path / "pids"
    command = script(
        tmp_path,
        f"""
        import os, pathlib, signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = os.fork()
        if child:
            part = pathlib.Path({str(pids)!r} + ".part")
            part.write_text(f"{{os.getpid()}} {{child}}")
            part.rename({str(pids)!r})
        time.sleep(600)
        """,
    )
    cancel = threading.Event()
    results = []
    engine = FastDownwardEngine(command=command)
    timeout = 600.0 if cancelled else 5.0
    thread = threading.Thread(target=lambda: results.append(engine.solve(*task, timeout, cancel)))
    thread.start()
    while cancelled and not pids.exists() and thread.is_alive():
        time.sleep(0.01)
    if cancelled:
        cancel.set()
    thread.join(timeout=60.0)
    assert results[0].status is (PlanningStatus.CANCELLED if cancelled else PlanningStatus.TIMED_OUT)
    for pid in map(int, pids.read_text().split()):
        assert _gone(pid)


def _gone(pid: int) -> bool:
    """Whether a process ends within a moment; the kernel needs one even for SIGKILL."""
    deadline = time.monotonic() + 30.0
    while _running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not _running(pid)


def _running(pid: int) -> bool:
    """Whether a process is alive; one that is dead and not yet reaped by the init process is not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def test_mimir_prints_nothing_and_leaves_stdout_usable() -> None:
    program = """
    from graph_planner_ros.planning.engines.mimir import MimirEngine
    from test_engines import CHAIN_DOMAIN, hanoi
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


def test_only_what_matters_is_searched(household: Domain, kitchen: SymbolicState) -> None:
    compiled = compile_task(household.pddl_text, build_problem(household, kitchen, GOALS["change"]), always=True)
    domain = read_domain(compiled.domain)
    parts = relevant_parts(domain, read_problem(compiled.problem, domain))
    assert parts is not None
    assert {"tomato_1", "tomato_2", "fridge_1", "table_1"} <= parts.objects
    assert not {"mug_1", "mug_2", "knife_1", "drawer_1"} & parts.objects
    assert {"go_to", "cool", "put", "pick_up", "open"} <= parts.operators
    assert not {"slice", "heat", "close", "examine", "toggle_on"} & parts.operators


def with_mugs(household: Domain, kitchen: SymbolicState, count: int) -> SymbolicState:
    """The kitchen with more mugs on the counter."""
    names = [f"mug_{number}" for number in range(3, count + 1)]
    facts = household.classes["Mug"].facts
    atoms = {Atom(fact, (name,)) for name in names for fact in facts}
    atoms |= {Atom("in", (name, "counter_1")) for name in names} | {
        Atom("instance_of", (name, "Mug")) for name in names
    }
    objects = {**kitchen.objects, **dict.fromkeys(names, household.classes["Mug"].type_name)}
    return SymbolicState(objects, kitchen.atoms | atoms, kitchen.functions)


def mugs_goal(count: int, *more: GoalLiteral) -> Goal:
    names = tuple(f"?m{number}" for number in range(count))
    variables = tuple(GoalVariable(name, "item", "Mug") for name in names)
    return Goal((*variables, TABLE), (*(GoalLiteral("in", (name, "?d")) for name in names), *more), (names,))


@pytest.mark.parametrize(("name", "count"), [("mimir", 3), ("mimir", 6), ("fast_downward", 3)])
def test_several_things_of_a_kind_are_one_goal_and_not_one_for_each_order(
    household: Domain, kitchen: SymbolicState, name: str, count: int
) -> None:
    state, goal = with_mugs(household, kitchen, 8), mugs_goal(count)
    found = make_engine(name).solve(household.pddl_text, build_problem(household, state, goal), 60.0)
    assert found.status is PlanningStatus.SOLVED, found
    put = {action.arguments[0] for action in found.plan if action.name == "put"}
    assert len(put) == count


@pytest.mark.parametrize(
    ("count", "more", "pairs"),
    [
        (2, (), 0),
        (3, (), 3),
        (5, (), 10),
        (4, (GoalLiteral("hot", ("?m0",)),), 3),  # a hot one and three others: only the others may be exchanged
        (3, (GoalLiteral("hot", ("?m0",)), GoalLiteral("dirty", ("?m1",), False)), 0),
        (3, tuple(GoalLiteral("hot", (f"?m{number}",)) for number in range(3)), 3),
    ],
)
def test_only_what_may_be_exchanged_is_put_in_order(
    household: Domain, kitchen: SymbolicState, count: int, more: tuple[GoalLiteral, ...], pairs: int
) -> None:
    problem = build_problem(household, kitchen, mugs_goal(count, *more))
    compiled = compile_task(household.pddl_text, problem, always=True)
    assert compiled.domain.count("(goal-order ?g") == pairs
    different = compiled.domain[compiled.domain.index("reach-the-goal") :].count("(not (= ?g")
    assert different + pairs == count * (count - 1) // 2
    assert ("(goal-order mug_1 mug_2)" in compiled.problem) == bool(pairs)
    assert "(goal-order mug_2 mug_1)" not in compiled.problem


def test_the_analysis_of_what_matters_can_be_ended(household: Domain, kitchen: SymbolicState) -> None:
    compiled = compile_task(household.pddl_text, build_problem(household, kitchen, mugs_goal(2)), always=True)
    domain = read_domain(compiled.domain)

    def stop() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        relevant_parts(domain, read_problem(compiled.problem, domain), stop)


def test_costs_become_whole_numbers_for_fast_downward() -> None:
    text = "(increase (total-cost) 1.5) (= (way a b) 2.346) (= (total-cost) 0) (increase (total-cost) (way ?a ?b))"
    assert scale_costs(text) == (
        "(increase (total-cost) 150) (= (way a b) 235) (= (total-cost) 0) (increase (total-cost) (way ?a ?b))"
    )
