"""Reads language.yaml and checks it against the domain; messages name the file, the entry and what was expected."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.yaml_files import read_yaml
from graph_planner_ros.language.rules_names import NameRules, fold
from graph_planner_ros.language.rules_patterns import ANY_CLASS, Pattern, PatternError, compile_regex, slot_names
from graph_planner_ros.language.rules_schema import (
    AlikeRule,
    DeclaredVariable,
    FactTemplate,
    GoalRule,
    LanguageRules,
    SentenceRule,
)

LANGUAGE_FILE = "language.yaml"
HERE = "here"
"""The slot for where the agent is."""
_FACT = re.compile(r"(?P<not>not )?\s*(?P<predicate>[\w-]+)\s*(?:\((?P<arguments>[^()]*)\))?")
_ARGUMENT = re.compile(r"\{(?P<slot>\w+)\}|(?P<constant>[^{}]+)")
_DECLARED = re.compile(r"(?P<name>\w+)(?::(?P<type>[\w-]+))?(?:=(?P<class>\w+)| like (?P<like>\w+))?")
_DISTINCT = re.compile(r"(?P<left>\w+) != (?P<right>\w+)")


class LanguageFileError(DomainError):
    """A language file that cannot be used; the message names file, entry and what was expected."""


def read_rules(path: Path, domain: Domain) -> LanguageRules:
    """Read and check a language file.

    Raises:
        FileNotFoundError: if there is none. LanguageFileError: naming file, entry and what was expected.
    """
    if not path.is_file():
        raise FileNotFoundError(f"the domain {domain.name!r} has no language file {path}")
    return _Reader(path, domain).read(read_yaml(path, LanguageFileError))


class _Reader:
    def __init__(self, path: Path, domain: Domain) -> None:
        self._path = path
        self._domain = domain

    def _fail(self, key: str, expected: str) -> LanguageFileError:
        return LanguageFileError(f"{self._path}: {key}: {expected}")

    # -- shapes ---------------------------------------------------------------------------------------------------

    def _mapping(self, key: str, value: Any, known: Iterable[str] | None) -> dict[str, Any]:
        if value is None:
            return {}
        if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
            raise self._fail(
                key, f"expected a mapping of words (quoted where YAML reads something else), found {value!r}"
            )
        for name in value:
            if known is not None:
                self._one_of(f"{key}.{name}" if key != "the document" else name, name, known, "entry")
        return value

    def _strings(self, key: str, value: Any) -> tuple[str, ...]:
        items = [value] if isinstance(value, str) else value
        if items is None:
            return ()
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise self._fail(key, f"expected words or a list of words, quoted, found {value!r}")
        return tuple(items)

    def _entries(self, key: str, value: Any, known: Iterable[str]) -> list[tuple[str, dict[str, Any]]]:
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._fail(key, f"expected a list, found {value!r}")
        return [(f"{key}[{i}]", self._mapping(f"{key}[{i}]", item, known)) for i, item in enumerate(value)]

    def _flag(self, key: str, value: Any) -> bool:
        if not isinstance(value, bool | None):
            raise self._fail(key, f"expected true or false, found {value!r}")
        return bool(value)

    def _one_of(self, key: str, name: str, choices: Iterable[str], kind: str) -> str:
        known = list(choices)
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(known)}"
            raise self._fail(key, f"there is no {kind} {name!r}{hint}")
        return name

    # -- sections -------------------------------------------------------------------------------------------------

    def read(self, document: Any) -> LanguageRules:
        sections = (
            *("names", "alike", "admissible", "observations", "on_command", "failed", "complete"),
            *("goals", "no_goal", "learned", "commands", "observe", "irreversible", "unlisted"),
        )
        raw = self._mapping("the document", document, sections)
        return LanguageRules(
            path=self._path,
            names=self._names(raw.get("names")),
            observations=tuple(self._observation(*entry) for entry in self._observations(raw)),
            on_command=tuple(
                self._sentence(key, entry, "command")
                for key, entry in self._entries("on_command", raw.get("on_command"), ("command", "facts"))
            ),
            failed=tuple(self._pattern("failed", text) for text in self._strings("failed", raw.get("failed"))),
            complete=self._predicates("complete", raw.get("complete")),
            goals=tuple(self._goals("goals", raw.get("goals"))),
            no_goal=tuple(self._no_goal(raw.get("no_goal"))),
            learned=tuple(self._goals("learned", raw.get("learned"))),
            admissible=tuple(
                self._sentence(key, entry, "command")
                for key, entry in self._entries(
                    "admissible",
                    raw.get("admissible"),
                    ("command", "also", "facts", "complete", "complete_place", "make"),
                )
            ),
            qualities=self._qualities(raw),
            alike=tuple(self._alike(raw)),
            commands=self._commands(raw.get("commands")),
            observe=self._observe(raw.get("observe")),
            irreversible=self._wildcards("irreversible", raw),
            unlisted=self._wildcards("unlisted", raw),
        )

    def _names(self, value: Any) -> NameRules:
        entry = self._mapping("names", value, ("pattern", "to_class", "articles", "modifiers", "nothing", "qualities"))
        patterns = []
        for source in self._strings("names.pattern", entry.get("pattern")):
            try:
                patterns.append(compile_regex(f"(?i:{source})"))
            except PatternError as error:
                raise self._fail("names.pattern", str(error)) from error
        to_class = self._mapping("names.to_class", entry.get("to_class"), None)
        for word, label in to_class.items():
            if not isinstance(label, str):
                raise self._fail(f"names.to_class.{word}", f"expected a class, found {label!r}")
            self._one_of(f"names.to_class.{word}", label, self._domain.classes, "class")
        default = NameRules()
        articles = self._strings("names.articles", entry["articles"]) if "articles" in entry else default.articles
        nothing = self._strings("names.nothing", entry["nothing"]) if "nothing" in entry else default.nothing
        modifiers = self._strings("names.modifiers", entry.get("modifiers"))
        return NameRules(
            tuple(patterns),
            to_class,
            tuple(sorted(map(fold, articles), key=len, reverse=True)),
            frozenset(map(fold, modifiers)),
            tuple(map(fold, nothing)),
            tuple(sorted(map(fold, entry.get("qualities") or ()), key=len, reverse=True)),
        )

    def _observations(self, raw: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        keys = ("pattern", "facts", "complete", "complete_place", "after", "anywhere", "whole", "make")
        return self._entries("observations", raw.get("observations"), keys)

    def _observation(self, key: str, entry: dict[str, Any]) -> SentenceRule:
        return self._sentence(key, entry, "pattern")

    def _pattern(self, key: str, source: str, classes: bool = False) -> Pattern:
        try:
            pattern = Pattern(source, classes)
        except PatternError as error:
            raise self._fail(key, str(error)) from error
        for slot in pattern.slots.values():
            if slot.type_name is not None:
                self._one_of(key, slot.type_name, self._domain.types, "type")
            if slot.class_name not in (None, ANY_CLASS):
                self._one_of(key, slot.class_name or "", self._domain.classes, "class")
        return pattern

    def _patterns(self, key: str, value: Any, classes: bool = False) -> tuple[Pattern, ...]:
        patterns = tuple(self._pattern(key, source, classes) for source in self._strings(key, value))
        if not patterns:
            raise self._fail(key, "expected a sentence pattern")
        return patterns

    def _sentence(self, key: str, entry: dict[str, Any], name: str) -> SentenceRule:
        patterns = self._patterns(f"{key}.{name}", entry.get(name))
        after = self._patterns(f"{key}.after", entry["after"]) if "after" in entry else ()
        # a fact may use what every pattern captures, and what the last command names
        slots = set.intersection(*(set(pattern.slots) for pattern in patterns))
        if after:
            slots |= set.intersection(*(set(pattern.slots) for pattern in after))
        also = self._patterns(f"{key}.also", entry["also"]) if "also" in entry else ()
        if also:
            slots |= set.intersection(*(set(pattern.slots) for pattern in also))
        makes = self._makes(f"{key}.make", entry.get("make"), slots)
        slots |= {slot for slot, _, _ in makes}
        places = self._strings(f"{key}.complete_place", entry.get("complete_place"))
        for place in places:
            self._one_of(f"{key}.complete_place", place, {HERE, *slots}, "slot")
        facts = [self._fact(f"{key}.facts", text, slots) for text in self._strings(f"{key}.facts", entry.get("facts"))]
        return SentenceRule(
            patterns,
            tuple(facts),
            self._predicates(f"{key}.complete", entry.get("complete")),
            places,
            after,
            self._flag(f"{key}.anywhere", entry.get("anywhere")),
            self._flag(f"{key}.whole", entry.get("whole")),
            makes,
            also,
        )

    def _predicates(self, key: str, value: Any) -> frozenset[str]:
        return frozenset(
            self._one_of(key, name, self._domain.predicates, "predicate") for name in self._strings(key, value)
        )

    def _makes(self, key: str, value: Any, slots: set[str]) -> tuple[tuple[str, str, str], ...]:
        makes = []
        for slot, entry in self._mapping(key, value, None).items():
            if not isinstance(entry, list) or len(entry) != 2:
                raise self._fail(f"{key}.{slot}", f"expected [name with slots, class], found {entry!r}")
            template, label = self._strings(f"{key}.{slot}", entry)
            for name in slot_names(template):
                self._one_of(f"{key}.{slot}", name, {HERE, *slots}, "slot")
            makes.append((slot, template, self._one_of(f"{key}.{slot}", label, self._domain.classes, "class")))
        return tuple(makes)

    def _alike(self, raw: dict[str, Any]) -> Iterable[AlikeRule]:
        for key, entry in self._entries("alike", raw.get("alike"), ("first", "second", "facts")):
            first, second = (
                self._one_of(f"{key}.{name}", str(entry.get(name)), self._domain.types, "type")
                for name in ("first", "second")
            )
            texts = self._strings(f"{key}.facts", entry.get("facts"))
            yield AlikeRule(
                first, second, tuple(self._fact(f"{key}.facts", text, ("first", "second")) for text in texts)
            )

    def _qualities(self, raw: dict[str, Any]) -> dict[str, tuple[FactTemplate, ...]]:
        entry = self._mapping("names.qualities", (raw.get("names") or {}).get("qualities"), None)
        return {
            fold(word): tuple(
                self._fact(f"names.qualities.{word}", text, {"x"})
                for text in self._strings(f"names.qualities.{word}", facts)
            )
            for word, facts in entry.items()
        }

    def _fact(self, key: str, text: str, slots: Iterable[str]) -> FactTemplate:
        text, _, condition = text.partition(" unless ")
        unless = tuple(part.strip() for part in condition.split(" or ") if part.strip())
        for name in (name for template in unless for name in slot_names(template)):
            self._one_of(key, name, {HERE, *slots}, "slot")
        return replace(self._plain_fact(key, text, slots), unless=unless)

    def _plain_fact(self, key: str, text: str, slots: Iterable[str]) -> FactTemplate:
        found = _FACT.fullmatch(text.strip())
        if found is None:
            raise self._fail(key, f"expected a fact like in({{x}}, {{place}}) or not closed({{x}}), found {text!r}")
        arguments = []
        for part in filter(None, (part.strip() for part in (found["arguments"] or "").split(","))):
            argument = _ARGUMENT.fullmatch(part)
            if argument is None:
                raise self._fail(key, f"expected {{slot}} or the name of a thing, found {part!r}")
            if argument["slot"] and argument["slot"] != HERE:
                self._one_of(key, argument["slot"], slots, "slot")
            arguments.append((argument["slot"] or argument["constant"], bool(argument["slot"])))
        return self._checked(key, FactTemplate(found["predicate"], tuple(arguments), not found["not"]))

    def _checked(self, key: str, template: FactTemplate) -> FactTemplate:
        self._one_of(key, template.predicate, self._domain.predicates, "predicate")
        arity = self._domain.predicates[template.predicate].arity
        if arity != len(template.arguments):
            raise self._fail(key, f"{template.predicate} takes {arity} arguments, not {len(template.arguments)}")
        return template

    # -- goals ----------------------------------------------------------------------------------------------------

    def _goals(self, section: str, value: Any) -> Iterable[GoalRule]:
        more = ("command", "first", "task") if section == "learned" else ()
        for key, entry in self._entries(
            section, value, ("pattern", "goal", "join", "anywhere", "optional", "of", *more)
        ):
            name = "command" if "command" in entry else "pattern"
            patterns = self._patterns(f"{key}.{name}", entry.get(name), classes=True)
            slots = set.intersection(*(set(pattern.slots) for pattern in patterns))
            text = entry.get("goal")
            if not isinstance(text, str):
                raise self._fail(f"{key}.goal", f"expected a goal, found {text!r}")
            join = self._flag(f"{key}.join", entry.get("join"))
            rule = self._goal(f"{key}.goal", text, patterns, slots, join, self._flag(key, entry.get("anywhere")))
            of = self._mapping(f"{key}.of", entry.get("of"), slots)
            yield replace(
                rule,
                first=self._flag(f"{key}.first", entry.get("first")),
                offered=name == "command",
                optional=self._flag(f"{key}.optional", entry.get("optional")),
                of=tuple(
                    (slot, self._one_of(f"{key}.of", str(label), self._domain.classes, "class"))
                    for slot, label in of.items()
                ),
                task=fold(" ".join(self._strings(f"{key}.task", entry.get("task")))),
            )

    def _no_goal(self, value: Any) -> Iterable[GoalRule]:
        for key, entry in self._entries("no_goal", value, ("goal", "optional")):
            text = entry.get("goal")
            if not isinstance(text, str):
                raise self._fail(f"{key}.goal", f"expected a goal, found {text!r}")
            rule = self._goal(f"{key}.goal", text, (), set(), False, False)
            yield replace(rule, optional=self._flag(f"{key}.optional", entry.get("optional")))

    def _goal(
        self, key: str, text: str, patterns: tuple[Pattern, ...], slots: set[str], join: bool, anywhere: bool
    ) -> GoalRule:
        head, colon, body = text.partition(": ")
        if not colon:
            head, body = "", text
        variables = [
            self._variable(key, part.strip()) for part in head.removeprefix("exists ").split(",") if part.strip()
        ]
        declared = {variable.name for variable in variables}
        if f"{{{HERE}}}" in body and HERE not in declared:
            slots = {*slots, HERE}
        variables.extend(DeclaredVariable(name) for name in sorted(slots - declared))
        names = {variable.name for variable in variables}
        literals, distinct = [], []
        for part in re.split(r"\s+and\s+", body.strip()):
            if pair := _DISTINCT.fullmatch(part):
                distinct.append(
                    (
                        self._one_of(key, pair["left"], names, "variable"),
                        self._one_of(key, pair["right"], names, "variable"),
                    )
                )
                continue
            found = _FACT.fullmatch(part)
            if found is None:
                raise self._fail(key, f"expected literals joined by 'and', such as in(x, r) or x != y, found {part!r}")
            words = [word.strip(" {}") for word in (found["arguments"] or "").split(",") if word.strip()]
            arguments = tuple((word, word in names) for word in words)
            for word, is_variable in arguments:
                if not is_variable and word not in self._domain.constants:
                    self._one_of(key, word, names, "variable")
            literals.append(self._checked(key, FactTemplate(found["predicate"], arguments, not found["not"])))
        for variable in variables:
            if variable.like is not None:
                self._one_of(key, variable.like, names, "variable")
        return GoalRule(patterns, tuple(variables), tuple(literals), tuple(distinct), join, anywhere)

    def _variable(self, key: str, text: str) -> DeclaredVariable:
        found = _DECLARED.fullmatch(text)
        if found is None:
            raise self._fail(key, f"expected a variable like x, x:type, x=Class or y like x, found {text!r}")
        if found["type"]:
            self._one_of(key, found["type"], self._domain.types, "type")
        if found["class"]:
            self._one_of(key, found["class"], self._domain.classes, "class")
        return DeclaredVariable(found["name"], found["type"], found["class"], found["like"])

    # -- commands -------------------------------------------------------------------------------------------------

    def _commands(self, value: Any) -> dict[str, tuple[str, ...]]:
        commands = {}
        for action, templates in self._mapping("commands", value, None).items():
            key = f"commands.{action}"
            self._one_of(key, action, self._domain.actions, "action")
            parameters = [parameter.name.lstrip("?") for parameter in self._domain.actions[action].parameters]
            commands[action] = self._strings(key, templates)
            for template in commands[action]:
                for name in slot_names(template):
                    self._one_of(key, name, [*parameters, HERE], f"parameter of {action} called")
        return commands

    def _wildcards(self, key: str, raw: dict[str, Any]) -> tuple[re.Pattern[str], ...]:
        """Return commands with slots for any words."""
        return tuple(
            re.compile(".+".join(re.escape(fold(part)) for part in re.split(r"\{\w+\}", text)))
            for text in self._strings(key, raw.get(key))
        )

    def _observe(self, value: Any) -> tuple[str, ...]:
        templates = self._strings("observe", value)
        for template in templates:
            for name in slot_names(template):
                self._one_of("observe", name, [HERE], "slot")
        return templates
