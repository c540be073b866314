"""What the planner publishes about a task, as messages."""

from __future__ import annotations

from typing import Any

from graph_planner_ros import msg as messages
from graph_planner_ros.action import ExecuteTask
from graph_planner_ros.conversions import goal_to_msg, header, plan_to_msg, verification_to_msg
from graph_planner_ros.nodes.task_runner import TaskOutcome, TaskView
from graph_planner_ros.planning.result import TaskStatus
from graph_planner_ros.planning.session import Decision, DecisionKind

PLAN_STATUS = {
    TaskStatus.RUNNING: messages.Plan.ACTIVE,
    TaskStatus.SUCCEEDED: messages.Plan.DONE,
    TaskStatus.ALREADY_SATISFIED: messages.Plan.DONE,
    TaskStatus.CANCELLED: messages.Plan.CANCELLED,
}
"""State of a task -> state of its plan; all others are FAILED."""


def task_id_of(goal_id: Any) -> str:
    """Return the id of the task that a goal of ``execute_task`` becomes, so that its sender knows which is its own."""
    return bytes(goal_id.uuid).hex()[:12]


def plan_message(view: TaskView, now: float) -> messages.Plan:
    """Return the plan in force; ``now`` in seconds of ROS time."""
    return _plan(
        view.decision,
        now,
        view.task_id,
        view.revision,
        PLAN_STATUS.get(view.status, messages.Plan.FAILED),
        view.reason,
        view.instruction,
        view.goal,
        view.decision_time,
    )


def _plan(
    decision: Decision | None,
    now: float,
    task_id: str,
    revision: int,
    status: int,
    reason: str,
    instruction: str,
    goal: str,
    decision_time: float,
) -> messages.Plan:
    result = decision.result if decision is not None else None
    replaced = decision is not None and decision.kind is DecisionKind.REPLACE
    return plan_to_msg(
        decision.steps if decision is not None else (),
        stamp=now,
        task_id=task_id,
        revision=revision,
        status=status,
        decision=messages.Plan.REPLACED if replaced else messages.Plan.KEPT,
        reason=reason or (decision.reason if decision is not None else ""),
        instruction=instruction,
        goal=goal,
        next_index=decision.next if decision is not None else 0,
        cost=result.cost if result is not None else 0.0,
        engine=result.engine if result is not None else "",
        planning_time=decision_time,
    )


def trace_message(view: TaskView, now: float) -> messages.VerificationTrace | None:
    """Return the verification of the rest of the plan, if a plan is in force."""
    verification = view.decision.verification if view.decision is not None else None
    if verification is None or view.status is not TaskStatus.RUNNING:
        return None
    result = view.decision.result if view.decision is not None else None
    rounds = result.rounds if result is not None else ()
    return verification_to_msg(verification, stamp=now, task_id=view.task_id, revision=view.revision, rounds=rounds)


def status_message(view: TaskView, now: float) -> messages.GoalStatus:
    """Return the state of the task."""
    return messages.GoalStatus(
        header=header(now),
        task_id=view.task_id,
        instruction=view.instruction,
        goal=view.goal,
        status=view.status.value,
        reason=view.reason,
        steps=view.steps,
        replans=view.replans,
        goals=[goal_to_msg(goal) for goal in view.goals],
    )


def result_message(outcome: TaskOutcome) -> ExecuteTask.Result:
    """Return the result of the action."""
    return ExecuteTask.Result(
        status=outcome.status.value,
        reason=outcome.reason,
        task_id=outcome.task_id,
        steps=outcome.steps,
        replans=outcome.replans,
        planning_time=float(outcome.planning_time),
        duration=float(outcome.duration),
        not_understood=list(outcome.not_understood),
        suggestions=list(outcome.suggestions),
    )


def fill_preview(response: object, decision: Decision, instruction: str, goal: str, now: float) -> None:
    """Write a plan that nobody carries out into a response of ``plan_task``."""
    found = decision.status is TaskStatus.RUNNING
    planning_time = decision.result.time if decision.result is not None else 0.0
    response.status = messages.GoalStatus.SUCCEEDED if found else decision.status.value  # type: ignore[attr-defined]
    response.reason = decision.reason  # type: ignore[attr-defined]
    status = messages.Plan.ACTIVE if found else messages.Plan.FAILED
    response.plan = _plan(decision, now, "", 0, status, "", instruction, goal, planning_time)  # type: ignore[attr-defined]
    if decision.verification is not None:
        rounds = decision.result.rounds if decision.result is not None else ()
        trace = verification_to_msg(decision.verification, stamp=now, task_id="", revision=0, rounds=rounds)
        response.trace = trace  # type: ignore[attr-defined]
