"""The planning domain: the PDDL file and the YAML beside it, read, checked against each other, and served.

This is the one place that says what an action needs and what it changes; nothing about kitchens is in Python.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from graph_planner_ros.domain.description import Description, read_description
from graph_planner_ros.domain.fragments import SEPARATOR, fragment_files, merge_pddl, split_name
from graph_planner_ros.domain.paths import find_config
from graph_planner_ros.domain.pddl import PddlDomain, read_pddl
from graph_planner_ros.domain.schema import (
    ActionSchema,
    AttributeSchema,
    CreationSchema,
    DelaySchema,
    DomainError,
    HypothesisSchema,
    ObjectClass,
    PredicateSchema,
    RelationSchema,
    SkillSchema,
    StartPlace,
    UnknownClassError,
)

DOMAIN_FILE = "domain.pddl"
DESCRIPTION_FILE = "domain.yaml"


@dataclass(frozen=True, eq=False)
class Domain:
    """A planning domain. Immutable; names are in the spelling of the files.

    Attributes:
        name: name of the domain, with those of its fragments. folder: where it was read from.
        types: type -> parent; the root ``object`` has None.
        constants: constant of the PDDL domain -> type.
        predicates, functions, actions: schemas by name; ``total-cost`` is not among the functions.
        classes: label -> class of things.
        attributes, relations, skills: by attribute, relation of the scene graph, and action.
        none_of: nullary predicate -> relation; the predicate holds while no such relation is believed.
        hypotheses: which symbols carry hypotheses; None if the domain has none.
        start_place: where the robot is at first; None if the domain has no such thing.
        location, distance: predicate for where the robot is, function for the way; None if there is none.
        class_type, class_predicate: type of class objects and the predicate that ties instances to them.
        delays: action that stands for the end of something that goes on by itself -> what that is.
        repetitions: action -> how many times it has to be carried out until it has its effects.
        creations: action -> what thing it makes.
        pddl_text: the domain as planners get it. pddl_names: symbol -> its name in that text.
        wording: the YAML's section ``wording`` as read. raw: the whole YAML as read.
    """

    name: str
    folder: Path
    types: dict[str, str | None]
    constants: dict[str, str]
    predicates: dict[str, PredicateSchema]
    functions: dict[str, PredicateSchema]
    actions: dict[str, ActionSchema]
    classes: dict[str, ObjectClass]
    attributes: dict[str, AttributeSchema]
    relations: dict[str, RelationSchema]
    skills: dict[str, SkillSchema]
    none_of: dict[str, str]
    hypotheses: HypothesisSchema | None
    start_place: StartPlace | None
    location: str | None
    distance: str | None
    class_type: str | None
    class_predicate: str | None
    delays: dict[str, DelaySchema] = field(default_factory=dict)
    repetitions: dict[str, int] = field(default_factory=dict)
    creations: dict[str, CreationSchema] = field(default_factory=dict)
    pddl_text: str = field(repr=False, default="")
    pddl_names: dict[str, str] = field(repr=False, default_factory=dict)
    wording: dict[str, Any] = field(repr=False, default_factory=dict)
    raw: dict[str, Any] = field(repr=False, default_factory=dict)

    def is_a(self, type_name: str, ancestor: str) -> bool:
        """Return whether ``type_name`` is ``ancestor`` or one of its subtypes; unknown types are nothing's."""
        return ancestor in self.ancestors.get(type_name, ())

    def class_of(self, label: str) -> ObjectClass:
        """Return the class with this label.

        Raises:
            UnknownClassError: (a KeyError) naming the label, if the domain has no such class.
        """
        try:
            return self.classes[label]
        except KeyError:
            raise UnknownClassError(f"the domain {self.name!r} has no class {label!r}") from None

    def action(self, name: str) -> ActionSchema:
        """Return the schema of an action.

        Raises:
            DomainError: naming it, if the domain has no such action.
        """
        try:
            return self.actions[name]
        except KeyError:
            raise DomainError(
                f"the domain {self.name!r} has no action {name!r}; it has: {', '.join(self.actions)}"
            ) from None

    @cached_property
    def ancestors(self) -> dict[str, frozenset[str]]:
        """Type -> itself and all types above it."""
        table: dict[str, frozenset[str]] = {}
        for name in self.types:
            chain, current = [name], self.types[name]
            while current is not None:
                chain.append(current)
                current = self.types.get(current)
            table[name] = frozenset(chain)
        return table

    @cached_property
    def planned_actions(self) -> dict[str, ActionSchema]:
        """The actions that plans are made of: all but the steps of a move (entry ``routes``)."""
        steps = set(((self.raw.get("routes") or {}).get("steps") or {}).values())
        return {name: schema for name, schema in self.actions.items() if name not in steps}

    @cached_property
    def static_predicates(self) -> frozenset[str]:
        """Predicates that no action changes."""
        changed = {term.predicate for action in self.actions.values() for term in (*action.added, *action.deleted)}
        return frozenset(self.predicates) - changed

    @cached_property
    def takes_time(self) -> bool:
        """Whether anything goes on by itself or has to be done several times: then the order of steps has a price."""
        return bool(self.delays or self.repetitions)

    @cached_property
    def assumptions(self) -> dict[str, AttributeSchema]:
        """Attributes that have a value while unknown, see `AttributeSchema.assume`."""
        return {name: attribute for name, attribute in self.attributes.items() if attribute.assume is not None}


_CACHE: dict[tuple[Path, tuple[str, ...]], tuple[tuple[int, ...], Domain]] = {}


def load_domain(name_or_path: str | Path) -> Domain:
    """Load a domain by the name of its folder under ``config/domains``, or by the path of its folder or PDDL file.

    Fragments are added by their names, e.g. ``household+ai2thor_skills``; see `fragments`.

    Raises:
        FileNotFoundError: if there is no such domain or fragment.
        DomainError: if a file is wrong; the message names file, entry and what was expected.
    """
    base, fragments = split_name(name_or_path)
    folder = _folder(base)
    pddl_file, yaml_file = folder / DOMAIN_FILE, folder / DESCRIPTION_FILE
    for file in (pddl_file, yaml_file):
        if not file.is_file():
            raise FileNotFoundError(f"the planning domain {str(name_or_path)!r} has no file {file}")
    added = [fragment_files(folder, name) for name in fragments]
    # reading takes a third of a second: do it again only when a file has changed
    files = (pddl_file, yaml_file, *(file for pair in added for file in pair))
    stamp = tuple(file.stat().st_mtime_ns for file in files)
    cached = _CACHE.get((folder, fragments))
    if cached is None or cached[0] != stamp:
        _CACHE[folder, fragments] = (stamp, _read(folder, fragments, added))
    return _CACHE[folder, fragments][1]


def _read(folder: Path, fragments: tuple[str, ...], files: list[tuple[Path, Path]]) -> Domain:
    text: str | None = None
    for pddl_file, _ in files:
        text = merge_pddl((folder / DOMAIN_FILE).read_text(encoding="utf-8") if text is None else text, pddl_file)
    pddl = read_pddl(folder / DOMAIN_FILE, text)
    description = read_description(folder / DESCRIPTION_FILE, pddl, [yaml_file for _, yaml_file in files])
    description.name = SEPARATOR.join((description.name, *fragments))
    return _join(folder, pddl, description)


def available_domains() -> tuple[str, ...]:
    """Return the names of the domains that come with the package."""
    root = find_config("domains")
    return tuple(sorted(path.parent.name for path in root.glob(f"*/{DOMAIN_FILE}")))


def _folder(name_or_path: str | Path) -> Path:
    path = Path(name_or_path)
    if path.is_file():
        path = path.parent
    if path.is_dir() and (path / DOMAIN_FILE).exists():
        return path.resolve()
    if len(path.parts) != 1:
        raise FileNotFoundError(f"there is no planning domain at {path} (expected a folder with {DOMAIN_FILE})")
    try:
        return find_config(Path("domains") / path).resolve()
    except FileNotFoundError:
        known = ", ".join(available_domains())
        raise FileNotFoundError(f"there is no planning domain {str(name_or_path)!r}; there are: {known}") from None


def _join(folder: Path, pddl: PddlDomain, description: Description) -> Domain:
    return Domain(
        name=description.name,
        folder=folder,
        types=pddl.types,
        constants=pddl.constants,
        predicates=pddl.predicates,
        functions=pddl.functions,
        actions=pddl.actions,
        classes=description.classes,
        attributes=description.attributes,
        relations=description.relations,
        skills=description.skills,
        none_of=description.none_of,
        hypotheses=description.hypotheses,
        start_place=description.start_place,
        location=description.location,
        distance=description.distance,
        class_type=description.class_type,
        class_predicate=description.class_predicate,
        delays=description.delays,
        repetitions=description.repetitions,
        creations=description.creations,
        pddl_text=pddl.text,
        pddl_names=pddl.pddl_names,
        wording=description.raw.get("wording") or {},
        raw=description.raw,
    )


__all__ = ["Domain", "DomainError", "UnknownClassError", "available_domains", "load_domain"]
