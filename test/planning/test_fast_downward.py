"""Fast Downward runs as a process of its own, which may crash, hang, or be told to end."""

from __future__ import annotations

import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_tasks import GOALS

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import SymbolicState
from graph_planner_ros.planning.engines.fast_downward import FastDownwardEngine, scale_costs
from graph_planner_ros.planning.problem import build_problem
from graph_planner_ros.planning.result import PlanningStatus


def script(folder: Path, text: str) -> list[str]:
    """A command that stands in for Fast Downward."""
    path = folder / "planner.py"
    path.write_text(textwrap.dedent(text))
    return [sys.executable, str(path)]


@pytest.fixture
def task(household: Domain, kitchen: SymbolicState) -> Iterator[tuple[str, str]]:
    """A domain and a problem that any planner solves."""
    yield household.pddl_text, build_problem(household, kitchen, GOALS["move"])


def test_a_planner_that_crashes_is_told_with_its_exit_code_and_last_words(
    tmp_path: Path, task: tuple[str, str]
) -> None:
    command = script(tmp_path, "import sys; print('out of luck', file=sys.stderr); sys.exit(77)")
    result = FastDownwardEngine(command=command).solve(*task, 60.0)
    assert result.status is PlanningStatus.CRASHED
    assert result.exit_code == 77
    assert result.stderr == "out of luck"
    assert "77" in result.reason and "out of luck" in result.reason


def test_a_planner_killed_by_a_signal_is_a_crash(tmp_path: Path, task: tuple[str, str]) -> None:
    command = script(tmp_path, "import os; os.kill(os.getpid(), 11)")
    result = FastDownwardEngine(command=command).solve(*task, 60.0)
    assert (result.status, result.exit_code) == (PlanningStatus.CRASHED, -11)


@pytest.mark.parametrize("cancelled", [True, False])
def test_nothing_of_a_planner_lives_on_after_a_time_out_or_a_cancel(
    tmp_path: Path, task: tuple[str, str], cancelled: bool
) -> None:
    """The planner has a child that ignores SIGTERM, as a search may be deep in C++."""
    pids = tmp_path / "pids"
    command = script(
        tmp_path,
        f"""
        import os, pathlib, signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = os.fork()
        if child:
            part = pathlib.Path({str(pids)!r} + ".part")
            part.write_text(f"{{os.getpid()}} {{child}}")
            part.rename({str(pids)!r})
        time.sleep(600)
        """,
    )
    cancel = threading.Event()
    results = []
    engine = FastDownwardEngine(command=command)
    timeout = 600.0 if cancelled else 5.0
    thread = threading.Thread(target=lambda: results.append(engine.solve(*task, timeout, cancel)))
    thread.start()
    while cancelled and not pids.exists() and thread.is_alive():
        time.sleep(0.01)
    if cancelled:
        cancel.set()
    thread.join(timeout=60.0)
    assert results[0].status is (PlanningStatus.CANCELLED if cancelled else PlanningStatus.TIMED_OUT)
    for pid in map(int, pids.read_text().split()):
        assert _gone(pid)


def _gone(pid: int) -> bool:
    """Whether a process ends within a moment; the kernel needs one even for SIGKILL."""
    deadline = time.monotonic() + 30.0
    while _running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not _running(pid)


def _running(pid: int) -> bool:
    """Whether a process is alive; one that is dead and not yet reaped by the init process is not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def test_costs_become_whole_numbers_for_fast_downward() -> None:
    text = "(increase (total-cost) 1.5) (= (way a b) 2.346) (= (total-cost) 0) (increase (total-cost) (way ?a ?b))"
    assert scale_costs(text) == (
        "(increase (total-cost) 150) (= (way a b) 235) (= (total-cost) 0) (increase (total-cost) (way ?a ?b))"
    )
