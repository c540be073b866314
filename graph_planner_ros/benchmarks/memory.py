"""How fast and how exact the experience bank is, at sizes up to a million steps.

Vectors are made up (`memory_walks`); everything else is the bank that robots use: every step is written to the
database, the index is made from it, written to its file, and read by a fresh process, which asks for the nearest step
of a successful episode (nine in ten are) and is compared with exact search.
"""

from __future__ import annotations

import dataclasses
import math
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from graph_planner_ros.benchmarks.memory_walks import STEPS, Walks, walks_for
from graph_planner_ros.benchmarks.statistics import Interval, wilson
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.memory.bank import LIMIT_STEPS, ExperienceBank
from graph_planner_ros.memory.experience import Embedding, Episode, EpisodeHeader, EpisodeStatus, ExperienceStep
from graph_planner_ros.scene.graph import SceneGraph

SIZES = (50, 10_000, 1_000_000)
DIMENSION = 128
QUERIES = 1000
_FAILED_EVERY = 10
_WARM = 50
_TOLERANCE = 1e-5
"""Distances that differ by less are the same: float32 adds up in another order."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class QueryFigures:
    """Queries of one kind.

    Attributes:
        count: different queries. median_distance: to the exact nearest step.
        p50, p99: milliseconds of wall time. cpu_p50, cpu_p99: of the thread's processor time, which a busy machine does
            not change. recall: how often the nearest step was found.
    """

    count: int
    median_distance: float
    p50: float
    p99: float
    cpu_p50: float
    cpu_p99: float
    recall: Interval


@dataclass(frozen=True)
class SizeFigures:
    """A bank of one size.

    Attributes:
        steps: in the bank. kind, lists, narrow, wide: of the index, see `VectorIndex`.
        write_seconds: into the database. build_seconds: of the index, from the database. load_seconds: of its file.
        memory: bytes by which the process grew. database, index_file: bytes on disk.
        held_out: queries of steps left out of stored trajectories. unknown: of trajectories that are not in the bank.
    """

    steps: int
    kind: str
    lists: int
    narrow: int
    wide: int
    write_seconds: float
    build_seconds: float
    load_seconds: float
    memory: int
    database: int
    index_file: int
    held_out: QueryFigures
    unknown: QueryFigures


@dataclass
class MemoryBenchmark:
    """What came of the benchmark; ``exponent``: x of "cost grows like size ** x" past ten thousand steps."""

    dimension: int
    seed: int
    sizes: list[SizeFigures] = field(default_factory=list)

    @property
    def exponent(self) -> float:
        """Of processor time at p50 between the first size of at least ten thousand and the last; NaN without two."""
        large = [size for size in self.sizes if size.steps >= 10_000]
        if len(large) < 2:
            return math.nan
        cost = large[-1].held_out.cpu_p50 / large[0].held_out.cpu_p50
        return math.log(cost) / math.log(large[-1].steps / large[0].steps)

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain data."""
        exponent = self.exponent
        return {**dataclasses.asdict(self), "exponent": None if math.isnan(exponent) else exponent}


def benchmark_memory(
    sizes: Sequence[int] = SIZES,
    dimension: int = DIMENSION,
    queries: int = QUERIES,
    seed: int = 0,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> MemoryBenchmark:
    """Measure banks of several sizes.

    Args:
        sizes: steps of each bank. dimension: of the vectors. queries: of each kind. seed: of vectors and queries.
        folder: in which the banks are made and deleted again (about 1.3 KB a step); None: the system's own.
        progress: is told what is being done.
    """
    tell = progress or (lambda text: None)
    report = MemoryBenchmark(dimension, seed)
    for size in sizes:
        with tempfile.TemporaryDirectory(dir=folder, prefix="graph_planner_memory_") as place:
            path = Path(place) / "bank.sqlite"
            report.sizes.append(_measure(path, walks_for(size, dimension, queries, seed), queries, tell))
    return report


def print_benchmark(report: MemoryBenchmark, console: Console) -> None:
    """Print the figures as tables."""
    table = Table(title=f"the bank, vectors of dimension {report.dimension}, seed {report.seed}")
    for name in ("steps", "index", "write s", "build s", "load s", "memory MB", "bank MB", "index MB"):
        table.add_column(name, justify="right")
    for row in report.sizes:
        index = f"{row.kind} {row.lists}: {row.narrow}, {row.wide}" if row.kind == "ivf" else row.kind
        seconds = (f"{value:.1f}" for value in (row.write_seconds, row.build_seconds, row.load_seconds))
        sizes = (f"{value / 1e6:.0f}" for value in (row.memory, row.database, row.index_file))
        table.add_row(str(row.steps), index, *seconds, *sizes)
    console.print(table)
    console.print("index: ivf LISTS: lists searched at first, lists searched if nothing is near")
    table = Table(title="queries for the nearest step of a successful episode: ms, and ms of processor time")
    for name in ("steps", "queries", "n", "p50", "p99", "CPU p50", "CPU p99", "recall at 1 [95 %]"):
        table.add_column(name, justify="right")
    for row in report.sizes:
        for kind, figures in (("held out", row.held_out), ("unknown", row.unknown)):
            times = (f"{value:.2f}" for value in (figures.p50, figures.p99, figures.cpu_p50, figures.cpu_p99))
            recall = figures.recall
            rate = f"{recall.estimate:.3f} [{recall.low:.3f}, {recall.high:.3f}]"
            table.add_row(str(row.steps), kind, str(figures.count), *times, rate)
    console.print(table)
    console.print("held out: steps left out of stored trajectories; unknown: of trajectories that are not in the bank")
    if not math.isnan(report.exponent):
        console.print(f"past ten thousand steps the cost of a query grows like size ** {report.exponent:.2f}")


def _measure(path: Path, walks: Walks, queries: int, tell: Progress) -> SizeFigures:
    """Make a bank, and measure it in a process of its own, whose memory holds nothing else."""
    steps = walks.count * STEPS
    held_out = np.concatenate([held.reshape(-1, walks.dimension) for _, held in walks])
    chosen = np.random.default_rng(walks.seed).permutation(len(held_out))[:queries]
    asked = {"held_out": held_out[chosen], "unknown": walks.others(queries)}
    tell(f"{steps} steps: exact search for {sum(map(len, asked.values()))} queries")
    exact = {kind: _exact(walks, vectors) for kind, vectors in asked.items()}
    write_seconds, build_seconds = _make(path, walks, tell)
    tell(f"{steps} steps: {', '.join(f'{len(vectors)} queries ({kind})' for kind, vectors in asked.items())}")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        answers = pool.submit(_ask, path, asked).result()
    figures = {kind: _figures(answers["queries"][kind], exact[kind]) for kind in asked}
    measured: dict[str, Any] = {**answers["index"], **figures}
    return SizeFigures(steps=steps, write_seconds=write_seconds, build_seconds=build_seconds, **measured)


def _exact(walks: Walks, queries: Embedding) -> NDArray[np.float32]:
    """Return the distance of each query to the nearest step of a successful episode, by comparing it with all."""
    best = np.full(len(queries), -1.0, dtype=np.float32)
    first = 0
    for stored, _ in walks:
        succeeded = (np.arange(first, first + len(stored)) % _FAILED_EVERY) != _FAILED_EVERY - 1
        first += len(stored)
        if succeeded.any():
            products = queries @ stored[succeeded].reshape(-1, walks.dimension).T
            best = np.maximum(best, products.max(axis=1))
    return np.asarray(1.0 - best, dtype=np.float32)


def _make(path: Path, walks: Walks, tell: Progress) -> tuple[float, float]:
    """Write a bank with its index file; return seconds of writing and of making the index."""
    steps = walks.count * STEPS
    encoder = _MadeUp(walks.dimension, f"walks of seed {walks.seed}")
    with ExperienceBank.open(path, None, encoder, limit_steps=max(steps, LIMIT_STEPS)) as bank:
        start = time.perf_counter()
        every = max(1, walks.count // 10)

        def show(number: int) -> None:
            if number % every == 0:
                tell(f"{steps} steps: {number * STEPS} written in {time.perf_counter() - start:.0f} s")

        bank.add_episodes(_episodes(walks), show)
        write_seconds = time.perf_counter() - start
        tell(f"{steps} steps: making the index")
        start = time.perf_counter()
        bank.warm_up()
        build_seconds = time.perf_counter() - start
    return write_seconds, build_seconds


def _episodes(walks: Walks) -> Iterator[Episode]:
    scene = SceneGraph(domain="walks")
    action = GroundAction("walk", ())
    number = 0
    for stored, _ in walks:
        for vectors in stored:
            failed = number % _FAILED_EVERY == _FAILED_EVERY - 1
            status = EpisodeStatus.FAILED if failed else EpisodeStatus.SUCCEEDED
            header = EpisodeHeader(f"walk {number}", "walks", "none", status=status)
            steps = (ExperienceStep(i, float(i), scene, action, True, vector) for i, vector in enumerate(vectors))
            yield Episode(header, tuple(steps))
            number += 1


def _ask(path: Path, asked: dict[str, Embedding]) -> dict[str, Any]:
    """Open a bank in a fresh process and ask it; return the index's figures, times (n, 2) [s] and distances (n,)."""
    process = psutil.Process()
    with ExperienceBank.open(path, None, None, read_only=True) as bank:
        import faiss  # noqa: F401  # loading the library is not the bank's memory

        before = process.memory_info().rss
        start = time.perf_counter()
        bank.warm_up()
        load_seconds = time.perf_counter() - start
        memory = max(0, process.memory_info().rss - before)
        stats = bank.stats()
        index = {
            "kind": stats.index_kind,
            "lists": stats.index_lists,
            "narrow": stats.index_narrow,
            "wide": stats.index_wide,
            "load_seconds": load_seconds,
            "memory": memory,
            "database": stats.bytes,
            "index_file": stats.index_bytes,
        }
        return {"index": index, "queries": {kind: _times(bank, vectors) for kind, vectors in asked.items()}}


def _times(bank: ExperienceBank, queries: Embedding) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    for query in islice(cycle(queries), _WARM):
        bank.nearest(query, 1)
    times, distances = [], []
    for query in queries:
        start, cpu_start = time.perf_counter(), time.thread_time()
        found = bank.nearest(query, 1)
        times.append((time.perf_counter() - start, time.thread_time() - cpu_start))
        distances.append(found[0].distance if found else math.inf)
    return np.array(times), np.array(distances, dtype=np.float32)


def _figures(answers: tuple[NDArray[np.float64], NDArray[np.float32]], exact: NDArray[np.float32]) -> QueryFigures:
    times, distances = answers
    (p50, cpu_p50), (p99, cpu_p99) = 1000.0 * np.quantile(times, (0.5, 0.99), axis=0)
    right = int(np.sum(distances <= exact + _TOLERANCE))
    return QueryFigures(
        len(exact), float(np.median(exact)), float(p50), float(p99), float(cpu_p50), float(cpu_p99),
        wilson(right, len(exact)),
    )  # fmt: skip


@dataclass(frozen=True)
class _MadeUp:
    """Stands for the encoder of vectors that come from none."""

    dimension: int
    model_hash: str

    def encode(self, scenes: Sequence[SceneGraph]) -> Embedding:
        """Refuse: all steps bring their vectors."""
        raise NotImplementedError("the benchmark's vectors are made up")
