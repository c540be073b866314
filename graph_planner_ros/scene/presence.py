"""Negative evidence: whether an image shows that a thing is not where it is believed to be."""

from __future__ import annotations

import enum

import numpy as np

from graph_planner_ros.scene.geometry import corners, ray_crossings, volume
from graph_planner_ros.scene.graph import Box, FloatArray
from graph_planner_ros.scene.observation import Intrinsics, View

MIN_PIXELS = 150.0
"""A thing whose box covers fewer pixels than this may be overlooked, so that not seeing it says nothing."""
MAX_RANGE = 2.5
MIN_RANGE = 0.25
BORDER = 8
"""Pixels at the image's edge that are not counted as view."""
FREE_SHARE = 0.75
"""Share of the rays through the box that must pass it."""


class Sight(enum.Enum):
    """What an image says about the place of a thing that was not detected."""

    FREE = "free"
    FILLED = "filled"
    HIDDEN = "hidden"
    OUT_OF_VIEW = "out_of_view"


def sight(box: Box, view: View) -> Sight:
    """Return whether the place of a box is seen to be free.

    Nine rays go from the camera through the middle half of the box. Free: depth lies clearly behind the front
    of the box along nearly all of them. Hidden: something is in front. Filled: the depth is that of the box.
    """
    origin = view.camera_pose[:3, 3]
    points = np.vstack((box.center, corners(box, 0.5)))
    directions = points - origin
    pixels, forward = project(points, view.intrinsics, view.camera_pose)
    camera, (height, width) = view.intrinsics, view.depth.shape[:2]
    if forward.min() < MIN_RANGE or forward.max() > MAX_RANGE or _pixels(box, float(forward[0]), camera) < MIN_PIXELS:
        return Sight.OUT_OF_VIEW
    columns, rows = pixels[:, 0], pixels[:, 1]
    inside = (columns >= BORDER) & (columns < width - BORDER) & (rows >= BORDER) & (rows < height - BORDER)
    if not inside.all():
        return Sight.OUT_OF_VIEW
    depth = view.depth[rows.astype(int), columns.astype(int)].astype(np.float64)
    valid = np.isfinite(depth) & (depth > 0.0)
    if valid.sum() < 0.75 * len(points):
        return Sight.HIDDEN
    enter, leave = ray_crossings(box, origin, directions)
    # along a ray the factor t is 1 at the sample point, whose depth is ``forward``
    enter, leave = enter * forward, leave * forward
    behind = valid & (depth > enter + np.maximum(0.015, 0.6 * (leave - enter)))
    before = valid & (depth < enter - 0.02)
    if behind.sum() >= FREE_SHARE * valid.sum():
        return Sight.FREE
    return Sight.HIDDEN if before.sum() >= 0.5 * valid.sum() else Sight.FILLED


def project(points: FloatArray, camera: Intrinsics, pose: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return pixels (n, 2) as column, row and the depth (n,) of points (n, 3) of the map."""
    local = (points - pose[:3, 3]) @ pose[:3, :3]
    forward = local[:, 2]
    safe = np.where(forward > 1e-6, forward, np.nan)
    columns = camera.fx * local[:, 0] / safe + camera.cx
    rows = camera.fy * local[:, 1] / safe + camera.cy
    return np.nan_to_num(np.column_stack((columns, rows)), nan=-1e6), forward


def _pixels(box: Box, distance: float, camera: Intrinsics) -> float:
    side = volume(box) ** (1.0 / 3.0)
    return (camera.fx * side / distance) * (camera.fy * side / distance) if distance > 0.0 else 0.0
