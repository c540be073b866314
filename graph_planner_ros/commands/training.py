"""``graph-planner train``: examples, supervised fine-tuning and GRPO of language models (docs/training.md).

Exit codes: 0 done; 2 wrong usage, files or settings; 3 something is not installed; 130 stopped (what was done is kept).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from graph_planner_ros.console import Terminal, errors, fail, writable
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.training.errors import ExtraMissingError, TrainingError

if TYPE_CHECKING:
    from graph_planner_ros.planning.task_graph import TaskGraph
    from graph_planner_ros.training.examples import ExampleSet

app = typer.Typer(help="Train a language model with the task graph's rewards.", no_args_is_help=True)
data_app = typer.Typer(help="Make files of examples.", no_args_is_help=True)
app.add_typer(data_app, name="data")
console = Terminal(highlight=False)

Out = Annotated[Path, typer.Option(callback=writable, help="File of examples to write (JSON lines).")]
Config = Annotated[str, typer.Option(help="Name of a file in config/training, or a path.")]
Data = Annotated[Path, typer.Option(help="File of examples that `train data` made.")]
RunFolder = Annotated[Path | None, typer.Option("--run", help="Folder of the run; without it one in runs/.")]
ModelName = Annotated[
    str, typer.Option(help="Model instead of the configuration's: a name, a folder, or another run's folder.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in --run after its last checkpoint.")]
Seed = Annotated[int | None, typer.Option(help="Seed instead of the configuration's.", min=0)]


@data_app.command("plans")
def data_plans(
    out: Out,
    data: Annotated[
        list[Path], typer.Option(help="ALFRED's folder, or a file of trajectories or of composed tasks; repeatable.")
    ],
    split: Annotated[str, typer.Option(help="Split, where --data is a folder.")] = "train",
    prompt: Annotated[str, typer.Option(help="Name of a file of config/prompts.")] = "train_plan",
    thoughts: Annotated[bool, typer.Option(help="Reference answers think aloud what is needed.")] = True,
    limit: Annotated[int, typer.Option(help="At most so many of each file, drawn at random; 0: all.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="Of the draw.", min=0)] = 0,
) -> None:
    """Make examples of planning from ALFRED's trajectories and from composed tasks (`bench alfred-compose`)."""
    import random

    from graph_planner_ros.benchmarks.alfred.annotation_map import load_map
    from graph_planner_ros.benchmarks.alfred.data import AlfredDataError, data_file, file_hash
    from graph_planner_ros.benchmarks.alfred.samples import read_samples
    from graph_planner_ros.language.models import PromptError, load_prompt
    from graph_planner_ros.planning.task_graph import TaskGraph
    from graph_planner_ros.training.examples import PLANS, ExampleSet, write_examples
    from graph_planner_ros.training.plans import check_prompt, make_examples

    stop = console.stop_signal()
    with _errors(AlfredDataError, PromptError):
        annotations, template = load_map(), load_prompt(prompt)
        check_prompt(template)
        graph = TaskGraph.of(annotations.domain)
        found = ExampleSet(PLANS, [], {"prompt": prompt, "prompt_digest": template.digest, "seed": seed, "sources": []})
        for path in data:
            file = data_file(path, split)
            samples = read_samples(file, annotations)
            if limit and limit < len(samples):
                samples = random.Random(seed).sample(samples, limit)
            examples, left_out = make_examples(samples, annotations, graph, template, thoughts, stop)
            if stop():
                errors.print("stopped; nothing was written")
                raise typer.Exit(130)
            found.examples += examples
            source = {"file": file.name, "digest": file_hash(file), "samples": len(samples), "used": len(examples)}
            found.about["sources"].append({**source, "left_out": dict(left_out)})
            console.print(f"{file.name}: {len(examples)} of {len(samples)} samples; seed {seed}", markup=False)
            for reason, count in left_out.most_common():
                console.print(f"  {count} left out: {reason}", markup=False, soft_wrap=True)
        found.about["domain"] = annotations.domain.name
        _check_written(found, out)
        write_examples(out, found)


@data_app.command("language")
def data_language(
    pairs: Annotated[list[Path], typer.Argument(help="Files of pairs that `graph-planner language collect` made.")],
    out: Out,
    domain: Annotated[str, typer.Option(help="Folder of config/domains, or a path: the pairs' domain.")],
) -> None:
    """Make conversations for the language interface: texts and what they mean, actions and their commands."""
    from graph_planner_ros.domain.domain import load_domain
    from graph_planner_ros.language.models import PromptError, load_prompt
    from graph_planner_ros.language.pairs import file_hash, read_pairs
    from graph_planner_ros.training.examples import LANGUAGE, ExampleSet, write_examples
    from graph_planner_ros.training.language import language_examples

    with _errors(PromptError):
        prompts = load_prompt("train_facts"), load_prompt("train_command")
        loaded = load_domain(domain)
        found = ExampleSet(LANGUAGE, [], {"domain": loaded.name, "prompts": [p.digest for p in prompts], "sources": []})
        for path in pairs:
            examples = language_examples(read_pairs(path), loaded, *prompts)
            found.examples += examples
            found.about["sources"].append({"file": path.name, "digest": file_hash(path), "used": len(examples)})
            console.print(f"{path.name}: {len(examples)} examples", markup=False)
        _check_written(found, out)
        write_examples(out, found)


TRAININGS = {
    "sft": "Fine-tune on reference answers. Ctrl-C saves a checkpoint and ends.",
    "grpo": "Train with the rewards of the task graph on prompts of plans. Ctrl-C saves a checkpoint and ends.",
}


def _add_training(kind: str, meaning: str) -> None:
    """Add a command that trains; all have the same options."""

    @app.command(kind, help=meaning)
    def train(
        data: Data,
        config: Config = "smoke",
        run: RunFolder = None,
        model: ModelName = "",
        resume: Resume = False,
        seed: Seed = None,
    ) -> None:
        _train(kind, data, config, run, model, resume, seed)


for _kind, _meaning in TRAININGS.items():
    _add_training(_kind, _meaning)


def _train(kind: str, file: Path, config: str, folder: Path | None, model: str, resume: bool, seed: int | None) -> None:
    from dataclasses import replace

    from graph_planner_ros.training.examples import read_examples
    from graph_planner_ros.training.runs import Run
    from graph_planner_ros.training.settings import load_settings

    with _errors():
        settings = load_settings(config)
        settings = settings if seed is None else replace(settings, seed=seed)
        data = read_examples(file)
        if resume and folder is None:
            raise TrainingError("--resume needs the folder of the run: --run")
        run_trainer, graph = _trainer(kind), _graph(data)
        stop = console.stop_signal()
        folder = folder or Path("runs") / f"{datetime.now():%Y-%m-%d_%H-%M-%S}_train_{kind}"
        opened = Run.open(folder, kind, settings, data, _model(model or settings.model.name), resume)
        console.print(f"{folder}: {kind} by {config}, {len(data.examples)} examples", markup=False, soft_wrap=True)
        if not run_trainer(opened, settings, data, graph, _say, stop, resume):
            raise typer.Exit(130)
        console.print(f"{folder}: run.json, metrics.jsonl, curve.png, model/", markup=False, soft_wrap=True)


def _trainer(kind: str) -> Callable[..., bool]:
    """Return what trains, imported only now: it needs the extra."""
    try:
        if kind == "sft":
            from graph_planner_ros.training.sft import run_sft

            return run_sft
        from graph_planner_ros.training.grpo import run_grpo
    except ImportError as error:
        raise ExtraMissingError(error) from None
    return run_grpo


def _graph(data: ExampleSet) -> TaskGraph | None:
    from graph_planner_ros.domain.domain import load_domain
    from graph_planner_ros.planning.task_graph import TaskGraph
    from graph_planner_ros.training.examples import PLANS

    return TaskGraph.of(load_domain(str(data.about.get("domain", "")))) if data.name == PLANS else None


def _model(name: str) -> str:
    """Return a model's name; for the folder of a finished run, the model in it."""
    inner = Path(name) / "model" if name else None
    return str(inner) if inner is not None and inner.is_dir() else name


def _say(line: str) -> None:
    console.print(line, markup=False, soft_wrap=True)


def _check_written(found: ExampleSet, out: Path) -> None:
    if not found.examples:
        raise TrainingError("no example could be made; nothing was written")
    console.print(f"{escape(str(out))}: {len(found.examples)} examples", soft_wrap=True)


@contextmanager
def _errors(*more: type[Exception]) -> Iterator[None]:
    wrong: tuple[type[Exception], ...] = (TrainingError, DomainError, OSError, ValueError, *more)
    try:
        yield
    except ExtraMissingError as error:
        raise fail(error, 3) from None
    except wrong as error:
        raise fail(error, 2) from None
