"""Remembered actions come back in terms of the present: roles, not names; what applies, and nothing else."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from episodes import act, episode_of, put_goal, scene_of

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.state import is_applicable, successor
from graph_planner_ros.domain.symbols import Goal
from graph_planner_ros.memory.bank import ExperienceBank
from graph_planner_ros.memory.episode_files import domain_hash
from graph_planner_ros.memory.exact_bank import ExactBank
from graph_planner_ros.memory.experience import Embedding, Episode, EpisodeStatus, ExperienceStep
from graph_planner_ros.memory.goal_shapes import GoalTier, match_goals
from graph_planner_ros.memory.retrieval import RetrievedAction, Retriever
from graph_planner_ros.memory.triple_encoder import TripleBagEncoder
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import ROBOT_ID, Relation, SceneGraph

ENCODER = TripleBagEncoder()
ANY = 2.0
OLD_KITCHEN = scene_of(
    {"countertop_1": "CounterTop", "countertop_2": "CounterTop", "table_1": "DiningTable"}
    | {"tomato_1": "Tomato", "mug_1": "Mug"},
    {"tomato_1": "countertop_2", "mug_1": "table_1"},
    at="countertop_2",
)
NEW_KITCHEN = scene_of(
    {"shelf_1": "Shelf", "shelf_2": "Shelf", "dining_7": "DiningTable", "tomato_3": "Tomato", "apple_1": "Apple"},
    {"tomato_3": "shelf_1", "apple_1": "shelf_1"},
    at="shelf_1",
)
TOMATO_TO_TABLE = put_goal("Tomato", "DiningTable")
CARRY = [
    act("pick_up", "tomato_1", "countertop_2"),
    act("go_to", "countertop_2", "table_1"),
    act("put", "tomato_1", "table_1"),
]


def ask(
    domain: Domain, episodes: list[Episode], scene: SceneGraph, goal: Goal, tau: float = ANY, **options: bool
) -> list[RetrievedAction]:
    retriever = Retriever(domain, ExactBank(episodes, ENCODER), ENCODER, tau, clock=lambda: 160.0, **options)  # type: ignore[arg-type]
    return retriever.retrieve(scene, symbolic_state(scene, domain), [goal])


def test_an_action_is_carried_over_to_things_with_other_names_in_another_layout(household: Domain) -> None:
    episode = episode_of(household, OLD_KITCHEN, CARRY, [TOMATO_TO_TABLE])
    found = ask(household, [episode], NEW_KITCHEN, TOMATO_TO_TABLE)
    assert found[0].action == act("pick_up", "tomato_3", "shelf_1")
    assert found[0].following == (act("go_to", "shelf_1", "dining_7"), act("put", "tomato_3", "dining_7"))
    assert found[0].binding == {"tomato_1": "tomato_3", "countertop_2": "shelf_1"}
    assert (found[0].age, found[0].origin, found[0].episode_id, found[0].index) == (60.0, "test", "episode", 0)


def test_the_place_in_the_goal_tells_which_thing_of_another_class_plays_the_role(household: Domain) -> None:
    episode = episode_of(household, OLD_KITCHEN, CARRY, [TOMATO_TO_TABLE])
    found = ask(household, [episode], NEW_KITCHEN, put_goal("Apple", "DiningTable"))
    first = next(item for item in found if item.index == 0)
    assert first.action == act("pick_up", "apple_1", "shelf_1")
    assert first.following[-1] == act("put", "apple_1", "dining_7")


def test_different_things_stay_different(household: Domain) -> None:
    scene = scene_of(
        {"a": "CounterTop", "b": "CounterTop", "t1": "Tomato", "t2": "Tomato"}, {"t1": "a", "t2": "a"}, at="a"
    )
    actions = [
        act("pick_up", "t1", "a"), act("go_to", "a", "b"), act("put", "t1", "b"),
        act("go_to", "b", "a"), act("pick_up", "t2", "a"),
    ]  # fmt: skip
    found = ask(household, [episode_of(household, scene, actions)], scene, put_goal("Tomato", "CounterTop"))
    first = next(item for item in found if item.index == 0)
    assert first.action.arguments[0] != first.following[-1].arguments[0]


def test_what_does_not_apply_is_not_advised(household: Domain) -> None:
    episode = episode_of(household, OLD_KITCHEN, CARRY, [TOMATO_TO_TABLE])
    elsewhere = scene_of(
        {"shelf_1": "Shelf", "sofa_1": "Sofa", "tomato_3": "Tomato"}, {"tomato_3": "shelf_1"}, at="sofa_1"
    )
    actions = [item.action for item in ask(household, [episode], elsewhere, TOMATO_TO_TABLE)]
    assert all(is_applicable(household, symbolic_state(elsewhere, household), action) for action in actions)
    assert not any(action.name == "pick_up" for action in actions)


def test_what_follows_ends_where_it_no_longer_applies(household: Domain) -> None:
    episode = episode_of(household, OLD_KITCHEN, CARRY, [TOMATO_TO_TABLE])
    alone = scene_of({"shelf_1": "Shelf", "tomato_3": "Tomato"}, {"tomato_3": "shelf_1"}, at="shelf_1")
    found = ask(household, [episode], alone, TOMATO_TO_TABLE)
    assert found[0].action == act("pick_up", "tomato_3", "shelf_1")
    state = successor(household, symbolic_state(alone, household), found[0].action)
    for action in found[0].following:
        state = successor(household, state, action)


def test_only_what_is_near_enough_comes_back(household: Domain) -> None:
    episode = episode_of(household, OLD_KITCHEN, CARRY, [TOMATO_TO_TABLE])
    assert ask(household, [episode], NEW_KITCHEN, TOMATO_TO_TABLE, tau=0.05) == []
    assert ask(household, [episode], OLD_KITCHEN, TOMATO_TO_TABLE, tau=0.05)[0].distance < 0.05


def test_what_served_a_goal_of_the_same_shape_ranks_first(household: Domain) -> None:
    goal, other = put_goal("Mug", "DiningTable"), Goal((), ())
    scene = scene_of({"c": "CounterTop", "d": "Drawer", "mug": "Mug"}, {"mug": "c"}, at="c", false=[("closed", "d")])
    served = episode_of(household, scene, [act("pick_up", "mug", "c")], [goal], "served")
    nearer = episode_of(household, scene, [act("go_to", "c", "d")], [other], "nearer")
    episodes = [nearer, served]
    assert ask(household, episodes, scene, goal)[0].episode_id == "served"
    assert ask(household, episodes, scene, goal, compare_goals=False)[0].goal is not None


@pytest.mark.parametrize(("at", "carried", "expected"), [(0, False, 0), (0, True, 1), (1, True, 2)])
def test_the_moment_is_found_by_how_far_the_goals_are(household: Domain, at: int, carried: bool, expected: int) -> None:
    episode = episode_of(household, OLD_KITCHEN, CARRY, [TOMATO_TO_TABLE])
    # another kitchen, another thing, and an embedding that says nothing of the moment
    things = {"shelf_1": "Shelf", "dining_7": "DiningTable", "apple_1": "Apple", "mug_4": "Mug", "mug_5": "Mug"}
    inside = {"mug_4": "dining_7", "mug_5": "dining_7"} | ({} if carried else {"apple_1": "shelf_1"})
    scene = scene_of(things, inside, at=("shelf_1", "dining_7")[at])
    if carried:
        scene.relations.append(Relation(ROBOT_ID, "holding", "apple_1"))
    encoder = Constant()
    retriever = Retriever(household, ExactBank([episode], encoder), encoder, ANY)
    found = retriever.retrieve(scene, symbolic_state(scene, household), [put_goal("Apple", "DiningTable")])
    assert found[0].index == expected
    assert found[0].action.name == CARRY[expected].name


class Constant:
    """Embeds every scene alike."""

    dimension, model_hash = 2, "constant"

    def encode(self, scenes: Sequence[SceneGraph]) -> Embedding:
        return np.tile(np.array([1.0, 0.0], np.float32), (len(scenes), 1))


def test_what_was_done_before_decides_between_moments_that_look_alike(household: Domain) -> None:
    scene = scene_of({"c": "CounterTop", "f": "Fridge", "mug": "Mug"}, {"mug": "c"}, at="c")
    goal = put_goal("Mug", "DiningTable")
    # the scene stays as it is, as where nobody sees what came of an action
    steps = [act("go_to", "c", "f"), act("pick_up", "mug", "c")]
    episode = episode_of(household, scene, [], [goal])
    same = tuple(ExperienceStep(n, float(n), scene, action, True) for n, action in enumerate(steps))
    episode = replace(episode, steps=(*same, replace(episode.steps[-1], index=len(same))))
    retriever = Retriever(household, ExactBank([episode], ENCODER), ENCODER, ANY)
    state = symbolic_state(scene, household)
    indices = [retriever.retrieve(scene, state, [goal], before=name)[0].index for name in ("", "go_to")]
    assert indices == [0, 1]


def test_an_episode_that_is_damaged_on_the_disk_is_left_out_and_counted(household: Domain, tmp_path: Path) -> None:
    path = tmp_path / "bank.sqlite"
    episodes = [episode_of(household, OLD_KITCHEN, CARRY, [TOMATO_TO_TABLE], name) for name in ("whole", "damaged")]
    with ExperienceBank.open(path, household, ENCODER) as bank:
        for item in episodes:
            header = replace(item.header, domain="household", domain_hash=domain_hash(household))
            bank.add_episode(replace(item, header=header))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE step SET scene = x'00' WHERE episode = 2 AND position = 1")
        connection.commit()
    state = symbolic_state(NEW_KITCHEN, household)
    with ExperienceBank.open(path, household, ENCODER, read_only=True) as bank:
        retriever = Retriever(household, bank, ENCODER, ANY)
        for _ in retriever.warm_up():
            pass
        found = retriever.retrieve(NEW_KITCHEN, state, [TOMATO_TO_TABLE])
        assert found and {item.episode_id for item in found} == {"whole"}
        assert retriever.skipped > 0
        assert retriever.places(NEW_KITCHEN, [TOMATO_TO_TABLE], "Tomato", {"shelf_1": "Shelf"})


def test_reading_ahead_reads_each_episode_once_and_nothing_is_read_afterwards(household: Domain) -> None:
    read: Counter[str] = Counter()

    class Counting(ExactBank):
        def episode(self, episode_id: str) -> Episode:
            read[episode_id] += 1
            return super().episode(episode_id)

    bank = Counting([episode_of(household, OLD_KITCHEN, CARRY, [TOMATO_TO_TABLE], f"e{n}") for n in range(60)], ENCODER)
    retriever = Retriever(household, bank, ENCODER, ANY)
    for _ in retriever.warm_up():
        pass
    retriever.retrieve(NEW_KITCHEN, symbolic_state(NEW_KITCHEN, household), [TOMATO_TO_TABLE])
    retriever.places(NEW_KITCHEN, [TOMATO_TO_TABLE], "Tomato", {"shelf_1": "Shelf"})
    assert set(read.values()) == {1} and len(read) == 60


def test_actions_that_failed_rank_lower_where_success_counts(household: Domain) -> None:
    scene = scene_of({"c": "CounterTop", "f": "Fridge", "mug": "Mug"}, {"mug": "c"}, at="c")
    failing = [
        episode_of(household, scene, [act("go_to", "c", "f")], name=f"bad{n}", status=EpisodeStatus.FAILED)
        for n in range(4)
    ]
    good = [
        episode_of(household, scene, [act("go_to", "c", "f")], name="lucky"),
        episode_of(household, scene, [act("pick_up", "mug", "c")], name="good"),
    ]
    found = ask(household, failing + good, scene, Goal((), ()), rank_by_success=True)
    assert [item.action.name for item in found] == ["pick_up", "go_to"]
    assert found[0].success_rate == pytest.approx(2 / 3) and found[1].success_rate == pytest.approx(2 / 7)


def test_failed_episodes_and_failed_steps_alone_advise_nothing(household: Domain) -> None:
    episode = episode_of(household, OLD_KITCHEN, CARRY, status=EpisodeStatus.FAILED)
    assert ask(household, [episode], OLD_KITCHEN, TOMATO_TO_TABLE, rank_by_success=True) == []
    solved = episode_of(household, OLD_KITCHEN, CARRY[:1])
    failed = replace(solved, steps=(replace(solved.steps[0], succeeded=False), solved.steps[1]))
    assert ask(household, [failed], OLD_KITCHEN, TOMATO_TO_TABLE) == []


def test_an_episode_is_left_out_on_demand(household: Domain) -> None:
    retriever = Retriever(household, ExactBank([episode_of(household, OLD_KITCHEN, CARRY)], ENCODER), ENCODER, ANY)
    state = symbolic_state(OLD_KITCHEN, household)
    assert retriever.retrieve(OLD_KITCHEN, state, [], exclude_episode="episode") == []


def test_wrong_settings_are_refused(household: Domain) -> None:
    with pytest.raises(ValueError, match="tau"):
        Retriever(household, ExactBank([], ENCODER), ENCODER, 3.0)


def test_goals_are_compared_by_what_they_say() -> None:
    tomato, mug = put_goal("Tomato", "Fridge"), put_goal("Mug", "Shelf")
    renamed = replace(
        tomato,
        variables=tuple(replace(v, name=v.name + "2") for v in tomato.variables),
        literals=tuple(replace(item, arguments=tuple(a + "2" for a in item.arguments)) for item in tomato.literals),
        text="other words",
    )
    assert match_goals([tomato], [renamed]).tier is GoalTier.SAME_CLASSES
    assert match_goals([tomato], [mug]).tier is GoalTier.SAME_SHAPE
    assert match_goals([tomato], [tomato, mug]).tier is GoalTier.RELATED
    assert match_goals([tomato], [put_goal("Tomato", "Fridge", "hot")]).tier is GoalTier.OTHER
    assert match_goals([], []).tier is GoalTier.SAME_CLASSES
