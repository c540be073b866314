"""Figures against known values, and which results may be compared."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from graph_planner_ros.benchmarks.worlds import compare, tables
from graph_planner_ros.benchmarks.worlds.records import EpisodeRecord, StepRecord
from graph_planner_ros.benchmarks.worlds.results import Results, ResultsError, ResultsFile, make_header, read_results

SETTINGS = {"world": "w", "split": "s", "planner": "memplan", "ablation": "none", "limit": 50, "data": "d"}


def game(name: str, group: str, won: bool, steps: int, seed: int = 0, **more: Any) -> EpisodeRecord:
    status = "won" if won else "running"
    taken = [StepRecord(number, "go", planning_seconds=0.001 * number) for number in range(steps + 1)]
    record = EpisodeRecord("w", name, group, "s", seed, 50, "memplan", status=status, steps_taken=steps, steps=taken)
    return replace(record, score=float(won), **more)


def results(path: Path, games: list[EpisodeRecord], **settings: Any) -> Results:
    with ResultsFile(path, make_header({**SETTINGS, **settings}, {}, len(games))) as file:
        for record in games:
            file.add({**asdict(record), "data": record.name})
    return read_results(path)


GAMES = [
    game("a", "easy", True, 10, tokens=100),
    game("b", "easy", True, 20),
    game("c", "easy", False, 50, reason="not solved within 50 steps"),
    game("d", "hard", False, 3, reason="it crashed"),
]


def test_figures_by_group_macro_and_all(tmp_path: Path) -> None:
    table = tables.make_table(results(tmp_path / "a", GAMES))
    rows = {row.name: row for row in table.rows}
    assert list(rows) == ["easy", "hard", tables.MACRO, tables.ALL]

    def value(row: str, title: str) -> float:
        cell = rows[row].cells[title]
        return math.nan if cell is None else cell.estimate

    assert value("easy", "success %") == pytest.approx(2 / 3)
    assert value(tables.MACRO, "success %") == pytest.approx(1 / 3)  # (2/3 + 0) / 2
    assert value(tables.ALL, "success %") == pytest.approx(1 / 2)
    # a game that was not won counts with its limit, however early it ended
    assert value("hard", "steps") == 50
    assert value(tables.ALL, "steps") == pytest.approx((10 + 20 + 50 + 50) / 4)
    assert value(tables.ALL, "steps, solved") == 15
    assert math.isnan(value("hard", "steps, solved"))
    assert value(tables.ALL, "LLM tokens") == 25
    assert rows[tables.ALL].wilson is not None and rows[tables.ALL].wilson.low == pytest.approx(0.15, abs=0.001)
    everything = [0.001 * number for record in GAMES for number in range(1, record.steps_taken + 1)]
    cell = rows[tables.ALL].cells[tables.TIME]
    assert cell is not None and cell.count == len(everything) and cell.low <= cell.estimate <= cell.high
    assert [reason for reason, _ in table.failures] == ["running: it crashed", "running: not solved within 50 steps"]


def test_seeds_of_one_game_are_averaged_first(tmp_path: Path) -> None:
    games = [game("a", "g", True, 10, seed) for seed in range(5)] + [game("b", "g", False, 50)]
    cell = tables.make_table(results(tmp_path / "a", games)).rows[-1].cells["success %"]
    assert cell is not None and cell.estimate == 0.5 and cell.count == 2


def test_the_same_file_gives_the_same_table(tmp_path: Path) -> None:
    made = results(tmp_path / "a", GAMES)
    assert tables.markdown(tables.make_table(made)) == tables.markdown(tables.make_table(made))


def test_markdown_is_a_table_whatever_games_are_called(tmp_path: Path) -> None:
    odd = [game("x|y", "a|b", False, 5, reason="one\ntwo | [red]three"), game("z", "c", True, 5)]
    text = tables.markdown(tables.make_table(results(tmp_path / "a", odd)))
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in lines}) == 1
    assert "one two | [red]three" in text


@pytest.mark.parametrize("width", [60, 80, 300])
def test_the_terminal_gets_every_figure(tmp_path: Path, width: int) -> None:
    table = tables.make_table(results(tmp_path / "a", GAMES))
    console = Console(record=True, width=width, file=(tmp_path / "shown").open("w"))
    tables.show(table, console)
    shown = console.export_text()
    for row in table.rows:
        for cell in tables.cells(row):
            assert cell in shown
    assert "2 x" not in shown and "1 x running: it crashed: d (0)" in shown


def test_unfinished_results_say_so(tmp_path: Path) -> None:
    with ResultsFile(tmp_path / "a", make_header(SETTINGS, {}, 10)) as file:
        file.add(asdict(GAMES[0]))
    assert "1 of 10 games" in tables.make_table(read_results(tmp_path / "a")).notes[0]


def test_baselines_have_no_hypotheses(tmp_path: Path) -> None:
    row = tables.make_table(results(tmp_path / "a", GAMES, planner="random")).rows[-1]
    assert row.cells["repeated checks"] is None and row.cells["planner failures"] is None


# ---- comparing


def test_a_comparison_is_paired_by_game(tmp_path: Path) -> None:
    others = [
        game("a", "easy", True, 12),
        game("b", "easy", False, 50),
        game("c", "easy", True, 30),
        game("d", "hard", True, 20),
    ]
    made = compare.compare(results(tmp_path / "a", GAMES), results(tmp_path / "b", others, ablation="no_parser"))
    groups = {group.name: group for group in made.groups}
    everything = groups[tables.ALL]
    figures = {item.title: item for item in everything.differences}
    assert (everything.only_first, everything.only_second) == (1, 2)
    assert everything.p_value == pytest.approx(1.0)
    assert figures["success %"].difference.estimate == pytest.approx(0.25)
    assert figures["steps"].difference.estimate == pytest.approx((2 + 30 - 20 - 30) / 4)
    assert figures["steps, solved"].difference.estimate == 2  # only game a was won by both
    macro = {item.title: item for item in groups[tables.MACRO].differences}
    assert macro["success %"].difference.estimate == pytest.approx((0 + 1) / 2)
    assert made.settings == ("ablation: none and no_parser",)
    text = compare.markdown(made)
    assert "won by A only: 1, by B only: 2" in text
    console = Console(record=True, width=80, file=(tmp_path / "shown").open("w"))
    compare.show(made, console)
    assert "won by A only: 1, by B only: 2" in console.export_text()


def test_equal_results_differ_by_nothing(tmp_path: Path) -> None:
    made = compare.compare(results(tmp_path / "a", GAMES), results(tmp_path / "b", GAMES))
    for group in made.groups:
        for item in group.differences:
            assert (item.difference.low, item.difference.estimate, item.difference.high) == (0, 0, 0)
        assert group.p_value in (None, 1.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"split": "other"}, "split: s and other"),
        ({"world": "v"}, "world: w and v"),
        ({"limit": 150}, "limit: 50 and 150"),
        ({"data": "e"}, "data: d and e"),
    ],
)
def test_results_of_other_splits_are_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(ResultsError, match=words):
        compare.compare(results(tmp_path / "a", GAMES), results(tmp_path / "b", GAMES, **change))


def test_results_of_other_games_are_refused_by_name(tmp_path: Path) -> None:
    whole, part = results(tmp_path / "a", GAMES), results(tmp_path / "b", GAMES[:3])
    for pair in ((whole, part), (part, whole)):
        with pytest.raises(ResultsError, match=r"1 games of .*a are missing in .*b: d \(seed 0\)"):
            compare.compare(*pair)


def test_games_that_only_share_their_name_are_refused(tmp_path: Path) -> None:
    first, second = results(tmp_path / "a", GAMES), results(tmp_path / "b", GAMES)
    second.raw["b", 0]["data"] = "another"
    with pytest.raises(ResultsError, match="the game b"):
        compare.compare(first, second)


def test_results_without_games_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="no games"):
        compare.compare(results(tmp_path / "a", []), results(tmp_path / "b", []))
