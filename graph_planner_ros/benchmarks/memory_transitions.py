"""How well learned transitions predict held-out ones, and whether their confidence is what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from graph_planner_ros.benchmarks.statistics import Interval, bootstrap, wilson
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.state import is_applicable, successor
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.memory.calibration import expected_calibration_error
from graph_planner_ros.memory.experience import Episode, SceneEncoder, distance
from graph_planner_ros.memory.lookahead import LEAST_CONFIDENCE
from graph_planner_ros.memory.scene_facts import Fact, observed_change, scene_facts
from graph_planner_ros.memory.transition_model import TransitionModel
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import SceneGraph


@dataclass
class TransitionReport:
    """Predictions of the steps of held-out episodes of a domain.

    Attributes:
        learned_from: attempts. confidence, share: calibrated and not, of each prediction. exact: all that changed of
            known things was predicted, and nothing else. still: nothing changed. told: the domain's own T is exact.
        predicted_distance, still_distance: of the embeddings of the predicted and of the old scene from the true one.
        true_positives, false_positives, false_negatives: of the predicted changes.
    """

    learned_from: int = 0
    confidence: list[float] = field(default_factory=list)
    share: list[float] = field(default_factory=list)
    exact: list[bool] = field(default_factory=list)
    still: list[bool] = field(default_factory=list)
    told: list[bool] = field(default_factory=list)
    predicted_distance: list[float] = field(default_factory=list)
    still_distance: list[float] = field(default_factory=list)
    true_positives: int = 0
    false_positives: int = 0
    false_negatives: int = 0

    @property
    def accuracy(self) -> Interval:
        """Share of exact predictions."""
        return wilson(sum(self.exact), len(self.exact))

    def sure(self, least: float = LEAST_CONFIDENCE) -> tuple[Interval, Interval]:
        """Return the share of predictions that are sure enough for lookahead, and of exact ones among them."""
        chosen = [right for right, value in zip(self.exact, self.confidence, strict=True) if value >= least]
        return wilson(len(chosen), len(self.exact)), wilson(sum(chosen), len(chosen))

    @property
    def calibration_error(self) -> tuple[Interval, float]:
        """Expected calibration error with its bootstrap interval, and that of the confidence before calibration."""
        pairs = np.array([self.confidence, self.exact], dtype=float).T
        error = bootstrap(
            range(len(pairs)),
            lambda rows: expected_calibration_error(pairs[rows.astype(int), 0], pairs[rows.astype(int), 1]),
            rounds=1000,
        )
        return error, expected_calibration_error(self.share, self.exact)

    @property
    def change_f1(self) -> float:
        """Harmonic mean of precision and recall of the predicted changes."""
        wrong = self.false_positives + self.false_negatives
        return 2 * self.true_positives / max(1, 2 * self.true_positives + wrong)


def measure_transitions(
    bank: Iterable[Episode],
    held_out: Iterable[Episode],
    domain_of: Callable[[str], Domain],
    encoder: SceneEncoder,
) -> dict[str, TransitionReport]:
    """Learn from a bank as if no domain told any effect, and predict held-out steps: domain -> report."""
    remembered = list(bank)
    reports: dict[str, TransitionReport] = {}
    models: dict[str, TransitionModel] = {}
    for episode in held_out:
        name = episode.header.domain
        domain = domain_of(name)
        if name not in models:
            models[name] = TransitionModel.learn(remembered, domain)
            reports[name] = TransitionReport(sum(models[name].actions.values()))
        _predict(episode, domain, models[name], encoder, reports[name])
    return reports


def _predict(
    episode: Episode, domain: Domain, model: TransitionModel, encoder: SceneEncoder, report: TransitionReport
) -> None:
    history: list[GroundAction] = []
    scenes: list[SceneGraph] = []
    for step, after in pairwise(episode.steps):
        if step.action is None:
            continue
        before, then = scene_facts(step.scene, domain).true, scene_facts(after.scene, domain).true
        added, removed = observed_change(step.scene, before, then)
        said = model.predict(step.scene, step.action, history)
        report.confidence.append(said.confidence)
        report.share.append(said.share)
        report.exact.append(said.added == added and said.removed == removed)
        report.still.append(not added and not removed)
        report.told.append(_told(domain, step.scene, after.scene, step.action))
        _count(report, {(True, f) for f in said.added} | {(False, f) for f in said.removed},
               {(True, f) for f in added} | {(False, f) for f in removed})  # fmt: skip
        scenes += [step.scene, said.apply(step.scene), after.scene]
        history.append(step.action)
    if scenes:
        old, predicted, true = encoder.encode(scenes).reshape(-1, 3, encoder.dimension).transpose(1, 0, 2)
        report.predicted_distance += distance(predicted, true).tolist()
        report.still_distance += distance(old, true).tolist()


def _count(report: TransitionReport, said: set[tuple[bool, Fact]], true: set[tuple[bool, Fact]]) -> None:
    report.true_positives += len(said & true)
    report.false_positives += len(said - true)
    report.false_negatives += len(true - said)


def _told(domain: Domain, before: SceneGraph, after: SceneGraph, action: GroundAction) -> bool:
    """Return whether the domain's T says exactly what becomes of the things that are known before."""
    try:
        state, then = symbolic_state(before, domain), symbolic_state(after, domain)
    except DomainError:
        return False
    if not is_applicable(domain, state, action):
        return False
    known = {*state.objects, *domain.constants}
    true = {atom for atom in then.atoms if known.issuperset(atom.arguments)}
    return true == set(successor(domain, state, action).atoms)
