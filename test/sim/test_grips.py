"""How the fingers go around things, and what they must feel: from believed boxes alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_planner_ros.scene.graph import Box, SceneNode
from graph_planner_ros.sim.grips import Grip, feel_the_way, grip_in_the_open, grip_in_vessel
from graph_planner_ros.sim.motion import TIP, SkillFailure
from graph_planner_ros.sim.robot_model import FINGER_THICKNESS
from graph_planner_ros.sim.skills_put import free_along

EGG, BOWL, MUG = SceneNode("egg_1", "Egg"), SceneNode("bowl_1", "Bowl"), SceneNode("mug_1", "Mug")


def box(
    size: tuple[float, float, float], x: float = 0.0, y: float = 0.0, bottom: float = 0.75, yaw: float = 0.0
) -> Box:
    return Box(np.array([x, y, bottom + size[2] / 2]), np.array(size), yaw)


def in_bowl(size: tuple[float, float, float], x: float = 0.0, y: float = 0.0, yaw: float = 0.0) -> Grip:
    return grip_in_vessel(EGG, box(size, x, y, 0.764), BOWL, box((0.15, 0.08, 0.05), yaw=yaw))


@given(x=st.floats(-0.06, 0.06), y=st.floats(-0.03, 0.03), yaw=st.floats(-3.1, 3.1), side=st.floats(0.03, 0.07))
def test_open_fingers_fit_between_the_ends_of_a_bowl(x: float, y: float, yaw: float, side: float) -> None:
    grip = in_bowl((side, side, 0.05), x, y, yaw)
    axis = np.array([np.cos(yaw), np.sin(yaw)])
    along = float(grip.point @ axis)
    assert abs(along) + grip.opening / 2 + FINGER_THICKNESS < 0.075
    assert abs(float(grip.point @ np.array([-axis[1], axis[0]]))) < 0.04
    assert grip.opening >= side


def test_a_thing_deep_in_a_narrow_vessel_is_refused_by_name() -> None:
    with pytest.raises(SkillFailure, match=r"apple_1 .* mug_1") as failure:
        apple = SceneNode("apple_1", "Apple")
        grip_in_vessel(apple, box((0.058, 0.058, 0.056), bottom=0.764), MUG, box((0.074, 0.074, 0.092)))
    assert failure.value.code == "not_reachable" and not failure.value.recoverable


def test_a_thing_on_top_of_a_narrow_vessel_is_taken_above_the_rim() -> None:
    grip = grip_in_vessel(EGG, box((0.058, 0.058, 0.056), bottom=0.835), MUG, box((0.074, 0.074, 0.092)))
    assert 0.842 < grip.lowest - TIP < grip.top - 0.012


@pytest.mark.parametrize(("opening", "height", "right"), [
    (0.058, 0.79, True), (0.04, 0.80, True), (0.079, 0.79, False), (0.006, 0.79, False), (0.058, 0.87, False),
])  # fmt: skip
def test_width_and_height_tell_whether_the_thing_in_the_bowl_is_held(
    opening: float, height: float, right: bool
) -> None:
    assert bool(in_bowl((0.058, 0.058, 0.056)).contradiction(opening, height)) is not right


@pytest.mark.parametrize(("opening", "right"), [(0.026, True), (0.03, True), (0.075, False)])
def test_a_mug_is_not_taken_for_a_knife(opening: float, right: bool) -> None:
    grip = grip_in_the_open(box((0.22, 0.032, 0.026)))
    assert bool(grip.contradiction(opening, 0.77)) is not right


def test_a_thing_seen_from_one_side_only_may_be_wider_than_believed() -> None:
    assert not grip_in_the_open(box((0.074, 0.04, 0.092))).contradiction(0.074, 0.8)


def test_fingers_step_away_from_a_rim_and_towards_a_thing() -> None:
    grip, left = in_bowl((0.058, 0.058, 0.056)), np.array([0.0, 1.0])
    assert grip.rim is not None
    assert feel_the_way(grip, left, grip.rim, 1) @ left < 0
    assert feel_the_way(grip, left, grip.rim - 0.02, 1) @ left > 0
    aside = feel_the_way(grip, np.zeros(2), grip.rim, 1)
    assert abs(aside @ np.array([1.0, 0.0])) < 1e-9 < abs(aside @ left)


def test_things_go_into_the_middle_of_an_empty_vessel_and_beside_what_is_in_it() -> None:
    bowl, egg = box((0.15, 0.08, 0.05), yaw=0.4), (0.044, 0.044, 0.05)
    assert free_along(bowl, [], 0.044) == 0.0
    axis = np.array([np.cos(0.4), np.sin(0.4)])
    beside = free_along(bowl, [box(egg, *(-0.04 * axis), yaw=0.4)], 0.044)
    assert beside is not None and 0.01 < beside < 0.05


def test_a_full_vessel_has_no_place() -> None:
    egg = (0.044, 0.044, 0.05)
    assert free_along(box((0.15, 0.08, 0.05)), [box(egg, -0.04), box(egg, 0.04)], 0.044) is None
    assert free_along(box((0.15, 0.08, 0.05)), [box((0.058, 0.058, 0.056))], 0.052) is None
    assert free_along(box((0.074, 0.074, 0.092)), [box(egg)], 0.03) is None
