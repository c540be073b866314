"""Instructions in the words of a text world, and the choice between its language and that of people."""

from __future__ import annotations

from typing import Protocol

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.language.instruction import InstructionParser, ParsedInstruction, ParseStatus
from graph_planner_ros.language.interface import Context, ObservationParser
from graph_planner_ros.language.rules import load_language
from graph_planner_ros.language.rules_file import LANGUAGE_FILE
from graph_planner_ros.scene.graph import SceneGraph

_SHOWN = 200


class InstructionReader(Protocol):
    """Words to goals."""

    def parse(self, text: str, graph: SceneGraph | None = None) -> ParsedInstruction:
        """Read an instruction; ``graph`` is what is believed, so that names of things are understood."""


class WorldGoals:
    """Reads goals as a text world states them (``goals`` in ``language.yaml``, and ``compositions.yaml``).

    Args:
        domain: of the world. parser: reads its goals.

    Attributes:
        own: the goal of the game that is played, suggested where another is not understood; empty if unknown.
    """

    def __init__(self, domain: Domain, parser: ObservationParser) -> None:
        self._domain = domain
        self._parser = parser
        self.own = ""

    def parse(self, text: str, graph: SceneGraph | None = None) -> ParsedInstruction:
        """Read a goal; see `InstructionReader`."""
        suggestions = (self.own,) if self.own else ()
        if not text.strip():
            reason = "there is no instruction, and no game has said what its goal is"
            return ParsedInstruction(ParseStatus.NOT_UNDERSTOOD, suggestions=suggestions, reason=reason)
        objects = {name: node.label for name, node in graph.nodes.items()} if graph is not None else {}
        goals = self._parser.goals(text, Context(objects, goal=text))
        if goals:
            return ParsedInstruction(ParseStatus.UNDERSTOOD, goals)
        said = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        reason = f"{said!r} is no goal in the words of {self._domain.name}"
        return ParsedInstruction(ParseStatus.NOT_UNDERSTOOD, (), (text[:_SHOWN],), suggestions, reason)


def instruction_reader(domain: Domain) -> tuple[InstructionReader, ObservationParser | None]:
    """Return what reads instructions in a domain, and the parser of its world's texts if it is a text world.

    Raises:
        DomainError: a file of the language is wrong.
    """
    if (domain.folder / LANGUAGE_FILE).is_file():
        parser = load_language(domain).parser
        return WorldGoals(domain, parser), parser
    return InstructionParser(domain), None
