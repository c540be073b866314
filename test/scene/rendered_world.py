"""A small numpy-rendered world for tests: boxes seen by a pinhole camera, without a simulator."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from graph_planner_ros.perception.frame import Frame, SegmentLabel
from graph_planner_ros.scene.geometry import ray_crossings
from graph_planner_ros.scene.graph import MAP, Box, SceneGraph, SceneNode
from graph_planner_ros.scene.observation import Intrinsics

WIDTH, HEIGHT = 320, 240
CAMERA = Intrinsics(216.5, 216.5, 159.5, 119.5)
_SEEN: dict[tuple[bytes, bytes, bytes, float], np.ndarray] = {}
"""Depth of single boxes from one camera pose: most images of a test show the same again."""


def box(x: float, y: float, z: float, sx: float, sy: float, sz: float, yaw: float = 0.0) -> Box:
    """A box by its centre and side lengths."""
    return Box(np.array([x, y, z]), np.array([sx, sy, sz]), yaw)


@dataclass
class Solid:
    """A thing of the rendered world."""

    label: str
    box: Box
    part: str = ""
    attributes: tuple[str, ...] = ()


@dataclass
class World:
    """Solids by name, rendered as depth and instances; time goes on by 0.2 s with every image."""

    solids: dict[str, Solid] = field(default_factory=dict)
    time: float = 10.0
    eye: tuple[float, float, float] = (1.2, 0.0, 1.45)
    target: tuple[float, float, float] = (0.0, 0.0, 0.9)
    noise: float = 0.0
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))

    def frame(self) -> Frame:
        """The image that the camera takes now."""
        self.time += 0.2
        pose = look_at(self.eye, self.target)
        depth, values = self._render(pose)
        labels = {k + 1: SegmentLabel(s.label, s.part, s.attributes) for k, s in enumerate(self.solids.values())}
        return Frame(self.time, depth, CAMERA, pose, None, values, labels)

    def _render(self, pose: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH]
        rays = np.stack(
            ((columns - CAMERA.cx) / CAMERA.fx, (rows - CAMERA.cy) / CAMERA.fy, np.ones(rows.shape)), axis=-1
        )
        directions = rays.reshape(-1, 3) @ pose[:3, :3].T
        depth = np.full(len(directions), np.inf)
        values = np.zeros(len(directions), dtype=np.int32)
        for index, solid in enumerate(self.solids.values()):
            key = (pose.tobytes(), solid.box.center.tobytes(), solid.box.extent.tobytes(), solid.box.yaw)
            if key not in _SEEN:
                enter, leave = ray_crossings(solid.box, pose[:3, 3], directions)
                _SEEN[key] = np.where((enter < leave) & (enter > 0.05), enter, np.inf)
            hit = _SEEN[key] < depth
            depth[hit], values[hit] = _SEEN[key][hit], index + 1
        depth += self.noise * self.random.standard_normal(len(depth))
        depth[~np.isfinite(depth)] = np.nan
        return depth.reshape(HEIGHT, WIDTH).astype(np.float32), values.reshape(HEIGHT, WIDTH)


def look_at(eye: tuple[float, float, float], target: tuple[float, float, float]) -> np.ndarray:
    """Pose (4x4) of an upright camera at ``eye`` that looks at ``target``."""
    forward = np.asarray(target, dtype=float) - np.asarray(eye, dtype=float)
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    pose = np.eye(4)
    pose[:3, :3] = np.column_stack((right, np.cross(forward, right), forward))
    pose[:3, 3] = eye
    return pose


def fixture_map() -> SceneGraph:
    """A counter before the camera, a cabinet to the left of it at eye height, a drawer under the counter's right."""
    boxes = {
        ("counter_top_1", "CounterTop"): (box(0, 0, 0.45, 0.6, 1.6, 0.9), box(0, 0, 1.1, 0.6, 1.6, 0.4)),
        ("cabinet_1", "Cabinet"): (box(-0.1, -1.4, 1.2, 0.4, 0.6, 0.6), box(-0.1, -1.4, 1.2, 0.36, 0.56, 0.56)),
        ("drawer_1", "Drawer"): (box(0, 1.2, 0.8, 0.6, 0.6, 0.2), box(0, 1.2, 0.81, 0.56, 0.56, 0.16)),
    }
    nodes = [SceneNode(name, label, *pair, source=MAP) for (name, label), pair in boxes.items()]
    return SceneGraph(domain="household", nodes={node.instance_id: node for node in nodes})


def cabinet_walls(angle: float = 0.0) -> dict[str, Solid]:
    """The cabinet of the map as a hollow box with a door that is hinged at its outer side, open by ``angle`` [rad]."""
    x, y, z, d, w, h = -0.1, -1.4, 1.2, 0.4, 0.6, 0.6
    walls = {
        "back": box(x - d / 2 + 0.01, y, z, 0.02, w, h),
        "low": box(x, y, z - h / 2 + 0.01, d, w, 0.02),
        "high": box(x, y, z + h / 2 - 0.01, d, w, 0.02),
        "left": box(x, y - w / 2 + 0.01, z, d, 0.02, h),
        "right": box(x, y + w / 2 - 0.01, z, d, 0.02, h),
    }
    solids = {f"cabinet/{name}": Solid("Cabinet", wall) for name, wall in walls.items()}
    hinge = np.array([x + d / 2 + 0.01, y - w / 2])
    along = np.array([math.sin(angle), math.cos(angle)])
    middle = hinge + along * w / 2
    solids["cabinet/door"] = Solid("Cabinet", box(middle[0], middle[1], z, 0.02, w, h, -angle), "door")
    return solids


def drawer(out: float = 0.0) -> dict[str, Solid]:
    """The drawer of the map, pulled out by ``out`` [m]."""
    return {
        "drawer/low": Solid("Drawer", box(0.0, 1.2, 0.7, 0.6, 0.6, 0.01)),
        "drawer/high": Solid("Drawer", box(0.0, 1.2, 0.9, 0.6, 0.6, 0.01)),
        "drawer/front": Solid("Drawer", box(0.31 + out, 1.2, 0.8, 0.02, 0.58, 0.18), "door"),
        "drawer/floor": Solid("Drawer", box(0.01 + out, 1.2, 0.72, 0.58, 0.56, 0.01), "door"),
    }


def counter() -> dict[str, Solid]:
    """The counter of the map."""
    return {"counter": Solid("CounterTop", box(0, 0, 0.45, 0.6, 1.6, 0.9))}


def mug(x: float, y: float, z: float = 0.945, **attributes: bool) -> Solid:
    """A mug whose bottom is on the counter unless ``z`` says otherwise."""
    return Solid("Mug", box(x, y, z, 0.08, 0.08, 0.09), "", tuple(attributes))
