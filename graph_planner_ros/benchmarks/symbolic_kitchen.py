"""The kitchen of the simulator without physics: what is true is its scene, what is believed is what was looked at.

Fixtures, items and where they lie come from the simulator's own world (`sim.world.KitchenWorld`), which is asked once.
From then on actions change the truth by the planning domain's effects, so that hundreds of episodes a minute can be
played with the same planner, the same partial observability, and no camera. What is on a fixture without a door is
seen by whoever stands in front of it; what is behind a door when it is open and looked at.
"""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from graph_planner_ros.benchmarks.generated import GeneratedWorld, generate_goals
from graph_planner_ros.benchmarks.worlds.game import GameSpec, GameStatus
from graph_planner_ros.benchmarks.worlds.recording import Observer
from graph_planner_ros.benchmarks.worlds.records import EpisodeRecord, StepRecord
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import describe_goal, goal_holds
from graph_planner_ros.domain.state import unmet_preconditions
from graph_planner_ros.domain.symbols import Goal, GroundAction, SymbolicState, Truth
from graph_planner_ros.planning.hypotheses import find_arguments, find_observes
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.result import PlanningStatus
from graph_planner_ros.planning.session import DecisionKind, TaskSession
from graph_planner_ros.scene.belief import contents, is_fixture, place_relation, set_attribute, set_place
from graph_planner_ros.scene.effects import apply_effects
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import MAP, PERCEPTION, Presence, SceneGraph, SceneNode
from graph_planner_ros.skills.result import SkillResult, SkillStatus

WORLD = "kitchen"
LIMIT = 100
"""Actions of an episode."""
ACTION_TIME = 5.0
"""Seconds that an action takes, for what fades with time."""
_GOALS_TRIED = 40
_SUCCESS = SkillResult(SkillStatus.SUCCEEDED)


@dataclass(frozen=True)
class KitchenTask:
    """A goal in one kitchen.

    Attributes:
        layout, seed: of the simulator's world. number: of the task in it. group: kind of goal.
        goal: to be reached; its text is the instruction. shortest: actions of a plan that knows where everything is.
    """

    layout: str
    seed: int
    number: int
    group: str
    goal: Goal
    shortest: int

    def spec(self, split: str = "") -> GameSpec:
        """Return the task as a game, for records."""
        name = f"{self.layout}/{self.seed}/{self.number}"
        return GameSpec(WORLD, name, self.group, split or self.layout, LIMIT, self.seed)


class SymbolicKitchen:
    """A kitchen that actions change and looking reveals.

    Args:
        domain: says what actions need and change. truth: everything that is true; it is copied.

    Attributes:
        truth: what is true now. belief: what the robot knows: at first the fixtures, from its map.
    """

    def __init__(self, domain: Domain, truth: SceneGraph) -> None:
        self._domain = domain
        self.truth = copy.deepcopy(truth)
        self.belief = SceneGraph(truth.frame_id, truth.stamp, domain.name)
        for name, node in truth.nodes.items():
            if is_fixture(domain, node):
                known = SceneNode(name, node.label, node.box, node.containment, source=MAP)
                self.belief.nodes[name] = copy.deepcopy(known)

    def state(self) -> SymbolicState:
        """Return what is believed as planning facts."""
        return symbolic_state(self.belief, self._domain)

    def execute(self, action: GroundAction) -> SkillResult:
        """Carry out an action if what is true allows it, and look at what is in view then."""
        self.truth.stamp += ACTION_TIME
        looked, meant = "", action
        hypotheses = self._domain.hypotheses
        if hypotheses is not None and action.name == hypotheses.action:
            looked = find_arguments(self._domain, action.arguments)[1]
        elif any(name == term.predicate for term in self._domain.action(action.name).added for name in self._looking):
            looked = action.arguments[-1]
        if looked:
            unmet = [] if looked == self._here() and not self._is_shut(looked) else [f"{looked} cannot be looked into"]
        else:
            unmet = unmet_preconditions(self._domain, symbolic_state(self.truth, self._domain), meant)
        if not unmet:
            if not looked:
                apply_effects(self.truth, self._domain, meant, self.truth.stamp)
            apply_effects(self.belief, self._domain, action, self.truth.stamp)
        self._see(looked)
        return SkillResult(SkillStatus.EXECUTION_FAILED, "not_possible", "; ".join(unmet)) if unmet else _SUCCESS

    @property
    def _looking(self) -> frozenset[str]:
        return find_observes(self._domain)

    def _here(self) -> str:
        atoms = symbolic_state(self.truth, self._domain).atoms
        return next((atom.arguments[0] for atom in atoms if atom.predicate == self._domain.location), "")

    def _is_shut(self, place: str) -> bool:
        closed = self.truth.nodes[place].attributes.get("closed") if place in self.truth.nodes else None
        return closed is not None and closed.value is Truth.TRUE

    def _see(self, looked: str) -> None:
        """Take in what is in view: the fixture in front, and what is on it, or in it if it was looked into."""
        belief, now = self.belief, self.truth.stamp
        belief.stamp, belief.revision = now, belief.revision + 1
        here = self._here()
        fixture = self.truth.nodes.get(here)
        if fixture is None:
            return
        self._copy_attributes(fixture, belief.nodes[here])
        has_door = "closed" in fixture.attributes
        if self._is_shut(here) or (has_door and not looked):
            return
        there = set(contents(self.truth, here))
        for gone in set(contents(belief, here)) - there:
            set_place(belief, gone, None)
            belief.nodes[gone].presence = Presence.ABSENT
        for thing in sorted(there):
            self._see_thing(thing)

    def _see_thing(self, name: str) -> None:
        true, now = self.truth.nodes[name], self.truth.stamp
        node = self.belief.nodes.setdefault(name, SceneNode(name, true.label, first_seen=now))
        node.presence, node.last_seen, node.box = Presence.PRESENT, now, copy.deepcopy(true.box)
        node.containment = copy.deepcopy(true.containment)
        self._copy_attributes(true, node)
        relation = place_relation(self.truth, name)
        assert relation is not None
        set_place(self.belief, name, (relation.predicate, relation.object), PERCEPTION, now)

    def _copy_attributes(self, true: SceneNode, node: SceneNode) -> None:
        for name, attribute in true.attributes.items():
            schema = self._domain.attributes.get(name)
            if schema is not None and schema.visible:
                set_attribute(node, name, attribute.value, PERCEPTION, self.truth.stamp)


def play_kitchen(
    domain: Domain, planner: MemPlan, task: KitchenTask, observer: Observer | None = None, split: str = ""
) -> EpisodeRecord:
    """Play a task to its end; success is judged by what is true.

    Args:
        domain, planner: as everywhere; the planner's memories should be new.
        task: what to do and where. observer: is told what is done. split: for the record.
    """
    started = time.monotonic()
    spec, kitchen = task.spec(split), SymbolicKitchen(domain, true_scene(domain, task.layout, task.seed))
    text = task.goal.text or describe_goal(task.goal, domain)
    session = TaskSession(domain, planner, text, [task.goal])
    record = EpisodeRecord(spec.world, spec.name, spec.group, spec.split, spec.seed, spec.limit, "memplan", goal=text)
    record.steps.append(StepRecord(0))
    clock = time.perf_counter()
    decision = session.start(kitchen.belief, kitchen.state())
    while decision.kind not in (DecisionKind.DONE, DecisionKind.FAILED) and record.steps_taken < spec.limit:
        step = decision.steps[decision.next]
        record.steps_taken += 1
        record.steps.append(
            StepRecord(
                record.steps_taken,
                action=str(step.action),
                decision=f"{decision.kind.value}: {decision.reason}",
                planning_seconds=time.perf_counter() - clock,
            )
        )
        if observer is not None:
            observer.acting(kitchen.belief, step.action)
        result = kitchen.execute(step.action)
        if observer is not None:
            observer.acted(kitchen.belief, result.succeeded)
        clock = time.perf_counter()
        if result.succeeded:
            decision = session.after_success(step, kitchen.belief, kitchen.state())
        else:
            record.invalid += 1
            decision = session.after_failure(step, result, kitchen.belief, kitchen.state())
    won = goal_holds(task.goal, symbolic_state(kitchen.truth, domain), domain)
    record.status = GameStatus.WON.value if won else GameStatus.RUNNING.value
    record.reason = "" if won else f"not solved within {record.steps_taken} actions; {decision.reason}"
    record.score, record.seconds = float(won), time.monotonic() - started
    if observer is not None:
        observer.ended(kitchen.belief, session.goals, record)
    return record


@lru_cache(maxsize=64)
def true_scene(domain: Domain, layout: str, seed: int) -> SceneGraph:
    """Return what is true at the start in the simulator's kitchen; not to be changed.

    Raises:
        ValueError: there is no such layout.
    """
    from graph_planner_ros.sim.truth import truth_graph
    from graph_planner_ros.sim.world import KitchenWorld

    return truth_graph(KitchenWorld(layout, seed, robot=False), domain)


def list_tasks(
    domain: Domain, planner: MemPlan, layouts: Iterable[str], seeds: Sequence[int], count: int
) -> Iterator[KitchenTask]:
    """Yield made-up tasks that can be solved, ``count`` in each kitchen; the same every time.

    Args:
        planner: finds out, knowing everything, whether a task can be solved and in how many actions.
        layouts, seeds: of the kitchens.
    """
    for layout in layouts:
        for seed in seeds:
            truth = true_scene(domain, layout, seed)
            state = symbolic_state(truth, domain)
            items = [node.label for node in truth.nodes.values() if not is_fixture(domain, node)]
            world = GeneratedWorld(state, tuple(sorted(set(items))), len(truth.nodes) - len(items), len(items))
            number = 0
            for tried, goal in enumerate(
                generate_goals(domain, world, random.Random(f"{layout} {seed}").getrandbits(32))
            ):
                if number >= count or tried >= _GOALS_TRIED:
                    break
                known = planner.plan(state, goal)
                if known.status is PlanningStatus.SOLVED and not known.placeholders:
                    yield KitchenTask(layout, seed, number, group_of(goal), goal, len(known.steps))
                    number += 1


def group_of(goal: Goal) -> str:
    """Return the kind of a goal: its predicates."""
    return "+".join(sorted(literal.predicate for literal in goal.literals))
