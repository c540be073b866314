"""Planning: engines, MemPlan (problem, memories, hypotheses), verification and the replanning policy.

The public names are imported from their modules when they are first asked for, so that importing one part (say the
results, which messages need) does not load planners.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graph_planner_ros.planning.hypotheses import Hypotheses, Placeholder
    from graph_planner_ros.planning.memory import NegativeMemory, PositiveMemory, Refutation
    from graph_planner_ros.planning.memplan import MemPlan
    from graph_planner_ros.planning.problem import PlanningProblem, build_problem, compile_problem
    from graph_planner_ros.planning.result import PlannedStep, PlanningResult, PlanningStatus, TaskStatus
    from graph_planner_ros.planning.session import Decision, DecisionKind, TaskSession
    from graph_planner_ros.planning.supposing import Evidence
    from graph_planner_ros.planning.verifier import Verification, VerifiedStep, verify

_MODULES = {
    "hypotheses": ("Hypotheses", "Placeholder"),
    "memory": ("NegativeMemory", "PositiveMemory", "Refutation"),
    "memplan": ("MemPlan",),
    "problem": ("PlanningProblem", "build_problem", "compile_problem"),
    "result": ("PlannedStep", "PlanningResult", "PlanningStatus", "TaskStatus"),
    "session": ("Decision", "DecisionKind", "TaskSession"),
    "supposing": ("Evidence",),
    "verifier": ("Verification", "VerifiedStep", "verify"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Decision",
    "DecisionKind",
    "Evidence",
    "Hypotheses",
    "MemPlan",
    "NegativeMemory",
    "Placeholder",
    "PlannedStep",
    "PlanningProblem",
    "PlanningResult",
    "PlanningStatus",
    "PositiveMemory",
    "Refutation",
    "TaskSession",
    "TaskStatus",
    "Verification",
    "VerifiedStep",
    "build_problem",
    "compile_problem",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
