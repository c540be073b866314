"""Which relations the domain holds possible: checked before a relation is believed."""

from __future__ import annotations

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.scene.belief import IN, ON, contents, is_fixture, is_movable_receptacle, is_shut
from graph_planner_ros.scene.graph import SceneGraph


def implausible(
    graph: SceneGraph, domain: Domain, subject: str, predicate: str, object_id: str, seen: bool = True
) -> str:
    """Return why a relation is impossible in a sentence; empty if it is plausible.

    Checked: both things exist and differ; the classes have the types of the predicate; what holds something is a
    receptacle; nothing is in its own content; nothing is *seen* inside what is shut; and the rules that the domain
    lists in its YAML under ``plausibility`` (entries ``{relation, subject, object}`` of labels that never go together).

    Args:
        seen: the relation was seen rather than remembered or caused.
    """
    first, second = graph.nodes.get(subject), graph.nodes.get(object_id)
    if first is None or second is None:
        return f"{predicate}({subject}, {object_id}): {subject if first is None else object_id} does not exist"
    if subject == object_id or object_id in contents(graph, subject):
        return f"{subject} cannot be {predicate} itself or its own content"
    for rule in domain.raw.get("plausibility") or ():
        named = (rule.get("relation", predicate), rule.get("subject", first.label), rule.get("object", second.label))
        if named == (predicate, first.label, second.label):
            return f"the domain rules out {first.label} {predicate} {second.label}"
    if predicate not in (ON, IN):
        return ""
    if not holds_things(domain, second.label):
        return f"{object_id} holds nothing: {second.label} is no receptacle"
    if is_fixture(domain, first):
        return f"{subject} is a fixture and is in nothing"
    if seen and is_shut(domain, second):
        return f"{subject} cannot be seen inside {object_id}, which is shut"
    return ""


def holds_things(domain: Domain, label: str) -> bool:
    """Return whether things of a class hold other things: movable receptacles and places with the place fact."""
    found = domain.classes.get(label)
    if found is None:
        return False
    fact = domain.hypotheses.place_fact if domain.hypotheses is not None else None
    return is_movable_receptacle(domain, label) or fact is None or fact in found.facts


def relation_name(domain: Domain, label: str) -> str:
    """Return how people say that a thing is at a receptacle of this class: ``in`` what encloses or is carried."""
    found = domain.classes.get(label)
    return IN if found is not None and (found.encloses or found.meta == "mov") else ON
