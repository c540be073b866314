"""Scene graphs on disk: JSON, written whole or not at all."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from graph_planner_ros.domain.files import write_atomically
from graph_planner_ros.domain.json_files import NO_SUCH_SHAPE, check_fields, kind_of, what_is_wrong
from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.scene.admission import check_graph, nodes_by_id
from graph_planner_ros.scene.graph import Attribute, Box, Presence, Relation, SceneGraph, SceneNode

VERSION = 1

BeliefType = TypeVar("BeliefType", Attribute, Relation)
EnumType = TypeVar("EnumType", bound=enum.Enum)


class StorageError(ValueError):
    """A stored scene graph cannot be read; the message names the file and what is wrong."""


def save_graph(graph: SceneGraph, path: str | Path) -> None:
    """Write a scene graph so that a crash at any moment leaves the old file or the new one, never half of one."""
    write_atomically(Path(path), json.dumps(graph_to_dict(graph), allow_nan=False))


def load_graph(path: str | Path) -> SceneGraph:
    """Read a scene graph.

    Raises:
        FileNotFoundError: if there is no such file.
        StorageError: if the file is not a whole scene graph; it is left as it is.
    """
    content = Path(path).read_bytes()
    try:
        return graph_from_dict(json.loads(content.decode("utf-8")))
    except NO_SUCH_SHAPE as error:
        raise StorageError(f"{path}: {what_is_wrong(error, 'a stored scene graph')}") from error


def graph_to_dict(graph: SceneGraph) -> dict[str, Any]:
    """Return the graph as plain JSON values."""
    return {
        "version": VERSION,
        "frame_id": graph.frame_id,
        "stamp": graph.stamp,
        "domain": graph.domain,
        "revision": graph.revision,
        "nodes": [_node_to_dict(node) for node in graph.nodes.values()],
        "relations": [{**vars(relation), "value": relation.value.name} for relation in graph.relations],
        "limits": dict(graph.limits),
    }


def graph_from_dict(data: dict[str, Any]) -> SceneGraph:
    """Return the graph that `graph_to_dict` wrote.

    Raises:
        ValueError, KeyError, TypeError: if it is something else.
    """
    if not isinstance(data, dict):
        raise ValueError(f"expected an object, found {kind_of(data)}")
    if data["version"] != VERSION:
        raise ValueError(f"expected version {VERSION}, found {data['version']!r}")
    nodes = [_node_from_dict(entry, f"node {number}") for number, entry in _numbered(data, "nodes")]
    relations = [_belief(Relation, entry, f"relation {number}") for number, entry in _numbered(data, "relations")]
    graph = SceneGraph(
        frame_id=data["frame_id"],
        stamp=data["stamp"],
        domain=data["domain"],
        revision=data["revision"],
        nodes=nodes_by_id(nodes),
        relations=relations,
        limits=dict(data.get("limits", {})),  # files of version 1 that are older have none
    )
    check_graph(graph)
    return graph


def _box_to_dict(box: Box | None) -> dict[str, Any] | None:
    if box is None:
        return None
    return {"center": [float(x) for x in box.center], "extent": [float(x) for x in box.extent], "yaw": float(box.yaw)}


def _box_from_dict(data: dict[str, Any] | None) -> Box | None:
    if data is None:
        return None
    center, extent = np.asarray(data["center"], dtype=float), np.asarray(data["extent"], dtype=float)
    if center.shape != (3,) or extent.shape != (3,) or not np.isfinite([*center, *extent]).all():
        raise ValueError(f"expected a box of three finite numbers each, found {data!r}")
    return Box(center, extent, float(data["yaw"]))


def _node_to_dict(node: SceneNode) -> dict[str, Any]:
    attributes = [{**vars(attribute), "value": attribute.value.name} for attribute in node.attributes.values()]
    boxes = {"box": _box_to_dict(node.box), "containment": _box_to_dict(node.containment)}
    return {**vars(node), **boxes, "presence": node.presence.name, "attributes": attributes}


def _numbered(data: dict[str, Any], name: str) -> Iterable[tuple[int, Any]]:
    if not isinstance(data[name], list):
        raise ValueError(f"{name}: expected a list, found {kind_of(data[name])}")
    return enumerate(data[name], 1)


def _belief(kind: type[BeliefType], entry: Any, name: str) -> BeliefType:
    """Return an attribute or a relation from its JSON object."""
    content = check_fields(kind, entry, name)
    return kind(**{**content, "value": _member(Truth, content["value"], f"{name}, value")})


def _member(kind: type[EnumType], value: Any, name: str) -> EnumType:
    if not isinstance(value, str) or value not in kind.__members__:
        raise ValueError(f"{name}: expected one of {', '.join(kind.__members__)}, found {value!r}")
    return kind[value]


def _node_from_dict(data: Any, name: str) -> SceneNode:
    content = check_fields(SceneNode, data, name)
    attributes = [
        _belief(Attribute, entry, f"{name}, attribute {number}") for number, entry in _numbered(content, "attributes")
    ]
    return SceneNode(
        **{
            **content,
            "box": _box_from_dict(content["box"]),
            "containment": _box_from_dict(content["containment"]),
            "presence": _member(Presence, content["presence"], f"{name}, presence"),
            "attributes": {attribute.name: attribute for attribute in attributes},
        }
    )
