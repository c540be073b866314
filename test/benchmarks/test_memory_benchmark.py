"""The benchmark of the bank: vectors like real ones, right figures, and a report as plain data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from graph_planner_ros.benchmarks.memory import benchmark_memory, print_benchmark
from graph_planner_ros.benchmarks.memory_walks import STEPS, Walks, walks_for


def test_walks_are_near_in_time_and_far_from_each_other() -> None:
    stored, held_out = next(iter(Walks(200, 64, 3, 0)))
    assert stored.shape == (200, STEPS, 64)
    assert held_out.shape == (200, 3, 64)
    np.testing.assert_allclose(np.linalg.norm(stored, axis=2), 1.0, atol=1e-5)
    adjacent = 1.0 - np.sum(stored[:, 1:] * stored[:, :-1], axis=2)
    across = 1.0 - np.sum(stored[1:, 5] * stored[:-1, 5], axis=1)
    assert np.median(adjacent) < 0.1
    assert np.median(across) > 0.75


def test_the_same_seed_gives_the_same_walks_and_another_one_others() -> None:
    first, again, other = (next(iter(Walks(10, 16, 1, seed)))[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)
    assert not np.isin(Walks(10, 16, 1, 0).others(5), first).any()


@pytest.mark.parametrize(
    ("steps", "count", "held_out"), [(50, 2, 25), (10_000, 400, 3), (1_000_000, 40_000, 1), (1, 1, 25)]
)
def test_banks_have_the_size_that_is_asked_for(steps: int, count: int, held_out: int) -> None:
    walks = walks_for(steps, 16, 1000, 0)
    assert (walks.count, walks.held_out) == (count, held_out)


def test_a_small_bank_is_searched_exactly_and_reported(tmp_path: Path) -> None:
    said: list[str] = []
    report = benchmark_memory([50, 500], dimension=16, queries=40, folder=tmp_path, progress=said.append)
    assert [size.steps for size in report.sizes] == [50, 500]
    for size in report.sizes:
        assert (size.kind, size.held_out.count, size.unknown.count) == ("flat", 40, 40)
        assert size.held_out.recall.estimate == size.unknown.recall.estimate == 1.0
        assert size.held_out.median_distance < 0.2 < size.unknown.median_distance
    assert any("written" in line for line in said)
    assert list(tmp_path.iterdir()) == []
    content = json.loads(json.dumps(report.as_json(), allow_nan=False))
    assert (content["seed"], content["exponent"]) == (0, None)
    console = Console(record=True, width=120)
    print_benchmark(report, console)
    assert "1.000 [0.912, 1.000]" in console.export_text()
