"""The belief of an agent that is told things: a scene graph that texts and the domain's effects write."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.state import effects
from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction, SymbolicState
from graph_planner_ros.language.interface import ParsedObservation
from graph_planner_ros.planning.hypotheses import candidate_places, find_observes
from graph_planner_ros.planning.prior import Prior
from graph_planner_ros.planning.tracking import place_predicates, things_in
from graph_planner_ros.scene.belief import robot_location
from graph_planner_ros.scene.effects import apply_effects
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import SceneGraph
from graph_planner_ros.scene.routes import Routes
from graph_planner_ros.scene.told import Untold, introduce, tell
from graph_planner_ros.scene.unexplored import Explorer


class TextBelief:
    """A scene graph without poses.

    Args:
        domain: says how facts become relations and attributes.
        clock: gives the time [s] of what is told; left out, time is the number of observations.
    """

    def __init__(self, domain: Domain, clock: Callable[[], float] | None = None) -> None:
        self._domain = domain
        self._clock = clock
        self.graph = SceneGraph(frame_id="", domain=domain.name)
        self._explorer = Explorer(self.graph, domain)
        self._first: dict[str, str] = {}

    def tell(self, parsed: ParsedObservation) -> list[Untold]:
        """Take in what an observation says; return what has no place in the belief."""
        expected = self.location()
        before = self.graph.stamp
        untold = tell(
            self.graph,
            self._domain,
            parsed.facts,
            parsed.objects,
            before + 1.0 if self._clock is None else max(before, self._clock()),
            complete=parsed.complete,
            complete_places=parsed.complete_places,
        )
        self._explorer.settle(expected, self.location())
        for fact in parsed.facts:
            if fact.positive and fact.atom.predicate in place_predicates(self._domain):
                self._first.setdefault(*fact.atom.arguments[:2])
        return untold

    def take_in(self, parsed: ParsedObservation, action: GroundAction | None = None) -> list[Untold]:
        """Take in the answer to a command: what ``action`` changes, if the world accepted it, and what is said."""
        if action is not None and not parsed.failed and parsed.understood:
            self.apply(action)
        return self.tell(parsed)

    def introduce(self, goals: Iterable[Goal]) -> None:
        """Take in what goals name and nobody has seen: that there is such a thing, and nothing else."""
        introduce(self.graph, goals)

    def apply(self, action: GroundAction) -> None:
        """Take in what an accepted action changes."""
        apply_effects(self.graph, self._domain, action, self.graph.stamp)

    def state(self) -> SymbolicState:
        """Return what is believed as planning facts."""
        return symbolic_state(self.graph, self._domain)

    def next_step(self, action: GroundAction) -> GroundAction:
        """Return the first of the steps that an action is made of here; the action itself if it is of one piece."""
        routes = Routes.of(self.graph, self._domain)
        if routes is None or action.name != routes.schema.move:
            return action
        return routes.next_step(self.location(), action.arguments[-1]) or action

    def objects(self) -> dict[str, str]:
        """Return instance -> class of everything known."""
        return {name: node.label for name, node in self.graph.nodes.items()}

    def location(self) -> str:
        """Return where the agent is; empty if that is not known."""
        return robot_location(self.graph, self._domain)

    def shows(self, action: GroundAction, all_effects: bool = False) -> bool:
        """Return whether what an action makes true of known things is believed.

        Args:
            all_effects: what it makes false counts as well, and an action without such effects is not shown.
        """
        added, deleted = effects(self._domain, action)
        known = set(self.graph.nodes) | set(self._domain.constants)
        atoms = self.state().atoms
        wanted = {atom for atom in added if self._is_believable(atom, known)}
        if not wanted <= atoms:
            return False
        if not all_effects:
            return True
        unwanted = {atom for atom in deleted if self._is_believable(atom, known)}
        return bool(wanted or unwanted) and atoms.isdisjoint(unwanted)

    def _is_believable(self, atom: Atom, known: set[str]) -> bool:
        mapped = atom.predicate in self._domain.attributes or any(
            item.predicate == atom.predicate for item in self._domain.relations.values()
        )
        return mapped and known.issuperset(atom.arguments)

    def holds_one(self, class_name: str, place: str) -> bool:
        """Return whether a thing of a class is believed to be in a place."""
        return bool(things_in(self._domain, self.state(), class_name, place))

    def count_places(self, prior: Prior) -> None:
        """Count into ``prior`` where each thing was when it was first seen, before the agent carried it away.

        Places that were not looked at are left out.
        """
        state, labels = self.state(), self.objects()
        looked_at = {atom.arguments[0] for atom in state.atoms if atom.predicate in find_observes(self._domain)}
        places = {place: labels[place] for place in candidate_places(self._domain, state) if place in looked_at}
        inside: dict[str, str] = {}
        for thing, place in self._first.items():
            for _ in self._first:  # through whatever carries it
                place = self._first.get(place, place)
            if thing in labels and place in places:
                inside[thing] = place
        if places:
            prior.add_home(places, inside, labels)
