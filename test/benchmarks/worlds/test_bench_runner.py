"""Every game gets a row, whatever becomes of it; a run can be gone on with; the same seed gives the same result."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
import pytest
from rich.console import Console

from graph_planner_ros.benchmarks.worlds.ablations import ABLATIONS, ablated
from graph_planner_ros.benchmarks.worlds.experiment import Experiment, Selection, choose
from graph_planner_ros.benchmarks.worlds.game import GameSpec, WorldUnavailableError
from graph_planner_ros.benchmarks.worlds.options import AgentOptions
from graph_planner_ros.benchmarks.worlds.records import EpisodeRecord
from graph_planner_ros.benchmarks.worlds.registry import make_world
from graph_planner_ros.benchmarks.worlds.results import Results, ResultsError, ResultsFile, make_header, read_results
from graph_planner_ros.benchmarks.worlds.session import RunSettings, run_bench

HERE = Path(__file__).parent
WORLD = "bench_world:RoomWorld"


@pytest.fixture(autouse=True)
def little_world(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(HERE))
    yield


def run(out: Path, planner: str = "random", selection: Selection | None = None, **options: Any) -> Results:
    settings = RunSettings(out, options.pop("processes", 1), options.pop("wall_limit", 120.0), ("test",))
    experiment = Experiment(WORLD, {name: str(value) for name, value in options.items()}, planner)
    with open(os.devnull, "w") as nowhere:
        return run_bench(experiment, selection or Selection(), settings, Console(file=nowhere))


def without_times(content: Any) -> Any:
    """Return a row without what is measured with a clock."""
    if isinstance(content, dict):
        return {name: without_times(item) for name, item in content.items() if not str(name).endswith("seconds")}
    return [without_times(item) for item in content] if isinstance(content, list) else content


# ---- no row is dropped


def test_games_that_end_badly_are_rows_with_their_reasons(tmp_path: Path) -> None:
    results = run(tmp_path / "out.jsonl", size=8, die=0, exit=1, raise_=2, crash=3, lose=4, processes=2)
    assert sorted(results.rows) == [(f"room-{number}", 0) for number in range(8)]
    expected = {
        "room-0": ("crashed", "SIGSEGV; its last words: the engine's last words"),
        "room-1": ("crashed", "exit code 7"),
        "room-2": ("crashed", "the agent failed: RuntimeError: a fault of the adapter"),
        "room-3": ("crashed", "the crash was planned"),
        "room-4": ("lost", "the lose was planned"),
    }
    for (name, _), record in results.rows.items():
        status, words = expected.get(name, (record.status, ""))
        assert record.status == status and words in record.reason
        assert record.status in ("won", "running") or record.steps_taken in (1, 2)  # what was done until then is kept
    assert sum(record.status == "crashed" for record in results.rows.values()) == 4


def test_a_game_that_hangs_is_given_up_and_leaves_no_process(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    results = run(tmp_path / "out.jsonl", size=3, hang=0, pids=pids, wall_limit=20.0)
    bad = results.rows["room-0", 0]
    assert bad.status == "crashed" and "did not end within 20 s of wall time; it hung after 1 steps" in bad.reason
    assert len(results.rows) == 3
    assert not any(psutil.pid_exists(int(pid)) and _alive(int(pid)) for pid in pids.read_text().split())


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_world_that_is_not_installed_is_one_sentence_and_no_rows(tmp_path: Path) -> None:
    with pytest.raises(WorldUnavailableError, match=r"\./run world rooms"):
        run(tmp_path / "out.jsonl", missing="yes")
    assert not (tmp_path / "out.jsonl").exists()


# ---- the same seed gives the same result


def test_the_same_seed_gives_the_same_rows_in_any_process(tmp_path: Path) -> None:
    selection = Selection(seeds=(3, 4))
    first = run(tmp_path / "a.jsonl", "memplan", selection, size=5, processes=1)
    second = run(tmp_path / "b.jsonl", "memplan", selection, size=5, processes=2)
    assert len(first.rows) == 10 and all(record.won for record in first.rows.values())
    assert first.header["hash"] == second.header["hash"]
    assert without_times(dict(sorted(first.raw.items()))) == without_times(dict(sorted(second.raw.items())))
    assert all(step.command and step.observation for record in first.rows.values() for step in record.steps[1:])


@pytest.mark.parametrize("planner", ["random", "breadth_first"])
def test_baselines_repeat_themselves(planner: str) -> None:
    games = [play(planner, seed=seed) for seed in (5, 5, 6)]
    assert commands(games[0]) == commands(games[1])
    assert (commands(games[0]) != commands(games[2])) == (planner == "random")


def play(planner: str = "memplan", ablation: str = "none", seed: int = 0, limit: int | None = None) -> EpisodeRecord:
    """Play the first game in this process."""
    world = make_world(WORLD, {})
    return Experiment(WORLD, {}, planner, ablation)().play(world.games("", (seed,), limit)[0], lambda game: game)


def commands(record: EpisodeRecord) -> list[str]:
    return [step.command for step in record.steps]


# ---- going on with a file


def test_a_killed_run_is_gone_on_with(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    command = [sys.executable, "-m", "graph_planner_ros.cli", "bench", "world", WORLD, "--planner", "random"]
    command += ["--option", "seconds=0.05", "--out", str(out), "--processes", "2"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])}
    killed = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 200
    while not (out.exists() and len(out.read_bytes().splitlines()) >= 3):
        assert killed.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    workers = psutil.Process(killed.pid).children(recursive=True)
    killed.kill()
    killed.wait()
    psutil.wait_procs(workers, timeout=60)
    assert not [worker for worker in workers if worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE]

    before = read_results(out).raw
    with out.open("ab") as file:
        file.write(b'{"kind": "game", "name": "room-')
    again = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280)
    assert again.returncode == 0, again.stderr
    assert "half-written" in again.stderr and "are in" in again.stderr
    after = read_results(out)
    assert len(after.rows) == 6 == after.expected
    assert {key: after.raw[key] for key in before} == before
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["kind"] for line in lines].count("resumed") == 1
    assert len([line for line in lines if line["kind"] == "game"]) == 6


def test_nothing_is_played_twice_and_more_games_are_added(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    run(out, selection=Selection(games=2))
    first = out.read_text().splitlines()
    assert len(run(out, selection=Selection(games=4)).rows) == 4
    lines = out.read_text().splitlines()
    assert lines[:3] == first and len(lines) == 3 + 1 + 2


def test_a_stopped_run_keeps_what_was_played(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    experiment = Experiment(WORLD, {}, "random")
    with open(os.devnull, "w") as nowhere:
        results = run_bench(
            experiment, Selection(), RunSettings(out), Console(file=nowhere), lambda: len(_rows(out)) >= 2
        )
    assert 2 <= len(results.rows) < 6 and results.expected == 6


def _rows(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if '"kind": "game"' in line] if path.exists() else []


def test_a_file_of_another_experiment_is_refused_with_the_difference(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    run(out, "random", Selection(games=1))
    content = out.read_bytes()
    with pytest.raises(ResultsError, match="planner: random and breadth_first"):
        run(out, "breadth_first", Selection(games=1))
    with pytest.raises(ResultsError, match="limit: 30 and 20"):
        run(out, "random", Selection(games=1, limit=20))
    with pytest.raises(ResultsError, match="split: easy and other"):
        run(out, "random", Selection("other", games=1))
    assert out.read_bytes() == content


@pytest.mark.parametrize("content", [b"hello\n", b"[1]\n", b'{"kind": "game"}\n', b"\xff\xfe\n", b"\n"])
def test_a_file_that_holds_something_else_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    out = tmp_path / "out.jsonl"
    out.write_bytes(content)
    with pytest.raises(ResultsError, match="header"):
        run(out)
    assert out.read_bytes() == content


BROKEN = [b"{}", b"[]", b'{"kind": "game", "name": "x"}', b'{"kind": "party"}', b"null", b"\xff"]


@pytest.mark.parametrize("row", BROKEN)
def test_a_broken_row_is_refused_with_its_line(tmp_path: Path, row: bytes) -> None:
    out = tmp_path / "out.jsonl"
    with ResultsFile(out, make_header({"world": "w"}, {}, 2)) as file:
        file.add(asdict(EpisodeRecord("w", "one", "g", "s", 0, 10)))
    assert len(read_results(out).rows) == 1
    with out.open("ab") as added:
        added.write(row + b"\n")
    with pytest.raises(ResultsError, match="line 3"):
        read_results(out)


def test_a_half_written_header_is_begun_anew(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_bytes(b'{"kind": "head')
    assert len(run(out, selection=Selection(games=1)).rows) == 1


def test_two_runs_do_not_write_to_one_file(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    header = make_header({"world": "w"}, {}, 2)
    with ResultsFile(out, header), pytest.raises(ResultsError, match="another run"):
        ResultsFile(out, header)


# ---- which games


SPECS = [
    GameSpec("w", f"{group}-{number}", group, "s", 10, seed) for seed in (0, 1) for group in "ab" for number in range(3)
]


def test_a_number_of_games_is_spread_over_the_groups() -> None:
    chosen = choose(SPECS, Selection(games=3))
    assert sorted({spec.name for spec in chosen}) == ["a-0", "a-1", "b-0"]
    assert len(chosen) == 6  # each with both seeds


@pytest.mark.parametrize(("tasks", "count"), [(("a",), 6), (("a-1",), 2), (("*-2",), 4), (("a", "b-0"), 8)])
def test_tasks_are_names_groups_or_patterns(tasks: tuple[str, ...], count: int) -> None:
    assert len(choose(SPECS, Selection(tasks=tasks))) == count


def test_a_task_that_there_is_not_is_refused_with_what_there_is() -> None:
    with pytest.raises(ValueError, match="'c'; the groups are: a, b"):
        choose(SPECS, Selection(tasks=("c",)))


@pytest.mark.parametrize(
    ("planner", "ablation", "words"),
    [
        ("best", "none", "there is no planner 'best'"),
        ("memplan", "no_luck", "there is no ablation 'no_luck'"),
        ("random", "no_parser", "random does not have it"),
        ("react", "none", "needs a model"),
    ],
)
def test_experiments_that_make_no_sense_are_refused(planner: str, ablation: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Experiment(WORLD, {}, planner, ablation)


# ---- ablations and baselines


def test_without_placeholders_the_planner_finds_no_plan() -> None:
    assert play(ablation="no_placeholders").planner_failures > 0


def test_without_costs_the_game_is_won_as_well() -> None:
    assert play(ablation="uniform_costs").won


@pytest.mark.parametrize("name", ["no_parser", "no_grounder", "no_interface", "no_negative_memory"])
def test_every_ablation_plays_to_an_end(name: str) -> None:
    record = play(ablation=name)
    assert record.won or (record.status == "running" and record.reason)


def test_every_ablation_changes_an_option() -> None:
    assert all((ablated(name) == AgentOptions()) == (name == "none") for name in ABLATIONS)


def test_breadth_first_tries_everything_and_finds_the_way() -> None:
    record = play("breadth_first", limit=400)
    assert record.won and record.invalid == 0


def test_signals_are_named_in_reasons() -> None:
    from graph_planner_ros.benchmarks.worlds.runner import _signal_name

    assert _signal_name(signal.SIGKILL) == "SIGKILL"
    assert _signal_name(200) == "signal 200"
