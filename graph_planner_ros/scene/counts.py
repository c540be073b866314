"""How many relations of a kind there are, as planning facts: planners that cannot count move along a chain.

    counts:
      holding: {predicate: load, next: next, levels: [n0, n1, n2], full: laden}

While nobody knows of a limit there is one level, and the next one is the same: nothing is counted. A world that
shows that no more can be taken (the fact ``full``, without arguments) sets the limit to what there is then. From then
on, with one thing held and a limit of two, the state has ``load(n1)``, ``next(n0, n1)`` and ``next(n1, n2)``: one more
can be taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.symbols import Atom
from graph_planner_ros.scene.belief import true_relations
from graph_planner_ros.scene.graph import SceneGraph


@dataclass(frozen=True)
class CountSchema:
    """One entry of ``counts``; see the top of this file."""

    relation: str
    predicate: str
    next: str
    levels: tuple[str, ...]
    full: str | None = None


@lru_cache(maxsize=32)
def count_schemas(domain: Domain) -> tuple[CountSchema, ...]:
    """Return the domain's entries, checked.

    Raises:
        DomainError: naming what is wrong.
    """
    raw = domain.raw.get("counts") or {}
    file = domain.folder / "domain.yaml"
    found = []
    for relation, entry in raw.items():
        key = f"{file}: counts.{relation}"
        if relation not in domain.relations:
            raise DomainError(f"{key}: the domain has no relation {relation!r}")
        levels = tuple(map(str, entry.get("levels") or ()))
        for name, arity in (("predicate", 1), ("next", 2), ("full", 0)):
            predicate = domain.predicates.get(entry.get(name, ""))
            if (predicate is None or predicate.arity != arity) and (name != "full" or "full" in entry):
                raise DomainError(
                    f"{key}.{name}: expected a predicate with {arity} arguments, found {entry.get(name)!r}"
                )
        if len(levels) < 2 or any(level not in domain.constants for level in levels):
            raise DomainError(f"{key}.levels: expected constants of the domain, found {', '.join(levels)}")
        found.append(CountSchema(relation, entry["predicate"], entry["next"], levels, entry.get("full")))
    return tuple(found)


def count(graph: SceneGraph, schema: CountSchema) -> int:
    """Return how many relations of the kind are believed."""
    return len(true_relations(graph, schema.relation))


def count_facts(graph: SceneGraph, domain: Domain) -> set[Atom]:
    """Return the facts of all counts; limits beyond the last level are no limits."""
    atoms: set[Atom] = set()
    for schema in count_schemas(domain):
        number = count(graph, schema)
        limit = max(number, graph.limits.get(schema.relation, len(schema.levels)))
        if limit >= len(schema.levels):
            atoms |= {Atom(schema.predicate, schema.levels[:1]), Atom(schema.next, schema.levels[:1] * 2)}
            continue
        atoms.add(Atom(schema.predicate, (schema.levels[number],)))
        atoms.update(Atom(schema.next, pair) for pair in list(pairwise(schema.levels))[:limit])
    return atoms


def note_full(graph: SceneGraph, domain: Domain, predicate: str) -> bool:
    """Note that no more relations of a kind are possible; return whether the predicate says so of any.

    Where none is believed there is nothing to learn: something else must be wrong.
    """
    for schema in count_schemas(domain):
        if schema.full == predicate:
            if number := count(graph, schema):
                graph.limits[schema.relation] = number
            return True
    return False
