"""Plans for domains in which things take time by themselves: in stages, then put in the order that wastes least."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction, SymbolicState
from graph_planner_ros.domain.wording import describe_action
from graph_planner_ros.planning.engines.base import Engine
from graph_planner_ros.planning.result import PlannedStep, PlanningResult, PlanningStatus
from graph_planner_ros.planning.scheduling import Scheduler
from graph_planner_ros.planning.sparing import count_spoiling
from graph_planner_ros.planning.stages import StagePlanner
from graph_planner_ros.planning.verifier import verify

SPOILING_COST = 5.0
"""Actions that a plan may take more if it does not get rid of things in what the goal asks for (bread in the soup)."""


def plan_in_time(
    domain: Domain,
    engine: Engine,
    state: SymbolicState,
    goal: Goal,
    deadline: float,
    *,
    cancel: threading.Event | None = None,
    excluded: Iterable[GroundAction] = (),
    remaining: Mapping[Atom, int] | None = None,
) -> PlanningResult:
    """Return a plan whose steps' costs are the actions that they take, waiting included.

    Args:
        state: with the markers of what goes on and with the things that wait to be made, see `delays`.
        deadline: of ``time.monotonic``. excluded: actions that must not be planned.
        remaining: marker -> actions until the end of its process.
    """
    found = StagePlanner(domain, engine).plan(state, goal, deadline, cancel, excluded)
    if found.status is not PlanningStatus.SOLVED or found.goal is None:
        return PlanningResult(found.status, found.reason, engine=engine.name, by_clock=found.by_clock)
    scheduled: list[tuple[float, list[tuple[GroundAction, int]]]] = []
    for actions, chosen in ((found.actions, found.goal), *found.others):
        times = Scheduler(domain, state, chosen, remaining or {}).improve(list(actions))
        if times is not None and verify(domain, state, goal, [action for action, _ in times]).valid:
            spoiling = count_spoiling(domain, state, chosen, (action for action, _ in times))
            scheduled.append((sum(cost for _, cost in times) + SPOILING_COST * spoiling, times))
    if scheduled:
        _, written = min(scheduled, key=lambda item: item[0])
    else:
        # timing knows less than the verifier, so what it cannot judge is taken as it was found
        written = [(action, domain.repetitions.get(action.name, 1)) for action in found.actions]
    verification = verify(domain, state, goal, [action for action, _ in written])
    if not verification.valid:
        return PlanningResult(
            PlanningStatus.REFUSED,
            f"the plan of {engine.name} was refused by the verifier: {verification.reason}",
            engine=engine.name,
            by_clock=found.by_clock,
        )
    steps = tuple(PlannedStep(action, float(cost), describe_action(domain, action)) for action, cost in written)
    total = sum(step.cost for step in steps)
    return PlanningResult(
        PlanningStatus.SOLVED,
        f"{len(steps)} steps, {total:.0f} actions with waiting",
        steps,
        cost=total,
        engine=engine.name,
        by_clock=found.by_clock,
    )
