"""Players without a domain: what the planner is compared with. They see what it sees, and nothing more."""

from __future__ import annotations

import hashlib
import random
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from graph_planner_ros.benchmarks.worlds.game import Game, GameSpec, GameStatus, Observation
from graph_planner_ros.benchmarks.worlds.records import ACT, EXPLORE, EpisodeRecord, StepRecord


class StoppedError(RuntimeError):
    """A player that cannot go on; the message is a sentence. ``tokens`` were used for nothing."""

    def __init__(self, reason: str, tokens: int = 0) -> None:
        super().__init__(reason)
        self.tokens = tokens


@dataclass(frozen=True)
class Choice:
    """A command, with what it cost to choose it.

    Attributes:
        kind: of `StepRecord`. tokens: of a language model, prompt and answer. thought: what it said beside the command.
    """

    command: str
    kind: str = EXPLORE
    tokens: int = 0
    thought: str = ""


class Chooser(Protocol):
    """Chooses one command after the other in one game."""

    def choose(self, observation: Observation, command: str) -> Choice:
        """Choose.

        Args:
            observation: of the world, now. command: the one that led to it; empty at the start.

        Raises:
            StoppedError: it cannot go on.
        """


def play(game: Game, spec: GameSpec, name: str, chooser: Chooser, refused: Callable[[str, str], bool]) -> EpisodeRecord:
    """Play one game to its end, the limit, or until the player cannot go on.

    Args:
        name: of the player, for the record.
        refused: whether a command (second) was refused, by the world's answer (first).
    """
    record = EpisodeRecord(spec.world, spec.name, spec.group, spec.split, spec.seed, spec.limit, agent=name)
    observation = game.reset()
    record.goal = observation.goal
    record.steps.append(StepRecord(0, observation=observation.text, goal_score=observation.score))
    command = ""
    while observation.status is GameStatus.RUNNING and record.steps_taken < spec.limit:
        start = time.perf_counter()
        try:
            choice = chooser.choose(observation, command)
        except StoppedError as error:
            record.reason = str(error)
            record.tokens += error.tokens
            break
        seconds = time.perf_counter() - start
        command = choice.command
        observation = game.step(command)
        failed = refused(observation.text, command)
        record.steps_taken += 1
        record.tokens += choice.tokens
        record.invalid += failed
        record.steps.append(
            StepRecord(
                record.steps_taken, command, choice.kind, observation=observation.text, goal_score=observation.score,
                failed=failed, decision=choice.thought, planning_seconds=seconds,
            )
        )  # fmt: skip
    record.status, record.score = observation.status.value, observation.score
    record.reason = observation.reason or record.reason
    if observation.status is GameStatus.RUNNING and not record.reason:
        record.reason = f"not solved within {spec.limit} steps"
    return record


def seed_of(spec: GameSpec) -> int:
    """Return a seed for a game: of the run's seed and the game's name, the same on every machine."""
    return int.from_bytes(hashlib.sha256(f"{spec.seed}:{spec.name}".encode()).digest()[:8], "big")


class RandomChooser:
    """Any admissible command."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def choose(self, observation: Observation, command: str) -> Choice:
        """Choose one with equal chances."""
        return Choice(self._random.choice(_commands(observation)))


@dataclass
class _Place:
    """A state of the world as far as its words tell: what was tried there, and where it led."""

    untried: deque[str]
    known: dict[str, int] = field(default_factory=dict)


class BreadthFirstChooser:
    """Tries every admissible command in every state, the nearest first; a state is what the world says.

    The world cannot be set back, so the way to the nearest state with an untried command is walked again, over
    commands whose outcome is known. An outcome that was another one than before is learnt anew.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, tuple[str, ...]], int] = {}
        self._places: list[_Place] = []
        self._here: int | None = None

    def choose(self, observation: Observation, command: str) -> Choice:
        """Choose an untried command, or the first one of the shortest known way to a state that has one."""
        came_from, self._here = self._here, self._number(observation)
        if came_from is not None and command:
            self._places[came_from].known[command] = self._here
        place = self._places[self._here]
        if place.untried:
            return Choice(place.untried.popleft())
        way = self._way(self._here)
        if way is None:
            raise StoppedError("every command has been tried in every state that can be reached")
        return Choice(way, ACT)

    def _number(self, observation: Observation) -> int:
        commands = _commands(observation)
        key = (observation.text, tuple(sorted(commands)))
        if key not in self._numbers:
            self._numbers[key] = len(self._places)
            self._places.append(_Place(deque(commands)))
        return self._numbers[key]

    def _way(self, start: int) -> str | None:
        first: dict[int, str] = {start: ""}
        queue = deque([start])
        while queue:
            here = queue.popleft()
            if self._places[here].untried:
                return first[here]
            for command, there in self._places[here].known.items():
                if there not in first:
                    first[there] = first[here] or command
                    queue.append(there)
        return None


def _commands(observation: Observation) -> tuple[str, ...]:
    if not observation.commands:
        raise StoppedError("this player needs admissible commands, and the world offers none")
    return observation.commands
