"""A tiny domain without kitchens and a scene in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.scene.graph import MAP, Box, Relation, SceneGraph, SceneNode

GREENHOUSE = Path(__file__).parents[1] / "fixtures" / "domains" / "greenhouse"


@pytest.fixture(scope="session")
def household() -> Domain:
    """The domain that the package carries."""
    return load_domain("household")


@pytest.fixture(scope="session")
def greenhouse() -> Domain:
    """A domain without kitchens."""
    return load_domain(GREENHOUSE)


@pytest.fixture
def scene() -> SceneGraph:
    """A bench with a fern on it, and a closed skylight."""
    box = Box(np.zeros(3), np.ones(3))
    graph = SceneGraph()
    for name, label in (("bench_1", "Bench"), ("skylight_1", "Skylight")):
        graph.nodes[name] = SceneNode(name, label, box, box, source=MAP)
    graph.nodes["fern_1"] = SceneNode("fern_1", "Fern", box)
    graph.relations.append(Relation("fern_1", "upon", "bench_1"))
    return graph
