"""A run over samples into a file of results that can be gone on with."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from graph_planner_ros import __version__
from graph_planner_ros.benchmarks.alfred.annotation_map import FILE
from graph_planner_ros.benchmarks.alfred.data import file_hash
from graph_planner_ros.benchmarks.alfred.evaluation import Evaluator
from graph_planner_ros.benchmarks.alfred.report import keep_row
from graph_planner_ros.benchmarks.alfred.samples import Sample
from graph_planner_ros.benchmarks.worlds.banks import open_experience
from graph_planner_ros.benchmarks.worlds.experiment import source_hash, versions
from graph_planner_ros.benchmarks.worlds.results import Results, ResultsFile, canonical_hash, make_header
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.paths import find_config
from graph_planner_ros.planning.advice import Advice
from graph_planner_ros.planning.engines import Engine, MimirEngine, make_engine
from graph_planner_ros.planning.llm import ModelPlanning

_SHARE = {"effort": 800, "improvement": 1000, "changes": 1500}
"""What the engine mimir may spend on one plan by default, see `MimirEngine`."""

MODEL_PARTS = {
    "task_graph": "task_graph_prompt",
    "verification": "verification",
    "advice": "advice",
    "lookahead": "lookahead",
    "key_objects": "key_objects",
}
"""Parts of planning with a language model that can be left out: name -> field of `ModelPlanning`."""
BARE = "bare"


@dataclass(frozen=True)
class RunSettings:
    """What decides results, for the header.

    Attributes:
        data: hash of the samples' file. data_name: its name. reader, planner: who reads and plans.
        seed: of the scenes. timeout: seconds for one plan. effort: share of the engine's usual effort.
        more: of the planner, such as a model's name.
    """

    data: str
    data_name: str
    reader: str
    planner: str
    seed: int
    timeout: float
    engine: str
    effort: float
    more: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        found = {name: value for name, value in vars(self).items() if name != "more"}
        return {"world": "alfred", "graph_planner_ros": __version__, "map": _map_hash(), **found, **self.more}


def _map_hash() -> str:
    return canonical_hash(find_config(FILE).read_text(encoding="utf-8"))


def open_engine(name: str, effort: float) -> Engine:
    """Return an engine that spends a share of its usual effort on making plans cheaper; only mimir can.

    Raises:
        ValueError: if there is no engine of that name, or the share is none. EngineMissingError: it is not installed.
    """
    if effort <= 0.0:
        raise ValueError(f"--effort must be above 0, not {effort:g}")
    engine = make_engine(name)
    if effort == 1.0:
        return engine
    if not isinstance(engine, MimirEngine):
        raise ValueError(f"--effort is for the engine mimir, and this is {engine.name}")
    return MimirEngine(**{key: max(1, round(value * effort)) for key, value in _SHARE.items()})


def model_planning(parts: str, timeout: float) -> ModelPlanning:
    """Return how a language model is asked.

    Args:
        parts: of `MODEL_PARTS`, separated by commas; ``bare`` for none. timeout: seconds for one plan.

    Raises:
        ValueError: naming what is no part.
    """
    named = {name.strip() for name in parts.split(",") if name.strip()} - {BARE}
    if wrong := sorted(named - set(MODEL_PARTS)):
        raise ValueError(f"--with: there is no {', '.join(wrong)}; there are: {', '.join((*MODEL_PARTS, BARE))}")
    has = {field: part in named for part, field in MODEL_PARTS.items()}
    return ModelPlanning(timeout=timeout, **has)


def advice_factory(domain: Domain, bank: Path | None) -> tuple[Callable[[], Advice | None], str]:
    """Return what makes the advice of a planner, and the hash of its file; nothing without a file.

    Raises:
        FileNotFoundError: there is no such file. ValueError: it holds something else. EncoderMissingError: see
            `open_experience`.
    """
    if bank is None:
        return lambda: None, ""
    experience = open_experience(domain, bank)
    return lambda: Advice(domain, experience), file_hash(bank)


def choose(samples: Sequence[Sample], number: int) -> list[Sample]:
    """Return at most so many samples, spread over the groups, one of each trajectory first; 0: all."""
    if not number:
        return list(samples)
    said: dict[tuple[str, ...], int] = {}
    places: dict[tuple[str, int], int] = {}
    turns = []
    for position, sample in enumerate(samples):
        turn = said[sample.parts] = said.get(sample.parts, -1) + 1
        place = places[sample.group, turn] = places.get((sample.group, turn), -1) + 1
        turns.append((turn, place, position))
    return [samples[position] for position in sorted(position for *_, position in sorted(turns)[:number])]


def run(
    evaluator: Evaluator,
    samples: Sequence[Sample],
    settings: RunSettings,
    out: Path,
    console: Console,
    stop: Callable[[], bool],
    command: Sequence[str] = (),
) -> Results:
    """Evaluate the samples that are not in the file yet, and return all that are in it then.

    The first sample is evaluated once before, so that what is loaded at the first use is in nobody's time.

    Raises:
        ResultsError: the file holds something else.
    """
    about = {
        "command": list(command) or sys.argv,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "versions": versions(),
        "source": source_hash(),
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    with ResultsFile(out, make_header(settings.as_json(), about, len(samples)), keep_row) as file:
        todo = [sample for sample in samples if (sample.name, settings.seed) not in file.results.raw]
        if len(todo) < len(samples):
            console.print(f"{out}: {len(samples) - len(todo)} of {len(samples)} samples are there already")
        if todo:
            evaluator.evaluate(todo[0])
        for number, sample in enumerate(todo, 1):
            if stop():
                break
            file.add({**evaluator.evaluate(sample), "source": about["source"]})
            if number % 100 == 0 or number == len(todo):
                done = sum(bool(row["success"]) for row in file.results.raw.values())
                console.print(f"{number} of {len(todo)} samples, {done} of {len(file.results.raw)} succeeded")
        return file.results
