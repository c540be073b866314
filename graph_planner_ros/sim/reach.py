"""Where to stand for a manipulation: base poses from which the hand gets there and nothing is in the way."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.sim.fixture_map import Door, Fixture, FixtureMap
from graph_planner_ros.sim.navigation import NavigationMap, Rectangle
from graph_planner_ros.sim.robot_model import ARM_LENGTH, BASE_RADIUS, HAND_LENGTH, WRIST_FORWARD

FloatArray = NDArray[np.float64]
ARM_MARGIN = 0.085
"""Half width [m] of the corridor that arm and hand need."""


@dataclass(frozen=True)
class Stand:
    """A base pose in the map [m, rad] with what it costs to use it."""

    x: float
    y: float
    yaw: float
    cost: float


def _sweep(starts: FloatArray, ends: FloatArray, count: int = 30) -> FloatArray:
    """Points on the segments from starts (n, 2) to ends (n, 2): (n, count, 2)."""
    steps = np.linspace(0, 1, count)[None, :, None]
    return np.asarray(starts[:, None, :] + steps * (ends - starts)[:, None, :])


def arm_blockers(
    fixtures: FixtureMap, low: float, high: float, own: Fixture | None, own_blocks: bool = True
) -> list[Rectangle]:
    """What stands in the way of an arm that moves between two heights [m]; of ``own`` an open drawer does not."""
    blockers: list[Rectangle] = []
    for fixture in fixtures.fixtures.values():
        if fixture is not own or own_blocks:
            blockers += fixture.arm_obstacles()
        passable = fixture is own and (
            fixture.is_drawer or (not own_blocks and fixture.door is not None and fixture.door.is_closed)
        )
        if fixture.door is not None and not passable:
            blockers.append(fixture.door.leaf(fixture.door.position))
    return [b for b in blockers if b.low < high and b.high > low]


def stands_over(
    fixtures: FixtureMap,
    target: FloatArray,
    heights: tuple[float, float],
    own: Fixture | None,
    here: tuple[float, float, float],
    forward: float = WRIST_FORWARD,
    lateral: float = 0.0,
    margin: float = ARM_MARGIN,
    navigation: NavigationMap | None = None,
    own_blocks: bool = True,
    travel: float = ARM_LENGTH,
) -> list[Stand]:
    """Base poses from which a tool gets over (or to) a point, best first.

    Args:
        target: x, y [m] in the map. heights: lowest and highest z [m] of the extended arm.
        own: the fixture that is reached into. here: present base pose.
        own_blocks: whether the body of ``own`` itself stands in the way (not when its front is touched).
        forward, lateral: tool position from the base axis with the arm retracted [m]. travel: how far it extends [m].
    """
    navigation = navigation or fixtures.navigation()
    angles = np.arange(0, 2 * math.pi, math.radians(7.5))
    reaches = np.arange(max(forward + 0.02, BASE_RADIUS + 0.08), forward + travel - 0.01, 0.05)
    yaw, reach = (grid.ravel() for grid in np.meshgrid(angles, reaches))
    facing = np.stack([np.cos(yaw), np.sin(yaw)], axis=1)
    left = np.stack([-np.sin(yaw), np.cos(yaw)], axis=1)
    base = target[None, :2] - reach[:, None] * facing - lateral * left
    keep = navigation.is_free(base)
    base, yaw, reach, facing, left = base[keep], yaw[keep], reach[keep], facing[keep], left[keep]
    clear = np.full(len(base), 0.3)
    points = _sweep(base, base + reach[:, None] * facing)
    for blocker in arm_blockers(fixtures, *heights, own, own_blocks):
        clear = np.minimum(clear, blocker.distance(points).min(axis=1))
    keep = clear >= margin
    base, yaw, reach, clear = base[keep], yaw[keep], reach[keep], clear[keep]
    space = np.minimum(navigation.distance(base), BASE_RADIUS + 0.15)
    cost = 0.5 * np.hypot(base[:, 0] - here[0], base[:, 1] - here[1]) + np.abs(reach - 0.5)
    cost += 2.0 * np.maximum(0.13 - clear, 0.0) + 2.0 * (BASE_RADIUS + 0.15 - space)
    if own is not None:
        heading = own.box.yaw + math.pi
        cost += (1.0 if own.door is not None else 0.3) * np.abs(np.sin((yaw - heading) / 2))
    stands = [Stand(float(b[0]), float(b[1]), float(y), float(c)) for b, y, c in zip(base, yaw, cost, strict=True)]
    return sorted(stands, key=lambda stand: stand.cost)


def stands_at_door(
    fixtures: FixtureMap,
    fixture: Fixture,
    start: float,
    end: float,
    here: tuple[float, float, float],
    along: float = 1.0,
) -> list[Stand]:
    """Base poses from which the hand follows the handle from one door position to another, outside of the sweep."""
    door = fixture.door
    assert door is not None
    navigation = fixtures.navigation(without_door=fixture.fixture_id)
    positions = np.linspace(start, end, 10)
    handles = [door.handle(p, along) for p in positions]
    low, high = handles[0][2] - 0.04, handles[0][2] + 0.04
    forward = WRIST_FORWARD + HAND_LENGTH
    middle = handles[len(handles) // 2][:2]
    grid = np.arange(-1.3, 1.3, 0.06)
    base = middle + np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    base = base[navigation.is_free(base)]
    blockers = [b for f in fixtures.fixtures.values() if f is not fixture for b in f.arm_obstacles()]
    blockers += fixtures.leaves(without=fixture.fixture_id)
    blockers = [b for b in blockers if b.low < high and b.high > low]
    cost = 0.5 * np.hypot(base[:, 0] - here[0], base[:, 1] - here[1])
    for position, handle in zip(positions, handles, strict=True):
        offset = handle[:2] - base
        reach = np.hypot(offset[:, 0], offset[:, 1])
        points = _sweep(base, np.broadcast_to(handle[:2], base.shape))
        keep = (reach > forward + 0.015) & (reach < forward + ARM_LENGTH - 0.03)
        keep &= door.leaf(position).distance(base) > BASE_RADIUS + 0.05
        for blocker in blockers:
            keep &= blocker.distance(points).min(axis=1) > 0.05
        cost += _across(door, position, base, handle) + 0.1 * np.abs(reach - 0.6)
        base, cost = base[keep], cost[keep]
    # Afterwards the robot must not be shut in behind the door.
    after = fixtures.navigation(without_door=fixture.fixture_id, extra=[door.leaf(end)])
    keep = after.is_connected(base)
    base, cost = base[keep], cost[keep]
    first = handles[0][:2]
    return sorted(
        (Stand(float(b[0]), float(b[1]), math.atan2(first[1] - b[1], first[0] - b[0]), float(c))
         for b, c in zip(base, cost, strict=True)),
        key=lambda stand: stand.cost,
    )  # fmt: skip


def _across(door: Door, position: float, base: FloatArray, handle: FloatArray) -> FloatArray:
    """Price of a hand that comes to the handle from behind the leaf (its fingers would go through the edge)."""
    toward = base - handle[:2]
    toward /= np.hypot(toward[:, 0], toward[:, 1])[:, None]
    return np.asarray(0.6 * np.maximum(0.0, -(toward @ door.normal(position))))
