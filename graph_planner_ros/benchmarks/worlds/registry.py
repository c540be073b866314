"""The worlds that `graph-planner bench` knows, and what a world must offer to be one (docs/benchmarks.md)."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, cast

from graph_planner_ros.benchmarks.worlds.game import Game, GameSpec

WORLDS: Mapping[str, str] = {
    "alfworld": "graph_planner_ros.benchmarks.worlds.builtin:AlfworldWorld",
    "robotouille": "graph_planner_ros.benchmarks.worlds.builtin:RobotouilleWorld",
    "textworld": "graph_planner_ros.benchmarks.worlds.textworld:TextworldWorld",
}
"""Where each world is made: ``module:callable``, called with the options of the command line as keywords."""


class World(Protocol):
    """A world that can be benchmarked. It is made anew in every worker from the same options."""

    name: str
    domain: str
    """Folder of ``config/domains`` with its PDDL, classes and language."""

    def games(self, split: str, seeds: Sequence[int], limit: int | None) -> list[GameSpec]:
        """List every game of a split, in the same order every time.

        Args:
            split: as the data calls it; empty for the world's own default. seeds: of engine and agent, empty for the
                world's own. limit: of steps; None for the world's own.

        Raises:
            WorldUnavailableError: the data are not there.
            ValueError: there is no such split.
        """

    def open(self, spec: GameSpec) -> Game:
        """Make a game.

        Raises:
            WorldUnavailableError: the engine is not installed; the message says how to get it.
        """

    def versions(self) -> Mapping[str, str]:
        """Return the versions of the engine and of its Python.

        Raises:
            WorldUnavailableError: the engine is not installed; asked before the first game.
        """


def make_world(name: str, options: Mapping[str, str]) -> World:
    """Make a world.

    Args:
        name: one of `WORLDS`, or ``module:callable`` of a world of one's own. options: for it; plain texts.

    Raises:
        ValueError: there is no such world, or it does not take these options.
    """
    entry = WORLDS.get(name, name)
    module_name, colon, attribute = entry.partition(":")
    if not colon:
        raise ValueError(f"there is no world {name!r}; there are: {', '.join(WORLDS)}, and module:callable")
    try:
        make = cast(Callable[..., World], getattr(importlib.import_module(module_name), attribute))
    except (ImportError, AttributeError) as error:
        raise ValueError(f"the world {entry} cannot be loaded: {error}") from error
    if not callable(make):
        raise ValueError(f"the world {entry} cannot be loaded: {attribute} is not called to make one")
    try:
        made = make(**options)
    except TypeError as error:
        given = f"the options {', '.join(options)}" if options else "no options"
        raise ValueError(f"the world {name} does not take {given}{_taken(make)}") from error
    if not all(hasattr(made, part) for part in ("name", "domain", "games", "open", "versions")):
        raise ValueError(f"the world {entry} is none: expected name, domain, games, open and versions")
    return made


def _taken(make: Callable[..., World]) -> str:
    """Return the names of the options that a world takes, for a message."""
    try:
        names = [name for name in inspect.signature(make).parameters if name not in ("args", "kwargs")]
    except (TypeError, ValueError):  # made without Python, which tells no names
        return ""
    return f"; it takes: {', '.join(names) or 'none'}"
