"""`memory collect`: what is asked for, what is in the file already, and what cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from graph_planner_ros.commands.memory_collect import app, numbers_of
from graph_planner_ros.memory.episode_files import read_episodes


@pytest.mark.parametrize(("text", "numbers"), [("", []), ("3", [3]), ("0-2,7", [0, 1, 2, 7]), ("42,84", [42, 84])])
def test_numbers_are_lists_and_ranges(text: str, numbers: list[int]) -> None:
    assert numbers_of(text) == numbers


@pytest.mark.parametrize("text", ["a", "1-", "-1", "1-b", "1.5"])
def test_what_is_no_number_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="expected numbers"):
        numbers_of(text)


def test_the_kitchen_is_collected_once_and_gone_on_with(tmp_path: Path) -> None:
    out = tmp_path / "kitchen.jsonl"
    command = ["kitchen", "--layouts", "galley", "--seed", "1", "--out", str(out)]
    first = CliRunner().invoke(app, [*command, "--games", "1"])
    assert first.exit_code == 0, first.output
    more = CliRunner().invoke(app, [*command, "--games", "2"])
    assert more.exit_code == 0 and "1 episodes added" in more.output
    episodes = list(read_episodes(out))
    assert [episode.header.origin for episode in episodes] == ["kitchen galley galley/1/0", "kitchen galley galley/1/1"]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["kitchen", "--layouts", "igloo"], "igloo"),
        (["kitchen", "--seed", "x"], "expected numbers"),
        (["alfworld", "--data", "nowhere"], "nowhere"),
        (["bag", "nowhere"], "no bag in nowhere"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(tmp_path: Path, arguments: list[str], what: str) -> None:
    out = tmp_path / "x.jsonl"
    result = CliRunner().invoke(app, [*arguments, "--out", str(out)])
    assert result.exit_code in (2, 3)
    assert what in result.output.replace("\n", "")
    assert not out.exists()
