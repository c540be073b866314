"""What sentences mean, learned as templates: literals over slots, the agent's place, or an earlier thing.

A template is kept for a frame if what it makes of the frame's sentences is nearly always in the reference. The domain's
types choose among templates: one frame may have a template for every kind of thing.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Atom
from graph_planner_ros.language.checking import check_fact, type_of
from graph_planner_ros.language.interface import ObservedFact, ParsedObservation
from graph_planner_ros.language.trained_offers import COMMAND, OFFER
from graph_planner_ros.language.trained_text import QUALITY, Sentence

PRECISION = 0.98
"""Least share of a template's literals that are in the reference."""
_LEAST_RIGHT = 3
HERE, BEFORE, CONSTANT, MADE, ANY = "here", "before", "constant", "made", "any"
FAILED, COMPLETE, PLACE = "!failed", "!complete", "!place"
"""Flags of an observation, beside its literals."""
Argument = tuple[str, int | str]
"""(``slot``, index), (``here``, 0), (``before``, 0): the last thing before the sentence, (``constant``, name),
(``made``, "{here} {0}"): a thing named after others, or (``any``, index): no argument, but a thing of that slot for
which the conditions hold ("one of these things cannot be taken")."""


@dataclass(frozen=True, order=True)
class Template:
    """A literal, or a flag, over slots."""

    predicate: str
    arguments: tuple[Argument, ...] = ()
    positive: bool = True
    unless: tuple[str, ...] = ()
    """Commands (see `trained_offers.offered`) of which none may be offered about the first thing, and some are."""
    kind: str = ""
    """Type that the first thing must have exactly; empty for any."""


Label = tuple[Template, ...]
"""Everything that a sentence says; empty if it says nothing that the domain knows."""
Key = tuple[str, tuple[str, ...], bool]
"""A literal or flag as it is compared: predicate, arguments, truth."""
_Row = tuple[frozenset[str], bool, tuple[int, Key]]
"""Commands that are offered about a thing, whether what is said of it is right, and what is said in which sentence."""


@dataclass(frozen=True)
class Situation:
    """What a sentence is read in.

    Attributes:
        here: where the agent is. before: the last thing that was named before.
        offered: thing -> commands that are offered about it, see `trained_offers.offered`.
    """

    here: str = ""
    before: str = ""
    offered: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass
class Example:
    """A sentence with the literals and flags of the reference that may come from it."""

    sentence: Sentence
    situation: Situation
    classes: Mapping[str, str]
    literals: frozenset[Key]
    flags: frozenset[Key] = frozenset()
    observation: int = 0
    frame: str = field(init=False)

    def __post_init__(self) -> None:
        self.frame = self.sentence.frame


def keys_of(parsed: ParsedObservation) -> frozenset[Key]:
    """Return the flags of an observation."""
    flags: set[Key] = {(COMPLETE, (name,), True) for name in parsed.complete}
    flags |= {(PLACE, (name,), True) for name in parsed.complete_places}
    return frozenset(flags | ({(FAILED, (), True)} if parsed.failed else set()))


def instantiate(
    domain: Domain, template: Template, sentence: Sentence, situation: Situation, classes: Mapping[str, str]
) -> list[Key]:
    """Return what a template says of a sentence; literals that are not of the domain's types are left out."""
    return [key for key, _ in _bindings(domain, template, sentence, situation, classes)]


def _bindings(
    domain: Domain, template: Template, sentence: Sentence, situation: Situation, classes: Mapping[str, str]
) -> list[tuple[Key, str]]:
    """Return what a template says of a sentence, each with the first thing that it is about."""
    choices: list[list[str]] = []
    for kind, value in template.arguments:
        if kind in ("slot", ANY):
            slot = sentence.slots[int(value)] if int(value) < len(sentence.slots) else ()
            choices.append([mention.name for mention in slot if mention.class_name is not None])
        elif kind == CONSTANT:
            choices.append([str(value)])
        elif kind == MADE:
            choices.append(made_names(str(value), sentence, situation))
        else:
            name = situation.here if kind == HERE else situation.before
            choices.append([name] if name else [])
    found: list[tuple[Key, str]] = []
    said = [kind != ANY for kind, _ in template.arguments]
    for things in itertools.islice(itertools.product(*choices), 1000):
        arguments = tuple(itertools.compress(things, said))
        key = (template.predicate, arguments, template.positive)
        thing = things[0] if things else ""
        if not _may_say(domain, template, thing, situation, classes):
            continue
        if template.predicate.startswith("!") or (
            len(set(arguments)) == len(arguments)
            and isinstance(check_fact(domain, classes, template.predicate, arguments), ObservedFact)
        ):
            found.append((key, thing))
    return found


def induce(domain: Domain, examples: Sequence[Example]) -> dict[str, Label]:
    """Return frame -> label for all frames of the examples.

    Flags belong to whole observations: each goes to the frame that comes with it most often, until all are explained.
    """
    by_frame: dict[str, list[Example]] = {}
    for example in examples:
        by_frame.setdefault(example.frame, []).append(example)
    tallies = {frame: _reliable(domain, group) for frame, group in by_frame.items()}
    kinds = {frame: frame.split(" ")[0] for frame in by_frame}
    unspoken = {frame: found for frame, found in tallies.items() if kinds[frame] in (OFFER, COMMAND)}
    qualities = {frame: found for frame, found in tallies.items() if kinds[frame] == QUALITY}
    spoken = {frame: found for frame, found in tallies.items() if frame not in unspoken and frame not in qualities}
    labels = {frame: _literals(found) for frame, found in spoken.items()}
    said = {
        (by_frame[frame][index].observation, key)
        for frame, label in labels.items()
        for template in label
        for index, key in spoken[frame][template].right
    }
    labels.update(_jointly(qualities, by_frame, said))
    labels.update(_jointly(unspoken, by_frame, set()))
    for frame, template in _flags(domain, by_frame):
        labels[frame].add(template)
    return {frame: tuple(sorted(labels[frame])) for frame in by_frame}


@dataclass
class _Tally:
    """What a template makes of the sentences of a frame: literals, and those in the reference with their sentence."""

    made: int = 0
    right: set[tuple[int, Key]] = field(default_factory=set)
    wrong: int = 0

    def add(self, index: int, key: Key, is_right: bool) -> None:
        self.made += 1
        self.wrong += not is_right
        if is_right:
            self.right.add((index, key))

    @property
    def doubt(self) -> float:
        """Share of errors to be expected, by Laplace's rule of succession."""
        return (self.wrong + 1) / (self.made + 2)


def _reliable(domain: Domain, group: Sequence[Example]) -> dict[Template, _Tally]:
    """Return the templates of one frame of which nearly all is in the reference."""
    candidates = {template for example in group for key in example.literals for template in _explain(key, example)}
    found: dict[Template, _Tally] = {}
    for template in sorted(candidates):
        says = [
            (index, *said)
            for index, example in enumerate(group)
            for said in _bindings(domain, template, example.sentence, example.situation, example.classes)
        ]
        tally = _tally(group, says)
        if tally.made and tally.wrong <= (1 - PRECISION) * tally.made:
            found[template] = tally
            continue
        for refined in _refined(domain, group, template, says):
            kept = [
                (index, key, thing)
                for index, key, thing in says
                if _may_say(domain, refined, thing, group[index].situation, group[index].classes)
            ]
            found[refined] = _tally(group, kept)
    return found


def _tally(group: Sequence[Example], says: Iterable[tuple[int, Key, str]]) -> _Tally:
    tally = _Tally()
    for index, key, _ in says:
        tally.add(index, key, key in group[index].literals)
    return tally


def _literals(reliable: Mapping[Template, _Tally]) -> set[Template]:
    """Return the templates of one frame: of two that say the same, slots before places, and the one that says more."""
    chosen: set[Template] = set()
    explained: set[tuple[int, Key]] = set()
    for template in sorted(reliable, key=lambda item: (-len(reliable[item].right), _vagueness(item), item)):
        right = reliable[template].right
        if not right <= explained:
            chosen.add(template)
            explained |= right
    return chosen


def _jointly(
    reliable: Mapping[str, Mapping[Template, _Tally]],
    by_frame: Mapping[str, Sequence[Example]],
    explained: set[tuple[int, Key]],
) -> dict[str, set[Template]]:
    """Return the templates of commands, or of words before names.

    Many of them are there at once, and a fact may come from each of them: the most certain one counts. "Close x" says
    that x is not locked; that whatever can be looked at is not locked would be right for most things only.

    Args:
        explained: observations and what is known to come from something else; what is explained here is added.
    """
    chosen: dict[str, set[Template]] = {frame: set() for frame in reliable}
    pairs = [(frame, template) for frame, found in reliable.items() for template in found]
    pairs.sort(key=lambda p: (reliable[p[0]][p[1]].doubt, _vagueness(p[1]), len(p[0]), p))
    for frame, template in pairs:
        right = {(by_frame[frame][index].observation, key) for index, key in reliable[frame][template].right}
        if not right <= explained:
            chosen[frame].add(template)
            explained |= right
    return chosen


def _may_say(domain: Domain, template: Template, thing: str, situation: Situation, classes: Mapping[str, str]) -> bool:
    """Return whether the conditions of a template hold for the first thing that it is about."""
    if template.kind and type_of(domain, classes, thing) != template.kind:
        return False
    if not template.unless:
        return True
    return bool(situation.offered) and situation.offered.get(thing, frozenset()).isdisjoint(template.unless)


def _refined(
    domain: Domain, group: Sequence[Example], template: Template, says: Iterable[tuple[int, Key, str]]
) -> Iterable[Template]:
    """Yield a template with conditions that make it reliable: the type of its first thing, commands not offered."""
    if not template.arguments:
        return
    rows: dict[str, list[_Row]] = {}
    for index, key, thing in says:
        example = group[index]
        if example.situation.offered:
            commands = frozenset(example.situation.offered.get(thing, ()))
            kind = type_of(domain, example.classes, thing) or ""
            rows.setdefault(kind, []).append((commands, key in example.literals, (index, key)))
    everything = [row for part in rows.values() for row in part]
    condition = _condition(everything)
    if condition:
        yield replace(template, unless=condition)
        return
    for kind, part in sorted(rows.items()):
        if sum(is_right for _, is_right, _ in part) >= PRECISION * len(part):
            yield replace(template, kind=kind)
        elif condition := _condition(part):
            yield replace(template, kind=kind, unless=condition)


def _condition(rows: Sequence[_Row]) -> tuple[str, ...]:
    """Return up to two commands of which none may be offered, so that a template is reliable; empty if none do."""
    # a literal without arguments is said of each thing of a sentence, and depends on one of them
    right = {said for _, is_right, said in rows if is_right}
    if len(right) < _LEAST_RIGHT:
        return ()
    wrong = Counter(command for commands, is_right, _ in rows if not is_right for command in commands)
    tried = [command for command, _ in sorted(wrong.items(), key=lambda item: (-item[1], item[0]))[:12]]
    for size in (1, 2):
        for condition in itertools.combinations(tried, size):
            kept = [(is_right, said) for commands, is_right, said in rows if commands.isdisjoint(condition)]
            said_right = {said for is_right, said in kept if is_right}
            # it must not throw away what is right
            lost = len(right) - len(said_right)
            errors = sum(not is_right for is_right, _ in kept)
            if said_right and errors <= (1 - PRECISION) * len(kept) and lost <= (1 - PRECISION) * len(said_right):
                return condition
    return ()


def slots_said(label: Label) -> set[int]:
    """Return the slots of which a label says something."""
    return {int(value) for template in label for kind, value in template.arguments if kind == "slot"}


def made_after(labels: Iterable[Label]) -> set[str]:
    """Return the patterns of the names that labels make."""
    return {str(v) for label in labels for template in label for kind, v in template.arguments if kind == MADE}


def _explain(key: Key, example: Example) -> Iterable[Template]:
    """Yield the templates that may have made a literal of a sentence."""
    predicate, arguments, positive = key
    if not arguments:
        for index in range(len(example.sentence.slots)):
            yield Template(predicate, ((ANY, index),), positive)
    for sources in itertools.product(*(list(_sources(name, example)) for name in arguments)):
        yield Template(predicate, tuple(sources), positive)


def _sources(name: str, example: Example) -> Iterable[Argument]:
    for index, slot in enumerate(example.sentence.slots):
        if any(mention.name == name for mention in slot):
            yield ("slot", index)
    if name and name == example.situation.here:
        yield (HERE, 0)
    if name and name == example.situation.before:
        yield (BEFORE, 0)
    here = example.situation.here
    if here and name.startswith(here) and len(name) > len(here):
        for index, slot in enumerate(example.sentence.slots):
            for mention in slot:
                gap = name[len(here) : len(name) - len(mention.name)]
                if name.endswith(mention.name) and 0 < len(gap) <= 2 and "{" not in gap:
                    yield (MADE, f"{{here}}{gap}{{{index}}}")
                    return


def _vagueness(template: Template) -> int:
    return sum({"slot": 0, MADE: 0, ANY: 0, BEFORE: 1, HERE: 2}.get(kind, 3) for kind, _ in template.arguments)


def made_names(pattern: str, sentence: Sentence, situation: Situation) -> list[str]:
    """Return the names that are made after the things of a sentence, see `Argument`."""
    found = re.search(r"\{(\d+)\}", pattern)
    if found is None or not situation.here or int(found[1]) >= len(sentence.slots):
        return []
    named = pattern.replace("{here}", situation.here)
    return [named.replace(found[0], mention.name) for mention in sentence.slots[int(found[1])]]


def _flags(domain: Domain, by_frame: Mapping[str, Sequence[Example]]) -> Iterable[tuple[str, Template]]:
    """Yield flags with the frames that they come from."""
    made: Counter[tuple[str, Template]] = Counter()
    right: Counter[tuple[str, Template]] = Counter()
    covers: dict[tuple[str, Template], set[tuple[int, Key]]] = {}
    for frame, group in by_frame.items():
        for template in {item for example in group for key in example.flags for item in _flag_templates(key, example)}:
            for example in group:
                keys = instantiate(domain, template, example.sentence, example.situation, example.classes)
                made[frame, template] += len(keys)
                right[frame, template] += sum(key in example.flags for key in keys)
                hits = {(example.observation, key) for key in keys if key in example.flags}
                covers.setdefault((frame, template), set()).update(hits)
    reliable = [pair for pair in covers if made[pair] and right[pair] / made[pair] >= PRECISION]
    reliable.sort(key=lambda pair: (-len(covers[pair]), _vagueness(pair[1]), len(pair[0]), pair))
    explained: set[tuple[int, Key]] = set()
    for pair in reliable:
        if not covers[pair] <= explained:
            explained |= covers[pair]
            yield pair


def _flag_templates(key: Key, example: Example) -> Iterable[Template]:
    predicate, arguments, _ = key
    if predicate == PLACE:
        yield from _explain(key, example)
    else:
        yield Template(predicate, tuple((CONSTANT, name) for name in arguments))


def atom_of(key: Key) -> Atom:
    """Return the atom of a literal."""
    return Atom(key[0], key[1])
