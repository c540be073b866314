"""Robotouille's adapter: with a stand-in for the engine, and with the engine itself where it is installed."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from graph_planner_ros.benchmarks.worlds import process, robotouille
from graph_planner_ros.benchmarks.worlds.agent import TextAgent
from graph_planner_ros.benchmarks.worlds.game import GameSpec, GameStatus, WorldUnavailableError
from graph_planner_ros.benchmarks.worlds.process import EngineError, EngineProcess
from graph_planner_ros.benchmarks.worlds.robotouille import Installation, RobotouilleGame, list_games, step_limit
from graph_planner_ros.benchmarks.worlds.robotouille_tasks import make_tasks
from graph_planner_ros.cli import app
from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.domain.symbols import Atom, Goal, GoalLiteral, GoalVariable
from graph_planner_ros.language.interface import Context
from graph_planner_ros.language.rules import load_language

FAKE = Path(__file__).parent / "robotouille_server.py"
SERVERS = Path(process.__file__).parent / "servers"


def spec(limit: int = 10) -> GameSpec:
    return GameSpec(
        "robotouille", "synchronous/0_x/1", "0_x", "synchronous", limit, 1, {"environment": {"goal": "Cut it"}}
    )


@pytest.fixture
def engine() -> Iterator[EngineProcess]:
    with EngineProcess(sys.executable, FAKE, arguments=["-", str(SERVERS)], timeout=60.0) as found:
        yield found


def game(engine: EngineProcess) -> RobotouilleGame:
    return RobotouilleGame(spec(), Installation(Path("."), Path(sys.executable)), engine)


# ---- which games there are


def rows(tmp_path: Path, *found: dict[str, Any], zipped: bool = False) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in found)
    path = tmp_path / ("games.jsonl.gz" if zipped else "games.jsonl")
    path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    return path


def row(family: str, task: str, seed: int) -> dict[str, Any]:
    return {"family": family, "task": task, "seed": seed, "environment": {}}


@pytest.mark.parametrize("zipped", [False, True])
def test_games_come_in_order_with_their_limits(tmp_path: Path, zipped: bool) -> None:
    path = rows(
        tmp_path, row("asynchronous", "5_potato_soup", 84), row("asynchronous", "5_potato_soup", 42),
        row("synchronous", "1_lettuce_sandwich", 42), row("asynchronous", "3.1_lettuce_cheeseburger", 42),
        zipped=zipped,
    )  # fmt: skip
    games = list_games(path)
    assert [item.name for item in games] == [
        "synchronous/1_lettuce_sandwich/42", "asynchronous/5_potato_soup/42", "asynchronous/5_potato_soup/84",
    ]  # fmt: skip
    assert [item.limit for item in games] == [21, 28, 28]  # 1.5 times the optimum, rounded down
    assert [item.seed for item in list_games(path, ["asynchronous"], tasks=[5], seeds=[84])] == [84]


def test_tasks_that_are_not_of_the_benchmark_have_no_limit() -> None:
    assert step_limit("asynchronous", "3.1_lettuce_cheeseburger") is None
    assert step_limit("synchronous", "10_banquet") is None and step_limit("other", "0_x") is None


def test_damaged_data_are_refused_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    for content in ('{"family": "synchronous"}\n', "{\n", "3\n"):
        path.write_text(json.dumps(row("synchronous", "0_x", 1)) + "\n" + content)
        with pytest.raises(ValueError, match="line 2"):
            list_games(path)
    with pytest.raises(ValueError, match="no family"):
        list_games(path, ["simultaneous"])


def test_a_limit_is_that_of_every_task_also_of_those_that_have_none(tmp_path: Path) -> None:
    path = rows(tmp_path, row("asynchronous", "3.1_lettuce_cheeseburger", 42), row("asynchronous", "5_potato_soup", 42))
    assert {item.group: item.limit for item in list_games(path, steps=33)} == {
        "3.1_lettuce_cheeseburger": 33, "5_potato_soup": 33,
    }  # fmt: skip


def test_a_folder_of_tasks_is_played_as_it_is_drawn(tmp_path: Path) -> None:
    for family, task in (("synchronous", "1_toast"), ("synchronous", "0_egg"), ("asynchronous", "2_stew")):
        (tmp_path / family).mkdir(exist_ok=True)
        (tmp_path / family / f"{task}.json").write_text(json.dumps({"goal": task}))
    assert robotouille.has_tasks(tmp_path)
    games = list_games(tmp_path)
    assert [item.name for item in games] == ["synchronous/0_egg/0", "synchronous/1_toast/0", "asynchronous/2_stew/0"]
    assert games[0].data == {"environment": {"goal": "0_egg"}} and games[0].seed == 0
    (tmp_path / "synchronous" / "3_x.json").write_text("{")
    with pytest.raises(ValueError, match=r"3_x\.json"):
        list_games(tmp_path)


# ---- other seeds


BUILDER = """
import json, os
def load_environment(name):
    with open(os.path.join(os.path.dirname(__file__), "examples", name)) as file:
        return json.load(file)
"""
GENERATOR = """
import random
def randomize_environment(environment, seed, noisy_randomization=False):
    random.seed(seed)
    if environment["name"] == "never" or (environment["name"] == "seldom" and seed % 3):
        raise AssertionError("no place")
    return {**environment, "seed": seed, "number": random.random()}
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that has nothing but a generator and three tasks."""
    folder = tmp_path / "checkout" / "environments" / "env_generator"
    examples = folder / "examples"
    for family, task in (("synchronous", "1_toast"), ("synchronous", "0_egg"), ("asynchronous", "2_stew")):
        (examples / family).mkdir(parents=True, exist_ok=True)
        (examples / family / f"{task}.json").write_text(json.dumps({"name": task.split("_")[1]}))
    (folder / "builder.py").write_text(BUILDER)
    (folder / "procedural_generator.py").write_text(GENERATOR)
    return tmp_path / "checkout"


@pytest.mark.parametrize("name", ["made.jsonl", "made.jsonl.gz"])
def test_tasks_for_other_seeds_are_made_by_the_checkouts_generator(checkout: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    assert make_tasks(checkout, Path(sys.executable), out, (7, 8)) == 6
    games = list_games(out)
    assert [item.name for item in games] == [
        "synchronous/0_egg/7", "synchronous/0_egg/8", "synchronous/1_toast/7", "synchronous/1_toast/8",
        "asynchronous/2_stew/7", "asynchronous/2_stew/8",
    ]  # fmt: skip
    assert [item.data["environment"]["seed"] for item in games] == [7, 8] * 3
    before = out.read_bytes()
    assert make_tasks(checkout, Path(sys.executable), out, (7, 8)) == 6 and out.read_bytes() == before


def test_a_seed_that_gives_no_kitchen_has_that_of_the_next_one(checkout: Path, tmp_path: Path) -> None:
    examples = checkout / "environments" / "env_generator" / "examples" / "synchronous"
    (examples / "0_egg.json").write_text('{"name": "seldom"}')
    told: list[str] = []
    out = tmp_path / "made.jsonl"
    make_tasks(checkout, Path(sys.executable), out, (4,), ("synchronous",), told.append)
    game = list_games(out)[0]
    assert game.seed == 4 and game.data["environment"]["seed"] == 6
    assert len(told) == 1 and "0_egg" in told[0] and "seed 6" in told[0]
    (examples / "0_egg.json").write_text('{"name": "never"}')
    with pytest.raises(EngineError, match="no kitchen for synchronous/0_egg"):
        make_tasks(checkout, Path(sys.executable), out, (4,), ("synchronous",))
    assert list_games(out)[0] == game  # the file is as it was


def test_what_cannot_be_made_is_refused_by_name(checkout: Path, tmp_path: Path) -> None:
    out = tmp_path / "made.jsonl"
    with pytest.raises(ValueError, match="no family 'simultaneous'"):
        make_tasks(checkout, Path(sys.executable), out, (1,), ("simultaneous",))
    with pytest.raises(WorldUnavailableError, match="portal-cornell/robotouille"):
        make_tasks(tmp_path, Path(sys.executable), out, (1,))
    call = ["bench", "robotouille-tasks", "--out", str(out), "--python", sys.executable]
    for arguments, code, words in (
        (["--checkout", str(checkout), "--seeds", "none"], 2, "--seeds"),
        (["--checkout", str(tmp_path)], 3, "portal-cornell/robotouille"),
        (["--checkout", str(checkout), "--split", "both"], 2, "no family 'both'"),
    ):
        result = CliRunner().invoke(app, [*call, *arguments])
        assert result.exit_code == code and words in " ".join(result.output.split())
        assert not out.exists()
    result = CliRunner().invoke(app, [*call, "--checkout", str(checkout), "--seed", "3", "--seeds", "2"])
    assert result.exit_code == 0 and [item.seed for item in list_games(out)] == [3, 4] * 3


# ---- a game


def test_a_game_is_played_by_commands(engine: EngineProcess) -> None:
    played = game(engine)
    first = played.reset()
    assert first.goal == "Cut it" and "Do nothing" in first.commands and first.status is GameStatus.RUNNING
    for _ in range(2):
        assert played.step("Cut lettuce1 on board1 using robot1").status is GameStatus.RUNNING
    last = played.step("Cut lettuce1 on board1 using robot1")
    assert last.status is GameStatus.WON and last.score == 1.0
    assert played.reset().status is GameStatus.RUNNING


def test_a_refused_command_is_seen_as_failed(engine: EngineProcess) -> None:
    played = game(engine)
    played.reset()
    answer = played.step("Fly to the moon")
    parsed = load_language("robotouille").parser.parse(answer.text, Context(command="Fly to the moon"))
    assert parsed.failed and Atom("loc", ("robot1", "board1")) in {fact.atom for fact in parsed.facts}


@pytest.mark.parametrize("command", ["die", "nonsense"])
def test_an_engine_that_dies_or_talks_nonsense_is_a_crash_with_a_reason(engine: EngineProcess, command: str) -> None:
    played = game(engine)
    played.reset()
    answer = played.step(command)
    assert answer.status is GameStatus.CRASHED and answer.reason
    played.close()
    played.close()


def test_a_world_that_is_not_there_says_how_to_get_it(tmp_path: Path) -> None:
    for checkout, python in ((tmp_path, Path(sys.executable)), (tmp_path, tmp_path / "python")):
        with pytest.raises(WorldUnavailableError, match="portal-cornell/robotouille"):
            RobotouilleGame(spec(), Installation(checkout, python)).reset()


def test_the_agent_repeats_a_cut_until_it_sees_it(engine: EngineProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = load_domain("robotouille")
    language = load_language(domain)
    wanted = Goal((GoalVariable("?x", "item", "lettuce"),), (GoalLiteral("iscut", ("?x",)),))
    monkeypatch.setattr(type(language.parser), "goals", lambda self, text, context: (wanted,))
    record = TextAgent(domain, language.parser, language.grounder).play(game(engine), spec())
    assert record.status == "won" and record.steps_taken == 3 and record.invalid == 0
    assert {step.command for step in record.steps[1:]} == {"Cut lettuce1 on board1 using robot1"}
    assert not record.steps[0].refused or all(item[0] == "not_understood" for item in record.steps[0].refused)


# ---- the engine itself


CHECKOUT = Path(os.environ.get(robotouille.CHECKOUT_VARIABLE, "robotouille"))
PYTHON = Path(os.environ.get("GRAPH_PLANNER_ROBOTOUILLE_PYTHON", ".venv-robotouille/bin/python"))
real = pytest.mark.skipif(
    not (CHECKOUT / "robotouille" / "env.py").is_file() or not PYTHON.is_file(),
    reason="Robotouille's engine is not installed: set ROBOTOUILLE and GRAPH_PLANNER_ROBOTOUILLE_PYTHON",
)
CHECK = """
import json, random, sys
sys.path.insert(0, sys.argv[2])
sys.argv[1:] = sys.argv[1:2]
import robotouille as server
from pathlib import Path
handler = server.Handler(Path(sys.argv[1]))
handler.do_load(ENVIRONMENT)
answer, rng, rows = handler.do_reset(), random.Random(1), 0
for _ in range(60):
    state = handler._state
    slow = type(state).get_valid_actions_and_str(state)
    assert slow == handler._valid, (slow[1], handler._valid[1])
    rows += len(slow[1])
    liked = [text for text in answer["commands"] if not text.startswith(("Move", "Do"))]
    answer = handler.do_step(rng.choice(liked if liked and rng.random() < 0.6 else answer["commands"]))
print(rows, file=sys.stderr)
"""
KITCHEN = {
    "width": 4, "height": 4, "goal_description": "Make potato soup", "meals": [],
    "stations": [{"name": n, "x": i, "y": 0} for i, n in enumerate(["sink", "stove", "table", "board"])],
    "items": [{"name": "potato", "x": 3, "y": 0, "stack-level": 0, "predicates": ["iscuttable", "isfryableifcut"]}],
    "containers": [{"name": "pot", "x": 0, "y": 0}, {"name": "bowl", "x": 2, "y": 0}],
    "players": [{"name": "robot", "x": 0, "y": 1, "direction": [0, -1]}],
    "goal": [
        {"predicate": "addedto", "args": ["potato", "water"], "ids": [1, 2]},
        {"predicate": "isboiling", "args": ["water"], "ids": [2]},
        {"predicate": "in", "args": ["water", "bowl"], "ids": [2, 3]},
        {"predicate": "container_at", "args": ["bowl", "table"], "ids": [3, 4]},
    ],
}  # fmt: skip


@real
def test_the_servers_short_cuts_change_no_action() -> None:
    import subprocess

    call = [str(PYTHON), "-c", CHECK.replace("ENVIRONMENT", repr(KITCHEN)), str(CHECKOUT), str(SERVERS)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@real
def test_soup_is_made_in_the_real_kitchen() -> None:
    domain = load_domain("robotouille")
    language = load_language(domain)
    found = GameSpec("robotouille", "soup", "5_potato_soup", "asynchronous", 40, 0, {"environment": KITCHEN})
    played = RobotouilleGame(found, Installation(CHECKOUT, PYTHON))
    try:
        record = TextAgent(domain, language.parser, language.grounder).play(played, found)
    finally:
        played.close()
    assert record.status == "won" and record.invalid == 0 and record.steps_taken <= 30
    assert any(step.command == "Do nothing" or "potato1" in step.command for step in record.steps)


@real
def test_the_same_game_is_played_alike_twice() -> None:
    domain = load_domain("robotouille")
    language = load_language(domain)
    found = GameSpec("robotouille", "soup", "5_potato_soup", "asynchronous", 40, 0, {"environment": KITCHEN})
    courses = []
    for _ in range(2):
        played = RobotouilleGame(found, Installation(CHECKOUT, PYTHON))
        try:
            record = TextAgent(domain, language.parser, language.grounder).play(played, found)
        finally:
            played.close()
        courses.append([(step.command, step.observation, step.decision, step.facts) for step in record.steps])
    assert courses[0] == courses[1]
