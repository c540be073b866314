"""``graph-planner bench robotouille-tasks``: makes Robotouille's tasks for other seeds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from graph_planner_ros.commands.seeds import parse_seeds
from graph_planner_ros.console import Terminal, fail, writable

console = Terminal(highlight=False)


def make_robotouille_tasks(
    out: Annotated[Path, typer.Option(callback=writable, help="File to write: .jsonl, or .jsonl.gz.")],
    checkout: Annotated[
        Path | None, typer.Option(help="Checkout of Robotouille's engine; else the variable ROBOTOUILLE.")
    ] = None,
    seed: Annotated[int, typer.Option(help="First seed.", min=0)] = 0,
    seeds: Annotated[str, typer.Option(help="Number of seeds from --seed on, or a list: 42,84,126.")] = "5",
    split: Annotated[str, typer.Option(help="synchronous or asynchronous; empty: both.")] = "",
    python: Annotated[Path | None, typer.Option(help="Python to run it; without it .venv-robotouille.")] = None,
) -> None:
    """Make Robotouille's tasks with the engine's own generator, to play with 'bench robotouille --data FILE'.

    Exit codes: 0 made; 2 wrong usage; 3 Robotouille is not installed, or makes no such tasks.
    """
    from graph_planner_ros.benchmarks.worlds import robotouille
    from graph_planner_ros.benchmarks.worlds.environments import find_python
    from graph_planner_ros.benchmarks.worlds.game import WorldUnavailableError
    from graph_planner_ros.benchmarks.worlds.process import EngineError
    from graph_planner_ros.benchmarks.worlds.robotouille_tasks import make_tasks

    named = checkout or os.environ.get(robotouille.CHECKOUT_VARIABLE)
    try:
        numbers = parse_seeds(seed, seeds)
        if not named:
            raise WorldUnavailableError(robotouille.HOW_TO_GET)
        interpreter = find_python(robotouille.WORLD, python)
        families = (split,) if split else robotouille.FAMILIES
        made = make_tasks(Path(named).absolute(), interpreter, out, numbers, families, _tell)
    except (ValueError, OSError) as error:
        raise fail(error, 2) from None
    except (WorldUnavailableError, EngineError) as error:
        raise fail(error, 3) from None
    console.print(f"{made} tasks in {out}", markup=False, soft_wrap=True)


def _tell(text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)
