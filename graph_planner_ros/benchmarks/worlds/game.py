"""What a text world looks like to an agent: observation, goal and admissible commands, and nothing else."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


class GameStatus(enum.Enum):
    """How a game stands."""

    RUNNING = "running"
    WON = "won"
    LOST = "lost"
    CRASHED = "crashed"
    """The engine died, hung or ended without a verdict; counted as a failure with its reason, never dropped."""


@dataclass(frozen=True)
class Observation:
    """What the agent gets after `Game.reset` and after every command.

    Attributes:
        text: the world's own words, unchanged.
        commands: admissible commands where the world offers them, else empty.
        goal: the goal in the world's own words; the same in every observation of a game.
        status: RUNNING until the game ends. reason: a sentence where it did not end by winning.
        score: normalised to 0..1 by what the game offers at most.
    """

    text: str
    commands: tuple[str, ...] = ()
    goal: str = ""
    status: GameStatus = GameStatus.RUNNING
    reason: str = ""
    score: float = 0.0


class Game(Protocol):
    """One game of one world. The engine runs in a process of its own; what it prints never mixes with ours."""

    def reset(self) -> Observation:
        """Start the game anew.

        Raises:
            WorldUnavailableError: the world is not installed; the message says how to get it.
        """

    def step(self, command: str) -> Observation:
        """Carry out one command. Never raises for what the engine does: a crash is a status with a reason."""

    def close(self) -> None:
        """End the engine; may be called twice."""


@dataclass(frozen=True)
class GameSpec:
    """One row of a benchmark.

    Attributes:
        world: ``alfworld``, ``robotouille`` or ``textworld``. name: unique in its split, shown in tables.
        group: task type or family, for tables by group. split: as the data calls it.
        limit: steps after which the game counts as not solved. seed: of the engine and of the agent.
        data: what the adapter needs to make the game; plain values only.
    """

    world: str
    name: str
    group: str
    split: str
    limit: int
    seed: int = 0
    data: Mapping[str, Any] = field(default_factory=dict)


class WorldUnavailableError(RuntimeError):
    """A world that is not installed; the message is one sentence that says how to get it."""
