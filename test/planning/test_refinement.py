"""Plans of subtasks executed symbolically: what is accepted can be executed, and what is not is told where and why."""

from __future__ import annotations

import random
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from symbolic_world import item_goal, kitchen, nested_goal, put_goal

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction, SymbolicState
from graph_planner_ros.planning.engines import make_engine
from graph_planner_ros.planning.hypotheses import Hypotheses, Placeholder
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.problem import ANY
from graph_planner_ros.planning.result import PlanningStatus
from graph_planner_ros.planning.task_graph import (
    KnownThings,
    Refiner,
    Subtask,
    TaskGraph,
    check_edges,
    check_nodes,
    implied_parameters,
    subtasks_of,
)
from graph_planner_ros.planning.verifier import verify

HOUSEHOLD = load_domain("household")
GRAPH = TaskGraph.of(HOUSEHOLD)
ENGINE = make_engine("auto")
FIXTURES = ("CounterTop", "DiningTable", "SinkBasin", "Fridge", "Microwave", "DeskLamp")
ITEMS = ["Knife", "Tomato", "Mug", "Apple"]
NOTHING = Goal((), ())


def small(seed: int, extra: int = 2) -> SymbolicState:
    return kitchen(HOUSEHOLD, seed, ITEMS, extra, FIXTURES).truth


def labels_of(state: SymbolicState) -> dict[str, str]:
    return {a.arguments[0]: a.arguments[1] for a in state.atoms if a.predicate == "instance_of"}


def refiner(domain: Domain = HOUSEHOLD) -> Refiner:
    return Refiner(domain, TaskGraph.of(domain), ENGINE)


def plan_of(*lines: str) -> list[Subtask]:
    return [Subtask(words[0], tuple(words[1:])) for words in map(str.split, lines)]


def test_a_plan_in_words_becomes_actions_with_ways_and_doors() -> None:
    plan = plan_of("pick_up Tomato", "cool Tomato Fridge", "put Tomato DiningTable")
    state = small(1)
    found = refiner().refine(state, put_goal("Tomato", "DiningTable", "cold"), plan)
    assert found.valid and found.goal_reached and found.executed == 3
    assert verify(HOUSEHOLD, state, put_goal("Tomato", "DiningTable", "cold"), found.steps).valid
    assert {step.name for step in found.steps} - {subtask.action for subtask in plan} <= set(
        implied_parameters(HOUSEHOLD)
    )
    assert subtasks_of(HOUSEHOLD, found.steps, labels_of(state)) == tuple(plan)


def test_a_subtask_that_cannot_be_executed_is_named_with_what_does_not_hold_and_what_could_be_done() -> None:
    plan = plan_of("pick_up Knife", "pick_up Tomato", "put Knife CounterTop")
    found = refiner().refine(small(2), None, plan)
    assert found.status is PlanningStatus.UNREACHABLE and found.executed == 1
    assert "subtask 2, pick_up(Tomato), cannot be executed: hand_empty does not hold" in found.reason
    assert "put" in found.allowed and "pick_up" not in found.allowed
    assert verify(HOUSEHOLD, small(2), NOTHING, found.steps).valid


def test_a_state_can_forbid_what_the_graph_allows() -> None:
    # the hand holds the tomato, which is no knife
    found = refiner().refine(small(3), None, plan_of("pick_up Tomato", "slice Apple"))
    assert found.executed == 1 and "holding(knife_1) does not hold" in found.reason
    assert "slice" not in found.allowed and "put" in found.allowed


def test_a_plan_that_misses_the_goal_says_what_is_lacking() -> None:
    found = refiner().refine(small(4), put_goal("Mug", "Fridge", "cleaned"), plan_of("pick_up Mug", "put Mug Fridge"))
    assert found.status is PlanningStatus.UNREACHABLE and found.executed == 2 and not found.goal_reached
    assert "cleaned(Mug)" in found.reason


@pytest.mark.parametrize("line", ["fly Mug", "put Mug", "pick_up Zeppelin", "heat Mug Fridge", "pick_up Fridge"])
def test_a_subtask_about_nothing_that_fits_ends_the_prefix(line: str) -> None:
    found = refiner().refine(small(5), None, plan_of("pick_up Mug", line))
    assert found.status is PlanningStatus.UNREACHABLE and found.executed == 1
    assert found.reason.startswith("subtask 2")


def test_excluded_actions_are_gone_round() -> None:
    state = kitchen(HOUSEHOLD, 6, ["Mug", "Mug"], 0, FIXTURES).truth
    plan = plan_of("pick_up Mug", "put Mug DiningTable")
    first = refiner().refine(state, None, plan)
    picked = next(step for step in first.steps if step.name == "pick_up")
    other = refiner().refine(state, None, plan, excluded=[picked])
    assert other.valid and picked not in other.steps
    none = refiner().refine(state, None, plan, excluded=[GroundAction("pick_up", (ANY, ANY))])
    assert not none.valid and none.executed == 0


def test_unseen_things_are_looked_for_where_hypotheses_put_them() -> None:
    state = kitchen(HOUSEHOLD, 7, ["Mug"], 0, FIXTURES).truth
    item = Placeholder("unseen_apple_1", "Apple")
    hypotheses = Hypotheses((item,), {(item.name, place): 1.0 for place in ("fridge_1", "countertop_1")})
    plan = plan_of("pick_up Apple", "put Apple DiningTable")
    found = refiner().refine(state, put_goal("Apple", "DiningTable"), plan, hypotheses=hypotheses)
    assert found.valid and any(step.name == "find" for step in found.steps)
    assert not refiner().refine(state, None, plan).valid


def test_time_and_cancel_end_it() -> None:
    plan = plan_of("pick_up Mug")
    assert refiner().refine(small(8), None, plan, timeout=0.0).status is PlanningStatus.TIMED_OUT
    cancel = threading.Event()
    cancel.set()
    assert refiner().refine(small(8), None, plan, cancel=cancel).status is PlanningStatus.CANCELLED


def test_a_plan_of_any_length_is_answered() -> None:
    found = refiner().refine(small(9), None, plan_of("toggle_on DeskLamp") * 1000)
    assert found.status is PlanningStatus.UNREACHABLE and "1000 subtasks" in found.reason


def test_edges_that_a_model_took_out_do_not_change_what_can_be_executed() -> None:
    graph = GRAPH.without([("pick_up", "put")], "nobody puts things down")
    found = Refiner(HOUSEHOLD, graph, ENGINE).refine(small(10), None, plan_of("pick_up Mug", "put Mug DiningTable"))
    assert found.valid


@st.composite
def plans(draw: st.DrawFn) -> list[Subtask]:
    things = ["Knife", "Tomato", "Mug", "Apple", "mug_1", "Egg"]
    places = ["CounterTop", "Fridge", "Microwave", "SinkBasin", "DeskLamp", "fridge_1"]
    subtasks = []
    for _ in range(draw(st.integers(1, 6))):
        node = draw(st.sampled_from(GRAPH.nodes))
        names = [
            draw(st.sampled_from(places if HOUSEHOLD.is_a(parameter.type_name, "fixture") else things))
            for parameter in node.parameters
        ]
        subtasks.append(Subtask(node.action, tuple(names)))
    return subtasks


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plan=plans(), seed=st.integers(0, 50))
def test_what_is_accepted_executes_and_what_is_not_has_a_prefix_that_does(plan: list[Subtask], seed: int) -> None:
    state = small(seed)
    found = refiner().refine(state, None, plan)
    assert found.status in (PlanningStatus.SOLVED, PlanningStatus.UNREACHABLE)
    assert verify(HOUSEHOLD, state, NOTHING, found.steps).valid
    done = [step.name for step in found.steps if step.name not in implied_parameters(HOUSEHOLD)]
    assert done == [subtask.action for subtask in plan[: found.executed]]
    assert (found.executed == len(plan)) == found.valid
    if found.valid:
        assert check_edges(GRAPH, plan) == []
        assert check_nodes(GRAPH, plan, KnownThings.of(HOUSEHOLD, state)) == []


GOALS = (
    put_goal("Tomato", "Fridge", "sliced"),
    put_goal("Mug", "DiningTable", "cleaned", "hot"),
    nested_goal("Tomato", "Mug", "DiningTable"),
    item_goal("Apple", "examined"),
    item_goal("Tomato", "holding", "cold"),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 1000), goal=st.sampled_from(GOALS))
def test_no_edge_that_an_executable_plan_uses_is_missing(seed: int, goal: Goal) -> None:
    state = small(seed, extra=3)
    found = MemPlan(HOUSEHOLD, ENGINE).plan(state, goal)
    assert found.status is PlanningStatus.SOLVED, found.reason
    subtasks = subtasks_of(HOUSEHOLD, found.steps, labels_of(state))
    assert subtasks and check_edges(GRAPH, subtasks) == []
    assert check_nodes(GRAPH, subtasks, KnownThings.of(HOUSEHOLD, state)) == []
    assert refiner().refine(state, goal, subtasks).valid


@pytest.mark.parametrize("name", ["household", "household+ai2thor_skills", "virtualhome", "alfworld"])
def test_no_edge_that_a_random_walk_uses_is_missing(name: str) -> None:
    from graph_planner_ros.domain.state import applicable_actions, successor

    domain = load_domain(name)
    graph, implied, rng = TaskGraph.of(domain), implied_parameters(domain), random.Random(7)
    labels = [entry.name for entry in domain.classes.values()]
    for _ in range(6):
        objects, atoms = {"start": "place"}, {Atom(domain.location or "", ("start",)), *map(Atom, domain.none_of)}
        fixtures = [label for label in labels if domain.is_a(domain.classes[label].type_name, "fixture")]
        items = [label for label in labels if domain.is_a(domain.classes[label].type_name, "item")]
        places = rng.sample(fixtures, 4)
        for label in (*places, *rng.sample(items, 5)):
            entry = domain.classes[label]
            objects[f"{label}_1"] = entry.type_name
            objects[label] = domain.class_type or ""
            atoms |= {Atom(fact, (f"{label}_1",)) for fact in entry.facts}
            atoms.add(Atom(domain.class_predicate or "", (f"{label}_1", label)))
            if label not in places:
                atoms.add(Atom("in", (f"{label}_1", f"{rng.choice(places)}_1")))
        state, before = SymbolicState(objects, frozenset(atoms)), None
        for _ in range(60):
            action = rng.choice(applicable_actions(domain, state))
            state = successor(domain, state, action)
            if action.name not in implied:
                assert before is None or (before, action.name) in graph.edges, graph.why_not(before, action.name)
                before = action.name
