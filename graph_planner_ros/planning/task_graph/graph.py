"""The task graph: which subtask can come after which, and why, from the domain alone (GraphThink III-A1)."""

from __future__ import annotations

import enum
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.planning.task_graph.edges import help_of, may_start, obstacle_between, required_facts
from graph_planner_ros.planning.task_graph.subtasks import said_parameters


class EdgeKind(enum.Enum):
    """HELPS: the first makes something true that the second needs. NEUTRAL: it only does not stand in its way."""

    HELPS = "helps"
    NEUTRAL = "neutral"


@dataclass(frozen=True)
class NodeParameter:
    """A parameter that is said of a subtask, with the meta-classes of the things that fit it."""

    name: str
    type_name: str
    meta_classes: tuple[str, ...]


@dataclass(frozen=True)
class SubtaskNode:
    """A subtask with its label in prompts (``A``, ``B``, ...)."""

    label: str
    action: str
    parameters: tuple[NodeParameter, ...]

    @property
    def text(self) -> str:
        """The node as prompts write it, e.g. ``[A] pick_up(obj|mov)``."""
        said = ", ".join("|".join(parameter.meta_classes) or parameter.type_name for parameter in self.parameters)
        return f"[{self.label}] {self.action}({said})"


@dataclass(frozen=True)
class Edge:
    """``target`` can come directly after ``source``, for the reason."""

    source: str
    target: str
    reason: str
    kind: EdgeKind


@dataclass(frozen=True)
class TaskGraph:
    """A directed graph of subtasks.

    Attributes:
        domain: that it was made from. nodes: in the order of the domain.
        edges: (source, target) -> edge, by names of actions.
        missing: (source, target) -> why there is no edge. starts: subtasks that may come first with an empty history.
    """

    domain: Domain
    nodes: tuple[SubtaskNode, ...]
    edges: Mapping[tuple[str, str], Edge]
    missing: Mapping[tuple[str, str], str]
    starts: tuple[str, ...] = ()
    by_action: Mapping[str, SubtaskNode] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_action", {node.action: node for node in self.nodes})

    @staticmethod
    def of(domain: Domain) -> TaskGraph:
        """Return the task graph of a domain."""
        return _build(domain)

    def successors(self, action: str) -> tuple[str, ...]:
        """Return the subtasks that may come directly after one, in the order of the nodes."""
        return tuple(node.action for node in self.nodes if (action, node.action) in self.edges)

    def why_not(self, source: str, target: str) -> str:
        """Return why ``target`` cannot come directly after ``source``; empty if it can."""
        for name in (source, target):
            if name not in self.by_action:
                return f"{name} is no subtask; there are: {', '.join(self.by_action)}"
        return "" if (source, target) in self.edges else self.missing.get((source, target), "there is no such edge")

    def without(self, pairs: Iterable[tuple[str, str]], reason: str) -> TaskGraph:
        """Return the graph with some edges taken out; pairs that are no edges change nothing."""
        removed = {pair for pair in pairs if pair in self.edges}
        edges = {pair: edge for pair, edge in self.edges.items() if pair not in removed}
        return replace(self, edges=edges, missing={**self.missing, **dict.fromkeys(removed, reason)})

    def to_json(self) -> str:
        """Return the graph as JSON; `from_json` reads it."""
        from graph_planner_ros.planning.task_graph.exports import as_json

        return as_json(self)

    @staticmethod
    def from_json(text: str, domain: Domain) -> TaskGraph:
        """Read a graph that `to_json` wrote, e.g. one from which a semantic check has taken edges out.

        Raises:
            ValueError: if it is no such graph, is of another domain, or has an edge that the domain does not allow.
        """
        from graph_planner_ros.planning.task_graph.exports import from_json

        return from_json(text, domain)

    def to_dot(self) -> str:
        """Return the graph in the language of Graphviz."""
        from graph_planner_ros.planning.task_graph.exports import as_dot

        return as_dot(self)

    def to_svg(self) -> str:
        """Return a picture of the graph; nothing but this package is needed for it."""
        from graph_planner_ros.planning.task_graph.drawing import as_svg

        return as_svg(self)


@lru_cache(maxsize=16)
def _build(domain: Domain) -> TaskGraph:
    said = said_parameters(domain)
    order = [name for name in domain.actions if name in said]
    nodes = tuple(
        SubtaskNode(
            _label(index),
            name,
            tuple(
                NodeParameter(parameter.name, parameter.type_name, _meta_classes(domain, name, *parameter))
                for parameter in said[name]
            ),
        )
        for index, name in enumerate(order)
    )
    edges: dict[tuple[str, str], Edge] = {}
    missing: dict[tuple[str, str], str] = {}
    for source in order:
        for target in order:
            obstacle = obstacle_between(domain, source, target)
            if obstacle:
                missing[source, target] = obstacle
                continue
            helps = help_of(domain, source, target)
            kind = EdgeKind.HELPS if helps else EdgeKind.NEUTRAL
            reason = helps or f"what {source} changes does not stand in the way of {target}"
            edges[source, target] = Edge(source, target, reason, kind)
    return TaskGraph(domain, nodes, edges, missing, tuple(name for name in order if may_start(domain, name)))


def _label(index: int) -> str:
    letters = string.ascii_uppercase
    return letters[index] if index < len(letters) else f"{letters[index % 26]}{index // 26}"


def _meta_classes(domain: Domain, action: str, parameter: str, type_name: str) -> tuple[str, ...]:
    needed = set(required_facts(domain, action, parameter))
    found = {
        entry.meta
        for entry in domain.classes.values()
        if domain.is_a(entry.type_name, type_name) and needed <= set(entry.facts)
    }
    return tuple(meta for meta in ("obj", "mov", "rec", "spec") if meta in found)
