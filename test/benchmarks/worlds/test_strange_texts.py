"""What a world may say that it should not: with rules and with a trained interface, alone and in the agent's loop.

Nothing crashes, and nothing enters the belief that the domain does not know or that no words carry.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_house import SPEC, SmallHouse

from graph_planner_ros.benchmarks.worlds.agent import TextAgent
from graph_planner_ros.benchmarks.worlds.exploring import teach
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.language.interface import Context, ParsedObservation
from graph_planner_ros.language.pairs import CommandPair, FactPair, PairFile
from graph_planner_ros.language.rules import MAX_TEXT, Language, load_language
from graph_planner_ros.language.trained import train

PLACES = {"countertop 1": ["mug 1"], "cabinet 1": [], "cabinet 2": ["egg 1"], "fridge 1": ["apple 1"]}
SHUT = ("cabinet 1", "cabinet 2", "fridge 1")
LANGUAGES = ("rules", "trained")
CHECKED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
PLAYED = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
KNOWN = {"fridge 1": "Fridge", "mug 1": "Mug", "countertop 1": "CounterTop"}
SENTENCES = (
    "You arrive at fridge 1.",
    "You arrive at cabinet 2. On the cabinet 2, you see a mug 1, and a egg 2.",
    "The fridge 1 is closed.",
    "The fridge 1 is open. In it, you see a mug 1.",
    "On the countertop 1, you see nothing.",
    "You pick up the mug 1 from the countertop 1.",
    "You move the mug 1 to the fridge 1.",
    "You are carrying: a mug 1.",
    "You are not carrying anything.",
    "Nothing happens.",
)
STRANGE = {
    "empty": "",
    "blanks": " \t\r\n\n\n \u00a0\u2003",
    "markup": "<html><body>On the countertop 1, you see a egg 1.</body></html>",
    "entities": "The fridge 1 is closed.&nbsp;&lt;b&gt;",
    "another language": "Auf dem Schrank 1 liegt ein Ei 1. Du nimmst das Ei. 冷蔵庫 1 は閉まっています。",
    "megabytes": "On the countertop 1, you see a egg 1. " * 60_000,
    "one long word": "x" * 2_000_000,
    "unknown things": "On the gizmo 1, you see a frobnicator 7.",
    "nothing happens": "Nothing happens.",
    "control characters": "\x00\x1b[31m\ufffd\u202e\u0007" * 50,
    "control characters inside": "On the counter\x00top 1, you see a eg\x1bg 1.",
    "half a sentence": "On the countertop 1, you",
    "names only": "mug 1 mug 1 fridge 1 egg 1 countertop 1",
    "a program's error": "Traceback (most recent call last):\n  File \"x.py\", line 1\nKeyError: 'fridge 1'",
    "json": '{"observation": ["fridge 1", null, {"closed": true}]}',
    "brackets": "(" * 5_000 + ")" * 5_000,
    "many lines": "\n" * 20_000,
    "surrogates": "\ud800 The \udfff",
}
"""Nothing of this says anything about the little house."""
WORLDS_OWN = {"unknown things", "nothing happens"}
"""Those that are sentences of the world: they may confirm, or deny, that a command was carried out."""


@cache
def language(kind: str) -> Language:
    """Return an interface to the little house: the rules, or what was learned from games with them."""
    rules = load_language("alfworld", every_mention=kind == "trained")
    if kind == "rules":
        return rules
    pairs = PairFile()
    for seed in range(6):
        chance = random.Random(seed)
        things = ["egg 1", "mug 1", "apple 1", "plate 2", "egg 2", "knife 3"]
        chance.shuffle(things)
        places = {place: things[number : number + 2] for number, place in enumerate(PLACES)}
        vain = {2 + seed: "Nothing happens.", 21: "Nothing happens."}
        house = SmallHouse(places, SHUT, facing=seed == 3, strange=vain)
        made, _ = teach(rules, house, replace(SPEC, name=f"{seed}", seed=seed), 40)
        pairs.facts += [pair for pair in made if isinstance(pair, FactPair)]
        pairs.commands += [pair for pair in made if isinstance(pair, CommandPair)]
    return train(rules.domain, pairs).language(rules.domain)


def check(found: Language, parsed: ParsedObservation, text: str, context: Context) -> None:
    """Check that everything that was read is of the domain, and that its things are named by somebody."""
    domain, classes = found.domain, {**parsed.objects, **context.objects}
    said = f"{text}\n{context.command}\n{context.location}\n" + "\n".join(context.commands)
    for fact in parsed.facts:
        schema = domain.predicates[fact.atom.predicate]
        assert len(fact.atom.arguments) == schema.arity and 0.0 < fact.score <= 1.0
        assert 0 <= fact.start <= fact.end <= len(text)
        for name, parameter in zip(fact.atom.arguments, schema.parameters, strict=True):
            assert domain.is_a(domain.classes[classes[name]].type_name, parameter.type_name)
            assert " ".join(name.lower().split()) in " ".join(said.lower().split())
    denied = {fact.atom for fact in parsed.facts if not fact.positive}
    assert not denied & {fact.atom for fact in parsed.facts if fact.positive}
    assert parsed.complete_places <= set(classes) and parsed.complete <= set(domain.predicates)
    assert set(parsed.objects.values()) <= set(domain.classes)
    assert not (parsed.failed and not parsed.reason)


# -- the interface alone --------------------------------------------------------------------------------------------

PIECES = st.one_of(
    st.sampled_from(SENTENCES),
    st.sampled_from([*KNOWN, "zorp 3", "cabinet 77", "mug", "1", "On the ", ", you see ", "a ", ", and a ", ". "]),
    st.sampled_from(["\n", "\x00", "<b>", "</p>", "&nbsp;", "é", "冷蔵庫", "{x}", "<x>", "<offer>", "(("]),
    st.text(max_size=5),
)
TEXTS = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=20).map(" ".join))
CONTEXTS = st.builds(
    Context,
    objects=st.one_of(st.just(KNOWN), st.dictionaries(st.text(max_size=6), st.sampled_from(sorted({*KNOWN.values()})))),
    location=st.sampled_from(["", "fridge 1", "nowhere"]),
    command=st.one_of(TEXTS, st.sampled_from(["go to fridge 1", "look", "take mug 1 from countertop 1"])),
    commands=st.lists(st.one_of(TEXTS, st.sampled_from(["go to fridge 1", "take mug 1 from fridge 1"])), max_size=4),
    goal=TEXTS,
)


@pytest.mark.parametrize("kind", LANGUAGES)
@CHECKED
@given(text=TEXTS, context=CONTEXTS)
def test_every_fact_is_of_the_domain_and_its_things_are_named(kind: str, text: str, context: Context) -> None:
    found = language(kind)
    parsed = found.parser.parse(text, context)
    check(found, parsed, text, context)
    assert found.parser.parse(text, context) == parsed


@pytest.mark.parametrize("kind", LANGUAGES)
@CHECKED
@given(context=CONTEXTS, things=st.lists(st.one_of(st.sampled_from(sorted(KNOWN)), st.text(max_size=5)), max_size=3))
def test_a_command_is_one_of_the_admissible(kind: str, context: Context, things: list[str]) -> None:
    found = language(kind)
    for action in found.domain.actions:
        grounding = found.grounder.ground(GroundAction(action, tuple(things)), context)
        assert not grounding.command or not context.commands or grounding.command in context.commands
        assert grounding.command is not None or grounding.reason
    looked = found.grounder.observe(context)
    assert not looked.command or not context.commands or looked.command in context.commands


@pytest.mark.parametrize("kind", LANGUAGES)
@pytest.mark.parametrize("name", sorted(STRANGE))
def test_strange_texts_say_nothing(kind: str, name: str) -> None:
    context = Context(KNOWN, "countertop 1", "look", ("look", "go to fridge 1", "take mug 1 from countertop 1"))
    parsed = language(kind).parser.parse(STRANGE[name], context)
    assert parsed.facts == () and not parsed.complete and not parsed.complete_places
    assert parsed.failed == (name == "nothing happens")


@pytest.mark.parametrize("kind", LANGUAGES)
@pytest.mark.parametrize("name", sorted(set(STRANGE) - WORLDS_OWN))
def test_a_strange_answer_does_not_confirm_a_command(kind: str, name: str) -> None:
    commands = ("go to countertop 1", "take mug 1 from countertop 1", "open fridge 1")
    for command in commands:
        parsed = language(kind).parser.parse(STRANGE[name], Context(KNOWN, "countertop 1", command, commands))
        assert parsed.facts == () and not parsed.failed, command


def _denied() -> Iterator[str]:
    for sentence in ("The fridge 1 is closed.", "On the countertop 1, you see a mug 1.", "You arrive at fridge 1."):
        words = sentence.split(" ")
        for position, word in itertools.product(range(1, len(words)), ("not", "never", "hardly", "supposedly")):
            yield " ".join([*words[:position], word, *words[position:]])


@pytest.mark.parametrize("kind", LANGUAGES)
@pytest.mark.parametrize("text", sorted(_denied()))
def test_what_a_text_denies_is_not_believed(kind: str, text: str) -> None:
    """Where the added word stands after the end of what a rule reads, or inside a name, the sentence says the rest."""
    parsed = language(kind).parser.parse(text, Context(KNOWN, "", ""))
    plain = {
        "closed(fridge 1)",
        "at(fridge 1)",
        "in(mug 1, countertop 1)",
    }
    assert not plain & {str(fact.atom) for fact in parsed.facts if fact.positive}


@pytest.mark.parametrize("kind", LANGUAGES)
@CHECKED
@given(text=TEXTS)
def test_a_text_that_is_too_long_gives_nothing(kind: str, text: str) -> None:
    long = text + "x" * (MAX_TEXT + 1 - len(text)) + " The fridge 1 is closed."
    assert language(kind).parser.parse(long, Context(KNOWN)).facts == ()


@pytest.mark.parametrize("kind", LANGUAGES)
@CHECKED
@given(text=TEXTS, context=CONTEXTS)
def test_goals_never_raise(kind: str, text: str, context: Context) -> None:
    parser = language(kind).parser
    for goal in parser.goals(text, context):
        assert goal.literals


# -- in the agent's loop --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LANGUAGES)
@pytest.mark.parametrize("name", sorted(STRANGE))
@pytest.mark.parametrize("step", [1, 3])
def test_a_strange_answer_neither_stops_the_game_nor_is_believed(kind: str, name: str, step: int) -> None:
    found = language(kind)
    agent = TextAgent(found.domain, found.parser, found.grounder)
    record = agent.play(SmallHouse(PLACES, SHUT, strange={step: STRANGE[name]}), SPEC)
    assert record.won, record.reason
    # where one has gone is known from the command, if the answer is one of the world's sentences
    assert all(name in WORLDS_OWN and fact.startswith("at(") for fact in record.steps[step].facts)
    assert record.steps[step].failed == (name == "nothing happens")


@pytest.mark.parametrize("kind", LANGUAGES)
@PLAYED
@given(answers=st.dictionaries(st.integers(1, 60), st.one_of(st.sampled_from(sorted(STRANGE.values())), TEXTS)))
def test_the_loop_ends_with_a_reason_whatever_is_said(kind: str, answers: dict[int, str]) -> None:
    found = language(kind)
    agent = TextAgent(found.domain, found.parser, found.grounder)
    record, belief = agent.play_and_tell(SmallHouse(PLACES, SHUT, strange=answers), replace(SPEC, limit=20))
    assert record.won or record.reason
    assert record.steps_taken <= 20
    said = "\n".join(step.observation.lower() for step in record.steps) + "\n" + "\n".join(PLACES)
    for node in belief.graph.nodes.values():
        assert node.label in found.domain.classes
        assert node.source or node.id.lower() in said
    predicates = set(found.domain.predicates)
    assert {atom.predicate for atom in belief.state().atoms} <= predicates


@pytest.mark.parametrize("kind", LANGUAGES)
def test_a_world_that_only_talks_nonsense_is_not_believed(kind: str) -> None:
    found = language(kind)
    strange = dict(enumerate(itertools.islice(itertools.cycle(sorted(STRANGE.values())), 40), start=1))
    agent = TextAgent(found.domain, found.parser, found.grounder)
    game = SmallHouse(PLACES, SHUT, strange=strange, wins=("egg 1", "nowhere"))
    record = agent.play(game, replace(SPEC, limit=30))
    assert (record.status, record.steps_taken) == ("running", 30) and record.reason
    assert all(fact.startswith("at(") for step in record.steps[1:] for fact in step.facts)
