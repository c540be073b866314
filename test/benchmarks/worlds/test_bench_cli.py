"""The commands of ``graph-planner bench``: what they print, what they refuse, and with which exit code."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graph_planner_ros.benchmarks.worlds.environments import engine_versions, find_python, how_to_get
from graph_planner_ros.benchmarks.worlds.game import WorldUnavailableError
from graph_planner_ros.benchmarks.worlds.records import EpisodeRecord
from graph_planner_ros.benchmarks.worlds.registry import WORLDS, make_world
from graph_planner_ros.benchmarks.worlds.results import ResultsFile, make_header
from graph_planner_ros.commands.bench import _command, app
from graph_planner_ros.commands.seeds import parse_seeds

WORLD = "bench_world:RoomWorld"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CliRunner:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("graph_planner_ros.commands.bench._stop_signal", lambda: lambda: False)
    return CliRunner()


@pytest.mark.parametrize(
    ("seed", "seeds", "expected"),
    [
        (None, "1", ()),
        (None, "3", (0, 1, 2)),
        (7, "1", (7,)),
        (7, "2", (7, 8)),
        (None, "42,84", (42, 84)),
        (5, "42,84,42", (42, 84)),
        (None, "0,", (0,)),
    ],
)
def test_seeds(seed: int | None, seeds: str, expected: tuple[int, ...]) -> None:
    assert parse_seeds(seed, seeds) == expected


@pytest.mark.parametrize("seeds", ["", "0", "-1", "many", "1,x", ","])
def test_seeds_that_are_none_are_refused(seeds: str) -> None:
    with pytest.raises(ValueError, match="--seeds"):
        parse_seeds(None, seeds)


def test_a_run_prints_the_table_and_leaves_a_file(bench: CliRunner, tmp_path: Path) -> None:
    arguments = ["world", WORLD, "--games", "2", "--planner", "random", "--markdown", "table.md", "--option", "size=3"]
    said = bench.invoke(app, arguments)
    assert said.exit_code == 0, said.output
    assert "success %" in said.output
    assert (tmp_path / "table.md").read_text().startswith("### rooms, easy, random, 30 steps")
    (out,) = (tmp_path / "runs" / "bench").glob("*.jsonl")
    header = json.loads(out.read_text().splitlines()[0])
    assert header["games"] == 2 and header["seeds"] == [0]
    assert {"command", "versions", "source", "started", "hash", "settings"} <= set(header)
    assert header["settings"]["graph_planner_ros"] and header["settings"]["engine"] == {"rooms": "1"}
    shown = bench.invoke(app, ["table", str(out), "--markdown"])
    assert shown.exit_code == 0 and "| all games | 2 |" in shown.output
    same = bench.invoke(app, ["compare", str(out), str(out), "--markdown"])
    assert same.exit_code == 0 and "p = 1" in same.output


def test_the_header_has_the_command_without_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    address = "http://me:secret@host/v1"
    for given in (["--endpoint", address], [f"--endpoint={address}"]):
        monkeypatch.setattr("sys.argv", ["graph-planner", "bench", *given])
        command = _command(address)
        assert command[:2] == ("graph-planner", "bench") and "http://host/v1" in command[-1]
        assert "secret" not in " ".join(command)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["world", WORLD, "--option", "missing=yes"], 3, "./run world rooms"),
        (["world", WORLDS["textworld"], "--option", "colour=blue"], 2, "does not take the options colour"),
        (["world", WORLD, "--option", "missing"], 2, "name=value"),
        (["world", WORLD, "--split", "hard"], 2, "no split 'hard'"),
        (["world", WORLD, "--tasks", "fly"], 2, "no game or group 'fly'"),
        (["world", WORLD, "--planner", "best"], 2, "memplan, random, breadth_first, react"),
        (["world", WORLD, "--ablation", "no_luck"], 2, "no_placeholders"),
        (["world", WORLD, "--planner", "react"], 2, "--model"),
        (["world", WORLD, "--seeds", "x"], 2, "--seeds"),
        (["world", WORLD, "--out", "."], 2, "cannot be written"),
        (["world", WORLD, "--markdown", "no/folder/x.md"], 2, "cannot be written"),
        (["world", WORLD, "--keep-memory", "--processes", "2"], 2, "--processes 1"),
        (["world", "nowhere"], 2, "alfworld, robotouille, textworld"),
        (["world", "no.such.module:World"], 2, "cannot be loaded"),
        (["alfworld", "--data", "nowhere"], 3, "--data"),
        (["textworld", "--games", "nowhere"], 3, "--games"),
        (["robotouille", "--data", "nowhere"], 3, "--data"),
        (["table", "nowhere"], 2, "cannot be read"),
        (["compare", "nowhere", "nowhere"], 2, "cannot be read"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(bench: CliRunner, arguments: list[str], code: int, words: str) -> None:
    said = bench.invoke(app, arguments)
    assert said.exit_code == code, said.output
    output = " ".join(said.output.split())
    assert words in output and "Traceback" not in output


def test_results_of_other_splits_are_not_compared(bench: CliRunner, tmp_path: Path) -> None:
    for name in ("a", "b"):
        with ResultsFile(tmp_path / name, make_header({"world": "w", "split": name, "limit": 5}, {}, 1)) as file:
            file.add(asdict(EpisodeRecord("w", "one", "g", name, 0, 5)))
    said = bench.invoke(app, ["compare", "a", "b"])
    assert said.exit_code == 2 and "split: a and b" in " ".join(said.output.split())


# ---- environments of the engines


@pytest.mark.parametrize("world", sorted(WORLDS))
def test_a_world_that_is_not_installed_says_how_to_get_it(
    world: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(WorldUnavailableError, match=f"./run world {world}"):
        find_python(world, tmp_path / "python")
    monkeypatch.setenv(f"GRAPH_PLANNER_{world.upper()}_PYTHON", str(tmp_path))
    with pytest.raises(WorldUnavailableError, match="is no Python interpreter"):
        find_python(world)


def test_an_environment_beside_the_work_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    python = tmp_path / ".venv-rooms" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "deeper").mkdir()
    monkeypatch.chdir(tmp_path / "deeper")
    with pytest.raises(WorldUnavailableError, match="rooms"):
        find_python("rooms")  # it cannot be executed
    python.chmod(0o755)
    assert find_python("rooms") == python
    assert find_python("rooms", tmp_path / ".venv-rooms") == python
    with pytest.raises(WorldUnavailableError, match="does not run"):
        engine_versions("rooms", python, ())


def test_versions_of_an_engine(tmp_path: Path) -> None:
    import sys

    assert engine_versions("rooms", Path(sys.executable), ("numpy",))["numpy"]
    with pytest.raises(WorldUnavailableError, match="has no no-such-package"):
        engine_versions("rooms", Path(sys.executable), ("no-such-package",))


def test_run_can_make_every_world() -> None:
    root = Path(__file__).parents[3]
    script = (root / "run").read_text()
    for world in WORLDS:
        assert f" {world}" in script.replace('"', " ") and (root / "requirements" / f"{world}.txt").is_file()
        assert how_to_get(world).count(".") <= 4


def test_the_worlds_are_worlds(tmp_path: Path) -> None:
    for name in WORLDS:
        world = make_world(name, {"data": str(tmp_path)})
        assert world.name == name and world.domain
        with pytest.raises(WorldUnavailableError):
            world.games("", (), None)
