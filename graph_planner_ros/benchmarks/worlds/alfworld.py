"""ALFWorld's text games, rebuilt from ALFRED: each is a row of a data file, its engine runs in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from graph_planner_ros.benchmarks.worlds.game import GameSpec, GameStatus, Observation
from graph_planner_ros.benchmarks.worlds.served import NOT_WON, ServedGame
from graph_planner_ros.domain.json_files import parse_object, read_lines

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
    """Yield the games of a data file (JSON lines, perhaps gzipped, with ``id``, ``goal``, ``pddl_problem``).

    Raises:
        ValueError: naming the file, and the line that is no game.
    """
    for number, line in enumerate(read_lines(path), 1):
        row = parse_object(line, where := f"{path}, line {number}")
        if missing := [name for name in ("id", "goal", "pddl_problem") if name not in row]:
            raise ValueError(f"{where}: expected a game of ALFWorld, found no {missing[0]!r} in it")
        kind = str(row["id"]).split("-")[0]
        data = {"goal": str(row["goal"]), "pddl_problem": str(row["pddl_problem"])}
        yield GameSpec(WORLD, str(row["id"]), _GROUPS.get(kind, kind), split, limit, seed, data)


def layout_of(name: str) -> str:
    """Return the floor plan of a game, from its name: ``...-Desk-307/trial_...`` plays in ``FloorPlan307``."""
    return f"FloorPlan{name.split('/')[0].rpartition('-')[2]}"


class AlfworldGame(ServedGame):
    """One game.

    Args:
        data: of the `GameSpec`. python: interpreter of the engine. timeout: seconds for one answer.
    """

    def __init__(self, data: Mapping[str, Any], python: Path, timeout: float = 60.0) -> None:
        super().__init__(str(data["goal"]), python, timeout)
        self._data = data

    def _script(self) -> Path:
        return SCRIPT

    def _start(self) -> Observation:
        data = {"goal": self._data["goal"], "pddl_problem": self._data["pddl_problem"]}
        return self._ask("start", max(self._timeout, START_TIMEOUT), **data)

    def _read(self, answer: Mapping[str, Any]) -> Observation:
        won = bool(answer["won"])
        status = GameStatus.WON if won else GameStatus.LOST if answer["done"] else GameStatus.RUNNING
        reason = NOT_WON if status is GameStatus.LOST else ""
        commands = tuple(str(command) for command in answer["commands"])
        return Observation(str(answer["text"]), commands, self._last.goal, status, reason, float(won))
