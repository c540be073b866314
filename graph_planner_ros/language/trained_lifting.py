"""Sentences about actions that were never seen: "You clean the x using the x" also says what "You heat ..." does.

A sentence in which an action's name occurs, and which says just what the action does, is remembered without the name.
Another action's name in the same sentence then says that action's effects. The domain knows them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import ActionSchema, Term
from graph_planner_ros.language.trained_labels import Example, Label, Template
from graph_planner_ros.language.trained_text import QUALITY, SLOT, Sentence, states

ACTION = "<action>"


@dataclass(frozen=True)
class Lifted:
    """What a sentence with an action's name says: ``denials`` whether also what the action makes false."""

    denials: bool

    def plain(self) -> dict[str, Any]:
        """Return plain values."""
        return {"denials": self.denials}

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> Lifted:
        """Read what `plain` made."""
        return Lifted(bool(plain["denials"]))


def lift(domain: Domain, labels: Mapping[str, Label], examples: Sequence[Example]) -> dict[str, Lifted]:
    """Return frame with `ACTION` for the name -> what it says, of frames that say just what an action does."""
    first = {example.frame: example.sentence for example in reversed(examples)}
    found: dict[str, list[bool]] = {}
    for frame, label in labels.items():
        literals = {template for template in label if not template.predicate.startswith("!")}
        for lifted, action in _actions_in(domain, first[frame]):
            added, deleted = _effects(domain, action, first[frame])
            # what is said may be less than what the action makes false, but it is all that it makes true
            if added and added <= literals and literals <= added | deleted:
                found.setdefault(lifted, []).append(bool(literals & deleted))
    return {frame: Lifted(sum(votes) * 2 >= len(votes)) for frame, votes in found.items()}


def read_lifted(
    domain: Domain, lifted: Mapping[str, Lifted], spoken: frozenset[str], sentence: Sentence
) -> Label | None:
    """Return what a sentence says if without its action's name it is a known one.

    Args:
        spoken: predicates that texts of this world speak of; others are not denied.
    """
    for frame, action in _actions_in(domain, sentence) if lifted else ():
        if frame in lifted:
            added, deleted = _effects(domain, action, sentence)
            if added:
                denied = {template for template in deleted if template.predicate in spoken}
                return tuple(sorted(added | denied if lifted[frame].denials else added))
    return None


def read_quality(domain: Domain, sentence: Sentence) -> Label | None:
    """Return what a word before a name says if it names a predicate: a "fried" thing is what frying makes it."""
    if sentence.tokens[0] != QUALITY or sentence.tokens[2:] != (SLOT,) or sentence.tokens[1] not in states(domain):
        return None
    word = sentence.tokens[1]
    said: set[str] | None = None
    for action in domain.actions.values():
        made: dict[tuple[str, ...], set[str]] = {}
        for term in action.added:
            made.setdefault(term.arguments, set()).add(term.predicate)
        for names in (names for arguments, names in made.items() if len(arguments) == 1 and word in names):
            said = names if said is None else said & names
    return tuple(Template(name, (("slot", 0),)) for name in sorted(said or {word}))


def _actions_in(domain: Domain, sentence: Sentence) -> list[tuple[str, ActionSchema]]:
    """Return the sentence without a word that names an action, with that action."""
    found = []
    for action in domain.actions.values():
        name = re.split(r"[^A-Za-z]", action.name)[0].lower()
        for index, token in enumerate(sentence.tokens[:50]):
            if is_form_of(token, name):
                tokens = (*sentence.tokens[:index], ACTION, *sentence.tokens[index + 1 :])
                found.append((" ".join(tokens), action))
    return found


def is_form_of(token: str, verb: str) -> bool:
    """Return whether a word is a verb or one of its regular forms."""
    stem = verb[:-1] if verb.endswith("e") else verb
    return len(verb) > 2 and (token == verb or token in {stem + ending for ending in ("s", "es", "ed", "ing")})


def _effects(domain: Domain, action: ActionSchema, sentence: Sentence) -> tuple[set[Template], set[Template]]:
    """Return what an action makes true and false as templates over the slots of a sentence."""
    slots: dict[str, int] = {}
    for index, slot in enumerate(sentence.slots):
        types = [domain.classes[m.class_name].type_name for m in slot if m.class_name is not None]
        free = (p for p in action.parameters if p.name not in slots)
        fitting = next((p for p in free if types and all(domain.is_a(t, p.type_name) for t in types)), None)
        if fitting is None:
            return set(), set()
        slots[fitting.name] = index
    return _templates(action.added, slots, True), _templates(action.deleted, slots, False)


def _templates(terms: Sequence[Term], slots: Mapping[str, int], positive: bool) -> set[Template]:
    return {
        Template(term.predicate, tuple(("slot", slots[name]) for name in term.arguments), positive)
        for term in terms
        if term.arguments and all(name in slots for name in term.arguments)
    }
