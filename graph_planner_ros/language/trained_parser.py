"""Observation texts read by a model that was trained on (observation, facts) pairs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Goal
from graph_planner_ros.language.checking import check_fact
from graph_planner_ros.language.interface import (
    Context,
    GoalLearner,
    ObservationParser,
    ObservedFact,
    ParsedObservation,
    ParseError,
    Refusal,
)
from graph_planner_ros.language.rules import MAX_REFUSED, unreadable
from graph_planner_ros.language.rules_names import Mention
from graph_planner_ros.language.rules_patterns import Page
from graph_planner_ros.language.trained_classifier import Floats, Softmax, hashed, matrix, ngrams
from graph_planner_ros.language.trained_labels import (
    COMPLETE,
    FAILED,
    PLACE,
    Key,
    Label,
    Situation,
    Template,
    instantiate,
    made_after,
    made_names,
    slots_said,
)
from graph_planner_ros.language.trained_lifting import Lifted, read_lifted, read_quality
from graph_planner_ros.language.trained_offers import COMMAND, MAX_OFFERS, OFFER, OfferModel, offer_sentence, offered
from graph_planner_ros.language.trained_text import (
    QUALITY,
    NameModel,
    Sentence,
    read_sentence,
    sentences,
    spans,
)

SPECIAL = (COMMAND, OFFER, QUALITY)
"""First tokens of what is no sentence of a text."""
_SPACE = re.compile(r"\s+")


@dataclass
class ParserModel:
    """What was learned.

    Attributes:
        names: how things are named. frames: known sentence without names -> number of its label.
        labels: what sentences say; the first one is nothing. classifier: of sentences that are not known.
        lifted: sentences about actions that hold for every action, see `trained_lifting`.
        offers: what admissible commands tell; None if they tell nothing. places: sentences in which new names stand.
        made: how things are named after others -> their class.
        confidence, likeness: least probability of a label, and least likeness to a known sentence, to be accepted.
    """

    names: NameModel
    frames: dict[str, int]
    labels: list[Label]
    classifier: Softmax
    lifted: dict[str, Lifted] = field(default_factory=dict)
    offers: OfferModel | None = None
    places: OfferModel = field(default_factory=OfferModel)
    made: dict[str, str] = field(default_factory=dict)
    confidence: float = 0.5
    likeness: float = 0.5

    def plain(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "names": self.names.plain(),
            "frames": self.frames,
            "labels": [
                [[t.predicate, [list(a) for a in t.arguments], t.positive, list(t.unless), t.kind] for t in label]
                for label in self.labels
            ],
            "classifier": self.classifier.plain(),
            "lifted": {frame: item.plain() for frame, item in self.lifted.items()},
            "offers": self.offers.plain() if self.offers else None,
            "places": self.places.plain(),
            "made": self.made,
            "confidence": self.confidence,
            "likeness": self.likeness,
        }

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> ParserModel:
        """Read what `plain` made."""
        labels = [
            tuple(
                Template(
                    name, tuple((str(source), value) for source, value in args), bool(positive), tuple(unless), kind
                )
                for name, args, positive, unless, kind in label
            )
            for label in plain["labels"]
        ]
        return ParserModel(
            NameModel.from_plain(plain["names"]),
            {str(frame): int(number) for frame, number in plain["frames"].items()},
            labels,
            Softmax.from_plain(plain["classifier"]),
            {str(frame): Lifted.from_plain(item) for frame, item in plain["lifted"].items()},
            OfferModel.from_plain(plain["offers"]) if plain["offers"] else None,
            OfferModel.from_plain(plain["places"]),
            dict(plain["made"]),
            float(plain["confidence"]),
            float(plain["likeness"]),
        )


@dataclass(frozen=True)
class _Reading:
    """What the model makes of a sentence: its label and how sure it is."""

    label: Label
    score: float


class TrainedParser:
    """Reads observations with a model; goals are read by another parser, since there is one of them in a game.

    Args:
        domain: every fact is checked against it. model: what was learned. goals: reads goals.
    """

    def __init__(self, domain: Domain, model: ParserModel, goals: ObservationParser) -> None:
        self._domain = domain
        self.model = model
        self._goals = goals
        self._known = list(model.frames)
        rows = [hashed(ngrams(frame.split(" "))) for frame in self._known]
        self._rows = matrix(rows)
        self._memo: dict[str, tuple[Floats, float]] = {}
        self._words: dict[int, set[str]] = {}
        for frame, number in model.frames.items():
            self._words.setdefault(number, set()).update(frame.split(" "))
        self._spoken = frozenset(template.predicate for label in model.labels for template in label)

    def goals(self, text: str, context: Context) -> tuple[Goal, ...]:
        """Read a goal; see `ObservationParser`."""
        return self._goals.goals(text, context)

    def learned(self, text: str, context: Context, urgent: bool = False) -> tuple[Goal, ...]:
        """Read what an observation adds to the goals, if the other parser can; see `GoalLearner`."""
        return self._goals.learned(text, context, urgent) if isinstance(self._goals, GoalLearner) else ()

    def parse(self, text: str, context: Context) -> ParsedObservation:
        """Read a text; see `ObservationParser`."""
        problem = unreadable(text)
        if problem is not None:
            return ParsedObservation(refused=(problem,))
        names = self.model.names.names(self._domain, context.objects)
        model = self.model
        if model.offers is not None:
            offers = model.offers.read(self._domain, names, context.commands)
        else:  # they tell no facts, but what can be handled is there
            offers = [offer_sentence(Page(command[:300], names, False)) for command in context.commands[:MAX_OFFERS]]
        command = command_sentence(Page(context.command[:1000], names, qualities=False))
        page = Page(text, names)
        model.places.discover(self._domain, names, page, spans(page))
        found = sentences(page)
        about = offered(offers)
        readings = [self._read(sentence) for sentence in found]
        failed = any(t.predicate == FAILED for reading in readings for t in reading.label)
        collect = _Collector(self._domain, names.classes, context.location, model.made)
        understood = any(_answers(*pair) for pair in zip(found, readings, strict=True))
        before = last_named(command, "")
        if context.command and not failed and understood:
            reading = self._read(command)
            collect.add(command, reading, Situation(collect.here, "", about), (0, 0))
        said = False
        for sentence, reading in zip(found, readings, strict=True):
            if sentence.tokens[0] != QUALITY:
                said = bool(reading.label)
            elif not said:
                continue  # a word before a name counts where the sentence around it says something
            span = (page.origin[sentence.start], page.origin[sentence.end])
            collect.add(sentence, reading, Situation(collect.here, before, about), span)
            if reading.score == 0 and sentence.slots:
                collect.refuse(ParseError.NOT_UNDERSTOOD, page.text[sentence.start : sentence.end][:200])
            before = last_named(sentence, before)
        for offer in offers:
            collect.add(offer, self._read(offer), Situation(collect.here, "", about), (0, 0))
        return replace(collect.parsed(found, offers, text), answered=understood)

    # -- one sentence -----------------------------------------------------------------------------------------------

    def _read(self, sentence: Sentence) -> _Reading:
        """Return what a sentence says; score 0 if the model does not know."""
        frame = sentence.frame
        state = read_quality(self._domain, sentence) if sentence.tokens else None
        if state is not None:
            return _Reading(state, 1.0)
        number = self.model.frames.get(frame)
        if number is not None:
            return _Reading(self.model.labels[number], 1.0)
        lifted = read_lifted(self._domain, self.model.lifted, self._spoken, sentence)
        if lifted is not None:
            return _Reading(lifted, 0.9)
        if not sentence.tokens or sentence.tokens[0] in SPECIAL or len(sentence.tokens) > 200:
            return _Reading((), 0.0)
        probabilities, likeness = self._judge(frame, sentence)
        number = int(np.argmax(probabilities))
        score = float(probabilities[number]) * likeness
        label = self.model.labels[number]
        if not self._words.get(number, set()).issuperset(sentence.tokens):
            return _Reading((), 0.0)  # a word that sentences of this meaning never had may deny it
        if probabilities[number] < self.model.confidence or likeness < self.model.likeness or not label:
            return _Reading((), 0.0)
        if any(int(value) >= len(sentence.slots) for t in label for kind, value in t.arguments if kind == "slot"):
            return _Reading((), 0.0)
        return _Reading(label, min(score, 0.99))

    def _judge(self, frame: str, sentence: Sentence) -> tuple[Floats, float]:
        if frame not in self._memo:
            if len(self._memo) > 10_000:
                self._memo.clear()
            row = matrix([hashed(ngrams(sentence.tokens))])
            likeness = float(np.max(self._rows @ row[0], initial=0.0))
            self._memo[frame] = self.model.classifier.probabilities(row)[0], likeness
        return self._memo[frame]


class _Collector:
    """Gathers what the sentences of one text say."""

    def __init__(self, domain: Domain, classes: dict[str, str], here: str, made: Mapping[str, str]) -> None:
        self._domain = domain
        self._classes = classes
        self._made = made
        self._objects: dict[str, str] = {}
        self.here = here
        self._facts: dict[Key, ObservedFact] = {}
        self._refused: list[Refusal] = []
        self._flags: list[Key] = []
        self._reason = ""

    def add(self, sentence: Sentence, reading: _Reading, situation: Situation, span: tuple[int, int]) -> None:
        """Take in what a sentence says."""
        for mention in (mention for index in slots_said(reading.label) for mention in _slot(sentence, index)):
            if mention.class_name is not None:
                self._classes.setdefault(mention.name, mention.class_name)
                self._objects[mention.name] = self._classes[mention.name]
        for template in reading.label:
            self._make(template, sentence, situation)
            for key in instantiate(self._domain, template, sentence, situation, self._classes):
                predicate, arguments, positive = key
                if predicate.startswith("!"):
                    self._flags.append(key)
                    continue
                fact = check_fact(self._domain, self._classes, predicate, arguments, positive, span, reading.score)
                if isinstance(fact, Refusal):
                    self._refused.append(fact)
                    continue
                self._facts.setdefault(key, fact)
                if positive and predicate == self._domain.location:
                    self.here = arguments[0]
                    situation = Situation(self.here, situation.before)

    def _make(self, template: Template, sentence: Sentence, situation: Situation) -> None:
        """Let the things be known that a template names after others."""
        for pattern in made_after([(template,)]):
            if pattern in self._made:
                for name in made_names(pattern, sentence, situation):
                    self._classes.setdefault(name, self._made[pattern])
                    self._objects[name] = self._classes[name]

    def refuse(self, error: ParseError, text: str) -> None:
        """Note a sentence that was not understood."""
        self._refused.append(Refusal(error, text, "it is not like any sentence that was learned"))

    def parsed(self, found: Sequence[Sentence], offers: Sequence[Sentence], text: str) -> ParsedObservation:
        """Return everything."""
        objects = self._objects
        for mention in (mention for offer in offers for slot in offer.slots for mention in slot):
            if mention.name in self._classes:
                objects[mention.name] = self._classes[mention.name]
        for mention in (mention for sentence in found for slot in sentence.slots for mention in slot):
            if mention.name in self._classes:
                objects[mention.name] = self._classes[mention.name]
            elif mention.class_name is None:
                reason = f"no class of the domain is called {mention.name!r}"
                self._refused.append(Refusal(ParseError.UNKNOWN_ENTITY, mention.name, reason))
        facts = sorted(self._facts.values(), key=lambda fact: fact.start)
        last = {fact.atom: fact.positive for fact in facts}
        failed = any(name == FAILED for name, _, _ in self._flags)
        return ParsedObservation(
            tuple(fact for fact in facts if last[fact.atom] == fact.positive),
            objects,
            tuple(self._refused[:MAX_REFUSED]),
            failed,
            _SPACE.sub(" ", text).strip()[:200] if failed else "",
            frozenset(arguments[0] for name, arguments, _ in self._flags if name == COMPLETE),
            frozenset(args[0] for name, args, _ in self._flags if name == PLACE and args[0] in self._classes),
        )


def _answers(sentence: Sentence, reading: _Reading) -> bool:
    """Return whether a sentence is one of the world's own that says, or names, something."""
    return reading.score > 0 and sentence.tokens[0] != QUALITY and bool(reading.label or sentence.slots)


def _slot(sentence: Sentence, index: int) -> tuple[Mention, ...]:
    return sentence.slots[index] if index < len(sentence.slots) else ()


def command_sentence(page: Page) -> Sentence:
    """Return a command as a sentence of its own kind."""
    sentence = read_sentence(page, 0, len(page.text))
    return Sentence(sentence.start, sentence.end, (COMMAND, *sentence.tokens), sentence.slots)


def last_named(sentence: Sentence, otherwise: str) -> str:
    """Return the last thing that a sentence names."""
    return sentence.slots[-1][-1].name if sentence.slots else otherwise
