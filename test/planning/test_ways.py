"""Ways: prices of those that nobody knows, and moves that are under way."""

from __future__ import annotations

from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.domain.symbols import Atom, GroundAction, SymbolicState
from graph_planner_ros.planning.ways import Ways, from_here


def test_a_way_that_nobody_knows_has_a_price() -> None:
    ways = Ways({Atom("distance", ("a", "b")): 3.0}, "distance", 20.0)
    assert ways.get(Atom("distance", ("a", "b"))) == 3.0
    assert ways.get(Atom("distance", ("b", "a"))) == 20.0
    assert ways.get(Atom("distance", ("c", "c"))) == 0.0
    assert ways.get(Atom("check_cost", ("x", "a"))) is None
    assert len(ways.copy()) == 1


def test_a_move_under_way_starts_from_here() -> None:
    domain = load_domain("textworld")
    state = SymbolicState({"Hall": "room"}, frozenset({Atom("at", ("Hall",))}))
    assert str(from_here(domain, state, GroundAction("go_to", ("Attic", "Cave")))) == "go_to(Hall, Cave)"
    opened = GroundAction("open", ("chest", "Attic"))
    assert from_here(domain, state, opened) == opened
