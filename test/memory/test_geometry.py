"""Distances of pairs of steps, ROC-AUC, and the threshold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.memory import geometry as geometry_module
from graph_planner_ros.memory.geometry import choose_tau, figures, measure, roc_auc, threshold_at

DISTANCES = st.lists(st.integers(0, 6), min_size=1, max_size=12)


def trajectories(*angles: list[float]) -> list[np.ndarray]:
    return [np.stack([np.cos(steps), np.sin(steps)], axis=1).astype(np.float32) for steps in map(np.radians, angles)]


@given(DISTANCES, DISTANCES)
def test_the_auc_is_the_share_of_pairs_in_order(near: list[int], far: list[int]) -> None:
    wins = sum((a < b) + 0.5 * (a == b) for a in near for b in far)
    assert roc_auc(np.array(near, float), np.array(far, float)) == pytest.approx(wins / len(near) / len(far))


@given(st.lists(st.integers(0, 3), min_size=3, max_size=3))
@settings(deadline=None)
def test_drawing_a_trajectory_twice_is_having_it_twice(drawn: list[int]) -> None:
    whole = trajectories([0, 4, 11], [80, 90], [200, 203, 230, 250])
    repeated = measure([steps for steps, times in zip(whole, drawn, strict=True) for _ in range(times)])
    found, expected = figures(measure(whole), np.array(drawn)), figures(repeated)
    # copies of one trajectory are no pairs of different ones when weights count them, so only this one can differ
    assert found.adjacent == pytest.approx(expected.adjacent, abs=1e-6, nan_ok=True)
    if max(drawn) <= 1:
        assert found.cross == pytest.approx(expected.cross, abs=1e-6, nan_ok=True)
        assert found.auc == pytest.approx(expected.auc, abs=1e-6, nan_ok=True)


def test_pairs_are_of_their_kind() -> None:
    found = measure(trajectories([0, 0, 60], [90, 150]))
    assert found.adjacent.distances == pytest.approx([0.0, 0.5, 0.5], abs=1e-6)
    assert found.same.distances == pytest.approx([0.0, 0.5, 0.5, 0.5], abs=1e-6)
    assert len(found.cross.distances) == 6
    assert found.cross.distances[0] == pytest.approx(1 - np.cos(np.radians(30)), abs=1e-6)
    assert (found.cross.first != found.cross.second).all()


def test_of_too_many_pairs_some_are_drawn_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geometry_module, "MAX_PAIRS", 30)
    steps = trajectories(*([float(start + step) for step in range(10)] for start in range(0, 360, 36)))
    one, two = measure(steps), measure(steps)
    assert len(one.same.distances) == len(one.cross.distances) == 30
    assert np.array_equal(one.cross.distances, two.cross.distances)
    assert (one.cross.first != one.cross.second).all()


def test_tau_parts_adjacent_from_cross() -> None:
    found = measure(trajectories([0, 10, 20], [120, 130], [240, 250]))
    tau = choose_tau([found])
    share = threshold_at(found, tau)
    assert (share.adjacent_share, share.cross_share) == (1.0, 0.0)
    assert 0.1 < tau < 0.9


@pytest.mark.parametrize(
    "steps", [[], [[0.0]], [[0.0, 1.0]], [[0.0], [5.0]]], ids=["none", "step", "one", "single steps"]
)
def test_too_little_has_no_threshold_and_no_figures(steps: list[list[float]]) -> None:
    found = measure(trajectories(*steps))
    assert np.isnan(figures(found).auc)
    with pytest.raises(ValueError, match="two trajectories of one domain"):
        choose_tau([found])
