"""Results of planning and of whole tasks: a status enum and a reason in a sentence."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.state import cost
from graph_planner_ros.domain.symbols import GroundAction, SymbolicState
from graph_planner_ros.domain.wording import describe_action
from graph_planner_ros.planning.hypotheses import Hypotheses, spoken_names


class PlanningStatus(enum.Enum):
    """Outcome of one planning call."""

    SOLVED = "solved"
    ALREADY_SATISFIED = "already_satisfied"
    GOAL_UNKNOWN = "goal_unknown"
    UNREACHABLE = "unreachable"
    TIMED_OUT = "timed_out"
    CRASHED = "crashed"
    REFUSED = "refused"
    CANCELLED = "cancelled"


class TaskStatus(enum.Enum):
    """State or outcome of an instruction; the numbers are those of the message ``GoalStatus``."""

    IDLE = 0
    RUNNING = 1
    SUCCEEDED = 2
    ALREADY_SATISFIED = 3
    INSTRUCTION_NOT_UNDERSTOOD = 4
    GOAL_UNKNOWN = 5
    GOAL_UNREACHABLE = 6
    PLANNER_TIMED_OUT = 7
    PLANNER_CRASHED = 8
    PLAN_REFUSED = 9
    PRECONDITION_FAILED = 10
    EXECUTION_FAILED = 11
    POSTCONDITION_FAILED = 12
    CANCELLED = 13
    NODE_LOST = 14


@dataclass(frozen=True)
class PlannedStep:
    """One action of a plan with its cost and its sentence for people."""

    action: GroundAction
    cost: float = 0.0
    text: str = ""


def planned_steps(
    domain: Domain, state: SymbolicState, actions: Iterable[GroundAction], classes: Mapping[str, str]
) -> tuple[PlannedStep, ...]:
    """Return actions with what they cost in a state and their sentences.

    Args:
        classes: placeholder -> class, for those that the sentences speak of.
    """
    called = spoken_names(classes)
    return tuple(
        PlannedStep(action, cost(domain, state, action), describe_action(domain, action, called)) for action in actions
    )


@dataclass(frozen=True)
class ModelRound:
    """One question to a language model and what came of its answer.

    Attributes:
        number: from 1; 0: not about a plan, but about key objects or places to look at. model: its name.
        status: of its reply, in lower case (``answered``, ``timed_out``, ...).
        text: what it said, cut short. problems: why it was not taken, a sentence each; empty if it was.
        prompt_tokens, completion_tokens: as the endpoint counts. latency: seconds. cached: it was not asked again.
    """

    number: int
    model: str
    status: str
    text: str = ""
    problems: tuple[str, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency: float = 0.0
    cached: bool = False


@dataclass(frozen=True)
class PlanningResult:
    """Outcome of one planning call.

    Attributes:
        steps: the plan; arguments are instance ids, or names of placeholders (see ``placeholders``).
        placeholders: placeholder name -> class name, for things that nobody has seen yet.
        cost: sum of the action costs. time: seconds of wall time. engine: which planner made it.
        exit_code, stderr: of a planner that crashed.
        hypotheses: everything that was supposed in making the plan.
        by_clock: a search was ended by the wall clock, so another run may come to another result.
        rounds: with a language model, if one was asked.
    """

    status: PlanningStatus
    reason: str = ""
    steps: tuple[PlannedStep, ...] = ()
    placeholders: dict[str, str] = field(default_factory=dict)
    cost: float = 0.0
    time: float = 0.0
    engine: str = ""
    exit_code: int | None = None
    stderr: str = ""
    hypotheses: Hypotheses = field(default_factory=Hypotheses)
    by_clock: bool = False
    rounds: tuple[ModelRound, ...] = ()
