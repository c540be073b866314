"""The bridge to the MuJoCo kitchen, with its real physics."""

from __future__ import annotations

from typing import Any

import pytest
from harness import Client, System, wait_until
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_msgs.msg import Bool
from tf2_msgs.msg import TFMessage

from graph_planner_ros import msg as messages
from graph_planner_ros.action import ExecuteSkill
from graph_planner_ros.bridges.mujoco_node import MujocoNode
from graph_planner_ros.conversions import from_stamp, image_from_msg
from graph_planner_ros.nodes.base import LATCHED, SENSOR, ParameterError
from graph_planner_ros.srv import Disturb

Result = ExecuteSkill.Result


class Listener(Client):
    """Keeps the newest message of every topic of a bridge."""

    def configure(self) -> None:
        super().configure()
        self.newest: dict[str, Any] = {}
        topics = {
            "/clock": (Clock, SENSOR),
            "joint_states": (JointState, 10),
            "/tf": (TFMessage, 10),
            "camera_info": (CameraInfo, SENSOR),
            "rgb/image": (Image, SENSOR),
            "depth/image": (Image, SENSOR),
            "segmentation/image": (Image, SENSOR),
            "segmentation/labels": (messages.SegmentLabels, SENSOR),
            "gripper/holding": (Bool, 10),
            "fixtures": (messages.SceneGraph, LATCHED),
            "ground_truth/scene_graph": (messages.SceneGraph, LATCHED),
        }
        for topic, (kind, qos) in topics.items():
            self._entities.append(self.create_subscription(kind, topic, self._keep(topic), qos))

    def _keep(self, topic: str) -> Any:
        return lambda message: self.newest.__setitem__(topic, message)


class Call:
    """A skill under way."""

    def __init__(self, system: System, client: Listener, skill: str, *names: str, timeout: float = 0.0) -> None:
        self.system, self.client = system, client
        wait_until(lambda: "fixtures" in client.newest, "the map")
        wait_until(client.skills.server_is_ready, "execute_skill is offered")
        known = {node.instance_id: node for node in client.newest["fixtures"].nodes}
        goal = ExecuteSkill.Goal(
            skill=skill, arguments=[known[name] for name in names], frame_id="map", timeout=timeout
        )
        self.phases: list[str] = []
        sent = system.on_thread(
            client, client.skills.send_goal_async, goal, lambda m: self.phases.append(m.feedback.phase)
        )
        wait_until(sent.done, "the goal is answered")
        self.handle = sent.result()
        assert self.handle.accepted
        self._result = system.on_thread(client, self.handle.get_result_async)

    def result(self) -> Any:
        wait_until(self._result.done, "the skill ends", 120.0)
        return self._result.result().result


@pytest.fixture()
def bridge(system: System) -> Any:
    return system.add(MujocoNode, real_time_factor=0.0)


@pytest.fixture()
def listener(system: System, bridge: Any) -> Any:
    return system.add(Listener)


def base(listener: Any) -> tuple[float, float]:
    state = listener.newest["joint_states"]
    places = dict(zip(state.name, state.position, strict=True))
    return places["base_x"], places["base_y"]


def test_the_bridge_publishes_what_a_robot_would(bridge: Any, listener: Any) -> None:
    wait_until(lambda: len(listener.newest) == 11, f"all topics, not only {sorted(listener.newest)}")
    newest = listener.newest
    depth, values = image_from_msg(newest["depth/image"]), image_from_msg(newest["segmentation/image"])
    assert depth.shape == values.shape == image_from_msg(newest["rgb/image"]).shape[:2] == (480, 640)
    assert newest["camera_info"].k[0] > 100.0
    frames = {(t.header.frame_id, t.child_frame_id) for t in newest["/tf"].transforms}
    assert ("base_link", "head_camera_optical_frame") in frames and ("odom", "base_link") in frames
    labels = {node.label for node in newest["fixtures"].nodes}
    assert {"Fridge", "CounterTop", "DiningTable"} <= labels and "Mug" not in labels
    assert any(node.label == "Mug" for node in newest["ground_truth/scene_graph"].nodes)


def test_a_skill_is_carried_out_with_feedback_and_moves_the_robot(system: System, bridge: Any, listener: Any) -> None:
    call = Call(system, listener, "go_to", "fridge_1")
    before = wait_until(lambda: "joint_states" in listener.newest and base(listener), "joint states")
    result = call.result()
    assert result.status == Result.SUCCEEDED, result.reason
    after = base(listener)
    assert abs(after[0] - before[0]) + abs(after[1] - before[1]) > 0.2


def test_an_unknown_skill_is_refused_with_the_list_of_skills(system: System, bridge: Any, listener: Any) -> None:
    result = Call(system, listener, "juggle", "fridge_1").result()
    assert result.status == Result.UNKNOWN_SKILL
    assert "juggle" in result.reason and "pick_up" in result.skills


def test_a_cancelled_skill_leaves_the_robot_still_and_ready(system: System, listener: Any, bridge: Any) -> None:
    call = Call(system, listener, "go_to", "fridge_1")
    wait_until(lambda: bridge._loop.busy == "go_to", "the robot drives")
    system.on_thread(listener, call.handle.cancel_goal_async)
    assert call.result().status == Result.CANCELLED
    assert Call(system, listener, "go_to", "fridge_1").result().status == Result.SUCCEEDED


def test_a_new_skill_stops_the_one_before(system: System, bridge: Any, listener: Any) -> None:
    first = Call(system, listener, "go_to", "fridge_1")
    wait_until(lambda: bridge._loop.busy == "go_to", "the robot drives")
    second = Call(system, listener, "go_to", "dining_table_1")
    assert first.result().status == Result.CANCELLED and "replaced" in first.result().reason
    assert second.result().status == Result.SUCCEEDED


def test_a_skill_that_nobody_waits_for_any_more_is_stopped(system: System, bridge: Any, listener: Any) -> None:
    other = system.add(Listener)
    listener._entities.remove(listener.skills)
    system.on_thread(listener, listener.destroy_all, [listener.skills])  # so that the other is the only client
    Call(system, other, "look", "fridge_1")
    wait_until(lambda: bridge._loop.busy == "look", "the robot looks")
    system.remove(other)
    wait_until(lambda: not bridge._loop.busy, "the skill is stopped", 120.0)
    assert bridge._server._orphan is not None, "it was stopped, it did not come to its end"


def test_disturbances_are_done_or_refused_with_a_reason(system: System, bridge: Any, listener: Any) -> None:
    client = listener.create_client(Disturb, "disturb")
    wait_until(client.service_is_ready, "disturb is offered")

    def ask(kind: str, target: str) -> Any:
        future = system.on_thread(listener, client.call_async, Disturb.Request(kind=kind, target=target))
        wait_until(future.done, "disturb answers")
        return future.result()

    answer = ask("earthquake", "")
    assert not answer.success and "earthquake" in answer.reason
    answer = ask("slip", "")
    assert answer.success, answer.reason


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"layout": "igloo"}, "igloo"), ({"disturbances": "[{"}, "disturbances"), ({"domain": "submarine"}, "submarine")],
)
def test_a_world_that_cannot_be_built_is_refused_with_the_cause(
    system: System, parameters: dict[str, Any], words: str
) -> None:
    node = system.add(MujocoNode, autostart=False, **parameters)
    system.transition(node, "trigger_configure")
    assert words in node.fault
    with pytest.raises(ParameterError, match="real_time_factor"):
        system.add(MujocoNode, autostart=False, real_time_factor=-1.0)


def test_time_goes_on_while_the_bridge_is_inactive_and_starts_anew_after_a_cleanup(
    system: System, bridge: Any, listener: Any
) -> None:
    wait_until(lambda: "/clock" in listener.newest, "time")
    system.transition(bridge, "trigger_deactivate")
    before = from_stamp(listener.newest["/clock"].clock)
    wait_until(lambda: from_stamp(listener.newest["/clock"].clock) > before + 0.5, "time goes on")
    for name in ("trigger_cleanup", "trigger_configure", "trigger_activate"):
        system.transition(bridge, name)
    wait_until(lambda: from_stamp(listener.newest["/clock"].clock) < before, "time starts anew")
    assert bridge._loop.alive
