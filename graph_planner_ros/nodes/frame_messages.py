"""The messages of one camera frame as a frame of the core."""

from __future__ import annotations

from typing import Any

from sensor_msgs.msg import CameraInfo, Image

from graph_planner_ros import msg as messages
from graph_planner_ros.conversions import image_from_msg, intrinsics_from_msg, labels_from_msg
from graph_planner_ros.perception.frame import Frame, decode_depth
from graph_planner_ros.scene.graph import FloatArray

STREAMS: dict[str, tuple[Any, str]] = {
    "depth": (Image, "depth/image"),
    "instances": (Image, "segmentation/image"),
    "labels": (messages.SegmentLabels, "segmentation/labels"),
    "info": (CameraInfo, "camera_info"),
}
"""What a frame consists of: type and topic of each part."""


def frame_from_messages(stamp: float, parts: dict[str, Any], pose: FloatArray) -> Frame:
    """Return the frame; ValueError says what is wrong with the messages.

    Args:
        stamp: seconds of ROS time. parts: one message for each of `STREAMS`.
        pose: 4x4, map <- optical frame of the camera.
    """
    depth = parts["depth"]
    return Frame(
        stamp=stamp,
        depth=decode_depth(depth.encoding, image_from_msg(depth)),
        instances=image_from_msg(parts["instances"]),
        labels=labels_from_msg(parts["labels"]),
        intrinsics=intrinsics_from_msg(parts["info"]),
        camera_pose=pose,
    )
