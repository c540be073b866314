"""Training of the parser: sentences of many observations, what each of them says, and a classifier for others."""

from __future__ import annotations

import random
import string
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.language.pairs import FactPair
from graph_planner_ros.language.rules_patterns import Page
from graph_planner_ros.language.trained_classifier import Softmax, fit_softmax, hashed, matrix, ngrams
from graph_planner_ros.language.trained_labels import (
    Example,
    Key,
    Label,
    Situation,
    atom_of,
    induce,
    keys_of,
    made_after,
    made_names,
    slots_said,
)
from graph_planner_ros.language.trained_lifting import lift
from graph_planner_ros.language.trained_offers import COMMAND, MAX_OFFERS, OFFER, OfferModel, offer_sentence, offered
from graph_planner_ros.language.trained_parser import SPECIAL, ParserModel, command_sentence, last_named
from graph_planner_ros.language.trained_text import QUALITY, NameModel, Sentence, sentences

_CORRUPTIONS = 6
_MOST_EXAMPLES = 800
"""Of one frame."""
_NEGATIONS = ("not", "never", "no", "isn't", "without")


def train_parser(domain: Domain, pairs: Sequence[FactPair], seed: int = 0) -> ParserModel:
    """Learn from pairs.

    Raises:
        ValueError: there are none.
    """
    if not pairs:
        raise ValueError("there are no (observation, facts) pairs to learn from")
    names = NameModel.learn(domain, [{**pair.context.objects, **pair.parsed.objects} for pair in pairs])
    names.learn_qualities(domain, ((pair.text, pair.parsed.objects) for pair in pairs))
    offers = _tell_things(names, domain, pairs)
    examples = [
        example for number, pair in enumerate(pairs) for example in examples_of(domain, names, pair, number, offers)
    ]
    examples = _sample(examples, random.Random(seed))
    labels_of = induce(domain, examples)
    labels: list[Label] = [(), *sorted({label for label in labels_of.values() if label})]
    frames = {frame: labels.index(label) for frame, label in sorted(labels_of.items())}
    counts = Counter(example.frame for example in examples)
    classifier = _train_classifier(frames, counts, len(labels), random.Random(seed))
    plain_frames = {frame: label for frame, label in labels_of.items() if frame.split(" ")[0] not in SPECIAL}
    said = [example.sentence for example in examples]
    texts = [
        Sentence(item.start, item.end, (OFFER, *item.tokens), item.slots)
        for item in said
        if item.tokens[0] not in SPECIAL
    ]
    return ParserModel(
        names,
        frames,
        labels,
        classifier,
        lift(domain, plain_frames, examples),
        OfferModel.learn(domain, [item for item in said if item.tokens[0] == OFFER]) if offers else None,
        OfferModel.learn(domain, texts).keep_open({frame: slots_said(label) for frame, label in labels_of.items()}),
        _classes_of_made(labels, examples),
    )


def _tell_things(names: NameModel, domain: Domain, pairs: Sequence[FactPair]) -> bool:
    """Return whether facts come from the admissible commands: such as come from no words, nor from the last command."""
    other = total = 0
    for pair in pairs:
        spoken = command_sentence(Page(pair.context.command[:1000], names.names(domain, pair.context.objects), False))
        mentioned = {mention.name for slot in spoken.slots for mention in slot} | {pair.context.location}
        for fact in pair.parsed.facts:
            total += 1
            other += fact.end == 0 and not mentioned.issuperset(fact.atom.arguments)
    return other > 0.05 * total


def _sample(examples: Sequence[Example], rng: random.Random) -> list[Example]:
    """Return the examples, of every frame at most about so many.

    Of commands whole observations are kept, because a fact may come from any of them.
    """
    by_frame: dict[str, list[Example]] = {}
    offers: dict[int, list[Example]] = {}
    for example in examples:
        if example.sentence.tokens[0] in (OFFER, COMMAND):
            offers.setdefault(example.observation, []).append(example)
        else:
            by_frame.setdefault(example.frame, []).append(example)
    kept = [
        example
        for group in by_frame.values()
        for example in (rng.sample(group, _MOST_EXAMPLES) if len(group) > _MOST_EXAMPLES else group)
    ]
    counts: Counter[str] = Counter()
    for number in rng.sample(sorted(offers), len(offers)):
        if any(counts[example.frame] < _MOST_EXAMPLES for example in offers[number]):
            counts.update(example.frame for example in offers[number])
            kept += offers[number]
    return kept


def _classes_of_made(labels: Sequence[Label], examples: Sequence[Example]) -> dict[str, str]:
    """Return the usual class of things that are named after others."""
    votes: dict[str, Counter[str]] = {pattern: Counter() for pattern in sorted(made_after(labels))}
    for example in examples:
        for pattern, count in votes.items():
            for name in made_names(pattern, example.sentence, example.situation):
                if name in example.classes:
                    count[example.classes[name]] += 1
    return {pattern: max(sorted(count), key=lambda name: count[name]) for pattern, count in votes.items() if count}


def examples_of(domain: Domain, names: NameModel, pair: FactPair, number: int, tell: bool = False) -> list[Example]:
    """Return the sentences of a pair, each with the part of the reference that may come from it.

    Args:
        number: of the observation. tell: the admissible commands are read too.
    """
    # where names are open, commands and sentences tell them before they are needed
    known = {**pair.context.objects, **(pair.parsed.objects if not names.gaps else {})}
    found_names = names.names(domain, known)
    offers = (
        [offer_sentence(Page(text[:300], found_names, False)) for text in pair.context.commands[:MAX_OFFERS]]
        if tell
        else []
    )
    about = offered(offers)
    command = command_sentence(Page(pair.context.command[:1000], found_names, qualities=False))
    page = Page(pair.text, found_names)
    found = sentences(page)
    classes = {**found_names.classes, **pair.parsed.objects}
    flags = keys_of(pair.parsed)
    stated = [(f.start, f.end, (f.atom.predicate, f.atom.arguments, f.positive)) for f in pair.parsed.facts]
    unspoken = frozenset(key for _, end, key in stated if end == 0)
    here, before = pair.context.location, last_named(command, "")
    examples = []
    if pair.context.command and not pair.parsed.failed:
        examples.append(Example(command, Situation(here, "", about), classes, unspoken, frozenset(), number))
        here = here if tell else _moved(domain, unspoken, here)
    for sentence in found:
        start, stop = page.origin[sentence.start], page.origin[sentence.end]
        literals = frozenset(key for first, last, key in stated if first < stop and last > start)
        here = _moved(domain, literals, here)
        situation = Situation(here, before, about)
        if sentence.tokens[:1] == (QUALITY,):  # it says something of its own thing only
            literals = frozenset(key for key in literals if key[1] == (sentence.slots[0][0].name,))
            examples.append(Example(sentence, situation, classes, literals, observation=number))
            continue
        examples.append(Example(sentence, situation, classes, literals, flags, number))
        before = last_named(sentence, before)
    situation = Situation(here, "", about)
    return [*examples, *(Example(offer, situation, classes, unspoken, flags, number) for offer in offers)]


def _moved(domain: Domain, literals: frozenset[Key], here: str) -> str:
    return next((atom_of(key).arguments[0] for key in sorted(literals) if key[0] == domain.location and key[2]), here)


def _train_classifier(frames: Mapping[str, int], counts: Mapping[str, int], labels: int, rng: random.Random) -> Softmax:
    rows, targets, weights = [], [], []
    for frame, number in frames.items():
        tokens = frame.split(" ")
        if tokens[0] in SPECIAL:
            continue
        rows.append(hashed(ngrams(tokens)))
        targets.append(number)
        weights.append(1.0 + float(np.log(counts[frame])))
        for corrupted in (corrupt(tokens, rng) for _ in range(_CORRUPTIONS if number else 0)):
            rows.append(hashed(ngrams(corrupted)))
            targets.append(0)
            weights.append(0.5)
    return fit_softmax(matrix(rows), np.array(targets), np.array(weights), labels)


def corrupt(tokens: Sequence[str], rng: random.Random) -> list[str]:
    """Return a sentence that does not say what it said: denied, quoted in other words, cut, or shuffled."""
    words = list(tokens)
    kind = rng.randrange(4)
    if kind == 0:
        words.insert(rng.randrange(len(words)), rng.choice(_NEGATIONS))
    elif kind == 1:
        words = [_word(rng) for _ in range(rng.randint(2, 5))] + words
    elif kind == 2:
        words = [_word(rng) if word.isalpha() and rng.random() < 0.7 else word for word in words]
    else:
        rng.shuffle(words)
    return words if words != list(tokens) else [_word(rng), *words]


def _word(rng: random.Random) -> str:
    return "".join(rng.choice(string.ascii_lowercase) for _ in range(rng.randint(2, 8)))
