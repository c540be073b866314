"""The belief as planning facts, and what skills change in it."""

from __future__ import annotations

import numpy as np
import pytest
from rendered_world import box, fixture_map

from graph_planner_ros.domain.domain import Domain, UnknownClassError, load_domain
from graph_planner_ros.domain.symbols import Atom, Goal, GoalLiteral, GoalVariable, GroundAction, Truth
from graph_planner_ros.scene.belief import held, place_relation, set_attribute, set_place
from graph_planner_ros.scene.effects import apply_effects
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.goal_check import goal_is_believed
from graph_planner_ros.scene.graph import EFFECT, ROBOT_ID, Box, Presence, Relation, SceneGraph, SceneNode
from graph_planner_ros.scene.plausibility import implausible
from graph_planner_ros.scene.task_filter import key_objects


@pytest.fixture
def graph() -> SceneGraph:
    """The map with an egg in a bowl and a knife on the counter, and an apple in the cabinet."""
    found = fixture_map()
    for name, label, place, x in (
        ("bowl_1", "Bowl", ("on", "counter_top_1"), 0.0),
        ("egg_1", "Egg", ("in", "bowl_1"), 0.0),
        ("knife_1", "Knife", ("on", "counter_top_1"), 0.2),
        ("apple_1", "Apple", ("in", "cabinet_1"), -0.2),
    ):
        found.nodes[name] = SceneNode(name, label, box(x, 0, 0.95, 0.1, 0.1, 0.1))
        set_place(found, name, place)
    return found


def do(graph: SceneGraph, domain: Domain, action: str, *arguments: str) -> None:
    assert apply_effects(graph, domain, GroundAction(action, arguments), 5.0) is graph


def test_facts_hold_classes_places_and_assumptions(graph: SceneGraph, domain: Domain) -> None:
    state = symbolic_state(graph, domain)
    for atom in (
        Atom("instance_of", ("egg_1", "Egg")),
        Atom("in", ("egg_1", "bowl_1")),
        Atom("in", ("bowl_1", "counter_top_1")),
        Atom("closed", ("cabinet_1",)),
        Atom("hand_empty"),
        Atom("at", ("start",)),
        Atom("cuts", ("knife_1",)),
        Atom("receptacle", ("drawer_1",)),
    ):
        assert atom in state.atoms
    assert Atom("closed", ("counter_top_1",)) not in state.atoms
    assert state.objects["egg_1"] == "item"
    assert state.objects["bowl_1"] == "movable_receptacle"
    assert state.objects["Egg"] == "class"


def test_assumptions_give_way_to_what_is_known(graph: SceneGraph, domain: Domain) -> None:
    set_attribute(graph.nodes["cabinet_1"], "closed", Truth.FALSE)
    assert Atom("closed", ("cabinet_1",)) not in symbolic_state(graph, domain).atoms
    set_attribute(graph.nodes["cabinet_1"], "closed", Truth.UNKNOWN)
    assert Atom("closed", ("cabinet_1",)) in symbolic_state(graph, domain).atoms


@pytest.mark.parametrize("presence", [Presence.STALE, Presence.ABSENT])
def test_what_is_not_present_is_no_fact_nor_what_lies_in_it(
    graph: SceneGraph, domain: Domain, presence: Presence
) -> None:
    graph.nodes["bowl_1"].presence = presence
    assert not {"bowl_1", "egg_1"} & set(symbolic_state(graph, domain).objects)


def test_things_without_a_place_and_rings_are_no_facts(graph: SceneGraph, domain: Domain) -> None:
    graph.nodes["mug_1"] = SceneNode("mug_1", "Mug")
    set_place(graph, "bowl_1", ("in", "egg_1"))
    assert not {"mug_1", "bowl_1", "egg_1"} & set(symbolic_state(graph, domain).objects)


def test_unknown_labels_are_named(graph: SceneGraph, domain: Domain) -> None:
    graph.nodes["x_1"] = SceneNode("x_1", "Hovercraft", source="map")
    set_place(graph, "x_1", ("on", "counter_top_1"))
    with pytest.raises(UnknownClassError, match="Hovercraft"):
        symbolic_state(graph, domain)


@pytest.mark.parametrize(
    ("subject", "predicate", "target"),
    [
        ("robot", "holding", "drawer_1"),
        ("robot", "at", "bowl_1"),
        ("drawer_1", "on", "counter_top_1"),
        ("robot", "holding", "Mug"),
        ("robot", "at", "nobody"),
    ],
)
def test_relations_that_cannot_be_are_no_facts(
    graph: SceneGraph, domain: Domain, subject: str, predicate: str, target: str
) -> None:
    before = symbolic_state(graph, domain)
    graph.relations.append(Relation(subject, predicate, target))
    assert symbolic_state(graph, domain).atoms == before.atoms


@pytest.mark.parametrize("name", ["start", "Mug"])
def test_a_thing_called_like_another_symbol_makes_no_facts_of_the_wrong_type(
    graph: SceneGraph, domain: Domain, name: str
) -> None:
    graph.nodes[name] = SceneNode(name, "Apple")
    set_place(graph, name, ("on", "counter_top_1"))
    state = symbolic_state(graph, domain)
    for atom in state.atoms:
        for argument, parameter in zip(atom.arguments, domain.predicates[atom.predicate].parameters, strict=True):
            assert domain.is_a(state.objects[argument], parameter.type_name), atom


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_fixture_at_no_real_place_leaves_all_distances_finite(
    graph: SceneGraph, domain: Domain, number: float
) -> None:
    graph.nodes["drawer_1"].box = Box(np.full(3, number), np.ones(3))
    assert np.isfinite(list(symbolic_state(graph, domain).functions.values())).all()


def test_distances_are_metres_between_the_places_in_front_of_fixtures(graph: SceneGraph, domain: Domain) -> None:
    functions = symbolic_state(graph, domain).functions
    assert functions[Atom("distance", ("counter_top_1", "drawer_1"))] == pytest.approx(1.3)
    assert functions[Atom("distance", ("drawer_1", "drawer_1"))] == pytest.approx(0.1)
    assert functions[Atom("distance", ("start", "drawer_1"))] > 0.1
    assert Atom("distance", ("drawer_1", "start")) not in functions


def test_picking_up_and_putting_a_bowl_takes_its_content_along(graph: SceneGraph, domain: Domain) -> None:
    do(graph, domain, "pick_up", "bowl_1", "counter_top_1")
    assert held(graph) == ["bowl_1"]
    assert place_relation(graph, "bowl_1") is None
    state = symbolic_state(graph, domain)
    assert Atom("holding", ("bowl_1",)) in state.atoms
    assert Atom("hand_empty") not in state.atoms
    assert Atom("in", ("egg_1", "bowl_1")) in state.atoms
    do(graph, domain, "put", "bowl_1", "cabinet_1")
    relation = place_relation(graph, "bowl_1")
    assert relation is not None
    assert (relation.predicate, relation.object, relation.source, relation.stamp) == ("in", "cabinet_1", EFFECT, 5.0)
    assert held(graph) == []
    assert graph.nodes["bowl_1"].box is None
    assert graph.nodes["egg_1"].box is None


def test_a_thing_put_where_the_gripper_left_it_keeps_its_position(graph: SceneGraph, domain: Domain) -> None:
    do(graph, domain, "pick_up", "apple_1", "cabinet_1")
    graph.nodes["apple_1"].box = box(0.1, 0.3, 0.96, 0.1, 0.1, 0.1)
    do(graph, domain, "put", "apple_1", "counter_top_1")
    kept = graph.nodes["apple_1"].box
    assert kept is not None
    assert np.allclose(kept.center, [0.1, 0.3, 0.96])


def test_attributes_and_the_robots_place_follow_skills(graph: SceneGraph, domain: Domain) -> None:
    do(graph, domain, "go_to", "start", "cabinet_1")
    do(graph, domain, "open", "cabinet_1")
    do(graph, domain, "cool", "apple_1", "cabinet_1")
    do(graph, domain, "go_to", "cabinet_1", "counter_top_1")
    do(graph, domain, "slice", "apple_1", "knife_1", "counter_top_1")
    state = symbolic_state(graph, domain)
    assert [a for a in state.atoms if a.predicate == "at"] == [Atom("at", ("counter_top_1",))]
    assert Atom("closed", ("cabinet_1",)) not in state.atoms
    assert Atom("sliced", ("apple_1",)) in state.atoms
    assert Atom("cold", ("apple_1",)) in state.atoms
    assert graph.nodes["apple_1"].attributes["hot"].value is Truth.FALSE
    assert graph.nodes["apple_1"].attributes["cold"].source == EFFECT


def test_a_find_of_a_placeholder_leaves_only_what_is_real(graph: SceneGraph, domain: Domain) -> None:
    do(graph, domain, "find", "unseen_tomato_1", "cabinet_1")
    assert "unseen_tomato_1" not in graph.nodes
    assert all(relation.subject != "unseen_tomato_1" for relation in graph.relations)
    assert graph.nodes["cabinet_1"].attributes["observed"].value is Truth.TRUE


def test_relations_without_a_predicate_are_no_facts(graph: SceneGraph, domain: Domain) -> None:
    graph.relations.append(Relation("knife_1", "next_to", "bowl_1"))
    assert all(atom.predicate != "next_to" for atom in symbolic_state(graph, domain).atoms)


@pytest.mark.parametrize(
    ("subject", "object_id", "word"),
    [
        ("knife_1", "egg_1", "holds nothing"),
        ("bowl_1", "bowl_1", "itself"),
        ("bowl_1", "egg_1", "own content"),
        ("ghost", "bowl_1", "does not exist"),
        ("cabinet_1", "counter_top_1", "fixture"),
        ("knife_1", "bowl_1", ""),
    ],
)
def test_implausible_relations_say_why(
    graph: SceneGraph, domain: Domain, subject: str, object_id: str, word: str
) -> None:
    reason = implausible(graph, domain, subject, "in", object_id)
    assert word in reason
    assert bool(reason) == bool(word)


def test_nothing_is_seen_inside_what_is_shut(graph: SceneGraph, domain: Domain) -> None:
    set_attribute(graph.nodes["cabinet_1"], "closed", Truth.TRUE)
    assert "shut" in implausible(graph, domain, "knife_1", "in", "cabinet_1")
    assert implausible(graph, domain, "knife_1", "in", "cabinet_1", seen=False) == ""


def test_the_goal_check_and_the_key_objects(graph: SceneGraph, domain: Domain) -> None:
    variables = (GoalVariable("?e", "item", "Egg"), GoalVariable("?b", "movable_receptacle", "Bowl"))
    goal = Goal(variables, (GoalLiteral("in", ("?e", "?b")),))
    assert goal_is_believed(graph, goal, domain)
    wanted = key_objects(graph, goal, domain)
    assert {"egg_1", "bowl_1", "counter_top_1", "knife_1"} <= wanted
    assert "apple_1" not in wanted
    set_place(graph, "egg_1", ("on", "counter_top_1"))
    assert not goal_is_believed(graph, goal, domain)


def test_another_domain_reads_its_own_facts() -> None:
    from pathlib import Path

    other = load_domain(Path(__file__).parents[1] / "fixtures" / "domains" / "greenhouse")
    graph = SceneGraph(domain=other.name)
    for index, (label, entry) in enumerate(other.classes.items()):
        if other.hypotheses is None or not other.is_a(entry.type_name, other.hypotheses.item_type):
            graph.nodes[f"place_{index}"] = SceneNode(f"place_{index}", label, box(index, 0, 0, 1, 1, 1), source="map")
    state = symbolic_state(graph, other)
    assert set(graph.nodes) <= set(state.objects)
    assert ROBOT_ID not in state.objects


def test_what_an_action_needs_and_leaves_alone_holds_after_it_whatever_was_believed_meanwhile(
    graph: SceneGraph, domain: Domain
) -> None:
    do(graph, domain, "go_to", "start", "cabinet_1")
    do(graph, domain, "open", "cabinet_1")
    do(graph, domain, "pick_up", "apple_1", "cabinet_1")
    # The skill lets go of the apple in the cabinet, shuts it, opens it and takes the apple again.
    graph.relations = [r for r in graph.relations if r.predicate != "holding"]
    set_attribute(graph.nodes["cabinet_1"], "closed", Truth.TRUE, EFFECT, 4.0)
    graph.nodes["apple_1"].presence = Presence.ABSENT
    do(graph, domain, "cool", "apple_1", "cabinet_1")
    state = symbolic_state(graph, domain)
    assert held(graph) == ["apple_1"]
    assert {Atom("holding", ("apple_1",)), Atom("at", ("cabinet_1",)), Atom("cold", ("apple_1",))} <= state.atoms
    assert Atom("closed", ("cabinet_1",)) not in state.atoms
