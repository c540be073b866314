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
from graph_planner_ros.language.trained_text import Sentence

PRECISION = 0.98
"""Least share of a template's literals that are in the reference."""
_LEAST_RIGHT = 3
HERE, BEFORE, CONSTANT, MADE = "here", "before", "constant", "made"
FAILED, COMPLETE, PLACE = "!failed", "!complete", "!place"
"""Flags of an observation, beside its literals."""
Argument = tuple[str, int | str]
"""(``slot``, index), (``here``, 0), (``before``, 0): the last thing before the sentence, (``constant``, name), or
(``made``, "{here} {0}"): a thing named after others."""


@dataclass(frozen=True, order=True)
class Template:
    """A literal, or a flag, over slots."""

    predicate: str
    arguments: tuple[Argument, ...] = ()
    positive: bool = True
    unless: tuple[str, ...] = ()
    """Commands (see `trained_offers.offered`) of which none may be offered about the first argument."""
    kind: str = ""
    """Type that the first argument must have exactly; empty for any."""


Label = tuple[Template, ...]
"""Everything that a sentence says; empty if it says nothing that the domain knows."""
Key = tuple[str, tuple[str, ...], bool]
"""A literal or flag as it is compared: predicate, arguments, truth."""


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
    choices: list[list[str]] = []
    for kind, value in template.arguments:
        if kind == "slot":
            slot = sentence.slots[int(value)] if int(value) < len(sentence.slots) else ()
            choices.append([mention.name for mention in slot if mention.class_name is not None])
        elif kind == CONSTANT:
            choices.append([str(value)])
        elif kind == MADE:
            choices.append(made_names(str(value), sentence, situation))
        else:
            name = situation.here if kind == HERE else situation.before
            choices.append([name] if name else [])
    keys: list[Key] = []
    for arguments in itertools.islice(itertools.product(*choices), 1000):
        key = (template.predicate, arguments, template.positive)
        if (template.unless or template.kind) and not _may_say(domain, template, key, situation, classes):
            continue
        if template.predicate.startswith("!") or (
            len(set(arguments)) == len(arguments)
            and isinstance(check_fact(domain, classes, template.predicate, arguments), ObservedFact)
        ):
            keys.append(key)
    return keys


def induce(domain: Domain, examples: Sequence[Example]) -> dict[str, Label]:
    """Return frame -> label for all frames of the examples.

    Flags belong to whole observations: each goes to the frame that comes with it most often, until all are explained.
    """
    by_frame: dict[str, list[Example]] = {}
    for example in examples:
        by_frame.setdefault(example.frame, []).append(example)
    labels: dict[str, set[Template]] = {frame: _literals(domain, group) for frame, group in by_frame.items()}
    for frame, template in _flags(domain, by_frame):
        labels[frame].add(template)
    return {frame: tuple(sorted(label)) for frame, label in labels.items()}


def _literals(domain: Domain, group: Sequence[Example]) -> set[Template]:
    """Return the templates of one frame, the most reliable for every literal of the reference."""
    right: Counter[Template] = Counter()
    made: Counter[Template] = Counter()
    candidates = {template for example in group for key in example.literals for template in _explain(key, example)}
    says: dict[tuple[int, Template], list[Key]] = {}
    for index, example in enumerate(group):
        for template in candidates:
            keys = instantiate(domain, template, example.sentence, example.situation, example.classes)
            says[index, template] = keys
            made[template] += len(keys)
            right[template] += sum(key in example.literals for key in keys)
    reliable = [item for item in candidates if made[item] and right[item] / made[item] >= PRECISION]
    for template in sorted(set(candidates) - set(reliable)):
        for refined in _refined(domain, group, template, says):
            for index, example in enumerate(group):
                keys = [key for key in says[index, template] if _holds(domain, refined, key, example)]
                says[index, refined] = keys
                right[refined] += sum(key in example.literals for key in keys)
            reliable.append(refined)
    # of two that say the same here, slots before places, and the one that says more
    reliable.sort(key=lambda item: (-right[item], _vagueness(item), item))
    chosen: set[Template] = set()
    explained: set[tuple[int, Key]] = set()
    for template in reliable:
        news = {
            (index, key)
            for index, example in enumerate(group)
            for key in says[index, template]
            if key in example.literals
        }
        if not news <= explained:
            chosen.add(template)
            explained |= news
    return chosen


def _may_say(domain: Domain, template: Template, key: Key, situation: Situation, classes: Mapping[str, str]) -> bool:
    """Return whether the conditions of a template hold for a literal."""
    if template.kind and type_of(domain, classes, key[1][0]) != template.kind:
        return False
    return not template.unless or situation.offered.get(key[1][0], frozenset()).isdisjoint(template.unless)


def _holds(domain: Domain, template: Template, key: Key, example: Example) -> bool:
    return _may_say(domain, template, key, example.situation, example.classes)


def _refined(
    domain: Domain, group: Sequence[Example], template: Template, says: Mapping[tuple[int, Template], list[Key]]
) -> Iterable[Template]:
    """Yield a template with conditions that make it reliable: the type of its first argument, commands not offered."""
    if not template.arguments:
        return
    rows: dict[str, list[tuple[frozenset[str], bool]]] = {}
    for index, example in enumerate(group):
        for key in says[index, template]:
            commands = frozenset(example.situation.offered.get(key[1][0], ()))
            kind = type_of(domain, example.classes, key[1][0]) or ""
            rows.setdefault(kind, []).append((commands, key in example.literals))
    everything = [row for part in rows.values() for row in part]
    condition = _condition(everything)
    if condition:
        yield replace(template, unless=condition)
        return
    for kind, part in sorted(rows.items()):
        if sum(is_right for _, is_right in part) >= PRECISION * len(part):
            yield replace(template, kind=kind)
        elif condition := _condition(part):
            yield replace(template, kind=kind, unless=condition)


def _condition(rows: Sequence[tuple[frozenset[str], bool]]) -> tuple[str, ...]:
    """Return up to two commands of which none may be offered, so that a template is reliable; empty if none do."""
    total = sum(is_right for _, is_right in rows)
    if total < _LEAST_RIGHT:
        return ()
    wrong = Counter(command for commands, is_right in rows if not is_right for command in commands)
    tried = [command for command, _ in sorted(wrong.items(), key=lambda item: (-item[1], item[0]))[:12]]
    for size in (1, 2):
        for condition in itertools.combinations(tried, size):
            kept = [is_right for commands, is_right in rows if commands.isdisjoint(condition)]
            # it must not throw away what is right
            lost = total - sum(kept)
            if kept and sum(kept) >= PRECISION * len(kept) and lost <= (1 - PRECISION) * sum(kept):
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
    return sum({"slot": 0, MADE: 0, BEFORE: 1, HERE: 2}.get(kind, 3) for kind, _ in template.arguments)


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
