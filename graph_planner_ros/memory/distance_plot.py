"""A picture of intra- and inter-trajectory distances (extra ``training``), as in GiG, Fig. 3."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from graph_planner_ros.memory.geometry import PAPER_TAU, Geometry


def plot_distances(geometries: Mapping[str, Geometry], tau: float, path: Path) -> None:
    """Write a histogram for each domain, of adjacent steps, of steps of one trajectory and of steps of two.

    Args:
        geometries: by domain. tau: the chosen threshold. path: of the picture; its ending says the format.

    Raises:
        ImportError: matplotlib is not installed. ValueError: matplotlib cannot write such a file.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.0 * max(1, len(geometries)), 3.6), layout="constrained")
    axes = figure.subplots(1, max(1, len(geometries)), squeeze=False)[0]
    bins = [float(edge) for edge in np.linspace(0.0, 2.0, 81)]
    for axis, (name, geometry) in zip(axes, geometries.items(), strict=False):
        for pairs, label in (
            (geometry.adjacent, "adjacent steps"),
            (geometry.same, "steps of one trajectory"),
            (geometry.cross, "steps of two trajectories"),
        ):
            if len(pairs.distances):
                shares = np.full(len(pairs.distances), 1.0 / len(pairs.distances))
                axis.hist(np.clip(pairs.distances, 0.0, 2.0), bins, weights=shares, alpha=0.5, label=label)
        axis.axvline(tau, color="black", label=f"tau {tau:g}")
        axis.axvline(PAPER_TAU, color="black", linestyle=":", label=f"tau of the paper {PAPER_TAU:g}")
        axis.set(title=f"{name}, {geometry.trajectories} trajectories", xlabel="cosine distance", yscale="log")
        axis.set_ylabel("share of the pairs")
        axis.legend(fontsize=7)
    figure.savefig(path, dpi=120)
