"""The action that only changes where something is, found by its form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import ActionSchema, Literal, Term


@dataclass(frozen=True)
class Way:
    """The action that only changes where something is.

    Attributes:
        predicate: of the place; its argument ``position`` is the place. start, end: parameters of the action.
        fixed: the parameters for the other arguments of the predicate, in their order.
    """

    action: str
    predicate: str
    position: int
    start: str
    end: str
    fixed: tuple[str, ...]


@lru_cache(maxsize=32)
def find_way(domain: Domain) -> Way | None:
    """Return the domain's way: an action that swaps one place for another and asks for nothing else.

    Beside the place it may only keep account of which places are taken: something that is true of the start again
    and of the end no more.
    """
    for schema in domain.actions.values():
        if not (schema.name in domain.repetitions or schema.name in domain.delays):
            way = _as_way(schema)
            if way is not None:
                return way
    return None


def _as_way(schema: ActionSchema) -> Way | None:
    found = (_between(schema, deleted, added) for added in schema.added for deleted in schema.deleted)
    return next((way for way in found if way is not None), None)


def _between(schema: ActionSchema, deleted: Term, added: Term) -> Way | None:
    """Return an action as a way that swaps one term for another, if that is all it does."""
    if added.predicate != deleted.predicate or len(added.arguments) != len(deleted.arguments):
        return None
    pairs = list(zip(deleted.arguments, added.arguments, strict=True))
    changed = [index for index, (before, after) in enumerate(pairs) if before != after]
    if len(changed) != 1:
        return None
    start, end = pairs[changed[0]]
    fixed = tuple(name for name, after in pairs if name == after)
    # what is said of the place besides: true of the start again, of the end no more
    freed = {term.predicate for term in schema.added if term != added and term.arguments == (start,)}
    taken = {term.predicate for term in schema.deleted if term != deleted and term.arguments == (end,)}
    is_all = len(schema.added) == 1 + len(freed) and len(schema.deleted) == 1 + len(taken) and freed == taken
    allowed = {Literal(*deleted), *(Literal(predicate, (end,)) for predicate in taken)}
    whole = {start, end, *fixed} == {parameter.name for parameter in schema.parameters}
    if not (is_all and whole and set(schema.preconditions) <= allowed):
        return None
    return Way(schema.name, added.predicate, changed[0], start, end, fixed)
