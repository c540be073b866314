"""Runs an experiment with a progress bar and a results file that can be gone on with."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from graph_planner_ros.benchmarks.worlds.experiment import Experiment, Selection, choose, header
from graph_planner_ros.benchmarks.worlds.game import GameSpec, GameStatus
from graph_planner_ros.benchmarks.worlds.registry import make_world
from graph_planner_ros.benchmarks.worlds.results import Results, ResultsFile, spec_hash
from graph_planner_ros.benchmarks.worlds.runner import WALL_LIMIT, Runner


@dataclass(frozen=True)
class RunSettings:
    """How a run is carried out; nothing here decides results.

    Attributes:
        out: file of results. processes: games at a time. wall_limit: seconds for one game.
        command: command line, for the header.
    """

    out: Path
    processes: int = 1
    wall_limit: float = WALL_LIMIT
    command: tuple[str, ...] = ()


def run_bench(
    experiment: Experiment,
    selection: Selection,
    settings: RunSettings,
    console: Console,
    stop: Callable[[], bool] = lambda: False,
) -> Results:
    """Play the games that are not in the file yet, and return all that are in it then.

    Raises:
        WorldUnavailableError: something is not installed; what was played is kept.
        ValueError: there are no such games. ResultsError: the file holds something else.
    """
    world = make_world(experiment.world, experiment.world_options)
    specs = world.games(selection.split, selection.seeds, selection.limit)
    _refuse_twins(specs)
    chosen = choose(specs, selection)
    if not chosen:
        raise ValueError(f"{world.name} has no games there")
    whole = specs if not selection.seeds else world.games(selection.split, (), selection.limit)
    head = header(experiment, selection, world, whole, chosen, settings.command)
    settings.out.parent.mkdir(parents=True, exist_ok=True)
    with ResultsFile(settings.out, head) as file:
        results = file.results
        todo = [spec for spec in chosen if (spec.name, spec.seed) not in results.rows]
        _tell(console, results, file.repaired, len(chosen), len(todo))
        hashes = {(spec.name, spec.seed): spec_hash(spec) for spec in todo}
        runner = Runner(experiment, settings.processes, settings.wall_limit, stop)
        won = sum(record.won for record in results.rows.values())
        done = len(results.rows)
        with (
            _progress(console, done, done + len(todo)) as advance,
            contextlib.closing(runner.run(todo)) as rows,
        ):
            for row in rows:
                file.add({**row, "data": hashes[row["name"], row["seed"]], "source": head["source"]})
                won += row["status"] == GameStatus.WON.value
                advance(row, won)
        return results


def default_file(runs: Path, experiment: Experiment) -> Path:
    """Return a new file for results."""
    parts = [experiment.world.replace(":", "_"), experiment.planner]
    if experiment.planner == "memplan" and experiment.ablation != "none":
        parts.append(experiment.ablation)
    return runs / "bench" / f"{'-'.join(parts)}-{time.strftime('%Y%m%d-%H%M%S')}.jsonl"


def _refuse_twins(specs: Sequence[GameSpec]) -> None:
    seen: set[tuple[str, int]] = set()
    for spec in specs:
        if (spec.name, spec.seed) in seen:
            raise ValueError(f"two games are called {spec.name} (seed {spec.seed})")
        seen.add((spec.name, spec.seed))


def _tell(console: Console, results: Results, repaired: bool, count: int, todo: int) -> None:
    if repaired:
        console.print("the last line of the file was half-written and was taken off")
    done = f"; {count - todo} are in {results.path} already" if todo < count else ""
    console.print(f"{count} games{done}; results in {results.path}", markup=False, soft_wrap=True)


@contextlib.contextmanager
def _progress(console: Console, done: int, total: int) -> Iterator[Callable[[dict[str, Any], int], None]]:
    """Show a bar on a terminal, and a line a game elsewhere; on a terminal only failures get a line."""
    count = done
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("solved -", total=total, completed=done)

        def advance(row: dict[str, Any], won: int) -> None:
            nonlocal count
            count += 1
            bar.update(task, advance=1, description=f"solved {won}/{count}")
            solved = row["status"] == GameStatus.WON.value
            if not solved or not console.is_terminal:
                mark = "[green]solved[/green]" if solved else "[red]failed[/red]"
                reason = "" if solved else f"  {escape(' '.join(str(row['reason']).split())[:300])}"
                console.print(
                    f"{count}/{total} {mark} {escape(row['name'])} seed {row['seed']}, "
                    f"{row['steps_taken']} steps, {row['seconds']:.1f} s{reason}",
                    soft_wrap=True,
                )

        yield advance
