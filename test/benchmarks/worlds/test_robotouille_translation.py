"""A domain in Robotouille's JSON becomes a domain of ours; here it is that of a tea room."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from graph_planner_ros.benchmarks.worlds.robotouille_files import translate_file
from graph_planner_ros.benchmarks.worlds.robotouille_translation import TranslationError, translate
from graph_planner_ros.cli import app
from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.symbols import Atom, GroundAction
from graph_planner_ros.language.interface import Context
from graph_planner_ros.language.rules import load_language


def lit(text: str) -> dict[str, Any]:
    """Read ``not at(w1, t1)``."""
    name, _, rest = text.removeprefix("not ").partition("(")
    return {"predicate": name, "params": rest.rstrip(")").split(", "), "is_true": not text.startswith("not ")}


def pred(name: str, types: str, *sentences: str) -> dict[str, Any]:
    return {
        "name": name,
        "param_types": types.split(),
        "language_descriptors": {str(i): text for i, text in enumerate(sentences)},
    }


def action(
    name: str, sentence: str, needs: list[str], fx: list[str], sfx: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    return {
        "name": name, "language_description": sentence, "precons": list(map(lit, needs)),
        "immediate_fx": list(map(lit, fx)), "sfx": sfx or [],
    }  # fmt: skip


STEEP = {
    "type": "conditional", "param": "l1", "conditions": [lit("lies(l1, t1)")], "fx": [lit("brewing(l1)")],
    "sfx": [{
        "type": "delayed", "param": "l1", "fx": [lit("not brewing(l1)")],
        "sfx": [{
            "type": "creation", "param": "l1", "created_obj": {"name": "tea", "type": "drink", "param": "d1"},
            "fx": [lit("istea(d1)"), lit("stands(d1, t1)")], "sfx": [],
        }],
    }],
}  # fmt: skip
TEAROOM: dict[str, Any] = {
    "name": "tearoom",
    "object_types": ["table", "leaf", "drink", "guest"],
    "predicate_defs": [
        pred("iscounter", "table", "{0} is a counter"),
        pred("isgreen", "leaf", "{0} is a green leaf"),
        pred("istea", "drink", "{0} is tea"),
        pred("isguest", "guest", "{0} is a guest"),
        pred("aromatic", "leaf", "{0} can be smelled"),
        pred("brewing", "leaf", "{0} is brewing"),
        pred("rolled", "leaf", "{0} is rolled"),
        pred("precious", "leaf", "{0} has become precious"),
        pred("near", "guest table", "{0} is near {1}", "{1} is visited by {0}"),
        pred("lies", "leaf table", "{0} lies on {1}", "{1} carries {0}"),
        pred("stands", "drink table", "{0} stands on {1}", "{1} offers {0}"),
    ],
    "action_defs": [
        action("walk", "Walk with {g1} from {t1} to {t2}", ["near(g1, t1)"], ["near(g1, t2)", "not near(g1, t1)"]),
        action("steep", "Steep {l1} on {t1}", ["near(g1, t1)", "lies(l1, t1)", "iscounter(t1)"], [], [STEEP]),
        action("roll", "Roll {l1} with {g1}", ["near(g1, t1)", "lies(l1, t1)"], [], [
            {"type": "repetitive", "param": "l1", "fx": [lit("rolled(l1)")], "sfx": []},
            {
                "type": "conditional", "param": "l1", "conditions": [lit("aromatic(l1)"), lit("rolled(l1)")],
                "fx": [lit("precious(l1)")], "sfx": [],
            },
        ]),
        action("rest", "Have a rest", [], []),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tearoom")
    (path / "tearoom.json").write_text(json.dumps(TEAROOM))
    translate_file(path / "tearoom.json", path / "domain", delay=5, repetitions=2)
    return path / "domain"


@pytest.fixture(scope="module")
def domain(folder: Path) -> Domain:
    return load_domain(folder)


def test_what_a_thing_is_becomes_its_class(domain: Domain) -> None:
    assert {name: (item.type_name, item.facts, item.words) for name, item in domain.classes.items()} == {
        "counter": ("table", ("iscounter",), ("counter",)),
        "green": ("leaf", ("isgreen",), ("green", "green leaf")),
        "tea": ("drink", ("istea",), ("tea",)),
        "guest": ("guest", ("isguest",), ("guest",)),
    }
    assert set(domain.attributes) == {"aromatic", "brewing", "rolled", "precious"}
    assert set(domain.relations) == {"near", "lies", "stands"}


def test_a_delayed_effect_becomes_a_beginning_and_an_end(domain: Domain) -> None:
    (delay,) = domain.delays.values()
    assert (delay.start, delay.done, delay.steps) == ("steep", "steep-done", 5)
    begin, end = domain.actions["steep"], domain.actions["steep-done"]
    assert {term.predicate for term in begin.added} == {"brewing", "steep-started"}
    needed = {literal.predicate for literal in end.preconditions}
    assert needed == {"steep-started", "lies", "iscounter", "istea", "unmade"}  # where it has to stay meanwhile
    assert {term.predicate for term in end.added} == {"stands"}
    assert {term.predicate for term in end.deleted} == {"brewing", "steep-started", "unmade"}
    (creation,) = domain.creations.values()
    assert (creation.action, creation.thing, creation.class_name) == ("steep-done", "d1", "tea")


def test_a_conditional_effect_splits_its_action(domain: Domain) -> None:
    assert domain.repetitions == {"roll": 2, "roll-unless-aromatic": 2}
    assert {term.predicate for term in domain.actions["roll"].added} == {"rolled", "precious"}
    plain = domain.actions["roll-unless-aromatic"]
    assert {term.predicate for term in plain.added} == {"rolled"} and plain.cost == 2.0
    assert [item.predicate for item in plain.preconditions if not item.positive] == ["aromatic"]


def test_parameters_of_one_type_are_different_things(domain: Domain) -> None:
    assert [(item.left, item.right, item.positive) for item in domain.actions["walk"].equalities] == [
        ("t1", "t2", False)
    ]


def test_the_world_is_read_and_spoken_to_in_its_own_words(domain: Domain) -> None:
    language = load_language(domain)
    text = (
        "Table counter1:\ncounter1 is a counter\ncounter1 is visited by guest1\ncounter1 carries green1\n\n"
        "Leaf green1:\ngreen1 is a green leaf\ngreen1 can be smelled\ngreen1 lies on counter1\n\nGuest guest1:\n"
        "guest1 is near counter1\n"
    )
    parsed = language.parser.parse(text, Context())
    assert {fact.atom for fact in parsed.facts} == {
        Atom("near", ("guest1", "counter1")), Atom("lies", ("green1", "counter1")), Atom("aromatic", ("green1",)),
    }  # fmt: skip
    assert parsed.objects == {"counter1": "counter", "green1": "green", "guest1": "guest"}
    assert "stands" in parsed.complete and not parsed.refused
    commands = Context(
        objects=parsed.objects, commands=["Steep green1 on counter1", "Have a rest", "Roll green1 with guest1"]
    )
    for found, command in (
        (GroundAction("steep", ("guest1", "counter1", "green1")), "Steep green1 on counter1"),
        (GroundAction("steep-done", ("green1", "counter1", "unmade_tea_1")), "Have a rest"),
        (GroundAction("roll", ("guest1", "counter1", "green1")), "Roll green1 with guest1"),
    ):
        names = [parameter.name for parameter in domain.actions[found.name].parameters]
        values = {"g1": "guest1", "t1": "counter1", "l1": "green1", "d1": "unmade_tea_1"}
        ordered = GroundAction(found.name, tuple(values[name] for name in names))
        assert language.grounder.ground(ordered, commands).command == command
    assert language.grounder.observe(commands).command == "Have a rest"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("action_defs"), "action_defs"),
        (lambda d: d["predicate_defs"][0].update(param_types=["desk"]), "desk"),
        (lambda d: d["action_defs"][0]["precons"].append(lit("flies(g1)")), "flies"),
        (lambda d: d["action_defs"][0]["precons"].append(lit("near(g1)")), "near"),
        (lambda d: d["action_defs"][0]["sfx"].append({"type": "magic", "param": "g1", "fx": [], "sfx": []}), "magic"),
        (lambda d: d["action_defs"][0]["precons"].append(lit("lies(g1, t1)")), "g1"),
    ],
)
def test_what_is_no_such_domain_is_refused_by_name(change: Any, message: str) -> None:
    document = copy.deepcopy(TEAROOM)
    change(document)
    with pytest.raises(TranslationError, match=message):
        translate(document)


def test_the_command_writes_the_files_or_says_what_is_wrong(tmp_path: Path) -> None:
    source = tmp_path / "tearoom.json"
    source.write_text(json.dumps(TEAROOM))
    call = ["domains", "translate", "robotouille", str(source), "--out", str(tmp_path / "made")]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, result.output
    assert load_domain(tmp_path / "made").name == "tearoom"
    source.write_text("{")
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 2 and "found no JSON" in " ".join(result.output.split())


def test_the_shipped_domain_is_what_the_command_writes() -> None:
    shipped = load_domain("robotouille")
    assert {delay.start: delay.steps for delay in shipped.delays.values()} == {
        "cook": 4, "fry": 4, "fill-pot": 4, "boil-water": 4,
    }  # fmt: skip
    assert set(shipped.repetitions.values()) == {3} and len(shipped.classes) == 19
    for name in ("domain.pddl", "domain.yaml", "language.yaml"):
        assert "graph-planner domains translate robotouille" in (shipped.folder / name).read_text().splitlines()[0]
