"""``graph-planner bench``: the worlds of the papers, and comparisons of results.

Exit codes: 0 all games were played, whatever came of them; 2 wrong usage; 3 something is not installed; 130 stopped.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from graph_planner_ros.commands.alfred import alfred, alfred_compose
from graph_planner_ros.commands.prior import learn_places
from graph_planner_ros.commands.robotouille import make_robotouille_tasks
from graph_planner_ros.commands.seeds import parse_seeds
from graph_planner_ros.commands.textworld import make_textworld_games
from graph_planner_ros.console import Terminal, errors, fail, finite, writable
from graph_planner_ros.domain.files import write_atomically

app = typer.Typer(help="Play the worlds of the papers, and compare results.", no_args_is_help=True)
app.command("alfred")(alfred)
app.command("alfred-compose")(alfred_compose)
app.command("learn-places")(learn_places)
app.command("robotouille-tasks")(make_robotouille_tasks)
app.command("textworld-games")(make_textworld_games)
console = Terminal(highlight=False)


Split = Annotated[str, typer.Option(help="Split, as the data call it; empty: the world's own.")]
Tasks = Annotated[
    str | None, typer.Option(help="Only these games or groups, separated by commas; * stands for anything.")
]
Games = Annotated[int, typer.Option(help="At most so many games, spread over the groups; 0: all.", min=0)]
Limit = Annotated[int | None, typer.Option(help="Steps of a game; without it the world's own limit.", min=1)]
Seed = Annotated[int | None, typer.Option(help="First seed of engine and agent; without it the world's own.", min=0)]
Seeds = Annotated[str, typer.Option(help="Number of seeds from --seed on, or a list: 42,84,126.")]
Planner = Annotated[str, typer.Option(help="memplan, random, breadth_first or react.")]
AblationName = Annotated[
    str,
    typer.Option(
        help="What memplan does without: no_placeholders, no_negative_memory, uniform_costs, no_parser, no_grounder, "
        "no_interface, no_prior, no_place_advice, no_action_advice."
    ),
]
Processes = Annotated[int, typer.Option(help="Games at a time.", min=1)]
Out = Annotated[
    Path | None,
    typer.Option(
        callback=writable, help="File of results (JSON lines); games that are in it already are not played again."
    ),
]
MarkdownFile = Annotated[
    Path | None, typer.Option("--markdown", callback=writable, help="Write the table to this file as well.")
]
WorldPython = Annotated[
    Path | None, typer.Option("--python", help="Python of the world's environment; without it .venv-<world> is used.")
]
Wall = Annotated[
    float, typer.Option(callback=finite, help="Seconds of wall time after which a game is given up.", min=1)
]
EngineName = Annotated[str, typer.Option(help="Planning engine: auto, mimir or fast_downward.")]
PlanTimeout = Annotated[
    float,
    typer.Option(
        callback=finite,
        help="Seconds for one planning call; what usually ends a search is the number of states.",
        min=0.1,
    ),
]
EveryStep = Annotated[bool, typer.Option("--replan-every-step", help="Plan anew after every command, as the paper.")]
KeepMemory = Annotated[bool, typer.Option("--keep-memory", help="Keep positive memory from game to game.")]
Interface = Annotated[
    Path | None, typer.Option(help="Trained interface, from graph-planner language train; without it the rules.")
]
BankFile = Annotated[
    Path | None, typer.Option("--bank", help="Experience that advises memplan: a bank, or a file of episodes.")
]
Model = Annotated[str | None, typer.Option(help="Model of react, as its server calls it.")]
Endpoint = Annotated[
    str, typer.Option(help="Base URL of react's server; else OPENAI_BASE_URL. The key is in OPENAI_API_KEY.")
]
ModelTimeout = Annotated[float, typer.Option(callback=finite, help="Seconds for one answer of react's model.", min=0.1)]
Runs = Annotated[Path, typer.Option(help="Folder for results without --out.")]


@app.command()
def alfworld(
    data: Annotated[Path, typer.Option(help="Folder with <split>.jsonl.gz, or such a file.")],
    split: Split = "valid_seen", tasks: Tasks = None, games: Games = 0, limit: Limit = 50, seed: Seed = None,
    seeds: Seeds = "1", planner: Planner = "memplan", ablation: AblationName = "none", processes: Processes = 2,
    out: Out = None, markdown: MarkdownFile = None, python: WorldPython = None, wall: Wall = 600.0,
    engine: EngineName = "auto", plan_timeout: PlanTimeout = 60.0, replan_every_step: EveryStep = False,
    keep_memory: KeepMemory = False, interface: Interface = None, bank: BankFile = None, model: Model = None,
    endpoint: Endpoint = "", model_timeout: ModelTimeout = 60.0,
    runs: Runs = Path("runs"),
) -> None:  # fmt: skip
    """Play ALFWorld's text games."""
    _bench("alfworld", {"data": data, "python": python}, locals())


@app.command()
def robotouille(
    data: Annotated[Path, typer.Option(help="Folder with seeded.jsonl.gz, or such a file.")],
    checkout: Annotated[Path | None, typer.Option(help="Checkout of Robotouille's engine.")] = None,
    split: Split = "synchronous", tasks: Tasks = None, games: Games = 0, limit: Limit = None, seed: Seed = None,
    seeds: Seeds = "1", planner: Planner = "memplan", ablation: AblationName = "none", processes: Processes = 2,
    out: Out = None, markdown: MarkdownFile = None, python: WorldPython = None, wall: Wall = 1800.0,
    engine: EngineName = "auto", plan_timeout: PlanTimeout = 300.0, replan_every_step: EveryStep = False,
    keep_memory: KeepMemory = False, interface: Interface = None, bank: BankFile = None, model: Model = None,
    endpoint: Endpoint = "", model_timeout: ModelTimeout = 60.0,
    runs: Runs = Path("runs"),
) -> None:  # fmt: skip
    """Play Robotouille: splits synchronous and asynchronous; the limit is 1.5 times the optimal steps."""
    _bench("robotouille", {"data": data, "checkout": checkout, "python": python}, locals())


@app.command()
def textworld(
    games_folder: Annotated[Path, typer.Option("--games", help="Folder of games (.z8 or .ulx, with their .json).")],
    number: Annotated[int, typer.Option(help="At most so many games, spread over the groups; 0: all.", min=0)] = 0,
    split: Split = "", tasks: Tasks = None,
    limit: Limit = None, seed: Seed = None,
    seeds: Seeds = "1", planner: Planner = "memplan", ablation: AblationName = "none", processes: Processes = 2,
    out: Out = None, markdown: MarkdownFile = None, python: WorldPython = None, wall: Wall = 600.0,
    engine: EngineName = "auto", plan_timeout: PlanTimeout = 60.0, replan_every_step: EveryStep = False,
    keep_memory: KeepMemory = False, interface: Interface = None, bank: BankFile = None, model: Model = None,
    endpoint: Endpoint = "", model_timeout: ModelTimeout = 60.0,
    runs: Runs = Path("runs"),
) -> None:  # fmt: skip
    """Play games of TextWorld."""
    _bench("textworld", {"data": games_folder, "python": python}, {**locals(), "games": number})


@app.command("world")
def other_world(
    world: Annotated[str, typer.Argument(help="module:callable that makes the world.")],
    option: Annotated[list[str] | None, typer.Option(help="name=value for the world; may be repeated.")] = None,
    split: Split = "", tasks: Tasks = None, games: Games = 0, limit: Limit = None, seed: Seed = None,
    seeds: Seeds = "1", planner: Planner = "memplan", ablation: AblationName = "none", processes: Processes = 2,
    out: Out = None, markdown: MarkdownFile = None, wall: Wall = 600.0,
    engine: EngineName = "auto", plan_timeout: PlanTimeout = 60.0, replan_every_step: EveryStep = False,
    keep_memory: KeepMemory = False, interface: Interface = None, bank: BankFile = None, model: Model = None,
    endpoint: Endpoint = "", model_timeout: ModelTimeout = 60.0,
    runs: Runs = Path("runs"),
) -> None:  # fmt: skip
    """Play a world of your own; docs/benchmarks.md says what it must offer."""
    pairs = [text.partition("=") for text in option or []]
    if wrong := [text for text, equals, _ in pairs if not equals]:
        raise fail(f"--option takes name=value, not {wrong[0]!r}", 2)
    _bench(world, {name: value for name, _, value in pairs}, locals())


@app.command("table")
def show_table(
    files: Annotated[list[Path], typer.Argument(help="Files of results.")],
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Print the tables of results."""
    from graph_planner_ros.benchmarks.worlds import tables
    from graph_planner_ros.benchmarks.worlds.results import ResultsError, read_results

    for path in files:
        try:
            made = tables.make_table(read_results(path))
        except ResultsError as error:
            raise fail(error, 2) from None
        if markdown:
            print(tables.markdown(made))
        else:
            tables.show(made, console)


@app.command("compare")
def compare_command(
    first: Annotated[Path, typer.Argument(help="File of results A.")],
    second: Annotated[Path, typer.Argument(help="File of results B.")],
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Compare two results on the same games, paired game by game."""
    from graph_planner_ros.benchmarks.worlds import compare
    from graph_planner_ros.benchmarks.worlds.results import ResultsError, read_results

    try:
        made = compare.compare(read_results(first), read_results(second))
    except ResultsError as error:
        raise fail(error, 2) from None
    if markdown:
        print(compare.markdown(made))
    else:
        compare.show(made, console)


def _bench(world: str, options: dict[str, Any], given: dict[str, Any]) -> None:
    """Run what a command was given and print the table."""
    from graph_planner_ros.benchmarks.worlds import tables
    from graph_planner_ros.benchmarks.worlds.game import WorldUnavailableError
    from graph_planner_ros.benchmarks.worlds.session import RunSettings, default_file, run_bench
    from graph_planner_ros.planning.engines import EngineMissingError

    stop = _stop_signal()
    try:
        experiment, selection = _experiment(world, options, given)
        out = given["out"] or default_file(given["runs"], experiment)
        settings = RunSettings(out, given["processes"], given["wall"], _command(given["endpoint"]))
        results = run_bench(experiment, selection, settings, errors, stop)
    except (WorldUnavailableError, EngineMissingError) as error:
        raise fail(error, 3) from None
    except (ValueError, OSError) as error:
        raise fail(error, 2) from None
    table = tables.make_table(results)
    if given["markdown"] is not None:
        write_atomically(given["markdown"], tables.markdown(table))
    tables.show(table, console)
    if stop():
        raise typer.Exit(130)


def _experiment(world: str, options: dict[str, Any], given: dict[str, Any]) -> Any:
    from graph_planner_ros.benchmarks.worlds.experiment import REACT, Experiment, Selection
    from graph_planner_ros.benchmarks.worlds.options import AgentOptions
    from graph_planner_ros.benchmarks.worlds.react import ReactSettings, endpoint_options

    if given["keep_memory"] and given["processes"] > 1:
        raise ValueError("with --keep-memory results depend on the order of the games: add --processes 1")
    react = None
    if given["planner"] == REACT and given["model"]:
        react = ReactSettings(endpoint_options(given["model"], given["endpoint"], given["model_timeout"]))
    agent = AgentOptions(
        replan_every_step=given["replan_every_step"],
        keep_memory=given["keep_memory"],
        engine=given["engine"],
        timeout=given["plan_timeout"],
        bank=str(given["bank"].absolute()) if given["bank"] is not None else "",
    )
    options = {name: value.absolute() if isinstance(value, Path) else value for name, value in options.items()}
    trained = str(given["interface"].absolute()) if given["interface"] is not None else ""
    texts = {name: str(value) for name, value in options.items() if value is not None}
    experiment = Experiment(world, texts, given["planner"], given["ablation"], agent, react, trained)
    tasks = tuple(text for text in (given["tasks"] or "").split(",") if text)
    seeds = parse_seeds(given["seed"], given["seeds"])
    return experiment, Selection(given["split"], tasks, given["games"], seeds, given["limit"])


def _command(endpoint: str) -> tuple[str, ...]:
    """Return the command line, without the credentials that an address may carry."""
    from graph_planner_ros.language.models import public_endpoint

    shown = [text.replace(endpoint, public_endpoint(endpoint)) if endpoint else text for text in sys.argv[1:]]
    return ("graph-planner", *shown)


def _stop_signal() -> Callable[[], bool]:
    return console.stop_signal()
