"""The domain's ``wording`` section, read and checked: phrases, commands, adjectives, function words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.language.words import Phrase, gerund_forms, plurals, split_label, tokenize

STATE = "STATE"
HEAD, OTHER, THING = "head", "other", "x"
_LITERAL = re.compile(r"(not\s+)?([^\s()]+)\s*\(([^()]*)\)")
_ROLE = re.compile(r"<(\w+)(\+?)>(\??)")
_WORD_LISTS = ("definite", "indefinite", "other", "one", "many", "of", "and", "then", "while", "openers", "closers")
_SECTIONS = ("phrases", "commands", "states", "modifiers", "grammar", "refused", "max_count")


@dataclass(frozen=True)
class Template:
    """A literal over roles, e.g. ``not closed(f)``."""

    predicate: str
    roles: tuple[str, ...]
    positive: bool = True


@dataclass(frozen=True)
class Element:
    """One place of a pattern: a set of phrases, a role (``many``: several things may fill it), or ``STATE``."""

    kind: str
    name: str
    optional: bool = False
    many: bool = False


@dataclass(frozen=True)
class Command:
    """Something that people ask for; see the comments in the YAML."""

    name: str
    patterns: tuple[tuple[Element, ...], ...]
    goal: tuple[Template, ...]
    now: tuple[Template, ...] = ()
    requires: tuple[Template, ...] = ()
    example: str = ""


@dataclass(frozen=True)
class State:
    """An adjective, or a noun that says the same, and its literal over ``x``."""

    words: frozenset[Phrase]
    nouns: frozenset[Phrase]
    literal: Template


@dataclass(frozen=True)
class Modifier:
    """What follows a noun and ties it to another thing: literal over ``head`` and ``other``.

    ``present``: it tells where the thing that the clause is about is now, and not where it should be.
    """

    words: frozenset[Phrase]
    after: frozenset[Phrase]
    literal: Template
    present: bool = False


@dataclass(frozen=True)
class NounSense:
    """A meaning of a noun."""

    class_name: str
    plural: bool


@dataclass(frozen=True)
class Lexicon:
    """All words that mean something in a domain.

    ``vocabulary`` are the single words; ``nouns`` maps a phrase to its meanings in the order of the YAML.
    """

    phrases: dict[str, frozenset[Phrase]]
    commands: tuple[Command, ...]
    states: tuple[State, ...]
    modifiers: tuple[Modifier, ...]
    nouns: dict[Phrase, tuple[NounSense, ...]]
    grammar: dict[str, frozenset[Phrase]]
    numbers: dict[Phrase, int]
    refused: dict[Phrase, str]
    max_count: int = 6
    vocabulary: frozenset[str] = field(default_factory=frozenset)
    longest: int = 1


def read_lexicon(domain: Domain) -> Lexicon:
    """Read the wording of a domain.

    Raises:
        DomainError: naming the entry of the YAML and what was expected.
    """
    return _Reader(domain).read()


def _phrases(words: Iterable[str]) -> frozenset[Phrase]:
    return frozenset(tokenize(word) for word in words)


class _Reader:
    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._sets: dict[str, frozenset[Phrase]] = {}

    def _fail(self, key: str, expected: str) -> DomainError:
        return DomainError(f"{self._domain.folder / 'domain.yaml'}: wording.{key}: {expected}")

    def _words(self, key: str, value: Any) -> list[str]:
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, str) and tokenize(item) for item in value):
            raise self._fail(key, f"expected a list of words (quote on, off, yes and no), found {value!r}")
        return value

    def _map(self, key: str, value: Any) -> dict[str, Any]:
        if value is None:
            return {}
        if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
            raise self._fail(key, f"expected a mapping with names as keys (quote on, off, yes and no), found {value!r}")
        return value

    def _entries(self, key: str, value: Any) -> list[tuple[str, dict[str, Any]]]:
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._fail(key, f"expected a list, found {value!r}")
        return [(f"{key}[{index}]", self._map(f"{key}[{index}]", entry)) for index, entry in enumerate(value)]

    def read(self) -> Lexicon:
        """Read all sections."""
        raw = self._map("", self._domain.wording)
        for name in raw:
            if name not in _SECTIONS:
                raise self._fail(name, f"unknown entry; there are: {', '.join(_SECTIONS)}")
        for name, words in self._map("phrases", raw.get("phrases")).items():
            self._sets[name] = _phrases(self._words(f"phrases.{name}", words))
        commands = tuple(self._command(key, entry) for key, entry in self._entries("commands", raw.get("commands")))
        grammar = self._map("grammar", raw.get("grammar"))
        states = self._with_plurals(self._state(*entry) for entry in self._entries("states", raw.get("states")))
        modifiers = tuple(self._modifier(key, entry) for key, entry in self._entries("modifiers", raw.get("modifiers")))
        refused: dict[Phrase, str] = {}
        for key, entry in self._entries("refused", raw.get("refused")):
            reason = str(entry.get("reason", "it has no meaning here"))
            refused |= dict.fromkeys(_phrases(self._words(f"{key}.words", entry.get("words"))), reason)
        max_count = raw.get("max_count", 6)
        if not isinstance(max_count, int) or max_count < 1:
            raise self._fail("max_count", f"expected a whole number from 1, found {max_count!r}")
        return self._finish(commands, states, modifiers, grammar, refused, max_count)

    def _finish(
        self,
        commands: tuple[Command, ...],
        states: tuple[State, ...],
        modifiers: tuple[Modifier, ...],
        grammar: dict[str, Any],
        refused: dict[Phrase, str],
        max_count: int,
    ) -> Lexicon:
        for name in grammar:
            if name not in (*_WORD_LISTS, "numbers", "plurals", "without_meaning"):
                raise self._fail(f"grammar.{name}", "unknown entry")
        words = {name: _phrases(self._words(f"grammar.{name}", grammar.get(name))) for name in _WORD_LISTS}
        words["without_meaning"] = _phrases(self._words("grammar.without_meaning", grammar.get("without_meaning")))
        numbers = {tokenize(name): n for name, n in self._map("grammar.numbers", grammar.get("numbers")).items()}
        self._verbs_also_as_gerunds(commands)
        plural_of = self._map("grammar.plurals", grammar.get("plurals"))
        nouns = self._nouns({name: str(singular) for name, singular in plural_of.items()})
        groups: list[Iterable[Phrase]] = [*self._sets.values(), *words.values(), numbers, nouns, refused]
        for state in states:
            groups += [state.words, state.nouns]
        for modifier in modifiers:
            groups += [modifier.words, modifier.after]
        known = [phrase for group in groups for phrase in group]
        return Lexicon(
            self._sets,
            commands,
            states,
            modifiers,
            nouns,
            words,
            numbers,
            refused,
            max_count,
            frozenset(word for phrase in known for word in phrase),
            max(map(len, known), default=1),
        )

    def _verbs_also_as_gerunds(self, commands: tuple[Command, ...]) -> None:
        for name in {pattern[0].name for command in commands for pattern in command.patterns}:
            if name in self._sets:
                self._sets[name] = frozenset(
                    (form, *phrase[1:]) for phrase in self._sets[name] for form in gerund_forms(phrase[0])
                )

    def _with_plurals(self, states: Iterable[State]) -> tuple[State, ...]:
        def several(nouns: frozenset[Phrase]) -> frozenset[Phrase]:
            more = {(*noun[:-1], form) for noun in nouns for form in plurals(noun[-1])}
            return nouns | more

        return tuple(State(state.words, several(state.nouns), state.literal) for state in states)

    def _nouns(self, irregular: dict[str, str]) -> dict[Phrase, tuple[NounSense, ...]]:
        senses: dict[Phrase, list[NounSense]] = {}

        def add(phrase: Phrase, sense: NounSense) -> None:
            entry = senses.setdefault(phrase, [])
            if sense not in entry:
                entry.append(sense)

        by_singular: dict[str, list[str]] = {}
        for plural, singular in irregular.items():
            by_singular.setdefault(singular, []).append(plural)
        singular_phrases = [
            (phrase, label)
            for label, entry in self._domain.classes.items()
            for phrase in [*map(tokenize, entry.words), split_label(label), tokenize(label)]
            if phrase
        ]
        for phrase, label in singular_phrases:
            add(phrase, NounSense(label, plural=False))
        for phrase, label in singular_phrases:
            # "bar of soap" has its plural in the first word, "coffee mug" in the last
            head = phrase.index("of") - 1 if "of" in phrase[1:] else len(phrase) - 1
            for form in [*plurals(phrase[head]), *by_singular.get(phrase[head], [])]:
                several = (*phrase[:head], form, *phrase[head + 1 :])
                if NounSense(label, plural=False) not in senses.get(several, []):
                    add(several, NounSense(label, plural=True))
        return {phrase: tuple(entry) for phrase, entry in senses.items()}

    # -- entries --------------------------------------------------------------------------------------------------

    def _command(self, key: str, entry: dict[str, Any]) -> Command:
        patterns = tuple(self._pattern(f"{key}.patterns", text) for text in self._words(key, entry.get("patterns")))
        if not patterns:
            raise self._fail(f"{key}.patterns", "expected at least one pattern")
        roles = {element.name for pattern in patterns for element in pattern if element.kind == "role"}
        parts: dict[str, tuple[Template, ...]] = {}
        for part in ("goal", "now", "requires"):
            texts = self._words(f"{key}.{part}", entry.get(part))
            parts[part] = tuple(self._template(f"{key}.{part}", text, roles) for text in texts)
        return Command(str(entry.get("name", key)), patterns, example=str(entry.get("example", "")), **parts)

    def _pattern(self, key: str, text: str) -> tuple[Element, ...]:
        elements = []
        for token in text.split():
            role = _ROLE.fullmatch(token)
            name = token.rstrip("?")
            if role is not None:
                elements.append(Element("role", role[1], bool(role[3]), bool(role[2])))
            elif name == STATE:
                elements.append(Element("state", STATE))
            elif name in self._sets:
                elements.append(Element("phrase", name, token.endswith("?")))
            else:
                raise self._fail(key, f"{text!r}: there is no set of phrases {name!r} under wording.phrases")
        if not elements or elements[0].kind != "phrase" or elements[0].optional:
            raise self._fail(key, f"{text!r}: a pattern starts with a set of phrases that cannot be left out")
        return tuple(elements)

    def _template(self, key: str, text: str, roles: Iterable[str]) -> Template:
        match = _LITERAL.fullmatch(text.strip())
        if match is None:
            raise self._fail(key, f"expected a literal such as 'in(i, r)' or 'not closed(f)', found {text!r}")
        names = tuple(name.strip() for name in match[3].split(",") if name.strip())
        schema = self._domain.predicates.get(match[2])
        if schema is None:
            raise self._fail(key, f"{text!r}: there is no predicate {match[2]!r}")
        if schema.arity != len(names):
            raise self._fail(key, f"{text!r}: {match[2]!r} takes {schema.arity} arguments")
        for name in names:
            if name not in roles:
                raise self._fail(key, f"{text!r}: {name!r} is not a role; expected one of: {', '.join(sorted(roles))}")
        return Template(match[2], names, match[1] is None)

    def _state(self, key: str, entry: dict[str, Any]) -> State:
        return State(
            _phrases(self._words(f"{key}.words", entry.get("words"))),
            _phrases(self._words(f"{key}.nouns", entry.get("nouns"))),
            self._template(f"{key}.literal", str(entry.get("literal", "")), (THING,)),
        )

    def _modifier(self, key: str, entry: dict[str, Any]) -> Modifier:
        return Modifier(
            _phrases(self._words(f"{key}.words", entry.get("words"))),
            _phrases(self._words(f"{key}.after", entry.get("after"))),
            self._template(f"{key}.literal", str(entry.get("literal", "")), (HEAD, OTHER)),
            bool(entry.get("present", False)),
        )
