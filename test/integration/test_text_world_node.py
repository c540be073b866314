"""Text worlds as ROS bridges: games won by planner and executor, with no perception and no ground truth."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import talking_worlds
from harness import Client, Sent, System, wait_until
from processes import Processes
from rclpy.lifecycle import TransitionCallbackReturn
from std_msgs.msg import String

from graph_planner_ros import msg as messages
from graph_planner_ros.benchmarks.worlds import robotouille
from graph_planner_ros.benchmarks.worlds.environments import find_python
from graph_planner_ros.benchmarks.worlds.game import WorldUnavailableError
from graph_planner_ros.bridges.text_world_node import TextWorldNode
from graph_planner_ros.conversions import graph_from_msg
from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable
from graph_planner_ros.language.rules import RuleParser
from graph_planner_ros.nodes.base import KEPT, LATCHED
from graph_planner_ros.nodes.executor import ExecutorNode
from graph_planner_ros.nodes.planner import PlannerNode
from graph_planner_ros.scene.admission import known_part
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.srv import PlanTask, StartGame

Status = messages.GoalStatus
Said = messages.TextObservation
LONG = 280.0
PLANNER = {
    "settle": 0.0,
    "confirm": 0.0,
    "max_replans": 1000,
    "max_failures": 2,
    "beam": 3,
    "max_states": 20000,
    "engine": "auto",
}


class Player:
    """A bridge with planner, executor and a client that listens to the world."""

    def __init__(self, system: System, world: str, domain: str = "alfworld", **parameters: Any) -> None:
        self.system = system
        self.bridge = system.add(TextWorldNode, world=world, belief_rate=10.0, **parameters)
        self.executor = system.add(ExecutorNode, domain=domain, settle=0.0)
        self.planner = system.add(PlannerNode, domain=domain, **PLANNER)
        self.client = system.add(Client)
        self.texts: list[Any] = []
        self.commands: list[Any] = []
        self.goals: list[Any] = []
        self.graphs: list[Any] = []
        subscribe = self.client.create_subscription
        subscribe(Said, "observation_text", self.texts.append, KEPT)
        subscribe(messages.AdmissibleCommands, "admissible_commands", self.commands.append, LATCHED)
        subscribe(String, "goal_text", self.goals.append, LATCHED)
        subscribe(messages.SceneGraph, "scene_graph", self.graphs.append, LATCHED)

    def send(self, instruction: str = "") -> Sent:
        return Sent(self.system, self.client, instruction)

    def do(self, instruction: str = "") -> Any:
        return self.send(instruction).result(LONG)

    def call(self, service: Any, name: str, request: Any) -> Any:
        client = self.client.create_client(service, name)
        wait_until(client.service_is_ready, f"{name} is offered")
        future = self.system.on_thread(self.client, client.call_async, request)
        wait_until(future.done, f"{name} answers", LONG)
        return future.result()

    def start_game(self, game: str = "") -> Any:
        return self.call(StartGame, "start_game", StartGame.Request(game=game))

    def last(self) -> Any:
        return self.texts[-1] if self.texts else Said()


@pytest.fixture(autouse=True)
def _let_go() -> Iterator[None]:
    talking_worlds.HOLD.set()
    yield
    talking_worlds.HOLD.set()


# --- games that are won


def test_a_game_is_won_by_its_own_goal_and_everything_is_published(system: System) -> None:
    player = Player(system, "talking_worlds:rooms")
    result = player.do()
    assert result.status == Status.SUCCEEDED and "won" in result.reason, result.reason
    wait_until(lambda: player.last().status == Said.WON, "the world says so")
    assert [text.step for text in player.texts] == list(range(len(player.texts)))
    first, last = player.texts[0], player.texts[-1]
    assert first.command == "" and "You are in the middle of a room" in first.text
    assert "go to drawer 1" in first.commands
    assert last.command == "move mug 1 to sinkbasin 1" and last.score == 1.0
    assert (first.world, first.game, first.goal) == ("rooms", "room-0", "put a mug in sinkbasin")
    wait_until(lambda: player.commands and player.commands[-1].step == last.step, "the commands are published")
    assert list(player.commands[-1].commands) == list(last.commands)
    assert {goal.data for goal in player.goals} == {"put a mug in sinkbasin"}
    wait_until(lambda: player.graphs[-1].revision == last.revision, "the belief is published")
    plans = [plan for plan in player.client.plans if plan.task_id == result.task_id]
    assert {plan.instruction for plan in plans} == {"put a mug in sinkbasin"}


def test_the_belief_comes_as_it_is_to_who_reads_the_topic(system: System) -> None:
    for world, domain in (("cooking", "textworld"), ("rooms", "alfworld"), ("fake_robotouille", "robotouille")):
        bridge = system.add(TextWorldNode, world=f"talking_worlds:{world}")
        loaded, belief = load_domain(domain), bridge._world.game.belief
        graph, left_out = known_part(graph_from_msg(bridge._belief), loaded)
        assert left_out == [] and graph.frame_id == ""
        assert symbolic_state(graph, loaded) == belief.state()
        system.remove(bridge)


def test_a_recipe_that_is_found_on_the_way_is_cooked(system: System) -> None:
    player = Player(system, "talking_worlds:cooking", "textworld")
    result = player.do()
    assert result.status == Status.SUCCEEDED and "won" in result.reason, result.reason
    wait_until(lambda: player.last().status == Said.WON, "the world says so")
    assert player.last().command == "eat meal"


def test_what_has_to_be_repeated_is_repeated_until_the_world_shows_it(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = Goal((GoalVariable("?x", "item", "lettuce"),), (GoalLiteral("iscut", ("?x",)),))
    monkeypatch.setattr(RuleParser, "goals", lambda self, text, context: (wanted,))
    player = Player(system, "talking_worlds:fake_robotouille", "robotouille")
    result = player.do()
    assert result.status == Status.SUCCEEDED and result.steps == 3, result.reason
    wait_until(lambda: len(player.texts) == 4, "all is said")
    assert [text.command for text in player.texts[1:]] == ["Cut lettuce1 on board1 using robot1"] * 3


def test_another_goal_than_the_games_own_is_judged_by_the_belief(system: System) -> None:
    player = Player(system, "talking_worlds:rooms")
    result = player.do("put a mug in drawer")
    assert result.status == Status.SUCCEEDED and result.reason == "the goal is reached", result.reason
    assert player.last().status == Said.RUNNING
    assert player.do("put a mug in sinkbasin").status == Status.SUCCEEDED


def test_the_next_game_is_won_too_although_its_things_have_the_same_names(system: System) -> None:
    player = Player(system, "talking_worlds:rooms")
    for game in ("", "", ""):
        assert player.do().status == Status.SUCCEEDED
        before = player.last().game
        answer = player.start_game(game)
        assert answer.success and answer.game != before and answer.goal == "put a mug in sinkbasin", answer.reason
        wait_until(lambda name=answer.game: player.last().game == name and player.last().step == 0, "it begins")
    # the planner hears of the game that began last on its own subscription, perhaps later than the client does
    wait_until(lambda: len(player.planner._mind.negative) == 0, "what was refuted in the game before is forgotten")


# --- games that are not


def test_a_goal_that_is_not_understood_names_the_games_own(system: System) -> None:
    player = Player(system, "talking_worlds:rooms")
    assert player.do("put a mug in drawer").status == Status.SUCCEEDED
    result = player.do("sing a song")
    assert result.status == Status.INSTRUCTION_NOT_UNDERSTOOD and "sing a song" in result.reason
    assert list(result.suggestions) == ["put a mug in sinkbasin"]


def test_a_plan_can_be_asked_for_without_playing(system: System) -> None:
    player = Player(system, "talking_worlds:rooms")
    wait_until(lambda: player.planner._graph is not None and player.texts, "the planner has a belief")
    answer = player.call(PlanTask, "plan_task", PlanTask.Request(instruction=""))
    assert answer.status == Status.SUCCEEDED and answer.plan.subtasks, answer.reason
    assert [text.step for text in player.texts] == [0]


def test_a_game_that_reaches_its_limit_is_lost_with_that_reason(system: System) -> None:
    player = Player(system, "talking_worlds:rooms", limit=2)
    result = player.do()
    assert result.status == Status.EXECUTION_FAILED and "2 commands" in result.reason
    assert "2 commands" in player.do().reason  # and stays lost
    assert player.start_game(".").success
    wait_until(lambda: player.last().step == 0, "it begins anew")


def test_an_engine_that_dies_ends_the_task_with_its_reason_and_the_next_game_can_be_played(system: System) -> None:
    player = Player(system, "talking_worlds:crashing_rooms")
    result = player.do()
    assert result.status == Status.EXECUTION_FAILED and "the crash was planned" in result.reason
    assert player.start_game("1").success
    assert player.do().status == Status.SUCCEEDED


def test_a_cancel_in_mid_game_is_answered_while_the_engine_is_at_work_and_the_game_goes_on_after_it(
    system: System,
) -> None:
    player = Player(system, "talking_worlds:held_rooms")
    talking_worlds.HOLD.clear()
    sent = player.send()
    wait_until(lambda: player.bridge._server.busy, "a command is under way")
    sent.cancel()
    assert sent.result().status == Status.CANCELLED
    assert not talking_worlds.HOLD.is_set()  # it was answered although the world had not
    talking_worlds.HOLD.set()
    wait_until(lambda: not player.bridge._server.busy and player.last().step == 1, "its answer is taken in")
    assert player.do().status == Status.SUCCEEDED


def test_a_new_game_ends_the_task_of_the_one_before(system: System) -> None:
    player = Player(system, "talking_worlds:held_rooms")
    talking_worlds.HOLD.clear()
    sent = player.send()
    wait_until(lambda: player.bridge._server.busy, "a command is under way")
    client = player.client.create_client(StartGame, "start_game")
    wait_until(client.service_is_ready, "start_game is offered")
    future = system.on_thread(player.client, client.call_async, StartGame.Request(game="."))
    talking_worlds.HOLD.set()
    wait_until(future.done, "the game begins")
    assert future.result().success
    result = sent.result()
    assert result.status in (Status.CANCELLED, Status.EXECUTION_FAILED), result.reason
    assert player.do().status == Status.SUCCEEDED


def test_a_bridge_that_is_ended_in_mid_game_ends_the_task_and_its_engine(system: System) -> None:
    player = Player(system, "talking_worlds:held_rooms")
    talking_worlds.HOLD.clear()
    sent = player.send()
    wait_until(lambda: player.bridge._server.busy, "a command is under way")
    world = player.bridge._world
    system.remove(player.bridge)
    assert not world._thread.is_alive()
    result = sent.result()
    assert result.status in (Status.NODE_LOST, Status.CANCELLED), result.reason


def test_an_engine_process_is_gone_when_its_bridge_is_cleaned_up(system: System) -> None:
    bridge = system.add(TextWorldNode, world="talking_worlds:fake_robotouille")
    engine = talking_worlds.ENGINES[-1]
    assert engine.alive
    assert system.transition(bridge, "trigger_deactivate") == TransitionCallbackReturn.SUCCESS
    assert system.transition(bridge, "trigger_cleanup") == TransitionCallbackReturn.SUCCESS
    assert not engine.alive
    assert bridge.count_publishers("scene_graph") == 0


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"world": "talking_worlds:missing_rooms"}, "run world rooms"),
        ({"world": "chess"}, "data:=PATH"),
        ({"world": "chess", "data": "x"}, "no world 'chess'"),
        ({"world": "talking_worlds:rooms", "game": "99"}, "no game 99"),
        ({"world": "talking_worlds:rooms", "split": "hard"}, "no split"),
    ],
)
def test_a_world_that_cannot_be_played_is_one_sentence_and_publishes_nothing(
    system: System, parameters: dict[str, Any], why: str
) -> None:
    bridge = system.add(TextWorldNode, autostart=False, **parameters)
    assert system.transition(bridge, "trigger_configure") == TransitionCallbackReturn.FAILURE
    assert why in bridge.fault and "\n" not in bridge.fault
    assert bridge.count_publishers("scene_graph") == 0


# --- as a process


@pytest.fixture()
def processes(system: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Processes]:
    worlds = str(Path(talking_worlds.__file__).parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([worlds, os.environ.get("PYTHONPATH", "")]))
    made = Processes(system.domain_id, tmp_path)
    yield made
    made.close()


def test_a_bridge_that_is_told_to_end_does_so_in_good_order(system: System, processes: Processes) -> None:
    client = system.add(Client)
    texts: list[Any] = []
    client.create_subscription(Said, "observation_text", texts.append, KEPT)
    processes.start("bridges.text_world_node", "bridge", world="talking_worlds:fake_robotouille")
    wait_until(lambda: texts, "the game begins")
    assert processes.stop("bridge") == 0, processes.output()


def test_a_world_that_is_not_installed_ends_the_process_with_its_sentence(processes: Processes) -> None:
    bridge = processes.start("bridges.text_world_node", "bridge", world="talking_worlds:missing_rooms")
    assert bridge.wait(60.0) != 0
    assert "./run world rooms" in processes.output()


# --- the real engines


def installed(world: str) -> str:
    try:
        return str(find_python(world))
    except WorldUnavailableError as error:
        pytest.skip(str(error))


def test_a_game_of_alfworld_is_won(system: System, tmp_path: Path) -> None:
    from test_alfworld import REAL

    python = installed("alfworld")
    row = {"id": "heat-Egg-None-CounterTop-1/one", "goal": "put a hot egg in countertop", "pddl_problem": REAL}
    file = tmp_path / "games.jsonl"
    file.write_text(json.dumps(row) + "\n")
    player = Player(system, "alfworld", game=str(file), python=python)
    result = player.do()
    assert result.status == Status.SUCCEEDED and "won" in result.reason, result.reason


def test_a_game_of_robotouille_is_won(system: System, tmp_path: Path) -> None:
    from test_robotouille import KITCHEN

    python, checkout = installed("robotouille"), os.environ.get(robotouille.CHECKOUT_VARIABLE, "")
    if not checkout:
        pytest.skip(robotouille.HOW_TO_GET)
    row = {"family": "asynchronous", "task": "5_potato_soup", "seed": 0, "environment": KITCHEN}
    file = tmp_path / "kitchens.jsonl"
    file.write_text(json.dumps(row) + "\n")
    parameters = {"game": str(file), "split": "asynchronous", "limit": 60, "python": python, "checkout": checkout}
    player = Player(system, "robotouille", "robotouille", **parameters)
    result = player.do()
    assert result.status == Status.SUCCEEDED and "won" in result.reason, result.reason


def test_a_game_of_textworld_is_won(system: System, tmp_path: Path) -> None:
    from graph_planner_ros.benchmarks.worlds.textworld_games import make_games

    python = installed("textworld")
    make_games(tmp_path, "coin", "5", 1, seed=3)
    player = Player(system, "textworld", "textworld", data=str(tmp_path), python=python)
    result = player.do()
    assert result.status == Status.SUCCEEDED and "won" in result.reason, result.reason
