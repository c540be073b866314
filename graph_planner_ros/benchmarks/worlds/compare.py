"""Two results on the same games, paired game by game."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from graph_planner_ros.benchmarks.statistics import Interval, bootstrap_mean, mcnemar
from graph_planner_ros.benchmarks.worlds.records import EpisodeRecord
from graph_planner_ros.benchmarks.worlds.results import Results, ResultsError, differences, some
from graph_planner_ros.benchmarks.worlds.tables import (
    ALL,
    COLUMNS,
    MACRO,
    Column,
    describe,
    figure,
    has_hypotheses,
    per_game,
    step_times,
)

SAME = ("world", "split", "limit", "data")
"""Settings in which both results must agree."""


@dataclass(frozen=True)
class Difference:
    """One figure of both results and the second less the first, on games that have it in both."""

    title: str
    first: float
    second: float
    difference: Interval
    scale: float
    digits: int


@dataclass(frozen=True)
class GroupComparison:
    """Figures of one group.

    Attributes:
        games: number of pairs, seeds counted. differences: by column.
        only_first, only_second: pairs that only one of them won. p_value: McNemar's exact test; None for the average.
    """

    name: str
    games: int
    differences: tuple[Difference, ...]
    only_first: int = 0
    only_second: int = 0
    p_value: float | None = None


@dataclass(frozen=True)
class Comparison:
    """The comparison of two results; ``settings`` says in what the experiments differ."""

    first: str
    second: str
    settings: tuple[str, ...]
    groups: tuple[GroupComparison, ...]


def compare(first: Results, second: Results, seed: int = 0) -> Comparison:
    """Compare two results.

    Raises:
        ResultsError: they are not of the same games; the message names the difference.
    """
    refuse_different_games(first, second)
    keys = sorted(first.rows)
    groups: dict[str, list[tuple[str, int]]] = {}
    for key in keys:
        groups.setdefault(first.rows[key].group or "-", []).append(key)
    made = [_group(name, [groups[name]], first, second, seed) for name in sorted(groups)]
    if len(groups) > 1:
        made.append(_group(MACRO, [groups[name] for name in sorted(groups)], first, second, seed))
    made.append(_group(ALL, [keys], first, second, seed))
    names = [f"{describe(results.settings)} ({results.path})" for results in (first, second)]
    return Comparison(names[0], names[1], tuple(differences(first.settings, second.settings)), tuple(made))


def refuse_different_games(first: Results, second: Results) -> None:
    """See to it that two results are of the same games.

    Raises:
        ResultsError: naming in what they differ.
    """
    settings = [{name: results.settings.get(name) for name in SAME} for results in (first, second)]
    if differing := differences(*settings):
        raise ResultsError(f"{first.path} and {second.path} cannot be compared: they differ in {'; '.join(differing)}")
    for one, other in ((first, second), (second, first)):
        if missing := sorted(set(one.rows) - set(other.rows)):
            names = some([f"{name} (seed {number})" for name, number in missing])
            raise ResultsError(f"{len(missing)} games of {one.path} are missing in {other.path}: {names}")
    for key, record in first.rows.items():
        others = first.raw[key].get("data"), second.raw[key].get("data")
        if others[0] != others[1] or record.limit != second.rows[key].limit:
            raise ResultsError(f"the game {key[0]} (seed {key[1]}) of {first.path} is another one in {second.path}")
    if not first.rows:
        raise ResultsError(f"{first.path} and {second.path} have no games yet")


_TIME = Column("ms a step, mean", lambda record: _mean(step_times(record)), 1000.0, 1)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _group(
    name: str, groups: list[list[tuple[str, int]]], first: Results, second: Results, seed: int
) -> GroupComparison:
    keys = [key for group in groups for key in group]
    found = []
    hypotheses = all(has_hypotheses(results.settings) for results in (first, second))
    for column in (*COLUMNS, _TIME):
        if column.planners and not hypotheses:
            continue
        made = _difference(column, groups, first, second, seed)
        if made is not None:
            found.append(made)
    if len(groups) > 1:
        return GroupComparison(name, len(keys), tuple(found))
    only_first = sum(first.rows[key].won and not second.rows[key].won for key in keys)
    only_second = sum(second.rows[key].won and not first.rows[key].won for key in keys)
    return GroupComparison(name, len(keys), tuple(found), only_first, only_second, mcnemar(only_first, only_second))


def _difference(
    column: Column, groups: list[list[tuple[str, int]]], first: Results, second: Results, seed: int
) -> Difference | None:
    means: list[tuple[float, float]] = []
    samples: list[list[float]] = []
    for group in groups:
        pairs = [(first.rows[key], second.rows[key]) for key in group]
        kept = [pair for pair in pairs if all(column.value(record) is not None for record in pair)]
        values = [per_game(_side(kept, side), column.value) for side in (0, 1)]
        if kept:
            samples.append([values[1][name] - values[0][name] for name in values[0]])
            means.append(tuple(sum(side.values()) / len(side) for side in values))  # type: ignore[arg-type]
    if not samples:
        return None
    sides = [sum(mean[side] for mean in means) / len(means) for side in (0, 1)]
    interval = bootstrap_mean(samples, seed=seed)
    return Difference(column.title, sides[0], sides[1], interval, column.scale, column.digits)


def _side(pairs: list[tuple[EpisodeRecord, EpisodeRecord]], side: int) -> list[EpisodeRecord]:
    return [pair[side] for pair in pairs]


# ---- output


def _rows(group: GroupComparison) -> list[list[str]]:
    return [
        [item.title, *(f"{value * item.scale:.{item.digits}f}" for value in (item.first, item.second)),
         figure(item.difference, item.scale, item.digits)]
        for item in group.differences
    ]  # fmt: skip


def _title(group: GroupComparison) -> str:
    return f"{group.name}, {group.games} games"


def _test(group: GroupComparison) -> str:
    if group.p_value is None:
        return ""
    return f"won by A only: {group.only_first}, by B only: {group.only_second}; McNemar's exact p = {group.p_value:.3g}"


_HEADINGS = ("", "A", "B", "B - A")


def _legend(comparison: Comparison) -> list[str]:
    lines = [f"A: {comparison.first}", f"B: {comparison.second}"]
    if comparison.settings:
        lines.append(f"The experiments differ in {'; '.join(comparison.settings)}.")
    lines.append("In brackets: 95 % intervals of the paired difference, 10,000 bootstrap resamples of games.")
    lines.append(
        "Steps of solved games are of games that both solved; games that A or B has no figure of are left out."
    )
    return lines


def show(comparison: Comparison, console: Console) -> None:
    """Print a comparison to the terminal."""
    for group in comparison.groups:
        printed = Table(title=Text(_title(group)), title_justify="left", caption_justify="left")
        for number, name in enumerate(_HEADINGS):
            printed.add_column(Text(name), justify="right" if number else "left", no_wrap=True)
        for row in _rows(group):
            printed.add_row(*(Text(cell) for cell in row))
        console.print(printed)
        if test := _test(group):
            console.print(Text(test), soft_wrap=True)
    for line in _legend(comparison):
        console.print(Text(line), soft_wrap=True)


def markdown(comparison: Comparison) -> str:
    """Return a comparison as Markdown."""
    lines = ["### Paired comparison", "", *(f"{line}  " for line in _legend(comparison))]
    for group in comparison.groups:
        lines += ["", f"#### {_title(group)}", "", f"| {' | '.join(_HEADINGS)} |", "|---|---:|---:|---:|"]
        lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in _rows(group)]
        if test := _test(group):
            lines += ["", test]
    return "\n".join(lines) + "\n"
