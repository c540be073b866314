"""ALFRED's trajectories, one JSON object a line: what people asked for, what was there, and what was done.

Fields: ``id``, ``task_type``, ``floor_plan``, ``params`` (``object_target``, ``parent_target``, ``mrecep_target``,
``toggle_target``, ``object_sliced``), ``plan`` (the recorded high-level subtasks), ``objects`` (classes of movable
things with counts), ``fixtures`` (classes of fixed things), ``annotations`` (``goal``, ``steps``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph_planner_ros.domain.json_files import parse_object, read_lines

SUFFIXES = (".jsonl.gz", ".jsonl")


class AlfredDataError(ValueError):
    """Data that cannot be read; the message names file, line, field, and what was expected."""


@dataclass(frozen=True)
class Annotation:
    """What one person wrote: the goal in a sentence, and the steps to it."""

    goal: str
    steps: tuple[str, ...]


@dataclass(frozen=True)
class Trajectory:
    """A recorded task.

    Attributes:
        name: ALFRED's id. task: its type. room: the floor plan.
        params: parameter -> class; empty where the task has none. sliced: the target is to be sliced.
        plan: recorded subtasks: name, then classes in small letters.
        objects: class -> how many are there. fixtures: classes of fixed things.
        annotations: one for each person.
    """

    name: str
    task: str
    room: str
    params: Mapping[str, str]
    sliced: bool
    plan: tuple[tuple[str, ...], ...]
    objects: Mapping[str, int]
    fixtures: tuple[str, ...]
    annotations: tuple[Annotation, ...]


def data_file(data: Path, split: str) -> Path:
    """Return the file of a split: ``data`` itself, or ``<split>.jsonl.gz`` or ``<split>.jsonl`` in that folder.

    Raises:
        AlfredDataError: if there is no such file.
    """
    if data.is_dir():
        found = next((path for suffix in SUFFIXES if (path := data / f"{split}{suffix}").is_file()), None)
        if found is None:
            raise AlfredDataError(f"{data} has no {split}{SUFFIXES[0]} and no {split}{SUFFIXES[1]}")
        return found
    if not data.is_file():
        raise AlfredDataError(f"{data} does not exist: expected a file of trajectories, or a folder of them")
    return data


def file_hash(path: Path) -> str:
    """Return 16 hexadecimal digits of the SHA-256 of what a file holds, unpacked."""
    digest = hashlib.sha256()
    for line in read_lines(path, AlfredDataError):
        digest.update(line)
    return digest.hexdigest()[:16]


def read_trajectories(path: Path) -> list[Trajectory]:
    """Read all trajectories of a file.

    Raises:
        AlfredDataError: naming the line and the field that is wrong; if the file holds none.
    """
    found: list[Trajectory] = []
    names: set[str] = set()
    for number, line in enumerate(read_lines(path, AlfredDataError), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        trajectory = trajectory_of(parse_object(line, where, AlfredDataError), where)
        if trajectory.name in names:
            raise AlfredDataError(f"{where}: the id {trajectory.name!r} occurs twice")
        names.add(trajectory.name)
        found.append(trajectory)
    if not found:
        raise AlfredDataError(f"{path} holds no trajectories")
    return found


def trajectory_of(content: Mapping[str, Any], where: str) -> Trajectory:
    """Return a trajectory from its JSON object.

    Raises:
        AlfredDataError: naming the field that is missing or wrong.
    """
    fields = Fields(content, where)
    params = fields.mapping("params")
    sliced = params.get("object_sliced", False)
    if not isinstance(sliced, bool):
        raise AlfredDataError(f"{where}: params.object_sliced must be true or false, not {sliced!r}")
    return Trajectory(
        fields.text("id"),
        fields.text("task_type"),
        fields.text("floor_plan"),
        {name: fields.checked(value, str, f"params.{name}") for name, value in params.items() if name != _SLICED},
        sliced,
        fields.subtasks("plan"),
        fields.counts("objects"),
        tuple(fields.checked(name, str, "fixtures") for name in fields.items("fixtures")),
        tuple(_annotation(item, where) for item in fields.items("annotations")),
    )


_SLICED = "object_sliced"


def _annotation(content: Any, where: str) -> Annotation:
    if not isinstance(content, Mapping):
        raise AlfredDataError(f"{where}: annotations must be objects with goal and steps, not {content!r}")
    fields = Fields(content, f"{where}, annotations")
    steps = fields.items("steps") if "steps" in content else []
    return Annotation(fields.text("goal"), tuple(fields.checked(step, str, "steps") for step in steps))


class Fields:
    """The fields of a JSON object, checked.

    Args:
        content: the object. where: of which file and line, for messages.
    """

    def __init__(self, content: Mapping[str, Any], where: str) -> None:
        self._content = content
        self._where = where

    def get(self, name: str) -> Any:
        """Return a field that must be there."""
        if name not in self._content:
            raise AlfredDataError(f"{self._where}: the field {name!r} is missing")
        return self._content[name]

    def checked(self, value: Any, kind: type[Any], name: str) -> Any:
        """Return a value that must be of a kind."""
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise AlfredDataError(f"{self._where}: {name} must be {_KINDS[kind]}, not {value!r}")
        return value

    def text(self, name: str) -> str:
        """Return a text that is not empty."""
        value: str = self.checked(self.get(name), str, name)
        if not value.strip():
            raise AlfredDataError(f"{self._where}: {name} is empty")
        return value

    def number(self, name: str) -> int:
        """Return a whole number."""
        value: int = self.checked(self.get(name), int, name)
        return value

    def items(self, name: str) -> list[Any]:
        """Return a list."""
        value: list[Any] = self.checked(self.get(name), list, name)
        return value

    def mapping(self, name: str) -> dict[str, Any]:
        """Return an object."""
        value: dict[str, Any] = self.checked(self.get(name), dict, name)
        return value

    def subtasks(self, name: str) -> tuple[tuple[str, ...], ...]:
        """Return a list of subtasks: lists of texts, the name first."""
        found = []
        for item in self.items(name):
            row = self.checked(item, list, name)
            if not row or not row[0]:
                raise AlfredDataError(f"{self._where}: {name} holds a subtask without a name")
            found.append(tuple(self.checked(text, str, name) for text in row))
        return tuple(found)

    def counts(self, name: str) -> dict[str, int]:
        """Return class -> how many, from a list of pairs."""
        found: dict[str, int] = {}
        for item in self.items(name):
            if not isinstance(item, list) or len(item) != 2:
                raise AlfredDataError(f"{self._where}: {name} must be pairs of class and count, not {item!r}")
            label, count = self.checked(item[0], str, name), self.checked(item[1], int, name)
            if count < 1:
                raise AlfredDataError(f"{self._where}: {name}: the count of {label} must be 1 or more, not {count}")
            found[label] = found.get(label, 0) + count
        return found


_KINDS: dict[type[Any], str] = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}
