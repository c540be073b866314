"""Reads the YAML beside a PDDL domain and checks every entry against the PDDL.

Every message names the file, the entry and what was expected; nothing that is wrong is skipped.
"""

from __future__ import annotations

import difflib
import string
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from graph_planner_ros.domain.fragments import merge_description
from graph_planner_ros.domain.pddl import PddlDomain
from graph_planner_ros.domain.schema import (
    AttributeSchema,
    CreationSchema,
    DelaySchema,
    DomainError,
    HypothesisSchema,
    ObjectClass,
    RelationSchema,
    SkillSchema,
    StartPlace,
)
from graph_planner_ros.domain.yaml_files import read_yaml

META_CLASSES = ("obj", "rec", "mov", "spec")
_SECTIONS = (
    "name",
    "classes",
    "start_place",
    "relations",
    "attributes",
    "none_of",
    "hypotheses",
    "distance",
    "location",
    "class_type",
    "class_predicate",
    "skills",
    "delays",
    "repetitions",
    "creations",
    "wording",
    "plausibility",
    "on_request",
    "task_graph",
)


@dataclass
class Description:
    """The content of a domain's YAML; see `Domain` for the meaning."""

    name: str
    classes: dict[str, ObjectClass] = field(default_factory=dict)
    attributes: dict[str, AttributeSchema] = field(default_factory=dict)
    relations: dict[str, RelationSchema] = field(default_factory=dict)
    skills: dict[str, SkillSchema] = field(default_factory=dict)
    none_of: dict[str, str] = field(default_factory=dict)
    hypotheses: HypothesisSchema | None = None
    start_place: StartPlace | None = None
    location: str | None = None
    distance: str | None = None
    class_type: str | None = None
    class_predicate: str | None = None
    delays: dict[str, DelaySchema] = field(default_factory=dict)
    repetitions: dict[str, int] = field(default_factory=dict)
    creations: dict[str, CreationSchema] = field(default_factory=dict)
    raw: dict[str, Any] = field(default_factory=dict)


def read_description(path: Path, pddl: PddlDomain, fragments: Iterable[Path] = ()) -> Description:
    """Read and check a domain's YAML.

    Args:
        path: of the file. pddl: what it describes. fragments: YAML files that add to it.

    Raises:
        DomainError: naming the file, the entry and what was expected.
    """
    raw = read_yaml(path, DomainError)
    name = str(path)
    for fragment in fragments:
        raw = merge_description(raw, fragment)
        name += f" with {fragment.name}"
    return _Checker(name, pddl).read(raw)


class _Checker:
    """Reads one YAML document; keeps the file's name and the PDDL for the messages and the checks."""

    def __init__(self, file: str, pddl: PddlDomain) -> None:
        self._file = file
        self._pddl = pddl

    def _fail(self, key: str, expected: str) -> DomainError:
        return DomainError(f"{self._file}: {key}: {expected}")

    # -- shapes ---------------------------------------------------------------------------------------------------

    def _mapping(self, key: str, value: Any) -> dict[str, Any]:
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._fail(key, f"expected a mapping, found {value!r}")
        for name in value:
            if not isinstance(name, str):
                raise self._fail(
                    f"{key}.{name}", f"expected a name, found the {type(name).__name__} {name!r}; quote it"
                )
        return value

    def _strings(self, key: str, value: Any) -> tuple[str, ...]:
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._fail(key, f"expected a list of words (quoted where YAML reads something else), found {value!r}")
        return tuple(value)

    def _string(self, key: str, value: Any) -> str:
        if not isinstance(value, str) or not value:
            raise self._fail(key, f"expected a word, found {value!r}")
        return value

    def _flag(self, key: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise self._fail(key, f"expected true or false, found {value!r}")
        return value

    def _one_of(self, key: str, value: Any, choices: Iterable[str], kind: str) -> str:
        name, known = self._string(key, value), list(choices)
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(known)}"
            raise self._fail(key, f"there is no {kind} {name!r}{hint}")
        return name

    def _known_keys(self, key: str, value: dict[str, Any], known: Iterable[str]) -> None:
        names = list(known)
        for name in value:
            if name not in names:
                # other readers may keep sections of their own here; a near miss is a slip of the pen
                near = difflib.get_close_matches(name, [n for n in names if n not in value], 1, 0.8)
                if near:
                    where = f"{key}.{name}" if key else name
                    raise self._fail(where, f"unknown entry; did you mean {near[0]!r}?")

    def _predicate(self, key: str, value: Any, arity: int | None = None) -> str:
        name = self._one_of(key, value, self._pddl.predicates, "predicate")
        found = self._pddl.predicates[name].arity
        if arity is not None and found != arity:
            raise self._fail(key, f"expected a predicate with {arity} arguments, {name!r} has {found}")
        return name

    # -- sections -------------------------------------------------------------------------------------------------

    def read(self, document: Any) -> Description:
        raw = self._mapping("the document", document)
        self._known_keys("", raw, _SECTIONS)
        pddl = self._pddl
        description = Description(name=self._string("name", raw.get("name", pddl.name)), raw=raw)
        for label, entry in self._mapping("classes", raw.get("classes")).items():
            description.classes[label] = self._class(label, entry)
        self._check_likely_places(description)
        for name, entry in self._mapping("attributes", raw.get("attributes")).items():
            description.attributes[name] = self._attribute(name, entry)
        for name, entry in self._mapping("relations", raw.get("relations")).items():
            description.relations[name] = self._relation(name, entry)
        for name, relation in self._mapping("none_of", raw.get("none_of")).items():
            self._predicate("none_of", name, 0)
            description.none_of[name] = self._one_of(f"none_of.{name}", relation, description.relations, "relation")
        self._skills(raw, description)
        self._start_place(raw, description)
        if raw.get("location") is not None:
            description.location = self._predicate("location", raw["location"], 1)
        if raw.get("distance") is not None:
            description.distance = self._one_of("distance", raw["distance"], pddl.functions, "function")
        if raw.get("class_type") is not None:
            description.class_type = self._one_of("class_type", raw["class_type"], pddl.types, "type")
        if raw.get("class_predicate") is not None:
            description.class_predicate = self._predicate("class_predicate", raw["class_predicate"], 2)
        if raw.get("hypotheses") is not None:
            description.hypotheses = self._hypotheses(self._mapping("hypotheses", raw["hypotheses"]))
        self._time(raw, description)
        for action in raw.get("on_request") or ():
            self._one_of("on_request", action, pddl.actions, "action")
        self._task_graph(self._mapping("task_graph", raw.get("task_graph")))
        return description

    def _task_graph(self, entry: dict[str, Any]) -> None:
        """Check which actions are subtasks, which the executor does by itself, and which arguments are said."""
        self._known_keys("task_graph", entry, ("subtasks", "implied"))
        for section in ("subtasks", "implied"):
            for action, names in self._mapping(f"task_graph.{section}", entry.get(section)).items():
                key = f"task_graph.{section}.{action}"
                self._one_of(f"task_graph.{section}", action, self._pddl.actions, "action")
                known = [parameter.name for parameter in self._pddl.actions[action].parameters]
                for name in self._strings(key, names):
                    self._one_of(key, name, known, f"parameter of {action} called")
        both = set(entry.get("subtasks") or ()) & set(entry.get("implied") or ())
        if both:
            raise self._fail("task_graph", f"{', '.join(sorted(both))}: expected among subtasks or implied, not both")

    def _time(self, raw: dict[str, Any], description: Description) -> None:
        """Read what goes on by itself, what has to be done several times, and what comes into being."""
        actions = self._pddl.actions
        for start, value in self._mapping("delays", raw.get("delays")).items():
            key, entry = f"delays.{start}", self._mapping(f"delays.{start}", value)
            self._known_keys(key, entry, ("done", "steps"))
            self._one_of("delays", start, actions, "action")
            done = self._one_of(f"{key}.done", entry.get("done"), actions, "action")
            added = {term.predicate for term in actions[start].added}
            ended = {term.predicate for term in actions[done].deleted}
            needed = {literal.predicate for literal in actions[done].preconditions if literal.positive}
            if len(added & ended & needed) != 1:
                expected = f"expected one predicate that {start} adds and {done} needs and deletes"
                raise self._fail(f"{key}.done", expected)
            marker = next(iter(added & ended & needed))
            description.delays[done] = DelaySchema(start, done, self._count(f"{key}.steps", entry.get("steps")), marker)
        for action, value in self._mapping("repetitions", raw.get("repetitions")).items():
            self._one_of("repetitions", action, actions, "action")
            description.repetitions[action] = self._count(f"repetitions.{action}", value)
        for action, value in self._mapping("creations", raw.get("creations")).items():
            key, entry = f"creations.{action}", self._mapping(f"creations.{action}", value)
            self._known_keys(key, entry, ("thing", "class", "unmade"))
            self._one_of("creations", action, actions, "action")
            names = [parameter.name for parameter in actions[action].parameters]
            description.creations[action] = CreationSchema(
                action,
                self._one_of(f"{key}.thing", entry.get("thing"), names, f"parameter of {action} called"),
                self._one_of(f"{key}.class", entry.get("class"), description.classes, "class"),
                self._predicate(f"{key}.unmade", entry.get("unmade"), 1),
            )

    def _count(self, key: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self._fail(key, f"expected a whole number of at least 1, found {value!r}")
        return value

    def _class(self, label: str, entry: Any) -> ObjectClass:
        key = f"classes.{label}"
        entry = self._mapping(key, entry)
        self._known_keys(key, entry, ("type", "facts", "meta", "words", "encloses", "likely_in"))
        type_name = self._one_of(f"{key}.type", entry.get("type"), self._pddl.types, "type")
        facts = self._strings(f"{key}.facts", entry.get("facts"))
        for fact in facts:
            self._predicate(f"{key}.facts", fact, 1)
            expected = self._pddl.predicates[fact].parameters[0].type_name
            if not self._is_a(type_name, expected):
                raise self._fail(f"{key}.facts", f"{fact!r} is about the type {expected!r}, {label} is a {type_name!r}")
        return ObjectClass(
            name=label,
            type_name=type_name,
            facts=facts,
            meta=self._one_of(f"{key}.meta", entry.get("meta", "obj"), META_CLASSES, "meta-class"),
            words=self._strings(f"{key}.words", entry.get("words")),
            encloses=self._flag(f"{key}.encloses", entry.get("encloses", False)),
            likely_in=self._strings(f"{key}.likely_in", entry.get("likely_in")),
        )

    def _is_a(self, type_name: str | None, ancestor: str) -> bool:
        while type_name is not None and type_name != ancestor:
            type_name = self._pddl.types.get(type_name)
        return type_name is not None

    def _check_likely_places(self, description: Description) -> None:
        for label, entry in description.classes.items():
            for place in entry.likely_in:
                self._one_of(f"classes.{label}.likely_in", place, description.classes, "class")

    def _attribute(self, name: str, entry: Any) -> AttributeSchema:
        key = f"attributes.{name}"
        entry = self._mapping(key, entry)
        self._known_keys(key, entry, ("visible", "assume", "when"))
        self._predicate("attributes", name, 1)
        assume, when = entry.get("assume"), entry.get("when")
        return AttributeSchema(
            name=name,
            visible=self._flag(f"{key}.visible", entry.get("visible", False)),
            assume=None if assume is None else self._flag(f"{key}.assume", assume),
            when=None if when is None else self._predicate(f"{key}.when", when, 1),
        )

    def _relation(self, name: str, entry: Any) -> RelationSchema:
        key = f"relations.{name}"
        entry = self._mapping(key, entry)
        self._known_keys(key, entry, ("predicate", "arguments"))
        arguments = self._strings(f"{key}.arguments", entry.get("arguments"))
        for argument in arguments:
            self._one_of(f"{key}.arguments", argument, ("subject", "object"), "end of a relation called")
        return RelationSchema(
            name, self._predicate(f"{key}.predicate", entry.get("predicate"), len(arguments)), arguments
        )

    def _skills(self, raw: dict[str, Any], description: Description) -> None:
        section = self._mapping("skills", raw.get("skills"))
        for action, entry in section.items():
            key = f"skills.{action}"
            self._one_of("skills", action, self._pddl.actions, "action")
            entry = self._mapping(key, entry)
            self._known_keys(key, entry, ("skill", "arguments", "text"))
            parameters = [parameter.name for parameter in self._pddl.actions[action].parameters]
            arguments = self._strings(f"{key}.arguments", entry.get("arguments"))
            text = self._string(f"{key}.text", entry.get("text"))
            for name in arguments:
                self._one_of(f"{key}.arguments", name, parameters, f"parameter of {action} called")
            for name in _fields(text):
                self._one_of(f"{key}.text", name, parameters, f"parameter of {action} called")
            skill = self._string(f"{key}.skill", entry.get("skill"))
            description.skills[action] = SkillSchema(action, skill, arguments, text)
        for action in self._pddl.actions:
            if action not in section:
                raise self._fail("skills", f"expected an entry for the action {action!r}")

    def _start_place(self, raw: dict[str, Any], description: Description) -> None:
        if raw.get("start_place") is None:
            return
        entry = self._mapping("start_place", raw["start_place"])
        self._known_keys("start_place", entry, ("id", "type"))
        description.start_place = StartPlace(
            self._string("start_place.id", entry.get("id")),
            self._one_of("start_place.type", entry.get("type"), self._pddl.types, "type"),
        )

    def _hypotheses(self, entry: dict[str, Any]) -> HypothesisSchema:
        names = [item.name for item in fields(HypothesisSchema)]
        self._known_keys("hypotheses", entry, names)
        for name in names:
            if name not in entry and name != "place_fact":
                raise self._fail(f"hypotheses.{name}", "expected an entry")
        pddl, fact = self._pddl, entry.get("place_fact")
        return HypothesisSchema(
            action=self._one_of("hypotheses.action", entry["action"], pddl.actions, "action"),
            candidate=self._predicate("hypotheses.candidate", entry["candidate"], 2),
            refuted=self._predicate("hypotheses.refuted", entry["refuted"], 2),
            found=self._predicate("hypotheses.found", entry["found"], 1),
            cost=self._one_of("hypotheses.cost", entry["cost"], pddl.functions, "function"),
            item_type=self._one_of("hypotheses.item_type", entry["item_type"], pddl.types, "type"),
            place_type=self._one_of("hypotheses.place_type", entry["place_type"], pddl.types, "type"),
            place_fact=None if fact is None else self._predicate("hypotheses.place_fact", fact, 1),
        )


def _fields(text: str) -> list[str]:
    return [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
