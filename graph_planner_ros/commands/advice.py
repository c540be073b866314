"""``graph-planner benchmark advice``: what advice from experience is worth, and what it costs when it misleads.

Exit codes: 0 done; 2 wrong usage or wrong files; 3 something is not installed; 130 stopped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from graph_planner_ros.commands.memory_collect import numbers_of
from graph_planner_ros.console import Terminal, errors, fail, table, writable
from graph_planner_ros.domain.files import write_atomically

if TYPE_CHECKING:
    from graph_planner_ros.benchmarks.advice import AdviceReport, Comparison, Setting, Variant

app = typer.Typer(help="Measure what advice from experience is worth.", no_args_is_help=True)
console = Terminal(highlight=False)

Episodes = Annotated[Path, typer.Option(help="File of episodes that `memory collect` wrote.", exists=True)]
Bank = Annotated[int, typer.Option(help="Episodes in a bank.", min=1)]
Seed = Annotated[int, typer.Option(help="Seed of the choice of the bank.", min=0)]
Ablations = Annotated[
    bool, typer.Option("--ablations", help="Play with advice on places, and on actions, alone as well.")
]
JsonFile = Annotated[
    Path | None, typer.Option("--json", callback=writable, help="Write the results to this file as JSON.")
]


@app.command()
def kitchen(
    episodes: Episodes,
    layouts: Annotated[str, typer.Option(help="Layouts, separated by commas; empty: all.")] = "",
    seeds: Annotated[str, typer.Option(help="Seeds of the kitchens: 100-104. Not those of the episodes.")] = "100-104",
    tasks: Annotated[int, typer.Option(help="Tasks in each kitchen.", min=1)] = 4,
    bank: Bank = 50,
    seed: Seed = 0,
    ablations: Ablations = False,
    json_file: JsonFile = None,
) -> None:
    """The simulator's kitchens without physics; each layout is tested with a bank from the others."""
    from graph_planner_ros.benchmarks.advice import AdviceReport, variants
    from graph_planner_ros.benchmarks.advice_worlds import kitchen_settings
    from graph_planner_ros.domain.domain import load_domain
    from graph_planner_ros.memory.episode_files import read_episodes
    from graph_planner_ros.planning.prior import domain_prior
    from graph_planner_ros.sim.layouts import LAYOUTS, get_layout

    def made() -> Iterable[Setting]:
        chosen = [get_layout(name).name for name in layouts.split(",") if name] or list(LAYOUTS)
        known = list(read_episodes(episodes))
        numbers = numbers_of(seeds)
        if both := sorted(set(numbers) & {episode.header.seed for episode in known}):
            raise ValueError(f"these seeds of kitchens are among the episodes already: {both}")
        return kitchen_settings(load_domain("household"), known, chosen, numbers, tasks, bank, seed)

    priors = [False] if domain_prior(load_domain("household")) is None else [False, True]
    _run(AdviceReport("kitchen", bank), made, variants(priors, ablations), json_file)


@app.command()
def alfworld(
    episodes: Episodes,
    data: Annotated[Path, typer.Option(help="Folder with <split>.jsonl.gz, or such a file.")],
    split: Annotated[str, typer.Option(help="Split that is tested.")] = "valid_seen",
    games: Annotated[int, typer.Option(help="At most so many games, spread over the groups; 0: all.", min=0)] = 0,
    limit: Annotated[int | None, typer.Option(help="Steps of a game; without it the world's own.", min=1)] = None,
    bank: Bank = 50,
    seed: Seed = 0,
    ablations: Ablations = False,
    json_file: JsonFile = None,
    python: Annotated[Path | None, typer.Option("--python", help="Python of the world's environment.")] = None,
) -> None:
    """ALFWorld's text games on floor plans that the bank does not have, without and with the domain's learned prior."""
    from graph_planner_ros.benchmarks.advice import AdviceReport, variants
    from graph_planner_ros.benchmarks.advice_worlds import text_settings
    from graph_planner_ros.benchmarks.worlds.registry import make_world
    from graph_planner_ros.memory.episode_files import read_episodes

    def made() -> Iterable[Setting]:
        paths = {"data": data, "python": python}
        world = make_world("alfworld", {name: str(path.absolute()) for name, path in paths.items() if path is not None})
        return text_settings(world, world.games(split, (), limit), read_episodes(episodes), bank, games, seed)

    _run(AdviceReport(f"alfworld {split}", bank), made, variants([False, True], ablations), json_file)


def _run(
    report: AdviceReport, made: Callable[[], Iterable[Setting]], chosen: tuple[Variant, ...], json_file: Path | None
) -> None:
    """Play, and show the report; stopped, it shows what there is."""
    from graph_planner_ros.benchmarks.advice import run_settings
    from graph_planner_ros.benchmarks.worlds.game import WorldUnavailableError
    from graph_planner_ros.memory.encoder import EncoderMissingError
    from graph_planner_ros.planning.engines import EngineMissingError

    stop = console.stop_signal()
    try:
        for number, (task, row) in enumerate(run_settings(report, made(), chosen, stop), 1):
            shown = ", ".join(f"{played.steps}{'' if played.solved else ' (failed)'}" for played in row.values())
            errors.print(escape(f"{number} {task}: {shown}"), soft_wrap=True)
            if json_file is not None:
                report.compare()
                write_atomically(json_file, json.dumps(report.as_json(), indent=1) + "\n")
    except (WorldUnavailableError, EngineMissingError, EncoderMissingError) as error:
        raise fail(error, 3) from None
    except (ValueError, OSError) as error:
        raise fail(error, 2) from None
    show(report)
    if stop():
        raise typer.Exit(130)


def show(report: AdviceReport) -> None:
    """Print what came of all."""
    for bank, tested in report.banks:
        console.print(f"bank of {report.bank} episodes from {len(bank)} layouts: {', '.join(bank)}", soft_wrap=True)
        console.print(f"tested on {len(tested)} others: {', '.join(tested)}; in both: none", soft_wrap=True)
    rows = [_row(item) for item in report.comparisons]
    heads = ("variant", "tasks", "steps without", "with", "change [95 %]", "solved without", "with", "p")
    console.print(table(f"advice, {report.world}", heads, rows))
    if report.shortest is not None:
        console.print(f"who knows where everything is needs {report.shortest:.2f} steps")
    for task, why in report.left_out.items():
        console.print(escape(f"left out: {task}: {why}"), soft_wrap=True)


def _row(item: Comparison) -> tuple[str, ...]:
    change = item.change
    return (
        item.name,
        str(item.count),
        f"{item.base_steps:.2f}",
        f"{item.steps:.2f}",
        f"{100 * change.estimate:+.1f} % [{100 * change.low:+.1f}, {100 * change.high:+.1f}]",
        f"{100 * item.base_success.estimate:.1f} %",
        f"{100 * item.success.estimate:.1f} % [{100 * item.success.low:.1f}, {100 * item.success.high:.1f}]",
        f"{item.p:.2f}",
    )
