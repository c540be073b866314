"""Places that nobody has seen, at the other end of ways that nobody has taken.

The domain's entry ``unexplored`` names the ways (exits, corridors, gates) and the relations that tie them to places. A
way without a known other end gets a placeholder of the class that the entry names: planning may go there in
thought, and suppose there what is missing. On arrival the placeholder becomes the place that was reached.

    unexplored:
      way: exit                  # PDDL type of the ways
      of: exit_of                # relation (way, place) to the place that it starts from
      leads_to: leads_to         # relation (way, place) to the place at its other end
      place: Unexplored          # class of placeholders
      content: part_of           # relation (place, place) of a place to itself, for looking into it; may be left out
      towards: towards           # relation (way, direction); may be left out, and then no way back is known
      opposite: {north: south, south: north}
      same: {relations: [door_of], attributes: [free]}   # what holds of a way holds of the way back too
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.scene.belief import remove_relations, set_attribute, true_relations
from graph_planner_ros.scene.graph import ASSUMPTION, Relation, SceneGraph, SceneNode

PLACEHOLDER_PREFIX = "beyond "


@dataclass(frozen=True)
class UnexploredSchema:
    """The entry ``unexplored`` of a domain's YAML; see the top of this file."""

    way: str
    of: str
    leads_to: str
    place: str
    content: str | None = None
    towards: str | None = None
    opposite: Mapping[str, str] = field(default_factory=dict)
    same_relations: tuple[str, ...] = ()
    same_attributes: tuple[str, ...] = ()


@lru_cache(maxsize=32)
def unexplored_schema(domain: Domain) -> UnexploredSchema | None:
    """Return the domain's entry, checked; None if it has none.

    Raises:
        DomainError: naming what is wrong.
    """
    raw = domain.raw.get("unexplored")
    if raw is None:
        return None
    file = domain.folder / "domain.yaml"
    if not isinstance(raw, dict):
        raise DomainError(f"{file}: unexplored: expected a mapping, found {raw!r}")

    def entry(key: str, known: Any, needed: bool = True) -> Any:
        value = raw.get(key)
        if (value is None and needed) or (value is not None and value not in known):
            raise DomainError(f"{file}: unexplored.{key}: expected one of {', '.join(known)}, found {value!r}")
        return value

    same = raw.get("same") or {}
    for key, known in (("relations", domain.relations), ("attributes", domain.attributes)):
        for name in same.get(key, ()):
            if name not in known:
                raise DomainError(f"{file}: unexplored.same.{key}: the domain has no {name!r}")
    return UnexploredSchema(
        way=entry("way", domain.types),
        of=entry("of", domain.relations),
        leads_to=entry("leads_to", domain.relations),
        place=entry("place", domain.classes),
        content=entry("content", domain.relations, False),
        towards=entry("towards", domain.relations, False),
        opposite=dict(raw.get("opposite") or {}),
        same_relations=tuple(same.get("relations", ())),
        same_attributes=tuple(same.get("attributes", ())),
    )


class Explorer:
    """Keeps the placeholders of one belief.

    Args:
        graph: the belief; changed in place. domain: with an entry ``unexplored``.

    Raises:
        DomainError: the entry is wrong.
    """

    def __init__(self, graph: SceneGraph, domain: Domain) -> None:
        self._graph = graph
        self._domain = domain
        self._schema = unexplored_schema(domain)

    def is_placeholder(self, name: str) -> bool:
        """Return whether a node stands for a place that nobody has seen."""
        node = self._graph.nodes.get(name)
        return self._schema is not None and node is not None and node.label == self._schema.place

    def settle(self, expected: str, here: str) -> None:
        """Bring the placeholders up to date after something was told.

        Args:
            expected: where the agent was taken to be before. here: where it is; both may be empty.
        """
        if self._schema is None:
            return
        if expected != here and self.is_placeholder(expected) and here and not self.is_placeholder(here):
            origins = {self._start(way) for way in self._ways_to(expected)}
            if here not in origins:  # one that came to nowhere else has not gone
                self._become(expected, here)
        led = {r.subject for r in true_relations(self._graph, self._schema.leads_to)}
        for way in self._ways():
            if way not in led:
                self._lead_on(way)

    # ---- what the graph says

    def _ways(self) -> list[str]:
        assert self._schema is not None
        return [r.subject for r in true_relations(self._graph, self._schema.of)]

    def _object(self, subject: str, relation: str | None) -> str:
        for item in self._graph.relations:
            if item.subject == subject and item.predicate == relation and item.value is Truth.TRUE:
                return item.object
        return ""

    def _start(self, way: str) -> str:
        assert self._schema is not None
        return self._object(way, self._schema.of)

    def _target(self, way: str) -> str:
        assert self._schema is not None
        return self._object(way, self._schema.leads_to)

    def _back(self, way: str) -> str:
        """Return the direction opposite to a way's; empty if that is not known."""
        assert self._schema is not None
        return self._schema.opposite.get(self._object(way, self._schema.towards), "")

    def _ways_to(self, place: str) -> list[str]:
        assert self._schema is not None
        return [r.subject for r in true_relations(self._graph, self._schema.leads_to) if r.object == place]

    def _way_from(self, place: str, direction: str) -> str:
        """Return the way that starts from a place in a direction; empty if there is none."""
        assert self._schema is not None
        if not direction:
            return ""
        of, towards = self._schema.of, self._schema.towards
        starting = {r.subject for r in true_relations(self._graph, of) if r.object == place}
        return next(
            (way for way in sorted(starting) if self._object(way, towards) == direction),
            "",
        )

    # ---- changes

    def _become(self, placeholder: str, place: str) -> None:
        """Let a placeholder be a place that is known by now."""
        assert self._schema is not None
        ways = self._ways_to(placeholder)
        self._forget(placeholder)
        for way in ways:
            self._connect(way, place)

    def _connect(self, way: str, place: str) -> None:
        """Note where a way leads, and so does the way back."""
        assert self._schema is not None
        start = self._start(way)
        remove_relations(self._graph, (self._schema.leads_to,), subject=way)
        self._relate(way, self._schema.leads_to, place)
        back = self._way_from(place, self._back(way))
        if not back:
            return
        target = self._target(back)
        if not target:
            self._relate(back, self._schema.leads_to, start)
        elif self.is_placeholder(target) and target != start:
            self._become(target, start)

    def _lead_on(self, way: str) -> None:
        """Find where a way leads from what is known of the other ways, or make a placeholder."""
        assert self._schema is not None
        start, back = self._start(way), self._back(way)
        for other in self._ways_to(start):
            if back and self._object(other, self._schema.towards) == back:
                self._relate(way, self._schema.leads_to, self._start(other))
                return
        name = f"{PLACEHOLDER_PREFIX}{way}"
        self._graph.nodes[name] = SceneNode(name, self._schema.place, source=ASSUMPTION, first_seen=self._graph.stamp)
        self._relate(way, self._schema.leads_to, name)
        if self._schema.content is not None:
            self._relate(name, self._schema.content, name)
        if back:
            self._add_way_back(way, name, back, start)

    def _add_way_back(self, way: str, place: str, direction: str, start: str) -> None:
        assert self._schema is not None
        name = f"{place} {direction}"
        node = self._graph.nodes[way]
        self._graph.nodes[name] = SceneNode(name, node.label, source=ASSUMPTION, first_seen=self._graph.stamp)
        self._relate(name, self._schema.of, place)
        self._relate(name, self._schema.leads_to, start)
        if self._schema.towards is not None and direction in self._graph.nodes:
            self._relate(name, self._schema.towards, direction)
        for relation in [r for r in self._graph.relations if r.predicate in self._schema.same_relations]:
            if relation.subject == way:
                self._relate(name, relation.predicate, relation.object)
            elif relation.object == way:
                self._relate(relation.subject, relation.predicate, name)
        for attribute in self._schema.same_attributes:
            if attribute in node.attributes:
                value = node.attributes[attribute].value
                set_attribute(self._graph.nodes[name], attribute, value, ASSUMPTION, self._graph.stamp)

    def _relate(self, subject: str, relation: str, target: str) -> None:
        self._graph.relations.append(Relation(subject, relation, target, Truth.TRUE, ASSUMPTION, self._graph.stamp))

    def _forget(self, placeholder: str) -> None:
        """Take a placeholder and the ways that start from it out of the graph."""
        assert self._schema is not None
        of = self._schema.of
        gone = {placeholder, *(r.subject for r in true_relations(self._graph, of) if r.object == placeholder)}
        for name in gone:
            self._graph.nodes.pop(name, None)
        self._graph.relations = [r for r in self._graph.relations if r.subject not in gone and r.object not in gone]
