"""A world's engine in a process of its own: another Python environment, JSON lines, and nothing that can hang us."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from graph_planner_ros.benchmarks.worlds.game import WorldUnavailableError

_TAIL = 600
"""Characters of the engine's stderr that a reason quotes."""
_LONGEST_ANSWER = 64 * 1024 * 1024
_GRACE = 1.0


class EngineError(RuntimeError):
    """The engine died, hung, refused or answered nonsense; the message is a sentence that says which and why."""


class EngineProcess:
    """Starts a server script and exchanges JSON lines with it, see ``servers/channel.py`` for the other end.

    Whatever the engine does, a call ends: with an answer, or with an `EngineError` after which the process is gone.

    Args:
        python: interpreter of the engine's environment. script: the server script.
        arguments: of the script. environment: variables in addition to ours.
        timeout: seconds for one answer. start_timeout: seconds until the server is ready (imports take long).

    Raises:
        WorldUnavailableError: there is no such interpreter.
    """

    def __init__(
        self,
        python: str | Path,
        script: Path,
        *,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        timeout: float = 60.0,
        start_timeout: float = 120.0,
    ) -> None:
        self._timeout = timeout
        self._start_timeout = start_timeout
        self._buffer = b""
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._ready = False
        self._failure = ""
        self._killed = False
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        # wheels of ROS set a library path that is no business of the engine's environment
        variables.pop("LD_LIBRARY_PATH", None)
        variables.update({"PYTHONUNBUFFERED": "1", "PYTHONHASHSEED": "0", **(environment or {})})
        try:
            self._process = subprocess.Popen(
                [str(python), str(script), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=variables,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            self._log.close()
            raise WorldUnavailableError(f"the engine cannot be started with {python}: {error.strerror}") from error

    @property
    def pid(self) -> int:
        """Process id, which is also that of its group."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process runs and has not failed."""
        return not self._failure and self._process.poll() is None

    def call(self, do: str, timeout: float | None = None, **arguments: Any) -> dict[str, Any]:
        """Ask the server for something and return its answer.

        Args:
            do: what, see the server script. timeout: seconds; the process's own if left out.
            arguments: plain values.

        Raises:
            EngineError: the process is gone then, unless the server itself answered with an error.
        """
        if self._failure:
            raise EngineError(self._failure)
        self.wait_ready()
        self._send({"do": do, **arguments})
        answer = self._receive(do, time.monotonic() + (timeout or self._timeout), timeout or self._timeout)
        if "error" in answer:
            raise EngineError(f"the engine could not {do}: {answer['error']}")
        return answer

    def wait_ready(self) -> None:
        """Wait until the server has imported its engine.

        Raises:
            EngineError: it never was.
        """
        if self._ready:
            return
        answer = self._receive("start", time.monotonic() + self._start_timeout, self._start_timeout)
        if not answer.get("ready"):
            raise self._fail(f"the engine could not start: {answer.get('error', answer)}")
        self._ready = True

    def close(self) -> None:
        """End the process with its whole group; may be called twice."""
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        if not self._failure and self._process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE)
        self._kill()
        if not self._failure:
            self._failure = "the engine was closed"
        if not self._log.closed:
            self._log.close()

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # ---- the pipe

    def _send(self, request: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        line = memoryview((json.dumps(request) + "\n").encode())
        deadline = time.monotonic() + self._timeout
        descriptor = self._process.stdin.fileno()
        try:
            while line:
                # not more than what fits: a server that does not read must not block us
                if not select.select([], [descriptor], [], max(0.0, deadline - time.monotonic()))[1]:
                    raise self._fail(f"the engine took no request for {self._timeout:g} s")
                line = line[os.write(descriptor, line[: select.PIPE_BUF]) :]
        except OSError as error:
            raise self._fail(f"the engine is gone ({self._ended() or error.strerror})") from error

    def _receive(self, do: str, deadline: float, seconds: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        start = 0
        while (end := self._buffer.find(b"\n", start)) < 0:
            start = len(self._buffer)
            if start > _LONGEST_ANSWER:
                raise self._fail(f"the engine's answer to {do} is longer than {_LONGEST_ANSWER} bytes")
            left = deadline - time.monotonic()
            if left <= 0.0 or not select.select([descriptor], [], [], left)[0]:
                raise self._fail(f"the engine did not answer {do} within {seconds:g} s")
            data = os.read(descriptor, 1 << 16)
            if not data:
                raise self._fail(f"the engine died during {do} ({self._ended()})")
            self._buffer += data
        line, self._buffer = self._buffer[:end], self._buffer[end + 1 :]
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise self._fail(f"the engine answered {do} with what is no JSON object: {line[:80]!r}")
        return answer

    # ---- the end

    def _fail(self, reason: str) -> EngineError:
        self._kill()
        tail = self._stderr()
        self._failure = f"{reason}; its last words: {tail}" if tail else reason
        return EngineError(self._failure)

    def _ended(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
        code = self._process.poll()
        if code is None:
            return "it closed its output"
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def _stderr(self) -> str:
        if self._log.closed:
            return ""
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - 4 * _TAIL))
        return " | ".join(self._log.read().decode(errors="replace").split("\n"))[-_TAIL:].strip(" |")

    def _kill(self) -> None:
        if self._killed:
            return  # the number of the group may be another's by now
        self._killed = True
        # the group outlives its leader if the engine has started processes of its own
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5.0)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
