"""The documentation says what is true: its tables are those of the code, and its files exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("graph_planner_ros.msg", reason="needs the built messages")

from graph_planner_ros.reference import NODES, parameter_tables

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def test_the_parameter_tables_are_those_of_the_nodes() -> None:
    assert (ROOT / "docs" / "parameters.md").read_text() == parameter_tables(), "run graph-planner parameters"


@pytest.mark.parametrize("node", NODES)
def test_every_node_is_in_the_readme(node: str) -> None:
    assert f"`{node}`" in README


def test_every_local_link_of_the_readme_leads_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("folder", ["msg", "srv", "action"])
def test_every_interface_is_in_the_readme(folder: str) -> None:
    names = [path.stem for path in (ROOT / folder).iterdir()]
    assert [name for name in names if name not in README] == []
