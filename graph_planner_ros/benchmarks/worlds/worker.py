"""The process in which games are played one after the other; see `runner` for the other end of the pipe."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict
from multiprocessing.connection import Connection
from typing import Any, Protocol

from graph_planner_ros.benchmarks.worlds.game import Game, GameSpec, GameStatus, Observation, WorldUnavailableError
from graph_planner_ros.benchmarks.worlds.records import EpisodeRecord, StepRecord
from graph_planner_ros.planning.engines import EngineMissingError
from graph_planner_ros.process_guard import PR_SET_PDEATHSIG

READY, STEP, ROW, UNAVAILABLE = "ready", "step", "row", "unavailable"
"""Kinds of messages to the runner: (kind, content)."""


class Player(Protocol):
    """Plays games."""

    def play(self, spec: GameSpec, watch: Callable[[Game], Game]) -> EpisodeRecord:
        """Make the game and an agent, play, close the game.

        Args:
            spec: of the game. watch: to be applied to the game before it is played, so that its steps are seen
                even if the game never ends.

        Raises:
            WorldUnavailableError: the world is not installed.
        """


class MakePlayer(Protocol):
    """What the runner sends to its workers; it must be picklable."""

    def __call__(self) -> Player:
        """Return the player; called once in each worker."""


class WatchedGame:
    """A game whose course is told as it happens."""

    def __init__(self, game: Game, tell: Callable[[StepRecord], None]) -> None:
        self._game = game
        self._tell = tell
        self._count = 0

    def reset(self) -> Observation:
        """Start the game anew."""
        observation = self._game.reset()
        self._count = 0
        self._report("", observation)
        return observation

    def step(self, command: str) -> Observation:
        """Carry out a command."""
        observation = self._game.step(command)
        self._count += 1
        self._report(command, observation)
        return observation

    def close(self) -> None:
        """End the engine."""
        self._game.close()

    def _report(self, command: str, observation: Observation) -> None:
        self._tell(StepRecord(self._count, command, observation=observation.text, goal_score=observation.score))


def failed_record(spec: GameSpec, reason: str, steps: list[StepRecord]) -> EpisodeRecord:
    """Return the record of a game that had no proper end."""
    return EpisodeRecord(
        spec.world, spec.name, spec.group, spec.split, spec.seed, spec.limit,
        status=GameStatus.CRASHED.value, reason=reason, score=max((step.goal_score for step in steps), default=0.0),
        steps_taken=max(0, len(steps) - 1), steps=steps,
    )  # fmt: skip


def serve(connection: Connection, make_player: MakePlayer, log: str) -> None:
    """Play what the runner sends until it sends None or is gone."""
    _settle(log)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        try:
            player = make_player()
        except (WorldUnavailableError, EngineMissingError) as error:
            connection.send((UNAVAILABLE, str(error)))
            return
        except Exception as error:
            traceback.print_exc()
            connection.send((UNAVAILABLE, f"the player cannot be made: {type(error).__name__}: {error}"))
            return
        connection.send((READY, None))
        while (spec := connection.recv()) is not None:
            connection.send(_play(player, spec, connection))


def _settle(log: str) -> None:
    """Die with the runner, leave Ctrl-C to it, and write to a log instead of between its lines."""
    parent = os.getppid()
    os.setsid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    with open(log, "ab", buffering=0) as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)
    sys.stdout = sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115


def _play(player: Player, spec: GameSpec, connection: Connection) -> tuple[str, Any]:
    steps: list[StepRecord] = []

    def tell(step: StepRecord) -> None:
        if step.index == 0:
            steps.clear()
        steps.append(step)
        connection.send((STEP, step))

    try:
        record = player.play(spec, lambda game: WatchedGame(game, tell))
    except (WorldUnavailableError, EngineMissingError) as error:
        return UNAVAILABLE, str(error)
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:
        traceback.print_exc()
        place = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"the agent failed: {type(error).__name__}: {error} ({place.name}, line {place.lineno})"
        record = failed_record(spec, reason, steps)
    return ROW, asdict(record)
