"""What every planning engine offers, and what a problem text may contain.

PDDL that both engines take (domain and problem are given as text, names already legal and lower case):

- domain: typing, negative preconditions, ``=``, action costs by one ``(increase (total-cost) ...)`` an action,
  either a number or a function of the action's arguments.
- problem: ``(:objects ...)`` with types, ``(:init ...)`` of positive atoms and ``(= (function args) number)``
  (any non-negative decimals), ``(:metric minimize (total-cost))``. Every function term that an applicable
  action can need must have a value.
- goal: ``and``, ``or``, ``not``, ``exists``, ``forall`` over predicates and ``=``, e.g.
  ``(exists (?v1 - item) (and (instance_of ?v1 mug) (in ?v1 table_1) (not (= ?v1 mug_2))))``.

Plans come back in the names of the text; `domain.names.NameMap.action_from_pddl` maps them back.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol

from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.planning.result import PlanningStatus


@dataclass(frozen=True)
class EngineResult:
    """What came of one call of an engine.

    Attributes:
        status: SOLVED (the plan is empty if the goal holds already), UNREACHABLE (proven), TIMED_OUT, CANCELLED,
            CRASHED, or REFUSED (the engine cannot read the texts).
        plan: the actions in the names of the PDDL text.
        cost: sum of the action costs in the problem's own units; time: seconds of wall time.
        reason: a sentence. engine: name of the engine.
        exit_code, stderr: of an engine's process that crashed; ``stderr`` is the end of it.
        optimal: whether the engine proved that no plan is cheaper.
        by_clock: the wall clock decided the outcome, so another run may have another one.
    """

    status: PlanningStatus
    plan: tuple[GroundAction, ...] = ()
    cost: float = 0.0
    time: float = 0.0
    reason: str = ""
    engine: str = ""
    exit_code: int | None = None
    stderr: str = ""
    optimal: bool = False
    by_clock: bool = False


class Engine(Protocol):
    """A planner."""

    @property
    def name(self) -> str:
        """Short name of the engine, e.g. ``mimir``."""

    def solve(
        self,
        domain_pddl: str,
        problem_pddl: str,
        timeout: float,
        cancel: threading.Event | None = None,
        states: int | None = None,
    ) -> EngineResult:
        """Search for a cheap plan.

        Args:
            domain_pddl, problem_pddl: see the top of this file.
            timeout: seconds of wall time; the best plan found by then counts.
            cancel: when set by another thread, the call returns CANCELLED within a fraction of a second.
            states: that a search may visit before it ends as TIMED_OUT, on any machine alike; left out, time alone
                ends it. An engine that cannot count states goes by the time.
        """


class EngineMissingError(RuntimeError):
    """An optional planning engine is not installed; the message says which extra brings it."""
