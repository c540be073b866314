"""Scene graphs from elsewhere: what the domain does not know is left out by name, the rest is kept."""

from __future__ import annotations

import pytest
from rendered_world import box, fixture_map

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.symbols import GroundAction, Truth
from graph_planner_ros.scene.admission import NAMED, known_part, summary
from graph_planner_ros.scene.effects import apply_effects
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import ROBOT_ID, Attribute, Relation, SceneGraph, SceneNode


def foreign() -> SceneGraph:
    graph = fixture_map()
    graph.domain = "household"
    graph.nodes["mug_1"] = SceneNode("mug_1", "Mug", box(0.1, 0.2, 1, 0.1, 0.1, 0.1))
    graph.relations.append(Relation("mug_1", "on", "counter_top_1", stamp=2.0))
    return graph


def test_a_graph_of_the_domain_is_taken_as_it_is(domain: Domain) -> None:
    graph = foreign()
    assert known_part(graph, domain) == (graph, [])


def test_a_class_that_the_domain_does_not_know_is_left_out_with_its_relations(domain: Domain) -> None:
    graph = foreign()
    graph.nodes["ufo"] = SceneNode("ufo", "Spaceship", box(0, 0, 1, 1, 1, 1))
    graph.relations += [Relation("ufo", "on", "counter_top_1"), Relation(ROBOT_ID, "holding", "ufo")]
    known, left_out = known_part(graph, domain)
    assert "ufo" not in known.nodes and "mug_1" in known.nodes
    assert not [r for r in known.relations if "ufo" in (r.subject, r.object)]
    assert "'ufo'" in left_out[0] and "'Spaceship'" in left_out[0]
    assert symbolic_state(known, domain) == symbolic_state(foreign(), domain)


@pytest.mark.parametrize(
    ("relation", "word"),
    [
        (Relation("mug_1", "orbits", "counter_top_1"), "orbits"),
        (Relation("mug_1", "in", "nowhere"), "nowhere"),
        (Relation("ghost", "on", "counter_top_1"), "ghost"),
        (Relation("mug_1", "next_to", "mug_1"), "itself"),
        (Relation("mug_1", "in", "cabinet_1", stamp=1.0), "one place"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.predicate,
)
def test_a_relation_that_cannot_be_is_left_out_by_name(domain: Domain, relation: Relation, word: str) -> None:
    graph = foreign()
    graph.relations.insert(0, relation)
    known, left_out = known_part(graph, domain)
    assert relation not in known.relations and len(left_out) == 1
    assert word in left_out[0] and relation.subject in left_out[0]
    assert symbolic_state(known, domain) == symbolic_state(foreign(), domain)
    apply_effects(known, domain, GroundAction("pick_up", ("mug_1", "counter_top_1")), 3.0)


def test_the_newest_of_several_places_is_kept(domain: Domain) -> None:
    graph = foreign()
    newest = Relation("mug_1", "in", "cabinet_1", stamp=9.0)
    graph.relations.append(newest)
    assert [r for r in known_part(graph, domain)[0].relations if r.subject == "mug_1"] == [newest]


def test_an_attribute_that_nobody_knows_is_left_out_by_name(domain: Domain) -> None:
    graph = foreign()
    graph.nodes["mug_1"].attributes = {name: Attribute(name, Truth.TRUE) for name in ("haunted", "dirty")}
    known, left_out = known_part(graph, domain)
    assert set(known.nodes["mug_1"].attributes) == {"dirty"}
    assert "haunted" in left_out[0] and "mug_1" in left_out[0]
    assert set(graph.nodes["mug_1"].attributes) == {"haunted", "dirty"}, "what was given is not changed"


def test_a_thing_with_the_name_of_the_robot_is_left_out(domain: Domain) -> None:
    graph = foreign()
    graph.nodes[ROBOT_ID] = SceneNode(ROBOT_ID, "Mug")
    graph.relations.append(Relation(ROBOT_ID, "at", "counter_top_1"))
    known, left_out = known_part(graph, domain)
    assert ROBOT_ID not in known.nodes and len(left_out) == 1
    assert any(r.subject == ROBOT_ID for r in known.relations), "what is said of the robot itself stays"


def test_a_summary_names_the_first_and_counts_the_rest() -> None:
    assert summary([]) == "" and summary(["a", "b"]) == "a; b"
    text = summary([str(n) for n in range(NAMED + 3)])
    assert text.startswith("0; 1") and text.endswith("and 3 more")


def test_what_a_domain_says_of_a_thing_and_itself_is_kept() -> None:
    """A room that nobody has seen is looked into from itself."""
    house = load_domain("textworld")
    room = SceneNode("beyond Hall north", "Unexplored")
    graph = SceneGraph(domain="textworld", nodes={room.instance_id: room})
    graph.relations = [
        Relation(room.instance_id, "part_of", room.instance_id),
        Relation(room.instance_id, "in", room.instance_id),
    ]
    known, left_out = known_part(graph, house)
    assert [relation.predicate for relation in known.relations] == ["part_of"]
    assert len(left_out) == 1 and "itself" in left_out[0]
