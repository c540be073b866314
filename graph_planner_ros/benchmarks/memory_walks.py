"""Made-up embeddings like real ones: random walks on a sphere of few dimensions inside the space of the vectors.

A trained encoder puts consecutive scenes of a trajectory close together (median cosine distance under 0.1) and
trajectories far apart (over 0.75); its vectors fill few of their dimensions. So a walk starts anywhere on the unit
sphere of `LATENT` dimensions, moves on at each step by a normal vector, is laid into the space of the embeddings by a
fixed random rotation, and gets a little noise in every component. No two walks are related: the hardest case for
queries of trajectories that the bank does not know.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.memory.experience import Embedding

LATENT = 24
STRIDE = 0.25
NOISE = 0.02
"""Dimensions of the sphere, length of a step on it, and noise in each component; median distance of consecutive steps
0.075, of unrelated ones 1.0."""
STEPS = 25
"""Steps of a walk that are in the bank."""
_WALKS = 400
"""Walks made at a time."""


@dataclass(frozen=True)
class Walks:
    """How the walks of a bank are made.

    Attributes:
        count: of walks. dimension: of the vectors. held_out: steps of each walk, at random places, that are not in the
            bank. seed: the same numbers give the same vectors.
    """

    count: int
    dimension: int
    held_out: int
    seed: int

    def __iter__(self) -> Iterator[tuple[Embedding, Embedding]]:
        """Yield some walks at a time: stored steps (n, STEPS, dimension), held-out ones (n, held_out, dimension)."""
        for first in range(0, self.count, _WALKS):
            generator = np.random.default_rng((self.seed, 1, first))
            vectors = self._walk(generator, min(_WALKS, self.count - first), STEPS + self.held_out)
            order = np.argsort(generator.random(vectors.shape[:2]), axis=1)
            stored = np.sort(order[:, self.held_out :], axis=1)
            yield _take(vectors, stored), _take(vectors, order[:, : self.held_out])

    def others(self, count: int) -> Embedding:
        """Return one step of each of ``count`` walks on the same sphere that are not among these."""
        return self._walk(np.random.default_rng((self.seed, 2)), count, STEPS)[:, STEPS // 2]

    def _walk(self, generator: np.random.Generator, count: int, length: int) -> Embedding:
        """Return walks of unit vectors, shape (count, length, dimension)."""
        latent = min(LATENT, self.dimension)
        axes = np.random.default_rng((self.seed, 0)).standard_normal((self.dimension, latent))
        basis = np.linalg.qr(axes)[0]
        result = np.empty((count, length, self.dimension), dtype=np.float32)
        place = generator.standard_normal((count, latent))
        for step in range(length):
            place /= np.linalg.norm(place, axis=1, keepdims=True)
            vectors = place @ basis.T + NOISE * generator.standard_normal((count, self.dimension))
            result[:, step] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
            place = place + STRIDE / math.sqrt(latent) * generator.standard_normal((count, latent))
        return result


def walks_for(steps: int, dimension: int, queries: int, seed: int) -> Walks:
    """Return walks that fill a bank of about so many steps and leave about so many held-out ones, if they can."""
    count = max(1, round(steps / STEPS))
    return Walks(count, dimension, min(STEPS, math.ceil(queries / count)), seed)


def _take(vectors: Embedding, positions: NDArray[np.int64]) -> Embedding:
    return np.ascontiguousarray(np.take_along_axis(vectors, positions[:, :, None], axis=1))
