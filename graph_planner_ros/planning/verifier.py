"""The verifier: symbolic execution of a plan with a reason for every step that cannot be (GraphThink III-A)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import goal_holds, unmet_literals
from graph_planner_ros.domain.state import effects, unmet_preconditions
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GroundAction, SymbolicState
from graph_planner_ros.planning.hypotheses import Hypotheses, open_hypotheses, with_hypotheses
from graph_planner_ros.planning.problem import bind_placeholders
from graph_planner_ros.planning.result import PlannedStep


@dataclass(frozen=True)
class VerifiedStep:
    """One step of a plan: whether it can be executed, why not, and the preconditions that do not hold."""

    index: int
    action: GroundAction
    valid: bool
    reason: str = ""
    unmet: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verification:
    """What came of executing a plan symbolically.

    Attributes:
        valid: every step can be executed and the goal holds at the end.
        goal_reached: the goal holds at the end (False if a step before cannot be executed).
        reason: a sentence; empty if valid.
        steps: up to and including the first that cannot be executed.
    """

    valid: bool
    goal_reached: bool
    reason: str = ""
    steps: tuple[VerifiedStep, ...] = ()


def verify(
    domain: Domain,
    state: SymbolicState,
    goal: Goal,
    actions: Iterable[GroundAction | PlannedStep],
    placeholders: Hypotheses | Mapping[str, str] | None = None,
) -> Verification:
    """Execute a plan symbolically in the whole domain.

    Args:
        domain, state, goal: the task as it is believed to be now.
        actions: the plan in the original spelling.
        placeholders: the hypotheses that the plan was made with; or placeholder -> class name, and then everything
            may be everywhere; None if the plan has no placeholders.
    """
    if placeholders is None:
        hypotheses = Hypotheses()
    elif isinstance(placeholders, Hypotheses):
        hypotheses = placeholders
    else:
        hypotheses = open_hypotheses(domain, state, placeholders)
    current = with_hypotheses(domain, state, hypotheses)
    goal = bind_placeholders(domain, goal, hypotheses)
    steps: list[VerifiedStep] = []
    for index, item in enumerate(actions):
        action = item.action if isinstance(item, PlannedStep) else item
        unmet = tuple(unmet_preconditions(domain, current, action))
        if unmet:
            reason = f"step {index + 1}, {action}, cannot be executed: {'; '.join(unmet)}"
            steps.append(VerifiedStep(index, action, False, reason, unmet))
            return Verification(False, False, reason, tuple(steps))
        steps.append(VerifiedStep(index, action, True))
        added, deleted = effects(domain, action)
        current = SymbolicState(current.objects, (current.atoms - deleted) | added, current.functions)
    if goal_holds(goal, current, domain):
        return Verification(True, True, "", tuple(steps))
    missing = "; ".join(literal_text(goal, literal) for literal in unmet_literals(goal, current, domain))
    return Verification(False, False, f"after the last step the goal still lacks: {missing}", tuple(steps))


def literal_text(goal: Goal, literal: GoalLiteral) -> str:
    """Return a literal of a goal for people: variables are called by instance or class, e.g. ``in(Mug, table_1)``."""
    called = {variable.name: variable.instance or variable.class_name or variable.name for variable in goal.variables}
    text = f"{literal.predicate}({', '.join(called.get(name, name) for name in literal.arguments)})"
    return text if literal.positive else f"not {text}"
