"""Symbolic execution: what applies, why something does not, and what comes after it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.state import (
    InapplicableActionError,
    MissingValueError,
    applicable_actions,
    cost,
    effects,
    is_applicable,
    successor,
    unmet_preconditions,
)
from graph_planner_ros.domain.symbols import Atom, GroundAction, SymbolicState


def act(name: str, *arguments: str) -> GroundAction:
    """An action."""
    return GroundAction(name, arguments)


def test_what_applies_is_found(household: Domain, kitchen: SymbolicState) -> None:
    found = {str(action) for action in applicable_actions(household, kitchen) if action.name != "go_to"}
    assert found == {
        "look(counter_1)",
        "pick_up(tomato_1, counter_1)",
        "pick_up(knife_1, counter_1)",
        "pick_up(mug_1, counter_1)",
    }


def test_the_order_is_that_of_the_domain_and_then_of_the_arguments(household: Domain, kitchen: SymbolicState) -> None:
    found = applicable_actions(household, kitchen)
    order = list(household.actions)
    assert found == sorted(found, key=lambda action: (order.index(action.name), action.arguments))


def test_a_failed_precondition_is_named(household: Domain, kitchen: SymbolicState) -> None:
    assert unmet_preconditions(household, kitchen, act("open", "fridge_1")) == ["at(fridge_1)"]
    unmet = unmet_preconditions(household, kitchen, act("put", "tomato_1", "counter_1"))
    assert unmet == ["holding(tomato_1)"]
    holding = replace(kitchen, atoms=kitchen.atoms | {Atom("sliced", ("tomato_1",)), Atom("holding", ("knife_1",))})
    assert unmet_preconditions(household, holding, act("slice", "tomato_1", "knife_1", "counter_1")) == [
        "not sliced(tomato_1)"
    ]


def test_things_and_actions_that_do_not_exist_are_named(household: Domain, kitchen: SymbolicState) -> None:
    assert unmet_preconditions(household, kitchen, act("open", "fridge_9")) == ["there is no 'fridge_9'"]
    assert "must be a fixture" in unmet_preconditions(household, kitchen, act("open", "mug_1"))[0]
    assert "no action 'fly'" in unmet_preconditions(household, kitchen, act("fly"))[0]
    assert "takes 1 arguments, not 2" in unmet_preconditions(household, kitchen, act("open", "mug_1", "mug_1"))[0]


def test_the_successor_has_the_effects_and_nothing_else(household: Domain, kitchen: SymbolicState) -> None:
    action = act("pick_up", "mug_1", "counter_1")
    after = successor(household, kitchen, action)
    assert after.atoms - kitchen.atoms == {Atom("holding", ("mug_1",))}
    assert kitchen.atoms - after.atoms == {Atom("in", ("mug_1", "counter_1")), Atom("hand_empty")}
    assert effects(household, action) == (after.atoms - kitchen.atoms, kitchen.atoms - after.atoms)


def test_what_does_not_apply_has_no_successor(household: Domain, kitchen: SymbolicState) -> None:
    with pytest.raises(InapplicableActionError, match=r"open\(fridge_1\).*at\(fridge_1\)"):
        successor(household, kitchen, act("open", "fridge_1"))
    assert issubclass(InapplicableActionError, ValueError)


def test_an_effect_that_is_added_and_deleted_is_added(household: Domain) -> None:
    added, deleted = effects(household, act("go_to", "counter_1", "counter_1"))
    assert added == {Atom("at", ("counter_1",))}
    assert not deleted


def test_costs_are_constants_and_functions(household: Domain, kitchen: SymbolicState) -> None:
    assert cost(household, kitchen, act("pick_up", "mug_1", "counter_1")) == 2.0
    assert cost(household, kitchen, act("go_to", "counter_1", "fridge_1")) == 2.5
    with pytest.raises(MissingValueError, match=r"distance\(start, fridge_1\)"):
        cost(household, kitchen, act("go_to", "start", "fridge_1"))


def test_another_domain_works_the_same_way(warehouse: Domain, docks: SymbolicState) -> None:
    found = {str(action) for action in applicable_actions(warehouse, docks)}
    assert found == {
        "Drive(carrier_1, Home, dock_1)",
        "load(crate_1, carrier_1, Home)",
        "plug(charger_1)",
    }
    assert unmet_preconditions(warehouse, docks, act("Drive", "carrier_1", "Home", "Home")) == [
        "a and b must be different things"
    ]
    after = successor(warehouse, docks, act("plug", "charger_1"))
    assert Atom("plugged", ("charger_1", "Home")) in after.atoms


def test_many_things_do_not_make_it_slow_to_find_what_applies(household: Domain, kitchen: SymbolicState) -> None:
    """Trying all combinations for `slice` alone would be 64 million here and never end."""
    objects = dict(kitchen.objects) | {f"apple_{number}": "item" for number in range(400)}
    atoms = kitchen.atoms | {Atom("in", (f"apple_{number}", "fridge_1")) for number in range(400)}
    large = SymbolicState(objects, atoms, kitchen.functions)
    assert applicable_actions(household, large) == applicable_actions(household, kitchen)


@settings(deadline=None, max_examples=25)
@given(choices=st.lists(st.integers(0, 10_000), max_size=12))
def test_joining_finds_exactly_what_trying_everything_finds(
    warehouse: Domain, docks: SymbolicState, choices: list[int]
) -> None:
    state = docks
    for choice in choices:
        found = applicable_actions(warehouse, state)
        tried = [
            GroundAction(schema.name, row)
            for schema in warehouse.actions.values()
            for row in itertools.product([*state.objects, *warehouse.constants], repeat=len(schema.parameters))
            if is_applicable(warehouse, state, GroundAction(schema.name, row))
        ]
        assert sorted(found) == sorted(tried)
        state = successor(warehouse, state, found[choice % len(found)])
