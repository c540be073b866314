"""Long goals are planned for in parts that end."""

from __future__ import annotations

from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.domain.symbols import Atom, Goal, GoalLiteral, GoalVariable, SymbolicState
from graph_planner_ros.planning.staging import next_part

DOMAIN = load_domain("textworld")
FOODS = [f"food {number}" for number in range(5)]


def recipe() -> Goal:
    foods = tuple(GoalVariable(f"?x{n}", "item", "Food", name) for n, name in enumerate(FOODS))
    literals = [GoalLiteral(p, (v.name,)) for v in foods for p in ("holding", "sliced", "fried")]
    kitchen = GoalVariable("?k", "room", "KitchenRoom")
    return Goal((*foods, kitchen), (*literals, GoalLiteral("at", ("?k",))))


def state(*atoms: Atom) -> SymbolicState:
    objects = dict.fromkeys(("food 3", "food 4"), "item") | {"Kitchen": "room"}
    return SymbolicState(objects, frozenset(atoms))


def test_a_short_goal_is_left_whole() -> None:
    goal = recipe()
    assert next_part(DOMAIN, state(), goal, most=16) is goal


def test_what_is_at_hand_comes_first_and_things_stay_whole() -> None:
    part = next_part(DOMAIN, state(), recipe(), most=10)
    assert [variable.instance for variable in part.variables] == ["food 0", "food 3", "food 4"]
    assert len(part.literals) == 9


def test_what_is_reached_is_kept_and_the_rest_follows() -> None:
    reached = [Atom(p, (name,)) for p in ("holding", "sliced", "fried") for name in ("food 3", "food 4")]
    part = next_part(DOMAIN, state(*reached), recipe(), most=4)
    assert {v.instance for v in part.variables} == {"food 0", "food 3", "food 4"}
    assert next_part(DOMAIN, state(*reached), recipe(), most=10) == recipe()


def test_one_thing_with_more_than_the_most_is_a_part() -> None:
    assert len(next_part(DOMAIN, state(), recipe(), most=1).literals) == 3


def test_goals_that_leave_things_open_are_not_taken_apart() -> None:
    variables = tuple(GoalVariable(f"?x{n}", "item", "Food") for n in range(4))
    goal = Goal(variables, tuple(GoalLiteral("sliced", (v.name,)) for v in variables))
    assert next_part(DOMAIN, state(), goal, most=1) is goal
