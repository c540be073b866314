"""What a plan is worth against the ground truth (GraphThink IV-C1 and IV-E, without a language model as judge).

All rates are of one sample; tables hold their means. Let R be the ground-truth subtasks, P the plan's subtasks, both in
ALFRED's names with classes. Where a thing is put down of which the instruction does not speak (a knife after slicing)
is anybody's choice: there the place counts as ``*`` on both sides.

- **missing step rate**: share of R, as a multiset, that P lacks: |R - P| / |R|. Without a plan 1.
- **additional step rate**: share of P, as a multiset, that R lacks: |P - R| / |P|. Without a plan 0.
- **wrong transfer rate**: share of P's |P| - 1 transitions that are no edge of the task graph.
- **affordance error rate**: share of P's subtasks with a thing that is not there, or of a meta-class that the subtask
  does not take.
- **exact match**: P = R, order included.
- **graph pass**: no objection of the task graph to any node or edge; without a plan it is not passed.
- **success**: the graph passes, every action can be executed symbolically, and the conditions of the ground truth hold
  at the end.

The error metrics are named after Embodied Agent Interface (Li et al. 2024), which GraphThink follows; there they are
counted on simulated executions, here against the ground truth, so another right way to the goal has missing and
additional steps as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graph_planner_ros.benchmarks.alfred.annotation_map import AnnotationMap
from graph_planner_ros.benchmarks.alfred.samples import Sample
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import goal_holds, unmet_literals
from graph_planner_ros.domain.symbols import Goal, SymbolicState

ANY = "*"
Subtasks = tuple[tuple[str, ...], ...]
"""Subtasks in ALFRED's names: the name, then classes."""


@dataclass(frozen=True)
class Comparison:
    """A plan's subtasks against the ground truth's, see the head of the module."""

    exact: bool
    missing: float
    additional: float


@dataclass(frozen=True)
class Execution:
    """What came of executing a plan symbolically from the true state.

    Attributes:
        valid: every action could be executed. reached: the ground truth's conditions hold at the end.
        conditions: share of them that hold at the end (ALFRED's goal-condition success).
        reason: what went wrong, in a sentence; empty if nothing did.
    """

    valid: bool
    reached: bool
    conditions: float
    reason: str = ""


def compare(plan: Subtasks, reference: Subtasks) -> Comparison:
    """Compare a plan with the ground truth; both as `comparable` returns them."""
    ours, theirs = Counter(plan), Counter(reference)
    missing = sum((theirs - ours).values()) / len(reference) if reference else 0.0
    additional = sum((ours - theirs).values()) / len(plan) if plan else 0.0
    return Comparison(bool(plan) and plan == reference, missing, additional)


def comparable(annotations: AnnotationMap, sample: Sample, subtasks: Iterable[Sequence[str]]) -> Subtasks:
    """Return subtasks with the free places as `ANY`."""
    spoken = {label for request in sample.requests for label in annotations.classes(request).values()}
    found = []
    for step in subtasks:
        free = step[0] == annotations.put_down and len(step) > 2 and step[1] not in spoken
        found.append((*step[:2], ANY) if free else tuple(step))
    return tuple(found)


def conditions_met(goal: Goal, state: SymbolicState, domain: Domain) -> float:
    """Return the share of a goal's literals that hold under the binding that leaves the fewest unmet."""
    if goal_holds(goal, state, domain):
        return 1.0
    return 1.0 - len(unmet_literals(goal, state, domain)) / len(goal.literals)


def transfer_rate(edges: Iterable[int], length: int) -> float:
    """Return the share of transitions that the task graph forbids.

    Args:
        edges: index of the subtask that each objection is about. length: of the plan.
    """
    return min(1.0, len(set(edges)) / max(1, length - 1)) if length else 0.0


def affordance_rate(nodes: Iterable[int], length: int) -> float:
    """Return the share of subtasks with a thing that they cannot take; arguments as in `transfer_rate`."""
    return len(set(nodes)) / length if length else 0.0
