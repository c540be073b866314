"""Which of many things or places to leave in a small problem: those that it costs least to get to and to use.

Estimates only, made from what is true now; who finds no plan with what they choose must try again with everything.
"""

from __future__ import annotations

from collections.abc import Iterable

from graph_planner_ros.planning.engines.model import Condition, DomainModel, Operator, ProblemModel, Row, substitute
from graph_planner_ros.planning.engines.movement import Movement

_FAR = 1e6
_UNMET = 4.0
"""About what it costs to make one condition true: to take and to put something."""


class Convenience:
    """Estimates for one problem.

    Args:
        domain, problem: as read. movement: the action that only moves.
    """

    def __init__(self, domain: DomainModel, problem: ProblemModel, movement: Movement) -> None:
        self._domain = domain
        self._problem = problem
        self._movement = movement
        self._rows: dict[str, list[Row]] = {}
        for row in sorted(problem.atoms):
            self._rows.setdefault(row[0], []).append(row)
        self._places: dict[str, str] = {}
        for name, rows in self._rows.items():
            if name not in domain.statics:
                self._places.update((row[1], row[2]) for row in rows if len(row) == 3)
        self._obstacles = _obstacles(domain)

    def unmet(self, conditions: Iterable[Condition], binding: dict[str, str]) -> int:
        """Count the conditions that do not hold now; the robot's place, and what is not bound, are left aside."""
        count = 0
        for condition in conditions:
            atom = substitute(condition.atom, binding)
            if atom[0] not in ("=", self._movement.predicate) and not any(token.startswith("?") for token in atom):
                count += (atom in self._problem.atoms) != condition.positive
        return count

    def detour(self, anchors: Iterable[str], place: str) -> float:
        """Return how much longer the shortest way between two of the anchors gets if it leads by a place."""
        anchors = list(anchors)
        there = {name: self._price(name, place) for name in anchors}
        back = {name: self._price(place, name) for name in anchors}
        pairs = ((a, b) for a in anchors for b in anchors)
        return min((there[a] + back[b] - self._price(a, b) for a, b in pairs), default=0.0)

    def rank(
        self, operator: Operator, variable: str, values: Iterable[str], binding: dict[str, str], anchors: Iterable[str]
    ) -> list[str]:
        """Return what a variable may stand for, the most convenient first: nothing to do, then near and not shut away.

        What is in no place (what is held, what has still to be found) comes before what must be fetched.
        """
        about = [condition for condition in operator.conditions if variable in condition.atom]
        anchors = list(anchors)

        def effort(value: str) -> tuple[float, str]:
            unmet = self._missing(about, {**binding, variable: value}, value)
            place = self._place(value)
            if unmet == 0 or place is None:
                return unmet, value
            return _UNMET * unmet + self.detour(anchors, place) + self._obstruction(place), value

        return sorted(values, key=effort)

    def _missing(self, conditions: Iterable[Condition], binding: dict[str, str], thing: str) -> int:
        """Count conditions that do not hold, and for each what its achiever asks of the thing and does not hold either.

        The robot's place, and conditions that are not bound, are left aside.
        """
        count = 0
        for condition in conditions:
            if self.unmet([condition], binding):
                atom = substitute(condition.atom, binding)
                count += 1 + min(
                    (
                        self._unready(operator, dict(zip(effect[1:], atom[1:], strict=True)), thing)
                        for operator in self._domain.operators.values()
                        for effect in (operator.added if condition.positive else operator.deleted)
                        if effect[0] == atom[0]
                    ),
                    default=0,
                )
        return count

    def _unready(self, operator: Operator, binding: dict[str, str], thing: str) -> int:
        """Count what an operator asks of a thing and is not so; its other things are any that fit by static facts."""
        count = 0
        for condition in operator.conditions:
            atom = substitute(condition.atom, binding)
            if thing in atom and condition.positive and atom[0] not in self._domain.statics:
                count += not any(
                    all(a == b or a.startswith("?") for a, b in zip(atom, row, strict=True))
                    and self._fits(operator, dict(zip(atom, row, strict=True)))
                    for row in self._rows.get(atom[0], ())
                )
        return count

    def _fits(self, operator: Operator, binding: dict[str, str]) -> bool:
        """Return whether the unary static conditions hold of what is bound."""
        return all(
            (condition.atom[0], binding[condition.atom[1]]) in self._problem.atoms
            for condition in operator.conditions
            if condition.positive
            and len(condition.atom) == 2
            and condition.atom[0] in self._domain.statics
            and condition.atom[1] in binding
        )

    def _price(self, start: str, end: str) -> float:
        return 0.0 if start == end else self._movement.price(self._problem, start, end, _FAR)

    def _place(self, thing: str) -> str | None:
        """Return the outermost thing that something is in; None if it is in nothing."""
        inside = self._places.get(thing)
        for _ in self._places:
            if inside is None or inside not in self._places:
                break
            inside = self._places[inside]
        return inside

    def _obstruction(self, place: str) -> float:
        """Return the price of what must be undone before anything can be done in a place, e.g. of opening it."""
        return sum(price for name, price in self._obstacles.items() if (name, place) in self._problem.atoms)


def _obstacles(domain: DomainModel) -> dict[str, float]:
    """Return the unary predicates that actions want to be false, with the price of the cheapest way to that."""
    operators = domain.operators.values()
    unwanted = {c.atom[0] for o in operators for c in o.conditions if not c.positive and len(c.atom) == 2}
    prices: dict[str, float] = {}
    for operator in operators:
        for row in operator.deleted:
            if row[0] in unwanted:
                prices[row[0]] = min(operator.cost, prices.get(row[0], operator.cost))
    return prices
