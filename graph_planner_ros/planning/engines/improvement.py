"""Makes a plan cheaper by local changes: steps left out, things exchanged for others of their kind.

Works on plans without moves (see `reduction`): the ways between steps follow from the steps and are priced
with them. A changed plan is executed symbolically; steps that do not apply are dropped, or made to apply by one
step that needs no further thing (a door that has to be opened first).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Set
from typing import NamedTuple

from graph_planner_ros.planning.engines.model import DomainModel, Operator, ProblemModel, Row, substitute
from graph_planner_ros.planning.engines.movement import Movement

_NO_WAY = 1e6


class _Ground(NamedTuple):
    """A step with its things: ``place`` is where it has to be done, if moves are merged; ``cost`` without the way."""

    possible: bool
    needed: frozenset[Row]
    forbidden: frozenset[Row]
    added: frozenset[Row]
    deleted: frozenset[Row]
    cost: float
    place: str | None


class _Reached(NamedTuple):
    """Where a plan is before one of its steps."""

    atoms: frozenset[Row]
    place: str
    cost: float


class PlanImprover:
    """Improves plans of one problem.

    Args:
        domain, problem: as read; the plans' last step must be the one that stands for the goal.
        movement: the action that was merged into the others, or None.
        things: the objects that may be used.
    """

    def __init__(
        self, domain: DomainModel, problem: ProblemModel, movement: Movement | None, things: Iterable[str]
    ) -> None:
        self._domain = domain
        self._problem = problem
        self._movement = movement
        self._start = frozenset(problem.atoms)
        self._place = ""
        if movement is not None:
            self._place = next(row[1] for row in problem.atoms if row[0] == movement.predicate)
        self._grounded: dict[Row, _Ground] = {}
        self._repairing: dict[tuple[Row, bool], list[Row]] = {}
        self._about: dict[str, list[Row]] = {}
        for row in sorted(problem.atoms):
            if row[0] not in domain.statics:
                for name in set(row[1:]):
                    self._about.setdefault(name, []).append(row)
        self._alike: dict[str, list[str]] = {}
        for name in sorted(things):
            self._alike.setdefault(problem.objects.get(name, ""), []).append(name)
        self._achievers: dict[tuple[str, bool], list[tuple[Operator, Row]]] = {}
        for operator in domain.operators.values():
            if movement is None or operator is not movement.operator:
                for row in operator.added:
                    self._achievers.setdefault((row[0], True), []).append((operator, row))
                for row in operator.deleted:
                    self._achievers.setdefault((row[0], False), []).append((operator, row))

    def improve(self, steps: list[Row], changes: int) -> tuple[list[Row], float]:
        """Return the cheapest plan that at most so many tried changes lead to, and its cost."""
        best, cost = self._execute(steps, [], math.inf) or (steps, math.inf)
        improved = True
        while improved:
            improved = False
            way = self._follow(best)
            for changed in self._neighbours(best):
                if changes <= 0:
                    return best, cost
                changes -= 1
                known = way[: 1 + _common(best, changed)]
                outcome = self._execute(changed, known, cost - 1e-9)
                if outcome is not None:
                    best, cost = outcome
                    improved = True
                    break
        return best, cost

    def _follow(self, steps: list[Row]) -> list[_Reached]:
        """Return where a plan is before each of its steps, as far as they apply as they are."""
        atoms, place, cost = self._start, self._place, 0.0
        way = [_Reached(atoms, place, cost)]
        for step in steps:
            if self._repaired(step, atoms) != [step]:
                break
            ground = self._ground(step)
            cost += ground.cost
            if ground.place is not None and ground.place != place:
                cost += self._way(place, ground.place)
                place = ground.place
            atoms = (atoms - ground.deleted) | ground.added
            way.append(_Reached(atoms, place, cost))
        return way

    def _neighbours(self, steps: list[Row]) -> Iterable[list[Row]]:
        for index in range(len(steps) - 1):
            yield steps[:index] + steps[index + 1 :]
        used = list(dict.fromkeys(name for row in steps for name in row[1:]))
        for name in used:
            for other in self._alike.get(self._problem.objects.get(name, ""), ()):
                if other != name:
                    # an exchange of both, so that a plan may also swap the parts of two things
                    swap = {name: other, other: name}
                    yield [(row[0], *(swap.get(item, item) for item in row[1:])) for row in steps]
                    yield from self._fetched_elsewhere(steps, name, other)
        for index in range(len(steps) - 1):
            for name in steps[index][1:]:
                for other in self._alike.get(self._problem.objects.get(name, ""), ()):
                    if other != name:
                        # one thing exchanged from this step on
                        yield steps[:index] + [
                            (row[0], *(other if item == name else item for item in row[1:])) for row in steps[index:]
                        ]
        for index in range(len(steps) - 1):
            for target in range(len(steps) - 1):
                if abs(target - index) > 1 or target == index + 1:
                    rest = steps[:index] + steps[index + 1 :]
                    yield [*rest[:target], steps[index], *rest[target:]]

    def _fetched_elsewhere(self, steps: list[Row], name: str, other: str) -> Iterable[list[Row]]:
        """Exchange a thing for another, and where it is at first for where the other is."""
        for fact in self._about.get(name, ()):
            for alternative in self._about.get(other, ()):
                if fact[0] != alternative[0] or len(fact) != 3 or fact.index(name) != alternative.index(other):
                    continue
                places = {name: other, fact[3 - fact.index(name)]: alternative[3 - fact.index(name)]}
                first = next((row for row in steps if places.keys() <= set(row[1:])), None)
                if first is not None:
                    yield [
                        tuple((places if row is first else {name: other}).get(item, item) for item in row)
                        for row in steps
                    ]

    def _execute(self, steps: list[Row], known: list[_Reached], limit: float) -> tuple[list[Row], float] | None:
        """Return the steps that applied, those that repaired them, and the cost.

        None if the last did not apply, or if it costs ``limit`` or more; no step costs less than nothing.

        Args:
            known: where the first steps lead, if that is known.
        """
        reached = known[-1] if known else _Reached(self._start, self._place, 0.0)
        first = max(0, len(known) - 1)
        atoms, place, cost = set(reached.atoms), reached.place, reached.cost
        done = steps[:first]
        for step in steps[first:]:
            for row in self._repaired(step, atoms):
                ground = self._ground(row)
                cost += ground.cost
                if ground.place is not None and ground.place != place:
                    cost += self._way(place, ground.place)
                    place = ground.place
                if cost >= limit:
                    return None
                atoms -= ground.deleted
                atoms |= ground.added
                done.append(row)
        return (done, cost) if cost < limit and done and done[-1] == steps[-1] else None

    def _repaired(self, row: Row, atoms: Set[Row]) -> list[Row]:
        """Return the step, after one that makes it apply if needed; nothing if it does not apply."""
        ground = self._ground(row)
        if not ground.possible:
            return []
        if ground.needed <= atoms and ground.forbidden.isdisjoint(atoms):
            return [row]
        missing = [(atom, True) for atom in ground.needed - atoms]
        missing += [(atom, False) for atom in ground.forbidden & atoms]
        if len(missing) > 1:
            return []
        for before in self._repairs(*missing[0]):
            repair = self._ground(before)
            if repair.possible and repair.needed <= atoms and not repair.forbidden & atoms:
                return [before, row]
        return []

    def _repairs(self, atom: Row, positive: bool) -> list[Row]:
        """Return the steps that make a literal true and speak of nothing but its own things."""
        known = self._repairing.get((atom, positive))
        if known is None:
            known = self._repairing[atom, positive] = []
            for operator, effect in self._achievers.get((atom[0], positive), ()):
                binding = dict(zip(effect[1:], atom[1:], strict=True))
                if all(name in binding for name in operator.parameters):
                    known.append((operator.name, *(binding[name] for name in operator.parameters)))
        return known

    def _ground(self, row: Row) -> _Ground:
        known = self._grounded.get(row)
        if known is None:
            known = self._grounded[row] = self._make_ground(row)
        return known

    def _make_ground(self, row: Row) -> _Ground:
        operator = self._domain.operators[row[0]]
        binding = dict(zip(operator.parameters, row[1:], strict=True))
        ancestors, objects = self._domain.ancestors, self._problem.objects
        possible = all(
            operator.parameters[name] in ancestors.get(objects.get(of, ""), ()) for name, of in binding.items()
        )
        here = self._movement.predicate if self._movement is not None else None
        needed: set[Row] = set()
        forbidden: set[Row] = set()
        place: str | None = None
        for condition in operator.conditions:
            atom = substitute(condition.atom, binding)
            if atom[0] == here:
                place = atom[1]
            elif atom[0] == "=":
                possible = possible and (atom[1] == atom[2]) == condition.positive
            else:
                (needed if condition.positive else forbidden).add(atom)
        cost = operator.cost + sum(self._problem.values.get(substitute(t, binding), 0.0) for t in operator.cost_terms)
        return _Ground(
            possible,
            frozenset(needed),
            frozenset(forbidden),
            frozenset(substitute(item, binding) for item in operator.added),
            frozenset(substitute(item, binding) for item in operator.deleted),
            cost if self._domain.has_costs else 1.0,
            place,
        )

    def _way(self, start: str, end: str) -> float:
        """Return the price of a move."""
        if self._movement is None or not self._domain.has_costs:
            return 1.0
        return self._movement.price(self._problem, start, end, _NO_WAY)


def _common(steps: list[Row], others: list[Row]) -> int:
    """Return how many of the first steps are the same."""
    return next(
        (index for index, (step, other) in enumerate(zip(steps, others, strict=False)) if step != other),
        min(len(steps), len(others)),
    )
