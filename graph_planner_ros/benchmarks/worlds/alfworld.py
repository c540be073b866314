"""ALFWorld's text games, rebuilt from ALFRED: each is a row of a data file, its engine runs in a process of its own."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from graph_planner_ros.benchmarks.worlds.game import GameSpec, GameStatus, Observation
from graph_planner_ros.benchmarks.worlds.process import EngineError, EngineProcess

WORLD = "alfworld"
DOMAIN = "alfworld"
LIMIT = 50
START_TIMEOUT = 300.0
"""Seconds for making a game: the engine translates and grounds its problem twice, seconds on a quiet machine."""
SCRIPT = Path(__file__).parent / "servers" / "alfworld.py"
_GROUPS = {
    "pick_and_place_simple": "put",
    "pick_clean_then_place_in_recep": "clean",
    "pick_heat_then_place_in_recep": "heat",
    "pick_cool_then_place_in_recep": "cool",
    "look_at_obj_in_light": "examine",
    "pick_two_obj_and_place": "puttwo",
}


def read_games(path: Path, split: str, limit: int = LIMIT, seed: int = 0) -> Iterator[GameSpec]:
    """Yield the games of a data file (``.jsonl`` or ``.jsonl.gz`` with ``id``, ``goal``, ``pddl_problem``).

    Raises:
        FileNotFoundError: there is no such file. ValueError: naming the line that is no game.
    """
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line)
                kind = str(row["id"]).split("-")[0]
                data = {"goal": str(row["goal"]), "pddl_problem": str(row["pddl_problem"])}
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{path}:{number}: no ALFWorld game: {error!r}") from error
            yield GameSpec(WORLD, str(row["id"]), _GROUPS.get(kind, kind), split, limit, seed, data)


class AlfworldGame:
    """One game.

    Args:
        data: of the `GameSpec`. python: interpreter of the engine. timeout: seconds for one answer.
    """

    def __init__(self, data: Mapping[str, Any], python: Path, timeout: float = 60.0) -> None:
        self._data = data
        self._python = python
        self._timeout = timeout
        self._process: EngineProcess | None = None
        self._last = Observation("")

    def reset(self) -> Observation:
        """Start the game anew; see `Game`."""
        if self._process is None or not self._process.alive:
            self.close()
            self._process = EngineProcess(self._python, SCRIPT, timeout=self._timeout)
        self._last = Observation("", goal=str(self._data["goal"]))
        data = {"goal": self._data["goal"], "pddl_problem": self._data["pddl_problem"]}
        return self._ask("start", max(self._timeout, START_TIMEOUT), **data)

    def step(self, command: str) -> Observation:
        """Carry out one command; see `Game`."""
        if self._last.status is not GameStatus.RUNNING:
            return self._last
        return self._ask("step", self._timeout, command=command)

    def close(self) -> None:
        """End the engine; may be called twice."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _ask(self, do: str, timeout: float, **arguments: Any) -> Observation:
        goal = self._last.goal
        try:
            if self._process is None:
                raise EngineError("the game was not started")
            answer = self._process.call(do, timeout, **arguments)
            won = bool(answer["won"])
            status = GameStatus.WON if won else GameStatus.LOST if answer["done"] else GameStatus.RUNNING
            reason = "the game ended and was not won" if status is GameStatus.LOST else ""
            commands = tuple(str(command) for command in answer["commands"])
            self._last = Observation(str(answer["text"]), commands, goal, status, reason, float(won))
        except (EngineError, KeyError, TypeError) as error:
            reason = str(error) if isinstance(error, EngineError) else f"the engine's answer lacks {error}"
            self._last = Observation("", (), goal, GameStatus.CRASHED, reason)
        return self._last
