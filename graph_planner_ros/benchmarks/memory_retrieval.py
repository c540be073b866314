"""Next-action precision at 1 of experience retrieval on held-out episodes, against other ways to find what is near.

All ways look for near scenes in the same bank and carry the remembered action over by the same roles. The baselines
take the nearest step of the episodes whose goals have most in common with the present ones; each is also given the
whole ranking that retrieval uses, so that only what "near" means differs. A step without advice counts as wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.benchmarks.statistics import Interval
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction, SymbolicState, Truth
from graph_planner_ros.memory.exact_bank import ExactBank
from graph_planner_ros.memory.experience import Embedding, Episode, EpisodeStatus, SceneEncoder
from graph_planner_ros.memory.lifting import labels_of
from graph_planner_ros.memory.retrieval import RankWeights, Retriever
from graph_planner_ros.memory.sentences import SentenceEncoder, spoken
from graph_planner_ros.memory.triple_encoder import TripleBagEncoder
from graph_planner_ros.planning.hypotheses import candidate_places
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import ROBOT_ID, SceneGraph

ROUNDS = 10_000
"""Resamples of whole episodes for the intervals: steps of one episode are alike."""
ANY_DISTANCE = 2.0
"""A threshold that takes everything."""
PIECE = 6
"""Triples in one piece of a flattened scene: what the sentence encoder reads at a time."""


class FlattenedSceneEncoder:
    """A scene as text, triple after triple, and the mean of the sentence embeddings of its pieces."""

    dimension = 384
    model_hash = "flattened"

    def __init__(self) -> None:
        self._sentences = SentenceEncoder()

    def encode(self, scenes: Sequence[SceneGraph]) -> Embedding:
        """Return embeddings of unit length, shape (n, 384)."""
        return np.stack([self._one(scene) for scene in scenes])

    def _one(self, scene: SceneGraph) -> NDArray[np.float32]:
        lines = flattened(scene) or ["nothing"]
        pieces = [". ".join(lines[start : start + PIECE]) for start in range(0, len(lines), PIECE)]
        mean = np.mean([self._sentences.vector(piece) for piece in pieces], axis=0)
        return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12), dtype=np.float32)


def flattened(scene: SceneGraph) -> list[str]:
    """Return the true relations and attributes of a scene as sentences over classes, in a fixed order."""

    def words(name: str) -> str:
        return spoken(scene.nodes[name].label if name in scene.nodes else name)

    found = [
        f"{words(r.subject)} {spoken(r.predicate)} {words(r.object)}"
        for r in scene.relations
        if r.value is Truth.TRUE and (r.subject == ROBOT_ID or r.subject in scene.nodes)
    ]
    for name, node in scene.nodes.items():
        true = [spoken(attribute) for attribute, item in node.attributes.items() if item.value is Truth.TRUE]
        found.append(" ".join((words(name), *sorted(true))))
    return sorted(found)


@dataclass
class Outcomes:
    """What came of the held-out steps, one entry a step.

    Attributes:
        correct: the first advice is the action that was taken. same_classes: it is the same action with things of the
            same classes. advised: there was advice. episode: number of the step's episode.
    """

    correct: list[bool] = field(default_factory=list)
    same_classes: list[bool] = field(default_factory=list)
    advised: list[bool] = field(default_factory=list)
    episode: list[int] = field(default_factory=list)

    def rate(self, values: Sequence[bool], seed: int = 0) -> Interval:
        """Return a share of the steps with its bootstrap interval over episodes."""
        return _interval(np.asarray(values, dtype=float), np.asarray(self.episode), seed)

    def gain(self, other: Outcomes, seed: int = 0) -> Interval:
        """Return how much higher the precision is than another way's, on the same steps."""
        difference = np.asarray(self.correct, dtype=float) - np.asarray(other.correct, dtype=float)
        return _interval(difference, np.asarray(self.episode), seed)

    @property
    def precision_if_advised(self) -> Interval:
        """Precision over the steps with advice only."""
        chosen = np.asarray(self.advised, dtype=bool)
        return _interval(np.asarray(self.correct, dtype=float)[chosen], np.asarray(self.episode)[chosen], 0)


def _interval(values: NDArray[np.float64], owners: NDArray[np.int64], seed: int) -> Interval:
    if not len(values):
        return Interval(float("nan"), float("nan"), float("nan"), 0)
    _, numbers = np.unique(owners, return_inverse=True)
    sums, counts = np.bincount(numbers, values), np.bincount(numbers)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(sums), (ROUNDS, len(sums)))
    rates = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.percentile(rates, [2.5, 97.5])
    return Interval(float(values.mean()), float(low), float(high), len(values))


@dataclass(frozen=True)
class Way:
    """A way to find experience: encoder, largest distance, and how near steps are ranked (None: as usual)."""

    encoder: SceneEncoder
    tau: float = ANY_DISTANCE
    weights: RankWeights | None = None


NEAREST = RankWeights(progress=0.0, triples=0.0, before=0.0, tier=100.0, overlap=10.0, nearness=1.0, misfit=0.0)
"""The nearest step of the goals that have most in common, and nothing else."""


def standard_ways(encoder: SceneEncoder, tau: float) -> dict[str, Way]:
    """Return the ways that are compared, by name; the second is the one that the others are compared with."""
    triples, sentences = TripleBagEncoder(), FlattenedSceneEncoder()
    return {
        f"graph memory, distance <= {tau:g}": Way(encoder, tau),
        "graph memory, any distance": Way(encoder),
        "nearest by graph embedding": Way(encoder, weights=NEAREST),
        "nearest by bag of triples": Way(triples, weights=NEAREST),
        "nearest by sentence embedding of the flattened scene": Way(sentences, weights=NEAREST),
        "bag of triples with the memory's ranking": Way(triples),
        "sentence embedding with the memory's ranking": Way(sentences),
    }


def measure_retrieval(
    bank: Iterable[Episode],
    held_out: Iterable[Episode],
    domain_of: Callable[[str], Domain],
    ways: Mapping[str, Way],
    progress: Callable[[str], None] = lambda text: None,
) -> dict[str, dict[str, Outcomes]]:
    """Compare ways to retrieve experience.

    Args:
        bank: episodes to remember; only those that succeeded advise. held_out: whose steps are predicted, those that
            succeeded only. domain_of: name -> domain. ways: see `standard_ways`.

    Returns:
        domain -> way -> outcomes, steps in the same order for all ways.

    Raises:
        ValueError: an episode is in both.
    """
    remembered, asked = _by_domain(bank), _by_domain(held_out)
    both = {e.header.episode_id for group in remembered.values() for e in group}
    both &= {e.header.episode_id for group in asked.values() for e in group}
    if both:
        raise ValueError(f"the held-out episode {min(both)!r} is in the bank")
    report: dict[str, dict[str, Outcomes]] = {}
    for name, episodes in asked.items():
        domain = domain_of(name)
        banks: dict[int, ExactBank] = {}
        first: Retriever | None = None
        for title, way in ways.items():
            encoder = way.encoder
            if id(encoder) not in banks:
                banks[id(encoder)] = ExactBank(remembered.get(name, []), encoder, anew=True)
            retriever = Retriever(domain, banks[id(encoder)], encoder, way.tau, weights=way.weights)
            if first is None:
                first = retriever
            retriever.share_moments(first)
            report.setdefault(name, {})[title] = _outcomes(retriever, domain, episodes)
            progress(f"{name}: {title}")
    return report


def _by_domain(episodes: Iterable[Episode]) -> dict[str, list[Episode]]:
    found: dict[str, list[Episode]] = {}
    for episode in episodes:
        if episode.header.status is EpisodeStatus.SUCCEEDED:
            found.setdefault(episode.header.domain, []).append(episode)
    return found


def _outcomes(retriever: Retriever, domain: Domain, episodes: Sequence[Episode]) -> Outcomes:
    outcomes = Outcomes()
    for number, episode in enumerate(episodes):
        labels = labels_of((step.scene for step in episode.steps), domain)
        before = ""
        for step in episode.steps:
            if step.action is None:
                continue
            state, taken = question(domain, step.scene, episode.header.goals, step.action, labels)
            found = retriever.retrieve(step.scene, state, episode.header.goals, count=1, before=before)
            before = step.action.name
            best = found[0].action if found else None
            outcomes.advised.append(best is not None)
            outcomes.correct.append(best == taken)
            outcomes.same_classes.append(best is not None and _classes(best, labels) == _classes(taken, labels))
            outcomes.episode.append(number)
    return outcomes


def _classes(action: GroundAction, labels: Mapping[str, str]) -> tuple[str, ...]:
    return (action.name, *(labels.get(name, name) for name in action.arguments))


def question(
    domain: Domain, scene: SceneGraph, goals: Sequence[Goal], action: GroundAction, labels: dict[str, str]
) -> tuple[SymbolicState, GroundAction]:
    """Return a step as a question: the state, and the action that was taken in it.

    Looking for something that nobody has seen needs a placeholder that may be anywhere, as MemPlan supposes one for
    each class of a goal of which nothing is known; the action then speaks of the placeholder. ``labels`` gets the
    classes of placeholders.
    """
    state, hypotheses = symbolic_state(scene, domain), domain.hypotheses
    if hypotheses is None or action.name != hypotheses.action:
        return state, action
    wanted = dict.fromkeys(v.class_name for goal in goals for v in goal.variables if v.class_name)
    known = {labels.get(name) for name in state.objects}
    objects, atoms = dict(state.objects), set(state.atoms)
    names = {}
    strangers = [labels.get(name) for name in action.arguments if name not in state.objects]
    for label in dict.fromkeys([*wanted, *strangers]):
        if label is None or label in known or not domain.is_a(domain.classes[label].type_name, hypotheses.item_type):
            continue
        name = names[label] = f"unseen_{label}_1"
        labels[name] = label
        objects[name] = domain.classes[label].type_name
        atoms |= {Atom(fact, (name,)) for fact in domain.classes[label].facts}
        if domain.class_predicate is not None:
            atoms.add(Atom(domain.class_predicate, (name, label)))
        atoms |= {Atom(hypotheses.candidate, (name, place)) for place in candidate_places(domain, state)}
    taken = tuple(name if name in state.objects else names.get(labels.get(name, ""), name) for name in action.arguments)
    return replace(state, objects=objects, atoms=frozenset(atoms)), replace(action, arguments=taken)
