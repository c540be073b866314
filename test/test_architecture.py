"""The house rules that a reader relies on: who imports whom, and that kitchens are not in Python."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

PACKAGE = Path(__file__).resolve().parents[1] / "graph_planner_ros"
ORDER = (
    *("domain", "scene", "perception", "language", "memory", "planning"),
    *("skills", "sim", "benchmarks", "training", "bridges", "analysis", "nodes", "commands"),
)
"""A folder imports only folders that stand before it. The bridges stand below the benchmarks: the text worlds' adapters
(`benchmarks/worlds`) know nothing of ROS, and a bridge puts one of them on ROS."""
SHARED = {"graph_planner_ros.skills.result"}
"""Outcomes of skills are words that the planner and the language part share with the executor."""
PARTNERS = {("bridges", "nodes")}
"""The bridges' nodes are nodes: they share the base class."""
ROS = {"rclpy", "rclpy_action", "std_msgs", "sensor_msgs", "geometry_msgs", "nav_msgs", "tf2_msgs"}


def modules(folder: str) -> list[Path]:
    return sorted((PACKAGE / folder).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("folder", ORDER)
def test_a_folder_imports_only_folders_above_it(folder: str) -> None:
    below = set(ORDER[ORDER.index(folder) + 1 :])
    wrong = []
    for path in modules(folder):
        for name in imported(path):
            parts = name.split(".")
            is_ours = parts[0] == "graph_planner_ros" and len(parts) > 1 and parts[1] in below
            if is_ours and (folder, parts[1]) not in PARTNERS and not any(name.startswith(s) for s in SHARED):
                wrong.append(f"{path.name}: {name}")
    assert wrong == []


@pytest.mark.parametrize("folder", [name for name in ORDER if name not in ("nodes", "bridges")])
def test_core_folders_know_no_ros(folder: str) -> None:
    wrong = [f"{path.name}: {name}" for path in modules(folder) for name in imported(path) if name.split(".")[0] in ROS]
    assert wrong == []


@pytest.mark.parametrize("folder", ["domain", "scene", "perception", "language", "planning", "skills", "nodes"])
def test_no_class_of_the_household_domain_is_named_in_the_core(folder: str) -> None:
    content = yaml.safe_load((PACKAGE.parent / "config/domains/household/domain.yaml").read_text())
    classes = set(content["classes"])
    wrong = []
    for path in modules(folder):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in classes:
                wrong.append(f"{path.name}:{node.lineno}: {node.value}")
    assert wrong == []


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_fits_a_readers_head(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 420
