"""Upright boxes: points in and around them, rays through them, distances. Metres and radians, map frame."""

from __future__ import annotations

import math

import numpy as np

from graph_planner_ros.scene.graph import Box, FloatArray


def to_local(box: Box, points: FloatArray) -> FloatArray:
    """Return points (n, 3) in the box's own axes, with the origin at its centre."""
    shifted = np.asarray(points, dtype=np.float64) - box.center
    c, s = math.cos(box.yaw), math.sin(box.yaw)
    local = np.empty_like(shifted)
    local[:, 0] = c * shifted[:, 0] + s * shifted[:, 1]
    local[:, 1] = -s * shifted[:, 0] + c * shifted[:, 1]
    local[:, 2] = shifted[:, 2]
    return local


def to_world(box: Box, points: FloatArray) -> FloatArray:
    """Return points (n, 3) given in the box's own axes in the frame of the box."""
    c, s = math.cos(box.yaw), math.sin(box.yaw)
    points = np.asarray(points, dtype=np.float64)
    rotated = np.column_stack((c * points[:, 0] - s * points[:, 1], s * points[:, 0] + c * points[:, 1], points[:, 2]))
    return rotated + box.center


def outside_distance(box: Box, point: FloatArray) -> float:
    """Return how far a point (3,) is outside of a box [m]; 0 inside."""
    excess = np.abs(to_local(box, np.asarray(point).reshape(1, 3))[0]) - box.extent / 2.0
    return float(np.linalg.norm(np.maximum(excess, 0.0)))


def footprint_distance(box: Box, point: FloatArray) -> float:
    """Return the horizontal distance of a point (2,) or (3,) from a box's footprint [m]; 0 over it."""
    probe = np.array([[float(point[0]), float(point[1]), float(box.center[2])]])
    excess = np.abs(to_local(box, probe)[0, :2]) - box.extent[:2] / 2.0
    return float(np.linalg.norm(np.maximum(excess, 0.0)))


def volume(box: Box) -> float:
    """Return the volume of a box [m^3]."""
    return float(np.prod(box.extent))


def size(box: Box) -> float:
    """Return the mean of a box's three side lengths [m]: a scale for gates."""
    return float(np.mean(box.extent))


def bottom(box: Box) -> float:
    """Return the height of the box's bottom [m]."""
    return float(box.center[2] - box.extent[2] / 2.0)


def top(box: Box) -> float:
    """Return the height of the box's top [m]."""
    return float(box.center[2] + box.extent[2] / 2.0)


def corners(box: Box, scale: float = 1.0) -> FloatArray:
    """Return the eight corners (8, 3) of a box whose sides are scaled by ``scale``."""
    signs = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    return to_world(box, signs * box.extent * scale)


def gap(first: Box, second: Box) -> float:
    """Return about how far two boxes are apart horizontally [m], negative if their circles overlap."""
    apart = float(np.linalg.norm(first.center[:2] - second.center[:2]))
    return apart - 0.25 * float(np.sum(first.extent[:2]) + np.sum(second.extent[:2]))


def overlap(first: Box, second: Box) -> float:
    """Return about which share 0..1 of the smaller box lies inside the larger one."""
    small, large = sorted((first, second), key=volume)
    steps = np.linspace(-0.45, 0.45, 5)
    grid = np.array([[x, y, z] for x in steps for y in steps for z in steps[::2]]) * small.extent
    inside = np.abs(to_local(large, to_world(small, grid))) <= large.extent / 2.0
    return float(np.mean(inside.all(axis=1)))


def ray_crossings(box: Box, origin: FloatArray, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return where rays enter and leave a box.

    Args:
        origin: (3,) common start of the rays. directions: (n, 3), any length.

    Returns:
        Two arrays (n,): factors t with point = origin + t * direction; enter > leave where a ray misses the box.
    """
    start = to_local(box, np.asarray(origin).reshape(1, 3))[0]
    local = to_local(Box(np.zeros(3), box.extent, box.yaw), directions)
    local = np.where(np.abs(local) < 1e-12, 1e-12, local)
    half = box.extent / 2.0
    first, second = (-half - start) / local, (half - start) / local
    return np.minimum(first, second).max(axis=1), np.maximum(first, second).min(axis=1)


def extended(box: Box, forward: float) -> Box:
    """Return the box made longer by ``forward`` [m] out of its front (+x)."""
    center = to_world(box, np.array([[forward / 2.0, 0.0, 0.0]]))[0]
    return Box(center, box.extent + np.array([forward, 0.0, 0.0]), box.yaw)


def approach_point(box: Box, clearance: float = 0.6) -> FloatArray:
    """Return the point (2,) in front of a fixture where a robot would stand, ``clearance`` [m] out of its front."""
    return to_world(box, np.array([[box.extent[0] / 2.0 + clearance, 0.0, 0.0]]))[0, :2]


def weighted_box(first: Box, first_weight: float, second: Box, second_weight: float) -> Box:
    """Return the weighted mean of two boxes; the yaw is that of the weightier one (angles of a box are ambiguous).

    Raises:
        ValueError: if a weight is negative or both are zero.
    """
    total = first_weight + second_weight
    if min(first_weight, second_weight) < 0.0 or total <= 0.0:
        raise ValueError(f"weights must be positive, got {first_weight} and {second_weight}")
    a, b = first_weight / total, second_weight / total
    heavier = first if first_weight >= second_weight else second
    extent = a * first.extent + b * _aligned_extent(second, heavier.yaw)
    if heavier is second:
        extent = a * _aligned_extent(first, heavier.yaw) + b * second.extent
    return Box(a * first.center + b * second.center, extent, heavier.yaw)


def _aligned_extent(box: Box, yaw: float) -> FloatArray:
    """Extent of the box along the axes of ``yaw``, to the nearest quarter turn."""
    quarter = round((box.yaw - yaw) / (math.pi / 2.0)) % 2
    return box.extent[[1, 0, 2]] if quarter else box.extent.copy()
