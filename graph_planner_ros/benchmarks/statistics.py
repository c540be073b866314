"""Intervals that go with every number of an evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval and the number of samples."""

    estimate: float
    low: float
    high: float
    count: int


def wilson(successes: int, count: int, confidence: float = 0.95) -> Interval:
    """Return the success rate with Wilson's score interval (Wilson 1927); without samples anything is possible."""
    if not 0 <= successes <= count:
        raise ValueError(f"successes must lie between 0 and the count {count}, not {successes}")
    _check_confidence(confidence)
    if count == 0:
        return Interval(math.nan, 0.0, 1.0, 0)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    rate = successes / count
    scale = 1 + z * z / count
    center = (rate + z * z / (2 * count)) / scale
    half = z / scale * math.sqrt(rate * (1 - rate) / count + z * z / (4 * count * count))
    # With no or only successes one end is exactly the rate; rounding must not move it past.
    low = 0.0 if successes == 0 else max(0.0, center - half)
    high = 1.0 if successes == count else min(1.0, center + half)
    return Interval(rate, low, high, count)


def bootstrap(
    samples: Sequence[float],
    statistic: Callable[[NDArray[np.float64]], float] = lambda values: float(np.median(values)),
    confidence: float = 0.95,
    rounds: int = 2000,
    seed: int = 0,
) -> Interval:
    """Return a statistic (the median) with its percentile bootstrap interval (Efron 1979)."""
    _check(confidence, rounds)
    values = np.asarray(samples, dtype=float)
    if len(values) == 0:
        return Interval(math.nan, math.nan, math.nan, 0)
    rng = np.random.default_rng(seed)
    drawn = [statistic(values[rng.integers(0, len(values), len(values))]) for _ in range(rounds)]
    return _percentiles(statistic(values), np.asarray(drawn), confidence, len(values))


ROUNDS = 10_000
"""Resamples of the intervals of a benchmark's tables."""
_CHUNK = 4_000_000
"""Numbers drawn at a time: bounds the memory."""


def bootstrap_mean(
    groups: Sequence[Sequence[float]], confidence: float = 0.95, rounds: int = ROUNDS, seed: int = 0
) -> Interval:
    """Return the mean of the groups' means with its percentile bootstrap interval, resampled within each group.

    With one group that is the mean and its interval. Groups without samples do not take part; ``count`` is the number
    of samples.
    """
    _check(confidence, rounds)
    values = [np.asarray(group, dtype=float) for group in groups if len(group)]
    if not values:
        return Interval(math.nan, math.nan, math.nan, 0)
    rng = np.random.default_rng(seed)
    drawn = np.zeros(rounds)
    for group in values:
        drawn += _resampled_means(group, rounds, rng)
    estimate = float(np.mean([group.mean() for group in values]))
    return _percentiles(estimate, drawn / len(values), confidence, sum(map(len, values)))


def bootstrap_clustered_mean(
    clusters: Sequence[Sequence[float]], confidence: float = 0.95, rounds: int = ROUNDS, seed: int = 0
) -> Interval:
    """Return the mean of all samples with its bootstrap interval, where whole clusters are drawn again.

    Samples of one cluster (what several people wrote about one recording) are alike. ``count``: of the samples.
    """
    _check(confidence, rounds)
    filled = [cluster for cluster in clusters if len(cluster)]
    if not filled:
        return Interval(math.nan, math.nan, math.nan, 0)
    sums = np.array([math.fsum(cluster) for cluster in filled])
    sizes = np.array([len(cluster) for cluster in filled])
    estimate = math.fsum(sums) / int(sizes.sum())
    if all(value == filled[0][0] for cluster in filled for value in cluster):
        return Interval(filled[0][0], filled[0][0], filled[0][0], int(sizes.sum()))
    rng = np.random.default_rng(seed)
    drawn: list[NDArray[np.float64]] = []
    for size in _chunks(rounds, len(filled)):
        rows = rng.integers(0, len(filled), (size, len(filled)))
        drawn.append(sums[rows].sum(axis=1) / sizes[rows].sum(axis=1))
    return _percentiles(estimate, np.concatenate(drawn), confidence, int(sizes.sum()))


def bootstrap_pooled_median(
    clusters: Sequence[Sequence[float]], confidence: float = 0.95, rounds: int = ROUNDS, seed: int = 0
) -> Interval:
    """Return the median of all samples with its bootstrap interval, where whole clusters are drawn again.

    Samples of one cluster (the steps of a game) are alike, so drawing them one by one would make the interval too
    narrow. ``count`` is the number of samples.
    """
    _check(confidence, rounds)
    filled = [np.asarray(cluster, dtype=float) for cluster in clusters if len(cluster)]
    if not filled:
        return Interval(math.nan, math.nan, math.nan, 0)
    samples = np.concatenate(filled)
    owners = np.repeat(np.arange(len(filled)), [len(cluster) for cluster in filled])
    order = np.argsort(samples, kind="stable")
    samples, owners = samples[order], owners[order]
    rng = np.random.default_rng(seed)
    drawn: list[NDArray[np.float64]] = []
    for size in _chunks(rounds, len(samples)):
        weights = rng.multinomial(len(filled), np.full(len(filled), 1 / len(filled)), size=size)
        reached = np.cumsum(weights[:, owners], axis=1)
        middle = reached[:, -1:] / 2
        low = samples[np.argmax(reached >= middle, axis=1)]
        high = samples[np.argmax(reached > middle, axis=1)]
        drawn.append((low + high) / 2)
    return _percentiles(float(np.median(samples)), np.concatenate(drawn), confidence, len(samples))


def bootstrap_clusters(
    clusters: int,
    statistic: Callable[[NDArray[np.int64]], Sequence[float]],
    confidence: float = 0.95,
    rounds: int = 1000,
    seed: int = 0,
) -> list[tuple[float, float]]:
    """Return intervals of several statistics of pairs of samples, where whole clusters are drawn again.

    Args:
        clusters: how many there are, one at least.
        statistic: takes how often each cluster was drawn, shape (clusters,). Draws in which it is NaN do not count.
    """
    _check(confidence, rounds)
    rng = np.random.default_rng(seed)
    drawn = np.array([statistic(rng.multinomial(clusters, [1 / clusters] * clusters)) for _ in range(rounds)])
    tail = 50 * (1 - confidence)
    columns = [column[~np.isnan(column)] for column in drawn.T]
    ends = [np.percentile(column, [tail, 100 - tail]) if len(column) else (math.nan, math.nan) for column in columns]
    return [(float(low), float(high)) for low, high in ends]


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the two-sided exact p value of McNemar's test (1947) for pairs in which only one of two succeeded."""
    if only_first < 0 or only_second < 0:
        raise ValueError(f"counts must not be negative: {only_first} and {only_second}")
    total, less = only_first + only_second, min(only_first, only_second)
    # Integers: the powers of two of many pairs are beyond a float.
    tail = sum(math.comb(total, number) for number in range(less + 1))
    return min(1.0, 2 * tail / 2**total) if total else 1.0


def _resampled_means(values: NDArray[np.float64], rounds: int, rng: np.random.Generator) -> NDArray[np.float64]:
    if np.all(values == values[0]):
        return np.full(rounds, values[0])  # exact, where a mean would round
    count = len(values)
    means = [values[rng.integers(0, count, (size, count))].mean(axis=1) for size in _chunks(rounds, count)]
    return np.concatenate(means)


def _chunks(rounds: int, width: int) -> list[int]:
    size = max(1, min(rounds, _CHUNK // max(1, width)))
    return [min(size, rounds - start) for start in range(0, rounds, size)]


def _percentiles(estimate: float, drawn: NDArray[np.float64], confidence: float, count: int) -> Interval:
    tail = 50 * (1 - confidence)
    low, high = np.percentile(drawn, [tail, 100 - tail])
    return Interval(estimate, float(low), float(high), count)


def _check(confidence: float, rounds: int) -> None:
    _check_confidence(confidence)
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, not {rounds}")


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence must lie between 0 and 1, not {confidence}")
