"""Words of a text that a trained reader must not pass over: those that forbid, those that may be left out, numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Goal
from graph_planner_ros.language.lexicon import Lexicon
from graph_planner_ros.language.understanding.decoding import Decoder
from graph_planner_ros.language.words import tokenize


class SaidWords:
    """Knows the words of a domain's wording by what they do to a request. Immutable.

    Args:
        domain, lexicon: fixed. decoder: its structures say how many things can be asked for.
    """

    def __init__(self, domain: Domain, lexicon: Lexicon, decoder: Decoder) -> None:
        self._domain, self._inventory, self._fixed = domain, decoder.inventory, decoder.fixed
        self._blocking, self._ignorable = self._refused()
        self._nouns = lexicon.nouns
        self._numbers = {phrase for phrase, number in lexicon.numbers.items() if number not in self._known_counts()}
        self._tools = _tool_facts(domain)

    def for_rules(self, tokens: Sequence[str]) -> bool:
        """Return whether only the rules may answer: words that forbid or make conditions, ids, other numbers."""
        return self._contains(tokens, self._blocking) or any("_" in token for token in tokens) or self._counts(tokens)

    def without_ignorable(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Return a text without the words that may be left out."""
        row = tuple(tokens)
        for phrase in sorted(self._ignorable, key=len, reverse=True):
            kept: list[str] = []
            index = 0
            while index < len(row):
                if row[index : index + len(phrase)] == phrase:
                    index += len(phrase)
                else:
                    kept.append(row[index])
                    index += 1
            row = tuple(kept)
        return row

    def left_out(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Return a note on the words of a text that may be left out."""
        words = self._contained(tokens, self._ignorable)
        return (f"did not use {', '.join(map(repr, words))}",) if words else ()

    def _known_counts(self) -> set[int]:
        """Return the numbers of things that the structures can ask for; others are for the rules."""
        inventory = self._inventory
        return {item.count(slot) for item in inventory.structures.values() for slot in inventory.slots} - {0}

    def _counts(self, tokens: Sequence[str]) -> bool:
        """Return whether a text has a number that no structure can ask for, or digits."""
        return any(sign.isdigit() for token in tokens for sign in token) or self._contains(tokens, self._numbers)

    def unheard(self, tokens: Sequence[str], goal: Goal) -> tuple[str, ...]:
        """Return a note on things that were spoken of and are no part of the goal, tools apart."""
        used = {variable.class_name for variable in goal.variables}
        spoken = {phrase: {sense.class_name for sense in self._nouns[phrase]} for phrase in self._spoken(tokens)}
        unheard = [
            phrase
            for phrase, classes in spoken.items()
            if not classes & (used | self._fixed)
            and not any(self._tools & set(self._domain.class_of(name).facts) for name in classes)
        ]
        words = sorted(
            " ".join(phrase)
            for phrase in unheard
            if not any(other != phrase and _within(phrase, other) for other in unheard)
            # "card" of "credit card", which was used
            and not any(other != phrase and _within(phrase, other) and spoken[other] & used for other in spoken)
        )
        return (f"did not use {', '.join(map(repr, words))}",) if words else ()

    def _spoken(self, tokens: Sequence[str]) -> set[tuple[str, ...]]:
        """Return the nouns that stand in a text."""
        row, longest = tuple(tokens), max(map(len, self._nouns), default=0)
        found = {row[start : start + size] for start in range(len(row)) for size in range(1, longest + 1)}
        return found & self._nouns.keys()

    def _refused(self) -> tuple[frozenset[tuple[str, ...]], frozenset[tuple[str, ...]]]:
        """Return the phrases that only the rules may answer, and those that may be left out."""
        groups: dict[bool, set[tuple[str, ...]]] = {True: set(), False: set()}
        for entry in self._domain.wording.get("refused") or ():
            for phrase in entry.get("words") or ():
                groups[bool(entry.get("ignorable", False))].add(tokenize(str(phrase)))
        return frozenset(groups[False]), frozenset(groups[True])

    def _contained(self, tokens: Sequence[str], phrases: Iterable[tuple[str, ...]]) -> list[str]:
        row, words = tuple(tokens), set(tokens)
        return sorted(
            " ".join(phrase)
            for phrase in phrases
            if words.issuperset(phrase)
            and any(row[start : start + len(phrase)] == phrase for start in range(len(row) - len(phrase) + 1))
        )

    def _contains(self, tokens: Sequence[str], phrases: Iterable[tuple[str, ...]]) -> bool:
        return bool(self._contained(tokens, phrases))


def _within(phrase: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether a phrase stands in another."""
    return any(other[start : start + len(phrase)] == phrase for start in range(len(other) - len(phrase) + 1))


def _tool_facts(domain: Domain) -> frozenset[str]:
    """Return the static facts of things that actions need and do nothing to, e.g. ``cuts`` of a knife."""
    found = set()
    for schema in domain.actions.values():
        changed = {name for term in (*schema.added, *schema.deleted) for name in term.arguments}
        found |= {
            literal.predicate
            for literal in schema.preconditions
            if literal.positive
            and len(literal.arguments) == 1
            and literal.predicate in domain.static_predicates
            and not changed & set(literal.arguments)
        }
    return frozenset(found)
