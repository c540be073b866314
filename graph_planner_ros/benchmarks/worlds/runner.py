"""Plays many games in worker processes; whatever happens to a worker, every game gets its row.

A worker plays game after game and is replaced when it dies or a game in it takes too long. Workers are started anew
(spawn), with one hash seed for all, so that sets have one order and the same seed gives the same result.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import tempfile
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import asdict
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import psutil

from graph_planner_ros.benchmarks.worlds.game import GameSpec, WorldUnavailableError
from graph_planner_ros.benchmarks.worlds.records import StepRecord
from graph_planner_ros.benchmarks.worlds.worker import READY, ROW, STEP, UNAVAILABLE, MakePlayer, failed_record, serve

WALL_LIMIT = 600.0
"""Seconds of wall time after which a game is given up."""
_START_LIMIT = 600.0
_POLL = 0.2
_END_GRACE = 5.0
_TAIL = 400
"""Characters of a dead worker's log that the reason quotes."""


class Runner:
    """Plays games and reports a row for each.

    Args:
        make_player: picklable; called in each worker. processes: workers at a time.
        wall_limit: seconds for one game. stop: is asked often; when true, `run` ends without the rest of the games.
    """

    def __init__(
        self,
        make_player: MakePlayer,
        processes: int = 1,
        wall_limit: float = WALL_LIMIT,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        if processes < 1 or wall_limit <= 0:
            raise ValueError(
                f"expected at least one process and a wall limit above 0, got {processes} and {wall_limit}"
            )
        self._make_player = make_player
        self._processes = processes
        self._wall_limit = wall_limit
        self._stop = stop
        self._broken_starts = 0

    def run(self, specs: Sequence[GameSpec]) -> Generator[dict[str, Any], None, None]:
        """Yield a row for each game as it ends, in whatever order they end.

        Raises:
            WorldUnavailableError: the world is not installed, or no worker can be started.
        """
        todo = deque(specs)
        workers: list[_Worker] = []
        with tempfile.TemporaryDirectory(prefix="graph_planner_bench_") as logs:
            try:
                while (todo or any(worker.spec for worker in workers)) and not self._stop():
                    while len(workers) < self._processes and sum(not worker.spec for worker in workers) < len(todo):
                        workers.append(_Worker(self._make_player, Path(logs)))
                    for worker in _ready(workers):
                        yield from self._look_after(worker, todo)
                    workers = [worker for worker in workers if not worker.ended]
            finally:
                for worker in workers:
                    worker.dismiss()
                for worker in workers:
                    worker.end(_END_GRACE if not self._stop() else 0.0)

    def _look_after(self, worker: _Worker, todo: deque[GameSpec]) -> Iterator[dict[str, Any]]:
        kind, content = worker.news()
        if kind == UNAVAILABLE:
            raise WorldUnavailableError(content)
        if kind == STEP:
            worker.note(content)
        elif kind in (READY, ROW):
            if kind == ROW:
                yield {**content, "seconds": worker.elapsed}
            self._broken_starts = 0
            worker.give(todo.popleft() if todo else None)
        else:
            reason = worker.death() if kind == "died" else worker.late(self._wall_limit)
            if not reason:
                return
            worker.end(0.0)
            if worker.spec is not None:
                record = failed_record(worker.spec, reason, worker.steps)
                yield {**asdict(record), "seconds": worker.elapsed}
            else:
                self._count_broken_start(reason)

    def _count_broken_start(self, reason: str) -> None:
        self._broken_starts += 1
        if self._broken_starts >= 3:
            raise WorldUnavailableError(f"no process for playing can be started: {reason}")


class _Worker:
    """One process, the game that it plays, and what is known of that game."""

    def __init__(self, make_player: MakePlayer, logs: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection: Connection
        self.connection, theirs = context.Pipe()
        descriptor, log = tempfile.mkstemp(dir=logs, suffix=".log")
        os.close(descriptor)
        self._log = Path(log)
        self.spec: GameSpec | None = None
        self.steps: list[StepRecord] = []
        self.ended = False
        self._since = time.monotonic()
        self.process: BaseProcess = context.Process(target=serve, args=(theirs, make_player, log), daemon=True)
        with _environment("PYTHONHASHSEED", "0"):
            self.process.start()
        theirs.close()

    @property
    def elapsed(self) -> float:
        """Seconds since the game or, before the first one, the process was started."""
        return time.monotonic() - self._since

    def give(self, spec: GameSpec | None) -> None:
        """Let the worker play a game; without one it ends."""
        self.spec, self.steps, self._since = spec, [], time.monotonic()
        if spec is None:
            self.dismiss()
            self.end(_END_GRACE)
        else:
            with contextlib.suppress(OSError):  # it died since; seen at the next look
                self.connection.send(spec)

    def note(self, step: StepRecord) -> None:
        """Remember a step, for the case that the game has no end."""
        self.steps = [*(self.steps if step.index else ()), step]

    def news(self) -> tuple[str, Any]:
        """Return the next message, or ("died", None), or ("nothing", None)."""
        try:
            if self.connection.poll():
                kind, content = self.connection.recv()
                return kind, content
        except (EOFError, OSError):
            return "died", None
        return ("nothing", None) if self.process.is_alive() else ("died", None)

    def late(self, wall_limit: float) -> str:
        """Return why the worker must be ended, empty if it need not be."""
        if self.spec is not None and self.elapsed > wall_limit:
            done = f"after {len(self.steps) - 1} steps" if self.steps else "before it began"
            return f"the game did not end within {wall_limit:g} s of wall time; it hung {done}"
        if self.spec is None and self.elapsed > _START_LIMIT:
            return f"it was not ready within {_START_LIMIT:g} s"
        return ""

    def death(self) -> str:
        """Return how the process died."""
        self.process.join(_END_GRACE)
        code = self.process.exitcode
        if code is None:
            how = "closed its pipe"
        elif code < 0:
            how = f"was killed by {_signal_name(-code)}"
        else:
            how = f"ended with exit code {code}"
        last = " | ".join(self._log.read_text(errors="replace").split("\n"))[-_TAIL:].strip(" |")
        return f"the process that played it {how}" + (f"; its last words: {last}" if last else "")

    def dismiss(self) -> None:
        """Tell the process that no more games come."""
        if self.spec is None:
            with contextlib.suppress(OSError, ValueError):
                self.connection.send(None)

    def end(self, grace: float) -> None:
        """End the process and all that it started; may be called twice."""
        if self.ended:
            return
        self.ended = True
        if grace and self.spec is None:
            self.process.join(grace)
        _kill_tree(self.process)
        self.connection.close()


def _ready(workers: Sequence[_Worker]) -> list[_Worker]:
    """Return all workers after something was said or died, or a short while."""
    wait([item for worker in workers for item in (worker.connection, worker.process.sentinel)], timeout=_POLL)
    return list(workers)


def _kill_tree(process: BaseProcess) -> None:
    """Kill a process with its descendants, also those with sessions of their own."""
    assert process.pid is not None
    family: list[psutil.Process] = []
    with contextlib.suppress(psutil.NoSuchProcess):
        family = psutil.Process(process.pid).children(recursive=True)
    if process.is_alive():
        process.kill()
    for member in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()
    process.join(_END_GRACE)


@contextlib.contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
