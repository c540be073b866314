"""The transform buffer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.perception.transforms import (
    TransformBuffer,
    TransformError,
    interpolate,
    quaternion_to_rotation,
    rotation_to_quaternion,
)

angles = st.floats(-math.pi, math.pi)


def pose(x: float = 0.0, y: float = 0.0, z: float = 0.0, yaw: float = 0.0) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:2, :2] = [[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]]
    matrix[:3, 3] = x, y, z
    return matrix


@pytest.fixture
def buffer() -> TransformBuffer:
    found = TransformBuffer()
    found.add("map", "odom", pose(1.0), 0.0, static=True)
    found.add("base", "camera", pose(z=1.4), 0.0, static=True)
    for step in range(11):
        found.add("odom", "base", pose(x=0.1 * step, yaw=0.1 * step), 5.0 + 0.1 * step)
    return found


def test_chains_and_interpolation(buffer: TransformBuffer) -> None:
    assert np.allclose(buffer.lookup("map", "camera", 5.55), pose(1.55, 0.0, 1.4, 0.55))
    assert np.allclose(buffer.lookup("map", "camera"), pose(2.0, 0.0, 1.4, 1.0))
    both = buffer.lookup("camera", "odom", 5.3) @ buffer.lookup("odom", "camera", 5.3)
    assert np.allclose(both, np.eye(4))
    assert np.allclose(buffer.lookup("map", "map", 1.0), np.eye(4))


@pytest.mark.parametrize("stamp", [1.0, 4.8, 6.2, 100.0])
def test_times_outside_of_the_history_are_refused(buffer: TransformBuffer, stamp: float) -> None:
    with pytest.raises(TransformError, match="odom <- base"):
        buffer.lookup("map", "camera", stamp)


def test_unknown_frames_are_named(buffer: TransformBuffer) -> None:
    with pytest.raises(TransformError, match="gripper"):
        buffer.lookup("map", "gripper", 5.5)
    with pytest.raises(TransformError, match="no transform"):
        TransformBuffer().lookup("map", "base", 1.0)


def test_a_jump_back_in_time_drops_the_history_and_keeps_what_is_static(buffer: TransformBuffer) -> None:
    buffer.add("odom", "base", pose(x=7.0), 1.0)
    assert np.allclose(buffer.lookup("map", "camera", 1.0), pose(8.0, 0.0, 1.4))
    with pytest.raises(TransformError):
        buffer.lookup("map", "camera", 5.5)


def test_late_transforms_are_sorted_in_and_old_ones_go() -> None:
    buffer = TransformBuffer(duration=1.0)
    for stamp in (1.0, 1.4, 1.2):
        buffer.add("a", "b", pose(x=stamp), stamp)
    assert buffer.lookup("a", "b", 1.3)[0, 3] == pytest.approx(1.3)
    buffer.add("a", "b", pose(), 2.3)
    with pytest.raises(TransformError):
        buffer.lookup("a", "b", 1.0, tolerance=0.0)


@pytest.mark.parametrize("bad", [np.eye(3), np.full((4, 4), np.nan)])
def test_bad_transforms_are_refused(bad: np.ndarray) -> None:
    with pytest.raises(ValueError, match="a <- b"):
        TransformBuffer().add("a", "b", bad, 1.0)
    with pytest.raises(ValueError, match="two different frames"):
        TransformBuffer().add("a", "a", np.eye(4), 1.0)


def test_a_circle_of_frames_is_refused() -> None:
    buffer = TransformBuffer()
    buffer.add("a", "b", pose(), 1.0)
    buffer.add("b", "a", pose(), 1.0)
    with pytest.raises(TransformError, match="circle"):
        buffer.lookup("a", "b", 1.0)


@settings(deadline=None)
@given(angles, angles, angles)
def test_quaternions_and_rotations_agree(a: float, b: float, c: float) -> None:
    def turn(axis: int, angle: float) -> np.ndarray:
        matrix, i, j = np.eye(3), (axis + 1) % 3, (axis + 2) % 3
        matrix[i, i] = matrix[j, j] = math.cos(angle)
        matrix[i, j], matrix[j, i] = -math.sin(angle), math.sin(angle)
        return matrix

    rotation = turn(0, a) @ turn(1, b) @ turn(2, c)
    assert np.allclose(quaternion_to_rotation(rotation_to_quaternion(rotation)), rotation, atol=1e-9)


@settings(deadline=None)
@given(angles, st.floats(-3.0, 3.0), st.floats(0.0, 1.0))
def test_interpolation_turns_evenly_the_short_way(start: float, change: float, share: float) -> None:
    middle = interpolate(pose(yaw=start), pose(x=2.0, yaw=start + change), share)
    assert np.allclose(middle, pose(2.0 * share, 0.0, 0.0, start + share * change), atol=1e-6)
