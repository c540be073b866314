"""Properties of the rules that hold for every text, hostile ones too."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.domain.goal import check_goal
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.language.interface import Context
from graph_planner_ros.language.rule_grounder import RuleGrounder
from graph_planner_ros.language.rules import MAX_TEXT, RuleParser
from graph_planner_ros.language.rules_file import read_rules

DOMAIN = load_domain("household")
RULES = read_rules(Path(__file__).parents[1] / "fixtures" / "languages" / "alfworld_like.yaml", DOMAIN)
PARSER, GROUNDER = RuleParser(DOMAIN, RULES), RuleGrounder(DOMAIN, RULES)
UNTIMED = settings(deadline=None)
KNOWN = {"fridge 1": "Fridge", "mug 2": "Mug", "countertop 1": "CounterTop"}
NAMES = st.sampled_from(["fridge 1", "mug 2", "zorp 3", "countertop 1", "mug", "1", "cabinet 12"])
PIECES = st.one_of(
    NAMES,
    st.sampled_from(
        [
            *("On the ", ", you see ", "a ", ", and a ", ". ", "The ", " is closed.", "In it, you see ", "nothing"),
            *(
                "put a clean ",
                " in ",
                "look at ",
                "\n",
                "\x00",
                "<b>",
                "</b>",
                "é",
                "冷蔵庫",
                "{x}",
                "(((",
                "Nothing happens.",
            ),
        ]
    ),
    st.text(max_size=5),
)
TEXTS = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=30).map("".join))
CONTEXTS = st.builds(
    Context,
    objects=st.dictionaries(st.one_of(NAMES, st.text(max_size=6)), st.sampled_from(sorted(DOMAIN.classes)), max_size=4),
    location=st.one_of(st.just(""), NAMES),
    command=st.one_of(TEXTS, st.sampled_from(["go to fridge 1", "look"])),
    commands=st.lists(TEXTS, max_size=4),
)


@UNTIMED
@given(TEXTS, CONTEXTS)
def test_every_fact_is_one_of_the_domain_and_has_its_span(text: str, context: Context) -> None:
    parsed = PARSER.parse(text, context)
    classes = {**parsed.objects, **context.objects}
    for fact in parsed.facts:
        schema = DOMAIN.predicates[fact.atom.predicate]
        assert len(fact.atom.arguments) == schema.arity
        assert 0 <= fact.start <= fact.end <= len(text)
        for name, parameter in zip(fact.atom.arguments, schema.parameters, strict=True):
            assert DOMAIN.is_a(DOMAIN.classes[classes[name]].type_name, parameter.type_name)
    denied = {fact.atom for fact in parsed.facts if not fact.positive}
    assert not denied & {fact.atom for fact in parsed.facts if fact.positive}
    assert parsed.complete_places <= set(classes)
    assert not (parsed.failed and not parsed.reason)


@UNTIMED
@given(TEXTS, CONTEXTS)
def test_every_goal_fits_the_domain(text: str, context: Context) -> None:
    for goal in PARSER.goals(text, context):
        check_goal(goal, DOMAIN)
        assert goal.literals


@UNTIMED
@given(CONTEXTS, st.sampled_from(sorted(DOMAIN.actions)), st.lists(NAMES, max_size=3))
def test_a_command_is_one_of_the_admissible(context: Context, action: str, arguments: list[str]) -> None:
    for grounding in (GROUNDER.ground(GroundAction(action, tuple(arguments)), context), GROUNDER.observe(context)):
        assert not grounding.command or not context.commands or grounding.command in context.commands
        assert (grounding.command is None) == (grounding.score == 0)
        assert grounding.command is not None or grounding.reason


@UNTIMED
@given(st.lists(PIECES, min_size=1, max_size=4).map("".join), st.integers(2, 2000))
def test_repeating_a_piece_is_answered(piece: str, times: int) -> None:
    PARSER.parse(piece * times, Context(KNOWN, "fridge 1", "go to fridge 1"))


@UNTIMED
@given(TEXTS)
def test_a_text_that_is_too_long_gives_nothing(text: str) -> None:
    assert (
        PARSER.parse(text + "x" * (MAX_TEXT + 1 - len(text)) + " The fridge 1 is closed.", Context(KNOWN)).facts == ()
    )


@UNTIMED
@given(TEXTS, CONTEXTS)
def test_reading_twice_gives_the_same(text: str, context: Context) -> None:
    assert PARSER.parse(text, context) == PARSER.parse(text, context)
