"""Lets the tests of this folder import the worlds of the benchmarks' tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks" / "worlds"))
