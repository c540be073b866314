"""Properties that hold for every text."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.domain.goal import check_goal
from graph_planner_ros.language.instruction import InstructionParser
from graph_planner_ros.language.lexicon import read_lexicon
from graph_planner_ros.language.words import gerund_forms, plurals, tokenize

DOMAIN = load_domain("household")
PARSER = InstructionParser(DOMAIN)
WORDS = sorted(read_lexicon(DOMAIN).vocabulary)
UNTIMED = settings(deadline=None)  # a busy machine is not a failure
CLASSES = DOMAIN.classes.values()
CLASS_WORDS = sorted({entry.words[0] for entry in CLASSES if "pickupable" in entry.facts and entry.name != "Box"})
PLACES = sorted({entry.words[0] for entry in CLASSES if "receptacle" in entry.facts})


def _check(text: str) -> None:
    parsed = PARSER.parse(text)
    assert parsed.understood == bool(parsed.goals)
    assert parsed.understood != bool(parsed.reason)
    for goal in parsed.goals:
        check_goal(goal, DOMAIN)
        assert goal.literals
        used = {name for literal in goal.literals for name in literal.arguments}
        assert used == {variable.name for variable in goal.variables}
        assert not any(name in group for group in goal.distinct for name in group if name not in used)
    for suggestion in parsed.suggestions:
        assert PARSER.parse(suggestion).understood


@UNTIMED
@given(st.text(max_size=80))
def test_any_text_is_answered(text: str) -> None:
    _check(text)


@UNTIMED
@given(st.lists(st.sampled_from([*WORDS, ",", ".", "the", "and", "it", "put", "in"]), max_size=30))
def test_any_row_of_known_words_is_answered(words: list[str]) -> None:
    _check(" ".join(words))


@UNTIMED
@given(
    st.sampled_from(CLASS_WORDS),
    st.sampled_from(PLACES),
    st.sampled_from(["", "please ", "Could you "]),
    st.sampled_from(["", ".", "!", " please", ", thanks."]),
    st.sampled_from([str.lower, str.upper, str.title]),
)
def test_case_punctuation_and_politeness_change_nothing(item: str, place: str, before: str, after: str, case) -> None:
    plain = PARSER.parse(f"put the {item} in the {place}")
    polite = PARSER.parse(case(f"{before}put the {item} in the {place}{after}"))
    assert plain.understood
    assert [goal.literals for goal in polite.goals] == [goal.literals for goal in plain.goals]


@UNTIMED
@given(st.sampled_from(CLASS_WORDS), st.integers(2, 6))
def test_a_number_makes_that_many_different_things(item: str, number: int) -> None:
    for form in plurals(item.split()[-1]):
        text = " ".join([*item.split()[:-1], form])
        parsed = PARSER.parse(f"put {number} {text} in the box")
        if parsed.understood:  # some words have their plural elsewhere: loaves of bread
            (goal,) = parsed.goals
            assert len([v for v in goal.variables if v.class_name != "Box"]) == number
            assert sorted(map(len, goal.distinct)) == [number]


@UNTIMED
@given(st.sampled_from(CLASS_WORDS), st.text(st.characters(categories=["Ll"]), min_size=3, max_size=9))
def test_an_unknown_word_is_named_as_it_was_written(item: str, word: str) -> None:
    if len(tokenize(word)) == 1 and tokenize(word)[0] not in WORDS:
        parsed = PARSER.parse(f"put the {item} in the {word}")
        assert parsed.not_understood == tokenize(word)


def test_regular_forms() -> None:
    assert list(plurals("box")) == ["boxes"]
    assert list(plurals("berry")) == ["berries"]
    assert list(plurals("tray")) == ["trays"]
    assert "potatoes" in plurals("potato")
    assert "putting" in gerund_forms("put")
    assert "slicing" in gerund_forms("slice")
    assert "heating" in gerund_forms("heat")


def test_words_of_any_script_stay_whole() -> None:
    assert tokenize("Mug_1, café-1 Ünï don’t") == ("mug_1", ",", "café", "1", "ünï", "don't")
