"""Examples to learn from, and their files: JSON lines with a header that says where they come from.

Two sets: ``plans`` (an instruction, what is there, a reference plan; for `sft` and `grpo`) and ``language`` (a text of
a world and what it means; for `sft`).
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graph_planner_ros.domain.files import write_atomically
from graph_planner_ros.domain.json_files import kind_of, parse_object, read_lines
from graph_planner_ros.planning.rewards import KEY
from graph_planner_ros.planning.task_graph import Subtask
from graph_planner_ros.training.errors import TrainingError

PLANS, LANGUAGE = "plans", "language"
FORMAT = 1
Turn = Mapping[str, str]
"""``role`` and ``content``, as chat templates take them."""


@dataclass(frozen=True)
class PlanTask:
    """What the rewards of an answer are computed from.

    Attributes:
        reference: the ground-truth plan. key_subtasks: of the reference, see `rewards.find_key_subtasks`.
        environment: meta-class -> names of what is there.
    """

    reference: tuple[Subtask, ...]
    key_subtasks: tuple[Subtask, ...]
    environment: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Example:
    """One thing to learn.

    Attributes:
        name: unique in its file. kind: task type, or what is asked. origins: what examples must not share that are
            trained on and held out (trajectories, games).
        prompt: the conversation so far. answer: what is right to say next. task: of a plan; None in other sets.
    """

    name: str
    kind: str
    origins: tuple[str, ...]
    prompt: tuple[Turn, ...]
    answer: str
    task: PlanTask | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the example as plain data, the inverse of `example_of`."""
        plain: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "origins": list(self.origins),
            "prompt": [dict(turn) for turn in self.prompt],
            "answer": self.answer,
        }
        if self.task is not None:
            plain |= {
                "reference": plain_plan(self.task.reference),
                "key_subtasks": plain_plan(self.task.key_subtasks),
                "environment": {name: list(names) for name, names in self.task.environment.items()},
            }
        return plain


@dataclass
class ExampleSet:
    """A file of examples: which set, what its header says beside, and the SHA-256 of the file (16 digits)."""

    name: str
    examples: list[Example]
    about: dict[str, Any] = field(default_factory=dict)
    digest: str = ""


def plain_plan(plan: Iterable[Subtask]) -> list[list[str]]:
    """Return a plan as it stands in an answer: lists of an action and its arguments."""
    return [[subtask.action, *subtask.arguments] for subtask in plan]


def answer_text(plan: Iterable[Subtask], thought: str = "", key: str = KEY) -> str:
    """Return the answer that gives a plan, with the full format reward."""
    return f"<think>{thought}</think><answer>{json.dumps({key: plain_plan(plan)})}</answer>"


def write_examples(path: Path, content: ExampleSet) -> None:
    """Write a set, all or nothing."""
    header = {
        "kind": "header",
        "set": content.name,
        "format": FORMAT,
        "examples": len(content.examples),
        **content.about,
    }
    lines = [header, *(example.as_json() for example in content.examples)]
    write_atomically(path, "".join(json.dumps(line, ensure_ascii=True) + "\n" for line in lines))


def read_examples(path: Path) -> ExampleSet:
    """Read a set.

    Raises:
        TrainingError: naming the line and what is wrong with it.
    """
    lines = list(read_lines(path, TrainingError))
    header = parse_object(lines[0] if lines else b"", f"{path}, line 1", TrainingError)
    name = header.pop("set", None)
    if header.pop("kind", None) != "header" or name not in (PLANS, LANGUAGE) or header.pop("format", None) != FORMAT:
        raise TrainingError(f"{path} is no file of examples of format {FORMAT}: `graph-planner train data` makes them")
    examples: dict[str, Example] = {}
    for number, line in enumerate(lines[1:], 2):
        where = f"{path}, line {number}"
        example = example_of(parse_object(line, where, TrainingError), where)
        if example.name in examples:
            raise TrainingError(f"{where}: the name {example.name!r} occurs twice")
        if (example.task is None) != (name == LANGUAGE):
            raise TrainingError(f"{where}: expected {'no ' if name == LANGUAGE else ''}reference in a set of {name}")
        examples[example.name] = example
    expected = header.pop("examples", None)
    if len(examples) != expected or not examples:
        raise TrainingError(f"{path} holds {len(examples)} examples, and its header says {expected}")
    return ExampleSet(name, list(examples.values()), header, hashlib.sha256(b"".join(lines)).hexdigest()[:16])


def example_of(content: Mapping[str, Any], where: str) -> Example:
    """Return an example from its JSON object.

    Raises:
        TrainingError: naming the field that is missing or wrong.
    """
    prompt = _get(content, "prompt", list, where)
    if not prompt or not all(
        isinstance(turn, dict) and set(turn) == {"role", "content"} and all(isinstance(v, str) for v in turn.values())
        for turn in prompt
    ):
        raise TrainingError(f"{where}: prompt: expected turns with role and content")
    origins = _get(content, "origins", list, where)
    task = None
    if "reference" in content:
        environment = _get(content, "environment", dict, where)
        task = PlanTask(
            read_plan(_get(content, "reference", list, where), f"{where}: reference"),
            read_plan(_get(content, "key_subtasks", list, where), f"{where}: key_subtasks"),
            {str(name): tuple(map(str, names)) for name, names in environment.items()},
        )
        if not task.reference:
            raise TrainingError(f"{where}: reference: expected at least one subtask")
    return Example(
        _get(content, "name", str, where),
        _get(content, "kind", str, where),
        tuple(str(origin) for origin in origins),
        tuple(prompt),
        _get(content, "answer", str, where),
        task,
    )


def _get(content: Mapping[str, Any], name: str, kind: type, where: str) -> Any:
    if not isinstance(content.get(name), kind):
        found = kind_of(content[name]) if name in content else "nothing"
        raise TrainingError(f"{where}: {name}: expected {kind_of(kind())}, found {found}")
    return content[name]


def read_plan(items: Sequence[Any], where: str) -> tuple[Subtask, ...]:
    """Return a plan from lists of an action and its arguments.

    Raises:
        TrainingError: if an item is none.
    """
    for item in items:
        if not isinstance(item, list) or not item or not all(isinstance(name, str) for name in item):
            raise TrainingError(f"{where}: expected lists of an action and its arguments, found {item!r}")
    return tuple(Subtask(item[0], tuple(item[1:])) for item in items)


def split(examples: Sequence[Example], held_out: int, limit: int, seed: int) -> tuple[list[Example], list[Example]]:
    """Return examples to train on and examples held out, which share no origin and no prompt with them.

    Args:
        held_out: how many to hold out. limit: at most so many to train on; 0: all. seed: of the draw.

    Raises:
        TrainingError: if nothing would be left to train on.
    """
    order = list(examples)
    random.Random(seed).shuffle(order)
    kept = order[:held_out]
    origins = {origin for example in kept for origin in example.origins}
    prompts = {_prompt_key(example) for example in kept}
    learned = [
        example
        for example in order[held_out:]
        if origins.isdisjoint(example.origins) and _prompt_key(example) not in prompts
    ]
    learned = learned[:limit] if limit else learned
    if not learned:
        raise TrainingError(f"{len(examples)} examples are too few to hold out {held_out} and to train on others")
    return learned, kept


def _prompt_key(example: Example) -> str:
    return json.dumps([turn["content"].casefold() for turn in example.prompt])
