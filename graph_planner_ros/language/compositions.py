"""Goals about things that are put together from parts: "a lettuce chicken sandwich and fries on separate tables".

What there is to put together is in a domain's ``compositions.yaml`` (there is none for most domains):

    place: {class: table}            # each composition is made at a place of its own
    parts: {lettuce: {prepared: [iscut], words: [...]}}   # class -> facts wanted where nobody says otherwise
    aliases: [{words: [onion ring], part: onion, facts: [iscut, isfried], alone: false}]
    states: [{words: [fried], facts: [isfried], instead_of: [iscooked]}]
    kinds:
      sandwich:
        words: [sandwich]
        things: {bottom: bread, top: bread}        # role -> class; also ``place`` and, in ``part``, ``part``
        facts: ["item_on(bottom, place)"]          # at first; ``part``: for each part; ``end``: at last
        stack: {first: bottom, last: top, fact: "atop(upper, lower)"}   # used where the order is determined
        implied: [patty]; instead: [chicken]       # parts that go without saying, unless one of ``instead`` is named
        prepared: false                            # parts are wanted as they are
        like: burger                               # everything else as there
    alone: {facts: ["item_on(part, place)"]}       # a part by itself
    grammar: {one, numbers, repeat, with, on_top, end, plain, interleaved, starting, upwards, downwards, and}   # words

Words are singular; plurals are made. What is implied is wanted only if there is enough of it. The order of the parts is
determined if there is only one, if they alternate from a named one, or if the text says what is on top of what
("lettuce and tomato on the patty": in the order in which they are named), or that they lie as they are named.
A phrase with a word among its parts that nobody knows is not half understood: then there is no goal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import check_goal
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.symbols import Goal
from graph_planner_ros.domain.yaml_files import read_yaml
from graph_planner_ros.language.composition_goal import FACT, GoalWriter
from graph_planner_ros.language.composition_text import DishReader, Part, Tag
from graph_planner_ros.language.words import plurals

FILE = "compositions.yaml"
MAX_WORDS = 200
_WORD = re.compile(r"[a-z0-9']+|[(),.;]")


class Compositions:
    """Reads goals about compositions.

    Args:
        domain: of the goals. path: the file; see the top of this module.

    Raises:
        DomainError: naming the file and the entry that is wrong.
    """

    def __init__(self, domain: Domain, path: Path) -> None:
        self._domain = domain
        self._path = path
        raw = read_yaml(path, DomainError)
        if not isinstance(raw, dict):
            raise DomainError(f"{path}: expected a mapping")
        self._raw: dict[str, Any] = raw
        self._kinds = {name: self._kind(name) for name in raw.get("kinds") or {}}
        self._place = self._class("place.class", (raw.get("place") or {}).get("class"))
        self._parts: dict[str, Any] = {
            self._class("parts", n): entry or {} for n, entry in (raw.get("parts") or {}).items()
        }
        self._lexicon = dict(self._words())
        self._longest = max((len(words) for words in self._lexicon), default=1)

    # -- the file -----------------------------------------------------------------------------------------------------

    def _class(self, key: str, name: Any) -> str:
        if name not in self._domain.classes:
            raise DomainError(f"{self._path}: {key}: there is no class {name!r}")
        return str(name)

    def _kind(self, name: str) -> dict[str, Any]:
        entry = self._raw["kinds"][name]
        if not isinstance(entry, dict):
            raise DomainError(f"{self._path}: kinds.{name}: expected a mapping")
        if "like" in entry:
            if entry["like"] not in self._raw["kinds"]:
                raise DomainError(f"{self._path}: kinds.{name}.like: there is no kind {entry['like']!r}")
            entry = {**self._raw["kinds"][entry["like"]], **entry}
        for role, label in (entry.get("things") or {}).items():
            self._class(f"kinds.{name}.things.{role}", label)
        roles = {*(entry.get("things") or {}), "place", "part"}
        for key in ("facts", "part", "end"):
            for text in entry.get(key) or ():
                self._fact(f"kinds.{name}.{key}", text, roles)
        return entry

    def _fact(self, key: str, text: str, roles: set[str]) -> tuple[str, tuple[str, ...]]:
        match = FACT.fullmatch(str(text))
        predicate = match.group(1) if match else ""
        arguments = tuple(part.strip() for part in match.group(2).split(",")) if match else ()
        schema = self._domain.predicates.get(predicate)
        if schema is None or schema.arity != len(arguments) or not roles.issuperset(arguments):
            raise DomainError(f"{self._path}: {key}: expected a fact over {', '.join(sorted(roles))}, found {text!r}")
        return predicate, arguments

    def _words(self) -> Iterator[tuple[tuple[str, ...], Tag]]:
        """Yield phrases with what they mean; later ones win."""
        grammar = self._raw.get("grammar") or {}
        for role in ("with", "on_top", "end", "plain", "interleaved", "starting", "upwards", "downwards", "and"):
            for words in grammar.get(role) or ():
                yield _split(words), Tag(role)
        for words in grammar.get("one") or ():
            yield _split(words), Tag("number", 1)
        for role, key in (("number", "numbers"), ("repeat", "repeat")):
            for words, value in (grammar.get(key) or {}).items():
                yield _split(words), Tag(role, int(value))
        for label, entry in self._parts.items():
            for words in (*self._domain.classes[label].words, *(entry.get("words") or ())):
                yield from _forms(words, Tag("part", Part(label)))
        for entry in self._raw.get("aliases") or ():
            part = Part(
                self._class("aliases.part", entry["part"]), tuple(entry["facts"]), alone=bool(entry.get("alone"))
            )
            for words in entry["words"]:
                yield from _forms(words, Tag("part", part))
        for entry in self._raw.get("states") or ():
            for words in entry["words"]:
                yield _split(words), Tag("state", (tuple(entry["facts"]), tuple(entry.get("instead_of") or ())))
        for words in self._domain.classes[self._place].words:
            yield from _forms(words, Tag("place"))
        for name, kind in self._kinds.items():
            for words in kind["words"]:
                yield from _forms(words, Tag("kind", name))

    # -- reading ------------------------------------------------------------------------------------------------------

    def goal(self, text: str, objects: Mapping[str, str]) -> Goal | None:
        """Return the goal that a text asks for; None if it asks for no composition, or is not understood.

        Args:
            text: the whole goal. objects: instance -> class of what there is; empty if nothing is known.
        """
        tags = self._tags(text)
        if tags is None or not any(tag.role in ("kind", "part") for tag in tags):
            return None
        dishes = DishReader(tags).read()
        if not dishes:
            return None
        goal = GoalWriter(self._domain, self._raw, self._kinds, self._parts, self._place, objects).write(dishes, text)
        if goal is None:
            return None
        try:
            check_goal(goal, self._domain)
        except DomainError:
            return None
        return goal

    def _tags(self, text: str) -> list[Tag] | None:
        words = _WORD.findall(text.lower())
        if len(words) > MAX_WORDS:
            return None
        tags: list[Tag] = []
        position = 0
        while position < len(words):
            tag: Tag | None = None
            for length in range(min(self._longest, len(words) - position), 0, -1):
                tag = self._lexicon.get(tuple(words[position : position + length]))
                if tag is not None:
                    break
            else:
                word, length = words[position], 1
                tag = (
                    Tag("number", int(word)) if word.isdecimal() else Tag("mark" if word in "(),.;" else "other", word)
                )
            if tag is not None and tag.role != "plain":
                tags.append(tag)
            position += length
        return tags


def _split(words: Any) -> tuple[str, ...]:
    return tuple(str(words).lower().split())


def _forms(words: str, tag: Tag) -> Iterator[tuple[tuple[str, ...], Tag]]:
    """Yield a noun and its plurals."""
    phrase = _split(words)
    yield phrase, tag
    for plural in plurals(phrase[-1]):
        yield (*phrase[:-1], plural), tag


def load_compositions(domain: Domain) -> Compositions | None:
    """Load a domain's compositions; None if it has none.

    Raises:
        DomainError: the file is wrong.
    """
    path = domain.folder / FILE
    return Compositions(domain, path) if path.is_file() else None
