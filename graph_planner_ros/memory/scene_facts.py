"""What a scene says is true, as plain tuples that can be compared, counted and changed."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.scene.graph import ROBOT_ID, Attribute, Presence, Relation, SceneGraph

Fact = tuple[str, ...]
"""``(attribute, thing)`` or ``(relation, subject, object)``, true in a scene."""

PREDICTION = "prediction"
"""Source of what a learned model says."""


@dataclass(frozen=True)
class SceneFacts:
    """The true facts of a scene.

    Attributes:
        true: what is believed. doubtful: things of which it is not known at present whether they are where they were.
    """

    true: frozenset[Fact]
    doubtful: frozenset[str] = frozenset()

    def agrees_with(self, other: SceneFacts) -> bool:
        """Return whether the same is true in both, apart from facts about things that one of them is in doubt of."""
        if self.true == other.true:
            return True
        doubtful = self.doubtful | other.doubtful
        return bool(doubtful) and all(not doubtful.isdisjoint(fact[1:]) for fact in self.true ^ other.true)


def scene_facts(scene: SceneGraph, domain: Domain | None = None) -> SceneFacts:
    """Return what is true in a scene.

    Args:
        domain: with it only relations and attributes that it maps to predicates count; without it all do, also those
            that say little and change with the view, such as what is next to what.
    """
    attributes = {
        (name, node_id)
        for node_id, node in scene.nodes.items()
        for name, attribute in node.attributes.items()
        if attribute.value is Truth.TRUE and (domain is None or name in domain.attributes)
    }
    relations = {
        (relation.predicate, relation.subject, relation.object)
        for relation in scene.relations
        if relation.value is Truth.TRUE and (domain is None or relation.predicate in domain.relations)
    }
    doubtful = {node_id for node_id, node in scene.nodes.items() if node.presence is Presence.STALE}
    return SceneFacts(frozenset(attributes | relations), frozenset(doubtful))


def observed_change(
    scene: SceneGraph, before: frozenset[Fact], after: frozenset[Fact]
) -> tuple[frozenset[Fact], frozenset[Fact]]:
    """Return what became true and what became false of the things of a scene; nobody can predict strangers."""
    known = {*scene.nodes, ROBOT_ID}
    return frozenset(fact for fact in after - before if known.issuperset(fact[1:])), before - after


def changed_scene(scene: SceneGraph, added: Iterable[Fact], removed: Iterable[Fact]) -> SceneGraph:
    """Return a copy of a scene in which some facts became true and others false; facts about strangers are left out."""
    changed = copy.deepcopy(scene)
    gone = set(removed)
    changed.relations = [r for r in changed.relations if (r.predicate, r.subject, r.object) not in gone]
    for fact in gone:
        if len(fact) == 2 and fact[1] in changed.nodes:
            _set(changed, fact, Truth.FALSE)
    for fact in sorted(set(added)):
        if any(name != ROBOT_ID and name not in changed.nodes for name in fact[1:]):
            continue
        if len(fact) == 2:
            _set(changed, fact, Truth.TRUE)
        elif len(fact) == 3:
            changed.relations = [r for r in changed.relations if (r.predicate, r.subject, r.object) != fact]
            changed.relations.append(Relation(fact[1], fact[0], fact[2], Truth.TRUE, PREDICTION, scene.stamp))
    changed.revision += 1
    return changed


def _set(scene: SceneGraph, fact: Fact, value: Truth) -> None:
    name, thing = fact
    if thing in scene.nodes:
        scene.nodes[thing].attributes[name] = Attribute(name, value, PREDICTION, scene.stamp)
