"""The running episode as a graph: what is a loop, what is not, and that its name is right."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from episodes import act, later, scene_of
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.memory.state_graph import Loop, StateGraph
from graph_planner_ros.memory.triple_encoder import TripleBagEncoder
from graph_planner_ros.scene.graph import Presence, Relation, SceneGraph

ENCODER = TripleBagEncoder()
FIXTURES = ("CounterTop", "Fridge", "Shelf", "DiningTable", "Cabinet", "Drawer")
KITCHEN = scene_of(
    {f"place_{n}": label for n, label in enumerate(FIXTURES)} | {"tomato_1": "Tomato", "mug_1": "Mug"},
    {"tomato_1": "place_0", "mug_1": "place_2"},
    at="place_0",
)


def watch(graph: StateGraph, scene: SceneGraph) -> Loop | None:
    return graph.observe(ENCODER.encode([scene])[0], scene)


def run(graph: StateGraph, domain: Domain, scene: SceneGraph, actions: list[GroundAction]) -> list[Loop | None]:
    """Observe, act, and so on; return what each observation after an action reports."""
    found = []
    watch(graph, scene)
    for action in actions:
        graph.acted(action)
        scene = later(domain, scene, action)
        found.append(watch(graph, scene))
    return found


def moves(*stops: int) -> list[GroundAction]:
    return [act("go_to", f"place_{a}", f"place_{b}") for a, b in pairwise(stops)]


@pytest.mark.parametrize("length", range(2, 7))
def test_a_cycle_is_found_when_it_closes_and_named_by_its_actions(household: Domain, length: int) -> None:
    cycle = moves(*range(length), 0)
    found = run(StateGraph(household), household, KITCHEN, cycle)
    assert found[:-1] == [None] * (length - 1)
    assert found[-1] is not None and list(found[-1].actions) == cycle and found[-1].turns == 1


def test_an_action_that_changes_nothing_is_a_cycle_of_one(household: Domain) -> None:
    graph = StateGraph(household)
    watch(graph, KITCHEN)
    graph.acted(act("open", "place_1"))
    loop = watch(graph, later(household, KITCHEN, None))
    assert loop is not None and loop.actions == (act("open", "place_1"),)
    assert str(loop) == "open(place_1)"


def test_the_second_turn_is_counted(household: Domain) -> None:
    found = run(StateGraph(household), household, KITCHEN, moves(0, 1, 0, 1, 0))
    assert [loop.turns if loop else 0 for loop in found] == [0, 1, 1, 2]


def test_a_small_change_is_no_loop_however_near_the_embedding(household: Domain) -> None:
    graph = StateGraph(household, loop_threshold=2.0)
    actions = [act("pick_up", "tomato_1", "place_0"), *moves(0, 3), act("put", "tomato_1", "place_3")]
    assert run(graph, household, KITCHEN, actions) == [None] * 3


def test_walking_to_and_fro_is_no_loop_while_something_new_is_seen(household: Domain) -> None:
    graph = StateGraph(household)
    watch(graph, KITCHEN)
    graph.acted(act("go_to", "place_0", "place_3"))
    there = later(household, KITCHEN, act("go_to", "place_0", "place_3"))
    there.nodes["knife_1"] = scene_of({"knife_1": "Knife"}).nodes["knife_1"]
    there.relations.extend(scene_of({"knife_1": "Knife"}, {"knife_1": "place_3"}).relations)
    assert watch(graph, there) is None
    graph.acted(act("go_to", "place_3", "place_0"))
    assert watch(graph, later(household, there, act("go_to", "place_3", "place_0"))) is None


def test_a_thing_that_is_in_doubt_for_a_moment_does_not_hide_a_loop(household: Domain) -> None:
    graph = StateGraph(household)
    watch(graph, KITCHEN)
    for action in moves(0, 1, 0):
        graph.acted(action)
        scene = later(household, KITCHEN, None)
        scene.relations = [r for r in scene.relations if r.predicate != "at"]
        scene.relations.extend(scene_of({}, at=action.arguments[1]).relations)
        scene.nodes["mug_1"].presence = Presence.STALE
        scene.relations = [r for r in scene.relations if r.subject != "mug_1"]
        loop = watch(graph, scene)
    assert loop is not None and list(loop.actions) == moves(0, 1, 0)


def test_another_look_without_an_action_is_no_loop(household: Domain) -> None:
    graph = StateGraph(household)
    assert [watch(graph, KITCHEN) for _ in range(3)] == [None] * 3
    assert len(graph.nodes) == 1 and not graph.edges


def test_what_the_domain_says_takes_several_actions_is_progress_until_then(robotouille: Domain) -> None:
    scene = scene_of({"robot1": "robot", "board1": "board", "lettuce1": "lettuce"})
    cut = act("cut-unless-isfryableifcut", "board1", "lettuce1", "robot1")
    graph = StateGraph(robotouille)
    found = run_without_effects(graph, scene, [cut] * 5)
    assert found[:3] == [None] * 3
    assert [loop.actions if loop else None for loop in found[3:]] == [(cut,)] * 2


def test_waiting_for_what_goes_on_is_progress_until_it_must_be_over(robotouille: Domain) -> None:
    scene = scene_of({"robot1": "robot", "stove1": "stove", "patty1": "patty", "table1": "table"})
    start, wait = act("cook", "stove1", "patty1", "robot1"), act("cook-done", "patty1", "stove1")
    steps = next(delay.steps for delay in robotouille.delays.values() if delay.start == "cook")
    found = run_without_effects(StateGraph(robotouille), scene, [start] + [wait] * (steps + 2))
    assert found[: steps - 1] == [None] * (steps - 1)
    graph = StateGraph(robotouille)
    run_without_effects(graph, scene, [start])
    assert graph.waiting == steps - 1
    assert found[-1] is not None and found[-1].actions == (wait,)


@pytest.mark.parametrize("length", range(1, 7))
@pytest.mark.parametrize("waited", range(3))
def test_going_round_without_waiting_is_a_loop_while_something_goes_on(
    robotouille: Domain, length: int, waited: int
) -> None:
    tables = {f"table{number}": "table" for number in range(7)}
    things = {"robot1": "robot", "stove1": "stove", "patty1": "patty", "fryer1": "fryer", "potato1": "potato", **tables}
    start, wait = act("cook", "stove1", "patty1", "robot1"), act("cook-done", "patty1", "stove1")
    graph = StateGraph(robotouille)

    def scene_at(place: int) -> SceneGraph:
        scene = scene_of(things, {"patty1": "stove1"})
        scene.relations.append(Relation("robot1", "loc", f"table{place}"))
        return scene

    watch(graph, scene_at(0))
    for action in (start, *[wait] * waited):
        graph.acted(action)
        assert watch(graph, scene_at(0)) is None  # what was begun, and waiting for it, is no loop
    cycle = [act("move", "robot1", f"table{n}", f"table{(n + 1) % length}") for n in range(length)]
    for number, action in enumerate(cycle):
        graph.acted(action)
        found = watch(graph, scene_at((number + 1) % length))
        assert (found is not None) == (number == length - 1)
    assert found is not None and found.actions == tuple(cycle)
    graph.acted(act("fry", "fryer1", "potato1", "robot1"))
    assert watch(graph, scene_at(0)) is None  # that something else was begun is progress though no fact shows it


def run_without_effects(graph: StateGraph, scene: SceneGraph, actions: list[GroundAction]) -> list[Loop | None]:
    watch(graph, scene)
    found = []
    for action in actions:
        graph.acted(action)
        found.append(watch(graph, scene))
    return found


def test_without_scenes_only_the_same_embedding_is_the_same_situation() -> None:
    graph = StateGraph()
    first, near = np.array([1.0, 0.0], np.float32), np.array([np.cos(0.1), np.sin(0.1)], np.float32)
    graph.observe(first)
    graph.acted(act("a"))
    assert graph.observe(near) is None
    graph.acted(act("b"))
    loop = graph.observe(first)
    assert loop is not None and loop.actions == (act("a"), act("b"))


def test_wrong_use_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="threshold"):
        StateGraph(loop_threshold=3.0)
    graph = StateGraph()
    with pytest.raises(ValueError, match="before anything was observed"):
        graph.acted(act("a"))
    graph.observe(np.array([1.0, 0.0], np.float32))
    with pytest.raises(ValueError, match="shape"):
        graph.observe(np.array([1.0, 0.0, 0.0], np.float32))
    with pytest.raises(ValueError, match="finite"):
        graph.observe(np.array([np.nan, 0.0], np.float32))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=2, max_size=12))
def test_a_loop_is_reported_if_and_only_if_the_place_was_there_before(stops: list[int]) -> None:
    """In a world where only the robot's place changes, situations are places."""
    domain = load_domain("household")
    path = [0, *(stop for before, stop in zip([0, *stops], stops, strict=False) if stop != before)]
    found = run(StateGraph(domain), domain, KITCHEN, moves(*path))
    for turn, loop in enumerate(found, 1):
        before = [k for k in range(turn) if path[k] == path[turn]]
        if not before:
            assert loop is None
        else:
            assert loop is not None and list(loop.actions) == moves(*path[before[-1] : turn + 1])
