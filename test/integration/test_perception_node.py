"""The perception node with a camera of arithmetic."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from camera import FakeCamera, fixtures
from harness import System, wait_until
from rclpy.duration import Duration
from tf2_msgs.msg import TFMessage

from graph_planner_ros import msg as messages
from graph_planner_ros.conversions import from_stamp, graph_to_msg, header, transform_to_msg
from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.nodes.base import SENSOR
from graph_planner_ros.nodes.perception import PerceptionNode
from graph_planner_ros.scene.graph import Attribute, Box, Relation, SceneNode
from graph_planner_ros.scene.storage import save_graph
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


def set_parts(**changes: Any) -> Any:
    """Return what alters the messages of a frame: part -> field -> value."""

    def alter(parts: dict[str, Any]) -> None:
        for part, fields in changes.items():
            for field, value in fields.items():
                setattr(parts[part], field, value)

    return alter


def no_number(value: float, share: float) -> Any:
    """Return what makes a share of the depth image a number that is no depth."""

    def alter(parts: dict[str, Any]) -> None:
        depth = np.frombuffer(bytes(parts["depth"].data), np.float32).copy()
        depth[: int(share * depth.size)] = value
        parts["depth"].data = depth.tobytes()

    return alter


BROKEN = {
    "depth without data": (set_parts(depth={"data": b""}), "empty"),
    "depth cut off": (set_parts(depth={"data": b"12345678"}), "too small"),
    "step of nothing": (set_parts(depth={"step": 0}), "too small"),
    "depth of a colour": (set_parts(depth={"encoding": "mono8"}), "depth encoding"),
    "no encoding": (set_parts(depth={"encoding": ""}), "encoding ''"),
    "no size": (set_parts(depth={"width": 0, "height": 0}), "empty"),
    "a huge size": (set_parts(depth={"width": 2**32 - 1, "height": 2**32 - 1}), "too small"),
    "instances of another size": (
        set_parts(instances={"width": 3, "height": 2, "step": 12, "data": bytes(24)}),
        "instance image",
    ),
    "instances in colour": (
        set_parts(instances={"encoding": "rgb8", "step": 960, "data": bytes(960 * 240)}),
        "instance image",
    ),
    "instances that are not whole": (set_parts(instances={"encoding": "32FC1"}), "instance image"),
    "camera of zeros": (set_parts(info={"k": [0.0] * 9}), "calibration"),
    "camera of no numbers": (set_parts(info={"k": [math.nan] * 9}), "calibration"),
    "camera without end": (set_parts(info={"k": [math.inf] * 9}), "calibration"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_frame_with_a_broken_part_is_refused_with_a_reason_and_the_node_lives(system: System, name: str) -> None:
    alter, words = BROKEN[name]
    eyes = Eyes(system)

    def refused() -> bool:
        eyes.stamp += 0.25
        system.on_thread(eyes.camera, lambda: eyes.camera.frame(eyes.stamp, alter=alter))
        return any(words in said for said in eyes.node._warned)

    wait_until(refused, f"a complaint with '{words}'")
    assert eyes.node._worker.frames == 0 and eyes.node.errors == 0
    eyes.feed("the node still works", lambda g: "mug_1" in ids(g))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0.0, -1.0, 1e30])
@pytest.mark.parametrize("share", [0.4, 1.0])
def test_depth_that_is_none_is_no_thing_and_no_failure(system: System, value: float, share: float) -> None:
    eyes = Eyes(system)
    eyes.feed("images are taken", lambda g: eyes.node._worker.frames > 2, alter=no_number(value, share))
    eyes.feed("the mug is believed", lambda g: "mug_1" in ids(g))
    assert not eyes.node._complaint


@pytest.mark.parametrize(
    "labels",
    [
        [],
        [messages.SegmentLabel(id=42, label="")],
        [messages.SegmentLabel(id=42, label="Spaceship")],
        [messages.SegmentLabel(id=42, label="Mug", part="warp drive")],
        [messages.SegmentLabel(id=42, label="Mug", attributes=["haunted", ""])],
        [messages.SegmentLabel(id=42, label="Mug"), messages.SegmentLabel(id=42, label="Fridge")],
    ],
    ids=str,
)
def test_labels_that_mean_nothing_do_no_harm(system: System, labels: Any) -> None:
    eyes = Eyes(system)
    eyes.feed(
        "images are taken",
        lambda g: eyes.node._worker.frames > 2,
        alter=lambda parts: setattr(parts["labels"], "labels", labels),
    )
    assert "Spaceship" not in {node.label for node in eyes.camera.graphs[-1].nodes}
    eyes.feed("the mug is believed", lambda g: "mug_1" in ids(g))
    assert not eyes.node._complaint


def test_transforms_that_are_none_are_refused_by_name_and_the_others_used(system: System) -> None:
    eyes = Eyes(system)

    def send() -> None:
        good = transform_to_msg("map", "somewhere", np.eye(4), 1.0)
        for change in (
            lambda t: setattr(t.transform.rotation, "w", 0.0),
            lambda t: setattr(t.transform.rotation, "x", math.nan),
            lambda t: setattr(t.transform.translation, "z", math.inf),
            lambda t: setattr(t, "child_frame_id", "map"),
            lambda t: setattr(t, "child_frame_id", ""),
        ):
            bad = copy.deepcopy(good)
            change(bad)
            eyes.camera.tf.publish(TFMessage(transforms=[bad]))

    system.on_thread(eyes.camera, send)
    wait_until(lambda: {"tf somewhere", "tf map", "tf "} <= eyes.node._warned, "each is refused by name")
    eyes.feed("the node still works", lambda g: "mug_1" in ids(g))


def test_a_writer_of_transforms_that_is_not_reliable_is_heard(system: System) -> None:
    eyes = Eyes(system)
    eyes.camera.destroy_publisher(eyes.camera.tf)
    eyes.camera.tf = eyes.camera.create_publisher(TFMessage, "/tf", SENSOR)
    eyes.feed("the mug is believed", lambda g: "mug_1" in ids(g))


def test_images_wait_for_transforms_that_come_late_and_the_newest_of_them_is_used(system: System) -> None:
    eyes = Eyes(system, transform_timeout=10.0)
    start = eyes.camera.now()
    stamps = [start + 0.2 * number for number in range(6)]
    for stamp in stamps:  # on a busy machine the images may all come before the first transform
        system.on_thread(eyes.camera, lambda stamp=stamp: eyes.camera.frame(stamp, transforms=False))
    wait_until(lambda: len(eyes.node._pending) == len(stamps), "all images wait")
    system.on_thread(eyes.camera, lambda: [eyes.camera.transforms(stamp) for stamp in stamps[:4]])
    wait_until(lambda: eyes.camera.graphs, "an image is used")
    wait_until(lambda: [pending[0] for pending in eyes.node._pending] == pytest.approx(stamps[4:]), "two still wait")
    assert from_stamp(eyes.camera.graphs[-1].header.stamp) <= stamps[3] + 1e-3
    system.on_thread(eyes.camera, lambda: eyes.camera.transforms(stamps[5]))
    wait_until(
        lambda: from_stamp(eyes.camera.graphs[-1].header.stamp) == pytest.approx(stamps[5], abs=1e-3),
        "the newest is used",
    )
    assert not eyes.node._complaint and not eyes.node._pending


def test_all_transforms_that_wait_are_taken_at_once(system: System) -> None:
    eyes = Eyes(system)
    taken: list[int] = []
    add = eyes.node._add_transforms

    def count(static: bool, message: Any) -> None:
        taken.append(len(taken))
        add(static, message)

    eyes.node._add_transforms = count
    rounds: list[int] = []
    try_pending = eyes.node._try_pending
    eyes.node._try_pending = lambda: (rounds.append(1), try_pending())

    def busy() -> None:  # while the node is busy with something else, transforms pile up
        wait_until(lambda: eyes.camera.tf.get_subscription_count() > 0, "the node listens")
        for number in range(60):
            eyes.camera.transforms(100.0 + 0.02 * number)
        eyes.camera.tf.wait_for_all_acked(Duration(seconds=5.0))

    system.on_thread(eyes.node, busy)
    wait_until(lambda: len(taken) >= 60, "all are taken")
    assert len(rounds) < 10


@pytest.mark.parametrize("what", ["class", "relation", "all"])
def test_a_map_with_something_unknown_is_used_without_it(system: System, what: str) -> None:
    eyes = Eyes(system)
    graph = graph_to_msg(fixtures())
    if what in ("class", "all"):
        graph.nodes.append(messages.SceneNode(instance_id="ufo", label="Spaceship"))
    if what in ("relation", "all"):
        graph.relations.append(messages.Relation(subject="ufo", predicate="orbits", object="counter_top_1", value=1))
    system.on_thread(eyes.camera, eyes.camera.fixtures.publish, graph)
    wait_until(lambda: any("ufo" in said for said in eyes.node._warned), "what is unknown is named")
    assert "ufo" not in eyes.node._fixtures.nodes and "counter_top_1" in eyes.node._fixtures.nodes
    eyes.feed("the node works", lambda g: "mug_1" in ids(g))


def test_a_stored_belief_of_a_later_time_goes_on_when_time_has_begun_anew(system: System, tmp_path: Path) -> None:
    graph = fixtures()
    graph.stamp, graph.revision = 5000.0, 3
    graph.nodes["mug_1"] = SceneNode(
        "mug_1", "Mug", Box(np.array([1.0, 0.0, 0.94]), np.array([0.08, 0.08, 0.08])), last_seen=5000.0, observations=9
    )
    graph.nodes["mug_1"].attributes["dirty"] = Attribute("dirty", Truth.TRUE, stamp=5000.0)
    graph.relations.append(Relation("mug_1", "on", "counter_top_1", stamp=5000.0))
    file = tmp_path / "belief.json"
    save_graph(graph, file)
    eyes = Eyes(system, state_file=str(file))
    eyes.feed("the mug is seen", lambda g: node_of(g, "mug_1").last_seen.sec < 100)
    done = messages.SubtaskCompleted(header=header(eyes.stamp), task_id="t", revision=1, index=0)
    done.subtask = messages.Subtask(action="clean", arguments=["mug_1", "sink_basin_1"])
    system.on_thread(eyes.camera, eyes.camera.events.publish, done)
    eyes.feed(
        "what skills do is believed again",
        lambda g: any(a.name == "cleaned" and a.value == 1 for a in node_of(g, "mug_1").attributes),
    )


def test_a_stored_belief_is_used_without_what_the_domain_does_not_know(system: System, tmp_path: Path) -> None:
    graph = fixtures()
    graph.stamp = 1.0
    graph.nodes["ufo"] = SceneNode("ufo", "Spaceship")
    file = tmp_path / "belief.json"
    save_graph(graph, file)
    node = system.add(PerceptionNode, state_file=str(file))
    assert set(node._graph.nodes) == set(fixtures().nodes)
    assert file.exists() and not list(tmp_path.glob("*.unreadable"))


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
