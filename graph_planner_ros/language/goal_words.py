"""Goals as sentences that a person could have said, by the commands, adjectives and nouns of the domain's wording.

The inverse of the rules: "put a hot mug on the coffee table" for ``in(mug, coffee table) and hot(mug)``.
"""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import describe_goal
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable
from graph_planner_ros.language.lexicon import HEAD, OTHER, Command, Template, read_lexicon
from graph_planner_ros.language.suggestions import PLACE
from graph_planner_ros.language.words import plurals, tokenize, with_article

_DEFINITE = re.compile(r"\bthe (?=\{)")


@dataclass(frozen=True)
class _Clause:
    """A command with its literals, and the thing that each role stands for."""

    command: Command
    things: Mapping[str, str]
    literals: tuple[GoalLiteral, ...]

    @property
    def size(self) -> int:
        """Arguments of its literals: the more, the more it says."""
        return sum(len(literal.arguments) for literal in self.literals)


class GoalWords:
    """Says goals in the words of a domain. Immutable, so it may be shared between threads."""

    def __init__(self, domain: Domain) -> None:
        self._domain, self._lexicon = domain, read_lexicon(domain)
        wording = domain.wording
        self._adjectives = [
            (entry.literal, raw["words"][0])
            for entry, raw in zip(self._lexicon.states, wording.get("states") or (), strict=True)
            if entry.words
        ]
        self._modifiers = [
            (entry, raw["words"][0], (raw.get("after") or [""])[0])
            for entry, raw in zip(self._lexicon.modifiers, wording.get("modifiers") or (), strict=True)
            if not entry.present
        ]
        grammar = wording.get("grammar") or {}
        self._numbers = {value: name for name, value in reversed((grammar.get("numbers") or {}).items())}
        self._plurals = {singular: plural for plural, singular in (grammar.get("plurals") or {}).items()}
        self._item = domain.hypotheses.item_type if domain.hypotheses is not None else ""

    def sentence(self, goal: Goal) -> str:
        """Return a sentence without capital and full stop; what no command can say is said in literals."""
        return _Telling(self, goal).text()

    # ---- used by the telling of one goal

    def commands(self, literals: Sequence[GoalLiteral]) -> Iterator[_Clause]:
        """Yield the commands that ask for some of these literals, the domain's first ones first."""
        for command in self._lexicon.commands:
            roles = {name.removeprefix(PLACE) for _, name, _, _ in string.Formatter().parse(command.example) if name}
            if not command.goal or not roles or not roles <= {n for item in command.goal for n in item.roles}:
                continue
            for chosen in itertools.permutations(literals, len(command.goal)):
                things = _unified(command.goal, chosen)
                if things is not None:
                    yield _Clause(command, things, chosen)

    def adjective(self, literal: GoalLiteral) -> str:
        """Return the adjective for what is said of one thing; empty if there is none."""
        for template, word in self._adjectives:
            if len(literal.arguments) == 1 and _is(template, literal):
                return str(word)
        return ""

    def modifiers(self, literal: GoalLiteral) -> Iterator[tuple[str, str, str, str]]:
        """Yield (head, other, words before, words after) of what may follow a noun and says a literal of two things."""
        for entry, before, after in self._modifiers:
            if len(literal.arguments) == 2 and _is(entry.literal, literal):
                things = dict(zip(entry.literal.roles, literal.arguments, strict=True))
                yield things[HEAD], things[OTHER], before, after

    def noun(self, class_name: str, count: int) -> str:
        """Return a noun that means this class and no other, if there is one."""
        words = self._domain.class_of(class_name).words or (class_name,)
        senses = {word: {sense.class_name for sense in self._lexicon.nouns.get(tokenize(word), ())} for word in words}
        alone = [word for word in words if senses[word] == {class_name}]
        return self._plural((*alone, *words)[0]) if count > 1 else str((*alone, *words)[0])

    def counted(self, count: int) -> str:
        """Return the word for a number."""
        return str(self._numbers.get(count, count))

    def is_item(self, class_name: str) -> bool:
        """Return whether things of a class may be taken along; others are known: "the fridge"."""
        return self._domain.is_a(self._domain.class_of(class_name).type_name, self._item)

    def placed(self, class_name: str, noun: str) -> str:
        """Return a noun with the preposition that suits its class."""
        return f"{'in' if self._domain.class_of(class_name).encloses else 'on'} {noun}"

    @property
    def location(self) -> str:
        """The predicate of where the robot is, which goes without saying where it acts."""
        return self._domain.location or ""

    @property
    def domain(self) -> Domain:
        """The domain."""
        return self._domain

    def _plural(self, noun: str) -> str:
        words = noun.split()
        head = words.index("of") - 1 if "of" in words[1:] else len(words) - 1
        words[head] = self._plurals.get(words[head]) or next(plurals(words[head]))
        return " ".join(words)


class _Telling:
    """Tells one goal, clause by clause; ``left`` are the literals that have not been told."""

    def __init__(self, words: GoalWords, goal: Goal) -> None:
        self._words, self._goal = words, goal
        self._groups, self._like = _alike(goal)
        self._left = list(dict.fromkeys(_renamed(literal, self._like) for literal in goal.literals))
        self._told: set[str] = set()

    def text(self) -> str:
        clauses = []
        while self._left:
            clause = max(self._words.commands(self._left), key=self._worth, default=None)
            if clause is None:
                break
            self._left = [literal for literal in self._left if literal not in clause.literals]
            clauses.append(self._clause(clause))
            named = set(clause.things.values())
            self._left = [
                item for item in self._left if item.predicate != self._words.location or not {*item.arguments} & named
            ]
        if self._left:
            rest = [literal for literal in self._goal.literals if _renamed(literal, self._like) in self._left]
            clauses.append(describe_goal(Goal(self._goal.variables, tuple(rest)), self._words.domain))
        return " and ".join(clauses) or "nothing"

    def _worth(self, clause: _Clause) -> tuple[int, int]:
        """Return how much a clause says, and how much of the rest its nouns can carry."""
        rest = [literal for literal in self._left if literal not in clause.literals]
        named = set(clause.things.values())
        tied = [(head, other) for item in rest for head, other, _, _ in self._words.modifiers(item) if head in named]
        named |= {other for _, other in tied}
        carried = len(tied) + sum(bool(self._words.adjective(item)) and item.arguments[0] in named for item in rest)
        return clause.size, carried

    def _clause(self, clause: _Clause) -> str:
        nouns = {role: self._noun(name) for role, name in clause.things.items()}
        for role, name in clause.things.items():
            nouns[PLACE + role] = self._words.placed(self._class(name), nouns[role])
        return _DEFINITE.sub("", clause.command.example).format_map(nouns)

    def _noun(self, name: str, depth: int = 0) -> str:
        """Return a thing with its article or number, adjectives, and what it has in it."""
        variable, count = self._groups[name]
        if variable.instance is not None:
            return str(variable.instance)
        known = name in self._told
        self._told.add(name)
        adjectives, after = [], ""
        for literal in list(self._left):
            word = self._words.adjective(literal)
            if word and literal.arguments[0] == name:
                adjectives.append(word)
                self._left.remove(literal)
        for literal in list(self._left):
            for head, other, before, behind in self._words.modifiers(literal):
                if head == name and other != name and literal in self._left and not after and depth < 2:
                    self._left.remove(literal)
                    after = "".join(f" {part}" for part in (before, self._noun(other, depth + 1), behind) if part)
        noun = " ".join([*adjectives, self._words.noun(self._class(name), count)])
        if known or not self._words.is_item(self._class(name)):
            return f"the {noun}{after}"
        return (f"{self._words.counted(count)} {noun}" if count > 1 else with_article(noun)) + after

    def _class(self, name: str) -> str:
        return self._groups[name][0].class_name or ""


def _alike(goal: Goal) -> tuple[dict[str, tuple[GoalVariable, int]], dict[str, str]]:
    """Return the things that are told as one (first variable -> it and how many), and variable -> the first like it."""
    groups: dict[str, tuple[GoalVariable, int]] = {}
    like: dict[str, str] = {}
    signs: dict[object, str] = {}
    for item in goal.variables:
        apart = next((group for group in goal.distinct if item.name in group), ())
        about = [literal for literal in goal.literals if item.name in literal.arguments]
        said = frozenset(_renamed(literal, {item.name: "*"}) for literal in about)
        sign = (item.class_name, apart, said)
        if apart and item.instance is None and sign in signs:
            like[item.name] = signs[sign]
            first, count = groups[signs[sign]]
            groups[signs[sign]] = (first, count + 1)
            continue
        signs[sign] = like[item.name] = item.name
        groups[item.name] = (item, 1)
    return groups, like


def _renamed(literal: GoalLiteral, names: Mapping[str, str]) -> GoalLiteral:
    arguments = tuple(names.get(name, name) for name in literal.arguments)
    return GoalLiteral(literal.predicate, arguments, literal.positive)


def _is(template: Template, literal: GoalLiteral) -> bool:
    return (template.predicate, template.positive) == (literal.predicate, literal.positive)


def _unified(templates: Iterable[Template], literals: Iterable[GoalLiteral]) -> dict[str, str] | None:
    """Return role -> thing under which the templates are these literals; None if there is none."""
    things: dict[str, str] = {}
    for template, literal in zip(templates, literals, strict=True):
        if not _is(template, literal):
            return None
        for role, name in zip(template.roles, literal.arguments, strict=True):
            if things.setdefault(role, name) != name:
                return None
    return things if len(set(things.values())) == len(things) else None


__all__ = ["GoalWords"]
