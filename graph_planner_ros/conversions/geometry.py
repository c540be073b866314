"""Time, headers, poses, transforms and boxes."""

from __future__ import annotations

import math

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose, Quaternion, Transform, TransformStamped, Vector3
from std_msgs.msg import Header

from graph_planner_ros.scene.graph import Box, FloatArray


def to_stamp(seconds: float) -> Time:
    """Time message of ``seconds`` (>= 0) of ROS time."""
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError(f"a time stamp must be finite and not negative, not {seconds}")
    whole = math.floor(seconds)
    nanoseconds = round((seconds - whole) * 1e9)
    if nanoseconds >= 1_000_000_000:
        whole, nanoseconds = whole + 1, nanoseconds - 1_000_000_000
    return Time(sec=whole, nanosec=nanoseconds)


def from_stamp(stamp: Time) -> float:
    """Seconds of ROS time."""
    return float(stamp.sec + stamp.nanosec * 1e-9)


def header(seconds: float, frame_id: str = "") -> Header:
    """Header with a stamp of ``seconds`` of ROS time."""
    return Header(stamp=to_stamp(seconds), frame_id=frame_id)


def yaw_to_quaternion(yaw: float) -> Quaternion:
    """Rotation by ``yaw`` [rad] about z."""
    return Quaternion(x=0.0, y=0.0, z=math.sin(yaw / 2), w=math.cos(yaw / 2))


def yaw_from_quaternion(rotation: Quaternion) -> float:
    """Rotation about z [rad] in -pi..pi."""
    x, y, z, w = rotation.x, rotation.y, rotation.z, rotation.w
    return math.atan2(2 * (w * z + x * y), w * w + x * x - y * y - z * z)


def matrix_to_transform(matrix: FloatArray) -> Transform:
    """Transform message of a rigid 4x4 matrix."""
    rotation = np.asarray(matrix, dtype=float)[:3, :3]
    # The largest of the four squares is divided by, which keeps the result exact for every rotation.
    trace = float(np.trace(rotation))
    squares = np.array([trace, rotation[0, 0], rotation[1, 1], rotation[2, 2]])
    largest = int(np.argmax(squares))
    if largest == 0:
        w = trace + 1
        x, y, z = (
            rotation[2, 1] - rotation[1, 2],
            rotation[0, 2] - rotation[2, 0],
            rotation[1, 0] - rotation[0, 1],
        )
        values = np.array([x, y, z, w])
    else:
        i = largest - 1
        j, k = (i + 1) % 3, (i + 2) % 3
        values = np.zeros(4)
        values[i] = 1 + rotation[i, i] - rotation[j, j] - rotation[k, k]
        values[j] = rotation[j, i] + rotation[i, j]
        values[k] = rotation[k, i] + rotation[i, k]
        values[3] = rotation[k, j] - rotation[j, k]
    values = values / np.linalg.norm(values)
    x, y, z = (float(value) for value in np.asarray(matrix, dtype=float)[:3, 3])
    return Transform(
        translation=Vector3(x=x, y=y, z=z),
        rotation=Quaternion(x=float(values[0]), y=float(values[1]), z=float(values[2]), w=float(values[3])),
    )


def matrix_from_transform(transform: Transform) -> FloatArray:
    """4x4 matrix of a transform message; a rotation that is not one, or a place that is none, is a ValueError."""
    quaternion = np.array([transform.rotation.x, transform.rotation.y, transform.rotation.z, transform.rotation.w])
    norm = float(np.linalg.norm(quaternion))
    if not math.isfinite(norm) or norm < 1e-6:
        raise ValueError(f"a rotation needs a quaternion of length 1, not {quaternion.tolist()}")
    translation = [transform.translation.x, transform.translation.y, transform.translation.z]
    if not np.isfinite(translation).all():
        raise ValueError(f"a translation needs three finite numbers, not {translation}")
    x, y, z, w = quaternion / norm
    matrix = np.eye(4)
    matrix[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    matrix[:3, 3] = translation
    return matrix


def transform_to_msg(parent: str, child: str, matrix: FloatArray, seconds: float) -> TransformStamped:
    """Stamped transform: pose of ``child`` in ``parent``."""
    return TransformStamped(header=header(seconds, parent), child_frame_id=child, transform=matrix_to_transform(matrix))


def box_to_msg(box: Box | None) -> tuple[Pose, Vector3]:
    """Pose and extent of a box; without a box the extent is zero, which means unknown."""
    if box is None:
        return Pose(), Vector3()
    x, y, z = (float(value) for value in box.center)
    length, width, height = (float(value) for value in box.extent)
    return (
        Pose(position=Point(x=x, y=y, z=z), orientation=yaw_to_quaternion(box.yaw)),
        Vector3(x=length, y=width, z=height),
    )


def box_from_msg(pose: Pose, extent: Vector3) -> Box | None:
    """Box of a pose and an extent; None if the extent is zero. ValueError if the orientation is none."""
    if extent.x == 0 and extent.y == 0 and extent.z == 0:
        return None
    turn = pose.orientation
    length = math.hypot(turn.x, turn.y, turn.z, turn.w)
    if not math.isfinite(length) or length < 1e-6:
        raise ValueError(f"a pose needs a quaternion of length 1, not {[turn.x, turn.y, turn.z, turn.w]}")
    return Box(
        center=np.array([pose.position.x, pose.position.y, pose.position.z]),
        extent=np.array([extent.x, extent.y, extent.z]),
        yaw=yaw_from_quaternion(pose.orientation),
    )
