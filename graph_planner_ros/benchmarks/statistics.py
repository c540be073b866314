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
    _check_confidence(confidence)
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, not {rounds}")
    values = np.asarray(samples, dtype=float)
    if len(values) == 0:
        return Interval(math.nan, math.nan, math.nan, 0)
    rng = np.random.default_rng(seed)
    drawn = [statistic(values[rng.integers(0, len(values), len(values))]) for _ in range(rounds)]
    tail = 50 * (1 - confidence)
    low, high = np.percentile(drawn, [tail, 100 - tail])
    return Interval(statistic(values), float(low), float(high), len(values))


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence must lie between 0 and 1, not {confidence}")
