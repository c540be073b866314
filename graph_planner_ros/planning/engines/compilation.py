"""Rewrites PDDL texts so that both engines take them and search them well.

An existential goal would become an axiom, which blinds the heuristics of both engines (and pymimir refuses some).
It is therefore turned into one more action whose preconditions are the goal's body and whose only effect is a new
goal atom; that action costs nothing and is dropped from the plan. Things that the goal names become parameters tied
down by a static atom, so that the changed domain depends only on the goal's shape and can be cached. Things of a kind
that may be exchanged ("six mugs") are put in order, or each of the n! ways to call them would be one goal of its own.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias, Union

REACH_ACTION = "reach-the-goal"
_REACHED = "goal-is-reached"
_NAMED = "goal-names"
_BEFORE = "goal-order"

REQUIREMENTS = (
    ":strips :typing :negative-preconditions :equality :disjunctive-preconditions "
    ":existential-preconditions :universal-preconditions :action-costs"
)

Expression: TypeAlias = Union[str, list["Expression"]]  # noqa: UP007 (a name in quotes cannot stand beside |)

_TOKEN = re.compile(r"[()]|[^\s()]+")
_BRACKET = re.compile(r"[()]")
_COMMENT = re.compile(r";[^\n]*")


@dataclass(frozen=True)
class CompiledTask:
    """Texts for an engine; ``artificial`` tells whether plans end with the action that stands for the goal."""

    domain: str
    problem: str
    artificial: bool


class PddlTextError(ValueError):
    """A PDDL text has no such section, or its brackets do not match."""


def compile_task(domain: str, problem: str, always: bool = False) -> CompiledTask:
    """Return the texts with an existential goal turned into an action; others are left as they are.

    Args:
        domain, problem: PDDL texts.
        always: turn a conjunction of literals into an action, too.

    Raises:
        PddlTextError: if a text has no brackets where they must be, or the problem has no goal.
    """
    problem = _COMMENT.sub("", problem)
    start, end = _section(problem, ":goal")
    goal = parse_expression(problem[start:end])
    if not isinstance(goal, list) or len(goal) != 2:
        raise PddlTextError("the problem's (:goal ...) must hold one condition")
    body = _Body()
    if not (always or _quantified(goal[1])) or not body.take(goal[1]):
        return CompiledTask(_with_requirements(domain), problem, False)
    ordered = body.order()
    shape = body.action()
    atoms = " ".join(f"({_NAMED}{number} {name})" for number, name in enumerate(body.named, start=1))
    if ordered:
        objects = _objects(domain, problem)
        atoms += "".join(f" ({_BEFORE} {a} {b})" for a, b in itertools.combinations(objects, 2))
    problem = f"{problem[:start]}(:goal ({_REACHED})){problem[end:]}"
    _, init_end = _section(problem, ":init")
    problem = f"{problem[: init_end - 1]} {atoms}{problem[init_end - 1 :]}"
    return CompiledTask(_with_goal_action(domain, shape, len(body.named), ordered), problem, True)


def parse_expression(text: str) -> Expression:
    """Return one s-expression as nested lists of tokens.

    Raises:
        PddlTextError: if brackets do not match.
    """
    top: list[Expression] = []
    stack = [top]
    for token in _TOKEN.findall(text.lower()):
        if token == "(":
            top = []
            stack.append(top)
        elif token == ")":
            if len(stack) == 1:
                raise PddlTextError("a closing bracket too many")
            done = stack.pop()
            top = stack[-1]
            top.append(done)
        else:
            top.append(token)
    if len(stack) != 1 or len(stack[0]) != 1:
        raise PddlTextError("the brackets do not match")
    return stack[0][0]


def write_expression(expression: Expression) -> str:
    """Return an s-expression as text."""
    return expression if isinstance(expression, str) else f"({' '.join(map(write_expression, expression))})"


def _section(text: str, keyword: str) -> tuple[int, int]:
    """Return where the section ``(keyword ...)`` starts and ends."""
    match = re.search(rf"\(\s*{keyword}(?=[\s()])", text, re.IGNORECASE)
    if match is None:
        raise PddlTextError(f"the text has no ({keyword} ...)")
    depth = 0
    for bracket in _BRACKET.finditer(text, match.start()):
        depth += 1 if bracket.group() == "(" else -1
        if depth == 0:
            return match.start(), bracket.end()
    raise PddlTextError(f"({keyword} ...) is never closed")


def _quantified(expression: Expression) -> bool:
    return isinstance(expression, list) and (
        expression[:1] == ["exists"] or any(_quantified(part) for part in expression)
    )


@dataclass
class _Body:
    """A goal as the parameters and literals of an action."""

    parameters: list[tuple[str, str]] = field(default_factory=list)
    literals: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)

    def take(self, expression: Expression, scope: dict[str, str] | None = None) -> bool:
        """Add a condition; False if it is not made of exists, and, and literals."""
        scope = scope or {}
        if not isinstance(expression, list) or not expression:
            return False
        head = expression[0]
        if head == "and":
            return all(self.take(part, scope) for part in expression[1:])
        if head == "exists" and len(expression) == 3 and isinstance(expression[1], list):
            return self.take(expression[2], {**scope, **self._declare(expression[1])})
        return self._literal(expression, scope)

    def _declare(self, variables: list[Expression]) -> dict[str, str]:
        scope: dict[str, str] = {}
        waiting: list[str] = []
        tokens = [token for token in variables if isinstance(token, str)]
        for position, token in enumerate(tokens):
            if token == "-" or (position and tokens[position - 1] == "-"):
                if token != "-":
                    self.parameters.extend((scope[name], token) for name in waiting)
                    waiting = []
                continue
            # one variable name may be used by several quantifiers
            scope[token] = f"?g{len(self.parameters) + len(waiting) + 1}"
            waiting.append(token)
        self.parameters.extend((scope[name], "object") for name in waiting)
        return scope

    def _literal(self, expression: list[Expression], scope: dict[str, str]) -> bool:
        atom = expression
        negative = expression[0] == "not"
        if negative:
            if len(expression) != 2 or not isinstance(expression[1], list):
                return False
            atom = expression[1]
        tokens = [token for token in atom if isinstance(token, str)]
        if len(tokens) != len(atom) or not tokens or tokens[0] in ("not", "and", "or", "exists", "forall", "imply"):
            return False
        text = f"({' '.join((tokens[0], *(self._argument(token, scope) for token in tokens[1:])))})"
        self.literals.append(f"(not {text})" if negative else text)
        return True

    def _argument(self, token: str, scope: dict[str, str]) -> str:
        if token.startswith("?"):
            return scope.get(token, token)
        if token not in self.named:
            self.named.append(token)
        return f"?n{self.named.index(token) + 1}"

    def order(self) -> bool:
        """Put variables that may be exchanged in the order of the objects; return whether there are any.

        Two of a kind are left as they are: one goal more costs less than the order.
        """
        found = False
        types = dict(self.parameters)
        same = {tuple(sorted(pair)) for literal in self.literals if (pair := _different(literal))}
        groups: list[list[str]] = []
        for name, of in self.parameters:
            for group in groups:
                both = tuple(sorted((group[-1], name)))
                if types[group[-1]] == of and both in same and self._exchangeable(group[-1], name):
                    group.append(name)
                    break
            else:
                groups.append([name])
        for group in groups:
            if len(group) > 2:
                found = True
                pairs = {tuple(sorted(pair)) for pair in itertools.combinations(group, 2)}
                self.literals = [
                    literal for literal in self.literals if tuple(sorted(_different(literal) or ())) not in pairs
                ]
                self.literals += [f"({_BEFORE} {a} {b})" for a, b in itertools.combinations(group, 2)]
        return found

    def _exchangeable(self, first: str, second: str) -> bool:
        def canonical(literal: str) -> str:
            pair = _different(literal)
            return f"(not (= {' '.join(sorted(pair))}))" if pair else literal

        swap = {first: second, second: first}
        swapped = {
            canonical(re.sub(r"\?\w+", lambda match: swap.get(match.group(), match.group()), literal))
            for literal in self.literals
        }
        return swapped == {canonical(literal) for literal in self.literals}

    def action(self) -> str:
        """Return the action as PDDL."""
        parameters = [*self.parameters, *((f"?n{number + 1}", "object") for number in range(len(self.named)))]
        ties = [f"({_NAMED}{number + 1} ?n{number + 1})" for number in range(len(self.named))]
        return (
            f"(:action {REACH_ACTION} :parameters ({' '.join(f'{name} - {of}' for name, of in parameters)}) "
            f":precondition (and {' '.join(ties + self.literals)}) "
            f":effect (and ({_REACHED}) (increase (total-cost) 0)))"
        )


def _different(literal: str) -> tuple[str, str] | None:
    """Return the two variables that a literal says are different, or None if it says something else."""
    match = re.fullmatch(r"\(not \(= (\?g\d+) (\?g\d+)\)\)", literal)
    return (match.group(1), match.group(2)) if match else None


def _objects(domain: str, problem: str) -> list[str]:
    """Return the names of all objects of a problem and the constants of its domain, each once."""
    names: dict[str, None] = {}
    for text, keyword in ((domain, ":constants"), (problem, ":objects")):
        try:
            start, end = _section(text, keyword)
        except PddlTextError:
            continue
        expression = parse_expression(text[start:end])
        tokens = [token for token in expression[1:] if isinstance(token, str)]
        names |= {
            token: None
            for position, token in enumerate(tokens)
            if token != "-" and not (position and tokens[position - 1] == "-")
        }
    return list(names)


@lru_cache(maxsize=64)
def _with_requirements(domain: str) -> str:
    domain = _COMMENT.sub("", domain)
    try:
        start, end = _section(domain, ":requirements")
    except PddlTextError:
        start = end = _section(domain, "domain")[1]
    return f"{domain[:start]}(:requirements {REQUIREMENTS}){domain[end:]}"


@lru_cache(maxsize=64)
def _with_goal_action(domain: str, action: str, named: int, ordered: bool) -> str:
    domain = _with_requirements(domain)
    _, end = _section(domain, ":predicates")
    atoms = " ".join([f"({_REACHED})", *(f"({_NAMED}{number + 1} ?x - object)" for number in range(named))])
    if ordered:
        atoms += f" ({_BEFORE} ?x - object ?y - object)"
    domain = f"{domain[: end - 1]} {atoms}{domain[end - 1 :]}"
    last = domain.rindex(")")
    costs = "total-cost" in domain
    if not costs:
        action = action.replace(" (increase (total-cost) 0)", "")
    return f"{domain[:last]}{action}{domain[last:]}"
