"""The recorder: a rosbag2 bag of everything that happens, readable whenever the recorder dies."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.duration import Infinite
from rclpy.qos import DurabilityPolicy, HistoryPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo

from graph_planner_ros.analysis.bag_repair import repair_bag
from graph_planner_ros.analysis.bag_writer import BagWriter, Topic
from graph_planner_ros.nodes.base import ManagedNode, Param
from graph_planner_ros.nodes.message_types import message_class, message_definition
from graph_planner_ros.nodes.process import run_node

PARAMETERS = (
    Param("bag", "bag", "folder of the bag; one that exists is left alone, the new one gets the next free number"),
    Param("topics", [".*"], "regular expressions of the topics to record (whole names)"),
    Param("exclude", [".*/depth/image", ".*/segmentation/image"], "regular expressions of topics to leave out"),
    Param("reduced", [".*/rgb/image"], "regular expressions of topics to record at a reduced rate"),
    Param("reduced_rate", 1.0, "most messages a second of each reduced topic, wall time", 0.001, 1000.0),
    Param("split_size", 512.0, "size in MB after which the next file is begun; 0: never", 0.0, 1e6),
    Param("split_duration", 600.0, "seconds after which the next file is begun; 0: never", 0.0, 1e6),
    Param("flush_period", 0.5, "wall seconds between two writes to disk; what a crash can cost", 0.05, 60.0),
    Param("discovery_period", 0.5, "wall seconds between two looks for new topics", 0.05, 60.0),
)


def free_folder(wanted: Path) -> Path:
    """Return ``wanted``, or the first of ``wanted_2``, ``wanted_3``... that does not exist."""
    path, number = wanted, 2
    while path.exists():
        path, number = wanted.with_name(f"{wanted.name}_{number}"), number + 1
    return path


def mend_leftovers(wanted: Path) -> list[str]:
    """Repair bags of this name whose recorder was killed; return a sentence for each that was mended."""
    sentences = []
    for path in sorted(wanted.parent.glob(f"{wanted.name}*")):
        if not re.fullmatch(re.escape(wanted.name) + r"(_\d+)?", path.name):
            continue
        try:
            report = repair_bag(path)
        except (OSError, ValueError) as error:
            sentences.append(f"bag {path} cannot be repaired: {error}")
            continue
        if report.changed:
            sentences.append(f"repaired {path}: {report.reason}, {report.messages} messages")
    return sentences


class RecorderNode(ManagedNode):
    """Subscribes to every topic as it appears and writes what it gets, without looking into it."""

    def __init__(self, **options: Any) -> None:
        super().__init__("recorder", PARAMETERS, **options)
        self._writer: BagWriter | None = None
        self._recorded: dict[str, Any] = {}
        self._last: dict[str, float] = {}
        self._periodic: list[Any] = []
        self._problem = ""

    def configure(self) -> None:
        """Mend what a recorder before left behind."""
        self._patterns = {
            name: [_pattern(name, text) for text in self.value(name)] for name in ("topics", "exclude", "reduced")
        }
        self._period = 1.0 / self.value("reduced_rate")
        for sentence in mend_leftovers(Path(self.value("bag"))):
            self.get_logger().warning(sentence)

    def activate(self) -> None:
        """Open the bag and begin to record."""
        folder = free_folder(Path(self.value("bag")).absolute())
        self._writer = BagWriter(folder, int(self.value("split_size") * 1e6), self.value("split_duration"))
        self._periodic = [
            self.create_timer(self.value("flush_period"), self._flush, clock=self.steady_clock),
            self.create_timer(self.value("discovery_period"), self._discover, clock=self.steady_clock),
        ]
        self.get_logger().info(f"recording to {folder}")
        self._discover()

    def deactivate(self) -> None:
        """Close the bag."""
        self.destroy_all([*self._periodic, *self._recorded.values()])
        self._periodic, self._recorded, self._last = [], {}, {}
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.close()
            self.get_logger().info(f"recorded {writer.messages} messages to {writer.folder}")

    def diagnose(self) -> tuple[int, str, dict[str, Any]]:
        """Say where the bag is and how much is in it."""
        writer = self._writer
        if writer is None:
            return DiagnosticStatus.OK, "not recording", {}
        values = {
            "bag": writer.folder,
            "topics": len(self._recorded),
            "messages": writer.messages,
            "dropped": writer.dropped,
        }
        if self._problem:
            return DiagnosticStatus.ERROR, self._problem, values
        return DiagnosticStatus.OK, "recording", values

    def _wanted(self, topic: str) -> bool:
        # Topics with a part that begins with an underscore are hidden ones, of actions for instance.
        if any(part.startswith("_") for part in topic.split("/")) or topic in self._recorded:
            return False
        return self._matches("topics", topic) and not self._matches("exclude", topic)

    def _matches(self, name: str, topic: str) -> bool:
        return any(pattern.fullmatch(topic) for pattern in self._patterns[name])

    def _discover(self) -> None:
        for topic, types in self.get_topic_names_and_types():
            if not self._wanted(topic):
                continue
            publishers = self.get_publishers_info_by_topic(topic)
            if not publishers:
                continue  # nobody publishes it yet
            if len(types) > 1:
                self.warn_once(topic, f"{topic} has several types ({', '.join(types)}); recording {types[0]}")
            self._record(topic, types[0], publishers)

    def _record(self, topic: str, type_name: str, publishers: list[TopicEndpointInfo]) -> None:
        assert self._writer is not None
        try:
            message_type, definition = message_class(type_name), message_definition(type_name)
        except LookupError as error:
            self.warn_once(topic, f"{topic} is not recorded: {error}")
            return
        profiles = tuple(_profile(info.qos_profile) for info in publishers[:1])
        hashed = str(publishers[0].topic_type_hash)
        type_hash = hashed if hashed.startswith("RIHS01_") else ""
        self._writer.add_topic(Topic(topic, type_name, definition, type_hash, profiles))
        reduced = self._matches("reduced", topic)

        def receive(data: bytes) -> None:
            self._receive(topic, data, reduced)

        self._recorded[topic] = self.create_subscription(
            message_type, topic, receive, _matching_qos(publishers), raw=True
        )

    def _receive(self, topic: str, data: bytes, reduced: bool) -> None:
        if self._writer is None:
            return
        if reduced:
            now = time.monotonic()
            if now - self._last.get(topic, -1e9) < self._period:
                return
            self._last[topic] = now
        self._writer.write(topic, time.time_ns(), data)

    def _flush(self) -> None:
        if self._writer is None:
            return
        try:
            self._writer.flush()
        except OSError as error:
            self.warn_once(str(error.errno), f"the bag cannot be written: {error}")
            self._problem = f"the bag cannot be written: {error}"
        else:
            self._problem = ""


def _pattern(name: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(f"parameter '{name}': '{text}' is no regular expression: {error}") from error


def _matching_qos(publishers: list[TopicEndpointInfo]) -> QoSProfile:
    """Return the QoS that gets most from all publishers of a topic."""
    profiles = [info.qos_profile for info in publishers]
    reliable = all(profile.reliability == ReliabilityPolicy.RELIABLE for profile in profiles)
    latched = all(profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for profile in profiles)
    return QoSProfile(
        depth=100,
        history=HistoryPolicy.KEEP_LAST,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def _profile(profile: QoSProfile) -> dict[str, Any]:
    """Return a QoS profile in the words of rosbag2's metadata."""
    endless = {"sec": 9223372036, "nsec": 854775807}

    def duration(value: Any) -> dict[str, int]:
        if value == Infinite:
            return endless
        seconds, nanoseconds = divmod(value.nanoseconds, 10**9)
        return {"sec": seconds, "nsec": nanoseconds}

    latched = profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
    return {
        # Publishers do not tell history and depth; a player needs a depth to repeat what was latched.
        "history": "keep_last",
        "depth": max(profile.depth, 1) if latched else max(profile.depth, 10),
        "reliability": "reliable" if profile.reliability == ReliabilityPolicy.RELIABLE else "best_effort",
        "durability": "transient_local" if latched else "volatile",
        "deadline": duration(profile.deadline),
        "lifespan": duration(profile.lifespan),
        "liveliness": "manual_by_topic" if profile.liveliness == LivelinessPolicy.MANUAL_BY_TOPIC else "automatic",
        "liveliness_lease_duration": duration(profile.liveliness_lease_duration),
        "avoid_ros_namespace_conventions": bool(profile.avoid_ros_namespace_conventions),
    }


def main() -> int:
    """Run the node."""
    return run_node(RecorderNode)


if __name__ == "__main__":
    sys.exit(main())
