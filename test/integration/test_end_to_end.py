"""The whole loop, every node a process of its own: MuJoCo bridge, perception, planner, executor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import Client, Sent, System, wait_until
from processes import Processes

from graph_planner_ros import msg as messages
from graph_planner_ros.nodes.base import LATCHED

Status = messages.GoalStatus
LONG = 280.0
"""Bound [s] of a task in the simulator on a busy machine."""
NODES: dict[str, tuple[str, dict[str, Any]]] = {
    "bridge": ("bridges.mujoco_node", {"real_time_factor": 0.0}),
    "perception": ("nodes.perception", {"use_sim_time": True}),
    "planner": ("nodes.planner", {"use_sim_time": True, "scene_timeout": 60.0}),
    "executor": ("nodes.executor", {"use_sim_time": True, "scene_timeout": 60.0, "feedback_timeout": 5.0}),
}


class House:
    """All processes, a client, and the truth."""

    def __init__(self, system: System, folder: Path) -> None:
        self.system, self.folder = system, folder
        self.nodes = Processes(system.domain_id, folder, check_fields=False)
        self.client = system.add(Client)
        self.truth: list[Any] = []
        self.client.create_subscription(
            messages.SceneGraph, "ground_truth/scene_graph", lambda m: self.truth.append(m), LATCHED
        )
        for name in NODES:
            self.start(name)

    def start(self, name: str) -> None:
        module, parameters = NODES[name]
        extra = {"state_file": str(self.folder / "belief.json")} if name == "perception" else {}
        self.nodes.start(module, name, **parameters, **extra)

    def send(self, instruction: str) -> Sent:
        return Sent(self.system, self.client, instruction)

    def runs(self, action: str) -> bool:
        return any(p.status == messages.Plan.ACTIVE and p.subtasks[p.next].action == action for p in self.client.plans)

    def is_closed(self, fixture: str) -> bool:
        node = next(node for node in self.truth[-1].nodes if node.instance_id == fixture)
        return any(a.name == "closed" and a.value == messages.Attribute.TRUE for a in node.attributes)


@pytest.fixture()
def house(system: System, tmp_path: Path) -> Iterator[House]:
    made = House(system, tmp_path)
    try:
        yield made
    finally:
        made.nodes.close()


def test_the_robot_opens_the_fridge_although_perception_is_killed_on_the_way(house: House) -> None:
    sent = house.send("open the fridge")
    wait_until(lambda: house.runs("go_to"), "the robot sets out", LONG)
    house.nodes.kill("perception")
    house.start("perception")
    result = sent.result(LONG)
    assert result.status == Status.SUCCEEDED, result.reason + house.nodes.output()
    assert not house.is_closed("fridge_1")
    assert [house.nodes.stop(name) for name in ("executor", "planner", "perception", "bridge")] == [0] * 4


def test_a_bridge_killed_during_a_task_ends_it_with_its_name_and_the_next_task_succeeds(house: House) -> None:
    sent = house.send("go to the fridge")
    wait_until(lambda: house.runs("go_to"), "the robot sets out", LONG)
    house.nodes.kill("bridge")
    result = sent.result(LONG)
    assert result.status == Status.NODE_LOST, result.reason + house.nodes.output()
    assert "bridge" in result.reason or "execute_skill" in result.reason
    house.start("bridge")  # its time begins anew
    result = house.send("go to the dining table").result(LONG)
    assert result.status == Status.SUCCEEDED, result.reason + house.nodes.output()
