"""How well embeddings tell trajectories apart: distances of pairs of steps, ROC-AUC, and the threshold tau.

Three kinds of pairs: *adjacent* (a step and the next one of a trajectory), *same* (any two steps of one trajectory) and
*cross* (steps of two trajectories of one domain). All distances are cosine distances, 0 to 2 (GiG, Fig. 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.memory.experience import Embedding

MAX_PAIRS = 100_000
"""Of a kind; of more, so many are drawn."""
PAPER_TAU = 0.1

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Pairs:
    """Pairs of steps, the nearest first: distances, and the trajectories that they are from, all of shape (n,)."""

    distances: Numbers
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    def weights(self, drawn: NDArray[np.int64]) -> Numbers:
        """Return how often each pair is in a sample of trajectories, where ``drawn`` counts each of them.

        Two trajectories that were drawn a and b times are in it a x b times, a pair of one trajectory a times.
        """
        both = drawn[self.first] * np.where(self.first == self.second, 1, drawn[self.second])
        return both.astype(np.float64)


@dataclass(frozen=True)
class Geometry:
    """The pairs of a set of trajectories."""

    adjacent: Pairs
    same: Pairs
    cross: Pairs
    trajectories: int


@dataclass(frozen=True)
class Figures:
    """What a geometry comes to: medians of the distances of adjacent and of cross pairs, and the ROC-AUC of `same`."""

    adjacent: float
    cross: float
    auc: float


@dataclass(frozen=True)
class Threshold:
    """A threshold with the shares of adjacent pairs (wanted) and of cross pairs (not wanted) that lie under it."""

    tau: float
    adjacent_share: float
    cross_share: float


def measure(trajectories: Sequence[Embedding], seed: int = 0) -> Geometry:
    """Return the pairs of trajectories.

    Args:
        trajectories: the embeddings of each, shape (steps, dimension), all of one domain.
        seed: of drawing where there are more than `MAX_PAIRS`.
    """
    rng = np.random.default_rng(seed)
    lengths = np.array([len(steps) for steps in trajectories], np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    rows = np.concatenate([np.asarray(steps, np.float64) for steps in trajectories if len(steps)] or [np.zeros((0, 1))])
    owner = np.repeat(np.arange(len(lengths)), lengths)
    adjacent = np.flatnonzero(owner[:-1] == owner[1:])
    same = [start + np.stack(np.triu_indices(length, 1)) for start, length in zip(starts, lengths, strict=False)]
    inside = np.concatenate(same, axis=1) if same else np.zeros((2, 0), np.int64)
    if inside.shape[1] > MAX_PAIRS:
        inside = inside[:, np.sort(rng.choice(inside.shape[1], MAX_PAIRS, replace=False))]
    return Geometry(
        _pairs(rows, owner, adjacent, adjacent + 1),
        _pairs(rows, owner, inside[0], inside[1]),
        _pairs(rows, owner, *_cross(owner, rng)),
        len(trajectories),
    )


def _cross(owner: NDArray[np.int64], rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    count = len(owner)
    if count * (count - 1) // 2 <= 4 * MAX_PAIRS:
        first, second = np.triu_indices(count, 1)
    else:
        first, second = rng.integers(0, count, (2, 2 * MAX_PAIRS))
    apart = np.flatnonzero(owner[first] != owner[second])
    if len(apart) > MAX_PAIRS:
        apart = np.sort(rng.choice(apart, MAX_PAIRS, replace=False))
    return first[apart], second[apart]


def _pairs(rows: Numbers, owner: NDArray[np.int64], first: NDArray[np.int64], second: NDArray[np.int64]) -> Pairs:
    distances = 1.0 - np.einsum("nd,nd->n", rows[first], rows[second])
    order = np.argsort(distances, kind="stable")
    return Pairs(distances[order], owner[first][order], owner[second][order])


def figures(geometry: Geometry, drawn: NDArray[np.int64] | None = None) -> Figures:
    """Return the figures of a geometry; NaN where there are no pairs.

    Args:
        drawn: how often each trajectory counts, shape (trajectories,); once each if left out.
    """
    counts = np.ones(geometry.trajectories, np.int64) if drawn is None else drawn
    weights = [pairs.weights(counts) for pairs in (geometry.adjacent, geometry.same, geometry.cross)]
    return Figures(
        _median(geometry.adjacent.distances, weights[0]),
        _median(geometry.cross.distances, weights[2]),
        roc_auc(geometry.same.distances, geometry.cross.distances, weights[1], weights[2]),
    )


def _median(values: Numbers, weights: Numbers) -> float:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    if not len(values) or reached[-1] <= 0:
        return float("nan")
    low = values[order[np.searchsorted(reached, reached[-1] / 2, side="left")]]
    high = values[order[min(np.searchsorted(reached, reached[-1] / 2, side="right"), len(values) - 1)]]
    return float(low + high) / 2


def roc_auc(
    near: Numbers, far: Numbers, near_weights: Numbers | None = None, far_weights: Numbers | None = None
) -> float:
    """Return the probability that a pair of ``near`` is nearer than one of ``far``, ties counting half (ROC-AUC).

    Args:
        near, far: distances. near_weights, far_weights: how often each counts; once if left out.
    """
    first = np.ones(len(near)) if near_weights is None else near_weights
    second = np.ones(len(far)) if far_weights is None else far_weights
    if first.sum() <= 0 or second.sum() <= 0:
        return float("nan")
    order = np.argsort(far, kind="stable")
    above = np.concatenate([[0.0], np.cumsum(second[order])])
    below = above[np.searchsorted(far[order], near, side="left")]
    not_above = above[np.searchsorted(far[order], near, side="right")]
    beaten = above[-1] - (below + not_above) / 2
    return float(np.sum(first * beaten) / (first.sum() * above[-1]))


def threshold_at(geometry: Geometry, tau: float) -> Threshold:
    """Return the shares of pairs that lie under a threshold."""
    adjacent, cross = geometry.adjacent.distances, geometry.cross.distances
    return Threshold(
        tau,
        float(np.mean(adjacent < tau)) if len(adjacent) else 0.0,
        float(np.mean(cross < tau)) if len(cross) else 0.0,
    )


def choose_tau(geometries: Sequence[Geometry]) -> float:
    """Return the threshold that best parts adjacent from cross pairs.

    The share of adjacent pairs under it minus the share of cross pairs under it (Youden's J), averaged over the
    geometries, is largest there. Of equally good ones the middle is taken, in steps of 0.005.

    Raises:
        ValueError: there is no geometry with pairs of both kinds.
    """
    usable = [item for item in geometries if len(item.adjacent.distances) and len(item.cross.distances)]
    if not usable:
        raise ValueError("a threshold needs two trajectories of one domain, one of them with two steps")
    candidates = np.arange(1, 400) * 0.005
    gain = np.zeros(len(candidates))
    for geometry in usable:
        shares = [threshold_at(geometry, tau) for tau in candidates]
        gain += [share.adjacent_share - share.cross_share for share in shares]
    best = np.flatnonzero(gain >= gain.max() - 1e-9)
    return round(float(candidates[best[len(best) // 2]]), 3)
