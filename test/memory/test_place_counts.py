"""Where things were: by the first sight of them, smoothed, and weighted by likeness of home and goal."""

from __future__ import annotations

import pytest
from episodes import act, episode_of, put_goal, scene_of

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.memory.exact_bank import ExactBank
from graph_planner_ros.memory.experience import Episode
from graph_planner_ros.memory.retrieval import Retriever
from graph_planner_ros.memory.triple_encoder import TripleBagEncoder

ENCODER = TripleBagEncoder()
PLACES = {"fridge_9": "Fridge", "shelf_9": "Shelf", "cabinet_9": "Cabinet"}
GOAL = put_goal("Tomato", "DiningTable")


def home(domain: Domain, name: str, place: str, carried_to: str = "") -> Episode:
    """An episode in a home where a tomato lay in one place, all others were looked at, and it may be carried on."""
    things = {"fridge_1": "Fridge", "shelf_1": "Shelf", "cabinet_1": "Cabinet", "tomato_1": "Tomato"}
    looked = [("observed", other) for other in things if other != "tomato_1"]
    scene = scene_of(things, {"tomato_1": place}, at=place, true=looked, false=[("closed", "fridge_1")])
    actions = [act("pick_up", "tomato_1", place)]
    if carried_to:
        actions += [act("go_to", place, carried_to), act("put", "tomato_1", carried_to)]
    return episode_of(domain, scene, actions, [GOAL], name)


def chances(domain: Domain, episodes: list[Episode], class_name: str = "Tomato") -> dict[str, float]:
    retriever = Retriever(domain, ExactBank(episodes, ENCODER), ENCODER)
    return dict(retriever.places(scene_of(PLACES), [GOAL], class_name, PLACES))


def test_things_are_expected_where_they_were(household: Domain) -> None:
    found = chances(household, [home(household, str(n), "fridge_1") for n in range(5)])
    assert set(found) == set(PLACES)
    assert found["fridge_9"] > 0.6 > 0.2 > found["shelf_9"]


def test_few_episodes_claim_little(household: Domain) -> None:
    few, many = (chances(household, [home(household, str(n), "fridge_1") for n in range(k)]) for k in (1, 20))
    assert few["fridge_9"] - few["shelf_9"] <= many["fridge_9"] - many["shelf_9"]


def test_where_it_was_carried_does_not_count_as_found(household: Domain) -> None:
    carried = [home(household, str(n), "fridge_1", "shelf_1") for n in range(5)]
    assert chances(household, carried) == pytest.approx(
        chances(household, [home(household, str(n), "fridge_1") for n in range(5)])
    )


def test_what_nobody_ever_saw_has_no_chances(household: Domain) -> None:
    assert chances(household, [home(household, "a", "fridge_1")], "Mug") == {}
    assert chances(household, []) == {}


def test_a_place_that_nobody_looked_at_says_nothing(household: Domain) -> None:
    things = {"fridge_1": "Fridge", "shelf_1": "Shelf", "tomato_1": "Tomato"}
    unseen = episode_of(household, scene_of(things, {"tomato_1": "fridge_1"}, at="fridge_1"), [], [GOAL])
    seen = episode_of(
        household, scene_of(things, {"tomato_1": "fridge_1"}, at="fridge_1", true=[("observed", "shelf_1")]), [], [GOAL]
    )
    doubled = scene_of({**things, "tomato_2": "Tomato"}, {"tomato_1": "fridge_1", "tomato_2": "shelf_1"}, at="fridge_1")
    before = episode_of(household, doubled, [], [GOAL], "b")
    assert chances(household, [unseen, before])["shelf_9"] > chances(household, [seen, before])["shelf_9"]


def test_episodes_for_the_same_goal_count_more(household: Domain) -> None:
    same, other = home(household, "same", "fridge_1"), home(household, "other", "shelf_1")
    other = Episode(type(other.header)(**{**vars(other.header), "goals": ()}), other.steps)
    found = chances(household, [same, other])
    assert found["fridge_9"] > found["shelf_9"]
