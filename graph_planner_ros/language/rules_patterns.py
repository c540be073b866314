"""Sentence patterns with slots, matched in linear time: literals are compared, slots are looked up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from graph_planner_ros.language.rules_names import MAX_NAME, Mention, Names, fold, is_boundary

try:  # the parser of regular expressions moved in Python 3.11
    from re import _parser as sre_parse  # type: ignore[attr-defined]
except ImportError:  # pragma: no cover
    import sre_parse

MAX_SENTENCE = 2000
"""Characters that one pattern may span."""
ANY_CLASS = "?"
"""Class of a slot for words of any kind that the domain has a class for."""
MAX_ITEMS = 500
"""Things in one list."""
_SLOT = re.compile(r"\{(?P<name>[a-z_][a-z_0-9]*)(?P<list>[*+])?(?::(?P<type>[\w-]+))?(?:=(?P<class>\w+|\?))?\}")
_SEPARATOR = re.compile(r",? and (?=\S)|[,;] ?|\n *[-*] ?")
_NEXT_LINE = re.compile(r"\n *(?=\S)")
_FREE = re.compile(r"[^.,;:!?\n(){}\[\]<>]+")
_START = re.compile(r"(?:\A|[.!?:;)\]\"'](?= )|\n)[\s\-*>=•]*")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_WORD_START = re.compile(r"(?<![^\W_])(?=\w)")


class PatternError(ValueError):
    """A pattern that cannot be used; the message says why."""


@dataclass(frozen=True)
class Slot:
    """A hole in a pattern.

    Attributes:
        name: what facts call it. many: it captures a list. type_name: PDDL type that its things must have.
        class_name: class of things whose name is not known; without it only known names are captured.
        lines: the things of the list stand on a line each.
    """

    name: str
    many: bool = False
    type_name: str | None = None
    class_name: str | None = None
    lines: bool = False


@dataclass
class Match:
    """Where a pattern matched and what its slots captured; a list slot captures any number."""

    start: int
    end: int
    slots: dict[str, list[Mention]] = field(default_factory=dict)


class Page:
    """A text that is being read: runs of blanks are one blank, and every position leads back to the original.

    ``qualities``: whether words before a name can say what state the thing is in; in commands they belong to the name.
    """

    def __init__(self, text: str, names: Names, qualities: bool = True) -> None:
        self.qualities = qualities
        pieces: list[str] = []
        self.origin: list[int] = []
        blank = False
        for index, character in enumerate(text):
            is_blank = character in " \t\r\f\v\xa0"
            if not (is_blank and blank):
                pieces.append(" " if is_blank else character)
                self.origin.append(index)
            blank = is_blank
        self.origin.append(len(text))
        self.text = "".join(pieces)
        self.folded = fold(self.text)
        self.names = names
        self._version = names.version
        self._instances: dict[int, Mention | None] = {}

    def instance(self, position: int) -> Mention | None:
        """Return the name at a position; every pattern asks for it, so it is looked up once while no name is new."""
        if self._version != self.names.version:
            self._version, self._instances = self.names.version, {}
        if position not in self._instances:
            self._instances[position] = self.names.instance_at(self.text, self.folded, position)
        return self._instances[position]

    def starts(self) -> list[int]:
        """Return where sentences start: at the beginning, on a new line, after the end of another sentence."""
        return sorted({match.end() for match in _START.finditer(self.text) if match.end() < len(self.text)})

    def word_starts(self) -> list[int]:
        """Return where words start."""
        return [match.start() for match in _WORD_START.finditer(self.text)]

    def span(self, match: Match) -> tuple[int, int]:
        """Return the span of a match in the original text."""
        return self.origin[match.start], self.origin[match.end]


class Pattern:
    """One sentence pattern; see `rules` for how it is written.

    Raises:
        PatternError: if it is not well formed, or a regular expression could take more than linear time.
    """

    def __init__(self, source: str, classes: bool = False) -> None:
        self.source = source
        self._classes = classes
        self.slots: dict[str, Slot] = {}
        self._regex: re.Pattern[str] | None = None
        self._parts: list[str | Slot] = []
        if not source.strip():
            raise PatternError("expected words, found an empty pattern")
        if source.startswith("re:"):
            self._regex = compile_regex(_SLOT.sub(self._group, source[3:].strip()))
            for name in self._regex.groupindex:
                self.slots.setdefault(name, Slot(name))
        else:
            self._read(re.sub(r"[ \t]+", " ", source))

    def _slot(self, match: re.Match[str]) -> Slot:
        slot = Slot(match["name"], bool(match["list"]), match["type"], match["class"], match["list"] == "+")
        if slot.name in self.slots:
            raise PatternError(f"the slot {slot.name!r} occurs twice")
        self.slots[slot.name] = slot
        return slot

    def _group(self, match: re.Match[str]) -> str:
        slot = self._slot(match)
        if slot.many:
            return rf"(?P<{slot.name}>[^.:\n]{{0,{MAX_SENTENCE}}}?)"
        return rf"(?P<{slot.name}>[^.,;:!?\n]{{1,{MAX_NAME}}}?)"

    def _read(self, source: str) -> None:
        position = 0
        for match in _SLOT.finditer(source):
            self._literal(source[position : match.start()])
            if self._parts and isinstance(self._parts[-1], Slot):
                raise PatternError(f"expected words between {self._parts[-1].name!r} and {match['name']!r}")
            self._parts.append(self._slot(match))
            position = match.end()
        self._literal(source[position:])

    def _literal(self, words: str) -> None:
        if "{" in words or "}" in words:
            raise PatternError(f"expected slots like {{x}}, {{x:type}}, {{x=Class}} or {{xs*}}, found {words!r}")
        if words:
            self._parts.append(fold(words))

    # -- matching -------------------------------------------------------------------------------------------------

    def match(self, page: Page, position: int) -> Match | None:
        """Match at a position of a page."""
        if self._regex is not None:
            return self._match_regex(page, position)
        return self._match_parts(page, position, False)

    def match_whole(self, page: Page) -> Match | None:
        """Match a whole text, such as a command; a known name that another one starts with is no match for that."""
        if self._regex is None:
            return self._match_parts(page, 0, True)
        found = self._match_regex(page, 0)
        return found if found is not None and _is_end(page, found.end) else None

    def _match_parts(self, page: Page, position: int, whole: bool) -> Match | None:
        if isinstance(self._parts[0], str) and not page.folded.startswith(self._parts[0], position):
            return None
        slots: dict[str, list[Mention]] = {}
        end = self._follow(page, 0, position, slots, whole)
        return Match(position, end, slots) if end is not None and is_boundary(page.text, end) else None

    def _follow(
        self, page: Page, index: int, position: int, slots: dict[str, list[Mention]], whole: bool
    ) -> int | None:
        if index == len(self._parts):
            return None if whole and not _is_end(page, position) else position
        part = self._parts[index]
        if isinstance(part, str):
            if not page.folded.startswith(part, position):
                return None
            return self._follow(page, index + 1, position + len(part), slots, whole)
        for mentions, end in self._captures(page, part, position, index + 1):
            slots[part.name] = mentions
            last = self._follow(page, index + 1, end, slots, whole)
            if last is not None:
                return last
        return None

    def _captures(self, page: Page, slot: Slot, position: int, after: int) -> Iterator[tuple[list[Mention], int]]:
        """Yield what a slot can capture: a list, or a known name, or, where a class is given, words of any kind."""
        if slot.many:
            yield from self._list(page, slot, position)
            return
        start, qualities = _skip(page, position)
        mention = self._name(page, start, slot)
        if mention is not None and _may_fill(page, slot, mention):
            yield [replace(mention, qualities=qualities)], mention.end
        if slot.class_name is not None:
            stop = self._parts[after] if after < len(self._parts) else None
            end = _free_end(page, start, stop if isinstance(stop, str) else None)
            if end is not None and (mention is None or end != mention.end):
                free = _free(page, slot, start, end)
                if _may_fill(page, slot, free):
                    yield [replace(free, qualities=qualities)], end

    def _name(self, page: Page, start: int, slot: Slot) -> Mention | None:
        mention = page.instance(start)
        if self._classes and slot.class_name is None:
            of_class = page.names.class_at(page.folded, start)
            if of_class is not None and (
                mention is None
                or mention.class_name is None
                or of_class.end > mention.end
                or (not page.names.rules.patterns and page.names.known(mention.name) is None)
            ):
                return of_class
        return mention

    def _list(self, page: Page, slot: Slot, position: int) -> Iterator[tuple[list[Mention], int]]:
        for word in page.names.rules.nothing:
            end = position + len(word)
            if page.folded.startswith(word, position) and is_boundary(page.text, end):
                yield [], end
                return
        mentions: list[Mention] = []
        end = position
        while len(mentions) < MAX_ITEMS:
            start, qualities = _skip(page, position)
            mention = self._name(page, start, slot) or _unknown(page, slot, start)
            if mention is None:
                break
            mentions.append(replace(mention, qualities=qualities))
            end = mention.end
            separator = (_NEXT_LINE if slot.lines else _SEPARATOR).match(page.folded, end)
            if separator is None:
                break
            position = separator.end()
        if mentions:
            yield mentions, end

    def _match_regex(self, page: Page, position: int) -> Match | None:
        assert self._regex is not None
        found = self._regex.match(page.text, position, min(len(page.text), position + MAX_SENTENCE))
        if found is None or not is_boundary(page.text, found.end()):
            return None
        slots: dict[str, list[Mention]] = {}
        for name, slot in self.slots.items():
            start, end = found.span(name)
            if start < 0:
                slots[name] = []  # a group that took no part
                continue
            mentions = self._inside(page, slot, start, end)
            if mentions is None:
                return None
            slots[name] = mentions
        return Match(position, found.end(), slots)

    def _inside(self, page: Page, slot: Slot, start: int, end: int) -> list[Mention] | None:
        """Read a span that a regular expression captured; all of it must be names."""
        if slot.many:
            found = next(self._list(page, slot, start), None)
            return found[0] if found is not None and found[1] == end else ([] if start == end else None)
        start, qualities = _skip(page, start)
        mention = self._name(page, start, slot)
        if mention is None or mention.end != end:
            mention = _free(page, slot, start, end) if slot.class_name is not None and start < end else None
        if mention is None or not _may_fill(page, slot, mention):
            return None
        return [replace(mention, qualities=qualities)]


def _is_end(page: Page, position: int) -> bool:
    return not page.text[position:].strip(" .")


def _may_fill(page: Page, slot: Slot, mention: Mention) -> bool:
    """Return whether a slot that takes only things of a type may take this one; others are checked later."""
    if slot.class_name != ANY_CLASS:
        return True
    return mention.class_name is not None and page.names.is_of(mention.class_name, slot.type_name)


def _skip(page: Page, position: int) -> tuple[int, tuple[str, ...]]:
    start = page.names.skip_article(page.folded, position)
    return page.names.skip_qualities(page.folded, start) if page.qualities else (start, ())


def _free_end(page: Page, start: int, stop: str | None) -> int | None:
    found = _FREE.match(page.folded, start, min(len(page.folded), start + MAX_NAME))
    if found is None:
        return None
    if stop is None:
        return found.end()
    end = page.folded.find(stop, start + 1, found.end() + len(stop))
    return end if start < end <= found.end() else None


def _free(page: Page, slot: Slot, start: int, end: int) -> Mention:
    name = page.text[start:end].strip()
    known = page.names.known(name)
    if known is not None:
        return Mention(known, page.names.classes[known], start, end)
    class_name = page.names.class_of(name)
    if class_name is None or (slot.class_name is not None and not page.names.is_of(class_name, slot.type_name)):
        class_name = slot.class_name if slot.class_name != ANY_CLASS else None
    return Mention(name, class_name, start, end)


def _unknown(page: Page, slot: Slot, start: int) -> Mention | None:
    """Return an item of a list whose name is not known, up to the next separator; None if no name can be like that."""
    if page.names.rules.patterns and slot.class_name is None:
        return None
    found = _FREE.match(page.folded, start, min(len(page.folded), start + MAX_NAME))
    if found is None or not found.group().strip():
        return None
    cut = found.group().find(" and ")
    end = start + cut if cut > 0 else found.end()
    return _free(page, slot, start, end)


def compile_regex(source: str) -> re.Pattern[str]:
    """Compile a regular expression of a language file.

    Raises:
        PatternError: if it is not one, or holds a repetition inside a repetition, which can take exponential time.
    """
    try:
        tree = sre_parse.parse(source)
        if _nested(tree, False):
            raise PatternError(f"a repetition inside a repetition can take for ever: {source!r}")
        return re.compile(source)
    except (re.error, RecursionError, OverflowError) as error:
        raise PatternError(f"not a regular expression: {error}") from error


def _nested(tree: Any, repeated: bool) -> bool:
    """Return whether a parsed expression repeats something that holds a repetition."""
    if isinstance(tree, sre_parse.SubPattern):
        return any(_nested_in(operation, argument, repeated) for operation, argument in tree)
    if isinstance(tree, list | tuple):
        return any(_nested(item, repeated) for item in tree)
    return False


def _nested_in(operation: Any, argument: Any, repeated: bool) -> bool:
    if str(operation) in _REPEATS:
        low, high, inner = argument
        many = high > 1 and high != low
        return (many and repeated) or _nested(inner, repeated or many)
    return _nested(argument, repeated)


def fill(template: str, values: Mapping[str, str]) -> str | None:
    """Return a template with its slots filled; None if a value is missing."""
    missing = [match["name"] for match in _SLOT.finditer(template) if not values.get(match["name"])]
    return None if missing else _SLOT.sub(lambda match: values[match["name"]], template)


def slot_names(template: str) -> tuple[str, ...]:
    """Return the names of a template's slots."""
    return tuple(match["name"] for match in _SLOT.finditer(template))
