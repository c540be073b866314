"""Makes Robotouille's tasks for other seeds, with the generator of the engine's checkout."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from graph_planner_ros.benchmarks.worlds.game import WorldUnavailableError
from graph_planner_ros.benchmarks.worlds.process import EngineProcess
from graph_planner_ros.benchmarks.worlds.robotouille import FAMILIES, HOW_TO_GET, step_limit, task_number

SERVER = Path(__file__).parent / "servers" / "robotouille_tasks.py"
EXAMPLES = Path("environments") / "env_generator" / "examples"
"""Where a checkout has its tasks, one JSON file each in the folder of its family."""


def benchmark_tasks(checkout: Path, families: Collection[str] = FAMILIES) -> list[tuple[str, str]]:
    """Return (family, name) of the benchmark's tasks in a checkout, in the order of families and numbers.

    Raises:
        WorldUnavailableError: it is no checkout of the engine.
    """
    found = [
        (family, path.stem)
        for family in FAMILIES
        if family in families
        for path in sorted((checkout / EXAMPLES / family).glob("*.json"), key=lambda path: task_number(path.stem) or 0)
        if step_limit(family, path.stem) is not None
    ]
    if not found:
        raise WorldUnavailableError(f"{HOW_TO_GET} (there are no tasks in {checkout / EXAMPLES})")
    return found


def make_tasks(
    checkout: Path,
    python: Path,
    out: Path,
    seeds: Sequence[int],
    families: Collection[str] = FAMILIES,
    tell: Callable[[str], None] = lambda _: None,
    timeout: float = 120.0,
) -> int:
    """Write the tasks' environments for some seeds, as `robotouille.list_games` reads them; return how many.

    Args:
        checkout: of the engine. python: any interpreter, of the engine's environment for instance.
        out: JSON lines, gzipped if the name ends with ``.gz``; written at once at the end.
        seeds: for each task. tell: is told of seeds that gave no kitchen. timeout: seconds for one environment.

    Raises:
        ValueError: an unknown family, or no seed. WorldUnavailableError: there is no checkout.
        EngineError: the generator failed. OSError: the file cannot be written.
    """
    if unknown := [family for family in families if family not in FAMILIES]:
        raise ValueError(f"there is no family {unknown[0]!r}; there are: {', '.join(FAMILIES)}")
    if not seeds:
        raise ValueError("expected at least one seed")
    tasks = benchmark_tasks(checkout, families)
    lines = []
    with EngineProcess(python, SERVER, arguments=[str(checkout)], timeout=timeout) as generator:
        for family, task in tasks:
            for seed in seeds:
                answer = generator.call("make", task=f"{family}/{task}", seed=seed)
                if answer["drawn"] != seed:
                    tell(f"{family}/{task}: seed {seed} gives no kitchen, so it has that of seed {answer['drawn']}")
                row = {"family": family, "task": task, "seed": seed, "environment": answer["environment"]}
                lines.append(json.dumps(row) + "\n")
    text = "".join(lines).encode()
    part = out.with_name(out.name + ".part")
    part.write_bytes(gzip.compress(text, mtime=0) if out.suffix == ".gz" else text)
    os.replace(part, out)
    return len(lines)
