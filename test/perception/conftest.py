"""Lets the tests of this folder import the rendered world of the scene's tests, and shares the domain."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scene"))

from graph_planner_ros.domain.domain import Domain, load_domain


@pytest.fixture(scope="session")
def domain() -> Domain:
    return load_domain("household")
