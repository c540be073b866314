"""Meals in kitchens where things are in each other's way: what is needed later is not used up to make room."""

from __future__ import annotations

import pytest

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Atom, SymbolicState
from graph_planner_ros.language.interface import Context
from graph_planner_ros.language.rules import Language, load_language
from graph_planner_ros.planning.engines import make_engine
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.result import PlanningResult, PlanningStatus

ABLE = {
    "tomato": ("iscuttable",), "onion": ("iscuttable", "isfryableifcut"), "lettuce": ("iscuttable",),
    "potato": ("iscuttable", "isfryableifcut"), "chicken": ("iscookable", "isfryable"), "patty": ("iscookable",),
}  # fmt: skip
SMALL = {
    "board1": "bowl1", "sink1": "pot1", "stove1": "bread3", "table2": "tomato1", "table3": "", "table4": "onion1",
    "table5": "bread2",
}  # fmt: skip
LARGE = {
    "board1": "bowl1", "sink1": "pot1", "stove1": "chicken1", "table1": "bread1", "table2": "tomato1", "table3": "",
    "table4": "onion1", "table5": "bread2", "table6": "bread3", "table7": "bread4", "table8": "chicken2",
}  # fmt: skip
SOUP = "Make soup with a cut tomato and cut onion served into a bowl on a table"


@pytest.fixture(scope="module")
def language() -> Language:
    return load_language("robotouille")


def kitchen(domain: Domain, robot: str, stations: dict[str, str]) -> SymbolicState:
    """Return a kitchen: station -> what is on it. The robot is at one and holds nothing."""
    atoms: set[Atom] = set()
    objects: dict[str, str] = dict.fromkeys(domain.classes, "class")

    def add(name: str, *facts: str) -> str:
        label = name.rstrip("0123456789")
        entry = domain.classes[label]
        objects[name] = entry.type_name
        atoms.add(Atom("instance_of", (name, label)))
        atoms.update(Atom(fact, (name,)) for fact in (*entry.facts, *ABLE.get(label, ()), *facts))
        return entry.type_name

    add("robot1", "nothing")
    atoms.add(Atom("loc", ("robot1", robot)))
    for station, thing in stations.items():
        add(station, *([] if station == robot else ["vacant"]), *([] if thing else ["station_empty"]))
        if thing and add(thing) == "container":
            atoms |= {Atom("container_at", (thing, station)), Atom("container_empty", (thing,))}
        elif thing:
            atoms |= {Atom("item_at", (thing, station)), Atom("item_on", (thing, station)), Atom("clear", (thing,))}
    return SymbolicState(objects, frozenset(atoms))


def plan(language: Language, stations: dict[str, str], text: str) -> PlanningResult:
    state = kitchen(language.domain, "table2", stations)
    things = {name: name.rstrip("0123456789") for name, of in state.objects.items() if of != "class"}
    (goal,) = language.parser.goals(text, Context(things))
    return MemPlan(language.domain, make_engine("mimir"), timeout=600.0).plan(state, goal)


def added(result: PlanningResult) -> list[str]:
    return sorted(step.action.arguments[1] for step in result.steps if step.action.name == "add-to")


def test_nothing_is_thrown_into_the_soup_to_be_rid_of_it(language: Language) -> None:
    result = plan(language, SMALL, SOUP)
    assert result.status is PlanningStatus.SOLVED and not result.by_clock
    assert added(result) == ["onion1", "tomato1"]


def test_what_comes_later_is_not_used_up_to_make_room_for_what_comes_first(language: Language) -> None:
    result = plan(language, LARGE, f"{SOUP} and two chicken sandwiches on other tables.")
    assert result.status is PlanningStatus.SOLVED and not result.by_clock, result.reason
    assert added(result) == ["onion1", "tomato1"]
    assert result.cost <= 1.5 * 68
