"""How a world names its things: exact instance names, and the class that a name belongs to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.language.words import plurals

MAX_NAME = 80
"""Characters of the longest name that is looked for."""
_WORD = re.compile(r"[^\s.,;:!?()\[\]{}\"<>|]+")
_UPPER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def fold(text: str) -> str:
    """Return a text with the letters A to Z small: unlike `str.lower` it keeps every character where it is."""
    return text.translate(_UPPER)


@dataclass(frozen=True)
class Mention:
    """A name in a text.

    Attributes:
        name: the instance as the world writes it. class_name: None if no class of the domain fits.
        start, end: span in the text that was read. is_class: the words name a class and no instance.
        qualities: words before the name that say what state the thing is in, see `NameRules.qualities`.
    """

    name: str
    class_name: str | None
    start: int
    end: int
    is_class: bool = False
    qualities: tuple[str, ...] = ()


@dataclass(frozen=True)
class NameRules:
    """The section ``names`` of a language file; see `rules`."""

    patterns: tuple[re.Pattern[str], ...] = ()
    to_class: Mapping[str, str] = field(default_factory=dict)
    articles: tuple[str, ...] = ("a", "an", "the", "some", "your", "my")
    modifiers: frozenset[str] = frozenset()
    nothing: tuple[str, ...] = ("nothing",)
    qualities: tuple[str, ...] = ()


class Names:
    """Finds names. One for each text, since what is known grows: `learn`.

    Args:
        lexicon: the words for classes, see `class_words`. known: instance -> class.
    """

    def __init__(self, domain: Domain, rules: NameRules, lexicon: Mapping[str, str], known: Mapping[str, str]) -> None:
        self._domain = domain
        self.rules = rules
        self._lexicon = lexicon
        self._longest = max((name.count(" ") + 1 for name in lexicon), default=1)
        self._known: dict[str, str] = {}
        self.version = 0
        self.classes: dict[str, str] = {}
        for name, class_name in known.items():
            self.learn(name, class_name)

    def learn(self, name: str, class_name: str) -> None:
        """Remember an instance."""
        if fold(name) not in self._known:
            self.version += 1
        self._known.setdefault(fold(name), name)
        self.classes.setdefault(name, class_name)
        self._longest = max(self._longest, name.count(" ") + 1)

    def known(self, words: str) -> str | None:
        """Return the instance with this name, whatever its capitals."""
        return self._known.get(fold(words))

    def skip_article(self, text: str, position: int) -> int:
        """Return the position after an article, or the same one if there is none. ``text`` is folded."""
        for article in self.rules.articles:
            if (
                text.startswith(article, position)
                and text[position + len(article) : position + len(article) + 1] == " "
            ):
                return position + len(article) + 1
        return position

    def skip_qualities(self, text: str, position: int) -> tuple[int, tuple[str, ...]]:
        """Return the position after words for states, and these words; a name that begins so keeps them."""
        found: list[str] = []
        while not any(text[position:end] in self._known for end in self._ends(text, position)):
            word = next((q for q in self.rules.qualities if text.startswith(q + " ", position)), None)
            if word is None:
                break
            found.append(word)
            position += len(word) + 1
        return position, tuple(found)

    def is_of(self, class_name: str, type_name: str | None) -> bool:
        """Return whether things of a class are of a PDDL type; None is every type."""
        return type_name is None or self._domain.is_a(self._domain.classes[class_name].type_name, type_name)

    def instance_at(self, text: str, folded: str, position: int) -> Mention | None:
        """Return the longest instance name that starts at a position; its class may be unknown."""
        best: Mention | None = None
        for pattern in self.rules.patterns:
            match = pattern.match(text, position, position + MAX_NAME)
            if match and match.end() > position and is_boundary(text, match.end()):
                name = match.group()
                known = self.known(name)
                class_words = match.groupdict().get("class") or name
                class_name = self.classes[known] if known else self.class_of(class_words)
                if best is None or match.end() > best.end:
                    best = Mention(known or name, class_name, position, match.end())
        for end in self._ends(folded, position):
            if best is not None and end <= best.end:
                break
            words = folded[position:end]
            instance = self._known.get(words)
            if instance is not None:
                return Mention(instance, self.classes[instance], position, end)
            if not self.rules.patterns and (class_name := self._modified(words)) is not None:
                return Mention(text[position:end], class_name, position, end)
        return best

    def class_at(self, folded: str, position: int) -> Mention | None:
        """Return the longest words for a class that start at a position."""
        for end in self._ends(folded, position):
            class_name = self._lexicon.get(folded[position:end])
            if class_name is not None:
                return Mention(folded[position:end], class_name, position, end, is_class=True)
        return None

    def class_of(self, words: str) -> str | None:
        """Return the class of a name: that of all its words, else of most words at its end; numbers are no words."""
        folded = fold(words)
        found = self._lexicon.get(folded)
        if found is not None:
            return found
        parts = folded.split(" ")
        while len(parts) > 1 and parts[-1].isdigit():
            parts.pop()
        parts[-1] = parts[-1].rstrip("0123456789") or parts[-1]
        parts[-1:] = [part for part in parts[-1].split("-") if part] or parts[-1:]
        folded = " ".join(parts)
        if folded in self._lexicon:
            return self._lexicon[folded]
        return next(
            (self._lexicon[rest] for i in range(1, len(parts)) if (rest := " ".join(parts[i:])) in self._lexicon), None
        )

    def _modified(self, words: str) -> str | None:
        parts = words.split(" ")
        while len(parts) > 1 and parts[0] in self.rules.modifiers and " ".join(parts) not in self._lexicon:
            parts.pop(0)
        return self._lexicon.get(" ".join(parts))

    def _ends(self, folded: str, position: int) -> list[int]:
        """Return where the words end that start at a position, the longest first."""
        ends: list[int] = []
        limit = self._longest + (3 if self.rules.modifiers else 0)
        stop = min(len(folded), position + MAX_NAME)
        while len(ends) < limit:
            match = _WORD.match(folded, position, stop)
            if match is None:
                break
            ends.append(match.end())
            if folded[match.end() : match.end() + 1] != " ":
                break
            position = match.end() + 1
        return ends[::-1]


def is_boundary(text: str, position: int) -> bool:
    """Return whether no word goes on across a position."""
    return not (0 < position < len(text) and text[position - 1].isalnum() and text[position].isalnum())


def class_words(domain: Domain, to_class: Mapping[str, str]) -> dict[str, str]:
    """Return folded words -> class: what the language file says, then the labels, then the domain's words."""
    words = {fold(word): class_name for word, class_name in to_class.items()}
    for label in domain.classes:
        words.setdefault(fold(label), label)
    for label, entry in domain.classes.items():
        for word in entry.words:
            words.setdefault(fold(word), label)
    for word, label in list(words.items()):
        for plural in plurals(word):
            words.setdefault(plural, label)
    return words
