"""``graph-planner bench alfred`` and ``bench alfred-compose``: ALFRED's instructions, understood and planned for.

Exit codes: 0 all samples were evaluated, whatever came of them; 2 wrong usage; 3 something is not installed;
130 stopped.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from graph_planner_ros.console import Terminal, errors, fail, finite, writable
from graph_planner_ros.domain.files import write_atomically

console = Terminal(highlight=False)


Data = Annotated[Path, typer.Option(help="Trajectories or a composed set: a file, or a folder with <split>.jsonl.gz.")]
Seed = Annotated[int, typer.Option(help="Seed of where things are.", min=0)]
Engine = Annotated[str, typer.Option(help="Planning engine: auto, mimir or fast_downward.")]
PlanTimeout = Annotated[float, typer.Option(callback=finite, help="Seconds for one planning call.", min=0.1)]
ModelTimeout = Annotated[
    float, typer.Option(callback=finite, help="Seconds of the model for one plan or action.", min=0.1)
]
Effort = Annotated[
    float,
    typer.Option(callback=finite, help="Share of the engine's usual effort; less is quicker, and plans are dearer."),
]


def alfred(
    data: Data,
    split: Annotated[str, typer.Option(help="Split, if --data is a folder.")] = "valid_seen",
    planner: Annotated[
        str, typer.Option(help="memplan; llm: plans of a model; llm_actions: actions that it chooses, one by one.")
    ] = "memplan",
    reader: Annotated[
        str, typer.Option(help="Who reads: auto, rules, trained; truth: the annotation itself, the upper bound.")
    ] = "auto",
    interface: Annotated[
        Path | None, typer.Option(help="Folder of the trained reader; without it the shipped one.", file_okay=False)
    ] = None,
    games: Annotated[int, typer.Option(help="At most so many samples, spread over the types; 0: all.", min=0)] = 0,
    seed: Seed = 0,
    engine: Engine = "auto", effort: Effort = 1.0,
    plan_timeout: PlanTimeout = 10.0,
    model: Annotated[str, typer.Option(help="Model of llm and llm_actions.")] = "",
    endpoint: Annotated[str, typer.Option(help="Base URL of its server; else OPENAI_BASE_URL.")] = "",
    backend: Annotated[str, typer.Option(help="openai, llama_cpp or transformers.")] = "openai",
    model_timeout: ModelTimeout = 60.0,
    cache: Annotated[Path | None, typer.Option(help="Folder of its replies, to repeat a run.")] = None,
    parts: Annotated[
        str,
        typer.Option("--with", help="What it has: task_graph, verification, advice, lookahead, key_objects; or bare."),
    ] = "task_graph,verification,advice,lookahead",
    bank: Annotated[Path | None, typer.Option(help="Experience for the part advice.", dir_okay=False)] = None,
    out: Annotated[Path | None, typer.Option(callback=writable, help="File of results (JSON lines).")] = None,
    markdown: Annotated[Path | None, typer.Option(callback=writable, help="Write the table to this file.")] = None,
    error_file: Annotated[
        Path | None, typer.Option("--errors", callback=writable, help="Write every failed sample to this file.")
    ] = None,
    runs: Annotated[Path, typer.Option(help="Folder for results without --out.")] = Path("runs"),
) -> None:  # fmt: skip
    """Measure understanding and planning on ALFRED's instructions, without any language model or with one."""
    from graph_planner_ros.benchmarks.alfred import report
    from graph_planner_ros.language.models import ModelUnavailableError
    from graph_planner_ros.memory.encoder import EncoderMissingError
    from graph_planner_ros.planning.engines import EngineMissingError

    stop = console.stop_signal()
    try:
        results = _run(locals())
    except (EngineMissingError, EncoderMissingError, ModelUnavailableError) as error:
        raise fail(error, 3) from None
    except (ValueError, OSError) as error:
        raise fail(error, 2) from None
    made = report.make_report(results)
    if markdown is not None:
        write_atomically(markdown, report.markdown(made))
    if error_file is not None:
        write_atomically(error_file, report.errors_markdown(results))
    report.show(made, console)
    if stop():
        raise typer.Exit(130)


def _run(given: dict[str, Any]) -> Any:
    from graph_planner_ros.benchmarks.alfred import session
    from graph_planner_ros.benchmarks.alfred.annotation_map import load_map
    from graph_planner_ros.benchmarks.alfred.data import data_file, file_hash
    from graph_planner_ros.benchmarks.alfred.evaluation import Evaluator
    from graph_planner_ros.benchmarks.alfred.judge import Judge
    from graph_planner_ros.benchmarks.alfred.readers import open_reader
    from graph_planner_ros.benchmarks.alfred.samples import read_samples

    annotations = load_map()
    path = data_file(given["data"], given["split"])
    samples = session.choose(read_samples(path, annotations), given["games"])
    engine = session.open_engine(given["engine"], given["effort"])
    factory, more = _planner(given, annotations, engine)
    read = open_reader(given["reader"], annotations, given["interface"])
    settings = session.RunSettings(
        file_hash(path), path.name, read.name, given["planner"], given["seed"], given["plan_timeout"], engine.name,
        given["effort"], more,
    )  # fmt: skip
    evaluator = Evaluator(annotations, read, factory, Judge(annotations), given["seed"])
    name = f"alfred-{given['reader']}-{given['planner']}-{time.strftime('%Y%m%d-%H%M%S')}.jsonl"
    out = given["out"] or given["runs"] / "bench" / name
    return session.run(evaluator, samples, settings, out, errors, given["stop"], _command(given["endpoint"]))


def _planner(given: dict[str, Any], annotations: Any, engine: Any) -> tuple[Any, dict[str, Any]]:
    """Return what makes planners, and what the header says of them."""
    from graph_planner_ros.benchmarks.alfred.action_run import actions_factory
    from graph_planner_ros.benchmarks.alfred.evaluation import llm_factory, memplan_factory
    from graph_planner_ros.benchmarks.alfred.session import advice_factory, model_planning
    from graph_planner_ros.language.models import ModelOptions, make_language_model

    timeout = given["plan_timeout"]
    if given["planner"] == "memplan":
        return memplan_factory(annotations, engine, timeout), {}
    factories = {"llm": llm_factory, "llm_actions": actions_factory}
    if given["planner"] not in factories:
        raise ValueError(f"there is no planner {given['planner']!r}; there are: memplan, {', '.join(factories)}")
    planning = model_planning(given["parts"], given["model_timeout"])
    options = ModelOptions(
        given["backend"], given["model"], given["endpoint"], given["model_timeout"], cache=given["cache"]
    )
    model = make_language_model(options)
    advice, bank = advice_factory(annotations.domain, given["bank"] if planning.advice else None)
    described = {name: value for name, value in options.described().items() if name != "cache"}
    more = {"with": given["parts"], "model": model.name, "model_options": described, "bank": bank}
    return factories[given["planner"]](annotations, engine, timeout, model, planning, advice), more


def _command(endpoint: str) -> tuple[str, ...]:
    """Return the command line, without the credentials that an address may carry."""
    from graph_planner_ros.language.models import public_endpoint

    shown = [text.replace(endpoint, public_endpoint(endpoint)) if endpoint else text for text in sys.argv[1:]]
    return ("graph-planner", *shown)


def _tell(number: int) -> None:
    if number % 100 == 0:
        errors.print(f"{number} samples")


def alfred_compose(
    data: Data,
    out: Annotated[Path, typer.Option(callback=writable, help="File to write (JSON lines).")],
    split: Annotated[str, typer.Option(help="Split, if --data is a folder.")] = "train",
    samples: Annotated[int, typer.Option(help="How many.", min=1)] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of all that is drawn.", min=0)] = 0,
    engine: Engine = "auto", effort: Effort = 0.1,
    plan_timeout: PlanTimeout = 10.0,
) -> None:  # fmt: skip
    """Compose long instructions, two to four ALFRED goals for one room, with plans that were verified."""
    from graph_planner_ros.benchmarks.alfred.annotation_map import load_map
    from graph_planner_ros.benchmarks.alfred.compose import Composer
    from graph_planner_ros.benchmarks.alfred.data import data_file, file_hash, read_trajectories
    from graph_planner_ros.benchmarks.alfred.samples import write_samples
    from graph_planner_ros.benchmarks.alfred.session import open_engine
    from graph_planner_ros.benchmarks.worlds.experiment import source_hash, versions
    from graph_planner_ros.planning.engines import EngineMissingError
    from graph_planner_ros.planning.memplan import MemPlan

    try:
        annotations = load_map()
        path = data_file(data, split)
        planner = MemPlan(annotations.domain, open_engine(engine, effort), timeout=plan_timeout)
        composer = Composer(annotations, read_trajectories(path), planner, seed)
        found = composer.compose(samples, _tell)
        about = {
            "seed": seed,
            "data": file_hash(path),
            "data_name": path.name,
            "types": len({sample.group for sample in found}),
            "command": ["graph-planner", *sys.argv[1:]],
            "source": source_hash(),
            "versions": versions(),
        }
        write_samples(out, found, about)
    except EngineMissingError as error:
        raise fail(error, 3) from None
    except (ValueError, OSError) as error:
        raise fail(error, 2) from None
    horizons = sorted({sample.horizon for sample in found})
    console.print(f"{out}: {len(found)} samples of {about['types']} types, {horizons[0]} to {horizons[-1]} subtasks")
    for reason, count in sorted(composer.refused.items(), key=lambda item: -item[1]):
        console.print(f"  drawn and not composed: {count} x {reason}", markup=False)
