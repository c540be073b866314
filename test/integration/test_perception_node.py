"""The perception node with a camera of arithmetic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from camera import FakeCamera
from harness import System, wait_until

from graph_planner_ros import msg as messages
from graph_planner_ros.conversions import from_stamp, header
from graph_planner_ros.nodes.perception import PerceptionNode
from graph_planner_ros.srv import Reobserve


class Eyes:
    """Perception with its camera, fed until the belief is as expected."""

    def __init__(self, system: System, **parameters: Any) -> None:
        self.system = system
        self.camera = system.add(FakeCamera)
        self.node = system.add(PerceptionNode, **parameters)
        self.stamp = 1.0
        wait_until(lambda: self.camera.depth.get_subscription_count() > 0, "perception listens")
        wait_until(lambda: self.node._worker is not None, "the map of the fixtures has come")

    def feed(self, what: str, condition: Any, **frame: Any) -> Any:
        """Send frames, one after the other, until ``condition`` of the newest belief holds."""

        def step() -> Any:
            self.stamp += 0.25
            self.system.on_thread(self.camera, lambda: self.camera.frame(self.stamp, **frame))
            return self.camera.graphs and condition(self.camera.graphs[-1])

        wait_until(step, what)
        return self.camera.graphs[-1]


def ids(graph: Any) -> set[str]:
    return {node.instance_id for node in graph.nodes}


def node_of(graph: Any, name: str) -> Any:
    return next(node for node in graph.nodes if node.instance_id == name)


@pytest.mark.parametrize("encoding", ["32FC1", "16UC1"])
def test_what_the_camera_sees_is_in_the_scene_graph_in_metres(system: System, encoding: str) -> None:
    eyes = Eyes(system)
    graph = eyes.feed("the mug is believed", lambda g: "mug_1" in ids(g), encoding=encoding)
    mug = node_of(graph, "mug_1")
    assert abs(mug.pose.position.x - 1.0) < 0.08 and abs(mug.pose.position.y) < 0.05
    assert abs(mug.pose.position.z - 0.94) < 0.08
    assert {"counter_top_1", "dining_table_1"} <= ids(graph)
    graph = eyes.feed("the mug is on the counter", lambda g: any(r.subject == "mug_1" for r in g.relations))
    assert ("mug_1", "on", "counter_top_1") in {(r.subject, r.predicate, r.object) for r in graph.relations}
    assert graph.header.frame_id == "map" and abs(from_stamp(graph.header.stamp) - eyes.stamp) < 2.0
    wait_until(lambda: eyes.camera.detections, "detections are published")
    found = {d.label: d for d in eyes.camera.detections[-1].detections}
    assert found["Mug"].instance_id == "mug_1" and found["Mug"].mask.width == 17


def test_an_encoding_that_nobody_knows_is_an_error_once_and_the_node_lives(system: System) -> None:
    eyes = Eyes(system)
    for _ in range(3):
        eyes.stamp += 0.25
        system.on_thread(eyes.camera, lambda: eyes.camera.frame(eyes.stamp, encoding="64FC1"))
    wait_until(lambda: "64FC1" in eyes.node._complaint, "the complaint names the encoding")
    assert len([key for key in eyes.node._warned if "64FC1" in key]) == 1
    eyes.feed("the node still works", lambda g: "mug_1" in ids(g))


def test_images_without_a_stamp_are_dropped_with_one_warning(system: System) -> None:
    eyes = Eyes(system)
    for _ in range(5):
        system.on_thread(eyes.camera, lambda: eyes.camera.frame(0.0))
    wait_until(lambda: eyes.node._assembler.dropped >= 8, "they are counted")
    assert eyes.node._worker.frames == 0
    assert "zero stamp" in eyes.node._warned
    eyes.feed("images with a stamp are used", lambda g: "mug_1" in ids(g))


def test_images_without_a_stamp_are_stamped_on_arrival_on_request(system: System) -> None:
    eyes = Eyes(system, stamp_on_arrival=True)

    def step() -> bool:
        def send() -> None:
            now = eyes.camera.now()
            for ahead in (-0.3, 0.0, 0.3):  # transforms around the moment at which the images will arrive
                eyes.camera.transforms(now + ahead)
            eyes.camera.frame(0.0, transforms=False)

        system.on_thread(eyes.camera, send)
        return bool(eyes.camera.graphs) and "mug_1" in ids(eyes.camera.graphs[-1])

    wait_until(step, "the mug is believed")


def test_empty_images_are_dropped(system: System) -> None:
    eyes = Eyes(system)

    def send() -> None:
        message = messages  # noqa: F841
        from sensor_msgs.msg import Image

        eyes.camera.depth.publish(Image(header=header(5.0, "head_camera_optical_frame"), encoding="32FC1"))

    system.on_thread(eyes.camera, send)
    wait_until(lambda: "empty" in eyes.node._warned, "the warning")
    eyes.feed("the node still works", lambda g: "mug_1" in ids(g))


def test_when_time_jumps_back_the_belief_stays_and_new_images_are_used(system: System) -> None:
    eyes = Eyes(system)
    eyes.stamp = 100.0
    eyes.feed("the mug is believed", lambda g: "mug_1" in ids(g))
    system.on_thread(eyes.node, eyes.node._on_jump, None)
    eyes.stamp = 2.0
    graph = eyes.feed("images from after the jump are merged", lambda g: 2.0 < from_stamp(g.header.stamp) < 50.0)
    assert "mug_1" in ids(graph)


def test_effects_of_skills_enter_the_belief_once(system: System) -> None:
    eyes = Eyes(system)
    eyes.feed("the mug is believed", lambda g: any(r.subject == "mug_1" for r in g.relations))
    done = messages.SubtaskCompleted(header=header(eyes.stamp), task_id="t", revision=1, index=0)
    done.subtask = messages.Subtask(action="clean", arguments=["mug_1", "sink_basin_1"])

    def cleaned(graph: Any) -> bool:
        return any(a.name == "cleaned" and a.value == 1 for a in node_of(graph, "mug_1").attributes)

    system.on_thread(eyes.camera, eyes.camera.events.publish, done)
    graph = eyes.feed("the mug is clean", cleaned)
    attribute = next(a for a in node_of(graph, "mug_1").attributes if a.name == "cleaned")
    assert attribute.source == "effect"


def test_effects_that_happened_while_perception_was_away_are_caught_up_with(system: System) -> None:
    eyes = Eyes(system)
    eyes.feed("the mug is believed", lambda g: any(r.subject == "mug_1" for r in g.relations))
    done = messages.SubtaskCompleted(header=header(eyes.stamp), task_id="t", revision=1, index=0)
    done.subtask = messages.Subtask(action="clean", arguments=["mug_1", "sink_basin_1"])
    system.transition(eyes.node, "trigger_deactivate")
    system.on_thread(eyes.camera, eyes.camera.events.publish, done)
    wait_until(lambda: eyes.node._early, "the event has come")
    system.transition(eyes.node, "trigger_activate")

    def cleaned(graph: Any) -> bool:
        return any(a.name == "cleaned" and a.value == 1 for a in node_of(graph, "mug_1").attributes)

    eyes.feed("the mug is clean", cleaned)


def test_the_belief_survives_the_node(system: System, tmp_path: Path) -> None:
    file = tmp_path / "belief.json"
    eyes = Eyes(system, state_file=str(file))
    eyes.feed("the mug is believed", lambda g: "mug_1" in ids(g))
    system.remove(eyes.node)
    assert "mug_1" in json.loads(file.read_text())["nodes"].__str__()
    node = system.add(PerceptionNode, state_file=str(file))
    assert "mug_1" in node._graph.nodes


def test_a_broken_file_is_named_and_kept_and_the_node_starts(system: System, tmp_path: Path) -> None:
    file = tmp_path / "belief.json"
    file.write_text('{"version": 1, "nodes": [')
    node = system.add(PerceptionNode, state_file=str(file))
    assert node.active and not node._graph.nodes
    assert (tmp_path / "belief.json.unreadable").read_text().startswith('{"version"')


def test_a_fresh_look_can_be_waited_for(system: System) -> None:
    eyes = Eyes(system)
    client = eyes.camera.create_client(Reobserve, "reobserve")
    wait_until(client.service_is_ready, "reobserve is offered")

    def ask(name: str, timeout: float) -> Any:
        return system.on_thread(eyes.camera, client.call_async, Reobserve.Request(instance_id=name, timeout=timeout))

    nothing = ask("", 0.3)
    wait_until(nothing.done, "the time-out")
    assert not nothing.result().success and "0.3" in nothing.result().reason
    eyes.stamp = eyes.camera.now() + 100.0
    answer = ask("mug_1", 20.0)
    eyes.feed("an answer", lambda g: answer.done())
    assert answer.result().success, answer.result().reason
    assert "mug_1" in ids(answer.result().scene_graph)


def test_perception_can_be_deactivated_and_cleaned_up_and_started_again(system: System) -> None:
    eyes = Eyes(system)
    eyes.feed("the mug is believed", lambda g: "mug_1" in ids(g))
    for name in ("trigger_deactivate", "trigger_cleanup", "trigger_configure", "trigger_activate"):
        system.transition(eyes.node, name)
    eyes.camera.graphs.clear()
    eyes.feed("the mug is believed again", lambda g: "mug_1" in ids(g))
