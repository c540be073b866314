"""Scene graphs from elsewhere, such as messages and files.

What cannot be is refused by name; what the planning domain does not know is left out by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.scene.belief import AT, HOLDING, IN, NEXT_TO, ON, PLACE_RELATIONS
from graph_planner_ros.scene.graph import ROBOT_ID, Attribute, Box, Presence, Relation, SceneGraph, SceneNode

LATEST = 2.0**31 - 1.0
"""Largest time stamp [s] that a message can hold."""
FARTHEST = 1e6
"""Largest coordinate and length [m] that is taken for one."""
OWN_RELATIONS = frozenset((ON, IN, NEXT_TO, HOLDING, AT))
"""Relations that merging itself keeps, whether the domain plans with them or not."""
NAMED = 5
"""So many of the things that were left out are named in a warning."""


def check_graph(graph: SceneGraph) -> None:
    """Refuse a graph in which something cannot be.

    Raises:
        ValueError: naming the thing, what is wrong with it and what was expected.
    """
    _check_text("scene graph", "frame", graph.frame_id, may_be_empty=True)
    _check_text("scene graph", "domain", graph.domain, may_be_empty=True)
    _check_stamp("scene graph", "stamp", graph.stamp)
    _check_count("scene graph", "revision", graph.revision)
    for node in graph.nodes.values():
        check_node(node)
    for relation in graph.relations:
        _check_relation(relation)
    for predicate, number in graph.limits.items():
        _check_text("a limit", "predicate", predicate)
        _check_count(f"the limit of '{predicate}'", "count", number)


def check_node(node: SceneNode) -> None:
    """Refuse a node in which something cannot be; ValueError as from `check_graph`."""
    _check_text("a node", "instance id", node.instance_id)
    name = f"node '{node.instance_id}'"
    _check_text(name, "label", node.label, may_be_empty=True)
    _check_text(name, "source", node.source, may_be_empty=True)
    for what, box in (("box", node.box), ("containment", node.containment)):
        if box is not None:
            _check_box(name, what, box)
    if not isinstance(node.presence, Presence):
        raise ValueError(f"{name}: presence is {node.presence!r}; expected a Presence")
    _check_stamp(name, "first_seen", node.first_seen)
    _check_stamp(name, "last_seen", node.last_seen)
    _check_count(name, "observations", node.observations)
    _check_share(name, node.confidence)
    for attribute in node.attributes.values():
        _check_attribute(name, attribute)


def nodes_by_id(nodes: Sequence[SceneNode]) -> dict[str, SceneNode]:
    """Return the nodes by their ids; ValueError names those that several nodes have, since one would be lost."""
    ids = [node.instance_id for node in nodes]
    found = dict(zip(ids, nodes, strict=True))
    if len(found) != len(nodes):
        twice = sorted({str(name) for name in ids if ids.count(name) > 1})
        raise ValueError(f"several nodes of one instance id: {', '.join(twice)}")
    return found


def known_part(graph: SceneGraph, domain: Domain) -> tuple[SceneGraph, list[str]]:
    """Return the part of a graph that the domain can speak of, and a sentence for each thing that was left out.

    Left out are things of unknown classes, things that have the name of the robot, unknown attributes and relations,
    relations of things that are not there, places of things in themselves, and all but the newest of several places of
    one thing. Other relations of a domain may be of a thing with itself.
    """
    dropped: list[str] = []
    nodes = {name: _known_node(node, domain, dropped) for name, node in graph.nodes.items()}
    kept = {name: node for name, node in nodes.items() if node is not None}
    ends = {ROBOT_ID, *kept}
    if domain.start_place is not None:
        ends.add(domain.start_place.id)
    known = OWN_RELATIONS | set(domain.relations)
    relations = [relation for relation in graph.relations if _is_known(relation, known, ends, dropped)]
    relations = _one_place_each(relations, dropped)
    limits = {name: number for name, number in graph.limits.items() if name in known}
    dropped += [
        f"the limit of '{name}' is left out: domain '{domain.name}' has none" for name in graph.limits.keys() - known
    ]
    if not dropped:
        return graph, dropped
    return replace(graph, nodes=kept, relations=relations, limits=limits), dropped


def summary(left_out: Sequence[str]) -> str:
    """Return the first sentences of what was left out, and how many more there are."""
    more = len(left_out) - NAMED
    return "; ".join(left_out[:NAMED]) + (f"; and {more} more" if more > 0 else "")


def _known_node(node: SceneNode, domain: Domain, dropped: list[str]) -> SceneNode | None:
    if node.label not in domain.classes:
        dropped.append(f"'{node.instance_id}' is left out: domain '{domain.name}' has no class '{node.label}'")
        return None
    if node.instance_id == ROBOT_ID:
        dropped.append(f"'{node.instance_id}' is left out: it has the name of the robot")
        return None
    strange = [name for name in node.attributes if name not in domain.attributes and name not in domain.predicates]
    for name in strange:
        dropped.append(f"the attribute '{name}' of '{node.instance_id}' is left out: domain '{domain.name}' has none")
        node = _without(node, name)
    return node


def _without(node: SceneNode, attribute: str) -> SceneNode:
    left = {name: value for name, value in node.attributes.items() if name != attribute}
    return replace(node, attributes=left)


def _is_known(relation: Relation, known: Iterable[str], ends: Iterable[str], dropped: list[str]) -> bool:
    said = f"the relation {_say(relation)} is left out"
    missing = [name for name in (relation.subject, relation.object) if name not in ends]
    if relation.predicate not in known:
        dropped.append(f"{said}: the domain has no such predicate")
    elif missing:
        dropped.append(f"{said}: there is no '{missing[0]}'")
    elif relation.subject == relation.object and relation.predicate in OWN_RELATIONS:
        dropped.append(f"{said}: nothing is so to itself")
    else:
        return True
    return False


def _one_place_each(relations: list[Relation], dropped: list[str]) -> list[Relation]:
    newest: dict[str, Relation] = {}
    for relation in relations:
        if relation.predicate in PLACE_RELATIONS and relation.value is Truth.TRUE:
            before = newest.get(relation.subject)
            if before is None or relation.stamp > before.stamp:
                newest[relation.subject] = relation
    kept = []
    for relation in relations:
        is_place = relation.predicate in PLACE_RELATIONS and relation.value is Truth.TRUE
        if is_place and newest[relation.subject] is not relation:
            other = _say(newest[relation.subject])
            dropped.append(f"the relation {_say(relation)} is left out: a thing has one place, and {other} is newer")
        else:
            kept.append(relation)
    return kept


def _say(relation: Relation) -> str:
    return f"'{relation.subject} {relation.predicate} {relation.object}'"


def _check_relation(relation: Relation) -> None:
    for what, text in (
        ("subject", relation.subject),
        ("predicate", relation.predicate),
        ("object", relation.object),
    ):
        _check_text(f"relation {_say(relation)}", what, text)
    _check_belief(f"relation {_say(relation)}", relation)


def _check_attribute(name: str, attribute: Attribute) -> None:
    _check_text(name, "the name of an attribute", attribute.name)
    _check_belief(f"{name}: attribute '{attribute.name}'", attribute)


def _check_belief(name: str, entry: Attribute | Relation) -> None:
    if not isinstance(entry.value, Truth):
        raise ValueError(f"{name}: value is {entry.value!r}; expected a Truth")
    _check_text(name, "source", entry.source, may_be_empty=True)
    _check_stamp(name, "stamp", entry.stamp)
    _check_share(name, entry.confidence)


def _check_box(name: str, what: str, box: Box) -> None:
    center, extent = [float(x) for x in box.center], [float(x) for x in box.extent]
    if not all(abs(x) <= FARTHEST for x in center):
        raise ValueError(f"{name}: the centre of its {what} is {center}; expected finite metres")
    if not all(0.0 <= x <= FARTHEST for x in extent):
        raise ValueError(f"{name}: the extent of its {what} is {extent}; expected finite metres, not negative")
    if not math.isfinite(box.yaw):
        raise ValueError(f"{name}: the yaw of its {what} is {box.yaw}; expected finite radians")


def _check_text(name: str, what: str, value: object, may_be_empty: bool = False) -> None:
    if not isinstance(value, str) or not (value or may_be_empty):
        raise ValueError(f"{name}: {what} is {value!r}; expected a text{'' if may_be_empty else ', not an empty one'}")


def _check_stamp(name: str, what: str, value: object) -> None:
    _check_number(name, what, value, lambda number: 0.0 <= number <= LATEST, f"seconds from 0 to {LATEST:.0f}")


def _check_share(name: str, value: object) -> None:
    _check_number(name, "confidence", value, lambda number: 0.0 <= number <= 1.0, "a number from 0 to 1")


def _check_count(name: str, what: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**64:
        raise ValueError(f"{name}: {what} is {value!r}; expected a whole number from 0")


def _check_number(name: str, what: str, value: object, fits: Callable[[float], bool], expected: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not fits(float(value)):
        raise ValueError(f"{name}: {what} is {value!r}; expected {expected}")
