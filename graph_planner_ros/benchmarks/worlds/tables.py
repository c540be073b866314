"""Tables of a benchmark's results, with intervals: for the terminal and as Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table
from rich.text import Text

from graph_planner_ros.benchmarks.statistics import Interval, bootstrap_mean, bootstrap_pooled_median, wilson
from graph_planner_ros.benchmarks.worlds.records import EpisodeRecord
from graph_planner_ros.benchmarks.worlds.results import Results, some

MACRO = "macro average"
ALL = "all games"
_PLANNERS = ("memplan",)
"""Planners for which repeated checks and planner failures mean something."""


@dataclass(frozen=True)
class Column:
    """A figure of a table.

    Attributes:
        title: its heading. value: of a game; None leaves the game out. scale, digits: for showing it.
        planners: whether only planners with hypotheses have it.
    """

    title: str
    value: Callable[[EpisodeRecord], float | None]
    scale: float = 1.0
    digits: int = 1
    planners: bool = False


def charged_steps(record: EpisodeRecord) -> int:
    """Return the steps of a game; one that was not won counts with its limit, however early it ended."""
    return record.steps_taken if record.won else max(record.steps_taken, record.limit)


def step_times(record: EpisodeRecord) -> list[float]:
    """Return the seconds of deciding on each command; games that had no proper end have none."""
    return record.planning_seconds if record.agent else []


COLUMNS = (
    Column("success %", lambda record: float(record.won), 100.0),
    Column("steps", lambda record: float(charged_steps(record))),
    Column("steps, solved", lambda record: float(record.steps_taken) if record.won else None),
    Column("score", lambda record: record.score, digits=2),
    Column("LLM tokens", lambda record: float(record.tokens), digits=0),
    Column("invalid", lambda record: float(record.invalid), digits=2),
    Column("repeated checks", lambda record: float(record.repeated_checks), digits=2, planners=True),
    Column("planner failures", lambda record: float(record.planner_failures), digits=2, planners=True),
)
"""Means of games; the time a step is a median of steps and is made apart."""
TIME = "ms a step, median"
WILSON = "Wilson"


@dataclass(frozen=True)
class TableRow:
    """Figures of one group: by column title, None where there is none. ``wilson`` is of success, per game."""

    name: str
    games: int
    cells: dict[str, Interval | None]
    wilson: Interval | None


@dataclass
class ResultTable:
    """A table.

    Attributes:
        title: what was measured. rows: groups, then the macro average and all games.
        failures: why games were not won, with how many there are of each. notes: what a reader must know.
    """

    title: str
    rows: list[TableRow] = field(default_factory=list)
    failures: list[tuple[str, list[str]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def make_table(results: Results, seed: int = 0) -> ResultTable:
    """Compute all figures. Several seeds of one game are averaged before games are; ``seed`` is of the resampling."""
    records = [results.rows[key] for key in sorted(results.rows)]
    settings = results.settings
    hypotheses = has_hypotheses(settings)
    groups: dict[str, list[EpisodeRecord]] = {}
    for record in records:
        groups.setdefault(record.group or "-", []).append(record)
    table = ResultTable(describe(settings))
    for name in sorted(groups):
        table.rows.append(_row(name, [groups[name]], hypotheses, seed))
    if len(groups) > 1:
        table.rows.append(_row(MACRO, [groups[name] for name in sorted(groups)], hypotheses, seed))
    table.rows.append(_row(ALL, [records], hypotheses, seed))
    table.failures = _failures(records)
    table.notes = _notes(results)
    return table


def has_hypotheses(settings: Mapping[str, object]) -> bool:
    """Return whether repeated checks and planner failures mean something for the planner of an experiment."""
    return settings.get("planner") in _PLANNERS


def describe(settings: Mapping[str, object]) -> str:
    """Return what an experiment is, in a few words."""
    parts = [str(settings.get("world", "")), str(settings.get("split", "")), str(settings.get("planner", ""))]
    if settings.get("model"):
        parts.append(str(settings["model"]))
    if settings.get("ablation", "none") != "none":
        parts.append(str(settings["ablation"]))
    if str(settings.get("interface", "")).startswith("trained"):
        parts.append("trained interface")
    limit = settings.get("limit")
    if isinstance(limit, list):
        limit = f"{limit[0]} to {limit[-1]}"
    return ", ".join([*(part for part in parts if part), f"{limit} steps"])


def per_game(records: Iterable[EpisodeRecord], value: Callable[[EpisodeRecord], float | None]) -> dict[str, float]:
    """Return the value of each game, the mean over its seeds; games without one are left out."""
    found: dict[str, list[float]] = {}
    for record in records:
        number = value(record)
        if number is not None:
            found.setdefault(record.name, []).append(number)
    return {name: math.fsum(numbers) / len(numbers) for name, numbers in found.items()}


def _row(name: str, groups: Sequence[Sequence[EpisodeRecord]], hypotheses: bool, seed: int) -> TableRow:
    cells: dict[str, Interval | None] = {}
    for column in COLUMNS:
        samples = [list(per_game(group, column.value).values()) for group in groups]
        wanted = hypotheses or not column.planners
        cells[column.title] = bootstrap_mean(samples, seed=seed) if wanted and any(samples) else None
    records = [record for group in groups for record in group]
    times = [step_times(record) for record in records]
    cells[TIME] = bootstrap_pooled_median(times, seed=seed) if any(times) and len(groups) == 1 else None
    rate = wilson(sum(record.won for record in records), len(records)) if len(groups) == 1 else None
    return TableRow(name, len(records), cells, rate)


def _failures(records: Sequence[EpisodeRecord]) -> list[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for record in records:
        if not record.won:
            reason = record.reason or "no reason given"
            found.setdefault(f"{record.status}: {reason}", []).append(f"{record.name} ({record.seed})")
    return sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))


def _notes(results: Results) -> list[str]:
    notes = []
    if len(results.rows) < results.expected:
        notes.append(
            f"{len(results.rows)} of {results.expected} games: the run was stopped; the same command goes on with it."
        )
    sources = {entry.get("source", "") for entry in results.raw.values()}
    if len(sources) > 1:
        notes.append(f"The games were played by {len(sources)} different versions of the code.")
    if by_clock := sum(record.by_clock > 0 for record in results.rows.values()):
        notes.append(
            f"In {by_clock} games a search of the planner was ended by the clock: they may go on otherwise next time."
        )
    notes.append(
        "In brackets: 95 % intervals, from 10,000 bootstrap resamples of games; Wilson's, for success, counts every "
        "game and seed. Steps: a game that was not won counts with its limit."
    )
    return notes


# ---- output


def headings() -> list[str]:
    """Return the columns in their order."""
    titles = [column.title for column in COLUMNS]
    return ["group", "games", titles[0], WILSON, *titles[1:5], TIME, *titles[5:]]


def cells(row: TableRow) -> list[str]:
    """Return a row as text, in the order of `headings`."""
    shown = {column.title: figure(row.cells[column.title], column.scale, column.digits) for column in COLUMNS}
    shown[TIME] = figure(row.cells[TIME], 1000.0, 1)
    shown[WILSON] = interval_text(row.wilson, 100.0, 1) if row.wilson else "–"
    return [row.name, str(row.games), *(shown[title] for title in headings()[2:])]


def figure(interval: Interval | None, scale: float = 1.0, digits: int = 1) -> str:
    """Return an estimate with its interval; a dash where there is none."""
    if interval is None or math.isnan(interval.estimate):
        return "–"
    return f"{interval.estimate * scale:.{digits}f} {interval_text(interval, scale, digits)}"


def interval_text(interval: Interval, scale: float, digits: int) -> str:
    """Return the ends of an interval."""
    return f"[{interval.low * scale:.{digits}f}, {interval.high * scale:.{digits}f}]"


def markdown(table: ResultTable) -> str:
    """Return a table as Markdown."""
    lines = [f"### {table.title}", "", _line(headings()), _line(["---"] + ["---:"] * (len(headings()) - 1))]
    lines += [_line(cells(row)) for row in table.rows]
    lines += ["", *table.notes]
    if table.failures:
        lines += ["", "Not solved:", ""]
        lines += [f"- {len(names)} x {_flat(reason)}: {_flat(some(names))}" for reason, names in table.failures]
    return "\n".join(lines) + "\n"


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(_flat(text).replace("|", "\\|") for text in texts) + " |"


def _flat(text: str) -> str:
    return " ".join(text.split())


def show(table: ResultTable, console: Console) -> None:
    """Print a table to the terminal; turned on its side, and in several parts, where it would not fit."""
    names, rows = headings(), [cells(row) for row in table.rows]
    if _width([names, *rows]) <= console.width:
        _print(table.title, [names, *rows], console)
    else:
        for part in _parts(names, rows, console.width):
            _print(table.title, [list(line) for line in zip(*part, strict=True)], console)
    for note in table.notes:
        console.print(Text(note), soft_wrap=True)
    if table.failures:
        console.print(Text("not solved:"))
        for reason, found in table.failures:
            console.print(Text(f"  {len(found)} x {_flat(reason)}: {_flat(some(found))}"), soft_wrap=True)


def _parts(names: list[str], rows: Sequence[list[str]], width: int) -> list[list[list[str]]]:
    """Return groups of rows, each with the headings, that fit side by side."""
    parts: list[list[list[str]]] = []
    for row in rows:
        if parts and _width(zip(*parts[-1], row, strict=True)) <= width:
            parts[-1].append(row)
        else:
            parts.append([names, row])
    return parts


def _print(title: str, lines: Sequence[Sequence[str]], console: Console) -> None:
    printed = Table(title=Text(title), title_justify="left")
    for number, name in enumerate(lines[0]):
        printed.add_column(Text(name), justify="right" if number else "left", no_wrap=True)
    for line in lines[1:]:
        printed.add_row(*(Text(cell) for cell in line))
    console.print(printed)


def _width(lines: Iterable[Sequence[str]]) -> int:
    return sum(max(map(len, column)) + 3 for column in zip(*lines, strict=True)) + 1
