"""Domains and a state that the tests of this folder share."""

from __future__ import annotations

from pathlib import Path

import pytest

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.symbols import Atom, SymbolicState

DOMAINS = Path(__file__).parents[1] / "fixtures" / "domains"


@pytest.fixture(scope="session")
def household() -> Domain:
    """The domain that the package brings."""
    return load_domain("household")


@pytest.fixture(scope="session")
def warehouse() -> Domain:
    """A small domain with nothing of a kitchen in it, and names in mixed case."""
    return load_domain(DOMAINS / "warehouse")


@pytest.fixture(scope="session")
def kitchen(household: Domain) -> SymbolicState:
    """A robot at a counter with a knife and a tomato on it, a closed fridge, and a mug that nobody holds."""
    things = {
        "start": ("place", None),
        "counter_1": ("fixture", "CounterTop"),
        "fridge_1": ("fixture", "Fridge"),
        "tomato_1": ("item", "Tomato"),
        "knife_1": ("item", "Knife"),
        "mug_1": ("movable_receptacle", "Mug"),
        "Tomato": ("class", None),
        "Knife": ("class", None),
        "Mug": ("class", None),
        "Fridge": ("class", None),
    }
    atoms = {Atom("at", ("counter_1",)), Atom("hand_empty"), Atom("closed", ("fridge_1",))}
    atoms |= {Atom("in", (item, "counter_1")) for item in ("tomato_1", "knife_1", "mug_1")}
    for name, (_, label) in things.items():
        if label is not None:
            atoms.add(Atom("instance_of", (name, label)))
            atoms |= {Atom(fact, (name,)) for fact in household.classes[label].facts}
    ways = {("counter_1", "fridge_1"): 2.5, ("fridge_1", "counter_1"): 2.5}
    functions = {Atom("distance", pair): length for pair, length in ways.items()}
    return SymbolicState({name: of for name, (of, _) in things.items()}, frozenset(atoms), functions)


@pytest.fixture(scope="session")
def docks(warehouse: Domain) -> SymbolicState:
    """A carrier at the constant Home with a crate beside it, and another dock."""
    objects = {"dock_1": "Dock", "carrier_1": "Robot", "crate_1": "Crate", "charger_1": "robot"}
    atoms = {
        Atom("standsAt", ("carrier_1", "Home")),
        Atom("notFilling", ("carrier_1",)),
        Atom("stored", ("crate_1", "Home")),
    }
    metres = {Atom("metres", ("Home", "dock_1")): 4.0, Atom("metres", ("dock_1", "Home")): 4.0}
    return SymbolicState(objects, frozenset(atoms), metres)
