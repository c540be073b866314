"""Where things tend to be, learned from games or homes that were seen before; part of the positive memory.

A domain's YAML names the file under ``prior``. For every class of things it counts the places of every class, in the
homes where there was such a thing: how many there were, and how many of them held one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.files import write_atomically
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.planning.storage import StoredMemoryError, read_json

KIND = "prior of positive memory"
DOUBT = 2.0
"""How many places the general habit counts for that is mixed with what was counted."""


@dataclass
class Prior:
    """Counts of places.

    Attributes:
        source: what was counted, in words. homes: how many.
        counts: class of things -> class of places -> (places that held one, places).
    """

    source: str = ""
    homes: int = 0
    counts: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)

    def add_home(self, places: Mapping[str, str], inside: Mapping[str, str], labels: Mapping[str, str]) -> None:
        """Count a home.

        Args:
            places: place -> class, of all places that were looked at. inside: thing -> place.
            labels: thing -> class.
        """
        self.homes += 1
        for label in sorted({labels[thing] for thing in inside}):
            holding = {place for thing, place in inside.items() if labels[thing] == label}
            table = self.counts.setdefault(label, {})
            for place, of in places.items():
                held, all_ = table.get(of, (0, 0))
                table[of] = (held + (place in holding), all_ + 1)

    def knows(self, label: str) -> bool:
        """Return whether things of a class were ever seen."""
        return label in self.counts

    def chance(self, label: str, place_label: str) -> float:
        """Return how probable it is that a place of a class holds a thing of a class, if there is one at all."""
        held, places = self.counts.get(label, {}).get(place_label, (0, 0))
        return (held + DOUBT * self._habit(place_label)) / (places + DOUBT)

    def _habit(self, place_label: str) -> float:
        """Return how probable it is that a place of a class holds a thing of whatever class."""
        rows = [table[place_label] for table in self.counts.values() if place_label in table]
        return sum(held for held, _ in rows) / max(1, sum(places for _, places in rows))

    def save(self, path: Path) -> None:
        """Write the counts to a JSON file, atomically."""
        head = {"kind": KIND, "source": self.source, "homes": self.homes}
        # a line for each class of things, so that people can read it and see what changed
        rows = ",\n".join(
            f"  {json.dumps(label)}: {json.dumps(dict(sorted(table.items())))}"
            for label, table in sorted(self.counts.items())
        )
        write_atomically(path, f'{json.dumps(head)[:-1]}, "counts": {{\n{rows}\n}}}}\n')


def read_prior(path: Path) -> Prior:
    """Read counts.

    Raises:
        FileNotFoundError, StoredMemoryError: naming the file.
    """
    content = read_json(path, KIND)
    try:
        counts = {
            str(label): {str(of): (int(held), int(places)) for of, (held, places) in table.items()}
            for label, table in content["counts"].items()
        }
        if any(not 0 <= held <= places for table in counts.values() for held, places in table.values()):
            raise ValueError("expected 0 <= places that held one <= places")
        return Prior(str(content["source"]), int(content["homes"]), counts)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StoredMemoryError(f"{path} is no readable prior: {error!r}") from error


@lru_cache(maxsize=16)
def domain_prior(domain: Domain) -> Prior | None:
    """Return the prior that a domain's YAML names; None if it names none.

    Raises:
        DomainError: the file is not there or cannot be read.
    """
    name = domain.raw.get("prior")
    if name is None:
        return None
    try:
        return read_prior(domain.folder / str(name))
    except (FileNotFoundError, StoredMemoryError) as error:
        raise DomainError(f"{domain.name}: prior: {error}") from error
