"""What a plan is about, read from its goal and its actions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.goal import goal_to_pddl
from graph_planner_ros.domain.names import NameMap
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable, GroundAction
from graph_planner_ros.skills.task_objects import TaskObjects, is_movable, task_objects

HOUSEHOLD = load_domain("household")


def items(domain: Domain) -> list[str]:
    """Labels of everything that can be carried."""
    assert domain.hypotheses is not None
    return [name for name, of in domain.classes.items() if domain.is_a(of.type_name, domain.hypotheses.item_type)]


def goal(item: GoalVariable, place: GoalVariable) -> str:
    """The text of: the item is in the place."""
    wanted = Goal((item, place), (GoalLiteral("in", (item.name, place.name)),))
    return goal_to_pddl(wanted, NameMap(HOUSEHOLD))


def test_classes_of_the_goal_are_watched_and_the_fixtures_of_the_map_are_not() -> None:
    text = goal(GoalVariable("?i", "item", "ButterKnife"), GoalVariable("?f", "fixture", "DiningTable"))
    assert task_objects(HOUSEHOLD, text, ()) == TaskObjects(frozenset({"ButterKnife"}))


def test_an_instance_that_the_goal_names_is_watched_without_its_class() -> None:
    text = goal(GoalVariable("?i", "item", "Mug", "mug_12"), GoalVariable("?f", "fixture", "Fridge", "fridge_1"))
    found = task_objects(HOUSEHOLD, text, ())
    assert "mug_12" in found.instances and not found.labels


def test_what_belongs_to_the_map_is_not_movable(greenhouse: Domain) -> None:
    assert is_movable(HOUSEHOLD, "Mug") and not is_movable(HOUSEHOLD, "Fridge")
    assert is_movable(greenhouse, "Fern") and is_movable(HOUSEHOLD, "a class of another domain")


def test_placeholders_stand_for_their_classes_and_other_arguments_for_themselves() -> None:
    actions = [
        GroundAction("go_to", ("start", "drawer_1")),
        GroundAction("find", ("unseen_butterknife_1", "drawer_1")),
        GroundAction("slice", ("tomato_1", "unseen_knife_2")),
    ]
    found = task_objects(HOUSEHOLD, "", actions)
    assert found.labels >= {"ButterKnife"} and "Drawer" not in found.labels
    assert not any(name.startswith(("unseen_", "drawer")) for name in found.instances)


def test_a_domain_without_hypotheses_tells_no_fixtures_apart(greenhouse: Domain) -> None:
    text = "(exists (?v1 - plant) (and (kind_of ?v1 fern) (stands ?v1 bench_2)))"
    found = task_objects(greenhouse, text, [GroundAction("lift", ("cactus_1", "bench_1"))])
    assert found == TaskObjects(frozenset({"Fern"}), frozenset({"bench_2", "cactus_1", "bench_1"}))


def test_what_one_plan_names_adds_to_what_another_named() -> None:
    first, second = TaskObjects(frozenset({"Mug"})), TaskObjects(frozenset({"Egg"}), frozenset({"bowl_1"}))
    assert first | second == TaskObjects(frozenset({"Mug", "Egg"}), frozenset({"bowl_1"}))


@settings(deadline=None)
@given(st.sampled_from(items(HOUSEHOLD)))
def test_every_class_is_found_again_in_goals_and_placeholders(label: str) -> None:
    of_type = HOUSEHOLD.class_of(label).type_name
    text = goal(GoalVariable("?i", of_type, label), GoalVariable("?f", "fixture", "Fridge"))
    assert task_objects(HOUSEHOLD, text, ()).labels == {label}
    find = GroundAction("find", (f"unseen_{label.lower()}_3", "fridge_1"))
    assert task_objects(HOUSEHOLD, "", [find]) == TaskObjects(frozenset({label}))


@settings(deadline=None)
@given(st.text(alphabet="()?-_ inmug1=\n", max_size=40), st.lists(st.text(max_size=5), max_size=3))
def test_text_that_is_no_goal_and_actions_that_do_not_exist_name_nothing_and_break_nothing(
    text: str, arguments: list[str]
) -> None:
    task_objects(HOUSEHOLD, text, [GroundAction("juggle", tuple(arguments)), GroundAction("put", tuple(arguments))])


@pytest.mark.parametrize("text", ["(in mug_1)", "(juggle mug_1 fridge_1)", "( )", "(instance_of ?v1 unicorn)"])
def test_atoms_that_the_domain_does_not_have_name_nothing(text: str) -> None:
    assert task_objects(HOUSEHOLD, text, ()) == TaskObjects()
