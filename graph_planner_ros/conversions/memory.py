"""Goals and what memory says: messages and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from graph_planner_ros import msg as messages
from graph_planner_ros.conversions.geometry import header
from graph_planner_ros.conversions.plans import step_from_msg, step_to_msg
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable, GroundAction
from graph_planner_ros.domain.wording import describe_action
from graph_planner_ros.memory.bank_reports import BankStats
from graph_planner_ros.memory.experience import EpisodeStatus
from graph_planner_ros.memory.retrieval import RetrievedAction
from graph_planner_ros.memory.state_graph import Loop, StateGraph
from graph_planner_ros.planning.result import PlannedStep

Places = Mapping[str, Mapping[str, float]]
"""Class of things -> place -> relevance 0..1."""


def goal_to_msg(goal: Goal) -> messages.TaskGoal:
    """Goal."""
    return messages.TaskGoal(
        variables=[
            messages.GoalVariable(
                name=variable.name,
                type_name=variable.type_name,
                class_name=variable.class_name or "",
                instance=variable.instance or "",
            )
            for variable in goal.variables
        ],
        literals=[
            messages.GoalLiteral(
                predicate=literal.predicate, arguments=list(literal.arguments), positive=literal.positive
            )
            for literal in goal.literals
        ],
        distinct=[messages.DistinctVariables(names=list(group)) for group in goal.distinct],
        text=goal.text,
        optional=goal.optional,
    )


def goal_from_msg(message: messages.TaskGoal) -> Goal:
    """Goal; whether the domain can speak of it, `domain.goal.check_goal` says."""
    return Goal(
        tuple(
            GoalVariable(item.name, item.type_name, item.class_name or None, item.instance or None)
            for item in message.variables
        ),
        tuple(GoalLiteral(item.predicate, tuple(item.arguments), item.positive) for item in message.literals),
        tuple(tuple(group.names) for group in message.distinct),
        message.text,
        message.optional,
    )


def advice_to_msg(
    domain: Domain,
    actions: Sequence[RetrievedAction],
    places: Places,
    loop: Loop | None,
    *,
    stamp: float,
    task_id: str = "",
) -> messages.MemoryAdvice:
    """What memory says; ``stamp`` [s, ROS time] of the scene that was looked up."""
    return messages.MemoryAdvice(
        header=header(stamp),
        task_id=task_id,
        actions=[_remembered_to_msg(domain, item) for item in actions],
        places=[
            messages.PlaceAdvice(label=label, place=place, relevance=min(max(float(value), 0.0), 1.0))
            for label, values in places.items()
            for place, value in values.items()
        ],
        loop=loop is not None,
        cycle=[str(action) for action in loop.actions] if loop is not None else [],
    )


def _remembered_to_msg(domain: Domain, item: RetrievedAction) -> messages.RememberedAction:
    return messages.RememberedAction(
        action=_subtask(domain, item.action),
        following=[_subtask(domain, action) for action in item.following],
        distance=float(item.distance),
        agreement=float(item.agreement),
        success_rate=float(item.success_rate),
        age=float(item.age),
        origin=item.origin,
        episode_id=item.episode_id,
        index=item.index,
    )


def _subtask(domain: Domain, action: GroundAction) -> messages.Subtask:
    return step_to_msg(PlannedStep(action, 0.0, describe_action(domain, action)))


def remembered_from_msg(message: messages.RememberedAction) -> RetrievedAction:
    """A remembered action; how things correspond is not sent."""
    return RetrievedAction(
        step_from_msg(message.action).action,
        tuple(step_from_msg(subtask).action for subtask in message.following),
        message.distance,
        message.age,
        message.origin,
        message.episode_id,
        message.index,
        {},
        message.success_rate,
        message.agreement,
    )


def places_from_msg(advice: Iterable[messages.PlaceAdvice]) -> dict[str, dict[str, float]]:
    """Class of things -> place -> relevance."""
    places: dict[str, dict[str, float]] = {}
    for item in advice:
        places.setdefault(item.label, {})[item.place] = item.relevance
    return places


def state_graph_to_msg(graph: StateGraph, *, stamp: float, task_id: str) -> messages.StateTransitionGraph:
    """The running episode."""
    return messages.StateTransitionGraph(
        header=header(stamp),
        task_id=task_id,
        nodes=len(graph.nodes),
        current=graph.current.index if graph.current is not None else -1,
        transitions=[
            messages.StateTransition(source=edge.source, target=edge.target, action=str(edge.action))
            for edge in graph.edges
        ],
    )


def statistics_to_msg(stats: BankStats, *, stamp: float, bank: str) -> messages.MemoryStatistics:
    """What a bank holds."""
    return messages.MemoryStatistics(
        header=header(stamp),
        bank=bank,
        domain=stats.domain,
        model=stats.model_hash,
        dimension=stats.dimension,
        episodes=sum(stats.episodes.values()),
        succeeded=stats.episodes.get(EpisodeStatus.SUCCEEDED.value, 0),
        steps=stats.steps,
        bytes=stats.bytes,
        index=stats.index_kind,
    )
