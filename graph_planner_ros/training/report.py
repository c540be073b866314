"""Figures of a run with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graph_planner_ros.benchmarks.statistics import Interval, bootstrap_mean
from graph_planner_ros.planning.rewards import Rewards
from graph_planner_ros.training.settings import REWARDS

SHARE = 0.1
"""Share of the steps that make the beginning and the end."""


def plain(interval: Interval) -> dict[str, float | int]:
    """Return an interval as plain values."""
    return {
        "mean": round(interval.estimate, 4),
        "low": round(interval.low, 4),
        "high": round(interval.high, 4),
        "n": interval.count,
    }


def text(entry: Mapping[str, Any]) -> str:
    """Return an interval for people."""
    return f"{entry['mean']:.3f} [{entry['low']:.3f}, {entry['high']:.3f}], n = {entry['n']}"


def reward_figures(rewards: Sequence[Rewards]) -> dict[str, dict[str, float | int]]:
    """Return the mean of each reward and of their sum, with 95 % bootstrap intervals over the answers."""
    named = {name: [getattr(item, name) for item in rewards] for name in (*REWARDS, "total")}
    return {name: plain(bootstrap_mean([values])) for name, values in named.items()}


def difference(before: Sequence[Rewards], after: Sequence[Rewards]) -> dict[str, float | int]:
    """Return the mean difference of the sums, with its interval over the prompts, which are the same."""
    return plain(bootstrap_mean([[b.total - a.total for a, b in zip(before, after, strict=True)]]))


def first_and_last(rows: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    """Return a figure's mean over the first and the last tenth of the steps that have it, and their difference."""
    values = [float(row[name]) for row in rows if name in row]
    width = max(1, round(SHARE * len(values)))
    if len(values) < 2 * width:
        return {}
    first, last = values[:width], values[-width:]
    return {
        "steps": width,
        "first": plain(bootstrap_mean([first])),
        "last": plain(bootstrap_mean([last])),
        "difference": plain(bootstrap_mean([[b - a for a, b in zip(first, last, strict=True)]])),
    }
