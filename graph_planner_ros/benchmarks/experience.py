"""Collects experience in the symbolic kitchen: MemPlan carries out made-up tasks, and each becomes an episode."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from graph_planner_ros.benchmarks.symbolic_kitchen import list_tasks, play_kitchen
from graph_planner_ros.benchmarks.worlds.recording import Recorder, origin_of
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.memory.experience import Episode
from graph_planner_ros.planning.engines import make_engine
from graph_planner_ros.planning.memplan import MemPlan


def collect_from_kitchens(
    domain: Domain,
    layouts: Sequence[str],
    seeds: Sequence[int],
    tasks: int,
    known: Collection[tuple[str, int | None]] = (),
) -> Iterator[Episode]:
    """Play ``tasks`` tasks in each kitchen, each with a new planner, and yield what was experienced.

    Args:
        known: origin and seed of episodes that are there already and are left out.

    Raises:
        EngineMissingError: no planning engine is installed. ValueError: there is no such layout.
    """
    engine = make_engine()
    for task in list_tasks(domain, MemPlan(domain, engine), layouts, seeds, tasks):
        if (origin_of(task.spec()), task.seed) in known:
            continue
        recorder = Recorder(domain, task.spec(), task.layout)
        play_kitchen(domain, MemPlan(domain, engine), task, recorder)
        assert recorder.episode is not None
        yield recorder.episode
