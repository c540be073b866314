"""Plans, outcomes of skills, events and traces come back from their messages as they were."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from message_values import FINE, STEPS, TEXT, through_the_wire

import graph_planner_ros.msg as messages
from graph_planner_ros import conversions
from graph_planner_ros.action import ExecuteSkill
from graph_planner_ros.domain.symbols import GroundAction, Truth
from graph_planner_ros.planning.result import ModelRound, PlannedStep, TaskStatus
from graph_planner_ros.planning.verifier import Verification, VerifiedStep
from graph_planner_ros.scene.graph import Presence
from graph_planner_ros.skills.result import SkillResult, SkillStatus


@FINE
@given(STEPS)
def test_steps_keep_the_original_spelling(step: PlannedStep) -> None:
    back = conversions.step_from_msg(through_the_wire(conversions.step_to_msg(step)))
    assert (back.action, back.text, back.cost) == (step.action, step.text, step.cost)


@given(st.lists(STEPS, min_size=1, max_size=4), st.data())
@FINE
def test_a_plan_marks_what_is_done_and_what_is_next(steps: list[PlannedStep], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(steps)))
    plan = through_the_wire(conversions.plan_to_msg(steps, stamp=1.0, task_id="t", revision=3, next_index=index))
    marks = [subtask.status for subtask in plan.subtasks]
    done, active, pending = messages.Subtask.SUCCEEDED, messages.Subtask.ACTIVE, messages.Subtask.PENDING
    expected = [done] * index + [active] * (index < len(steps)) + [pending] * max(0, len(steps) - index - 1)
    assert marks == expected
    assert (plan.next, plan.revision, plan.status) == (index, 3, messages.Plan.ACTIVE)


def test_a_plan_that_has_ended_has_no_active_step() -> None:
    steps = [PlannedStep(GroundAction("look", ("fridge_1",)))]
    plan = conversions.plan_to_msg(steps, stamp=0.0, task_id="t", revision=1, status=messages.Plan.CANCELLED)
    assert [subtask.status for subtask in plan.subtasks] == [messages.Subtask.PENDING]


SKILL_RESULTS = st.builds(
    SkillResult,
    st.sampled_from([status for status in SkillStatus if status is not SkillStatus.SERVER_LOST]),
    TEXT,
    TEXT,
    st.booleans(),
    st.lists(TEXT, max_size=2).map(tuple),
)


@FINE
@given(SKILL_RESULTS)
def test_outcomes_of_skills_come_back(result: SkillResult) -> None:
    assert conversions.skill_result_from_msg(through_the_wire(conversions.skill_result_to_msg(result))) == result


@pytest.mark.parametrize("number", [6, 7, 99, 255])
def test_an_outcome_whose_status_is_none_is_a_failure_that_says_so(number: int) -> None:
    result = conversions.skill_result_from_msg(ExecuteSkill.Result(status=number, reason="who knows"))
    assert not result.succeeded and "who knows" in result.reason
    failure = conversions.failure_from_msg(messages.ActionFailure(status=number, reason="who knows"))
    assert not failure.succeeded and "who knows" in failure.reason
    assert number == 6 or str(number) in result.reason + failure.reason


def test_an_event_of_failure_is_no_success_whatever_it_says() -> None:
    assert not conversions.failure_from_msg(messages.ActionFailure(status=0)).succeeded


def test_a_lost_server_does_not_answer() -> None:
    with pytest.raises(ValueError, match="lost"):
        conversions.skill_result_to_msg(SkillResult(SkillStatus.SERVER_LOST))


def test_events_name_the_subtask_that_ran() -> None:
    actions = [GroundAction("go_to", ("start", "fridge_1")), GroundAction("open", ("fridge_1",))]
    steps = [PlannedStep(action) for action in actions]
    plan = conversions.plan_to_msg(steps, stamp=2.0, task_id="t", revision=7, next_index=1)
    result = SkillResult(SkillStatus.EXECUTION_FAILED, "door_stuck", "the door does not move", skills=("open",))
    failure = conversions.failure_to_msg(plan, result, stamp=3.0, attempts=2, duration=1.5)
    assert (failure.task_id, failure.revision, failure.index) == ("t", 7, 1)
    assert failure.subtask.action == "open" and failure.subtask.status == messages.Subtask.FAILED
    assert conversions.failure_from_msg(failure) == result
    done = conversions.completion_to_msg(plan, stamp=3.0, attempts=1, duration=1.5)
    assert done.subtask.status == messages.Subtask.SUCCEEDED and done.index == 1


def test_verification_traces_name_what_is_unmet() -> None:
    step = VerifiedStep(0, GroundAction("open", ("fridge_1",)), False, "not at fridge_1", ("at(fridge_1)",))
    trace = conversions.verification_to_msg(
        Verification(False, False, "step 1 cannot be executed", (step,)), stamp=1.0, task_id="t", revision=1
    )
    assert trace.steps[0].action == "open(fridge_1)"
    assert list(trace.steps[0].unmet) == ["at(fridge_1)"]
    assert not trace.valid and trace.reason == "step 1 cannot be executed"


def test_enums_have_the_numbers_of_the_messages() -> None:
    for status in TaskStatus:
        assert getattr(messages.GoalStatus, status.name) == status.value
    for truth in Truth:
        assert getattr(messages.Attribute, truth.name) == getattr(messages.Relation, truth.name) == truth.value
    for presence in Presence:
        assert getattr(messages.SceneNode, presence.name) == presence.value
    for skill_status in SkillStatus:
        if skill_status is not SkillStatus.SUCCEEDED:
            assert getattr(messages.ActionFailure, skill_status.name) == skill_status.value


ROUNDS = st.builds(
    ModelRound,
    st.integers(1, 9),
    TEXT,
    TEXT,
    TEXT,
    st.lists(TEXT, max_size=3).map(tuple),
    st.integers(-1, 10**6),
    st.integers(-1, 10**6),
    st.floats(0.0, 1e4),
    st.booleans(),
)


@FINE
@given(st.lists(ROUNDS, max_size=3))
def test_a_trace_tells_what_was_asked_of_a_language_model(rounds: list[ModelRound]) -> None:
    trace = through_the_wire(
        conversions.verification_to_msg(
            Verification(True, True), stamp=1.0, task_id="t", revision=1, rounds=tuple(rounds)
        )
    )
    told = [(item.number, item.model, item.status, item.text, tuple(item.problems)) for item in trace.rounds]
    assert told == [(item.number, item.model, item.status, item.text, item.problems) for item in rounds]
    assert [item.prompt_tokens for item in trace.rounds] == [max(0, item.prompt_tokens) for item in rounds]
    assert [(item.latency, item.cached) for item in trace.rounds] == [(item.latency, item.cached) for item in rounds]
