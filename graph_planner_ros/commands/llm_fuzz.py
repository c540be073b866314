"""``graph-planner benchmark llm-fuzz``: made-up answers of a language model against the planner."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from graph_planner_ros.console import Terminal, errors, fail, writable
from graph_planner_ros.domain.files import write_atomically


def llm_fuzz(
    count: Annotated[int, typer.Option(help="Answers of the made-up model.", min=1)] = 500,
    seed: Annotated[int, typer.Option(help="Seed of kitchens and answers.", min=0)] = 0,
    domain: Annotated[
        str, typer.Option(help="Planning domain: a folder under config/domains, or a path.")
    ] = "household",
    engine: Annotated[str, typer.Option(help="Planning engine: auto, mimir or fast_downward.")] = "auto",
    parts: Annotated[
        str, typer.Option(help="What the model is asked for: plans, actions, key_objects, places, revisions; all.")
    ] = "all",
    json_file: Annotated[
        Path | None, typer.Option("--json", callback=writable, help="Write the results to this file as JSON.")
    ] = None,
) -> None:
    """Give the planner made-up, broken and malicious answers, and judge each plan anew; exit code 1 if one is wrong."""
    from graph_planner_ros.benchmarks.llm_fuzz import PARTS, fuzz_planner, print_fuzz
    from graph_planner_ros.domain.domain import load_domain
    from graph_planner_ros.domain.schema import DomainError
    from graph_planner_ros.planning.engines import EngineMissingError, make_engine

    console = Terminal(highlight=False)
    try:
        chosen, searching = load_domain(domain), make_engine(engine)
        named = PARTS if parts == "all" else tuple(name.strip() for name in parts.split(",") if name.strip())
        report = fuzz_planner(chosen, searching, count, seed, errors.print, console.stop_signal(), named)
    except (DomainError, ValueError) as error:
        raise fail(error, 2) from None
    except EngineMissingError as error:
        raise fail(error, 3) from None
    print_fuzz(report, console)
    if json_file is not None:
        write_atomically(json_file, json.dumps(report.as_json(), indent=2) + "\n")
    if report.answers < count:
        raise typer.Exit(130)
    raise typer.Exit(0 if report.clean else 1)
