"""``graph-planner language``: pairs from played games, a trained interface from pairs, and how good it is.

Exit codes: 0 done; 2 wrong usage or wrong files; 3 something is not installed; 130 stopped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from graph_planner_ros.console import Terminal, errors, fail, writable
from graph_planner_ros.domain.files import write_atomically

if TYPE_CHECKING:
    from graph_planner_ros.benchmarks.worlds.game import GameSpec
    from graph_planner_ros.benchmarks.worlds.registry import World
    from graph_planner_ros.language.metrics import Evaluation
    from graph_planner_ros.language.pairs import PairFile


app = typer.Typer(help="Learn how a world talks, and measure it.", no_args_is_help=True)
console = Terminal(highlight=False)

WorldName = Annotated[str, typer.Option(help="alfworld, robotouille, textworld, or module:callable.")]
Data = Annotated[Path | None, typer.Option(help="The world's data, as for `graph-planner bench`.")]
Options = Annotated[list[str] | None, typer.Option("--option", help="name=value for the world; may be repeated.")]
Domain = Annotated[str, typer.Option(help="Folder of config/domains, or a path.")]
Pairs = Annotated[Path, typer.Option(help="File of pairs that `collect` made.", exists=True, dir_okay=False)]
Groups = Annotated[str, typer.Option(help="Only these task types, separated by commas.")]
Explored = Annotated[
    bool, typer.Option("--explored/--taught-only", help="Learn from tried actions too, or only from the planner's.")
]
Seed = Annotated[int, typer.Option(help="Seed.", min=0)]


@app.command()
def collect(
    out: Annotated[
        Path,
        typer.Option(callback=writable, help="File of pairs (JSON lines); games that are in it are not played again."),
    ],
    world: WorldName = "alfworld",
    data: Data = None,
    option: Options = None,
    split: Annotated[str, typer.Option(help="Split, as the data call it; empty: the world's own.")] = "",
    groups: Groups = "",
    games: Annotated[int, typer.Option(help="At most so many games of each task type; 0: all.", min=0)] = 0,
    explore: Annotated[int, typer.Option(help="Actions tried at random in each game after the planner.", min=0)] = 30,
    seed: Seed = 0,
    python: Annotated[Path | None, typer.Option(help="Python of the world's environment.")] = None,
) -> None:
    """Play games with the rules as teacher and write what was said and what it means."""
    from graph_planner_ros.benchmarks.worlds.exploring import teach
    from graph_planner_ros.benchmarks.worlds.game import WorldUnavailableError
    from graph_planner_ros.language.pairs import read_pairs, write_pairs
    from graph_planner_ros.language.rules import load_language
    from graph_planner_ros.planning.engines import EngineMissingError

    stop = console.stop_signal()
    try:
        made = _make_world(world, data, option, python)
        language = load_language(made.domain, every_mention=True)
        known = set(read_pairs(out).games) if out.exists() else set()
        specs = [spec for spec in _choose(made, split, _names(groups), games, seed) if spec.name not in known]
        for number, spec in enumerate(specs, 1):
            if stop():
                raise typer.Exit(130)
            game = made.open(spec)
            try:
                pairs, status = teach(language, game, spec, explore)
            finally:
                game.close()
            write_pairs(out, pairs)
            errors.print(f"{number} of {len(specs)}: {escape(spec.name)}: {status}, {len(pairs)} pairs", soft_wrap=True)
    except (WorldUnavailableError, EngineMissingError) as error:
        raise fail(error, 3) from None
    except (ValueError, OSError) as error:
        raise fail(error, 2) from None
    if out.exists():
        _show_pairs(out, read_pairs(out))


@app.command()
def train(
    pairs: Pairs,
    out: Annotated[Path, typer.Option(callback=writable, help="File for the model (JSON).")],
    domain: Domain,
    groups: Groups = "",
    without: Annotated[str, typer.Option(help="All task types but these, separated by commas.")] = "",
    explored: Explored = True,
    seed: Seed = 0,
) -> None:
    """Train an interface from pairs, on the CPU, in seconds to minutes."""
    from graph_planner_ros.domain.domain import load_domain
    from graph_planner_ros.language.pairs import file_hash
    from graph_planner_ros.language.trained import save_model
    from graph_planner_ros.language.trained import train as train_model

    try:
        content = _select(_read(pairs), _names(groups), _names(without), explored)
        command = " ".join(("graph-planner", *sys.argv[1:]))
        model = train_model(load_domain(domain), content, data=file_hash(pairs), seed=seed, command=command)
        save_model(out, model)
    except (ValueError, OSError) as error:
        raise fail(error, 2) from None
    header = model.header
    console.print(
        f"{out}: {header.facts} observations and {header.commands} actions of {header.games} games "
        f"({', '.join(header.groups)}); {len(model.parser.frames)} sentences, {len(model.parser.labels)} meanings, "
        f"{out.stat().st_size / 1024:.0f} KiB"
    )


@app.command()
def evaluate(
    pairs: Pairs,
    domain: Domain,
    model: Annotated[Path | None, typer.Option(help="Model to be judged; without it the rules are judged.")] = None,
    groups: Groups = "",
    leave_one_out: Annotated[
        bool, typer.Option("--leave-one-out", help="Train without each task type and judge on it.")
    ] = False,
    training: Annotated[
        Path | None, typer.Option(help="Pairs to train from with --leave-one-out; without it --pairs itself.")
    ] = None,
    explored: Explored = True,
    seed: Seed = 0,
    examples: Annotated[bool, typer.Option(help="Show up to five sentences for every kind of error.")] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", callback=writable, help="Write the figures to this file as well.")
    ] = None,
) -> None:
    """Judge an interface by pairs: facts, grounding, errors, with 95 % intervals over games."""
    from graph_planner_ros.domain.domain import load_domain
    from graph_planner_ros.language.metrics import evaluate as judge
    from graph_planner_ros.language.rules import load_language
    from graph_planner_ros.language.trained import load_trained_language
    from graph_planner_ros.language.trained import train as train_model

    results: dict[str, Evaluation] = {}
    try:
        content, loaded = _select(_read(pairs), _names(groups), ()), load_domain(domain)
        if leave_one_out:
            source = _read(training) if training is not None else content
            for group in content.groups:
                learned = _select(source, (), (group,), explored)
                language = train_model(loaded, learned, seed=seed).language(loaded)
                results[f"never seen: {group}"] = judge(
                    language.parser, language.grounder, _select(content, (group,), ())
                )
        else:
            language = load_language(loaded) if model is None else load_trained_language(loaded, model)
            results["rules" if model is None else str(model)] = judge(language.parser, language.grounder, content)
    except (ValueError, OSError) as error:
        raise fail(error, 2) from None
    sources = sorted({pair.source for pair in content.facts})
    console.print(f"reference: {', '.join(sources)}; {len(content.games)} games of {pairs}")
    for name, evaluation in results.items():
        _show_evaluation(name, evaluation, examples)
    if json_file is not None:
        plain = {name: _plain(evaluation) for name, evaluation in results.items()}
        write_atomically(json_file, json.dumps(plain, indent=2, ensure_ascii=False) + "\n")


# -- games ----------------------------------------------------------------------------------------------------------


def _make_world(world: str, data: Path | None, option: list[str] | None, python: Path | None) -> World:
    from graph_planner_ros.benchmarks.worlds.registry import make_world

    options = {}
    for text in option or []:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"--option takes name=value, not {text!r}")
        options[name] = value
    if data is not None:
        options.setdefault("data", str(data.absolute()))
    if python is not None:
        options["python"] = str(python.absolute())
    return make_world(world, options)


def _choose(world: World, split: str, groups: tuple[str, ...], games: int, seed: int) -> Iterator[GameSpec]:
    counts: dict[str, int] = {}
    for spec in world.games(split, (seed,) if seed else (), None):
        counts[spec.group] = counts.get(spec.group, 0) + 1
        if (not groups or spec.group in groups) and (not games or counts[spec.group] <= games):
            yield spec


# -- pairs ----------------------------------------------------------------------------------------------------------


def _read(path: Path) -> PairFile:
    from graph_planner_ros.language.pairs import read_pairs

    content = read_pairs(path)
    if not content.facts:
        raise ValueError(f"{path} has no observations")
    return content


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _select(content: PairFile, groups: tuple[str, ...], without: tuple[str, ...], explored: bool = True) -> PairFile:
    unknown = sorted({*groups, *without} - set(content.groups))
    if unknown:
        raise ValueError(f"there are no games of {', '.join(unknown)}; there are: {', '.join(content.groups)}")
    return content.select(
        lambda origin: (
            (not groups or origin.group in groups) and origin.group not in without and (explored or not origin.explored)
        )
    )


def _show_pairs(path: Path, content: PairFile) -> None:
    from graph_planner_ros.console import table

    rows = []
    for group in content.groups:
        part = content.select(lambda origin, group=group: origin.group == group)  # type: ignore[misc]
        rows.append((group, str(len(part.games)), str(len(part.facts)), str(len(part.commands))))
    console.print(table(str(path), ("task type", "games", "observations", "actions"), rows))


# -- figures --------------------------------------------------------------------------------------------------------


def _show_evaluation(name: str, evaluation: Evaluation, examples: bool) -> None:
    from graph_planner_ros.console import table

    rows = []
    for group in (*(evaluation.groups if len(evaluation.groups) > 1 else ()), None):
        figures = evaluation.figures(group)
        for number, (metric, f) in enumerate(figures.items()):
            first = (group or "all", str(f.games)) if number == 0 else ("", "")
            rows.append((*first, metric, f"{f.value:.4f}", f"{f.low:.4f} to {f.high:.4f}", str(f.count)))
    console.print(table(name, ("task type", "games", "figure", "value", "95 %", "n"), rows))
    for title, counts in (("errors", evaluation.errors), ("refused", evaluation.refused)):
        text = ", ".join(f"{category} {count}" for category, count in sorted(counts.items())) or "none"
        console.print(f"{title}: {text}")
    if examples:
        for category, texts in sorted(evaluation.examples.items()):
            for text in texts:
                console.print(f"  {category}: {escape(text)}", soft_wrap=True)


def _plain(evaluation: Evaluation) -> dict[str, Any]:
    groups = {
        group or "all": {key: asdict(figure) for key, figure in evaluation.figures(group).items()}
        for group in (*evaluation.groups, None)
    }
    return {
        "figures": groups,
        "errors": dict(evaluation.errors),
        "refused": dict(evaluation.refused),
        "examples": evaluation.examples,
    }
