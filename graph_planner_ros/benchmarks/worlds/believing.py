"""The belief of an agent that is told things: a scene graph that texts and the domain's effects write."""

from __future__ import annotations

from collections.abc import Iterable

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.state import effects
from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction, SymbolicState
from graph_planner_ros.language.interface import ParsedObservation
from graph_planner_ros.planning.tracking import things_in
from graph_planner_ros.scene.belief import true_relations
from graph_planner_ros.scene.effects import apply_effects
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import ASSUMPTION, ROBOT_ID, SceneGraph, SceneNode
from graph_planner_ros.scene.routes import Routes
from graph_planner_ros.scene.told import Untold, tell
from graph_planner_ros.scene.unexplored import Explorer


class TextBelief:
    """A scene graph whose time is the number of observations.

    Args:
        domain: says how facts become relations and attributes.
    """

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self.graph = SceneGraph(domain=domain.name)
        self._explorer = Explorer(self.graph, domain)
        self._location = [name for name, item in domain.relations.items() if item.predicate == domain.location]

    def tell(self, parsed: ParsedObservation) -> list[Untold]:
        """Take in what an observation says; return what has no place in the belief."""
        expected = self.location()
        untold = tell(
            self.graph,
            self._domain,
            parsed.facts,
            parsed.objects,
            self.graph.stamp + 1.0,
            complete=parsed.complete,
            complete_places=parsed.complete_places,
        )
        self._explorer.settle(expected, self.location())
        return untold

    def introduce(self, goals: Iterable[Goal]) -> None:
        """Take in what goals name and nobody has seen: that there is such a thing, and nothing else."""
        for variable in (variable for goal in goals for variable in goal.variables):
            if variable.instance is not None and variable.class_name is not None:
                node = SceneNode(variable.instance, variable.class_name, source=ASSUMPTION)
                self.graph.nodes.setdefault(variable.instance, node)

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
        for name in self._location:
            for relation in true_relations(self.graph, name):
                return relation.object if relation.subject == ROBOT_ID else relation.subject
        return ""

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
