"""The words of a goal about things that are put together, as dishes with their parts; see `compositions`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Tag:
    """What a word or a phrase means: its role in the grammar, and a value."""

    role: str
    value: Any = None


@dataclass(frozen=True)
class Part:
    """A part as it is wanted: its class, facts about it, how many; None: as it is prepared usually; one."""

    class_name: str
    facts: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    count: int | None = None
    alone: bool = False


@dataclass
class Dish:
    """One composition that a text asks for."""

    kind: str | None
    parts: list[Part] = field(default_factory=list)
    count: int = 1
    repeat: int = 1
    interleaved: bool = False
    start: str | None = None
    order: list[tuple[str, str]] = field(default_factory=list)

    def add(self, part: Part) -> None:
        """Add a part, or say more about one that was named already."""
        for index, known in enumerate(self.parts):
            if known.class_name == part.class_name and (known.facts is None or part.facts in (None, known.facts)):
                facts = part.facts if part.facts is not None else known.facts
                without = part.without or known.without
                self.parts[index] = replace(known, facts=facts, without=without, count=part.count or known.count)
                return
        self.parts.append(part)

    def arrange(self, upwards: bool) -> None:
        """Let the parts lie on each other in the order in which they were named."""
        names = [part.class_name for part in (self.parts if upwards else reversed(self.parts))]
        self.order = [(upper, lower) for lower, upper in itertools.pairwise(names)]


class DishReader:
    """Turns tags into dishes."""

    def __init__(self, tags: Sequence[Tag]) -> None:
        self._tags = [*tags, Tag("mark", ".")]
        self._dishes: list[Dish] = []
        self._inside = False
        self._row: list[Part] = []  # "lettuce and tomato", until it is said what they are on
        self._on_top = False
        self._under = False  # the last part of the row is what another one is on

    def read(self) -> list[Dish]:
        """Return the dishes; none if something that they are made of is not known."""
        position = 0
        while position < len(self._tags):
            tag = self._tags[position]
            if tag.role in ("number", "repeat", "state", "part", "kind"):
                end = self._phrase(position)
                if end is None:
                    return []
                position = end
                continue
            self._other(tag, position)
            position += 1
        return self._dishes

    def _other(self, tag: Tag, position: int) -> None:
        current = self._dishes[-1] if self._dishes else None
        if tag.role == "with" or (tag.role == "mark" and tag.value == "("):
            self._inside = current is not None
        elif tag.role in ("place", "end") or (tag.role == "mark" and tag.value in ").;"):
            self._inside = False
        elif tag.role == "interleaved" and current is not None:
            current.interleaved = True
        elif tag.role in ("upwards", "downwards") and current is not None:
            current.arrange(tag.role == "upwards")
        listed = tag.role == "and" or tag == Tag("mark", ",")
        if tag.role == "on_top" or (listed and not self._on_top and not self._under):
            self._on_top = tag.role == "on_top" and bool(self._row)
        elif tag.role != "other":
            self._on_top, self._under, self._row = False, False, []

    def _phrase(self, position: int) -> int | None:
        """Read numbers, states and parts up to the noun; return where that ends, None if it is not understood."""
        count: int | None = None
        repeat = 1
        parts: list[Part] = []
        state: tuple[tuple[str, ...], tuple[str, ...]] | None = None
        starting = position > 0 and self._tags[position - 1].role == "starting"
        began = position
        while position < len(self._tags):
            tag = self._tags[position]
            if tag.role == "number" and not parts and state is None:
                count = tag.value
            elif tag.role == "repeat":
                repeat = tag.value
            elif tag.role == "state":
                state = tag.value
            elif tag.role == "part":
                part = tag.value
                if state is not None:
                    facts, without = state
                    part = replace(part, facts=(*(part.facts or ()), *facts), without=without)
                parts.append(part)
                state = None
            elif tag.role == "kind":
                self._dishes.append(Dish(tag.value, [], count or 1, repeat))
                for item in parts:
                    self._dishes[-1].add(item)
                self._inside, self._under, self._row = False, False, []
                return position + 1
            elif tag.role == "other" and (parts or count is not None) and self._leads_to_kind(position):
                return None  # "an avocado sandwich": something of it is not known
            else:
                break
            position += 1
        if position == began:
            return began + 1
        return position if self._take(parts, count, starting, position) else None

    def _leads_to_kind(self, position: int) -> bool:
        for tag in self._tags[position : position + 4]:
            if tag.role == "kind":
                return True
            if tag.role not in ("other", "part", "state"):
                return False
        return False

    def _take(self, parts: list[Part], count: int | None, starting: bool, position: int) -> bool:
        """Use parts that no kind of dish follows: more about the dish before, or dishes of their own."""
        current = self._dishes[-1] if self._dishes else None
        following = self._tags[position]
        if not parts:
            # "with an avocado": a part that nobody knows; a place or a bowl is none
            return not (self._inside and following.role == "other" and count is not None)
        if starting and current is not None:
            current.start = parts[0].class_name
            return True
        for index, part in enumerate(parts):
            number = count if index == len(parts) - 1 and (count or 1) > 1 else None
            item = replace(part, count=number)
            if current is not None and self._inside and not part.alone:
                if self._on_top and index == 0:
                    names = [upper.class_name for upper in self._row] + [part.class_name]
                    current.order += list(itertools.pairwise(names))
                    self._row = []
                current.add(item)
                self._under = self._on_top and index == 0
                self._row.append(part)
            else:
                self._dishes.append(Dish(None, [item], 1))
        self._on_top = False
        return True
