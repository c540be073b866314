"""Instructions to goals by a trained reader, with the rules of the domain's YAML beside it.

The trained reader knows how people speak of a few kinds of goals; the rules know exactly what the domain can say. Which
of them is believed is said at `InstructionUnderstanding`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import check_goal
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable
from graph_planner_ros.language.instruction import (
    MAX_CHARACTERS,
    MAX_WORDS,
    InstructionParser,
    ParsedInstruction,
    ParseStatus,
)
from graph_planner_ros.language.lexicon import read_lexicon
from graph_planner_ros.language.understanding.decoding import Reading, Scores
from graph_planner_ros.language.understanding.model_file import TrainedReader
from graph_planner_ros.language.understanding.parts import places, split
from graph_planner_ros.language.understanding.slots import OTHER, SEVERAL
from graph_planner_ros.language.words import tokenize
from graph_planner_ros.scene.graph import Presence, SceneGraph

SURE = 0.5
"""Probability from which the trained reader is believed without a question."""
HEARD = 0.25
"""Probability below which the rules come first even without caution."""
CAUTIOUS, TRUSTING = "auto", "trained"


@dataclass(frozen=True)
class _Part:
    """One request of a text, with the meanings that it may have."""

    text: str
    readings: tuple[Reading, ...]


class InstructionUnderstanding:
    """Reads instructions. Immutable, so it may be shared between threads.

    What is believed: words that forbid or make conditions, and ids of things, are for the rules alone. Otherwise, with
    ``cautious``, what the rules understand without a doubt is done as they say, the trained reader only chooses between
    classes that the words may mean; where they do not, or guess, the trained reader is believed if it is sure, and
    else asks. Without ``cautious`` the trained reader comes first, and the rules only where it hears something else.

    Args:
        domain: fixed. reader: trained. cautious: see above.
    """

    def __init__(self, domain: Domain, reader: TrainedReader, cautious: bool = True) -> None:
        self._domain, self._reader, self._cautious = domain, reader, cautious
        self._rules = InstructionParser(domain)
        lexicon = read_lexicon(domain)
        self._blocking, self._ignorable = self._refused()
        grammar = lexicon.grammar
        self._then = {" ".join(phrase) for phrase in grammar["then"] if phrase[0].isalpha()}
        self._and = {" ".join(phrase) for phrase in grammar["and"] if phrase[0].isalpha()}
        self._nouns = lexicon.nouns
        self._numbers = {phrase for phrase, number in lexicon.numbers.items() if number not in self._known_counts()}
        self._tools = _tool_facts(domain)
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
        tokens = tokenize(text)
        if not tokens or len(text) > MAX_CHARACTERS or len(tokens) > MAX_WORDS:
            return self._rules.parse(text, graph)
        ruled = self._rules.parse(text, graph)
        if self._contains(tokens, self._blocking) or any("_" in token for token in tokens) or self._counts(tokens):
            return ruled
        if self._cautious and not ruled.understood:
            ruled = self._without_ignorable(tokens, graph, ruled)
        there = dict(present) if present is not None else _classes_there(graph)
        parts = self._parts(text, there, present is not None)
        if not parts or not all(part.readings and self._reader.pieces.whole(part.text) for part in parts):
            return ruled
        probability = math.prod(part.readings[0].probability for part in parts)
        goal = self._goal(parts, text)
        if goal is None:
            return ruled
        return self._choose(text, ruled, parts, goal, probability, there)

    # ---- whom to believe

    def _choose(
        self,
        text: str,
        ruled: ParsedInstruction,
        parts: Sequence[_Part],
        goal: Goal,
        probability: float,
        there: Mapping[str, int],
    ) -> ParsedInstruction:
        tokens = tokenize(text)
        notes = (*self._left_out(tokens), *self._unheard(tokens, goal))
        heard = ParsedInstruction(
            ParseStatus.UNDERSTOOD, (goal,), notes=notes, confidence=probability, question=self._question(parts)
        )
        if (
            self._cautious
            and ruled.understood
            and ruled.notes in ((), self._left_out(tokens))
            and self._possible(ruled, there)
        ):
            same = _shape(ruled.goals[-1:]) == _shape((goal,)) and len(ruled.goals) == 1
            return replace(heard, question="") if same and probability >= SURE else ruled
        if probability >= SURE:
            return replace(heard, question="")
        if ruled.understood and (self._cautious or probability < HEARD):
            return ruled
        if not self._cautious:
            return heard
        reason = f"I am not sure what is meant (certainty {probability:.0%})"
        return replace(
            ruled,
            status=ParseStatus.NOT_UNDERSTOOD,
            reason=f"{reason}: {heard.question}" if heard.question else reason,
            confidence=probability,
            question=heard.question,
        )

    def _without_ignorable(
        self, tokens: Sequence[str], graph: SceneGraph | None, ruled: ParsedInstruction
    ) -> ParsedInstruction:
        """Return what the rules understand without the words that may be left out, and say so; else what they said."""
        row = tuple(tokens)
        for phrase in sorted(self._ignorable, key=len, reverse=True):
            kept: list[str] = []
            index = 0
            while index < len(row):
                if row[index : index + len(phrase)] == phrase:
                    index += len(phrase)
                else:
                    kept.append(row[index])
                    index += 1
            row = tuple(kept)
        if row == tuple(tokens) or not row:
            return ruled
        again = self._rules.parse(" ".join(row), graph)
        return replace(again, notes=(*self._left_out(tokens), *again.notes)) if again.understood else ruled

    def _possible(self, ruled: ParsedInstruction, there: Mapping[str, int]) -> bool:
        """Return whether all fixtures that the rules heard of are on the map, if there is one."""
        fixed = self._reader.decoder.fixed
        heard = {variable.class_name for goal in ruled.goals for variable in goal.variables} & fixed
        return not (fixed & set(there)) or heard <= set(there)

    def _question(self, parts: Sequence[_Part]) -> str:
        """Return what to ask about the part that is least sure; empty if nothing else comes to mind."""
        part = min(parts, key=lambda item: item.readings[0].probability)
        if len(part.readings) < 2:
            return ""
        first, second = (self._words(item) for item in part.readings[:2])
        return f"do you mean {first}, or {second}?"

    def _words(self, reading: Reading) -> str:
        """Return a meaning in words, e.g. ``in(mug, fridge) and hot(mug)``."""
        inventory = self._reader.decoder.inventory
        goal = inventory.goal(self._domain, reading.meaning)
        called = {
            variable.name: (self._domain.class_of(variable.class_name or "").words or (variable.class_name or "",))[0]
            for variable in goal.variables
        }
        return " and ".join(
            dict.fromkeys(
                f"{literal.predicate}({', '.join(called[name] for name in literal.arguments)})"
                for literal in goal.literals
            )
        )

    def _left_out(self, tokens: Sequence[str]) -> tuple[str, ...]:
        words = self._contained(tokens, self._ignorable)
        return (f"did not use {', '.join(map(repr, words))}",) if words else ()

    # ---- the trained reader

    def _parts(self, text: str, there: Mapping[str, int], complete: bool) -> list[_Part]:
        """Return the requests of a text; none if it asks for something else."""
        scores = self._reader.scores([text], there)[0]
        names = self._reader.decoder.names
        kind = names[int(np.argmax(scores.structures))]
        if kind == OTHER:
            return []
        texts = [text]
        if kind == SEVERAL:
            cuts = places(text, self._then, self._and, self._verbs)
            texts = split(text, cuts, lambda items: [self._single(item) for item in self._reader.scores(items, there)])
        found = [scores] if len(texts) == 1 else self._reader.scores(texts, there)
        decoder = self._reader.decoder
        return [
            _Part(part, tuple(decoder.readings(item, there, complete))) for part, item in zip(texts, found, strict=True)
        ]

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

    # ---- words

    def _known_counts(self) -> set[int]:
        """Return the numbers of things that the structures can ask for; others are for the rules."""
        inventory = self._reader.decoder.inventory
        return {item.count(slot) for item in inventory.structures.values() for slot in inventory.slots} - {0}

    def _counts(self, tokens: Sequence[str]) -> bool:
        """Return whether a text has a number that no structure can ask for, or digits."""
        return any(sign.isdigit() for token in tokens for sign in token) or self._contains(tokens, self._numbers)

    def _unheard(self, tokens: Sequence[str], goal: Goal) -> tuple[str, ...]:
        """Return a note on things that were spoken of and are no part of the goal, tools apart."""
        used = {variable.class_name for variable in goal.variables}
        fixed, row, unheard = self._reader.decoder.fixed, tuple(tokens), []
        for phrase, senses in self._nouns.items():
            classes = {sense.class_name for sense in senses}
            tools = any(self._tools & set(self._domain.class_of(name).facts) for name in classes)
            if classes & (used | fixed) or tools or not self._contains(row, (phrase,)):
                continue
            unheard.append(phrase)
        longest = [
            phrase for phrase in unheard if not any(other != phrase and _within(phrase, other) for other in unheard)
        ]
        words = sorted(" ".join(phrase) for phrase in longest if not self._in_other(phrase, row, used))
        return (f"did not use {', '.join(map(repr, words))}",) if words else ()

    def _in_other(self, phrase: tuple[str, ...], row: tuple[str, ...], used: set[str | None]) -> bool:
        """Return whether a noun is only part of a longer one that was used ("card" of "credit card")."""
        return any(
            _within(phrase, other) and self._contains(row, (other,)) and {s.class_name for s in senses} & used
            for other, senses in self._nouns.items()
            if other != phrase
        )

    def _refused(self) -> tuple[frozenset[tuple[str, ...]], frozenset[tuple[str, ...]]]:
        """Return the phrases that only the rules may answer, and those that may be left out."""
        groups: dict[bool, set[tuple[str, ...]]] = {True: set(), False: set()}
        for entry in self._domain.wording.get("refused") or ():
            for phrase in entry.get("words") or ():
                groups[bool(entry.get("ignorable", False))].add(tokenize(str(phrase)))
        return frozenset(groups[False]), frozenset(groups[True])

    def _contained(self, tokens: Sequence[str], phrases: Iterable[tuple[str, ...]]) -> list[str]:
        row = tuple(tokens)
        return sorted(
            " ".join(phrase)
            for phrase in phrases
            if any(row[start : start + len(phrase)] == phrase for start in range(len(row) - len(phrase) + 1))
        )

    def _contains(self, tokens: Sequence[str], phrases: Iterable[tuple[str, ...]]) -> bool:
        return bool(self._contained(tokens, phrases))


def _within(phrase: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether a phrase stands in another."""
    return any(other[start : start + len(phrase)] == phrase for start in range(len(other) - len(phrase) + 1))


def _tool_facts(domain: Domain) -> frozenset[str]:
    """Return the static facts of things that actions need and do nothing to, e.g. ``cuts`` of a knife."""
    found = set()
    for schema in domain.actions.values():
        changed = {name for term in (*schema.added, *schema.deleted) for name in term.arguments}
        found |= {
            literal.predicate
            for literal in schema.preconditions
            if literal.positive
            and len(literal.arguments) == 1
            and literal.predicate in domain.static_predicates
            and not changed & set(literal.arguments)
        }
    return frozenset(found)


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
