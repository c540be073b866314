"""Goals: do they hold in a state, what is missing, how do they read as PDDL and as words."""

from __future__ import annotations

from dataclasses import replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.matching import StateIndex, bindings, index_of
from graph_planner_ros.domain.names import NameMap
from graph_planner_ros.domain.schema import DomainError, Equality, Literal
from graph_planner_ros.domain.symbols import HERE, Goal, GoalLiteral, GoalVariable, SymbolicState

_EFFORT = 1000
"""Partial bindings that are looked at for the one that leaves the fewest literals unmet; a large goal has millions."""


def goal_holds(goal: Goal, state: SymbolicState, domain: Domain) -> bool:
    """Return whether some binding of the goal's variables satisfies all its literals."""
    return goal_binding(goal, state, domain) is not None


def goal_binding(goal: Goal, state: SymbolicState, domain: Domain) -> dict[str, str] | None:
    """Return variable -> instance id under which the goal holds, or None if it does not hold.

    A class that a variable names is a condition; a named instance need only exist and be of the type.
    """
    index = index_of(domain, state)
    types = {variable.name: variable.type_name for variable in goal.variables}
    fixed = {variable.name: variable.instance for variable in goal.variables if variable.instance is not None}
    literals = [Literal(literal.predicate, literal.arguments, literal.positive) for literal in goal.literals]
    literals.extend(
        Literal(_class_predicate(domain), (variable.name, variable.class_name))
        for variable in goal.variables
        if variable.class_name is not None and variable.instance is None
    )
    return next(bindings(index, types, literals, _distinct(goal), fixed), None)


def unmet_literals(goal: Goal, state: SymbolicState, domain: Domain) -> tuple[GoalLiteral, ...]:
    """Return the literals that are still to be achieved under the binding that leaves the fewest; empty if none.

    A literal about a class of which nothing is known is unmet.
    """
    search = _Closest(goal, index_of(domain, state), domain)
    search.extend(0, {})
    return search.unmet


def is_relative(goal: Goal) -> bool:
    """Return whether a goal depends on where the robot is when it is taken up."""
    return any(variable.instance == HERE for variable in goal.variables)


def anchored(goal: Goal, state: SymbolicState, domain: Domain) -> Goal:
    """Return a goal that is relative no more: `HERE` is where the robot is, if that is known."""
    here = next((atom.arguments[0] for atom in state.atoms if atom.predicate == domain.location), None)
    if here is None or not is_relative(goal):
        return goal
    variables = tuple(replace(item, instance=here) if item.instance == HERE else item for item in goal.variables)
    return replace(goal, variables=variables)


class _Closest:
    """Branch and bound for the binding with the fewest unmet literals; None stands for a thing that is not known."""

    def __init__(self, goal: Goal, index: StateIndex, domain: Domain) -> None:
        self._goal = goal
        self._index = index
        self._names = {variable.name for variable in goal.variables}
        self._choices = [_choices(variable, index, domain) for variable in goal.variables]
        self._distinct = _distinct(goal)
        self._best = len(goal.literals) + 1
        self._left = _EFFORT
        self.unmet: tuple[GoalLiteral, ...] = goal.literals

    def extend(self, depth: int, binding: dict[str, str | None]) -> None:
        if depth == len(self._choices):
            unmet = self._unmet(binding)
            if len(unmet) < self._best:
                self._best, self.unmet = len(unmet), unmet
            return
        name = self._goal.variables[depth].name
        found = []
        for order, value in enumerate(self._choices[depth]):
            extended = {**binding, name: value}
            if self._apart(extended):
                found.append((len(self._unmet(extended)), order, extended))
        # the most promising first, so that little is missed where there are too many bindings to see them all
        for count, _, extended in sorted(found, key=lambda item: item[:2]):
            if count >= self._best or self._left <= 0:
                return
            self._left -= 1
            self.extend(depth + 1, extended)

    def _unmet(self, binding: dict[str, str | None]) -> tuple[GoalLiteral, ...]:
        return tuple(literal for literal in self._goal.literals if self._is_unmet(literal, binding))

    def _apart(self, binding: dict[str, str | None]) -> bool:
        pairs = ((binding.get(pair.left), binding.get(pair.right)) for pair in self._distinct)
        return all(left is None or left != right for left, right in pairs)

    def _is_unmet(self, literal: GoalLiteral, binding: dict[str, str | None]) -> bool:
        """Return True if the literal certainly fails; one with variables that are still open may hold."""
        row: list[str] = []
        for argument in literal.arguments:
            if argument not in self._names:
                row.append(argument)
            elif argument not in binding:
                return False
            else:
                value = binding[argument]
                if value is None:
                    return True
                row.append(value)
        return self._index.holds(literal.predicate, tuple(row)) != literal.positive


def _choices(variable: GoalVariable, index: StateIndex, domain: Domain) -> list[str | None]:
    candidates: list[str | None] = []
    if variable.instance is not None:
        candidates = [variable.instance] if variable.instance in index.of_type(variable.type_name) else []
    elif variable.class_name is not None:
        predicate = _class_predicate(domain)
        of_class = (
            row[0] for row in index.matching(predicate, (None, variable.class_name)) if row[1] == variable.class_name
        )
        candidates = sorted(set(of_class) & index.of_type(variable.type_name))  # type: ignore[assignment]
    else:
        candidates = sorted(index.of_type(variable.type_name))  # type: ignore[assignment]
    return [*candidates, None]


def check_goal(goal: Goal, domain: Domain) -> None:
    """Check a goal against the domain: predicates, arity, types, classes and variables.

    Raises:
        DomainError: naming what is wrong.
    """
    types: dict[str, str] = {}
    for variable in goal.variables:
        if variable.type_name not in domain.types:
            raise DomainError(f"goal variable {variable.name}: the domain has no type {variable.type_name!r}")
        if variable.class_name is not None:
            of_class = domain.class_of(variable.class_name).type_name
            if not (domain.is_a(of_class, variable.type_name) or domain.is_a(variable.type_name, of_class)):
                raise DomainError(
                    f"goal variable {variable.name}: a {variable.class_name} is a {of_class}, "
                    f"never a {variable.type_name}"
                )
        types[variable.name] = variable.type_name
    for literal in goal.literals:
        schema = domain.predicates.get(literal.predicate)
        if schema is None:
            raise DomainError(f"the goal names the predicate {literal.predicate!r}, which the domain does not have")
        if schema.arity != len(literal.arguments):
            raise DomainError(f"{literal.predicate} takes {schema.arity} arguments, not {len(literal.arguments)}")
        for argument in literal.arguments:
            if argument.startswith("?") and argument not in types:
                raise DomainError(f"the goal's literal {_literal_text(literal)} uses {argument}, which is not declared")
    for group in goal.distinct:
        for name in group:
            if name not in types:
                raise DomainError(f"the goal wants {name} to be distinct, which is not declared")


def goal_to_pddl(goal: Goal, names: NameMap) -> str:
    """Return the goal as a PDDL condition.

    Named instances become constants; other variables are existentially quantified.

    Args:
        goal: to be written.
        names: a map made for the domain (``NameMap(domain)``), since classes need its class predicate.
    """
    fixed = {variable.name: variable.instance for variable in goal.variables if variable.instance is not None}
    free = [variable for variable in goal.variables if variable.instance is None]
    pddl_names = _variable_names(free)

    def term(argument: str) -> str:
        if argument in pddl_names:
            return pddl_names[argument]
        return names.to_pddl(fixed.get(argument, argument))

    parts = []
    for variable in free:
        if variable.class_name is not None:
            if names.domain is None:
                raise DomainError("a goal that names classes needs a name map made for the domain")
            predicate = names.symbol(_class_predicate(names.domain))
            parts.append(f"({predicate} {term(variable.name)} {names.to_pddl(variable.class_name)})")
    for literal in goal.literals:
        atom = f"({' '.join((names.symbol(literal.predicate), *map(term, literal.arguments)))})"
        parts.append(atom if literal.positive else f"(not {atom})")
    parts.extend(f"(not (= {term(pair.left)} {term(pair.right)}))" for pair in _distinct(goal))
    body = f"(and {' '.join(parts)})"
    if not free:
        return body
    quantified = " ".join(f"{pddl_names[variable.name]} - {names.symbol(variable.type_name)}" for variable in free)
    return f"(exists ({quantified}) {body})"


def describe_goal(goal: Goal, domain: Domain | None = None) -> str:
    """Return the goal in words: the text that it came from, else its literals, e.g. ``in(Tomato, Fridge)``."""
    if goal.text:
        return goal.text
    called = {variable.name: variable.instance or _class_words(variable, domain) for variable in goal.variables}
    literals = [
        GoalLiteral(item.predicate, tuple(called.get(name, name) for name in item.arguments), item.positive)
        for item in goal.literals
    ]
    return " and ".join(map(_literal_text, literals)) or "nothing"


def _class_words(variable: GoalVariable, domain: Domain | None) -> str:
    if variable.class_name is None:
        return f"any {variable.type_name}"
    entry = domain.classes.get(variable.class_name) if domain else None
    return entry.words[0] if entry and entry.words else variable.class_name


def _literal_text(literal: GoalLiteral) -> str:
    text = f"{literal.predicate}({', '.join(literal.arguments)})"
    return text if literal.positive else f"not {text}"


def _variable_names(variables: list[GoalVariable]) -> dict[str, str]:
    """Return variable -> legal PDDL variable; numbered so that no two can fall together."""
    return {variable.name: f"?v{number}" for number, variable in enumerate(variables, start=1)}


def _distinct(goal: Goal) -> list[Equality]:
    return [
        Equality(left, right, False)
        for group in goal.distinct
        for position, left in enumerate(group)
        for right in group[position + 1 :]
    ]


def _class_predicate(domain: Domain) -> str:
    if domain.class_predicate is None:
        raise DomainError(f"the domain {domain.name!r} has no class_predicate, so goals cannot name classes")
    return domain.class_predicate
