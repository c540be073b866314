"""One image of the head camera with everything that belongs to it, and the decoding of depth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graph_planner_ros.scene.graph import FloatArray
from graph_planner_ros.scene.observation import Intrinsics, RobotState

BoolArray = NDArray[np.bool_]

DEPTH_SCALES = {"32FC1": 1.0, "16UC1": 0.001, "mono16": 0.001}
"""Metres in one unit of depth, by the image's encoding (REP 118)."""

FARTHEST = 1000.0
"""No depth camera sees further than this [m]; larger values are damaged or mean that nothing was met."""


class FrameError(ValueError):
    """A camera image cannot be used; the message says what is wrong and what was expected."""


@dataclass(frozen=True)
class SegmentLabel:
    """What one value of an instance image stands for, in that image only.

    Attributes:
        label: class name. part: empty, or the part of the thing, e.g. ``door``.
        attributes: visible attributes that hold.
    """

    label: str
    part: str = ""
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Frame:
    """Images taken at one time and where the camera was.

    Attributes:
        stamp: seconds of ROS time.
        rgb: (height, width, 3) uint8, or None.
        depth: (height, width) float32 [m]; NaN or 0 where there is none.
        instances: (height, width) int32 values of an instance image, or None.
        labels: value -> what it stands for, or None.
        camera_pose: 4x4, map <- optical frame (z forward, x right, y down).
    """

    stamp: float
    depth: NDArray[np.float32]
    intrinsics: Intrinsics
    camera_pose: FloatArray
    rgb: NDArray[np.uint8] | None = None
    instances: NDArray[np.int32] | None = None
    labels: Mapping[int, SegmentLabel] | None = None

    def __post_init__(self) -> None:
        size = self.depth.shape
        if len(size) != 2 or self.depth.size == 0:
            raise FrameError(f"a depth image has height and width, got the shape {size}")
        for name, image in (("rgb", self.rgb), ("instance", self.instances)):
            if image is not None and image.shape[:2] != size:
                raise FrameError(f"the {name} image is {image.shape[:2]}, the depth image is {size}")
        if self.instances is not None and (self.instances.ndim != 2 or self.instances.dtype.kind not in "iu"):
            found = f"{self.instances.ndim} dimensions of {self.instances.dtype}"
            raise FrameError(f"the instance image has one whole number for each pixel, not {found}")
        if self.intrinsics.fx <= 0.0 or self.intrinsics.fy <= 0.0:
            raise FrameError(f"the camera is not calibrated: {self.intrinsics}")
        if np.shape(self.camera_pose) != (4, 4):
            raise FrameError(f"camera_pose must be 4x4, got {np.shape(self.camera_pose)}")


@dataclass
class Detection:
    """One segmented thing in one image.

    Attributes:
        label: class name. part: empty, or the part of the thing, e.g. ``door``. score: 0..1.
        mask: (height, width) bool. roi: the smallest window around it: top, left, bottom, right (ends excluded).
        attributes: visible attributes that hold.
        instance_id: the node that it was merged into; empty if none.
        center, extent: of the thing in the map [m]; None if it could not be placed.
    """

    label: str
    part: str
    score: float
    mask: BoolArray
    attributes: tuple[str, ...] = ()
    roi: tuple[int, int, int, int] = (0, 0, 0, 0)
    instance_id: str = ""
    center: FloatArray | None = field(default=None, repr=False)
    extent: FloatArray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.roi == (0, 0, 0, 0):
            self.roi = window(self.mask)


def window(mask: BoolArray) -> tuple[int, int, int, int]:
    """Return the smallest window around a mask: top, left, bottom, right (ends excluded); zeros if it is empty."""
    rows = np.flatnonzero(mask.any(axis=1))
    if rows.size == 0:
        return 0, 0, 0, 0
    columns = np.flatnonzero(mask[rows[0] : rows[-1] + 1].any(axis=0))
    return int(rows[0]), int(columns[0]), int(rows[-1]) + 1, int(columns[-1]) + 1


def decode_depth(encoding: str, image: ArrayLike) -> NDArray[np.float32]:
    """Return a depth image in metres, NaN where there is no depth.

    Args:
        encoding: ``32FC1`` (metres) or ``16UC1`` (millimetres), as in sensor_msgs/Image.
        image: (height, width) numbers in that unit.

    Raises:
        FrameError: naming the encoding if it is another one, or the shape if the image is empty or not flat.
    """
    scale = DEPTH_SCALES.get(encoding)
    if scale is None:
        raise FrameError(f"the depth encoding {encoding!r} is unknown; expected one of {', '.join(DEPTH_SCALES)}")
    array = np.asarray(image)
    if array.ndim != 2 or array.size == 0:
        raise FrameError(f"a depth image has height and width, got the shape {array.shape}")
    metres = array.astype(np.float32) * np.float32(scale)
    metres[~np.isfinite(metres) | (metres <= 0.0) | (metres > FARTHEST)] = np.nan
    return metres


__all__ = [
    "BoolArray",
    "Detection",
    "Frame",
    "FrameError",
    "Intrinsics",
    "RobotState",
    "SegmentLabel",
    "decode_depth",
    "window",
]
