"""Work on a thread of its own that is left alone when nobody wants it any more."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable

from graph_planner_ros.language.models.messages import Reply, ReplyStatus

_LOOK = 0.02
"""Seconds between looks at the caller's cancel event."""
_GRACE = 0.25
"""Seconds that a worker has to notice by itself that its time is up, and to hand over what came until then."""


class OutOfTimeError(Exception):
    """The time for a try is up."""


class AbandonedError(Exception):
    """Nobody waits for the answer any more."""


class Job:
    """One question that a worker answers: until when, and whether anybody still waits.

    Attributes:
        started, deadline: of the monotonic clock, seconds. retries: how often it was tried again.
    """

    def __init__(self, timeout: float) -> None:
        self.started = time.monotonic()
        self.deadline = self.started + timeout
        self.timeout = timeout
        self.retries = 0
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._closers: list[Callable[[], None]] = []

    @property
    def remaining(self) -> float:
        """Return the seconds that are left, at least 0."""
        return max(0.0, self.deadline - time.monotonic())

    @property
    def abandoned(self) -> bool:
        """Return whether nobody waits any more."""
        return self._stop.is_set()

    def pause(self, seconds: float) -> None:
        """Wait, but not longer than somebody waits for the answer."""
        self._stop.wait(seconds)

    def on_abandoned(self, close: Callable[[], None]) -> None:
        """Have something closed when the job is abandoned; at once if it is already."""
        with self._lock:
            self._closers.append(close)
            late = self._stop.is_set()
        if late:
            _close(close)

    def abandon(self) -> None:
        """Tell the worker that nobody waits, and close what it waits for."""
        with self._lock:
            self._stop.set()
            closers = list(self._closers)
        for close in closers:
            _close(close)

    def check(self, deadline: float = math.inf) -> None:
        """Raise if the worker is to end.

        Raises:
            AbandonedError: nobody waits. OutOfTimeError: the job's deadline, or this one, is over.
        """
        if self._stop.is_set():
            raise AbandonedError
        if time.monotonic() >= min(self.deadline, deadline):
            raise OutOfTimeError


def run_job(work: Callable[[Job], Reply], who: str, name: str, timeout: float, cancel: threading.Event | None) -> Reply:
    """Have ``work`` done by a thread and return its reply, or one that says why there is none.

    Args:
        who: the backend in words, for reasons. name: of the model. timeout: seconds. cancel: ends it at once.
    """
    job = Job(timeout)
    done = threading.Event()
    found: list[Reply] = []

    def do_it() -> None:
        try:
            found.append(work(job))
        except Exception as error:  # a library's own fault must not leave the caller without an answer
            reason = f"{who} failed: {type(error).__name__}"
            found.append(Reply(ReplyStatus.UNREACHABLE, reason=reason, model=name))
        finally:
            done.set()

    if cancel is not None and cancel.is_set():
        return _cancelled(job, name)
    threading.Thread(target=do_it, name=f"ask {name}", daemon=True).start()
    while not done.wait(_LOOK):
        if cancel is not None and cancel.is_set():
            job.abandon()
            return _cancelled(job, name)
        if time.monotonic() > job.deadline + _GRACE:
            job.abandon()
            return Reply(
                ReplyStatus.TIMED_OUT, reason=f"{who} did not answer within {timeout:g} s", latency=_since(job),
                model=name, retries=job.retries,
            )  # fmt: skip
    return found[0]


def _cancelled(job: Job, name: str) -> Reply:
    return Reply(ReplyStatus.CANCELLED, reason="cancelled", latency=_since(job), model=name, retries=job.retries)


def _since(job: Job) -> float:
    return time.monotonic() - job.started


def _close(close: Callable[[], None]) -> None:
    with contextlib.suppress(Exception):  # it may be closed already, by the other thread
        close()
