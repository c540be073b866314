"""What the planners around `MemPlan` have in common: its memories are theirs."""

from __future__ import annotations

from graph_planner_ros.domain.symbols import Goal, SymbolicState
from graph_planner_ros.planning.memory import NegativeMemory, PositiveMemory
from graph_planner_ros.planning.planner import Planner
from graph_planner_ros.planning.supposing import Evidence


class BorrowedMemories:
    """The part of a `Planner` that remembers, done by another planner.

    Args:
        owner: of the memories.
    """

    def __init__(self, owner: Planner) -> None:
        self._owner = owner

    @property
    def positive(self) -> PositiveMemory:
        """The owner's memory of where things were."""
        return self._owner.positive

    @property
    def negative(self) -> NegativeMemory:
        """The owner's memory of where they were not."""
        return self._owner.negative

    def note(self, state: SymbolicState, goal: Goal, evidence: Evidence) -> None:
        """See `MemPlan.note`."""
        self._owner.note(state, goal, evidence)
