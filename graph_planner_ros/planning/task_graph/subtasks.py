"""Subtasks: the actions that plans in words are made of, with the arguments that are said of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import Parameter
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.planning.result import PlannedStep


@dataclass(frozen=True, order=True)
class Subtask:
    """A subtask, e.g. ``put(Mug, Fridge)``; each argument is an instance id or the name of a class.

    ``arguments`` are those that the domain's YAML lists for the action under ``task_graph``.
    """

    action: str
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.action}({', '.join(self.arguments)})"


@lru_cache(maxsize=32)
def said_parameters(domain: Domain) -> Mapping[str, tuple[Parameter, ...]]:
    """Return subtask -> the parameters that are said of it.

    A domain without a section ``task_graph`` has every action that a skill carries out, except moves, looking for
    things, and the end of what goes on by itself; all parameters are said.
    """
    section = domain.raw.get("task_graph") or {}
    if "subtasks" in section:
        return {name: _named(domain, name, names or ()) for name, names in section["subtasks"].items()}
    knowing = _knowing(domain)
    looking = {domain.skills[domain.hypotheses.action].skill} if domain.hypotheses is not None else set()
    return {
        name: schema.parameters
        for name, schema in domain.planned_actions.items()
        if name in domain.skills
        and name not in domain.delays
        and domain.skills[name].skill not in looking
        and domain.location not in {term.predicate for term in schema.added}
        and {term.predicate for term in (*schema.added, *schema.deleted)} - knowing
    }


@lru_cache(maxsize=32)
def implied_parameters(domain: Domain) -> Mapping[str, tuple[Parameter, ...]]:
    """Return the actions that the executor does by itself between subtasks -> the parameters that are said of them."""
    section = domain.raw.get("task_graph") or {}
    if "implied" in section:
        return {name: _named(domain, name, names or ()) for name, names in section["implied"].items()}
    subtasks = said_parameters(domain)
    return {name: schema.parameters for name, schema in domain.planned_actions.items() if name not in subtasks}


def subtasks_of(
    domain: Domain, steps: Iterable[GroundAction | PlannedStep], labels: Mapping[str, str]
) -> tuple[Subtask, ...]:
    """Return the subtasks of a plan.

    Args:
        steps: actions of the domain; those that are implied are left out.
        labels: instance id, or placeholder -> class; other arguments stay as they are.
    """
    said = said_parameters(domain)
    found = []
    for step in steps:
        action = step.action if isinstance(step, PlannedStep) else step
        if action.name not in said:
            continue
        names = [parameter.name for parameter in domain.action(action.name).parameters]
        values = dict(zip(names, action.arguments, strict=True))
        arguments = (values[parameter.name] for parameter in said[action.name])
        found.append(Subtask(action.name, tuple(labels.get(value, value) for value in arguments)))
    return tuple(found)


def _named(domain: Domain, action: str, names: Iterable[str]) -> tuple[Parameter, ...]:
    types = dict(domain.action(action).parameters)
    return tuple(Parameter(name, types[name]) for name in names)


def _knowing(domain: Domain) -> set[str]:
    """Return the predicates of where the robot is and what it knows, which no subtask is about."""
    symbols = domain.hypotheses
    known = {symbols.found, symbols.refuted, symbols.candidate} if symbols is not None else set()
    return known | ({domain.location} if domain.location is not None else set())
