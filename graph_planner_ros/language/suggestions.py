"""What a person could say instead: the same sentence mended, and examples about things that are there."""

from __future__ import annotations

import difflib
import itertools
import string
from collections.abc import Iterator

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.language.consistency import LiteralRules
from graph_planner_ros.language.lexicon import Command, Lexicon
from graph_planner_ros.language.words import Phrase, tokenize
from graph_planner_ros.scene.graph import Presence, SceneGraph

PLACE = "in_"
"""Prefix of a role in an example: the role with the preposition that suits its class."""


class Suggester:
    """Proposes instructions; the caller keeps those that can be read."""

    def __init__(self, domain: Domain, lexicon: Lexicon, rules: LiteralRules) -> None:
        self._domain = domain
        self._lexicon = lexicon
        self._rules = rules
        self._words = sorted(lexicon.vocabulary)

    def candidates(self, tokens: Phrase, unknown: tuple[str, ...], graph: SceneGraph | None) -> Iterator[str]:
        """Yield instructions, the closest to what was said first."""
        lost = {word for phrase in unknown for word in tokenize(phrase)}
        if lost:
            mended = [self._similar(word) if word in lost else word for word in tokens]
            if all(mended):
                yield _text(tuple(word for word in mended if word))
            yield _text(tuple(word for word in tokens if word not in lost))
        there = self._classes_there(graph)
        said = {
            sense.class_name
            for start, end in itertools.combinations(range(len(tokens) + 1), 2)
            for sense in self._lexicon.nouns.get(tokens[start:end], ())
        }
        # commands whose words occur in the sentence first, then the others
        ranked = sorted(self._lexicon.commands, key=lambda command: -self._overlap(command, set(tokens)))
        for command in ranked:
            example = self._example(command, said, there)
            if example is not None:
                yield example

    def _similar(self, word: str) -> str | None:
        if word in self._lexicon.vocabulary:
            return word
        near = difflib.get_close_matches(word, self._words, 1, 0.75)
        return near[0] if near else None

    def _classes_there(self, graph: SceneGraph | None) -> list[str]:
        if graph is None:
            return list(self._domain.classes)
        labels = {node.label for node in graph.nodes.values() if node.presence is not Presence.ABSENT}
        return [name for name in self._domain.classes if name in labels]

    def _overlap(self, command: Command, words: set[str]) -> int:
        verbs = (self._lexicon.phrases[pattern[0].name] for pattern in command.patterns)
        return max(int(any(set(phrase) <= words for phrase in phrases)) for phrases in verbs)

    def _example(self, command: Command, said: set[str], there: list[str]) -> str | None:
        """Fill a command's example with classes that fit, those that were spoken of first."""
        roles = [name.removeprefix(PLACE) for _, name, _, _ in string.Formatter().parse(command.example) if name]
        if not roles:
            return None
        chosen: dict[str, str] = {}
        order = [*(name for name in self._domain.classes if name in said), *there]
        for role in roles:
            fitting = [name for name in order if name not in chosen.values() and self._fits(command, role, name)]
            if not fitting:
                return None
            chosen[role] = fitting[0]
        words = {role: self._word(name) for role, name in chosen.items()}
        for role, name in chosen.items():
            words[PLACE + role] = f"{'in' if self._domain.classes[name].encloses else 'on'} the {words[role]}"
        return command.example.format_map(words)

    def _fits(self, command: Command, role: str, class_name: str) -> bool:
        return all(
            self._rules.objection(template.predicate, template.positive, index, class_name) is None
            for template in (*command.goal, *command.requires)
            for index, name in enumerate(template.roles)
            if name == role
        )

    def _word(self, class_name: str) -> str:
        """Return a word that means this class before all others."""
        words = self._domain.classes[class_name].words
        for word in words:
            senses = self._lexicon.nouns.get(tokenize(word), ())
            if senses and senses[0].class_name == class_name:
                return word
        return words[0] if words else class_name


def _text(words: Phrase) -> str:
    text = " ".join(words)
    for mark in ",.;!?":
        text = text.replace(f" {mark}", mark)
    return text.strip(" ,.;!?")
