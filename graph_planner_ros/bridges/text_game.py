"""One game of a text world as a robot sees it: skills become commands, answers become a scene graph. No ROS here.

What is believed comes from the language interface alone: facts that were read and checked against the domain, and the
effects of commands that the world accepted. Nothing of the game's true state ever gets here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from graph_planner_ros.benchmarks.worlds.believing import TextBelief
from graph_planner_ros.benchmarks.worlds.game import Game, GameSpec, GameStatus, Observation
from graph_planner_ros.benchmarks.worlds.hands import Ending, Hands
from graph_planner_ros.bridges.text_actions import actions_of, skills_of
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.language.interface import Context, Grounding, ParsedObservation
from graph_planner_ros.language.rules import Language
from graph_planner_ros.scene.graph import SceneGraph
from graph_planner_ros.skills.result import SkillResult, SkillStatus

GAME_OVER = "game_over"
NO_COMMAND = "no_command"
REFUSED = "refused_by_the_world"
BAD_ARGUMENTS = "bad_arguments"
"""Codes of skills that failed: the game has ended; no admissible command, and a look shows that it is not done; the
world says that the command had no effect; no action of the domain is called so with such things."""


@dataclass(frozen=True)
class Told:
    """What a world said, and what is believed then.

    Attributes:
        spec: of the game. step: commands given so far. command: that this answers; empty at the start.
        observation: the world's words. graph: the belief; it changes with the next command.
    """

    spec: GameSpec
    step: int
    command: str
    observation: Observation
    graph: SceneGraph


class TextGame:
    """Plays one game by skills.

    Args:
        language: between the world's words and the domain. game: is closed by `close`. spec: of the game; after
            ``spec.limit`` commands it counts as lost.
        clock: time [s] of the belief. tell: hears of every observation, on the caller's thread.
    """

    def __init__(
        self,
        language: Language,
        game: Game,
        spec: GameSpec,
        clock: Callable[[], float],
        tell: Callable[[Told], None],
    ) -> None:
        self.spec = spec
        self.observation = Observation("")
        self.step = 0
        self.stopped = False
        self.belief = TextBelief(language.domain, clock)
        self._language = language
        self._game = game
        self._tell = tell
        self._hands = Hands(self.belief, self)

    # ---- for the bridge

    def begin(self) -> str:
        """Start the game; return why that is impossible, or an empty text.

        Raises:
            WorldUnavailableError: the world is not installed.
        """
        observation = self._game.reset()
        if observation.status is GameStatus.CRASHED:
            return observation.reason
        self._take_in(observation)
        self.belief.introduce(self._language.parser.goals(observation.goal, self._context()))
        self._publish("")
        return ""

    def close(self) -> None:
        """End the engine; may be called twice."""
        self._game.close()

    @property
    def over(self) -> str:
        """Why no more commands can be given; empty while the game runs."""
        observation = self.observation
        if observation.status is GameStatus.RUNNING:
            return ""
        return "the game is won" if observation.status is GameStatus.WON else f"the game is over: {observation.reason}"

    def carry_out(self, skill: str, arguments: Sequence[str]) -> SkillResult:
        """Carry out a skill on things, by their names.

        A long way is taken one step at a time: the skill succeeds with its first step, and is asked for again.
        """
        if self.over:
            return SkillResult(SkillStatus.PRECONDITION_FAILED, GAME_OVER, self.over)
        domain = self._language.domain
        if skill not in skills_of(domain):
            known = skills_of(domain)
            reason = f"this world has no skill '{skill}'; it has: {', '.join(known)}"
            return SkillResult(SkillStatus.UNKNOWN_SKILL, "unknown_skill", reason, skills=known)
        actions = actions_of(domain, self.belief.state(), skill, arguments)
        if not actions:
            reason = f"no action of the domain {domain.name} is a {skill} of {', '.join(arguments) or 'nothing'}"
            return SkillResult(SkillStatus.PRECONDITION_FAILED, BAD_ARGUMENTS, reason)
        return self._result(skill, self._choose(actions))

    # ---- how

    def _choose(self, actions: Sequence[GroundAction]) -> GroundAction:
        """Return the first action that has a command, or needs none because it is done already."""
        for action in actions:
            command = self.ground(self.belief.next_step(action)).command
            if command or (command == "" and self.belief.shows(action)):
                return action
        return actions[0]

    def _result(self, skill: str, action: GroundAction) -> SkillResult:
        self.stopped = False
        outcome = self._hands.carry_out(action)
        self._hands.silent.clear()  # which of several things was looked for is not said, so each look counts
        if outcome.ending is Ending.FAILED:
            code = REFUSED if outcome.refused else NO_COMMAND
            return SkillResult(SkillStatus.EXECUTION_FAILED, code, outcome.reason)
        if outcome.ending is Ending.STOPPED and self.observation.status is not GameStatus.WON:
            if self.over:
                return SkillResult(SkillStatus.EXECUTION_FAILED, GAME_OVER, self.over)
            return SkillResult(SkillStatus.CANCELLED, "cancelled", f"{skill} was stopped")
        return SkillResult(SkillStatus.SUCCEEDED)

    def _context(self, command: str = "") -> Context:
        belief, seen = self.belief, self.observation
        return Context(belief.objects(), belief.location(), command, seen.commands, seen.goal)

    def _take_in(
        self, observation: Observation, command: str = "", action: GroundAction | None = None
    ) -> ParsedObservation:
        self.observation = observation
        parsed = self._language.parser.parse(observation.text, self._context(command))
        self.belief.take_in(parsed, action)
        return parsed

    def _publish(self, command: str) -> None:
        self._tell(Told(self.spec, self.step, command, self.observation, self.belief.graph))

    # ---- the voice of the hands

    def ground(self, action: GroundAction) -> Grounding:
        """Choose the command for an action; see `Voice`."""
        return self._language.grounder.ground(action, self._context())

    def observe(self) -> Grounding:
        """Choose a command that only looks; see `Voice`."""
        return self._language.grounder.observe(self._context())

    def say(self, command: str, kind: str, action: GroundAction | None = None) -> ParsedObservation:
        """Give a command and take in the answer; see `Voice`."""
        observation = self._game.step(command)
        self.step += 1
        if observation.status is GameStatus.RUNNING and self.step >= self.spec.limit:
            reason = f"it was not won within {self.spec.limit} commands"
            observation = replace(observation, status=GameStatus.LOST, reason=reason)
        parsed = self._take_in(observation, command, action)
        self._publish(command)
        return parsed

    def running(self) -> bool:
        """Return whether more commands may be given; see `Voice`."""
        return self.observation.status is GameStatus.RUNNING and not self.stopped

    def acting(self, action: GroundAction, score: float, silent: bool) -> None:
        """Nothing is recorded here; see `Voice`."""

    def acted(self, succeeded: bool) -> None:
        """Nothing is recorded here; see `Voice`."""

    def because(self, reason: str) -> None:
        """Nothing is recorded here; see `Voice`."""
