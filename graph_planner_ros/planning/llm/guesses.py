"""A planner whose advice comes from a model's guesses of where things are, with the rounds in its results."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace

from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction, SymbolicState
from graph_planner_ros.planning.llm.borrowed import BorrowedMemories
from graph_planner_ros.planning.llm.key_objects import ModelExperience
from graph_planner_ros.planning.planner import Planner
from graph_planner_ros.planning.result import PlanningResult
from graph_planner_ros.planning.supposing import Evidence


class GuessingPlanner(BorrowedMemories):
    """Any planner, with what was asked about places for its advice in its results.

    Args:
        planner: plans; its advice asks ``experience``. experience: asks the model.
    """

    def __init__(self, planner: Planner, experience: ModelExperience) -> None:
        super().__init__(planner)
        self.planner, self.experience = planner, experience

    def plan(
        self,
        state: SymbolicState,
        goal: Goal,
        cancel: threading.Event | None = None,
        *,
        evidence: Evidence | None = None,
        excluded: Iterable[GroundAction] = (),
        remaining: Mapping[Atom, int] | None = None,
    ) -> PlanningResult:
        """Plan; a cancel ends the questions as well. See `MemPlan.plan`."""
        self.experience.cancel = cancel
        result = self.planner.plan(state, goal, cancel, evidence=evidence, excluded=excluded, remaining=remaining)
        return replace(result, rounds=(*self.experience.take_rounds(), *result.rounds))
