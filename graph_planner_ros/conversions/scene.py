"""The scene graph."""

from __future__ import annotations

import enum
from typing import TypeVar

import graph_planner_ros.msg as messages
from graph_planner_ros.conversions.geometry import box_from_msg, box_to_msg, from_stamp, header, to_stamp
from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.scene.admission import check_graph, check_node, nodes_by_id
from graph_planner_ros.scene.graph import Attribute, Presence, Relation, SceneGraph, SceneNode

Kind = TypeVar("Kind", bound=enum.Enum)


def attribute_to_msg(attribute: Attribute) -> messages.Attribute:
    """Attribute of a node."""
    return messages.Attribute(
        name=attribute.name,
        value=attribute.value.value,
        source=attribute.source,
        stamp=to_stamp(attribute.stamp),
        confidence=float(attribute.confidence),
    )


def attribute_from_msg(message: messages.Attribute) -> Attribute:
    """Attribute of a node."""
    return Attribute(
        name=message.name,
        value=_member(Truth, message.value, f"attribute '{message.name}'"),
        source=message.source,
        stamp=from_stamp(message.stamp),
        confidence=message.confidence,
    )


def relation_to_msg(relation: Relation) -> messages.Relation:
    """Relation of the scene graph."""
    return messages.Relation(
        subject=relation.subject,
        predicate=relation.predicate,
        object=relation.object,
        value=relation.value.value,
        source=relation.source,
        stamp=to_stamp(relation.stamp),
        confidence=float(relation.confidence),
    )


def relation_from_msg(message: messages.Relation) -> Relation:
    """Relation of the scene graph."""
    return Relation(
        subject=message.subject,
        predicate=message.predicate,
        object=message.object,
        value=_member(Truth, message.value, f"relation '{message.subject} {message.predicate} {message.object}'"),
        source=message.source,
        stamp=from_stamp(message.stamp),
        confidence=message.confidence,
    )


def node_to_msg(node: SceneNode) -> messages.SceneNode:
    """Node of the scene graph."""
    pose, extent = box_to_msg(node.box)
    containment_pose, containment_extent = box_to_msg(node.containment)
    return messages.SceneNode(
        instance_id=node.instance_id,
        label=node.label,
        pose=pose,
        extent=extent,
        containment_pose=containment_pose,
        containment_extent=containment_extent,
        presence=node.presence.value,
        attributes=[attribute_to_msg(attribute) for attribute in node.attributes.values()],
        source=node.source,
        first_seen=to_stamp(node.first_seen),
        last_seen=to_stamp(node.last_seen),
        observations=node.observations,
        confidence=float(node.confidence),
    )


def node_from_msg(message: messages.SceneNode) -> SceneNode:
    """Node of the scene graph; ValueError names it and what about it cannot be."""
    try:
        node = SceneNode(
            instance_id=message.instance_id,
            label=message.label,
            box=box_from_msg(message.pose, message.extent),
            containment=box_from_msg(message.containment_pose, message.containment_extent),
            presence=_member(Presence, message.presence, "presence"),
            attributes={attribute.name: attribute_from_msg(attribute) for attribute in message.attributes},
            source=message.source,
            first_seen=from_stamp(message.first_seen),
            last_seen=from_stamp(message.last_seen),
            observations=message.observations,
            confidence=message.confidence,
        )
    except ValueError as error:
        raise ValueError(f"node '{message.instance_id}': {error}") from None
    check_node(node)
    return node


def graph_to_msg(graph: SceneGraph) -> messages.SceneGraph:
    """Scene graph."""
    return messages.SceneGraph(
        header=header(graph.stamp, graph.frame_id),
        domain=graph.domain,
        revision=graph.revision,
        nodes=[node_to_msg(node) for node in graph.nodes.values()],
        relations=[relation_to_msg(relation) for relation in graph.relations],
        limits=[messages.RelationLimit(predicate=name, count=number) for name, number in graph.limits.items()],
    )


def graph_from_msg(message: messages.SceneGraph) -> SceneGraph:
    """Scene graph; ValueError names what in it cannot be, such as two nodes of one id or a pose that is no number."""
    graph = SceneGraph(
        frame_id=message.header.frame_id,
        stamp=from_stamp(message.header.stamp),
        domain=message.domain,
        revision=message.revision,
        nodes=nodes_by_id([node_from_msg(node) for node in message.nodes]),
        relations=[relation_from_msg(relation) for relation in message.relations],
        limits={limit.predicate: limit.count for limit in message.limits},
    )
    check_graph(graph)
    return graph


def _member(kind: type[Kind], number: int, what: str) -> Kind:
    try:
        return kind(number)
    except ValueError:
        known = ", ".join(f"{member.value} {member.name}" for member in kind)
        raise ValueError(f"{what}: {number} is none of {known}") from None
