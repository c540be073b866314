"""Samples of the benchmark: an instruction, what is there, and what is true of a right plan; and their file.

A trajectory gives one sample for each of its annotations. A composed set (``graph-planner bench alfred-compose``) is a
file of samples with a header.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph_planner_ros.benchmarks.alfred.annotation_map import AnnotationMap, Request
from graph_planner_ros.benchmarks.alfred.data import (
    AlfredDataError,
    Fields,
    Trajectory,
    read_trajectories,
)
from graph_planner_ros.domain.files import write_atomically
from graph_planner_ros.domain.json_files import parse_object, read_lines

COMPOSED = "alfred-composed"
FORMAT = 1


@dataclass(frozen=True)
class Sample:
    """One instruction to be understood and planned for.

    Attributes:
        name: trajectory and number of the annotation, or number in a composed set.
        group: task type, or composed type. room: the floor plan.
        instruction: as people wrote it.
        requests: what it asks for, by the annotation.
        objects: class -> how many are there. fixtures: classes of fixed things.
        places: class of a thing -> classes of fixtures where the recorded plan picked things of that class up.
        plan: ground-truth subtasks in ALFRED's names, with classes of the domain; what is passed over is left out.
        parts: names of the trajectories that it is made from.
    """

    name: str
    group: str
    room: str
    instruction: str
    requests: tuple[Request, ...]
    objects: Mapping[str, int]
    fixtures: tuple[str, ...]
    places: Mapping[str, tuple[str, ...]]
    plan: tuple[tuple[str, ...], ...]
    parts: tuple[str, ...] = ()

    @property
    def horizon(self) -> int:
        """Number of subtasks of the ground truth."""
        return len(self.plan)

    @property
    def classes(self) -> tuple[str, ...]:
        """Classes of everything that is there."""
        return (*sorted(self.objects), *self.fixtures)

    def as_json(self) -> dict[str, Any]:
        """Return the sample as plain data, the inverse of `sample_of`."""
        return {
            "kind": "sample",
            "name": self.name,
            "group": self.group,
            "room": self.room,
            "instruction": self.instruction,
            "requests": [
                {"task": item.task, "params": dict(item.params), "sliced": item.sliced} for item in self.requests
            ],
            "objects": [[label, count] for label, count in self.objects.items()],
            "fixtures": list(self.fixtures),
            "places": {label: list(places) for label, places in self.places.items()},
            "plan": [list(step) for step in self.plan],
            "parts": list(self.parts),
        }


def samples_of(trajectory: Trajectory, annotations: AnnotationMap) -> list[Sample]:
    """Return a sample for each annotation of a trajectory.

    Raises:
        AlfredDataError: if its task or classes are not in the map.
    """
    request = Request.of(trajectory)
    annotations.classes(request)
    plan = reference_plan(annotations, trajectory.plan)
    fixtures = present_fixtures(annotations, trajectory)
    places = recorded_places(annotations, trajectory.plan)
    return [
        Sample(
            f"{trajectory.name}/{number}",
            trajectory.task,
            trajectory.room,
            annotation.goal,
            (request,),
            trajectory.objects,
            fixtures,
            places,
            plan,
            (trajectory.name,),
        )
        for number, annotation in enumerate(trajectory.annotations)
    ]


def reference_plan(annotations: AnnotationMap, plan: Iterable[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Return recorded subtasks with classes of the domain, without those that are none here."""
    labels = annotations.labels
    return tuple(
        (step[0], *(labels.get(name.casefold(), name) for name in step[1:] if name))
        for step in plan
        if step[0] not in annotations.passed_over
    )


def recorded_places(annotations: AnnotationMap, plan: Iterable[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return class of a thing -> classes of fixtures where things of it were picked up first, as the plan tells."""
    labels, found = annotations.labels, dict[str, list[str]]()
    picking = {annotations.subtasks[name][0] for name in _picking(annotations)}
    here = ""
    moved: set[str] = set()
    for step in plan:
        name = labels.get(step[1].casefold(), "") if len(step) > 1 else ""
        if step[0] in annotations.passed_over:
            here = name
        elif step[0] == annotations.put_down:
            moved.add(name)
        elif step[0] in picking and name and name not in moved and here and annotations.is_fixed(here):
            found.setdefault(name, []).append(here)
    return {label: tuple(places) for label, places in found.items()}


def _picking(annotations: AnnotationMap) -> list[str]:
    """Return the actions that take a thing into the hand: those that make true what must not be while it is empty."""
    domain = annotations.domain
    held = {domain.relations[name].predicate for name in domain.none_of.values()}
    return [name for name in annotations.subtasks if any(term.predicate in held for term in domain.action(name).added)]


def present_fixtures(annotations: AnnotationMap, trajectory: Trajectory) -> tuple[str, ...]:
    """Return the classes of fixtures that are there: the listed ones, and those that the recorded plan went to.

    Some floor plans' lists lack a fixture that their own task is about.
    """
    found = dict.fromkeys(trajectory.fixtures)
    named = [annotations.labels.get(name.casefold(), "") for step in trajectory.plan for name in step[1:]]
    named += annotations.classes(Request.of(trajectory)).values()
    found.update(dict.fromkeys(name for name in named if name and annotations.is_fixed(name)))
    return tuple(found)


# ---- files


def read_samples(path: Path, annotations: AnnotationMap) -> list[Sample]:
    """Read a file of trajectories or a composed set.

    Raises:
        AlfredDataError: naming the line and the field that is wrong.
    """
    first = next(iter(read_lines(path, AlfredDataError)), b"")
    if first.strip() and parse_object(first, f"{path}, line 1", AlfredDataError).get("kind") == "header":
        return _read_composed(path, annotations)
    return [sample for trajectory in read_trajectories(path) for sample in samples_of(trajectory, annotations)]


def _read_composed(path: Path, annotations: AnnotationMap) -> list[Sample]:
    lines = iter(read_lines(path, AlfredDataError))
    header = parse_object(next(lines), f"{path}, line 1", AlfredDataError)
    if header.get("set") != COMPOSED or header.get("format") != FORMAT:
        raise AlfredDataError(
            f"{path} is no composed set of format {FORMAT}: its header has set {header.get('set')!r} and format "
            f"{header.get('format')!r}"
        )
    found, names = [], set()
    for number, line in enumerate(lines, 2):
        where = f"{path}, line {number}"
        sample = sample_of(parse_object(line, where, AlfredDataError), where)
        for request in sample.requests:
            annotations.classes(request)
        if sample.name in names:
            raise AlfredDataError(f"{where}: the name {sample.name!r} occurs twice")
        names.add(sample.name)
        found.append(sample)
    if len(found) != header.get("samples"):
        raise AlfredDataError(f"{path} holds {len(found)} samples, and its header says {header.get('samples')}")
    return found


def sample_of(content: Mapping[str, Any], where: str) -> Sample:
    """Return a sample from its JSON object.

    Raises:
        AlfredDataError: naming the field that is missing or wrong.
    """
    fields = Fields(content, where)
    places = {
        label: tuple(fields.checked(name, str, f"places.{label}") for name in fields.checked(value, list, "places"))
        for label, value in fields.mapping("places").items()
    }
    return Sample(
        fields.text("name"),
        fields.text("group"),
        fields.text("room"),
        fields.text("instruction"),
        tuple(_request(fields.checked(item, dict, "requests"), where) for item in fields.items("requests")),
        fields.counts("objects"),
        tuple(fields.checked(name, str, "fixtures") for name in fields.items("fixtures")),
        places,
        fields.subtasks("plan"),
        tuple(fields.checked(name, str, "parts") for name in fields.items("parts")),
    )


def _request(content: Mapping[str, Any], where: str) -> Request:
    fields = Fields(content, f"{where}, requests")
    params = {name: fields.checked(value, str, "params") for name, value in fields.mapping("params").items()}
    return Request(fields.text("task"), params, fields.checked(fields.get("sliced"), bool, "sliced"))


def write_samples(path: Path, samples: Sequence[Sample], about: Mapping[str, Any]) -> None:
    """Write a composed set with its header, all or nothing; ``about``: seed, data hash, command and the like."""
    header = {"kind": "header", "set": COMPOSED, "format": FORMAT, "samples": len(samples), **about}
    lines = [header, *(sample.as_json() for sample in samples)]
    write_atomically(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
