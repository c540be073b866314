"""Verification on the level of subtasks: do the things exist in their meta-class, and are the transitions edges?

GraphThink III-A4. What these checks let pass is still executed symbolically, see `refinement`.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import Parameter
from graph_planner_ros.domain.symbols import SymbolicState
from graph_planner_ros.planning.task_graph.edges import required_facts
from graph_planner_ros.planning.task_graph.graph import TaskGraph
from graph_planner_ros.planning.task_graph.subtasks import Subtask, implied_parameters, said_parameters

_SHOWN = 8
"""Most names in a message."""


class ObjectionKind(enum.Enum):
    """NODE: the subtask itself cannot be. EDGE: it cannot come after the one before it."""

    NODE = "node"
    EDGE = "edge"


@dataclass(frozen=True)
class Objection:
    """Why a step of a plan cannot be.

    Attributes:
        index: of the subtask, from 0. allowed: what would do there instead, subtasks or names of things.
    """

    index: int
    subtask: Subtask
    kind: ObjectionKind
    reason: str
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True)
class KnownThings:
    """What there is, for the node check.

    Attributes:
        labels: instance id (or placeholder) -> class.
    """

    domain: Domain
    labels: Mapping[str, str]

    @staticmethod
    def of(domain: Domain, state: SymbolicState) -> KnownThings:
        """Return what a state knows, placeholders of hypotheses included."""
        labels = {
            atom.arguments[0]: atom.arguments[1] for atom in state.atoms if atom.predicate == domain.class_predicate
        }
        return KnownThings(domain, labels)

    def instances(self, name: str) -> tuple[str, ...]:
        """Return the things that a name stands for: one instance, or all of a class; nothing if there is none."""
        if name in self.labels:
            return (name,)
        return tuple(sorted(instance for instance, label in self.labels.items() if label == name))

    def fitting(self, action: str, parameter: Parameter) -> tuple[str, ...]:
        """Return the classes of present things that an argument of a subtask may be of."""
        return tuple(
            sorted({label for label in self.labels.values() if not unfit(self.domain, action, parameter, label)})
        )


@lru_cache(maxsize=65536)
def unfit(domain: Domain, action: str, parameter: Parameter, label: str) -> str:
    """Return why things of a class cannot be an argument of an action; empty if they can."""
    entry = domain.classes.get(label)
    if entry is None:
        return f"there is no class {label!r}"
    if not domain.is_a(entry.type_name, parameter.type_name):
        return f"{label} is a {entry.type_name}, and {action} needs a {parameter.type_name} there"
    lacking = [fact for fact in required_facts(domain, action, parameter.name) if fact not in entry.facts]
    return f"{label} is not {', '.join(lacking)}, and {action} needs that" if lacking else ""


def check_nodes(graph: TaskGraph, subtasks: Sequence[Subtask], known: KnownThings) -> list[Objection]:
    """Return an objection for every subtask that is no node, or whose things are not there or do not fit."""
    found = []
    for index, subtask in enumerate(subtasks):
        reason, allowed = _node_problem(graph, subtask, known)
        if reason:
            found.append(Objection(index, subtask, ObjectionKind.NODE, reason, allowed))
    return found


def check_edges(graph: TaskGraph, subtasks: Sequence[Subtask]) -> list[Objection]:
    """Return an objection for every pair of neighbours that is no edge; what is implied may stand anywhere."""
    implied = implied_parameters(graph.domain)
    found = []
    before: Subtask | None = None
    for index, subtask in enumerate(subtasks):
        if subtask.action in implied:
            continue
        if before is not None:
            reason = graph.why_not(before.action, subtask.action)
            if reason:
                allowed = graph.successors(before.action)
                found.append(Objection(index, subtask, ObjectionKind.EDGE, f"{before} -> {subtask}: {reason}", allowed))
        before = subtask
    return found


def parameters_of(domain: Domain, action: str) -> tuple[Parameter, ...] | None:
    """Return what is said of a subtask or an implied action; None if it is neither."""
    said = said_parameters(domain).get(action)
    return said if said is not None else implied_parameters(domain).get(action)


def _node_problem(graph: TaskGraph, subtask: Subtask, known: KnownThings) -> tuple[str, tuple[str, ...]]:
    parameters = parameters_of(graph.domain, subtask.action)
    if parameters is None:
        return f"there is no subtask {subtask.action!r}", tuple(graph.by_action)
    if len(parameters) != len(subtask.arguments):
        expected = ", ".join(parameter.name for parameter in parameters)
        reason = f"{subtask.action} takes {len(parameters)} arguments ({expected}), not {len(subtask.arguments)}"
        return reason, ()
    for parameter, name in zip(parameters, subtask.arguments, strict=True):
        instances = known.instances(name)
        fitting = known.fitting(subtask.action, parameter)
        if not instances:
            return f"there is no {name!r} here, for {subtask}", _shown(fitting)
        problems = {unfit(graph.domain, subtask.action, parameter, known.labels[instance]) for instance in instances}
        if "" not in problems:
            return f"{subtask}: {min(problems)}", _shown(fitting)
    return "", ()


def _shown(names: Collection[str]) -> tuple[str, ...]:
    return tuple(names)[:_SHOWN]
