"""Plans of the artificial goal action end with it, whatever the search put after it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graph_planner_ros.planning.engines.compilation import REACH_ACTION
from graph_planner_ros.planning.engines.mimir import _up_to_the_goal

STEP = st.tuples(st.sampled_from(["put", "go-and-put", "open"]), st.sampled_from(["a", "b"]))


@given(st.lists(STEP), st.lists(STEP), st.sampled_from(["", "go-and-"]))
def test_what_comes_after_the_goal_is_cut_off(before, after, variant) -> None:
    reach = (variant + REACH_ACTION, "a")
    assert _up_to_the_goal([*before, reach, *after]) == [*before, reach]
    assert _up_to_the_goal(before) == before
