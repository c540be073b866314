"""Which things of the scene matter for a task (GraphThink III-C1: key objects from the instruction)."""

from __future__ import annotations

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Goal
from graph_planner_ros.scene.belief import is_fixture, place_relation
from graph_planner_ros.scene.graph import SceneGraph


def key_objects(graph: SceneGraph, goal: Goal, domain: Domain) -> set[str]:
    """Return the ids of the things that a goal may need.

    These are the fixtures, the instances of the goal's classes or types, the tools (things with a static fact that
    an action demands of an argument that it does not change), and what these lie in.
    """
    classes = {variable.class_name for variable in goal.variables if variable.class_name is not None}
    named = {variable.instance for variable in goal.variables if variable.instance is not None}
    types = {variable.type_name for variable in goal.variables if variable.class_name is None and not variable.instance}
    special = _tool_facts(domain)
    found: set[str] = set()
    for node_id, node in graph.nodes.items():
        label = domain.classes.get(node.label)
        if label is None:
            continue
        wanted = node.label in classes or node_id in named or bool(special & set(label.facts))
        if wanted or is_fixture(domain, node) or any(domain.is_a(label.type_name, name) for name in types):
            found.add(node_id)
    for node_id in sorted(found):
        place = place_relation(graph, node_id)
        while place is not None and place.object not in found:
            found.add(place.object)
            place = place_relation(graph, place.object)
    return found


def _tool_facts(domain: Domain) -> frozenset[str]:
    """Facts that an action demands of something that it does not change, such as being able to cut."""
    found: set[str] = set()
    static = domain.static_predicates
    for action in domain.actions.values():
        changed = {argument for term in (*action.added, *action.deleted) for argument in term.arguments}
        for literal in action.preconditions:
            if literal.positive and literal.predicate in static and not changed & set(literal.arguments):
                found.add(literal.predicate)
    return frozenset(found)
