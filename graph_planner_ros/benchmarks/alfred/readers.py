"""Who reads the instructions: the product's own readers, or the annotation itself as the upper bound."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from graph_planner_ros.benchmarks.alfred.annotation_map import AnnotationMap
from graph_planner_ros.benchmarks.alfred.samples import Sample
from graph_planner_ros.language.instruction import InstructionParser, ParsedInstruction, ParseStatus
from graph_planner_ros.scene.graph import SceneGraph

RULES = "rules"
TRUTH = "truth"
READERS = ("auto", RULES, "trained", TRUTH)


class Reader(Protocol):
    """Turns an instruction into goals, given the scene that the robot believes in; ``name`` is for the header."""

    name: str

    def read(self, sample: Sample, graph: SceneGraph) -> ParsedInstruction:
        """Read the instruction of a sample; of the sample only `TruthReader` sees more than that."""
        ...


class ProductReader:
    """The reader that a robot would use: it gets the instruction and the scene, and nothing of the ground truth."""

    def __init__(self, parse: Callable[..., ParsedInstruction], name: str) -> None:
        self._parse = parse
        self.name = name

    def read(self, sample: Sample, graph: SceneGraph) -> ParsedInstruction:
        """Read the instruction."""
        present = {**sample.objects, **dict.fromkeys(sample.fixtures, 1)}
        return self._parse(sample.instruction, graph, present=present)


class RulesReader:
    """The rules, which get the instruction and the scene."""

    name = RULES

    def __init__(self, parser: InstructionParser) -> None:
        self._parser = parser

    def read(self, sample: Sample, graph: SceneGraph) -> ParsedInstruction:
        """Read the instruction."""
        return self._parser.parse(sample.instruction, graph)


class TruthReader:
    """Takes the goal from the annotation: what planning alone is worth."""

    name = TRUTH

    def __init__(self, annotations: AnnotationMap) -> None:
        self._annotations = annotations

    def read(self, sample: Sample, graph: SceneGraph) -> ParsedInstruction:
        """Return the ground-truth goal."""
        goal = self._annotations.goal(sample.requests, sample.instruction)
        return ParsedInstruction(ParseStatus.UNDERSTOOD, (goal,))


def open_reader(kind: str, annotations: AnnotationMap, model_file: Path | None = None) -> Reader:
    """Return a reader by its name.

    Raises:
        ValueError: if there is none of that name, or it has no model file.
    """
    if kind not in READERS:
        raise ValueError(f"there is no reader {kind!r}; there are: {', '.join(READERS)}")
    if model_file is not None and kind in (RULES, TRUTH):
        raise ValueError(f"the reader {kind} takes no --interface")
    if kind == TRUTH:
        return TruthReader(annotations)
    if kind == RULES:
        return RulesReader(InstructionParser(annotations.domain))
    from graph_planner_ros.language.understanding import ReaderFileError, ReaderMissingError, make_reader

    try:
        reader = make_reader(annotations.domain, kind, model_file)
    except (ReaderFileError, ReaderMissingError) as error:
        raise ValueError(f"{error}; --reader rules takes the rules") from None
    if isinstance(reader, InstructionParser):
        return RulesReader(reader)
    return ProductReader(reader.parse, f"{kind}, {reader.model_hash}")
