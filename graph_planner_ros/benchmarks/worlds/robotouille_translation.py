"""Turns Robotouille's domain JSON into a domain of ours: PDDL, its description, and the world's way of talking.

The JSON has what PDDL has (typed parameters, preconditions, immediate effects) and *special effects*:

- ``delayed``: comes some steps after its action. Here: the action only starts a process (an atom ``<action>-started``)
  and an action of its own, ``<action>-done``, stands for its end; the description's ``delays`` ties both together.
- ``repetitive``: needs the action several times. Here: the description's ``repetitions``.
- ``conditional``: holds if something else does. Around a delay it is what must stay true meanwhile; elsewhere the
  action is split into one variant for each way that the conditions can turn out.
- ``creation``: a new object. Here: an object that waits to be made (``unmade``), and the description's ``creations``.

How long and how often is not in the JSON: the engine has defaults in its code, which are arguments here.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

CLASS_TYPE = "class"
CLASS_PREDICATE = "instance_of"
UNMADE = "unmade"
DELAY = 4
REPETITIONS = 3
"""Defaults of the engine's code: steps until a delayed effect, the starting action included; times of an action."""

_IDENTITY = re.compile(r"\{0\} is (?:(?:a|an|the) )?(?P<words>[\w -]+)")
_SLOT = re.compile(r"\{(\w+)\}")


class TranslationError(ValueError):
    """The JSON is no such domain; the message names the entry and what was expected."""


class Term(NamedTuple):
    """A literal over parameters."""

    predicate: str
    arguments: tuple[str, ...]
    positive: bool = True


@dataclass
class Predicate:
    """A predicate of the JSON: parameter types, and the sentence about each of its arguments."""

    name: str
    types: tuple[str, ...]
    sentences: dict[int, str] = field(default_factory=dict)


@dataclass
class Action:
    """An action of ours in the making."""

    name: str
    sentence: str
    needs: list[Term] = field(default_factory=list)
    effects: list[Term] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    different: list[tuple[str, str]] = field(default_factory=list)
    cost: int = 1


@dataclass
class Translation:
    """What the JSON says, in our terms.

    Attributes:
        classes: class -> (type, identity predicate, words). delays: action that starts -> (action that stands for
            the end, steps). repetitions: action -> times. creations: action -> (parameter, class) of what it makes.
    """

    name: str
    types: list[str]
    predicates: dict[str, Predicate] = field(default_factory=dict)
    actions: list[Action] = field(default_factory=list)
    classes: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    delays: dict[str, tuple[str, int]] = field(default_factory=dict)
    repetitions: dict[str, int] = field(default_factory=dict)
    creations: dict[str, tuple[str, str]] = field(default_factory=dict)
    made: list[Predicate] = field(default_factory=list)


def translate(document: Mapping[str, Any], delay: int = DELAY, repetitions: int = REPETITIONS) -> Translation:
    """Return the domain of a JSON document.

    Args:
        document: Robotouille's domain, or another of the same form.
        delay, repetitions: what the engine's code uses where the JSON says nothing.

    Raises:
        TranslationError: naming the entry and what was expected.
    """
    return _Translator(document, delay, repetitions).run()


class _Translator:
    def __init__(self, document: Mapping[str, Any], delay: int, repetitions: int) -> None:
        if delay < 1 or repetitions < 1:
            raise TranslationError(f"expected at least one step and one time, got {delay} and {repetitions}")
        self._document = document
        self._delay = delay
        self._repetitions = repetitions
        self._result = Translation(str(self._entry(document, "name", "the document")), [])

    def run(self) -> Translation:
        result = self._result
        result.types = [str(name) for name in self._entry(self._document, "object_types", "the document")]
        for entry in self._entry(self._document, "predicate_defs", "the document"):
            name = str(self._entry(entry, "name", "predicate_defs"))
            types = tuple(self._entry(entry, "param_types", name))
            for of in types:
                if of not in result.types:
                    raise TranslationError(f"{name}: there is no object type {of!r}")
            sentences = {int(index): text for index, text in entry.get("language_descriptors", {}).items()}
            result.predicates[name] = Predicate(name, types, sentences)
        entries = list(self._entry(self._document, "action_defs", "the document"))
        self._classes(entries)
        for entry in entries:
            self._action(entry)
        return result

    @staticmethod
    def _entry(entry: Any, key: str, where: str) -> Any:
        if not isinstance(entry, Mapping) or key not in entry:
            raise TranslationError(f"{where}: expected an entry {key!r}")
        return entry[key]

    # -- classes ------------------------------------------------------------------------------------------------------

    def _classes(self, actions: list[Mapping[str, Any]]) -> None:
        """What a thing *is* (``{0} is a table``) and no action changes is its class."""
        changed: set[str] = set()
        created: set[str] = set()
        for action in actions:
            changed |= {term["predicate"] for term in action.get("immediate_fx", ())}
            for effect, inside in _nested(action.get("sfx", ())):
                (created if inside else changed).update(term["predicate"] for term in effect.get("fx", ()))
        for predicate in self._result.predicates.values():
            match = _IDENTITY.fullmatch(predicate.sentences.get(0, ""))
            if match is None or len(predicate.types) != 1 or predicate.name in changed:
                continue
            label = predicate.name.removeprefix("is")
            self._result.classes[label] = (predicate.types[0], predicate.name, match["words"])

    # -- actions ------------------------------------------------------------------------------------------------------

    def _action(self, entry: Mapping[str, Any]) -> None:
        name = str(self._entry(entry, "name", "action_defs"))
        action = Action(name, str(entry.get("language_description", name)))
        action.needs = self._terms(name, entry.get("precons", ()))
        action.effects = self._terms(name, entry.get("immediate_fx", ()))
        variants: list[tuple[list[Term], list[Term]]] = []
        for effect in entry.get("sfx", ()):
            delayed = _delay_in(effect)
            if delayed is not None:
                self._process(action, effect, delayed)
            elif effect.get("type") == "repetitive":
                self._result.repetitions[name] = self._repetitions
                action.effects += self._terms(name, effect.get("fx", ()))
            elif effect.get("type") == "conditional":
                conditions, gained = self._terms(name, effect["conditions"]), self._terms(name, effect["fx"])
                variants.append(([term for term in conditions if term not in action.effects], gained))
            else:
                raise TranslationError(f"{name}: a special effect {effect.get('type')!r} is not expected here")
        for variant in _split(action, variants):
            if variant.name != name and name in self._result.repetitions:
                self._result.repetitions[variant.name] = self._repetitions
            self._result.actions.append(self._typed(variant))
        if name in self._result.delays:
            # the end comes after the beginning, in the file as well
            ends = [item for item in self._result.actions if item.name == self._result.delays[name][0]]
            self._result.actions = [item for item in self._result.actions if item not in ends] + ends

    def _terms(self, where: str, entries: Iterable[Mapping[str, Any]]) -> list[Term]:
        terms = []
        for entry in entries:
            name = entry["predicate"]
            predicate = self._result.predicates.get(name)
            if predicate is None or len(predicate.types) != len(entry["params"]):
                raise TranslationError(f"{where}: there is no predicate {name!r} of {len(entry['params'])} parameters")
            terms.append(Term(name, tuple(entry["params"]), bool(entry["is_true"])))
        return terms

    def _process(self, action: Action, outer: Mapping[str, Any], delayed: Mapping[str, Any]) -> None:
        """Make an action start a process, and an action of its own that stands for its end."""
        done = Action(f"{action.name}-done", f"{action.name} is done")
        conditions = self._terms(action.name, outer.get("conditions", ()))
        if outer is not delayed:
            action.effects += self._terms(action.name, outer.get("fx", ()))
        done.effects = self._terms(action.name, delayed.get("fx", ()))
        done.cost = 0
        made = next((item for item in delayed.get("sfx", ()) if item.get("type") == "creation"), None)
        if made is not None:
            self._create(done, made)
        about = self._about(action, conditions, done)
        started = Term(f"{action.name}-started", about)
        done.needs = [started, *conditions, *self._tied(action, conditions, done, set(about)), *done.needs]
        done.effects.append(started._replace(positive=False))
        action.needs.append(started._replace(positive=False))
        action.effects.append(started)
        self._declare(started, action)
        self._result.actions.append(self._typed(done))
        self._result.delays[action.name] = (done.name, self._delay)

    def _about(self, action: Action, conditions: list[Term], done: Action) -> tuple[str, ...]:
        """Return what a process is about: everything that its end speaks of and its beginning knows."""
        known = {name for term in action.needs for name in term.arguments}
        return tuple(dict.fromkeys(n for term in (*conditions, *done.effects) for n in term.arguments if n in known))

    def _tied(self, action: Action, conditions: list[Term], done: Action, about: set[str]) -> Iterator[Term]:
        """Yield what the beginning needs and the end needs as well: what its things are, which no action changes."""
        identities = {identity for _, identity, _ in self._result.classes.values()}
        for term in action.needs:
            if term.positive and term.predicate in identities and about.issuperset(term.arguments):
                yield term

    def _create(self, done: Action, entry: Mapping[str, Any]) -> None:
        created = self._entry(entry, "created_obj", done.name)
        name, label = str(created["param"]), str(created["name"])
        if label not in self._result.classes:
            raise TranslationError(f"{done.name}: there is no class {label!r} of what it makes")
        identity = self._result.classes[label][1]
        effects = [term for term in self._terms(done.name, entry.get("fx", ())) if term.predicate != identity]
        unmade = Term(UNMADE, (name,))
        done.needs += [Term(identity, (name,)), unmade]
        done.effects += [*effects, unmade._replace(positive=False)]
        done.types[name] = str(created["type"])
        self._declare(unmade, done)
        self._result.creations[done.name] = (name, label)

    def _declare(self, term: Term, action: Action) -> None:
        if all(item.name != term.predicate for item in self._result.made):
            types = {**self._types(action), **action.types}
            self._result.made.append(Predicate(term.predicate, tuple(types[name] for name in term.arguments)))

    def _types(self, action: Action) -> dict[str, str]:
        """Return parameter -> type, in the order in which the action names them."""
        types: dict[str, str] = dict(action.types)
        declared = {item.name: item for item in self._result.made} | self._result.predicates
        for term in (*action.needs, *action.effects):
            if term.predicate in declared:
                for name, of in zip(term.arguments, declared[term.predicate].types, strict=True):
                    if types.setdefault(name, of) != of:
                        raise TranslationError(f"{action.name}: {name} cannot be a {of} and a {types[name]}")
        return types

    def _typed(self, action: Action) -> Action:
        action.types = self._types(action)
        names = list(action.types)
        # the engine never takes one thing for two parameters
        action.different = [(a, b) for a, b in itertools.combinations(names, 2) if action.types[a] == action.types[b]]
        return action


def _nested(effects: Iterable[Mapping[str, Any]], inside: bool = False) -> Iterator[tuple[Mapping[str, Any], bool]]:
    """Yield special effects at any depth, and whether each is a creation."""
    for effect in effects:
        made = inside or effect.get("type") == "creation"
        yield effect, made
        yield from _nested(effect.get("sfx", ()), made)


def _delay_in(effect: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the delayed effect that a special effect is or holds."""
    if effect.get("type") == "delayed":
        return effect
    return next((item for item in effect.get("sfx", ()) if item.get("type") == "delayed"), None)


def _split(action: Action, variants: list[tuple[list[Term], list[Term]]]) -> list[Action]:
    """Return the action in one variant for each way that the conditions of its conditional effects can turn out."""
    found = [action]
    for conditions, gained in variants:
        grown: list[Action] = []
        for one in found:
            for position, term in enumerate(conditions):
                # the first condition that fails decides
                against = [*conditions[:position], term._replace(positive=not term.positive)]
                suffix = "" if len(conditions) == 1 else f"-{position + 1}"
                name = f"{one.name}-unless-{term.predicate}{suffix}"
                grown.append(replace(one, name=name, needs=[*one.needs, *against], types={}))
            grown.append(replace(one, needs=[*one.needs, *conditions], effects=[*one.effects, *gained], types={}))
        found = grown
    return found


def command_slots(sentence: str) -> tuple[str, ...]:
    """Return the parameters that a command's sentence names."""
    return tuple(_SLOT.findall(sentence))
