"""What a task asks of whatever makes its plans."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Protocol

from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction, SymbolicState
from graph_planner_ros.planning.memory import NegativeMemory, PositiveMemory
from graph_planner_ros.planning.result import PlanningResult
from graph_planner_ros.planning.supposing import Evidence


class Planner(Protocol):
    """Makes verified plans; `MemPlan` is one, and those of `planning.llm`."""

    @property
    def positive(self) -> PositiveMemory:
        """Memory of where things were."""

    @property
    def negative(self) -> NegativeMemory:
        """Memory of where they were not."""

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
        """Plan from what is believed, see `MemPlan.plan`."""

    def note(self, state: SymbolicState, goal: Goal, evidence: Evidence) -> None:
        """Learn from what was looked at by the way, see `MemPlan.note`."""
