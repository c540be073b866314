"""Images, camera parameters, labels of instance images and detections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import CameraInfo, Image, RegionOfInterest

import graph_planner_ros.msg as messages
from graph_planner_ros.conversions.geometry import box_to_msg, header
from graph_planner_ros.perception.frame import Detection, Intrinsics, SegmentLabel
from graph_planner_ros.scene.graph import Box

IMAGE_TYPES: dict[str, tuple[np.dtype[Any], int]] = {
    "rgb8": (np.dtype(np.uint8), 3),
    "bgr8": (np.dtype(np.uint8), 3),
    "mono8": (np.dtype(np.uint8), 1),
    "8UC1": (np.dtype(np.uint8), 1),
    "mono16": (np.dtype(np.uint16), 1),
    "16UC1": (np.dtype(np.uint16), 1),
    "32SC1": (np.dtype(np.int32), 1),
    "32FC1": (np.dtype(np.float32), 1),
}
"""Image encodings that can be read: element type and number of channels."""


def image_to_msg(image: NDArray[Any], encoding: str, seconds: float, frame_id: str) -> Image:
    """Image message of an array (height, width[, channels]) in one of ``IMAGE_TYPES``."""
    dtype, channels = _image_type(encoding)
    if image.dtype != dtype or image.ndim not in (2, 3) or (image.shape[2] if image.ndim == 3 else 1) != channels:
        raise ValueError(
            f"an image of encoding {encoding} needs {channels} channel(s) of {dtype}, "
            f"not shape {image.shape} of {image.dtype}"
        )
    message = Image(header=header(seconds, frame_id), height=image.shape[0], width=image.shape[1], encoding=encoding)
    message.step = image.shape[1] * channels * dtype.itemsize
    message.data = np.ascontiguousarray(image).tobytes()  # assigning the array itself takes a thousand times longer
    return message


def image_from_msg(message: Image) -> NDArray[Any]:
    """Array (height, width[, channels]) of an image message, without a copy where possible; rgb8 for bgr8."""
    dtype, channels = _image_type(message.encoding)
    row = message.width * channels * dtype.itemsize
    if message.step < row or len(message.data) < message.step * message.height:
        raise ValueError(
            f"image of {message.width} x {message.height} {message.encoding} with {len(message.data)} bytes "
            f"and a step of {message.step}: too small"
        )
    if message.is_bigendian:
        dtype = dtype.newbyteorder(">")
    data = np.frombuffer(message.data, dtype=np.uint8)[: message.step * message.height]
    rows = data.reshape(message.height, message.step)[:, :row]
    image = np.ascontiguousarray(rows).view(dtype).reshape(message.height, message.width, channels)
    if message.encoding == "bgr8":
        image = image[:, :, ::-1]
    return image[:, :, 0] if channels == 1 else image


def _image_type(encoding: str) -> tuple[np.dtype[Any], int]:
    try:
        return IMAGE_TYPES[encoding]
    except KeyError:
        raise ValueError(f"image encoding '{encoding}' is not supported; known: {', '.join(IMAGE_TYPES)}") from None


def intrinsics_from_msg(message: CameraInfo) -> Intrinsics:
    """Pinhole parameters [pixels] of a rectified camera."""
    fx, _, cx, _, fy, cy = (float(value) for value in message.k[:6])
    if not (fx > 0 and fy > 0 and np.isfinite([fx, fy, cx, cy]).all()):
        raise ValueError(f"camera_info without calibration: focal lengths {fx}, {fy}, centre {cx}, {cy}")
    return Intrinsics(fx=fx, fy=fy, cx=cx, cy=cy)


def intrinsics_to_msg(intrinsics: Intrinsics, width: int, height: int, seconds: float, frame_id: str) -> CameraInfo:
    """Camera info of an ideal pinhole camera; ``width`` and ``height`` in pixels."""
    fx, fy, cx, cy = (float(v) for v in (intrinsics.fx, intrinsics.fy, intrinsics.cx, intrinsics.cy))
    return CameraInfo(
        header=header(seconds, frame_id),
        width=width,
        height=height,
        distortion_model="plumb_bob",
        d=[0.0] * 5,
        k=[fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
        r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        p=[fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
    )


def labels_to_msg(labels: Mapping[int, SegmentLabel], seconds: float, frame_id: str) -> messages.SegmentLabels:
    """What the values of an instance image stand for."""
    return messages.SegmentLabels(
        header=header(seconds, frame_id),
        labels=[
            messages.SegmentLabel(id=value, label=entry.label, part=entry.part, attributes=sorted(entry.attributes))
            for value, entry in labels.items()
        ],
    )


def labels_from_msg(message: messages.SegmentLabels) -> dict[int, SegmentLabel]:
    """What the values of an instance image stand for."""
    return {
        entry.id: SegmentLabel(label=entry.label, part=entry.part, attributes=tuple(entry.attributes))
        for entry in message.labels
    }


def detection_to_msg(detection: Detection, instance_id: str = "", box: Box | None = None) -> messages.Detection:
    """Detection with the part of its mask that is inside its window.

    ``instance_id`` and ``box`` (in the header's frame) are the detection's own unless they are given.
    """
    message = messages.Detection(
        label=detection.label,
        part=detection.part,
        score=float(detection.score),
        attributes=sorted(detection.attributes),
        instance_id=instance_id or detection.instance_id,
    )
    top, left, bottom, right = detection.roi
    if bottom > top and right > left:
        message.roi = RegionOfInterest(x_offset=left, y_offset=top, width=right - left, height=bottom - top)
        message.mask = image_to_msg(detection.mask[top:bottom, left:right].astype(np.uint8) * 255, "mono8", 0.0, "")
    if box is None and detection.center is not None and detection.extent is not None:
        box = Box(detection.center, detection.extent)
    pose, message.extent = box_to_msg(box)
    message.position = pose.position
    return message


def detection_from_msg(message: messages.Detection, height: int, width: int) -> Detection:
    """Detection with a mask of the whole image (height, width) [pixels]."""
    mask = np.zeros((height, width), dtype=bool)
    roi = message.roi
    if roi.width and roi.height:
        if roi.y_offset + roi.height > height or roi.x_offset + roi.width > width:
            raise ValueError(f"the window of a detection of '{message.label}' is not inside of {width} x {height}")
        inside = image_from_msg(message.mask) > 0
        if inside.shape != (roi.height, roi.width):
            size = f"{roi.width} x {roi.height}"
            raise ValueError(f"the mask of a detection of '{message.label}' is not as large as its window, {size}")
        mask[roi.y_offset : roi.y_offset + roi.height, roi.x_offset : roi.x_offset + roi.width] = inside
    return Detection(
        label=message.label, part=message.part, score=message.score, mask=mask, attributes=tuple(message.attributes)
    )
