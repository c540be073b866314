"""What past episodes did in a situation like the present one (GiG, experience retrieval).

The steps whose scenes are nearest are looked up; their actions are carried over to the present things by roles
(`lifting`), and only what applies at present is returned. Whatever is in the bank, an action that does not apply, or a
thing of a class that the domain does not have, never comes out; an episode that cannot be read is left out and counted.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.state import is_applicable
from graph_planner_ros.domain.symbols import Goal, GroundAction, SymbolicState
from graph_planner_ros.memory.exact_bank import ExperienceSource, NeighbourLike
from graph_planner_ros.memory.experience import Episode, EpisodeHeader, EpisodeStatus, SceneEncoder
from graph_planner_ros.memory.goal_shapes import GoalMatch, match_goals
from graph_planner_ros.memory.lifting import Lifted, labels_of, lift_action, lift_sequence
from graph_planner_ros.memory.place_counts import PlaceCounter
from graph_planner_ros.memory.roles import Situation
from graph_planner_ros.memory.triple_encoder import count_cosine, lifted_triples
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import SceneGraph

logger = logging.getLogger(__name__)

TAU = 0.1
"""Cosine distance up to which experience is taken as fitting (GiG)."""
BREADTH = 128
"""Near steps that are looked at in one retrieval."""
NEARNESS = 0.1
"""How much the distance of embeddings counts in the ranking of near steps beside the distance of their triples.

Embeddings are trained so that the steps of an episode lie close together: they find the episode, not the moment in it.
"""
MISFIT = 0.5
"""How much distance it counts for that nothing agrees in the roles of the things."""
FAILURE = 0.2
"""How much distance it counts for that an action always failed, where the ranking uses success."""
LEAST_AGREEMENT = 0.35
"""Agreement of roles below which a remembered action is not carried over."""
FOLLOWING = 12
"""Actions after the first that are carried over at most."""
CACHED_MOMENTS = 4096
CACHED_EPISODES = 32
"""Remembered steps, and whole episodes, that are kept ready."""
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, IndexError)


@dataclass(frozen=True)
class RetrievedAction:
    """A remembered action, carried over to the present.

    Attributes:
        action: applies at present. following: what was done afterwards, as far as it can be carried over; each applies
            in the state that the domain predicts before it.
        distance: cosine distance of the scenes. agreement: of the things' roles, 0 to 1.
        age: seconds since the episode began. origin: where the episode comes from.
        episode_id, index: of the remembered step. binding: remembered thing -> present one.
        goal: what the goals have in common.
        success_rate: of the remembered attempts at this action nearby, with Laplace's correction.
        support: remembered steps that say the same.
    """

    action: GroundAction
    following: tuple[GroundAction, ...]
    distance: float
    age: float
    origin: str
    episode_id: str
    index: int
    binding: Mapping[str, str] = field(hash=False)
    success_rate: float = 0.5
    agreement: float = 1.0
    goal: GoalMatch | None = None
    support: int = 1


@dataclass(frozen=True)
class _Moment:
    """A remembered step; ``action`` is None at the end of an episode."""

    header: EpisodeHeader
    situation: Situation
    action: GroundAction | None
    succeeded: bool | None
    triples: Counter[tuple[str, ...]]


@dataclass
class _Candidate:
    """A lifted action with the best of the steps that say so, and how all that say so ended."""

    lifted: Lifted
    neighbour: NeighbourLike
    header: EpisodeHeader
    goal: GoalMatch
    cost: float
    support: int = 0
    succeeded: int = 0
    failed: int = 0


class Retriever:
    """Looks up experience.

    Args:
        domain: of all episodes; those of other domains are left out. bank: of experience. encoder: of the bank.
        tau: cosine distance up to which experience fits; None: the encoder's own, chosen on held-out data, or 0.1.
        breadth: near steps that are looked at.
        rank_by_success: actions that failed in the past rank lower, and failed episodes are looked at for that.
        compare_goals: what served a goal of the same shape ranks first.
        clock: seconds since 1970, for the age of experience.
    """

    def __init__(
        self,
        domain: Domain,
        bank: ExperienceSource,
        encoder: SceneEncoder,
        tau: float | None = None,
        *,
        breadth: int = BREADTH,
        rank_by_success: bool = False,
        compare_goals: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if tau is None:
            tau = float(getattr(encoder, "tau", TAU))
        if not 0.0 <= tau <= 2.0 or breadth < 1:
            raise ValueError(f"expected 0 <= tau <= 2 and breadth >= 1, got {tau} and {breadth}")
        self.domain = domain
        self.bank = bank
        self.encoder = encoder
        self.tau = tau
        self.breadth = breadth
        self.rank_by_success = rank_by_success
        self.compare_goals = compare_goals
        self.skipped = 0
        self._clock = clock
        self._moments: OrderedDict[tuple[str, int], _Moment] = OrderedDict()
        self._episodes: OrderedDict[str, tuple[Episode, dict[str, str]]] = OrderedDict()
        self._counter = PlaceCounter(domain, bank)
        self._plain = replace(domain, distance=None)  # ways between remembered places are long to work out and not used

    def retrieve(
        self,
        scene: SceneGraph,
        state: SymbolicState,
        goals: Sequence[Goal],
        *,
        count: int = 3,
        exclude_episode: str | None = None,
    ) -> list[RetrievedAction]:
        """Return what past episodes did in a situation like this, best first, each action once.

        Args:
            scene: as it is believed. state: the same as facts; may hold more, such as placeholders for unseen things.
            goals: that are pursued. count: of actions at most. exclude_episode: is left out.
        """
        labels, triples = labels_of([scene], self.domain), lifted_triples(scene)
        present = Situation(self.domain, state, goals, labels)
        near = self.bank.nearest(
            self.encoder.encode([scene])[0],
            self.breadth,
            successful_only=not self.rank_by_success,
            exclude_episode=exclude_episode,
        )
        candidates: dict[GroundAction, _Candidate] = {}
        for neighbour in near:
            if neighbour.distance > self.tau:
                break
            try:
                self._consider(neighbour, present, triples, candidates)
            except _UNREADABLE as error:
                self._skip(neighbour, error)
        usable = [c for c in candidates.values() if c.support and is_applicable(self.domain, state, c.lifted.action)]
        usable.sort(key=self._rank)
        return [self._retrieved(candidate, present) for candidate in usable[:count]]

    def places(
        self,
        scene: SceneGraph,
        goals: Sequence[Goal],
        class_name: str,
        candidates: Mapping[str, str],
        exclude_episode: str | None = None,
    ) -> dict[str, float]:
        """Return how probable it is that each place holds a thing of a class, by what past episodes saw; see
        `PlaceCounter.chances`."""
        return self._counter.chances(scene, goals, class_name, candidates, exclude_episode)

    def warm_up(self) -> Iterator[None]:
        """Read beforehand what `places` and `retrieve` need, a little at each turn of the iterator."""
        yield from self._counter.warm_up()
        wanted = EpisodeStatus.SUCCEEDED
        ids = [header.episode_id for header in self.bank.headers() if self.rank_by_success or header.status is wanted]
        for episode_id in reversed(ids):
            try:
                count = len(self._episode(episode_id)[0].steps)
                if len(self._moments) + count > CACHED_MOMENTS:
                    return
                for index in range(count):
                    self._moment(episode_id, index)
                    yield
            except _UNREADABLE:
                continue  # the retrieval that meets it counts it

    def share_moments(self, other: Retriever) -> None:
        """Keep remembered steps together with another retriever over the same episodes, whatever it calls near."""
        self._moments, self._episodes = other._moments, other._episodes

    # ---- candidates

    def _consider(
        self,
        neighbour: NeighbourLike,
        present: Situation,
        triples: Counter[tuple[str, ...]],
        candidates: dict[GroundAction, _Candidate],
    ) -> None:
        """Carry a near step over, and count it for or against the action that comes of it."""
        moment = self._moment(neighbour.episode_id, neighbour.index)
        header = moment.header
        if moment.action is None or header.domain != self.domain.name:
            return
        lifted = lift_action(moment.situation, moment.action, present)
        if lifted is None or lifted.agreement < LEAST_AGREEMENT:
            return
        good = moment.succeeded is not False and header.status is EpisodeStatus.SUCCEEDED
        goal = match_goals(header.goals, present.goals)
        apart = 1.0 - count_cosine(triples, moment.triples)
        cost = NEARNESS * neighbour.distance + apart + MISFIT * (1.0 - lifted.agreement)
        known = candidates.get(lifted.action)
        if known is None:
            known = candidates[lifted.action] = _Candidate(lifted, neighbour, header, goal, cost)
        elif good and (not known.support or self._closer(goal, cost) < self._closer(known.goal, known.cost)):
            known.lifted, known.neighbour, known.header, known.goal, known.cost = lifted, neighbour, header, goal, cost
        known.support += good
        known.succeeded += good
        known.failed += not good

    def _closer(self, goal: GoalMatch, cost: float) -> tuple[float, ...]:
        return (-goal.tier, -goal.overlap, cost) if self.compare_goals else (cost,)

    def _rank(self, candidate: _Candidate) -> tuple[object, ...]:
        cost = candidate.cost + (FAILURE * (1.0 - _rate(candidate)) if self.rank_by_success else 0.0)
        return (*self._closer(candidate.goal, round(cost, 6)), -candidate.support, candidate.lifted.action)

    def _retrieved(self, candidate: _Candidate, present: Situation) -> RetrievedAction:
        header, neighbour = candidate.header, candidate.neighbour
        return RetrievedAction(
            candidate.lifted.action,
            self._following(candidate, present),
            neighbour.distance,
            max(0.0, self._clock() - header.started),
            header.origin,
            header.episode_id,
            neighbour.index,
            candidate.lifted.binding,
            _rate(candidate),
            candidate.lifted.agreement,
            candidate.goal,
            candidate.support,
        )

    def _following(self, candidate: _Candidate, present: Situation) -> tuple[GroundAction, ...]:
        start = candidate.neighbour.index
        steps: list[tuple[Situation, GroundAction]] = []
        try:
            for number in range(start, start + 1 + FOLLOWING):
                moment = self._moment(candidate.header.episode_id, number)
                if moment.action is None:
                    break
                steps.append((moment.situation, moment.action))
            return lift_sequence(steps, candidate.lifted, present, LEAST_AGREEMENT)
        except _UNREADABLE as error:
            self._skip(candidate.neighbour, error)
            return ()

    def _moment(self, episode_id: str, index: int) -> _Moment:
        """Return a remembered step; what it names and sees only later has its class of later.

        Past the last step of an episode, the last one is returned, without an action.
        """
        known = self._moments.get((episode_id, index))
        if known is not None:
            self._moments.move_to_end((episode_id, index))
            return known
        episode, labels = self._episode(episode_id)
        step = episode.steps[min(index, len(episode.steps) - 1)]
        state = symbolic_state(step.scene, self._plain)
        situation = Situation(self.domain, state, episode.header.goals, labels)
        action = step.action if index < len(episode.steps) else None
        made = _Moment(episode.header, situation, action, step.succeeded, lifted_triples(step.scene))
        if episode.header.status is not EpisodeStatus.RUNNING:
            self._moments[episode_id, index] = made
            if len(self._moments) > CACHED_MOMENTS:
                self._moments.popitem(last=False)
        return made

    def _episode(self, episode_id: str) -> tuple[Episode, dict[str, str]]:
        """Return an episode and the classes of all that it ever saw."""
        known = self._episodes.get(episode_id)
        if known is None:
            episode = self.bank.episode(episode_id)
            known = episode, labels_of((step.scene for step in episode.steps), self.domain)
            if episode.header.status is not EpisodeStatus.RUNNING:
                self._episodes[episode_id] = known
                if len(self._episodes) > CACHED_EPISODES:
                    self._episodes.popitem(last=False)
        return known

    def _skip(self, neighbour: NeighbourLike, error: Exception) -> None:
        self.skipped += 1
        logger.debug("step %s of episode %s left out: %r", neighbour.index, neighbour.episode_id, error)


def _rate(candidate: _Candidate) -> float:
    return (candidate.succeeded + 1.0) / (candidate.succeeded + candidate.failed + 2.0)
