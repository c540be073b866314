"""What a trained reader has heard: words and neighbours of words in the sentences that it learned from.

The network answers whatever it is asked, and a thing that it never heard of looks to it like one that it knows. Which
words are new to it can be counted: a word that the data hardly have, two neighbours that never stood side by side, and
a thing that is named behind a word behind which it was never left undone. All of this comes from the data and the
domain's own words; there is no list of words here.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.language.lexicon import Lexicon, read_lexicon
from graph_planner_ros.language.understanding.examples import Example
from graph_planner_ros.language.understanding.slots import Meaning, fixed_classes
from graph_planner_ros.language.words import Phrase, tokenize

HEARD_TWICE = 2
"""Sentences that a word must stand in to be known."""
GENERAL = 6
"""Classes behind whose nouns a word must have stood to be one that may follow any noun ("in", "to")."""
BEGIN, END, NUMBER = "^", "$", "#"
ITEM, FIXTURE, STATE = "<item>", "<fixture>", "<state>"
STOPS = ".;!?"


@dataclass(frozen=True)
class Token:
    """A word, or a noun of the domain.

    Attributes:
        word: as said; `BEGIN`, `END` (also of a sentence within), or `NUMBER`. start, end: words of the text.
        classes: of a noun, what it may mean. kind: `ITEM` or `FIXTURE` of a noun, `STATE` of an adjective, else the
            word.
    """

    word: str
    start: int
    end: int
    classes: tuple[str, ...] = ()
    kind: str = ""

    @property
    def lexical(self) -> str:
        """The first class of a noun, else the word."""
        return self.classes[0] if self.classes else self.word

    @property
    def role(self) -> str:
        """The kind of a noun, else the word."""
        return self.kind if self.classes else self.word


class TokenReader:
    """Turns texts into tokens: nouns of the domain as one, without articles and what may be left out."""

    def __init__(self, domain: Domain, lexicon: Lexicon | None = None) -> None:
        self._lexicon = lexicon or read_lexicon(domain)
        self._fixed = fixed_classes(domain)
        grammar = self._lexicon.grammar
        self._skipped = set(grammar["definite"] | grammar["indefinite"] | grammar["without_meaning"])
        for entry in domain.wording.get("refused") or ():
            if entry.get("ignorable"):
                self._skipped.update(tokenize(str(word)) for word in entry.get("words") or ())
        self._states = {phrase for state in self._lexicon.states for phrase in state.words}
        known = [*self._lexicon.nouns, *self._lexicon.numbers, *self._skipped, *self._states]
        self._longest = max(map(len, known), default=1)

    @cached_property
    def joining(self) -> frozenset[str]:
        """Words of the wording that are no part of any noun: behind a noun they make no other thing of it ("under")."""
        return self.vocabulary - {word for noun in self._lexicon.nouns for word in noun}

    @property
    def vocabulary(self) -> frozenset[str]:
        """Words that the domain's wording knows."""
        return self._lexicon.vocabulary

    def read(self, words: Phrase) -> list[Token]:
        """Return the tokens of a text, between `BEGIN` and `END`."""
        found = [Token(BEGIN, 0, 0, kind=BEGIN)]
        position = 0
        while position < len(words):
            token, position = self._next(words, position)
            if token is not None and not (token.word == END and found[-1].word in (BEGIN, END)):
                found.append(token)
        if found[-1].word != END:
            found.append(Token(END, len(words), len(words), kind=END))
        return found

    def _next(self, words: Phrase, position: int) -> tuple[Token | None, int]:
        for end in range(min(len(words), position + self._longest), position, -1):
            phrase = words[position:end]
            senses = self._lexicon.nouns.get(phrase)
            if senses:
                classes = tuple(dict.fromkeys(sense.class_name for sense in senses))
                kind = FIXTURE if classes[0] in self._fixed else ITEM
                return Token(" ".join(phrase), position, end, classes, kind), end
            if phrase in self._lexicon.numbers:
                return Token(NUMBER, position, end, kind=NUMBER), end
            if phrase in self._skipped:
                return None, end
            if phrase in self._states:
                return Token(" ".join(phrase), position, end, kind=STATE), end
        word = words[position]
        if word in STOPS:
            return Token(END, position, position + 1, kind=END), position + 1
        return Token(word, position, position + 1, kind=word), position + 1


@dataclass(frozen=True)
class Evidence:
    """Counts of what a reader learned from. Immutable.

    Attributes:
        words: word -> sentences that it stood in. pairs: neighbours, nouns by their kind.
        behind: (class, word or class that stood right behind it). undone: (word before, class) of nouns
            whose class was no part of the meaning. roles: (word before, slot) of those that fill a slot.
    """

    words: Mapping[str, int]
    pairs: frozenset[tuple[str, str]]
    behind: frozenset[tuple[str, str]]
    undone: frozenset[tuple[str, str]]
    roles: frozenset[tuple[str, str]]

    @cached_property
    def general(self) -> frozenset[str]:
        """Words that may follow any noun."""
        counts = Counter(word for _, word in self.behind)  # nouns are here as classes, which are no words of a text
        return frozenset(word for word, count in counts.items() if count >= GENERAL)

    @cached_property
    def passing(self) -> frozenset[str]:
        """Words behind which any thing may be named in passing: where something is ("from", "by")."""
        counts = Counter(before for before, _ in self.undone)
        return frozenset(word for word, count in counts.items() if count >= GENERAL)

    @staticmethod
    def of(tokens: TokenReader, examples: Iterable[Example]) -> Evidence:
        """Count examples."""
        words: Counter[str] = Counter()
        pairs: set[tuple[str, str]] = set()
        behind: set[tuple[str, str]] = set()
        undone: set[tuple[str, str]] = set()
        roles: set[tuple[str, str]] = set()
        for example in examples:
            row = tokens.read(tokenize(example.text))
            words.update({token.word for token in row if not token.classes})
            for before, token in itertools.pairwise(row):
                pairs.add((before.kind, token.kind))
                if before.classes:
                    behind.add((before.lexical, token.lexical))
                filled = _filled(token, example.meaning)
                roles.update((before.role, slot) for slot in filled)
                if token.classes and not filled:
                    undone.add((before.role, token.lexical))
        return Evidence(words, frozenset(pairs), frozenset(behind), frozenset(undone), frozenset(roles))

    def to_json(self) -> dict[str, Any]:
        """Return the counts for a file."""
        return {
            "words": dict(sorted(self.words.items())),
            "pairs": sorted(self.pairs),
            "behind": sorted(self.behind),
            "undone": sorted(self.undone),
            "roles": sorted(self.roles),
        }

    @staticmethod
    def from_json(document: Mapping[str, Any]) -> Evidence:
        """Read what `to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError: it is something else.
        """
        return Evidence(
            {str(word): int(count) for word, count in document["words"].items()},
            frozenset((str(a), str(b)) for a, b in document["pairs"]),
            frozenset((str(a), str(b)) for a, b in document["behind"]),
            frozenset((str(a), str(b)) for a, b in document["undone"]),
            frozenset((str(a), str(b)) for a, b in document["roles"]),
        )

    # ---- what is new

    def new_words(self, row: Sequence[Token], tokens: TokenReader) -> list[tuple[int, int]]:
        """Return the places (first word, behind the last) of words that are new."""
        return [
            (token.start, token.end)
            for token in row
            if not token.classes
            and token.word[0].isalnum()
            and token.word not in tokens.vocabulary
            and self.words.get(token.word, 0) < HEARD_TWICE
        ]

    def new_things(self, row: Sequence[Token], tokens: TokenReader) -> list[tuple[int, int]]:
        """Return the places of nouns with a word behind them that makes another thing of them, nobody ever said which.

        "Phone" is known, and "phone charger" is not.
        """
        found = []
        for before, token in itertools.pairwise(row):
            general = token.kind in self.general or (not token.classes and token.word in tokens.joining)
            joins = before.classes and token.word[0].isalnum() and not general
            if joins and (before.lexical, token.lexical) not in self.behind:
                found.append((before.start, token.end))
        return found

    def new_uses(self, row: Sequence[Token]) -> list[tuple[int, int]]:
        """Return the places of neighbours that never stood side by side."""
        return [
            (before.start, token.end)
            for before, token in itertools.pairwise(row)
            if (before.kind, token.kind) not in self.pairs
        ]

    def misplaced(self, row: Sequence[Token], meaning: Meaning) -> list[tuple[int, int]]:
        """Return the places of things, with the word before, for which a meaning has a use that nobody ever meant.

        Either it leaves a thing undone behind a word behind which none was left so ("read the newspaper"), or it fills
        a slot from behind a word that never stood before that slot ("turn the stove on", where things are put).
        """
        found = []
        for before, token in itertools.pairwise(row):
            filled = _filled(token, meaning)
            if not token.classes or before.role in self.passing:
                continue
            known = any((before.role, slot) in self.roles for slot in filled)
            if not (known or (not filled and (before.role, token.lexical) in self.undone)):
                found.append((before.start, token.end))
        return found


def _filled(token: Token, meaning: Meaning) -> tuple[str, ...]:
    """Return the numbers of the slots of a meaning that a noun may fill."""
    return tuple(str(slot) for slot, name in enumerate(meaning.classes) if name in token.classes)


def merged(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return places in their order, those that touch or overlap as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


__all__ = ["Evidence", "Token", "TokenReader", "merged"]
