"""A text world with its games, on a thread of its own, since engines take their time. No ROS here."""

from __future__ import annotations

import queue
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from graph_planner_ros.benchmarks.worlds.game import GameSpec, WorldUnavailableError
from graph_planner_ros.benchmarks.worlds.registry import World, make_world
from graph_planner_ros.bridges.text_game import TextGame, Told
from graph_planner_ros.language.rules import Language, load_language
from graph_planner_ros.skills.result import SkillResult, SkillStatus

AGAIN = "."
"""Asks `choose_game` for the game that runs, once more."""
_END_WAIT = 3.0


@dataclass(frozen=True)
class WorldSettings:
    """Which world is played, and which of its games comes first.

    Attributes:
        world: a name of `registry.WORLDS`, or ``module:callable``. options: of the world.
        split, seed, limit: of the games; empty, None and None for the world's own. game: see `choose_game`.
    """

    world: str
    options: dict[str, str]
    split: str = ""
    seed: int | None = None
    limit: int | None = None
    game: str = ""


def world_settings(
    world: str,
    *,
    data: str = "",
    game: str = "",
    split: str = "",
    seed: int | None = None,
    limit: int | None = None,
    checkout: str = "",
    python: str = "",
) -> WorldSettings:
    """Return the settings for words of a command line; empty ones are left out.

    Args:
        data: file or folder of games. game: which one; or a file, which is the data then.
        checkout: of the engine, where it is no package. python: of the engine's environment.

    Raises:
        ValueError: there are neither data nor a file of a game.
    """
    path = Path(game).expanduser()
    if game and path.is_file():
        data, game = str(path), ""
    if not data and ":" not in world:
        raise ValueError(f"{world} needs games: name their file or folder with data:=PATH, or one file with game:=FILE")
    words = {"data": data, "checkout": checkout, "python": python}
    options = {name: str(Path(word).expanduser()) for name, word in words.items() if word}
    return WorldSettings(world, options, split, seed, limit, game)


@dataclass(frozen=True)
class Games:
    """A world that can be played: its games, the one to begin with, and its language."""

    world: World
    specs: tuple[GameSpec, ...]
    first: int
    language: Language


def open_world(settings: WorldSettings) -> Games:
    """Return a world's games after a look whether its engine is there; nothing is started.

    Raises:
        WorldUnavailableError: engine or data are missing; the message is one sentence that says how to get them.
        ValueError: there is no such world, split or game. FileNotFoundError: the domain has no language.
    """
    world = make_world(settings.world, settings.options)
    seeds = () if settings.seed is None else (settings.seed,)
    specs = tuple(world.games(settings.split, seeds, settings.limit))
    if not specs:
        raise ValueError(f"the world {world.name} has no games there")
    first = choose_game(specs, settings.game or "0", 0)
    world.versions()
    return Games(world, specs, first, load_language(world.domain))


def choose_game(specs: tuple[GameSpec, ...], game: str, current: int) -> int:
    """Return the index of a game: by its name or the only part of one that fits, by its number, `AGAIN`, or the next.

    Raises:
        ValueError: there is none, or there are several; the message names some.
    """
    if game == AGAIN:
        return current
    if not game:
        return (current + 1) % len(specs)
    if game.isdecimal():
        if int(game) >= len(specs):
            raise ValueError(f"there is no game {game}; there are {len(specs)}, from 0")
        return int(game)
    exact = [index for index, spec in enumerate(specs) if spec.name == game]
    found = exact or [index for index, spec in enumerate(specs) if game in spec.name]
    if len({specs[index].name for index in found}) == 1:
        return found[0]
    names = ", ".join(dict.fromkeys(specs[index].name for index in found[:5])) if found else specs[0].name
    what = "several games fit" if found else "no game is called"
    raise ValueError(f"{what} {game!r}; {'such as' if found else 'there is for example'} {names}")


class Waiting(Protocol):
    """Who waits for a skill."""

    def ended(self, result: SkillResult) -> None:
        """Hear of the end; a second one is ignored."""


class TextWorld:
    """Plays the games of a world, one at a time, in the order in which it is asked.

    Args:
        games: from `open_world`. clock: time [s] of the belief.
        tell: hears of every observation, on the world's thread; it must not keep the graph.
    """

    def __init__(self, games: Games, clock: Callable[[], float], tell: Callable[[Told], None]) -> None:
        self.games = games
        self._clock = clock
        self._tell = tell
        self._work: queue.Queue[Callable[[], None] | None] = queue.Queue()
        self._index = games.first
        self._game: TextGame | None = None
        self._opening: TextGame | None = None
        self._ended = False
        self._thread = threading.Thread(target=self._main, name="text world", daemon=True)
        self._thread.start()

    @property
    def game(self) -> TextGame | None:
        """The game that is played."""
        return self._game

    def start_game(self, game: str, done: Callable[[str], None]) -> None:
        """Begin a game (see `choose_game`), and call ``done`` on the world's thread with why not, or an empty text.

        The game before goes on if the new one cannot be begun.
        """
        self._work.put(lambda: done(self._begin(game)))

    def run_skill(self, skill: str, arguments: list[str], waiting: Waiting) -> Callable[[str], None]:
        """Carry out a skill; return what stops it with a reason.

        A command that is under way cannot be taken back: who waits is told at once, and its answer is taken in when
        it comes.
        """
        stopped = threading.Event()

        def work() -> None:
            if not stopped.is_set():
                waiting.ended(self._carry_out(skill, arguments))

        def stop(reason: str) -> None:
            stopped.set()
            if self._game is not None:
                self._game.stopped = True
            waiting.ended(SkillResult(SkillStatus.CANCELLED, "cancelled", f"{skill} was stopped: {reason}"))

        self._work.put(work)
        return stop

    def close(self) -> None:
        """End the engine and the thread; may be called twice."""
        self._ended = True
        self._work.put(None)
        self._thread.join(_END_WAIT)
        for game in (self._game, self._opening):
            if game is not None:
                game.close()  # an engine that is still at work is ended under its call
        self._thread.join(_END_WAIT)

    # ---- the world's thread

    def _main(self) -> None:
        while (work := self._work.get()) is not None and not self._ended:
            try:
                work()
            except Exception:
                traceback.print_exc()
        if self._game is not None:
            self._game.close()

    def _carry_out(self, skill: str, arguments: list[str]) -> SkillResult:
        if self._game is None:
            return SkillResult(SkillStatus.PRECONDITION_FAILED, "no_game", "no game runs")
        try:
            return self._game.carry_out(skill, arguments)
        except Exception as error:
            traceback.print_exc()
            reason = f"{skill}: {type(error).__name__}: {error}"
            return SkillResult(SkillStatus.EXECUTION_FAILED, "bridge_error", reason)

    def _begin(self, game: str) -> str:
        try:
            index = choose_game(self.games.specs, game, self._index)
            spec = self.games.specs[index]
            opened = TextGame(self.games.language, self.games.world.open(spec), spec, self._clock, self._tell)
            self._opening = opened
            problem = opened.begin()
        except (ValueError, OSError, WorldUnavailableError) as error:
            return str(error)
        except Exception as error:
            traceback.print_exc()
            problem = f"{type(error).__name__}: {error}"
        finally:
            opening, self._opening = self._opening, None
        if problem:
            if opening is not None:
                opening.close()
            return f"the game {spec.name} cannot be begun: {problem}"
        if self._game is not None:
            self._game.close()
        self._game, self._index = opened, index
        return ""
