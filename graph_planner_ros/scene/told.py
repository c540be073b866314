"""Facts that somebody told in words become part of the scene graph, by the inverse of the domain's mapping.

Perception sees things and judges relations; a text world, or a person, says them. What is told ends in the same
belief: nodes, relations and attributes with the source ``text``, so that planning reads both alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Atom, Goal, Truth
from graph_planner_ros.scene.belief import (
    HOLDING,
    can_have,
    contents,
    place_relation,
    place_relations,
    remove_relations,
    set_attribute,
    set_place,
)
from graph_planner_ros.scene.counts import note_full
from graph_planner_ros.scene.effects import relation_ends
from graph_planner_ros.scene.graph import ASSUMPTION, ROBOT_ID, Presence, Relation, SceneGraph, SceneNode
from graph_planner_ros.scene.plausibility import relation_name

TEXT = "text"
"""Source of what was told."""


class ToldFact(Protocol):
    """A literal over instance names with the confidence of the reader, 0 to 1."""

    @property
    def atom(self) -> Atom:
        """The atom."""

    @property
    def positive(self) -> bool:
        """False if it is denied."""

    @property
    def score(self) -> float:
        """Confidence."""


@dataclass(frozen=True)
class Untold:
    """Something that was told and has no place in the belief, with the reason."""

    what: str
    reason: str


def tell(
    graph: SceneGraph,
    domain: Domain,
    facts: Iterable[ToldFact],
    objects: Mapping[str, str],
    stamp: float,
    *,
    complete: Collection[str] = (),
    complete_places: Collection[str] = (),
) -> list[Untold]:
    """Write what was told into the belief, in place.

    Args:
        graph: the belief. domain: whose mapping of relations and attributes to predicates is inverted.
        facts: literals in the order in which they were told; a later one overrides an earlier one.
        objects: instance -> class of what is named; a node is made for each that has none.
        stamp: when it was told, in the graph's time (a text world counts steps).
        complete: predicates of which all true atoms were told: the rest is false.
        complete_places: places whose whole content was told.

    Returns:
        What could not be written, with reasons. Nothing is raised for what was told.
    """
    return _Telling(graph, domain, stamp).run(list(facts), objects, complete, complete_places)


def introduce(graph: SceneGraph, goals: Iterable[Goal]) -> None:
    """Add what goals name and nobody has seen: that there is such a thing, and nothing else."""
    for variable in (variable for goal in goals for variable in goal.variables):
        if variable.instance is not None and variable.class_name is not None:
            node = SceneNode(variable.instance, variable.class_name, source=ASSUMPTION)
            graph.nodes.setdefault(variable.instance, node)


class _Telling:
    def __init__(self, graph: SceneGraph, domain: Domain, stamp: float) -> None:
        self._graph = graph
        self._domain = domain
        self._stamp = stamp
        self._places = place_relations(domain)
        self._untold: list[Untold] = []

    def run(
        self,
        facts: list[ToldFact],
        objects: Mapping[str, str],
        complete: Collection[str],
        complete_places: Collection[str],
    ) -> list[Untold]:
        self._graph.stamp = max(self._graph.stamp, self._stamp)
        self._graph.revision += 1
        for name, label in objects.items():
            self._node(name, label)
        told = {fact.atom for fact in facts if fact.positive}
        for predicate in sorted(complete):
            self._close(predicate, told)
        for place in sorted(complete_places):
            self._empty(place, told)
        for fact in facts:
            reason = self._impossible(fact.atom) or self._write(fact.atom, fact.positive, fact.score)
            if reason:
                self._untold.append(Untold(f"{'' if fact.positive else 'not '}{fact.atom}", reason))
        return self._untold

    def _node(self, name: str, label: str) -> None:
        node = self._graph.nodes.get(name)
        if node is not None:
            if node.label != label:
                self._untold.append(Untold(name, f"it is a {node.label}, not a {label}"))
            return
        if label not in self._domain.classes:
            self._untold.append(Untold(name, f"the domain has no class {label!r}"))
            return
        if name == ROBOT_ID:
            self._untold.append(Untold(name, "that is the robot's own name"))
            return
        # where nothing is looked for, whatever is named is there
        self._graph.nodes[name] = SceneNode(name, label, source=TEXT, first_seen=self._stamp)

    def _close(self, predicate: str, told: set[Atom]) -> None:
        """Make every atom of a predicate false that was not told."""
        for name, schema in self._domain.relations.items():
            if schema.predicate != predicate:
                continue
            ends = {relation_ends(self._domain, name, atom) for atom in told if atom.predicate == predicate}
            for relation in [r for r in self._graph.relations if r.predicate == name]:
                if (relation.subject, relation.object) not in ends:
                    remove_relations(self._graph, (name,), relation.subject, relation.object)
        if predicate in self._domain.attributes:
            for node_id, node in self._graph.nodes.items():
                if can_have(self._domain, node.label, predicate) and Atom(predicate, (node_id,)) not in told:
                    set_attribute(node, predicate, Truth.FALSE, TEXT, self._stamp)

    def _empty(self, place: str, told: set[Atom]) -> None:
        """Take out of a place what was not told to be there."""
        kept = {
            ends
            for atom in told
            for name in self._places
            if name in self._domain.relations and (ends := relation_ends(self._domain, name, atom)) is not None
        }
        for thing in contents(self._graph, place, deep=False, names=self._places):
            if (thing, place) not in kept:
                set_place(self._graph, thing, None, names=self._places)
                self._graph.nodes[thing].presence = Presence.ABSENT

    def _impossible(self, atom: Atom) -> str:
        """Return why an atom cannot be, or an empty text."""
        schema = self._domain.predicates.get(atom.predicate)
        if schema is None or schema.arity != len(atom.arguments):
            return "the domain has no such predicate"
        for argument, parameter in zip(atom.arguments, schema.parameters, strict=True):
            node = self._graph.nodes.get(argument)
            if node is None:
                return f"nothing called {argument!r} is known"
            if not self._domain.is_a(self._domain.class_of(node.label).type_name, parameter.type_name):
                return f"{argument} is a {node.label} and no {parameter.type_name}"
        return ""

    def _write(self, atom: Atom, positive: bool, score: float) -> str:
        """Write a literal; return why that is impossible, or an empty text."""
        if atom.predicate in self._domain.attributes:
            node = self._graph.nodes[atom.arguments[0]]
            set_attribute(node, atom.predicate, Truth.TRUE if positive else Truth.FALSE, TEXT, self._stamp, score)
            return ""
        names = [name for name in self._domain.relations if relation_ends(self._domain, name, atom) is not None]
        if names:
            return self._relate(names, atom, positive, score)
        if atom.predicate in self._domain.none_of:
            if positive:
                remove_relations(self._graph, (self._domain.none_of[atom.predicate],))
            return ""
        if not atom.arguments and note_full(self._graph, self._domain, atom.predicate):
            return ""
        if len(atom.arguments) == 1:
            label = self._graph.nodes[atom.arguments[0]].label
            has = atom.predicate in self._domain.class_of(label).facts
            return "" if has == positive else f"that goes by the class, and {label} says otherwise"
        return "it is no relation and no attribute of the domain's description"

    def _relate(self, names: list[str], atom: Atom, positive: bool, score: float) -> str:
        subject, object_id = relation_ends(self._domain, names[0], atom) or (ROBOT_ID, ROBOT_ID)
        is_place = any(name in self._places for name in names)
        if not positive:
            if remove_relations(self._graph, names, subject, object_id) and is_place:
                self._graph.nodes[subject].presence = Presence.ABSENT
            return ""
        if is_place and subject == object_id:
            return "nothing is in itself"
        if is_place:
            return self._put(names, subject, object_id, score)
        if atom.predicate == self._domain.location:
            remove_relations(self._graph, names, subject)
        remove_relations(self._graph, names, subject, object_id)
        self._graph.relations.append(Relation(subject, names[0], object_id, Truth.TRUE, TEXT, self._stamp, score))
        if names[0] == HOLDING and subject == ROBOT_ID:
            remove_relations(self._graph, self._places, subject=object_id)
            self._seen(self._graph.nodes[object_id], score)
        return ""

    def _put(self, names: list[str], subject: str, object_id: str, score: float) -> str:
        if object_id in contents(self._graph, subject, names=self._places):
            old = place_relation(self._graph, object_id, self._places)
            return f"{object_id} is in {old.object if old else subject}, which is in it"
        wanted = relation_name(self._domain, self._graph.nodes[object_id].label)
        name = wanted if wanted in names else names[0]
        set_place(self._graph, subject, (name, object_id), TEXT, self._stamp, score, self._places)
        remove_relations(self._graph, (HOLDING,), ROBOT_ID, subject)
        self._seen(self._graph.nodes[subject], score)
        return ""

    def _seen(self, node: SceneNode, score: float) -> None:
        node.presence = Presence.PRESENT
        node.last_seen = self._stamp
        node.observations += 1
        node.confidence = score
