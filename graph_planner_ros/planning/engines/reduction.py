"""Writes the small task that is searched instead of the whole one, and turns its plans back.

Besides leaving out what does not matter (see `relevance`), moves are merged into the actions that need them: where
one action only swaps the robot's place (``go_to``), every other action that needs to be somewhere gets a variant
that starts anywhere and costs the way as well. Plans get half as long, and places where nothing is done are
never visited.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from graph_planner_ros.planning.engines.compilation import Expression, write_expression
from graph_planner_ros.planning.engines.model import DomainModel, Operator, ProblemModel, Row, substitute
from graph_planner_ros.planning.engines.movement import Movement, find_movement, places
from graph_planner_ros.planning.engines.relevance import RelevantParts

_FROM = "?from-place"
_VARIANT = "go-and-"


@dataclass(frozen=True)
class SmallTask:
    """Texts of the task that is searched; ``movement`` is what was merged into the other actions, if anything."""

    domain: str
    problem: str
    movement: Movement | None


def reduce_task(domain: DomainModel, problem: ProblemModel, parts: RelevantParts, merge: bool = True) -> SmallTask:
    """Return the small task; the goal must be the goal atom of an action (see `compilation`), or not name places.

    Args:
        domain, problem: as read. parts: what is kept of them.
        merge: merge moves into the other actions; this makes searching quick, and grounding large tasks slow.
    """
    movement = find_movement(domain, parts.operators) if merge else None
    if movement is not None and sum(row[0] == movement.predicate for row in problem.atoms) != 1:
        movement = None
    text = _domain_text(domain, parts.operators, movement is not None)
    return SmallTask(text, _problem_text(domain, problem, parts, movement), movement)


def expand_plan(plan: list[Row], domain: DomainModel, problem: ProblemModel, movement: Movement | None) -> list[Row]:
    """Return a plan of the small task as one of the whole task, with its moves as steps of their own."""
    return with_moves(without_moves(plan), domain, problem, movement)


def without_moves(plan: list[Row]) -> list[Row]:
    """Return a plan of the small task with the names of the whole task's actions, moves left out."""
    return [(row[0][len(_VARIANT) :], *row[2:]) if row[0].startswith(_VARIANT) else row for row in plan]


def with_moves(steps: list[Row], domain: DomainModel, problem: ProblemModel, movement: Movement | None) -> list[Row]:
    """Return the steps with a move before each that has to be done at another place."""
    if movement is None:
        return steps
    (place,) = places(problem, movement)
    expanded: list[Row] = []
    for row in steps:
        operator = domain.operators[row[0]]
        if any(condition.atom[0] == movement.predicate for condition in operator.conditions):
            binding = dict(zip(operator.parameters, row[1:], strict=True))
            target = substitute(movement.place_of(operator), binding)[1]
            if target != place:
                ends = {movement.start: place, movement.end: target}
                expanded.append((movement.operator.name, *(ends[name] for name in movement.operator.parameters)))
                place = target
        expanded.append(row)
    return expanded


@lru_cache(maxsize=256)
def _domain_text(domain: DomainModel, names: frozenset[str], merge: bool) -> str:
    movement = find_movement(domain, names) if merge else None
    parts = ["(define (domain small)"]
    for keyword in (":requirements", ":types", ":constants", ":predicates", ":functions"):
        if keyword in domain.sections:
            parts.append(write_expression(domain.sections[keyword]))
    for name, operator in domain.operators.items():
        if name in names and (movement is None or operator is not movement.operator):
            parts.append(_action_text(domain, operator, movement))
            if movement is not None and movement.operator.cost and movement.is_tied(operator):
                # a way has a fixed price, and staying has none: two actions say what no function can
                parts.append(_action_text(domain, operator, None))
    return "\n".join([*parts, ")"])


def _action_text(domain: DomainModel, operator: Operator, movement: Movement | None) -> str:
    name, parameters = operator.name, dict(operator.parameters)
    conditions = [(condition.atom, condition.positive) for condition in operator.conditions]
    effects = [(row, False) for row in operator.deleted] + [(row, True) for row in operator.added]
    costs, fixed = list(operator.cost_terms), operator.cost
    if movement is not None and any(atom[0] == movement.predicate for atom, _ in conditions):
        place = movement.place_of(operator)
        name, parameters = _VARIANT + name, {_FROM: movement.operator.parameters[movement.start], **parameters}
        here = (movement.predicate, _FROM)
        conditions = [((*here,) if atom == place else atom, positive) for atom, positive in conditions]
        effects = [(here, False), *effects, (place, True)]
        way = {movement.start: _FROM, movement.end: place[1]}
        costs.extend(substitute(term, way) for term in movement.operator.cost_terms)
        if movement.operator.cost:
            fixed += movement.operator.cost
            conditions.append((("=", _FROM, place[1]), False))
    written = [_literal(atom, positive) for atom, positive in effects]
    if domain.has_costs:
        if fixed or not costs:
            written.append(f"(increase (total-cost) {fixed:g})")
        written.extend(f"(increase (total-cost) ({' '.join(term)}))" for term in costs)
    typed = " ".join(f"{variable} - {of}" for variable, of in parameters.items())
    needed = " ".join(_literal(atom, positive) for atom, positive in conditions)
    return f"(:action {name} :parameters ({typed}) :precondition (and {needed}) :effect (and {' '.join(written)}))"


def _literal(atom: Row, positive: bool) -> str:
    text = f"({' '.join(atom)})"
    return text if positive else f"(not {text})"


def _problem_text(domain: DomainModel, problem: ProblemModel, parts: RelevantParts, movement: Movement | None) -> str:
    kept = parts.objects
    by_type: dict[str, list[str]] = {}
    for name, of in problem.objects.items():
        if name in kept and name not in domain.constants:
            by_type.setdefault(of, []).append(name)
    operators = [domain.operators[name] for name in parts.operators]
    priced = {term[0] for operator in operators for term in operator.cost_terms}
    used = {condition.atom[0] for operator in operators for condition in operator.conditions}
    used |= _predicates(problem.goal)
    lines = ["(define (problem small) (:domain small) (:objects"]
    lines.extend(f"{' '.join(names)} - {of}" for of, names in by_type.items())
    lines.append(") (:init")
    if domain.has_costs:
        lines.append("(= (total-cost) 0)")
    lines.extend(f"({' '.join(row)})" for row in sorted(problem.atoms) if row[0] in used and kept.issuperset(row[1:]))
    values = {row: value for row, value in problem.values.items() if row[0] in priced and kept.issuperset(row[1:])}
    if movement is not None:
        values.update(_staying(domain, problem, kept, movement))
    lines.extend(f"(= ({' '.join(row)}) {value:.10g})" for row, value in values.items())
    lines.append(f") (:goal {write_expression(problem.goal)})")
    lines.append("(:metric minimize (total-cost)))" if domain.has_costs else ")")
    return "\n".join(lines)


def _staying(domain: DomainModel, problem: ProblemModel, kept: frozenset[str], movement: Movement) -> dict[Row, float]:
    """Return the price of a way from a place to itself: nothing."""
    of_end = movement.operator.parameters[movement.end]
    places = [name for name in kept if of_end in domain.ancestors.get(problem.objects.get(name, "object"), ())]
    return {
        substitute(term, {movement.start: name, movement.end: name}): 0.0
        for term in movement.operator.cost_terms
        for name in places
    }


def _predicates(expression: Expression) -> set[str]:
    if isinstance(expression, str):
        return {expression}
    return {name for part in expression for name in _predicates(part)}
