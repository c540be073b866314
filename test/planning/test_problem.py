"""MemPlan's PDDL problems: what is in them, what is left out, and that nothing is lost by it."""

from __future__ import annotations

import re
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from symbolic_world import World, fixture_goal, item_goal, kitchen, nested_goal, put_goal

from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.domain.names import NameMap
from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction, SymbolicState
from graph_planner_ros.planning.engines import make_engine
from graph_planner_ros.planning.engines.base import EngineResult
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.problem import ANY, build_problem, compile_problem, is_excluded
from graph_planner_ros.planning.relevance import relevance
from graph_planner_ros.planning.result import PlanningStatus
from graph_planner_ros.planning.supposing import Evidence, missing_things
from graph_planner_ros.planning.verifier import verify

DOMAIN = load_domain("household")
ENGINE = make_engine("auto")


def seen(world: World, *things: str) -> SymbolicState:
    """Return the belief after these things (all if none are named) were seen where they are."""
    for thing in sorted(world.truth.objects):
        place = world.place(thing)
        if place is not None and (not things or thing in things):
            world._see(thing, place)
    return world.state()


def missing(state: SymbolicState, goal: Goal) -> dict[str, int]:
    return {item.class_name: item.count for item in missing_things(DOMAIN, state, goal, Evidence())}


def test_placeholders_are_made_for_what_is_missing_and_only_for_that() -> None:
    world = kitchen(DOMAIN, 1, ["Mug"], extra=0)
    assert missing(world.state(), put_goal("Mug", "CounterTop", count=2)) == {"Mug": 2}
    state = seen(world)
    assert missing(state, put_goal("Mug", "CounterTop", count=2)) == {"Mug": 1}
    assert missing(state, put_goal("Mug", "CounterTop")) == {}


def test_a_tool_that_a_relevant_action_needs_is_supposed_too() -> None:
    world = kitchen(DOMAIN, 1, ["Tomato", "Knife"], extra=0)
    goal = item_goal("Tomato", "sliced")
    state = seen(world, "tomato_1")
    cutters = {entry.name for entry in DOMAIN.classes.values() if "cuts" in entry.facts}
    assert set(missing(state, goal)) == cutters
    assert missing(state, item_goal("Tomato", "cold")) == {}
    assert missing(seen(world), goal) == {}


def test_an_errand_that_needs_no_thing_supposes_none() -> None:
    world = kitchen(DOMAIN, 1, [], extra=0)
    assert missing(world.state(), fixture_goal("closed", "Fridge", False)) == {}


def test_only_actions_that_can_help_are_relevant() -> None:
    state = kitchen(DOMAIN, 1, [], extra=0).state()
    found = relevance(DOMAIN, state, put_goal("Tomato", "DiningTable", "cold"))
    assert {"go_to", "find", "open", "pick_up", "put", "cool"} <= found.actions
    assert found.actions.isdisjoint({"slice", "heat", "clean", "toggle_on", "examine", "look", "put_into"})
    assert relevance(DOMAIN, state, fixture_goal("closed", "Fridge", False)).actions <= {"go_to", "open", "close"}


def test_irrelevant_things_are_left_out_and_what_carries_relevant_ones_stays() -> None:
    world = kitchen(DOMAIN, 1, ["Egg", "Bowl", "Apple", "Knife"], extra=0)
    world.move("egg_1", "bowl_1")
    world._see("bowl_1", world.place("bowl_1") or "")
    state = seen(world)
    problem = compile_problem(DOMAIN, state, put_goal("Egg", "DiningTable"), MemPlan(DOMAIN, ENGINE).supposer.suppose(
        state, put_goal("Egg", "DiningTable"), [], Evidence()))  # fmt: skip
    assert "bowl_1" in problem.problem_pddl
    assert "apple_1" not in problem.problem_pddl and "knife_1" not in problem.problem_pddl


def test_candidates_are_priced_and_refuted_ones_excluded_with_the_fact_stated() -> None:
    world = kitchen(DOMAIN, 1, ["Mug"], extra=0)
    planner = MemPlan(DOMAIN, ENGINE)
    planner.negative.refute("Mug", "drawer_1", 0.9, 100.0)
    goal, evidence = put_goal("Mug", "DiningTable"), Evidence(now=100.0)
    things = missing_things(DOMAIN, world.state(), goal, evidence)
    hypotheses = planner.supposer.suppose(world.state(), goal, things, evidence)
    text = build_problem(DOMAIN, world.state(), goal, hypotheses, NameMap(DOMAIN))
    assert "(refuted unseen_mug_1 drawer_1)" in text
    assert "(candidate unseen_mug_1 drawer_1)" not in text
    assert "(candidate unseen_mug_1 drawer_2)" in text
    price = re.search(r"\(= \(check_cost unseen_mug_1 drawer_2\) ([\d.]+)\)", text)
    assert price is not None and 1.0 <= float(price.group(1)) <= 11.0
    assert "desklamp_1)" not in re.findall(r"\(candidate [^)]*\)", text)


def test_a_place_that_was_looked_at_in_vain_is_no_candidate() -> None:
    world = kitchen(DOMAIN, 1, ["Mug"], extra=0)
    state = world.state()
    state = SymbolicState(state.objects, state.atoms | {Atom("observed", ("cabinet_1",))}, state.functions)
    planner = MemPlan(DOMAIN, ENGINE)
    result = planner.plan(state, put_goal("Mug", "DiningTable"), evidence=Evidence(now=5.0))
    assert result.status is PlanningStatus.SOLVED
    assert ("unseen_mug_1", "cabinet_1") in result.hypotheses.refuted


GOALS = (
    put_goal("Tomato", "DiningTable", "cold"),
    put_goal("Apple", "Fridge", "sliced", "cleaned"),
    put_goal("Mug", "CounterTop", count=2),
    nested_goal("Egg", "Bowl", "Fridge"),
    item_goal("Cup", "examined"),
    item_goal("Plate", "-dirty"),
    fixture_goal("switched_on", "Microwave"),
)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(seed=st.integers(0, 10_000), goal=st.sampled_from(GOALS), share=st.floats(0.0, 1.0))
def test_every_plan_that_is_returned_passes_the_verifier(seed: int, goal: Goal, share: float) -> None:
    world = kitchen(DOMAIN, seed, ["Tomato", "Apple", "Mug", "Egg", "Bowl"], extra=2)
    names = [name for name in sorted(world.truth.objects) if world.rng.random() < share]
    state = seen(world, *names, "-")
    result = MemPlan(DOMAIN, ENGINE).plan(state, goal)
    assert result.status in (PlanningStatus.SOLVED, PlanningStatus.ALREADY_SATISFIED), result.reason
    if result.status is PlanningStatus.SOLVED:
        assert verify(DOMAIN, state, goal, result.steps, result.hypotheses).valid
        assert verify(DOMAIN, state, goal, result.steps, result.placeholders).valid
        assert result.cost == pytest.approx(sum(step.cost for step in result.steps))
        assert all(step.text for step in result.steps)


def test_excluded_actions_are_not_planned_and_a_wildcard_stands_for_anything() -> None:
    world = kitchen(DOMAIN, 3, ["Mug", "Mug"], extra=0)
    state = seen(world)
    excluded = (GroundAction("pick_up", ("mug_1", ANY)), GroundAction("go_to", (ANY, "drawer_1")))
    result = MemPlan(DOMAIN, ENGINE).plan(state, put_goal("Mug", "SinkBasin"), excluded=excluded)
    assert result.status is PlanningStatus.SOLVED, result.reason
    assert not any(is_excluded(step.action, excluded) for step in result.steps)


def test_a_thing_in_the_hand_that_is_in_the_way_is_put_down() -> None:
    world = kitchen(DOMAIN, 3, ["Mug", "Apple"], extra=0)
    state = seen(world)
    place = world.place("apple_1") or ""
    atoms = state.atoms - {Atom("hand_empty"), Atom("in", ("apple_1", place))} | {Atom("holding", ("apple_1",))}
    held = SymbolicState(state.objects, frozenset(atoms), state.functions)
    result = MemPlan(DOMAIN, ENGINE).plan(held, item_goal("Mug", "holding"))
    assert result.status is PlanningStatus.SOLVED, result.reason
    assert any(step.action.name in ("put", "put_into") for step in result.steps)


class FixedEngine:
    """Answers whatever it was given."""

    name = "fixed"

    def __init__(self, result: EngineResult) -> None:
        self.result = result

    def solve(
        self,
        domain: str,
        problem: str,
        timeout: float,
        cancel: threading.Event | None = None,
        states: int | None = None,
    ) -> EngineResult:
        return self.result


def test_a_plan_that_cannot_be_executed_is_refused_by_the_verifier() -> None:
    world = kitchen(DOMAIN, 3, ["Mug"], extra=0)
    broken = EngineResult(PlanningStatus.SOLVED, (GroundAction("pick_up", ("mug_1", "drawer_1")),), engine="fixed")
    world.move("mug_1", "drawer_1")
    result = MemPlan(DOMAIN, FixedEngine(broken)).plan(seen(world), item_goal("Mug", "holding"))
    assert result.status is PlanningStatus.REFUSED
    assert "pick_up(mug_1, drawer_1)" in result.reason and "at(drawer_1)" in result.reason


@pytest.mark.parametrize(
    "status", [PlanningStatus.CRASHED, PlanningStatus.TIMED_OUT, PlanningStatus.CANCELLED, PlanningStatus.REFUSED]
)
def test_what_went_wrong_in_an_engine_is_handed_on(status: PlanningStatus) -> None:
    world = kitchen(DOMAIN, 3, ["Mug"], extra=0)
    answer = EngineResult(status, reason="why", engine="fixed", exit_code=-11, stderr="segmentation fault")
    result = MemPlan(DOMAIN, FixedEngine(answer)).plan(world.state(), item_goal("Mug", "holding"))
    assert (result.status, result.reason, result.exit_code, result.stderr) == (status, "why", -11, "segmentation fault")


def test_the_verifier_says_what_is_wrong_and_where() -> None:
    world = kitchen(DOMAIN, 3, ["Mug"], extra=0)
    world.move("mug_1", "countertop_1")
    state = seen(world)
    goal = put_goal("Mug", "DiningTable")
    steps = [GroundAction("go_to", ("start", "countertop_1")), GroundAction("pick_up", ("mug_1", "countertop_1"))]
    short = verify(DOMAIN, state, goal, steps)
    assert not short.valid and not short.goal_reached
    assert "in(Mug, DiningTable)" in short.reason
    wrong = verify(DOMAIN, state, goal, steps[1:])
    assert wrong.steps[0].unmet == ("at(countertop_1)",)
    unknown = verify(DOMAIN, state, goal, [GroundAction("go_to", ("start", "nowhere_1"))])
    assert "nowhere_1" in unknown.reason


def test_instances_with_any_name_can_be_planned_for() -> None:
    world = kitchen(DOMAIN, 3, [], extra=0)
    names = ["Mug (Red)", "café-1", "and", "P1", "p10", "2nd_mug"]
    state = world.state()
    for name in names:
        facts = {Atom("pickupable", (name,)), Atom("instance_of", (name, "Mug")), Atom("in", (name, "countertop_1"))}
        objects = {**state.objects, name: "movable_receptacle"}
        state = SymbolicState(objects, state.atoms | facts, state.functions)
    result = MemPlan(DOMAIN, ENGINE).plan(state, put_goal("Mug", "DiningTable", count=2))
    assert result.status is PlanningStatus.SOLVED
    moved = [step.action.arguments[0] for step in result.steps if step.action.name == "put"]
    assert len(set(moved)) == 2 and set(moved) <= set(names)


def test_a_timeout_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="time-out"):
        MemPlan(DOMAIN, ENGINE, timeout=0.0)
