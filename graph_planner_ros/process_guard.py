"""Sees to it that no process outlives the one that started it. Uses the standard library only and starts in 20 ms.

Two ways to be called, both by `supervisor`:

- ``process_guard.py run <parent pid> <command...>`` becomes the command, which gets SIGTERM when its parent dies,
  however the parent dies.
- ``process_guard.py watch <marker>`` waits until standard input is closed, that is until the supervisor is gone. Then
  it ends every process that carries the marker in its environment: SIGTERM, and SIGKILL after ``GRACE`` seconds.
  Descendants that made their own sessions are found as well.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time

MARKER = "GRAPH_PLANNER_RUN"
"""Environment variable that all processes of one run share."""
GRACE = 6.0
"""Seconds that processes get to end by themselves after their supervisor died."""

PR_SET_PDEATHSIG = 1


def marked_processes(marker: str) -> list[int]:
    """Return the ids of all living processes with ``marker`` in their environment, the caller apart."""
    wanted = f"{MARKER}={marker}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(int(entry))
        except OSError:
            continue  # it ended meanwhile, or belongs to someone else
    return found


def send_signal(pid: int, number: int) -> None:
    """Send a signal to a process that may be gone already."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def end_marked(marker: str, grace: float) -> int:
    """End all processes with ``marker``: SIGTERM, then SIGKILL after ``grace`` seconds. Return how many there were."""
    pids = marked_processes(marker)
    count = len(pids)
    for pid in pids:
        send_signal(pid, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while pids:
        if time.monotonic() >= deadline:
            for pid in pids:
                send_signal(pid, signal.SIGKILL)
        time.sleep(0.05)
        pids = marked_processes(marker)
    return count


def run(parent: int, command: list[str]) -> None:
    """Become ``command``, bound to the life of ``parent``."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0:
        print("process_guard: the system cannot bind a process to its parent", file=sys.stderr)
    if os.getppid() != parent:
        sys.exit(0)  # the parent died before the binding
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"cannot start {command[0]}: {error.strerror}", file=sys.stderr)
        sys.exit(127)


def watch(marker: str) -> None:
    """Wait for the end of standard input, then end what is left of the run."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while os.read(0, 4096):
        pass
    end_marked(marker, GRACE)


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(int(sys.argv[2]), sys.argv[3:])
    else:
        watch(sys.argv[2])
