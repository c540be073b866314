"""Reading and changing a scene graph: one place for a thing, one value for an attribute, provenance kept."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.scene.graph import PERCEPTION, ROBOT_ID, Attribute, Relation, SceneGraph, SceneNode

ON = "on"
IN = "in"
NEXT_TO = "next_to"
HOLDING = "holding"
AT = "at"
PLACE_RELATIONS = (ON, IN)
"""The relations by which a camera says where a thing is; a thing has one of them or none."""


@lru_cache(maxsize=32)
def place_relations(domain: Domain) -> tuple[str, ...]:
    """Return the relations of a domain that say where a thing is: those whose predicate finding a thing makes true.

    A domain without hypotheses may list such predicates in its YAML under ``place_predicates``. Where neither says
    anything, the relations are those of a camera.
    """
    predicates = set(domain.raw.get("place_predicates") or ())
    if domain.hypotheses is not None:
        schema = domain.action(domain.hypotheses.action)
        predicates |= {term.predicate for term in schema.added if len(term.arguments) == 2}
    found = [
        name
        for name, schema in domain.relations.items()
        if schema.predicate in predicates and schema.arguments == ("subject", "object")
    ]
    return tuple(found) or PLACE_RELATIONS


def is_fixture(domain: Domain, node: SceneNode) -> bool:
    """Return whether a node is a place of the map: its class's type is no item."""
    label = domain.classes.get(node.label)
    if label is None or domain.hypotheses is None:
        return node.source == "map"
    return not domain.is_a(label.type_name, domain.hypotheses.item_type)


def is_movable_receptacle(domain: Domain, label: str) -> bool:
    """Return whether things of a class can be carried and hold other things (meta-class ``mov``)."""
    found = domain.classes.get(label)
    return found is not None and found.meta == "mov"


def true_relations(graph: SceneGraph, predicate: str) -> list[Relation]:
    """Return the believed relations of one kind."""
    return [r for r in graph.relations if r.predicate == predicate and r.value is Truth.TRUE]


def place_relation(graph: SceneGraph, instance_id: str, names: tuple[str, ...] = PLACE_RELATIONS) -> Relation | None:
    """Return the relation that says where a thing is, or None; ``names``: see `place_relations`."""
    for relation in graph.relations:
        if relation.subject == instance_id and relation.predicate in names and relation.value is Truth.TRUE:
            return relation
    return None


def contents(
    graph: SceneGraph, instance_id: str, deep: bool = True, names: tuple[str, ...] = PLACE_RELATIONS
) -> list[str]:
    """Return the ids of what is in or on a thing, with what is in those if ``deep``; ``names``: as above."""
    found: list[str] = []
    queue = [instance_id]
    while queue:
        current = queue.pop()
        for relation in graph.relations:
            if relation.object != current or relation.predicate not in names:
                continue
            if relation.value is Truth.TRUE and relation.subject not in found and relation.subject != instance_id:
                found.append(relation.subject)
                if deep:
                    queue.append(relation.subject)
    return found


def robot_location(graph: SceneGraph, domain: Domain) -> str:
    """Return where the robot is believed to be, by the domain's predicate ``location``; empty if that is not known."""
    for name, schema in domain.relations.items():
        if schema.predicate == domain.location:
            for relation in true_relations(graph, name):
                return relation.object if relation.subject == ROBOT_ID else relation.subject
    return ""


def held(graph: SceneGraph) -> list[str]:
    """Return the ids of what the robot is believed to hold."""
    return [r.object for r in true_relations(graph, HOLDING) if r.subject == ROBOT_ID]


def remove_relations(
    graph: SceneGraph, predicates: Iterable[str], subject: str | None = None, object: str | None = None
) -> list[Relation]:
    """Remove the relations of these kinds with this subject and object (None: any); return them."""
    names = tuple(predicates)
    gone = [
        r
        for r in graph.relations
        if r.predicate in names and subject in (None, r.subject) and object in (None, r.object)
    ]
    if gone:
        graph.relations = [r for r in graph.relations if r not in gone]
    return gone


def set_place(
    graph: SceneGraph,
    subject: str,
    place: tuple[str, str] | None,
    source: str = PERCEPTION,
    stamp: float = 0.0,
    confidence: float = 1.0,
    names: tuple[str, ...] = PLACE_RELATIONS,
) -> bool:
    """Say where a thing is: (relation, object id), or None for nowhere known. Return whether that is news."""
    old = place_relation(graph, subject, names)
    if old is not None and place == (old.predicate, old.object):
        old.source, old.stamp, old.confidence = source, stamp, confidence
        return False
    remove_relations(graph, names, subject=subject)
    if place is not None:
        graph.relations.append(Relation(subject, place[0], place[1], Truth.TRUE, source, stamp, confidence))
    return old is not None or place is not None


def set_attribute(
    node: SceneNode, name: str, value: Truth, source: str = PERCEPTION, stamp: float = 0.0, confidence: float = 1.0
) -> bool:
    """Give a node's attribute a value. Return whether the value is news."""
    old = node.attributes.get(name)
    node.attributes[name] = Attribute(name, value, source, stamp, confidence)
    return old is None or old.value is not value


def attribute_value(domain: Domain, node: SceneNode, name: str) -> Truth:
    """Return an attribute's value, or the domain's assumption while it is unknown, or UNKNOWN."""
    known = node.attributes.get(name)
    if known is not None and known.value is not Truth.UNKNOWN:
        return known.value
    schema, label = domain.attributes.get(name), domain.classes.get(node.label)
    if schema is None or schema.assume is None or label is None:
        return Truth.UNKNOWN
    if schema.when is not None and schema.when not in label.facts:
        return Truth.UNKNOWN
    return Truth.TRUE if schema.assume else Truth.FALSE


def can_have(domain: Domain, label: str, attribute: str) -> bool:
    """Return whether an attribute makes sense for a class: by the predicate's type and the attribute's ``when``."""
    found, schema, predicate = (
        domain.classes.get(label),
        domain.attributes.get(attribute),
        domain.predicates.get(attribute),
    )
    if found is None or schema is None or predicate is None or predicate.arity != 1:
        return False
    if schema.when is not None and schema.when not in found.facts:
        return False
    return domain.is_a(found.type_name, predicate.parameters[0].type_name)


def part_attributes(domain: Domain) -> dict[str, str]:
    """Return attribute -> name of the part that it is judged from (the entry ``part`` of the domain's YAML)."""
    entries = domain.raw.get("attributes") or {}
    return {name: str(entry["part"]) for name, entry in entries.items() if isinstance(entry, dict) and "part" in entry}


def is_shut(domain: Domain, node: SceneNode, assumed: bool = False) -> bool:
    """Return whether a node is believed to hide its content; ``assumed``: assumptions count as well."""
    label = domain.classes.get(node.label)
    if label is None or not label.encloses:
        return False
    for name in part_attributes(domain):
        known = node.attributes.get(name)
        if known is not None and known.value is Truth.TRUE:
            return True
        if assumed and attribute_value(domain, node, name) is Truth.TRUE:
            return True
    return False


def age_stamps(graph: SceneGraph, now: float) -> None:
    """Make nothing newer than ``now``, after time has jumped back: what is seen from now on is the newer evidence."""
    before = max(0.0, now - 1e-3)
    for node in graph.nodes.values():
        node.first_seen, node.last_seen = min(node.first_seen, before), min(node.last_seen, before)
        for attribute in node.attributes.values():
            attribute.stamp = min(attribute.stamp, before)
    for relation in graph.relations:
        relation.stamp = min(relation.stamp, before)
