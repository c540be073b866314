"""The out-of-process engine: Fast Downward as up-fast-downward brings it.

Every call is a process group of its own, which is ended as a whole on time-out, on cancel and when the call is
over, so that no translator or search is left running.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.planning.engines.base import EngineMissingError, EngineResult
from graph_planner_ros.planning.engines.compilation import REACH_ACTION, PddlTextError, compile_task
from graph_planner_ros.planning.engines.model import Row, plan_cost, read_domain, read_problem
from graph_planner_ros.planning.result import PlanningStatus

COST_SCALE = 100
"""Fast Downward knows whole numbers only: costs are rounded to 1 / COST_SCALE."""

SEARCH = (
    "iterated([lazy_greedy([ff()],preferred=[ff()]),lazy_wastar([ff()],preferred=[ff()],w=1,max_time={seconds})],"
    "repeat_last=false)"
)
"""A first plan in any case, then one that A* with the FF heuristic finds, as it does in the engine mimir."""

_POLL = 0.02
_TAIL = 2000
_CHATTER = re.compile(r"INFO\b|Driver aborting|\w+ exit code:|\s*$")
_COST_CONSTANT = re.compile(r"(\(\s*increase\s*\(\s*total-cost\s*\)\s*)([0-9.]+(?:e[+-]?\d+)?)(\s*\))", re.IGNORECASE)
_VALUE = re.compile(r"(\(\s*=\s*\([^()]*\)\s*)([0-9.]+(?:e[+-]?\d+)?)(\s*\))", re.IGNORECASE)

# exit codes of Fast Downward's driver, see https://www.fast-downward.org/ExitCodes
_PLAN_FOUND = (0, 1, 2, 3)
_UNSOLVABLE = (10, 11)
_OUT_OF_TIME = (21, 23)
_BAD_INPUT = (31, 34)


class FastDownwardEngine:
    """Fast Downward, one process group a call.

    Args:
        effort: seconds of processor time for improving the first plan; few tasks need more than 0.1.
        command: the command that starts Fast Downward's driver; the one of up-fast-downward if left out.
    """

    name = "fast_downward"

    def __init__(self, effort: float = 5.0, command: Sequence[str] | None = None) -> None:
        self._effort = effort
        self._command = list(command) if command is not None else _driver()

    def solve(
        self,
        domain_pddl: str,
        problem_pddl: str,
        timeout: float,
        cancel: threading.Event | None = None,
        states: int | None = None,
    ) -> EngineResult:
        """See `Engine.solve`; states are not counted."""
        start = time.perf_counter()
        try:
            compiled = compile_task(domain_pddl, problem_pddl)
            domain = read_domain(compiled.domain)
            problem = read_problem(compiled.problem, domain)
        except PddlTextError as error:
            return self._result(PlanningStatus.REFUSED, start, f"the PDDL cannot be read: {error}")
        with tempfile.TemporaryDirectory(prefix="fast_downward_") as name:
            folder = Path(name)
            (folder / "domain.pddl").write_text(scale_costs(compiled.domain), encoding="utf-8")
            (folder / "problem.pddl").write_text(scale_costs(compiled.problem), encoding="utf-8")
            code, ended = self._run(folder, start + timeout, cancel)
            plan = _read_plan(folder)
            output = _tail(folder / "stderr") or _tail(folder / "stdout")
        if ended is PlanningStatus.CANCELLED:
            return self._result(ended, start, "planning was cancelled")
        if plan is not None:
            plan = [row for row in plan if row[0] != REACH_ACTION]
            return EngineResult(
                PlanningStatus.SOLVED,
                tuple(GroundAction(row[0], row[1:]) for row in plan),
                plan_cost(domain, problem, plan),
                time.perf_counter() - start,
                f"a plan of {len(plan)} actions",
                self.name,
                by_clock=ended is PlanningStatus.TIMED_OUT,
            )
        if ended is PlanningStatus.TIMED_OUT or code in _OUT_OF_TIME:
            timed_out = self._result(PlanningStatus.TIMED_OUT, start, f"no plan was found within {timeout:g} s")
            return replace(timed_out, by_clock=True)
        if code in _UNSOLVABLE:
            return self._result(PlanningStatus.UNREACHABLE, start, "no sequence of actions reaches the goal")
        if code in _BAD_INPUT:
            reason = f"Fast Downward refused the PDDL (exit code {code}): {_last_line(output)}"
            return self._result(PlanningStatus.REFUSED, start, reason, code, output)
        reason = f"Fast Downward crashed with exit code {code}: {_last_line(output)}"
        return self._result(PlanningStatus.CRASHED, start, reason, code, output)

    def _result(
        self, status: PlanningStatus, start: float, reason: str, code: int | None = None, stderr: str = ""
    ) -> EngineResult:
        spent = time.perf_counter() - start
        return EngineResult(status, time=spent, reason=reason, engine=self.name, exit_code=code, stderr=stderr)

    def _arguments(self, seconds: float) -> list[str]:
        # the driver's own limit ends the children even if this process is killed meanwhile
        limit = ["--overall-time-limit", f"{math.ceil(seconds) + 1}s"]
        files = ["domain.pddl", "problem.pddl"]
        search = ["--search", SEARCH.format(seconds=self._effort)]
        return [*self._command, "--plan-file", "plan", *limit, *files, *search]

    def _run(
        self, folder: Path, deadline: float, cancel: threading.Event | None
    ) -> tuple[int | None, PlanningStatus | None]:
        """Run the planner in a folder; return its exit code, or why it was ended."""
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
            process = subprocess.Popen(
                self._arguments(deadline - time.perf_counter()),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        try:
            while True:
                if cancel is not None and cancel.is_set():
                    return None, PlanningStatus.CANCELLED
                left = deadline - time.perf_counter()
                if left <= 0.0:
                    return None, PlanningStatus.TIMED_OUT
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return process.wait(min(_POLL, left)), None
        finally:
            _end_group(process)


def scale_costs(text: str) -> str:
    """Return a PDDL text with all costs and function values as whole numbers, `COST_SCALE` times as large."""

    def scaled(match: re.Match[str]) -> str:
        return f"{match.group(1)}{round(float(match.group(2)) * COST_SCALE)}{match.group(3)}"

    return _VALUE.sub(scaled, _COST_CONSTANT.sub(scaled, text))


def _driver() -> list[str]:
    spec = importlib.util.find_spec("up_fast_downward")
    locations = list(spec.submodule_search_locations or ()) if spec is not None else []
    for location in locations:
        script = Path(location) / "downward" / "fast-downward.py"
        if script.is_file():
            return [sys.executable, str(script)]
    raise EngineMissingError(
        "the planning engine fast_downward is not installed; install the extra 'planners' (up-fast-downward, GPL-3)"
    )


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End whatever is left of a process group and wait for its leader."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _read_plan(folder: Path) -> list[Row] | None:
    """Return the newest plan that was written wholly (later ones are cheaper), or None."""
    numbered = [path for path in folder.glob("plan.*") if path.suffix[1:].isdigit()]
    files = [*sorted(numbered, key=lambda path: -int(path.suffix[1:])), folder / "plan"]
    for path in files:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if "; cost" in text:
            lines = [line.strip() for line in text.splitlines()]
            return [tuple(line.strip("()").split()) for line in lines if line.startswith("(")]
    return None


def _tail(path: Path) -> str:
    data = path.read_bytes() if path.is_file() else b""
    return data[-_TAIL:].decode(errors="replace").strip()


def _last_line(text: str) -> str:
    """Return the last line that says something; the driver's own reports do not."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not _CHATTER.match(line)]
    return lines[-1] if lines else "no output"
