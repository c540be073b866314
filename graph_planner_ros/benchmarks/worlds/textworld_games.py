"""Makes games of TextWorld with the engine's own generators, and houses to clean with one of ours.

The engine makes cooking games, treasure hunts, coin hunts, its simple example, and houses with a chain of actions
("custom"), all of them as ``tw-make`` does. For cleaning it has no generator: `cleaning_plan` draws a house in which
some things lie in wrong rooms, from the lists in ``config/worlds/textworld_cleaning.yaml``, and the engine builds it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from graph_planner_ros.benchmarks.worlds.environments import find_python
from graph_planner_ros.benchmarks.worlds.process import EngineError, EngineProcess
from graph_planner_ros.benchmarks.worlds.textworld import LIST, SCRIPT, WORLD
from graph_planner_ros.domain.files import write_atomically
from graph_planner_ros.domain.paths import find_config

FAMILIES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "cooking": {
        "easy": {"recipe": 1, "take": 1, "go": 1, "cook": True},
        "medium": {"recipe": 2, "take": 2, "go": 6, "open": True, "cook": True, "cut": True},
        "hard": {"recipe": 3, "take": 3, "go": 9, "open": True, "cook": True, "cut": True, "drop": True},
        "hardest": {"recipe": 5, "take": 5, "go": 12, "open": True, "cook": True, "cut": True, "drop": True},
    },
    "treasure": {"easy": {"level": (1, 10)}, "medium": {"level": (11, 20)}, "hard": {"level": (21, 30)}},
    "coin": {"easy": {"level": (1, 50)}, "medium": {"level": (101, 150)}, "hard": {"level": (201, 233)}},
    "simple": {"easy": {"rewards": "dense", "goal": "detailed"}, "hard": {"rewards": "sparse", "goal": "brief"}},
    "custom": {
        "easy": {"rooms": 3, "objects": 10, "quest": 3},
        "medium": {"rooms": (3, 8), "objects": 15, "quest": (4, 8)},
        "hard": {"rooms": (6, 12), "objects": 25, "quest": (8, 14)},
    },
    "cleaning": {
        "easy": {"rooms": 4, "misplaced": 3},
        "medium": {"rooms": 6, "misplaced": 6},
        "hard": {"rooms": 9, "misplaced": 11},
    },
}
"""Family -> level -> settings; a pair of numbers is the range that the games are spread over."""
_CHALLENGES = {
    "cooking": "tw-cooking",
    "treasure": "tw-treasure_hunter",
    "coin": "tw-coin_collector",
    "simple": "tw-simple",
}
_TRIES = 20
_TIMEOUT = 120.0
_DIRECTIONS = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}


def make_games(
    folder: Path,
    family: str,
    level: str,
    count: int,
    seed: int = 0,
    python: str | Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Make games and list them in the folder's `LIST`; games that are there already are made anew.

    Args:
        folder: for the games; made if it is not there. family, level: of `FAMILIES`; a level may also be a number
            where the engine counts levels. count: of games. seed: of the first one; each game has the next.
        python: of the engine's environment. tell: is told of each game, and of seeds that gave none.

    Raises:
        ValueError: there is no such family or level. WorldUnavailableError: the engine is not installed.
        EngineError: the engine makes no such games.
    """
    settings = _settings(family, level)
    folder.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    process: EngineProcess | None = None
    interpreter = find_python(WORLD, python)
    try:
        for number in range(count):
            for attempt in range(_TRIES):
                # a seed that gives no game, which the engine's hunts have, is replaced by one far away
                draw = seed + number + attempt * 1_000_003
                path = folder / f"{family}_{level}_{seed + number:03d}.z8"
                if process is None or not process.alive:
                    process = EngineProcess(interpreter, SCRIPT, timeout=_TIMEOUT)
                try:
                    _make(process, family, _at(settings, number, count), draw, path)
                except EngineError as error:
                    if attempt == _TRIES - 1:
                        raise
                    tell(f"seed {draw} gives no game: {error}")
                    continue
                _list(path, family, level, draw)
                tell(path.name)
                made.append(path)
                break
    finally:
        if process is not None:
            process.close()
    return made


def _settings(family: str, level: str) -> Mapping[str, Any]:
    if family not in FAMILIES:
        raise ValueError(f"there is no family {family!r}; there are: {', '.join(FAMILIES)}")
    levels = FAMILIES[family]
    if level.isdigit() and "level" in next(iter(levels.values())):
        return {"level": (int(level), int(level))}
    if level not in levels:
        raise ValueError(f"{family} has no level {level!r}; it has: {', '.join(levels)}")
    return levels[level]


def _at(settings: Mapping[str, Any], number: int, count: int) -> dict[str, Any]:
    """Return the settings of one game of many: ranges become the value of its turn."""
    spread = {}
    for name, value in settings.items():
        if isinstance(value, tuple):
            low, high = value
            value = low + round((high - low) * number / max(1, count - 1))
        spread[name] = value
    return spread


def _make(process: EngineProcess, family: str, settings: dict[str, Any], seed: int, path: Path) -> None:
    target = str(path.resolve())
    if family == "cleaning":
        plan = cleaning_plan(seed, settings["rooms"], settings["misplaced"])
        process.call("build", plan=plan, seed=seed, path=target)
        return
    if family == "custom":
        process.call("custom", settings=settings, seed=seed, path=target)
        return
    if family == "cooking":
        settings = {"recipe_seed": 0, "split": None, **settings}
    if family == "simple":
        settings = {"test": False, **settings}
    process.call("make", challenge=_CHALLENGES[family], settings=settings, seed=seed, path=target)


def _list(path: Path, family: str, level: str, seed: int) -> None:
    file = path.parent / LIST
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    known = known if isinstance(known, dict) else {}
    known[path.stem] = {"family": family, "split": f"{family}_{level}", "seed": seed}
    write_atomically(file, json.dumps(known, indent=1, sort_keys=True) + "\n")


def cleaning_plan(seed: int, rooms: int, misplaced: int) -> dict[str, Any]:
    """Draw a house in which things lie in wrong rooms; see ``servers/textworld.py`` for what a plan holds.

    Args:
        seed: the same seed gives the same house. rooms: how many, of those of the lists. misplaced: how many things
            are not where they belong; as many others are.

    Raises:
        ValueError: the lists do not have so many.
    """
    lists = yaml.safe_load((find_config("worlds") / "textworld_cleaning.yaml").read_text(encoding="utf-8"))
    chance = random.Random(seed)
    if not 2 <= rooms <= len(lists["rooms"]):
        raise ValueError(f"houses have 2 to {len(lists['rooms'])} rooms, not {rooms}")
    names = chance.sample(sorted(lists["rooms"]), rooms)
    furniture = {name: [kind, room] for room in names for name, kind in lists["rooms"][room].items()}
    homes = {thing: home for home, things in lists["things"].items() if home in furniture for thing in things}
    if len(homes) < misplaced:
        raise ValueError(f"in this house only {len(homes)} things can be misplaced")
    things = chance.sample(sorted(homes), min(2 * misplaced, len(homes)))
    lying: dict[str, str] = {}
    for number, thing in enumerate(things):
        room = furniture[homes[thing]][1]
        elsewhere = [other for other in names if other != room]
        open_places = [name for name, (kind, where) in furniture.items() if kind == "s" and where != room]
        lying[thing] = chance.choice(elsewhere + sorted(open_places)) if number < misplaced else homes[thing]
    return {
        "rooms": _layout(names, chance),
        "furniture": furniture,
        "things": lying,
        "homes": {thing: homes[thing] for thing in things[:misplaced]},
        "start": chance.choice(names),
        "objective": lists["objective"],
    }


def _layout(names: list[str], chance: random.Random) -> dict[str, dict[str, str]]:
    """Place rooms on a grid, each beside one that is there; neighbours have an exit between them."""
    cells = {names[0]: (0, 0)}
    for name in names[1:]:
        free = sorted(
            {
                (x + dx, y + dy)
                for x, y in cells.values()
                for dx, dy in _DIRECTIONS.values()
                if (x + dx, y + dy) not in cells.values()
            }
        )
        cells[name] = chance.choice(free)
    at = {cell: name for name, cell in cells.items()}
    return {
        name: {way: at[x + dx, y + dy] for way, (dx, dy) in _DIRECTIONS.items() if (x + dx, y + dy) in at}
        for name, (x, y) in cells.items()
    }
