"""``graph-planner memory train``, ``evaluate`` and ``time`` as a user sees them."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graph_planner_ros.commands.memory_training import app
from graph_planner_ros.memory.encoder import load_encoder
from graph_planner_ros.memory.episode_files import write_episodes
from graph_planner_ros.memory.experience import Episode, EpisodeHeader, EpisodeStatus, ExperienceStep
from graph_planner_ros.scene.graph import Relation, SceneGraph, SceneNode

CLASSES = ("Mug", "Fork", "Pillow", "Book", "Apple", "Cabinet")
HOMES = 8


def episode(number: int) -> Episode:
    """Return an episode in a home of its own, in which one thing after the other is put away."""
    rng = random.Random(number)
    nodes = {f"thing_{index}": SceneNode(f"thing_{index}", rng.choice(CLASSES)) for index in range(6)}
    relations = [Relation(f"thing_{index}", "in", "thing_5") for index in range(4)]
    steps = [
        ExperienceStep(count, count, SceneGraph(nodes=dict(nodes), relations=relations[:count])) for count in range(4)
    ]
    header = EpisodeHeader(f"e{number}", "made_up", "0" * 16, layout=f"home {number}", status=EpisodeStatus.SUCCEEDED)
    return Episode(header, tuple(steps))


@pytest.fixture(name="data")
def data_file(tmp_path: Path) -> Path:
    """A file with episodes."""
    path = tmp_path / "episodes.jsonl.gz"
    write_episodes(path, map(episode, range(HOMES)))
    return path


def run(*words: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, " ".join(result.output.split())


def test_evaluate_prints_and_writes_the_figures_with_intervals(data: Path, tmp_path: Path) -> None:
    code, text = run("evaluate", "--data", data, "--rounds", 50, "--json", tmp_path / "figures.json")
    assert code == 0, text
    assert "ROC-AUC" in text and "tau 0.1, made_up" in text
    content = json.loads((tmp_path / "figures.json").read_text())
    (row,) = content["rows"]
    assert (row["domain"], row["subset"], row["trajectories"]) == ("made_up", "all", HOMES)
    assert content["model_hash"] == load_encoder().model_hash
    for figure in row["figures"].values():
        assert figure["low"] <= figure["value"] <= figure["high"]
    assert row["figures"]["adjacent"]["n"] == 3 * HOMES
    assert row["figures"]["auc"]["n"] == 6 * HOMES


def test_time_says_how_long_an_embedding_takes(data: Path) -> None:
    code, text = run("time", "--data", data, "--nodes", 5, "--count", 10)
    assert code == 0 and "10 scenes with 6 nodes" in text
    assert "batches of 1:" in text and "batches of 10:" in text and "batches of 32" not in text


@pytest.mark.parametrize("command", ["evaluate", "time"])
def test_files_that_are_not_there_or_something_else_are_named(command: str, tmp_path: Path) -> None:
    code, text = run(command, "--data", tmp_path / "nowhere.jsonl")
    assert code == 2 and "nowhere.jsonl" in text
    (tmp_path / "other.jsonl").write_text("{}\n")
    code, text = run(command, "--data", tmp_path / "other.jsonl")
    assert code == 2 and "line 1" in text
    (tmp_path / "empty.jsonl").write_text("")
    assert run(command, "--data", tmp_path / "empty.jsonl")[0] == 2
    code, text = run(command, "--data", tmp_path / "empty.jsonl", "--model", tmp_path / "no.onnx")
    assert code == 3 and "no.onnx" in text


def test_training_without_torch_says_what_to_install(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    code, text = run("train", "--data", data, "--out", tmp_path / "encoder.onnx")
    assert code == 3 and "./run extra training" in text
    assert not (tmp_path / "encoder.onnx").exists()


def test_training_leaves_an_encoder_that_says_how_it_was_made(data: Path, tmp_path: Path) -> None:
    for module in ("torch", "torch_geometric", "onnx", "matplotlib"):
        pytest.importorskip(module, reason="needs requirements/training.txt (./run extra training)")
    out, plot, golden = (tmp_path / name for name in ("new.onnx", "distances.png", "golden.json"))
    code, text = run(
        *("train", "--data", data, "--seed", 5, "--steps", 3, "--out", out, "--plot", plot, "--golden", golden)
    )
    assert code == 0, text
    assert "seed 5" in text and "tau" in text
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert len(json.loads(golden.read_text())) == 2
    information = load_encoder(out).information
    assert information["seed"] == 5 and information["data"] == [data.name] and len(information["homes"]) == HOMES
    assert set(information["held_out"]) == {"made_up"}
    code, text = run("evaluate", "--data", data, "--model", out, "--rounds", 10)
    assert code == 0 and "unseen" not in text
    extra = tmp_path / "more.jsonl"
    write_episodes(extra, map(episode, range(HOMES, HOMES + 3)))
    code, text = run("evaluate", "--data", data, "--data", extra, "--model", out, "--rounds", 10)
    assert code == 0 and "unseen" in text


def test_training_on_too_little_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs requirements/training.txt (./run extra training)")
    write_episodes(tmp_path / "one.jsonl", [episode(0)])
    code, text = run("train", "--data", tmp_path / "one.jsonl", "--out", tmp_path / "encoder.onnx")
    assert code == 2 and "'made_up' has trajectories of 1 home" in text
    assert not (tmp_path / "encoder.onnx").exists()
