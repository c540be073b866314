"""How a planned action becomes commands of a text world, and how what the world answers decides what came of it.

The agent of the benchmarks and the ROS bridge act by this one piece of code. Observations are taken in by who says the
commands (`Voice`), so that the belief is up to date whenever a method of `Voice.say` returns.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Protocol

from graph_planner_ros.benchmarks.worlds.believing import TextBelief
from graph_planner_ros.benchmarks.worlds.records import ACT, OBSERVE
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.language.interface import Grounding, ParsedObservation


class Ending(enum.Enum):
    """What came of an action. ``PROGRESS``: the first of the steps that it is made of was done, and there are more."""

    DONE = "done"
    PROGRESS = "progress"
    FAILED = "failed"
    STOPPED = "stopped"
    """The game ended, or it was said that no more commands are to be given."""


@dataclass(frozen=True)
class Outcome:
    """What came of an action, with a sentence if it failed.

    Attributes:
        refused: whether the world itself said that its command had no effect.
    """

    ending: Ending
    reason: str = ""
    refused: bool = False


class Voice(Protocol):
    """Between the hands and the game: says commands, reads and believes the answers, and keeps records."""

    def ground(self, action: GroundAction) -> Grounding:
        """Choose the command for an action."""

    def observe(self) -> Grounding:
        """Choose a command that only looks."""

    def say(self, command: str, kind: str, action: GroundAction | None = None) -> ParsedObservation:
        """Give a command, take in its answer, and what ``action`` changes if it was accepted."""

    def running(self) -> bool:
        """Return whether more commands may be given."""

    def acting(self, action: GroundAction, score: float, silent: bool) -> None:
        """Hear that an action is about to be carried out; ``silent``: without a command."""

    def acted(self, succeeded: bool) -> None:
        """Hear that it was."""

    def because(self, reason: str) -> None:
        """Hear why the next command only looks."""


class Hands:
    """Carries out symbolic actions.

    Args:
        belief: what the voice writes. voice: gives the commands.

    Attributes:
        silent: actions that were counted as done without a command since the last one; who says a command clears it.
    """

    def __init__(self, belief: TextBelief, voice: Voice) -> None:
        self._belief = belief
        self._voice = voice
        self.silent: set[GroundAction] = set()

    def carry_out(self, action: GroundAction) -> Outcome:
        """Carry out an action, or the first of the steps that it is made of here."""
        first = self._belief.next_step(action)
        grounding = self._voice.ground(first)
        if grounding.command == "":
            return self._silently(action)
        if grounding.command is None:
            return self._look_instead(action, f"no command for {action}: {grounding.reason}")
        self._voice.acting(first, grounding.score, False)
        parsed = self._voice.say(grounding.command, ACT, first)
        self._voice.acted(parsed.understood and not parsed.failed)
        if parsed.failed:
            return Outcome(Ending.FAILED, parsed.reason, refused=True)
        if not self._voice.running():
            return Outcome(Ending.STOPPED)
        if not parsed.understood:
            return self._look_instead(action, "the answer was not understood")
        on_the_way = first != action and not self._belief.shows(action)
        return Outcome(Ending.PROGRESS if on_the_way else Ending.DONE)

    def _silently(self, action: GroundAction) -> Outcome:
        """Count an action that needs no command as done if the belief shows it; else look."""
        if not self._belief.shows(action) or action in self.silent:
            return self._look_instead(action, f"the world does not show {action}")
        self.silent.add(action)
        self._voice.acting(action, 1.0, True)
        self._belief.apply(action)
        self._voice.acted(True)
        return Outcome(Ending.DONE)

    def _look_instead(self, action: GroundAction, why: str) -> Outcome:
        """Give a command that only looks, and judge by the belief whether the action is done."""
        grounding = self._voice.observe()
        if not grounding.command:
            return Outcome(Ending.FAILED, why)
        self._voice.because(why)
        self._voice.say(grounding.command, OBSERVE)
        if not self._voice.running():
            return Outcome(Ending.STOPPED)
        done = self._belief.shows(action, all_effects=True)
        return Outcome(Ending.DONE) if done else Outcome(Ending.FAILED, why)
