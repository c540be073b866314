"""Whether doors and drawers are open, from depth: what lies in the plane of a fixture's front, out of it, behind it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.scene.geometry import to_local
from graph_planner_ros.scene.graph import FloatArray, SceneNode
from graph_planner_ros.scene.observation import PartReading

OUT_OF_FRONT = 0.12
"""A part that reaches this far out of the front [m] is open."""
IN_FRONT = 0.075
"""A part that reaches no further out of the front than this [m] is shut; handles stand out a little."""
PLANE = 0.05
"""Depth within this distance of the front [m] is the front itself."""
INSIDE = 0.06
"""Depth at least so far behind the front [m] was seen through it."""
MIN_RAYS = 25
MIN_PART_POINTS = 20
MIN_COVER = 0.35
"""Share of the front that must be seen before it is called shut."""


@dataclass(frozen=True)
class FrontView:
    """How a fixture's front looks in one image.

    Attributes:
        passing, blocked: rays through the front that end behind it, at it. cover: share of the front that they sample.
    """

    passing: int
    blocked: int
    cover: float

    @property
    def open_share(self) -> float:
        """Share of the rays that pass."""
        return self.passing / max(1, self.passing + self.blocked)


def look_at_front(fixture: SceneNode, points: FloatArray, camera: FloatArray) -> FrontView:
    """Return how rays from the camera to the points (n, 3) meet the front of a fixture.

    Only rays that reach the front are counted: what ends before it, at the robot's arm or at an open door, hides it.
    """
    box, hollow = fixture.box, fixture.containment
    if box is None or hollow is None or len(points) == 0:
        return FrontView(0, 0, 0.0)
    front = float(box.extent[0]) / 2.0
    eye = to_local(box, camera.reshape(1, 3))[0]
    if eye[0] < front + 0.10:
        return FrontView(0, 0, 0.0)
    ends = to_local(box, points)
    reach = ends[:, 0] < front + PLANE
    ends = ends[reach]
    if len(ends) == 0:
        return FrontView(0, 0, 0.0)
    factor = (eye[0] - front) / np.maximum(eye[0] - ends[:, 0], 1e-6)
    hits = eye[1:] + factor[:, None] * (ends[:, 1:] - eye[1:])
    opening = to_local(box, hollow.center.reshape(1, 3))[0]
    offset = (hits - opening[1:]) / (hollow.extent[1:] / 2.0)
    crossing = (np.abs(offset) < 0.85).all(axis=1)
    depth = front - ends[crossing, 0]
    passing, blocked = int(np.count_nonzero(depth > INSIDE)), int(np.count_nonzero(depth <= INSIDE))
    cells = np.unique(np.floor((offset[crossing] + 1.0) * 4.0).astype(int) @ np.array([8, 1]))
    return FrontView(passing, blocked, len(cells) / 64.0)


def read_part(
    fixture: SceneNode, attribute: str, part: FloatArray | None, view: FrontView, shut_when: Truth = Truth.TRUE
) -> PartReading | None:
    """Return whether a fixture's door is shut, or None if the image does not tell.

    Args:
        part: points (n, 3) of the part, if it was segmented. view: what is seen of the front.
        shut_when: value of the attribute while the part is in its front.
    """
    open_value = Truth.FALSE if shut_when is Truth.TRUE else Truth.TRUE
    node_id, rays = fixture.instance_id, view.passing + view.blocked
    reach, slide = _reach(fixture, part)
    see_through = rays >= MIN_RAYS and view.open_share > 0.3
    solid = rays >= MIN_RAYS and view.open_share < 0.1 and view.cover >= MIN_COVER
    if reach is not None and reach > OUT_OF_FRONT and (slide > 0.0 or not solid):
        return PartReading(node_id, attribute, open_value, slide)
    if see_through and (reach is None or reach > IN_FRONT):
        return PartReading(node_id, attribute, open_value)
    if solid and (reach is None or reach < IN_FRONT):
        return PartReading(node_id, attribute, shut_when, reach or 0.0)
    return None


def _reach(fixture: SceneNode, part: FloatArray | None) -> tuple[float | None, float]:
    """How far the part reaches out of the front [m]; and the same again if it slides, else 0."""
    if part is None or len(part) < MIN_PART_POINTS or fixture.box is None:
        return None, 0.0
    local = to_local(fixture.box, part)
    out = local[:, 0] - float(fixture.box.extent[0]) / 2.0
    reach = float(np.percentile(out, 90.0))
    if reach <= OUT_OF_FRONT:
        return reach, 0.0
    # a sliding front comes out whole: it is as wide out there as the fixture; a swung door slants back to its hinge
    outer = local[out > 0.6 * reach, 1]
    wide = float(np.ptp(outer)) > 0.6 * float(fixture.box.extent[1])
    return reach, (reach if wide else 0.0)
