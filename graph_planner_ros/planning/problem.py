"""MemPlan's PDDL problem: what is known, what is supposed, what is excluded (MemPlan, section 3.3).

The planning domain stays as it is. What an engine gets is its projection on what the goal needs: actions that
cannot help and predicates that nobody asks for are left out, which changes no plan and shrinks the search space
by orders of magnitude. Actions that the robot has found impossible are excluded by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import goal_to_pddl
from graph_planner_ros.domain.names import NameMap, legal_name
from graph_planner_ros.domain.schema import ActionSchema, Literal, Parameter, Term
from graph_planner_ros.domain.symbols import Atom, Goal, GoalLiteral, GoalVariable, GroundAction, SymbolicState
from graph_planner_ros.planning.hypotheses import Hypotheses, Placeholder, with_hypotheses
from graph_planner_ros.planning.relevance import Relevance, everything, relevance, relevant_things
from graph_planner_ros.planning.ways import Ways

EXCLUDED_PREFIX = "excluded-"
ADVISED_PREFIX = "advised-"
"""Before the name of the cheaper variant of an action, and of the predicate and the function that go with it."""
ANY = "*"
"""In the arguments of an excluded action: whatever it is."""
UNKNOWN_DISTANCE = 20.0
"""Price [m] of a way whose length nobody knows: possible, but longer than any known one in a home."""


@dataclass(frozen=True)
class PlanningProblem:
    """The texts for an engine, and the state with hypotheses that they describe.

    Attributes:
        domain_pddl, problem_pddl: PDDL texts. names: maps names of the problem back.
        state: everything known and supposed, not only what the texts contain.
        goal: with placeholders put in for named instances whose place is not known.
    """

    domain_pddl: str
    problem_pddl: str
    names: NameMap
    state: SymbolicState
    goal: Goal

    def action(self, planned: GroundAction) -> GroundAction:
        """Return an action of an engine's plan in the domain's own spelling."""
        plain = replace(planned, name=planned.name.removeprefix(ADVISED_PREFIX))
        return self.names.action_from_pddl(plain)


@dataclass
class Selection:
    """What of the state goes into the problem; ``facts`` and ``prices`` are added to it as they are written."""

    things: frozenset[str]
    predicates: frozenset[str]
    functions: frozenset[str]
    facts: list[str] = field(default_factory=list)
    prices: list[str] = field(default_factory=list)


def build_problem(
    domain: Domain,
    state: SymbolicState,
    goal: Goal,
    hypotheses: Hypotheses | None = None,
    name_map: NameMap | None = None,
) -> str:
    """Return the PDDL problem for the whole, unchanged domain.

    Args:
        domain: fixed. state: what is believed. goal: to be reached.
        hypotheses: what is supposed; none if left out.
        name_map: gives things their PDDL names; a new one for this domain if left out.
    """
    names = name_map if name_map is not None else NameMap(domain)
    supposed = hypotheses or Hypotheses()
    whole = everything(domain)
    full = with_hypotheses(domain, state, supposed)
    chosen = Selection(frozenset(full.objects), whole.predicates, frozenset(domain.functions))
    return problem_text(domain, full, bind_placeholders(domain, goal, supposed), chosen, names)


def compile_problem(
    domain: Domain,
    state: SymbolicState,
    goal: Goal,
    hypotheses: Hypotheses,
    *,
    excluded: Iterable[GroundAction] = (),
    prune: bool = True,
    prices: Mapping[GroundAction, float] | None = None,
) -> PlanningProblem:
    """Return the texts for an engine.

    Args:
        domain, state, goal, hypotheses: as in `build_problem`.
        excluded: actions that must not be planned; an argument may be `ANY`.
        prune: leave out what does not matter for the goal. Two of the rules are only plausible (see `relevance`):
            if no plan is found, try again without.
        prices: costs of single actions that are cheaper than the domain says; no moves. What they need and change
            stays the same.
    """
    full = with_hypotheses(domain, state, hypotheses)
    bound = bind_placeholders(domain, goal, hypotheses)
    found = relevance(domain, full, bound) if prune else everything(domain)
    things = relevant_things(domain, full, bound, found) if prune else frozenset(full.objects)
    reserved = [f"{prefix}{name}" for prefix in (EXCLUDED_PREFIX, ADVISED_PREFIX) for name in domain.actions]
    names = NameMap(domain, reserved=reserved)
    functions = {term.predicate for name in found.actions for term in domain.actions[name].cost_terms}
    predicates = found.predicates | _class_predicates(domain, bound)
    chosen = Selection(things, predicates, frozenset(functions))
    void = _void(domain, full, found.actions, predicates)
    rows: dict[str, set[tuple[str, ...]]] = {}
    for action in excluded:
        if action.name in found.actions:
            rows.setdefault(action.name, set()).update(expand_excluded(domain, full, action))
    chosen.facts = [
        f"({EXCLUDED_PREFIX}{names.symbol(name)} {' '.join(map(names.to_pddl, row))})"
        for name, expanded in sorted(rows.items())
        for row in sorted(expanded)
        if things.issuperset(row)
    ]
    cheaper = {
        action: price
        for action, price in (prices or {}).items()
        if action.name in found.actions and things.issuperset(action.arguments)
    }
    for action, price in sorted(cheaper.items(), key=lambda entry: str(entry[0])):
        row = f"({ADVISED_PREFIX}{names.symbol(action.name)} {' '.join(map(names.to_pddl, action.arguments))})"
        chosen.facts.append(row)
        chosen.prices.append(f"(= {row} {price:.3f})")
    advised = frozenset(action.name for action in cheaper)
    text = project(domain, found.actions, frozenset(predicates), frozenset(functions), frozenset(rows), void, advised)
    return PlanningProblem(text, problem_text(domain, full, bound, chosen, names), names, full, bound)


def bind_placeholders(domain: Domain, goal: Goal, hypotheses: Hypotheses) -> Goal:
    """Return the goal for a state with hypotheses.

    Named instances whose place is not known are replaced by their placeholders; what may be a placeholder must be
    found (else an unseen plate would do for "a plate that is not dirty").
    """
    if domain.hypotheses is None or not hypotheses.placeholders:
        return goal
    stands_for = {item.instance: item for item in hypotheses.placeholders if item.instance is not None}
    classes = {item.class_name for item in hypotheses.placeholders}
    variables = tuple(_bind(variable, stands_for) for variable in goal.variables)
    found = tuple(
        GoalLiteral(domain.hypotheses.found, (variable.name,))
        for variable in variables
        if variable.class_name in classes and domain.is_a(variable.type_name, domain.hypotheses.item_type)
    )
    return Goal(variables, goal.literals + found, goal.distinct, goal.text)


def _bind(variable: GoalVariable, stands_for: Mapping[str, Placeholder]) -> GoalVariable:
    placeholder = stands_for.get(variable.instance) if variable.instance is not None else None
    if placeholder is None:
        return variable
    return GoalVariable(variable.name, variable.type_name, variable.class_name, placeholder.name)


def _class_predicates(domain: Domain, goal: Goal) -> frozenset[str]:
    asks = any(variable.class_name is not None and variable.instance is None for variable in goal.variables)
    return frozenset({domain.class_predicate} if asks and domain.class_predicate is not None else ())


def _void(domain: Domain, state: SymbolicState, actions: Iterable[str], predicates: Iterable[str]) -> frozenset[str]:
    """Return predicates that are true of nothing, and that no action makes true."""
    true = {atom.predicate for atom in state.atoms}
    true |= {term.predicate for name in actions for term in domain.actions[name].added}
    return frozenset(predicates) - true


def is_excluded(action: GroundAction, excluded: Iterable[GroundAction]) -> bool:
    """Return whether an action is one of the excluded ones."""
    return any(
        pattern.name == action.name
        and len(pattern.arguments) == len(action.arguments)
        and all(want in (ANY, value) for want, value in zip(pattern.arguments, action.arguments, strict=True))
        for pattern in excluded
    )


def expand_excluded(domain: Domain, state: SymbolicState, action: GroundAction) -> set[tuple[str, ...]]:
    """Return the rows of arguments that an excluded action with wildcards stands for."""
    rows: set[tuple[str, ...]] = {()}
    for parameter, value in zip(domain.action(action.name).parameters, action.arguments, strict=True):
        if value == ANY:
            values = [name for name, of in state.objects.items() if domain.is_a(of, parameter.type_name)]
        else:
            values = [value] if value in state.objects else []
        rows = {(*row, choice) for row in rows for choice in values}
    return rows


def problem_text(domain: Domain, state: SymbolicState, goal: Goal, chosen: Selection, names: NameMap) -> str:
    """Return the PDDL problem of what was chosen of a state."""
    classes = {variable.class_name for variable in goal.variables if variable.instance is None}
    kept = {name: of for name, of in state.objects.items() if name in chosen.things and of != domain.class_type} | {
        name: domain.class_type for name in classes if name is not None and domain.class_type is not None
    }
    known = {*kept, *domain.constants}
    # first of all, so that names do not depend on the order of a set
    objects = [f"{names.to_pddl(name)} - {names.symbol(of)}" for name, of in sorted(kept.items())]
    facts = sorted(
        names.atom_to_pddl(atom)
        for atom in state.atoms
        if atom.predicate in chosen.predicates and known.issuperset(atom.arguments)
    )
    priced = {
        term: value
        for term, value in state.functions.items()
        if term.predicate in chosen.functions and known.issuperset(term.arguments)
    }
    if domain.distance in chosen.functions:
        priced = _function_values(domain, SymbolicState(kept, frozenset(), priced))
    values = sorted(f"(= {names.atom_to_pddl(term)} {value:.3f})" for term, value in priced.items())
    costs = has_costs(domain)
    lines = [
        f"(define (problem task) (:domain {legal_name(domain.name)})",
        f"(:objects {' '.join(objects)})",
        f"(:init {'(= (total-cost) 0) ' if costs else ''}{' '.join(facts + chosen.facts)}",
        f"{' '.join(values + chosen.prices)})",
        f"(:goal {goal_to_pddl(goal, names)})",
        "(:metric minimize (total-cost)))" if costs else ")",
    ]
    return "\n".join(lines)


def _function_values(domain: Domain, state: SymbolicState) -> dict[Atom, float]:
    """Return all function values, with a high one for every way whose length is not known."""
    values = dict(state.functions)
    schema = domain.functions.get(domain.distance) if domain.distance is not None else None
    if schema is None or schema.arity != 2:
        return values
    first, second = (
        [name for name, of in state.objects.items() if domain.is_a(of, parameter.type_name)]
        for parameter in schema.parameters
    )
    for start in first:
        for end in second:
            values.setdefault(Atom(schema.name, (start, end)), 0.0 if start == end else UNKNOWN_DISTANCE)
    return values


def complete_functions(domain: Domain, state: SymbolicState) -> SymbolicState:
    """Return the state with a price for every way, so that every action has a cost."""
    schema = domain.functions.get(domain.distance) if domain.distance is not None else None
    if schema is None or schema.arity != 2:
        return state
    return SymbolicState(state.objects, state.atoms, Ways(state.functions, schema.name, UNKNOWN_DISTANCE))


def has_costs(domain: Domain) -> bool:
    """Return whether actions have costs, so that cheaper ones can be said."""
    return bool(domain.functions) or any(action.cost or action.cost_terms for action in domain.actions.values())


@lru_cache(maxsize=128)
def project(
    domain: Domain,
    actions: frozenset[str],
    predicates: frozenset[str],
    functions: frozenset[str],
    excluding: frozenset[str] = frozenset(),
    void: frozenset[str] = frozenset(),
    advised: frozenset[str] = frozenset(),
) -> str:
    """Return the PDDL domain with only these actions, predicates and functions.

    Actions in ``excluding`` get one more precondition: not to be among the excluded ones. What must be false of
    ``void`` predicates, which nothing makes true, is no condition. Actions in ``advised`` get a variant with a price
    for each of the things that it is advised with.
    """
    names = NameMap(domain)
    schemas = [schema for name, schema in domain.actions.items() if name in actions]
    declared = [
        f"({' '.join((names.symbol(name), *(_parameters(names, schema.parameters))))})"
        for name, schema in domain.predicates.items()
        if name in predicates
    ]
    declared += [
        f"({EXCLUDED_PREFIX}{names.symbol(name)} {' '.join(_parameters(names, domain.actions[name].parameters))})"
        for name in sorted(excluding)
    ]
    variants = [
        f"({ADVISED_PREFIX}{names.symbol(name)} {' '.join(_parameters(names, domain.actions[name].parameters))})"
        for name in sorted(advised)
    ]
    declared += variants
    costs = has_costs(domain)
    valued = ["(total-cost) - number"] if costs else []
    valued += [
        f"({' '.join((names.symbol(name), *(_parameters(names, schema.parameters))))}) - number"
        for name, schema in domain.functions.items()
        if name in functions
    ]
    valued += [f"{variant} - number" for variant in variants]
    types = " ".join(
        f"{names.symbol(name)} - {names.symbol(parent)}" for name, parent in domain.types.items() if parent is not None
    )
    constants = " ".join(f"{names.to_pddl(name)} - {names.symbol(of)}" for name, of in domain.constants.items())
    parts = [
        f"(define (domain {legal_name(domain.name)})",
        "(:requirements :strips :typing :negative-preconditions :equality" + (" :action-costs)" if costs else ")"),
        f"(:types {types})" if types else "",
        f"(:constants {constants})" if constants else "",
        f"(:predicates {' '.join(declared)})",
        f"(:functions {' '.join(valued)})" if valued else "",
        *(_action_text(names, schema, predicates, schema.name in excluding, costs, void) for schema in schemas),
        *(
            _action_text(names, schema, predicates, schema.name in excluding, costs, void, variant=True)
            for schema in schemas
            if schema.name in advised
        ),
    ]
    return "\n".join(part for part in parts if part) + ")"


def _parameters(names: NameMap, parameters: Iterable[Parameter]) -> list[str]:
    return [f"?p{index} - {names.symbol(of)}" for index, (_, of) in enumerate(parameters)]


def _action_text(
    names: NameMap,
    schema: ActionSchema,
    predicates: frozenset[str],
    excluding: bool,
    costs: bool,
    void: frozenset[str],
    variant: bool = False,
) -> str:
    called = {name: f"?p{index}" for index, (name, _) in enumerate(schema.parameters)}

    def term(predicate: str, arguments: Iterable[str]) -> str:
        return f"({' '.join((names.symbol(predicate), *(called.get(a) or names.to_pddl(a) for a in arguments)))})"

    def literal(item: Literal | Term, positive: bool) -> str:
        text = term(item.predicate, item.arguments)
        return text if positive else f"(not {text})"

    conditions = [
        literal(item, item.positive) for item in schema.preconditions if item.positive or item.predicate not in void
    ]
    for left, right, positive in schema.equalities:
        same = f"(= {called.get(left) or names.to_pddl(left)} {called.get(right) or names.to_pddl(right)})"
        conditions.append(same if positive else f"(not {same})")
    if excluding:
        conditions.append(f"(not ({EXCLUDED_PREFIX}{names.symbol(schema.name)} {' '.join(called.values())}))")
    name = f"{ADVISED_PREFIX if variant else ''}{names.symbol(schema.name)}"
    advised = f"({name} {' '.join(called.values())})"
    if variant:
        conditions.append(advised)
    effects = [literal(item, False) for item in schema.deleted if item.predicate in predicates]
    effects += [literal(item, True) for item in schema.added if item.predicate in predicates]
    if costs:
        prices = [advised] if variant else [term(item.predicate, item.arguments) for item in schema.cost_terms]
        if not variant and (schema.cost or not prices):
            prices.append(f"{schema.cost:g}")
        effects += [f"(increase (total-cost) {price})" for price in prices]
    return (
        f"(:action {name} :parameters ({' '.join(_parameters(names, schema.parameters))})"
        f" :precondition (and {' '.join(conditions)}) :effect (and {' '.join(effects)}))"
    )


__all__ = [
    "ANY",
    "Hypotheses",
    "Placeholder",
    "PlanningProblem",
    "Relevance",
    "bind_placeholders",
    "build_problem",
    "compile_problem",
    "complete_functions",
    "is_excluded",
    "project",
]
