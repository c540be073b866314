"""Scene graphs as numbers: what the graph encoder reads, and nothing that only names, orders or dates things.

A node is what it is called, what is true of it and whether it is believed to be there; an edge is a relation with its
truth. Both are *kinds*: nodes that differ only in name, place or stamp are of one kind and share one row of a table.
So nothing depends on instance names, on order, on stamps, on confidences or on coordinates (text worlds have none).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.memory.sentences import TEXT_DIMENSION, SentenceEncoder, spoken
from graph_planner_ros.scene.graph import ROBOT_ID, Presence, SceneGraph, SceneNode

FORMAT = 1
"""Grows with every change of what stands below: encoders of other formats are refused."""

NodeKind = tuple[str, tuple[tuple[str, int], ...], int, bool]
"""Words of its class; attributes that are known, in words, with +1 (true) or -1 (false); presence; is the robot."""
EdgeKind = tuple[str, int, int]
"""Words of the relation; +1 true, -1 false, 0 unknown; `FORWARD`, `BACKWARD` or `SELF`."""

Kind = TypeVar("Kind")

FORWARD, BACKWARD, SELF = 0, 1, 2
"""An edge from subject to object, the same one back, and from a node to itself."""
_PRESENCES = tuple(Presence)
NODE_DIMENSION = 2 * TEXT_DIMENSION + len(_PRESENCES) + 1
"""Of a row for a node: class, sum of signed attributes, presence (one of three), robot."""
EDGE_DIMENSION = TEXT_DIMENSION + 3 + 3
"""Of a row for an edge: signed relation, truth (one of three), direction (one of three)."""
_SIGNS = {Truth.TRUE: 1, Truth.FALSE: -1, Truth.UNKNOWN: 0}
_MAX_CACHED = 20_000
"""Rows that are kept (100 MB)."""


@dataclass(frozen=True)
class SceneStructure:
    """A scene without names: the kind of each node and, for each edge, source, target and kind."""

    nodes: tuple[NodeKind, ...]
    edges: tuple[tuple[int, int, EdgeKind], ...]


@dataclass(frozen=True)
class FeatureBatch:
    """Several scenes as one graph without edges between them.

    Attributes:
        node_table: (kinds, NODE_DIMENSION). node_kind: (nodes,), row of the table.
        edge_table: (kinds, EDGE_DIMENSION). edge_kind: (edges,). source, target: (edges,), nodes.
        graph: (nodes,), number of the scene, growing. graphs: number of scenes.
    """

    node_table: NDArray[np.float32]
    node_kind: NDArray[np.int64]
    edge_table: NDArray[np.float32]
    edge_kind: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    graph: NDArray[np.int64]
    graphs: int


def structure_of(scene: SceneGraph) -> SceneStructure:
    """Return what the encoder reads of a scene.

    The robot is a node even if the scene lists none; an end of a relation that is not listed is one without a class.
    Every node has an edge to itself.

    Raises:
        ValueError: a class, an attribute or a relation is not called by a text, or is not true, false or unknown.
    """
    names = {name: number for number, name in enumerate(scene.nodes)}
    nodes = [_node_kind(name, node) for name, node in scene.nodes.items()]
    if ROBOT_ID not in names:
        names[ROBOT_ID] = len(nodes)
        nodes.append((spoken(ROBOT_ID), (), 0, True))
    found: dict[tuple[int, int, EdgeKind], None] = {}
    for relation in scene.relations:
        words, sign = _words(relation.predicate, "a relation"), _sign(relation.value, relation.predicate)
        ends = []
        for end in (relation.subject, relation.object):
            if end not in names:
                names[end] = len(nodes)
                nodes.append(("", (), 0, False))
            ends.append(names[end])
        found[(ends[0], ends[1], (words, sign, FORWARD))] = None
        found[(ends[1], ends[0], (words, sign, BACKWARD))] = None
    loops = [(number, number, ("", 1, SELF)) for number in range(len(nodes))]
    return SceneStructure(tuple(nodes), (*found, *loops))


def _node_kind(name: str, node: SceneNode) -> NodeKind:
    label = _words(node.label, f"the class of {name!r}")
    attributes = {
        (_words(attribute.name, f"an attribute of {name!r}"), sign)
        for attribute in node.attributes.values()
        if (sign := _sign(attribute.value, attribute.name))
    }
    if not isinstance(node.presence, Presence):
        raise ValueError(f"{name!r}: presence is {node.presence!r}; expected a Presence")
    return label, tuple(sorted(attributes)), _PRESENCES.index(node.presence), name == ROBOT_ID


def _words(name: object, what: str) -> str:
    if not isinstance(name, str):
        raise ValueError(f"{what} is {name!r}; expected a text")
    return spoken(name)


def _sign(value: object, name: object) -> int:
    if not isinstance(value, Truth):
        raise ValueError(f"{name!r} is {value!r}; expected a Truth")
    return _SIGNS[value]


class FeatureMaker:
    """Makes batches, and keeps the rows of kinds.

    Args:
        sentences: turns words into vectors.
    """

    def __init__(self, sentences: SentenceEncoder) -> None:
        self._sentences = sentences
        self._node_rows: dict[NodeKind, NDArray[np.float32]] = {}
        self._edge_rows: dict[EdgeKind, NDArray[np.float32]] = {}

    def batch(self, structures: Sequence[SceneStructure]) -> FeatureBatch:
        """Return scenes, at least one, as one batch.

        Raises:
            SentencesMissingError: a text has to be computed and the sentence encoder is not installed.
        """
        node_kinds: dict[NodeKind, int] = {}
        edge_kinds: dict[EdgeKind, int] = {}
        node_kind: list[int] = []
        edges: list[tuple[int, int, int]] = []
        sizes = []
        for structure in structures:
            first = len(node_kind)
            node_kind += [node_kinds.setdefault(kind, len(node_kinds)) for kind in structure.nodes]
            edges += [
                (first + source, first + target, edge_kinds.setdefault(kind, len(edge_kinds)))
                for source, target, kind in structure.edges
            ]
            sizes.append(len(structure.nodes))
        source, target, edge_kind = np.array(edges, np.int64).reshape(-1, 3).T
        return FeatureBatch(
            np.stack([self._node_row(kind) for kind in node_kinds]),
            np.array(node_kind, np.int64),
            np.stack([self._edge_row(kind) for kind in edge_kinds]),
            np.ascontiguousarray(edge_kind),
            np.ascontiguousarray(source),
            np.ascontiguousarray(target),
            np.repeat(np.arange(len(sizes)), sizes),
            len(sizes),
        )

    def _node_row(self, kind: NodeKind) -> NDArray[np.float32]:
        row = self._node_rows.get(kind)
        if row is None:
            label, attributes, presence, robot = kind
            row = np.zeros(NODE_DIMENSION, np.float32)
            row[:TEXT_DIMENSION] = self._sentences.vector(label)
            for words, sign in attributes:
                row[TEXT_DIMENSION : 2 * TEXT_DIMENSION] += sign * self._sentences.vector(words)
            row[2 * TEXT_DIMENSION + presence] = 1.0
            row[-1] = robot
            _keep(self._node_rows, kind, row)
        return row

    def _edge_row(self, kind: EdgeKind) -> NDArray[np.float32]:
        row = self._edge_rows.get(kind)
        if row is None:
            words, sign, direction = kind
            row = np.zeros(EDGE_DIMENSION, np.float32)
            row[:TEXT_DIMENSION] = (sign or 1) * self._sentences.vector(words)
            row[TEXT_DIMENSION + 1 + sign] = 1.0
            row[TEXT_DIMENSION + 3 + direction] = 1.0
            _keep(self._edge_rows, kind, row)
        return row


def _keep(rows: dict[Kind, NDArray[np.float32]], kind: Kind, row: NDArray[np.float32]) -> None:
    if len(rows) >= _MAX_CACHED:
        rows.pop(next(iter(rows)))
    rows[kind] = row
