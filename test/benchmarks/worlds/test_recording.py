"""Games become episodes: every action with the scene before it, what came of it, and nothing changed by watching."""

from __future__ import annotations

import itertools

from bench_world import RoomWorld

from graph_planner_ros.benchmarks.worlds.agent import TextAgent
from graph_planner_ros.benchmarks.worlds.experience import collect_from_world, layout_of, spread
from graph_planner_ros.benchmarks.worlds.game import GameSpec
from graph_planner_ros.benchmarks.worlds.recording import Recorder, origin_of
from graph_planner_ros.language.rules import load_language
from graph_planner_ros.memory.experience import EpisodeStatus
from graph_planner_ros.scene.storage import graph_to_dict


def test_every_game_becomes_an_episode_with_what_was_done() -> None:
    world = RoomWorld(size="4")
    found = list(collect_from_world(world, world.games("", (), None)))
    assert [spec.name for spec, _ in found] == [f"room-{number}" for number in range(4)]
    for spec, episode in found:
        header = episode.header
        assert header.status is EpisodeStatus.SUCCEEDED and header.origin == origin_of(spec)
        assert header.instruction == "put a mug in sinkbasin" and header.goals
        assert [step.index for step in episode.steps] == list(range(len(episode.steps)))
        assert [step.action is None for step in episode.steps] == [False] * (len(episode.steps) - 1) + [True]
        names = [step.action.name for step in episode.steps if step.action is not None]
        assert names[-3:] == ["take", "go_to", "put"]
        before = episode.steps[0].scene
        assert "mug 1" not in before.nodes and "mug 1" in episode.steps[-1].scene.nodes
        stamps = [step.stamp for step in episode.steps]
        assert stamps == sorted(stamps)


def test_watching_changes_nothing() -> None:
    world, language = RoomWorld(size="2"), load_language("alfworld")
    for spec in world.games("", (), None):
        agent = TextAgent(language.domain, language.parser, language.grounder)
        alone = agent.play(world.open(spec), spec)
        agent.observer = Recorder(language.domain, spec)
        watched = agent.play(world.open(spec), spec)
        assert [step.command for step in watched.steps] == [step.command for step in alone.steps]


def test_scenes_are_copies_and_differ_from_step_to_step() -> None:
    world = RoomWorld(size="1")
    ((_, episode),) = collect_from_world(world, world.games("", (), None))
    scenes = [graph_to_dict(step.scene) for step in episode.steps]
    assert all(first != second for first, second in itertools.pairwise(scenes))


def test_a_game_that_breaks_or_is_not_won_is_an_episode_with_its_status() -> None:
    world = RoomWorld(size="3", crash="0", lose="1")
    statuses = [episode.header.status for _, episode in collect_from_world(world, world.games("", (), None))]
    assert statuses == [EpisodeStatus.INTERRUPTED, EpisodeStatus.FAILED, EpisodeStatus.SUCCEEDED]


def test_worlds_without_homes_have_one_for_each_group_and_seed() -> None:
    spec = GameSpec("rooms", "room-0", "shut", "easy", 30, 7)
    assert layout_of(RoomWorld(), spec) == "shut, seed 7"


def test_any_first_part_of_a_collection_is_mixed() -> None:
    specs = [
        GameSpec("w", f"{group}{n}", group, "s", 9)
        for group, many in (("a", 40), ("b", 9), ("c", 1))
        for n in range(many)
    ]
    assert sorted(spec.name for spec in spread(specs)) == sorted(spec.name for spec in specs)
    for count in (1, 5, 12, 30):
        part = spread(specs, count)
        assert len(part) == len({spec.name for spec in part}) <= count
    part = spread(specs, 12)
    assert sum(spec.group == "a" for spec in part) >= 4 and sum(spec.group == "b" for spec in part) >= 4
    numbers = [int(spec.name[1:]) for spec in part if spec.group == "a"]
    assert max(numbers) - min(numbers) > 10, "the list of a group is not only taken from its beginning"
