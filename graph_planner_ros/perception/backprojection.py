"""From masks and depth to points in the map and upright boxes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import open3d as o3d
from numpy.typing import NDArray

from graph_planner_ros.perception.frame import BoolArray, Frame
from graph_planner_ros.scene.graph import Box, FloatArray
from graph_planner_ros.scene.observation import Intrinsics

MAX_PIXELS = 1500
"""Pixels of one mask that are back-projected; larger masks are thinned."""
VOXEL = 0.006
"""Side of the grid [m] to which points are thinned, so that near and far sides of a thing weigh alike."""
MIN_POINTS = 6
NEARER = 0.02
"""What is nearer than a thing's edge by more than this [m] stands before it; its support slopes less."""
MIN_SIDE = 0.004
"""Boxes whose longest side is smaller than this [m] are no things; other sides are at least this long."""
_ANGLES = np.deg2rad(np.arange(0.0, 90.0, 5.0))
_ROUND = 1.12


def points_of_mask(
    frame: Frame, mask: BoolArray, roi: tuple[int, int, int, int], limit: int = MAX_PIXELS
) -> FloatArray:
    """Return the points (n, 3) in the map [m] behind a mask's pixels; pixels without depth give none.

    Args:
        roi: window around the mask: top, left, bottom, right. limit: about how many pixels are used at most.
    """
    top, left, bottom, right = roi
    inside = mask[top:bottom, left:right]
    count = int(np.count_nonzero(inside))
    step = max(1, int(math.sqrt(count / limit))) if count else 1
    rows, columns = np.nonzero(inside[::step, ::step])
    return lift(frame.depth, rows * step + top, columns * step + left, frame.intrinsics, frame.camera_pose)


def grid_points(frame: Frame, step: int = 4) -> FloatArray:
    """Return the points (n, 3) in the map [m] of every ``step``-th pixel that has depth."""
    rows, columns = np.mgrid[0 : frame.depth.shape[0] : step, 0 : frame.depth.shape[1] : step]
    return lift(frame.depth, rows.ravel(), columns.ravel(), frame.intrinsics, frame.camera_pose)


def lift(
    depth: NDArray[np.float32],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    camera: Intrinsics,
    pose: FloatArray,
) -> FloatArray:
    """Return the points (n, 3) in the map behind pixels; depth is along the optical axis, not along the ray."""
    z = depth[rows, columns].astype(np.float64)
    valid = np.isfinite(z) & (z > 0.0)
    z, rows, columns = z[valid], rows[valid], columns[valid]
    local = np.column_stack(((columns - camera.cx) / camera.fx * z, (rows - camera.cy) / camera.fy * z, z))
    return local @ pose[:3, :3].T + pose[:3, 3]


def hidden_share(frame: Frame, mask: BoolArray, roi: tuple[int, int, int, int], reach: int = 2) -> float:
    """Return the share 0..1 of a mask's outline where something nearer to the camera cuts it off."""
    height, width = mask.shape
    top, left = max(0, roi[0] - reach), max(0, roi[1] - reach)
    bottom, right = min(height, roi[2] + reach), min(width, roi[3] + reach)
    inside, depth = mask[top:bottom, left:right], frame.depth[top:bottom, left:right]
    outline, cut = 0, 0
    for rows, columns in ((reach, 0), (-reach, 0), (0, reach), (0, -reach)):
        here = (_window(inside, rows, columns), _window(depth, rows, columns))
        there = (_window(inside, -rows, -columns), _window(depth, -rows, -columns))
        edge = here[0] & ~there[0]
        outline += int(np.count_nonzero(edge))
        cut += int(np.count_nonzero(edge & (there[1] < here[1] - NEARER)))
    return cut / outline if outline else 0.0


def _window(image: NDArray[Any], rows: int, columns: int) -> NDArray[Any]:
    """The image without its last (positive) or first (negative) rows and columns."""
    height, width = image.shape
    return image[max(0, -rows) : height - max(0, rows), max(0, -columns) : width - max(0, columns)]


def clean_points(points: FloatArray) -> FloatArray:
    """Return the points thinned to a grid and without strays, e.g. mixed depths at a mask's edge."""
    if len(points) < MIN_POINTS:
        return points
    middle = np.median(points, axis=0)
    spread = np.percentile(np.linalg.norm(points - middle, axis=1), 90.0)
    points = points[np.linalg.norm(points - middle, axis=1) <= 2.5 * spread + 0.01]
    cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(points)).voxel_down_sample(VOXEL)
    if len(cloud.points) > 30:
        kept, _ = cloud.remove_radius_outlier(nb_points=3, radius=4.0 * VOXEL)
        cloud = kept if len(kept.points) >= MIN_POINTS else cloud
    return np.asarray(cloud.points)


def fit_box(points: FloatArray, camera: FloatArray) -> Box | None:
    """Return the upright box around what is seen of a thing, made whole where its far side is hidden.

    The box is the one with the smallest footprint; its x axis is the longer side. Of a round thing seen from the
    side only the front half shows: then its depth is taken to be its width.

    Args:
        camera: position (3,) of the camera in the map.

    Returns:
        None if there are too few points or they have no extent.
    """
    if len(points) < MIN_POINTS:
        return None
    low, high = float(points[:, 2].min()), float(points[:, 2].max())
    cos, sin = np.cos(_ANGLES), np.sin(_ANGLES)
    along = np.outer(points[:, 0], cos) + np.outer(points[:, 1], sin)
    across = np.outer(points[:, 1], cos) - np.outer(points[:, 0], sin)
    a_low, a_high, b_low, b_high = along.min(0), along.max(0), across.min(0), across.max(0)
    areas = (a_high - a_low) * (b_high - b_low)
    best = int(np.argmin(areas))
    if areas[0] <= _ROUND * areas[best]:
        best = 0  # nearly round: no direction is better than another
    a, b = 0.5 * (a_low[best] + a_high[best]), 0.5 * (b_low[best] + b_high[best])
    center = np.array([cos[best] * a - sin[best] * b, sin[best] * a + cos[best] * b, 0.5 * (low + high)])
    extent = np.array([a_high[best] - a_low[best], b_high[best] - b_low[best], high - low])
    if not np.isfinite(extent).all() or extent.max() < MIN_SIDE:
        return None
    box = _longest_first(Box(center, np.maximum(extent, MIN_SIDE), float(_ANGLES[best])))
    return _completed(box, points, camera)


def _longest_first(box: Box) -> Box:
    if box.extent[0] >= box.extent[1]:
        return box
    return Box(box.center, box.extent[[1, 0, 2]], box.yaw - math.pi / 2.0)


def _completed(box: Box, points: FloatArray, camera: FloatArray) -> Box:
    """Push the centre away from the camera where the far side cannot have been seen."""
    view = box.center - camera
    flat = float(np.hypot(view[0], view[1]))
    if flat < 1e-6:
        return box
    elevation = math.atan2(-float(view[2]), flat)
    share = min(1.0, max(0.0, 1.0 - math.sin(max(elevation, 0.0)) / math.sin(math.radians(30.0))))
    forward = np.array([view[0], view[1]]) / flat
    deep = np.ptp(points[:, :2] @ forward)
    wide = np.ptp(points[:, :2] @ np.array([-forward[1], forward[0]]))
    if share == 0.0 or deep >= wide or wide > 2.2 * deep + 0.01:
        return box
    missing = share * min(float(wide - deep), 0.06)
    center = box.center + np.array([*(0.5 * missing * forward), 0.0])
    axis = np.array([math.cos(box.yaw), math.sin(box.yaw)])
    grow = missing * np.array(
        [abs(float(axis @ forward)), abs(float(axis[0] * forward[1] - axis[1] * forward[0])), 0.0]
    )
    return Box(center, box.extent + grow, box.yaw)
