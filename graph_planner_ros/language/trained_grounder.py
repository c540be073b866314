"""Symbolic actions to admissible commands, by a model that was trained on (action, commands -> command) pairs.

Every admissible command gets a score from a few features: is it how this action was said before, how another one was,
do its words look like the action's, does it name the action's things and no others, and did such commands do what the
action does. The weights are trained on actions that are known and on the same actions as if they were not.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.language.interface import Context, Grounding
from graph_planner_ros.language.pairs import CommandPair, FactPair
from graph_planner_ros.language.rules_patterns import Page
from graph_planner_ros.language.trained_classifier import Floats, fit_logistic, hashed, sigmoid
from graph_planner_ros.language.trained_lifting import is_form_of
from graph_planner_ros.language.trained_text import SLOT, NameModel, read_sentence

HERE = "{here}"
_NEGATIVES = 25
_OUTCOME = 0.5
"""Least share of answers in which a command's words led to a fact, to say that it does that."""
_WIDTH = 512
FEATURES = (
    *("said so before", "known and not said so", "said of others", "verb is the name", "words alike", "things covered"),
    *("other things", "things in order", "never said of any", "does what the action does", "does something else"),
)


@dataclass
class GrounderModel:
    """What was learned.

    Attributes:
        names: how things are named. frames: action -> command with parameters as ``{name}`` -> how often.
        claims: command with all things as slots -> action -> how often.
        outcomes: command with all things as slots -> predicates that it makes true of them.
        silent: actions that needed no command. observe: commands that only look, the most frequent first.
        scorers: for actions that were learned, and for others: weights of the features, the bias last.
        thresholds: least scores to be accepted, likewise.
    """

    names: NameModel
    frames: dict[str, dict[str, int]] = field(default_factory=dict)
    claims: dict[str, dict[str, int]] = field(default_factory=dict)
    outcomes: dict[str, list[str]] = field(default_factory=dict)
    silent: list[str] = field(default_factory=list)
    observe: list[str] = field(default_factory=list)
    scorers: list[list[float]] = field(default_factory=list)
    thresholds: list[float] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "frames": self.frames,
            "claims": self.claims,
            "outcomes": self.outcomes,
            "silent": self.silent,
            "observe": self.observe,
            "features": list(FEATURES),
            "scorers": [[round(weight, 4) for weight in weights] for weights in self.scorers],
            "thresholds": self.thresholds,
        }

    @staticmethod
    def from_plain(plain: Mapping[str, Any], names: NameModel) -> GrounderModel:
        """Read what `plain` made.

        Raises:
            ValueError: it was made for other features.
        """
        scorers = [[float(weight) for weight in weights] for weights in plain["scorers"]]
        if tuple(plain["features"]) != FEATURES or [len(weights) for weights in scorers] != [len(FEATURES) + 1] * 2:
            raise ValueError("the model was trained with other features of commands; train it again")
        return GrounderModel(
            names,
            {action: dict(frames) for action, frames in plain["frames"].items()},
            {frame: dict(actions) for frame, actions in plain["claims"].items()},
            {frame: list(predicates) for frame, predicates in plain["outcomes"].items()},
            list(plain["silent"]),
            list(plain["observe"]),
            scorers,
            [float(threshold) for threshold in plain["thresholds"]],
        )


@dataclass(frozen=True)
class _Form:
    """A command seen from an action: with its parameters, with slots only, and what else there is."""

    frame: str
    generic: str
    words: tuple[str, ...]
    named: tuple[str, ...]
    others: int


class TrainedGrounder:
    """Scores all admissible commands and takes the best if it is good enough."""

    def __init__(self, domain: Domain, model: GrounderModel) -> None:
        self._domain = domain
        self.model = model
        self._scorers = [np.array(weights) for weights in model.scorers]
        self._reader = _Reader(domain, model)

    def ground(self, action: GroundAction, context: Context) -> Grounding:
        """Choose the admissible command that carries out the action; see `CommandGrounder`."""
        schema = self._domain.actions.get(action.name)
        if schema is None or len(schema.parameters) != len(action.arguments):
            return Grounding(None, 0.0, f"the domain has no action {action}")
        if action.name in self.model.silent:
            return Grounding("", 1.0, "it needed no command in the games that were learned from")
        if not context.commands:
            return self._write(action)
        rows = self._reader.rows(action, context.commands, context.objects)
        unknown = int(action.name not in self.model.frames)
        scores = sigmoid(np.hstack([rows, np.ones((len(rows), 1))]) @ self._scorers[unknown])
        best = int(np.argmax(scores))
        score = float(scores[best])
        if score < self.model.thresholds[unknown]:
            return Grounding(None, 0.0, f"no admissible command is likely to be {action} ({score:.2f} at best)")
        return Grounding(context.commands[best], score)

    def observe(self, context: Context) -> Grounding:
        """Choose a command that only looks; see `CommandGrounder`."""
        filled = [frame.replace(HERE, context.location) for frame in self.model.observe]
        usable = [
            text
            for text, frame in zip(filled, self.model.observe, strict=True)
            if context.location or HERE not in frame
        ]
        for text in usable:
            if not context.commands or text in context.commands:
                return Grounding(text, 1.0)
        return Grounding(None, 0.0, "no command that only looks was learned or is admissible")

    def _write(self, action: GroundAction) -> Grounding:
        """Write the command as it was said most often, for worlds that list none."""
        frames = self.model.frames.get(action.name)
        if not frames:
            return Grounding(None, 0.0, f"how {action.name} is said was not learned, and the world lists no commands")
        text = max(frames, key=lambda frame: frames[frame])
        for parameter, value in zip(self._domain.actions[action.name].parameters, action.arguments, strict=True):
            text = text.replace(_parameter(parameter.name), value)
        return Grounding(text, 0.9, "the world lists no commands")


class _Reader:
    """Makes features of actions and commands."""

    def __init__(self, domain: Domain, model: GrounderModel) -> None:
        self._domain = domain
        self._model = model
        self._vectors: dict[str, dict[int, float]] = {}
        self._class = next(iter(domain.classes))

    def rows(
        self, action: GroundAction, commands: Sequence[str], objects: Mapping[str, str], hidden: bool = False
    ) -> Floats:
        """Return the features of every command; ``hidden``: as if the action had never been seen."""
        forms = self.forms(action, commands, objects)
        return np.array([self._features(action, form, hidden) for form in forms])

    def forms(self, action: GroundAction, commands: Iterable[str], objects: Mapping[str, str]) -> list[_Form]:
        """Return commands as the action sees them."""
        known = {**dict.fromkeys(action.arguments, self._class), **objects}
        names = self._model.names.names(self._domain, known)
        parameters: dict[str, str] = {}
        schema = self._domain.actions.get(action.name)
        for parameter, value in zip(schema.parameters if schema else (), action.arguments, strict=False):
            parameters[value] = _parameter(parameter.name)
        forms = []
        for command in commands:
            page = Page(command[:300], names, qualities=False)
            sentence = read_sentence(page, 0, len(page.text))
            slots = iter(sentence.slots)
            frame, generic, words, named, others = [], [], [], [], 0
            for token in sentence.tokens:
                mentions = next(slots) if token == SLOT else ()
                generic.append(token)
                if not mentions:
                    words.append(token)
                    frame.append(token)
                for mention in mentions:
                    known_as = parameters.get(mention.name)
                    frame.append(known_as or SLOT)
                    if known_as:
                        named.append(known_as)
                    else:
                        others += 1
            forms.append(_Form(" ".join(frame), " ".join(generic), tuple(words), tuple(named), others))
        return forms

    def _features(self, action: GroundAction, form: _Form, hidden: bool) -> list[float]:
        model, schema = self._model, self._domain.actions[action.name]
        frames = {} if hidden else model.frames.get(action.name, {})
        said = frames.get(form.frame, 0) / sum(frames.values()) if frames else 0.0
        claims = {name: n for name, n in model.claims.get(form.generic, {}).items() if name != action.name}
        mine = bool(model.claims.get(form.generic, {}).get(action.name)) and not hidden
        wanted = {term.predicate for term in schema.added}
        does = set(model.outcomes.get(form.generic, ()))
        order = [_parameter(parameter.name) for parameter in schema.parameters]
        expected = [name for name in order if name in form.named]
        things = [
            p
            for p, value in zip(schema.parameters, action.arguments, strict=True)
            if self._is_named(p.name, schema.name)
        ]
        verb = re.split(r"[^A-Za-z]", action.name)[0].lower()
        return [
            0.8 + 0.2 * said if said else 0.0,
            float(bool(frames) and not said),
            float(bool(claims) and not mine),
            float(bool(form.words) and is_form_of(form.words[0], verb)),
            self._alike(action.name, form.words),
            len({*form.named}) / max(len(things), 1),
            float(form.others > 0),
            float(len(form.named) > 1 and list(form.named) == expected),
            float(not claims and not mine),
            len(wanted & does) / max(len(wanted), 1),
            float(bool(does) and not wanted & does),
        ]

    def _is_named(self, parameter: str, action: str) -> bool:
        """Return whether an action's words for people name a parameter; where it is done goes without saying."""
        skill = self._domain.skills.get(action)
        return skill is None or f"{{{parameter}}}" in skill.text

    def _alike(self, action: str, words: tuple[str, ...]) -> float:
        skill = self._domain.skills.get(action)
        text = re.sub(r"\{\w+\}", " ", skill.text if skill else "")
        names = re.findall(r"[a-z]+", f"{action} {text}".lower())
        own, other = self._vector(names), self._vector(words)
        return sum(value * other.get(index, 0.0) for index, value in own.items())

    def _vector(self, words: Iterable[str]) -> dict[int, float]:
        key = " ".join(words)
        if key not in self._vectors:
            padded = [f" {word} " for word in dict.fromkeys(key.split())]
            pieces = {word[i : i + n] for word in padded for n in (3, 4, 5) for i in range(len(word) - n + 1)}
            self._vectors[key] = hashed(sorted(pieces), _WIDTH)
        return self._vectors[key]


def _parameter(name: str) -> str:
    return f"{{{name.lstrip('?')}}}"


# -- training ---------------------------------------------------------------------------------------------------------


def train_grounder(
    domain: Domain, names: NameModel, commands: Sequence[CommandPair], facts: Sequence[FactPair], seed: int = 0
) -> GrounderModel:
    """Learn from pairs; ``facts`` say what commands led to.

    Raises:
        ValueError: there are none.
    """
    said = [pair for pair in commands if not pair.observing and pair.command is not None]
    if not said:
        raise ValueError("there are no (action, command) pairs to learn from")
    model = GrounderModel(names)
    reader = _Reader(domain, model)
    _count(model, reader, said)
    model.outcomes = _outcomes(reader, facts)
    looked: Counter[str] = Counter()
    for pair in commands:
        if pair.observing and pair.command:
            here = pair.context.location
            looked[pair.command.replace(here, HERE) if here else pair.command] += 1
    model.observe = [text for text, _ in sorted(looked.items(), key=lambda item: (-item[1], item[0]))]
    for hidden in (False, True):
        rows, targets, weights = _table(reader, said, random.Random(seed), hidden)
        scorer = fit_logistic(rows, targets, weights)
        model.scorers.append([float(weight) for weight in scorer])
        model.thresholds.append(_threshold(rows, targets, weights, scorer))
    return model


def _count(model: GrounderModel, reader: _Reader, pairs: Sequence[CommandPair]) -> None:
    frames: dict[str, Counter[str]] = {}
    claims: dict[str, Counter[str]] = {}
    spoken: set[str] = set()
    silent: set[str] = set()
    for pair in pairs:
        name = pair.action.name
        if not pair.command:
            silent.add(name)
            continue
        spoken.add(name)
        (form,) = reader.forms(pair.action, [pair.command], pair.context.objects)
        frames.setdefault(name, Counter())[form.frame] += 1
        claims.setdefault(form.generic, Counter())[name] += 1
    model.frames = {name: dict(sorted(count.items())) for name, count in sorted(frames.items())}
    model.claims = {frame: dict(sorted(count.items())) for frame, count in sorted(claims.items())}
    model.silent = sorted(silent - spoken)


def _outcomes(reader: _Reader, facts: Sequence[FactPair]) -> dict[str, list[str]]:
    """Return command without names -> predicates of its things that usually are true in the answer."""
    seen: Counter[str] = Counter()
    led: dict[str, Counter[str]] = {}
    nobody = GroundAction("")
    for pair in facts:
        command = pair.context.command
        if not command or pair.parsed.failed:
            continue
        (form,) = reader.forms(nobody, [command], pair.context.objects)
        seen[form.generic] += 1
        named = {f.atom.predicate for f in pair.parsed.facts if f.positive and _about(f.atom.arguments, command)}
        led.setdefault(form.generic, Counter()).update(named)
    return {
        frame: sorted(name for name, count in led[frame].items() if count >= _OUTCOME * seen[frame])
        for frame in sorted(led)
    }


def _about(arguments: Sequence[str], command: str) -> bool:
    return bool(arguments) and all(name in command for name in arguments)


def _table(
    reader: _Reader, pairs: Sequence[CommandPair], rng: random.Random, hidden: bool
) -> tuple[Floats, Floats, Floats]:
    """Return features, whether it is the command, and weights."""
    actions = Counter(pair.action.name for pair in pairs)
    shares: dict[tuple[tuple[float, ...], bool], float] = {}
    for pair in pairs:
        if not pair.command or pair.command not in pair.context.commands:
            continue
        others = [command for command in pair.context.commands if command != pair.command]
        chosen = [pair.command, *rng.sample(others, min(len(others), _NEGATIVES))]
        for number, row in enumerate(reader.rows(pair.action, chosen, pair.context.objects, hidden)):
            key = (tuple(round(float(value), 3) for value in row), number == 0)
            # every action counts the same, however often it is done
            shares[key] = shares.get(key, 0.0) + 1.0 / actions[pair.action.name]
    keys = sorted(shares)
    rows = np.array([row for row, _ in keys])
    return rows, np.array([float(right) for _, right in keys]), np.array([shares[key] for key in keys])


def _threshold(rows: Floats, targets: Floats, weights: Floats, model: Floats) -> float:
    """Return the threshold with the fewest errors, weighted; a wrong command is worse than none."""
    scores = sigmoid(np.hstack([rows, np.ones((len(rows), 1))]) @ model)
    best, least = 0.5, float("inf")
    for threshold in np.linspace(0.1, 0.9, 33):
        taken = scores >= threshold
        errors = float(weights[taken & (targets == 0)].sum() * 2 + weights[~taken & (targets == 1)].sum())
        if errors < least:
            best, least = float(threshold), errors
    return round(best, 3)
