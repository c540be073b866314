"""Instructions from their words to their outcome: planner and executor with a fake bridge and a fake perception."""

from __future__ import annotations

from typing import Any

import engines
import pytest
from harness import Client, FakeBridge, FakePerception, Sent, System, add_item, kitchen, wait_until

from graph_planner_ros import msg as messages
from graph_planner_ros.nodes.executor import ExecutorNode
from graph_planner_ros.nodes.planner import PlannerNode
from graph_planner_ros.skills.result import SkillResult, SkillStatus
from graph_planner_ros.srv import PlanTask

EXECUTOR = {"settle": 0.0, "server_timeout": 1.5, "acknowledge_timeout": 1.0, "feedback_timeout": 3.0}
PLANNER = {"settle": 0.0, "confirm": 0.0, "scene_timeout": 5.0, "executor_timeout": 2.0, "restart_timeout": 5.0}
Status = messages.GoalStatus


class Robot:
    """One robot with its nodes and a client."""

    def __init__(
        self,
        system: System,
        *,
        script: dict[str, list[Any]] | None = None,
        hidden: dict[str, tuple[str, str]] | None = None,
        **planner: Any,
    ) -> None:
        self.system = system
        graph = kitchen()
        add_item(graph, "mug_1", "Mug", "counter_top_1")
        self.perception = system.add(FakePerception, graph, hidden)
        self.bridge = system.add(FakeBridge, script)
        self.executor = system.add(ExecutorNode, **EXECUTOR)
        self.planner = system.add(PlannerNode, **{**PLANNER, **planner})
        self.client = system.add(Client)

    def send(self, instruction: str) -> Sent:
        return Sent(self.system, self.client, instruction)

    def do(self, instruction: str) -> Any:
        return self.send(instruction).result()


def test_an_instruction_is_carried_out_and_every_step_is_published(system: System) -> None:
    robot = Robot(system)
    result = robot.do("put a mug on the dining table")
    assert result.status == Status.SUCCEEDED, result.reason
    assert [skill for skill, _ in robot.bridge.calls] == ["go_to", "pick_up", "go_to", "put"]
    assert result.steps == 4 and result.replans == 0 and result.task_id
    wait_until(lambda: robot.client.plans and robot.client.plans[-1].status == messages.Plan.DONE, "the plan is done")
    mine = [plan for plan in robot.client.plans if plan.task_id == result.task_id]
    assert [plan.revision for plan in mine] == sorted({plan.revision for plan in mine})
    assert mine[0].decision == messages.Plan.REPLACED and mine[0].reason and mine[0].goal
    wait_until(lambda: robot.client.statuses[-1].status == Status.SUCCEEDED, "the goal status is final")


def test_what_nobody_has_seen_is_looked_for_in_closed_places(system: System) -> None:
    robot = Robot(system, hidden={"tomato_1": ("Tomato", "fridge_1")})
    result = robot.do("put a tomato on the dining table")
    assert result.status == Status.SUCCEEDED, result.reason
    assert ("open", ("fridge_1",)) in robot.bridge.calls
    assert ("pick_up", ("tomato_1", "fridge_1")) in robot.bridge.calls


def test_a_goal_that_is_already_true_has_its_own_status(system: System) -> None:
    robot = Robot(system)
    result = robot.do("put a mug on the counter")
    assert result.status == Status.ALREADY_SATISFIED and result.reason
    assert robot.bridge.calls == [] and result.steps == 0


def test_words_that_mean_nothing_are_named_and_alternatives_offered(system: System) -> None:
    robot = Robot(system)
    result = robot.do("frobnicate the mug")
    assert result.status == Status.INSTRUCTION_NOT_UNDERSTOOD
    assert "frobnicate" in result.not_understood and result.suggestions and "frobnicate" in result.reason


def test_a_thing_that_is_nowhere_is_named_after_a_search_of_all_places(system: System) -> None:
    robot = Robot(system)
    result = robot.do("put a tomato on the dining table")
    assert result.status == Status.GOAL_UNKNOWN, result.reason
    assert "tomato" in result.reason.lower()


def test_a_failure_leads_to_another_decision_and_success(system: System) -> None:
    failure = SkillResult(SkillStatus.EXECUTION_FAILED, "grasp_failed", "the mug slipped")
    robot = Robot(system, script={"pick_up": [failure]})
    result = robot.do("put a mug on the dining table")
    assert result.status == Status.SUCCEEDED, result.reason
    assert [skill for skill, _ in robot.bridge.calls].count("pick_up") == 2


def test_a_skill_that_never_works_ends_the_task_with_its_cause(system: System) -> None:
    failure = SkillResult(SkillStatus.EXECUTION_FAILED, "grasp_failed", "the mug is glued to the counter")
    robot = Robot(system, script={"pick_up": [failure] * 100})
    result = robot.do("put a mug on the dining table")
    assert result.status in (Status.EXECUTION_FAILED, Status.GOAL_UNKNOWN), result.reason
    assert "glued" in result.reason


def test_a_skill_that_the_robot_does_not_have_is_reported_with_those_it_has(system: System) -> None:
    unknown = SkillResult(
        SkillStatus.UNKNOWN_SKILL, "unknown_skill", "no skill 'pick_up'; it has: go_to, look", skills=("go_to", "look")
    )
    robot = Robot(system, script={"pick_up": [unknown] * 100})
    result = robot.do("put a mug on the dining table")
    assert result.status not in (Status.SUCCEEDED, Status.RUNNING)
    assert "go_to, look" in result.reason
    assert next(list(e.skills) for e in robot.client.events if hasattr(e, "skills")) == ["go_to", "look"]


def test_without_a_bridge_the_task_fails_within_bounds_and_says_so(system: System) -> None:
    robot = Robot(system)
    system.remove(robot.bridge)
    result = robot.do("put a mug on the dining table")
    assert result.status == Status.NODE_LOST and "execute_skill" in result.reason


def test_a_cancel_while_the_planner_is_busy_is_answered_within_a_second(system: System) -> None:
    robot = Robot(system, engine="engines:Slow")
    engines.Slow.calls = 0
    sent = robot.send("put a mug on the dining table")
    wait_until(lambda: engines.Slow.calls, "the engine works")
    assert sent.cancel() < 1.0
    assert sent.result().status == Status.CANCELLED
    wait_until(
        lambda: robot.client.plans and robot.client.plans[-1].status == messages.Plan.CANCELLED, "the plan is cancelled"
    )


def test_a_goal_right_after_a_cancel_runs(system: System) -> None:
    robot = Robot(system, script={"pick_up": ["hang"]})
    sent = robot.send("put a mug on the dining table")
    wait_until(lambda: "pick_up" in [skill for skill, _ in robot.bridge.calls], "the robot picks up")
    system.on_thread(robot.client, sent.handle.cancel_goal_async)
    second = robot.send("put a mug on the dining table")
    assert second.result().status == Status.SUCCEEDED, second.result().reason
    assert sent.result().status == Status.CANCELLED
    assert robot.bridge.stopped, "the skill of the first task was stopped"


def test_a_new_instruction_replaces_the_one_that_runs(system: System) -> None:
    robot = Robot(system, script={"pick_up": ["hang"]})
    first = robot.send("put a mug on the dining table")
    wait_until(lambda: "pick_up" in [skill for skill, _ in robot.bridge.calls], "the robot picks up")
    second = robot.do("open the fridge")
    assert second.status == Status.SUCCEEDED, second.reason
    assert first.result().status == Status.CANCELLED and "replaced" in first.result().reason


def test_words_that_mean_nothing_do_not_end_the_task_that_runs(system: System) -> None:
    robot = Robot(system, script={"pick_up": ["hang"]})
    first = robot.send("put a mug on the dining table")
    wait_until(lambda: "pick_up" in [skill for skill, _ in robot.bridge.calls], "the robot picks up")
    second = robot.do("frobnicate the mug")
    assert second.status == Status.INSTRUCTION_NOT_UNDERSTOOD and "frobnicate" in second.not_understood
    assert not robot.bridge.stopped, "the skill goes on"
    third = robot.do("open the fridge")
    assert third.status == Status.SUCCEEDED, third.reason
    assert "open the fridge" in first.result().reason, "only what was understood replaced it"


@pytest.mark.parametrize(
    ("engine", "status", "words"),
    [
        ("engines:Crashing", Status.PLANNER_CRASHED, "139"),
        ("engines:Late", Status.PLANNER_TIMED_OUT, ""),
    ],
)
def test_what_went_wrong_in_the_planner_is_said(system: System, engine: str, status: int, words: str) -> None:
    robot = Robot(system, engine=engine)
    result = robot.do("put a mug on the dining table")
    assert result.status == status, result.reason
    assert words in result.reason


def test_an_executor_that_comes_back_during_a_task_lets_it_go_on(system: System) -> None:
    robot = Robot(system, script={"pick_up": ["hang"]}, restart_timeout=20.0)
    sent = robot.send("put a mug on the dining table")
    wait_until(lambda: "pick_up" in [skill for skill, _ in robot.bridge.calls], "the robot picks up")
    system.remove(robot.executor)
    system.add(ExecutorNode, **EXECUTOR)
    assert sent.result().status == Status.SUCCEEDED, sent.result().reason


def test_an_executor_that_stays_away_ends_the_task_with_its_name(system: System) -> None:
    robot = Robot(system, script={"pick_up": ["hang"]}, executor_timeout=1.0, restart_timeout=1.0)
    sent = robot.send("put a mug on the dining table")
    wait_until(lambda: "pick_up" in [skill for skill, _ in robot.bridge.calls], "the robot picks up")
    # Taken away without a word, as if killed: its thread spins no more.
    spinner = next(s for s, node in system._spinners if node is robot.executor)
    system.on_thread(robot.executor, lambda: setattr(robot.executor, "_entities", []))
    result = sent.result()
    assert result.status == Status.NODE_LOST and "executor" in result.reason
    assert spinner is not None


def test_a_perception_that_falls_silent_ends_the_task_with_its_name(system: System) -> None:
    robot = Robot(system, scene_timeout=1.0)
    robot.perception.paused = True
    result = robot.do("put a mug on the dining table")
    assert result.status == Status.NODE_LOST and "perception" in result.reason


def test_a_planner_that_was_deactivated_takes_no_instruction_and_works_again_later(system: System) -> None:
    robot = Robot(system, script={"pick_up": ["hang"]})
    sent = robot.send("put a mug on the dining table")
    wait_until(lambda: "pick_up" in [skill for skill, _ in robot.bridge.calls], "the robot picks up")
    system.transition(robot.planner, "trigger_deactivate")
    assert sent.result().status == Status.CANCELLED
    assert not robot.send("open the fridge").handle.accepted
    system.transition(robot.planner, "trigger_activate")
    assert robot.do("open the fridge").status == Status.SUCCEEDED


def test_a_plan_can_be_asked_for_without_acting(system: System) -> None:
    robot = Robot(system)
    client = robot.client.create_client(PlanTask, "plan_task")
    wait_until(client.service_is_ready, "plan_task is offered")
    wait_until(lambda: robot.planner._graph is not None, "the planner has a belief")

    def ask(instruction: str) -> Any:
        future = system.on_thread(robot.client, client.call_async, PlanTask.Request(instruction=instruction))
        wait_until(future.done, "plan_task answers")
        return future.result()

    answer = ask("put a mug on the dining table")
    assert answer.status == Status.SUCCEEDED, answer.reason
    assert [s.action for s in answer.plan.subtasks] == ["go_to", "pick_up", "go_to", "put"]
    assert answer.trace.valid and answer.trace.goal_reached and len(answer.trace.steps) == 4
    first = ask("put a mug on the dining table and then open the fridge")
    assert first.status == Status.SUCCEEDED and "open" not in {s.action for s in first.plan.subtasks}
    assert "after that" in first.reason and "fridge" in first.reason
    assert ask("frobnicate the mug").status == Status.INSTRUCTION_NOT_UNDERSTOOD
    assert robot.bridge.calls == []


def test_two_robots_in_one_domain_do_not_hear_each_other() -> None:
    first, second = System(namespace="alpha"), None
    try:
        second = System(first.domain_id, namespace="beta")
        alpha, beta = Robot(first), Robot(second)
        assert alpha.do("put a mug on the dining table").status == Status.SUCCEEDED
        assert alpha.bridge.calls and not beta.bridge.calls
        assert not [plan for plan in beta.client.plans if plan.task_id]
    finally:
        first.close()
        if second is not None:
            second.close()


def test_a_task_that_was_read_while_the_planner_was_deactivated_is_refused(system: System) -> None:
    robot = Robot(system, script={"go_to": ["hang"]})
    first = robot.send("put a mug on the dining table")
    wait_until(lambda: robot.bridge.calls, "the robot moves")

    async def read(_: Any) -> None:
        robot.planner.trigger_deactivate()

    robot.planner._unread = read
    second = robot.do("put a mug on the counter")
    assert second.status == Status.CANCELLED and "deactivated" in second.reason
    assert first.result().status == Status.CANCELLED
