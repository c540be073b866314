"""Actions in words, and the skills behind them, come from the domain's YAML."""

from __future__ import annotations

import pytest

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.domain.wording import describe_action, skill_call


def test_an_action_reads_as_a_sentence(household: Domain, warehouse: Domain) -> None:
    action = GroundAction("find", ("unseen_tomato_1", "fridge_1"))
    assert describe_action(household, action) == "look for unseen_tomato_1 in fridge_1"
    assert describe_action(household, action, {"unseen_tomato_1": "a tomato"}) == "look for a tomato in fridge_1"
    drive = GroundAction("Drive", ("carrier_1", "Home", "dock_1"))
    assert describe_action(warehouse, drive) == "carrier_1 drives to dock_1"


def test_braces_in_a_name_do_no_harm(household: Domain) -> None:
    assert describe_action(household, GroundAction("open", ("{f}",))) == "open {f}"


def test_an_action_without_a_sentence_is_still_shown(household: Domain) -> None:
    assert describe_action(household, GroundAction("fly", ("mug_1",))) == "fly(mug_1)"
    assert describe_action(household, GroundAction("open", ())) == "open()"


def test_an_action_is_carried_out_by_its_skill_with_the_arguments_that_it_wants(household: Domain) -> None:
    assert skill_call(household, GroundAction("find", ("mug_1", "fridge_1"))) == ("look", ("fridge_1",))
    assert skill_call(household, GroundAction("go_to", ("start", "fridge_1"))) == ("go_to", ("fridge_1",))
    assert skill_call(household, GroundAction("put_into", ("egg_1", "bowl_1", "sink_1"))) == (
        "put",
        ("egg_1", "bowl_1"),
    )


def test_an_action_that_no_skill_carries_out_is_named(household: Domain) -> None:
    with pytest.raises(DomainError, match="'fly'"):
        skill_call(household, GroundAction("fly", ("mug_1",)))
    with pytest.raises(DomainError, match="takes 1 arguments, not 0"):
        skill_call(household, GroundAction("open", ()))
