"""A game whose engine is served by a script in a process of its own: what the adapters of such worlds share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graph_planner_ros.benchmarks.worlds.game import GameStatus, Observation
from graph_planner_ros.benchmarks.worlds.process import EngineError, EngineProcess

NOT_WON = "the game ended and was not won"


class ServedGame(ABC):
    """One game; a subclass says which script serves it, how a game is started, and how its answers are read.

    Args:
        goal: in the world's words, until an answer has another. python: interpreter of the engine.
        timeout: seconds for one answer.
    """

    def __init__(self, goal: str, python: Path, timeout: float = 60.0) -> None:
        self._goal = goal
        self._python = python
        self._timeout = timeout
        self._process: EngineProcess | None = None
        self._last = Observation("")

    def reset(self) -> Observation:
        """Start the game anew; see `Game`."""
        if self._process is None or not self._process.alive:
            self.close()
            self._process = EngineProcess(self._python, self._script(), timeout=self._timeout)
        self._last = Observation("", goal=self._goal)
        return self._start()

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

    @abstractmethod
    def _script(self) -> Path:
        """Return the script that serves the engine."""

    @abstractmethod
    def _start(self) -> Observation:
        """Ask for the start of the game."""

    @abstractmethod
    def _read(self, answer: Mapping[str, Any]) -> Observation:
        """Return an answer as an observation.

        Raises:
            KeyError, TypeError, ValueError: the answer is not what the script should say.
        """

    def _ask(self, do: str, timeout: float, **arguments: Any) -> Observation:
        """Return the engine's answer; whatever goes wrong is a crash with its reason, and keeps goal and score."""
        try:
            if self._process is None:
                raise EngineError("the game was not started")
            self._last = self._read(self._process.call(do, timeout, **arguments))
        except (EngineError, KeyError, TypeError, ValueError) as error:
            self._last = Observation("", (), self._last.goal, GameStatus.CRASHED, _reason(error), self._last.score)
        return self._last


def _reason(error: Exception) -> str:
    if isinstance(error, EngineError):
        return str(error)
    return f"the engine's answer lacks {error}" if isinstance(error, KeyError) else f"the engine's answer: {error!r}"
