"""Which episodes go when the bank is full; explained in docs/memory.md."""

from __future__ import annotations

import heapq
import sqlite3
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from graph_planner_ros.memory.experience import EpisodeStatus

FAILED_SHARE = 0.25
"""Failed episodes may fill this part of the limit before they go first: they show what seldom works."""
HEADROOM = 0.01
"""Part of the limit that is made free at once, so that a full bank does not have to choose at every step."""


@dataclass(frozen=True)
class Candidate:
    """An episode that may go: its number, status, task (instruction and layout) and number of steps."""

    number: int
    status: str
    task: tuple[str, str]
    steps: int


def choose(candidates: Iterable[Candidate], excess: int, limit: int) -> list[int]:
    """Return the numbers of the episodes that go, oldest first within each rule, until ``excess`` steps are free.

    1. Interrupted ones: nobody knows what would have come of them.
    2. Failed ones, as long as they have more than `FAILED_SHARE` of the limit.
    3. Of the task (same instruction, same layout) with the most episodes, its oldest one: so a task of which there is
       only one episode outlives the hundredth of another.

    Args:
        candidates: all episodes that are not running, oldest first. excess: steps to free. limit: of the bank.
    """
    rest = list(candidates)
    chosen: list[int] = []
    for candidate in _in_order(rest, limit):
        if excess <= 0:
            break
        chosen.append(candidate.number)
        excess -= candidate.steps
    return chosen


def _in_order(candidates: list[Candidate], limit: int) -> Iterator[Candidate]:
    interrupted = [c for c in candidates if c.status == EpisodeStatus.INTERRUPTED.value]
    failed = deque(c for c in candidates if c.status == EpisodeStatus.FAILED.value)
    yield from interrupted
    gone = {c.number for c in interrupted}
    failed_steps = sum(c.steps for c in failed)
    while failed and failed_steps > FAILED_SHARE * limit:
        failed_steps -= failed[0].steps
        gone.add(failed[0].number)
        yield failed.popleft()
    yield from _most_frequent_first(c for c in candidates if c.number not in gone)


def _most_frequent_first(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    tasks: dict[tuple[str, str], deque[Candidate]] = defaultdict(deque)
    for candidate in candidates:
        tasks[candidate.task].append(candidate)
    # between tasks with as many episodes: the one whose oldest episode came first
    order = {number: position for position, number in enumerate(queue[0].number for queue in tasks.values())}
    heap = [(-len(queue), order[queue[0].number], task) for task, queue in tasks.items()]
    heapq.heapify(heap)
    while heap:
        size, position, task = heapq.heappop(heap)
        yield tasks[task].popleft()
        if size + 1 < 0:
            heapq.heappush(heap, (size + 1, position, task))


def too_many(connection: sqlite3.Connection, limit: int, coming: int, keep: int | None = None) -> list[int]:
    """Return which episodes have to go so that ``coming`` steps find room; empty if there is room.

    Args:
        limit: of the bank, in steps. keep: number of an episode that must stay.
    """
    steps = connection.execute("SELECT steps FROM total").fetchone()[0]
    if steps + coming <= limit:
        return []
    rows = connection.execute(
        "SELECT number, status, instruction, layout, steps FROM episode WHERE status != ? ORDER BY started, number",
        (EpisodeStatus.RUNNING.value,),
    )
    candidates = [Candidate(row[0], row[1], (row[2], row[3]), row[4]) for row in rows if row[0] != keep]
    return choose(candidates, steps + coming - limit + int(HEADROOM * limit), limit)
