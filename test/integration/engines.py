"""Planning engines that misbehave, for the planner's parameter ``engine``."""

from __future__ import annotations

import threading

from graph_planner_ros.planning.engines.base import EngineResult
from graph_planner_ros.planning.result import PlanningStatus

LET_GO = threading.Event()
"""Ends the slow engine's calls at the end of the test session."""


class Slow:
    """Takes 30 s for every call and cannot be interrupted."""

    name = "slow"
    calls = 0

    def solve(
        self,
        domain_pddl: str,
        problem_pddl: str,
        timeout: float,
        cancel: threading.Event | None = None,
        states: int | None = None,
    ) -> EngineResult:
        Slow.calls += 1
        LET_GO.wait(30.0)
        return EngineResult(PlanningStatus.TIMED_OUT, reason="too slow")


class Crashing:
    """Crashes like a planner whose process ended."""

    name = "crashing"

    def solve(
        self,
        domain_pddl: str,
        problem_pddl: str,
        timeout: float,
        cancel: threading.Event | None = None,
        states: int | None = None,
    ) -> EngineResult:
        return EngineResult(
            PlanningStatus.CRASHED,
            reason="the planner ended with exit code 139: segmentation fault at 0x0",
            engine="crashing",
            exit_code=139,
            stderr="segmentation fault at 0x0",
        )


class Late:
    """Runs out of time."""

    name = "late"

    def solve(
        self,
        domain_pddl: str,
        problem_pddl: str,
        timeout: float,
        cancel: threading.Event | None = None,
        states: int | None = None,
    ) -> EngineResult:
        return EngineResult(PlanningStatus.TIMED_OUT, reason=f"no plan within {timeout:g} s", engine="late")
