"""A small symbolic household with partial observability: a hidden truth, a belief that only looking enlarges."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import goal_holds
from graph_planner_ros.domain.state import successor, unmet_preconditions
from graph_planner_ros.domain.symbols import Atom, Goal, GoalLiteral, GoalVariable, GroundAction, SymbolicState, Truth
from graph_planner_ros.planning.result import PlannedStep
from graph_planner_ros.planning.session import Decision, DecisionKind, TaskSession
from graph_planner_ros.scene.effects import apply_effects
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import MAP, Attribute, Box, Presence, Relation, SceneGraph, SceneNode
from graph_planner_ros.skills.result import SkillResult, SkillStatus

FIXTURES = (
    "CounterTop", "CounterTop", "DiningTable", "SinkBasin", "StoveBurner", "Fridge", "Microwave", "Cabinet", "Cabinet",
    "Drawer", "Drawer", "DeskLamp",
)  # fmt: skip
SUCCESS = SkillResult(SkillStatus.SUCCEEDED)


def failure(code: str, recoverable: bool = True, status: SkillStatus = SkillStatus.EXECUTION_FAILED) -> SkillResult:
    return SkillResult(status, code, f"it failed: {code}", recoverable)


@dataclass
class World:
    """The truth and what is believed of it.

    ``failure_rate``: chance that a skill fails for no reason. ``broken``: actions (name, argument) that always fail.
    ``glimpse``: chance that a thing on an open surface is seen in passing.
    """

    domain: Domain
    truth: SymbolicState
    graph: SceneGraph
    rng: random.Random
    failure_rate: float = 0.0
    glimpse: float = 0.5
    broken: dict[tuple[str, str], SkillResult] = field(default_factory=dict)
    disturb: Callable[[World, GroundAction], None] | None = None
    executed: list[GroundAction] = field(default_factory=list)
    failures: list[tuple[GroundAction, SkillResult]] = field(default_factory=list)
    time: float = 100.0

    # ---- truth

    def items_in(self, place: str) -> list[str]:
        return sorted(
            atom.arguments[0] for atom in self.truth.atoms if atom.predicate == "in" and atom.arguments[1] == place
        )

    def place(self, thing: str) -> str | None:
        return next((a.arguments[1] for a in self.truth.atoms if a.predicate == "in" and a.arguments[0] == thing), None)

    def move(self, thing: str, place: str) -> None:
        """Someone moves a thing behind the robot's back."""
        atoms = {a for a in self.truth.atoms if not (a.predicate in ("in", "holding") and a.arguments[0] == thing)}
        if not any(a.predicate == "holding" for a in atoms):
            atoms.add(Atom("hand_empty"))
        self.truth = SymbolicState(
            self.truth.objects, frozenset(atoms | {Atom("in", (thing, place))}), self.truth.functions
        )

    def is_true(self, predicate: str, *arguments: str) -> bool:
        return Atom(predicate, arguments) in self.truth.atoms

    # ---- acting

    def execute(self, step: PlannedStep) -> SkillResult:
        action = step.action
        self.time += 5.0
        if self.disturb is not None:
            self.disturb(self, action)
        result = self._result(action)
        if result.succeeded:
            self.executed.append(action)
            if action.name == "find":
                self.truth = successor(self.domain, self.truth, GroundAction("look", (action.arguments[1],)))
            else:
                self.truth = successor(self.domain, self.truth, action)
            apply_effects(self.graph, self.domain, action, self.time)
        else:
            self.failures.append((action, result))
        self.perceive(thorough=action.name in ("find", "look") or not result.succeeded)
        return result

    def _result(self, action: GroundAction) -> SkillResult:
        for argument in action.arguments:
            if (action.name, argument) in self.broken:
                return self.broken[action.name, argument]
        meant = GroundAction("look", (action.arguments[1],)) if action.name == "find" else action
        unmet = unmet_preconditions(self.domain, self.truth, meant)
        if unmet:
            return failure("object_not_found" if any(line.startswith("in(") for line in unmet) else "not_possible")
        if self.rng.random() < self.failure_rate:
            return failure("grasp_failed" if action.name in ("pick_up", "take_out") else "collision")
        return SUCCESS

    # ---- seeing

    def perceive(self, thorough: bool) -> None:
        """See what is here: doors and lamps always; things if it is open, all of them after a thorough look."""
        self.time += 0.5
        self.graph.stamp = self.time
        self.graph.revision += 1
        here = next(atom.arguments[0] for atom in self.truth.atoms if atom.predicate == "at")
        self._see_hand()
        if here not in self.graph.nodes:
            return
        for name in ("closed", "switched_on"):
            if self.is_true("openable" if name == "closed" else "toggleable", here):
                value = Truth.TRUE if self.is_true(name, here) else Truth.FALSE
                self.graph.nodes[here].attributes[name] = Attribute(name, value, stamp=self.time)
        if self.is_true("closed", here):
            return
        seen = []
        for thing in self.items_in(here):
            if thorough or self.rng.random() < self.glimpse:
                seen.append(thing)
                self._see(thing, here)
                for inner in self.items_in(thing):
                    self._see(inner, thing)
        if thorough:
            self._miss(here)

    def _see(self, thing: str, place: str) -> None:
        node = self.graph.nodes.setdefault(thing, SceneNode(thing, self._label(thing), first_seen=self.time))
        node.presence, node.last_seen = Presence.PRESENT, self.time
        for name in ("sliced", "dirty"):
            value = Truth.TRUE if self.is_true(name, thing) else Truth.FALSE
            node.attributes[name] = Attribute(name, value, stamp=self.time)
        self._unplace(thing)
        self.graph.relations.append(Relation(thing, "in", place, stamp=self.time))

    def _see_hand(self) -> None:
        held = {atom.arguments[0] for atom in self.truth.atoms if atom.predicate == "holding"}
        for relation in list(self.graph.relations):
            if relation.predicate == "holding" and relation.object not in held:
                self.graph.relations.remove(relation)
                self.graph.nodes[relation.object].presence = Presence.STALE

    def _miss(self, here: str) -> None:
        for relation in list(self.graph.relations):
            here_too = relation.predicate in ("in", "on") and relation.object == here
            if here_too and self.place(relation.subject) != here:
                self.graph.nodes[relation.subject].presence = Presence.ABSENT
                self._unplace(relation.subject)

    def _unplace(self, thing: str) -> None:
        self.graph.relations = [
            r for r in self.graph.relations if not (r.subject == thing and r.predicate in ("in", "on"))
        ]
        held = [r for r in self.graph.relations if r.predicate == "holding" and r.object == thing]
        if held and not self.is_true("holding", thing):
            self.graph.relations = [r for r in self.graph.relations if r not in held]

    def _label(self, thing: str) -> str:
        return next(
            a.arguments[1] for a in self.truth.atoms if a.predicate == "instance_of" and a.arguments[0] == thing
        )

    def state(self) -> SymbolicState:
        return symbolic_state(self.graph, self.domain)


def kitchen(domain: Domain, seed: int, items: list[str], extra: int = 5, fixtures: tuple[str, ...] = FIXTURES) -> World:
    """A kitchen with the given classes of things, ``extra`` others, all in random places, and nothing seen yet."""
    rng = random.Random(seed)
    classes = [e.name for e in domain.classes.values() if domain.is_a(e.type_name, "item")][:14]
    labels = list(items) + [rng.choice(classes) for _ in range(extra)]
    objects: dict[str, str] = dict.fromkeys(domain.classes, "class")
    atoms = {Atom("hand_empty"), Atom("at", ("start",))}
    objects["start"] = "place"
    graph = SceneGraph(stamp=100.0, domain=domain.name)
    numbers: dict[str, int] = {}

    def add(label: str) -> str:
        numbers[label] = numbers.get(label, 0) + 1
        name = f"{label.lower()}_{numbers[label]}"
        entry = domain.class_of(label)
        objects[name] = entry.type_name
        atoms.update(Atom(fact, (name,)) for fact in entry.facts)
        atoms.add(Atom("instance_of", (name, label)))
        return name

    places = []
    for label in fixtures:
        name = add(label)
        box = Box(np.array([rng.uniform(0, 5), rng.uniform(0, 5), 0.5]), np.array([0.6, 0.6, 0.9]), rng.uniform(-3, 3))
        graph.nodes[name] = SceneNode(name, label, box=box, source=MAP)
        if "receptacle" in domain.class_of(label).facts:
            places.append(name)
        if "openable" in domain.class_of(label).facts and rng.random() < 0.9:
            atoms.add(Atom("closed", (name,)))
    for label in labels:
        name = add(label)
        atoms.add(Atom("in", (name, rng.choice(places))))
        if rng.random() < 0.3:
            atoms.add(Atom("dirty", (name,)))
    functions = symbolic_state(graph, domain).functions
    return World(domain, SymbolicState(objects, frozenset(atoms), functions), graph, rng)


def run(world: World, session: TaskSession, limit: int = 250) -> Decision:
    """Run a task to its end; every plan that is handed out must have passed the verifier."""
    decision = session.start(world.graph, world.state())
    for _ in range(limit):
        if decision.kind in (DecisionKind.DONE, DecisionKind.FAILED):
            return decision
        assert decision.verification is not None and decision.verification.valid
        step = decision.steps[decision.next]
        result = world.execute(step)
        if result.succeeded:
            decision = session.after_success(step, world.graph, world.state())
        else:
            decision = session.after_failure(step, result, world.graph, world.state())
    raise AssertionError(f"not finished after {limit} steps; last: {decision.reason}")


def reached(world: World, goal: Goal) -> bool:
    return goal_holds(goal, world.truth, world.domain)


# ---- goals


def put_goal(label: str, place: str, *attributes: str, count: int = 1) -> Goal:
    """``count`` things of class ``label`` with these attributes (``-dirty``: without) in a place of class ``place``."""
    variables = [GoalVariable("?p", "fixture", place)]
    literals = []
    names = [f"?i{number}" for number in range(count)]
    for name in names:
        variables.append(GoalVariable(name, "item", label))
        literals.append(GoalLiteral("in", (name, "?p")))
        for attribute in attributes:
            literals.append(GoalLiteral(attribute.lstrip("-"), (name,), not attribute.startswith("-")))
    distinct = (tuple(names),) if count > 1 else ()
    text = f"put {count} {' '.join(attributes)} {label} in {place}"
    return Goal(tuple(variables), tuple(literals), distinct, text)


def fixture_goal(predicate: str, label: str, positive: bool = True) -> Goal:
    literal = GoalLiteral(predicate, ("?f",), positive)
    return Goal((GoalVariable("?f", "fixture", label),), (literal,), (), f"{predicate} {label} {positive}")


def nested_goal(inner: str, outer: str, place: str) -> Goal:
    variables = (
        GoalVariable("?i", "item", inner), GoalVariable("?m", "movable_receptacle", outer),
        GoalVariable("?p", "fixture", place),
    )  # fmt: skip
    literals = (GoalLiteral("in", ("?i", "?m")), GoalLiteral("in", ("?m", "?p")))
    return Goal(variables, literals, (), f"put a {outer} with a {inner} in it in the {place}")


def item_goal(label: str, *attributes: str) -> Goal:
    literals = tuple(GoalLiteral(name.lstrip("-"), ("?i",), not name.startswith("-")) for name in attributes)
    return Goal((GoalVariable("?i", "item", label),), literals, (), f"{' '.join(attributes)} {label}")
