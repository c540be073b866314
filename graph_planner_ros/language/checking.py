"""Every fact is checked against the domain before it may enter a belief; what does not fit is refused by category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Atom
from graph_planner_ros.language.interface import ObservedFact, ParseError, Refusal


def check_fact(
    domain: Domain,
    classes: Mapping[str, str],
    predicate: str,
    arguments: Sequence[str],
    positive: bool = True,
    span: tuple[int, int] = (0, 0),
    score: float = 1.0,
) -> ObservedFact | Refusal:
    """Return the fact if the domain has such facts, else why it is refused.

    Args:
        domain: its predicates and types decide.
        classes: instance -> class, of everything that is known or was just read.
        predicate, arguments, positive: the literal. span: in characters of the text. score: confidence.
    """
    text = f"{'' if positive else 'not '}{predicate}({', '.join(arguments)})"
    schema = domain.predicates.get(predicate)
    if schema is None:
        return Refusal(ParseError.UNKNOWN_PREDICATE, text, f"the domain has no predicate {predicate!r}")
    if schema.arity != len(arguments):
        reason = f"{predicate} takes {schema.arity} arguments, not {len(arguments)}"
        return Refusal(ParseError.UNKNOWN_PREDICATE, text, reason)
    for name, parameter in zip(arguments, schema.parameters, strict=True):
        type_name = type_of(domain, classes, name)
        if type_name is None:
            return Refusal(ParseError.UNKNOWN_ENTITY, text, f"nothing is known of {name!r}")
        if not domain.is_a(type_name, parameter.type_name):
            reason = f"{predicate} is about the type {parameter.type_name}, and {name} is a {type_name}"
            return Refusal(ParseError.TYPE_MISMATCH, text, reason)
    return ObservedFact(Atom(predicate, tuple(arguments)), positive, *span, score)


def type_of(domain: Domain, classes: Mapping[str, str], name: str) -> str | None:
    """Return the PDDL type of an instance, a constant, a class object or the start place; None if it is unknown."""
    label = classes.get(name)
    if label is not None:
        return domain.classes[label].type_name if label in domain.classes else None
    if name in domain.constants:
        return domain.constants[name]
    if domain.start_place is not None and name == domain.start_place.id:
        return domain.start_place.type_name
    if name in domain.classes:
        return domain.class_type
    return None
