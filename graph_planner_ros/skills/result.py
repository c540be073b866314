"""What came of a skill: shared by bridges, the executor and the planner."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class SkillStatus(enum.Enum):
    """Outcome of a skill; the numbers are those of the action ``ExecuteSkill``."""

    SUCCEEDED = 0
    PRECONDITION_FAILED = 1
    EXECUTION_FAILED = 2
    POSTCONDITION_FAILED = 3
    CANCELLED = 4
    UNKNOWN_SKILL = 5
    SERVER_LOST = 6


@dataclass(frozen=True)
class SkillResult:
    """Outcome of a skill.

    Attributes:
        code: machine-readable cause, empty on success: ``collision``, ``not_reachable``, ``occluded``,
            ``grasp_failed``, ``door_stuck``, ``object_not_found``, ``slipped``, ``no_free_space``, ``timeout``.
        reason: a sentence.
        recoverable: trying again, perhaps after another look, may help.
    """

    status: SkillStatus
    code: str = ""
    reason: str = ""
    recoverable: bool = False
    skills: tuple[str, ...] = ()

    @property
    def succeeded(self) -> bool:
        """True if the skill did what it is for."""
        return self.status is SkillStatus.SUCCEEDED
