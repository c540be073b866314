"""The metrics against cases that were worked out by hand."""

from __future__ import annotations

import pytest

from graph_planner_ros.benchmarks.alfred.annotation_map import Request, load_map
from graph_planner_ros.benchmarks.alfred.judge import Judge, alfred_view
from graph_planner_ros.benchmarks.alfred.metrics import affordance_rate, comparable, compare, transfer_rate
from graph_planner_ros.benchmarks.alfred.samples import Sample
from graph_planner_ros.benchmarks.alfred.scene import labels_of, make_scene
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.planning.task_graph import Subtask
from graph_planner_ros.scene.facts import symbolic_state

A, B, C = ("PickupObject", "Apple"), ("HeatObject", "Apple"), ("PutObject", "Apple", "Fridge")
D = ("SliceObject", "Apple")


@pytest.mark.parametrize(
    ("plan", "reference", "exact", "missing", "additional"),
    [
        ((A, B, C), (A, B, C), True, 0.0, 0.0),
        ((A, C), (A, B, C), False, 1 / 3, 0.0),
        ((A, B, C, D), (A, B, C), False, 0.0, 1 / 4),
        ((B, A, C), (A, B, C), False, 0.0, 0.0),
        ((A, A, C), (A, C), False, 0.0, 1 / 3),
        ((A, C), (A, C, A, C), False, 1 / 2, 0.0),
        ((), (A, B, C), False, 1.0, 0.0),
        ((D,), (A, B), False, 1.0, 1.0),
    ],
)
def test_missing_and_additional_steps(plan, reference, exact, missing, additional) -> None:
    found = compare(plan, reference)
    assert (found.exact, found.missing, found.additional) == (exact, pytest.approx(missing), pytest.approx(additional))


@pytest.mark.parametrize(
    ("indexes", "length", "transfer", "affordance"),
    [((), 0, 0.0, 0.0), ((), 4, 0.0, 0.0), ((1,), 3, 0.5, 1 / 3), ((1, 1, 2), 3, 1.0, 2 / 3), ((0,), 1, 1.0, 1.0)],
)
def test_rates_of_objections(indexes, length, transfer, affordance) -> None:
    assert transfer_rate(indexes, length) == pytest.approx(transfer)
    assert affordance_rate(indexes, length) == pytest.approx(affordance)


@pytest.fixture(scope="module")
def annotations():
    return load_map()


@pytest.fixture
def sample() -> Sample:
    request = Request("pick_heat_then_place_in_recep", {"object_target": "Apple", "parent_target": "Fridge"})
    return Sample(
        "hot apple",
        request.task,
        "room",
        "put a hot apple in the fridge",
        (request,),
        {"Apple": 1, "Knife": 1},
        ("CounterTop", "Fridge", "Microwave"),
        {"Apple": ("CounterTop",), "Knife": ("CounterTop",)},
        (A, B, C),
    )


def actions(*texts: str) -> list[GroundAction]:
    return [GroundAction(text.split()[0], tuple(text.split()[1:])) for text in texts]


RIGHT = (
    "go_to start microwave_1",
    "open microwave_1",
    "go_to microwave_1 fridge_1",
    "open fridge_1",
    "go_to fridge_1 countertop_1",
    "pick_up apple_1 countertop_1",
    "go_to countertop_1 microwave_1",
    "heat apple_1 microwave_1",
    "go_to microwave_1 fridge_1",
    "put apple_1 fridge_1",
)


def judged(annotations, sample, *texts):
    graph = make_scene(sample, annotations)
    state = symbolic_state(graph, annotations.domain)
    return Judge(annotations).judge(sample, state, labels_of(graph), actions(*texts))


def test_a_right_plan_is_right_in_every_way(annotations, sample) -> None:
    found = judged(annotations, sample, *RIGHT)
    assert found.execution.valid and found.execution.reached and found.execution.conditions == 1.0
    assert found.comparison.exact and found.graph
    assert found.subtasks == (A, B, C)
    assert (found.transfer, found.affordance, found.reason) == (0.0, 0.0, "")


def test_a_plan_without_heating_reaches_half_of_the_conditions(annotations, sample) -> None:
    found = judged(
        annotations,
        sample,
        "go_to start fridge_1",
        "open fridge_1",
        "go_to fridge_1 countertop_1",
        "pick_up apple_1 countertop_1",
        "go_to countertop_1 fridge_1",
        "put apple_1 fridge_1",
    )
    assert found.execution.valid and not found.execution.reached
    assert found.execution.conditions == pytest.approx(0.5)
    assert found.comparison.missing == pytest.approx(1 / 3)
    assert "hot(Apple)" in found.reason


def test_what_cannot_be_executed_ends_the_execution(annotations, sample) -> None:
    found = judged(annotations, sample, *RIGHT[1:])
    assert not found.execution.valid and not found.execution.reached
    assert "step 1, open(microwave_1)" in found.reason


def test_things_that_do_not_fit_are_affordance_errors(annotations, sample) -> None:
    found = judged(annotations, sample, *RIGHT[:6], "go_to countertop_1 fridge_1", "heat apple_1 fridge_1")
    assert not found.graph
    assert found.affordance == pytest.approx(1 / 2)


def test_transitions_without_an_edge_are_wrong_transfers(annotations, sample) -> None:
    found = judged(annotations, sample, *RIGHT[:6], "pick_up knife_1 countertop_1")
    assert not found.graph
    assert found.transfer == 1.0


def test_where_a_knife_is_put_down_is_free(annotations, sample) -> None:
    ours = comparable(annotations, sample, [("PutObject", "Knife", "Fridge"), ("PutObject", "Apple", "Fridge")])
    theirs = comparable(annotations, sample, [("PutObject", "Knife", "Sofa"), ("PutObject", "Apple", "Fridge")])
    assert ours == theirs == (("PutObject", "Knife", "*"), C)


def test_subtasks_that_alfred_does_not_have_are_left_out(annotations) -> None:
    plan = [Subtask("pick_up", ("Apple",)), Subtask("examine", ("Apple", "DeskLamp")), Subtask("close", ("Fridge",))]
    assert alfred_view(annotations, plan) == (A,)
