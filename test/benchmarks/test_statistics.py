"""Intervals of an evaluation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_planner_ros.benchmarks.statistics import (
    bootstrap,
    bootstrap_clusters,
    bootstrap_mean,
    bootstrap_pooled_median,
    mcnemar,
    wilson,
)


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


def test_bootstrap_of_a_mean_agrees_with_theory() -> None:
    values = np.random.default_rng(1).normal(5.0, 2.0, 400)
    interval = bootstrap_mean([values])
    half = 1.96 * values.std() / 20
    assert interval.estimate == pytest.approx(values.mean())
    assert interval.low == pytest.approx(values.mean() - half, abs=0.02)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.02)


def test_bootstrap_of_a_rate_agrees_with_the_binomial_distribution() -> None:
    # resampling 30 of 100 ones is drawing from Binomial(100, 0.3): its 2.5 % and 97.5 % quantiles are 21 and 39
    interval = bootstrap_mean([[1.0] * 30 + [0.0] * 70])
    assert (interval.low, interval.estimate, interval.high) == pytest.approx((0.21, 0.3, 0.39), abs=0.005)


def test_groups_weigh_the_same_however_large_they_are() -> None:
    interval = bootstrap_mean([[1.0] * 90, [0.0] * 10, []])
    assert (interval.low, interval.estimate, interval.high) == (0.5, 0.5, 0.5)
    assert interval.count == 100
    # the mean of two independent groups has half of the summed variances
    rng = np.random.default_rng(2)
    first, second = rng.normal(0, 1, 100), rng.normal(0, 3, 50)
    interval = bootstrap_mean([first, second])
    half = 1.96 * math.sqrt(first.var() / 100 + second.var() / 50) / 2
    assert (interval.high - interval.low) / 2 == pytest.approx(half, rel=0.05)


def test_bootstrap_of_nothing_is_nothing() -> None:
    assert bootstrap_mean([[]]).count == bootstrap_pooled_median([[], []]).count == 0
    assert math.isnan(bootstrap_mean([]).estimate)


def test_resampling_is_seeded_and_ten_thousand_fold() -> None:
    values = [[1.0, 2.0, 5.0, 9.0]]
    assert bootstrap_mean(values, seed=3) == bootstrap_mean(values, seed=3)
    assert bootstrap_pooled_median(values, seed=3) == bootstrap_pooled_median(values, seed=3)


@given(st.lists(st.lists(st.floats(-10, 10), min_size=1, max_size=5), min_size=1, max_size=6))
def test_the_pooled_median_is_that_of_all_samples(clusters: list[list[float]]) -> None:
    interval = bootstrap_pooled_median(clusters, rounds=200)
    everything = [value for cluster in clusters for value in cluster]
    assert interval.estimate == float(np.median(everything))
    assert min(everything) <= interval.low <= interval.high <= max(everything)


def test_the_pooled_median_draws_whole_clusters() -> None:
    # two clusters: only 0, only 10, or both come up, with chances 1/4, 1/4 and 1/2
    interval = bootstrap_pooled_median([[0.0] * 50, [10.0] * 50])
    assert (interval.low, interval.estimate, interval.high) == (0.0, 5.0, 10.0)


@pytest.mark.parametrize(
    ("first", "second", "p_value"),
    # binomial tails: 2 * (1 + 10) / 2^10, 2 * (1 + 5) / 2^5, one beyond a float, and the trivial ones
    [(1, 9, 22 / 1024), (4, 1, 12 / 32), (0, 0, 1.0), (3, 3, 1.0), (0, 6, 2 / 64), (0, 3000, 0.0)],
)
def test_mcnemar_agrees_with_the_binomial_distribution(first: int, second: int, p_value: float) -> None:
    assert mcnemar(first, second) == pytest.approx(p_value) == mcnemar(second, first)


def test_intervals_over_clusters_come_from_drawing_whole_clusters() -> None:
    values = np.array([0.0, 0.0, 0.0, 1.0])

    def statistic(drawn: np.ndarray) -> tuple[float, float]:
        return float(drawn @ values / drawn.sum()), math.nan

    (low, high), nothing = bootstrap_clusters(4, statistic, rounds=500)
    assert (low, high) == (0.0, 0.75)
    assert all(math.isnan(end) for end in nothing)
    assert bootstrap_clusters(4, statistic, rounds=500)[0] == (low, high)
