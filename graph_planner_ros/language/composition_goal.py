"""Dishes with their parts as one goal of the planner; see `compositions`."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable
from graph_planner_ros.language.composition_text import Dish, Part

MAX_THINGS = 100
FACT = re.compile(r"\s*([\w-]+)\s*\(([^()]*)\)\s*")


class GoalWriter:
    """Turns dishes into one goal."""

    def __init__(
        self,
        domain: Domain,
        raw: Mapping[str, Any],
        kinds: Mapping[str, Any],
        parts: Mapping[str, Any],
        place: str,
        objects: Mapping[str, str],
    ) -> None:
        self._domain = domain
        self._raw = raw
        self._kinds = kinds
        self._parts = parts
        self._place = place
        self._there = Counter(objects.values())
        self._variables: list[GoalVariable] = []
        self._literals: list[GoalLiteral] = []

    def write(self, dishes: Sequence[Dish], text: str) -> Goal | None:
        wanted = [dish for dish in dishes for _ in range(min(dish.count, MAX_THINGS))]
        named = Counter(part.class_name for dish in wanted for part in dish.parts for _ in range(part.count or 1))
        for dish in wanted:
            self._dish(dish, named)
            if len(self._variables) > MAX_THINGS:
                return None
        groups: dict[str | None, list[str]] = {}
        for variable in self._variables:
            groups.setdefault(variable.class_name, []).append(variable.name)
        distinct = tuple(tuple(group) for group in groups.values() if len(group) > 1)
        return Goal(tuple(self._variables), tuple(dict.fromkeys(self._literals)), distinct, text)

    def _new(self, class_name: str) -> str:
        name = f"?{class_name}_{len(self._variables) + 1}"
        self._variables.append(GoalVariable(name, self._domain.classes[class_name].type_name, class_name))
        return name

    def _dish(self, dish: Dish, named: Counter[str]) -> None:
        roles = {"place": self._new(self._place)}
        kind = self._kinds.get(dish.kind or "") or self._raw.get("alone") or {}
        roles |= {role: self._new(label) for role, label in (kind.get("things") or {}).items()}
        parts = self._all_parts(dish, kind, named)
        if dish.kind is None:
            for part in parts:
                for _ in range(part.count or 1):
                    thing = self._thing(part, True)
                    self._write(kind.get("facts"), {**roles, "part": thing})
            return
        self._write(kind.get("facts"), roles)
        stacked = self._arranged(dish, parts)
        things: list[tuple[str, str]] = []
        for part in stacked or _single(parts, dish.repeat):
            things.append((part.class_name, self._thing(part, kind.get("prepared", True))))
            self._write(kind.get("part"), {**roles, "part": things[-1][1]})
        self._stack(dish, kind, roles, things, stacked is not None)
        self._write(kind.get("end"), roles)

    def _all_parts(self, dish: Dish, kind: Mapping[str, Any], named: Counter[str]) -> list[Part]:
        """Return the named parts and those that go without saying, as far as there is enough of them."""
        parts = list(dish.parts)
        classes = {part.class_name for part in parts}
        if not classes.isdisjoint(kind.get("instead") or ()):
            return parts
        for label in kind.get("implied") or ():
            if label in classes:
                continue
            if self._there and self._there[label] < named[label] + dish.repeat:
                continue
            named[label] += dish.repeat
            parts.append(Part(label))
        return parts

    def _thing(self, part: Part, prepared: bool) -> str:
        """Return a new variable for a part, with the facts that are wanted of it."""
        thing = self._new(part.class_name)
        usual = (self._parts.get(part.class_name) or {}).get("prepared") or () if prepared else ()
        facts = [fact for fact in usual if fact not in part.without]
        for fact in dict.fromkeys([*facts, *(part.facts or ())]):
            self._literals.append(GoalLiteral(fact, (thing,)))
        return thing

    def _write(self, facts: Sequence[str] | None, roles: Mapping[str, str]) -> None:
        for text in facts or ():
            match = FACT.fullmatch(text)
            assert match is not None
            arguments = tuple(roles[name.strip()] for name in match.group(2).split(","))
            self._literals.append(GoalLiteral(match.group(1), arguments))

    # -- order --------------------------------------------------------------------------------------------------------

    def _arranged(self, dish: Dish, parts: list[Part]) -> list[Part] | None:
        """Return the parts from the lowest to the highest, if that is determined."""
        single = _single(parts, dish.repeat)
        if len(single) == 1:
            return single
        if dish.interleaved:
            piles = [[part] * (part.count or dish.repeat) for part in parts]
            piles.sort(key=lambda pile: pile[0].class_name != dish.start)
            return [part for row in itertools.zip_longest(*piles) for part in row if part is not None]
        upper = dict(dish.order)
        by_class = {part.class_name: part for part in single}
        if len(by_class) != len(single):
            return None
        lowest = [name for name in upper.values() if name not in upper]
        if len(set(lowest)) != 1 or len(upper) != len(single) - 1:
            return None
        lower = {below: above for above, below in upper.items()}
        chain = [lowest[0]]
        while chain[-1] in lower and len(chain) <= len(single):
            chain.append(lower[chain[-1]])
        return [by_class[name] for name in chain] if len(chain) == len(single) else None

    def _stack(
        self, dish: Dish, kind: Mapping[str, Any], roles: Mapping[str, str], things: list[tuple[str, str]], whole: bool
    ) -> None:
        stack = kind.get("stack")
        if not stack or not things:
            return
        pairs: list[tuple[str, str]] = []
        if whole:
            column = [roles[stack["first"]], *(thing for _, thing in things), roles[stack["last"]]]
            pairs = [(upper, lower) for lower, upper in itertools.pairwise(column)]
        else:
            named = dict(things)
            pairs = [(named[a], named[b]) for a, b in dish.order if a in named and b in named]
        for upper, lower in pairs:
            self._write([stack["fact"]], {"upper": upper, "lower": lower})


def _single(parts: Sequence[Part], repeat: int) -> list[Part]:
    """Return each part as often as it is wanted; ``repeat``: where its number is not said."""
    return [part for part in parts for _ in range(part.count or repeat)]
