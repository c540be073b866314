"""Lets the tests of this folder import the worlds of the tests of planning."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from engine_tasks import small_kitchen

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.symbols import SymbolicState


@pytest.fixture(scope="session")
def household() -> Domain:
    """The domain that the package brings."""
    return load_domain("household")


@pytest.fixture(scope="session")
def kitchen(household: Domain) -> SymbolicState:
    """See `engine_tasks.small_kitchen`."""
    return small_kitchen(household)
