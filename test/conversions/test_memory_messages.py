"""Goals and what memory says come back from their messages as they were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from message_values import FINE, HOUSEHOLD, NAME, TEXT, UNIT, through_the_wire

from graph_planner_ros import conversions
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable, GroundAction
from graph_planner_ros.memory.retrieval import RetrievedAction
from graph_planner_ros.memory.state_graph import Loop

VARIABLES = st.builds(GoalVariable, NAME, TEXT, st.none() | NAME, st.none() | NAME)
LITERALS = st.builds(GoalLiteral, NAME, st.lists(NAME, max_size=3).map(tuple), st.booleans())
GOALS = st.builds(
    Goal,
    st.lists(VARIABLES, max_size=3).map(tuple),
    st.lists(LITERALS, max_size=3).map(tuple),
    st.lists(st.lists(NAME, max_size=2).map(tuple), max_size=2).map(tuple),
    TEXT,
    st.booleans(),
)
ACTIONS = st.sampled_from([GroundAction("pick_up", ("mug_1", "counter_top_1")), GroundAction("open", ("fridge_1",))])
REMEMBERED = st.builds(
    RetrievedAction,
    ACTIONS,
    st.lists(ACTIONS, max_size=3).map(tuple),
    UNIT,
    st.floats(0, 1e9),
    TEXT,
    TEXT,
    st.integers(0, 2**32 - 1),
    st.just({}),
    UNIT,
    UNIT,
)
PLACES = st.dictionaries(NAME, st.dictionaries(NAME, UNIT, min_size=1, max_size=3), max_size=3)
LOOPS = st.lists(ACTIONS, min_size=1).map(lambda actions: Loop(tuple(actions), 0))


@FINE
@given(GOALS)
def test_goals_come_back(goal: Goal) -> None:
    assert conversions.goal_from_msg(through_the_wire(conversions.goal_to_msg(goal))) == goal


@FINE
@given(
    st.lists(REMEMBERED, max_size=3), PLACES, st.none() | st.lists(ACTIONS, min_size=1).map(lambda a: Loop(tuple(a), 0))
)
def test_advice_comes_back(
    actions: list[RetrievedAction], places: dict[str, dict[str, float]], loop: Loop | None
) -> None:
    message = through_the_wire(conversions.advice_to_msg(HOUSEHOLD, actions, places, loop, stamp=1.5, task_id="t"))
    assert [conversions.remembered_from_msg(item) for item in message.actions] == actions
    assert conversions.places_from_msg(message.places) == places
    assert message.loop == (loop is not None)
    assert list(message.cycle) == ([str(action) for action in loop.actions] if loop is not None else [])
    assert message.task_id == "t"
