"""What is told in words becomes relations and attributes of the same belief that a camera writes."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.symbols import Atom, GroundAction, Truth
from graph_planner_ros.scene.belief import held, place_relation, place_relations
from graph_planner_ros.scene.effects import apply_effects
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import Presence, SceneGraph
from graph_planner_ros.scene.told import TEXT, Untold, tell

OBJECTS = {"fridge 1": "Fridge", "table 1": "DiningTable", "egg 1": "Egg", "egg 2": "Egg", "mug 1": "Mug"}


@dataclass(frozen=True)
class Fact:
    atom: Atom
    positive: bool = True
    score: float = 1.0


def fact(text: str) -> Fact:
    """Read ``in(egg 1, fridge 1)`` or ``not closed(fridge 1)``."""
    positive = not text.startswith("not ")
    predicate, _, rest = text.removeprefix("not ").partition("(")
    return Fact(Atom(predicate, tuple(filter(None, rest.rstrip(")").split(", ")))), positive)


@pytest.fixture(scope="module")
def household() -> Domain:
    return load_domain("household")


class Teller:
    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.graph = SceneGraph(domain=domain.name)
        self.step = 0.0

    def __call__(self, *texts: str, complete: tuple[str, ...] = (), places: tuple[str, ...] = ()) -> list[Untold]:
        self.step += 1.0
        facts = [fact(text) for text in texts]
        return tell(self.graph, self.domain, facts, OBJECTS, self.step, complete=complete, complete_places=places)

    @property
    def atoms(self) -> set[str]:
        return {str(atom) for atom in symbolic_state(self.graph, self.domain).atoms}


@pytest.fixture
def told(household: Domain) -> Teller:
    return Teller(household)


def test_relations_and_attributes_are_read_back_as_the_facts_that_were_told(told: Teller) -> None:
    said = ("at(fridge 1)", "in(egg 1, fridge 1)", "not closed(fridge 1)", "observed(fridge 1)", "holding(mug 1)")
    assert told(*said) == []
    assert {text for text in said if not text.startswith("not")} <= told.atoms
    assert "closed(fridge 1)" not in told.atoms
    assert "hand_empty()" not in told.atoms
    relation = place_relation(told.graph, "egg 1")
    assert relation is not None
    assert (relation.predicate, relation.source, relation.stamp) == ("in", TEXT, 1.0)


def test_the_relation_fits_the_place(told: Teller) -> None:
    told("in(egg 1, fridge 1)", "in(egg 2, table 1)")
    found = [place_relation(told.graph, name) for name in ("egg 1", "egg 2")]
    assert [relation.predicate for relation in found if relation] == ["in", "on"]


def test_nodes_are_made_when_first_named(told: Teller) -> None:
    told()
    assert {name: node.label for name, node in told.graph.nodes.items()} == OBJECTS
    assert {"closed(fridge 1)", "instance_of(table 1, DiningTable)"} <= told.atoms, "places are known, assumptions hold"
    assert not any("egg 1" in atom for atom in told.atoms), "a thing that is nowhere is no fact"


def test_a_thing_is_in_one_place_or_in_the_hand(told: Teller) -> None:
    told("in(egg 1, fridge 1)")
    told("in(egg 1, table 1)")
    assert "in(egg 1, fridge 1)" not in told.atoms
    told("holding(egg 1)")
    assert held(told.graph) == ["egg 1"] and place_relation(told.graph, "egg 1") is None
    told("in(egg 1, fridge 1)")
    assert held(told.graph) == []
    assert {"hand_empty()", "in(egg 1, fridge 1)"} <= told.atoms


def test_the_robot_is_in_one_place(told: Teller) -> None:
    told("at(fridge 1)")
    told("at(table 1)")
    assert {text for text in told.atoms if text.startswith("at(")} == {"at(table 1)"}


def test_a_complete_place_holds_nothing_else(told: Teller) -> None:
    told("in(egg 1, fridge 1)", "in(egg 2, fridge 1)", "in(mug 1, table 1)")
    told("in(egg 2, fridge 1)", places=("fridge 1",))
    assert {"in(egg 2, fridge 1)", "in(mug 1, table 1)"} <= told.atoms
    assert told.graph.nodes["egg 1"].presence is Presence.ABSENT
    assert told.graph.nodes["egg 2"].presence is Presence.PRESENT


def test_what_a_complete_predicate_does_not_list_is_false(told: Teller) -> None:
    told("holding(egg 1)", "hot(egg 1)", "hot(egg 2)", "in(egg 2, table 1)")
    told("hot(egg 2)", complete=("holding", "hot"))
    assert held(told.graph) == []
    assert told.graph.nodes["egg 1"].attributes["hot"].value is Truth.FALSE
    assert {"hot(egg 2)", "hand_empty()"} <= told.atoms
    assert told.graph.nodes["mug 1"].attributes["hot"].value is Truth.FALSE, "of everything that can be hot"


def test_what_is_denied_is_false(told: Teller) -> None:
    told("in(egg 1, fridge 1)", "closed(fridge 1)")
    told("not in(egg 1, fridge 1)", "not closed(fridge 1)")
    assert told.atoms.isdisjoint({"in(egg 1, fridge 1)", "closed(fridge 1)"})
    assert told.graph.nodes["fridge 1"].attributes["closed"].value is Truth.FALSE


def test_an_empty_hand_is_told_by_the_predicate_that_stands_for_it(told: Teller) -> None:
    told("holding(egg 1)")
    assert told("hand_empty()") == []
    assert held(told.graph) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("in(egg 9, fridge 1)", "nothing called 'egg 9'"),
        ("in(fridge 1, table 1)", "fridge 1 is a Fridge"),
        ("flies(egg 1)", "no such predicate"),
        ("in(egg 1)", "no such predicate"),
        ("heats(table 1)", "goes by the class"),
        ("candidate(egg 1, fridge 1)", "no relation and no attribute"),
        ("not cools(fridge 1)", "goes by the class"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(told: Teller, text: str, reason: str) -> None:
    (refused,) = told(text)
    assert (refused.what, reason in refused.reason) == (text, True)
    assert text not in told.atoms


def test_classes_that_the_domain_lacks_and_names_that_change_class_are_refused(household: Domain) -> None:
    graph = SceneGraph()
    assert [item.what for item in tell(graph, household, [], {"gizmo 1": "Gizmo", "robot": "Egg"}, 1.0)] == [
        "gizmo 1",
        "robot",
    ]
    assert tell(graph, household, [], {"egg 1": "Egg"}, 2.0) == []
    (refused,) = tell(graph, household, [], {"egg 1": "Mug"}, 3.0)
    assert refused.reason == "it is a Egg, not a Mug"
    assert graph.nodes["egg 1"].label == "Egg"


def test_time_never_goes_back(told: Teller) -> None:
    told("in(egg 1, fridge 1)")
    tell(told.graph, told.domain, [], {}, 0.5)
    assert told.graph.stamp == 1.0


def test_effects_and_told_facts_meet_in_one_belief(told: Teller, household: Domain) -> None:
    told("at(fridge 1)", "in(egg 1, fridge 1)", "not closed(fridge 1)")
    apply_effects(told.graph, household, GroundAction("pick_up", ("egg 1", "fridge 1")), 1.5)
    assert held(told.graph) == ["egg 1"]
    told("in(egg 1, fridge 1)")
    assert held(told.graph) == []


def test_relations_of_place_are_those_of_the_domain(household: Domain) -> None:
    assert set(place_relations(household)) == {"on", "in"}
    assert place_relations(load_domain("alfworld")) == ("in",)
