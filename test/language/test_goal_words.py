"""Goals in words: what is said of a goal is understood as that goal again."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable
from graph_planner_ros.language.goal_words import GoalWords
from graph_planner_ros.language.instruction import InstructionParser


@pytest.fixture(scope="module")
def household() -> Domain:
    return load_domain("household")


def goal(domain: Domain, classes: dict[str, str], *literals: str, distinct: tuple[tuple[str, ...], ...] = ()) -> Goal:
    variables = tuple(GoalVariable(f"?{n}", domain.class_of(c).type_name, c) for n, c in classes.items())
    found = []
    for text in literals:
        name, _, rest = text.removeprefix("not ").partition("(")
        found.append(
            GoalLiteral(name, tuple(f"?{n.strip()}" for n in rest[:-1].split(",")), not text.startswith("not "))
        )
    return Goal(variables, tuple(found), tuple(tuple(f"?{n}" for n in group) for group in distinct))


def meaning(goal: Goal) -> Counter[tuple[str, bool, tuple[str | None, ...]]]:
    classes = {variable.name: variable.class_name for variable in goal.variables}
    return Counter((i.predicate, i.positive, tuple(classes[n] for n in i.arguments)) for i in goal.literals)


def test_goals_read_as_people_speak(household: Domain) -> None:
    words = GoalWords(household)
    mug = {"i": "Mug", "r": "CoffeeTable"}
    assert words.sentence(goal(household, mug, "in(i, r)", "hot(i)")) == "put a hot mug on the coffee table"
    assert words.sentence(goal(household, mug, "in(i, r)")) == "put a mug on the coffee table"
    two = goal(household, {"i": "Knife", "j": "Knife", "r": "Drawer"}, "in(i, r)", "in(j, r)", distinct=(("i", "j"),))
    assert words.sentence(two) == "put two knives in the drawer"
    inside = goal(household, {"i": "Apple", "m": "Bowl", "r": "Fridge"}, "in(i, m)", "in(m, r)", "sliced(i)")
    assert words.sentence(inside) == "put a bowl with a sliced apple in it in the fridge"
    lamp = goal(household, {"i": "Book", "l": "FloorLamp"}, "holding(i)", "switched_on(l)", "at(l)")
    assert words.sentence(lamp) == "turn on the floor lamp with a book in hand"
    assert words.sentence(goal(household, {"f": "Fridge"}, "not closed(f)")) == "open the fridge"
    assert words.sentence(goal(household, {"i": "Egg"}, "hot(i)")) == "heat an egg"


def test_a_word_of_several_classes_is_not_used_for_one_of_them(household: Domain) -> None:
    words = GoalWords(household)
    tables = ("DiningTable", "SideTable", "CoffeeTable", "Desk")
    said = {words.sentence(goal(household, {"i": "Mug", "r": name}, "in(i, r)")) for name in tables}
    assert len(said) == len(tables)


def test_what_no_command_can_say_is_told_all_the_same(household: Domain) -> None:
    odd = goal(household, {"r": "Fridge"}, "at(r)")
    assert "fridge" in GoalWords(household).sentence(odd)
    assert GoalWords(household).sentence(Goal((), ())) == "nothing"


ITEMS = ("Mug", "Apple", "Knife", "CellPhone", "SoapBottle", "KeyChain", "Egg", "Towel")
PLACES = ("CoffeeTable", "Fridge", "SideTable", "SinkBasin", "Toilet", "GarbageCan")
STATES = ("hot", "cold", "cleaned")


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(ITEMS), st.sampled_from(PLACES), st.sets(st.sampled_from(STATES)), st.integers(1, 3))
def test_what_is_said_is_understood_as_the_same_goal(item: str, place: str, states: set[str], count: int) -> None:
    domain = load_domain("household")
    states -= {"cold"} if "hot" in states else set()
    names = [f"i{number}" for number in range(count)]
    classes = {**dict.fromkeys(names, item), "r": place}
    literals = [f"in({name}, r)" for name in names] + [f"{s}({n})" for s, n in itertools.product(sorted(states), names)]
    wanted = goal(domain, classes, *literals, distinct=(tuple(names),) if count > 1 else ())
    parsed = InstructionParser(domain).parse(GoalWords(domain).sentence(wanted))
    assert parsed.understood and meaning(parsed.goals[-1]) == meaning(wanted)
