"""Where things of a class were in past episodes, counted by the class of place, smoothed so that few claim little."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Goal, Truth
from graph_planner_ros.memory.bank_errors import BankError
from graph_planner_ros.memory.exact_bank import ExperienceSource
from graph_planner_ros.memory.experience import Episode, EpisodeHeader, EpisodeStatus
from graph_planner_ros.memory.goal_shapes import GoalTier, match_goals
from graph_planner_ros.scene.belief import held, is_fixture, place_relations
from graph_planner_ros.scene.graph import SceneGraph

DOUBT = 2.0
"""How many places the general habit of a class of places counts for that is mixed with what was counted."""
MAX_EPISODES = 400
"""Episodes that are counted at most: the newest of those whose goals have most in common with the present ones."""
GOAL_WEIGHTS = {GoalTier.OTHER: 0.5, GoalTier.RELATED: 0.7, GoalTier.SAME_SHAPE: 0.85, GoalTier.SAME_CLASSES: 1.0}
"""How much an episode counts by what its goals have in common with the present ones."""
CACHED_EPISODES = 1024


@dataclass(frozen=True)
class EpisodePlaces:
    """What one episode says about places.

    Attributes:
        places: place -> class, of the places that were looked at. found: class of things -> places where one was when
            it was first seen; what was carried somewhere does not count as found there.
        home: how many fixtures of each class there are, looked at or not.
    """

    places: Mapping[str, str]
    found: Mapping[str, frozenset[str]]
    home: Counter[str] = field(default_factory=Counter)


def episode_places(domain: Domain, episode: Episode) -> EpisodePlaces:
    """Return what an episode says about places; nothing for domains in which nothing is looked for."""
    if domain.hypotheses is None:
        return EpisodePlaces({}, {})
    first: dict[str, str | None] = {}
    labels: dict[str, str] = {}
    looked: dict[str, str] = {}
    observes = _observes(domain)
    for step in episode.steps:
        scene = step.scene
        for name in held(scene):
            first.setdefault(name, None)
        first |= {thing: place for thing, place in _inside(domain, scene).items() if thing not in first}
        for name, node in scene.nodes.items():
            labels[name] = node.label
            seen = any(node.attributes[key].value is Truth.TRUE for key in observes if key in node.attributes)
            if seen and _is_place(domain, node.label):
                looked[name] = node.label
    found: dict[str, set[str]] = {}
    for thing, where in first.items():
        if where is not None:
            looked[where] = labels[where]
            found.setdefault(labels[thing], set()).add(where)
    homes = (_home(domain, step.scene) for step in episode.steps)
    home = max(homes, key=lambda counts: counts.total(), default=Counter[str]())
    return EpisodePlaces(looked, {label: frozenset(places) for label, places in found.items()}, home)


@dataclass
class _Tally:
    """An episode's places by class.

    Attributes:
        looked: class of places -> how many were looked at.
        held: class of things -> class of places -> how many held one. all_held: the sum of that over all things.
    """

    looked: Counter[str]
    held: dict[str, Counter[str]]
    all_held: Counter[str]
    home: Counter[str]


class PlaceCounter:
    """Prices places by the episodes of a bank.

    Args:
        domain: of the episodes; those of other domains are left out. bank: of experience.
        read: returns an episode by its id; None: the bank does.
    """

    def __init__(self, domain: Domain, bank: ExperienceSource, read: Callable[[str], Episode] | None = None) -> None:
        self._domain = domain
        self._bank = bank
        self._read = read or bank.episode
        self._tallies: OrderedDict[str, _Tally | None] = OrderedDict()

    def chances(
        self,
        scene: SceneGraph,
        goals: Sequence[Goal],
        class_name: str,
        candidates: Mapping[str, str],
        exclude_episode: str | None = None,
    ) -> dict[str, float]:
        """Return how probable it is that each candidate holds a thing of a class, if there is one at all.

        Episodes count more if their goals have something in common with the present ones, and if their homes have the
        same kinds of places. Where little is known of a class of places, its chance is near the habit of such places
        with things in general.

        Args:
            scene: the present one. goals: that are pursued now. class_name: of the thing.
            candidates: place -> class. exclude_episode: is left out.

        Returns:
            candidate -> chance, 0 to 1, of every candidate; nothing if no episode saw such a thing in a place.
        """
        home = _home(self._domain, scene)
        own: dict[str, list[float]] = {}
        habit: dict[str, list[float]] = {}
        known = False
        for header in self._chosen(goals):
            tally = self._tally(header) if header.episode_id != exclude_episode else None
            if tally is None:
                continue
            weight = GOAL_WEIGHTS[match_goals(header.goals, goals).tier] * _cosine(home, tally.home)
            here = tally.held.get(class_name)
            known = known or (here is not None and weight > 0.0)
            for label, count in tally.looked.items():
                _add(habit, label, weight * tally.all_held[label], weight * count * len(tally.held))
                if here is not None:
                    _add(own, label, weight * here[label], weight * count)
        if not known:
            return {}
        chances: dict[str, float] = {}
        for label in set(candidates.values()):
            some, all_ = habit.get(label, (0.0, 0.0))
            holding, looked = own.get(label, (0.0, 0.0))
            chances[label] = (holding + DOUBT * (some / all_ if all_ else 0.0)) / (looked + DOUBT)
        return {place: chances[label] for place, label in candidates.items()}

    def count(self, header: EpisodeHeader) -> None:
        """Count an episode beforehand."""
        self._tally(header)

    def _chosen(self, goals: Sequence[Goal]) -> list[EpisodeHeader]:
        ours = [header for header in self._bank.headers() if header.domain == self._domain.name]
        if len(ours) > MAX_EPISODES:
            ours.sort(key=lambda header: (-match_goals(header.goals, goals).tier, -header.started, header.episode_id))
        return ours[:MAX_EPISODES]

    def _tally(self, header: EpisodeHeader) -> _Tally | None:
        """Return what an episode counts; None if it cannot be read. What still runs is counted anew each time."""
        known = self._tallies.get(header.episode_id)
        if header.episode_id in self._tallies and header.status is not EpisodeStatus.RUNNING:
            self._tallies.move_to_end(header.episode_id)
            return known
        try:
            made = _tally_of(episode_places(self._domain, self._read(header.episode_id)))
        except (BankError, ValueError, KeyError, TypeError, AttributeError):
            made = None
        if header.status is not EpisodeStatus.RUNNING:
            self._tallies[header.episode_id] = made
            if len(self._tallies) > CACHED_EPISODES:
                self._tallies.popitem(last=False)
        return made


def _tally_of(seen: EpisodePlaces) -> _Tally:
    held_by = {label: Counter(seen.places[place] for place in places) for label, places in seen.found.items()}
    return _Tally(Counter(seen.places.values()), held_by, sum(held_by.values(), Counter()), seen.home)


def _add(table: dict[str, list[float]], label: str, holding: float, looked: float) -> None:
    row = table.setdefault(label, [0.0, 0.0])
    row[0] += holding
    row[1] += looked


def _home(domain: Domain, scene: SceneGraph) -> Counter[str]:
    return Counter(node.label for node in scene.nodes.values() if is_fixture(domain, node))


def _cosine(first: Counter[str], second: Counter[str]) -> float:
    """Return the cosine of two counts; 1 where one is empty, as then nothing speaks against it."""
    if not first or not second:
        return 1.0
    dot = sum(count * second[label] for label, count in first.items())
    return dot / math.sqrt(sum(n * n for n in first.values()) * sum(n * n for n in second.values()))


@lru_cache(maxsize=32)
def _observes(domain: Domain) -> frozenset[str]:
    """Return the attributes of a place that looking there makes true."""
    assert domain.hypotheses is not None
    schema = domain.action(domain.hypotheses.action)
    types = dict(schema.parameters)
    return frozenset(
        term.predicate
        for term in schema.added
        if len(term.arguments) == 1
        and domain.is_a(types.get(term.arguments[0], ""), domain.hypotheses.place_type)
        and not domain.is_a(types.get(term.arguments[0], ""), domain.hypotheses.item_type)
    )


def _is_place(domain: Domain, label: str) -> bool:
    """Return whether things of a class are candidate places: of the type and with the fact that the YAML names."""
    entry, hypotheses = domain.classes.get(label), domain.hypotheses
    if entry is None or hypotheses is None or not domain.is_a(entry.type_name, hypotheses.place_type):
        return False
    return hypotheses.place_fact is None or hypotheses.place_fact in entry.facts


def _inside(domain: Domain, scene: SceneGraph) -> dict[str, str]:
    """Return thing -> the place (no item) that it is in, through whatever carries it."""
    names = place_relations(domain)
    direct = {r.subject: r.object for r in scene.relations if r.predicate in names and r.value is Truth.TRUE}
    found: dict[str, str] = {}
    for thing in direct:
        current: str | None = direct[thing]
        for _ in direct:
            node = scene.nodes.get(current) if current is not None else None
            if node is None or _is_place(domain, node.label):
                break
            current = direct.get(current) if current is not None else None
        if current is not None and current in scene.nodes and _is_place(domain, scene.nodes[current].label):
            found[thing] = current
    return found
