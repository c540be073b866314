"""Lets the tests of this folder import their rendered world, and shares the domain and a belief that it feeds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from graph_planner_ros.domain.domain import Domain, load_domain


@pytest.fixture(scope="session")
def domain() -> Domain:
    return load_domain("household")
