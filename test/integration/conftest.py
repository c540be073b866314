"""Every integration test runs real nodes on a ROS domain of its own, on this machine only."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
os.environ["ROS_PYTHON_CHECK_FIELDS"] = "1"

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[1] / "benchmarks" / "worlds"))  # worlds that talk


@pytest.fixture(scope="session", autouse=True)
def _ros_logs(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["ROS_LOG_DIR"] = str(tmp_path_factory.mktemp("ros_logs"))


@pytest.fixture()
def system() -> Iterator[object]:
    from harness import running

    with running() as made:
        yield made
