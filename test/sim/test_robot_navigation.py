"""Ways around obstacles."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.sim.navigation import NavigationMap, Rectangle
from graph_planner_ros.sim.robot_model import BASE_RADIUS

ROOM = (-2.5, -2.5, 2.5, 2.5)
POSITION = st.floats(-2.0, 2.0)


def test_straight_way_in_an_empty_room() -> None:
    path = NavigationMap(ROOM, []).path((0, 0), (1.5, 1.0))
    assert path is not None and len(path) == 1


def test_way_leads_around_a_wall() -> None:
    navigation = NavigationMap(ROOM, [Rectangle(0.0, 0.5, 0.1, 2.0, 0.0)])
    path = navigation.path((-1, 1), (1, 1))
    assert path is not None and len(path) > 1
    assert min(point[1] for point in path) < -1.5


def test_closed_off_place_has_no_way() -> None:
    navigation = NavigationMap(ROOM, [Rectangle(0.0, 0.0, 0.1, 3.0, 0.0)])
    assert navigation.path((-1, 0), (1, 0)) is None


def test_place_inside_an_obstacle_has_no_way() -> None:
    assert NavigationMap(ROOM, [Rectangle(1, 1, 0.3, 0.3, 0.0)]).path((-1, 0), (1, 1)) is None


def test_start_too_close_to_an_obstacle_finds_out() -> None:
    navigation = NavigationMap(ROOM, [Rectangle(0.0, 0.0, 0.3, 0.3, 0.0)])
    assert navigation.path((0.5, 0.0), (-1.5, 0.0)) is not None


def test_largest_part_of_the_floor_is_the_connected_one() -> None:
    navigation = NavigationMap(ROOM, [Rectangle(1.0, 0.0, 0.1, 3.0, 0.0)])
    connected = navigation.is_connected(np.array([[-1.0, 0.0], [1.9, 0.0]]))
    assert connected.tolist() == [True, False]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.builds(Rectangle, POSITION, POSITION, st.floats(0.1, 0.6), st.floats(0.1, 0.6), st.floats(-3, 3)), max_size=5
    ),
    st.tuples(POSITION, POSITION),
    st.tuples(POSITION, POSITION),
)
def test_every_way_keeps_clear_of_all_obstacles(
    obstacles: list[Rectangle], start: tuple[float, float], goal: tuple[float, float]
) -> None:
    navigation = NavigationMap(ROOM, obstacles)
    if not navigation.is_free(np.array(start)):
        return
    path = navigation.path(start, goal)
    if path is None:
        return
    for a, b in itertools.pairwise([np.array(start), *path]):
        points = a + np.linspace(0, 1, 50)[:, None] * (b - a)
        # The grid is 5 cm coarse: corners between free cells may come a little closer.
        assert navigation.distance(points).min() > BASE_RADIUS - 0.02
