"""The task that is searched is smaller than the one that is given, and its plans are as good."""

from __future__ import annotations

import random

import pytest
from engine_tasks import GOALS, TABLE

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import goal_holds
from graph_planner_ros.domain.names import NameMap
from graph_planner_ros.domain.state import successor
from graph_planner_ros.domain.symbols import Atom, Goal, GoalLiteral, GoalVariable, SymbolicState
from graph_planner_ros.planning.engines import make_engine
from graph_planner_ros.planning.engines.compilation import compile_task
from graph_planner_ros.planning.engines.model import read_domain, read_problem
from graph_planner_ros.planning.engines.relevance import SPARE_THINGS, RelevantParts, relevant_parts
from graph_planner_ros.planning.problem import build_problem
from graph_planner_ros.planning.result import PlanningStatus


def parts_of(household: Domain, state: SymbolicState, goal: Goal, choosy: bool = True) -> RelevantParts:
    """What the search keeps of a problem."""
    compiled = compile_task(household.pddl_text, build_problem(household, state, goal), always=True)
    domain = read_domain(compiled.domain)
    parts = relevant_parts(domain, read_problem(compiled.problem, domain), choosy=choosy)
    assert parts is not None
    return parts


def test_only_what_matters_is_searched(household: Domain, kitchen: SymbolicState) -> None:
    parts = parts_of(household, kitchen, GOALS["change"])
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


def with_surfaces(household: Domain, state: SymbolicState, ways: list[float]) -> SymbolicState:
    """The kitchen with more shelves, so far from everything."""
    objects, atoms, functions = dict(state.objects), set(state.atoms), dict(state.functions)
    known = [name for name, of in objects.items() if household.is_a(of, "place") and not household.is_a(of, "item")]
    for number, way in enumerate(ways, start=1):
        name = f"shelf_{number}"
        objects[name] = "fixture"
        atoms.add(Atom("receptacle", (name,)))
        functions |= {Atom("distance", (other, name)): way for other in known}
        functions |= {Atom("distance", (name, other)): way for other in known if other != "start"}
    return SymbolicState(objects, frozenset(atoms), functions)


def test_of_many_places_to_put_something_down_the_convenient_ones_are_kept(
    household: Domain, kitchen: SymbolicState
) -> None:
    held = {Atom("holding", ("mug_1",))} | kitchen.atoms - {Atom("hand_empty"), Atom("in", ("mug_1", "counter_1"))}
    state = with_surfaces(household, SymbolicState(kitchen.objects, frozenset(held), kitchen.functions), [0.1] * 2)
    state = with_surfaces(household, state, [0.2, 0.3, *[50.0] * 6])
    kept = parts_of(household, state, GOALS["move"]).objects
    assert {"table_1", "counter_1"} <= kept
    assert 0 < sum(name.startswith("shelf_") for name in kept) <= 3
    every = parts_of(household, state, GOALS["move"], choosy=False).objects
    assert sum(name.startswith("shelf_") for name in every) == 8


def test_of_many_things_that_would_do_the_convenient_ones_are_kept(household: Domain, kitchen: SymbolicState) -> None:
    state = with_mugs(household, kitchen, 12)
    near = {"mug_5", "mug_6"}
    facts = {atom for atom in state.atoms if not (atom.predicate == "in" and atom.arguments[0] in near)}
    facts |= {Atom("in", (name, "table_1")) for name in near}
    state = SymbolicState(state.objects, frozenset(facts), state.functions)
    kept = {name for name in parts_of(household, state, mugs_goal(3)).objects if name.startswith("mug_")}
    assert near < kept and len(kept) == 3 + SPARE_THINGS
    every = parts_of(household, state, mugs_goal(3), choosy=False).objects
    assert sum(name.startswith("mug_") for name in every) == 12


def test_if_none_of_the_convenient_things_will_do_the_others_are_tried(
    household: Domain, kitchen: SymbolicState
) -> None:
    """Only the mug that seems the least convenient can be picked up at all."""
    state = with_mugs(household, kitchen, 12)
    far = {Atom("in", ("mug_7", "drawer_1"))} | {
        atom for atom in state.atoms if atom.arguments != ("mug_7", "counter_1")
    }
    bolted = {atom for atom in far if atom.predicate != "pickupable" or atom.arguments == ("mug_7",)}
    state = SymbolicState(state.objects, frozenset(bolted), state.functions)
    goal = mugs_goal(1)
    names = NameMap(household)
    found = make_engine("mimir").solve(
        household.pddl_text, build_problem(household, state, goal, name_map=names), timeout=60.0
    )
    assert found.status is PlanningStatus.SOLVED, found.reason
    for action in map(names.action_from_pddl, found.plan):
        state = successor(household, state, action)
    assert goal_holds(goal, state, household)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_left_out_makes_plans_of_many_things_hardly_dearer(
    household: Domain, kitchen: SymbolicState, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    state = with_mugs(household, kitchen, 9)
    facts = {atom for atom in state.atoms if not (atom.predicate == "in" and atom.arguments[0].startswith("mug_"))}
    places = ("counter_1", "sink_1", "fridge_1", "drawer_1")
    facts |= {Atom("in", (f"mug_{number}", rng.choice(places))) for number in range(1, 10)}
    state = SymbolicState(state.objects, frozenset(facts), state.functions)
    more = (GoalLiteral("cleaned", ("?m0",)),) if seed % 2 else ()
    text = build_problem(household, state, mugs_goal(1 + seed % 3, *more))
    cost = make_engine("mimir").solve(household.pddl_text, text, 60.0).cost
    monkeypatch.setattr("graph_planner_ros.planning.engines.relevance.SPARE_THINGS", 100)
    monkeypatch.setattr("graph_planner_ros.planning.engines.relevance.CONVENIENT_PLACES", 100)
    assert cost <= 1.1 * make_engine("mimir").solve(household.pddl_text, text, 60.0).cost + 0.01
