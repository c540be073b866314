"""The commands of ``graph-planner memory`` that look after a bank: what they say, and how they end."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from bank_fakes import Encoder, episode, header
from typer.testing import CliRunner

from graph_planner_ros.cli import app
from graph_planner_ros.commands import memory
from graph_planner_ros.memory.bank import LIMIT_STEPS, ExperienceBank
from graph_planner_ros.memory.episode_files import read_episodes, write_episodes
from graph_planner_ros.memory.experience import EpisodeStatus


@pytest.fixture(autouse=True)
def encoder(monkeypatch: pytest.MonkeyPatch) -> Encoder:
    """Commands use this encoder instead of the shipped one."""
    made = Encoder()
    monkeypatch.setattr(memory, "_encoder", lambda path: made)
    return made


@pytest.fixture()
def bank(tmp_path: Path) -> Path:
    path = tmp_path / "bank.sqlite"
    with ExperienceBank.open(path, None, Encoder()) as opened:
        opened.add_episodes([episode(1), episode(2, status=EpisodeStatus.FAILED), episode(3, origin="robot 3")])
    return path


def run(*arguments: object, code: int = 0, answer: str = "") -> str:
    result = CliRunner().invoke(app, ["memory", *map(str, arguments)], input=answer)
    assert result.exit_code == code, result.output
    return result.output


def test_statistics(bank: Path) -> None:
    assert "1 failed, 2 succeeded" in run("stats", bank, "--check")
    assert json.loads(run("stats", bank, "--json"))["steps"] == 12


def test_in_and_out(bank: Path, tmp_path: Path) -> None:
    file, new = tmp_path / "out.jsonl.gz", tmp_path / "new.sqlite"
    assert "3 episodes" in run("export", bank, file)
    assert "exists already" in run("export", bank, file, code=2)
    assert "3 episodes with 12 steps added" in run("import", new, file)
    assert "3 were there already" in run("import", new, file)
    assert "3 episodes" in run("export", "--damaged", bank, tmp_path / "saved.jsonl")
    assert len(list(read_episodes(tmp_path / "saved.jsonl"))) == 3


def test_a_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("no episode\n")
    assert "line 1" in run("import", tmp_path / "new.sqlite", tmp_path / "bad.jsonl", code=2)
    assert "no such bank" in run("stats", tmp_path / "none.sqlite", code=2)
    assert "not an experience bank" in run("stats", tmp_path / "bad.jsonl", code=2)
    assert "no such bank" in run("delete", tmp_path / "none.sqlite", "--origin", "x", "--yes", code=2)
    assert not (tmp_path / "none.sqlite").exists()


def test_merging(bank: Path, tmp_path: Path) -> None:
    target = tmp_path / "all.sqlite"
    output = run("merge", target, bank, bank)
    assert "3 episodes with 12 steps added" in output
    assert "3 were there already" in output
    write_episodes(tmp_path / "one.jsonl", [episode(1, reason="otherwise")])
    run("import", tmp_path / "one.sqlite", tmp_path / "one.jsonl")
    assert "another episode with the id episode 1" in run("merge", target, tmp_path / "one.sqlite", code=1)


def test_what_is_refused_makes_no_bank_and_changes_none(bank: Path, tmp_path: Path) -> None:
    new, good, foreign = tmp_path / "new.sqlite", tmp_path / "good.jsonl", tmp_path / "foreign.jsonl"
    stranger = replace(episode(8), header=replace(episode(8).header, domain="warehouse", domain_hash="other"))
    write_episodes(good, [episode(7)])
    write_episodes(foreign, [stranger])
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text(good.read_text() + good.read_text()[:200])
    run("import", tmp_path / "foreign.sqlite", foreign)
    for arguments, words in (
        (("import", new, foreign, "--domain", "household"), "nothing was added"),
        (("import", new, good, foreign), "nothing was added"),
        (("import", new, good, damaged), "line 2"),
        (("import", new, good, tmp_path / "none.jsonl"), "none.jsonl"),
        (("merge", new, tmp_path / "none.sqlite"), "no such bank"),
        (("merge", new, bank, tmp_path / "none.sqlite"), "no such bank"),
        (("merge", new, bank, tmp_path / "foreign.sqlite"), "warehouse"),
        (("merge", new, bank, good), "not an experience bank"),
    ):
        assert words in run(*arguments, code=2)
        assert not new.exists(), arguments
    before = run("stats", bank, "--json")
    assert "warehouse" in run("merge", bank, tmp_path / "foreign.sqlite", code=2)
    assert "nothing was added" in run("import", bank, foreign, code=2)
    assert json.loads(run("stats", bank, "--json"))["episodes"] == json.loads(before)["episodes"]


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (["--episode", "episode 1"], {2, 3}),
        (["--status", "failed"], {1, 3}),
        (["--origin", "robot 3"], {1, 2}),
        (["--layout", "garden 2"], {1, 3}),
        (["--before", "1970-01-02"], set()),
        (["--before", "1970-01-01"], {1, 2, 3}),
        (["--status", "failed", "--origin", "robot 3"], {1, 2, 3}),
    ],
)
def test_deleting_what_is_asked_for(bank: Path, options: list[str], left: set[int]) -> None:
    run("delete", bank, *options, "--yes")
    with ExperienceBank.open(bank, None, None, read_only=True) as opened:
        assert {h.episode_id for h in opened.headers()} == {f"episode {number}" for number in left}


def test_deleting_asks_first_and_refuses_what_is_not_clear(bank: Path) -> None:
    run("delete", bank, "--status", "failed", code=130, answer="n\n")
    assert "say which" in run("delete", bank, "--yes", code=2)
    assert "nobody" in run("delete", bank, "--episode", "nobody", "--episode", "episode 1", "--yes", code=2)
    assert "expected succeeded" in run("delete", bank, "--status", "running", code=2)
    assert "2026-01-31" in run("delete", bank, "--before", "yesterday", code=2)
    with ExperienceBank.open(bank, None, Encoder()) as opened:
        assert len(opened.headers()) == 3
        opened.begin(header(9))
        run("delete", bank, "--before", "2000-01-01", "--yes")  # what is being written stays
        assert [h.episode_id for h in opened.headers()] == ["episode 9"]


def test_rebuilding(bank: Path, encoder: Encoder) -> None:
    encoder.model_hash = "second model"
    assert "first model -> second model" in run("rebuild", bank)
    with ExperienceBank.open(bank, None, Encoder(model_hash="second model")) as opened:
        assert "open for writing" in run("rebuild", bank, code=2)
        assert len(opened.nearest(encoder.vector(0.0), 99)) == 6
    assert "has episodes of the domain" in run("rebuild", bank, "--domain", "household", code=2)


def test_the_limit_that_help_shows_is_the_banks() -> None:
    assert memory.LIMIT_STEPS == LIMIT_STEPS


def test_json_is_json_however_long_a_path_is(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 40)
    folder.mkdir()
    write_episodes(folder / "good.jsonl", [episode(7)])
    run("import", folder / "bank.sqlite", folder / "good.jsonl")
    assert json.loads(run("stats", folder / "bank.sqlite", "--json"))["path"] == str(folder / "bank.sqlite")
