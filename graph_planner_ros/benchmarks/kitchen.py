"""Evaluation of the whole system in the simulated kitchen: which episodes there are, who judges them, what is reported.

Running an episode is left to a function that is handed in (processes and ROS are none of this module's business). The
judge sees the simulator's ground truth and never the robot's belief.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from graph_planner_ros.benchmarks.statistics import Interval, bootstrap, wilson
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import goal_holds, unmet_literals
from graph_planner_ros.domain.paths import find_config
from graph_planner_ros.domain.symbols import Goal
from graph_planner_ros.domain.yaml_files import read_yaml
from graph_planner_ros.language.instruction import InstructionParser, ParseStatus
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import SceneGraph


@dataclass(frozen=True)
class EvaluationTask:
    """An instruction with the disturbances that come while it is carried out."""

    name: str
    instruction: str
    disturbances: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Episode:
    """A task in one kitchen."""

    task: EvaluationTask
    layout: str
    seed: int

    @property
    def name(self) -> str:
        """Name for people and folders."""
        return f"{self.task.name}_{self.layout}_{self.seed}"


@dataclass
class EpisodeRecord:
    """What came of an episode.

    Attributes:
        success: the goal holds in the simulator's ground truth. verdict: the judge's sentence.
        status, reason: what the robot itself reported.
        planning_time: seconds of all planner calls. duration: seconds of simulated time. wall_time: seconds.
        step_times: seconds of each decision of the planner, kept plans and verification included.
        replan_times: seconds of those decisions that searched for a new plan.
        happened: disturbances that came to pass.
        failures: subtasks that failed for good, with reasons.
    """

    task: str
    instruction: str
    disturbed: bool
    layout: str
    seed: int
    success: bool = False
    verdict: str = ""
    status: str = ""
    reason: str = ""
    steps: int = 0
    replans: int = 0
    planning_time: float = 0.0
    duration: float = 0.0
    wall_time: float = 0.0
    step_times: list[float] = field(default_factory=list)
    replan_times: list[float] = field(default_factory=list)
    happened: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    bag: str = ""


EpisodeRunner = Callable[[Episode], EpisodeRecord]


@dataclass(frozen=True)
class Evaluation:
    """The tasks and the layouts that take turns with the seeds."""

    layouts: tuple[str, ...]
    tasks: tuple[EvaluationTask, ...]

    def episodes(self, seeds: int, names: Sequence[str] = (), first: int = 0) -> list[Episode]:
        """Return every task (or those named) with ``seeds`` seeds from ``first`` on; the layout follows the seed.

        Raises:
            ValueError: if a name is unknown or there are no seeds.
        """
        if seeds < 1:
            raise ValueError(f"needs at least one seed, not {seeds}")
        known = {task.name: task for task in self.tasks}
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ValueError(f"no such task: {', '.join(unknown)}; there are: {', '.join(known)}")
        chosen = [known[name] for name in names] if names else list(self.tasks)
        return [
            Episode(task, self.layouts[seed % len(self.layouts)], seed)
            for seed in range(first, first + seeds)
            for task in chosen
        ]


def load_evaluation(path: Path | None = None) -> Evaluation:
    """Read the tasks from a YAML file (the package's own by default).

    Raises:
        ValueError: naming the file, the entry and what was expected.
    """
    path = path or find_config("evaluation/kitchen.yaml")
    content = read_yaml(path)
    lists = [content.get(name) for name in ("layouts", "instructions")] if isinstance(content, dict) else [None]
    if not all(isinstance(item, list) and item for item in lists):
        raise ValueError(f"{path}: expected the lists 'layouts' and 'instructions'")
    tasks = []
    for number, entry in enumerate(content["instructions"], 1):
        if not isinstance(entry, dict) or not isinstance(entry.get("instruction"), str):
            raise ValueError(f"{path}: entry {number} of 'instructions' needs an 'instruction'")
        name = str(entry.get("name", f"task_{number}"))
        tasks.append(EvaluationTask(name, entry["instruction"], tuple(entry.get("disturbances") or ())))
    names = [task.name for task in tasks]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{path}: several instructions of one name: {', '.join(twice)}")
    return Evaluation(tuple(content["layouts"]), tuple(tasks))


class Judge:
    """Says from ground truth whether an instruction was carried out.

    Goals that follow one another ("..., then ...") must have held in that order at some time; the last one must hold at
    the end.
    """

    def __init__(self, domain: Domain, goals: Sequence[Goal]) -> None:
        if not goals:
            raise ValueError("there is nothing to judge: no goals")
        self._domain, self._goals = domain, tuple(goals)
        self._reached = 0  # goals before the last that have held so far

    @classmethod
    def for_instruction(cls, domain: Domain, instruction: str) -> Judge:
        """Return the judge of an instruction; ValueError if it cannot be read."""
        parsed = InstructionParser(domain).parse(instruction)
        if parsed.status is not ParseStatus.UNDERSTOOD:
            raise ValueError(f"'{instruction}' cannot be judged: {parsed.reason}")
        return cls(domain, parsed.goals)

    def see(self, truth: SceneGraph) -> None:
        """Take note of a moment on the way."""
        if self._reached < len(self._goals) - 1:
            state = symbolic_state(truth, self._domain)
            while self._reached < len(self._goals) - 1 and goal_holds(self._goals[self._reached], state, self._domain):
                self._reached += 1

    def verdict(self, truth: SceneGraph | None) -> tuple[bool, str]:
        """Return whether the instruction was carried out, given the state at the end, and a sentence."""
        if truth is None:
            return False, "the simulator did not say what is true at the end"
        self.see(truth)
        if self._reached < len(self._goals) - 1:
            missed = self._goals[self._reached].text
            return False, f"goal {self._reached + 1} of {len(self._goals)} never held: {missed}"
        state = symbolic_state(truth, self._domain)
        goal = self._goals[-1]
        if goal_holds(goal, state, self._domain):
            return True, "the goal holds"
        unmet = [
            ("" if literal.positive else "not ") + f"{literal.predicate}({', '.join(literal.arguments)})"
            for literal in unmet_literals(goal, state, self._domain)
        ]
        return False, f"the goal does not hold: {', '.join(unmet) or goal.text}"


def run_episodes(
    episodes: Sequence[Episode],
    runner: EpisodeRunner,
    jobs: int = 1,
    on_record: Callable[[EpisodeRecord], None] = lambda record: None,
) -> list[EpisodeRecord]:
    """Run all episodes, ``jobs`` at a time, and return their records in order; ``on_record`` is told as each ends."""

    def run(episode: Episode) -> EpisodeRecord | None:
        start = time.monotonic()
        try:
            record = runner(episode)
        except InterruptedError:
            return None  # it was stopped: an episode that was not carried out is neither success nor failure
        except Exception as error:  # an episode that breaks is a failed episode, not the end of the evaluation
            record = new_record(episode)
            record.status, record.reason = "broken", f"{type(error).__name__}: {error}"
        record.wall_time = record.wall_time or time.monotonic() - start
        on_record(record)
        return record

    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        return [record for record in pool.map(run, episodes) if record is not None]


def new_record(episode: Episode) -> EpisodeRecord:
    """Return the record of an episode that nothing is known of yet."""
    task = episode.task
    return EpisodeRecord(task.name, task.instruction, bool(task.disturbances), episode.layout, episode.seed)


def rate(records: Sequence[EpisodeRecord]) -> Interval:
    """Return the success rate with Wilson's interval."""
    return wilson(sum(record.success for record in records), len(records))


def summarize(records: Sequence[EpisodeRecord]) -> dict[str, Any]:
    """Return the figures of an evaluation, ready for JSON."""
    step_times = [seconds for record in records for seconds in record.step_times]
    replan_times = [seconds for record in records for seconds in record.replan_times]
    groups: dict[str, list[EpisodeRecord]] = {"all": list(records)}
    for disturbed in (False, True):
        groups["disturbed" if disturbed else "undisturbed"] = [r for r in records if r.disturbed is disturbed]
    names = list(dict.fromkeys(record.task for record in records))
    return {
        "episodes": len(records),
        "instructions": len({record.instruction for record in records}),
        "success": {name: asdict(rate(group)) for name, group in groups.items()},
        "success_by_task": {name: asdict(rate([r for r in records if r.task == name])) for name in names},
        "claimed_but_false": sum(not r.success and r.status in ("succeeded", "already_satisfied") for r in records),
        "planning_time_per_step": asdict(bootstrap(step_times)),
        "planning_time_per_replan": asdict(bootstrap(replan_times)),
        "undisturbed_after_all": sum(record.disturbed and not record.happened for record in records),
        "steps": sum(record.steps for record in records),
        "replans": sum(record.replans for record in records),
        "simulated_time": sum(record.duration for record in records),
        "wall_time": sum(record.wall_time for record in records),
    }


def write_report(path: Path, records: Sequence[EpisodeRecord], settings: dict[str, Any]) -> None:
    """Write settings, figures and all records as JSON, in one step."""
    content = {"settings": settings, "summary": summarize(records), "records": [asdict(record) for record in records]}
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(json.dumps(content, indent=2, ensure_ascii=False).replace("NaN", "null") + "\n")
    temporary.replace(path)
