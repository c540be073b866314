"""Symbolic execution: which actions apply in a state, why one does not, and what T(s, a) is."""

from __future__ import annotations

from collections.abc import Iterable

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.matching import StateIndex, bindings, index_of
from graph_planner_ros.domain.schema import ActionSchema, DomainError, Term
from graph_planner_ros.domain.symbols import Atom, GroundAction, SymbolicState


class InapplicableActionError(ValueError):
    """An action was to be executed in a state where its preconditions do not hold."""


class MissingValueError(DomainError):
    """A numeric function has no value in a state."""


def applicable_actions(domain: Domain, state: SymbolicState) -> list[GroundAction]:
    """Return every action that applies, in the order of the domain file and then of the arguments."""
    index = index_of(domain, state)
    found: list[GroundAction] = []
    for schema in domain.actions.values():
        names = [parameter.name for parameter in schema.parameters]
        arguments = {
            tuple(binding[name] for name in names)
            for binding in bindings(index, dict(schema.parameters), schema.preconditions, schema.equalities)
        }
        found.extend(GroundAction(schema.name, row) for row in sorted(arguments))
    return found


def is_applicable(domain: Domain, state: SymbolicState, action: GroundAction) -> bool:
    """Return whether an action applies; unknown actions and things make it False (see `unmet_preconditions`)."""
    return not unmet_preconditions(domain, state, action)


def unmet_preconditions(domain: Domain, state: SymbolicState, action: GroundAction) -> list[str]:
    """Return what keeps an action from being applied, one readable line each; empty if it applies."""
    schema = domain.actions.get(action.name)
    if schema is None:
        return [f"there is no action {action.name!r}"]
    if len(action.arguments) != len(schema.parameters):
        return [f"{action.name} takes {len(schema.parameters)} arguments, not {len(action.arguments)}"]
    index = index_of(domain, state)
    unmet = _wrong_arguments(index, state, schema, action)
    if unmet:
        return unmet
    binding = _binding(schema, action)
    for literal in schema.preconditions:
        atom = _ground(literal.predicate, literal.arguments, binding)
        if index.holds(atom.predicate, atom.arguments) != literal.positive:
            unmet.append(str(atom) if literal.positive else f"not {atom}")
    for left, right, positive in schema.equalities:
        if (binding.get(left, left) == binding.get(right, right)) != positive:
            relation = "the same thing" if positive else "different things"
            unmet.append(f"{left} and {right} must be {relation}")
    return unmet


def _wrong_arguments(index: StateIndex, state: SymbolicState, schema: ActionSchema, action: GroundAction) -> list[str]:
    wrong: list[str] = []
    for parameter, value in zip(schema.parameters, action.arguments, strict=True):
        if value not in index.of_type(parameter.type_name):
            actual = state.objects.get(value) or index.domain.constants.get(value)
            if actual is None:
                wrong.append(f"there is no {value!r}")
            else:
                wrong.append(f"{value} must be a {parameter.type_name}, it is a {actual}")
    return wrong


def successor(domain: Domain, state: SymbolicState, action: GroundAction) -> SymbolicState:
    """Return T(s, a), the state after the action.

    Raises:
        InapplicableActionError: (a ValueError) with the unmet preconditions, if the action does not apply.
    """
    unmet = unmet_preconditions(domain, state, action)
    if unmet:
        raise InapplicableActionError(f"{action} does not apply: {'; '.join(unmet)}")
    added, deleted = effects(domain, action)
    return SymbolicState(state.objects, (state.atoms - deleted) | added, state.functions)


def effects(domain: Domain, action: GroundAction) -> tuple[frozenset[Atom], frozenset[Atom]]:
    """Return the atoms that an action makes true and those that it makes false.

    Raises:
        DomainError: if the domain has no such action, or it takes another number of arguments.
    """
    schema = domain.action(action.name)
    if len(action.arguments) != len(schema.parameters):
        raise DomainError(f"{action.name} takes {len(schema.parameters)} arguments, not {len(action.arguments)}")
    binding = _binding(schema, action)
    added = _ground_all(schema.added, binding)
    return added, _ground_all(schema.deleted, binding) - added


def lasting_conditions(domain: Domain, action: GroundAction) -> list[tuple[Atom, bool]]:
    """Return what an action needs and leaves as it is: (atom, truth value) of its preconditions, static ones left out.

    Raises:
        DomainError: if the domain has no such action, or it takes another number of arguments.
    """
    schema = domain.action(action.name)
    changed = frozenset().union(*effects(domain, action))
    binding = _binding(schema, action)
    conditions = [
        (_ground(literal.predicate, literal.arguments, binding), literal.positive)
        for literal in schema.preconditions
        if literal.predicate not in domain.static_predicates
    ]
    return [condition for condition in conditions if condition[0] not in changed]


def cost(domain: Domain, state: SymbolicState, action: GroundAction) -> float:
    """Return the cost of an action in a state.

    Raises:
        MissingValueError: if a function that the cost depends on has no value.
    """
    schema = domain.action(action.name)
    binding = _binding(schema, action)
    total = schema.cost
    for term in schema.cost_terms:
        atom = _ground(term.predicate, term.arguments, binding)
        value = state.functions.get(atom)
        if value is None:
            raise MissingValueError(f"the cost of {action} needs {atom}, which has no value in the state")
        total += value
    return total


def _binding(schema: ActionSchema, action: GroundAction) -> dict[str, str]:
    return {parameter.name: value for parameter, value in zip(schema.parameters, action.arguments, strict=True)}


def _ground(predicate: str, arguments: Iterable[str], binding: dict[str, str]) -> Atom:
    return Atom(predicate, tuple(binding.get(argument, argument) for argument in arguments))


def _ground_all(terms: Iterable[Term], binding: dict[str, str]) -> frozenset[Atom]:
    return frozenset(_ground(term.predicate, term.arguments, binding) for term in terms)
