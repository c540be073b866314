"""What ALFRED's annotations mean in the planning domain: ``config/benchmarks/alfred.yaml``, read and checked.

Goals are conjunctions of the conditions by which ALFRED's environment judges a task. Nothing of it is in Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from graph_planner_ros.benchmarks.alfred.data import AlfredDataError, Trajectory
from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.paths import find_config
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable
from graph_planner_ros.domain.yaml_files import read_yaml

FILE = Path("benchmarks") / "alfred.yaml"
OBJECT = "object_target"
"""The parameter that names what the task is about; ``object_sliced`` is about it."""
_LITERAL = re.compile(r"(not )?(\w+)\(([\w, ]*)\)")


@dataclass(frozen=True)
class TaskType:
    """The conditions of a task type: variable -> parameter, literals over the variables, and what differs."""

    name: str
    short: str
    things: Mapping[str, str]
    literals: tuple[GoalLiteral, ...]
    distinct: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Request:
    """What is asked for, by the annotation: a task type and its parameters, as in a trajectory."""

    task: str
    params: Mapping[str, str]
    sliced: bool = False

    @staticmethod
    def of(trajectory: Trajectory) -> Request:
        """Return what a trajectory's people were to ask for."""
        return Request(trajectory.task, dict(trajectory.params), trajectory.sliced)


@dataclass(frozen=True)
class AnnotationMap:
    """The file, read.

    Attributes:
        domain: whose symbols it uses. tasks: by name. sliced: literals for each thing that is to be sliced.
        subtasks: action -> (ALFRED's name, parameters whose classes it names).
        passed_over: recorded subtasks that are none here. put_down: the subtask whose place may be anybody's choice.
        once: predicates of which one goal can have one literal. connectives: between goals of one instruction.
    """

    domain: Domain
    tasks: Mapping[str, TaskType]
    sliced: tuple[GoalLiteral, ...]
    subtasks: Mapping[str, tuple[str, tuple[str, ...]]]
    passed_over: frozenset[str]
    put_down: str
    once: frozenset[str]
    connectives: tuple[str, ...]

    @cached_property
    def labels(self) -> dict[str, str]:
        """Class in small letters -> class of the domain: recorded plans have no capitals."""
        return {name.casefold(): name for name in self.domain.classes}

    def goal(self, requests: Sequence[Request], text: str = "") -> Goal:
        """Return the condition that all requests together put on the end; things of one class are different things.

        Raises:
            AlfredDataError: naming the task type, parameter or class that the map or the domain does not have.
        """
        variables: list[GoalVariable] = []
        literals: list[GoalLiteral] = []
        distinct: list[tuple[str, ...]] = []
        for number, request in enumerate(requests):
            task = self.task(request.task)
            called = {name: f"?{name}{number or ''}" for name in task.things}
            classes = self.classes(request)
            for name, label in classes.items():
                variables.append(GoalVariable(called[name], self.domain.class_of(label).type_name, label))
            literals += [_renamed(literal, called) for literal in task.literals]
            if request.sliced:
                targets = [name for name, parameter in task.things.items() if parameter == OBJECT]
                literals += [_renamed(item, {"i": called[name]}) for name in targets for item in self.sliced]
            distinct += [tuple(called[name] for name in group) for group in task.distinct]
        return Goal(tuple(variables), tuple(literals), tuple(distinct), text)

    def task(self, name: str) -> TaskType:
        """Return a task type.

        Raises:
            AlfredDataError: if the map has none of that name.
        """
        if name not in self.tasks:
            raise AlfredDataError(f"the task type {name!r} is not among {', '.join(self.tasks)}")
        return self.tasks[name]

    def classes(self, request: Request) -> dict[str, str]:
        """Return variable -> class of the domain.

        Raises:
            AlfredDataError: if a parameter is missing or empty, or the domain lacks its class.
        """
        found = {}
        for name, parameter in self.task(request.task).things.items():
            label = request.params.get(parameter, "")
            if label not in self.domain.classes:
                what = f"the class {label!r}, which the domain {self.domain.name!r} does not have" if label else "none"
                raise AlfredDataError(f"{request.task}: expected a class as {parameter}, found {what}")
            found[name] = label
        return found

    def is_fixed(self, label: str) -> bool:
        """Return whether things of a class of the domain stay where they are."""
        hypotheses = self.domain.hypotheses
        assert hypotheses is not None
        return not self.domain.is_a(self.domain.class_of(label).type_name, hypotheses.item_type)


def _renamed(literal: GoalLiteral, called: Mapping[str, str]) -> GoalLiteral:
    return GoalLiteral(literal.predicate, tuple(called[name] for name in literal.arguments), literal.positive)


def load_map(path: Path | None = None) -> AnnotationMap:
    """Read the map; the package's own, if no path is given.

    Raises:
        AlfredDataError: naming the entry that is wrong.
    """
    path = path or find_config(FILE)
    raw = read_yaml(path, AlfredDataError)
    try:
        return _read(raw)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise AlfredDataError(f"{path}: {error!r}") from None


def _read(raw: Mapping[str, Any]) -> AnnotationMap:
    domain = load_domain(raw["domain"])
    tasks = {}
    for name, entry in raw["tasks"].items():
        distinct = tuple(tuple(group) for group in entry.get("distinct", ()))
        literals = tuple(_literals(domain, entry["literals"], entry["things"]))
        tasks[name] = TaskType(name, entry["short"], dict(entry["things"]), literals, distinct)
    subtasks = {}
    for name, actions in raw["subtasks"].items():
        for action, arguments in actions.items():
            parameters = {parameter.name for parameter in domain.action(action).parameters}
            if wrong := set(arguments) - parameters:
                raise ValueError(f"subtasks.{name}.{action}: the action has no parameter {', '.join(sorted(wrong))}")
            subtasks[action] = (str(name), tuple(arguments))
    return AnnotationMap(
        domain,
        tasks,
        tuple(_literals(domain, raw["sliced"], ("i",))),
        subtasks,
        frozenset(raw["passed_over"]),
        str(raw["put_down"]),
        frozenset(raw["once"]),
        tuple(raw["connectives"]),
    )


def _literals(domain: Domain, texts: Iterable[str], names: Iterable[str]) -> list[GoalLiteral]:
    found = []
    for text in texts:
        match = _LITERAL.fullmatch(text)
        arguments = tuple(part.strip() for part in match[3].split(",")) if match else ()
        if match is None or match[2] not in domain.predicates or not set(arguments) <= set(names):
            raise ValueError(f"{text!r} is no literal of the domain over {', '.join(names)}")
        if len(arguments) != domain.predicates[match[2]].arity:
            raise ValueError(f"{text!r}: {match[2]} takes {domain.predicates[match[2]].arity} arguments")
        found.append(GoalLiteral(match[2], arguments, match[1] is None))
    return found
