"""One subtask of a plan from its preconditions to its event, with local retries. No rclpy here."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.nodes.mailbox import Mailbox, TaskCancelled
from graph_planner_ros.scene.belief import held
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import SceneGraph, SceneNode
from graph_planner_ros.skills.executor import OBJECT_NOT_FOUND, ArgumentError, ExecutionPolicy, skill_arguments
from graph_planner_ros.skills.memory import Sighting
from graph_planner_ros.skills.result import SkillResult, SkillStatus


@dataclass(frozen=True)
class StepSettings:
    """Attributes:
    settle: seconds of ROS time by which the belief must be newer than the end of an attempt before the next one.
    scene_timeout: longest wait for a belief, seconds of wall time.
    skill_timeout: seconds of ROS time that one skill may take.
    """

    settle: float = 0.4
    scene_timeout: float = 10.0
    skill_timeout: float = 120.0


class StepPorts(Protocol):
    """What the node does for a step; called on the worker thread."""

    def now(self) -> float:
        """Return ROS time [s]."""

    def execute_skill(
        self, skill: str, arguments: list[SceneNode], frame_id: str, timeout: float, cancelled: threading.Event
    ) -> SkillResult:
        """Carry out a skill of the robot."""

    def phase(self, text: str) -> None:
        """Say what is being done."""


class StepMemory(Protocol):
    """What is remembered of the task's things; called on the worker thread."""

    def recall(self, instance_id: str) -> Sighting | None:
        """Return the last sighting of a thing."""

    def forget(self, instance_ids: Iterable[str]) -> None:
        """Drop the sightings of things that were not where they were seen."""


@dataclass
class StepRunner:
    """Runs one action; `run` returns the result and the number of attempts.

    Attributes:
        memory: gives positions that the belief lacks; None: the belief is all there is.
    """

    domain: Domain
    action: GroundAction
    plan_stamp: float
    policy: ExecutionPolicy
    ports: StepPorts
    mailbox: Mailbox
    settings: StepSettings
    cancelled: threading.Event = field(default_factory=threading.Event)
    attempts: int = 0
    memory: StepMemory | None = None

    def cancel(self, reason: str) -> None:
        """End the step as soon as the skill can be stopped."""
        self.cancelled.set()
        self.mailbox.cancel(reason)

    def run(self) -> SkillResult:
        """Carry out the action; recoverable failures are retried after another look."""
        try:
            result = self._attempt_until_done()
        except TaskCancelled as cancelled:
            return SkillResult(SkillStatus.CANCELLED, "cancelled", str(cancelled))
        if result.status is SkillStatus.CANCELLED and self.mailbox.cancelled:
            return SkillResult(SkillStatus.CANCELLED, "cancelled", self.mailbox.cancelled)  # why, not only that
        return result

    def _attempt_until_done(self) -> SkillResult:
        newer_than = -1.0
        result = SkillResult(SkillStatus.CANCELLED)
        while True:
            self.ports.phase("waiting for the scene")
            graph = self.mailbox.wait_graph(newer_than, self.settings.scene_timeout)
            if graph is None:
                return SkillResult(
                    SkillStatus.PRECONDITION_FAILED,
                    "no_scene_graph",
                    f"no scene graph came from perception within {self.settings.scene_timeout:g} s",
                )
            refused = self.policy.check_preconditions(self.domain, symbolic_state(graph, self.domain), self.action)
            if refused is not None and self.attempts == 0:
                if newer_than >= self.plan_stamp:
                    return refused
                newer_than = self.plan_stamp  # the belief that the plan rests on may still be under way to here
                continue
            if refused is not None:
                return result  # the attempt before has changed the world; the planner must look at it
            result = self._attempt(graph)
            ended = self.ports.now()
            newer_than = ended + self.settings.settle
            if result.succeeded:
                result = self._check_outcome(ended, newer_than)
            if result.succeeded or not self.policy.should_retry(result, self.attempts):
                return result

    def _attempt(self, graph: SceneGraph) -> SkillResult:
        self.attempts += 1
        result = self._call_skill(graph)
        if self.memory is not None and result.code == OBJECT_NOT_FOUND:
            self.memory.forget(set(self.action.arguments) - set(held(graph)))  # what is in the hand is not gone
        return result

    def _call_skill(self, graph: SceneGraph) -> SkillResult:
        recall = self.memory.recall if self.memory is not None else None
        try:
            skill, arguments = skill_arguments(self.domain, graph, self.action, recall)
        except ArgumentError as error:
            return error.result
        self.ports.phase(skill)
        return self.ports.execute_skill(skill, arguments, graph.frame_id, self.settings.skill_timeout, self.cancelled)

    def _check_outcome(self, ended: float, newer_than: float) -> SkillResult:
        """Believe the skill unless the camera clearly shows the opposite of what it should have brought about."""
        self.ports.phase("checking the outcome")
        graph = self.mailbox.wait_graph(newer_than, self.settings.scene_timeout)
        if graph is None:
            return SkillResult(SkillStatus.SUCCEEDED)
        state = symbolic_state(graph, self.domain)
        wrong = self.policy.check_postconditions(self.domain, state, self.action, graph, ended)
        return wrong if wrong is not None else SkillResult(SkillStatus.SUCCEEDED)
