"""The executor node with a fake bridge, a fake perception and plans published by the test."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import Client, FakeBridge, FakePerception, System, add_item, kitchen, wait_until
from rosgraph_msgs.msg import Clock
from tf2_msgs.msg import TFMessage

from graph_planner_ros import msg as messages
from graph_planner_ros.conversions import detection_to_msg, header, to_stamp, transform_to_msg
from graph_planner_ros.nodes.base import LATCHED, SENSOR
from graph_planner_ros.nodes.executor import ExecutorNode
from graph_planner_ros.perception.frame import Detection
from graph_planner_ros.scene.graph import Box
from graph_planner_ros.skills.memory import MEMORY, Sighting, SkillMemory
from graph_planner_ros.skills.result import SkillResult, SkillStatus

FAST = {"settle": 0.0, "server_timeout": 1.0, "acknowledge_timeout": 1.0, "feedback_timeout": 2.0}


class Boss:
    """Publishes plans and the planner's heartbeat."""

    def __init__(self, system: System, client: Client) -> None:
        self.system, self.client = system, client
        self.plans = client.create_publisher(messages.Plan, "plan", LATCHED)
        self.statuses = client.create_publisher(messages.GoalStatus, "goal_status", LATCHED)
        self.task, self.revision = "task", 0
        self.silent = False
        client.create_timer(0.2, self.beat, clock=client.steady_clock)

    def beat(self) -> None:
        if not self.silent and self.revision:
            status = messages.GoalStatus(header=header(self.client.now()), task_id=self.task)
            status.status = messages.GoalStatus.RUNNING
            self.statuses.publish(status)

    def send(
        self, action: str, *arguments: str, status: int = messages.Plan.ACTIVE, task: str = "task", goal: str = ""
    ) -> None:
        self.revision += 1
        self.task = task
        subtask = messages.Subtask(action=action, arguments=list(arguments), text=f"{action} {arguments}")
        plan = messages.Plan(header=header(self.client.now()), task_id=task, revision=self.revision, status=status)
        plan.goal = goal
        plan.subtasks = [subtask] if action else []
        self.system.on_thread(self.client, self.plans.publish, plan)

    def event(self, number: int = 0) -> Any:
        wait_until(lambda: len(self.client.events) > number, "the executor reports the end of the subtask")
        return self.client.events[number]


@pytest.fixture()
def boss(system: System) -> Boss:
    return Boss(system, system.add(Client))


def scene(system: System) -> FakePerception:
    graph = kitchen()
    add_item(graph, "mug_1", "Mug", "counter_top_1")
    return system.add(FakePerception, graph)


def test_a_subtask_becomes_one_skill_and_one_event(system: System, boss: Boss) -> None:
    scene(system)
    bridge = system.add(FakeBridge)
    system.add(ExecutorNode, **FAST)
    boss.send("go_to", "start", "counter_top_1")
    event = boss.event()
    assert isinstance(event, messages.SubtaskCompleted), event
    assert (event.task_id, event.revision, event.index, event.attempts) == ("task", 1, 0, 1)
    assert bridge.calls == [("go_to", ("counter_top_1",))]


def test_a_revision_is_run_once_however_often_its_plan_arrives(system: System, boss: Boss) -> None:
    scene(system)
    bridge = system.add(FakeBridge)
    system.add(ExecutorNode, **FAST)
    boss.send("go_to", "start", "counter_top_1")
    boss.event()
    boss.revision -= 1
    boss.send("go_to", "start", "counter_top_1")
    boss.send("go_to", "counter_top_1", "fridge_1")
    boss.event(1)
    assert [call[1] for call in bridge.calls] == [("counter_top_1",), ("fridge_1",)]


def test_an_unmet_precondition_is_reported_before_the_robot_moves(system: System, boss: Boss) -> None:
    scene(system)
    bridge = system.add(FakeBridge)
    system.add(ExecutorNode, **FAST)
    boss.send("pick_up", "mug_1", "counter_top_1")  # the robot is not there yet
    event = boss.event()
    assert event.status == messages.ActionFailure.PRECONDITION_FAILED
    assert "at(counter_top_1)" in event.reason
    assert bridge.calls == []


def test_recoverable_failures_are_retried_before_the_planner_hears_of_them(system: System, boss: Boss) -> None:
    scene(system)
    slip = SkillResult(SkillStatus.EXECUTION_FAILED, "collision", "bumped into a chair", recoverable=True)
    bridge = system.add(FakeBridge, {"go_to": [slip, slip]})
    system.add(ExecutorNode, **FAST)
    boss.send("go_to", "start", "fridge_1")
    event = boss.event()
    assert isinstance(event, messages.SubtaskCompleted) and event.attempts == 3
    assert len(bridge.calls) == 3


def test_a_failure_that_stays_is_reported_with_code_and_attempts(system: System, boss: Boss) -> None:
    scene(system)
    stuck = SkillResult(SkillStatus.EXECUTION_FAILED, "collision", "bumped into a chair", recoverable=True)
    system.add(FakeBridge, {"go_to": [stuck] * 5})
    system.add(ExecutorNode, max_attempts=2, **FAST)
    boss.send("go_to", "start", "fridge_1")
    event = boss.event()
    assert (event.status, event.code, event.attempts) == (messages.ActionFailure.EXECUTION_FAILED, "collision", 2)


def test_without_a_bridge_the_wait_is_bounded_and_the_failure_says_what_skills_there_are(
    system: System, boss: Boss
) -> None:
    scene(system)
    system.add(ExecutorNode, **FAST)
    boss.send("go_to", "start", "fridge_1")
    event = boss.event()
    assert event.status == messages.ActionFailure.SERVER_LOST
    assert "execute_skill" in event.reason and "skills there are: none" in event.reason


def test_a_cancelled_plan_stops_the_skill_and_the_next_one_runs(system: System, boss: Boss) -> None:
    scene(system)
    bridge = system.add(FakeBridge, {"go_to": ["hang"]})
    system.add(ExecutorNode, **FAST)
    boss.send("go_to", "start", "fridge_1")
    wait_until(lambda: bridge.calls, "the skill runs")
    boss.send("", status=messages.Plan.CANCELLED)
    boss.send("go_to", "start", "counter_top_1", task="next")
    first, second = boss.event(0), boss.event(1)
    assert first.status == messages.ActionFailure.CANCELLED and bridge.stopped
    assert isinstance(second, messages.SubtaskCompleted) and second.task_id == "next"


def test_when_the_planner_falls_silent_the_skill_is_stopped(system: System, boss: Boss) -> None:
    scene(system)
    bridge = system.add(FakeBridge, {"go_to": ["hang"]})
    system.add(ExecutorNode, planner_timeout=1.0, **FAST)
    boss.send("go_to", "start", "fridge_1")
    wait_until(lambda: bridge.calls, "the skill runs")
    boss.silent = True
    event = boss.event()
    assert event.status == messages.ActionFailure.CANCELLED and "planner" in event.reason
    assert bridge.stopped


def test_a_bridge_that_falls_silent_during_a_skill_is_reported_as_lost(system: System, boss: Boss) -> None:
    scene(system)
    bridge = system.add(FakeBridge, {"go_to": ["hang"]})
    bridge.silent = True
    system.add(ExecutorNode, **FAST)
    boss.send("go_to", "start", "fridge_1")
    event = boss.event()
    assert event.status == messages.ActionFailure.SERVER_LOST
    wait_until(lambda: bridge.stopped, "the goal is cancelled all the same")


def test_an_executor_that_comes_back_runs_the_plan_in_force(system: System, boss: Boss) -> None:
    scene(system)
    bridge = system.add(FakeBridge, {"go_to": ["hang"]})
    executor = system.add(ExecutorNode, **FAST)
    boss.send("go_to", "start", "fridge_1")
    wait_until(lambda: bridge.calls, "the skill runs")
    system.remove(executor)
    wait_until(lambda: bridge.stopped, "the skill is stopped with its executor")
    system.add(ExecutorNode, **FAST)
    wait_until(
        lambda: any(isinstance(event, messages.SubtaskCompleted) for event in boss.client.events),
        "the subtask is carried out by the new executor",
    )


def test_a_goal_that_is_accepted_after_everybody_gave_up_is_cancelled(system: System, boss: Boss) -> None:
    scene(system)
    bridge = system.add(FakeBridge, {"go_to": ["hang"]})
    executor = system.add(ExecutorNode, **FAST)
    wait_until(lambda: executor._skills.client.server_is_ready(), "the executor knows the bridge")
    hold = threading.Event()
    bridge.executor.create_task(hold.wait, 60.0)  # the bridge answers nobody for a while
    try:
        boss.send("go_to", "start", "fridge_1")
        assert boss.event().status == messages.ActionFailure.SERVER_LOST
        assert not bridge.calls
    finally:
        hold.set()
    wait_until(lambda: bridge.calls and bridge.stopped, "the skill is stopped as soon as its goal is accepted")


# ---- the memory of the things of a task


class Seer(Client):
    """A client that stands for the robot's transforms and camera as well."""

    def configure(self) -> None:
        super().configure()
        self.states: list[Any] = []
        self.tf = self.create_publisher(TFMessage, "/tf", 100)
        self.static = self.create_publisher(TFMessage, "/tf_static", LATCHED)
        self.detections = self.create_publisher(messages.Detections, "detections", SENSOR)
        self._entities += [
            self.tf,
            self.static,
            self.detections,
            self.create_subscription(messages.ExecutorState, "executor/state", self.states.append, LATCHED),
        ]
        self.static.publish(TFMessage(transforms=[transform_to_msg("map", "odom", np.eye(4), 0.0)]))

    def look(self, *things: messages.Detection) -> None:
        """Stand at (1, 2), turned by a right angle, and see these things."""
        pose, now = np.eye(4), self.now()
        pose[:2, :2], pose[:2, 3] = [[0.0, -1.0], [1.0, 0.0]], (1.0, 2.0)
        self.tf.publish(TFMessage(transforms=[transform_to_msg("odom", "base_link", pose, now)]))
        self.detections.publish(messages.Detections(header=header(now, "map"), detections=list(things)))

    def remembered(self) -> int:
        return self.states[-1].cached_waypoints if self.states else -1


def seen(name: str, label: str, part: str = "") -> messages.Detection:
    mask = np.zeros((30, 40), dtype=bool)
    mask[10:20, 5:25] = True
    return detection_to_msg(
        Detection(label, part, 1.0, mask, instance_id=name), box=Box(np.array([0.1, 1.4, 0.9]), np.full(3, 0.08))
    )


class Witness(FakeBridge):
    """A bridge that keeps the arguments that it was given."""

    def _begin(self, served: Any, skill: str, arguments: list[Any], timeout: float) -> Any:
        self.arguments = arguments
        return super()._begin(served, skill, arguments, timeout)


def test_things_of_the_task_are_remembered_and_used_where_the_belief_knows_no_position(
    system: System, tmp_path: Path
) -> None:
    graph = kitchen()
    add_item(graph, "mug_1", "Mug", "counter_top_1")
    graph.nodes["mug_1"].box = None  # on the counter, nobody knows where
    system.add(FakePerception, graph)
    bridge = system.add(Witness)
    file = tmp_path / "state" / "skill_memory.json"
    system.add(ExecutorNode, memory_file=str(file), **FAST)
    seer = system.add(Seer)
    boss = Boss(system, seer)
    boss.send("go_to", "start", "counter_top_1", goal="(exists (?v1 - item) (and (instance_of ?v1 mug) (holding ?v1)))")
    boss.event()

    def look() -> bool:
        things = (seen("mug_1", "Mug"), seen("mug_2", "Mug"), seen("bowl_1", "Bowl"), seen("fridge_1", "Fridge"))
        system.on_thread(seer, seer.look, *things, seen("mug_3", "Mug", "handle"), seen("", "Mug"))
        return seer.remembered() >= 2

    wait_until(look, "both mugs are remembered")
    assert seer.remembered() == 2, "neither things of no concern, nor parts, nor fixtures, nor the unknown"
    boss.send("pick_up", "mug_1", "counter_top_1")
    assert isinstance(boss.event(1), messages.SubtaskCompleted)
    mug = bridge.arguments[0]
    assert mug.source == MEMORY and np.allclose(mug.box.center, [0.1, 1.4, 0.9])
    boss.send("", status=messages.Plan.DONE)
    wait_until(file.exists, "the memory is saved when the task ends")
    kept = SkillMemory.load(file).recall("mug_1")
    assert kept is not None and kept.mask is not None and kept.place == "counter_top_1"
    assert np.allclose(kept.waypoint, (1.0, 2.0, np.pi / 2)) and kept.mask.decode().sum() == 200


def test_a_thing_that_was_not_where_it_was_seen_is_forgotten(system: System, boss: Boss, tmp_path: Path) -> None:
    file = tmp_path / "skill_memory.json"
    memory = SkillMemory()
    memory.watch({"Mug"})
    for name in ("mug_1", "mug_2"):
        memory.observe(Sighting(name, "Mug", (0.1, 1.4, 0.9), (0.0, 0.0, 0.0), 1.0, "counter_top_1"))
    memory.save(file)
    graph = kitchen()
    add_item(graph, "mug_1", "Mug", "counter_top_1")
    system.add(FakePerception, graph)
    gone = SkillResult(SkillStatus.EXECUTION_FAILED, "object_not_found", "the fingers closed on nothing")
    bridge = system.add(Witness, {"pick_up": [gone]})
    executor = system.add(ExecutorNode, memory_file=str(file), **FAST)
    boss.send("go_to", "start", "counter_top_1", goal="(exists (?v1 - item) (and (instance_of ?v1 mug) (holding ?v1)))")
    boss.event()
    assert len(executor._memory) == 2
    boss.send("pick_up", "mug_1", "counter_top_1")
    assert boss.event(1).code == "object_not_found"
    assert bridge.arguments[0].source != MEMORY, "the belief goes first"
    assert executor._memory.recall("mug_1") is None and executor._memory.recall("mug_2") is not None
    system.remove(executor)
    assert SkillMemory.load(file).recall("mug_1") is None, "it is saved when the node ends"


def test_when_time_jumps_back_what_was_seen_later_is_forgotten(system: System, tmp_path: Path) -> None:
    file = tmp_path / "skill_memory.json"
    memory = SkillMemory()
    memory.watch({"Mug"})
    for name, stamp in (("mug_1", 5.0), ("mug_2", 50.0)):
        memory.observe(Sighting(name, "Mug", (0.1, 1.4, 0.9), (0.0, 0.0, 0.0), stamp))
    memory.save(file)
    executor = system.add(ExecutorNode, use_sim_time=True, memory_file=str(file), **FAST)
    client = system.add(Client)
    clock = client.create_publisher(Clock, "/clock", 10)

    def tick(time: float) -> bool:
        system.on_thread(client, clock.publish, Clock(clock=to_stamp(time)))
        return executor.now() == time

    wait_until(lambda: tick(100.0), "the clock is heard")
    assert len(executor._memory) == 2
    wait_until(lambda: tick(10.0), "the clock has gone back")
    wait_until(lambda: len(executor._memory) == 1, "what was seen at 50 s is forgotten")
    assert executor._memory.recall("mug_1") is not None


def test_a_damaged_memory_is_kept_aside_and_the_executor_works(system: System, boss: Boss, tmp_path: Path) -> None:
    file = tmp_path / "skill_memory.json"
    file.write_text("{half a")
    scene(system)
    system.add(FakeBridge)
    executor = system.add(ExecutorNode, memory_file=str(file), **FAST)
    boss.send("go_to", "start", "counter_top_1")
    assert isinstance(boss.event(), messages.SubtaskCompleted)
    assert (tmp_path / "skill_memory.json.unreadable").read_text() == "{half a"
    system.remove(executor)
    assert len(SkillMemory.load(file)) == 0
