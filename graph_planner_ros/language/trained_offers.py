"""What the admissible commands tell: what can be handled is there, by its full name.

A command is read like a sentence of its own kind. Where names are open ("the gothic gate"), its other words say where a
name stands: they are always the same few.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.language.rules_names import Mention, NameRules, Names, class_words
from graph_planner_ros.language.rules_patterns import Page
from graph_planner_ros.language.trained_text import SLOT, Sentence, read_sentence

OFFER = "<offer>"
"""First token of an admissible command that is read as if it were a sentence."""
COMMAND = "<command>"
"""First token of the last command, likewise."""
MAX_OFFERS = 500
_LEAST_WORDS = 3
_NAME = r"(?P<s{0}>[^\W_][^.,;:!?\n]{{0,80}}?)"


@dataclass
class OfferModel:
    """Commands without names, with the classes that their slots had.

    Attributes:
        slots: command without names -> class -> how often, for each slot.
        open: likewise, only of things whose words do not say their class.
    """

    slots: dict[str, list[dict[str, int]]] = field(default_factory=dict)
    open: dict[str, list[dict[str, int]]] = field(default_factory=dict)
    _patterns: list[tuple[re.Pattern[str], str]] | None = field(default=None, repr=False, compare=False)

    @staticmethod
    def learn(domain: Domain, offers: Iterable[Sentence]) -> OfferModel:
        """Learn from commands whose names were all known."""
        lexicon = class_words(domain, {})
        names = Names(domain, NameRules(), lexicon, {})
        slots: dict[str, list[Counter[str]]] = {}
        hidden: dict[str, list[Counter[str]]] = {}
        for offer in offers:
            seen = slots.setdefault(offer.frame, [Counter() for _ in offer.slots])
            others = hidden.setdefault(offer.frame, [Counter() for _ in offer.slots])
            for index, (mention, *_) in enumerate(offer.slots):
                if mention.class_name is not None:
                    seen[index][mention.class_name] += 1
                    others[index][mention.class_name] += names.class_of(mention.name) != mention.class_name
        return OfferModel(
            {frame: [dict(sorted(count.items())) for count in counts] for frame, counts in sorted(slots.items())},
            {
                frame: [{name: n for name, n in sorted(count.items()) if n} for count in counts]
                for frame, counts in sorted(hidden.items())
            },
        )

    def read(self, domain: Domain, names: Names, commands: Sequence[str]) -> list[Sentence]:
        """Return the commands as sentences; the names that they tell are known from then on.

        Names that a command is sure about come first: "take x from y" says more of x than "examine x".
        """
        found: list[Sentence] = []
        unread: list[tuple[float, int, str, re.Match[str]]] = []
        for number, command in enumerate(commands[:MAX_OFFERS]):
            page = Page(command[:300], names, qualities=False)
            sentence = offer_sentence(page)
            if sentence.frame in self.slots:
                found.append(sentence)
                continue
            for pattern, frame in self._compiled():
                match = pattern.fullmatch(page.folded)
                if match is not None:
                    unread.append((-self._sureness(frame), number, frame, match))
                    break
        for _, number, frame, match in sorted(unread, key=lambda item: item[:3]):
            found.append(self._name(domain, names, frame, match, commands[number]))
        return found

    def discover(self, domain: Domain, names: Names, page: Page, spans: Iterable[tuple[int, int]]) -> None:
        """Learn new names that stand where the other words of a known sentence say that a name stands."""
        for start, end in spans:
            text = page.folded[start:end].strip()
            for pattern, frame in self._compiled():
                match = pattern.fullmatch(text)
                if match is None:
                    continue
                offset = page.folded.index(text, start)
                for index, votes in enumerate(self.slots[frame]):
                    first, last = (offset + position for position in match.span(f"s{index}"))
                    first = page.names.skip_article(page.folded, first)
                    first, _ = page.names.skip_qualities(page.folded, first)
                    name = page.text[first:last].strip()
                    if not name or " and " in name:
                        continue  # a list is no name
                    if self.open[frame][index] and not self._is_known(domain, page, (first, last), votes):
                        names.learn(name, self._class(domain, names, frame, index, name, votes))
                break

    def _is_known(self, domain: Domain, page: Page, span: tuple[int, int], votes: Mapping[str, int]) -> bool:
        """Return whether a span is a known thing, or words for a class of which things stand there."""
        mention = page.names.instance_at(page.text, page.folded, span[0])
        if mention is None or mention.class_name is None or mention.end < span[1]:
            return False
        types = {domain.classes[label].type_name for label in votes}
        return mention.name in page.names.classes or domain.classes[mention.class_name].type_name in types

    def keep_open(self, said: Mapping[str, Collection[int]]) -> OfferModel:
        """Return only what helps to `discover` names: things of unknown words of which a sentence says something.

        Args:
            said: sentence without names -> numbers of the slots of which it says something.
        """
        kept = {}
        for frame, slots in self.open.items():
            tokens = frame.split(" ")[1:]
            open_slots = [votes if index in said.get(" ".join(tokens), ()) else {} for index, votes in enumerate(slots)]
            if any(open_slots) and len(tokens) - len(slots) >= _LEAST_WORDS:
                kept[frame] = open_slots
        return OfferModel({frame: self.slots[frame] for frame in kept}, kept)

    def _compiled(self) -> list[tuple[re.Pattern[str], str]]:
        """Return patterns of the known commands that hold a slot, those with most words first."""
        if self._patterns is None:
            self._patterns = []
            for frame in sorted(self.slots, key=lambda frame: (-len(frame.replace(SLOT, "")), frame)):
                tokens = frame.split(" ")[1:]
                if SLOT not in tokens or tokens == [SLOT]:
                    continue
                numbers = iter(range(len(tokens)))
                parts = [_NAME.format(next(numbers)) if token == SLOT else re.escape(token) for token in tokens]
                self._patterns.append((re.compile(r"\s*".join(parts).replace(r"\s*" + "(?P", r"\s+(?P")), frame))
        return self._patterns

    def _sureness(self, frame: str) -> float:
        """Return how alike the classes are of things whose words do not say their class."""
        shares = [max(count.values()) / sum(count.values()) for count in self.open[frame] if count]
        return min(shares, default=0.0)

    def _name(self, domain: Domain, names: Names, frame: str, match: re.Match[str], command: str) -> Sentence:
        slots = []
        for index, votes in enumerate(self.slots[frame]):
            start, end = match.span(f"s{index}")
            name = command[start:end].strip()
            known = names.known(name)
            class_name = names.classes[known] if known else self._class(domain, names, frame, index, name, votes)
            names.learn(known or name, class_name)
            slots.append((Mention(known or name, class_name, start, end),))
        return Sentence(0, len(command), tuple(frame.split(" ")), tuple(slots))

    def _class(self, domain: Domain, names: Names, frame: str, index: int, name: str, votes: Mapping[str, int]) -> str:
        """Return the class of a new name: that of its words if such things stand there, else the usual one."""
        types = {domain.classes[label].type_name for label in votes}
        said = names.class_of(name)
        if said is not None and domain.classes[said].type_name in types:
            return said
        usual = self.open[frame][index] or votes
        return max(sorted(usual), key=lambda label: usual[label])

    def plain(self) -> dict[str, Any]:
        """Return plain values."""
        return {"slots": self.slots, "open": self.open}

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> OfferModel:
        """Read what `plain` made."""
        return OfferModel(
            {str(frame): [dict(count) for count in counts] for frame, counts in plain["slots"].items()},
            {str(frame): [dict(count) for count in counts] for frame, counts in plain["open"].items()},
        )


def offer_sentence(page: Page) -> Sentence:
    """Return an admissible command as a sentence of its own kind."""
    sentence = read_sentence(page, 0, len(page.text))
    return Sentence(sentence.start, sentence.end, (OFFER, *sentence.tokens), sentence.slots)


def offered(offers: Iterable[Sentence]) -> dict[str, frozenset[str]]:
    """Return thing -> the commands that are offered about it, each with the number of its slot."""
    table: dict[str, set[str]] = {}
    for offer in offers:
        for index, slot in enumerate(offer.slots):
            for mention in slot:
                table.setdefault(mention.name, set()).add(f"{offer.frame}#{index}")
    return {name: frozenset(commands) for name, commands in table.items()}
