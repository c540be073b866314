"""Trying again: after what may pass, not more often than is wanted, and when the endpoint says so."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime

from graph_planner_ros.language.models.messages import Reply
from graph_planner_ros.language.models.running import Job

FIRST_PAUSE = 0.5
"""Seconds before the second try; doubled for each further one, with up to half of it left out by chance."""
LONGEST_PAUSE = 8.0


@dataclass(frozen=True)
class Attempt:
    """What came of one try.

    Attributes:
        passing: whether another try may do better. pause: seconds to wait first, as the endpoint asks; None: not said.
    """

    reply: Reply
    passing: bool = False
    pause: float | None = None


def with_retries(attempt: Callable[[], Attempt], retries: int, job: Job) -> Reply:
    """Try until there is a reply that another try would not better, tries are used up, or time is.

    Returns:
        The last reply, with the number of retries, and a reason that says when there was no time for another one.
    """
    for number in range(retries + 1):
        job.retries = number
        made = attempt()
        reply = replace(made.reply, retries=number, latency=time.monotonic() - job.started)
        if not made.passing or number == retries or job.abandoned:
            return reply
        pause = made.pause if made.pause is not None else backoff(number)
        if pause >= job.remaining:
            return replace(reply, reason=f"{reply.reason}; {_no_time(made, job)}" if job.remaining else reply.reason)
        job.pause(pause)
    raise AssertionError("unreachable: the last try returns")


def _no_time(made: Attempt, job: Job) -> str:
    left = f"{job.remaining:.3g} s are left"
    return f"it asks to wait {made.pause:.3g} s and {left}" if made.pause is not None else f"only {left}"


def backoff(number: int) -> float:
    """Return the seconds to wait after try ``number`` (from 0)."""
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2**number)
    return longest * random.uniform(0.5, 1.0)


def asked_pause(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a response asks to wait (``Retry-After`` in seconds or as a date, or in ms)."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if not text:
            continue
        seconds = _seconds(text, unit)
        if seconds is not None:
            return seconds
    return None


def _seconds(text: str, unit: float) -> float | None:
    try:
        number = float(text) * unit
        return max(0.0, number) if math.isfinite(number) else None
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
