"""What skills change in the belief (GraphThink III-C: interaction-induced updates), read from the planning domain."""

from __future__ import annotations

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.state import effects, lasting_conditions
from graph_planner_ros.domain.symbols import Atom, GroundAction, Truth
from graph_planner_ros.scene.belief import (
    HOLDING,
    contents,
    place_relations,
    remove_relations,
    set_attribute,
    set_place,
)
from graph_planner_ros.scene.geometry import outside_distance
from graph_planner_ros.scene.graph import EFFECT, ROBOT_ID, Presence, Relation, SceneGraph
from graph_planner_ros.scene.plausibility import relation_name

NEAR_PLACE = 0.10
"""How far outside of its new place's volume [m] the last known position of a thing may be to be believed still."""


def apply_effects(graph: SceneGraph, domain: Domain, action: GroundAction, stamp: float) -> SceneGraph:
    """Write the effects of a successful action into the belief; the graph is changed in place and returned.

    Relations and attributes get the source ``effect`` and the time of the event. A thing that was put somewhere
    keeps its position if that fits the place (it followed the gripper), else its position is unknown until it is
    seen. Atoms about things that the graph does not have, such as placeholders, leave no trace; so do predicates
    that are no relation and no attribute.

    Args:
        stamp: when the action ended, seconds of ROS time.

    Raises:
        DomainError: if the domain has no such action.
    """
    added, deleted = effects(domain, action)
    # Some skills let go of what they handle and take it up again (heat, cool): what the action needs and does not
    # change holds at its end too, whatever the camera and the gripper made of the time between.
    for atom, positive in lasting_conditions(domain, action):
        if not positive:
            _delete(graph, domain, atom, stamp)
        elif not _believed(graph, domain, atom):
            _add(graph, domain, atom, stamp)
    for atom in sorted(set(deleted) - set(added)):
        _delete(graph, domain, atom, stamp)
    for atom in sorted(set(added)):
        _add(graph, domain, atom, stamp)
    graph.revision += 1
    return graph


def _believed(graph: SceneGraph, domain: Domain, atom: Atom) -> bool:
    """Whether a relation or attribute of the graph already says so."""
    for name in domain.relations:
        ends = relation_ends(domain, name, atom)
        if ends is not None and any(
            (r.subject, r.object) == ends and r.predicate == name and r.value is Truth.TRUE for r in graph.relations
        ):
            return True
    node = graph.nodes.get(atom.arguments[0]) if atom.arguments else None
    attribute = node.attributes.get(atom.predicate) if node is not None else None
    return attribute is not None and attribute.value is Truth.TRUE


def relation_ends(domain: Domain, name: str, atom: Atom) -> tuple[str, str] | None:
    """Return subject and object of the relation ``name`` that the atom stands for; what is left out is the robot."""
    schema = domain.relations[name]
    if schema.predicate != atom.predicate or len(schema.arguments) != len(atom.arguments):
        return None
    ends = dict(zip(schema.arguments, atom.arguments, strict=True))
    return ends.get("subject", ROBOT_ID), ends.get("object", ROBOT_ID)


def _known(graph: SceneGraph, *ids: str) -> bool:
    return all(name == ROBOT_ID or name in graph.nodes for name in ids)


def _delete(graph: SceneGraph, domain: Domain, atom: Atom, stamp: float) -> None:
    for name in domain.relations:
        ends = relation_ends(domain, name, atom)
        if ends is not None:
            remove_relations(graph, (name,), *ends)
    if atom.predicate in domain.attributes and _known(graph, *atom.arguments):
        set_attribute(graph.nodes[atom.arguments[0]], atom.predicate, Truth.FALSE, EFFECT, stamp)


def _add(graph: SceneGraph, domain: Domain, atom: Atom, stamp: float) -> None:
    if atom.predicate in domain.attributes and _known(graph, *atom.arguments):
        set_attribute(graph.nodes[atom.arguments[0]], atom.predicate, Truth.TRUE, EFFECT, stamp)
    names = [name for name in domain.relations if relation_ends(domain, name, atom) is not None]
    if not names:
        return
    subject, object_id = relation_ends(domain, names[0], atom) or (ROBOT_ID, ROBOT_ID)
    if not _known(graph, subject, object_id):
        return
    places = place_relations(domain)
    if any(name in places for name in names):
        wanted = relation_name(domain, graph.nodes[object_id].label)
        _put(graph, subject, (wanted if wanted in names else names[0]), object_id, stamp, places)
        return
    remove_relations(graph, names[:1], subject, object_id)
    if atom.predicate == domain.location:
        remove_relations(graph, names[:1], subject)
    graph.relations.append(Relation(subject, names[0], object_id, Truth.TRUE, EFFECT, stamp))
    if names[0] == HOLDING:
        remove_relations(graph, places, subject=object_id)
        graph.nodes[object_id].presence = Presence.PRESENT


def _put(graph: SceneGraph, subject: str, predicate: str, object_id: str, stamp: float, names: tuple[str, ...]) -> None:
    set_place(graph, subject, (predicate, object_id), EFFECT, stamp, names=names)
    node, place = graph.nodes[subject], graph.nodes[object_id]
    node.presence = Presence.PRESENT
    volume = place.containment or place.box
    if node.box is None or volume is None or outside_distance(volume, node.box.center) <= NEAR_PLACE:
        return
    for moved in (subject, *contents(graph, subject, names=names)):
        graph.nodes[moved].box = None
