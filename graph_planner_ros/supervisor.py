"""Starts the system as processes, restarts what dies, and leaves nothing behind however it ends itself.

Used where ``ros2 launch`` is not installed, and by the demo and the evaluation everywhere. Every node runs in a session
of its own, so that Ctrl-C reaches the supervisor alone, which then ends the nodes in order: those that act first, the
recorder last, so that the bag gets their last messages and is closed. See `process_guard` for the other ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from graph_planner_ros import process_guard

POLL_PERIOD = 0.1
"""Seconds between two looks at the processes."""


@dataclass(frozen=True)
class ProcessSpec:
    """One process.

    Attributes:
        command: program and arguments.
        environment: variables in addition to the supervisor's own.
        stop_order: processes with smaller numbers are ended first, those with equal numbers together.
        grace: seconds that it gets after SIGINT before SIGTERM, and again before SIGKILL.
        max_restarts: how often it is restarted within ``restart_window`` seconds before it is given up.
        fatal_codes: exit codes after which a restart cannot help, such as bad parameters.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_order: int = 0
    grace: float = 8.0
    max_restarts: int = 5
    restart_window: float = 60.0
    fatal_codes: tuple[int, ...] = (2, 127)


@dataclass(frozen=True)
class ProcessEvent:
    """Something that happened to a process: ``kind`` is started, ended, restarting, given_up or stopped."""

    name: str
    kind: str
    text: str


@dataclass
class _Child:
    spec: ProcessSpec
    log: Path
    process: subprocess.Popen[bytes] | None = None
    deaths: list[float] = field(default_factory=list)
    restart_at: float | None = None
    given_up: str = ""


class Supervisor:
    """Runs processes until `stop` is called; all of its methods may be called from any thread.

    Args:
        specs: the processes.
        log_directory: gets ``<name>.log`` with the output of each.
        on_event: is told what happens, on the supervisor's thread.
    """

    def __init__(
        self,
        specs: Sequence[ProcessSpec],
        log_directory: Path,
        on_event: Callable[[ProcessEvent], None] = lambda event: None,
    ) -> None:
        names = [spec.name for spec in specs]
        if len(set(names)) != len(names):
            raise ValueError(f"two processes of one name: {', '.join(sorted(names))}")
        log_directory.mkdir(parents=True, exist_ok=True)
        self.marker = uuid.uuid4().hex
        self._children = {spec.name: _Child(spec, log_directory / f"{spec.name}.log") for spec in specs}
        self._on_event = on_event
        self._stop = threading.Event()
        self._started = threading.Event()
        self._guard: subprocess.Popen[bytes] | None = None
        # A child's death signal is bound to the thread that started it, so one thread starts all of them and
        # lives as long as they do. If the interpreter ends without `stop`, the guard does the work.
        self._thread = threading.Thread(target=self._run, name="supervisor", daemon=True)

    # ---- for the caller

    def start(self) -> None:
        """Start the guard and all processes; returns when they have been started."""
        self._thread.start()
        self._started.wait()

    def stop(self) -> None:
        """End all processes in order and wait until nothing of the run is left."""
        self._stop.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self) -> Supervisor:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def pid(self, name: str) -> int | None:
        """Return the process id of a running process."""
        process = self._children[name].process
        return process.pid if process is not None and process.poll() is None else None

    def restarts(self, name: str) -> int:
        """Return how often a process has ended without being asked."""
        return len(self._children[name].deaths)

    def failure(self) -> str:
        """Return why the system cannot work any more: a sentence that names the process; empty if it can."""
        return " ".join(child.given_up for child in self._children.values() if child.given_up)

    def logs(self) -> dict[str, Path]:
        """Return the log file of each process."""
        return {name: child.log for name, child in self._children.items()}

    # ---- the supervisor's thread

    def _run(self) -> None:
        try:
            self._start_guard()
            for child in self._children.values():
                self._spawn(child)
            self._started.set()
            while not self._stop.wait(POLL_PERIOD):
                for child in self._children.values():
                    self._look_after(child)
        finally:
            self._started.set()
            self._end_all()

    def _start_guard(self) -> None:
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", process_guard.__file__, "watch", self.marker],
            stdin=subprocess.PIPE,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
        )

    def _spawn(self, child: _Child) -> None:
        spec = child.spec
        environment = {**os.environ, **spec.environment, process_guard.MARKER: self.marker}
        environment.setdefault("PYTHONUNBUFFERED", "1")
        wrapper = [sys.executable, "-I", "-S", process_guard.__file__, "run", str(os.getpid())]
        with open(child.log, "ab") as log:
            child.process = subprocess.Popen(
                [*wrapper, *spec.command],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        child.restart_at = None
        self._tell(child, "started", f"process {child.process.pid}")

    def _look_after(self, child: _Child) -> None:
        now = time.monotonic()
        if child.restart_at is not None:
            if now >= child.restart_at:
                self._spawn(child)
            return
        if child.process is None or child.process.poll() is None:
            return
        code = child.process.returncode
        _end_session(child.process.pid)
        child.process = None
        child.deaths.append(now)
        how = _describe_exit(code)
        self._tell(child, "ended", how)
        recent = [death for death in child.deaths if now - death <= child.spec.restart_window]
        if code in child.spec.fatal_codes:
            self._give_up(child, f"{child.spec.name} {how} and was not restarted: {_last_line(child.log)}")
        elif len(recent) > child.spec.max_restarts:
            often = f"{len(recent)} times within {child.spec.restart_window:g} s"
            self._give_up(child, f"{child.spec.name} ended {often}, and said last: {_last_line(child.log)}")
        else:
            delay = min(4.0, 0.25 * 2 ** (len(recent) - 1))
            child.restart_at = now + delay
            self._tell(child, "restarting", f"in {delay:g} s")

    def _give_up(self, child: _Child, reason: str) -> None:
        child.given_up = reason
        self._tell(child, "given_up", reason)

    def _end_all(self) -> None:
        for order in sorted({child.spec.stop_order for child in self._children.values()}):
            group = [child for child in self._children.values() if child.spec.stop_order == order]
            _end_group([child for child in group if child.process is not None])
            for child in group:
                if child.process is not None:
                    self._tell(child, "stopped", _describe_exit(child.process.returncode))
                    child.process = None
        process_guard.end_marked(self.marker, grace=1.0)
        if self._guard is not None and self._guard.stdin is not None:
            self._guard.stdin.close()
            self._guard.wait()

    def _tell(self, child: _Child, kind: str, text: str) -> None:
        # whoever listens must not keep processes from being looked after, or from being ended
        with contextlib.suppress(Exception):
            self._on_event(ProcessEvent(child.spec.name, kind, text))


class LogFollower:
    """Reads what has been added to log files since the last look."""

    def __init__(self, logs: Mapping[str, Path]) -> None:
        self._logs = dict(logs)
        self._files: dict[str, IO[str]] = {}
        self._rest: dict[str, str] = {}

    def new_lines(self) -> list[tuple[str, str]]:
        """Return (name, line) for every complete line that is new."""
        lines = []
        for name, path in self._logs.items():
            if name not in self._files:
                if not path.exists():
                    continue
                self._files[name] = open(path, encoding="utf-8", errors="replace")  # noqa: SIM115 - kept open to follow
            text = self._rest.get(name, "") + self._files[name].read()
            *complete, self._rest[name] = text.split("\n")
            lines += [(name, line) for line in complete]
        return lines

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()
        self._files.clear()


def _end_group(children: Sequence[_Child]) -> None:
    """End processes together: SIGINT, SIGTERM, SIGKILL, each after the grace of the one before."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        living = [child for child in children if child.process is not None and child.process.poll() is None]
        for child in living:
            assert child.process is not None
            process_guard.send_signal(child.process.pid, number)
        for child in living:
            assert child.process is not None
            try:
                child.process.wait(None if number == signal.SIGKILL else child.spec.grace)
            except subprocess.TimeoutExpired:
                continue
    for child in children:
        if child.process is not None:
            _end_session(child.process.pid)


def _end_session(session: int) -> None:
    """Kill what a dead leader left in its process group."""
    try:
        os.killpg(session, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else "it said nothing"
