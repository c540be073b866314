"""Parsers of both domains, made once; helpers to compare goals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.symbols import Goal
from graph_planner_ros.language.instruction import InstructionParser, ParsedInstruction
from graph_planner_ros.scene.graph import SceneGraph

GREENHOUSE = Path(__file__).parents[1] / "fixtures" / "domains" / "greenhouse"


@pytest.fixture(scope="session")
def household() -> Domain:
    """The domain that the package carries."""
    return load_domain("household")


@pytest.fixture(scope="session")
def parser(household: Domain) -> InstructionParser:
    """A parser of household instructions."""
    return InstructionParser(household)


@pytest.fixture(scope="session")
def greenhouse() -> InstructionParser:
    """A parser for a domain without kitchens."""
    return InstructionParser(load_domain(GREENHOUSE))


def _literals(goal: Goal) -> set[str]:
    """Literals over class names; several things of a class are numbered in the order of the goal's variables."""
    names: dict[str, str] = {}
    for variable in goal.variables:
        same = [other for other in goal.variables if other.class_name == variable.class_name]
        called = variable.instance or str(variable.class_name)
        names[variable.name] = called if len(same) == 1 else f"{called}{same.index(variable) + 1}"
    return {
        f"{'' if item.positive else 'not '}{item.predicate}({', '.join(names[name] for name in item.arguments)})"
        for item in goal.literals
    }


def _read(parser: InstructionParser, text: str, graph: SceneGraph | None = None) -> list[set[str]]:
    """Goals of an instruction that must be understood."""
    parsed = parser.parse(text, graph)
    assert parsed.understood, (text, parsed)
    return [_literals(goal) for goal in parsed.goals]


def _refuse(parser: InstructionParser, text: str, graph: SceneGraph | None = None) -> ParsedInstruction:
    """The answer to an instruction that must not be understood."""
    parsed = parser.parse(text, graph)
    assert not parsed.understood and not parsed.goals, (text, parsed)
    assert parsed.reason
    return parsed


@pytest.fixture(scope="session")
def literals() -> Callable[..., set[str]]:
    """Goal -> its literals over class names."""
    return _literals


@pytest.fixture(scope="session")
def read() -> Callable[..., list[set[str]]]:
    """Parser and text (and scene) -> literals of each goal."""
    return _read


@pytest.fixture(scope="session")
def refuse() -> Callable[..., ParsedInstruction]:
    """Parser and text (and scene) -> the answer to what cannot be read."""
    return _refuse
