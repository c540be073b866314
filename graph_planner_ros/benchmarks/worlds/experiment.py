"""One run of a benchmark: which games, who plays them, and what the header says of it."""

from __future__ import annotations

import fnmatch
import hashlib
import importlib.metadata
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from graph_planner_ros import __version__
from graph_planner_ros.benchmarks.worlds.ablations import NONE, ablated
from graph_planner_ros.benchmarks.worlds.agent import TextAgent
from graph_planner_ros.benchmarks.worlds.baselines import BreadthFirstChooser, Chooser, RandomChooser, play, seed_of
from graph_planner_ros.benchmarks.worlds.game import Game, GameSpec
from graph_planner_ros.benchmarks.worlds.options import AgentOptions
from graph_planner_ros.benchmarks.worlds.react import PROMPTS, ChatModel, ReactChooser, ReactSettings
from graph_planner_ros.benchmarks.worlds.records import EpisodeRecord
from graph_planner_ros.benchmarks.worlds.registry import World, make_world
from graph_planner_ros.benchmarks.worlds.results import canonical_hash, make_header, spec_hash
from graph_planner_ros.benchmarks.worlds.worker import Player
from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.domain.paths import find_config
from graph_planner_ros.language.interface import Context
from graph_planner_ros.language.rules import load_language
from graph_planner_ros.language.trained import load_trained_language

MEMPLAN, RANDOM, BREADTH_FIRST, REACT = "memplan", "random", "breadth_first", "react"
PLANNERS = (MEMPLAN, RANDOM, BREADTH_FIRST, REACT)
_PACKAGES = ("numpy", "pymimir", "up-fast-downward", "unified-planning", "openai", "torch")


@dataclass(frozen=True)
class Experiment:
    """Everything that decides the results of a run, the games apart; also what is sent to the workers.

    Attributes:
        world: see `make_world`. world_options: for it.
        planner: one of `PLANNERS`. ablation: one of `ABLATIONS`; only with MemPlan.
        options: of MemPlan, before the ablation. react: of ReAct.
        model: file of a trained interface (`language.trained`) for MemPlan; empty for the rules.
    """

    world: str
    world_options: Mapping[str, str] = field(default_factory=dict)
    planner: str = MEMPLAN
    ablation: str = NONE
    options: AgentOptions = field(default_factory=AgentOptions)
    react: ReactSettings | None = None
    model: str = ""

    def __post_init__(self) -> None:
        if self.planner not in PLANNERS:
            raise ValueError(f"there is no planner {self.planner!r}; there are: {', '.join(PLANNERS)}")
        if self.planner != MEMPLAN and self.ablation != NONE:
            raise ValueError(
                f"the ablation {self.ablation} takes something from memplan; {self.planner} does not have it"
            )
        if (self.planner == REACT) != (self.react is not None):
            raise ValueError("react, and no other planner, needs a model: --model")
        if self.model and not Path(self.model).is_file():
            raise ValueError(f"there is no trained interface {self.model}: make one with graph-planner language train")
        if self.options.bank and not Path(self.options.bank).is_file():
            raise ValueError(f"there is no bank {self.options.bank}: make one with graph-planner memory collect")
        ablated(self.ablation)

    def __call__(self) -> Player:
        """Return the player; called in the worker."""
        return BenchPlayer(self)

    def settings(self) -> dict[str, Any]:
        """Return what decides how games are played, as plain values."""
        found: dict[str, Any] = {"world": self.world, "planner": self.planner, "ablation": self.ablation}
        if self.planner == MEMPLAN:
            found["options"] = vars(ablated(self.ablation, self.options)).copy()
            found["options"]["bank"] = _file_hash(self.options.bank) if self.options.bank else ""
            found["interface"] = f"trained, {_file_hash(self.model)}" if self.model else "rules"
        if self.react is not None:
            found.update({**self.react.described(), "prompts": _prompts_hash()})
        return found


class BenchPlayer:
    """Plays games of one world as an experiment says."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._world = make_world(experiment.world, experiment.world_options)
        language = load_language(load_domain(self._world.domain))
        self._parser = language.parser
        self._agent: TextAgent | None = None
        if experiment.planner == MEMPLAN:
            if experiment.model:
                language = load_trained_language(language.domain, Path(experiment.model))
            options = ablated(experiment.ablation, experiment.options)
            self._agent = TextAgent(language.domain, language.parser, language.grounder, options)
        self._model = ChatModel(experiment.react) if experiment.react is not None else None

    def play(self, spec: GameSpec, watch: Callable[[Game], Game]) -> EpisodeRecord:
        """Play one game and close it."""
        game = self._world.open(spec)
        try:
            if self._agent is not None:
                return self._agent.play(watch(game), spec)
            return play(watch(game), spec, self._experiment.planner, self._chooser(spec), self._refused)
        finally:
            game.close()

    def _chooser(self, spec: GameSpec) -> Chooser:
        if self._model is not None and self._experiment.react is not None:
            return ReactChooser(self._model, self._experiment.react, seed_of(spec))
        return RandomChooser(seed_of(spec)) if self._experiment.planner == RANDOM else BreadthFirstChooser()

    def _refused(self, text: str, command: str) -> bool:
        """Whether the world refused a command; the same words decide for every planner."""
        return self._parser.parse(text, Context(command=command)).failed


# ---- which games


@dataclass(frozen=True)
class Selection:
    """Which games of a split are played.

    Attributes:
        split: empty for the world's own. tasks: names or groups, or patterns of them with ``*``; empty for all.
        games: at most so many of each group in turn; 0 for all. seeds: empty for the world's own. limit: of steps.
    """

    split: str = ""
    tasks: tuple[str, ...] = ()
    games: int = 0
    seeds: tuple[int, ...] = ()
    limit: int | None = None


def choose(specs: Sequence[GameSpec], selection: Selection) -> list[GameSpec]:
    """Return the games that a selection names; a number of games is spread over the groups.

    Raises:
        ValueError: a task that there is not, with what there is.
    """
    for task in selection.tasks:
        if not any(_is_called(spec, task) for spec in specs):
            groups = sorted({spec.group for spec in specs})
            raise ValueError(f"there is no game or group {task!r}; the groups are: {', '.join(groups)}")
    chosen = [spec for spec in specs if not selection.tasks or any(_is_called(spec, task) for task in selection.tasks)]
    if not selection.games:
        return chosen
    names: dict[str, list[str]] = {}
    for spec in chosen:
        group = names.setdefault(spec.group, [])
        if spec.name not in group:
            group.append(spec.name)
    turns = sorted((place, group, name) for group, found in names.items() for place, name in enumerate(found))
    kept = {(group, name) for _, group, name in turns[: selection.games]}
    return [spec for spec in chosen if (spec.group, spec.name) in kept]


def _is_called(spec: GameSpec, task: str) -> bool:
    return any(fnmatch.fnmatchcase(name, task) for name in (spec.name, spec.group))


# ---- the header


def header(
    experiment: Experiment,
    selection: Selection,
    world: World,
    specs: Sequence[GameSpec],
    chosen: Sequence[GameSpec],
    command: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the header of a run over ``chosen`` of all ``specs`` that the split has with the world's own seeds."""
    limits = sorted({spec.limit for spec in specs})
    settings = {
        **experiment.settings(),
        "world": world.name,
        "split": " + ".join(sorted({spec.split for spec in specs})),
        "limit": limits[0] if len(limits) == 1 else limits,
        "data": canonical_hash(sorted({spec_hash(spec) for spec in specs})),
        "graph_planner_ros": __version__,
        "engine": dict(world.versions()),
    }
    about = {
        "command": list(command) or sys.argv,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "tasks": list(selection.tasks),
        "seeds": sorted({spec.seed for spec in chosen}),
        "versions": versions(),
        "source": source_hash(),
    }
    return make_header(settings, about, len(chosen))


def versions() -> dict[str, str]:
    """Return the versions of our own Python and packages."""
    found = {"python": platform.python_version(), "system": platform.platform()}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


@lru_cache(maxsize=1)
def source_hash() -> str:
    """Return a hash of this package's code and domains, so that results tell which code made them without git."""
    package = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for root, patterns in ((package, ("*.py", "*.txt")), (find_config("domains"), ("*.pddl", "*.yaml", "*.json"))):
        for path in sorted(path for pattern in patterns for path in root.rglob(pattern)):
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _file_hash(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]


def _prompts_hash() -> str:
    return canonical_hash({path.name: path.read_text() for path in sorted(PROMPTS.glob("react_*.txt"))})
