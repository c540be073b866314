"""Where the base can stand and how it gets there: distance field over the fixture map, A*, straightened paths."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.scene.graph import Box
from graph_planner_ros.sim.robot_model import BASE_RADIUS

FloatArray = NDArray[np.float64]
RESOLUTION = 0.05
CLEARANCE = 0.035
"""Room [m] kept between the base and anything else."""


@dataclass(frozen=True)
class Rectangle:
    """An upright oriented block: centre and half sides [m] in the plane, yaw [rad], lowest and highest z [m]."""

    x: float
    y: float
    half_x: float
    half_y: float
    yaw: float
    low: float = 0.0
    high: float = 2.0

    def distance(self, points: FloatArray) -> FloatArray:
        """Distance [m] of points (..., 2) from the rectangle, 0 inside."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        dx, dy = points[..., 0] - self.x, points[..., 1] - self.y
        along = np.maximum(np.abs(c * dx + s * dy) - self.half_x, 0.0)
        across = np.maximum(np.abs(-s * dx + c * dy) - self.half_y, 0.0)
        return np.hypot(along, across)

    def segment_distance(self, start: FloatArray, end: FloatArray) -> float:
        """Smallest distance [m] between a segment and the rectangle, to about 2 cm."""
        count = max(2, int(np.hypot(*(end - start)) / 0.02) + 1)
        points = start + np.linspace(0, 1, count)[:, None] * (end - start)
        return float(self.distance(points).min())


def rectangle_of(box: Box) -> Rectangle:
    """The block that a box of the scene graph stands for."""
    cx, cy, cz = (float(v) for v in box.center)
    ex, ey, ez = (float(v) for v in box.extent)
    return Rectangle(cx, cy, ex / 2, ey / 2, box.yaw, cz - ez / 2, cz + ez / 2)


class NavigationMap:
    """A grid over the room with the distance of every cell to the nearest obstacle.

    Args:
        room: xmin, ymin, xmax, ymax [m] of the free floor between the walls.
        obstacles: fixtures and open door leaves.
    """

    def __init__(self, room: tuple[float, float, float, float], obstacles: Iterable[Rectangle]) -> None:
        self.room = room
        self.obstacles = list(obstacles)
        xs = np.arange(room[0] + RESOLUTION / 2, room[2], RESOLUTION)
        ys = np.arange(room[1] + RESOLUTION / 2, room[3], RESOLUTION)
        self._points = np.stack(np.meshgrid(xs, ys, indexing="ij"), axis=-1)
        self.field = self.distance(self._points)

    def distance(self, points: FloatArray) -> FloatArray:
        """Distance [m] of points (..., 2) to the nearest obstacle or wall; negative outside of the room."""
        x, y = points[..., 0], points[..., 1]
        x0, y0, x1, y1 = self.room
        distance = np.minimum(np.minimum(x - x0, x1 - x), np.minimum(y - y0, y1 - y))
        for obstacle in self.obstacles:
            distance = np.minimum(distance, obstacle.distance(points))
        return distance

    def is_free(self, points: FloatArray, clearance: float = CLEARANCE) -> NDArray[np.bool_]:
        """Whether the base fits at each point (..., 2)."""
        return self.distance(points) >= BASE_RADIUS + clearance

    def segment_is_free(self, start: FloatArray, end: FloatArray, clearance: float) -> bool:
        """Whether the base can drive straight from one point to another."""
        count = max(2, int(np.hypot(*(end - start)) / 0.025) + 1)
        points = start + np.linspace(0, 1, count)[:, None] * (end - start)
        return bool(self.is_free(points, clearance).all())

    def is_connected(self, points: FloatArray) -> NDArray[np.bool_]:
        """Whether each point (n, 2) lies in the largest connected part of the free floor, or within a cell of it."""
        region = self._main_region()
        grown = region.copy()
        for axis in (0, 1):
            for shift in (-1, 1):
                grown |= np.roll(region, shift, axis)
        return np.array([bool(grown[self._cell(point)]) for point in points], dtype=bool)

    def _main_region(self) -> NDArray[np.bool_]:
        """Cells of the largest connected part of the free floor."""
        free = self.field >= BASE_RADIUS + CLEARANCE
        left, best = free.copy(), np.zeros_like(free)
        while left.sum() > best.sum():
            region = np.zeros_like(free)
            start = np.unravel_index(int(np.argmax(left)), left.shape)
            region[start] = True
            while True:
                grown = region.copy()
                grown[1:] |= region[:-1]
                grown[:-1] |= region[1:]
                grown[:, 1:] |= region[:, :-1]
                grown[:, :-1] |= region[:, 1:]
                grown &= free
                if (grown == region).all():
                    break
                region = grown
            left &= ~region
            if region.sum() > best.sum():
                best = region
        return best

    def _cell(self, point: Sequence[float] | FloatArray) -> tuple[int, int]:
        shape = self.field.shape
        i = int((point[0] - self.room[0]) / RESOLUTION)
        j = int((point[1] - self.room[1]) / RESOLUTION)
        return min(max(i, 0), shape[0] - 1), min(max(j, 0), shape[1] - 1)

    def path(self, start: Sequence[float], goal: Sequence[float]) -> list[FloatArray] | None:
        """Corner points [m] of a collision-free way from start to goal, start left out; None if there is none.

        The start may be closer to obstacles than the base normally keeps (after a push): the way leads out.
        """
        begin, end = np.asarray(start[:2], dtype=float), np.asarray(goal[:2], dtype=float)
        slack = 0.005
        if not bool(self.is_free(end, CLEARANCE - slack)):
            return None
        if self.segment_is_free(begin, end, CLEARANCE - slack):
            return [end]
        cells = self._search(self._cell(begin), self._cell(end))
        if cells is None:
            return None
        points = [begin, *(self._points[cell] for cell in cells[1:-1]), end]
        return self._straighten(points, CLEARANCE - slack)

    def _search(self, start: tuple[int, int], goal: tuple[int, int]) -> list[tuple[int, int]] | None:
        """A* over 8 neighbours; cells near obstacles cost more, blocked ones only count where the start stands."""
        free = self.field >= BASE_RADIUS + CLEARANCE
        free[goal] = True
        escape = self.field[start]
        penalty = 1.0 + 2.0 * np.clip(BASE_RADIUS + 0.15 - self.field, 0.0, 0.15) / 0.15
        steps = [(i, j, math.hypot(i, j)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
        best = {start: 0.0}
        parent: dict[tuple[int, int], tuple[int, int]] = {}
        queue = [(0.0, start)]
        shape = self.field.shape
        while queue:
            _, here = heapq.heappop(queue)
            if here == goal:
                cells = [here]
                while here in parent:
                    here = parent[here]
                    cells.append(here)
                return cells[::-1]
            for di, dj, length in steps:
                there = (here[0] + di, here[1] + dj)
                if not (0 <= there[0] < shape[0] and 0 <= there[1] < shape[1]):
                    continue
                leaving = not free[here] and self.field[there] >= max(self.field[here], escape)
                if not free[there] and not leaving:
                    continue
                cost = best[here] + length * float(penalty[there])
                if cost < best.get(there, math.inf):
                    best[there], parent[there] = cost, here
                    heapq.heappush(queue, (cost + math.hypot(there[0] - goal[0], there[1] - goal[1]), there))
        return None

    def _straighten(self, points: list[FloatArray], clearance: float) -> list[FloatArray]:
        """Leave out corners where the straight way is free as well."""
        result, index = [], 0
        while index < len(points) - 1:
            reach = index + 1
            for later in range(len(points) - 1, index + 1, -1):
                if self.segment_is_free(points[index], points[later], clearance):
                    reach = later
                    break
            result.append(points[reach])
            index = reach
        return result
