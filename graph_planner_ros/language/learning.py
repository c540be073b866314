"""Goals that become known while a game is played, such as those of a recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import goal_holds
from graph_planner_ros.domain.symbols import Goal, SymbolicState
from graph_planner_ros.language.interface import Context, GoalLearner


class LearnedGoals:
    """Finds the goals that texts bring, each once.

    Args:
        domain: of the goals. parser: reads them; one that is no `GoalLearner` finds none.

    Attributes:
        goals: all that were found so far.
    """

    def __init__(self, domain: Domain, parser: object) -> None:
        self._domain = domain
        self._parser = parser
        self.goals: list[Goal] = []

    def read(
        self, text: str, context: Callable[[], Context], state: Callable[[], SymbolicState]
    ) -> Iterator[tuple[list[Goal], bool]]:
        """Yield the new goals of an observation, and whether they come before all others; there may be none.

        What is yielded must be taken into the belief before the next is asked for.

        Args:
            text: the observation. context: what is known besides it. state: what is believed; an urgent goal that
                holds already is none.
        """
        if not isinstance(self._parser, GoalLearner):
            return
        for urgent in (False, True):
            found = self._parser.learned(text, context(), urgent)
            goals = [goal for goal in found if goal not in self.goals]
            if urgent and goals:
                now = state()
                goals = [goal for goal in goals if not goal_holds(goal, now, self._domain)]
            self.goals += goals
            yield goals, urgent
