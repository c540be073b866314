"""``graph-planner language`` from games to a trained interface that plays, on the little world of the bench's tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from graph_planner_ros.benchmarks.worlds.experiment import Experiment
from graph_planner_ros.benchmarks.worlds.registry import make_world
from graph_planner_ros.commands.language import app
from graph_planner_ros.language.pairs import read_pairs

WORLD = "bench_world:RoomWorld"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("language") / "pairs.jsonl"
    result = run("collect", "--world", WORLD, "--option", "size=8", "--explore", 25, "--out", path)
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture(scope="module")
def model(pairs: Path) -> Path:
    path = pairs.parent / "model.json"
    result = run("train", "--pairs", pairs, "--domain", "alfworld", "--out", path)
    assert result.exit_code == 0, result.output
    return path


def test_collecting_writes_pairs_of_every_game_and_goes_on_where_it_stopped(pairs: Path) -> None:
    content = read_pairs(pairs)
    assert len(content.games) == 8 and content.groups == ("open", "shut")
    assert {pair.origin.explored for pair in content.facts} == {False, True}
    before = pairs.read_bytes()
    assert run("collect", "--world", WORLD, "--option", "size=8", "--out", pairs).exit_code == 0
    assert pairs.read_bytes() == before


def test_the_header_says_where_a_model_comes_from(pairs: Path, model: Path) -> None:
    header = json.loads(model.read_text())["header"]
    assert header["world"] == "alfworld" and header["groups"] == ["open", "shut"] and header["games"] == 8
    assert header["facts"] == len(read_pairs(pairs).facts) and header["data"] and header["command"]


def test_figures_of_model_and_rules(pairs: Path, model: Path, tmp_path: Path) -> None:
    unseen = tmp_path / "unseen.jsonl"
    run("collect", "--world", WORLD, "--split", "other", "--option", "size=4", "--explore", 10, "--out", unseen)
    for chosen in ((), ("--model", model)):
        out = tmp_path / "figures.json"
        result = run("evaluate", "--pairs", unseen, "--domain", "alfworld", *chosen, "--json", out, "--examples")
        assert result.exit_code == 0 and "reference: rules" in result.output
        (figures,) = json.loads(out.read_text()).values()
        everything = figures["figures"]["all"]
        assert everything["f1"]["value"] >= 0.98 and everything["grounding"]["value"] >= 0.98, figures["examples"]
        assert everything["f1"]["low"] <= everything["f1"]["value"] <= everything["f1"]["high"]


def test_leaving_task_types_out(pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    result = run("evaluate", "--pairs", pairs, "--domain", "alfworld", "--leave-one-out", "--json", out)
    assert result.exit_code == 0
    assert set(json.loads(out.read_text())) == {"never seen: open", "never seen: shut"}


@pytest.mark.parametrize("number", range(4))
def test_the_trained_interface_plays(model: Path, number: int) -> None:
    world = make_world(WORLD, {})
    spec = world.games("other", (), None)[number]
    record = Experiment(WORLD, {}, model=str(model))().play(spec, lambda game: game)
    assert record.status == "won", record.reason
    assert record.steps_taken <= Experiment(WORLD, {})().play(spec, lambda game: game).steps_taken + 1


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("collect", "--world", "nowhere", "--out", "x.jsonl"), 2, "no world 'nowhere'"),
        (("collect", "--world", WORLD, "--option", "size", "--out", "x.jsonl"), 2, "name=value"),
        (("train", "--pairs", "{pairs}", "--domain", "nowhere", "--out", "m.json"), 2, "nowhere"),
        (("train", "--pairs", "{pairs}", "--domain", "alfworld", "--groups", "no", "--out", "m.json"), 2, "open, shut"),
        (("evaluate", "--pairs", "{pairs}", "--domain", "household", "--model", "{model}"), 2, "train it again"),
        (("evaluate", "--pairs", "{pairs}", "--domain", "alfworld", "--model", "{pairs}"), 2, "expected a trained"),
        (("evaluate", "--pairs", "{model}", "--domain", "alfworld"), 2, "expected a pair"),
    ],
)
def test_wrong_usage_is_named(
    pairs: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...], code: int, words: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    result = run(*(text.format(pairs=pairs, model=model) for text in arguments))
    assert result.exit_code == code
    assert words in " ".join(result.output.split())
