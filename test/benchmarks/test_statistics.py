"""Intervals of an evaluation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_planner_ros.benchmarks.statistics import bootstrap, wilson


@pytest.mark.parametrize(
    ("successes", "count", "low", "high"),
    # Newcombe 1998, table I, method 3
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_agrees_with_published_intervals(successes: int, count: int, low: float, high: float) -> None:
    interval = wilson(successes, count)
    assert interval.low == pytest.approx(low, abs=5e-5)
    assert interval.high == pytest.approx(high, abs=5e-5)


@given(st.integers(0, 500), st.integers(0, 500), st.floats(0.5, 0.99))
def test_wilson_holds_the_rate_and_mirrors(successes: int, failures: int, confidence: float) -> None:
    count = successes + failures
    interval, mirrored = wilson(successes, count, confidence), wilson(failures, count, confidence)
    assert 0 <= interval.low <= interval.high <= 1
    if count:
        assert interval.low <= interval.estimate <= interval.high
    assert interval.low == pytest.approx(1 - mirrored.high)


def test_wilson_narrows_with_more_samples() -> None:
    widths = [wilson(9 * n, 10 * n).high - wilson(9 * n, 10 * n).low for n in (1, 5, 50)]
    assert widths == sorted(widths, reverse=True)


def test_no_samples_say_nothing() -> None:
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0.0, 1.0)
    assert math.isnan(bootstrap([]).estimate)


@pytest.mark.parametrize("arguments", [(3, 2), (-1, 2)])
def test_impossible_counts_are_refused(arguments: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="successes"):
        wilson(*arguments)
    with pytest.raises(ValueError, match="confidence"):
        wilson(1, 2, 1.0)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.integers(0, 100))
def test_the_bootstrap_stays_within_the_samples_and_repeats_itself(samples: list[float], seed: int) -> None:
    interval = bootstrap(samples, rounds=50, seed=seed)
    assert min(samples) <= interval.low <= interval.high <= max(samples)
    assert interval == bootstrap(samples, rounds=50, seed=seed)


def test_the_bootstrap_covers_the_median_of_a_known_distribution() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for round_number in range(100):
        interval = bootstrap(list(rng.normal(2.0, 1.0, 40)), rounds=200, seed=round_number)
        hits += interval.low <= 2.0 <= interval.high
    assert hits >= 85
