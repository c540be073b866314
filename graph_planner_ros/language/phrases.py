"""Noun phrases: from words to mentions of things.

thing  := pronoun | instance id | [article] [number] adjective* noun [modifier thing]*
things := thing ((","| "and") thing)*
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace

from graph_planner_ros.language.lexicon import Lexicon, Modifier, State
from graph_planner_ros.language.words import Phrase

MAX_STEPS = 20_000
"""Most attempts to match a piece of one sentence; a guard against sentences made to be ambiguous."""

NONE = -1
"""Count of things of which a sentence speaks as none at all: "zero mugs", "-1 mugs"."""


class TooComplex(Exception):
    """A sentence has more possible readings than are worth trying."""


@dataclass(frozen=True)
class Link:
    """Ties a mention (``head``) to another one (``other``)."""

    modifier: Modifier
    other: Mention


@dataclass(frozen=True)
class Mention:
    """What a sentence says about one thing, or about ``count`` things of a kind.

    Attributes:
        text: the words. senses: classes that the noun may mean.
        count: how many; 0 for a plural without a number; `NONE`.
        article: ``definite``, ``indefinite``, ``other`` or empty. pronoun: ``one``, ``many``, ``same`` or empty.
        instance: id of a thing that is named. parts: it speaks of parts ("slices") of a thing.
    """

    text: str
    senses: tuple[str, ...] = ()
    count: int = 1
    article: str = ""
    pronoun: str = ""
    instance: str | None = None
    states: tuple[State, ...] = ()
    links: tuple[Link, ...] = ()
    parts: bool = False


SAME = Mention("it", pronoun="same")
"""The thing that the clause before is about."""


class NounPhrases:
    """Reads noun phrases out of one sentence; ``instances`` maps the ids of known things to their classes."""

    def __init__(self, lexicon: Lexicon, tokens: Phrase, instances: dict[str, str]) -> None:
        self._lexicon = lexicon
        self.tokens = tokens
        self._instances = instances
        self._memo: dict[int, list[tuple[Mention, int]]] = {}
        self.farthest = 0
        self._steps = 0

    def match(self, phrases: Container[Phrase], position: int) -> Iterator[int]:
        """Yield where phrases of a set that start at a position end, longest first."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise TooComplex
        for length in range(min(self._lexicon.longest, len(self.tokens) - position), 0, -1):
            if self.tokens[position : position + length] in phrases:
                self.farthest = max(self.farthest, position + length)
                yield position + length

    def grammar(self, name: str, position: int) -> Iterator[int]:
        """Yield where function words of a kind that start at a position end."""
        return self.match(self._lexicon.grammar[name], position)

    def things(self, position: int) -> Iterator[tuple[tuple[Mention, ...], int]]:
        """Yield lists of things that start at a position, longest first."""
        for mention, end in self.thing(position):
            for after in self._separators(end):
                for rest, last in self.things(after):
                    yield (mention, *rest), last
            yield (mention,), end

    def _separators(self, position: int) -> Iterator[int]:
        comma = position < len(self.tokens) and self.tokens[position] == ","
        start = position + 1 if comma else position
        yield from self.grammar("and", start)
        if comma:
            yield start

    def thing(self, position: int) -> list[tuple[Mention, int]]:
        """Return the things that may start at a position, each with its end; those with most words first."""
        if position not in self._memo:
            self._memo[position] = []  # a phrase that contains itself does not exist
            found = sorted(self._thing(position), key=lambda pair: -pair[1])
            self._memo[position] = [(replace(m, text=" ".join(self.tokens[position:end])), end) for m, end in found]
        return self._memo[position]

    def _thing(self, position: int) -> Iterator[tuple[Mention, int]]:
        for kind in ("one", "many"):
            for end in self.grammar(kind, position):
                yield Mention("", pronoun=kind, count=0 if kind == "many" else 1), end
        for article, after in self._articles(position):
            for name in self.tokens[after : after + 1]:
                if name in self._instances:
                    self.farthest = max(self.farthest, after + 1)
                    yield Mention("", (self._instances[name],), article="definite", instance=name), after + 1
            for state in self._lexicon.states:  # "a slice" of what was spoken of before
                for end in self.match(state.nouns, after):
                    yield Mention("", pronoun="one", states=(state,)), end
            for number, start in self._numbers(after):
                for states, noun_at in self._adjectives(start):
                    for noun, end in self._noun(noun_at):
                        # a slice of a tomato that was spoken of is not another tomato
                        of = "definite" if noun.parts and article != "other" else article
                        whole = replace(noun, article=of, count=number or noun.count, states=(*states, *noun.states))
                        yield from self._modified(whole, end)

    def _articles(self, position: int) -> Iterator[tuple[str, int]]:
        for kind in ("definite", "indefinite", "other"):
            for end in self.grammar(kind, position):
                yield kind, end
        yield "", position

    def _numbers(self, position: int) -> Iterator[tuple[int, int]]:
        for word in self.tokens[position : position + 1]:
            if word.lstrip("-").isdecimal():
                yield max(int(word), 0) or NONE, position + 1
        for end in self.match(self._lexicon.numbers, position):
            number = self._lexicon.numbers[self.tokens[position:end]] or NONE
            yield number, end
            for after_of in [end, *self.grammar("of", end)]:  # both the mugs, two of my mugs
                for after in self.grammar("definite", after_of):
                    yield number, after
        yield 0, position

    def _adjectives(self, position: int) -> Iterator[tuple[tuple[State, ...], int]]:
        for state in self._lexicon.states:
            for end in self.match(state.words, position):
                for after in [end, *self._separators(end)]:
                    for more, last in self._adjectives(after):
                        if more or after == end:
                            yield (state, *more), last
        for end in self.grammar("without_meaning", position):
            yield from self._adjectives(end)
        yield (), position

    def _noun(self, position: int) -> Iterator[tuple[Mention, int]]:
        for state in self._lexicon.states:
            for end in self.match(state.nouns, position):
                for after_of in self.grammar("of", end):
                    for after in [after_of, *self.grammar("definite", after_of), *self.grammar("indefinite", after_of)]:
                        for states, noun_at in self._adjectives(after):
                            for noun, last in self._plain_noun(noun_at):
                                yield replace(noun, states=(state, *states), parts=True, count=1), last
        for noun, end in self._plain_noun(position):
            for state in self._lexicon.states:
                for last in self.match(state.nouns, end):
                    yield replace(noun, states=(state,), parts=True, count=1), last
            yield noun, end

    def _plain_noun(self, position: int) -> Iterator[tuple[Mention, int]]:
        for end in self.match(self._lexicon.nouns, position):
            senses = self._lexicon.nouns[self.tokens[position:end]]
            for plural in (False, True):
                classes = tuple(sense.class_name for sense in senses if sense.plural is plural)
                if classes:
                    yield Mention("", classes, count=0 if plural else 1), end

    def _modified(self, mention: Mention, position: int, depth: int = 0) -> Iterator[tuple[Mention, int]]:
        yield mention, position
        if depth == 2:
            return
        for modifier in self._lexicon.modifiers:
            for end in self.match(modifier.words, position):
                for other, after in self.thing(end):
                    linked = replace(mention, links=(*mention.links, Link(modifier, other)))
                    for last in [*self.match(modifier.after, after), after]:
                        yield from self._modified(linked, last, depth + 1)
