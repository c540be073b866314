"""What an action changes, learned from experience: for actions whose effects no domain tells (GiG leaves that open).

An effect is lifted: things are replaced by their places among the action's arguments. Which effects an action has may
depend on the situation, so the remembered attempts whose circumstances are most alike vote. Circumstances are the
facts and classes of the arguments, and how often the same action was done just before; those count most that told the
outcomes apart in the past (mutual information). The share of the votes is calibrated on attempts of episodes that did
not vote, so that a confidence of 0.9 is right nine times of ten.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.memory.calibration import Calibration, fit_calibration
from graph_planner_ros.memory.experience import Episode
from graph_planner_ros.memory.scene_facts import Fact, changed_scene, observed_change, scene_facts
from graph_planner_ros.scene.graph import ROBOT_ID, SceneGraph

MAX_REPEATED = 9
OTHER = "*"
"""Stands for a thing that is no argument of the action."""
VOTES = 15
"""Remembered attempts that vote: those with the most similar circumstances, and all that are as similar as the last."""
FOLDS = 5
"""Parts into which episodes are split for the calibration."""
LEAST_WEIGHT = 0.01
"""Weight of a circumstance that never told outcomes apart: it breaks ties only."""

_Outcome = tuple[frozenset[Fact], frozenset[Fact]]


@dataclass(frozen=True)
class Attempt:
    """An action that was carried out once, lifted.

    Attributes:
        name: of the action. circumstances: lifted facts and classes of its arguments.
        outcome: lifted facts that became true, and that became false, of things that were known before.
    """

    name: str
    circumstances: frozenset[Fact]
    outcome: _Outcome


@dataclass(frozen=True)
class Prediction:
    """What an action will probably change.

    Attributes:
        added, removed: facts that become true and false. confidence: that this is all that changes for the things that
            are known, calibrated, 0 to 1. support: attempts that had this outcome. votes: all that voted.
        share: of the votes by similarity: the confidence before calibration.
    """

    action: GroundAction
    added: frozenset[Fact]
    removed: frozenset[Fact]
    confidence: float
    support: int = 0
    votes: int = 0
    share: float = 0.0

    def apply(self, scene: SceneGraph) -> SceneGraph:
        """Return the predicted scene; embed it for the predicted embedding."""
        return changed_scene(scene, self.added, self.removed)


@dataclass
class _Experience:
    """Attempts at one action: circumstances as a table of 0 and 1, and weights of its columns."""

    columns: dict[Fact, int] = field(default_factory=dict)
    table: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    weights: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, dtype=np.float32))
    outcomes: list[_Outcome] = field(default_factory=list)


class TransitionModel:
    """Predicts what actions change. Make it with `learn`.

    Args:
        domain: says which facts count; None: all. attempts: to learn from. calibration: of the votes' share.
    """

    def __init__(
        self, domain: Domain | None, attempts: Iterable[Attempt], calibration: Calibration | None = None
    ) -> None:
        self._domain = domain
        self._calibration = calibration or Calibration()
        grouped: dict[str, list[Attempt]] = defaultdict(list)
        for attempt in attempts:
            grouped[attempt.name].append(attempt)
        self._experience = {name: _experience(group) for name, group in grouped.items()}

    @classmethod
    def learn(cls, episodes: Iterable[Episode], domain: Domain | None = None, folds: int = FOLDS) -> TransitionModel:
        """Learn from episodes, whatever came of them; of a domain, only those of this domain count."""
        ours = [episode for episode in episodes if domain is None or episode.header.domain == domain.name]
        groups = [list(attempts_of(episode, domain)) for episode in ours]
        raw: list[float] = []
        correct: list[bool] = []
        used = min(folds, len(groups))
        for fold in range(used if used > 1 else 0):
            kept = (attempt for number, group in enumerate(groups) if number % used != fold for attempt in group)
            model = cls(domain, kept)
            for attempt in (attempt for group in groups[fold::used] for attempt in group):
                share, outcome, _, _ = model._vote(attempt.name, attempt.circumstances)
                raw.append(share)
                correct.append(outcome == attempt.outcome)
        attempts = (attempt for group in groups for attempt in group)
        return cls(domain, attempts, fit_calibration(raw, correct) if raw else None)

    @property
    def actions(self) -> Mapping[str, int]:
        """Action -> attempts that were learned from."""
        return {name: len(experience.outcomes) for name, experience in self._experience.items()}

    def predict(self, scene: SceneGraph, action: GroundAction, history: Sequence[GroundAction] = ()) -> Prediction:
        """Predict what an action changes; without experience nothing, with confidence 0.

        Args:
            history: what was done before it, newest last: some actions have their effect only when repeated.
        """
        facts = scene_facts(scene, self._domain).true
        given = circumstances(scene, facts, action, history)
        share, (added, removed), support, votes = self._vote(action.name, given)
        if not votes:
            return Prediction(action, frozenset(), frozenset(), 0.0)
        gone = frozenset(fact for lifted in removed for fact in _matching(lifted, action, facts))
        come = frozenset(fact for lifted in added if (fact := _grounded(lifted, action)) is not None) - facts
        return Prediction(action, come, gone, self._calibration(share), support, votes, share)

    def _vote(self, name: str, given: frozenset[Fact]) -> tuple[float, _Outcome, int, int]:
        """Return share (with Laplace's correction) and outcome of the winner, its votes, and all votes."""
        experience = self._experience.get(name)
        nothing: _Outcome = (frozenset(), frozenset())
        if experience is None or not experience.outcomes:
            return 0.0, nothing, 0, 0
        row = np.zeros(len(experience.columns), dtype=np.float32)
        strange = sum(fact not in experience.columns for fact in given)
        row[[experience.columns[fact] for fact in given if fact in experience.columns]] = 1.0
        both = np.minimum(experience.table, row) @ experience.weights
        either = np.maximum(experience.table, row) @ experience.weights + LEAST_WEIGHT * strange
        alike = np.where(either > 0.0, both / np.maximum(either, 1e-12), 1.0)
        order = np.argsort(-alike, kind="stable")
        last = alike[order[min(VOTES, len(order)) - 1]]
        voters = order[alike[order] >= last - 1e-6]
        tally: dict[_Outcome, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for voter in voters:
            entry = tally[experience.outcomes[voter]]
            entry[0] += float(alike[voter]) ** 2
            entry[1] += 1
        winner = max(tally, key=lambda outcome: (tally[outcome][0], repr(sorted(map(sorted, outcome)))))
        share = (tally[winner][0] + 0.5) / (sum(entry[0] for entry in tally.values()) + 1.0)
        return min(1.0, share), winner, int(tally[winner][1]), len(voters)


def attempts_of(episode: Episode, domain: Domain | None = None) -> Iterable[Attempt]:
    """Yield what an episode did, lifted; steps without a scene after them are left out."""
    history: list[GroundAction] = []
    for step, after in pairwise(episode.steps):
        if step.action is not None:
            before, then = scene_facts(step.scene, domain).true, scene_facts(after.scene, domain).true
            outcome = observed_change(step.scene, before, then)
            yield Attempt(
                step.action.name,
                circumstances(step.scene, before, step.action, history),
                (
                    frozenset(_lifted(fact, step.action) for fact in outcome[0]),
                    frozenset(_lifted(fact, step.action) for fact in outcome[1]),
                ),
            )
            history.append(step.action)


def circumstances(
    scene: SceneGraph, facts: Iterable[Fact], action: GroundAction, history: Sequence[GroundAction] = ()
) -> frozenset[Fact]:
    """Return what holds of an action's arguments and of the robot, lifted, the classes of the arguments, and how often
    the action was done just before."""
    arguments = set(action.arguments)
    found = {_lifted(fact, action) for fact in facts if not arguments.isdisjoint(fact[1:]) or ROBOT_ID in fact[1:]}
    for position, name in enumerate(action.arguments):
        if name in scene.nodes:
            found.add(("class of", _variable(position), scene.nodes[name].label))
    repeated = next((n for n, done in enumerate(reversed(history)) if done != action), len(history))
    found.add(("repeated", str(min(repeated, MAX_REPEATED))))
    return frozenset(found)


def _variable(position: int) -> str:
    return f"?{position}"


def _lifted(fact: Fact, action: GroundAction) -> Fact:
    places = {name: _variable(position) for position, name in reversed(list(enumerate(action.arguments)))}
    return (fact[0], *(ROBOT_ID if name == ROBOT_ID else places.get(name, OTHER) for name in fact[1:]))


def _grounded(lifted: Fact, action: GroundAction) -> Fact | None:
    """Return a lifted fact about the things of an action; None if it is about others, which nobody can name."""
    if OTHER in lifted[1:]:
        return None
    return (lifted[0], *(_thing(name, action) for name in lifted[1:]))


def _thing(name: str, action: GroundAction) -> str:
    return action.arguments[int(name[1:])] if name.startswith("?") else name


def _matching(lifted: Fact, action: GroundAction, facts: Iterable[Fact]) -> Iterable[Fact]:
    """Yield the facts that a lifted one stands for."""
    return (fact for fact in facts if len(fact) == len(lifted) and _lifted(fact, action) == lifted)


def _experience(attempts: Sequence[Attempt]) -> _Experience:
    columns = {fact: n for n, fact in enumerate(sorted({fact for a in attempts for fact in a.circumstances}))}
    table = np.zeros((len(attempts), len(columns)), dtype=np.float32)
    for row, attempt in zip(table, attempts, strict=True):
        row[[columns[fact] for fact in attempt.circumstances]] = 1.0
    outcomes = [attempt.outcome for attempt in attempts]
    return _Experience(columns, table, _weights(table, outcomes), outcomes)


def _weights(table: NDArray[np.float32], outcomes: Sequence[_Outcome]) -> NDArray[np.float32]:
    """Return the mutual information [nats] of each column with the outcome, and a little for every column."""
    if not len(outcomes):
        return np.zeros(table.shape[1], dtype=np.float32)
    numbers = {outcome: n for n, outcome in enumerate(dict.fromkeys(outcomes))}
    which = np.array([numbers[outcome] for outcome in outcomes])
    total = len(outcomes)
    information = np.zeros(table.shape[1])
    ones = table.mean(axis=0)
    for number, count in Counter(which.tolist()).items():
        joint = table[which == number].sum(axis=0) / total
        for part, share in ((joint, ones), (count / total - joint, 1.0 - ones)):
            expected = share * count / total
            safe = (part > 0.0) & (expected > 0.0)
            information[safe] += part[safe] * np.log(part[safe] / expected[safe])
    return np.asarray(np.maximum(information, 0.0) + LEAST_WEIGHT, dtype=np.float32)
