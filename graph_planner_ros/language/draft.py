"""The goal while it is being read: things, stages of literals, notes; and its end as goals of the planner."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable, Truth
from graph_planner_ros.language.words import Phrase, split_label
from graph_planner_ros.scene.graph import Presence, SceneGraph

ERROR_PENALTY = 1000
UNRESOLVED_PENALTY = 10
RESOLVED_PENALTY = 8
GUESS_PENALTY = 2
LINK_PENALTY = 1


@dataclass(frozen=True)
class Thing:
    """A goal variable in the making: classes that it may be of, the words for it, the instance if it is named."""

    name: str
    senses: tuple[str, ...]
    text: str
    instance: str | None = None


@dataclass
class Draft:
    """Attributes:
    things: by variable name. stages: literals to be reached one after the other; clauses: word ranges of each.
    recent: for each clause so far, the groups of things that it named, what it was about first.
    notes, errors: sentences. penalty: how unlikely it is that this is what was meant.
    """

    things: dict[str, Thing] = field(default_factory=dict)
    stages: list[list[GoalLiteral]] = field(default_factory=list)
    clauses: list[list[tuple[int, int]]] = field(default_factory=list)
    recent: list[list[tuple[str, ...]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    penalty: int = 0

    def copy(self) -> Draft:
        """Return an independent copy."""
        return replace(
            self,
            things=dict(self.things),
            stages=[list(stage) for stage in self.stages],
            clauses=[list(clauses) for clauses in self.clauses],
            recent=list(self.recent),
            notes=list(self.notes),
            errors=list(self.errors),
        )

    def add(self, senses: tuple[str, ...], text: str, instance: str | None = None) -> str:
        """Make a new thing and return its name."""
        stem = "_".join(split_label(senses[0]))
        number = 1 + sum(name.rstrip("0123456789") == f"?{stem}_" for name in self.things)
        name = f"?{stem}_{number}"
        self.things[name] = Thing(name, senses, text, instance)
        return name

    def fail(self, reason: str) -> None:
        """Note that this reading cannot be carried out."""
        self.errors.append(reason)
        self.penalty += ERROR_PENALTY

    def note(self, text: str, penalty: int) -> None:
        """Note something that the person should know of."""
        if text and text not in self.notes:
            self.notes.append(text)
        self.penalty += penalty


def finish(draft: Draft, domain: Domain, graph: SceneGraph | None, text: str, tokens: Phrase) -> tuple[Goal, ...]:
    """Turn a draft without errors into goals; words with several meanings get that which is in the scene."""
    variables = {name: _variable(draft, thing, domain, graph) for name, thing in draft.things.items()}
    goals = []
    for stage, ranges in zip(draft.stages, draft.clauses, strict=True):
        used = [name for name in variables if any(name in literal.arguments for literal in stage)]
        words = " and ".join(" ".join(tokens[start:end]) for start, end in ranges)
        goals.append(
            Goal(
                tuple(variables[name] for name in used),
                tuple(stage),
                _distinct(variables[name] for name in used),
                text if len(draft.stages) == 1 else words,
            )
        )
    return tuple(goals)


def _variable(draft: Draft, thing: Thing, domain: Domain, graph: SceneGraph | None) -> GoalVariable:
    senses = thing.senses
    if len(senses) > 1 and graph is not None:
        there = {node.label for node in graph.nodes.values() if node.presence is not Presence.ABSENT}
        senses = tuple(name for name in senses if name in there) or senses
    if len(senses) > 1 and any(thing.name in literal.arguments for stage in draft.stages for literal in stage):
        draft.note(f"took {thing.text!r} to mean {senses[0]}", 0)
    return GoalVariable(thing.name, domain.class_of(senses[0]).type_name, senses[0], thing.instance)


def _distinct(variables: Iterable[GoalVariable]) -> tuple[tuple[str, ...], ...]:
    by_class: dict[str | None, list[str]] = {}
    for variable in variables:
        by_class.setdefault(variable.class_name, []).append(variable.name)
    return tuple(tuple(names) for names in by_class.values() if len(names) > 1)


def matching_instances(
    graph: SceneGraph | None, domain: Domain, literal: GoalLiteral, things: dict[str, Thing]
) -> list[str]:
    """Return ids of present things that a literal about the present is true of, as its first argument."""
    if graph is None or not literal.arguments:
        return []
    first = things[literal.arguments[0]]
    nodes = [n for n in graph.nodes.values() if n.label in first.senses and n.presence is Presence.PRESENT]
    wanted = Truth.TRUE if literal.positive else Truth.FALSE
    if len(literal.arguments) == 1:
        return sorted(
            node.instance_id
            for node in nodes
            if literal.predicate in node.attributes and node.attributes[literal.predicate].value is wanted
        )
    ids = {node.instance_id for node in nodes}
    second = things[literal.arguments[1]]
    found = set()
    for relation in graph.relations:
        meaning = domain.relations.get(relation.predicate)
        if meaning is None or meaning.predicate != literal.predicate or relation.value is not wanted:
            continue
        ends = {"subject": relation.subject, "object": relation.object}
        names = [ends[end] for end in meaning.arguments]
        other = graph.nodes.get(names[1]) if len(names) == 2 else None
        if other is None or names[0] not in ids:
            continue
        if other.instance_id == second.instance or (second.instance is None and other.label in second.senses):
            found.add(names[0])
    return sorted(found)
