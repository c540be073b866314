"""A whole plan made of a model's choices: one action after the other, each from where the one before leads (GiG)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

from graph_planner_ros.benchmarks.alfred.annotation_map import AnnotationMap
from graph_planner_ros.benchmarks.alfred.evaluation import Planner
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import goal_holds
from graph_planner_ros.domain.state import successor
from graph_planner_ros.domain.symbols import Goal, SymbolicState
from graph_planner_ros.language.models import LanguageModel
from graph_planner_ros.planning.advice import Advice
from graph_planner_ros.planning.engines import Engine
from graph_planner_ros.planning.llm import ActionPlanner, ModelPlanning
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.result import ModelRound, PlannedStep, PlanningResult, PlanningStatus
from graph_planner_ros.planning.supposing import Evidence
from graph_planner_ros.scene.effects import apply_effects

MOST_ACTIONS = 100
"""Actions after which a model has led nowhere."""


def actions_factory(
    annotations: AnnotationMap,
    engine: Engine,
    timeout: float,
    model: LanguageModel,
    planning: ModelPlanning,
    advice: Callable[[], Advice | None],
) -> Callable[[], Planner]:
    """Return what makes a planner whose actions a model chooses, with memories of its own for each sample."""

    def make() -> Planner:
        memplan = MemPlan(annotations.domain, engine, timeout=timeout, advice=advice())
        planner = ActionPlanner(annotations.domain, engine, model, memplan, planning)
        return lambda evidence, state, goal: play(annotations.domain, planner, evidence, state, goal)

    return make


def play(
    domain: Domain, planner: ActionPlanner, evidence: Evidence, state: SymbolicState, goal: Goal
) -> PlanningResult:
    """Return all that is done until a goal is reached, as one plan; the first result that is none, if there is one."""
    scene = copy.deepcopy(evidence.scene)
    steps: list[PlannedStep] = []
    rounds: list[ModelRound] = []
    by_clock = False
    while True:
        before = steps[-1].action.name if steps else evidence.before
        found = planner.plan(state, goal, evidence=replace(evidence, scene=scene, before=before))
        rounds += found.rounds
        by_clock |= found.by_clock
        if found.status is not PlanningStatus.SOLVED or found.placeholders:
            return replace(found, rounds=tuple(rounds), by_clock=by_clock)
        step = found.steps[0]
        steps.append(step)
        state = successor(domain, state, step.action)
        if scene is not None:
            apply_effects(scene, domain, step.action, scene.stamp + 1.0)
            scene.stamp, scene.revision = scene.stamp + 1.0, scene.revision + 1
        if goal_holds(goal, state, domain):
            cost = sum(item.cost for item in steps)
            reason = f"{len(steps)} actions, one chosen after the other"
            return replace(found, reason=reason, steps=tuple(steps), cost=cost, rounds=tuple(rounds), by_clock=by_clock)
        if len(steps) >= MOST_ACTIONS:
            why = f"the goal is not reached after {MOST_ACTIONS} actions"
            return PlanningResult(PlanningStatus.UNREACHABLE, why, rounds=tuple(rounds), by_clock=by_clock)
