"""A quick reader of PDDL texts for the engines: enough to price plans and to see what matters for a goal.

It is not a validator: the engines read the texts themselves and say what is wrong with them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from graph_planner_ros.planning.engines.compilation import Expression, PddlTextError, parse_expression

Row = tuple[str, ...]
"""A ground or lifted atom: predicate, then arguments; variables start with a question mark."""

_COMMENT = re.compile(r";[^\n]*")


class Condition(NamedTuple):
    """A literal of a precondition or a goal; ``=`` is a predicate like others."""

    atom: Row
    positive: bool


@dataclass(frozen=True)
class Operator:
    """A lifted action; ``simple`` is False if its conditions or effects are more than literals."""

    name: str
    parameters: dict[str, str]
    conditions: tuple[Condition, ...]
    added: tuple[Row, ...]
    deleted: tuple[Row, ...]
    cost: float
    cost_terms: tuple[Row, ...]
    simple: bool = True


@dataclass(frozen=True, eq=False)
class DomainModel:
    """Operators, every type with all its ancestors (itself included), and the text with its sections by keyword."""

    text: str
    sections: dict[str, Expression]
    operators: dict[str, Operator]
    ancestors: dict[str, frozenset[str]]
    constants: dict[str, str]
    predicates: frozenset[str]
    statics: frozenset[str]
    has_costs: bool


@dataclass
class ProblemModel:
    """Objects (constants of the domain included) -> type, true atoms, values of functions, the goal's expression."""

    objects: dict[str, str]
    atoms: set[Row]
    values: dict[Row, float]
    goal: Expression
    sections: dict[str, Expression] = field(default_factory=dict)


def typed_names(tokens: list[Expression]) -> dict[str, str]:
    """Return name -> type of a typed list; untyped names are ``object``s."""
    names: dict[str, str] = {}
    waiting: list[str] = []
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token == "-":
            of = tokens[position + 1]
            names.update(dict.fromkeys(waiting, of if isinstance(of, str) else "object"))
            waiting = []
            position += 2
            continue
        if isinstance(token, str):
            waiting.append(token)
        position += 1
    names.update(dict.fromkeys(waiting, "object"))
    return names


@lru_cache(maxsize=32)
def read_domain(text: str) -> DomainModel:
    """Read a domain's text.

    Raises:
        PddlTextError: if it is not one PDDL definition.
    """
    sections = _sections(text)
    parents = {name: of for name, of in typed_names(_last(sections, ":types")).items() if name != "object"}
    for of in list(parents.values()):
        parents.setdefault(of, "object")
    ancestors: dict[str, frozenset[str]] = {"object": frozenset(["object"])}
    for name in parents:
        chain = [name]
        while chain[-1] != "object" and len(chain) <= len(parents):
            chain.append(parents.get(chain[-1], "object"))
        ancestors[name] = frozenset(chain)
    operators = {}
    for section in sections:
        if section[0] == ":action":
            operator = _operator(section)
            operators[operator.name] = operator
    changed = {row[0] for operator in operators.values() for row in (*operator.added, *operator.deleted)}
    predicates = frozenset(str(row[0]) for row in _last(sections, ":predicates") if isinstance(row, list))
    return DomainModel(
        text,
        {section[0]: section for section in sections if isinstance(section[0], str)},
        operators,
        ancestors,
        typed_names(_last(sections, ":constants")),
        predicates,
        predicates - changed,
        "total-cost" in text.lower(),
    )


def read_problem(text: str, domain: DomainModel) -> ProblemModel:
    """Read a problem's text.

    Raises:
        PddlTextError: if it is not one PDDL definition with objects, init and goal of the plain kind.
    """
    sections = _sections(text)
    model = ProblemModel(dict(domain.constants), set(), {}, [])
    for section in sections:
        head = section[0]
        if head == ":objects":
            model.objects.update(typed_names(section[1:]))
        elif head == ":init":
            for fact in section[1:]:
                if not isinstance(fact, list) or not fact:
                    raise PddlTextError(f"expected an atom in (:init ...), found {fact!r}")
                if fact[0] == "=" and len(fact) == 3 and isinstance(fact[1], list):
                    model.values[tuple(fact[1])] = float(str(fact[2]))  # type: ignore[arg-type]
                else:
                    model.atoms.add(tuple(fact))  # type: ignore[arg-type]
        elif head == ":goal":
            if len(section) != 2:
                raise PddlTextError("the problem's (:goal ...) must hold one condition")
            model.goal = section[1]
        if isinstance(head, str):
            model.sections[head] = section
    if not model.goal:
        raise PddlTextError("the problem has no (:goal ...)")
    for name in {row[0] for row in model.atoms} - domain.predicates:
        raise PddlTextError(f"the domain has no predicate {name!r}, which (:init ...) uses")
    named = {name for rows in (model.atoms, model.values) for row in rows for name in row[1:]}
    unknown = sorted(named - model.objects.keys())
    if unknown:
        raise PddlTextError(f"(:init ...) names things that are not among the (:objects ...): {', '.join(unknown)}")
    return model


def plan_cost(domain: DomainModel, problem: ProblemModel, plan: list[Row]) -> float:
    """Return the sum of the costs of a plan's actions (each a row: name, then arguments); 1 each without costs."""
    total = 0.0
    for row in plan:
        operator = domain.operators[row[0]]
        if not domain.has_costs:
            total += 1.0
            continue
        binding = dict(zip(operator.parameters, row[1:], strict=True))
        total += operator.cost
        for term in operator.cost_terms:
            total += problem.values.get(substitute(term, binding), 0.0)
    return total


def substitute(atom: Row, binding: dict[str, str]) -> Row:
    """Return an atom with its variables replaced, those that have a value."""
    return tuple(binding.get(token, token) for token in atom)


def conjunction(expression: Expression) -> list[Condition] | None:
    """Return the literals of a conjunction of literals, or None if it is something else."""
    found: list[Condition] = []
    return found if _collect(expression, True, found) else None


def _collect(expression: Expression, positive: bool, found: list[Condition]) -> bool:
    if not isinstance(expression, list):
        return False
    if not expression:
        return True
    if expression[0] == "and" and positive:
        return all(_collect(part, True, found) for part in expression[1:])
    if expression[0] == "not" and len(expression) == 2:
        return _collect(expression[1], not positive, found)
    if expression[0] in ("and", "or", "imply", "exists", "forall", "when"):
        return False
    found.append(Condition(tuple(map(str, expression)), positive))
    return True


def _sections(text: str) -> list[list[Expression]]:
    document = parse_expression(_COMMENT.sub("", text))
    if not isinstance(document, list) or document[:1] != ["define"]:
        raise PddlTextError("expected a PDDL definition: (define ...)")
    sections = [part for part in document[1:] if isinstance(part, list) and part]
    return sections


def _last(sections: list[list[Expression]], head: str) -> list[Expression]:
    return next((section[1:] for section in sections if section[0] == head), [])


def _operator(section: list[Expression]) -> Operator:
    parts = dict(zip(section[2::2], section[3::2], strict=False)) if len(section) > 2 else {}
    parameters = parts.get(":parameters", [])
    conditions = conjunction(parts.get(":precondition", []))
    added: list[Row] = []
    deleted: list[Row] = []
    cost, terms, simple = 0.0, [], conditions is not None
    effect = parts.get(":effect", [])
    items = effect[1:] if isinstance(effect, list) and effect[:1] == ["and"] else [effect]
    for item in items:
        if isinstance(item, list) and item[:1] == ["increase"]:
            if isinstance(item[2], str):
                cost += float(item[2])
            else:
                terms.append(tuple(map(str, item[2])))
            continue
        literals = conjunction(item)
        if literals is None:
            simple = False
            continue
        for literal in literals:
            (added if literal.positive else deleted).append(literal.atom)
    return Operator(
        str(section[1]),
        typed_names(parameters) if isinstance(parameters, list) else {},
        tuple(conditions or ()),
        tuple(added),
        tuple(deleted),
        cost,
        tuple(terms),
        simple,
    )
