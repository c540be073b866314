"""The perception node: images, transforms and events in; detections and the scene graph out."""

from __future__ import annotations

import functools
import sys
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import JumpThreshold
from rclpy.duration import Duration
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.task import Future
from std_msgs.msg import Bool
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from graph_planner_ros import msg as messages
from graph_planner_ros.conversions import (
    detection_to_msg,
    from_stamp,
    graph_to_msg,
    header,
    matrix_from_transform,
    step_from_msg,
)
from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.nodes.base import IMAGES, KEPT, LATCHED, SENSOR, TRANSFORMS, ManagedNode, Param, take_all
from graph_planner_ros.nodes.belief_messages import receive_graph
from graph_planner_ros.nodes.frame_messages import STREAMS, frame_from_messages
from graph_planner_ros.nodes.frames import FrameAssembler
from graph_planner_ros.nodes.markers import graph_markers
from graph_planner_ros.nodes.perception_worker import EffectEvent, PerceptionWorker, load_or_empty
from graph_planner_ros.nodes.process import run_node
from graph_planner_ros.perception.frame import Frame
from graph_planner_ros.perception.pipeline import PerceptionPipeline, ProcessedFrame
from graph_planner_ros.perception.segmentation import InstanceImageSegmenter
from graph_planner_ros.perception.transforms import TransformBuffer, TransformError
from graph_planner_ros.scene.graph import SceneGraph
from graph_planner_ros.scene.merging import SceneUpdater
from graph_planner_ros.scene.observation import RobotState
from graph_planner_ros.scene.storage import load_graph
from graph_planner_ros.srv import Reobserve

PARAMETERS = (
    Param("domain", "household", "planning domain: a folder under config/domains, or a path"),
    Param("map_frame", "map", "frame of the belief"),
    Param("base_frame", "base_link", "frame of the robot's base"),
    Param("gripper_frame", "gripper", "frame between the fingers"),
    Param("stamp_on_arrival", False, "stamp images without a stamp when they arrive, instead of dropping them"),
    Param(
        "image_reliability",
        "auto",
        "reliable loses no image on a busy machine; best_effort matches every camera; auto: reliable where offered",
        choices=("auto", "reliable", "best_effort"),
    ),
    Param("min_pixels", 40, "smallest mask that counts as a detection", 1, 100000),
    Param("state_file", "", "file that keeps the belief over restarts (JSON); empty: not kept"),
    Param("marker_rate", 1.0, "markers per second of wall time, if anybody listens; 0: none", 0.0, 30.0),
    Param("transform_timeout", 1.0, "longest wait of an image for its transform, seconds of ROS time", 0.0, 10.0),
)
KINDS = tuple(STREAMS)
WAITING_FRAMES = 10
"""So many frames wait for their transforms; when it is known where the camera was, the newest of them is used."""
FUTURE = 1.0
"""Events further ahead of time than this [s] are of a simulation that ran before."""


class PerceptionNode(ManagedNode):
    """Turns what the robot's camera sees, and what its skills did, into the scene graph."""

    def __init__(self, **options: Any) -> None:
        super().__init__("perception", PARAMETERS, **options)
        self._entities: list[Any] = []
        self._streams: dict[str, Any] = {}
        self._worker: PerceptionWorker | None = None
        self._fixtures: SceneGraph | None = None
        self._jump: Any = None
        self._pending: deque[tuple[float, dict[str, Any]]] = deque(maxlen=WAITING_FRAMES)
        self._holding: tuple[float, bool] | None = None
        self._last_event = float("-inf")
        self._restored = float("-inf")
        self._early: deque[EffectEvent] = deque(maxlen=50)
        self._waiting: list[tuple[float, Future]] = []
        self._newest: SceneGraph | None = None
        self._marker_due = 0.0
        self._complaint = ""

    # ---- life cycle

    def configure(self) -> None:
        """Load the domain and the stored belief; create the interfaces."""
        self._domain = load_domain(self.value("domain"))
        name = str(self.value("state_file"))
        self._state_file = Path(name).expanduser() if name else None
        self._graph, problem, left_out = load_or_empty(load_graph, self._state_file, self._domain)
        if problem:
            self.get_logger().error(problem)
            self._keep_aside()
        if left_out:
            self.get_logger().warning(f"the stored belief {self._state_file} is used in part: {left_out}")
        self._restored = self._graph.stamp if self._graph.nodes else float("-inf")
        self._graph.frame_id = str(self.value("map_frame"))
        self._buffer = TransformBuffer()
        self._assembler = FrameAssembler(KINDS, bool(self.value("stamp_on_arrival")))
        self._create_interfaces()
        self._jump = self.get_clock().create_jump_callback(
            JumpThreshold(min_forward=None, min_backward=Duration(seconds=-0.1), on_clock_change=False),
            post_callback=self._on_jump,
        )

    def _create_interfaces(self) -> None:
        self._detections = self.create_publisher(messages.Detections, "detections", SENSOR)
        self._graphs = self.create_publisher(messages.SceneGraph, "scene_graph", LATCHED)
        self._markers = self.create_publisher(MarkerArray, "markers", 1)
        subscribe = self.create_subscription
        self._transforms = subscribe(TFMessage, "/tf", self._on_transforms, TRANSFORMS)
        self._entities = [
            self._detections,
            self._graphs,
            self._markers,
            self._transforms,
            subscribe(TFMessage, "/tf_static", functools.partial(self._add_transforms, True), LATCHED),
            subscribe(messages.SceneGraph, "fixtures", self._on_fixtures, LATCHED),
            subscribe(Bool, "gripper/holding", self._on_holding, 10),
            subscribe(messages.SubtaskCompleted, "events/subtask_completed", self._on_completed, KEPT),
            self.create_service(Reobserve, "reobserve", self._on_reobserve, callback_group=ReentrantCallbackGroup()),
        ]

        for kind in KINDS:
            self._listen(kind, self.value("image_reliability") != "best_effort")

    def _listen(self, kind: str, reliable: bool) -> None:
        """Subscribe to one of the streams of a frame, anew as best effort if its camera offers no more than that."""
        if kind in self._streams:
            self.destroy_all([self._streams.pop(kind)])
        message_type, topic = STREAMS[kind]
        events = None
        if reliable and self.value("image_reliability") == "auto":
            events = SubscriptionEventCallbacks(incompatible_qos=lambda _: self.on_executor(self._listen, kind, False))
        self._streams[kind] = self.create_subscription(
            message_type,
            topic,
            functools.partial(self._on_part, kind),
            IMAGES if reliable else SENSOR,
            event_callbacks=events,
        )

    def activate(self) -> None:
        """Begin to look, as soon as the map of the fixtures is known."""
        self._start_worker()

    def deactivate(self) -> None:
        """Stop looking; the belief is saved."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.stop()
            self._graph = worker.graph
        self._answer_waiting(None)

    def release(self) -> None:
        """Destroy the interfaces and forget the belief (the file keeps it)."""
        if self._jump is not None:
            self._jump.unregister()
            self._jump = None
        self.destroy_all([*self._entities, *self._streams.values()])
        self._entities, self._streams = [], {}
        self._fixtures, self._holding, self._newest = None, None, None
        self._pending.clear()
        self._last_event = float("-inf")

    def diagnose(self) -> tuple[bytes, str, dict[str, Any]]:
        """Say what is missing, if anything."""
        worker = self._worker
        values: dict[str, Any] = {"dropped": self._assembler.dropped if self._entities else 0}
        if worker is not None:
            values |= {"frames": worker.frames, "frame_time": f"{worker.frame_time:.3f}"}
            values["nodes"] = len(worker.graph.nodes)
        if self.active and self._fixtures is None:
            return DiagnosticStatus.WARN, "no map of the fixtures yet", values
        if self._complaint:
            return DiagnosticStatus.WARN, self._complaint, values
        if worker is not None and worker.frames == 0:
            return DiagnosticStatus.WARN, "no images yet", values
        return DiagnosticStatus.OK, "looking" if self.active else "not active", values

    def _keep_aside(self) -> None:
        """Keep a file that cannot be read, since the next save would take its name."""
        if self._state_file is not None and self._state_file.exists():
            self._state_file.replace(self._state_file.with_name(self._state_file.name + ".unreadable"))

    def _start_worker(self) -> None:
        if self._worker is not None or self._fixtures is None:
            return
        fixtures = list(self._fixtures.nodes.values())
        segmenter = InstanceImageSegmenter(min_pixels=self.value("min_pixels"))
        self._worker = PerceptionWorker(
            self._domain,
            self._graph,
            PerceptionPipeline(self._domain, segmenter, fixtures),
            SceneUpdater(self._domain, fixtures),
            self._publish,
            self._complain,
            self._state_file,
        )
        self._worker.start()
        for event in self._early:
            self._worker.put_event(event)
        self._early.clear()

    # ---- subscriptions

    def _on_part(self, kind: str, message: Any) -> None:
        stamp = from_stamp(message.header.stamp)
        if stamp <= 0.0 and not self._assembler.stamp_on_arrival:
            self._assembler.dropped += 1
            self.warn_once(
                "zero stamp", "images without a time stamp are dropped; the parameter stamp_on_arrival takes them"
            )
            return
        if kind in ("depth", "instances") and (message.width == 0 or message.height == 0 or not message.data):
            self._assembler.dropped += 1
            self.warn_once("empty", "empty images are dropped")
            return
        frame = self._assembler.add(kind, stamp, message, self.now())
        if frame is not None:
            self._pending.append(frame)
            self._try_pending()

    def _on_transforms(self, message: TFMessage) -> None:
        """Take this message and all that wait behind it, before the next image: they are many and small.

        One callback for each would lag behind on a busy machine, and images would be dropped for the want of them.
        """
        self._add_transforms(False, message)
        for waiting in take_all(self._transforms, TRANSFORMS.depth):
            self._add_transforms(False, waiting)
        self._try_pending()

    def _add_transforms(self, static: bool, message: TFMessage) -> None:
        for item in message.transforms:
            try:
                self._buffer.add(
                    item.header.frame_id,
                    item.child_frame_id,
                    matrix_from_transform(item.transform),
                    from_stamp(item.header.stamp),
                    static,
                )
            except ValueError as error:
                self.warn_once(f"tf {item.child_frame_id}", f"transform of '{item.child_frame_id}' refused: {error}")

    def _on_fixtures(self, message: messages.SceneGraph) -> None:
        fixtures = receive_graph(message, self._domain, self._complain, "map of the fixtures")
        if fixtures is None:
            return
        first = self._fixtures is None
        self._fixtures = fixtures
        if self.active and first:
            self._start_worker()

    def _on_holding(self, message: Bool) -> None:
        self._holding = (self.now(), bool(message.data))

    def _on_completed(self, message: messages.SubtaskCompleted) -> None:
        """Apply the effects of a skill; events from before a restart come again, for those that the file lacks."""
        stamp = from_stamp(message.header.stamp)
        if stamp <= self._restored or stamp > self.now() + FUTURE:
            return
        self._last_event = max(self._last_event, stamp)
        action = step_from_msg(message.subtask).action
        event = EffectEvent((message.task_id, message.revision, message.index), action, stamp)
        if self._worker is not None:
            self._worker.put_event(event)
        else:
            self._early.append(event)

    def _on_jump(self, jump: Any) -> None:
        self.get_logger().warning(
            "time jumped back: transforms and images from before are forgotten, the belief is kept"
        )
        self._buffer.clear()
        self._assembler.clear()
        self._pending.clear()
        self._holding = None
        self._last_event = self._restored = float("-inf")
        self._early.clear()
        if self._worker is not None:
            self._worker.time_jumped()

    # ---- frames

    def _try_pending(self) -> None:
        """Give the worker the newest waiting frame for which it is known where the camera was."""
        if self._worker is None:
            return
        for index in reversed(range(len(self._pending))):
            stamp, parts = self._pending[index]
            try:
                # No extrapolation: with the pose of a moment before, everything seen while turning would be misplaced.
                pose = self._buffer.lookup(
                    str(self.value("map_frame")), str(parts["depth"].header.frame_id), stamp, tolerance=1e-3
                )
            except TransformError as error:
                self._give_up_late(index, error)
                continue
            for _ in range(index + 1):  # older ones are no news any more
                self._pending.popleft()
            self._use(stamp, parts, pose)
            return

    def _give_up_late(self, index: int, error: TransformError) -> None:
        if self.now() - self._pending[index][0] > self.value("transform_timeout"):
            del self._pending[index]
            self._complain(f"an image was dropped: {error}")

    def _use(self, stamp: float, parts: dict[str, Any], pose: Any) -> None:
        if stamp < self._restored:
            self._restored = float("-inf")  # the stored belief is of a time that has begun anew since
        robot = self._robot_state(stamp)
        assert self._worker is not None
        self._worker.put_frame(lambda: (self._make_frame(stamp, parts, pose), robot))

    def _make_frame(self, stamp: float, parts: dict[str, Any], pose: Any) -> Frame:
        frame = frame_from_messages(stamp, parts, pose)
        self._complaint = ""
        return frame

    def _robot_state(self, stamp: float) -> RobotState:
        world, position, yaw, gripper = str(self.value("map_frame")), (0.0, 0.0), 0.0, None
        try:
            base = self._buffer.lookup(world, str(self.value("base_frame")), stamp)
            position, yaw = (float(base[0, 3]), float(base[1, 3])), float(np.arctan2(base[1, 0], base[0, 0]))
            hand = self._buffer.lookup(world, str(self.value("gripper_frame")), stamp)
            gripper = (float(hand[0, 3]), float(hand[1, 3]), float(hand[2, 3]))
        except TransformError as error:
            self.warn_once("robot tf", f"the robot's own pose is not known: {error}")
        holding = None
        if self._holding is not None and self._holding[0] >= self._last_event:
            holding = self._holding[1]  # what the gripper felt before a skill ended says nothing against its effect
        return RobotState(position, yaw, gripper, holding)

    # ---- publishing (the worker's thread)

    def _publish(self, graph: SceneGraph, processed: ProcessedFrame | None, frame: Frame | None) -> None:
        if not self._entities:
            return
        self._graphs.publish(graph_to_msg(graph))
        if processed is not None and frame is not None and self._detections.get_subscription_count() > 0:
            self._detections.publish(self._detections_msg(processed, frame))
        self._publish_markers(graph)
        self.on_executor(self._answer_waiting, graph)

    def _detections_msg(self, processed: ProcessedFrame, frame: Frame) -> messages.Detections:
        items = [detection_to_msg(detection, node_id, box) for detection, node_id, box in processed.results()]
        return messages.Detections(header=header(frame.stamp, str(self.value("map_frame"))), detections=items)

    def _publish_markers(self, graph: SceneGraph) -> None:
        rate = float(self.value("marker_rate"))
        now = self.steady_clock.now().nanoseconds * 1e-9
        if rate <= 0.0 or now < self._marker_due or self._markers.get_subscription_count() == 0:
            return
        self._marker_due = now + 1.0 / rate
        self._markers.publish(graph_markers(graph))

    def _complain(self, text: str) -> None:
        self._complaint = text
        self.warn_once(text, text)

    # ---- reobserve

    async def _on_reobserve(self, request: Any, response: Any) -> Any:
        """Answer with the first belief that is newer than the request."""
        future: Future = Future()
        self._waiting.append((self.now(), future))
        timeout = max(0.1, float(request.timeout))
        timer = self.create_timer(timeout, lambda: future.done() or future.set_result(None), clock=self.steady_clock)
        graph = await future
        self.destroy_timer(timer)
        self._waiting = [entry for entry in self._waiting if entry[1] is not future]
        if graph is None:
            response.success, response.reason = False, f"no new image was merged within {timeout:g} s"
            return response
        response.success, response.scene_graph = True, graph_to_msg(graph)
        wanted = request.instance_id
        if wanted and wanted not in graph.nodes:
            response.success, response.reason = False, f"'{wanted}' is not in the scene graph"
        elif wanted and graph.nodes[wanted].last_seen < graph.stamp:
            response.success, response.reason = False, f"'{wanted}' was not seen in the newest image"
        return response

    def _answer_waiting(self, graph: SceneGraph | None) -> None:
        for asked, future in self._waiting:
            if not future.done() and (graph is None or graph.stamp >= asked):
                future.set_result(graph)


def main() -> int:
    """Run the perception node."""
    return run_node(PerceptionNode, sys.argv)


if __name__ == "__main__":
    sys.exit(main())
