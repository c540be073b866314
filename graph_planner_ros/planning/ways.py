"""Prices of ways: those that are known, and one for all others, without writing down every pair of places."""

from __future__ import annotations

from collections.abc import Mapping

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.state import effects
from graph_planner_ros.domain.symbols import Atom, GroundAction, SymbolicState
from graph_planner_ros.scene.routes import route_schema


class Ways(dict[Atom, float]):
    """Values of functions; a way (a term of ``function``) that has none costs ``price``, staying costs nothing.

    Only `get` knows the default, so that what is iterated is what is known.
    """

    def __init__(self, known: Mapping[Atom, float], function: str, price: float) -> None:
        super().__init__(known)
        self.function = function
        self.price = price

    def get(self, key: Atom, default: float | None = None) -> float | None:  # type: ignore[override]
        """Return the value of a term, or the price of a way whose length nobody knows."""
        value = super().get(key)
        if value is None and key.predicate == self.function:
            return 0.0 if key.arguments[0] == key.arguments[-1] else self.price
        return default if value is None else value

    def copy(self) -> Ways:
        """Return the same prices in a new object."""
        return Ways(self, self.function, self.price)


def is_under_way(domain: Domain, state: SymbolicState, action: GroundAction) -> bool:
    """Return whether an action is a move that is taken step by step and is not at its end yet."""
    routes = route_schema(domain)
    if routes is None or action.name != routes.move:
        return False
    added, _ = effects(domain, action)
    return not {atom for atom in added if atom.predicate == domain.location} <= state.atoms


def from_here(domain: Domain, state: SymbolicState, action: GroundAction) -> GroundAction:
    """Return a move that is under way with the place where the robot is by now as its start."""
    schema = domain.action(action.name)
    here = next((atom.arguments[0] for atom in state.atoms if atom.predicate == domain.location), None)
    left = {term.arguments for term in schema.deleted if term.predicate == domain.location}
    if here is None:
        return action
    pairs = zip(schema.parameters, action.arguments, strict=True)
    return GroundAction(action.name, tuple(here if (parameter.name,) in left else value for parameter, value in pairs))
