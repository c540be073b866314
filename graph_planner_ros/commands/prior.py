"""``graph-planner bench learn-places``: learns from games of a training split where things tend to be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from graph_planner_ros.console import Terminal, fail, writable

console = Terminal(highlight=False)


def learn_places(
    world: Annotated[str, typer.Argument(help="alfworld, or module:callable of a world of your own.")],
    out: Annotated[
        Path, typer.Option(callback=writable, help="File to write: the one that the domain's YAML names under `prior`.")
    ],
    option: Annotated[list[str] | None, typer.Option(help="name=value for the world, e.g. data=FOLDER.")] = None,
    split: Annotated[str, typer.Option(help="Split to learn from; never the one that is evaluated.")] = "train",
    games: Annotated[int, typer.Option(help="At most so many games, evenly spread; 0: all.", min=0)] = 0,
    limit: Annotated[int, typer.Option(help="Commands for looking around in one game.", min=1)] = 200,
) -> None:
    """Look everywhere in the games of a training split, and count what is where."""
    from graph_planner_ros.benchmarks.worlds.game import Game, GameSpec, WorldUnavailableError
    from graph_planner_ros.benchmarks.worlds.learning import learn_prior
    from graph_planner_ros.benchmarks.worlds.registry import make_world
    from graph_planner_ros.domain.schema import DomainError
    from graph_planner_ros.language.rules import load_language
    from graph_planner_ros.planning.engines.base import EngineMissingError
    from graph_planner_ros.planning.prior import Prior

    pairs = [text.partition("=") for text in option or []]
    if wrong := [text for text, equals, _ in pairs if not equals]:
        raise typer.BadParameter(f"--option takes name=value, not {wrong[0]!r}")
    prior = Prior()
    try:
        made = make_world(world, {name: value for name, _, value in pairs})
        specs = made.games(split, (), limit)
        chosen = specs[:: max(1, -(-len(specs) // games))] if games else specs

        def opened() -> Iterator[tuple[GameSpec, Game]]:
            for spec in chosen:
                yield spec, made.open(spec)

        prior.source = f"{made.name}, split {split}, {len(chosen)} of {len(specs)} games, at most {limit} commands each"
        for number, (spec, record) in enumerate(learn_prior(load_language(made.domain), opened(), prior), 1):
            console.print(
                f"{number}/{len(chosen)} {spec.name}: {record.steps_taken} commands; {record.reason}", soft_wrap=True
            )
            prior.save(out)
    except (WorldUnavailableError, EngineMissingError) as error:
        raise fail(error, 3) from None
    except (ValueError, OSError, DomainError) as error:
        raise fail(error, 2) from None
    console.print(f"{out}: {prior.homes} homes, {len(prior.counts)} classes of things")
