"""Judges a plan: can it be executed, does it bring about the ground truth, does the task graph let it pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graph_planner_ros.benchmarks.alfred.annotation_map import AnnotationMap
from graph_planner_ros.benchmarks.alfred.metrics import (
    Comparison,
    Execution,
    Subtasks,
    affordance_rate,
    comparable,
    compare,
    conditions_met,
    transfer_rate,
)
from graph_planner_ros.benchmarks.alfred.samples import Sample
from graph_planner_ros.domain.goal import goal_holds, unmet_literals
from graph_planner_ros.domain.state import effects, unmet_preconditions
from graph_planner_ros.domain.symbols import Goal, GroundAction, SymbolicState
from graph_planner_ros.planning.task_graph import (
    KnownThings,
    Subtask,
    TaskGraph,
    check_edges,
    check_nodes,
    said_parameters,
    subtasks_of,
)
from graph_planner_ros.planning.verifier import literal_text


@dataclass(frozen=True)
class Judgement:
    """What a plan is worth, see `metrics`.

    Attributes:
        execution: of all its actions. comparison: with the ground truth's subtasks. subtasks: of the plan.
        graph: whether the task graph lets it pass. transfer, affordance: rates.
        reason: what is wrong, in a sentence.
    """

    execution: Execution
    comparison: Comparison
    subtasks: Subtasks = ()
    graph: bool = False
    transfer: float = 0.0
    affordance: float = 0.0
    reason: str = ""

    @staticmethod
    def failed() -> Judgement:
        """Return the judgement where there is no plan."""
        return Judgement(Execution(False, False, 0.0), Comparison(False, 1.0, 0.0))

    def as_json(self) -> dict[str, Any]:
        """Return what goes into a row of results."""
        return {
            "subtasks": [list(step) for step in self.subtasks],
            "executable": self.execution.valid,
            "conditions": self.execution.conditions,
            "exact": self.comparison.exact,
            "missing": self.comparison.missing,
            "additional": self.comparison.additional,
            "graph": self.graph,
            "wrong_transfer": self.transfer,
            "affordance": self.affordance,
        }


class Judge:
    """Compares plans with the ground truth; looks at nothing but the sample, the true state and the plan."""

    def __init__(self, annotations: AnnotationMap) -> None:
        self._annotations = annotations
        self._domain = annotations.domain
        self._graph = TaskGraph.of(annotations.domain)

    def judge(
        self, sample: Sample, state: SymbolicState, labels: Mapping[str, str], actions: Sequence[GroundAction]
    ) -> Judgement:
        """Judge a plan.

        Args:
            sample: the ground truth. state: what is true at the start. labels: instance id -> class.
            actions: the plan.
        """
        goal = self._annotations.goal(sample.requests)
        execution = self.execute(state, goal, actions)
        return self._judge(sample, state, subtasks_of(self._domain, actions, labels), execution)

    def _judge(self, sample: Sample, state: SymbolicState, plan: Sequence[Subtask], execution: Execution) -> Judgement:
        subtasks = alfred_view(self._annotations, plan)
        comparison = compare(
            comparable(self._annotations, sample, subtasks), comparable(self._annotations, sample, sample.plan)
        )
        nodes = check_nodes(self._graph, plan, KnownThings.of(self._domain, state))
        edges = check_edges(self._graph, plan)
        objections = [*nodes, *edges]
        return Judgement(
            execution,
            comparison,
            subtasks,
            not objections,
            transfer_rate([item.index for item in edges], len(plan)),
            affordance_rate([item.index for item in nodes], len(plan)),
            execution.reason or "; ".join(item.reason for item in objections),
        )

    def execute(self, state: SymbolicState, goal: Goal, actions: Sequence[GroundAction]) -> Execution:
        """Execute a plan symbolically; what comes after an action that cannot be executed is not executed."""
        for number, action in enumerate(actions, 1):
            if unmet := unmet_preconditions(self._domain, state, action):
                reason = f"step {number}, {action}, cannot be executed: {'; '.join(unmet)}"
                return Execution(False, False, conditions_met(goal, state, self._domain), reason)
            added, deleted = effects(self._domain, action)
            state = SymbolicState(state.objects, (state.atoms - deleted) | added, state.functions)
        if goal_holds(goal, state, self._domain):
            return Execution(True, True, 1.0)
        lacking = ", ".join(literal_text(goal, literal) for literal in unmet_literals(goal, state, self._domain))
        return Execution(True, False, conditions_met(goal, state, self._domain), f"at the end it lacks {lacking}")


def alfred_view(annotations: AnnotationMap, subtasks: Sequence[Subtask]) -> Subtasks:
    """Return subtasks in ALFRED's names; those that ALFRED does not have (closing, examining) are left out."""
    said = said_parameters(annotations.domain)
    found = []
    for subtask in subtasks:
        if subtask.action not in annotations.subtasks:
            continue
        name, wanted = annotations.subtasks[subtask.action]
        names = [parameter.name for parameter in said[subtask.action]]
        values = dict(zip(names, subtask.arguments, strict=False))
        found.append((name, *(values[parameter] for parameter in wanted if parameter in values)))
    return tuple(found)
