"""From a skill with its arguments back to the action of the domain that it carries out. No ROS here.

A skill's call names only what a robot needs (`domain.wording.skill_call`); a world's commands may need more, such as
where one is. What is missing follows from what the action needs and what is believed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.matching import bindings, index_of
from graph_planner_ros.domain.schema import ActionSchema
from graph_planner_ros.domain.symbols import GroundAction, SymbolicState
from graph_planner_ros.skills.executor import kept_by_the_planner

SOMETHING = "something"
"""Stands for what a hypothesis is about: who looks for a thing does not say which."""


def skills_of(domain: Domain) -> tuple[str, ...]:
    """Return the names of the skills of a domain."""
    return tuple(dict.fromkeys(entry.skill for entry in domain.skills.values()))


def actions_of(domain: Domain, state: SymbolicState, skill: str, arguments: Sequence[str]) -> list[GroundAction]:
    """Return the actions that a skill on these things may stand for, the likeliest first; empty if there is none.

    Those that apply in the believed state come first; a look for a thing comes before other looks.

    Args:
        state: what is believed. skill, arguments: the call. A thing that the state does not have is taken to be of
            whatever type is needed: it may have got its name from a plan that makes it.
    """
    hypothesis = domain.hypotheses.action if domain.hypotheses is not None else None
    names = [
        name for name, entry in domain.skills.items() if entry.skill == skill and len(entry.arguments) == len(arguments)
    ]
    names.sort(key=lambda name: name != hypothesis)
    fitting: list[GroundAction] = []
    others: list[GroundAction] = []
    for name in names:
        schema = domain.action(name)
        fixed = dict(zip(domain.skills[name].arguments, arguments, strict=True))
        if not _types_fit(domain, state, schema, fixed):
            continue
        binding = next(_bindings(domain, state, schema, fixed), None)
        found = fitting if binding is not None else others
        values = binding if binding is not None else _guess(domain, state, schema, fixed)
        found.append(GroundAction(name, tuple(values[parameter.name] for parameter in schema.parameters)))
    return fitting + others


def _types_fit(domain: Domain, state: SymbolicState, schema: ActionSchema, fixed: Mapping[str, str]) -> bool:
    known = {**domain.constants, **state.objects}
    types = dict(schema.parameters)
    return all(
        name in types and (value not in known or domain.is_a(known[value], types[name]))
        for name, value in fixed.items()
    )


def _bindings(
    domain: Domain, state: SymbolicState, schema: ActionSchema, fixed: Mapping[str, str]
) -> Iterator[dict[str, str]]:
    """Yield values of all parameters with which the action applies, as far as the belief can say."""
    types = dict(schema.parameters)
    silent = kept_by_the_planner(domain)
    sought = _sought(domain, schema)
    unknown = {name for name, value in fixed.items() if value not in state.objects and value not in domain.constants}
    open_names = unknown | sought
    literals = [
        literal
        for literal in schema.preconditions
        if literal.predicate not in silent and open_names.isdisjoint(literal.arguments)
    ]
    variables = {name: of for name, of in types.items() if name not in open_names}
    given = {name: value for name, value in fixed.items() if name not in open_names}
    equalities = [e for e in schema.equalities if open_names.isdisjoint((e.left, e.right))]
    rest = {name: fixed.get(name, SOMETHING) for name in open_names}
    for binding in bindings(index_of(domain, state), variables, literals, equalities, given):
        yield {**binding, **rest}


def _sought(domain: Domain, schema: ActionSchema) -> set[str]:
    """Return the parameters that stand for what nobody has seen, if this is the action of a hypothesis."""
    hypotheses = domain.hypotheses
    if hypotheses is None or schema.name != hypotheses.action:
        return set()
    carried = (hypotheses.candidate, hypotheses.refuted, hypotheses.found)
    about = [literal.arguments[0] for literal in schema.preconditions if literal.predicate in carried]
    return {name for name, _ in schema.parameters if name in about}


def _guess(domain: Domain, state: SymbolicState, schema: ActionSchema, fixed: Mapping[str, str]) -> dict[str, str]:
    """Return values for an action that does not apply in the belief: the world will say what is wrong with it."""
    here = next((atom.arguments[-1] for atom in state.atoms if atom.predicate == domain.location), "")
    values = dict(fixed)
    for name, of in schema.parameters:
        if name not in values:
            fits_here = domain.is_a(state.objects.get(here, ""), of)
            others = sorted(thing for thing, kind in state.objects.items() if domain.is_a(kind, of))
            values[name] = here if fits_here else next(iter(others), SOMETHING)
    return values
