"""Confidence that means what it says: isotonic regression, and how far off a confidence is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np


@dataclass(frozen=True)
class Calibration:
    """A rising step function from a raw confidence to how often such predictions were right.

    Attributes:
        bounds: raw confidences at which the steps begin, rising. values: of the steps, rising, 0 to 1.
    """

    bounds: tuple[float, ...] = ()
    values: tuple[float, ...] = ()

    def __call__(self, raw: float) -> float:
        """Return the calibrated confidence; the raw one where nothing was learned."""
        if not self.bounds:
            return raw
        return self.values[max(0, int(np.searchsorted(self.bounds, raw, side="right")) - 1)]


def fit_calibration(raw: Sequence[float], correct: Sequence[bool]) -> Calibration:
    """Fit by pooling adjacent violators (Ayer et al. 1955), each step with Laplace's correction.

    Args:
        raw: confidences, 0 to 1. correct: whether the prediction with each was right.

    Raises:
        ValueError: the two are not of the same length, or a confidence is no number from 0 to 1.
    """
    if len(raw) != len(correct):
        raise ValueError(f"{len(raw)} confidences and {len(correct)} outcomes")
    if not all(0.0 <= value <= 1.0 for value in raw):
        raise ValueError("confidences lie between 0 and 1")
    counts: dict[float, list[float]] = {}
    for value, right in zip(raw, correct, strict=True):
        entry = counts.setdefault(float(value), [0.0, 0.0])
        entry[0] += right
        entry[1] += 1.0
    pools: list[list[float]] = []  # of each step: where it begins, right ones, all
    for value, (right_ones, all_) in sorted(counts.items()):
        pools.append([value, right_ones, all_])
        # a step must not be lower than the one before it; what was just added to may have sunk below it
        while len(pools) > 1 and pools[-2][1] / pools[-2][2] >= pools[-1][1] / pools[-1][2]:
            _, good, count = pools.pop()
            pools[-1][1] += good
            pools[-1][2] += count
    values = [(good + 1.0) / (count + 2.0) for _, good, count in pools]
    return Calibration(tuple(begin for begin, _, _ in pools), tuple(accumulate(values, max)))


def expected_calibration_error(confidence: Sequence[float], correct: Sequence[bool], bins: int = 10) -> float:
    """Return the mean distance between confidence and accuracy over bins of equal width (Guo et al. 2017).

    NaN without predictions.
    """
    if not len(confidence):
        return float("nan")
    values, right = np.asarray(confidence, dtype=float), np.asarray(correct, dtype=float)
    numbers = np.clip((values * bins).astype(int), 0, bins - 1)
    off = 0.0
    for number in range(bins):
        inside = numbers == number
        if inside.any():
            off += inside.sum() * abs(values[inside].mean() - right[inside].mean())
    return float(off / len(values))
