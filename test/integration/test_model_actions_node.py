"""The planner node with a model that chooses one action at a time, guesses places, and names key objects."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import Client, FakeBridge, FakePerception, Sent, System, add_item, kitchen, wait_until
from rclpy.lifecycle import TransitionCallbackReturn

from graph_planner_ros import msg as messages
from graph_planner_ros.nodes.executor import ExecutorNode
from graph_planner_ros.nodes.planner import PlannerNode

pytest.importorskip("openai", reason="the client of language models is an extra: ./run extra llm")
sys.path.insert(0, str(Path(__file__).parents[1] / "language" / "models"))

from fake_endpoint import Fail, FakeEndpoint, Raw, Say, Silence

EXECUTOR = {"settle": 0.0, "server_timeout": 1.5, "acknowledge_timeout": 1.0, "feedback_timeout": 3.0}
PLANNER = {"settle": 0.0, "confirm": 0.0, "scene_timeout": 5.0, "executor_timeout": 2.0, "restart_timeout": 5.0}
TASK = "put a mug on the dining table"
Status = messages.GoalStatus


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    with FakeEndpoint() as made:
        yield made


class Robot:
    """One robot whose planner asks a language model; ``hidden``: where the mug is that nobody has seen."""

    def __init__(self, system: System, endpoint: FakeEndpoint, hidden: str = "", **planner: Any) -> None:
        self.system = system
        graph = kitchen()
        if not hidden:
            add_item(graph, "mug_1", "Mug", "counter_top_1")
        self.perception = system.add(FakePerception, graph, {"mug_1": ("Mug", hidden)} if hidden else None)
        self.bridge = system.add(FakeBridge, None)
        self.executor = system.add(ExecutorNode, **EXECUTOR)
        model = {"planner": "llm_actions", "model": "tiny", "model_endpoint": endpoint.url}
        self.planner = system.add(PlannerNode, **{**PLANNER, **model, **planner})
        self.client = system.add(Client)
        self.traces: list[Any] = []
        self.client.create_subscription(messages.VerificationTrace, "plan/trace", self.traces.append, 10)

    def send(self) -> Sent:
        return Sent(self.system, self.client, TASK)

    def plans(self, result: Any) -> list[Any]:
        return [plan for plan in self.client.plans if plan.task_id == result.task_id and plan.subtasks]


def choose(label: str) -> Say:
    return Say(json.dumps({"action": label, "reason": "so"}))


def schema(endpoint: FakeEndpoint, number: int) -> dict[str, Any]:
    found: dict[str, Any] = endpoint.bodies[number]["response_format"]["json_schema"]["schema"]["properties"]
    return found


def test_actions_that_a_model_chooses_are_carried_out_one_by_one(system: System, endpoint: FakeEndpoint) -> None:
    """It begins with a detour and then chooses what is listed first, which is what MemPlan would do."""
    endpoint.script(choose("go_to(start, sink_basin_1)"), choose("none of them"))
    robot = Robot(system, endpoint, model_rounds=1)
    result = robot.send().result()
    assert result.status == Status.SUCCEEDED, result.reason
    skills = [skill for skill, _ in robot.bridge.calls]
    assert skills == ["go_to", "go_to", "pick_up", "go_to", "put"]
    assert robot.bridge.calls[0][1] == ("sink_basin_1",)
    plans = robot.plans(result)
    assert plans[0].engine == "llm_actions tiny" and "as the model tiny chose" in plans[0].reason
    assert any("planned without the model tiny" in plan.reason for plan in plans[1:])
    wait_until(lambda: any(trace.rounds for trace in robot.traces), "a trace with rounds is published")
    rounds = [item for trace in robot.traces for item in trace.rounds]
    assert any("none of the actions" in problem for item in rounds for problem in item.problems)


ILL = {
    "dead": None,
    "silent": Silence(),
    "HTML": Raw(b"<html><body>Bad gateway</body></html>", kind="text/html"),
    "broken": Fail(500, "no"),
    "useless": Say("I am only a language model."),
}


@pytest.mark.parametrize("illness", ILL, ids=str)
def test_an_ill_endpoint_makes_memplan_take_over_and_the_user_is_told(
    system: System, endpoint: FakeEndpoint, illness: str
) -> None:
    behaviour = ILL[illness]
    url = "http://127.0.0.1:9" if behaviour is None else endpoint.url
    if behaviour is not None:
        endpoint.script(behaviour)
    robot = Robot(system, endpoint, model_endpoint=url, model_timeout=0.5, model_places=True, model_key_objects=True)
    result = robot.send().result()
    assert result.status == Status.SUCCEEDED, result.reason
    assert [skill for skill, _ in robot.bridge.calls] == ["go_to", "pick_up", "go_to", "put"]
    plans = robot.plans(result)
    assert "planned without the model tiny" in plans[0].reason and not plans[0].engine.startswith("llm")
    if illness in ("dead", "broken"):
        assert any("is not asked: it did not answer before" in plan.reason for plan in plans)


def test_a_cancel_while_the_model_is_silent_is_answered(system: System, endpoint: FakeEndpoint) -> None:
    endpoint.script(Silence())
    robot = Robot(system, endpoint, model_timeout=300.0)
    sent = robot.send()
    wait_until(lambda: endpoint.bodies, "the model is asked")
    sent.cancel()
    assert sent.result().status == Status.CANCELLED


GUESS = Say(
    json.dumps({"places": [{"place": "counter_top_1", "relevance": 1.0}, {"place": "sink_basin_1", "relevance": 0.0}]})
)


def test_memplan_looks_first_where_the_model_guesses(system: System, endpoint: FakeEndpoint) -> None:
    """Without a guess it looks into the sink first: there mugs are likely."""
    endpoint.script(GUESS)
    robot = Robot(system, endpoint, hidden="counter_top_1", planner="memplan", model_places=True)
    result = robot.send().result()
    assert result.status == Status.SUCCEEDED, result.reason
    looked = [arguments for skill, arguments in robot.bridge.calls if skill in ("look", "find")]
    assert looked[0][-1] == "counter_top_1" and len(endpoint.bodies) == 1
    first = robot.plans(result)[0]
    assert "the model tiny advises looking for Mug in counter_top_1" in first.reason
    wait_until(lambda: robot.traces and robot.traces[0].rounds, "the round about places is published")
    assert [(item.number, item.status) for item in robot.traces[0].rounds] == [(0, "answered")]


@pytest.mark.parametrize("behaviour", [None, Silence(), Say("I do not know.")], ids=["dead", "silent", "useless"])
def test_without_guesses_the_mug_is_found_all_the_same(system: System, endpoint: FakeEndpoint, behaviour: Any) -> None:
    url = "http://127.0.0.1:9" if behaviour is None else endpoint.url
    if behaviour is not None:
        endpoint.script(behaviour)
    options = {"model_places": True, "model_endpoint": url, "model_timeout": 0.5}
    robot = Robot(system, endpoint, hidden="fridge_1", planner="memplan", **options)
    result = robot.send().result()
    assert result.status == Status.SUCCEEDED, result.reason
    assert not any("the model tiny" in plan.reason for plan in robot.plans(result))


def test_key_objects_are_asked_for_once_and_the_plan_is_the_models(system: System, endpoint: FakeEndpoint) -> None:
    plan = json.dumps({"high_level": [["pick_up", "Mug"], ["put", "Mug", "DiningTable"]]})
    endpoint.script(Say('{"classes": ["Mug", "DiningTable"]}'), Say(plan), Say('{"decision": "keep", "reason": "so"}'))
    robot = Robot(system, endpoint, planner="llm", model_key_objects=True)
    result = robot.send().result()
    assert result.status == Status.SUCCEEDED, result.reason
    assert "classes" in schema(endpoint, 0) and "high_level" in schema(endpoint, 1)
    assert not any("classes" in schema(endpoint, number) for number in range(1, len(endpoint.bodies)))


@pytest.mark.parametrize("options", [{"planner": "llm_actions"}, {"planner": "memplan", "model_places": True}], ids=str)
def test_a_model_that_is_not_named_is_refused_with_a_sentence(system: System, options: dict[str, Any]) -> None:
    node = system.add(PlannerNode, autostart=False, **{**PLANNER, **options, "model": ""})
    assert system.transition(node, "trigger_configure") == TransitionCallbackReturn.FAILURE
    assert "cannot configure" in node.fault and "model" in node.fault, node.fault
