"""The instructions of the evaluation can be read, and there are as many kinds of them as there should be."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from graph_planner_ros.domain.paths import find_config
from graph_planner_ros.language.instruction import InstructionParser


@pytest.fixture(scope="module")
def entries() -> list[dict[str, Any]]:
    """Entries of the file."""
    document = yaml.safe_load(find_config("evaluation/kitchen.yaml").read_text(encoding="utf-8"))
    return document["instructions"]


def test_instructions_are_understood(parser: InstructionParser, entries: list[dict[str, Any]]) -> None:
    for entry in entries:
        assert parser.parse(entry["instruction"]).understood, entry


def test_instructions_differ_and_half_of_them_are_disturbed(entries: list[dict[str, Any]]) -> None:
    assert len({entry["instruction"] for entry in entries}) == len({entry["name"] for entry in entries}) == len(entries)
    assert len(entries) >= 12
    assert 2 * sum(bool(entry.get("disturbances")) for entry in entries) >= len(entries)
