"""The scene graph read as planning facts: PDDL is a view of the belief, not a copy of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Atom, SymbolicState, Truth
from graph_planner_ros.scene.belief import attribute_value, held, is_fixture, place_relation, place_relations
from graph_planner_ros.scene.counts import count_facts
from graph_planner_ros.scene.geometry import approach_point
from graph_planner_ros.scene.graph import FloatArray, Presence, SceneGraph, SceneNode
from graph_planner_ros.scene.routes import route_facts, route_schema, way_relations

DISTANCE_OFFSET = 0.1
"""Added to every distance [m], so that going nowhere is not free."""


def symbolic_state(graph: SceneGraph, domain: Domain) -> SymbolicState:
    """Return what is believed as a closed-world state of the domain.

    In it are the fixtures and the items that are believed present and somewhere (on or in something that is in
    the state, or held). Attributes that nobody knows have the domain's assumption, else they are false. While
    no place of the robot is believed, it is at the domain's start place.

    Raises:
        UnknownClassError: naming a node's label that the domain does not have.
    """
    taken = {*domain.constants, *(domain.classes if domain.class_type is not None else ())}
    if domain.start_place is not None:
        taken.add(domain.start_place.id)
    # a thing with the name of another symbol cannot be told from it
    nodes = {node_id: node for node_id, node in _located(graph, domain).items() if node_id not in taken}
    objects = {node_id: domain.class_of(node.label).type_name for node_id, node in nodes.items()}
    if domain.class_type is not None:
        objects.update(dict.fromkeys(domain.classes, domain.class_type))
    if domain.start_place is not None:
        objects[domain.start_place.id] = domain.start_place.type_name
    atoms: set[Atom] = set()
    for node_id, node in nodes.items():
        atoms |= _node_facts(domain, node_id, node)
    atoms |= _relation_facts(graph, domain, objects)
    atoms |= count_facts(graph, domain)
    if route_schema(domain) is None:
        return SymbolicState(objects, frozenset(atoms), _distances(domain, nodes, objects))
    facts, values = _routes(graph, domain, objects, atoms)
    return SymbolicState(objects, frozenset(atoms | facts), values)


def located(graph: SceneGraph, domain: Domain) -> tuple[str, ...]:
    """Return the ids of the nodes that planning may use, see `symbolic_state`."""
    return tuple(_located(graph, domain))


def _located(graph: SceneGraph, domain: Domain) -> dict[str, SceneNode]:
    if domain.hypotheses is None:
        return dict(graph.nodes)  # nothing is looked for, so nothing has to be somewhere
    grasped = set(held(graph))
    names = place_relations(domain)
    memo: dict[str, bool] = {}

    def somewhere(node_id: str) -> bool:
        if node_id in memo:
            return memo[node_id]
        memo[node_id] = False  # a ring of things in each other is nowhere
        node = graph.nodes.get(node_id)
        if node is None:
            return False
        if is_fixture(domain, node) or node_id in grasped:
            memo[node_id] = True
        elif node.presence is Presence.PRESENT:
            place = place_relation(graph, node_id, names)
            memo[node_id] = place is not None and somewhere(place.object)
        return memo[node_id]

    return {node_id: node for node_id, node in graph.nodes.items() if somewhere(node_id)}


def _node_facts(domain: Domain, node_id: str, node: SceneNode) -> set[Atom]:
    label = domain.class_of(node.label)
    atoms = {Atom(fact, (node_id,)) for fact in label.facts}
    if domain.class_predicate is not None:
        atoms.add(Atom(domain.class_predicate, (node_id, node.label)))
    for name in domain.attributes:
        if attribute_value(domain, node, name) is not Truth.TRUE:
            continue
        if domain.is_a(label.type_name, domain.predicates[name].parameters[0].type_name):
            atoms.add(Atom(name, (node_id,)))
    return atoms


def _relation_facts(graph: SceneGraph, domain: Domain, objects: Mapping[str, str]) -> set[Atom]:
    atoms: set[Atom] = set()
    believed: set[str] = set()
    for relation in graph.relations:
        schema = domain.relations.get(relation.predicate)
        if schema is None or relation.value is not Truth.TRUE:
            continue  # relations without a predicate, such as next_to, are no business of the planner
        ends = {"subject": relation.subject, "object": relation.object}
        arguments = tuple(ends[name] for name in schema.arguments)
        parameters = domain.predicates[schema.predicate].parameters
        # what cannot be, such as a fixture in the hand, is no fact: no planner could read it
        if all(
            domain.is_a(objects.get(argument, ""), parameter.type_name)
            for argument, parameter in zip(arguments, parameters, strict=True)
        ):
            atoms.add(Atom(schema.predicate, arguments))
            believed.add(relation.predicate)
    atoms |= {Atom(predicate) for predicate, name in domain.none_of.items() if name not in believed}
    somewhere = any(atom.predicate == domain.location for atom in atoms)
    if domain.location is not None and domain.start_place is not None and not somewhere:
        atoms.add(Atom(domain.location, (domain.start_place.id,)))
    return atoms


def _routes(
    graph: SceneGraph, domain: Domain, objects: Mapping[str, str], atoms: set[Atom]
) -> tuple[set[Atom], dict[Atom, float]]:
    """Return what follows from the ways, and the prices of moves between places of which something is said."""
    schema = domain.predicates[domain.location or ""]
    places = {name for name, of in objects.items() if domain.is_a(of, schema.parameters[0].type_name)}
    ways = {domain.relations[relation].predicate for relation in way_relations(domain)}
    about = {name for atom in atoms if atom.predicate not in ways for name in atom.arguments[1:]}
    return route_facts(graph, domain, places, places & about)


def _distances(domain: Domain, nodes: Mapping[str, SceneNode], objects: Mapping[str, str]) -> dict[Atom, float]:
    """Straight ways between the points in front of the places; the start is taken to be in their middle."""
    if domain.distance is None:
        return {}
    first, second = domain.functions[domain.distance].parameters
    points: dict[str, FloatArray] = {
        node_id: approach_point(node.box)
        for node_id, node in nodes.items()
        if node.box is not None and is_fixture(domain, node) and np.isfinite([*node.box.center, *node.box.extent]).all()
    }
    middle = np.mean(list(points.values()), axis=0) if points else np.zeros(2)
    origins = [name for name, type_name in objects.items() if domain.is_a(type_name, first.type_name)]
    targets = [name for name, type_name in objects.items() if domain.is_a(type_name, second.type_name)]
    return {
        Atom(domain.distance, (a, b)): round(
            float(np.linalg.norm(points.get(a, middle) - points.get(b, middle))) + DISTANCE_OFFSET, 3
        )
        for a in origins
        for b in targets
    }
