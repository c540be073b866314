"""``graph-planner bench textworld-games``: makes games of TextWorld."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graph_planner_ros.console import Terminal, fail

console = Terminal(highlight=False)


def make_textworld_games(
    out: Annotated[Path, typer.Option(help="Folder for the games.", file_okay=False)],
    make: Annotated[str, typer.Option(help="Family: cooking, treasure, coin, simple, custom or cleaning.")] = "cooking",
    level: Annotated[
        str, typer.Option(help="easy, medium, hard (cooking also hardest), or the engine's number of a level.")
    ] = "hard",
    games: Annotated[int, typer.Option(help="How many.", min=1)] = 20,
    seed: Annotated[int, typer.Option(help="Of the first game; each game has the next.", min=0)] = 0,
    python: Annotated[str, typer.Option(help="Python that has textworld; without it .venv-textworld.")] = "",
) -> None:
    """Make games of TextWorld to play with 'bench textworld --games FOLDER'.

    Exit codes: 0 made; 2 there is no such family or level; 3 TextWorld is not installed, or makes no such games.
    """
    from graph_planner_ros.benchmarks.worlds.game import WorldUnavailableError
    from graph_planner_ros.benchmarks.worlds.process import EngineError
    from graph_planner_ros.benchmarks.worlds.textworld_games import make_games

    try:
        made = make_games(out, make, level, games, seed, python or None, lambda text: console.print(text, markup=False))
    except (ValueError, OSError) as error:
        raise fail(error, 2) from None
    except (WorldUnavailableError, EngineError) as error:
        raise fail(error, 3) from None
    console.print(f"{len(made)} games in {out}", markup=False, soft_wrap=True)
