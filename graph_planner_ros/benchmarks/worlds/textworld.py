"""TextWorld's games: files in a folder, each played by the engine in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from graph_planner_ros.benchmarks.worlds.environments import engine_versions, find_python
from graph_planner_ros.benchmarks.worlds.game import Game, GameSpec, GameStatus, Observation, WorldUnavailableError
from graph_planner_ros.benchmarks.worlds.served import NOT_WON, ServedGame

WORLD = "textworld"
SCRIPT = Path(__file__).parent / "servers" / "textworld.py"
SUFFIXES = (".z8", ".ulx")
LIST = "games.json"
"""File that `textworld_games.make_games` leaves in a folder: name of a game -> what is known of it."""
LIMITS = {"cooking": 150, "treasure": 150, "coin": 400, "cleaning": 300, "simple": 150, "custom": 150}
LIMIT = 150
_FAMILIES = {
    "cook": "cooking",
    "hunt": "treasure",
    "treasure": "treasure",
    "coin": "coin",
    "clean": "cleaning",
    "simple": "simple",
    "custom": "custom",
}
_GOALS = {"treasure": "Find the treasure."}
"""Goal of games of a family that state none: AriGraph's hunts leave it to the prompt."""


class TextworldGame(ServedGame):
    """One game.

    Args:
        path: of the game's file. goal: if the game states none. python: interpreter of the engine.
        timeout: seconds for one answer.
    """

    def __init__(self, path: Path, goal: str, python: Path, timeout: float = 60.0) -> None:
        super().__init__(goal, python, timeout)
        self._path = path

    def _script(self) -> Path:
        return SCRIPT

    def _start(self) -> Observation:
        return self._ask("reset", self._timeout, path=str(self._path))

    def _read(self, answer: Mapping[str, Any]) -> Observation:
        status = GameStatus.RUNNING
        if answer["won"]:
            status = GameStatus.WON
        elif answer["lost"] or answer["done"]:
            status = GameStatus.LOST
        reason = NOT_WON if status is GameStatus.LOST else ""
        commands = tuple(map(str, answer["commands"])) if status is GameStatus.RUNNING else ()
        goal = str(answer.get("goal") or self._last.goal)
        score = min(max(float(answer["score"]), 0.0), 1.0)
        return Observation(str(answer["text"]), commands, goal, status, reason, score)


class TextworldWorld:
    """TextWorld as a `registry.World`.

    Args:
        data: folder with games, also in folders below, or one game. python: of the engine's environment.
    """

    name = WORLD
    domain = WORLD

    def __init__(self, data: str, python: str = "") -> None:
        self._data = Path(data)
        self._named = python

    @cached_property
    def _python(self) -> Path:
        return find_python(self.name, self._named)

    def games(self, split: str, seeds: Sequence[int], limit: int | None) -> list[GameSpec]:
        """List games; a split is a folder below the data's, or a family, empty for all. See `World`."""
        files = self._files()
        if not files:
            raise WorldUnavailableError(
                f"there are no games of TextWorld at {self._data}: make some with 'graph-planner bench "
                "textworld-games', or name their folder with --games"
            )
        root = self._data if self._data.is_dir() else self._data.parent
        specs = [self._spec(path, root, seed, limit) for seed in seeds or (0,) for path in files]
        chosen = [spec for spec in specs if split in ("", spec.group, spec.split)]
        if not chosen:
            known = sorted({spec.group for spec in specs} | {spec.split for spec in specs})
            raise ValueError(f"{self._data} has no split {split!r}; it has: {', '.join(known)}")
        return chosen

    def open(self, spec: GameSpec) -> Game:
        """Make a game; see `World`."""
        return TextworldGame(Path(spec.data["path"]), str(spec.data["goal"]), self._python)

    def versions(self) -> Mapping[str, str]:
        """Return the versions of the engine; see `World`."""
        return engine_versions(self.name, self._python, ("textworld", "jericho"))

    def _files(self) -> list[Path]:
        if self._data.is_file():
            return [self._data] if self._data.suffix in SUFFIXES else []
        return sorted(path for path in self._data.rglob("*") if path.suffix in SUFFIXES)

    def _spec(self, path: Path, root: Path, seed: int, limit: int | None) -> GameSpec:
        name = path.relative_to(root).with_suffix("").as_posix()
        known = _listed(path)
        family = str(known.get("family") or _family(name, path))
        goal = str(known.get("goal") or _GOALS.get(family, ""))
        steps = limit or int(known.get("limit") or LIMITS.get(family, LIMIT))
        split = str(known.get("split") or (path.parent.name if path.parent != root else "all"))
        return GameSpec(WORLD, name, family, split, steps, seed, {"path": str(path.resolve()), "goal": goal})


def _family(name: str, path: Path) -> str:
    """Return the family that the name of a game, or of its folder, speaks of."""
    words = f"{name} {path.parent.name}".lower()
    return next((family for word, family in _FAMILIES.items() if word in words), "other")


def _listed(path: Path) -> Mapping[str, Any]:
    """Return what the list in a game's folder says of it."""
    try:
        entry = json.loads((path.parent / LIST).read_text(encoding="utf-8")).get(path.stem, {})
    except (OSError, ValueError, AttributeError):
        return {}
    return entry if isinstance(entry, Mapping) else {}
