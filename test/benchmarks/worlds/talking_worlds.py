"""Worlds for the ROS bridge's tests, without engines, to be named as ``talking_worlds:<function>``."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_world import RoomGame, RoomWorld
from small_kitchen import SmallKitchen

from graph_planner_ros.benchmarks.worlds import robotouille
from graph_planner_ros.benchmarks.worlds.game import Game, GameSpec, Observation
from graph_planner_ros.benchmarks.worlds.process import EngineProcess

HOLD = threading.Event()
"""Set: the games of `held_rooms` go on. Clear: each command waits, at most for `HELD_LONGEST` seconds."""
HELD_LONGEST = 60.0
ENGINES: list[EngineProcess] = []
"""Engines that `fake_robotouille` has started."""


class OneGame:
    """A world with one game."""

    def __init__(self, name: str, domain: str, limit: int, make: Callable[[], Any]) -> None:
        self.name, self.domain = name, domain
        self._limit, self._make = limit, make

    def games(self, split: str, seeds: Sequence[int], limit: int | None) -> list[GameSpec]:
        return [GameSpec(self.name, "only", "one", "all", limit or self._limit)]

    def open(self, spec: GameSpec) -> Game:
        return self._make()  # type: ignore[no-any-return]

    def versions(self) -> Mapping[str, str]:
        return {}


class _HeldGame:
    """A game of rooms whose commands wait for `HOLD`."""

    def __init__(self) -> None:
        self._game = RoomGame({"mug": "drawer 1"})

    def reset(self) -> Observation:
        return self._game.reset()

    def step(self, command: str) -> Observation:
        HOLD.wait(HELD_LONGEST)
        return self._game.step(command)

    def close(self) -> None:
        HOLD.set()


def rooms() -> RoomWorld:
    """Six games with a mug."""
    return RoomWorld()


def crashing_rooms() -> RoomWorld:
    """The engine of the first game dies with its second command."""
    return RoomWorld(crash="0")


def missing_rooms() -> RoomWorld:
    """A world that is not installed."""
    return RoomWorld(missing="yes")


def held_rooms() -> OneGame:
    """A game that answers when the test says so."""
    return OneGame("held", "alfworld", 30, _HeldGame)


def cooking() -> OneGame:
    """TextWorld's cooking game, with a recipe that is to be found and read."""
    return OneGame("cooking", "textworld", 100, SmallKitchen)


def fake_robotouille() -> OneGame:
    """A kitchen in the words of Robotouille, whose engine is a process: something is to be cut three times."""
    here = Path(__file__).parent
    spec = GameSpec("robotouille", "only", "cut", "synchronous", 9, 0, {"environment": {"goal": "Cut it"}})

    def make() -> robotouille.RobotouilleGame:
        script = here / "robotouille_server.py"
        arguments = ["checkout", str(robotouille.SERVER.parent)]
        ENGINES.append(EngineProcess(sys.executable, script, arguments=arguments))
        game = robotouille.RobotouilleGame(spec, robotouille.Installation(here, Path(sys.executable)), ENGINES[-1])
        game._owned = True
        return game

    return OneGame("robotouille", "robotouille", 9, make)
