"""What a trained interface makes of admissible commands and of words for states, where names are open."""

from __future__ import annotations

import random

import pytest

from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.language.interface import Context
from graph_planner_ros.language.pairs import CommandPair, FactPair, Origin, PairFile
from graph_planner_ros.language.rules import Language, load_language
from graph_planner_ros.language.trained import train

ADJECTIVES = ("rusty", "gothic", "iron", "small", "TextWorld style", "red", "old", "fancy")
FOOD = ("apple", "carrot", "onion", "banana", "potato", "tomato")
OFFERED = {"open": ("close {c}",), "closed": ("open {c}",), "locked": ()}


def scene(chest: str, state: str, things: tuple[str, ...], taken: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return what a kitchen with a chest and a table says, and which commands there are."""
    listed = " and ".join(f"a {thing}" for thing in things)
    text = f"\n-= Kitchen =-\nYou are in a kitchen.\n\nYou make out a {chest}. On the table you see {listed}.\n"
    offers = [offer.format(c=chest) for offer in OFFERED[state]]
    takes = [f"take {thing} from table" for thing in taken]
    looks = [f"examine {thing}" for thing in (chest, "table", *things)]
    return text, ("inventory", "look", *looks, *offers, *takes)


@pytest.fixture(scope="module")
def language() -> Language:
    """Learn from two hundred kitchens; of sixty chests one is locked, of twenty tables one holds too much."""
    rules = load_language("textworld", every_mention=True)
    chance, origin, pairs = random.Random(1), Origin("tales", "kitchens", "kitchens"), PairFile()
    for number in range(240):
        chest, food = f"{chance.choice(ADJECTIVES)} chest", tuple(chance.sample(FOOD, 2))
        state = "locked" if number % 60 == 0 else chance.choice(("open", "closed"))
        taken = food[:1] if number % 20 == 5 else food
        text, commands = scene(chest, state, food, taken)
        context = Context({food[0]: "Fruit"}, "Kitchen", "", commands)
        pairs.facts.append(FactPair(origin, text, context, rules.parser.parse(text, context)))
        held = f"You are carrying: a {chance.choice(('raw', 'sliced'))} {food[0]} and a {food[1]}."
        context = Context({food[0]: "Fruit", food[1]: "Fruit"}, "Kitchen", "inventory", ("look",))
        pairs.facts.append(FactPair(origin, held, context, rules.parser.parse(held, context)))
        if state == "closed":
            action = GroundAction("open", (chest, "Kitchen"))
            context = Context({chest: "Container"}, "Kitchen", "", commands)
            command = rules.grounder.ground(action, context).command
            pairs.commands.append(CommandPair(origin, action, context, command))
    return train(rules.domain, pairs).language(rules.domain)


def read(language: Language, text: str, commands: tuple[str, ...], **known: str) -> set[str]:
    parsed = language.parser.parse(text, Context(known, "Kitchen", "", commands))
    return {f"{'' if fact.positive else 'not '}{fact.atom}" for fact in parsed.facts}


@pytest.mark.parametrize("state", OFFERED)
def test_what_is_rare_is_no_exception_to_what_is_usual(language: Language, state: str) -> None:
    text, commands = scene("brass chest", state, ("apple", "onion"), ("apple", "onion"))
    facts = read(language, text, commands)
    expected = {
        "open": {"not closed(brass chest)", "not locked(brass chest)", "observed(brass chest)"},
        "closed": {"closed(brass chest)", "not locked(brass chest)"},
        "locked": {"closed(brass chest)", "locked(brass chest)"},
    }
    assert expected[state] == {fact for fact in facts if "brass chest" in fact and "part_of" not in fact}


def test_a_fact_without_things_depends_on_what_is_offered_about_each_thing(language: Language) -> None:
    text, commands = scene("red chest", "closed", ("apple", "onion"), ("apple", "onion"))
    assert "laden()" not in read(language, text, commands)
    text, commands = scene("red chest", "closed", ("apple", "onion"), ("onion",))
    assert "laden()" in read(language, text, commands)
    assert "laden()" not in read(language, text, ()), "where nothing is offered, nothing is missing"


def test_a_word_for_a_state_that_was_never_met_is_one_of_the_domain(language: Language) -> None:
    facts = read(language, "You are carrying: a fried apple and a onion.", (), apple="Fruit", onion="Fruit")
    assert {"holding(apple)", "fried(apple)", "cooked(apple)", "holding(onion)"} <= facts
    assert not any(fact.startswith("fried(onion") or "fried apple" in fact for fact in facts)
    facts = read(language, "You are carrying: a gleaming apple.", (), apple="Fruit")
    assert "holding(apple)" not in facts, "a word that says nothing known may belong to the name of another thing"


def test_a_word_for_a_state_says_no_more_than_the_domain(language: Language) -> None:
    """Where all that was sliced was held, or was cooked as well, "sliced" still means nothing but that."""
    text = "\n-= Kitchen =-\nYou are in a kitchen.\n\nOn the table you see a sliced apple and a raw onion.\n"
    commands = ("look", "take apple from table", "take onion from table")
    facts = read(language, text, commands, apple="Fruit", onion="Vegetable")
    assert {fact for fact in facts if "apple" in fact} == {
        *("sliced(apple)", "cut(apple)"),
        *("in(apple, table)", "known(apple)"),
    }
    assert {fact for fact in facts if "onion" in fact} == {"in(onion, table)", "known(onion)"}


@pytest.mark.parametrize(
    "text",
    ["It is no fried apple.", "Das ist ein fried apple.", "a fried apple", "Imagine a fried apple and a raw onion!"],
)
def test_a_word_for_a_state_counts_only_in_a_sentence_that_says_something(language: Language, text: str) -> None:
    assert not read(language, text, ("look",), apple="Fruit", onion="Vegetable")
