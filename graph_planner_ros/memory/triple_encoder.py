"""A scene as a bag of its triples, things replaced by their classes: a baseline, and an encoder without weights."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy as np

from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.memory.experience import Embedding
from graph_planner_ros.scene.graph import ROBOT_ID, SceneGraph

_Key = TypeVar("_Key", bound=Hashable)


class TripleBagEncoder:
    """Counts ``(class, relation, class)`` and ``(class, attribute)``, hashed into a row of unit length.

    Args:
        dimension: buckets; 1024 keep the triples of a domain apart nearly always.
    """

    def __init__(self, dimension: int = 1024) -> None:
        if dimension < 1:
            raise ValueError(f"an encoder has at least one dimension, not {dimension}")
        self._dimension = dimension

    @property
    def dimension(self) -> int:
        """Number of components."""
        return self._dimension

    @property
    def model_hash(self) -> str:
        """Names the encoder and its size."""
        return f"triples-{self._dimension}"

    def encode(self, scenes: Sequence[SceneGraph]) -> Embedding:
        """Return embeddings of unit length, shape (n, dimension); the first axis for a scene without triples."""
        rows = np.zeros((len(scenes), self._dimension), dtype=np.float32)
        for row, scene in zip(rows, scenes, strict=True):
            for triple, count in lifted_triples(scene).items():
                row[_bucket(triple, self._dimension)] += count
            length = float(np.linalg.norm(row))
            if length > 0.0:
                row /= length
            else:
                row[0] = 1.0
        return rows


def lifted_triples(scene: SceneGraph) -> Counter[tuple[str, ...]]:
    """Count the true relations and attributes of a scene by the classes of the things."""

    def label(name: str) -> str:
        node = scene.nodes.get(name)
        return node.label if node is not None else name if name == ROBOT_ID else "?"

    counts: Counter[tuple[str, ...]] = Counter()
    for node in scene.nodes.values():
        counts[(node.label,)] += 1
        for name, attribute in node.attributes.items():
            if attribute.value is Truth.TRUE:
                counts[node.label, name] += 1
    for relation in scene.relations:
        if relation.value is Truth.TRUE:
            counts[label(relation.subject), relation.predicate, label(relation.object)] += 1
    return counts


def count_cosine(first: Counter[_Key], second: Counter[_Key]) -> float:
    """Return the cosine of two counts; 1 if both are empty, 0 if one is."""
    if not first or not second:
        return float(not first and not second)
    dot = sum(count * second[key] for key, count in first.items())
    lengths = sum(n * n for n in first.values()) * sum(n * n for n in second.values())
    return min(1.0, dot / math.sqrt(lengths))


def _bucket(triple: tuple[str, ...], dimension: int) -> int:
    digest = hashlib.blake2b("\x1f".join(triple).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % dimension
