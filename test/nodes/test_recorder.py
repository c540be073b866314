"""The recorder node: what ends up in the bag, and that the bag is readable whenever the recorder dies."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rclpy
from rclpy.parameter import Parameter
from rosbags.highlevel import AnyReader
from sensor_msgs.msg import Image
from std_msgs.msg import Bool, Header

import graph_planner_ros.msg as messages
from graph_planner_ros.analysis import bag_writer
from graph_planner_ros.analysis.bag_repair import summarize_bag
from graph_planner_ros.analysis.bag_writer import BagWriter, Topic
from graph_planner_ros.nodes.base import LATCHED
from graph_planner_ros.nodes.message_types import message_class, message_definition
from graph_planner_ros.nodes.recorder import RecorderNode, free_folder, mend_leftovers


class Publisher:
    """Publishes on a few topics until a condition holds."""

    def __init__(self) -> None:
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node("publisher", context=self.context)
        self.holding = self.node.create_publisher(Bool, "gripper/holding", 10)
        self.plan = self.node.create_publisher(messages.Plan, "plan", LATCHED)
        self.color = self.node.create_publisher(Image, "rgb/image", 10)
        self.depth = self.node.create_publisher(Image, "depth/image", 10)
        self.sent = 0

    def until(self, condition: Callable[[], bool], seconds: float = 30.0) -> bool:
        deadline = time.monotonic() + seconds
        image = Image(header=Header(frame_id="camera"), height=1, width=1, encoding="mono8", step=1, data=b"x")
        while time.monotonic() < deadline:
            self.holding.publish(Bool(data=True))
            self.color.publish(image)
            self.depth.publish(image)
            self.sent += 1
            if condition():
                return True
            time.sleep(0.02)
        return False

    def close(self) -> None:
        self.node.destroy_node()
        self.context.try_shutdown()


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    one = Publisher()
    yield one
    one.close()


def start(bag: Path, **parameters: object) -> subprocess.Popen[bytes]:
    words = [word for name, value in {"bag": bag, **parameters}.items() for word in ("-p", f"{name}:={value}")]
    command = [sys.executable, "-m", "graph_planner_ros.nodes.recorder", "--ros-args", *words]
    return subprocess.Popen(command, env={**os.environ, "ROS_LOG_DIR": str(bag.parent / "ros")})


def counts(bag: Path) -> dict[str, int]:
    try:
        return {topic: count for topic, (_, count) in summarize_bag(bag).topics.items()}
    except (OSError, ValueError):
        return {}


def read(bag: Path) -> list[tuple[str, Any]]:
    with AnyReader([bag]) as reader:
        return [(c.topic, reader.deserialize(data, c.msgtype)) for c, _, data in reader.messages()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_bag_is_readable_however_the_recorder_ends(publisher: Publisher, tmp_path: Path, number: int) -> None:
    publisher.plan.publish(messages.Plan(task_id="before the recorder was there", revision=4))
    process = start(tmp_path / "bag", flush_period=0.1)
    try:
        recorded = publisher.until(lambda: counts(tmp_path / "bag").get("/gripper/holding", 0) > 5)
    finally:
        process.send_signal(number)
        code = process.wait(20)
    assert recorded
    assert code == (-signal.SIGKILL if number == signal.SIGKILL else 0)
    found = read(tmp_path / "bag")
    assert sum(topic == "/gripper/holding" for topic, _ in found) > 5
    assert [message.revision for topic, message in found if topic == "/plan"] == [4]  # latched before it came
    assert "/depth/image" not in counts(tmp_path / "bag")


def test_images_are_thinned_out(publisher: Publisher, tmp_path: Path) -> None:
    process = start(tmp_path / "bag", flush_period=0.1, reduced_rate=0.01)
    try:
        assert publisher.until(lambda: counts(tmp_path / "bag").get("/gripper/holding", 0) > 20)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)
    assert counts(tmp_path / "bag")["/rgb/image"] == 1


def test_a_restarted_recorder_takes_a_new_folder(publisher: Publisher, tmp_path: Path) -> None:
    for name in ("bag", "bag_2"):
        process = start(tmp_path / "bag", flush_period=0.1)
        recorded = publisher.until(lambda name=name: counts(tmp_path / name).get("/gripper/holding", 0) > 2)  # type: ignore[misc]
        process.kill()
        process.wait(20)
        assert recorded
    assert read(tmp_path / "bag") and read(tmp_path / "bag_2")


def test_wrong_parameters_are_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "graph_planner_ros.nodes.recorder", "--ros-args", "-p", "reduced_rate:=-1.0"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False)
    assert ended.returncode == 2
    assert "reduced_rate" in ended.stderr


def test_a_pattern_that_is_none_keeps_the_recorder_from_starting(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "graph_planner_ros.nodes.recorder", "--ros-args", "-p", "topics:=['(']"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False)
    assert ended.returncode == 1
    assert "regular expression" in ended.stderr


def test_existing_folders_are_never_taken(tmp_path: Path) -> None:
    assert free_folder(tmp_path / "bag") == tmp_path / "bag"
    for name in ("bag", "bag_2"):
        (tmp_path / name).mkdir()
    assert free_folder(tmp_path / "bag") == tmp_path / "bag_3"


def test_leftovers_that_are_no_bags_are_reported_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "bag").mkdir()
    (tmp_path / "baggage").mkdir()
    (sentence,) = mend_leftovers(tmp_path / "bag")
    assert "cannot be repaired" in sentence and "baggage" not in sentence


def test_definitions_hold_everything_that_a_type_uses() -> None:
    text = message_definition("graph_planner_ros/msg/Plan")
    assert "MSG: graph_planner_ros/Subtask" in text and "MSG: builtin_interfaces/Time" in text
    assert message_class("graph_planner_ros/msg/Plan") is messages.Plan


def test_a_type_that_is_not_installed_is_named() -> None:
    with pytest.raises(LookupError, match="no_such_msgs/msg/Thing"):
        message_class("no_such_msgs/msg/Thing")
    with pytest.raises(LookupError, match="no_such_msgs/msg/Thing"):
        message_definition("no_such_msgs/msg/Thing")


@pytest.mark.parametrize("split_size", [1, 200, 10**6])
@pytest.mark.parametrize("begun", ["before the first message", "later"])
def test_a_full_disk_costs_no_message_that_fits_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, split_size: int, begun: str
) -> None:
    writer = BagWriter(tmp_path / "bag", split_size)
    writer.add_topic(Topic("/holding", "std_msgs/msg/Bool", "bool data\n"))
    content = b"\x00\x01\x00\x00\x01"
    early = 3 if begun == "later" else 0
    for stamp in range(1, early + 1):
        writer.write("/holding", stamp, content)
    writer.flush()
    real, full = os.pwrite, True

    def pwrite(*arguments: Any) -> int:
        if full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*arguments)

    monkeypatch.setattr(bag_writer.os, "pwrite", pwrite)
    last = early + 30
    for stamp in range(early + 1, last):
        writer.write("/holding", stamp, content)
    with pytest.raises(OSError, match="space"):
        writer.flush()
    full = False
    writer.write("/holding", last, content)
    writer.close()
    assert counts(tmp_path / "bag")["/holding"] == last and writer.dropped == 0
    assert stamps(tmp_path / "bag") == list(range(1, last + 1))


def stamps(bag: Path) -> list[int]:
    with AnyReader([bag]) as reader:
        return [stamp for _, stamp, _ in reader.messages()]


@pytest.mark.parametrize("where", ["file/bag", "file/deep/bag", "/proc/nothing/bag"])
def test_a_folder_that_cannot_be_made_keeps_the_recorder_from_starting_with_its_name(
    tmp_path: Path, where: str
) -> None:
    (tmp_path / "file").write_text("")
    node = recorder(bag=str(tmp_path / where))
    try:
        node.trigger_configure()
        node.trigger_activate()
        assert not node.active and "cannot" in node.fault and where.rpartition("/")[0] in node.fault
    finally:
        forget(node)


def test_topics_that_are_not_there_make_an_empty_bag_that_can_be_read(tmp_path: Path) -> None:
    node = recorder(bag=str(tmp_path / "bag"), topics=["/nowhere"])
    try:
        node.trigger_configure()
        node.trigger_activate()
        assert node.active and node.errors == 0
        node.close()
        assert summarize_bag(tmp_path / "bag").messages == 0
    finally:
        forget(node)


def recorder(**parameters: Any) -> RecorderNode:
    """A recorder in this process that nobody spins."""
    context = rclpy.Context()
    rclpy.init(context=context)
    given = [Parameter(name, value=value) for name, value in parameters.items()]
    return RecorderNode(context=context, parameter_overrides=given)


def forget(node: RecorderNode) -> None:
    node.close()
    node.destroy_node()
    node.context.try_shutdown()
