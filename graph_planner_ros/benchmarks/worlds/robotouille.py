"""Robotouille: cooking tasks in which dishes take time, played in the benchmark's own engine and words.

The engine is a checkout of portal-cornell/robotouille that the user names; it is never part of this package. Which
tasks there are comes from a file of concrete environments, one JSON object a line: ``family`` (synchronous,
asynchronous), ``task``, ``seed``, ``environment``; `robotouille_tasks` makes such files. A folder that has the tasks as
the engine does, ``<family>/<task>.json``, is played as it is drawn there, with seed 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph_planner_ros.benchmarks.worlds.game import GameSpec, GameStatus, Observation, WorldUnavailableError
from graph_planner_ros.benchmarks.worlds.process import EngineError, EngineProcess
from graph_planner_ros.domain.json_files import NO_SUCH_SHAPE, parse_object, read_lines, read_text, what_is_wrong

WORLD = "robotouille"
DOMAIN = "robotouille"
SERVER = Path(__file__).parent / "servers" / "robotouille.py"
CHECKOUT_VARIABLE = "ROBOTOUILLE"
"""Environment variable that names the checkout where no argument does."""
HOW_TO_GET = (
    "Robotouille is not installed: clone https://github.com/portal-cornell/robotouille, name the folder by "
    f"--checkout or {CHECKOUT_VARIABLE}, and make its environment with './run world robotouille'"
)
FAMILIES = ("synchronous", "asynchronous")
OPTIMAL = {
    "synchronous": (10, 14, 24, 10, 15, 23, 36, 44, 63, 57),
    "asynchronous": (21, 27, 37, 42, 46, 19, 42, 46, 68, 82),
}
"""Steps of the shortest solutions by task number, as the benchmark gives them."""
SLACK = 1.5
"""A game ends after this many times the shortest solution."""


@dataclass(frozen=True)
class Installation:
    """Where the engine is: its checkout, and a Python interpreter that has what it needs."""

    checkout: Path
    python: Path

    def check(self) -> None:
        """Raise if it cannot be there.

        Raises:
            WorldUnavailableError: saying how to get it.
        """
        if not (self.checkout / "robotouille" / "env.py").is_file():
            raise WorldUnavailableError(f"{HOW_TO_GET} (there is none in {self.checkout})")
        if not self.python.is_file():
            raise WorldUnavailableError(f"{HOW_TO_GET} (there is no interpreter {self.python})")


def list_games(
    data: Path,
    families: Collection[str] = FAMILIES,
    tasks: Collection[int] = (),
    seeds: Collection[int] = (),
    steps: int | None = None,
) -> list[GameSpec]:
    """Return the games of a file of environments, in its order of families, tasks and seeds.

    Args:
        data: JSON lines, gzipped if the name ends so; or a folder, see the top of this file.
        families: wanted. tasks, seeds: wanted numbers; all if empty.
        steps: limit of every game. Without it tasks that are not of the benchmark have none and are left out.

    Raises:
        ValueError: the file cannot be read, a line is not what it should be, or a family is unknown.
    """
    for family in families:
        if family not in FAMILIES:
            raise ValueError(f"there is no family {family!r}; there are: {', '.join(FAMILIES)}")
    games = []
    for number, row in _rows(data):
        try:
            family, task, seed, environment = row["family"], str(row["task"]), int(row["seed"]), row["environment"]
        except NO_SUCH_SHAPE as error:
            expected = "a task with family, task, seed and environment"
            raise ValueError(f"{data}, line {number}: {what_is_wrong(error, expected)}") from None
        limit = steps or step_limit(family, task)
        if limit is None or family not in families:
            continue
        if (tasks and task_number(task) not in tasks) or (seeds and seed not in seeds):
            continue
        games.append(
            GameSpec(WORLD, f"{family}/{task}/{seed}", task, family, limit, seed, {"environment": environment})
        )
    return sorted(games, key=lambda game: (FAMILIES.index(game.split), task_number(game.group) or 0, game.seed))


def step_limit(family: str, task: str) -> int | None:
    """Return after how many steps a task counts as not solved; None if it is not one of the benchmark's tasks."""
    number = task_number(task)
    optimal = OPTIMAL.get(family, ())
    if number is None or number >= len(optimal):
        return None
    return int(SLACK * optimal[number])


def task_number(task: str) -> int | None:
    """Return the number that a task's name begins with; ``3.1_...`` is a variant and has none."""
    head = task.split("_", 1)[0]
    return int(head) if head.isdecimal() else None


def has_tasks(data: Path) -> bool:
    """Return whether a folder has the tasks as the engine does."""
    return any((data / family).is_dir() for family in FAMILIES)


def _rows(data: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if data.is_dir():
        for family in FAMILIES:
            for path in sorted((data / family).glob("*.json")):
                environment = parse_object(read_text(path), str(path))
                yield 1, {"family": family, "task": path.stem, "seed": 0, "environment": environment}
        return
    for number, line in enumerate(read_lines(data), 1):
        if line.strip():
            yield number, parse_object(line, f"{data}, line {number}")


class RobotouilleGame:
    """One game in the engine's process.

    Args:
        spec: from `list_games`. installation: where the engine is.
        engine: a running process to be used and left open; a new one, ended with the game, if left out.
        timeout: seconds for one answer.
    """

    def __init__(
        self,
        spec: GameSpec,
        installation: Installation,
        engine: EngineProcess | None = None,
        timeout: float = 120.0,
    ) -> None:
        self._spec = spec
        self._installation = installation
        self._engine = engine
        self._owned = engine is None
        self._timeout = timeout
        self._last = Observation("")

    def reset(self) -> Observation:
        """Start the game anew."""
        if self._engine is None:
            self._engine = start_engine(self._installation, self._timeout)
        try:
            self._engine.call("load", environment=self._spec.data["environment"])
        except EngineError as error:
            return self._crashed(str(error))
        return self._ask("reset")

    def step(self, command: str) -> Observation:
        """Carry out one command; what is not a valid action changes nothing and costs a step."""
        return self._ask("step", command=command)

    def close(self) -> None:
        """End the engine, if it is this game's own."""
        if self._engine is not None and self._owned:
            self._engine.close()
            self._engine = None

    def _ask(self, do: str, **arguments: Any) -> Observation:
        if self._engine is None:
            return self._crashed("the game was closed")
        try:
            answer = self._engine.call(do, **arguments)
            done = bool(answer["done"])
            self._last = Observation(
                str(answer["text"]),
                tuple(map(str, answer["commands"])),
                str(answer["goal"]),
                GameStatus.WON if done else GameStatus.RUNNING,
                score=float(done),
            )
        except EngineError as error:
            return self._crashed(str(error))
        except (KeyError, TypeError) as error:
            return self._crashed(f"the engine's answer is not understood: {error!r}")
        return self._last

    def _crashed(self, reason: str) -> Observation:
        return Observation(self._last.text, (), self._last.goal, GameStatus.CRASHED, reason, self._last.score)


def start_engine(installation: Installation, timeout: float = 120.0) -> EngineProcess:
    """Start the engine's process.

    Raises:
        WorldUnavailableError: it is not installed; the message says how to get it.
    """
    installation.check()
    return EngineProcess(
        installation.python, SERVER, arguments=[str(installation.checkout)], timeout=timeout, start_timeout=timeout
    )
