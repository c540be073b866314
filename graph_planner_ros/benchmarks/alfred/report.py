"""Tables of a run: by task type and by horizon, with bootstrap intervals; and every failed sample to be read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from graph_planner_ros.benchmarks.alfred.evaluation import NOT_UNDERSTOOD, SUCCEEDED
from graph_planner_ros.benchmarks.statistics import (
    bootstrap_clustered_mean,
    bootstrap_pooled_median,
    wilson,
)
from graph_planner_ros.benchmarks.worlds.results import Results
from graph_planner_ros.benchmarks.worlds.tables import figure, interval_text

Row = Mapping[str, Any]
ALL = "all"
BUDGET = 0.05
"""Seconds that understanding and planning of one instruction should take together."""
LONGEST = 12
"""Horizons beyond this one stand in one line (GraphThink IV-E measures 7 to 12)."""


@dataclass(frozen=True)
class Column:
    """A mean of samples: its heading, the value of a sample, how it is shown."""

    title: str
    value: Callable[[Row], float]
    scale: float = 100.0
    digits: int = 1


def deciding_seconds(row: Row) -> float:
    """Return the seconds of understanding and planning."""
    return float(row["understanding_seconds"] + row["planning_seconds"])


COLUMNS = (
    Column("success %", lambda row: float(row["success"])),
    Column("conditions %", lambda row: float(row["conditions"])),
    Column("exact %", lambda row: float(row["exact"])),
    Column("graph pass %", lambda row: float(row["graph"])),
    Column("missing %", lambda row: float(row["missing"])),
    Column("additional %", lambda row: float(row["additional"])),
    Column("wrong transfer %", lambda row: float(row["wrong_transfer"])),
    Column("affordance %", lambda row: float(row["affordance"])),
    Column("not understood %", lambda row: float(row["status"] == NOT_UNDERSTOOD)),
    Column("tokens", lambda row: float(row["tokens"]), 1.0, 0),
    Column("within 50 ms %", lambda row: float(deciding_seconds(row) <= BUDGET)),
)
MODEL_COLUMNS = (
    Column("first answer right %", lambda row: float(row["model_first"])),
    Column("an answer right %", lambda row: float(row["model_own"])),
)
"""For planners with a language model: without MemPlan's help."""
TIMES = (
    ("understanding ms", lambda row: float(row["understanding_seconds"])),
    ("planning ms", lambda row: float(row["planning_seconds"])),
    ("processor ms", lambda row: float(row["cpu_seconds"])),
)
"""Medians."""


@dataclass(frozen=True)
class Line:
    """One line of the table: its name, how many samples, and the figures as text."""

    name: str
    count: int
    cells: tuple[str, ...]


@dataclass
class Report:
    """What a run came to.

    Attributes:
        title: what was measured. model: by a planner with a language model.
        lines: by group, by horizon, all. statuses: what became of how many.
        notes: what a reader must know.
    """

    title: str
    model: bool = False
    lines: list[Line] = field(default_factory=list)
    statuses: list[tuple[str, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def make_report(results: Results, seed: int = 0) -> Report:
    """Compute all figures; ``seed`` is of the resampling."""
    rows = [results.raw[key] for key in sorted(results.raw)]
    report = Report(describe(results.settings), results.settings.get("planner") in ("llm", "llm_actions"))
    groups: dict[str, list[Row]] = {}
    horizons: dict[tuple[bool, int], list[Row]] = {}
    for row in rows:
        groups.setdefault(group_of(row["group"]), []).append(row)
        long = row["horizon"] > LONGEST
        horizons.setdefault((long, LONGEST + 1 if long else row["horizon"]), []).append(row)
    report.lines += [_line(name, groups[name], seed, report.model) for name in sorted(groups)]
    for long, number in sorted(horizons):
        name = f"{number} subtasks" + (" and more" if long else "")
        report.lines.append(_line(name, horizons[long, number], seed, report.model))
    if rows:
        report.lines.append(_line(ALL, rows, seed, report.model))
    report.statuses = Counter(row["status"] for row in rows).most_common()
    report.notes = _notes(results, rows)
    return report


def group_of(name: str) -> str:
    """Return the group of a sample in tables: composed types are told apart by their number of goals."""
    goals = name.count("+") + 1
    return name if goals == 1 else f"{goals} goals"


def describe(settings: Mapping[str, Any]) -> str:
    """Return what was measured, in a few words."""
    parts = [settings.get(name, "") for name in ("data_name", "reader", "planner", "model", "with")]
    return ", ".join(str(part) for part in ["alfred", *parts] if part)


def columns(model: bool) -> tuple[Column, ...]:
    """Return the means of a table; ``model``: of a planner with a language model."""
    return COLUMNS + MODEL_COLUMNS if model else COLUMNS


def headings(model: bool = False) -> list[str]:
    """Return the columns in their order."""
    first, *others = columns(model)
    return ["group", "n", first.title, "Wilson", *(item.title for item in others), *(title for title, _ in TIMES)]


def _line(name: str, rows: Sequence[Row], seed: int, model: bool) -> Line:
    def clusters(value: Callable[[Row], float]) -> list[list[float]]:
        found: dict[str, list[float]] = {}
        for row in rows:
            found.setdefault(row["trajectory"], []).append(value(row))
        return list(found.values())

    cells = [figure(bootstrap_clustered_mean(clusters(c.value), seed=seed), c.scale, c.digits) for c in columns(model)]
    rate = wilson(sum(bool(row["success"]) for row in rows), len(rows))
    cells.insert(1, interval_text(rate, 100.0, 1))
    cells += [figure(bootstrap_pooled_median(clusters(value), seed=seed), 1000.0, 1) for _, value in TIMES]
    return Line(name, len(rows), tuple(cells))


def _notes(results: Results, rows: Sequence[Row]) -> list[str]:
    notes = []
    if len(rows) < results.expected:
        notes.append(f"{len(rows)} of {results.expected} samples: the run was stopped; the same command goes on.")
    if types := len({row["group"] for row in rows if "+" in row["group"]}):
        notes.append(f"{types} composed types.")
    if rows:
        for what, value in (("wall time", deciding_seconds), ("processor time", lambda row: row["cpu_seconds"])):
            times = np.array([value(row) for row in rows]) * 1000
            low, middle, high = np.percentile(times, [50, 95, 100])
            within = np.mean(times <= BUDGET * 1000) * 100
            notes.append(
                f"Understanding and planning together, {what}: median {low:.0f} ms, 95th percentile {middle:.0f} ms, "
                f"longest {high:.0f} ms; {within:.1f} % within {BUDGET * 1000:.0f} ms."
            )
    notes.append(
        "In brackets: 95 % intervals, from 10,000 bootstrap resamples of trajectories (all that people wrote about one "
        "is drawn together); Wilson's counts every sample. Times are medians."
    )
    return notes


def markdown(report: Report) -> str:
    """Return the report as Markdown."""
    names = headings(report.model)
    lines = [f"### {report.title}", "", _joined(names), _joined(["---"] + ["---:"] * (len(names) - 1))]
    lines += [_joined([line.name, str(line.count), *line.cells]) for line in report.lines]
    lines += ["", "Outcomes: " + ", ".join(f"{name} {count}" for name, count in report.statuses), "", *report.notes]
    return "\n".join(lines) + "\n"


def show(report: Report, console: Console) -> None:
    """Print the report, turned on its side: there are more columns than a terminal has room for."""
    names = headings(report.model)
    table = Table(title=Text(report.title), title_justify="left")
    shown = ("group", "n", "success %", "exact %", "graph pass %", "not understood %", *(title for title, _ in TIMES))
    chosen = [names.index(title) for title in shown]
    for column in chosen:
        table.add_column(Text(names[column]), justify="right" if column else "left")
    for line in report.lines:
        cells = [line.name, str(line.count), *line.cells]
        table.add_row(*(Text(cells[column].partition(" [")[0]) if column else Text(cells[0]) for column in chosen))
    console.print(table)
    if report.lines:
        last = [report.lines[-1].name, str(report.lines[-1].count), *report.lines[-1].cells]
        for name, cell in list(zip(names, last, strict=True))[2:]:
            console.print(Text(f"  {name}: {cell}"), soft_wrap=True)
    console.print(Text("outcomes: " + ", ".join(f"{name} {count}" for name, count in report.statuses)), soft_wrap=True)
    for note in report.notes:
        console.print(Text(note), soft_wrap=True)


def errors_markdown(results: Results) -> str:
    """Return every failed sample with all that is needed to see why, as Markdown."""
    rows = [results.raw[key] for key in sorted(results.raw) if results.raw[key]["status"] != SUCCEEDED]
    lines = [f"# {describe(results.settings)}: {len(rows)} of {len(results.raw)} samples failed", ""]
    for row in rows:
        lines += [
            f"## {row['name']}",
            "",
            f"- instruction: {_flat(row['instruction'])}",
            f"- what became of it: {row['status']}: {_flat(row['reason'])}",
            f"- understood: {_flat('; then '.join(row['goals'])) or 'nothing'}",
            f"- ground truth: {_flat(row['truth'])}",
            f"- confidence: {row['confidence']:.2f}"
            + (f"; question: {_flat(row['question'])}" * bool(row["question"])),
            f"- plan: {_steps(row['subtasks']) or 'none'}",
            f"- ground-truth plan: {_steps(row['reference'])}",
            f"- there: {', '.join(row['classes'])}",
            "",
        ]
    return "\n".join(lines)


def _steps(steps: Sequence[Sequence[str]]) -> str:
    return ", ".join(f"{step[0]}({', '.join(step[1:])})" for step in steps)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _joined(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def keep_row(results: Results, entry: Mapping[str, Any]) -> None:
    """Keep the row of a sample in results that are read or written.

    Raises:
        ValueError: (KeyError, TypeError) if it is no such row.
    """
    for name in _NUMBERS:
        if not isinstance(entry[name], (int, float)) or not math.isfinite(entry[name]):
            raise ValueError(f"{name} is no number")
    for name in _TEXTS:
        if not isinstance(entry[name], str):
            raise ValueError(f"{name} is no text")
    results.raw[entry["name"], entry["seed"]] = dict(entry)


_NUMBERS = (
    *("seed", "horizon", "tokens", "success", "conditions", "exact", "graph", "missing", "additional", "confidence"),
    *("wrong_transfer", "affordance", "understanding_seconds", "planning_seconds", "cpu_seconds"),
)
_TEXTS = ("name", "group", "trajectory", "instruction", "status", "reason", "truth", "question")

__all__ = ["Report", "errors_markdown", "keep_row", "make_report", "markdown", "show"]
