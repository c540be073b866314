"""What a model knows of an instruction and of where things are: which classes matter, and where to look first.

Both are hints. Key objects are classes that are there; suggestions move the prices of looking somewhere, within the
bounds that they have without a model, and never take a place away (see `advice`).
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import describe_goal
from graph_planner_ros.domain.symbols import Goal, SymbolicState
from graph_planner_ros.language.models import LanguageModel, load_prompt
from graph_planner_ros.planning.advice import Experience, Remembered
from graph_planner_ros.planning.llm import prompting
from graph_planner_ros.planning.llm.asking import ask_object
from graph_planner_ros.planning.result import ModelRound
from graph_planner_ros.scene.graph import SceneGraph

MAX_KEY_OBJECTS = 12
MAX_CLASSES = 200
"""Classes that a model may choose from."""
MAX_PLACES = 60
"""Places that a model is asked about at once."""
MAX_ROUNDS = 20
"""Rounds that are kept until somebody takes them."""
MAX_SILENCES = 2
"""Questions in a row without an answer after which the model is not asked for a while."""
PAUSE = 60.0
"""Seconds of that while."""
_MAX_TOKENS = 1024


def key_objects(
    model: LanguageModel,
    instruction: str,
    classes_present: Iterable[str],
    goal: Goal,
    *,
    domain: Domain | None = None,
    timeout: float = 10.0,
    cancel: threading.Event | None = None,
) -> tuple[str, ...]:
    """Return the classes that matter for an instruction, the most important first; never raises for what a model does.

    Args:
        classes_present: classes of what is there; no other is returned but those of the goal.
        goal: how the instruction was understood; its classes are always among them, last if the model left them out.
        domain: for the wording of the goal. timeout: seconds. cancel: ends it within a second.
    """
    return asked_key_objects(model, instruction, classes_present, goal, domain, timeout, cancel)[0]


def asked_key_objects(
    model: LanguageModel,
    instruction: str,
    classes_present: Iterable[str],
    goal: Goal,
    domain: Domain | None = None,
    timeout: float = 10.0,
    cancel: threading.Event | None = None,
) -> tuple[tuple[str, ...], ModelRound | None]:
    """Return what `key_objects` does, and the round with the model; None if it was not asked."""
    wanted = tuple(dict.fromkeys(item.class_name for item in goal.variables if item.class_name is not None))
    present = sorted(set(classes_present), key=lambda name: (name not in wanted, name))[:MAX_CLASSES]
    if not present:
        return wanted, None
    names = _printed(present)
    messages = load_prompt("key_objects").render(
        classes=", ".join(names),
        instruction=prompting.quoted(instruction, prompting.MAX_INSTRUCTION),
        goal=prompting.quoted(describe_goal(goal, domain), prompting.MAX_INSTRUCTION),
    )
    schema = {
        "type": "object",
        "properties": {
            "classes": {
                "type": "array",
                "maxItems": MAX_KEY_OBJECTS,
                "items": {"type": "string", "enum": list(names)},
            }
        },
        "required": ["classes"],
        "additionalProperties": False,
    }
    answer = ask_object(model, messages, schema, "classes", max_tokens=_MAX_TOKENS, timeout=timeout, cancel=cancel)
    entry = replace(answer.round, number=0)
    said = answer.content["classes"] if answer.content is not None else None
    if not isinstance(said, list):
        return wanted, replace(entry, problems=entry.problems or ("the classes are no list",))
    found = dict.fromkeys(names[name] for name in said[:MAX_CLASSES] if isinstance(name, str) and name in names)
    return tuple(dict.fromkeys((*list(found)[:MAX_KEY_OBJECTS], *wanted))), entry


def search_suggestions(
    model: LanguageModel,
    what: str,
    candidate_places: Mapping[str, str],
    scene: SceneGraph | None = None,
    *,
    timeout: float = 10.0,
    cancel: threading.Event | None = None,
) -> dict[str, float]:
    """Return place -> how likely a thing is there, 0..1; empty if the model says nothing of use; never raises for it.

    Args:
        what: class that is looked for. candidate_places: place -> its class; no other place is returned.
        scene: what is believed. timeout: seconds. cancel: ends it within a second.
    """
    return _suggested(model, what, candidate_places, scene, timeout, cancel)[0]


def _suggested(
    model: LanguageModel,
    what: str,
    places: Mapping[str, str],
    scene: SceneGraph | None,
    timeout: float,
    cancel: threading.Event | None,
) -> tuple[dict[str, float], ModelRound | None]:
    """Return the suggestions, and the round with the model, whose problems say if there is no list of places in it."""
    names = _printed(sorted(places)[:MAX_PLACES])
    if not names:
        return {}, None
    messages = load_prompt("search_suggestions").render(
        what=prompting.named(what),
        places="\n".join(f"{name}: {prompting.named(places[place])}" for name, place in names.items()),
        scene=prompting.describe_scene(scene, {what, *places.values()}),
    )
    row = {
        "type": "object",
        "properties": {
            "place": {"type": "string", "enum": list(names)},
            "relevance": {"type": "number", "minimum": 0, "maximum": 1},
        },
        "required": ["place", "relevance"],
        "additionalProperties": False,
    }
    schema = {
        "type": "object",
        "properties": {"places": {"type": "array", "maxItems": MAX_PLACES, "items": row}},
        "required": ["places"],
        "additionalProperties": False,
    }
    answer = ask_object(model, messages, schema, "places", max_tokens=_MAX_TOKENS, timeout=timeout, cancel=cancel)
    told = replace(answer.round, number=0)
    said = answer.content["places"] if answer.content is not None else None
    if not isinstance(said, list):
        return {}, replace(told, problems=told.problems or ("the places are no list",))
    found: dict[str, float] = {}
    for item in said[: 2 * MAX_PLACES]:
        name, value = (item.get("place"), item.get("relevance")) if isinstance(item, dict) else (None, None)
        if isinstance(name, str) and name in names and _is_share(value):
            found.setdefault(names[name], float(value))  # type: ignore[arg-type]
    return found, told


def _printed(names: Iterable[str]) -> dict[str, str]:
    """Return name as it is printed -> name; of names that are printed alike the first one counts."""
    printed: dict[str, str] = {}
    for name in names:
        printed.setdefault(prompting.named(name), name)
    return printed


def _is_share(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1 and math.isfinite(value)


@dataclass
class ModelExperience:
    """What a model suggests, as experience for `advice.Advice`: ``Advice(domain, ModelExperience(model, memory))``.

    Experience comes first, since it is of this home; the model is asked about things of which there is none. Each
    question is asked once while what is known stays the same; a model that does not answer is left alone for a while.

    Attributes:
        model: is asked. memory: experience; None: there is none.
        timeout: seconds for a question. cancel: ends one within a second.
        allowance: seconds that all questions together may take; what is not asked any more is searched for as without
            a model. Planning waits for the answers, so keep it below what a plan may take.
    """

    model: LanguageModel
    memory: Experience | None = None
    timeout: float = 10.0
    cancel: threading.Event | None = None
    allowance: float = math.inf
    _said: dict[tuple[str, tuple[tuple[str, str], ...]], dict[str, float]] = field(default_factory=dict)
    _guessed: set[str] = field(default_factory=set)
    _rounds: list[ModelRound] = field(default_factory=list)
    _silences: int = 0
    _quiet_until: float = 0.0

    def places(
        self, scene: SceneGraph, goals: Sequence[Goal], class_name: str, candidates: Mapping[str, str]
    ) -> Mapping[str, float]:
        """See `advice.Experience`."""
        known = self.memory.places(scene, goals, class_name, candidates) if self.memory is not None else {}
        if known:
            self._guessed.discard(class_name)
            return known
        self._guessed.add(class_name)
        # where things are likely to be depends on the kinds of places, and hardly on what has been seen since
        key = (class_name, tuple(sorted(candidates.items())))
        if key in self._said:
            return self._said[key]
        started = time.monotonic()
        stopped = self.cancel is not None and self.cancel.is_set()
        if stopped or started < self._quiet_until or self.allowance <= 0.0:
            return {}
        timeout = min(self.timeout, self.allowance)
        found, entry = _suggested(self.model, class_name, candidates, scene, timeout, self.cancel)
        self.allowance -= time.monotonic() - started
        if entry is not None:
            self._rounds = [*self._rounds[1 - MAX_ROUNDS :], entry]
        if entry is not None and entry.problems:
            self._silences += 1
            if self._silences >= MAX_SILENCES:
                self._quiet_until, self._silences = time.monotonic() + PAUSE, 0
            return {}
        self._silences = 0
        if len(self._said) >= 256:
            self._said.clear()
        self._said[key] = found
        return found

    def source(self, class_name: str) -> str:
        """Return who said last where things of a class are, for the reasons of plans."""
        return f"the model {self.model.name}" if class_name in self._guessed else "memory"

    def take_rounds(self) -> tuple[ModelRound, ...]:
        """Return the rounds since the last time."""
        taken, self._rounds = tuple(self._rounds), []
        return taken

    def retrieve(
        self,
        scene: SceneGraph,
        state: SymbolicState,
        goals: Sequence[Goal],
        *,
        count: int,
        before: str | None = None,
    ) -> Sequence[Remembered]:
        """See `advice.Experience`."""
        if self.memory is None:
            return ()
        return self.memory.retrieve(scene, state, goals, count=count, before=before)
