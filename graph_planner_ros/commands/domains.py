"""``graph-planner domains``: what planning domains there are, and domains made from those of other worlds.

Exit codes: 0 done; 2 wrong usage or wrong files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from graph_planner_ros.console import Terminal, fail

app = typer.Typer(help="The planning domains.", invoke_without_command=True)
translate_app = typer.Typer(help="Make a domain from another world's description of itself.", no_args_is_help=True)
app.add_typer(translate_app, name="translate")
console = Terminal(highlight=False)


@app.callback()
def domains(context: typer.Context) -> None:
    """List the planning domains and the kitchens of the simulator; or make a domain (translate)."""
    if context.invoked_subcommand is not None:
        return
    from graph_planner_ros.console import table
    from graph_planner_ros.domain.domain import load_domain
    from graph_planner_ros.domain.fragments import SEPARATOR, available_fragments
    from graph_planner_ros.domain.paths import find_config
    from graph_planner_ros.sim.layouts import describe_layouts

    folders = sorted(path.parent for path in find_config("domains").glob("*/domain.yaml"))
    rows = []
    for folder in folders:
        domain = load_domain(str(folder))
        rows.append((domain.name, ", ".join(domain.actions), str(len(domain.classes))))
        for name in available_fragments(folder):
            whole = load_domain(f"{folder}{SEPARATOR}{name}")
            more = ", ".join(action for action in whole.actions if action not in domain.actions)
            rows.append((whole.name, more, str(len(whole.classes))))
    console.print(table("domains", ("name", "actions", "classes"), rows))
    console.print(table("kitchens", ("layout", "description"), list(describe_layouts().items())))


@translate_app.command("robotouille")
def translate_robotouille(
    source: Annotated[Path, typer.Argument(help="Domain JSON of Robotouille's engine (domain/robotouille.json).")],
    out: Annotated[Path, typer.Option(help="Folder for domain.pddl, domain.yaml and language.yaml.")],
    delay: Annotated[int, typer.Option(help="Steps until a delayed effect, the starting one included.", min=1)] = 4,
    repetitions: Annotated[int, typer.Option(help="Times that a repetitive action needs.", min=1)] = 3,
) -> None:
    """Translate Robotouille's domain JSON; how long and how often is in the engine's code, not in the JSON."""
    from graph_planner_ros.benchmarks.worlds.robotouille_files import translate_file
    from graph_planner_ros.benchmarks.worlds.robotouille_translation import TranslationError
    from graph_planner_ros.domain.domain import load_domain
    from graph_planner_ros.domain.schema import DomainError
    from graph_planner_ros.language.rules import load_language

    try:
        written = translate_file(source, out, delay, repetitions)
        load_language(load_domain(str(out)))
    except (TranslationError, DomainError, OSError) as error:
        raise fail(error, 2) from None
    for path in written:
        console.print(escape(str(path)))
