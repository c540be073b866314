"""``graph-planner memory collect``: episodes of experience from played games, made-up kitchens and recorded bags.

Exit codes: 0 done; 2 wrong usage or wrong files; 3 something is not installed; 130 stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from graph_planner_ros.console import Terminal, errors, fail, writable

if TYPE_CHECKING:
    from graph_planner_ros.benchmarks.worlds.registry import World
    from graph_planner_ros.memory.experience import Episode

app = typer.Typer(help="Collect episodes of experience.", no_args_is_help=True)
console = Terminal(highlight=False)

Out = Annotated[
    Path,
    typer.Option(
        callback=writable,
        help="File of episodes (JSON lines, gzipped if its name ends so); games in it are not repeated.",
    ),
]
Everything = Annotated[bool, typer.Option("--all", help="Keep episodes that were not solved as well.")]
Games = Annotated[int, typer.Option(help="At most so many games, spread over the groups; 0: all.", min=0)]
Limit = Annotated[int | None, typer.Option(help="Steps of a game; without it the world's own limit.", min=1)]
Seeds = Annotated[str, typer.Option(help="Seeds, separated by commas; without them the world's own.")]
Tasks = Annotated[str, typer.Option(help="Only these games or groups, separated by commas; * stands for anything.")]
WorldPython = Annotated[Path | None, typer.Option("--python", help="Python of the world's environment.")]


@app.command()
def alfworld(
    data: Annotated[Path, typer.Option(help="Folder with <split>.jsonl.gz, or such a file.")],
    out: Out,
    split: Annotated[str, typer.Option(help="Split, as the data call it.")] = "train",
    tasks: Tasks = "",
    games: Games = 0,
    limit: Limit = None,
    seed: Seeds = "",
    everything: Everything = False,
    python: WorldPython = None,
) -> None:
    """Play ALFWorld's text games."""
    _collect_world("alfworld", {"data": data, "python": python}, split, tasks, games, limit, seed, everything, out)


@app.command()
def robotouille(
    data: Annotated[Path, typer.Option(help="Folder with seeded.jsonl.gz, or such a file.")],
    out: Out,
    checkout: Annotated[Path | None, typer.Option(help="Checkout of Robotouille's engine.")] = None,
    split: Annotated[str, typer.Option(help="synchronous or asynchronous.")] = "synchronous",
    tasks: Tasks = "",
    games: Games = 0,
    limit: Limit = None,
    seed: Seeds = "",
    everything: Everything = False,
    python: WorldPython = None,
) -> None:
    """Play Robotouille."""
    options = {"data": data, "checkout": checkout, "python": python}
    _collect_world("robotouille", options, split, tasks, games, limit, seed, everything, out)


@app.command()
def kitchen(
    out: Out,
    layouts: Annotated[str, typer.Option(help="Layouts, separated by commas; empty: all.")] = "",
    seed: Annotated[str, typer.Option(help="Seeds of each layout: 0,1,2 or 0-16.")] = "0-16",
    games: Annotated[int, typer.Option(help="Tasks in each kitchen.", min=1)] = 4,
    everything: Everything = False,
) -> None:
    """Play made-up tasks in the simulator's kitchens without physics; the truth of the simulator decides."""
    from graph_planner_ros.benchmarks.experience import collect_from_kitchens
    from graph_planner_ros.domain.domain import load_domain
    from graph_planner_ros.planning.engines import EngineMissingError
    from graph_planner_ros.sim.layouts import LAYOUTS, get_layout

    stop = console.stop_signal()
    try:
        chosen = [get_layout(name).name for name in layouts.split(",") if name] or list(LAYOUTS)
        seeds = numbers_of(seed)
        found = collect_from_kitchens(load_domain("household"), chosen, seeds, games, _known(out))
        _write(out, found, len(chosen) * len(seeds) * games, everything, stop)
    except EngineMissingError as error:
        raise fail(error, 3) from None
    except (ValueError, OSError) as error:
        raise fail(error, 2) from None


@app.command()
def bag(
    bags: Annotated[list[Path], typer.Argument(help="Recordings, or folders that have some below them.")],
    out: Out,
    domain: Annotated[str, typer.Option(help="Folder of config/domains, or a path.")] = "household",
    everything: Everything = False,
) -> None:
    """Take the tasks of recorded runs: scenes, plans and what came of them."""
    from graph_planner_ros.analysis.bag_experience import episodes_of_bag, find_bags
    from graph_planner_ros.domain.domain import load_domain

    try:
        known = {header_id for _, _, header_id in _headers(out)}
        found = [episode for path in find_bags(bags) for episode in episodes_of_bag(path, load_domain(domain))]
        new = [episode for episode in found if episode.header.episode_id not in known]
        _write(out, new, len(new), everything)
    except (ValueError, OSError) as error:
        raise fail(error, 2) from None


def _collect_world(
    name: str,
    options: dict[str, Path | None],
    split: str,
    tasks: str,
    games: int,
    limit: int | None,
    seed: str,
    everything: bool,
    out: Path,
) -> None:
    """Play the chosen games of a world that are not in the file yet."""
    from graph_planner_ros.benchmarks.worlds.experience import collect_from_world, origin_of, spread
    from graph_planner_ros.benchmarks.worlds.experiment import Selection, choose
    from graph_planner_ros.benchmarks.worlds.game import WorldUnavailableError
    from graph_planner_ros.benchmarks.worlds.registry import make_world
    from graph_planner_ros.planning.engines import EngineMissingError

    stop = console.stop_signal()
    try:
        given = {key: str(value.absolute()) for key, value in options.items() if value is not None}
        world: World = make_world(name, given)
        seeds = tuple(numbers_of(seed))
        selection = Selection(split, tuple(text for text in tasks.split(",") if text), 0, seeds, limit)
        specs = spread(choose(world.games(split, seeds, limit), selection), games)
        known = _known(out)
        todo = [spec for spec in specs if (origin_of(spec), spec.seed) not in known]
        found = (episode for _, episode in collect_from_world(world, todo))
        _write(out, found, len(todo), everything, stop)
    except (WorldUnavailableError, EngineMissingError) as error:
        raise fail(error, 3) from None
    except (ValueError, OSError) as error:
        raise fail(error, 2) from None


MOST_NUMBERS = 100_000
"""Of a range of seeds."""


def numbers_of(text: str) -> list[int]:
    """Return the numbers of a text like ``42,84`` or ``0-9``."""
    numbers: list[int] = []
    for part in filter(None, text.split(",")):
        first, dash, last = part.partition("-")
        if not first.strip().isdecimal() or (dash and not last.strip().isdecimal()):
            raise ValueError(f"expected numbers like 42,84 or 0-9, found {text!r}")
        found = range(int(first[:20]), int((last if dash else first)[:20]) + 1)
        if not found or found[-1] - found[0] > MOST_NUMBERS:
            raise ValueError(f"expected from 1 to {MOST_NUMBERS} numbers, the smaller first, found {part!r}")
        numbers += found
    return numbers


def _known(out: Path) -> set[tuple[str, int | None]]:
    """Return origin and seed of the episodes that a file has."""
    return {(origin, seed) for origin, seed, _ in _headers(out)}


def _headers(out: Path) -> list[tuple[str, int | None, str]]:
    """Return origin, seed and id of the episodes that a file has."""
    from graph_planner_ros.memory.episode_files import read_episodes

    if not out.exists():
        return []
    headers = [episode.header for episode in read_episodes(out)]
    return [(header.origin, header.seed, header.episode_id) for header in headers]


def _write(
    out: Path, episodes: Iterable[Episode], count: int, everything: bool, stop: Callable[[], bool] = lambda: False
) -> None:
    """Append episodes as they come, and say what came of each."""
    from graph_planner_ros.memory.episode_files import write_episodes
    from graph_planner_ros.memory.experience import EpisodeStatus

    kept = 0
    for number, episode in enumerate(episodes, 1):
        header = episode.header
        solved = header.status is EpisodeStatus.SUCCEEDED
        if solved or everything:
            kept += write_episodes(out, [episode])
        note = "" if solved else f"; {header.status.value}: {header.reason}" + ("" if everything else "; not kept")
        errors.print(escape(f"{number} of {count}: {header.origin}: {len(episode.steps)} scenes{note}"), soft_wrap=True)
        if stop():
            raise typer.Exit(130)
    console.print(f"{out}: {kept} episodes added", soft_wrap=True)


if __name__ == "__main__":
    app()
