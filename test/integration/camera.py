"""A camera of arithmetic: a mug on a counter, one metre in front of the lens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.qos import QoSProfile
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Bool
from tf2_msgs.msg import TFMessage

from graph_planner_ros import msg as messages
from graph_planner_ros.conversions import graph_to_msg, header, image_to_msg, transform_to_msg
from graph_planner_ros.nodes.base import KEPT, LATCHED, SENSOR, ManagedNode
from graph_planner_ros.scene.graph import MAP, Box, SceneGraph, SceneNode

WIDTH, HEIGHT, FOCAL = 320, 240, 200.0
FRAME = "head_camera_optical_frame"
LENS = 1.2
"""Height of the camera [m]."""


def fixtures() -> SceneGraph:
    """A counter in front of the robot and a table behind it."""
    graph = SceneGraph(domain="household")
    for name, label, x in (("counter_top_1", "CounterTop", 1.1), ("dining_table_1", "DiningTable", -2.0)):
        graph.nodes[name] = SceneNode(
            name,
            label,
            box=Box(np.array([x, 0.0, 0.45]), np.array([0.6, 0.8, 0.9]), np.pi),
            containment=Box(np.array([x, 0.0, 1.1]), np.array([0.6, 0.8, 0.4]), np.pi),
            source=MAP,
        )
    return graph


def views(mug: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Depth [m] and instance image."""
    depth = np.full((HEIGHT, WIDTH), 3.0, np.float32)
    instances = np.zeros((HEIGHT, WIDTH), np.int32)
    rows = np.arange(HEIGHT)[:, None] - (HEIGHT - 1) / 2
    below = rows > 1e-3
    # the counter's top at 0.9 m: the ray through a row meets it at forward distance 0.3 * focal / row
    top = np.where(below, (LENS - 0.9) * FOCAL / np.maximum(rows, 1e-3), np.inf)
    columns = np.arange(WIDTH)[None, :] - (WIDTH - 1) / 2
    on_counter = (top >= 0.8) & (top <= 1.4) & (np.abs(columns) * top / FOCAL <= 0.4)
    depth = np.where(on_counter, np.broadcast_to(top, depth.shape), depth).astype(np.float32)
    instances[on_counter] = 7
    if mug:
        row, column = int((HEIGHT - 1) / 2 + FOCAL * (LENS - 0.94)), int((WIDTH - 1) / 2)
        depth[row - 8 : row + 9, column - 8 : column + 9] = 1.0
        instances[row - 8 : row + 9, column - 8 : column + 9] = 42
    return depth, instances


class FakeCamera(ManagedNode):
    """Publishes frames when told to."""

    def __init__(self, **options: Any) -> None:
        super().__init__("camera", (), **options)  # offers its images as best effort, as most cameras do
        self.graphs: list[Any] = []
        self.detections: list[Any] = []

    def configure(self) -> None:
        make = self.create_publisher
        self.depth = make(Image, "depth/image", SENSOR)
        self.instances = make(Image, "segmentation/image", SENSOR)
        self.labels = make(messages.SegmentLabels, "segmentation/labels", SENSOR)
        self.info = make(CameraInfo, "camera_info", SENSOR)
        self.tf = make(TFMessage, "/tf", QoSProfile(depth=100))
        self.static = make(TFMessage, "/tf_static", LATCHED)
        self.fixtures = make(messages.SceneGraph, "fixtures", LATCHED)
        self.holding = make(Bool, "gripper/holding", 10)
        self.events = make(messages.SubtaskCompleted, "events/subtask_completed", KEPT)
        self.create_subscription(messages.SceneGraph, "scene_graph", self.graphs.append, LATCHED)
        self.create_subscription(messages.Detections, "detections", self.detections.append, SENSOR)
        self.fixtures.publish(graph_to_msg(fixtures()))
        self.static.publish(TFMessage(transforms=[transform_to_msg("map", "odom", np.eye(4), 0.0)]))

    def frame(
        self,
        stamp: float,
        *,
        mug: bool = True,
        encoding: str = "32FC1",
        transforms: bool = True,
        alter: Callable[[dict[str, Any]], None] = lambda parts: None,
    ) -> None:
        """Publish one frame; ``alter`` may change its messages before: info, labels, depth and instances."""
        depth, instances = views(mug)
        if encoding == "16UC1":
            depth = (depth * 1000).astype(np.uint16)
        if transforms:
            self.transforms(stamp)
        info = CameraInfo(header=header(stamp, FRAME), width=WIDTH, height=HEIGHT, distortion_model="plumb_bob")
        info.k = [FOCAL, 0.0, (WIDTH - 1) / 2, 0.0, FOCAL, (HEIGHT - 1) / 2, 0.0, 0.0, 1.0]
        labels = [
            messages.SegmentLabel(id=7, label="CounterTop", part=""),
            messages.SegmentLabel(id=42, label="Mug", part="", attributes=["dirty"]),
        ]
        message = image_to_msg(depth, "16UC1" if encoding == "16UC1" else "32FC1", stamp, FRAME)
        message.encoding = encoding
        parts = {
            "info": info,
            "labels": messages.SegmentLabels(header=header(stamp, FRAME), labels=labels),
            "depth": message,
            "instances": image_to_msg(instances, "32SC1", stamp, FRAME),
        }
        alter(parts)
        for name, part in parts.items():
            getattr(self, name).publish(part)

    def transforms(self, stamp: float) -> None:
        """Publish where the camera is."""
        camera = np.eye(4)
        camera[:3, :3] = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
        camera[:3, 3] = 0.0, 0.0, LENS
        gripper = np.eye(4)
        gripper[:3, 3] = 0.4, -0.3, 0.8
        self.tf.publish(
            TFMessage(
                transforms=[
                    transform_to_msg("odom", "base_link", np.eye(4), stamp),
                    transform_to_msg("base_link", FRAME, camera, stamp),
                    transform_to_msg("base_link", "gripper", gripper, stamp),
                ]
            )
        )
