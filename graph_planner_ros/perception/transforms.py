"""A small buffer of transforms: a tree of frames with histories, for machines without tf2_ros."""

from __future__ import annotations

import bisect
import math
import threading
from dataclasses import dataclass, field

import numpy as np

from graph_planner_ros.scene.graph import FloatArray


class TransformError(LookupError):
    """A transform is not known; the message names both frames and what is missing."""


@dataclass
class _Link:
    """A child's pose in its parent over time."""

    parent: str
    static: bool
    stamps: list[float] = field(default_factory=list)
    poses: list[FloatArray] = field(default_factory=list)


class TransformBuffer:
    """Keeps the last seconds of every transform and answers where one frame was in another. Thread-safe.

    Args:
        duration: seconds of history. jump: if time goes back by more than this [s], the history is dropped; static
            transforms stay.
    """

    def __init__(self, duration: float = 10.0, jump: float = 0.5) -> None:
        self._duration, self._jump = duration, jump
        self._links: dict[str, _Link] = {}
        self._newest = -math.inf
        self._lock = threading.Lock()

    def add(self, parent: str, child: str, pose: FloatArray, stamp: float, static: bool = False) -> None:
        """Add the pose (4x4, parent <- child) of a frame at ``stamp`` [s].

        Raises:
            ValueError: if the pose is no finite 4x4 matrix or a frame is its own parent.
        """
        pose = np.array(pose, dtype=np.float64)
        if pose.shape != (4, 4) or not np.isfinite(pose).all():
            raise ValueError(f"the transform {parent} <- {child} must be a finite 4x4 matrix")
        if parent == child or not parent or not child:
            raise ValueError(f"a transform needs two different frames, got {parent!r} and {child!r}")
        with self._lock:
            if not static:
                if stamp < self._newest - self._jump:
                    self._drop_history()
                self._newest = max(self._newest, stamp)
            link = self._links.get(child)
            if link is None or link.parent != parent or link.static != static:
                link = self._links[child] = _Link(parent, static)
            self._insert(link, pose, stamp)

    def _insert(self, link: _Link, pose: FloatArray, stamp: float) -> None:
        if link.static:
            link.stamps, link.poses = [stamp], [pose]
            return
        index = bisect.bisect_left(link.stamps, stamp)
        if index < len(link.stamps) and link.stamps[index] == stamp:
            link.poses[index] = pose
            return
        link.stamps.insert(index, stamp)
        link.poses.insert(index, pose)
        old = bisect.bisect_left(link.stamps, link.stamps[-1] - self._duration)
        del link.stamps[:old], link.poses[:old]

    def clear(self) -> None:
        """Drop everything but static transforms."""
        with self._lock:
            self._drop_history()

    def _drop_history(self) -> None:
        self._links = {child: link for child, link in self._links.items() if link.static}
        self._newest = -math.inf

    def lookup(self, target: str, source: str, stamp: float | None = None, tolerance: float = 0.1) -> FloatArray:
        """Return the pose (4x4, target <- source) at ``stamp`` [s], interpolated; None: the newest there is.

        Args:
            tolerance: how far [s] the history may be extended at its ends.

        Raises:
            TransformError: if the frames are not connected or the time is outside of the history.
        """
        with self._lock:
            up_source, up_target = self._chain(source), self._chain(target)
            common = next((name for name in up_source if name in up_target), None)
            if common is None:
                raise TransformError(f"{target} and {source} are not connected: {self._known()}")
            first = self._down(common, up_source, stamp, tolerance)
            second = self._down(common, up_target, stamp, tolerance)
        return np.linalg.inv(second) @ first

    def _known(self) -> str:
        frames = sorted({*self._links, *(link.parent for link in self._links.values())})
        return f"known frames are {', '.join(frames)}" if frames else "no transform has come yet"

    def _chain(self, frame: str) -> list[str]:
        chain = [frame]
        while chain[-1] in self._links:
            parent = self._links[chain[-1]].parent
            if parent in chain:
                raise TransformError(f"the transforms go in a circle: {' <- '.join([*chain, parent])}")
            chain.append(parent)
        return chain

    def _down(self, top: str, chain: list[str], stamp: float | None, tolerance: float) -> FloatArray:
        """Pose top <- first frame of the chain."""
        pose = np.eye(4)
        for child in chain[: chain.index(top)]:
            pose = self._at(child, stamp, tolerance) @ pose
        return pose

    def _at(self, child: str, stamp: float | None, tolerance: float) -> FloatArray:
        link = self._links[child]
        if link.static or stamp is None:
            return link.poses[-1]
        first, last = link.stamps[0], link.stamps[-1]
        if stamp < first - tolerance or stamp > last + tolerance:
            raise TransformError(
                f"{link.parent} <- {child} is known from {first:.3f} to {last:.3f} s, not at {stamp:.3f} s"
            )
        index = bisect.bisect_left(link.stamps, stamp)
        if index == 0 or index == len(link.stamps):
            return link.poses[min(index, len(link.stamps) - 1)]
        before, after = link.stamps[index - 1], link.stamps[index]
        return interpolate(link.poses[index - 1], link.poses[index], (stamp - before) / (after - before))


def interpolate(first: FloatArray, second: FloatArray, share: float) -> FloatArray:
    """Return the pose (4x4) at ``share`` 0..1 of the way between two poses, turning about one axis."""
    pose = np.eye(4)
    pose[:3, 3] = (1.0 - share) * first[:3, 3] + share * second[:3, 3]
    a, b = rotation_to_quaternion(first[:3, :3]), rotation_to_quaternion(second[:3, :3])
    dot = float(a @ b)
    b, dot = (-b, -dot) if dot < 0.0 else (b, dot)
    if dot > 0.9995:
        mixed = (1.0 - share) * a + share * b
    else:
        angle = math.acos(dot)
        mixed = (math.sin((1.0 - share) * angle) * a + math.sin(share * angle) * b) / math.sin(angle)
    pose[:3, :3] = quaternion_to_rotation(mixed / np.linalg.norm(mixed))
    return pose


def quaternion_to_rotation(quaternion: FloatArray) -> FloatArray:
    """Return the rotation matrix (3, 3) of a quaternion x, y, z, w (REP 103 order of ROS messages)."""
    x, y, z, w = (float(v) for v in quaternion / np.linalg.norm(quaternion))
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def rotation_to_quaternion(rotation: FloatArray) -> FloatArray:
    """Return the quaternion x, y, z, w of a rotation matrix (3, 3)."""
    m = rotation
    # the eigenvector of this matrix to its largest eigenvalue, stable for every rotation
    k = np.array(
        [
            [m[0, 0] - m[1, 1] - m[2, 2], 0, 0, 0],
            [m[0, 1] + m[1, 0], m[1, 1] - m[0, 0] - m[2, 2], 0, 0],
            [m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], m[2, 2] - m[0, 0] - m[1, 1], 0],
            [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], m[0, 0] + m[1, 1] + m[2, 2]],
        ]
    )
    _, vectors = np.linalg.eigh(k, UPLO="L")
    quaternion = vectors[:, -1]
    return quaternion if quaternion[3] >= 0.0 else -quaternion
