"""Texts without names: sentences in which every thing is a slot, so that what is learned holds for all things."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.language.rules_names import Mention, NameRules, Names, class_words, fold
from graph_planner_ros.language.rules_patterns import MAX_SENTENCE, Page

SLOT = "<x>"
QUALITY = "<quality>"
"""First token of what a word before a name says, read as if it were a sentence."""
CLASS = "<class>"
"""Token for words that name a class and no thing."""
MAX_SENTENCES = 2_000
_TOKEN = re.compile(r"[^\W_]+|[^\w\s]|_")
_QUALIFIED = re.compile(r"\b(?:an?|the|some) (?P<word>[a-z]+) (?=[a-z])")
_SEPARATOR = re.compile(r",? and |[,;] ?")
_END = re.compile(r"[.!?](?=\s|\Z)|\n")
_NUMBERED = re.compile(r"(?P<head>.*?[^\W\d_])(?P<gap>[ _]?)\d+")


@dataclass(frozen=True)
class Sentence:
    """A sentence without names.

    Attributes:
        start, end: span in the page. tokens: words and marks, `SLOT` for every list of things.
        slots: the things of each slot, in order.
    """

    start: int
    end: int
    tokens: tuple[str, ...]
    slots: tuple[tuple[Mention, ...], ...]

    @property
    def frame(self) -> str:
        """The tokens as a text."""
        return " ".join(self.tokens)


@dataclass
class NameModel:
    """What was learned about names: words for classes, whether numbers follow them, and words before them."""

    aliases: dict[str, str] = field(default_factory=dict)
    gaps: tuple[str, ...] = ()
    modifiers: tuple[str, ...] = ()
    words: int = 1
    qualities: tuple[str, ...] = ()
    _made: tuple[NameRules, dict[str, str]] | None = field(default=None, repr=False, compare=False)

    @staticmethod
    def learn(domain: Domain, objects: Iterable[Mapping[str, str]]) -> NameModel:
        """Learn from instance -> class of many observations."""
        names = {name: label for entry in objects for name, label in entry.items()}
        matches = {name: _NUMBERED.fullmatch(fold(name)) for name in names}
        numbered = sum(match is not None for match in matches.values()) * 2 > len(names)
        own = class_words(domain, {})
        votes: dict[str, Counter[str]] = {}
        gaps: Counter[str] = Counter()
        modifiers: Counter[str] = Counter()
        for name, label in names.items():
            match = matches[name]
            if numbered and match is None:
                continue
            head = match["head"] if numbered and match else fold(name)
            gaps.update([match["gap"]] if numbered and match else [])
            votes.setdefault(head, Counter())[label] += 1
            parts = head.split(" ")
            rest = next((i for i in range(1, len(parts)) if own.get(" ".join(parts[i:])) == label), 0)
            modifiers.update(parts[:rest])
        aliases = {head: count.most_common(1)[0][0] for head, count in sorted(votes.items())}
        aliases = {head: label for head, label in aliases.items() if head not in own}  # the domain knows better
        words = max((head.count(" ") + 1 for head in votes), default=1)
        return NameModel(aliases, tuple(sorted(gaps)), tuple(sorted(modifiers)), min(words, 6))

    def learn_qualities(self, domain: Domain, texts: Iterable[tuple[str, Mapping[str, str]]]) -> None:
        """Learn the words that stand between an article and a name and are no part of it."""
        said = list(texts)
        modifiers, self.modifiers, self._made = self.modifiers, (), None
        for _ in range(2):  # the second time words before words that were learned the first time
            counts: Counter[str] = Counter()
            for text, objects in said:
                page = Page(text, self.names(domain, objects))
                for match in _QUALIFIED.finditer(page.folded):
                    start, _ = page.names.skip_qualities(page.folded, match.end())
                    mention = page.names.instance_at(page.text, page.folded, start)
                    before = page.names.instance_at(page.text, page.folded, match.start("word"))
                    if before is None and mention is not None and mention.name in page.names.classes:
                        counts[match["word"]] += 1
            found = {word for word, count in counts.items() if count > 1}
            if not found.isdisjoint(states(domain)):  # here words before names are states: those not met yet as well
                found |= states(domain)
            self.qualities = tuple(sorted(found))
            self._made = None
        self.modifiers = tuple(word for word in modifiers if word not in self.qualities)

    def names(self, domain: Domain, known: Mapping[str, str]) -> Names:
        """Return what finds names in a text."""
        if self._made is None:
            word = r"[^\W\d_]+(?:['_-][^\W\d_]+)*"
            head = rf"(?P<class>{word}(?: {word}){{0,{self.words - 1}}}?)"
            patterns = tuple(re.compile(rf"{head}{re.escape(gap)}\d+", re.IGNORECASE) for gap in self.gaps)
            modifiers, qualities = frozenset(self.modifiers), self.qualities
            rules = NameRules(patterns, self.aliases, modifiers=modifiers, qualities=qualities)
            self._made = rules, class_words(domain, self.aliases)
        return Names(domain, *self._made, known)

    def plain(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "aliases": self.aliases,
            "gaps": list(self.gaps),
            "modifiers": list(self.modifiers),
            "words": self.words,
            "qualities": list(self.qualities),
        }

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> NameModel:
        """Read what `plain` made."""
        return NameModel(
            dict(plain["aliases"]),
            tuple(plain["gaps"]),
            tuple(plain["modifiers"]),
            int(plain["words"]),
            tuple(plain["qualities"]),
        )


def states(domain: Domain) -> frozenset[str]:
    """Return the words that name a state of a thing: predicates of one argument that a thing can have."""
    return frozenset(
        name
        for name, schema in domain.predicates.items()
        if schema.arity == 1 and name in domain.attributes and name.isalpha()
    )


def sentences(page: Page) -> list[Sentence]:
    """Return the sentences of a page; things that have a class are known from then on."""
    found: list[Sentence] = []
    for start, end in spans(page):
        sentence = read_sentence(page, start, end)
        found.append(sentence)
        found.extend(_qualities(sentence))
    return found


def spans(page: Page) -> list[tuple[int, int]]:
    """Return where the sentences of a page are."""
    found: list[tuple[int, int]] = []
    start = 0
    for match in [*_END.finditer(page.text), None]:
        end = match.end() if match else len(page.text)
        if page.text[start:end].strip() and end - start <= MAX_SENTENCE and len(found) < MAX_SENTENCES:
            found.append((start, end))
        start = end
    return found


def _qualities(sentence: Sentence) -> Iterable[Sentence]:
    """Yield what the words before names say, as sentences of their own kind."""
    for mention in (mention for slot in sentence.slots for mention in slot):
        for word in mention.qualities:
            yield Sentence(sentence.start, sentence.end, (QUALITY, word, SLOT), ((mention,),))


def read_sentence(page: Page, start: int, end: int) -> Sentence:
    """Return a span of a page without names."""
    tokens: list[str] = []
    slots: list[tuple[Mention, ...]] = []
    position = start
    while position < end:
        mentions, after = _things(page, position, end)
        if mentions:
            if page.names.rules.patterns:  # else words for a class may be no name at all
                for mention in mentions:
                    if mention.class_name is not None:
                        page.names.learn(mention.name, mention.class_name)
            tokens.append(SLOT)
            slots.append(tuple(mentions))
            position = after
            continue
        token = _TOKEN.match(page.folded, position, end)
        if token is None:
            position += 1
            continue
        of_class = page.names.class_at(page.folded, position) if page.names.rules.patterns else None
        if of_class is not None and of_class.end <= end and (not tokens or position == token.start()):
            tokens.append(CLASS)
            position = of_class.end
            continue
        tokens.append("0" if token.group().isdecimal() else token.group())
        position = token.end()
    while start < end and page.text[start].isspace():
        start += 1
    while end > start and page.text[end - 1].isspace():
        end -= 1
    return Sentence(start, end, tuple(tokens), tuple(slots))


def _things(page: Page, position: int, limit: int) -> tuple[list[Mention], int]:
    """Read a list of things that starts at a position."""
    mentions: list[Mention] = []
    end = position
    if position > 0 and page.text[position - 1].isalnum() and page.text[position].isalnum():
        return mentions, end  # inside a word
    while True:
        start = page.names.skip_article(page.folded, position)
        qualities: tuple[str, ...] = ()
        if page.qualities and page.names.rules.qualities:
            start, qualities = page.names.skip_qualities(page.folded, start)
        mention = page.names.instance_at(page.text, page.folded, start)
        if mention is not None and qualities:
            mention = replace(mention, qualities=qualities)
        if mention is None or mention.end > limit or not _is_thing(mention, page.names):
            return mentions, end
        mentions.append(mention)
        end = mention.end
        separator = _SEPARATOR.match(page.folded, end, limit)
        if separator is None:
            return mentions, end
        position = separator.end()


def _is_thing(mention: Mention, names: Names) -> bool:
    """Return whether a name may stand for a thing: a known one, one of a class, or one word with a number."""
    if mention.name in names.classes:
        return True
    numbered = _NUMBERED.fullmatch(fold(mention.name))
    if numbered is None:
        return mention.class_name is not None
    head = numbered["head"]
    if " " not in head:
        return True
    of_class = names.class_at(head, 0)
    return of_class is not None and of_class.end == len(head)
