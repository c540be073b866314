"""Games played to learn how a world talks: first the planner plays, then all kinds of actions are tried.

The planner does only what its goal needs. An interface that learns from it alone would not know what the rest is
called.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from graph_planner_ros.benchmarks.worlds.agent import TextAgent
from graph_planner_ros.benchmarks.worlds.believing import TextBelief
from graph_planner_ros.benchmarks.worlds.game import Game, GameSpec, GameStatus, Observation
from graph_planner_ros.domain.state import applicable_actions
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.language.interface import Context
from graph_planner_ros.language.pairs import Origin, Pair, WatchedGrounder, WatchedParser
from graph_planner_ros.language.rules import Language

_OBSERVE, _ANY = 0.1, 0.1
"""Shares of commands that only look, and of any admissible command."""


def teach(language: Language, game: Game, spec: GameSpec, explore: int) -> tuple[list[Pair], str]:
    """Play a game with the planner, then try ``explore`` actions in it; return the pairs and how the planner fared.

    Args:
        language: the rules of the world, which are the teacher. game: is not closed.
    """
    pairs: list[Pair] = []
    origin = Origin(spec.world, spec.name, spec.group, spec.split)
    parser = WatchedParser(language.parser, origin, pairs.append)
    grounder = WatchedGrounder(language.grounder, origin, pairs.append)
    record = TextAgent(language.domain, parser, grounder).play(game, spec)
    if explore:
        tried = replace(origin, explored=True)
        watched = Language(
            language.domain,
            WatchedParser(language.parser, tried, pairs.append),
            WatchedGrounder(language.grounder, tried, pairs.append),
        )
        _Explorer(watched, game, random.Random(f"{spec.name} {spec.seed}"), explore).run()
    return pairs, record.status


class _Explorer:
    """Tries actions of every kind that the belief allows, those tried least first."""

    def __init__(self, language: Language, game: Game, rng: random.Random, limit: int) -> None:
        self._language = language
        self._game = game
        self._random = rng
        self._limit = limit
        self._belief = TextBelief(language.domain)
        self._tried: Counter[str] = Counter()
        self._observation = Observation("")

    def run(self) -> None:
        """Play until the limit or the end of the game."""
        self._observation = self._game.reset()
        self._read("", None)
        steps = (self._random_step, self._look, self._try_action)
        for _ in range(self._limit):
            if self._observation.status is not GameStatus.RUNNING:
                return
            steps[self._random.choices(range(3), (_ANY, _OBSERVE, 1 - _ANY - _OBSERVE))[0]]()

    def _context(self, command: str = "") -> Context:
        return Context(self._belief.objects(), self._belief.location(), command, self._observation.commands)

    def _say(self, command: str, action: GroundAction | None = None) -> None:
        self._observation = self._game.step(command)
        self._read(command, action)

    def _read(self, command: str, action: GroundAction | None) -> None:
        parsed = self._language.parser.parse(self._observation.text, self._context(command))
        if action is not None and parsed.facts and not parsed.failed:
            self._belief.apply(action)
        self._belief.tell(parsed)

    def _random_step(self) -> None:
        if self._observation.commands:
            self._say(self._random.choice(self._observation.commands))

    def _look(self) -> None:
        grounding = self._language.grounder.observe(self._context())
        if grounding.command:
            self._say(grounding.command)

    def _try_action(self) -> None:
        for action in self._candidates():
            self._tried[action.name] += 1
            command = self._language.grounder.ground(action, self._context()).command
            if command:
                self._say(command, action)
                return
        self._random_step()

    def _candidates(self) -> Iterator[GroundAction]:
        """Yield an applicable action of each kind, the kinds that were tried least first."""
        kinds: dict[str, list[GroundAction]] = {}
        for action in applicable_actions(self._language.domain, self._belief.state()):
            kinds.setdefault(action.name, []).append(action)
        order = sorted(kinds)
        self._random.shuffle(order)
        for name in sorted(order, key=lambda name: self._tried[name]):
            yield self._random.choice(kinds[name])
