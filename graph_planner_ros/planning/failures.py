"""Which actions failed, how often in a row, and which are therefore not tried any more."""

from __future__ import annotations

from dataclasses import dataclass, field

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.domain.wording import describe_action
from graph_planner_ros.planning.problem import ANY
from graph_planner_ros.planning.result import TaskStatus
from graph_planner_ros.skills.result import SkillResult, SkillStatus

_STATUS = {
    SkillStatus.PRECONDITION_FAILED: TaskStatus.PRECONDITION_FAILED,
    SkillStatus.POSTCONDITION_FAILED: TaskStatus.POSTCONDITION_FAILED,
    SkillStatus.CANCELLED: TaskStatus.CANCELLED,
    SkillStatus.SERVER_LOST: TaskStatus.NODE_LOST,
}


def failed_task_status(result: SkillResult) -> TaskStatus:
    """Return the status of a task that failed because of a skill."""
    return _STATUS.get(result.status, TaskStatus.EXECUTION_FAILED)


@dataclass
class FailureLog:
    """Counts failures of a task's actions.

    Attributes:
        limit: failures in a row after which an action is excluded.
        excluded: actions that must not be planned any more; arguments may be wildcards.
    """

    domain: Domain
    limit: int
    excluded: tuple[GroundAction, ...] = ()
    _counts: dict[GroundAction, int] = field(default_factory=dict)
    _last: tuple[GroundAction, SkillResult, int] | None = None

    def succeeded(self, action: GroundAction) -> None:
        """Forget the failures of an action that has succeeded."""
        self._counts.pop(self._pattern(action), None)

    def failed(self, action: GroundAction, result: SkillResult) -> None:
        """Count a failure; exclude the action when there are too many, or at once if no skill can do it."""
        pattern = self._pattern(action)
        if result.status is SkillStatus.UNKNOWN_SKILL:
            pattern = GroundAction(action.name, (ANY,) * len(action.arguments))
        count = self._counts.get(pattern, 0) + 1
        self._counts[pattern] = count
        hopeless = result.status is SkillStatus.UNKNOWN_SKILL
        if (hopeless or count >= self.limit) and pattern not in self.excluded:
            self.excluded = (*self.excluded, pattern)
        self._last = (action, result, count)

    def cause(self) -> str:
        """Return the last failure as a sentence without a full stop, or an empty text."""
        if self._last is None:
            return ""
        action, result, count = self._last
        times = "once" if count == 1 else f"{count} times"
        why = result.reason.rstrip(".") or result.code or result.status.name.lower()
        text = f"{describe_action(self.domain, action)} failed {times} ({why})"
        if result.status is SkillStatus.UNKNOWN_SKILL and result.skills:
            text += f"; the robot's skills are: {', '.join(result.skills)}"
        return text

    def status(self) -> TaskStatus:
        """Return the task's status if it fails because of the last failure."""
        return failed_task_status(self._last[1]) if self._last is not None else TaskStatus.EXECUTION_FAILED

    def _pattern(self, action: GroundAction) -> GroundAction:
        """Return an action with a wildcard for where the robot comes from: that is not what failed."""
        schema = self.domain.action(action.name)
        origins = {
            literal.arguments[0]
            for literal in schema.preconditions
            if literal.positive
            and literal.predicate == self.domain.location
            and len(literal.arguments) == 1
            and any(
                term.predicate == literal.predicate and term.arguments == literal.arguments for term in schema.deleted
            )
        }
        return GroundAction(
            action.name,
            tuple(
                ANY if parameter.name in origins else value
                for parameter, value in zip(schema.parameters, action.arguments, strict=True)
            ),
        )
