"""Finds what of a problem may help its goal, so that the engines search a small one.

Backward from the goal: a literal that is needed and not true makes its achievers relevant, their conditions are
needed in turn, and the things they speak of are kept. What is true now counts as given. Achievers bring in new
things only through static facts (`cuts`, `work_surface`) or facts that are true now (what lies where), and only where
that finds nobody through their types. Actions are kept by name: those found on the way, and those that restore
conditions which other kept actions destroy.

Where something can be done at many places that differ only in the way there (to put down what is in the hand), the
places that matter anyway and the few most convenient others are kept; where the goal takes any of many things ("two
mugs" of twelve), those that it needs and a few more, the most convenient ones. A plan may get a little longer by that,
as it may by the rules above.

A plan of the smaller problem is a plan of the whole one; the reverse need not hold, so a caller that finds no
plan in the smaller problem must try the whole one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from graph_planner_ros.planning.engines.compilation import REACH_ACTION
from graph_planner_ros.planning.engines.convenience import Convenience
from graph_planner_ros.planning.engines.model import (
    Condition,
    DomainModel,
    Operator,
    ProblemModel,
    Row,
    conjunction,
    substitute,
)
from graph_planner_ros.planning.engines.movement import find_movement, places

_MOST_BINDINGS = 3000
CONVENIENT_PLACES = 3
"""Places that are kept for an action that could be done at many, beside those that matter for another reason."""
SPARE_THINGS = 4
"""Things that are kept beyond as many as the goal needs of a kind."""


class _Deferred(NamedTuple):
    """An action that can be done at many places: its bindings by place."""

    operator: Operator
    bindings: dict[str, list[dict[str, str]]]


@dataclass(frozen=True)
class RelevantParts:
    """Names of the objects and operators that may help to reach the goal."""

    objects: frozenset[str]
    operators: frozenset[str]


def relevant_parts(
    domain: DomainModel, problem: ProblemModel, check: Callable[[], None] = lambda: None, choosy: bool = True
) -> RelevantParts | None:
    """Return what may help to reach the goal; None if the texts are beyond this analysis or too much is relevant.

    Args:
        domain, problem: as read.
        check: is called often; what it raises ends the analysis.
        choosy: of many things or places that would do keep only the most convenient ones.
    """
    goal = conjunction(problem.goal)
    if goal is None or not all(operator.simple for operator in domain.operators.values()):
        return None
    closure = _Closure(domain, problem, check, choosy)
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

    def __init__(self, domain: DomainModel, problem: ProblemModel, check: Callable[[], None], choosy: bool) -> None:
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
        self._movement = find_movement(domain, frozenset(domain.operators))
        self._here = places(problem, self._movement)
        self._choosy = choosy
        self._seen: set[Condition] = set()
        self._open: list[Condition] = []
        self._deferred: list[_Deferred] = []
        self._count = 0

    @cached_property
    def _convenience(self) -> Convenience | None:
        """What chooses among many things or places; None if all of them are to be kept."""
        if self._movement is None or not self._choosy:
            return None
        return Convenience(self._domain, self._problem, self._movement)

    def run(self, goal: list[Condition]) -> bool:
        """Close over the goal; False if too much is relevant."""
        for literal in goal:
            self._need(literal)
        while self._open or self._deferred:
            if not self._open:
                self._choose_places(self._deferred.pop())
                continue
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
            if operator.name == REACH_ACTION:
                found |= self._take_goal(operator, literal, by_type)
                continue
            bindings = []
            for binding in self._bindings(operator, start, literal, by_type):
                found = True
                self._count += 1
                if self._count > _MOST_BINDINGS:
                    return True
                bindings.append(binding)
            by_place = self._by_place(operator, start, bindings)
            if len(by_place) > CONVENIENT_PLACES:
                self._deferred.append(_Deferred(operator, by_place))
            else:
                self._take(operator, bindings)
        return found

    def _take(self, operator: Operator, bindings: Iterable[dict[str, str]]) -> None:
        """Keep an action with the given things, and need what it needs."""
        for binding in bindings:
            self.operators.add(operator.name)
            self.kept.update(binding.values())
            for condition in operator.conditions:
                self._need(Condition(substitute(condition.atom, binding), condition.positive))

    def _take_goal(self, operator: Operator, literal: Condition, by_type: bool) -> bool:
        """Keep the action that stands for the goal with all that each of its variables alone may stand for.

        Its bindings are not enumerated: six of twelve mugs are nearly a thousand. False if there are none.
        """
        self._check()
        binding: dict[str, str] = {}
        choices: dict[str, set[str]] = {}
        bound = -1
        while bound < len(binding):
            bound = len(binding)
            for variable in operator.parameters:
                if variable not in binding:
                    choices[variable] = self._values(operator, variable, binding, literal, by_type)
                    if len(choices[variable]) == 1:
                        (binding[variable],) = choices[variable]
        if not all(choices.values()):
            return False
        chosen = self._most_convenient(operator, binding, choices)
        self.operators.add(operator.name)
        self.kept.update(*chosen.values())
        for condition in operator.conditions:
            if condition.atom[0] != "=" and condition.atom[0] not in self._domain.statics:
                free = [name for name in dict.fromkeys(condition.atom[1:]) if name in chosen]
                for values in itertools.product(*(chosen[name] for name in free)):
                    atom = substitute(condition.atom, dict(zip(free, values, strict=True)))
                    self._need(Condition(atom, condition.positive))
        return True

    def _most_convenient(
        self, operator: Operator, binding: dict[str, str], choices: dict[str, set[str]]
    ) -> dict[str, list[str]]:
        """Return what each variable of the goal may stand for, if many things would do only some of them."""
        chosen = {variable: sorted(values) for variable, values in choices.items()}
        anchors = self._here | {name for name in binding.values() if self._fits_place(name)}
        for variable, values in chosen.items():
            most = SPARE_THINGS + sum(other == choices[variable] for other in choices.values())
            if len(values) > most and self._convenience is not None:
                chosen[variable] = self._convenience.rank(operator, variable, values, binding, anchors)[:most]
        return chosen

    def _by_place(
        self, operator: Operator, given: dict[str, str], bindings: list[dict[str, str]]
    ) -> dict[str, list[dict[str, str]]]:
        """Return the bindings by the place that they go to, if that is free and changes nothing but the way."""
        movement = self._movement
        if not self._choosy or movement is None or operator == movement.operator or not movement.is_tied(operator):
            return {}
        variable = movement.place_of(operator)[1]
        if variable in given or not variable.startswith("?") or any(variable in term for term in operator.cost_terms):
            return {}
        found: dict[str, list[dict[str, str]]] = {}
        for binding in bindings:
            found.setdefault(binding[variable], []).append(binding)
        return found

    def _choose_places(self, deferred: _Deferred) -> None:
        """Take an action at the places that are kept anyway, and at the most convenient ones of the others."""
        convenience = self._convenience
        assert convenience is not None
        operator, by_place = deferred
        anchors = self._here | {name for name in self.kept if self._fits_place(name)}

        def inconvenience(place: str) -> tuple[int, float, str]:
            unmet = min(convenience.unmet(operator.conditions, binding) for binding in by_place[place])
            return unmet, convenience.detour(anchors, place), place

        chosen = sorted((place for place in by_place if place not in anchors), key=inconvenience)[:CONVENIENT_PLACES]
        for place, bindings in by_place.items():
            if place in anchors or place in chosen:
                self._take(operator, bindings)

    def _fits_place(self, name: str) -> bool:
        return self._movement is not None and self._fits(self._movement.operator, self._movement.end, name)

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
