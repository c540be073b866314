"""Nearest neighbours among the bank's vectors: exact while they are few, by inverted lists (IVF) when they are many.

Why IVF and not HNSW: a bank forgets episodes, and faiss cannot take a vector out of an HNSW graph; lists are built in a
tenth of the time, and need 8 bytes beside each vector instead of some hundred. What HNSW would be faster at, queries
far from everything, is of no use to retrieval, which only asks for what is near.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.memory.bank_errors import BankError
from graph_planner_ros.memory.experience import Embedding

FLAT_LIMIT = 20_000
"""Up to so many vectors every one is compared: exact, and under a millisecond."""
NEAR = 0.15
"""Cosine distance up to which the first, narrow search is believed; farther than that it is repeated in more lists."""
_GROWTH = 4
"""A bank that has grown by this factor since its index was made deserves another one."""
_POINTS_PER_LIST = 40
"""Vectors to find a list's centre from; faiss asks for 39 at least."""
MOST_LISTS = 96
"""A search that finds enough looks into no more lists: its cost grows like the square root of the bank, and is near
2 ms at a million steps. Only queries far from everything would need more; retrieval does not use what is far."""
_TRIALS = 256
_RECALL = 0.995
_MARGIN = 2
_NEIGHBOURS = 64
_OWN = 200
"""Calibration: queries, share of right answers, how many times the lists that are enough are searched (256 queries do
not say it exactly), neighbours that are looked at, and difference of ids up to which a step may be of the same episode.
"""

Ids = NDArray[np.int64]
Chunks = Callable[[int], Iterable[tuple[Ids, Embedding]]]
"""Called with a stride n it yields every n-th vector with its id, a few thousand at a time."""


def faiss_module() -> Any:
    """Return faiss.

    Raises:
        BankError: it is not installed.
    """
    try:
        import faiss
    except ImportError as error:
        raise BankError("searching the bank needs the package faiss-cpu (requirements/core.txt)") from error
    return faiss


class VectorIndex:
    """Vectors of unit length by id (0 or more, growing), with a flag for each that a search may ask for.

    Not safe to use from several threads at once; the bank holds a lock.

    Attributes:
        built_for: number of vectors when it was made. narrow, wide: lists searched at first, and for far queries.
    """

    def __init__(self, dimension: int, index: Any = None) -> None:
        faiss = faiss_module()
        self.dimension = dimension
        self._faiss = faiss
        self._index = index if index is not None else _flat(dimension)
        self.built_for = len(self)
        self.narrow = self.wide = self.lists
        self._flags = np.zeros(1, dtype=np.uint8)
        self._flagged = 0

    @classmethod
    def build(cls, dimension: int, count: int, chunks: Chunks) -> VectorIndex:
        """Make an index of the kind that suits ``count`` vectors, and fill it. The same vectors give the same index."""
        made = cls(dimension, _trained(dimension, count, chunks) if count > FLAT_LIMIT else None)
        for ids, vectors in chunks(1):
            made.add(ids, vectors)
        made.built_for = len(made)
        if made.kind == "ivf":
            made._calibrate(chunks)
        return made

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @property
    def kind(self) -> str:
        """``flat`` or ``ivf``."""
        return "ivf" if self.lists > 1 else "flat"

    @property
    def lists(self) -> int:
        """Number of inverted lists; 1 if it is flat."""
        return int(self._index.nlist)

    @property
    def outgrown(self) -> bool:
        """Whether the bank has become so large that another kind, or more lists, would be faster."""
        return len(self) > max(FLAT_LIMIT * (1 if self.kind == "flat" else _GROWTH), _GROWTH * self.built_for)

    def add(self, ids: Ids, vectors: Embedding) -> None:
        """Add vectors, shape (n, dimension), that the bank has checked. Takes no more time in a larger index."""
        if vectors.ndim != 2 or vectors.shape[1] != self.dimension or len(ids) != len(vectors):
            raise BankError(f"expected vectors of dimension {self.dimension}, found an array of shape {vectors.shape}")
        if len(ids):
            self._reserve(int(ids.max()))
            self._index.add_with_ids(np.ascontiguousarray(vectors), np.ascontiguousarray(ids))

    def remove(self, ids: Ids) -> None:
        """Remove vectors; ids that are not there do no harm."""
        if len(ids):
            self.flag(ids, False)
            self._index.remove_ids(np.ascontiguousarray(ids))

    def flag(self, ids: Ids, value: bool) -> None:
        """Set the flag of vectors (the bank: whether their episode succeeded)."""
        if len(ids):
            self._reserve(int(ids.max()))
            self._flagged += _set_bits(self._flags, ids, value)

    def search(
        self, vector: Embedding, count: int, *, flagged: bool = False, without: Ids | None = None
    ) -> tuple[Ids, NDArray[np.float32]]:
        """Return ids and cosine distances of the nearest vectors, nearest first.

        Args:
            vector: shape (dimension,), of unit length. count: how many; fewer come back only if there are fewer.
            flagged: only vectors whose flag is set. without: ids of the index to leave out.
        """
        left_out = np.unique(without) if without is not None else np.zeros(0, dtype=np.int64)
        if flagged:
            available = self._flagged - int(_get_bits(self._flags, left_out).sum())
        else:
            available = len(self) - len(left_out)
        count = min(count, available)
        if count < 1:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        selector = self._selector(flagged, left_out)
        probes = self.narrow
        while True:
            found = self._search(vector, count, self._faiss.SearchParametersIVF(sel=selector, nprobe=probes))
            is_far = len(found[1]) < count or found[1][0] > NEAR
            if probes >= self.lists or (probes >= self.wide and len(found[1]) == count) or not is_far:
                return found
            probes = self.wide if probes < self.wide else min(self.lists, 4 * probes)

    @property
    def settings(self) -> dict[str, int]:
        """What a file of the index does not say, for `load`."""
        return {"built_for": self.built_for, "narrow": self.narrow, "wide": self.wide}

    def save(self, path: Path) -> None:
        """Write the vectors to a file; `settings` and flags are not in it.

        Raises:
            OSError: it cannot be written.
        """
        try:
            self._faiss.write_index(self._index, str(path))
        except RuntimeError as error:
            raise OSError(f"{path} cannot be written: {error}") from error

    @classmethod
    def load(cls, path: Path, dimension: int, settings: dict[str, int]) -> VectorIndex:
        """Read an index that `save` wrote, with the `settings` that it had; no flag is set.

        Raises:
            OSError: it cannot be read. BankError: it is of another dimension.
        """
        try:
            index = faiss_module().read_index(str(path))
        except (RuntimeError, MemoryError) as error:
            raise OSError(f"{path} cannot be read: {error}") from error
        if index.d != dimension:
            raise BankError(f"{path} has vectors of dimension {index.d}, expected {dimension}")
        loaded = cls(dimension, index)
        loaded.built_for, loaded.narrow, loaded.wide = (settings[name] for name in ("built_for", "narrow", "wide"))
        return loaded

    def _search(self, vector: Embedding, count: int, parameters: Any) -> tuple[Ids, NDArray[np.float32]]:
        query = np.ascontiguousarray(vector, dtype=np.float32)[None]
        products, ids = self._index.search(query, count, params=parameters)
        found = ids[0] >= 0  # faiss fills up with -1 where a list has no more
        distances = np.clip(1.0 - products[0][found], 0.0, 2.0).astype(np.float32)
        order = np.lexsort((ids[0][found], distances))
        return ids[0][found][order], distances[order]

    def _selector(self, flagged: bool, left_out: Ids) -> Any:
        """Return which ids a search may find, in faiss's form; None for all of them."""
        if not flagged and not len(left_out):
            return None
        if flagged and self._flagged == len(self) and not len(left_out):
            return None
        bits = self._flags.copy() if flagged else np.full(len(self._flags), 0xFF, dtype=np.uint8)
        if len(left_out):
            _set_bits(bits, left_out, False)
        return self._faiss.IDSelectorBitmap(bits)

    def _reserve(self, largest: int) -> None:
        needed = (largest >> 3) + 1
        if needed > len(self._flags):
            grown = np.zeros(max(needed, 2 * len(self._flags)), dtype=np.uint8)
            grown[: len(self._flags)] = self._flags
            self._flags = grown

    def _calibrate(self, chunks: Chunks) -> None:
        """Choose how many lists to search: as few as give the right nearest neighbour 995 times in 1000.

        ``narrow`` is for steps of a known trajectory: the sample's own steps, each without itself. ``wide`` is for
        steps of unknown ones: the same steps, each without its whole episode.
        """
        sample = list(chunks(max(1, len(self) // _TRIALS)))
        ids = np.concatenate([part for part, _ in sample])[:_TRIALS]
        queries = np.concatenate([vectors for _, vectors in sample])[:_TRIALS]
        exact_near, exact_far = self._answers(ids, queries, self.lists)
        most = min(self.lists, MOST_LISTS)
        choices = [2**power for power in range(20) if 2**power < most]
        near = far = most
        for probes in reversed(choices):
            found_near, found_far = self._answers(ids, queries, probes)
            if far == near and _agreement(found_far, exact_far) >= _RECALL:
                far = probes
            if _agreement(found_near, exact_near) < _RECALL:
                break
            near = probes
        self.narrow = min(most, _MARGIN * near)
        self.wide = min(most, _MARGIN * max(near, far))

    def _answers(self, ids: Ids, queries: Embedding, probes: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the distances of the nearest other step and of the nearest of another episode; infinite: none."""
        parameters = self._faiss.SearchParametersIVF(nprobe=probes)
        products, found = self._index.search(queries, _NEIGHBOURS, params=parameters)
        distances = np.where(found >= 0, 1.0 - products, np.inf)
        apart = np.abs(found - ids[:, None])
        near = np.where(apart > 0, distances, np.inf).min(axis=1)
        return near, np.where(apart > _OWN, distances, np.inf).min(axis=1)


def _flat(dimension: int) -> Any:
    """Return an empty index that compares every vector: one list, so that ids, deletion and filters work as in many.

    (`IndexFlat` starts threads for a filtered search, which takes longer than the search.)
    """
    faiss = faiss_module()
    index = faiss.index_factory(dimension, "IVF1,Flat", faiss.METRIC_INNER_PRODUCT)
    center = np.eye(1, dimension, dtype=np.float32)  # any will do
    index.quantizer.add(center)
    index.train(center)
    return index


def _trained(dimension: int, count: int, chunks: Chunks) -> Any:
    """Return an empty index with inverted lists whose centres come from every n-th vector."""
    faiss = faiss_module()
    lists = int(4 * math.sqrt(count))
    stride = max(1, count // (_POINTS_PER_LIST * lists))
    sample = np.concatenate([vectors for _, vectors in chunks(stride)])
    index = faiss.index_factory(dimension, f"IVF{lists},Flat", faiss.METRIC_INNER_PRODUCT)
    index.cp.niter = 8
    index.cp.seed = 1
    index.train(np.ascontiguousarray(sample))
    return index


def _agreement(found: NDArray[np.float32], exact: NDArray[np.float32]) -> float:
    """Return the share of rows with the right distance; rows without an exact answer do not count."""
    known = np.isfinite(exact)
    return float(np.mean(found[known] <= exact[known] + 1e-6)) if known.any() else 1.0


def _get_bits(bits: NDArray[np.uint8], ids: Ids) -> NDArray[np.bool_]:
    inside = ids[(ids >> 3) < len(bits)]
    return ((bits[inside >> 3] >> (inside & 7).astype(np.uint8)) & 1).astype(bool)


def _set_bits(bits: NDArray[np.uint8], ids: Ids, value: bool) -> int:
    """Set bits, each id once; return by how much the number of bits that are set has grown."""
    unique = np.unique(ids)
    unique = unique[(unique >> 3) < len(bits)]
    before = int(_get_bits(bits, unique).sum())
    masks = (1 << (unique & 7)).astype(np.uint8)
    if value:
        np.bitwise_or.at(bits, unique >> 3, masks)
        return len(unique) - before
    np.bitwise_and.at(bits, unique >> 3, ~masks)
    return -before
