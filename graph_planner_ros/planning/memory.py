"""MemPlan's two memories: where things of a kind tend to be, and where they were looked for in vain.

Positive memory prices hypotheses, negative memory excludes them (MemPlan 3.2, 3.3, A.6). Beyond the paper,
refutations have a confidence that fades, are withdrawn when later evidence contradicts them, and those that are not
certain can be relaxed when nothing else is left.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.planning.prior import Prior, domain_prior
from graph_planner_ros.planning.storage import StoredMemoryError, read_json, write_json

KAPPA_BASE = 1.0
LAMBDA = 10.0
TAU = 0.5
_GOAL_WEIGHT = 0.2
_RANK_STEP = 0.15
_WORD = re.compile(r"[^\W_]+", re.UNICODE)


@dataclass
class PositiveMemory:
    """A graph of labels and the places where they were seen together, with the domain's YAML as its prior.

    The cost of the hypothesis that a thing is in a place is ``kappa_base + lambda * (1 - relevance)``. Relevance is the
    cosine of the query (goal text and missing thing) with a document of the place's one-hop neighbourhood, or what a
    learned prior says where the domain has one (`prior.Prior.chance`), min-max normalised over the candidates.

    Attributes:
        kappa_base, scale: the constants of the cost (the paper's kappa_base and lambda).
        tau: edges weaker than this (0..1) do not belong to the neighbourhood.
        seen: (label, place instance) -> number of times seen there.
        use_prior: let the learned prior speak where the domain has one.
        learned: a learned prior instead of the domain's.
    """

    domain: Domain
    kappa_base: float = KAPPA_BASE
    scale: float = LAMBDA
    tau: float = TAU
    seen: dict[tuple[str, str], float] = field(default_factory=dict)
    use_prior: bool = True
    learned: Prior | None = None
    _places: dict[str, str] = field(default_factory=dict)
    _last: dict[str, str] = field(default_factory=dict)
    _tokens: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _documents: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)

    def observe(self, sightings: Iterable[tuple[str, str, str, str]]) -> None:
        """Remember what was seen where.

        Args:
            sightings: (instance, its label, place, the place's label); the same thing in the same place counts once
                until it is seen elsewhere.
        """
        for instance, label, place, place_label in sightings:
            self._places[place] = place_label
            if self._last.get(instance) != place:
                self._last[instance] = place
                self.seen[label, place] = self.seen.get((label, place), 0.0) + 1.0
                self._documents.clear()

    def costs(
        self,
        goal_text: str,
        label: str,
        places: Mapping[str, str],
        hints: Mapping[str, float] | None = None,
    ) -> dict[str, float]:
        """Return place -> cost of the hypothesis that a thing of class ``label`` is there.

        Args:
            goal_text: the instruction or goal in words. label: class of the missing thing.
            places: candidate place -> its label.
            hints: place -> relevance (0..1) known from elsewhere, e.g. where it was last seen; places without a hint
                then count half, as knowing is better than guessing.
        """
        relevance = self.relevance(goal_text, label, places)
        known = {place: value for place, value in (hints or {}).items() if place in relevance}
        if known:
            relevance = {place: known.get(place, 0.5 * value) for place, value in relevance.items()}
        return {place: self.kappa_base + self.scale * (1.0 - value) for place, value in relevance.items()}

    def relevance(self, goal_text: str, label: str, places: Mapping[str, str]) -> dict[str, float]:
        """Return place -> relevance 0..1, min-max normalised over the places (all 1 if they are all the same)."""
        prior = self._prior(label)
        if prior is not None:
            raw = {place: prior.chance(label, place_label) for place, place_label in places.items()}
        else:
            query = self._query(goal_text, label)
            raw = {place: _cosine(query, self._document(place, place_label)) for place, place_label in places.items()}
        if not raw:
            return {}
        low, high = min(raw.values()), max(raw.values())
        if high - low < 1e-9:
            return dict.fromkeys(raw, 1.0)
        return {place: (value - low) / (high - low) for place, value in raw.items()}

    def is_learned(self, label: str) -> bool:
        """Return whether what is said of things of a class rests on a learned prior."""
        return self._prior(label) is not None

    def _prior(self, label: str) -> Prior | None:
        prior = (self.learned or domain_prior(self.domain)) if self.use_prior else None
        return prior if prior is not None and prior.knows(label) else None

    def _query(self, goal_text: str, label: str) -> dict[str, float]:
        query: dict[str, float] = {}
        for token in _words(goal_text):
            query[token] = query.get(token, 0.0) + _GOAL_WEIGHT
        for token in self._label_tokens(label):
            query[token] = query.get(token, 0.0) + 1.0
        return query

    def _document(self, place: str, place_label: str) -> dict[str, float]:
        """Return token -> weight of what is next to a place in the graph."""
        document = self._documents.get((place, place_label))
        if document is None:
            document = self._documents[place, place_label] = self._make_document(place, place_label)
        return document

    def _make_document(self, place: str, place_label: str) -> dict[str, float]:
        edges: dict[str, float] = {}
        for entry in self.domain.classes.values():
            if place_label in entry.likely_in:
                edges[entry.name] = max(0.0, 1.0 - _RANK_STEP * entry.likely_in.index(place_label))
        for (label, other), count in self.seen.items():
            if other == place:
                edges[label] = edges.get(label, 0.0) + 2.0 * count / (count + 1.0)
            elif self._places.get(other) == place_label:
                edges[label] = edges.get(label, 0.0) + 0.5 * count / (count + 1.0)
        document: dict[str, float] = {}
        for label, weight in edges.items():
            if weight >= self.tau:
                for token in self._label_tokens(label):
                    document[token] = document.get(token, 0.0) + weight
        return document

    def _label_tokens(self, label: str) -> tuple[str, ...]:
        tokens = self._tokens.get(label)
        if tokens is None:
            entry = self.domain.classes.get(label)
            tokens = (label.lower(), *(_words(entry.words[0]) if entry and entry.words else ()))
            self._tokens[label] = tokens
        return tokens

    def save(self, path: Path) -> None:
        """Write the memory to a JSON file, atomically."""
        seen = [[label, place, count] for (label, place), count in sorted(self.seen.items())]
        write_json(path, {"kind": "positive memory", "places": self._places, "last": self._last, "seen": seen})

    def load(self, path: Path) -> None:
        """Replace what is remembered by the content of a file.

        Raises:
            FileNotFoundError, StoredMemoryError: naming the file.
        """
        content = read_json(path, "positive memory")
        try:
            seen = {(str(label), str(place)): float(count) for label, place, count in content["seen"]}
            places, last = dict(content["places"]), dict(content["last"])
        except (KeyError, TypeError, ValueError) as error:
            raise StoredMemoryError(f"{path} is not a readable positive memory: {error!r}") from error
        self.seen, self._places, self._last = seen, places, last
        self._documents.clear()


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _cosine(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    dot = sum(weight * second.get(token, 0.0) for token, weight in first.items())
    norms = math.sqrt(sum(w * w for w in first.values()) * sum(w * w for w in second.values()))
    return dot / norms if norms > 0.0 else 0.0


@dataclass
class Refutation:
    """Evidence that no thing of a kind is in a place.

    Attributes:
        what: class name, or instance id where one instance was meant. place: instance id of the place.
        confidence: 0..1 at ``stamp`` [s of ROS time]. relaxations: how often it was given up for lack of alternatives.
        relaxed: it is given up at present. earlier: it was made in a task before the present one.
        known: things of the kind that were known to be there: there is no *other* one.
    """

    what: str
    place: str
    confidence: float
    stamp: float
    relaxations: int = 0
    relaxed: bool = False
    known: tuple[str, ...] = ()
    earlier: bool = False


DOUBTFUL = 0.7
"""Default confidence below which a refutation is not certain: looking into an open container or at a surface from
close gives more (`session.FOUND_NOTHING_CONFIDENCE`, `supposing.OBSERVED_CONFIDENCE`), unless perception says that it
saw only a part; that a thing was not where it was believed to be gives less (`tracking`)."""
MAX_LOOKS_AGAIN = 3
"""Default number of places that a task looks at once more because the first look was not certain."""


class NegativeMemory:
    """What was refuted by looking or trying.

    Args:
        half_life: seconds after which a refutation is half as certain.
        threshold: a refutation that is less certain than this no longer excludes anything.
        max_relaxations: how often one refutation may be given up in one task.
        doubtful: only refutations that were less certain than this when they were made are given up; those of earlier
            tasks are whatever they were, as people may have brought things since.
        max_looks_again: how many refutations of the present task may be given up in it.
    """

    def __init__(
        self,
        half_life: float = 1800.0,
        threshold: float = 0.25,
        max_relaxations: int = 1,
        doubtful: float = DOUBTFUL,
        max_looks_again: int = MAX_LOOKS_AGAIN,
    ) -> None:
        if half_life <= 0.0 or not (0.0 <= threshold <= 1.0 and 0.0 <= doubtful <= 1.0):
            raise ValueError(
                "negative memory expects half_life > 0, 0 <= threshold <= 1 and 0 <= doubtful <= 1, "
                f"got {half_life}, {threshold} and {doubtful}"
            )
        if max_relaxations < 0 or max_looks_again < 0:
            raise ValueError(
                "negative memory expects max_relaxations >= 0 and max_looks_again >= 0, "
                f"got {max_relaxations} and {max_looks_again}"
            )
        self.half_life = half_life
        self.threshold = threshold
        self.max_relaxations = max_relaxations
        self.doubtful = doubtful
        self.max_looks_again = max_looks_again
        self._looks_again = 0
        self._moot: dict[str, float] = {}
        self._entries: dict[tuple[str, str], Refutation] = {}

    def refute(self, what: str, place: str, confidence: float, stamp: float, known: Iterable[str] = ()) -> None:
        """Note that no ``what`` but those in ``known`` is in ``place``; newer evidence replaces older.

        Evidence from before the last `withdraw_before` is not taken.
        """
        before = self._entries.get((what, place))
        if (before is not None and before.stamp > stamp) or stamp < self._moot.get(what, stamp):
            return
        relaxations = before.relaxations if before is not None and not before.earlier else 0
        certainty = min(max(confidence, 0.0), 1.0)
        self._entries[what, place] = Refutation(what, place, certainty, stamp, relaxations, known=tuple(sorted(known)))

    def get(self, what: str, place: str) -> Refutation | None:
        """Return what is remembered about a pair, relaxed or not."""
        return self._entries.get((what, place))

    def confidence(self, what: str, place: str, now: float) -> float:
        """Return how certain it is at present that ``what`` is not in ``place``; 0 if nothing is known."""
        entry = self._entries.get((what, place))
        if entry is None or entry.relaxed:
            return 0.0
        return float(entry.confidence * 0.5 ** (max(0.0, now - entry.stamp) / self.half_life))

    def is_refuted(self, what: str, place: str, now: float) -> bool:
        """Return whether the hypothesis is excluded at present."""
        confidence = self.confidence(what, place, now)
        return confidence > 0.0 and confidence >= self.threshold

    def contradict(self, what: str, place: str, stamp: float, thing: str = "") -> bool:
        """Withdraw a refutation because ``thing``, a ``what``, was seen there later; return whether there was one."""
        entry = self._entries.get((what, place))
        if entry is None or stamp <= entry.stamp or thing in entry.known:
            return False
        del self._entries[what, place]
        return True

    def withdraw_before(self, what: str, stamp: float) -> int:
        """Withdraw what was refuted before ``stamp``, and return how much: a ``what`` was seen then, and has gone.

        Where it was not before it went, it may be now.
        """
        self._moot[what] = max(stamp, self._moot.get(what, stamp))
        moot = [key for key, entry in self._entries.items() if key[0] == what and entry.stamp < stamp]
        for key in moot:
            del self._entries[key]
        return len(moot)

    def relax(self, what: str, places: Sequence[str], now: float) -> Refutation | None:
        """Give up the least certain refutation of ``what`` that may be given up; None if there is none."""
        entries = [entry for place in places if (entry := self._entries.get((what, place))) is not None]
        choices = [entry for entry in entries if self._may_relax(entry)]
        if not choices:
            return None
        weakest = min(choices, key=lambda entry: (self.confidence(what, entry.place, now), entry.stamp, entry.place))
        self._looks_again += not weakest.earlier
        weakest.relaxed = True
        weakest.relaxations += 1
        return weakest

    def _may_relax(self, entry: Refutation) -> bool:
        if entry.relaxed or entry.relaxations >= self.max_relaxations:
            return False
        return entry.earlier or (entry.confidence < self.doubtful and self._looks_again < self.max_looks_again)

    def new_task(self) -> None:
        """Take what is remembered as found out in an earlier task, so that all of it may be looked at again."""
        self._looks_again = 0
        for entry in self._entries.values():
            entry.relaxations = 0
            entry.earlier = True

    def clock_went_back(self, now: float) -> None:
        """Take evidence from a later time than ``now`` as made now: time has jumped back."""
        for entry in self._entries.values():
            entry.stamp = min(entry.stamp, now)
        self._moot = {what: min(stamp, now) for what, stamp in self._moot.items()}

    def __len__(self) -> int:
        return len(self._entries)

    def save(self, path: Path) -> None:
        """Write the memory to a JSON file, atomically."""
        entries = [asdict(entry) for _, entry in sorted(self._entries.items())]
        write_json(path, {"kind": "negative memory", "refutations": entries})

    def load(self, path: Path) -> None:
        """Replace what is remembered by the content of a file.

        Raises:
            FileNotFoundError, StoredMemoryError: naming the file.
        """
        content = read_json(path, "negative memory")
        try:
            entries = [_refutation(entry) for entry in content["refutations"]]
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise StoredMemoryError(f"{path} is not a readable negative memory: {error!r}") from error
        self._entries = {(entry.what, entry.place): entry for entry in entries}


def _refutation(entry: Mapping[str, Any]) -> Refutation:
    """Return what a file says, checked: a wrong number would only be noticed in the middle of a task."""
    found = Refutation(**{**entry, "known": tuple(map(str, entry["known"]))})
    if not (isinstance(found.what, str) and isinstance(found.place, str)):
        raise ValueError(f"expected names, found {found.what!r} and {found.place!r}")
    if not (0.0 <= float(found.confidence) <= 1.0 and math.isfinite(float(found.stamp))):
        raise ValueError(f"expected a confidence from 0 to 1 and a finite stamp, found {entry!r}")
    if not isinstance(found.relaxations, int) or not all(isinstance(x, bool) for x in (found.relaxed, found.earlier)):
        raise ValueError(f"expected a count and true or false, found {entry!r}")
    found.confidence, found.stamp = float(found.confidence), float(found.stamp)
    return found
