"""What all tests share: a ROS domain for each worker, logs out of the way, fields of messages checked."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import pytest

# A field of the wrong type would abort the whole process when it is serialised; this makes it an AssertionError.
os.environ.setdefault("ROS_PYTHON_CHECK_FIELDS", "1")
os.environ.setdefault("ROS_LOG_DIR", tempfile.mkdtemp(prefix="graph_planner_ros_test_log_"))
os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")


@pytest.fixture(scope="session", autouse=True)
def own_ros_domain() -> Iterator[None]:
    """Keep the nodes of each worker, and of other test runs on the machine, apart."""
    try:
        from graph_planner_ros.system import reserve_domain
    except ImportError:  # tests of the core run without ROS
        yield
        return
    with reserve_domain() as domain_id:
        os.environ["ROS_DOMAIN_ID"] = str(domain_id)
        yield
