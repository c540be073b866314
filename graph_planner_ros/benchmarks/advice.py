"""How much advice from experience is worth: the same tasks with and without it, and with a bank that misleads.

Every task is played by every variant of the planner, one after the other; what is compared are pairs. The homes of the
bank's episodes and those of the tasks have no layout in common, which is checked and shown.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graph_planner_ros.benchmarks.statistics import ROUNDS, Interval, mcnemar, wilson
from graph_planner_ros.memory.experience import Episode, EpisodeStatus

BANK = 50
"""Episodes of a bank."""
NO_ADVICE, ADVICE, MISLED = "no advice", "advice", "misled"
PLACES_ONLY, ACTIONS_ONLY = "places only", "actions only"


@dataclass(frozen=True)
class Variant:
    """A way to play.

    Attributes:
        prior: use the prior that the domain has learned. bank: `NO_ADVICE`, `ADVICE` or `MISLED`.
        places, actions: what of the advice is used.
    """

    prior: bool
    bank: str
    places: bool = True
    actions: bool = True

    @property
    def advice(self) -> str:
        """What advises, in words."""
        if self.bank != ADVICE or (self.places and self.actions):
            return self.bank
        return PLACES_ONLY if self.places else ACTIONS_ONLY

    @property
    def name(self) -> str:
        """Name for tables."""
        return f"{'with' if self.prior else 'without'} prior, {self.advice}"


def variants(priors: Iterable[bool], ablations: bool = False) -> tuple[Variant, ...]:
    """Return what is compared, for each choice about the prior: without advice, with it, misled, and parts of it."""
    found: list[Variant] = []
    for prior in priors:
        found += [Variant(prior, NO_ADVICE), Variant(prior, ADVICE), Variant(prior, MISLED)]
        if ablations:
            found += [Variant(prior, ADVICE, actions=False), Variant(prior, ADVICE, places=False)]
    return tuple(found)


@dataclass(frozen=True)
class Played:
    """What came of a task in one variant; ``steps`` is the limit where it was not solved."""

    steps: int
    solved: bool


@dataclass
class Comparison:
    """One variant against the one without advice.

    Attributes:
        name: of the variant. count: tasks. steps, base_steps: means. change: of the mean steps, as a part of the mean
            without advice; with its 95 % interval over tasks. success, base_success: rates with Wilson's interval.
        only_base, only_this: tasks that only one of the two solved. p: McNemar's exact test of that.
    """

    name: str
    count: int
    steps: float
    base_steps: float
    change: Interval
    success: Interval
    base_success: Interval
    only_base: int
    only_this: int
    p: float


@dataclass
class AdviceReport:
    """What came of all.

    Attributes:
        world: of the tasks. bank: episodes in each bank. banks: layouts of a bank -> layouts that were tested with it.
        left_out: tasks that could not be played, with the reason. rows: task -> variant -> what came of it.
        comparisons: see `Comparison`. shortest: mean of the shortest solutions, where the world knows them.
    """

    world: str
    bank: int
    banks: list[tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    rows: dict[str, dict[Variant, Played]] = field(default_factory=dict)
    comparisons: list[Comparison] = field(default_factory=list)
    shortest: float | None = None

    def compare(self) -> None:
        """Fill in the comparisons from the rows."""
        self.comparisons = []
        found = list(dict.fromkeys(variant for row in self.rows.values() for variant in row))
        for variant in found:
            base = Variant(variant.prior, NO_ADVICE)
            if variant != base:
                pairs = [(row[base], row[variant]) for row in self.rows.values() if base in row and variant in row]
                if pairs:
                    self.comparisons.append(compare_pairs(variant.name, pairs))

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        return {
            "world": self.world,
            "bank": self.bank,
            "banks": [{"bank": list(bank), "tested": list(tested)} for bank, tested in self.banks],
            "left_out": self.left_out,
            "shortest": self.shortest,
            "comparisons": [
                {**vars(item), **{k: vars(v) for k, v in vars(item).items() if isinstance(v, Interval)}}
                for item in self.comparisons
            ],
            "rows": {
                task: {variant.name: [played.steps, played.solved] for variant, played in row.items()}
                for task, row in self.rows.items()
            },
        }


def compare_pairs(name: str, pairs: Sequence[tuple[Played, Played]], rounds: int = ROUNDS) -> Comparison:
    """Compare a variant with the one without advice; ``pairs`` are (without, with) of each task.

    Raises:
        ValueError: there are none.
    """
    if not pairs:
        raise ValueError("there is nothing to compare: no task was played by both")
    base = np.array([first.steps for first, _ in pairs], dtype=float)
    steps = np.array([second.steps for _, second in pairs], dtype=float)
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(pairs), (rounds, len(pairs)))
    ratios = steps[drawn].mean(axis=1) / base[drawn].mean(axis=1) - 1.0
    low, high = np.percentile(ratios, [2.5, 97.5])
    change = Interval(float(steps.mean() / base.mean() - 1.0), float(low), float(high), len(pairs))
    only_base = sum(first.solved and not second.solved for first, second in pairs)
    only_this = sum(second.solved and not first.solved for first, second in pairs)
    return Comparison(
        name,
        len(pairs),
        float(steps.mean()),
        float(base.mean()),
        change,
        wilson(sum(second.solved for _, second in pairs), len(pairs)),
        wilson(sum(first.solved for first, _ in pairs), len(pairs)),
        only_base,
        only_this,
        mcnemar(only_base, only_this),
    )


# ---- banks


def choose_bank(
    episodes: Iterable[Episode], tested: Collection[str], count: int = BANK, seed: int = 0
) -> list[Episode]:
    """Return ``count`` solved episodes from homes that are not tested.

    Raises:
        ValueError: there are fewer.
    """
    found = [
        episode
        for episode in episodes
        if episode.header.status is EpisodeStatus.SUCCEEDED and episode.header.layout not in tested
    ]
    if len(found) < count:
        raise ValueError(
            f"a bank needs {count} solved episodes from other homes than those tested; there are {len(found)}"
        )
    found.sort(key=lambda episode: (episode.header.origin, episode.header.episode_id))
    return random.Random(seed).sample(found, count)


def check_apart(bank: Iterable[Episode], tested: Collection[str]) -> tuple[str, ...]:
    """Return the layouts of a bank.

    Raises:
        ValueError: one of them is tested.
    """
    layouts = sorted({episode.header.layout for episode in bank})
    both = sorted(set(layouts) & set(tested))
    if both:
        raise ValueError(f"layouts of the bank are tested as well: {', '.join(both)}")
    return tuple(layouts)


@dataclass
class Setting:
    """A bank and the tasks that are played with it.

    Attributes:
        bank: its episodes. tested: layouts of the tasks. tasks: their names. play: plays one in one variant; raises
            `SkippedError` if it cannot be played at all.
        shortest: task -> actions of whoever knows where everything is.
    """

    bank: list[Episode]
    tested: frozenset[str]
    tasks: list[str]
    play: Callable[[str, Variant], Played]
    shortest: dict[str, int] = field(default_factory=dict)


class SkippedError(RuntimeError):
    """A task that cannot be played by anybody; the message says why."""


def run_settings(
    report: AdviceReport,
    settings: Iterable[Setting],
    chosen: Sequence[Variant],
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[str, dict[Variant, Played]]]:
    """Play every task in every variant, fill in the report, and yield each task as it is done."""
    shortest: list[int] = []
    for setting in settings:
        report.banks.append((check_apart(setting.bank, setting.tested), tuple(sorted(setting.tested))))
        for task in setting.tasks:
            if stop():
                report.compare()
                return
            try:
                row = {variant: setting.play(task, variant) for variant in chosen}
            except SkippedError as error:
                report.left_out[task] = str(error)
                continue
            report.rows[task] = row
            if task in setting.shortest:
                shortest.append(setting.shortest[task])
                report.shortest = sum(shortest) / len(shortest)
            yield task, row
    report.compare()
