"""A node that is told to end in the middle of its work: what it owes to others still arrives."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from harness import Client, FakeBridge, FakePerception, System, add_item, kitchen, wait_until
from test_task import Robot

from graph_planner_ros import msg as messages
from graph_planner_ros.action import ExecuteSkill
from graph_planner_ros.analysis.bag_repair import summarize_bag
from graph_planner_ros.bridges.mujoco_node import MujocoNode
from graph_planner_ros.conversions import node_to_msg
from graph_planner_ros.nodes.base import LATCHED
from graph_planner_ros.nodes.process import _end
from graph_planner_ros.nodes.recorder import RecorderNode

Status = messages.GoalStatus


def end(system: System, node: Any) -> threading.Thread:
    """End a node as its process does at a signal, on a thread of its own."""
    spinner = next(spinner for spinner, known in system._spinners if known is node)
    system._spinners.remove((spinner, node))
    thread = threading.Thread(target=_end, args=(node, spinner), daemon=True)
    thread.start()
    return thread


def call_skill(system: System, client: Client, skill: str, *arguments: Any) -> Any:
    """Send a skill and return the future of its answer."""
    wait_until(client.skills.server_is_ready, "execute_skill is offered")
    goal = ExecuteSkill.Goal(skill=skill, arguments=list(arguments), frame_id="map")
    sent = system.on_thread(client, client.skills.send_goal_async, goal)
    wait_until(sent.done, "the goal is answered")
    assert sent.result().accepted
    return system.on_thread(client, sent.result().get_result_async)


def test_a_bridge_that_ends_during_a_skill_gives_its_result(system: System) -> None:
    bridge, client = system.add(FakeBridge, {"open": ["hang"]}), system.add(Client)
    answer = call_skill(system, client, "open", node_to_msg(kitchen().nodes["fridge_1"]))
    wait_until(lambda: bridge.calls, "the skill runs")
    bridge.deactivate = lambda: bridge.server.stop_current("the bridge was deactivated")
    bridge.busy = lambda: bridge.server is not None and bridge.server.busy
    thread = end(system, bridge)
    wait_until(answer.done, "the result comes")
    assert answer.result().result.status == ExecuteSkill.Result.CANCELLED
    assert "deactivated" in answer.result().result.reason
    wait_until(lambda: not thread.is_alive(), "the bridge has ended")


def test_the_simulator_that_ends_during_a_skill_gives_its_result(system: System) -> None:
    bridge, client = system.add(MujocoNode, real_time_factor=1.0), system.add(Client)
    fixtures: list[Any] = []
    client.create_subscription(messages.SceneGraph, "fixtures", fixtures.append, LATCHED)
    wait_until(lambda: fixtures, "the map of the fixtures")
    known = {node.instance_id: node for node in fixtures[0].nodes}
    answer = call_skill(system, client, "go_to", known["fridge_1"])
    wait_until(bridge.busy, "the skill runs")
    thread = end(system, bridge)
    wait_until(answer.done, "the result comes")
    assert answer.result().result.status == ExecuteSkill.Result.CANCELLED
    wait_until(lambda: not thread.is_alive(), "the bridge has ended")


def test_an_executor_that_ends_during_a_skill_stops_it_and_reports(system: System) -> None:
    robot = Robot(system, script={"pick_up": ["hang"]})
    robot.send("put a mug on the dining table")
    wait_until(lambda: "pick_up" in [skill for skill, _ in robot.bridge.calls], "the robot picks up")
    thread = end(system, robot.executor)
    failure = wait_until(
        lambda: next((e for e in robot.client.events if isinstance(e, messages.ActionFailure)), None), "the event"
    )
    assert failure.status == messages.ActionFailure.CANCELLED and "deactivated" in failure.reason
    wait_until(lambda: robot.bridge.stopped, "the skill is stopped")
    wait_until(lambda: not thread.is_alive(), "the executor has ended")


def test_a_planner_that_ends_during_a_task_gives_its_result(system: System) -> None:
    robot = Robot(system, script={"pick_up": ["hang"]})
    sent = robot.send("put a mug on the dining table")
    wait_until(lambda: "pick_up" in [skill for skill, _ in robot.bridge.calls], "the robot picks up")
    thread = end(system, robot.planner)
    assert sent.result().status == Status.CANCELLED
    wait_until(lambda: robot.client.statuses[-1].status == Status.CANCELLED, "the goal status is final")
    wait_until(lambda: robot.bridge.stopped, "the skill is stopped")
    wait_until(lambda: not thread.is_alive(), "the planner has ended")


def test_a_recorder_that_ends_closes_its_bag_with_what_came_last(system: System, tmp_path: Path) -> None:
    client = system.add(Client)
    plans = client.create_publisher(messages.Plan, "plan", LATCHED)
    recorder = system.add(RecorderNode, bag=str(tmp_path / "bag"), flush_period=60.0)
    wait_until(lambda: "/plan" in recorder._recorded, "the topic is recorded")
    system.on_thread(client, plans.publish, messages.Plan(task_id="last words"))
    wait_until(lambda: recorder._writer is not None and recorder._writer.messages, "the message has come")
    thread = end(system, recorder)
    wait_until(lambda: not thread.is_alive(), "the recorder has ended")
    assert summarize_bag(tmp_path / "bag").topics["/plan"][1] == 1


# ---- a bridge that does not do as it should


@pytest.mark.parametrize(
    "change",
    [
        lambda node: setattr(node, "instance_id", ""),
        lambda node: setattr(node, "presence", 77),
        lambda node: setattr(node.pose.position, "x", float("nan")),
        lambda node: setattr(node.pose.orientation, "w", float("inf")),
        lambda node: setattr(node.extent, "z", -1.0),
        lambda node: setattr(node, "confidence", 17.0),
    ],
    ids=["no id", "presence", "pose", "turn", "extent", "confidence"],
)
def test_arguments_that_cannot_be_are_refused_and_the_next_skill_runs(system: System, change: Any) -> None:
    bridge, client = system.add(FakeBridge), system.add(Client)
    argument = node_to_msg(kitchen().nodes["fridge_1"])
    change(argument)
    answer = call_skill(system, client, "open", argument)
    wait_until(answer.done, "the answer")
    result = answer.result().result
    assert (result.status, result.code) == (ExecuteSkill.Result.PRECONDITION_FAILED, "bad_arguments")
    assert bridge.calls == [] and not bridge.server.busy
    good = call_skill(system, client, "open", node_to_msg(kitchen().nodes["fridge_1"]))
    wait_until(good.done, "the answer")
    assert good.result().result.status == ExecuteSkill.Result.SUCCEEDED


def test_a_bridge_that_fails_inside_says_so_and_the_next_skill_runs(system: System) -> None:
    bridge, client = system.add(FakeBridge, {"open": [object()]}), system.add(Client)
    begin = bridge.server._begin

    def fail(*_: Any) -> Any:
        bridge.server._begin = begin
        raise RuntimeError("no motors")

    bridge.server._begin = fail
    answer = call_skill(system, client, "look", node_to_msg(kitchen().nodes["fridge_1"]))
    wait_until(answer.done, "the answer")
    result = answer.result().result
    assert result.status == ExecuteSkill.Result.EXECUTION_FAILED and "no motors" in result.reason
    assert not bridge.server.busy
    good = call_skill(system, client, "look", node_to_msg(kitchen().nodes["fridge_1"]))
    wait_until(good.done, "the answer")
    assert good.result().result.status == ExecuteSkill.Result.SUCCEEDED


def test_an_outcome_that_is_none_is_a_failed_step_and_not_a_success(system: System) -> None:
    robot = Robot(system)
    execute = robot.bridge.server._execute

    async def odd(goal_handle: Any) -> Any:
        if goal_handle.request.skill != "pick_up":
            return await execute(goal_handle)
        robot.bridge.calls.append(("pick_up", ()))
        if len(robot.bridge.calls) % 2:
            raise RuntimeError("on purpose")  # rclpy sends an empty result, whose status reads as success
        goal_handle.abort()
        return ExecuteSkill.Result(status=99, reason="who knows")

    robot.bridge.server._server.register_execute_callback(odd)
    result = robot.do("put a mug on the dining table")
    assert result.status not in (Status.SUCCEEDED, Status.ALREADY_SATISFIED, Status.PLANNER_CRASHED), result.reason
    failures = [e for e in robot.client.events if isinstance(e, messages.ActionFailure)]
    assert any("99" in e.reason for e in failures) and any("no outcome" in e.reason for e in failures)


# ---- scene graphs, events and heartbeats from elsewhere


def test_what_the_domain_does_not_know_in_a_scene_graph_fails_no_task(system: System) -> None:
    robot = Robot(system)
    spoil(robot.perception)
    result = robot.do("put a mug on the dining table")
    assert result.status == Status.SUCCEEDED, result.reason
    for node in (robot.planner, robot.executor):
        assert any("Spaceship" in text for text in node._warned)
        assert node.errors == 0


def spoil(perception: FakePerception) -> None:
    """Add to a belief what no household has."""
    add_item(perception.graph, "ufo", "Mug", "counter_top_1")
    perception.graph.nodes["ufo"].label = "Spaceship"
    add_item(perception.graph, "1", "Apple", "counter_top_1")
    perception.graph.relations[-1].predicate = "orbits"


def test_events_and_heartbeats_of_garbage_harm_no_task(system: System) -> None:
    robot = Robot(system, script={"pick_up": ["hang"]})
    sent = robot.send("put a mug on the dining table")
    wait_until(lambda: "pick_up" in [skill for skill, _ in robot.bridge.calls], "the robot picks up")
    task = robot.planner._task.task_id
    client = robot.client
    failures = client.create_publisher(messages.ActionFailure, "events/action_failure", 50)
    states = client.create_publisher(messages.ExecutorState, "executor/state", LATCHED)
    plans = client.create_publisher(messages.Plan, "plan", LATCHED)

    def send() -> None:
        for status in (0, 6, 99, 255):
            failures.publish(messages.ActionFailure(task_id="another", status=status))
            failures.publish(messages.ActionFailure(task_id=task, revision=2**32 - 1, index=2**32 - 1, status=status))
            states.publish(messages.ExecutorState(state=status, task_id="x" * 10000, revision=2**32 - 1))
        plans.publish(messages.Plan(task_id=task, status=messages.Plan.ACTIVE, revision=99, next=5))

    system.on_thread(client, send)
    wait_until(lambda: robot.bridge.stopped, "the executor leaves what is no longer the plan")
    result = sent.result()
    assert result.status in (Status.SUCCEEDED, Status.EXECUTION_FAILED, Status.CANCELLED), result.reason
    assert robot.planner.errors == 0 and robot.executor.errors == 0
    assert robot.do("open the fridge").status == Status.SUCCEEDED
