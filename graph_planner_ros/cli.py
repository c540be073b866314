"""The command ``graph-planner``.

Exit codes: 0 the goal holds; 1 the task failed; 2 wrong usage, or the instruction was not understood; 3 a node is
missing or was lost; 130 cancelled.
"""

from __future__ import annotations

import io
import json
import signal
import sys
import threading
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from graph_planner_ros import __version__
from graph_planner_ros.commands.advice import app as advice_app
from graph_planner_ros.commands.bench import app as bench_app
from graph_planner_ros.commands.domains import app as domains_app
from graph_planner_ros.commands.language import app as language_app
from graph_planner_ros.commands.llm_fuzz import llm_fuzz
from graph_planner_ros.commands.memory import app as memory_app
from graph_planner_ros.commands.models import app as models_app
from graph_planner_ros.commands.task_graph import app as task_graph_app
from graph_planner_ros.commands.training import app as training_app
from graph_planner_ros.commands.understanding import app as instruction_app
from graph_planner_ros.console import Terminal, errors, fail, finite, flushed, writable
from graph_planner_ros.domain.files import write_atomically

app = typer.Typer(
    help="Instructions for a mobile manipulator, planned and carried out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
evaluate_app = typer.Typer(help="Measure the whole system.", no_args_is_help=True)
benchmark_app = typer.Typer(help="Measure the planner or the memory alone.", no_args_is_help=True)
bag_app = typer.Typer(help="Look at bags and mend them.", no_args_is_help=True)
app.add_typer(evaluate_app, name="evaluate")
app.add_typer(benchmark_app, name="benchmark")
benchmark_app.add_typer(advice_app, name="advice")
benchmark_app.command("llm-fuzz")(llm_fuzz)
app.add_typer(bag_app, name="bag")
app.add_typer(bench_app, name="bench")
app.add_typer(domains_app, name="domains")
app.add_typer(language_app, name="language")
app.add_typer(memory_app, name="memory")
app.add_typer(training_app, name="train")
app.add_typer(models_app, name="model")
app.add_typer(task_graph_app, name="task-graph")
app.add_typer(instruction_app, name="instruction")

console = Terminal(highlight=False)

ROS_MODULES = frozenset(("rclpy", "rosbag2_py", "rosidl_runtime_py", "ament_index_python", "tf2_ros", "std_msgs"))
"""Modules that a sourced ROS brings."""

Namespace = Annotated[str, typer.Option(help="Namespace of the robot.")]
RunsFolder = Annotated[Path, typer.Option(help="Folder in which a folder for this run is made.")]


JsonFile = Annotated[
    Path | None, typer.Option("--json", callback=writable, help="Write the results to this file as JSON.")
]
Instruction = Annotated[str, typer.Argument(help="What the robot is to do, in plain English.")]


MOST_STEPS = 100_000_000
"""Of a bank that is measured."""


class StopSignal:
    """Turns SIGINT, SIGTERM, SIGHUP and a terminal that was closed into a flag; the program decides when to end."""

    def __init__(self) -> None:
        self.event = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: self.event.set())
        console.on_lost = self.event.set

    def __call__(self) -> bool:
        """Return whether a signal came."""
        return self.event.is_set()


def write_json(path: Path | None, content: dict[str, Any]) -> None:
    """Write a JSON file, if one is wanted."""
    if path is not None:
        write_atomically(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


@app.command()
def version() -> None:
    """Print the version."""
    console.print(__version__)


@app.command()
def parameters() -> None:
    """Print the tables of all nodes' parameters (docs/parameters.md)."""
    from graph_planner_ros.reference import parameter_tables

    print(parameter_tables(), end="")


@app.command()
def up(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(help="name:=value, as for ros2 launch; --list shows the names.", show_default=False),
    ] = None,
    list_arguments: Annotated[bool, typer.Option("--list", help="List the arguments and end.")] = False,
    runs: RunsFolder = Path("runs"),
) -> None:
    """Start the system and keep it running until Ctrl-C, for machines without ros2 launch."""
    from graph_planner_ros import bringup
    from graph_planner_ros.console import table
    from graph_planner_ros.running import run_until_stopped

    if list_arguments:
        rows = [(a.name, a.default, ", ".join(a.choices), a.description) for a in bringup.ARGUMENTS]
        console.print(table("arguments", ("name", "default", "choices", "meaning"), rows))
        return
    try:
        values = bringup.parse_arguments(arguments or [])
    except ValueError as error:
        raise fail(error, 2) from None
    raise typer.Exit(run_until_stopped(console, values, runs, StopSignal()))


@app.command()
def send(
    instruction: Annotated[
        str, typer.Argument(help="What is to be done, in plain English; in a text world left out for the game's goal.")
    ] = "",
    namespace: Namespace = "",
    timeout: Annotated[
        float, typer.Option(callback=finite, help="Seconds after which the task is cancelled.", min=0)
    ] = 3600.0,
    wait: Annotated[float, typer.Option(callback=finite, help="Seconds to wait for the system.", min=0)] = 15.0,
    json_file: JsonFile = None,
) -> None:
    """Send an instruction to the running system and show the plan, progress and the outcome. Ctrl-C cancels."""
    from graph_planner_ros.nodes.client import TaskClient
    from graph_planner_ros.running import report_as_json
    from graph_planner_ros.terminal import TaskPrinter, exit_code, print_outcome

    stop = StopSignal()
    with TaskClient(namespace, TaskPrinter(console).show) as client:
        missing = client.wait_ready(wait, stop)
        if stop():
            raise typer.Exit(130)
        if missing:
            raise fail(f"{missing}. Is the system up (graph-planner up)?", 3)
        report = client.execute(instruction, timeout, stop)
    print_outcome(console, report)
    write_json(json_file, report_as_json(report))
    raise typer.Exit(exit_code(report))


@app.command()
def game(
    name: Annotated[
        str, typer.Argument(help="Name, part of a name, or number from 0; a dot: the same again; left out: the next.")
    ] = "",
    namespace: Namespace = "",
    wait: Annotated[float, typer.Option(callback=finite, help="Seconds to wait for the bridge.", min=0)] = 15.0,
) -> None:
    """Begin a game of the running text world; the one that is played is given up."""
    from graph_planner_ros.running import call_start_game

    answer = call_start_game(name, namespace, wait, StopSignal())
    if isinstance(answer, str):
        raise fail(answer, 3)
    if not answer.success:
        raise fail(answer.reason, 1)
    console.print(f"[bold]game[/bold] {escape(answer.game)}: {escape(answer.goal)}", soft_wrap=True)


@app.command()
def plan(
    instruction: Instruction,
    namespace: Namespace = "",
    wait: Annotated[float, typer.Option(callback=finite, help="Seconds to wait for the system.", min=0)] = 15.0,
) -> None:
    """Show the plan for an instruction from the present belief, without acting."""
    from graph_planner_ros.running import call_plan_task
    from graph_planner_ros.terminal import print_planned

    answer = call_plan_task(instruction, namespace, wait, StopSignal())
    if isinstance(answer, str):
        raise fail(answer, 3)
    raise typer.Exit(print_planned(console, answer))


@app.command()
def disturb(
    kind: Annotated[str, typer.Argument(help="move, drop, stick_door, swap_instance or slip.")],
    target: Annotated[str, typer.Argument(help="Class or true name; empty: chosen by the simulator.")] = "",
    namespace: Namespace = "",
    wait: Annotated[float, typer.Option(callback=finite, help="Seconds to wait for the simulator.", min=0)] = 15.0,
) -> None:
    """Do something to the simulated world behind the robot's back."""
    from graph_planner_ros.running import call_disturb

    answer = call_disturb(kind, target, namespace, wait, StopSignal())
    if isinstance(answer, str):
        raise fail(answer, 3)
    if not answer.success:
        raise fail(answer.reason, 1)
    console.print(escape(answer.reason or "done"))


@app.command()
def demo(
    words: Annotated[
        list[str] | None,
        typer.Argument(help="name:=value, as for up; sim:=alfworld plays a game of a text world.", show_default=False),
    ] = None,
    instruction: Annotated[str | None, typer.Option(help="What the robot is to do.", show_default=False)] = None,
    layout: Annotated[str, typer.Option(help="Kitchen; empty: the first.")] = "",
    seed: Annotated[int, typer.Option(help="Seed of the kitchen.", min=0)] = 0,
    speed: Annotated[
        float, typer.Option(callback=finite, help="Simulated seconds per second; 0: as fast as possible.", min=0)
    ] = 1.0,
    engine: Annotated[str, typer.Option(help="Planning engine: auto, mimir or fast_downward.")] = "auto",
    timeout: Annotated[
        float, typer.Option(callback=finite, help="Seconds after which the task is cancelled.", min=0)
    ] = 1200.0,
    runs: RunsFolder = Path("runs"),
    json_file: JsonFile = None,
) -> None:
    """Start everything, in the simulated kitchen or a text world, carry out one instruction, and end everything."""
    from graph_planner_ros import bringup
    from graph_planner_ros.running import run_demo

    arguments = {"layout": layout, "seed": str(seed), "real_time_factor": str(speed), "engine": engine}
    try:
        arguments = bringup.parse_arguments(words or [], arguments)
    except ValueError as error:
        raise fail(error, 2) from None
    own_goal = arguments["sim"] in bringup.TEXT_WORLDS
    text = instruction or ("" if own_goal else bringup.DEMO_INSTRUCTION)
    result, code = run_demo(console, text, arguments, timeout, runs, StopSignal())
    write_json(json_file, result)
    raise typer.Exit(code)


@evaluate_app.command("kitchen")
def evaluate_kitchen_command(
    seeds: Annotated[int, typer.Option(help="Kitchens for each instruction.", min=1)] = 3,
    first_seed: Annotated[int, typer.Option(help="Seed of the first kitchen; the layouts take turns.", min=0)] = 0,
    tasks: Annotated[str | None, typer.Option(help="Only these tasks, separated by commas.")] = None,
    file: Annotated[Path | None, typer.Option(help="YAML file of tasks instead of the package's own.")] = None,
    jobs: Annotated[int, typer.Option(help="Episodes at a time.", min=1)] = 2,
    speed: Annotated[
        float, typer.Option(callback=finite, help="Simulated seconds per second; 0: as fast as possible.", min=0)
    ] = 2.0,
    engine: Annotated[str, typer.Option(help="Planning engine: auto, mimir or fast_downward.")] = "auto",
    timeout: Annotated[
        float, typer.Option(callback=finite, help="Seconds of wall time for one episode.", min=1)
    ] = 600.0,
    record: Annotated[bool, typer.Option(help="Record a bag of each episode.")] = True,
    runs: RunsFolder = Path("runs"),
    json_file: JsonFile = None,
) -> None:
    """Carry out every instruction of the evaluation in several kitchens, judged by the simulator's ground truth."""
    from graph_planner_ros.evaluation import EvaluationSettings, evaluate_kitchen

    settings = EvaluationSettings(
        seeds=seeds, first_seed=first_seed, tasks=tuple(tasks.split(",")) if tasks else (), file=file, jobs=jobs,
        speed=speed, engine=engine, timeout=timeout, record=record, runs=runs, json_file=json_file,
    )  # fmt: skip
    try:
        raise typer.Exit(evaluate_kitchen(console, settings, StopSignal()))
    except ValueError as error:
        raise fail(error, 2) from None


@benchmark_app.command("planner")
def benchmark_planner_command(
    json_file: JsonFile = None,
    tasks: Annotated[int, typer.Option(help="Tasks for each size of kitchen.", min=1)] = 3,
    steps: Annotated[int, typer.Option(help="Planning steps for each task at most.", min=1)] = 5,
    timeout: Annotated[float, typer.Option(callback=finite, help="Seconds for one planner call.", min=0.1)] = 30.0,
    seed: Annotated[int, typer.Option(help="Seed of the generated kitchens.", min=0)] = 0,
) -> None:
    """Compare pymimir with Fast Downward at every planning step, in generated kitchens of growing size."""
    from graph_planner_ros.benchmarks.planner import benchmark_planner, print_benchmark
    from graph_planner_ros.planning.engines import EngineMissingError

    try:
        report = benchmark_planner(tasks=tasks, steps=steps, seed=seed, timeout=timeout, progress=errors.print)
    except EngineMissingError as error:
        raise fail(error, 3) from None
    print_benchmark(report, console)
    write_json(json_file, report.as_json())


@benchmark_app.command("memory")
def benchmark_memory_command(
    json_file: JsonFile = None,
    sizes: Annotated[str, typer.Option(help="Steps of each bank, separated by commas.")] = "50,10000,1000000",
    dimension: Annotated[int, typer.Option(help="Dimension of the vectors.", min=2, max=4096)] = 128,
    queries: Annotated[int, typer.Option(help="Queries of each kind.", min=1, max=1_000_000)] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the vectors.", min=0)] = 0,
    folder: Annotated[
        Path | None, typer.Option(help="Where the banks are made and deleted again, 1.5 GB for a million steps.")
    ] = None,
) -> None:
    """Measure how fast and how exact the experience bank is, up to a million steps."""
    from graph_planner_ros.benchmarks.memory import benchmark_memory, print_benchmark
    from graph_planner_ros.memory.bank_errors import BankError

    try:
        numbers = tuple(int(size) for size in sizes.split(","))
        if not 1 <= min(numbers) <= max(numbers) <= MOST_STEPS:
            raise ValueError
    except ValueError:
        raise fail(
            f"--sizes: expected numbers of steps up to {MOST_STEPS}, separated by commas, found {sizes!r}", 2
        ) from None
    try:
        report = benchmark_memory(numbers, dimension, queries, seed, folder, errors.print)
    except (BankError, OSError) as error:
        raise fail(error, 2) from None
    print_benchmark(report, console)
    write_json(json_file, report.as_json())


@bag_app.command("info")
def bag_info(bag: Annotated[Path, typer.Argument(help="Folder of the bag.")]) -> None:
    """Say what is in a bag."""
    from graph_planner_ros.analysis.bag_repair import summarize_bag
    from graph_planner_ros.console import table

    try:
        summary = summarize_bag(bag)
    except (OSError, ValueError) as error:
        raise fail(error, 1) from None
    console.print(f"{bag}: {summary.messages} messages in {summary.duration:.1f} s, {len(summary.files)} file(s)")
    rows = [(name, kind, str(count)) for name, (kind, count) in sorted(summary.topics.items())]
    console.print(table("topics", ("topic", "type", "messages"), rows))


@bag_app.command("picture")
def bag_picture(
    bag: Annotated[Path, typer.Argument(help="Folder of the bag.")],
    picture: Annotated[Path, typer.Argument(callback=writable, help="PNG file to write.")],
) -> None:
    """Draw what the robot's camera saw after each subtask of a recorded run."""
    from graph_planner_ros.analysis.contact_sheet import save_contact_sheet

    try:
        count = save_contact_sheet(bag, picture)
    except (OSError, ValueError) as error:
        raise fail(error, 1) from None
    console.print(f"{picture}: {count} subtasks")


@bag_app.command("repair")
def bag_repair_command(bag: Annotated[Path, typer.Argument(help="Folder of the bag.")]) -> None:
    """Make a bag readable whose recorder was killed; a bag in order is left alone."""
    from graph_planner_ros.analysis.bag_repair import repair_bag

    try:
        report = repair_bag(bag)
    except (OSError, ValueError) as error:
        raise fail(error, 1) from None
    console.print(f"{bag}: {report.reason}; {report.messages} messages")


def main() -> int:
    """Run the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # a name may hold half a character, and a terminal may know few of them
            stream.reconfigure(errors="backslashreplace")
    try:
        return flushed(_run())
    except KeyboardInterrupt:
        return 130


def _run() -> int:
    """Run a command; what the system refuses and what is not installed is one sentence."""
    try:
        app(prog_name="graph-planner", standalone_mode=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except OSError as error:
        return fail(error, 2).exit_code
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ROS_MODULES and error.name != "graph_planner_ros.msg":
            raise
        return fail(
            f"this command needs ROS 2 ({error.name} is not there): use ./run, or source its setup file", 3
        ).exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
