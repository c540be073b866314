"""Names: any string gets a legal PDDL name of its own, and comes back exactly."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.names import RESERVED_WORDS, NameMap, legal_name
from graph_planner_ros.domain.symbols import Atom, GroundAction

LEGAL = re.compile(r"[a-z][a-z0-9_]*")


@pytest.mark.parametrize(
    ("original", "expected"),
    [("Mug (Red)", "mug_red"), ("café-1", "cafe_1"), ("2nd_shelf", "x_2nd_shelf"), ("???", "x"), ("mug_1", "mug_1")],
)
def test_names_stay_readable(original: str, expected: str) -> None:
    assert legal_name(original) == expected
    assert NameMap().to_pddl(original) == expected


@pytest.mark.parametrize("word", ["and", "object", "At", "exists", "define"])
def test_reserved_words_are_not_used(word: str) -> None:
    names = NameMap()
    assert names.to_pddl(word) not in RESERVED_WORDS
    assert names.from_pddl(names.to_pddl(word)) == word


def test_names_that_fall_together_are_numbered() -> None:
    names = NameMap()
    originals = ["Mug", "mug", "MUG", "mug!", "mug__2", "Mug__2"]
    given_names = [names.to_pddl(original) for original in originals]
    assert len(set(given_names)) == len(originals)
    assert [names.from_pddl(name) for name in given_names] == originals


def test_symbols_of_the_domain_are_not_given_to_things(household: Domain) -> None:
    names = NameMap(household)
    for word in ("in", "open", "fixture", "distance", "holding"):
        assert names.to_pddl(word) != word
        assert names.from_pddl(names.to_pddl(word)) == word


def test_whole_names_only() -> None:
    names = NameMap()
    names.to_pddl("p1"), names.to_pddl("p10")
    assert names.action_from_pddl(GroundAction("move", ("p10", "p1"))) == GroundAction("move", ("p10", "p1"))


def test_symbols_come_back_in_the_spelling_of_the_domain(warehouse: Domain) -> None:
    names = NameMap(warehouse)
    assert names.symbol("Robot") != names.symbol("robot")
    assert names.original_symbol(names.symbol("notFilling")) == "notFilling"
    assert names.atom_to_pddl(Atom("standsAt", ("Carrier 1", "Home"))) == "(standsat carrier_1 home)"
    assert names.action_from_pddl(GroundAction("drive", ("carrier_1", "home", "home"))) == GroundAction(
        "Drive", ("Carrier 1", "Home", "Home")
    )


def test_a_name_that_was_never_given_is_named() -> None:
    with pytest.raises(KeyError, match="ghost"):
        NameMap().from_pddl("ghost")


@settings(deadline=None)
@given(st.lists(st.text(max_size=12), unique=True, max_size=40))
def test_any_strings_map_to_legal_names_and_back(originals: list[str]) -> None:
    names = NameMap(reserved=["taken"])
    given_names = [names.to_pddl(original) for original in originals]
    assert len(set(given_names)) == len(originals)
    assert "taken" not in given_names
    for original, name in zip(originals, given_names, strict=True):
        assert LEGAL.fullmatch(name) and name not in RESERVED_WORDS
        assert names.from_pddl(name) == original
        assert names.from_pddl(name.upper()) == original
        assert names.to_pddl(original) == name
