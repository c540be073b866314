"""Lets the tests of this folder import their episodes, and loads the domains that several of them share."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from graph_planner_ros.domain.domain import Domain, load_domain


@pytest.fixture(scope="session")
def household() -> Domain:
    """The domain that the package brings."""
    return load_domain("household")


@pytest.fixture(scope="session")
def robotouille() -> Domain:
    """A domain in which some actions take several turns."""
    return load_domain("robotouille")
