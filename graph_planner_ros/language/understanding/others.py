"""Sentences that ask for other things than the data do, made from the domain's own wording."""

from __future__ import annotations

import random
from collections.abc import Collection

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.language.consistency import LiteralRules
from graph_planner_ros.language.lexicon import Command, Element, read_lexicon

_TRIES = 20


class OtherSentences:
    """Writes sentences of the domain's commands whose goals are of no structure that the data have.

    Args:
        known: for each structure the predicates of its literals.
    """

    def __init__(self, domain: Domain, known: Collection[frozenset[str]]) -> None:
        self._domain, self._lexicon, self._rules = domain, read_lexicon(domain), LiteralRules(domain)
        self._commands = [
            command
            for command in self._lexicon.commands
            if command.goal and frozenset(template.predicate for template in command.goal) not in known
        ]

    def write(self, rng: random.Random, count: int) -> list[str]:
        """Return so many sentences, a tenth of them words without sense."""
        words = sorted(self._lexicon.vocabulary)
        found: list[str] = []
        while len(found) < count and self._commands:
            if rng.random() < 0.1:
                found.append(" ".join(rng.choice(words) for _ in range(rng.randint(1, 8))))
                continue
            sentence = self._sentence(rng, rng.choice(self._commands))
            if sentence:
                found.append(sentence)
        return found

    def _sentence(self, rng: random.Random, command: Command) -> str:
        parts = []
        for element in rng.choice(command.patterns):
            if element.optional and rng.random() < 0.5:
                continue
            text = self._part(rng, command, element)
            if not text:
                return ""
            parts.append(text)
        return " ".join(parts)

    def _part(self, rng: random.Random, command: Command, element: Element) -> str:
        if element.kind == "phrase":
            return " ".join(rng.choice(sorted(self._lexicon.phrases[element.name])))
        if element.kind == "state":
            return ""
        for _ in range(_TRIES):
            name = rng.choice(sorted(self._domain.classes))
            words = self._domain.classes[name].words
            if words and self._fits(command, element.name, name):
                return f"{rng.choice(('the', 'a', 'the', ''))} {rng.choice(words)}".strip()
        return ""

    def _fits(self, command: Command, role: str, class_name: str) -> bool:
        return all(
            self._rules.objection(template.predicate, template.positive, index, class_name) is None
            for template in (*command.goal, *command.requires)
            for index, name in enumerate(template.roles)
            if name == role
        )
