"""One action at a time, chosen by a model from what can be done now (GiG), with a verified plan behind it.

MemPlan plans first. The model then chooses from the actions that can be done now, each with what it makes true, with
the scene, what memory says, and a warning if the robot goes in circles. A choice counts only if the goal can be reached
from where it leads: what the engine plans behind it is part of the plan, and the verifier judges the whole. Without a
choice that counts MemPlan's plan stands. The task asks again after every action (`TaskSession`, ``replan_every_step``).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import goal_holds
from graph_planner_ros.domain.state import successor
from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction, SymbolicState
from graph_planner_ros.language.models import LanguageModel
from graph_planner_ros.memory.state_graph import Loop, StateGraph
from graph_planner_ros.planning.engines.base import Engine
from graph_planner_ros.planning.hypotheses import Hypotheses, with_hypotheses
from graph_planner_ros.planning.llm import prompting
from graph_planner_ros.planning.llm.action_selection import Selection, SelectionStatus, select_action
from graph_planner_ros.planning.llm.asking import one_line
from graph_planner_ros.planning.llm.borrowed import BorrowedMemories
from graph_planner_ros.planning.llm.planner import ModelPlanning
from graph_planner_ros.planning.llm.task_scene import KeyObjects, task_scene
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.problem import bind_placeholders, compile_problem, complete_functions, is_excluded
from graph_planner_ros.planning.result import ModelRound, PlanningResult, PlanningStatus, planned_steps
from graph_planner_ros.planning.supposing import Evidence
from graph_planner_ros.planning.task_graph import KnownThings
from graph_planner_ros.planning.verifier import verify
from graph_planner_ros.scene.graph import SceneGraph

MAX_DETOURS = 20
"""Choices in a task that may make its plan dearer than MemPlan's; then MemPlan's actions are done. Without a bound a
model could walk to and fro for ever."""
MAX_TURNS = 2
"""How often a way that leads back to its beginning may be gone round before its first action is refused."""
MAX_SILENCES = 2
"""Questions in a row without an answer after which the model is not asked any more in a task."""
_ALIKE = np.ones(1, dtype=np.float32)
"""Embedding of every scene: what is true in them tells situations apart."""


@dataclass
class _Way:
    """What was done in the task so far, as far as scenes show it."""

    graph: StateGraph
    seen: tuple[float, int] | None = None
    next: GroundAction | None = None
    loop: Loop | None = None

    def look(self, scene: SceneGraph | None) -> Loop | None:
        """Take in the scene after the action that was next; return the loop that it closes, if any."""
        if scene is None or (scene.stamp, scene.revision) == self.seen:
            return self.loop
        if self.next is not None and self.graph.current is not None:
            self.graph.acted(self.next)
        self.seen, self.next = (scene.stamp, scene.revision), None
        self.loop = self.graph.observe(_ALIKE, scene)
        return self.loop


@dataclass
class _Behind:
    """A question and the plans that were found behind its choices."""

    state: SymbolicState
    full: SymbolicState
    goal: Goal
    base: PlanningResult
    banned: tuple[GroundAction, ...]
    loop: Loop | None
    cancel: threading.Event | None
    deadline: float
    plans: dict[GroundAction, tuple[GroundAction, ...]] = field(default_factory=dict)

    @property
    def hypotheses(self) -> Hypotheses:
        """Those of MemPlan's plan."""
        return self.base.hypotheses


class ActionPlanner(BorrowedMemories):
    """Plans by one choice of a model after the other; takes the place of `MemPlan` in a `TaskSession`.

    One for each task: it remembers the way, and how often the model was silent or led astray.

    Args:
        domain: fixed. engine: plans behind a choice. model: chooses. memplan: plans before, and has the memories.
        options: ``timeout`` for all questions about one action, ``rounds``, ``advice``, ``lookahead``, ``key_objects``.
    """

    def __init__(
        self,
        domain: Domain,
        engine: Engine,
        model: LanguageModel,
        memplan: MemPlan,
        options: ModelPlanning | None = None,
    ) -> None:
        super().__init__(memplan)
        self.domain, self.engine, self.model, self.memplan = domain, engine, model, memplan
        self.options = options or ModelPlanning()
        self.timeout = memplan.timeout
        self.detours = 0
        self._silences = 0
        self._way = _Way(StateGraph(domain))
        self._key_objects = KeyObjects(domain, model, self.options.timeout / 3)

    def plan(
        self,
        state: SymbolicState,
        goal: Goal,
        cancel: threading.Event | None = None,
        *,
        evidence: Evidence | None = None,
        excluded: Iterable[GroundAction] = (),
        remaining: Mapping[Atom, int] | None = None,
    ) -> PlanningResult:
        """Plan from what is believed; see `MemPlan.plan`. The first step is the model's, or MemPlan's."""
        started = time.monotonic()
        known, banned = evidence or Evidence(), tuple(excluded)
        result = self.memplan.plan(state, goal, cancel, evidence=known, excluded=banned, remaining=remaining)
        if result.status is not PlanningStatus.SOLVED or not result.steps or self.domain.takes_time:
            return result
        loop, rounds = self._way.look(known.scene), [*result.rounds]
        why = self._why_not_asked()
        if why:
            result = replace(result, reason=f"{result.reason}; the model {self.model.name} is not asked: {why}")
        else:
            try:
                result = self._chosen(state, goal, known, banned, cancel, result, loop, rounds)
            except Exception as error:  # a model must never end a task
                told = f"choosing with it failed: {type(error).__name__}: {one_line(str(error))}"
                result = self._as_planned(result, told)
        self._way.next = result.steps[0].action if result.steps else None
        return replace(result, rounds=tuple(rounds), time=time.monotonic() - started)

    # ---- choosing

    def _why_not_asked(self) -> str:
        if self._silences >= MAX_SILENCES:
            return "it did not answer before"
        if self.detours >= MAX_DETOURS:
            return f"it chose {self.detours} detours in this task"
        return ""

    def _as_planned(self, base: PlanningResult, why: str) -> PlanningResult:
        return replace(base, reason=f"{base.reason}; planned without the model {self.model.name}: {why}")

    def _chosen(
        self,
        state: SymbolicState,
        goal: Goal,
        evidence: Evidence,
        banned: tuple[GroundAction, ...],
        cancel: threading.Event | None,
        base: PlanningResult,
        loop: Loop | None,
        rounds: list[ModelRound],
    ) -> PlanningResult:
        """Return the plan behind the model's choice; MemPlan's, which says why, if there is none."""
        options = self.options
        deadline = time.monotonic() + options.timeout
        whole = complete_functions(self.domain, state)
        full = with_hypotheses(self.domain, whole, base.hypotheses)
        scene = evidence.scene
        if options.key_objects:
            known = KnownThings.of(self.domain, full)
            classes, entry = self._key_objects.of(known, goal, evidence, options.timeout, cancel)
            rounds += [entry] if entry is not None else []
            scene = task_scene(self.domain, scene, goal, classes)
        case = _Behind(whole, full, goal, base, banned, loop, cancel, deadline + self.timeout)
        selection = select_action(
            self.domain,
            self.model,
            full,
            goal,
            fallback=base.steps[0].action,
            scene=scene,
            advice_text=self._advice(evidence, full, goal),
            loop=loop,
            excluded=banned,
            projected=options.lookahead,
            timeout=max(0.01, deadline - time.monotonic()),
            rounds=options.rounds if options.verification else 1,
            refuse=lambda action: self._refused(case, action),
            cancel=cancel,
        )
        rounds += selection.rounds
        if selection.status is SelectionStatus.CANCELLED or (cancel is not None and cancel.is_set()):
            return PlanningResult(PlanningStatus.CANCELLED, "cancelled while a language model was asked")
        self._silences = 0 if selection.answered else self._silences + 1
        if selection.status is not SelectionStatus.CHOSEN or selection.action not in case.plans:
            said = selection.rounds[-1].problems if selection.rounds else ()
            return self._as_planned(base, said[0] if said else selection.reason)
        return self._result(case, selection)

    def _advice(self, evidence: Evidence, full: SymbolicState, goal: Goal) -> str:
        advice = self.memplan.advice
        if not self.options.advice or advice is None:
            return ""
        _, origins = advice.discounts(evidence.scene, full, goal, before=evidence.before)
        return prompting.describe_advice(self.domain, origins)

    # ---- judging

    def _refused(self, case: _Behind, action: GroundAction) -> str:
        """Return why an action is not to be done; empty if it is, and then the plan behind it is known."""
        loop = case.loop
        if loop is not None and loop.turns >= MAX_TURNS and loop.actions[0] == action:
            return f"{action} led back to here {loop.turns} times"
        if action == case.base.steps[0].action:
            case.plans[action] = tuple(step.action for step in case.base.steps)
            return ""
        found, why = self._behind(case, action)
        if why:
            return f"after {action} {why}"
        steps = (action, *found)
        verification = verify(self.domain, case.state, case.goal, steps, case.hypotheses)
        if not verification.valid:
            return verification.reason
        if any(is_excluded(step, case.banned) for step in steps):
            return f"after {action} only actions that failed before would reach the goal"
        case.plans[action] = steps
        return ""

    def _behind(self, case: _Behind, action: GroundAction) -> tuple[tuple[GroundAction, ...], str]:
        """Return what the engine plans behind an action, or why there is no plan."""
        after = successor(self.domain, case.full, action)
        # What is supposed is in the state already, so that what the action finds of it stays found.
        goal = bind_placeholders(self.domain, case.goal, case.hypotheses)
        if goal_holds(goal, after, self.domain):
            return (), ""
        for prune in (True, False):
            problem = compile_problem(self.domain, after, goal, Hypotheses(), excluded=case.banned, prune=prune)
            left = min(self.timeout, case.deadline - time.monotonic())
            if left <= 0.0:
                return (), f"no plan was found within {self.timeout:g} s"
            found = self.engine.solve(problem.domain_pddl, problem.problem_pddl, left, case.cancel, self.memplan.states)
            if found.status is PlanningStatus.SOLVED:
                return tuple(problem.action(step) for step in found.plan), ""
            if found.status is not PlanningStatus.UNREACHABLE:
                return (), f"no plan was found: {one_line(found.reason) or found.status.value}"
        return (), "the goal cannot be reached any more"

    def _result(self, case: _Behind, selection: Selection) -> PlanningResult:
        assert selection.action is not None
        actions = case.plans[selection.action]
        used = {name for action in actions for name in action.arguments}
        classes = {item.name: item.class_name for item in case.hypotheses.placeholders if item.name in used}
        steps = planned_steps(self.domain, case.full, actions, classes)
        cost = sum(step.cost for step in steps)
        why = f" ({selection.reason})" if selection.reason else ""
        reason = f"{selection.action} as the model {self.model.name} chose{why}"
        if selection.action == case.base.steps[0].action:
            reason = f"{reason}; the rest as planned without it: {case.base.reason}"
        else:
            self.detours += cost > case.base.cost + 1e-6
            reason = f"{reason}; {len(steps) - 1} steps planned behind it"
        return replace(
            case.base,
            reason=reason,
            steps=steps,
            placeholders=classes,
            cost=cost,
            engine=f"llm_actions {self.model.name}",
        )
