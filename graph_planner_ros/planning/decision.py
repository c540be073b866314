"""What a task decides after every event."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from graph_planner_ros.planning.result import PlannedStep, PlanningResult, PlanningStatus, TaskStatus
from graph_planner_ros.planning.verifier import Verification


class DecisionKind(enum.Enum):
    """What becomes of the plan."""

    KEEP = "keep"
    REPLACE = "replace"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True)
class Decision:
    """What to do next.

    Attributes:
        kind: KEEP (go on with the plan, whose placeholders may have been resolved), REPLACE (a new plan), DONE, FAILED.
        status: of the task. reason: a sentence.
        steps: the plan; ``next`` is the index of the step to run now.
        result: of the planning call that made the plan or failed to. verification: of the steps from ``next`` on.
    """

    kind: DecisionKind
    status: TaskStatus
    reason: str
    steps: tuple[PlannedStep, ...] = ()
    next: int = 0
    result: PlanningResult | None = None
    verification: Verification | None = None


FAILED_STATUS = {
    PlanningStatus.GOAL_UNKNOWN: TaskStatus.GOAL_UNKNOWN,
    PlanningStatus.UNREACHABLE: TaskStatus.GOAL_UNREACHABLE,
    PlanningStatus.TIMED_OUT: TaskStatus.PLANNER_TIMED_OUT,
    PlanningStatus.CRASHED: TaskStatus.PLANNER_CRASHED,
    PlanningStatus.REFUSED: TaskStatus.PLAN_REFUSED,
    PlanningStatus.CANCELLED: TaskStatus.CANCELLED,
}
"""What a planning call that made no plan means for the task."""
