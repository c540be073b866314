"""From scores to meanings: what fits together, what is there, and what was asked for in rooms like this one.

The scores of structure and slots are taken as independent; a meaning's score is their sum, and a prior over whole
meanings is added, learned from what people asked for in rooms with the same fixtures. How much it counts grows with
the likeness of the room, so that it says nothing where nobody was before.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.language.understanding.examples import Example
from graph_planner_ros.language.understanding.slots import NONE, Inventory, Meaning

TOP = 5
"""Candidates of a slot that are tried, the best ones."""
LIKENESS = 12.0
"""How fast a room counts less: exp(-LIKENESS (1 - |A and B| / |A or B|)) for sets of fixtures A and B, squared."""
KNOWN = 0.99
"""Share of a room's own counts in its prior; the rest is what was asked for anywhere."""
FLOOR = 1e-6
HOPELESS = 8.0
"""Structures that are so much less likely than the best one (in log odds) are not tried."""
LEAST_LIKE = 0.01
MISSING = 5.0
"""What a class loses that is not among all that there is, in log odds. Lists of things are not always complete."""
HIDDEN = 3.0
"""The same for things that may be where nobody has looked yet."""


@dataclass(frozen=True)
class Scores:
    """What the network says of one text: log odds of structures (S,), of a change, and of each slot (K + 1,)."""

    structures: NDArray[np.float32]
    changed: float
    slots: tuple[NDArray[np.float32], ...]


@dataclass(frozen=True)
class Reading:
    """A meaning and how likely it is, among all that were tried."""

    meaning: Meaning
    probability: float


@dataclass(frozen=True)
class Room:
    """What was asked for in rooms like one: its likeness to them (0..1), and meaning -> `KNOWN` times its share."""

    likeness: float
    shares: Mapping[Meaning, float]


class RoomPrior:
    """Counts of meanings in rooms, told apart by their fixtures.

    Args:
        rooms: (fixtures, meaning -> count).
    """

    def __init__(self, rooms: Sequence[tuple[frozenset[str], Mapping[Meaning, int]]]) -> None:
        self._rooms = [(fixtures, Counter(counts)) for fixtures, counts in rooms]
        everywhere: Counter[Meaning] = Counter()
        for _, counts in self._rooms:
            everywhere.update(counts)
        total = max(1, everywhere.total())
        self._anywhere = {meaning: (1.0 - KNOWN) * count / total + FLOOR for meaning, count in everywhere.items()}
        self._last: tuple[frozenset[str], Room] | None = None

    @staticmethod
    def of(examples: Iterable[Example], fixed: frozenset[str]) -> RoomPrior:
        """Count the meanings of examples; ``fixed`` are the classes of fixtures."""
        fixtures: dict[str, set[str]] = {}
        counts: dict[str, Counter[Meaning]] = {}
        for example in examples:
            fixtures.setdefault(example.room, set()).update(fixed & set(example.present))
            counts.setdefault(example.room, Counter())[example.meaning] += 1
        return RoomPrior([(frozenset(fixtures[room]), counts[room]) for room in sorted(fixtures)])

    def nearest(self, fixtures: frozenset[str]) -> Room:
        """Return the room that is most like one with these fixtures; rooms that cannot be told apart are one."""
        last = self._last  # one text is read in many parts in one room
        if last is None or last[0] != fixtures:
            last = self._last = (fixtures, self._nearest(fixtures))
        return last[1]

    def _nearest(self, fixtures: frozenset[str]) -> Room:
        likenesses = []
        for known, _ in self._rooms:
            union = len(known | fixtures)
            distance = 1.0 - len(known & fixtures) / union if union else 1.0
            likenesses.append(math.exp(-2.0 * LIKENESS * distance))
        best = max(likenesses, default=0.0)
        if best < LEAST_LIKE:
            return Room(0.0, {})
        together: Counter[Meaning] = Counter()
        for likeness, (_, counts) in zip(likenesses, self._rooms, strict=True):
            if likeness == best:
                together.update(counts)
        total = max(1, together.total())
        return Room(best, {meaning: KNOWN * count / total for meaning, count in together.items()})

    def log_probability(self, meaning: Meaning, room: Room) -> float:
        """Return the logarithm of how often a meaning is asked for in a room."""
        return math.log(room.shares.get(meaning, 0.0) + self._anywhere.get(meaning, FLOOR))

    def to_json(self) -> list[dict[str, Any]]:
        """Return the counts for a file."""
        return [
            {
                "fixtures": sorted(fixtures),
                "meanings": [
                    [meaning.structure, *meaning.classes, int(meaning.changed), count]
                    for meaning, count in sorted(counts.items(), key=lambda entry: repr(entry[0]))
                ],
            }
            for fixtures, counts in self._rooms
        ]

    @staticmethod
    def from_json(document: Iterable[Mapping[str, Any]]) -> RoomPrior:
        """Read what `to_json` wrote."""
        return RoomPrior(
            [
                (
                    frozenset(room["fixtures"]),
                    {Meaning(row[0], tuple(row[1:-2]), bool(row[-2])): int(row[-1]) for row in room["meanings"]},
                )
                for room in document
            ]
        )


@dataclass(frozen=True)
class Decoder:
    """Finds the likeliest meanings.

    Attributes:
        inventory: what there is to choose from. names: structures in the order of the scores.
        changeable: classes that can be changed (sliced). fixed: classes of fixtures.
        prior: over meanings. weight: of the prior in a room that is known. temperature: divides totals before they
            become probabilities, so that these are as often right as they say.
    """

    inventory: Inventory
    names: tuple[str, ...]
    changeable: frozenset[str]
    fixed: frozenset[str]
    prior: RoomPrior
    weight: float = 0.7
    temperature: float = 1.0

    def readings(self, scores: Scores, present: Mapping[str, int], complete: bool, count: int = 3) -> list[Reading]:
        """Return the likeliest meanings, the best first; none if nothing fits what is there.

        Args:
            present: class -> how many are there. complete: there is nothing else.
        """
        slots = [self._slot(row, slot, present, complete) for row, slot in zip(scores.slots, self._slots, strict=True)]
        structures = _log_softmax(scores.structures)
        known = [row for row, name in enumerate(self.names) if name in self.inventory.structures]
        best_structure = max(structures[row] for row in known)
        room = self.prior.nearest(frozenset(present) & self.fixed)
        changed = (-math.log1p(math.exp(_clip(scores.changed))), -math.log1p(math.exp(_clip(-scores.changed))))
        totals: dict[Meaning, float] = {}
        for row in known:
            if structures[row] < best_structure - HOPELESS:
                continue
            name = self.names[row]
            asked = [meaning for meaning in room.shares if meaning.structure == name]
            for meaning, total in itertools.chain(
                self._of(name, slots, present, complete),
                self._known(asked, slots, present, complete),
            ):
                total += float(structures[row]) + changed[int(meaning.changed)]
                if room.likeness:
                    total += self.weight * room.likeness * self.prior.log_probability(meaning, room)
                totals[meaning] = total
        if not totals:
            return []
        peak = max(totals.values())
        whole = sum(math.exp((total - peak) / self.temperature) for total in totals.values())
        best = heapq.nlargest(count, totals.items(), key=lambda entry: entry[1])
        return [Reading(item, math.exp((total - peak) / self.temperature) / whole) for item, total in best]

    @property
    def _slots(self) -> tuple[str, ...]:
        return self.inventory.slots

    def _slot(
        self, row: NDArray[np.float32], slot: str, present: Mapping[str, int], complete: bool
    ) -> dict[str, float]:
        """Return class -> log probability, with `NONE`; classes that cannot be there are left out."""
        names = (*self.inventory.candidates[slot], NONE)
        known = bool(self.fixed & set(present))
        bonus = np.zeros(len(names), np.float32)
        for index, name in enumerate(names):
            there = name == NONE or present.get(name, 0) > 0
            # fixtures are on the robot's map, other things may be where nobody has looked
            if not there and (complete or (known and name in self.fixed)):
                bonus[index] = -MISSING
            elif not there and present:
                bonus[index] = -HIDDEN
        values = _log_softmax(row + bonus)
        return {name: float(value) for name, value in zip(names, values, strict=True) if np.isfinite(value)}

    def _known(
        self,
        meanings: Iterable[Meaning],
        slots: Sequence[Mapping[str, float]],
        present: Mapping[str, int],
        complete: bool,
    ) -> Iterable[tuple[Meaning, float]]:
        """Yield meanings that were asked for in a room like this one: a vague sentence leaves slots to them."""
        for meaning in meanings:
            structure = self.inventory.structures[meaning.structure]
            values = [row.get(label) for row, label in zip(slots, meaning.classes, strict=True)]
            enough = all(
                self._enough(label, structure.count(slot), present, complete)
                for label, slot in zip(meaning.classes, self._slots, strict=True)
                if label != NONE
            )
            if enough and None not in values:
                yield meaning, sum(value for value in values if value is not None)

    def _enough(self, label: str, needed: int, present: Mapping[str, int], complete: bool) -> bool:
        """Return whether there may be so many things of a class; one more fixture than is known may be there."""
        return not complete or label in self.fixed or present.get(label, 0) >= needed

    def _of(
        self,
        name: str,
        slots: Sequence[Mapping[str, float]],
        present: Mapping[str, int],
        complete: bool,
    ) -> Iterable[tuple[Meaning, float]]:
        """Yield the meanings of a structure with the scores of their slots."""
        structure = self.inventory.structures[name]
        choices: list[list[tuple[str, float]]] = []
        for slot, values in zip(self._slots, slots, strict=True):
            if slot not in structure.slots:
                choices.append([(NONE, values.get(NONE, 0.0))])
                continue
            needed = structure.count(slot)
            fitting = [
                (label, value)
                for label, value in values.items()
                if label != NONE and self._enough(label, needed, present, complete)
            ]
            choices.append(heapq.nlargest(TOP, fitting, key=lambda entry: entry[1]))
        for row in itertools.product(*choices):
            classes = tuple(label for label, _ in row)
            filled = [label for label in classes if label != NONE]
            if len(set(filled)) < len(filled):
                continue
            total = sum(value for _, value in row)
            yield Meaning(name, classes), total
            if classes[0] in self.changeable and self._slots[0] in structure.slots:
                yield Meaning(name, classes, True), total


def _log_softmax(values: NDArray[np.float32]) -> NDArray[np.float64]:
    shifted = values.astype(np.float64) - float(np.max(values))
    result: NDArray[np.float64] = shifted - math.log(float(np.exp(shifted).sum()))
    return result


def _clip(value: float) -> float:
    return min(50.0, max(-50.0, value))
