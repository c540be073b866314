"""A second opinion on the plan in force: what a task asks of whoever gives one, and what it makes of the answer."""

from __future__ import annotations

import enum
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import goal_holds
from graph_planner_ros.domain.symbols import Goal, GroundAction, SymbolicState
from graph_planner_ros.planning.hypotheses import Hypotheses
from graph_planner_ros.planning.problem import is_excluded
from graph_planner_ros.planning.result import ModelRound, PlannedStep, PlanningResult, PlanningStatus
from graph_planner_ros.planning.tracking import Belief
from graph_planner_ros.planning.verifier import Verification, verify
from graph_planner_ros.scene.graph import SceneGraph


class ReviewEvent(enum.Enum):
    """COMPLETED: a subtask was carried out. FAILED: a step failed, and the plan would be replaced."""

    COMPLETED = "completed"
    FAILED = "failed"


class ReviewKind(enum.Enum):
    """What is to become of the plan."""

    KEEP = "keep"
    REVISE = "revise"


@dataclass(frozen=True)
class Review:
    """An opinion.

    Attributes:
        reason: a sentence. steps: that take the place of the rest of the plan; only with REVISE.
        goal: another reading of the goal, which the steps reach; None if they reach the goal as it was.
        rounds: with a language model.
    """

    kind: ReviewKind
    reason: str = ""
    steps: tuple[PlannedStep, ...] = ()
    goal: Goal | None = None
    rounds: tuple[ModelRound, ...] = ()


class PlanReviser(Protocol):
    """Gives opinions; `planning.llm.replanning.Reviser` does."""

    def new_task(self) -> None:
        """Forget what happened in the last task."""

    def review(
        self,
        event: ReviewEvent,
        *,
        instruction: str,
        goal: Goal,
        steps: Sequence[PlannedStep],
        next: int,
        feedback: str,
        scene: SceneGraph | None,
        state: SymbolicState,
        hypotheses: Hypotheses,
        excluded: Iterable[GroundAction] = (),
        cancel: threading.Event | None = None,
    ) -> Review:
        """Return whether the rest of a plan is kept or what takes its place; never raises.

        Args:
            goal: of the task. steps: the plan. next: index of the step that would be run now.
            feedback: what was reported. scene, state: what is believed now. hypotheses: what the plan supposes.
            excluded: actions that must not be used. cancel: ends it within a second.
        """


@dataclass(frozen=True)
class PlanInForce:
    """A plan that is looked at: its goal, steps and the index of the one to run now, what it supposes, and the actions
    that must not be used."""

    goal: Goal
    steps: tuple[PlannedStep, ...]
    next: int
    hypotheses: Hypotheses
    excluded: tuple[GroundAction, ...] = ()


@dataclass(frozen=True)
class Revision:
    """A plan in the place of another, verified."""

    goal: Goal
    result: PlanningResult
    verification: Verification


def verified_revision(
    domain: Domain,
    state: SymbolicState,
    goal: Goal,
    review: Review,
    hypotheses: Hypotheses,
    excluded: Iterable[GroundAction],
) -> Revision | None:
    """Return the plan of a review; None if it keeps the plan, or its own is not let pass.

    Args:
        state: what is believed. goal: of the task. hypotheses: what the plan may suppose.
        excluded: actions that must not be used.
    """
    if review.kind is not ReviewKind.REVISE or not review.steps:
        return None
    wanted = review.goal or goal
    banned = tuple(excluded)
    if goal_holds(wanted, state, domain) or any(is_excluded(step.action, banned) for step in review.steps):
        return None
    verification = verify(domain, state, wanted, review.steps, hypotheses)
    if not verification.valid:
        return None
    used = {name for step in review.steps for name in step.action.arguments}
    result = PlanningResult(
        PlanningStatus.SOLVED,
        f"the model revised the plan: {review.reason or 'it gave no reason'}",
        review.steps,
        {item.name: item.class_name for item in hypotheses.placeholders if item.name in used},
        sum(step.cost for step in review.steps),
        engine="reviser",
        hypotheses=hypotheses,
        rounds=review.rounds,
    )
    return Revision(wanted, result, verification)


def revised(
    domain: Domain,
    reviser: PlanReviser,
    event: ReviewEvent,
    feedback: str,
    belief: Belief,
    plan: PlanInForce,
    cancel: threading.Event | None = None,
) -> tuple[Revision | None, tuple[ModelRound, ...]]:
    """Ask for a second opinion on a plan.

    Args: as of `PlanReviser.review`.

    Returns:
        The verified plan that takes its place, None if it stays; and the rounds with a language model.
    """
    review = reviser.review(
        event,
        instruction=belief.evidence.instruction,
        goal=plan.goal,
        steps=plan.steps,
        next=plan.next,
        feedback=feedback,
        scene=belief.evidence.scene,
        state=belief.state,
        hypotheses=plan.hypotheses,
        excluded=plan.excluded,
        cancel=cancel,
    )
    found = verified_revision(domain, belief.state, plan.goal, review, plan.hypotheses, plan.excluded)
    return found, review.rounds
