"""Plans, verification traces, outcomes of skills and the executor's events."""

from __future__ import annotations

from collections.abc import Sequence

import graph_planner_ros.action as action_types
import graph_planner_ros.msg as messages
from graph_planner_ros.conversions.geometry import header
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.planning.result import ModelRound, PlannedStep
from graph_planner_ros.planning.verifier import Verification
from graph_planner_ros.skills.result import SkillResult, SkillStatus


def step_to_msg(step: PlannedStep, status: int = messages.Subtask.PENDING) -> messages.Subtask:
    """Subtask of a planned step; ``status`` is one of the message's constants."""
    return messages.Subtask(
        action=step.action.name,
        arguments=list(step.action.arguments),
        text=step.text,
        status=status,
        cost=float(step.cost),
    )


def step_from_msg(message: messages.Subtask) -> PlannedStep:
    """Planned step of a subtask."""
    return PlannedStep(GroundAction(message.action, tuple(message.arguments)), cost=message.cost, text=message.text)


def plan_to_msg(
    steps: Sequence[PlannedStep],
    *,
    stamp: float,
    task_id: str,
    revision: int,
    status: int = messages.Plan.ACTIVE,
    decision: int = messages.Plan.KEPT,
    reason: str = "",
    instruction: str = "",
    goal: str = "",
    next_index: int = 0,
    cost: float = 0.0,
    engine: str = "",
    planning_time: float = 0.0,
) -> messages.Plan:
    """Plan message; steps before ``next_index`` are marked as done and that one as active while the plan is."""
    subtasks = []
    for index, step in enumerate(steps):
        if index < next_index:
            mark = messages.Subtask.SUCCEEDED
        elif index == next_index and status == messages.Plan.ACTIVE:
            mark = messages.Subtask.ACTIVE
        else:
            mark = messages.Subtask.PENDING
        subtasks.append(step_to_msg(step, mark))
    return messages.Plan(
        header=header(stamp),
        task_id=task_id,
        revision=revision,
        status=status,
        decision=decision,
        reason=reason,
        instruction=instruction,
        goal=goal,
        subtasks=subtasks,
        next=next_index,
        cost=float(cost),
        engine=engine,
        planning_time=float(planning_time),
    )


def model_round_to_msg(item: ModelRound) -> messages.ModelRound:
    """One question to a language model."""
    return messages.ModelRound(
        number=item.number,
        model=item.model,
        status=item.status,
        text=item.text,
        problems=list(item.problems),
        prompt_tokens=max(0, item.prompt_tokens),
        completion_tokens=max(0, item.completion_tokens),
        latency=float(item.latency),
        cached=item.cached,
    )


def verification_to_msg(
    verification: Verification, *, stamp: float, task_id: str, revision: int, rounds: Sequence[ModelRound] = ()
) -> messages.VerificationTrace:
    """Trace of the symbolic execution of a plan, with the rounds with a language model in which it was made."""
    steps = [
        messages.VerificationStep(
            index=step.index,
            action=str(step.action),
            valid=step.valid,
            reason=step.reason,
            unmet=[str(literal) for literal in step.unmet],
        )
        for step in verification.steps
    ]
    return messages.VerificationTrace(
        header=header(stamp),
        task_id=task_id,
        revision=revision,
        valid=verification.valid,
        goal_reached=verification.goal_reached,
        reason=verification.reason,
        steps=steps,
        rounds=[model_round_to_msg(item) for item in rounds],
    )


def skill_result_to_msg(result: SkillResult) -> action_types.ExecuteSkill.Result:
    """Result of the action ``execute_skill``; a lost server has no number there and cannot be sent by it."""
    if result.status is SkillStatus.SERVER_LOST:
        raise ValueError("a skill server cannot report that it was lost")
    return action_types.ExecuteSkill.Result(
        status=result.status.value,
        code=result.code,
        reason=result.reason,
        recoverable=result.recoverable,
        skills=list(result.skills),
    )


def skill_result_from_msg(message: action_types.ExecuteSkill.Result) -> SkillResult:
    """Outcome of a skill; a status that is none counts as a failure, since somebody waits for the outcome."""
    status, reason = _skill_status(message.status, message.reason)
    return SkillResult(
        status=status,
        code=message.code,
        reason=reason,
        recoverable=message.recoverable,
        skills=tuple(message.skills),
    )


def _skill_status(number: int, reason: str) -> tuple[SkillStatus, str]:
    try:
        return SkillStatus(number), reason
    except ValueError:
        said = f": {reason}" if reason else ""
        return SkillStatus.EXECUTION_FAILED, f"the outcome has a status that is none, {number}{said}"


def failure_to_msg(
    plan: messages.Plan, result: SkillResult, *, stamp: float, attempts: int, duration: float
) -> messages.ActionFailure:
    """Event: the subtask ``plan.subtasks[plan.next]`` failed for good. ``duration`` in seconds."""
    subtask = step_to_msg(step_from_msg(plan.subtasks[plan.next]), messages.Subtask.FAILED)
    return messages.ActionFailure(
        header=header(stamp),
        task_id=plan.task_id,
        revision=plan.revision,
        index=plan.next,
        subtask=subtask,
        status=result.status.value,
        code=result.code,
        reason=result.reason,
        attempts=attempts,
        duration=float(duration),
        skills=list(result.skills),
    )


def failure_from_msg(message: messages.ActionFailure) -> SkillResult:
    """Outcome of the skill that an event of failure tells of; it is a failure whatever its status says."""
    status, reason = _skill_status(message.status, message.reason)
    if status is SkillStatus.SUCCEEDED:
        status = SkillStatus.EXECUTION_FAILED
    return SkillResult(status=status, code=message.code, reason=reason, skills=tuple(message.skills))


def completion_to_msg(
    plan: messages.Plan, *, stamp: float, attempts: int, duration: float
) -> messages.SubtaskCompleted:
    """Event: the subtask ``plan.subtasks[plan.next]`` was carried out. ``duration`` in seconds."""
    subtask = step_to_msg(step_from_msg(plan.subtasks[plan.next]), messages.Subtask.SUCCEEDED)
    return messages.SubtaskCompleted(
        header=header(stamp),
        task_id=plan.task_id,
        revision=plan.revision,
        index=plan.next,
        subtask=subtask,
        attempts=attempts,
        duration=float(duration),
    )
