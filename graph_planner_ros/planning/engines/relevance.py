"""Finds what of a problem may help its goal, so that the engines search a small one.

Backward from the goal: a literal that is needed and not true makes its achievers relevant, their conditions are
needed in turn, and the things they speak of are kept. What is true now counts as given. Achievers bring in new
things only through static facts (`cuts`, `work_surface`) or facts that are true now (what lies where), and only where
that finds nobody through their types. Actions are kept by name: those found on the way, and those that restore
conditions which other kept actions destroy.

A plan of the smaller problem is a plan of the whole one; the reverse need not hold, so a caller that finds no
plan in the smaller problem must try the whole one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from graph_planner_ros.planning.engines.model import (
    Condition,
    DomainModel,
    Operator,
    ProblemModel,
    Row,
    conjunction,
    substitute,
)

_MOST_BINDINGS = 3000


@dataclass(frozen=True)
class RelevantParts:
    """Names of the objects and operators that may help to reach the goal."""

    objects: frozenset[str]
    operators: frozenset[str]


def relevant_parts(
    domain: DomainModel, problem: ProblemModel, check: Callable[[], None] = lambda: None
) -> RelevantParts | None:
    """Return what may help to reach the goal; None if the texts are beyond this analysis or too much is relevant.

    ``check`` is called often; what it raises ends the analysis.
    """
    goal = conjunction(problem.goal)
    if goal is None or not all(operator.simple for operator in domain.operators.values()):
        return None
    closure = _Closure(domain, problem, check)
    if not closure.run(goal):
        return None
    operators = frozenset(closure.operators | _restoring(domain, closure.operators))
    return RelevantParts(frozenset(closure.kept | set(domain.constants)), operators)


def _restoring(domain: DomainModel, names: set[str]) -> set[str]:
    """Return the operators that restore conditions of the given ones which the given ones (or these) destroy."""
    found = set(names)
    while True:
        operators = [domain.operators[name] for name in found]
        needed = {(c.atom[0], c.positive) for operator in operators for c in operator.conditions}
        spoiled = {(row[0], True) for operator in operators for row in operator.deleted}
        spoiled |= {(row[0], False) for operator in operators for row in operator.added}
        # one way to restore a condition is enough
        made = {(row[0], True) for operator in operators for row in operator.added}
        made |= {(row[0], False) for operator in operators for row in operator.deleted}
        repair = (needed & spoiled) - made
        more = {
            operator.name
            for operator in domain.operators.values()
            if any((row[0], True) in repair for row in operator.added)
            or any((row[0], False) in repair for row in operator.deleted)
        }
        more = {name for name in more if not _only_undone(domain.operators[name], operators, needed)}
        if more <= found:
            return found
        found |= more


def _only_undone(operator: Operator, others: list[Operator], needed: set[tuple[str, bool]]) -> bool:
    """Return whether all that an operator is good for is to be undone again: closing a door in order to open it."""
    effects = [Condition(row, True) for row in operator.added] + [Condition(row, False) for row in operator.deleted]
    for effect in effects:
        if (effect.atom[0], effect.positive) not in needed:
            continue
        for other in others:
            for condition in other.conditions:
                if (condition.atom[0], condition.positive) == (effect.atom[0], effect.positive):
                    renamed = dict(zip(effect.atom[1:], condition.atom[1:], strict=True))
                    undone = {Condition(substitute(e.atom, renamed), not e.positive) for e in effects}
                    actual = {Condition(row, True) for row in other.added}
                    actual |= {Condition(row, False) for row in other.deleted}
                    if undone != actual:
                        return False
    return True


class _Closure:
    """``kept`` and ``operators`` grow until no needed literal is left to look at."""

    def __init__(self, domain: DomainModel, problem: ProblemModel, check: Callable[[], None]) -> None:
        self._domain = domain
        self._problem = problem
        self._check = check
        self.kept: set[str] = set()
        self.operators: set[str] = set()
        self._rows: dict[str, list[Row]] = {}
        for row in problem.atoms:
            self._rows.setdefault(row[0], []).append(row)
        self._achievers: dict[tuple[str, bool], list[tuple[Operator, Row]]] = {}
        for operator in domain.operators.values():
            for row in operator.added:
                self._achievers.setdefault((row[0], True), []).append((operator, row))
            for row in operator.deleted:
                self._achievers.setdefault((row[0], False), []).append((operator, row))
        self._seen: set[Condition] = set()
        self._open: list[Condition] = []
        self._count = 0

    def run(self, goal: list[Condition]) -> bool:
        """Close over the goal; False if too much is relevant."""
        for literal in goal:
            self._need(literal)
        while self._open:
            literal = self._open.pop()
            if not self._expand(literal, by_type=False):
                self._expand(literal, by_type=True)
            if self._count > _MOST_BINDINGS:
                return False
        return True

    def _need(self, literal: Condition) -> None:
        self.kept.update(literal.atom[1:])
        if literal.atom[0] == "=" or literal in self._seen:
            return
        self._seen.add(literal)
        if (literal.atom in self._problem.atoms) != literal.positive:
            self._open.append(literal)

    def _expand(self, literal: Condition, by_type: bool) -> bool:
        found = False
        for operator, effect in self._achievers.get((literal.atom[0], literal.positive), ()):
            start = self._unify(operator, effect, literal.atom)
            if start is None:
                continue
            for binding in self._bindings(operator, start, literal, by_type):
                found = True
                self._count += 1
                if self._count > _MOST_BINDINGS:
                    return True
                self.operators.add(operator.name)
                self.kept.update(binding.values())
                for condition in operator.conditions:
                    self._need(Condition(substitute(condition.atom, binding), condition.positive))
        return found

    def _unify(self, operator: Operator, effect: Row, atom: Row) -> dict[str, str] | None:
        binding: dict[str, str] = {}
        for variable, value in zip(effect[1:], atom[1:], strict=True):
            if variable.startswith("?"):
                if binding.setdefault(variable, value) != value or not self._fits(operator, variable, value):
                    return None
            elif variable != value:
                return None
        return binding

    def _fits(self, operator: Operator, variable: str, value: str) -> bool:
        of = self._problem.objects.get(value, "object")
        return operator.parameters[variable] in self._domain.ancestors.get(of, ())

    def _bindings(
        self, operator: Operator, binding: dict[str, str], literal: Condition, by_type: bool
    ) -> Iterator[dict[str, str]]:
        self._check()
        for condition in operator.conditions:
            if condition.atom[0] in self._domain.statics or condition.atom[0] == "=":
                atom = substitute(condition.atom, binding)
                if not any(token.startswith("?") for token in atom):
                    holds = atom[1] == atom[2] if atom[0] == "=" else atom in self._problem.atoms
                    if holds != condition.positive:
                        return
            elif condition.positive and substitute(condition.atom, binding) == literal.atom and literal.positive:
                return  # to need a thing in order to get it leads nowhere
        choices = {
            variable: self._values(operator, variable, binding, literal, by_type)
            for variable in operator.parameters
            if variable not in binding
        }
        if not choices:
            yield binding
            return
        fewest = min(choices, key=lambda variable: len(choices[variable]))
        for value in choices[fewest]:
            yield from self._bindings(operator, {**binding, fewest: value}, literal, by_type)

    def _values(
        self, operator: Operator, variable: str, binding: dict[str, str], literal: Condition, by_type: bool
    ) -> set[str]:
        """Return what a free variable may stand for, see the top of this file."""
        statics = self._domain.statics
        static: set[str] | None = None
        now: set[str] = set()
        for condition in operator.conditions:
            if not condition.positive or variable not in condition.atom or condition.atom[0] == "=":
                continue
            pattern = substitute(condition.atom, binding)
            if condition.atom[0] in statics:
                matching = self._matching(pattern, pattern.index(variable))
                static = matching if static is None else static & matching
            elif sum(token.startswith("?") for token in pattern) == 1:
                true_now = self._matching(pattern, pattern.index(variable))
                now |= true_now or self._attainable(pattern, literal)
        if static is None and not now and by_type:
            now = set(self._problem.objects)
        return {value for value in (now if static is None else static) if self._fits(operator, variable, value)}

    def _matching(self, pattern: Row, position: int) -> set[str]:
        return {
            row[position]
            for row in self._rows.get(pattern[0], ())
            if all(want.startswith("?") or want == value for want, value in zip(pattern, row, strict=True))
        }

    def _attainable(self, pattern: Row, literal: Condition) -> set[str]:
        """Return values of the pattern's one variable that static facts of an achiever tie down."""
        position = next(index for index, token in enumerate(pattern) if token.startswith("?"))
        found: set[str] = set()
        for operator, effect in self._achievers.get((pattern[0], True), ()):
            binding = {
                name: value
                for name, value in zip(effect[1:], pattern[1:], strict=True)
                if name.startswith("?") and not value.startswith("?")
            }
            conditions = [
                Condition(substitute(condition.atom, binding), condition.positive) for condition in operator.conditions
            ]
            if literal in conditions:
                continue
            variable = effect[position]
            tied = [
                self._matching(condition.atom, condition.atom.index(variable))
                for condition in conditions
                if condition.positive and condition.atom[0] in self._domain.statics and variable in condition.atom
            ]
            if tied:
                found |= set.intersection(*tied)
        return found
