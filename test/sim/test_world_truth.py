"""Ground truth: what evaluation sees of the world."""

from __future__ import annotations

import math

import numpy as np
import pytest
from stand_in import StandIn

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.symbols import Atom, Truth
from graph_planner_ros.scene.graph import GROUND_TRUTH, Box
from graph_planner_ros.sim.truth import contains
from graph_planner_ros.sim.world import KitchenWorld


@pytest.fixture(scope="module")
def domain() -> Domain:
    return load_domain("household")


@pytest.fixture
def world() -> KitchenWorld:
    world = KitchenWorld("l_shape", 3, robot=False)
    world.robot = StandIn()
    return world


def test_the_graph_has_everything_with_attributes_that_the_domain_knows(world: KitchenWorld, domain: Domain) -> None:
    graph = world.truth_graph(domain)
    assert set(graph.nodes) == set(world.fixtures) | set(world.items)
    assert graph.nodes["fridge_1"].attributes["closed"].value is Truth.TRUE
    assert "closed" not in graph.nodes["counter_top_1"].attributes
    assert graph.nodes["microwave_1"].attributes["switched_on"].value is Truth.FALSE
    for node in graph.nodes.values():
        assert set(node.attributes) <= set(domain.attributes)
        assert all(attribute.source == GROUND_TRUTH for attribute in node.attributes.values())
        assert node.box is not None


def test_every_item_is_in_exactly_one_thing(world: KitchenWorld, domain: Domain) -> None:
    graph = world.truth_graph(domain)
    subjects = [relation.subject for relation in graph.relations if relation.predicate in ("in", "on")]
    assert sorted(subjects) == sorted(world.items)


def test_what_is_held_is_in_nothing(world: KitchenWorld, domain: Domain) -> None:
    assert isinstance(world.robot, StandIn)
    world.robot.held_body = "mug_1"
    state = world.truth_state(domain)
    assert Atom("holding", ("mug_1",)) in state.atoms
    assert not any(atom.predicate == "in" and atom.arguments[0] == "mug_1" for atom in state.atoms)
    assert Atom("hand_empty") not in state.atoms


def test_the_state_says_what_is_where_and_how_it_is(world: KitchenWorld, domain: Domain) -> None:
    world.slice_item("bread_1")
    world.set_door("fridge_1", 1.0)
    world.switch("stove_burner_1", True)
    world.properties["egg_1"].hot = True
    world.properties["egg_1"].cold = False
    state = world.truth_state(domain)
    assert Atom("in", ("pot_1", "stove_burner_1")) in state.atoms
    assert Atom("sliced", ("bread_1",)) in state.atoms
    assert Atom("closed", ("fridge_1",)) not in state.atoms
    assert Atom("closed", ("cabinet_1",)) in state.atoms
    assert Atom("switched_on", ("stove_burner_1",)) in state.atoms
    assert Atom("hot", ("egg_1",)) in state.atoms
    assert Atom("hand_empty") in state.atoms


def test_a_thing_in_a_bowl_is_in_the_bowl_and_not_on_the_counter(world: KitchenWorld, domain: Domain) -> None:
    inner = world.inner_volume("bowl_1")
    assert inner is not None
    world.set_item_pose("egg_2", inner.center + np.array([0, 0, 0.01]), 0.0)
    world.step(200)
    places = {
        atom.arguments[1]
        for atom in world.truth_state(domain).atoms
        if atom.predicate == "in" and atom.arguments[0] == "egg_2"
    }
    assert places == {"bowl_1"}


def test_the_robot_is_at_the_fixture_that_it_faces_from_near(world: KitchenWorld, domain: Domain) -> None:
    info = world.fixtures["sink_basin_1"]
    front = np.array([math.cos(info.front), math.sin(info.front)])
    assert isinstance(world.robot, StandIn)

    def places() -> list[str]:
        return [relation.object for relation in world.truth_graph(domain).relations if relation.predicate == "at"]

    spot = info.box.center[:2] + front * (info.box.extent[0] / 2 + 0.4)
    world.robot.pose = (*spot, info.front + math.pi)
    assert places() == ["sink_basin_1"]
    world.robot.pose = (*spot, info.front)
    assert places() == []
    world.robot.pose = (*(spot + 1.5 * front), info.front + math.pi)
    assert places() == []


def test_a_box_contains_points_in_its_own_axes() -> None:
    box = Box(np.array([1.0, 2.0, 0.5]), np.array([2.0, 0.4, 1.0]), math.pi / 2)
    assert contains(box, np.array([1.0, 2.9, 0.5]))
    assert not contains(box, np.array([1.9, 2.0, 0.5]))
    assert contains(box, np.array([1.22, 2.0, 0.5]), margin=0.05)
