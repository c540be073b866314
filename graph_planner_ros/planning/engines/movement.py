"""The action that only moves the robot, found by its form: it can be merged into all others, see `reduction`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from graph_planner_ros.planning.engines.model import DomainModel, Operator, ProblemModel, Row, substitute


@dataclass(frozen=True)
class Movement:
    """The action that only moves: its parameters for start and end, and the predicate of the place."""

    operator: Operator
    start: str
    end: str
    predicate: str

    def place_of(self, operator: Operator) -> Row:
        """Return the condition of an operator that names the place where it is done.

        Raises:
            StopIteration: if it may be done anywhere; see `is_tied`.
        """
        return next(c.atom for c in operator.conditions if c.atom[0] == self.predicate and c.positive)

    def is_tied(self, operator: Operator) -> bool:
        """Return whether an operator is done at a certain place."""
        return any(condition.atom[0] == self.predicate for condition in operator.conditions)

    def price(self, problem: ProblemModel, start: str, end: str, otherwise: float) -> float:
        """Return what a move costs; ``otherwise`` for each price that the problem does not say."""
        ends = {self.start: start, self.end: end}
        terms = (substitute(term, ends) for term in self.operator.cost_terms)
        return self.operator.cost + sum(problem.values.get(term, otherwise) for term in terms)


@lru_cache(maxsize=256)
def find_movement(domain: DomainModel, names: frozenset[str]) -> Movement | None:
    """Return the action that can be merged into the others, if there is one and nothing speaks against it."""
    operators = [domain.operators[name] for name in domain.operators if name in names]
    for operator in operators:
        if len(operator.conditions) != 1 or len(operator.added) != 1 or len(operator.deleted) != 1:
            continue
        (condition,), (added,), (deleted,) = operator.conditions, operator.added, operator.deleted
        ends = [deleted[1:], added[1:]]
        if (
            condition.positive
            and condition.atom == deleted
            and deleted[0] == added[0]
            and list(operator.parameters) in ([*ends[0], *ends[1]], [*ends[1], *ends[0]])
            and len(operator.parameters) == 2
        ):
            movement = Movement(operator, deleted[1], added[1], added[0])
            others = [other for other in operators if other is not operator]
            if all(_mergeable(domain, other, movement) for other in others):
                return movement
    return None


def _mergeable(domain: DomainModel, operator: Operator, movement: Movement) -> bool:
    """Return whether an action leaves the robot's place alone and needs at most one that can be gone to."""
    places = [condition for condition in operator.conditions if condition.atom[0] == movement.predicate]
    changes = any(row[0] == movement.predicate for row in (*operator.added, *operator.deleted))
    if changes or len(places) > 1 or any(not condition.positive for condition in places):
        return False
    if not places:
        return True
    place = places[0].atom[1]
    of = operator.parameters.get(place) or domain.constants.get(place, "object")
    return movement.operator.parameters[movement.end] in domain.ancestors.get(of, ())


def places(problem: ProblemModel, movement: Movement | None) -> set[str]:
    """Return where the robot is now, as far as moves are merged."""
    if movement is None:
        return set()
    return {row[1] for row in problem.atoms if row[0] == movement.predicate}
