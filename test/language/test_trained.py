"""The trained interface: what it learns from pairs of made-up games, and what it refuses."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.language.interface import Context, ParseError
from graph_planner_ros.language.metrics import evaluate
from graph_planner_ros.language.pairs import (
    CommandPair,
    FactPair,
    Origin,
    PairFile,
    WatchedGrounder,
    WatchedParser,
    file_hash,
    read_pairs,
    write_pairs,
)
from graph_planner_ros.language.rule_grounder import RuleGrounder
from graph_planner_ros.language.rules import RuleParser
from graph_planner_ros.language.rules_file import read_rules
from graph_planner_ros.language.trained import ModelFileError, TrainedModel, load_model, save_model, train
from graph_planner_ros.language.trained_parser import TrainedParser

RULES = Path(__file__).parents[1] / "fixtures" / "languages" / "kitchen_tales.yaml"
ITEMS = ("mug", "plate", "apple", "egg", "knife", "bread")
PLACES = ("countertop", "cabinet", "fridge", "shelf")
VERBS = {"heat": "microwave", "cool": "fridge", "clean": "sinkbasin"}


def tales(domain: Domain, count: int, seed: int, verbs: tuple[str, ...] = tuple(VERBS)) -> PairFile:
    """Return pairs of made-up games, the rules being the teacher; a game's type is its verb."""
    rules = read_rules(RULES, domain)
    pairs = PairFile()
    for number in range(count):
        verb = verbs[number % len(verbs)]
        origin = Origin("tales", f"game {seed} {number}", verb)
        noted: list[FactPair | CommandPair] = []
        parser = WatchedParser(RuleParser(domain, rules, every_mention=True), origin, noted.append)
        grounder = WatchedGrounder(RuleGrounder(domain, rules), origin, noted.append)
        for text, context, action in _scenes(random.Random(f"{seed} {number}"), verb):
            parser.parse(text, context)
            if action is not None:
                grounder.ground(action, context)
                grounder.observe(context)
        pairs.facts += [pair for pair in noted if isinstance(pair, FactPair)]
        pairs.commands += [pair for pair in noted if isinstance(pair, CommandPair)]
    return pairs


def _scenes(rng: random.Random, verb: str) -> Iterator[tuple[str, Context, GroundAction | None]]:
    place, other, tool = f"{rng.choice(PLACES)} {rng.randint(1, 9)}", f"shelf {rng.randint(10, 19)}", f"{VERBS[verb]} 1"
    things = [f"{name} {rng.randint(1, 20)}" for name in rng.sample(ITEMS, rng.randint(1, 4))]
    thing = things[0]
    known = {place: "", other: "", tool: "", **dict.fromkeys(things, "")}
    classes = {name: _class(name) for name in known}
    commands = (
        *(f"go to {name}" for name in (place, other, tool)), f"take {thing} from {place}", f"move {thing} to {other}",
        f"{verb} {thing} with {tool}", f"examine {thing}", f"open {place}", "look", "inventory",
    )  # fmt: skip
    said = Context(classes, "", "", commands)
    listed = ", ".join(f"a {name}" for name in things[:-1]) + (", and " if len(things) > 1 else "") + f"a {things[-1]}"
    yield (
        f"You are in the middle of a room. Looking quickly around you, you see a {place}, a {other}, and a {tool}.",
        Context(commands=commands),
        GroundAction("go_to", ("start", place)),
    )
    at = replace(said, location=place, command=f"go to {place}")
    yield f"You arrive at {place}. On the {place}, you see {listed}.", at, GroundAction("pick_up", (thing, place))
    take = replace(said, location=place, command=f"take {thing} from {place}")
    yield f"You pick up the {thing} from the {place}.", take, GroundAction(verb, (thing, tool))
    use = replace(said, location=tool, command=f"{verb} {thing} with {tool}")
    yield f"You {verb} the {thing} using the {tool}.", use, GroundAction("put", (thing, other))
    yield "Nothing happens.", replace(said, location=place, command=f"open {place}"), None
    yield f"The {tool} is closed.", replace(said, location=tool, command="look"), GroundAction("go_to", (tool, other))
    yield f"You arrive at {other}. On the {other}, you see nothing.", replace(said, command=f"go to {other}"), None


def _class(name: str) -> str:
    words = {"countertop": "CounterTop", "sinkbasin": "SinkBasin"}
    word = name.split(" ")[0]
    return words.get(word, word.capitalize())


@pytest.fixture(scope="module")
def model(household: Domain) -> TrainedModel:
    return train(household, tales(household, 24, seed=1))


@pytest.fixture(scope="module")
def parser(household: Domain, model: TrainedModel) -> TrainedParser:
    return TrainedParser(household, model.parser, RuleParser(household, read_rules(RULES, household)))


# -- what it learns -------------------------------------------------------------------------------------------------


def _judge(household: Domain, model: TrainedModel, pairs: PairFile) -> dict[str, float]:
    from graph_planner_ros.language.trained_grounder import TrainedGrounder

    goals = RuleParser(household, read_rules(RULES, household))
    evaluation = evaluate(
        TrainedParser(household, model.parser, goals), TrainedGrounder(household, model.grounder), pairs
    )
    return {name: figure.value for name, figure in evaluation.figures(rounds=20).items()}


def test_games_that_were_not_seen(household: Domain, model: TrainedModel) -> None:
    figures = _judge(household, model, tales(household, 12, seed=2))
    assert figures["f1"] >= 0.98 and figures["exact"] >= 0.98
    assert figures["grounding"] >= 0.98 and figures["rejection"] >= 0.98


@pytest.mark.parametrize("verb", VERBS)
def test_task_types_that_were_not_seen(household: Domain, verb: str) -> None:
    others = tuple(name for name in VERBS if name != verb)
    model = train(household, tales(household, 24, seed=3, verbs=others))
    figures = _judge(household, model, tales(household, 8, seed=4, verbs=(verb,)))
    assert figures["f1"] >= 0.95
    assert figures["grounding"] >= 0.95


def test_new_things_of_known_classes_are_read(parser: TrainedParser) -> None:
    text = "You arrive at cabinet 77. On the cabinet 77, you see a potato 901, and a statue 3."
    parsed = parser.parse(text, Context(command="go to cabinet 77"))
    assert {str(fact.atom) for fact in parsed.facts if fact.positive} == {
        "at(cabinet 77)",
        "in(potato 901, cabinet 77)",
        "in(statue 3, cabinet 77)",
        "observed(cabinet 77)",
    }
    assert parsed.complete_places == {"cabinet 77"}


def test_what_can_be_handled_is_there(parser: TrainedParser) -> None:
    parsed = parser.parse("You look around.", Context(commands=("go to cabinet 3", "take mug 7 from shelf 2", "look")))
    assert parsed.objects == {"cabinet 3": "Cabinet", "mug 7": "Mug", "shelf 2": "Shelf"}
    assert parsed.facts == ()


def test_facts_have_spans_and_scores(parser: TrainedParser) -> None:
    text = "Well.  The fridge 1 is closed."
    (fact,) = parser.parse(text, Context()).facts
    assert text[fact.start : fact.end] == "The fridge 1 is closed." and 0.5 < fact.score <= 1.0


def test_a_refused_command_implies_nothing(parser: TrainedParser) -> None:
    parsed = parser.parse("Nothing happens.", Context({"fridge 1": "Fridge"}, "", "go to fridge 1"))
    assert parsed.failed and parsed.facts == () and parsed.reason


# -- what it refuses ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Der fridge 1 ist zu. 冷蔵庫 1 は閉まっています。",
        "It is never true, they say in the town, that the fridge 1 is closed.",
        "Closed not fridge 1 the is.",
        "<p>The fridge 1 is closed.</p>",
        "The fridge\x00 1 is closed.",
        "mug 2 mug 2 fridge 1 fridge 1 apple 3",
        "x" * 1_000_000,
        "The fridge 1 is closed. " * 50_000,
        "\n" * 2_000,
    ],
)
def test_malformed_texts_give_no_facts(parser: TrainedParser, text: str) -> None:
    parsed = parser.parse(text, Context({"fridge 1": "Fridge", "mug 2": "Mug"}, "fridge 1", "go to fridge 1"))
    assert parsed.facts == () and not parsed.failed


def test_what_is_not_of_the_domain_is_refused_by_category(parser: TrainedParser) -> None:
    parsed = parser.parse("On the cabinet 1, you see a zorp 4, and a mug 1.", Context())
    assert ParseError.UNKNOWN_ENTITY in {refusal.error for refusal in parsed.refused}
    assert "in(mug 1, cabinet 1)" in {str(fact.atom) for fact in parsed.facts}
    assert not any("zorp" in str(fact.atom) for fact in parsed.facts)


def test_a_command_about_other_things_is_not_safe(household: Domain, model: TrainedModel) -> None:
    from graph_planner_ros.language.trained_grounder import TrainedGrounder

    grounder = TrainedGrounder(household, model.grounder)
    context = Context(
        {"mug 1": "Mug", "fridge 1": "Fridge"}, commands=("go to fridge 1", "heat mug 2 with microwave 1")
    )
    for action in (
        GroundAction("heat", ("mug 1", "microwave 1")),
        GroundAction("fly", ()),
        GroundAction("open", ("x",)),
    ):
        grounding = grounder.ground(action, context)
        assert grounding.command is None and grounding.reason


# -- files ----------------------------------------------------------------------------------------------------------


def test_the_same_pairs_and_seed_give_the_same_model(household: Domain, model: TrainedModel, tmp_path: Path) -> None:
    again = train(household, tales(household, 24, seed=1))
    save_model(tmp_path / "a.json", model)
    save_model(tmp_path / "b.json", again)
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert (tmp_path / "a.json").stat().st_size < 2_000_000


def test_a_model_comes_back_from_its_file(household: Domain, model: TrainedModel, tmp_path: Path) -> None:
    save_model(tmp_path / "model.json", model)
    loaded = load_model(tmp_path / "model.json", household)
    assert loaded.header == model.header
    assert _judge(household, loaded, tales(household, 6, seed=5)) == _judge(
        household, model, tales(household, 6, seed=5)
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"domain": "0" * 16}, "train it again"),
        ({"format": 99}, "format 99"),
        ({"groups": 3}, "expected a trained language model"),
    ],
)
def test_a_model_that_does_not_fit_is_refused(
    household: Domain, model: TrainedModel, tmp_path: Path, change: dict[str, object], words: str
) -> None:
    path = tmp_path / "model.json"
    save_model(path, model)
    content = json.loads(path.read_text())
    content["header"] |= change
    path.write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=words) as error:
        load_model(path, household)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"header": {}}'])
def test_what_is_no_model_is_refused(household: Domain, tmp_path: Path, text: str) -> None:
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "model.json", household)


def test_pairs_come_back_from_their_file(household: Domain, tmp_path: Path) -> None:
    pairs = tales(household, 3, seed=6)
    path = tmp_path / "pairs.jsonl"
    write_pairs(path, [*pairs.facts, *pairs.commands])
    again = read_pairs(path)
    assert again.facts == [replace(p, parsed=replace(p.parsed, refused=(), reason="")) for p in pairs.facts]
    assert again.commands == pairs.commands
    assert len(file_hash(path)) == 16
    path.write_text(path.read_text() + "{}\n")
    with pytest.raises(ValueError, match=rf"{path}, line \d+: expected a pair"):
        read_pairs(path)


def test_without_pairs_there_is_nothing_to_learn(household: Domain) -> None:
    with pytest.raises(ValueError, match=r"no .* pairs"):
        train(household, PairFile())
