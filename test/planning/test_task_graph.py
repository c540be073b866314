"""The task graph: edges from preconditions and effects, with reasons; what it is written as; what may be taken out."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.language.models import Reply, ReplyStatus, ScriptedModel
from graph_planner_ros.planning.task_graph import (
    EdgeKind,
    KnownThings,
    ObjectionKind,
    Subtask,
    TaskGraph,
    check_edges,
    check_nodes,
    semantic_check,
)

DOMAINS = ("household", "household+ai2thor_skills", "alfworld", "virtualhome", "robotouille", "textworld")


@pytest.fixture(scope="module")
def graph(household: Domain) -> TaskGraph:
    return TaskGraph.of(household)


@pytest.fixture(scope="module")
def known(household: Domain) -> KnownThings:
    labels = {"mug_1": "Mug", "tomato_1": "Tomato", "knife_1": "Knife", "fridge_1": "Fridge", "oven_1": "Microwave"}
    return KnownThings(household, {**labels, "sink_1": "SinkBasin", "counter_1": "CounterTop"})


def test_the_household_has_twelve_subtasks_with_labels_and_kinds_of_things(graph: TaskGraph) -> None:
    assert [node.label for node in graph.nodes] == list("ABCDEFGHIJKL")
    assert graph.by_action["heat"].text == "[G] heat(obj|mov, spec)"
    assert graph.by_action["put_into"].parameters[1].meta_classes == ("mov",)


@pytest.mark.parametrize(
    ("source", "target"),
    [("pick_up", "put"), ("pick_up", "slice"), ("put", "pick_up"), ("toggle_on", "examine"), ("put", "close")],
)
def test_an_edge_that_helps_says_how(graph: TaskGraph, source: str, target: str) -> None:
    edge = graph.edges[source, target]
    assert edge.kind is EdgeKind.HELPS
    assert f"{source} brings about" in edge.reason and target in edge.reason


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("put", "put", "after put hand_empty holds, and put needs holding(i)"),
        ("pick_up", "pick_up", "after pick_up holding(i) holds, and pick_up needs hand_empty"),
        ("slice", "pick_up", "after slice holding(k) holds, and pick_up needs hand_empty"),
        ("put", "heat", "after put hand_empty holds, and heat needs holding(i)"),
    ],
)
def test_a_missing_edge_says_why(graph: TaskGraph, source: str, target: str, reason: str) -> None:
    assert graph.why_not(source, target) == reason
    assert target not in graph.successors(source)


def test_what_implied_actions_repair_is_no_obstacle(graph: TaskGraph) -> None:
    # after heating, the robot stands at the microwave and the fridge is shut; it goes and opens by itself
    assert graph.why_not("heat", "cool") == ""
    assert graph.why_not("close", "pick_up") == ""


def test_first_come_subtasks_that_need_nothing_in_the_hand(graph: TaskGraph) -> None:
    assert graph.starts == ("pick_up", "take_out", "close", "toggle_on", "toggle_off")


def test_the_one_thing_that_is_held_must_be_what_both_need() -> None:
    graph = TaskGraph.of(load_domain("household+ai2thor_skills"))
    assert "no class is both" in graph.why_not("slice", "fill")
    assert graph.why_not("fill", "heat") == ""


def test_an_unknown_subtask_is_named(graph: TaskGraph) -> None:
    assert "fly is no subtask" in graph.why_not("fly", "put")


@pytest.mark.parametrize("name", DOMAINS)
def test_every_pair_is_an_edge_with_a_reason_or_has_a_reason_why_not(name: str) -> None:
    graph = TaskGraph.of(load_domain(name))
    assert graph.nodes
    assert len({node.label for node in graph.nodes}) == len(graph.nodes)
    for source in graph.by_action:
        assert graph.successors(source), f"nothing can follow {source}"
        for target in graph.by_action:
            edge = graph.edges.get((source, target))
            assert (edge is None) == bool(graph.why_not(source, target))
            assert edge is None or edge.reason


def test_without_a_section_moves_looks_and_ends_of_processes_are_no_subtasks() -> None:
    kitchen = TaskGraph.of(load_domain("robotouille")).by_action
    assert "cook" in kitchen and "cook-done" not in kitchen
    house = TaskGraph.of(load_domain("textworld")).by_action
    assert "take" in house and not {"find", "go_to"} & set(house)


# ---- checks


def test_a_valid_plan_has_no_objections(graph: TaskGraph, known: KnownThings) -> None:
    plan = [Subtask("pick_up", ("Knife",)), Subtask("slice", ("tomato_1",)), Subtask("put", ("knife_1", "CounterTop"))]
    assert check_nodes(graph, plan, known) == [] and check_edges(graph, plan) == []


@pytest.mark.parametrize(
    ("subtask", "reason"),
    [
        (Subtask("fly", ("Mug",)), "no subtask 'fly'"),
        (Subtask("put", ("Mug",)), "takes 2 arguments (i, f), not 1"),
        (Subtask("pick_up", ("Zeppelin",)), "there is no 'Zeppelin' here"),
        (Subtask("pick_up", ("Fridge",)), "Fridge is a fixture, and pick_up needs a item there"),
        (Subtask("heat", ("Mug", "Fridge")), "Fridge is not heats"),
        (Subtask("slice", ("Mug",)), "Mug is not sliceable"),
    ],
)
def test_a_subtask_whose_things_do_not_fit_is_named(
    graph: TaskGraph, known: KnownThings, subtask: Subtask, reason: str
) -> None:
    (objection,) = check_nodes(graph, [subtask], known)
    assert objection.kind is ObjectionKind.NODE and objection.index == 0
    assert reason in objection.reason


def test_a_missing_transition_names_what_could_follow_instead(graph: TaskGraph) -> None:
    plan = [Subtask("pick_up", ("Mug",)), Subtask("go_to", ("Fridge",)), Subtask("pick_up", ("Tomato",))]
    (objection,) = check_edges(graph, plan)
    assert objection.index == 2 and objection.kind is ObjectionKind.EDGE
    assert "put" in objection.allowed and "pick_up" not in objection.allowed


# ---- writing and reading


@pytest.mark.parametrize("name", DOMAINS)
def test_json_is_read_back(name: str) -> None:
    domain = load_domain(name)
    graph = TaskGraph.of(domain)
    less = graph.without([next(iter(graph.edges))], "nobody would")
    for wanted in (graph, less):
        found = TaskGraph.from_json(wanted.to_json(), domain)
        assert found.edges == wanted.edges and found.missing == wanted.missing and found.nodes == wanted.nodes


def test_json_that_is_not_this_domains_graph_is_refused(graph: TaskGraph, household: Domain) -> None:
    content = json.loads(graph.to_json())
    more = {"source": "put", "target": "put", "kind": "helps", "reason": "because"}
    for changed, expected in (
        ({"edges": [*content["edges"], more]}, "does not allow put -> put"),
        ({"domain": "garden"}, "of the domain 'garden'"),
        ({"nodes": content["nodes"][1:]}, "subtasks of the task graph"),
        ({"version": 7}, "version 7"),
        ({"edges": 3}, "expected a task graph as JSON"),
    ):
        with pytest.raises(ValueError, match=expected):
            TaskGraph.from_json(json.dumps({**content, **changed}), household)
    with pytest.raises(ValueError, match="expected a task graph as JSON"):
        TaskGraph.from_json("{", household)


@pytest.mark.parametrize("name", DOMAINS)
def test_the_picture_has_every_subtask_and_every_edge(name: str) -> None:
    graph = TaskGraph.of(load_domain(name))
    picture = ElementTree.fromstring(graph.to_svg())
    space = "{http://www.w3.org/2000/svg}"
    texts = [element.text for element in picture.iter(f"{space}text")]
    assert all(node.text in texts for node in graph.nodes)
    ends = [path for path in picture.iter(f"{space}path") if path.get("marker-end")]
    assert len(ends) == len(graph.edges)
    boxes = [
        [float(box.get(key, 0)) for key in ("x", "y", "width", "height")]
        for group in picture.iter(f"{space}g")
        for box in group.iter(f"{space}rect")
    ]
    for index, (x, y, width, height) in enumerate(boxes):
        for x2, y2, width2, height2 in boxes[index + 1 :]:
            assert x + width <= x2 or x2 + width2 <= x or y + height <= y2 or y2 + height2 <= y


def test_dot_has_every_edge(graph: TaskGraph) -> None:
    dot = graph.to_dot()
    assert dot.count("tooltip=") == len(graph.edges)
    assert '"pick_up" -> "put"' in dot and dot.count("{") == dot.count("}")


# ---- the check by a language model


def answer(*pairs: tuple[str, str]) -> str:
    return json.dumps({"remove": [{"subtask": name, "reason": reason} for name, reason in pairs]})


def test_a_model_may_take_edges_out_with_its_reason(graph: TaskGraph) -> None:
    model = ScriptedModel(
        lambda request: answer(("heat", "hot knife")) if "just done slice" in request.messages[-1].content else answer()
    )
    checked = semantic_check(graph, model)
    assert checked.removed == {("slice", "heat"): "hot knife"}
    assert "hot knife" in checked.graph.why_not("slice", "heat")
    assert len(checked.graph.edges) == len(graph.edges) - 1
    assert len(model.requests) == len(graph.nodes)


@pytest.mark.parametrize(
    "text",
    ["", "no", "[]", '{"remove": 3}', answer(("fly", "x")), answer(("put", "")), "{" * 9000, "x" * 30_000],
)
def test_an_answer_that_is_none_leaves_the_graph_as_it_is(graph: TaskGraph, text: str) -> None:
    checked = semantic_check(graph, ScriptedModel(lambda request: text))
    assert checked.graph.edges == graph.edges and len(checked.problems) == len(graph.nodes)


def test_a_model_that_fails_or_refuses_everything_leaves_the_graph_as_it_is(graph: TaskGraph) -> None:
    silent = semantic_check(graph, ScriptedModel(lambda request: Reply(ReplyStatus.TIMED_OUT, reason="late")))
    assert silent.graph.edges == graph.edges and "late" in silent.problems[0]
    everything = [answer(*((name, "no") for name in graph.successors(node.action))) for node in graph.nodes]
    assert semantic_check(graph, ScriptedModel(everything)).graph.edges == graph.edges


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200) | st.recursive(st.none() | st.text(max_size=8), lambda x: st.lists(x) | st.dictionaries(
    st.sampled_from(["remove", "subtask", "reason", "add"]), x)).map(json.dumps))  # fmt: skip
def test_nothing_that_a_model_says_adds_an_edge(text: str) -> None:
    graph = TaskGraph.of(load_domain("household"))
    assert set(semantic_check(graph, ScriptedModel(lambda request: text)).graph.edges) <= set(graph.edges)
