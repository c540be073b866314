"""Goals: when they hold, what they lack, and how they read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import (
    check_goal,
    describe_goal,
    goal_binding,
    goal_holds,
    goal_to_pddl,
    unmet_literals,
)
from graph_planner_ros.domain.names import NameMap
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.symbols import Atom, Goal, GoalLiteral, GoalVariable, SymbolicState

TOMATO = GoalVariable("?t", "item", "Tomato")
FRIDGE = GoalVariable("?f", "fixture", "Fridge")
COLD_TOMATO_IN_FRIDGE = Goal((TOMATO, FRIDGE), (GoalLiteral("in", ("?t", "?f")), GoalLiteral("cold", ("?t",))))


def with_atoms(state: SymbolicState, *atoms: Atom) -> SymbolicState:
    """The state with more atoms."""
    return replace(state, atoms=state.atoms | set(atoms))


def test_some_instance_of_the_class_is_enough(household: Domain, kitchen: SymbolicState) -> None:
    assert not goal_holds(COLD_TOMATO_IN_FRIDGE, kitchen, household)
    done = with_atoms(kitchen, Atom("in", ("tomato_1", "fridge_1")), Atom("cold", ("tomato_1",)))
    assert goal_holds(COLD_TOMATO_IN_FRIDGE, done, household)
    assert goal_binding(COLD_TOMATO_IN_FRIDGE, done, household) == {"?t": "tomato_1", "?f": "fridge_1"}


def test_all_literals_must_be_of_one_instance(household: Domain, kitchen: SymbolicState) -> None:
    objects = {**kitchen.objects, "tomato_2": "item"}
    two = SymbolicState(objects, kitchen.atoms | {Atom("instance_of", ("tomato_2", "Tomato"))})
    spread = with_atoms(two, Atom("in", ("tomato_1", "fridge_1")), Atom("cold", ("tomato_2",)))
    assert not goal_holds(COLD_TOMATO_IN_FRIDGE, spread, household)
    assert len(unmet_literals(COLD_TOMATO_IN_FRIDGE, spread, household)) == 1


def test_unmet_literals_are_those_of_the_nearest_binding(household: Domain, kitchen: SymbolicState) -> None:
    half = with_atoms(kitchen, Atom("cold", ("tomato_1",)))
    assert unmet_literals(COLD_TOMATO_IN_FRIDGE, half, household) == (GoalLiteral("in", ("?t", "?f")),)
    done = with_atoms(half, Atom("in", ("tomato_1", "fridge_1")))
    assert unmet_literals(COLD_TOMATO_IN_FRIDGE, done, household) == ()


def test_a_class_of_which_nothing_is_known_leaves_its_literals_unmet(household: Domain, kitchen: SymbolicState) -> None:
    goal = Goal((GoalVariable("?a", "item", "Apple"), FRIDGE), (GoalLiteral("in", ("?a", "?f")),))
    assert unmet_literals(goal, kitchen, household) == goal.literals


def test_distinct_variables_need_different_things(household: Domain, kitchen: SymbolicState) -> None:
    counter = GoalVariable("?c", "fixture", "CounterTop")
    mugs = (GoalVariable("?a", "item", "Mug"), GoalVariable("?b", "item", "Mug"))
    literals = (GoalLiteral("in", ("?a", "?c")), GoalLiteral("in", ("?b", "?c")))
    assert goal_holds(Goal((*mugs, counter), literals), kitchen, household)
    two = Goal((*mugs, counter), literals, (("?a", "?b"),))
    assert not goal_holds(two, kitchen, household)
    assert len(unmet_literals(two, kitchen, household)) == 1
    more = SymbolicState(
        {**kitchen.objects, "mug_2": "movable_receptacle"},
        kitchen.atoms | {Atom("instance_of", ("mug_2", "Mug")), Atom("in", ("mug_2", "counter_1"))},
    )
    assert goal_holds(two, more, household)


def test_a_negative_literal_must_be_false(household: Domain, kitchen: SymbolicState) -> None:
    opened = Goal((FRIDGE,), (GoalLiteral("closed", ("?f",), positive=False),))
    assert not goal_holds(opened, kitchen, household)
    assert goal_holds(opened, replace(kitchen, atoms=kitchen.atoms - {Atom("closed", ("fridge_1",))}), household)


def test_a_named_instance_is_that_one(household: Domain, kitchen: SymbolicState) -> None:
    goal = Goal((GoalVariable("?m", "item", instance="mug_1"),), (GoalLiteral("holding", ("?m",)),))
    assert not goal_holds(goal, kitchen, household)
    assert goal_holds(goal, with_atoms(kitchen, Atom("holding", ("mug_1",))), household)
    gone = Goal((GoalVariable("?m", "item", instance="mug_9"),), (GoalLiteral("dirty", ("?m",), False),))
    assert not goal_holds(gone, kitchen, household)


def test_pddl_of_a_goal(household: Domain) -> None:
    names = NameMap(household)
    assert goal_to_pddl(COLD_TOMATO_IN_FRIDGE, names) == (
        "(exists (?v1 - item ?v2 - fixture) "
        "(and (instance_of ?v1 tomato) (instance_of ?v2 fridge) (in ?v1 ?v2) (cold ?v1)))"
    )
    mug = GoalVariable("?m", "item", instance="Mug (Red)")
    two = Goal((TOMATO, mug), (GoalLiteral("hot", ("?t",), False), GoalLiteral("in", ("?t", "?m"))), (("?t", "?m"),))
    assert goal_to_pddl(two, names) == (
        "(exists (?v1 - item) (and (instance_of ?v1 tomato) (not (hot ?v1)) (in ?v1 mug_red) (not (= ?v1 mug_red))))"
    )


def test_odd_variable_names_stay_apart_in_pddl(household: Domain) -> None:
    variables = (GoalVariable("?A", "item"), GoalVariable("?a", "item"), GoalVariable("?1 x", "item"))
    goal = Goal(variables, tuple(GoalLiteral("hot", (variable.name,)) for variable in variables))
    assert goal_to_pddl(goal, NameMap(household)).endswith("(and (hot ?v1) (hot ?v2) (hot ?v3)))")


def test_a_goal_in_words(household: Domain) -> None:
    assert describe_goal(COLD_TOMATO_IN_FRIDGE, household) == "in(tomato, fridge) and cold(tomato)"
    assert describe_goal(replace(COLD_TOMATO_IN_FRIDGE, text="a cold tomato in the fridge")) == (
        "a cold tomato in the fridge"
    )


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        (Goal((TOMATO,), (GoalLiteral("frozen", ("?t",)),)), "'frozen'"),
        (Goal((TOMATO,), (GoalLiteral("in", ("?t",)),)), "in takes 2 arguments"),
        (Goal((TOMATO,), (GoalLiteral("hot", ("?u",)),)), r"\?u, which is not declared"),
        (Goal((GoalVariable("?t", "ghost"),), ()), "no type 'ghost'"),
        (Goal((GoalVariable("?t", "item", "Unicorn"),), ()), "no class 'Unicorn'"),
        (Goal((GoalVariable("?t", "item", "Fridge"),), ()), "never a item"),
        (Goal((TOMATO,), (), (("?t", "?z"),)), r"\?z to be distinct"),
    ],
)
def test_a_goal_that_the_domain_cannot_mean_is_refused_by_name(household: Domain, goal: Goal, expected: str) -> None:
    check_goal(COLD_TOMATO_IN_FRIDGE, household)
    with pytest.raises(DomainError, match=expected):
        check_goal(goal, household)
