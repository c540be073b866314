"""Requests that exclude themselves: "a hot cold apple", "turn it on and off", "in the fridge and in the microwave".

They are found in what people leave out: adjectives of one noun, and an "and" behind which the end of the same command
is said once more. What has a verb of its own ("... and take it out") may well be meant one after the other. Which
literals exclude each other follows from the actions of the domain.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import GoalLiteral
from graph_planner_ros.language.consistency import LiteralRules
from graph_planner_ros.language.grammar import Clause, Grammar
from graph_planner_ros.language.lexicon import THING, Command, Element, Lexicon, Template
from graph_planner_ros.language.phrases import Mention, TooComplex
from graph_planner_ros.language.words import Phrase


class Contradictions:
    """Finds what cannot all be so. Immutable, so it may be shared between threads."""

    def __init__(self, domain: Domain, lexicon: Lexicon, rules: LiteralRules) -> None:
        self._domain, self._lexicon, self._rules = domain, lexicon, rules
        self._verb_pairs = tuple(self._alternatives())

    def find(self, tokens: Phrase, instances: Mapping[str, str] | None = None) -> str:
        """Return the words of a text that exclude each other; empty if there are none.

        Args:
            tokens: words. instances: id in lower case -> class of things that may be named.
        """
        if not self._may(tokens):
            return ""
        grammar = Grammar(self._lexicon, tokens, dict(instances or {}))
        try:
            for start, end in itertools.chain(self._adjectives(grammar), self._endings(grammar)):
                return " ".join(tokens[start:end])
        except TooComplex:
            pass  # what was found so far counts: nothing
        return ""

    def _may(self, tokens: Phrase) -> bool:
        """Return whether there is an "and" or are two adjectives: without them nothing is looked at."""
        words = set(tokens)
        joints = {phrase[0] for phrase in self._lexicon.grammar["and"]} | {","}
        phrases = [{*state.words, *state.nouns} for state in self._lexicon.states]
        states = sum(any(words.issuperset(phrase) for phrase in group) for group in phrases)
        return bool(words & joints) or states > 1

    # ---- adjectives of one noun

    def _adjectives(self, grammar: Grammar) -> Iterator[tuple[int, int]]:
        for position in range(len(grammar.tokens)):
            for mention, end in reversed(grammar.nouns.thing(position)):  # the shortest first
                several = mention.count != 1 and self._joined(grammar.tokens[position:end])
                if len(mention.states) < 2 or several or not mention.senses:
                    continue  # "hot and cold apples" may be some of each
                type_name = self._domain.class_of(mention.senses[0]).type_name
                literals = [_literal(state.literal, {THING: THING}) for state in mention.states]
                if self._exclude(literals, literals, {THING: type_name}):
                    yield position, end

    def _joined(self, tokens: Phrase) -> bool:
        return any(phrase[0] in tokens for phrase in self._lexicon.grammar["and"])

    # ---- the end of a command, said once more

    def _endings(self, grammar: Grammar) -> Iterator[tuple[int, int]]:
        for position in range(len(grammar.tokens)):
            for command in self._lexicon.commands:
                for pattern in command.patterns:
                    for clause in grammar.matches(pattern, 0, position, Clause(command, {}, start=position)):
                        yield from self._again(grammar, pattern, clause)
            for command, pattern, other, name in self._verb_pairs:
                yield from self._verbs(grammar, command, pattern, other, name, position)

    def _again(self, grammar: Grammar, pattern: Sequence[Element], clause: Clause) -> Iterator[tuple[int, int]]:
        """Yield what follows a command and gives its thing another end: "... and off", "... and in the sink"."""
        for begin in grammar.nouns.grammar("and", clause.end):
            for command in self._lexicon.commands:
                for other in command.patterns:
                    for count in (1, 2):
                        kept = len(other) - count
                        if kept < 1 or list(other[:kept]) != list(pattern[: len(pattern) - count]):
                            continue
                        roles = {e.name: clause.roles[e.name] for e in other[:kept] if e.name in clause.roles}
                        if not roles:
                            continue
                        for tail in grammar.matches(other, kept, begin, Clause(command, roles, start=clause.start)):
                            tied = any(item.links for e in other[kept:] for item in tail.roles.get(e.name, ()))
                            if tied or self._goes_on(grammar, other, tail.end):
                                continue  # "and the bowl in the microwave" is another request
                            if self._clash(clause, tail):
                                yield clause.start, tail.end

    def _goes_on(self, grammar: Grammar, pattern: Sequence[Element], position: int) -> bool:
        """Return whether what follows belongs to it, so that it was the begin of another request."""
        inner = (element.name for element in pattern[1:] if element.kind == "phrase")
        return any(True for name in inner for _ in grammar.nouns.match(self._lexicon.phrases[name], position))

    def _alternatives(self) -> Iterator[tuple[Command, tuple[Element, ...], Command, str]]:
        """Yield commands with others that are said alike but for the verb: command, pattern, the other, its verb."""
        for command, other in itertools.permutations(self._lexicon.commands, 2):
            for pattern, found in itertools.product(command.patterns, other.patterns):
                if pattern[1:] == found[1:] and pattern[0] != found[0]:
                    yield command, pattern, other, found[0].name

    def _verbs(
        self,
        grammar: Grammar,
        command: Command,
        pattern: tuple[Element, ...],
        other: Command,
        name: str,
        position: int,
    ) -> Iterator[tuple[int, int]]:
        """Yield a verb of several words of which the last is said twice: "turn on and off the lamp"."""
        for end in grammar.nouns.match(self._lexicon.phrases[pattern[0].name], position):
            said = grammar.tokens[position:end]
            sizes = range(1, len(said))
            for begin, size in itertools.product(grammar.nouns.grammar("and", end), sizes):
                again = (*said[:-size], *grammar.tokens[begin : begin + size])
                if again not in self._lexicon.phrases[name]:
                    continue
                for clause in grammar.matches(pattern, 1, begin + size, Clause(command, {}, start=position)):
                    if self._clash(clause, Clause(other, clause.roles)):
                        yield position, clause.end

    # ---- what excludes each other

    def _clash(self, first: Clause, second: Clause) -> bool:
        names: dict[Mention, str] = {}
        for clause in (first, second):
            for mentions in clause.roles.values():
                for mention in mentions:
                    names.setdefault(mention, f"?{len(names)}")
        one, other = self._literals(first, names), self._literals(second, names)
        types = {name: self._domain.class_of(m.senses[0]).type_name for m, name in names.items() if m.senses}
        if any(name not in types for literal in (*one, *other) for name in literal.arguments):
            return False  # a pronoun: what it stands for is not known here
        if not (self._fits(one, names) and self._fits(other, names)):
            return False
        return self._exclude(one, other, types)

    def _literals(self, clause: Clause, names: Mapping[Mention, str]) -> list[GoalLiteral]:
        found = []
        for template in (*clause.command.goal, *(state.literal for state in clause.states)):
            mentions = [clause.roles.get(role, ()) for role in template.roles]
            for row in itertools.product(*mentions):
                found.append(_literal(template, dict(zip(template.roles, (names[item] for item in row), strict=True))))
        return found

    def _fits(self, literals: Sequence[GoalLiteral], names: Mapping[Mention, str]) -> bool:
        senses = {name: mention.senses for mention, name in names.items()}
        return all(
            any(self._rules.objection(item.predicate, item.positive, index, sense) is None for sense in senses[name])
            for item in literals
            for index, name in enumerate(item.arguments)
        )

    def _exclude(self, one: Sequence[GoalLiteral], other: Sequence[GoalLiteral], types: Mapping[str, str]) -> bool:
        """Return whether two literals about the same thing cannot both be true; where the robot is passes by."""
        return any(
            self._rules.conflict(first, second, types)
            for first, second in itertools.product(one, other)
            if first != second
            and self._domain.location not in (first.predicate, second.predicate)
            and first.arguments[:1] == second.arguments[:1]
        )


def _literal(template: Template, names: Mapping[str, str]) -> GoalLiteral:
    return GoalLiteral(template.predicate, tuple(names[role] for role in template.roles), template.positive)


__all__ = ["Contradictions"]
