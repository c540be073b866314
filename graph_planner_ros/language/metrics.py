"""How good an interface is: precision, recall and F1 of accepted facts, top-1 grounding, and what goes wrong.

Metrics and categories are those of MemPlan B.6 and B.7. Intervals are percentile bootstraps that draw whole games.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.domain.symbols import Atom
from graph_planner_ros.language.interface import CommandGrounder, ObservationParser, ParsedObservation
from graph_planner_ros.language.pairs import CommandPair, FactPair, PairFile

ROUNDS = 10_000
OMISSION = "omission"
HALLUCINATION = "hallucination"
ENTITY_MISMATCH = "entity_mismatch"
PREDICATE_MISMATCH = "predicate_mismatch"
GROUNDING_MISMATCH = "grounding_mismatch"
NO_SAFE_GROUNDING = "no_safe_grounding"
UNSAFE_GROUNDING = "unsafe_grounding"
"""The command that carries out the action was not there, and another one was chosen."""
Literal = tuple[Atom, bool]


@dataclass(frozen=True)
class Figure:
    """A figure with its 95 % interval; ``count`` is the number of things that were judged, ``games`` of games drawn."""

    value: float
    low: float
    high: float
    count: int
    games: int


@dataclass
class GameCounts:
    """Counts of one game.

    Attributes:
        right, wrong, missed: accepted facts that are in the reference and that are not, and those of the reference that
            were not accepted. observations, exact: observations, and those whose facts and flags are all as in the
            reference. asked, grounded: actions, and those with the right command. absent, rejected: actions whose
            command was taken from the list, and those for which no other command was chosen then.
            named, met: things of the reference that were not known before, and those that were read with their class.
    """

    right: int = 0
    wrong: int = 0
    missed: int = 0
    observations: int = 0
    exact: int = 0
    asked: int = 0
    grounded: int = 0
    absent: int = 0
    rejected: int = 0
    named: int = 0
    met: int = 0


@dataclass
class Evaluation:
    """Everything that was counted.

    Attributes:
        games: (group, game) -> counts. errors: category -> count. refused: category of refusal -> count.
        examples: category -> up to five sentences that show it.
    """

    games: dict[tuple[str, str], GameCounts] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    @property
    def groups(self) -> tuple[str, ...]:
        """Task types, sorted."""
        return tuple(sorted({group for group, _ in self.games}))

    def figures(self, group: str | None = None, rounds: int = ROUNDS, seed: int = 0) -> dict[str, Figure]:
        """Return precision, recall, f1, exact, grounding, rejection and objects, of all games or of one group."""
        rows = [counts for (of, _), counts in sorted(self.games.items()) if group in (None, of)]
        table = np.array([[getattr(row, name) for name in _COLUMNS] for row in rows], dtype=float)
        table = table.reshape(len(rows), len(_COLUMNS))
        if not len(table):
            return {}
        rng = np.random.default_rng(seed)
        weights = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=rounds).astype(float)
        drawn, total = weights @ table, table.sum(axis=0)
        return {
            name: _figure(metric, total, drawn, int(sum(total[i] for i in judged)), len(rows))
            for name, (metric, judged) in _METRICS.items()
        }

    def add_example(self, category: str, text: str) -> None:
        """Count an error and keep what shows it."""
        self.errors[category] += 1
        kept = self.examples.setdefault(category, [])
        if len(kept) < 5 and text not in kept:
            kept.append(text)

    def counts(self, pair: FactPair | CommandPair) -> GameCounts:
        """Return the counts of a pair's game."""
        return self.games.setdefault((pair.origin.group, pair.origin.game), GameCounts())


def evaluate(parser: ObservationParser, grounder: CommandGrounder, pairs: PairFile) -> Evaluation:
    """Judge an interface by pairs; every text is read in the context of the reference."""
    evaluation = Evaluation()
    for pair in pairs.facts:
        _judge_facts(evaluation, pair, parser.parse(pair.text, pair.context))
    for command in pairs.commands:
        if not command.observing:
            _judge_command(evaluation, command, grounder)
    return evaluation


def _judge_facts(evaluation: Evaluation, pair: FactPair, parsed: ParsedObservation) -> None:
    counts = evaluation.counts(pair)
    wanted = {(fact.atom, fact.positive) for fact in pair.parsed.facts}
    found = {(fact.atom, fact.positive) for fact in parsed.facts}
    counts.right += len(found & wanted)
    counts.wrong += len(found - wanted)
    counts.missed += len(wanted - found)
    counts.observations += 1
    counts.exact += found == wanted and _flags(parsed) == _flags(pair.parsed)
    new = {name: label for name, label in pair.parsed.objects.items() if name not in pair.context.objects}
    counts.named += len(new)
    counts.met += sum(parsed.objects.get(name) == label for name, label in new.items())
    evaluation.refused.update(refusal.error.value for refusal in parsed.refused)
    missed = wanted - found
    for literal in sorted(found - wanted, key=str):
        category, partner = _mismatch(literal, missed)
        missed.discard(partner)
        evaluation.add_example(category, f"{_text(literal)} from {pair.text[:200]!r}")
    for literal in sorted(missed, key=str):
        evaluation.add_example(OMISSION, f"{_text(literal)} in {pair.text[:200]!r}")


def _flags(parsed: ParsedObservation) -> tuple[bool, frozenset[str], frozenset[str]]:
    return parsed.failed, parsed.complete, parsed.complete_places


def _mismatch(literal: Literal, missed: Iterable[Literal]) -> tuple[str, Literal]:
    """Return what is wrong with a fact, and the missed one that it stands for, if any."""
    (atom, _), others = literal, sorted(missed, key=str)
    for other in others:
        if other[0].arguments == atom.arguments:
            return PREDICATE_MISMATCH, other
    for other in others:
        if other[0].predicate == atom.predicate and len(other[0].arguments) == len(atom.arguments):
            return ENTITY_MISMATCH, other
    return HALLUCINATION, literal


def _text(literal: Literal) -> str:
    return f"{'' if literal[1] else 'not '}{literal[0]}"


def _judge_command(evaluation: Evaluation, pair: CommandPair, grounder: CommandGrounder) -> None:
    counts = evaluation.counts(pair)
    grounding = grounder.ground(pair.action, pair.context)
    counts.asked += 1
    if grounding.command == pair.command:
        counts.grounded += 1
    elif grounding.command is None:
        evaluation.add_example(NO_SAFE_GROUNDING, f"{pair.action} is {pair.command!r}: {grounding.reason}")
    else:
        evaluation.add_example(GROUNDING_MISMATCH, f"{pair.action} is {pair.command!r}, not {grounding.command!r}")
    if pair.command and pair.command in pair.context.commands:
        others = tuple(command for command in pair.context.commands if command != pair.command)
        counts.absent += 1
        wrong = grounder.ground(pair.action, replace(pair.context, commands=others)).command if others else None
        counts.rejected += wrong is None
        if wrong is not None:
            evaluation.add_example(UNSAFE_GROUNDING, f"{pair.action} without {pair.command!r} is {wrong!r}")


# -- figures ----------------------------------------------------------------------------------------------------------

_COLUMNS = (
    "right",
    "wrong",
    "missed",
    "observations",
    "exact",
    "asked",
    "grounded",
    "absent",
    "rejected",
    "named",
    "met",
)
Metric = Callable[[NDArray[np.float64]], NDArray[np.float64]]
_METRICS: Mapping[str, tuple[Metric, Sequence[int]]] = {
    "precision": (lambda t: _share(t[..., 0], t[..., 0] + t[..., 1]), (0, 1)),
    "recall": (lambda t: _share(t[..., 0], t[..., 0] + t[..., 2]), (0, 2)),
    "f1": (lambda t: _share(2 * t[..., 0], 2 * t[..., 0] + t[..., 1] + t[..., 2]), (0, 2)),
    "exact": (lambda t: _share(t[..., 4], t[..., 3]), (3,)),
    "grounding": (lambda t: _share(t[..., 6], t[..., 5]), (5,)),
    "rejection": (lambda t: _share(t[..., 8], t[..., 7]), (7,)),
    "objects": (lambda t: _share(t[..., 10], t[..., 9]), (9,)),
}


def _share(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(whole > 0, part / whole, np.nan)


def _figure(metric: Metric, total: NDArray[np.float64], drawn: NDArray[np.float64], count: int, games: int) -> Figure:
    values = metric(drawn)
    values = values[~np.isnan(values)]
    low, high = np.percentile(values, [2.5, 97.5]) if len(values) else (np.nan, np.nan)
    return Figure(float(metric(total)), float(low), float(high), count, games)
