"""A text world played by skills, without ROS and without an engine."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from bench_world import RoomWorld
from hypothesis import given, settings
from hypothesis import strategies as st
from small_house import SPEC as HOUSE
from small_house import SmallHouse
from small_kitchen import SmallKitchen

from graph_planner_ros.benchmarks.worlds.game import GameSpec, GameStatus, Observation
from graph_planner_ros.bridges.text_actions import SOMETHING, actions_of, skills_of
from graph_planner_ros.bridges.text_game import BAD_ARGUMENTS, GAME_OVER, NO_COMMAND, REFUSED, TextGame, Told
from graph_planner_ros.bridges.text_world import (
    AGAIN,
    Games,
    TextWorld,
    WorldSettings,
    choose_game,
    open_world,
    world_settings,
)
from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.domain.state import is_applicable
from graph_planner_ros.domain.symbols import GroundAction, SymbolicState
from graph_planner_ros.domain.wording import skill_call
from graph_planner_ros.language.rules import load_language
from graph_planner_ros.skills.result import SkillResult, SkillStatus

ALFWORLD = load_language("alfworld")
KITCHEN = GameSpec("small", "meal", "cooking", "test", 100)
NONSENSE = ["", "qwertz", "x" * 60_000, "<b>You arrive at cabinet 1.</b>", "Du stehst vor dem Schrank."]
PLACES = {"countertop 1": ["mug 1"], "fridge 1": ["egg 1"], "drawer 1": []}
SHUT = ("fridge 1", "drawer 1")


class Ear:
    """Remembers what was told."""

    def __init__(self) -> None:
        self.told: list[Told] = []
        self.time = 100.0

    def hear(self, told: Told) -> None:
        self.told.append(told)

    def clock(self) -> float:
        self.time += 1.0
        return self.time


def play(house: Any, spec: GameSpec = HOUSE, language: Any = ALFWORLD) -> tuple[TextGame, Ear]:
    ear = Ear()
    game = TextGame(language, house, spec, ear.clock, ear.hear)
    assert game.begin() == ""
    return game, ear


# --- one game


def test_skills_win_a_game_and_what_is_told_is_believed_with_the_time_of_the_clock() -> None:
    house = SmallHouse(PLACES, SHUT)
    game, ear = play(house)
    for skill, *things in (
        ("go_to", "fridge 1"),
        ("open", "fridge 1"),
        ("look", "fridge 1"),
        ("pick_up", "egg 1", "fridge 1"),
        ("go_to", "countertop 1"),
        ("put", "egg 1", "countertop 1"),
    ):
        assert game.carry_out(skill, things).succeeded, skill
    assert house.commands == [
        *("go to fridge 1", "open fridge 1", "take egg 1 from fridge 1"),
        *("go to countertop 1", "move egg 1 to countertop 1"),
    ]
    assert game.observation.status is GameStatus.WON and game.over == "the game is won"
    assert [told.step for told in ear.told] == [0, 1, 2, 3, 4, 5]
    graph = ear.told[-1].graph
    assert graph.frame_id == "" and graph.stamp == ear.time
    assert ("egg 1", "in", "countertop 1") in [(r.subject, r.predicate, r.object) for r in graph.relations]
    assert 100.0 < graph.nodes["egg 1"].last_seen <= ear.time


def test_only_what_was_said_is_believed() -> None:
    game, ear = play(SmallHouse(PLACES, SHUT))
    assert "egg 1" not in ear.told[-1].graph.nodes and "mug 1" not in ear.told[-1].graph.nodes
    game.carry_out("go_to", ["fridge 1"])
    assert "egg 1" not in ear.told[-1].graph.nodes


def test_a_skill_that_has_no_admissible_command_fails_with_a_reason_and_a_look() -> None:
    house = SmallHouse(PLACES, SHUT)
    game, _ = play(house)
    game.carry_out("go_to", ["drawer 1"])
    result = game.carry_out("pick_up", ["mug 1", "drawer 1"])
    assert (result.status, result.code) == (SkillStatus.EXECUTION_FAILED, NO_COMMAND)
    assert "mug 1" in result.reason and house.commands[-1] in ("examine drawer 1", "inventory", "look")


def test_what_the_world_refuses_fails_with_its_words() -> None:
    game, _ = play(SmallHouse(PLACES, SHUT, strange={1: "Nothing happens."}))
    result = game.carry_out("go_to", ["fridge 1"])
    assert (result.status, result.code, result.reason) == (
        SkillStatus.EXECUTION_FAILED,
        REFUSED,
        "Nothing happens.",
    )


@pytest.mark.parametrize(
    "said", ["", "qwertz", "x" * 60_000, "<b>You arrive at fridge 1.</b>", "Du stehst vor dem Kühlschrank."]
)
def test_an_answer_that_is_not_understood_is_no_success_and_is_not_believed(said: str) -> None:
    game, ear = play(SmallHouse({**PLACES, "cabinet 1": ["pan 1"]}, SHUT, strange={1: said, 2: said}))
    result = game.carry_out("go_to", ["cabinet 1"])
    assert not result.succeeded and "not understood" in result.reason
    assert "pan 1" not in ear.told[-1].graph.nodes
    assert game.carry_out("go_to", ["fridge 1"]).succeeded


def test_unknown_skills_and_arguments_are_refused_by_name() -> None:
    game, ear = play(SmallHouse(PLACES, SHUT))
    unknown = game.carry_out("fly", ["fridge 1"])
    assert unknown.status is SkillStatus.UNKNOWN_SKILL and "go_to" in unknown.skills
    for things in ([], ["fridge 1", "drawer 1"]):
        assert game.carry_out("go_to", things).code == BAD_ARGUMENTS
    assert game.carry_out("open", ["mug 1"]).code in (BAD_ARGUMENTS, NO_COMMAND)
    assert len(ear.told) <= 2


def test_after_the_limit_the_game_is_lost_and_takes_no_more_commands() -> None:
    house = SmallHouse(PLACES, SHUT)
    game, ear = play(house, GameSpec("small", "egg", "put", "test", 2))
    assert game.carry_out("go_to", ["fridge 1"]).succeeded
    last = game.carry_out("open", ["fridge 1"])
    assert last.code == GAME_OVER and "2 commands" in last.reason
    assert ear.told[-1].observation.status is GameStatus.LOST
    assert game.carry_out("go_to", ["drawer 1"]).code == GAME_OVER and len(house.commands) == 2


def test_an_engine_that_dies_is_a_reason_and_not_an_exception() -> None:
    world = RoomWorld(crash="0")
    spec = world.games("", (), None)[0]
    game, ear = play(world.open(spec), spec)
    game.carry_out("go_to", ["cabinet 1"])
    result = game.carry_out("go_to", ["drawer 1"])
    assert result.code == GAME_OVER and "planned" in result.reason
    assert ear.told[-1].observation.status is GameStatus.CRASHED


def test_what_has_no_poses_is_handled_by_name_in_every_room_of_a_cooking_game() -> None:
    kitchen = SmallKitchen()
    game, ear = play(kitchen, KITCHEN, load_language("textworld"))
    state = game.belief.state()
    places = [name for name, of in state.objects.items() if of == "room" and name != game.belief.location()]
    assert places and game.carry_out("go_to", [places[0]]).succeeded
    assert kitchen.commands and ear.told[-1].step == len(kitchen.commands) == 1  # one command of a way at a time


# --- from skills back to actions


def believed() -> SymbolicState:
    game, _ = play(SmallHouse(PLACES, SHUT))
    game.carry_out("go_to", ["fridge 1"])
    game.carry_out("open", ["fridge 1"])
    return game.belief.state()


def test_every_action_that_applies_is_found_again_from_its_skill() -> None:
    """What is lost in a call is found again, or something that the world cannot tell from it."""
    from graph_planner_ros.domain.state import applicable_actions

    state, domain = believed(), ALFWORLD.domain
    actions = applicable_actions(domain, state)
    assert {"go_to", "take", "close"} <= {action.name for action in actions}
    for action in actions:
        skill, things = skill_call(domain, action)
        found = actions_of(domain, state, skill, things)
        assert action in found or any(skill_call(domain, other) == (skill, things) for other in found), action


def test_a_look_for_something_stands_before_other_looks_and_does_not_say_what_for() -> None:
    found = actions_of(ALFWORLD.domain, believed(), "look", ["fridge 1"])
    assert found[0] == GroundAction("find", (SOMETHING, "fridge 1")) and found[1].name == "look"


def test_a_thing_that_a_plan_makes_needs_no_node() -> None:
    domain = load_domain("robotouille")
    state = SymbolicState({"pot1": "container", "sink1": "station"}, frozenset(), {})
    found = actions_of(domain, state, "fill-pot-done", ["unmade_water_1", "pot1", "sink1"])
    assert found == [GroundAction("fill-pot-done", ("unmade_water_1", "pot1", "sink1"))]


@given(
    domain=st.sampled_from(["alfworld", "robotouille", "textworld", "household"]),
    data=st.data(),
)
@settings(max_examples=150, deadline=None)
def test_no_call_makes_an_action_that_the_domain_does_not_have(domain: str, data: st.DataObject) -> None:
    loaded = load_domain(domain)
    classes = sorted(loaded.classes)
    labels = data.draw(st.lists(st.sampled_from(classes), max_size=4))
    objects = {f"thing {index}": loaded.class_of(label).type_name for index, label in enumerate(labels)}
    state = SymbolicState(objects, frozenset(), {})
    skill = data.draw(st.sampled_from([*skills_of(loaded), "juggle"]))
    things = data.draw(st.lists(st.sampled_from([*objects, "nobody"]), max_size=4))
    for action in actions_of(loaded, state, skill, things):
        assert len(action.arguments) == len(loaded.action(action.name).parameters)
        assert skill_call(loaded, action)[0] == skill
        assert isinstance(is_applicable(loaded, state, action), bool)


# --- games and their choice


SPECS = tuple(GameSpec("w", name, "g", "s", 5) for name in ("put/1", "put/10", "heat/1"))


@pytest.mark.parametrize(
    ("game", "current", "expected"),
    [("", 0, 1), ("", 2, 0), (AGAIN, 1, 1), ("2", 0, 2), ("put/1", 2, 0), ("heat", 0, 2), ("10", 0, None)],
)
def test_games_are_chosen_by_name_number_or_turn(game: str, current: int, expected: int | None) -> None:
    if expected is None:
        with pytest.raises(ValueError, match="there are 3"):
            choose_game(SPECS, game, current)
    else:
        assert choose_game(SPECS, game, current) == expected


@pytest.mark.parametrize(
    ("game", "why"), [("put", "several games fit"), ("wash", "no game is called"), ("9", "no game 9")]
)
def test_a_game_that_there_is_not_is_named(game: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        choose_game(SPECS, game, 0)


def test_a_world_without_games_is_refused_before_anything_starts() -> None:
    with pytest.raises(ValueError, match="data:=PATH"):
        world_settings("alfworld")


def test_a_file_as_game_is_the_data(tmp_path: Any) -> None:
    file = tmp_path / "one.z8"
    file.touch()
    made = world_settings("textworld", data="elsewhere", game=str(file))
    assert (made.options, made.game) == ({"data": str(file)}, "")


# --- the thread


class Slow:
    """A game whose commands wait until they are let go."""

    def __init__(self, house: SmallHouse) -> None:
        self.house, self.at_work, self.go_on = house, threading.Event(), threading.Event()

    def reset(self) -> Observation:
        return self.house.reset()

    def step(self, command: str) -> Observation:
        self.at_work.set()
        assert self.go_on.wait(30.0)
        return self.house.step(command)

    def close(self) -> None:
        self.go_on.set()
        self.house.close()


class OneHouse:
    """A world of one slow game, and of one that cannot be begun."""

    name, domain = "house", "alfworld"

    def __init__(self) -> None:
        self.opened: list[Slow] = []

    def games(self, split: str, seeds: Sequence[int], limit: int | None) -> list[GameSpec]:
        return [GameSpec("house", name, "put", "", 20) for name in ("egg", "broken")]

    def open(self, spec: GameSpec) -> Any:
        if spec.name == "broken":
            raise RuntimeError("the engine has no key")
        self.opened.append(Slow(SmallHouse(PLACES, SHUT)))
        return self.opened[-1]

    def versions(self) -> Mapping[str, str]:
        return {}


class Waiter:
    """Waits for results."""

    def __init__(self) -> None:
        self.results: queue.Queue[SkillResult] = queue.Queue()

    def ended(self, result: SkillResult) -> None:
        self.results.put(result)

    def get(self) -> SkillResult:
        return self.results.get(timeout=30.0)


@pytest.fixture()
def house() -> Iterator[tuple[TextWorld, OneHouse, Ear]]:
    source, ear = OneHouse(), Ear()
    games = Games(source, tuple(source.games("", (), None)), 0, ALFWORLD)
    world = TextWorld(games, ear.clock, ear.hear)
    assert begin(world, "0") == ""
    yield world, source, ear
    world.close()
    assert all(slow.house.closed for slow in source.opened)


def begin(world: TextWorld, game: str) -> str:
    said: queue.Queue[str] = queue.Queue()
    world.start_game(game, said.put)
    return said.get(timeout=30.0)


def test_a_stop_is_answered_at_once_and_the_command_under_way_is_still_taken_in(
    house: tuple[TextWorld, OneHouse, Ear],
) -> None:
    world, source, _ = house
    first, second = Waiter(), Waiter()
    stop: Callable[[str], None] = world.run_skill("go_to", ["fridge 1"], first)
    assert source.opened[0].at_work.wait(30.0)
    stop("cancelled by its client")
    assert first.get().status is SkillStatus.CANCELLED
    source.opened[0].go_on.set()
    world.run_skill("open", ["fridge 1"], second)
    assert second.get().succeeded
    assert source.opened[0].house.commands == ["go to fridge 1", "open fridge 1"]


def test_a_skill_that_is_stopped_before_its_turn_is_not_carried_out(house: tuple[TextWorld, OneHouse, Ear]) -> None:
    world, source, _ = house
    first, second = Waiter(), Waiter()
    world.run_skill("go_to", ["fridge 1"], first)
    world.run_skill("go_to", ["drawer 1"], second)("never mind")
    source.opened[0].go_on.set()
    assert second.get().status is SkillStatus.CANCELLED and first.get() is not None
    assert begin(world, AGAIN) == ""
    assert source.opened[0].house.commands == ["go to fridge 1"]


def test_a_game_that_cannot_be_begun_leaves_the_one_before_as_it_is(house: tuple[TextWorld, OneHouse, Ear]) -> None:
    world, source, ear = house
    assert "no key" in begin(world, "broken") and "no game" in begin(world, "7")
    source.opened[0].go_on.set()
    waiter = Waiter()
    world.run_skill("go_to", ["fridge 1"], waiter)
    assert waiter.get().succeeded and ear.told[-1].step == 1


def test_another_game_has_a_belief_of_its_own(house: tuple[TextWorld, OneHouse, Ear]) -> None:
    world, source, ear = house
    source.opened[0].go_on.set()
    waiter = Waiter()
    world.run_skill("go_to", ["countertop 1"], waiter)
    assert waiter.get().succeeded and "mug 1" in ear.told[-1].graph.nodes
    assert begin(world, AGAIN) == ""
    assert ear.told[-1].step == 0 and "mug 1" not in ear.told[-1].graph.nodes
    assert source.opened[0].house.closed


def test_a_world_that_is_not_installed_is_one_sentence() -> None:
    from graph_planner_ros.benchmarks.worlds.game import WorldUnavailableError

    with pytest.raises(WorldUnavailableError, match="run world rooms"):
        open_world(WorldSettings("bench_world:RoomWorld", {"missing": "yes"}))
