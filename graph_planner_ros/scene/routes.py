"""Ways through a house of rooms: planning sees one move with its length, and acting takes it step by step.

    routes:
      move: go_to               # the action that planners use: from one place to another, priced by `distance`
      steps: {walk: go, pass: go_through, open: open_door}   # what it is made of; planners do not use these
      gate: door_of             # relation (gate, way): what must be open to take the way
      closed: closed            # attribute of gates
      locked: locked            # attribute of gates: no way through at all
      barred: barred            # predicate: there is no way to a place at present
      side: side                # predicate (gate, place): on which places a gate opens
      price: 2                  # of a step

The ways are those of the entry ``unexplored``. The parameters of the steps are called ``from``, ``to``, ``way``,
``towards`` and ``gate``.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.symbols import Atom, GroundAction, Truth
from graph_planner_ros.scene.graph import ROBOT_ID, SceneGraph
from graph_planner_ros.scene.unexplored import UnexploredSchema, unexplored_schema

_STEPS = ("walk", "pass", "open")


@dataclass(frozen=True)
class RouteSchema:
    """The entry ``routes`` of a domain's YAML; see the top of this file."""

    ways: UnexploredSchema
    move: str
    walk: str
    through: str
    open: str
    gate: str
    closed: str
    locked: str
    barred: str
    side: str
    price: float


@lru_cache(maxsize=32)
def route_schema(domain: Domain) -> RouteSchema | None:
    """Return the domain's entry, checked; None if it has none.

    Raises:
        DomainError: naming what is wrong.
    """
    raw, ways = domain.raw.get("routes"), unexplored_schema(domain)
    if raw is None:
        return None
    file = domain.folder / "domain.yaml"
    if ways is None or ways.towards is None or domain.distance is None:
        raise DomainError(f"{file}: routes: expected the entries unexplored, unexplored.towards and distance as well")
    steps = raw.get("steps") or {}
    named = {"move": raw.get("move"), **{f"steps.{name}": steps.get(name) for name in _STEPS}}
    for key, name in named.items():
        if name not in domain.actions:
            raise DomainError(f"{file}: routes.{key}: the domain has no action {name!r}")
    for key, known in (
        ("gate", domain.relations),
        ("closed", domain.attributes),
        ("locked", domain.attributes),
        ("barred", domain.predicates),
        ("side", domain.predicates),
    ):
        if raw.get(key) not in known:
            raise DomainError(f"{file}: routes.{key}: the domain has no {raw.get(key)!r}")
    return RouteSchema(
        ways, raw["move"], steps["walk"], steps["pass"], steps["open"], raw["gate"], raw["closed"], raw["locked"],
        raw["barred"], raw["side"], float(raw.get("price", 1.0)),
    )  # fmt: skip


@dataclass(frozen=True)
class Way:
    """One way out of a place; ``steps`` are commands that it takes at present, infinite if it is locked."""

    name: str
    start: str
    end: str
    towards: str
    gate: str = ""
    shut: bool = False
    locked: bool = False

    @property
    def steps(self) -> float:
        """How many actions it takes."""
        return float("inf") if self.locked else 2.0 if self.shut else 1.0


@dataclass
class Routes:
    """The ways that a graph knows; made anew when the graph has changed."""

    graph: SceneGraph
    domain: Domain
    schema: RouteSchema
    ways: dict[str, list[Way]] = field(default_factory=dict)

    @staticmethod
    def of(graph: SceneGraph, domain: Domain) -> Routes | None:
        """Return the routes of a belief; None if the domain has no entry for them."""
        schema = route_schema(domain)
        if schema is None:
            return None
        routes = Routes(graph, domain, schema)
        routes._read()
        return routes

    def _read(self) -> None:
        names = self.schema.ways
        objects: dict[str, dict[str, str]] = {name: {} for name in (names.of, names.leads_to, names.towards or "")}
        gates: dict[str, str] = {}
        for relation in self.graph.relations:
            if relation.value is not Truth.TRUE:
                continue
            if relation.predicate in objects:
                objects[relation.predicate][relation.subject] = relation.object
            elif relation.predicate == self.schema.gate:
                gates[relation.object] = relation.subject
        for way, start in objects[names.of].items():
            end = objects[names.leads_to].get(way)
            if end is not None:
                gate = gates.get(way, "")
                found = Way(
                    way, start, end, objects[names.towards or ""].get(way, ""), gate,
                    self._has(gate, self.schema.closed), self._has(gate, self.schema.locked),
                )  # fmt: skip
                self.ways.setdefault(start, []).append(found)

    def _has(self, name: str, attribute: str) -> bool:
        node = self.graph.nodes.get(name)
        known = node.attributes.get(attribute) if node is not None else None
        return known is not None and known.value is Truth.TRUE

    def lengths(self, start: str) -> dict[str, float]:
        """Return place -> steps from a place, for all that can be reached."""
        return {place: steps for place, (steps, _) in self._search(start).items()}

    def next_step(self, start: str, end: str) -> GroundAction | None:
        """Return the first step of the shortest way; None if there is no way, or none is needed."""
        found = self._search(start)
        way = None
        while end != start and end in found:
            way = found[end][1]
            if way is None:
                return None
            end = way.start
        if way is None or end != start:
            return None
        if way.gate and way.shut:
            return self._action(self.schema.open, way)
        return self._action(self.schema.through if way.gate else self.schema.walk, way)

    def _action(self, name: str, way: Way) -> GroundAction:
        values = {"from": way.start, "to": way.end, "way": way.name, "towards": way.towards, "gate": way.gate}
        parameters = self.domain.action(name).parameters
        return GroundAction(name, tuple(values[parameter.name.lstrip("?")] for parameter in parameters))

    def _search(self, start: str) -> dict[str, tuple[float, Way | None]]:
        """Return place -> (steps, last way), by Dijkstra; ties by name, so that the answer is the same every time."""
        found: dict[str, tuple[float, Way | None]] = {}
        queue: list[tuple[float, str, str]] = [(0.0, "", start)]
        ways = {way.name: way for ways in self.ways.values() for way in ways}
        while queue:
            steps, last, place = heapq.heappop(queue)
            if place in found:
                continue
            found[place] = (steps, ways.get(last))
            for way in self.ways.get(place, ()):
                if way.end not in found and not way.locked:
                    heapq.heappush(queue, (steps + way.steps, way.name, way.end))
        return found


def route_facts(
    graph: SceneGraph, domain: Domain, objects: Iterable[str], mattering: Iterable[str]
) -> tuple[set[Atom], dict[Atom, float]]:
    """Return which places are barred and what gates open on, and the prices of moves from here and among what matters.

    Args:
        objects: names of all places. mattering: of those where there is something.
    """
    routes = Routes.of(graph, domain)
    if routes is None or domain.distance is None:
        return set(), {}
    price, distance = routes.schema.price, domain.distance
    here = _here(graph, domain)
    values: dict[Atom, float] = {}
    facts = {
        Atom(routes.schema.side, (way.gate, place))
        for ways in routes.ways.values()
        for way in ways
        if way.gate
        for place in (way.start, way.end)
    }
    for start in {here, *mattering} - {""}:
        lengths = routes.lengths(start)
        for place, steps in lengths.items():
            values[Atom(distance, (start, place))] = price * steps
            values[Atom(distance, (place, start))] = price * steps
        if start == here:
            facts |= {Atom(routes.schema.barred, (place,)) for place in objects if place not in lengths}
    return facts, values


def way_relations(domain: Domain) -> tuple[str, ...]:
    """Return the relations that only say how ways run."""
    schema = unexplored_schema(domain)
    if schema is None:
        return ()
    return tuple(name for name in (schema.of, schema.leads_to, schema.towards) if name is not None)


def _here(graph: SceneGraph, domain: Domain) -> str:
    names = {name for name, item in domain.relations.items() if item.predicate == domain.location}
    for relation in graph.relations:
        if relation.predicate in names and relation.value is Truth.TRUE:
            return relation.object if relation.subject == ROBOT_ID else relation.subject
    return ""
