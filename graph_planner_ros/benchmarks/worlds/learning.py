"""Learns where things tend to be by playing games of a training split: the agent looks everywhere and counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from graph_planner_ros.benchmarks.worlds.agent import TextAgent
from graph_planner_ros.benchmarks.worlds.game import Game, GameSpec
from graph_planner_ros.benchmarks.worlds.options import AgentOptions
from graph_planner_ros.benchmarks.worlds.records import EpisodeRecord
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.symbols import Goal, GoalLiteral
from graph_planner_ros.language.interface import Context, ObservationParser, ParsedObservation
from graph_planner_ros.language.rules import Language
from graph_planner_ros.planning.hypotheses import find_observes
from graph_planner_ros.planning.prior import Prior


@dataclass(frozen=True)
class _LooksEverywhere:
    """A parser that reads every goal as: look at every place that is known."""

    domain: Domain
    parser: ObservationParser

    def parse(self, text: str, context: Context) -> ParsedObservation:
        """Read a text as usual."""
        return self.parser.parse(text, context)

    def goals(self, text: str, context: Context) -> tuple[Goal, ...]:
        """Return a goal for each place."""
        assert self.domain.hypotheses is not None
        predicate = min(find_observes(self.domain))
        places = (
            name
            for name, label in sorted(context.objects.items())
            if self.domain.is_a(self.domain.class_of(label).type_name, self.domain.hypotheses.place_type)
        )
        return tuple(Goal((), (GoalLiteral(predicate, (place,)),), text=f"look at {place}") for place in places)


def learn_prior(
    language: Language, games: Iterable[tuple[GameSpec, Game]], prior: Prior
) -> Iterator[tuple[GameSpec, EpisodeRecord]]:
    """Play games and count into ``prior``; yield after each game what was played.

    Args:
        language: of the world. games: each is closed after it was played.

    Raises:
        DomainError: the domain has no hypotheses.
        WorldUnavailableError, EngineMissingError: something is not installed.
    """
    domain = language.domain
    if domain.hypotheses is None or not find_observes(domain):
        raise DomainError(f"in {domain.name!r} nothing is looked for, so there is nothing to learn")
    options = AgentOptions(stop_when_done=True)
    agent = TextAgent(domain, _LooksEverywhere(domain, language.parser), language.grounder, options)
    for spec, game in games:
        try:
            record, belief = agent.play_and_tell(game, spec)
        finally:
            game.close()
        belief.count_places(prior)
        yield spec, record
