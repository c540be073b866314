"""Sentences: clauses that match the patterns of commands, joined by "and", "then" and punctuation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from graph_planner_ros.language.lexicon import Command, Element, Lexicon, State
from graph_planner_ros.language.phrases import SAME, Mention, NounPhrases
from graph_planner_ros.language.words import Phrase

AND, THEN = "and", "then"
_SHARED = Mention("", pronoun="shared")
_STOPS = (".", ";", "!", "?")


@dataclass(frozen=True)
class Clause:
    """One command with its things by role, in the order in which they were said.

    Attributes:
        connector: how it goes on from the clause before: ``and`` or ``then``; ``then`` for the first one.
        states: what ``STATE`` in the pattern stood for. start, end: its words.
    """

    command: Command
    roles: dict[str, tuple[Mention, ...]]
    states: tuple[State, ...] = ()
    start: int = 0
    end: int = 0
    connector: str = THEN

    def with_role(self, role: str, mentions: tuple[Mention, ...]) -> Clause:
        """Return the clause with one more role."""
        return replace(self, roles={**self.roles, role: mentions})


Sentence = tuple[Clause, ...]


class Grammar:
    """Reads one instruction; `sentences` yields its possible structures."""

    def __init__(self, lexicon: Lexicon, tokens: Phrase, instances: dict[str, str] | None = None) -> None:
        self._lexicon = lexicon
        self.tokens = tokens
        self.nouns = NounPhrases(lexicon, tokens, instances or {})
        self.incomplete: Command | None = None
        """A command that the text began and ended before the pattern did."""

    @property
    def farthest(self) -> int:
        """Number of words up to which anything matched."""
        return self.nouns.farthest

    def sentences(self) -> Iterator[Sentence]:
        """Yield structures of the whole text; the same text may have several.

        Raises:
            TooComplex: when there are too many to be tried.
        """
        for sentence in self._sentence(0, None, THEN):
            shared = _resolve_shared(sentence)
            if shared is not None:
                yield shared

    def _sentence(self, position: int, previous: Clause | None, connector: str) -> Iterator[Sentence]:
        for start in self._skip("openers", position):
            for clause in self._clauses(start, previous):
                clause = replace(clause, connector=connector)
                for end in self._skip("closers", clause.end):
                    if self._at_end(end):
                        yield (clause,)
                    for kind, after in self._connectors(end):
                        for rest in self._sentence(after, clause, kind):
                            yield (clause, *rest)

    def _at_end(self, position: int) -> bool:
        return all(token in _STOPS or token == "," for token in self.tokens[position:])

    def _skip(self, kind: str, position: int) -> Iterator[int]:
        """Yield positions after any number of function words, commas between them included."""
        yield position
        comma = position < len(self.tokens) and self.tokens[position] == ","
        for start in (position, position + 1) if comma else (position,):
            for end in self.nouns.grammar(kind, start):
                yield from self._skip(kind, end)
                if self.tokens[end : end + 1] == (",",):
                    yield end + 1

    def _connectors(self, position: int) -> Iterator[tuple[str, int]]:
        start, kind = position, ""
        while start < len(self.tokens) and (self.tokens[start] in _STOPS or self.tokens[start] == ","):
            kind = AND if self.tokens[start] == "," and kind != THEN else THEN
            start += 1
        for words, found in (("then", THEN), ("while", AND), ("and", AND)):
            for end in self.nouns.grammar(words, start):
                yield THEN if kind == THEN else found, end
        if kind:
            yield kind, start

    def _clauses(self, position: int, previous: Clause | None) -> Iterator[Clause]:
        for command in self._lexicon.commands:
            for pattern in command.patterns:
                yield from self._match(pattern, 0, position, Clause(command, {}, start=position))
                yield from self._verb_only(command, pattern, position)
        if previous is not None:  # "put the egg in the fridge and the mug in the sink"
            for pattern in previous.command.patterns:
                if sum(element.kind == "role" for element in pattern) > 1:
                    yield from self._match(pattern, 1, position, Clause(previous.command, {}, start=position))

    def _verb_only(self, command: Command, pattern: tuple[Element, ...], position: int) -> Iterator[Clause]:
        """Yield a clause whose thing is named by the next one: "wash and slice the tomato"."""
        if len(pattern) == 2 and pattern[1].kind == "role":
            for end in self.nouns.match(self._lexicon.phrases[pattern[0].name], position):
                yield Clause(command, {pattern[1].name: (_SHARED,)}, start=position, end=end)

    def matches(self, pattern: Sequence[Element], index: int, position: int, clause: Clause) -> Iterator[Clause]:
        """Yield the clauses that a pattern becomes from one of its elements on, at a position.

        Raises:
            TooComplex: when there are too many to be tried.
        """
        yield from self._match(tuple(pattern), index, position, clause)

    def _match(self, pattern: tuple[Element, ...], index: int, position: int, clause: Clause) -> Iterator[Clause]:
        if index == len(pattern):
            yield replace(clause, end=position)
            return
        element = pattern[index]
        if index > 1 and self._at_end(position):
            self.incomplete = clause.command
        if element.optional:
            yield from self._match(pattern, index + 1, position, clause)
        if element.kind == "phrase":
            comma = index > 1 and self.tokens[position : position + 1] == (",",)
            for start in (position, position + 1) if comma else (position,):
                for end in self.nouns.match(self._lexicon.phrases[element.name], start):
                    yield from self._match(pattern, index + 1, end, clause)
        elif element.kind == "state":
            for state in self._lexicon.states:
                for end in self.nouns.match(state.words, position):
                    yield from self._match(pattern, index + 1, end, replace(clause, states=(*clause.states, state)))
        else:
            one = (((mention,), end) for mention, end in self.nouns.thing(position))
            for mentions, end in self.nouns.things(position) if element.many else one:
                yield from self._match(pattern, index + 1, end, clause.with_role(element.name, mentions))
            if clause.start > 0 and not clause.roles:  # "wash the mug and put in the sink"
                yield from self._match(pattern, index + 1, position, clause.with_role(element.name, (SAME,)))


def _resolve_shared(sentence: Sentence) -> Sentence | None:
    """Give each clause without a thing of its own that of the next clause; None if there is none."""
    clauses = list(sentence)
    for index in range(len(clauses) - 1, -1, -1):
        role, mentions = next(iter(clauses[index].roles.items()))
        if mentions != (_SHARED,):
            continue
        if index + 1 == len(clauses) or clauses[index + 1].connector != AND:
            return None
        after = clauses[index + 1]
        next_role, next_mentions = next(iter(after.roles.items()))
        clauses[index] = clauses[index].with_role(role, next_mentions)
        clauses[index + 1] = after.with_role(next_role, (SAME,))
    return tuple(clauses)
