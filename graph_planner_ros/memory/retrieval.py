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
from graph_planner_ros.memory.bank_errors import BankError
from graph_planner_ros.memory.exact_bank import ExperienceSource, NeighbourLike
from graph_planner_ros.memory.experience import Episode, EpisodeHeader, EpisodeStatus, SceneEncoder
from graph_planner_ros.memory.goal_shapes import GoalMatch, GoalTier, match_goals
from graph_planner_ros.memory.lifting import Lifted, labels_of, lift_action, lift_sequence
from graph_planner_ros.memory.place_counts import MAX_EPISODES, PlaceCounter
from graph_planner_ros.memory.roles import Situation
from graph_planner_ros.memory.triple_encoder import count_cosine, lifted_triples
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import SceneGraph

logger = logging.getLogger(__name__)

TAU = 0.1
"""Cosine distance up to which experience is taken as fitting (GiG)."""
BREADTH = 512
"""Near steps that are looked at in one retrieval."""
LIFTED = 32
"""Best of them that are carried over."""
FAILURE = 0.2
"""How much distance it counts for that an action always failed, where the ranking uses success."""
LEAST_AGREEMENT = 0.35
"""Agreement of roles below which a remembered action is not carried over."""
FOLLOWING = 12
"""Actions after the first that are carried over at most."""
CACHED_MOMENTS = 4096
CACHED_EPISODES = 32
"""Remembered steps, and whole episodes, that are kept ready."""
_UNREADABLE = (BankError, ValueError, KeyError, TypeError, AttributeError, IndexError)


@dataclass(frozen=True)
class RankWeights:
    """How much each thing counts in the ranking of near steps; what costs least comes first.

    The values were chosen on training episodes, each without those of its home. Embeddings are trained so that the
    steps of an episode lie close together: they find the episode, not the moment in it. That is for the rest to find.

    Attributes:
        progress: distance of what holds of the goals' things (`Situation.progress`). triples: of the scenes' triples.
        before: that another action was done just before. tier: one tier less in common with the remembered goals.
        overlap: that no literal of theirs is the same. nearness: distance of the embeddings.
        misfit: that nothing agrees in the roles of the things.
    """

    progress: float = 1.0
    triples: float = 0.3
    before: float = 0.3
    tier: float = 0.3
    overlap: float = 0.1
    nearness: float = 0.1
    misfit: float = 0.5


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
    """A remembered step; ``action`` is None at the end of an episode, ``before`` the name of the action before it."""

    header: EpisodeHeader
    situation: Situation
    action: GroundAction | None
    succeeded: bool | None
    triples: Counter[tuple[str, ...]]
    before: str


@dataclass(frozen=True)
class _Near:
    """A near step, what its goals have in common with the present ones, and how far it is, roles not yet compared."""

    neighbour: NeighbourLike
    moment: _Moment
    goal: GoalMatch
    cost: float


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
        compare_goals: what served a goal that has more in common with the present ones ranks higher.
        weights: of the ranking. clock: seconds since 1970, for the age of experience.
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
        weights: RankWeights | None = None,
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
        self.weights = weights or RankWeights()
        self.skipped = 0
        self._clock = clock
        self._moments: OrderedDict[tuple[str, int], _Moment] = OrderedDict()
        self._episodes: OrderedDict[str, tuple[Episode, dict[str, str]]] = OrderedDict()
        self._counter = PlaceCounter(domain, bank, lambda episode_id: self._episode(episode_id)[0])
        self._plain = replace(domain, distance=None)  # ways between remembered places are long to work out and not used

    def retrieve(
        self,
        scene: SceneGraph,
        state: SymbolicState,
        goals: Sequence[Goal],
        *,
        count: int = 3,
        exclude_episode: str | None = None,
        before: str | None = None,
    ) -> list[RetrievedAction]:
        """Return what past episodes did in a situation like this, best first, each action once.

        Args:
            scene: as it is believed. state: the same as facts; may hold more, such as placeholders for unseen things.
            goals: that are pursued. count: of actions at most. exclude_episode: is left out.
            before: name of the action that was done just before, empty at the beginning of a task; None: not known.
        """
        present = Situation(self.domain, state, goals, labels_of([scene], self.domain))
        candidates: dict[GroundAction, _Candidate] = {}
        for near in self._nearest(scene, present, exclude_episode, before):
            try:
                self._consider(near, present, candidates)
            except _UNREADABLE as error:
                self._skip(near.neighbour, error)
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
        """Read beforehand what `places` and `retrieve` need, a little at each turn of the iterator, newest first."""
        room = True
        for number, header in enumerate(reversed(list(self.bank.headers()))):
            if header.domain != self.domain.name:
                continue
            if number < MAX_EPISODES:
                self._counter.count(header)
                yield
            if not room or not (self.rank_by_success or header.status is EpisodeStatus.SUCCEEDED):
                continue
            try:
                steps = len(self._episode(header.episode_id)[0].steps)
                room = len(self._moments) + steps <= CACHED_MOMENTS
                for index in range(steps if room else 0):
                    self._moment(header.episode_id, index)
                    yield
            except _UNREADABLE:
                continue  # the retrieval that meets it counts it

    def share_moments(self, other: Retriever) -> None:
        """Keep remembered steps together with another retriever over the same episodes, whatever it calls near."""
        self._moments, self._episodes = other._moments, other._episodes

    # ---- candidates

    def _nearest(
        self, scene: SceneGraph, present: Situation, exclude_episode: str | None, before: str | None
    ) -> list[_Near]:
        """Return the near steps that fit best before the roles of things are compared, best first."""
        found = self.bank.nearest(
            self.encoder.encode([scene])[0],
            self.breadth,
            successful_only=not self.rank_by_success,
            exclude_episode=exclude_episode,
        )
        by_episode: dict[str, list[NeighbourLike]] = {}  # so that each is read once
        for neighbour in found:
            if neighbour.distance > self.tau:
                break
            by_episode.setdefault(neighbour.episode_id, []).append(neighbour)
        triples, nearest, matches = lifted_triples(scene), list[_Near](), dict[str, GoalMatch]()
        for neighbour in (item for group in by_episode.values() for item in group):
            try:
                moment = self._moment(neighbour.episode_id, neighbour.index)
                if moment.action is None or moment.header.domain != self.domain.name:
                    continue
                goal = matches.get(neighbour.episode_id)
                if goal is None:
                    goal = matches[neighbour.episode_id] = match_goals(moment.header.goals, present.goals)
                apart = 1.0 - count_cosine(triples, moment.triples)
                cost = self._cost(neighbour.distance, apart, moment, goal, present, before)
                nearest.append(_Near(neighbour, moment, goal, cost))
            except _UNREADABLE as error:
                self._skip(neighbour, error)
        nearest.sort(key=lambda near: (near.cost, near.neighbour.distance))
        return nearest[:LIFTED]

    def _cost(
        self, distance: float, apart: float, moment: _Moment, goal: GoalMatch, present: Situation, before: str | None
    ) -> float:
        """Return how far a remembered step is, by embedding, triples, progress, what was done before, and goals."""
        weights = self.weights
        behind = 1.0 - count_cosine(present.progress, moment.situation.progress)
        cost = weights.nearness * distance + weights.triples * apart + weights.progress * behind
        if before is not None:
            cost += weights.before * (moment.before != before)
        if self.compare_goals:
            cost += weights.tier * (GoalTier.SAME_CLASSES - goal.tier) + weights.overlap * (1.0 - goal.overlap)
        return cost

    def _consider(self, near: _Near, present: Situation, candidates: dict[GroundAction, _Candidate]) -> None:
        """Carry a near step over, and count it for or against the action that comes of it."""
        header, moment = near.moment.header, near.moment
        assert moment.action is not None
        lifted = lift_action(moment.situation, moment.action, present)
        if lifted is None or lifted.agreement < LEAST_AGREEMENT:
            return
        good = moment.succeeded is not False and header.status is EpisodeStatus.SUCCEEDED
        cost = near.cost + self.weights.misfit * (1.0 - lifted.agreement)
        known = candidates.get(lifted.action)
        if known is None or (good and (not known.support or cost < known.cost)):
            made = _Candidate(lifted, near.neighbour, header, near.goal, cost)
            if known is not None:
                made.support, made.succeeded, made.failed = known.support, known.succeeded, known.failed
            known = candidates[lifted.action] = made
        known.support += good
        known.succeeded += good
        known.failed += not good

    def _rank(self, candidate: _Candidate) -> tuple[object, ...]:
        cost = candidate.cost + (FAILURE * (1.0 - _rate(candidate)) if self.rank_by_success else 0.0)
        return (round(cost, 6), -candidate.support, candidate.lifted.action)

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
        earlier = episode.steps[index - 1].action if 0 < index <= len(episode.steps) else None
        before = earlier.name if earlier is not None else ""
        made = _Moment(episode.header, situation, action, step.succeeded, lifted_triples(step.scene), before)
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
