"""Requests that exclude themselves are named, and those that only look so are not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.language.instruction import InstructionParser, ParseStatus
from graph_planner_ros.language.understanding import READERS, make_reader

CONTRADICTORY = {
    "bring me a hot cold apple": "a hot cold apple",
    "place a chilled and heated potato on the counter": "a chilled and heated potato",
    "put a whole sliced apple in the fridge": "a whole sliced apple",
    "a washed dirty mug please": "a washed dirty mug",
    "make sure the apple is hot and cold": "is hot and cold",
    "turn the lamp on and off at once": "on and off",
    "switch the stove off and on": "off and on",
    "turn on and off the tv": "turn on and off",
    "put the mug in the fridge and in the microwave": "in the fridge and in the microwave",
    "put the mug in the fridge and the microwave": "in the fridge and the microwave",
    "first put a plate in the sink, then put the mug on the sofa and on the bed": "on the sofa and on the bed",
}


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("text", CONTRADICTORY, ids=str)
def test_contradictions_are_named_whoever_reads(text: str, kind: str) -> None:
    parsed = make_reader(load_domain("household"), kind).parse(text)
    assert parsed.status is ParseStatus.CONTRADICTORY and not parsed.goals
    assert CONTRADICTORY[text] in parsed.reason and CONTRADICTORY[text] in parsed.question
    assert parsed.not_understood


@pytest.mark.parametrize(
    "text",
    [
        "put the mug in the fridge, then put it in the microwave",
        "put the mug in the fridge and then in the microwave",
        "put the mug in the fridge and put it in the microwave",
        "put the mug in the fridge and the apple in the microwave",
        "put the mug in the fridge and the bowl in the microwave",
        "put a mug in the sink and an egg in the fridge and a plate on the table",
        "put the mug in the fridge and in the fridge",
        "put the mug and the apple in the fridge",
        "turn on the lamp and the tv",
        "turn the lamp on and then off",
        "heat the cold apple and put it on the table",
        "put a hot sliced clean apple in the fridge",
        "open the fridge and close it",
        "put hot and cold apples on the table",
        "put an apple in a bowl and the bowl in the fridge",
        "go to the sink and to the fridge",
    ],
)
def test_what_may_be_one_after_the_other_is_no_contradiction(text: str) -> None:
    assert InstructionParser(load_domain("household")).parse(text).status is not ParseStatus.CONTRADICTORY


WORDS = ("put", "the", "mug", "in", "fridge", "and", "on", "off", "turn", "hot", "cold", "lamp", ",", "microwave", "is")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join))
def test_any_text_of_such_words_is_read_without_an_error(text: str) -> None:
    parsed = InstructionParser(load_domain("household")).parse(text)
    assert parsed.understood or parsed.reason
    assert (parsed.status is ParseStatus.CONTRADICTORY) <= bool(parsed.question)
