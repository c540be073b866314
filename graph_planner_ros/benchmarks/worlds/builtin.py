"""The worlds of the papers as `registry.World`: their data, their engines' environments, their games."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from graph_planner_ros.benchmarks.worlds import alfworld, robotouille
from graph_planner_ros.benchmarks.worlds.environments import engine_versions, find_python
from graph_planner_ros.benchmarks.worlds.game import Game, GameSpec, WorldUnavailableError


class AlfworldWorld:
    """ALFWorld's text games.

    Args:
        data: folder with ``<split>.jsonl.gz``, or such a file. python: of its environment.
    """

    name = alfworld.WORLD
    domain = alfworld.DOMAIN

    def __init__(self, data: str, python: str = "") -> None:
        self._data = Path(data)
        self._named = python

    @cached_property
    def _python(self) -> Path:
        return find_python(self.name, self._named)

    def games(self, split: str, seeds: Sequence[int], limit: int | None) -> list[GameSpec]:
        """List the games of a split; see `World`."""
        path = _data_file(self._data, split or "valid_seen", "ALFWorld's games")
        return [
            spec
            for seed in seeds or (0,)
            for spec in alfworld.read_games(path, split or path.name.split(".")[0], limit or alfworld.LIMIT, seed)
        ]

    def open(self, spec: GameSpec) -> Game:
        """Make a game; see `World`."""
        return alfworld.AlfworldGame(spec.data, self._python)

    def layout(self, spec: GameSpec) -> str:
        """Return the home that a game plays in."""
        return alfworld.layout_of(spec.name)

    def versions(self) -> Mapping[str, str]:
        """Return the versions of the engine; see `World`."""
        return engine_versions(self.name, self._python, ("alfworld", "textworld"))


class RobotouilleWorld:
    """Robotouille's tasks.

    Args:
        data: folder with ``seeded.jsonl.gz``, or such a file, or a folder of tasks (`robotouille.list_games`).
        checkout: of the engine; else the variable's.
        python: of its environment.
    """

    name = robotouille.WORLD
    domain = robotouille.DOMAIN

    def __init__(self, data: str, checkout: str = "", python: str = "") -> None:
        self._data = Path(data)
        self._checkout = checkout
        self._named = python

    @cached_property
    def _installation(self) -> robotouille.Installation:
        named = self._checkout or os.environ.get(robotouille.CHECKOUT_VARIABLE, "")
        if not named:
            raise WorldUnavailableError(robotouille.HOW_TO_GET)
        return robotouille.Installation(Path(named).absolute(), find_python(self.name, self._named))

    def games(self, split: str, seeds: Sequence[int], limit: int | None) -> list[GameSpec]:
        """List the games of a family of tasks; see `World`."""
        whole = robotouille.has_tasks(self._data)
        path = self._data if whole else _data_file(self._data, "seeded", "Robotouille's environments")
        specs = robotouille.list_games(path, (split or robotouille.FAMILIES[0],), steps=limit)
        known = sorted({spec.seed for spec in specs})
        if missing := [seed for seed in seeds if seed not in known]:
            raise ValueError(f"{path} has no seed {missing[0]}; it has: {', '.join(map(str, known))}")
        return [spec for spec in specs if not seeds or spec.seed in seeds]

    def open(self, spec: GameSpec) -> Game:
        """Make a game; see `World`."""
        return robotouille.RobotouilleGame(spec, self._installation)

    def versions(self) -> Mapping[str, str]:
        """Return the versions of the engine's packages, and a hash of the checkout's code; see `World`."""
        self._installation.check()
        found = engine_versions(self.name, self._installation.python, ("gym", "numpy"))
        digest = hashlib.sha256()
        for path in sorted((self._installation.checkout / "robotouille").glob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
        return {**found, "checkout": digest.hexdigest()[:16]}


def _data_file(data: Path, split: str, what: str) -> Path:
    """Return the file of a split.

    Raises:
        WorldUnavailableError: there are no data. ValueError: there is no such split.
    """
    if data.is_file():
        return data
    if not data.is_dir():
        raise WorldUnavailableError(f"{what} are not at {data}: name the folder that has them with --data")
    for name in (f"{split}.jsonl.gz", f"{split}.jsonl"):
        if (data / name).is_file():
            return data / name
    splits = sorted({path.name.split(".")[0] for path in data.glob("*.jsonl*")})
    if not splits:
        raise WorldUnavailableError(f"{data} has no <split>.jsonl.gz: name the folder with {what} with --data")
    raise ValueError(f"{data} has no split {split!r}; it has: {', '.join(splits)}")
