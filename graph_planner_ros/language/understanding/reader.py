"""Instructions to goals by a trained reader, with the rules of the domain's YAML beside it.

The trained reader knows how people speak of a few kinds of goals; the rules know exactly what the domain can say. Which
of them is believed is said at `InstructionUnderstanding`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import check_goal
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable
from graph_planner_ros.language.goal_words import GoalWords
from graph_planner_ros.language.instruction import (
    MAX_CHARACTERS,
    MAX_WORDS,
    InstructionParser,
    ParsedInstruction,
    ParseStatus,
)
from graph_planner_ros.language.lexicon import read_lexicon
from graph_planner_ros.language.understanding.decoding import Reading, Scores
from graph_planner_ros.language.understanding.doubts import NEW_THING, Doubter, Doubts, question, quoted
from graph_planner_ros.language.understanding.model_file import TrainedReader
from graph_planner_ros.language.understanding.parts import Span, clearest, places, spans
from graph_planner_ros.language.understanding.said import SaidWords
from graph_planner_ros.language.understanding.slots import OTHER, SEVERAL
from graph_planner_ros.language.words import Phrase, tokenize
from graph_planner_ros.scene.graph import Presence, SceneGraph

SURE = 0.5
"""Probability from which the trained reader is believed; of several requests the least sure one counts."""
HEARD = 0.25
"""Probability below which nothing is believed, even without caution; from here to `SURE` that is with a warning."""
ASKED = 2
"""Meanings that a question names."""
UNCLEAR = -50.0
"""Log probability of a part that means nothing here."""
CAUTIOUS, TRUSTING = "auto", "trained"


@dataclass(frozen=True)
class _Asked:
    """A text and where it was said: the belief, class -> how many are there, and whether that is all."""

    text: str
    tokens: Phrase
    graph: SceneGraph | None
    there: Mapping[str, int]
    complete: bool


@dataclass(frozen=True)
class _Part:
    """One request of a text: the meanings that it may have, the likeliest first, and what of it is new."""

    text: str
    readings: tuple[Reading, ...]
    doubts: Doubts
    unclear: tuple[str, ...]

    @property
    def doubted(self) -> bool:
        """Whether it is not sure enough for what is new in it."""
        return bool(self.doubts.places) and self.readings[0].probability < self.doubts.needed

    @property
    def least(self) -> float:
        """Certainty from which it is acted on without caution: a request is not to be passed over, a word may be."""
        return self.doubts.needed if self.doubts.clause else HEARD


class InstructionUnderstanding:
    """Reads instructions. Immutable, so it may be shared between threads.

    What is believed: words that forbid or make conditions, and ids of things, are for the rules alone. Otherwise, with
    ``cautious``, what the rules understand without a doubt is done as they say, the trained reader only chooses between
    classes that the words may mean; where they do not, or guess, the trained reader is believed if it is sure, and
    else asks. Without ``cautious`` the trained reader comes first, and the rules only where it hears something else;
    it acts on guesses, and says so, but asks below `HEARD`. Contradictions are named whoever reads.

    Words that are new to the trained reader (see `evidence`) need a higher certainty, below which they are asked
    about; where they are not, a note names them. Without ``cautious`` that is so for whole requests only.

    Args:
        domain: fixed. reader: trained. cautious: see above.
    """

    def __init__(self, domain: Domain, reader: TrainedReader, cautious: bool = True) -> None:
        self._domain, self._reader, self._cautious = domain, reader, cautious
        self._rules = InstructionParser(domain)
        lexicon = read_lexicon(domain)
        self._said = SaidWords(domain, lexicon, reader.decoder)
        self._doubter = Doubter(domain, lexicon, reader.evidence)
        self._words = GoalWords(domain)
        grammar = lexicon.grammar
        self._then = {" ".join(phrase) for phrase in grammar["then"] if phrase[0].isalpha()}
        self._and = {" ".join(phrase) for phrase in grammar["and"] if phrase[0].isalpha()}
        verbs = {pattern[0].name for command in lexicon.commands for pattern in command.patterns}
        self._verbs = {phrase[0] for name in verbs for phrase in lexicon.phrases[name]}

    @property
    def model_hash(self) -> str:
        """Hash of the network's file."""
        return str(self._reader.header["model"])

    def parse(
        self, text: str, graph: SceneGraph | None = None, *, present: Mapping[str, int] | None = None
    ) -> ParsedInstruction:
        """Read an instruction.

        Args:
            text: what a person said.
            graph: the belief, if there is one. present: class -> how many there are, if that is all that there is.
        """
        if len(text) > MAX_CHARACTERS:
            return self._rules.parse(text, graph)
        there = dict(present) if present is not None else _classes_there(graph)
        parsed = self._parse(_Asked(text, tokenize(text), graph, there, present is not None))
        return parsed if parsed.understood else self._rules.suggested(parsed, text, graph)

    def _parse(self, asked: _Asked, *, again: bool = True) -> ParsedInstruction:
        """Read a text; ``again``: what is left of it may be read by itself, if some of it is not understood."""
        tokens, ruled = asked.tokens, self._rules.parse(asked.text, asked.graph, suggest=False)
        if not tokens or len(tokens) > MAX_WORDS:
            return ruled
        if self._said.for_rules(tokens) or ruled.status is ParseStatus.CONTRADICTORY:
            return ruled
        if self._cautious and not ruled.understood:
            ruled = self._without_ignorable(tokens, asked.graph, ruled)
        parts = self._parts(asked)
        if not parts or not all(part.readings and self._reader.pieces.whole(part.text) for part in parts):
            return ruled
        goal = self._goal(parts, asked.text)
        return ruled if goal is None else self._choose(asked, ruled, parts, goal, again)

    # ---- whom to believe

    def _choose(
        self, asked: _Asked, ruled: ParsedInstruction, parts: Sequence[_Part], goal: Goal, again: bool
    ) -> ParsedInstruction:
        # a request is no less clear because another one stands beside it
        probability = min(part.readings[0].probability for part in parts)
        left_out = self._said.left_out(asked.tokens)
        notes = (*left_out, *self._said.unheard(asked.tokens, goal))
        heard = ParsedInstruction(ParseStatus.UNDERSTOOD, (goal,), notes=notes, confidence=probability)
        if self._cautious and ruled.understood and ruled.notes in ((), left_out) and self._possible(ruled, asked.there):
            same = _shape(ruled.goals[-1:]) == _shape((goal,)) and len(ruled.goals) == 1
            return heard if same and probability >= SURE else ruled
        heard = replace(heard, notes=(*notes, *_not_known(parts)))
        doubted = any(part.doubted and (self._cautious or part.doubts.clause) for part in parts)
        if probability >= SURE and not doubted:
            return heard
        if ruled.understood and (self._cautious or doubted or probability < HEARD):
            return ruled
        if self._cautious or any(part.readings[0].probability < part.least for part in parts):
            return self._ask(asked, ruled, parts, probability, again)
        warning = (f"this is a guess (certainty {probability:.0%})",) if probability < SURE else ()
        return replace(heard, notes=(*warning, *heard.notes))

    # ---- asking

    def _ask(
        self, asked: _Asked, ruled: ParsedInstruction, parts: Sequence[_Part], probability: float, again: bool
    ) -> ParsedInstruction:
        """Return a question: about the words that are not understood, else about the part that is least sure."""
        unclear = tuple(dict.fromkeys(words for part in parts if part.doubted for words in part.unclear))
        rest = self._rest(asked, parts) if unclear and again else ""
        if rest:
            meanings = [rest]
        else:
            part = min(parts, key=lambda item: (not item.doubted, item.readings[0].probability))
            inventory = self._reader.decoder.inventory
            likely = [item for item in part.readings if item.probability >= HEARD] if unclear else part.readings
            meanings = [self._words.sentence(inventory.goal(self._domain, item.meaning)) for item in likely[:ASKED]]
        asking = question(meanings, unclear, only=bool(rest))
        return replace(
            ruled,
            status=ParseStatus.NOT_UNDERSTOOD,
            goals=(),
            not_understood=unclear or ruled.not_understood,
            suggestions=tuple(dict.fromkeys(meanings)),
            reason=f"I am not sure what is meant (certainty {probability:.0%}). {asking}".strip(),
            confidence=probability,
            question=asking,
        )

    def _rest(self, asked: _Asked, parts: Sequence[_Part]) -> str:
        """Return what is asked for beside the words that are not understood, in a sentence; empty if nothing."""
        kept: list[str] = []
        for part in parts:
            words = tokenize(part.text)
            texts = self._doubter.without(words, part.doubts.places) if part.doubted else [" ".join(words)]
            kept += [text for text in texts if text]
        text = ". ".join(kept)
        if not text or tokenize(text) == asked.tokens:
            return ""
        found = self._parse(replace(asked, text=text, tokens=tokenize(text)), again=False)
        named = self._doubter.classes_named(tokenize(text))
        things = {variable.class_name for goal in found.goals for variable in goal.variables}
        return self._words.sentence(found.goals[-1]) if found.understood and things <= named else ""

    def _without_ignorable(
        self, tokens: Sequence[str], graph: SceneGraph | None, ruled: ParsedInstruction
    ) -> ParsedInstruction:
        """Return what the rules understand without the words that may be left out, and say so; else what they said."""
        row = self._said.without_ignorable(tokens)
        if row == tuple(tokens) or not row:
            return ruled
        again = self._rules.parse(" ".join(row), graph, suggest=False)
        return replace(again, notes=(*self._said.left_out(tokens), *again.notes)) if again.understood else ruled

    def _possible(self, ruled: ParsedInstruction, there: Mapping[str, int]) -> bool:
        """Return whether all fixtures that the rules heard of are on the map, if there is one."""
        fixed = self._reader.decoder.fixed
        heard = {variable.class_name for goal in ruled.goals for variable in goal.variables} & fixed
        return not (fixed & set(there)) or heard <= set(there)

    # ---- the trained reader

    def _parts(self, asked: _Asked) -> list[_Part]:
        """Return the requests of a text; none if it asks for something else."""
        text, there, decoder = asked.text, asked.there, self._reader.decoder
        scores = self._reader.scores([text], there)[0]
        kind = decoder.names[int(np.argmax(scores.structures))]
        if kind == OTHER:
            return []
        if kind != SEVERAL:
            return [self._part(text, scores, asked)]
        return self._split(scores, asked)

    def _split(self, scores: Scores, asked: _Asked) -> list[_Part]:
        """Return the parts that make a text likeliest: each asks for one thing, and what it asks for is clear."""
        texts = spans(asked.text, places(asked.text, self._then, self._and, self._verbs))
        found = [scores] if len(texts) == 1 else self._reader.scores(list(texts.values()), asked.there)
        scored = dict(zip(texts, found, strict=True))
        values = {span: self._single(item)[0] for span, item in scored.items()}
        values[0, max(last for _, last in texts)] -= self._single(scores)[1]  # all others need several requests
        parts: dict[Span, _Part] = {}

        def clarity(span: Span) -> float:
            parts[span] = self._part(texts[span], scored[span], asked)
            readings = parts[span].readings
            return math.log(readings[0].probability) if readings else UNCLEAR

        return [parts[span] for span in clearest(values, clarity)]

    def _part(self, text: str, scores: Scores, asked: _Asked) -> _Part:
        decoder, words = self._reader.decoder, tokenize(text)
        readings = tuple(decoder.readings(scores, asked.there, asked.complete))
        doubts = self._doubter.doubts(words, readings[0].meaning) if readings else Doubts()
        if decoder.names[int(np.argmax(scores.structures))] == OTHER:  # one of several requests that is of another kind
            doubts = Doubts(((0, len(words)),), NEW_THING, True)
        return _Part(text, readings, doubts, quoted(words, doubts.places))

    def _single(self, scores: Scores) -> tuple[float, float]:
        """Return the log probabilities that a text asks for one thing, and for several."""
        values = scores.structures - np.logaddexp.reduce(scores.structures)
        names = self._reader.decoder.names
        one = [value for name, value in zip(names, values, strict=True) if name not in (SEVERAL, OTHER)]
        return float(np.logaddexp.reduce(one)), float(values[names.index(SEVERAL)])

    def _goal(self, parts: Sequence[_Part], text: str) -> Goal | None:
        """Return one goal of all parts; things of one class that stay where they are are the same thing."""
        inventory, fixed = self._reader.decoder.inventory, self._reader.decoder.fixed
        variables: dict[str, GoalVariable] = {}
        literals: list[GoalLiteral] = []
        distinct: list[tuple[str, ...]] = []
        for number, part in enumerate(parts):
            goal = inventory.goal(self._domain, part.readings[0].meaning)
            called = {}
            for variable in goal.variables:
                shared = variable.class_name if variable.class_name in fixed else ""
                name = f"?{shared}" if shared else f"{variable.name}{number or ''}"
                called[variable.name] = name
                variables[name] = replace(variable, name=name)
            for literal in goal.literals:
                moved = GoalLiteral(
                    literal.predicate, tuple(called[name] for name in literal.arguments), literal.positive
                )
                if moved not in literals:
                    literals.append(moved)
            distinct += [tuple(called[name] for name in group) for group in goal.distinct]
        whole = Goal(tuple(variables.values()), tuple(literals), tuple(distinct), text.strip())
        try:
            check_goal(whole, self._domain)
        except DomainError:
            return None
        return whole


def _not_known(parts: Sequence[_Part]) -> tuple[str, ...]:
    """Return a note on what is new in a text that is believed all the same."""
    words = tuple(dict.fromkeys(words for part in parts for words in part.unclear))
    return (f"may have misunderstood {', '.join(map(repr, words))}",) if words else ()


def _classes_there(graph: SceneGraph | None) -> dict[str, int]:
    if graph is None:
        return {}
    return dict(Counter(node.label for node in graph.nodes.values() if node.presence is not Presence.ABSENT))


def _shape(goals: Sequence[Goal]) -> Counter[tuple[str, tuple[str, ...], bool]]:
    """Return which predicates hold of which types, how often: what goals ask for, but for the classes."""
    return Counter(
        (literal.predicate, tuple(_type(goal, name) for name in literal.arguments), literal.positive)
        for goal in goals
        for literal in goal.literals
    )


def _type(goal: Goal, name: str) -> str:
    return next((variable.type_name for variable in goal.variables if variable.name == name), name)


__all__ = ["CAUTIOUS", "HEARD", "SURE", "TRUSTING", "InstructionUnderstanding"]
