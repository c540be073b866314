"""Where items go: free spots on the surfaces of fixtures, within the reach of a robot that stands in front."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from graph_planner_ros.scene.graph import Box
from graph_planner_ros.sim.infos import FixtureInfo, ItemInfo

SPACING = 0.15
"""Least distance [m] between the middles of two items, sideways on shelves and in any direction elsewhere."""
EDGE = 0.02
"""Gap [m] between an item and the edge of its surface; open edges get `OPEN_EDGE`."""
OPEN_EDGE = 0.06
REACH = 0.40
"""Items lie at most this far [m] behind the front edge."""

_ARRANGEMENTS = 30


@dataclass(frozen=True)
class Spot:
    """A place for an item: where its middle goes [m, map] and the heading of its long axis [rad]."""

    fixture: str
    position: np.ndarray
    yaw: float


def free_spot(
    fixture: FixtureInfo,
    surfaces: tuple[Box, ...],
    size: tuple[float, float, float],
    others: Iterable[np.ndarray],
    random: np.random.Generator,
    tries: int = 60,
) -> Spot | None:
    """A random free spot for an item of this ``size``, or None if none was found.

    ``others`` are the positions (map) of everything that must be kept clear of. The long axis points to the front, so
    that the robot's fingers close across the short one. On shelves items stand side by side, never behind each other.
    """
    c, s = math.cos(fixture.front), math.sin(fixture.front)
    placed = [np.asarray(other) for other in others]
    enclosed = fixture.door is not None
    side = _side_margin(fixture)
    for _ in range(tries):
        surface = surfaces[int(random.integers(len(surfaces)))]
        depth, width = surface.extent[0], surface.extent[1]
        front = EDGE if enclosed or depth < 0.42 else OPEN_EDGE
        x_low = max(-depth / 2 + EDGE, depth / 2 - REACH) + size[0] / 2
        x_high = depth / 2 - front - size[0] / 2
        if enclosed:
            x_low = max(x_low, x_high - 0.12)
        y_high = width / 2 - side - size[1] / 2
        if x_low > x_high or y_high < 0:
            continue
        x, y = random.uniform(x_low, x_high), random.uniform(-y_high, y_high)
        position = surface.center + np.array([c * x - s * y, s * x + c * y, 0.0])
        position[2] = surface.center[2] - surface.extent[2] / 2 + size[2] / 2 + 0.002
        if all(_clear(position, other, size, surface, enclosed, (c, s)) for other in placed):
            return Spot(fixture.instance_id, position, fixture.front + random.uniform(-0.12, 0.12))
    return None


def _side_margin(fixture: FixtureInfo) -> float:
    """Room for the hand between an item and a side wall [m]; the hand dips right into a drawer."""
    if fixture.door is None:
        return OPEN_EDGE
    return 0.09 if fixture.door.kind == "slide" else 0.07


def _clear(
    position: np.ndarray,
    other: np.ndarray,
    size: tuple[float, float, float],
    surface: Box,
    enclosed: bool,
    heading: tuple[float, float],
) -> bool:
    offset = other - position
    bottom = surface.center[2] - surface.extent[2] / 2
    if not bottom - 0.05 < other[2] < bottom + surface.extent[2]:
        return True
    lengthwise = abs(heading[0] * offset[0] + heading[1] * offset[1])
    sideways = abs(-heading[1] * offset[0] + heading[0] * offset[1])
    if enclosed:
        return sideways > SPACING or lengthwise > 0.8
    return math.hypot(lengthwise, sideways) > SPACING + max(0.0, size[0] - 0.10)


def choose_spots(
    fixtures: Mapping[str, FixtureInfo],
    items: Mapping[str, ItemInfo],
    wanted: Mapping[str, tuple[str, ...]],
    random: np.random.Generator,
) -> dict[str, Spot]:
    """One spot an item in a fixture of one of the classes ``wanted[item]``; RuntimeError names one without room."""
    for _ in range(_ARRANGEMENTS):
        spots, homeless = _arrange(fixtures, items, wanted, random)
        if not homeless:
            return spots
    raise RuntimeError(f"no room for {homeless} in any {' or '.join(wanted[homeless])} of this kitchen")


def _arrange(
    fixtures: Mapping[str, FixtureInfo],
    items: Mapping[str, ItemInfo],
    wanted: Mapping[str, tuple[str, ...]],
    random: np.random.Generator,
) -> tuple[dict[str, Spot], str]:
    """One try: the spots, and the first item that found no room, or an empty name."""
    spots: dict[str, Spot] = {}
    # Who has little choice and is long comes first: it is the hardest to place.
    for name in sorted(items, key=lambda item: (len(wanted[item]), -items[item].size[0])):
        places = [info for info in fixtures.values() if info.label in wanted[name] and info.surfaces]
        for index in random.permutation(len(places)):
            info = places[int(index)]
            others = [spot.position for spot in spots.values() if spot.fixture == info.instance_id]
            spot = free_spot(info, info.surfaces, items[name].size, others, random)
            if spot:
                spots[name] = spot
                break
        else:
            return spots, name
    return spots, ""
