"""Keeps what a running task knows beside the scene graph: where things were, what was looked at, what proved wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Atom, GroundAction, SymbolicState, Truth
from graph_planner_ros.planning.hypotheses import find_observes
from graph_planner_ros.planning.memory import NegativeMemory, PositiveMemory
from graph_planner_ros.planning.relevance import things_of
from graph_planner_ros.planning.supposing import Evidence
from graph_planner_ros.scene.graph import Attribute, Presence, SceneGraph

ABSENT_CONFIDENCE = 0.5
"""Confidence that a place holds nothing of a kind, if perception says that the thing of that kind there is gone."""
NOT_FOUND_CONFIDENCE = 0.6
"""Confidence of the same, if a skill did not find the thing there."""


def place_predicates(domain: Domain) -> frozenset[str]:
    """Return the predicates that say in which place a thing is: those that finding it makes true."""
    if domain.hypotheses is None:
        return frozenset()
    schema = domain.action(domain.hypotheses.action)
    return frozenset(term.predicate for term in schema.added if len(term.arguments) == 2)


def place_of(domain: Domain, state: SymbolicState, thing: str) -> str | None:
    """Return the place (no item) that a thing is in, through whatever carries it; None if there is none."""
    inside = {
        atom.arguments[0]: atom.arguments[1]
        for atom in state.atoms
        if atom.predicate in place_predicates(domain) and len(atom.arguments) == 2
    }
    return _outermost(domain, state, inside, thing)


def _outermost(domain: Domain, state: SymbolicState, inside: dict[str, str], thing: str) -> str | None:
    item = domain.hypotheses.item_type if domain.hypotheses else ""
    current, steps = inside.get(thing), 0
    while current is not None and domain.is_a(state.objects.get(current, ""), item) and steps < len(inside):
        current, steps = inside.get(current), steps + 1
    return current


def things_in(domain: Domain, state: SymbolicState, class_name: str, place: str) -> frozenset[str]:
    """Return the things of a class that are believed to be in a place, in whatever carries them."""
    places = _places(domain, state)
    return frozenset(thing for thing in things_of(domain, state, class_name) if places.get(thing) == place)


@dataclass(frozen=True)
class Belief:
    """A symbolic state corrected by what the task has learned, and the evidence beside it."""

    state: SymbolicState
    evidence: Evidence


@dataclass
class BeliefTracker:
    """Turns what perception believes into what the task plans with.

    Attributes:
        disbelieved: atom -> time; not believed until the thing is detected later than that.
        _placed: thing -> when it was last seen in a place, or carried.
    """

    domain: Domain
    positive: PositiveMemory
    negative: NegativeMemory
    instruction: str = ""
    disbelieved: dict[Atom, float] = field(default_factory=dict)
    _last_place: dict[str, str] = field(default_factory=dict)
    _placed: dict[str, float] = field(default_factory=dict)
    _carried_to: dict[str, str] = field(default_factory=dict)
    _now: float = 0.0

    def update(self, graph: SceneGraph, state: SymbolicState, before: str | None = None) -> Belief:
        """Take in a new belief of perception; ``before`` is the name of the action that led to it, see `Evidence`."""
        if graph.stamp < self._now:
            self.negative.clock_went_back(graph.stamp)
            self.disbelieved = {atom: min(stamp, graph.stamp) for atom, stamp in self.disbelieved.items()}
        self._now = graph.stamp
        corrected = self._correct(graph, state)
        self._remember_places(graph, corrected)
        labels = {name: node.label for name, node in graph.nodes.items() if node.label in self.domain.classes}
        looks = self._looks(graph, corrected)
        evidence = Evidence(
            graph.stamp,
            labels,
            self._lost(graph, corrected),
            {place: look.stamp for place, look in looks.items()},
            {place: look.confidence for place, look in looks.items()},
            self.instruction,
            graph,
            before,
        )
        return Belief(corrected, evidence)

    def disbelieve(self, state: SymbolicState, action: GroundAction, stamp: float) -> tuple[Atom, ...]:
        """Stop believing that the things of an action are where it expected them, until they are detected again."""
        schema = self.domain.action(action.name)
        binding = {name: value for (name, _), value in zip(schema.parameters, action.arguments, strict=True)}
        wrong = tuple(
            Atom(literal.predicate, tuple(binding.get(name, name) for name in literal.arguments))
            for literal in schema.preconditions
            if literal.positive and literal.predicate in place_predicates(self.domain)
        )
        # of a chain (egg in the bowl, bowl on the table) only the innermost link is in doubt
        wrong = tuple(atom for atom in wrong if atom in state.atoms)[:1]
        for atom in wrong:
            self.disbelieved[atom] = stamp
        return wrong

    def _correct(self, graph: SceneGraph, state: SymbolicState) -> SymbolicState:
        for atom, stamp in list(self.disbelieved.items()):
            node = graph.nodes.get(atom.arguments[0]) if atom.arguments else None
            if atom not in state.atoms or (node is not None and node.last_seen > stamp):
                del self.disbelieved[atom]
        if not self.disbelieved:
            return state
        return without_things(self.domain, state, {atom.arguments[0] for atom in self.disbelieved})

    def _remember_places(self, graph: SceneGraph, state: SymbolicState) -> None:
        sightings = []
        places = _places(self.domain, state)
        self._remember_carried(state, places)
        for thing, place in places.items():
            self._last_place[thing] = place
            node, place_node = graph.nodes.get(thing), graph.nodes.get(place)
            if node is None or place_node is None:
                continue
            sightings.append((thing, node.label, place, place_node.label))
            if node.last_seen > 0.0:
                self._placed[thing] = node.last_seen
                self.negative.contradict(node.label, place, node.last_seen, thing)
                self.negative.contradict(thing, place, node.last_seen, thing)
        self.positive.observe(sightings)

    def _remember_carried(self, state: SymbolicState, places: dict[str, str]) -> None:
        """Remember where the robot is with what it carries: if that gets lost, it is likely to be there."""
        item = self.domain.hypotheses.item_type if self.domain.hypotheses else ""
        here = next((atom.arguments[-1] for atom in state.atoms if atom.predicate == self.domain.location), None)
        for thing, of in state.objects.items():
            if self.domain.is_a(of, item):
                self._carried_to.pop(thing, None)
                if thing not in places and here is not None:
                    self._carried_to[thing] = here
                    self._placed[thing] = self._now

    def _lost(self, graph: SceneGraph, state: SymbolicState) -> dict[str, frozenset[str]]:
        """Return label -> last places of things that perception has not seen lately; note those that are gone."""
        lost: dict[str, frozenset[str]] = {}
        for name, node in graph.nodes.items():
            if name in state.objects or node.label not in self.domain.classes:
                continue
            if name in self._placed:
                # where it was not before it went, it may be now
                self.negative.withdraw_before(node.label, self._placed[name])
                self.negative.withdraw_before(name, self._placed[name])
            place = self._carried_to.get(name) or self._last_place.get(name) or self._graph_place(graph, name)
            if place is None or place not in state.objects:
                continue
            disbelieved = any(atom.arguments[0] == name for atom in self.disbelieved)
            carried = name in self._carried_to
            if (node.presence is Presence.STALE or carried) and not disbelieved:
                lost[node.label] = lost.get(node.label, frozenset()) | {place}
            elif node.presence is Presence.ABSENT and self.negative.get(node.label, place) is None:
                there = things_in(self.domain, state, node.label, place)
                self.negative.refute(node.label, place, ABSENT_CONFIDENCE, graph.stamp, there)
        return lost

    def _graph_place(self, graph: SceneGraph, thing: str) -> str | None:
        predicates = place_predicates(self.domain)
        for relation in graph.relations:
            schema = self.domain.relations.get(relation.predicate)
            if schema is None or schema.predicate not in predicates:
                continue
            if relation.subject == thing and relation.value is not Truth.FALSE:
                return relation.object
        return None

    def _looks(self, graph: SceneGraph, state: SymbolicState) -> dict[str, Attribute]:
        """Return place -> the attribute that says when it was looked at last, and how well."""
        names = find_observes(self.domain)
        looks: dict[str, Attribute] = {}
        for node_id, node in graph.nodes.items():
            found = [item for name, item in node.attributes.items() if name in names]
            if node_id in state.objects and any(item.value is Truth.TRUE for item in found):
                looks[node_id] = max(found, key=lambda item: item.stamp)
        return looks


def without_things(domain: Domain, state: SymbolicState, things: Iterable[str]) -> SymbolicState:
    """Return the state without some things, what is in them, and everything about them."""
    gone = set(things)
    inside = [atom.arguments for atom in state.atoms if atom.predicate in place_predicates(domain)]
    while more := {thing for thing, carrier in inside if carrier in gone} - gone:
        gone |= more
    atoms = frozenset(atom for atom in state.atoms if gone.isdisjoint(atom.arguments))
    return SymbolicState({name: of for name, of in state.objects.items() if name not in gone}, atoms, state.functions)


def _places(domain: Domain, state: SymbolicState) -> dict[str, str]:
    """Return thing -> the place that it is in."""
    inside = {
        atom.arguments[0]: atom.arguments[1]
        for atom in state.atoms
        if atom.predicate in place_predicates(domain) and len(atom.arguments) == 2
    }
    found = {thing: _outermost(domain, state, inside, thing) for thing in inside}
    return {thing: place for thing, place in found.items() if place is not None}


def not_there(
    domain: Domain, tracker: BeliefTracker, negative: NegativeMemory, action: GroundAction, belief: Belief
) -> None:
    """Learn that a skill did not find a thing where it was believed to be."""
    for atom in tracker.disbelieve(belief.state, action, belief.evidence.now):
        thing = atom.arguments[0]
        place = place_of(domain, belief.state, thing)
        label = belief.evidence.labels.get(thing)
        if place is None or label is None:
            continue
        there = things_in(domain, belief.state, label, place) - {thing}
        negative.refute(label, place, NOT_FOUND_CONFIDENCE, belief.evidence.now, there)
