"""What a text world adds to a task: goals that its texts bring, and its own word on how the game stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Goal
from graph_planner_ros.language.interface import Context, ObservationParser
from graph_planner_ros.language.learning import LearnedGoals
from graph_planner_ros.nodes.world_texts import GameView, WorldText
from graph_planner_ros.planning.result import TaskStatus
from graph_planner_ros.planning.session import Decision, DecisionKind, TaskSession
from graph_planner_ros.scene.belief import robot_location
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import SceneGraph
from graph_planner_ros.scene.told import introduce


class GameSource(Protocol):
    """Where the words of the world come from; see `WorldTexts`."""

    view: GameView

    def since(self, count: int) -> Sequence[WorldText]:
        """Return the texts of the game but the first ``count``."""


class WorldTask:
    """One task in a text world; used on the task's thread.

    Args:
        domain: of the world. parser: of its texts. source: gives them. instruction: in the world's words.
    """

    def __init__(self, domain: Domain, parser: ObservationParser, source: GameSource, instruction: str) -> None:
        self._domain = domain
        self._source = source
        self._instruction = instruction
        self._learned = LearnedGoals(domain, parser)
        self._goals: list[Goal] = []
        self._read = 0

    def own(self) -> str:
        """Return the goal of the game that is played; empty while nobody has said it."""
        return self._source.view.goal

    def take(self, instruction: str) -> None:
        """Take another instruction than at first."""
        self._instruction = instruction

    def goals(self, goals: Sequence[Goal], graph: SceneGraph) -> tuple[Goal, ...]:
        """Return the goals of the instruction with those that were learned in the game so far."""
        self._goals += goals
        self._learn(graph, lambda found, urgent: None)
        return (*goals, *self._learned.goals)

    def supplement(self, graph: SceneGraph) -> SceneGraph:
        """Return the belief with the things that goals name and nobody has seen."""
        missing = any(
            v.instance is not None and v.instance not in graph.nodes for g in self._goals for v in g.variables
        )
        if not missing:
            return graph
        more = replace(graph, nodes=dict(graph.nodes))
        introduce(more, self._goals)
        return more

    def learn(self, session: TaskSession, graph: SceneGraph) -> SceneGraph:
        """Take over what the texts since the last time ask for; return the belief with what these goals name."""
        self._learn(graph, session.extend)
        return self.supplement(graph)

    def judge(self, decision: Decision) -> Decision:
        """Return the decision as it is when the world's own word on the game counts as well.

        A game that is won ends a task with the game's own goal. While the world does not say that it is won, that goal
        is not reached, whatever is believed. A game that is over ends every other task that is not done.
        """
        view = self._source.view
        own = self._is_own()
        done = decision.kind is DecisionKind.DONE
        if own and view.won:
            return replace(
                decision,
                kind=DecisionKind.DONE,
                status=TaskStatus.SUCCEEDED,
                reason="the world says that the game is won",
            )
        if view.over and not done:
            why = "the game is won" if view.won else view.reason
            return _failed(decision, f"the game is over: {why}")
        if own and done:
            why = f": {view.reason}" if view.reason else ""
            return _failed(decision, f"the goal is believed to be reached, and the world does not say so{why}")
        return decision

    def _is_own(self) -> bool:
        """Return whether the instruction is the game's own goal."""
        return self._instruction.split() == self._source.view.goal.split()

    def _learn(self, graph: SceneGraph, take: Callable[[Sequence[Goal], bool], None]) -> None:
        if not self._is_own():
            return  # what the game's texts ask for is part of its own goal, and of no other
        for item in self._source.since(self._read):
            self._read += 1
            now = replace(graph, nodes=dict(graph.nodes))

            def context(item: WorldText = item, now: SceneGraph = now) -> Context:
                objects = {name: node.label for name, node in now.nodes.items()}
                return Context(objects, robot_location(now, self._domain), "", item.commands, self._instruction)

            for goals, urgent in self._learned.read(
                item.text,
                context,
                lambda now=now: symbolic_state(now, self._domain),  # type: ignore[misc]
            ):
                introduce(now, goals)
                self._goals += goals
                if goals:
                    take(goals, urgent)


def _failed(decision: Decision, reason: str) -> Decision:
    return replace(decision, kind=DecisionKind.FAILED, status=TaskStatus.EXECUTION_FAILED, reason=reason)
