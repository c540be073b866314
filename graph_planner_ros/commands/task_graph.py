"""``graph-planner task-graph``: which subtask can follow which, and whether a plan of subtasks can be carried out.

Exit codes: 0 done, or the plan is valid; 1 it is not; 2 wrong usage or wrong files; 3 no engine or no model.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from graph_planner_ros.console import Terminal, errors, fail, finite, table, writable

if TYPE_CHECKING:
    from graph_planner_ros.domain.domain import Domain
    from graph_planner_ros.domain.symbols import Goal
    from graph_planner_ros.planning.task_graph import KnownThings, Subtask, TaskGraph
    from graph_planner_ros.scene.graph import SceneGraph

app = typer.Typer(help="The task graph: which subtask can come after which, and why.", no_args_is_help=True)
console = Terminal(highlight=False)

DomainName = Annotated[str, typer.Option(help="Planning domain, with fragments: household+ai2thor_skills.")]
GraphFile = Annotated[
    Path | None, typer.Option("--graph", help="Task graph as JSON, from show or review; else the domain's own.")
]


@app.command()
def show(
    domain: DomainName = "household",
    graph: GraphFile = None,
    form: Annotated[str, typer.Option("--format", help="table, json, dot or svg.")] = "table",
    out: Annotated[Path | None, typer.Option(callback=writable, help="File; without it the graph is printed.")] = None,
) -> None:
    """Show subtasks, the kinds of things that they take, and what can follow."""
    from graph_planner_ros.domain.files import write_atomically

    found = _graph(domain, graph)
    if form == "table" and out is None:
        _show_table(found)
        return
    makers = {"json": found.to_json, "dot": found.to_dot, "svg": found.to_svg, "table": lambda: _plain(found)}
    if form not in makers:
        raise fail(f"--format: expected table, json, dot or svg, found {form!r}", 2)
    text = makers[form]()
    if out is None:
        print(text, end="")
        return
    try:
        write_atomically(out, text)
    except OSError as error:
        raise fail(f"{out} cannot be written: {error.strerror or error}", 2) from None
    console.print(f"{escape(str(out))}: {len(found.nodes)} subtasks, {len(found.edges)} edges")


@app.command()
def why(
    source: Annotated[str, typer.Argument(help="The subtask that comes first.")],
    target: Annotated[str, typer.Argument(help="The one that is to follow.")],
    domain: DomainName = "household",
    graph: GraphFile = None,
) -> None:
    """Say why one subtask can follow another, or why it cannot."""
    found = _graph(domain, graph)
    edge = found.edges.get((source, target))
    if edge is not None:
        console.print(escape(f"{source} -> {target}: yes; {edge.reason}"), soft_wrap=True)
        return
    console.print(escape(f"{source} -> {target}: no; {found.why_not(source, target)}"), soft_wrap=True)
    raise typer.Exit(1 if {source, target} <= set(found.by_action) else 2)


@app.command()
def check(
    plan: Annotated[
        Path, typer.Argument(help="A subtask a line, such as: put Mug Fridge. - reads the standard input.")
    ],
    scene: Annotated[Path, typer.Option(help="Scene graph (JSON) in which the plan is to be carried out.")],
    domain: DomainName = "household",
    graph: GraphFile = None,
    instruction: Annotated[
        str, typer.Option(help="What must be reached in the end; without it anything will do.")
    ] = "",
    engine: Annotated[str, typer.Option(help="auto, mimir or fast_downward.")] = "auto",
    timeout: Annotated[float, typer.Option(callback=finite, help="Seconds.", min=0.01)] = 10.0,
) -> None:
    """Check a plan: its things, its transitions, and whether it can be carried out and reaches what was asked for."""
    from graph_planner_ros.domain.wording import describe_action
    from graph_planner_ros.planning.engines import EngineMissingError, make_engine
    from graph_planner_ros.planning.task_graph import KnownThings, Refiner
    from graph_planner_ros.scene.facts import symbolic_state

    found, subtasks, belief = _graph(domain, graph), _read_plan(plan), _read_scene(scene)
    goal = _goal(found.domain, instruction, belief)
    state = symbolic_state(belief, found.domain)
    good = _say_objections(found, subtasks, KnownThings.of(found.domain, state))
    try:
        refined = Refiner(found.domain, found, make_engine(engine)).refine(state, goal, subtasks, timeout=timeout)
    except EngineMissingError as error:
        raise fail(error, 3) from None
    except ValueError as error:
        raise fail(error, 2) from None
    for number, step in enumerate(refined.steps, 1):
        console.print(escape(f"{number:3} {describe_action(found.domain, step)}"), soft_wrap=True)
    if refined.valid and good:
        reached = f", and then it holds: {instruction}" if goal is not None else ""
        console.print(escape(f"the plan can be carried out in {len(refined.steps)} actions{reached}"), soft_wrap=True)
        return
    if not refined.valid:
        instead = f"; there would be possible: {', '.join(refined.allowed)}" if refined.allowed else ""
        errors.print(escape(f"{refined.status.value}: {refined.reason}{instead}"), soft_wrap=True)
    raise typer.Exit(1)


@app.command()
def review(
    out: Annotated[
        Path, typer.Option(callback=writable, help="File (JSON) for the graph without the edges that make no sense.")
    ],
    domain: DomainName = "household",
    backend: Annotated[str, typer.Option(help="openai, llama_cpp or transformers.")] = "openai",
    model: Annotated[str, typer.Option(help="Of the backend; see graph-planner model check.")] = "",
    endpoint: Annotated[str, typer.Option(help="Base URL of an endpoint.")] = "",
    timeout: Annotated[float, typer.Option(callback=finite, help="Seconds for all questions.", min=0.01)] = 300.0,
) -> None:
    """Let a language model take out edges that make no sense; it can add none."""
    from graph_planner_ros.domain.files import write_atomically
    from graph_planner_ros.language.models import ModelOptions, ModelUnavailableError, make_language_model
    from graph_planner_ros.planning.task_graph import semantic_check

    found = _graph(domain, None)
    try:
        asked = make_language_model(ModelOptions(backend=backend, model=model, endpoint=endpoint))
    except ValueError as error:
        raise fail(error, 2) from None
    except ModelUnavailableError as error:
        raise fail(error, 3) from None
    result = semantic_check(found, asked, timeout=timeout)
    for (source, target), reason in result.removed.items():
        console.print(escape(f"{source} -> {target} taken out: {reason}"), soft_wrap=True)
    for problem in result.problems:
        errors.print(escape(f"left as it is: {problem}"), soft_wrap=True)
    try:
        write_atomically(out, result.graph.to_json())
    except OSError as error:
        raise fail(f"{out} cannot be written: {error.strerror or error}", 2) from None
    console.print(escape(f"{out}: {len(result.graph.edges)} of {len(found.edges)} edges"))


def _graph(domain: str, file: Path | None) -> TaskGraph:
    from graph_planner_ros.domain.domain import load_domain
    from graph_planner_ros.domain.json_files import read_text
    from graph_planner_ros.planning.task_graph import TaskGraph

    try:
        loaded = load_domain(domain)
        if file is None:
            return TaskGraph.of(loaded)
        text = read_text(file)
        try:
            return TaskGraph.from_json(text, loaded)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
    except (OSError, ValueError) as error:
        raise fail(error, 2) from None


def _read_plan(path: Path) -> list[Subtask]:
    from graph_planner_ros.domain.json_files import read_text
    from graph_planner_ros.planning.task_graph import Subtask

    try:
        text = sys.stdin.read() if str(path) == "-" else read_text(path)
    except UnicodeDecodeError:
        raise fail("the standard input is no text (UTF-8)", 2) from None
    except ValueError as error:
        raise fail(error, 2) from None
    lines = (line.partition("#")[0].split() for line in text.splitlines())
    found = [Subtask(words[0], tuple(words[1:])) for words in lines if words]
    if not found:
        raise fail(f"{path}: expected a subtask a line, such as: pick_up Mug", 2)
    return found


def _read_scene(path: Path) -> SceneGraph:
    from graph_planner_ros.scene.storage import load_graph

    try:
        return load_graph(path)
    except (OSError, ValueError) as error:
        raise fail(error, 2) from None


def _goal(domain: Domain, instruction: str, scene: SceneGraph) -> Goal | None:
    from graph_planner_ros.language.instruction import InstructionParser

    if not instruction:
        return None
    parsed = InstructionParser(domain).parse(instruction, scene)
    if not parsed.understood:
        raise fail(f"--instruction: {parsed.reason}", 2)
    return parsed.goals[-1]


def _say_objections(graph: TaskGraph, subtasks: list[Subtask], known: KnownThings) -> bool:
    from graph_planner_ros.planning.task_graph import check_edges, check_nodes

    objections = sorted(
        [*check_nodes(graph, subtasks, known), *check_edges(graph, subtasks)], key=lambda item: item.index
    )
    for item in objections:
        instead = f"; there would do: {', '.join(item.allowed)}" if item.allowed else ""
        errors.print(escape(f"subtask {item.index + 1}: {item.reason}{instead}"), soft_wrap=True)
    return not objections


def _show_table(graph: TaskGraph) -> None:
    from graph_planner_ros.planning.task_graph.graph import EdgeKind

    rows = []
    for node in graph.nodes:
        after = graph.successors(node.action)
        helped = [name for name in after if graph.edges[node.action, name].kind is EdgeKind.HELPS]
        others = [name for name in after if name not in helped]
        first = "yes" if node.action in graph.starts else ""
        rows.append((node.text, first, ", ".join(helped), ", ".join(others)))
    columns = ("subtask", "may come first", "it helps", "may also follow")
    console.print(table(f"task graph of {graph.domain.name}", columns, rows))


def _plain(graph: TaskGraph) -> str:
    from graph_planner_ros.planning.task_graph import edge_lines

    return "\n".join([*(node.text for node in graph.nodes), *edge_lines(graph)]) + "\n"
