"""Observation texts, goals and commands by the rules of a language file."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import check_goal
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.language.interface import Context, ParsedObservation, ParseError
from graph_planner_ros.language.rule_grounder import RuleGrounder
from graph_planner_ros.language.rules import RuleParser, load_language
from graph_planner_ros.language.rules_file import LanguageFileError, read_rules

LANGUAGE = Path(__file__).parents[1] / "fixtures" / "languages" / "alfworld_like.yaml"
KNOWN = {"fridge 1": "Fridge", "mug 2": "Mug", "countertop 1": "CounterTop"}


@pytest.fixture(scope="module")
def parser(household: Domain) -> RuleParser:
    return RuleParser(household, read_rules(LANGUAGE, household))


@pytest.fixture(scope="module")
def grounder(household: Domain) -> RuleGrounder:
    return RuleGrounder(household, read_rules(LANGUAGE, household))


def facts(parsed: ParsedObservation) -> list[str]:
    return [f"{'' if fact.positive else 'not '}{fact.atom}" for fact in parsed.facts]


def with_rules(domain: Domain, folder: Path, **content: object) -> RuleParser:
    path = folder / "language.yaml"
    path.write_text(yaml.safe_dump(content))
    return RuleParser(domain, read_rules(path, domain))


# -- observations ---------------------------------------------------------------------------------------------------


def test_a_list_becomes_facts_and_a_place_whose_content_is_complete(parser: RuleParser) -> None:
    text = "You arrive at countertop 1. On the countertop 1, you see a mug 2, a knife 1, and a bread 3."
    parsed = parser.parse(text, Context(KNOWN, "", "go to countertop 1"))
    assert facts(parsed) == [
        "at(countertop 1)",
        "in(mug 2, countertop 1)",
        "in(knife 1, countertop 1)",
        "in(bread 3, countertop 1)",
        "observed(countertop 1)",
        "not closed(countertop 1)",
    ]
    assert parsed.complete_places == {"countertop 1"}
    assert parsed.objects["knife 1"] == "Knife"
    span = parsed.facts[1]
    assert text[span.start : span.end] == "On the countertop 1, you see a mug 2, a knife 1, and a bread 3."


def test_nothing_is_an_empty_list(parser: RuleParser) -> None:
    parsed = parser.parse("On the countertop 1, you see nothing.", Context())
    assert facts(parsed) == ["observed(countertop 1)", "not closed(countertop 1)"]
    assert parsed.complete_places == {"countertop 1"}


def test_here_is_where_the_agent_is_and_moves_with_the_command(parser: RuleParser) -> None:
    text = "The fridge 1 is open. In it, you see an apple 1."
    assert "in(apple 1, fridge 1)" in facts(parser.parse(text, Context(KNOWN, "fridge 1")))
    moved = parser.parse(text, Context(KNOWN, "countertop 1", "go to fridge 1"))
    assert "in(apple 1, fridge 1)" in facts(moved)
    nowhere = parser.parse(text, Context(KNOWN))
    assert not any("apple" in fact for fact in facts(nowhere))


def test_a_refused_command_implies_nothing(parser: RuleParser) -> None:
    parsed = parser.parse("Nothing happens.", Context(KNOWN, "countertop 1", "go to fridge 1"))
    assert parsed.failed and parsed.reason == "Nothing happens."
    assert parsed.facts == ()


def test_an_unknown_class_is_refused_and_the_rest_of_the_list_is_read(parser: RuleParser) -> None:
    parsed = parser.parse("On the countertop 1, you see a mug 2, a zorp 1, and a bread 3.", Context())
    assert [refusal.error for refusal in parsed.refused] == [ParseError.UNKNOWN_ENTITY]
    assert "zorp 1" not in parsed.objects
    assert "in(bread 3, countertop 1)" in facts(parsed)


def test_a_fact_of_the_wrong_type_is_refused(parser: RuleParser) -> None:
    parsed = parser.parse("The mug 2 is closed.", Context(KNOWN))
    assert parsed.facts == ()
    assert [refusal.error for refusal in parsed.refused] == [ParseError.TYPE_MISMATCH]


def test_a_sentence_about_known_things_that_matches_nothing_is_recorded(parser: RuleParser) -> None:
    parsed = parser.parse("The mug 2 sings. What a day.", Context(KNOWN))
    assert [(refusal.error, refusal.text) for refusal in parsed.refused] == [
        (ParseError.NOT_UNDERSTOOD, "The mug 2 sings.")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n  \t",
        "It is not true that the fridge 1 is closed",
        "Nobody says: 'the fridge 1 is closed'",
        "<p>\nThe fridge 1 is closed.\n</p>",
        "<html><body>The fridge 1 is closed.</body></html>",
        "Der fridge 1 ist zu. 冷蔵庫 1 は閉まっています。",
        "The fridge\x00 1 is closed.",
        "The fridge 1 is closed" + "x" * 100,
        "The fridge 1 is closed. " + "word " * 300_000,
        "On the countertop 1, you see On the countertop 1, you see a mug 2.",
    ],
)
def test_malformed_texts_give_no_facts(parser: RuleParser, text: str) -> None:
    assert facts(parser.parse(text, Context(KNOWN, "countertop 1", "go to fridge 1"))) == []
    assert parser.goals(text, Context(KNOWN)) == ()


def test_names_are_the_worlds_whatever_the_capitals(parser: RuleParser) -> None:
    assert facts(parser.parse("THE FRIDGE 1 IS CLOSED.", Context(KNOWN))) == ["closed(fridge 1)"]


def test_the_longest_name_counts(parser: RuleParser) -> None:
    assert "in(mug 12, countertop 1)" in facts(parser.parse("On the countertop 1, you see a mug 12.", Context(KNOWN)))


def test_the_later_of_two_facts_that_deny_each_other_counts(parser: RuleParser) -> None:
    assert facts(parser.parse("The fridge 1 is closed. The fridge 1 is open.", Context())) == ["not closed(fridge 1)"]


def test_class_words_and_modifiers_are_names_where_there_are_no_numbers(household: Domain, tmp_path: Path) -> None:
    parser = with_rules(
        household,
        tmp_path,
        names={"modifiers": ["red", "old"]},
        observations=[{"pattern": "On the {r} you can make out {xs*}.", "facts": ["in({xs}, {r})"]}],
    )
    parsed = parser.parse("On the counter you can make out an old red apple, a mug and a cookbook.", Context())
    assert facts(parsed) == ["in(old red apple, counter)", "in(mug, counter)"]
    assert parsed.objects == {"counter": "CounterTop", "old red apple": "Apple", "mug": "Mug"}
    assert [refusal.text for refusal in parsed.refused] == ["cookbook"]


def test_free_slots_take_words_of_any_kind(household: Domain, tmp_path: Path) -> None:
    parser = with_rules(
        household,
        tmp_path,
        observations=[
            {"pattern": "There is a closed {r=Cabinet} leading {way=Shelf}.", "facts": ["closed({r})"]},
            {"pattern": "You see {xs*=Mug} here.", "facts": ["holding({xs})"]},
        ],
    )
    parsed = parser.parse(
        "There is a closed gothic gate leading north. You see a chipped thing, a mug here.", Context()
    )
    assert facts(parsed) == ["closed(gothic gate)", "holding(chipped thing)", "holding(mug)"] or parsed.refused
    assert parsed.objects["gothic gate"] == "Cabinet"


def test_a_regular_expression_with_slots(household: Domain, tmp_path: Path) -> None:
    parser = with_rules(
        household,
        tmp_path,
        names={"pattern": r"(?P<class>[a-z]+) \d+"},
        observations=[{"pattern": r"re:(?:On|In) the {r}, (?:you|we) see {xs*}\.", "facts": ["in({xs}, {r})"]}],
    )
    text = "In the fridge 1, we see a mug 1, and an egg 2."
    assert facts(parser.parse(text, Context())) == ["in(mug 1, fridge 1)", "in(egg 2, fridge 1)"]


def test_closed_world_applies_to_whole_observations_only(household: Domain, tmp_path: Path) -> None:
    parser = with_rules(
        household,
        tmp_path,
        names={"pattern": r"(?P<class>[a-z]+) \d+"},
        observations=[
            {"pattern": "State:", "whole": True},
            {"pattern": "- {x} is on {r}", "facts": ["in({x}, {r})"]},
            {"pattern": "{x} is on {r}", "facts": ["in({x}, {r})"]},
        ],
        complete=["in"],
    )
    whole = parser.parse("State:\n- mug 1 is on fridge 1\n- egg 1 is on fridge 1\n", Context())
    assert facts(whole) == ["in(mug 1, fridge 1)", "in(egg 1, fridge 1)"] and whole.complete == {"in"}
    assert parser.parse("mug 1 is on fridge 1", Context()).complete == frozenset()


def test_a_rule_may_ask_for_the_command_before(household: Domain, tmp_path: Path) -> None:
    parser = with_rules(
        household,
        tmp_path,
        names={"pattern": r"(?P<class>[a-z]+) \d+"},
        observations=[{"pattern": "Done.", "after": "open {r}", "facts": ["not closed({r})"]}],
    )
    assert facts(parser.parse("Done.", Context(command="open fridge 1"))) == ["not closed(fridge 1)"]
    assert facts(parser.parse("Done.", Context(command="look"))) == []


# -- goals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["put a clean mug in fridge.", "Your task is to: put a clean mug in the fridge."])
def test_a_goal_is_about_classes(parser: RuleParser, household: Domain, text: str) -> None:
    (goal,) = parser.goals(text, Context())
    check_goal(goal, household)
    assert {variable.name: variable.class_name for variable in goal.variables} == {"?x": "Mug", "?r": "Fridge"}
    assert {(literal.predicate, literal.arguments) for literal in goal.literals} == {
        ("cleaned", ("?x",)),
        ("in", ("?x", "?r")),
    }


def test_two_of_a_kind_are_different_things(parser: RuleParser) -> None:
    (goal,) = parser.goals("put two mug in cabinet.", Context())
    assert goal.distinct == (("?x", "?y"),)
    assert [variable.class_name for variable in goal.variables if variable.name in ("?x", "?y")] == ["Mug", "Mug"]


def test_a_goal_may_name_an_instance(parser: RuleParser) -> None:
    (goal,) = parser.goals("put a clean mug 2 in fridge 1.", Context(KNOWN))
    assert {variable.instance for variable in goal.variables} == {"mug 2", "fridge 1"}


def test_a_goal_that_the_domain_does_not_have_is_not_understood(parser: RuleParser) -> None:
    assert parser.goals("put a clean zorp in fridge.", Context()) == ()
    assert parser.goals("put a clean fridge in mug.", Context()) == ()


def test_joined_goals_share_what_they_speak_of(household: Domain, tmp_path: Path) -> None:
    parser = with_rules(
        household,
        tmp_path,
        goals=[
            {"pattern": "Recipe:", "goal": "hand_empty"},
            {"pattern": "slice the {x}", "goal": "sliced(x)", "join": True},
            {"pattern": "heat the {x}", "goal": "hot(x)", "join": True},
        ],
    )
    (goal,) = parser.goals("Recipe:\n  slice the apple\n  heat the apple\n  heat the potato\n", Context())
    assert [(literal.predicate, literal.arguments) for literal in goal.literals] == [
        ("hand_empty", ()),
        ("sliced", ("?x",)),
        ("hot", ("?x",)),
        ("hot", ("?x_2",)),
    ]


# -- commands -------------------------------------------------------------------------------------------------------

PUT = GroundAction("put", ("mug 2", "fridge 1"))


@pytest.mark.parametrize("command", ["move mug 2 to fridge 1", "put mug 2 in/on fridge 1"])
def test_the_first_admissible_template_is_the_command(grounder: RuleGrounder, command: str) -> None:
    grounding = grounder.ground(PUT, Context(commands=("look", command)))
    assert (grounding.command, grounding.score) == (command, 1.0)


def test_without_a_list_of_commands_the_template_is_taken(grounder: RuleGrounder) -> None:
    assert grounder.ground(PUT, Context()).command == "move mug 2 to fridge 1"


def test_a_similar_command_about_the_same_things_has_a_lower_score(grounder: RuleGrounder) -> None:
    grounding = grounder.ground(PUT, Context(commands=("put mug 2 in fridge 1", "put mug 1 in fridge 1")))
    assert grounding.command == "put mug 2 in fridge 1"
    assert 0 < grounding.score < 1


@pytest.mark.parametrize(
    "command", ["put mug 1 in/on fridge 1", "take mug 2 from fridge 1", "put fridge 1 in/on mug 2", "look", ""]
)
def test_a_command_that_does_something_else_is_not_safe(grounder: RuleGrounder, command: str) -> None:
    grounding = grounder.ground(PUT, Context(commands=(command,)))
    assert grounding.command is None and grounding.reason


def test_an_unknown_action_is_not_grounded(grounder: RuleGrounder) -> None:
    assert grounder.ground(GroundAction("fly"), Context(commands=("fly",))).command is None


def test_an_action_with_an_empty_list_needs_no_command(grounder: RuleGrounder) -> None:
    assert grounder.ground(GroundAction("find", ("mug 2", "fridge 1")), Context(commands=("look",))).command == ""


def test_observing_takes_the_first_that_is_admissible(grounder: RuleGrounder) -> None:
    assert grounder.observe(Context(location="fridge 1", commands=("inventory", "examine fridge 1"))).command == (
        "examine fridge 1"
    )
    assert grounder.observe(Context(commands=("go north",))).command is None


# -- the file -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "entry"),
    [
        ({"observation": []}, "observation"),
        ({"observations": [{"pattern": "x", "facts": ["inn(a, b)"]}]}, "observations[0].facts"),
        ({"observations": [{"pattern": "{x} y", "facts": ["in({x}, {z})"]}]}, "observations[0].facts"),
        ({"observations": [{"pattern": "{x} y", "facts": ["in({x})"]}]}, "observations[0].facts"),
        ({"observations": [{"facts": []}]}, "observations[0].pattern"),
        ({"observations": [{"pattern": "{x}{y}"}]}, "observations[0].pattern"),
        ({"observations": [{"pattern": "{x:nothing} a"}]}, "observations[0].pattern"),
        ({"observations": [{"pattern": "{x=Nothing} a"}]}, "observations[0].pattern"),
        ({"observations": [{"pattern": "re:(a+)+b"}]}, "observations[0].pattern"),
        ({"observations": [{"pattern": "re:(("}]}, "observations[0].pattern"),
        ({"observations": [{"pattern": "a", "complete_place": "r"}]}, "observations[0].complete_place"),
        ({"names": {"pattern": "([a-z]*)*"}}, "names.pattern"),
        ({"names": {"to_class": {"cup": "Cupp"}}}, "names.to_class.cup"),
        ({"complete": ["inn"]}, "complete"),
        ({"goals": [{"pattern": "{x} y", "goal": "cleaned(z)"}]}, "goals[0].goal"),
        ({"goals": [{"pattern": "{x} y", "goal": "cleaned(x) or hot(x)"}]}, "goals[0].goal"),
        ({"goals": [{"pattern": "{x} y"}]}, "goals[0].goal"),
        ({"commands": {"jump": ["jump"]}}, "commands.jump"),
        ({"commands": {"go_to": ["go to {where}"]}}, "commands.go_to"),
        ({"observe": ["examine {x}"]}, "observe"),
        ([], "the document"),
    ],
)
def test_a_wrong_entry_is_named(household: Domain, tmp_path: Path, content: object, entry: str) -> None:
    path = tmp_path / "language.yaml"
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(LanguageFileError) as error:
        read_rules(path, household)
    assert str(path) in str(error.value) and entry in str(error.value)


def test_a_domain_without_language_says_so(household: Domain) -> None:
    with pytest.raises(FileNotFoundError, match=r"language\.yaml"):
        load_language(household)
