"""The planner node with a language model: its plans are carried out, its endpoint may be ill, and a cancel is heard."""

from __future__ import annotations

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
GOOD = '{"high_level": [["pick_up", "Mug"], ["put", "Mug", "DiningTable"]]}'
TASK = "put a mug on the dining table"
Status = messages.GoalStatus


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    with FakeEndpoint() as made:
        yield made


class Robot:
    """One robot whose planner asks a language model."""

    def __init__(self, system: System, endpoint: FakeEndpoint, **planner: Any) -> None:
        self.system = system
        graph = kitchen()
        add_item(graph, "mug_1", "Mug", "counter_top_1")
        self.perception = system.add(FakePerception, graph, None)
        self.bridge = system.add(FakeBridge, None)
        self.executor = system.add(ExecutorNode, **EXECUTOR)
        model = {"planner": "llm", "model": "tiny", "model_endpoint": endpoint.url}
        self.planner = system.add(PlannerNode, **{**PLANNER, **model, **planner})
        self.client = system.add(Client)
        self.traces: list[Any] = []
        self.client.create_subscription(messages.VerificationTrace, "plan/trace", self.traces.append, 10)

    def send(self) -> Sent:
        return Sent(self.system, self.client, TASK)


def test_a_plan_of_the_model_is_carried_out_and_its_rounds_are_published(
    system: System, endpoint: FakeEndpoint
) -> None:
    endpoint.script(Say('{"high_level": [["put", "Mug", "DiningTable"]]}'), Say(GOOD))
    robot = Robot(system, endpoint)
    result = robot.send().result()
    assert result.status == Status.SUCCEEDED, result.reason
    assert [skill for skill, _ in robot.bridge.calls] == ["go_to", "pick_up", "go_to", "put"]
    plan = next(plan for plan in robot.client.plans if plan.task_id == result.task_id and plan.subtasks)
    assert plan.engine == "llm tiny" and "round 2" in plan.reason
    wait_until(lambda: robot.traces, "a trace is published")
    rounds = robot.traces[0].rounds
    assert [(item.number, item.status) for item in rounds] == [(1, "answered"), (2, "answered")]
    assert any("holding" in problem for problem in rounds[0].problems) and not rounds[1].problems


ILL = {
    "dead": None,
    "silent": Silence(),
    "HTML": Raw(b"<html><body>Bad gateway</body></html>", kind="text/html"),
    "busy": Fail(429, "slow down", {"Retry-After": "30"}),
    "broken": Fail(500, "no"),
    "useless": Say("I am only a language model."),
}


@pytest.mark.parametrize("illness", ILL, ids=str)
def test_an_ill_endpoint_makes_memplan_take_over_and_the_user_is_told(
    system: System, endpoint: FakeEndpoint, illness: str
) -> None:
    behaviour = ILL[illness]
    if behaviour is None:
        robot = Robot(system, endpoint, model_endpoint="http://127.0.0.1:9", model_timeout=1.0)
    else:
        endpoint.script(behaviour)
        robot = Robot(system, endpoint, model_timeout=1.0)
    result = robot.send().result()
    assert result.status == Status.SUCCEEDED, result.reason
    plan = next(plan for plan in robot.client.plans if plan.task_id == result.task_id and plan.subtasks)
    assert "planned without the model tiny" in plan.reason and plan.engine != "llm tiny"


def test_a_cancel_while_the_model_is_silent_is_answered(system: System, endpoint: FakeEndpoint) -> None:
    endpoint.script(Silence())
    robot = Robot(system, endpoint, model_timeout=300.0)
    sent = robot.send()
    wait_until(lambda: endpoint.bodies, "the model is asked")
    sent.cancel()
    assert sent.result().status == Status.CANCELLED


def test_a_model_that_is_not_named_is_refused_with_a_sentence(system: System) -> None:
    node = system.add(PlannerNode, autostart=False, **{**PLANNER, "planner": "llm", "model": ""})
    assert system.transition(node, "trigger_configure") == TransitionCallbackReturn.FAILURE
    assert "cannot configure" in node.fault and "model" in node.fault, node.fault
