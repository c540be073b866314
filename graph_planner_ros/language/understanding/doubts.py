"""What in a text a reader has no ground to believe that it understood, and how to ask about it in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.language.lexicon import Lexicon
from graph_planner_ros.language.understanding.evidence import STOPS, Evidence, Token, TokenReader, merged
from graph_planner_ros.language.understanding.slots import Meaning
from graph_planner_ros.language.words import Phrase

NEW_THING = 0.97
"""Certainty from which a request is believed although what stands behind a noun in it, or a whole clause, is new."""
NEW_WORD = 0.8
"""The same for any other word that is new, and for words that are known and stand together as they never did."""
SHOWN = 60
"""Characters of somebody's words that are said back."""


@dataclass(frozen=True)
class Doubts:
    """Words of one request that its reading does not rest on.

    Attributes:
        places: (first, behind the last) of its words. needed: certainty from which it is believed all the same.
        clause: whether they are all of a clause, which would be passed over.
    """

    places: tuple[tuple[int, int], ...] = ()
    needed: float = 0.0
    clause: bool = False


class Doubter:
    """Finds what is new in a request. Immutable."""

    def __init__(self, domain: Domain, lexicon: Lexicon, evidence: Evidence) -> None:
        self._evidence, self._tokens = evidence, TokenReader(domain, lexicon)
        verbs = {pattern[0].name for command in lexicon.commands for pattern in command.patterns}
        inner = [phrase for name, phrases in lexicon.phrases.items() if name not in verbs for phrase in phrases]
        grammar = [phrase for phrases in lexicon.grammar.values() for phrase in phrases]
        self._small = {word for phrase in (*inner, *grammar) for word in phrase}
        joints = {phrase for name in ("and", "then") for phrase in lexicon.grammar[name] if len(phrase) == 1}
        # "to" is a preposition as well
        self._joints = {phrase[0] for phrase in joints - set(inner)} | set(STOPS) | {","}

    def doubts(self, words: Phrase, meaning: Meaning) -> Doubts:
        """Return what is new in a request that was taken to mean this."""
        row = self._tokens.read(words)
        things = self._evidence.new_things(row, self._tokens)
        fresh = [*self._evidence.new_words(row, self._tokens), *things]
        used = [*self._evidence.new_uses(row), *self._evidence.misplaced(row, meaning)]
        news = merged(filter(None, (self._trimmed(words, place) for place in (*fresh, *used))))
        clause = any(self._is_request(words, row, item, news) for item in self.clauses(words))
        # of a new word and its neighbours the word alone is new; neighbours that are all new are one expression
        used = [place for place in used if sum(_overlap(place, other) for other in fresh) != 1]
        places = merged(filter(None, (self._trimmed(words, place) for place in (*fresh, *used))))
        needed = NEW_THING if things or clause else NEW_WORD if places else 0.0
        return Doubts(tuple(places), needed, clause)

    def _is_request(
        self, words: Phrase, row: Sequence[Token], clause: tuple[int, int], places: Sequence[tuple[int, int]]
    ) -> bool:
        """Return whether all of a clause is new and it does not begin with a thing, as the last one of a list does."""
        trimmed = self._trimmed(words, clause)
        if trimmed is None or not any(start <= trimmed[0] and trimmed[1] <= end for start, end in places):
            return False
        return not any(token.classes and token.start <= trimmed[0] < token.end for token in row)

    def clauses(self, words: Phrase) -> list[tuple[int, int]]:
        """Return the stretches of a text between stops, commas and the grammar's words for "and" and "then"."""
        found, start = [], 0
        for position in range(len(words) + 1):
            if position == len(words) or words[position] in self._joints:
                if start < position:
                    found.append((start, position))
                start = position + 1
        return found

    def without(self, words: Phrase, places: Sequence[tuple[int, int]]) -> list[str]:
        """Return the stretches of a text between the clauses in which these places are."""
        clauses = self.clauses(words)
        kept: list[list[int]] = []
        last = -2
        for number, (start, end) in enumerate(clauses):
            if any(first < end and start < behind for first, behind in places):
                continue
            if number == last + 1 and kept:
                kept[-1][1] = end
            else:
                kept.append([start, end])
            last = number
        return [" ".join(words[start:end]) for start, end in kept]

    def classes_named(self, words: Phrase) -> set[str]:
        """Return all classes that the nouns of a text may mean."""
        return {name for token in self._tokens.read(words) for name in token.classes}

    def _trimmed(self, words: Phrase, place: tuple[int, int]) -> tuple[int, int] | None:
        """Return a place without small words at its ends; None if there is nothing else."""
        start, end = place
        while start < end and (words[start] in self._small or not words[start][0].isalnum()):
            start += 1
        while end > start and (words[end - 1] in self._small or not words[end - 1][0].isalnum()):
            end -= 1
        return (start, end) if start < end else None


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def quoted(words: Phrase, places: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """Return somebody's words, shortened if they are many."""
    texts = (" ".join(words[start:end]) for start, end in places)
    return tuple(dict.fromkeys(text if len(text) <= SHOWN else f"{text[:SHOWN].rstrip()} ..." for text in texts))


def listed(texts: Sequence[str], joint: str) -> str:
    """Return texts as a person lists them: a, b ``joint`` c."""
    return f" {joint} ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


def question(meanings: Sequence[str], unclear: Sequence[str] = (), *, only: bool = False) -> str:
    """Return one plain sentence that asks what is meant.

    Args:
        meanings: sentences, the likeliest first. unclear: words that were not understood.
        only: the meaning leaves those words undone.
    """
    what = listed([repr(text) for text in unclear], "and")
    different = list(dict.fromkeys(meanings))
    if not different:
        return f"What do you mean by {what}?" if what else ""
    asked = ", or ".join(different)
    if what:
        return f"I do not understand {what}; do you {'only ' * only}mean: {asked}?"
    return f"Do you mean: {asked}?"


__all__ = ["NEW_THING", "NEW_WORD", "Doubter", "Doubts", "question", "quoted"]
