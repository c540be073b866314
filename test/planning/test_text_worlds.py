"""Planning where every command costs the same: staying is free, and prices of hypotheses decide between places."""

from __future__ import annotations

import random

import pytest

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.symbols import Atom, Goal, GoalLiteral, GoalVariable, SymbolicState
from graph_planner_ros.planning.engines import make_engine
from graph_planner_ros.planning.engines.base import Engine, EngineMissingError
from graph_planner_ros.planning.hypotheses import achieving_cost, find_needs
from graph_planner_ros.planning.memory import PositiveMemory
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.result import PlanningStatus
from graph_planner_ros.planning.supposing import Evidence

PRICE = 8.0
"""Of a command in this domain."""


@pytest.fixture(scope="module")
def domain() -> Domain:
    return load_domain("alfworld")


@pytest.fixture(scope="module")
def engine() -> Engine:
    try:
        return make_engine("mimir")
    except EngineMissingError as error:
        pytest.skip(str(error))


class Priced(PositiveMemory):
    """A memory with given prices."""

    prices: dict[str, float]

    def costs(self, goal_text: str, label: str, places: object, hints: object = None) -> dict[str, float]:
        return {place: self.prices[place] for place in places}  # type: ignore[attr-defined]


def goal(thing: str, place: str) -> Goal:
    variables = (GoalVariable("?x", "item", thing), GoalVariable("?r", "fixture", place))
    return Goal(variables, (GoalLiteral("in", ("?x", "?r")),))


def kitchen(here: str, cabinets: int, shut: set[str], domain: Domain) -> SymbolicState:
    places = ["countertop 1", *(f"cabinet {number}" for number in range(1, cabinets + 1))]
    atoms = {Atom("at", (here,)), Atom("hand_empty")}
    for place in places:
        label = "Cabinet" if place.startswith("cabinet") else "CounterTop"
        atoms |= {Atom("instance_of", (place, label)), *(Atom(fact, (place,)) for fact in domain.classes[label].facts)}
        if place in shut:
            atoms.add(Atom("closed", (place,)))
    objects = dict.fromkeys(places, "fixture") | {"start": "place", "Cabinet": "class", "CounterTop": "class"}
    return SymbolicState(objects, frozenset(atoms))


@pytest.mark.parametrize("seed", range(40))
def test_the_cheapest_place_is_looked_into_ways_doors_and_prices_taken_together(
    seed: int, domain: Domain, engine: Engine
) -> None:
    rng = random.Random(seed)
    cabinets = [f"cabinet {number}" for number in range(1, rng.randint(2, 7))]
    shut = {name for name in cabinets if rng.random() < 0.6}
    here = rng.choice(["start", "countertop 1", *cabinets])
    memory = Priced(domain)
    memory.prices = {name: rng.choice([1.0, 4.0, 11.0, rng.uniform(1, 11)]) for name in [*cabinets, "countertop 1"]}
    state = kitchen(here, len(cabinets), shut, domain)

    def total(place: str) -> float:
        commands = (place != here) + (place in shut) + 3  # take, go back, put
        return commands * PRICE + memory.prices[place]

    for beam in (1, 3, 20):
        planner = MemPlan(domain, engine, memory, beam=beam)
        result = planner.plan(state, goal("Egg", "CounterTop"))
        assert result.status is PlanningStatus.SOLVED
        if beam > 1 or len(cabinets) <= 2:
            assert result.cost == pytest.approx(min(map(total, cabinets)), abs=0.01)


def test_a_place_of_which_nothing_is_said_can_be_a_goal(domain: Domain, engine: Engine) -> None:
    state = kitchen("start", 2, {"cabinet 1"}, domain)
    for name in ("countertop 1", "cabinet 1", "cabinet 2"):
        result = MemPlan(domain, engine).plan(state, Goal((), (GoalLiteral("observed", (name,)),)))
        assert result.status is PlanningStatus.SOLVED, result.reason
        assert result.steps[-1].action.arguments == (name,)


def test_what_is_to_be_put_somewhere_is_supposed_there_only_if_there_is_no_other_place(
    domain: Domain, engine: Engine
) -> None:
    planner = MemPlan(domain, engine)
    state = kitchen("start", 1, set(), domain)
    places = {place for _, place in planner.plan(state, goal("Egg", "CounterTop")).hypotheses.candidates}
    assert places == {"cabinet 1"}
    planner.negative.refute("Egg", "cabinet 1", 0.9, 0.0)
    places = {place for _, place in planner.plan(state, goal("Egg", "CounterTop")).hypotheses.candidates}
    assert places == {"countertop 1"}


def test_what_was_lost_where_it_is_to_be_put_is_looked_for_there(domain: Domain, engine: Engine) -> None:
    evidence = Evidence(lost={"Egg": frozenset({"countertop 1"})})
    state = kitchen("start", 2, set(), domain)
    result = MemPlan(domain, engine).plan(state, goal("Egg", "CounterTop"), evidence=evidence)
    assert [step.action.name for step in result.steps] == ["go_to", "find"]


def test_what_it_takes_to_look_into_a_place_is_read_from_the_domain(domain: Domain) -> None:
    assert find_needs(domain) == (("closed", False),)
    assert achieving_cost(domain, "closed", False) == PRICE
    assert achieving_cost(domain, "pickupable", True) == 0.0
    assert find_needs(load_domain("household")) == (("closed", False),)


def test_a_beam_of_nothing_is_refused(domain: Domain, engine: Engine) -> None:
    with pytest.raises(ValueError, match="beam"):
        MemPlan(domain, engine, beam=0)
