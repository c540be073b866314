"""Understanding of instructions, trained offline; see `reader` for how it goes together with the rules."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.paths import find_config
from graph_planner_ros.language.instruction import InstructionParser
from graph_planner_ros.language.understanding.model_file import ReaderFileError, ReaderMissingError, load_reader
from graph_planner_ros.language.understanding.reader import CAUTIOUS, TRUSTING, InstructionUnderstanding

AUTO, RULES, TRAINED = CAUTIOUS, "rules", TRUSTING
READERS = (AUTO, RULES, TRAINED)
FOLDER = "instruction"
"""Under ``config``: a folder for each domain that has a trained reader."""


def shipped_reader(domain: Domain) -> Path | None:
    """Return the folder of the trained reader that the package brings for a domain; None if it brings none."""
    try:
        return find_config(Path(FOLDER) / domain.name.partition("+")[0])
    except FileNotFoundError:
        return None


def make_reader(
    domain: Domain, kind: str = AUTO, folder: Path | None = None
) -> InstructionParser | InstructionUnderstanding:
    """Return what reads instructions in a domain.

    Args:
        domain: fixed. kind: one of `READERS`; ``auto`` takes the rules alone where there is no trained reader.
        folder: of a trained reader; left out, that of the package.

    Raises:
        ValueError: there is no such kind.
        ReaderFileError: the trained reader that was asked for cannot be used.
        ReaderMissingError: something that it needs is not installed.
    """
    if kind not in READERS:
        raise ValueError(f"there is no reader of instructions {kind!r}; there are: {', '.join(READERS)}")
    found = folder or shipped_reader(domain)
    if kind == RULES or (found is None and kind == AUTO):
        return InstructionParser(domain)
    if found is None:
        raise ReaderFileError(
            f"there is no trained reader of the domain {domain.name!r}: see graph-planner instruction train"
        )
    return _understanding(domain, found, kind == AUTO)


@lru_cache(maxsize=8)
def _understanding(domain: Domain, folder: Path, cautious: bool) -> InstructionUnderstanding:
    return InstructionUnderstanding(domain, load_reader(domain, folder), cautious)


__all__ = [
    "AUTO",
    "READERS",
    "RULES",
    "TRAINED",
    "InstructionUnderstanding",
    "ReaderFileError",
    "ReaderMissingError",
    "make_reader",
    "shipped_reader",
]
