"""ALFWorld's adapter: data, answers of the engine, how its texts are read; real games where it is installed."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest
from small_house import SmallHouse

from graph_planner_ros.benchmarks.worlds import alfworld, process
from graph_planner_ros.benchmarks.worlds.agent import TextAgent
from graph_planner_ros.benchmarks.worlds.alfworld import AlfworldGame, read_games
from graph_planner_ros.benchmarks.worlds.environments import find_python
from graph_planner_ros.benchmarks.worlds.game import GameSpec, GameStatus, Observation, WorldUnavailableError
from graph_planner_ros.benchmarks.worlds.learning import learn_prior
from graph_planner_ros.domain.goal import describe_goal
from graph_planner_ros.language.interface import Context
from graph_planner_ros.language.rules import Language, load_language
from graph_planner_ros.planning.prior import Prior

ROW = {
    "id": "pick_heat_then_place_in_recep-Egg-None-Fridge-1/t1",
    "goal": "put a hot egg in fridge",
    "pddl_problem": "()",
}
SERVERS = Path(process.__file__).parent / "servers"
FAKE = f"""
import os, sys
sys.path.insert(0, {str(SERVERS)!r})
from channel import serve
class Server:
    def do_start(self, goal, pddl_problem):
        if pddl_problem == "unsolvable":
            raise RuntimeError("the game has no solution")
        print("the engine says hello")
        return {{"text": "You are in a room.", "commands": ["look", "go to fridge 1"], "won": False, "done": False}}
    def do_step(self, command):
        if command == "die":
            os._exit(4)
        if command == "lack":
            return {{"text": "?"}}
        won = command == "win"
        return {{"text": command, "commands": [], "won": won, "done": won or command == "lose"}}
serve(Server)
"""


@pytest.fixture(scope="module")
def language() -> Language:
    return load_language("alfworld")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "fake_alfworld.py"
    script.write_text(FAKE)
    monkeypatch.setattr(alfworld, "SCRIPT", script)


# ---- data


def test_games_are_rows_of_a_file(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    plain.write_text(json.dumps(ROW) + "\n")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    for path in (plain, packed):
        (spec,) = read_games(path, "valid_seen", seed=3)
        assert (spec.world, spec.name, spec.group, spec.split) == ("alfworld", ROW["id"], "heat", "valid_seen")
        assert (spec.limit, spec.seed, spec.data["goal"]) == (50, 3, ROW["goal"])


@pytest.mark.parametrize("line", ["nonsense", "[1]", '{"id": "x"}'])
def test_a_line_that_is_no_game_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text(json.dumps(ROW) + "\n" + line + "\n")
    with pytest.raises(ValueError, match=r"games\.jsonl, line 2"):
        list(read_games(path, "train"))


# ---- the engine's process


def test_a_game_is_played_through_the_pipe(fake: None) -> None:
    game = AlfworldGame(ROW, Path(sys.executable))
    first = game.reset()
    assert first == Observation("You are in a room.", ("look", "go to fridge 1"), ROW["goal"])
    assert game.step("look").status is GameStatus.RUNNING
    won = game.step("win")
    assert (won.status, won.score, won.reason) == (GameStatus.WON, 1.0, "")
    assert game.step("look") is won, "after its end a game does not change"
    assert game.reset().status is GameStatus.RUNNING
    assert game.step("lose").status is GameStatus.LOST
    game.close()
    game.close()


@pytest.mark.parametrize(("command", "reason"), [("die", "exit code 4"), ("lack", "lacks 'won'")])
def test_a_broken_engine_is_a_crash_with_its_reason(fake: None, command: str, reason: str) -> None:
    game = AlfworldGame(ROW, Path(sys.executable))
    game.reset()
    crashed = game.step(command)
    assert (crashed.status, reason in crashed.reason) == (GameStatus.CRASHED, True)
    assert game.reset().status is GameStatus.RUNNING, "the next game has an engine again"
    game.close()


def test_a_game_that_cannot_be_won_is_a_failure_with_its_reason(fake: None, language: Language) -> None:
    data = {**ROW, "pddl_problem": "unsolvable"}
    game = AlfworldGame(data, Path(sys.executable))
    spec = GameSpec("alfworld", "x", "heat", "valid_seen", 50, data=data)
    record = TextAgent(language.domain, language.parser, language.grounder).play(game, spec)
    game.close()
    assert (record.status, record.steps_taken) == ("crashed", 0)
    assert "the game has no solution" in record.reason


# ---- how it talks (texts as alfworld 0.3 and 0.4 say them)

OBJECTS = {"microwave 1": "Microwave", "countertop 2": "CounterTop", "egg 1": "Egg", "desklamp 1": "DeskLamp"}


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("You arrive at microwave 1. The microwave 1 is closed.", ["at(microwave 1)", "closed(microwave 1)"]),
        (
            "You open the microwave 1. The microwave 1 is open. In it, you see a egg 1.",
            ["not closed(microwave 1)", "in(egg 1, microwave 1)", "observed(microwave 1)"],
        ),
        (
            "On the countertop 2, you see a egg 1, a knife 2, and a soapbottle 1.",
            [f"in({name}, countertop 2)" for name in ("egg 1", "knife 2", "soapbottle 1")] + ["observed(countertop 2)"],
        ),
        ("On the countertop 2, you see nothing.", ["observed(countertop 2)"]),
        ("You pick up the egg 1 from the countertop 2.", ["holding(egg 1)"]),
        ("You move the egg 1 to the countertop 2.", ["in(egg 1, countertop 2)"]),
        ("You put the egg 1 in/on the countertop 2.", ["in(egg 1, countertop 2)"]),
        ("You heat the egg 1 using the microwave 1.", ["hot(egg 1)", "not cold(egg 1)"]),
        ("You turn on the desklamp 1.", ["switched_on(desklamp 1)"]),
        ("You are carrying: a egg 1.", ["holding(egg 1)"]),
        ("You are not carrying anything.", []),
        ("This is a hot and clean egg 1.", ["hot(egg 1)", "cleaned(egg 1)"]),
        ("There's nothing special about egg 1.", []),
        ("You are facing the countertop 2. Next to it, you see nothing.", []),
    ],
)
def test_texts_are_read(language: Language, text: str, facts: list[str]) -> None:
    parsed = language.parser.parse(text, Context(OBJECTS))
    assert [f"{'' if fact.positive else 'not '}{fact.atom}" for fact in parsed.facts] == facts
    assert not parsed.failed


def test_nothing_happens_is_a_failure(language: Language) -> None:
    assert language.parser.parse("Nothing happens.", Context(OBJECTS, command="open egg 1")).failed


@pytest.mark.parametrize(
    ("goal", "meaning"),
    [
        ("put a book in sidetable", "in(x, r)"),
        ("put some book on sidetable", "in(x, r)"),
        ("put two keychain in safe", "in(x, r) in(y, r)"),
        ("find two keychain and put them in safe", "in(x, r) in(y, r)"),
        ("clean some mug and put it in coffeemachine", "cleaned(x) in(x, r)"),
        ("put a hot apple in sinkbasin", "hot(x) in(x, r)"),
        ("cool some lettuce and put it in countertop", "cold(x) in(x, r)"),
        ("look at cd under the desklamp", "examined_under(x, l)"),
        ("examine the statue with the floorlamp", "examined_under(x, l)"),
        ("put a hot slice of tomato in fridge", "sliced(x) hot(x) in(x, r)"),
    ],
)
def test_goals_are_read(language: Language, goal: str, meaning: str) -> None:
    (found,) = language.parser.goals(goal, Context())
    assert describe_goal(found, language.domain) == goal
    literals = [f"{item.predicate}({', '.join(item.arguments)})".replace("?", "") for item in found.literals]
    assert " ".join(literals) == meaning


def test_every_action_of_the_domain_has_its_command(language: Language) -> None:
    missing = [name for name in language.domain.actions if name not in language.grounder._rules.commands]  # type: ignore[attr-defined]
    assert missing == []


# ---- learning where things are


def test_where_things_are_is_learned_by_looking_everywhere(language: Language) -> None:
    places = {"countertop 1": ["mug 1", "mug 2"], "cabinet 1": [], "cabinet 2": ["egg 1"], "fridge 1": ["apple 1"]}
    house = SmallHouse(places, ("cabinet 1", "cabinet 2", "fridge 1"), wins=("mug 9", ""))
    prior = Prior("test")
    spec = GameSpec("small", "one", "put", "train", 50)
    ((_, record),) = learn_prior(language, [(spec, house)], prior)
    assert house.closed and record.reason == "the goal is believed to be reached"
    assert not any(command.startswith(("take", "move")) for command in house.commands)
    assert prior.homes == 1
    assert prior.counts["Mug"] == {"CounterTop": (1, 1), "Cabinet": (0, 2), "Fridge": (0, 1)}
    assert prior.counts["Egg"]["Cabinet"] == (1, 2)


# ---- the real engine


def real_python() -> Path:
    try:
        return find_python("alfworld")
    except WorldUnavailableError as error:
        pytest.skip(str(error))


REAL = """(define (problem small) (:domain alfred)
(:objects agent1 - agent Egg_bar_1 - object EggType - otype MicrowaveType CounterTopType - rtype
 Microwave_bar_1 CounterTop_bar_1 - receptacle loc_1 loc_2 loc_3 - location)
(:init (receptacleType Microwave_bar_1 MicrowaveType) (receptacleType CounterTop_bar_1 CounterTopType)
 (openable Microwave_bar_1) (receptacleAtLocation Microwave_bar_1 loc_1) (receptacleAtLocation CounterTop_bar_1 loc_2)
 (objectType Egg_bar_1 EggType) (pickupable Egg_bar_1) (heatable Egg_bar_1) (inReceptacle Egg_bar_1 Microwave_bar_1)
 (objectAtLocation Egg_bar_1 loc_1) (canContain CounterTopType EggType) (canContain MicrowaveType EggType)
 (atLocation agent1 loc_3))
(:goal (and (exists (?r - receptacle) (exists (?o - object) (and (heatable ?o) (objectType ?o EggType)
 (receptacleType ?r CounterTopType) (isHot ?o) (inReceptacle ?o ?r)))))))
"""


def test_the_real_engine_is_played(language: Language) -> None:
    data = {"goal": "put a hot egg in countertop", "pddl_problem": REAL}
    game = AlfworldGame(data, real_python())
    spec = GameSpec("alfworld", "real", "heat", "test", 50, data=data)
    record = TextAgent(language.domain, language.parser, language.grounder).play(game, spec)
    game.close()
    assert (record.status, record.reason) == ("won", "")
    assert [step.command for step in record.steps[1:]][-3:] == [
        "heat egg 1 with microwave 1",
        "go to countertop 1",
        "move egg 1 to countertop 1",
    ]


def test_the_real_engine_tells_games_that_cannot_be_won() -> None:
    problem = REAL.replace("(pickupable Egg_bar_1)", "")
    game = AlfworldGame({"goal": "put a hot egg in countertop", "pddl_problem": problem}, real_python())
    observation = game.reset()
    game.close()
    assert observation.status is GameStatus.CRASHED
    assert "the game has no solution" in observation.reason
