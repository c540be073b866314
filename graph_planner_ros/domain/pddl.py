"""Reads a PDDL domain with unified-planning and turns it into plain schemas.

PDDL is case-insensitive, and unified-planning returns everything in lower case. The spelling of the
declarations is kept here beside the lower-case names, so that messages can show `notFilling` and `Robot`.
Two declared names that differ in case only get different PDDL names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graph_planner_ros.domain.names import RESERVED_WORDS
from graph_planner_ros.domain.schema import (
    ActionSchema,
    DomainError,
    Equality,
    Literal,
    Parameter,
    PredicateSchema,
    Term,
)

ROOT_TYPE = "object"
TOTAL_COST = "total-cost"

_COMMENT = re.compile(r";[^\n]*")
_TOKEN = re.compile(r"[()]|[^\s()]+")


@dataclass
class PddlDomain:
    """The content of a PDDL domain file; names in the spelling of their declaration.

    Attributes:
        text: PDDL that planners get. Names in it are those of ``pddl_names``.
        pddl_names: type, predicate, function, action or constant -> its name in ``text``.
    """

    name: str
    text: str
    types: dict[str, str | None] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    predicates: dict[str, PredicateSchema] = field(default_factory=dict)
    functions: dict[str, PredicateSchema] = field(default_factory=dict)
    actions: dict[str, ActionSchema] = field(default_factory=dict)
    pddl_names: dict[str, str] = field(default_factory=dict)


def read_pddl(path: Path, text: str | None = None) -> PddlDomain:
    """Read a domain file.

    Args:
        path: of the file, named in messages. text: its content, if that is not what the file holds.

    Raises:
        DomainError: naming the file and what is wrong with it.
    """
    # unified-planning takes a second to import, so only those who read a domain pay for it
    from unified_planning.exceptions import UPException
    from unified_planning.io import PDDLReader

    content = path.read_text(encoding="utf-8") if text is None else text
    text, spelling = _one_spelling(content, path)
    try:
        problem = PDDLReader().parse_problem_string(text)
    except (UPException, AssertionError, KeyError, ValueError, SyntaxError) as error:
        raise DomainError(f"{path}: not a PDDL domain that unified-planning can read: {error}") from error
    except Exception as error:  # pyparsing raises its own kinds
        raise DomainError(f"{path}: syntax error: {error}") from error
    return _Reader(path, text, spelling).read(problem)


def _declared_names(text: str) -> dict[str, list[str]]:
    """Return the declared names by their lower-case form, each spelling once."""
    tokens = _TOKEN.findall(text)
    declared: dict[str, list[str]] = {}

    def declare(token: str) -> None:
        spellings = declared.setdefault(token.lower(), [])
        if token not in spellings:
            spellings.append(token)

    depth, section, previous = 0, "", ""
    for token in tokens:
        depth += (token == "(") - (token == ")")
        if depth == 2 and token.startswith(":"):
            section = token.lower()
        elif section in (":types", ":constants") and depth == 2 and token not in ("(", ")", "-"):
            if previous != "-" and token.lower() != "either":
                declare(token)
        elif (section in (":predicates", ":functions") and depth == 3 and previous == "(") or (
            section == ":action" and previous.lower() == ":action"
        ):
            declare(token)
        previous = token
    return declared


def _one_spelling(text: str, path: Path) -> tuple[str, dict[str, str]]:
    """Return the text with one lower-case name for each declared name, and name -> spelling of the declaration."""
    text = _COMMENT.sub("", text)
    declared = _declared_names(text)
    names: dict[str, str] = {}
    taken = {token.lower() for token in _TOKEN.findall(text)}
    for lower, spellings in declared.items():
        for number, original in enumerate(spellings, start=1):
            name = lower
            while number > 1 and name in taken:
                name = f"{lower}_{number}"
                number += 1
            taken.add(name)
            names[original] = name

    def replace(match: re.Match[str]) -> str:
        token = match.group()
        if token in names:
            return names[token]
        lower = token.lower()
        if len(declared.get(lower, ())) > 1 and lower not in RESERVED_WORDS:
            raise DomainError(
                f"{path}: {token!r} could be any of {', '.join(declared[lower])}; write it as one of these"
            )
        return lower

    return _TOKEN.sub(replace, text), {name: original for original, name in names.items()}


class _Reader:
    """Turns a unified-planning problem without objects and goals into a `PddlDomain`."""

    def __init__(self, path: Path, text: str, spelling: dict[str, str]) -> None:
        self._path = path
        self._text = text
        self._spelling = spelling

    def _original(self, name: str) -> str:
        return self._spelling.get(name, name)

    def _fail(self, what: str) -> DomainError:
        return DomainError(f"{self._path}: {what}")

    def _parameters(self, signature: Any) -> tuple[Parameter, ...]:
        return tuple(Parameter(p.name, self._original(p.type.name)) for p in signature)

    def read(self, problem: Any) -> PddlDomain:
        domain = PddlDomain(name=problem.name or "", text=self._text)
        domain.types[ROOT_TYPE] = None
        for user_type in problem.user_types:
            name = self._original(user_type.name)
            if name != ROOT_TYPE:
                domain.types[name] = self._original(user_type.father.name) if user_type.father else ROOT_TYPE
        for thing in problem.all_objects:
            domain.constants[self._original(thing.name)] = self._original(thing.type.name)
        for fluent in problem.fluents:
            schema = PredicateSchema(self._original(fluent.name), self._parameters(fluent.signature))
            if fluent.type.is_bool_type():
                domain.predicates[schema.name] = schema
            elif fluent.name != TOTAL_COST:
                domain.functions[schema.name] = schema
        for action in problem.actions:
            schema_ = self._action(action, domain.constants)
            domain.actions[schema_.name] = schema_
        domain.pddl_names = {original: name for name, original in self._spelling.items()}
        domain.pddl_names[ROOT_TYPE] = ROOT_TYPE
        return domain

    def _action(self, action: Any, constants: dict[str, str]) -> ActionSchema:
        name = self._original(action.name)
        literals: list[Literal] = []
        equalities: list[Equality] = []
        for condition in action.preconditions:
            self._condition(name, condition, True, literals, equalities)
        added: list[Term] = []
        deleted: list[Term] = []
        constant, terms = 0.0, []
        for effect in action.effects:
            if effect.is_conditional() or effect.is_forall():
                raise self._fail(f"action {name}: expected unconditional effects, found: {effect}")
            if effect.fluent.fluent().name == TOTAL_COST:
                amount = effect.value
                if not effect.is_increase():
                    raise self._fail(f"action {name}: expected (increase (total-cost) ...), found: {effect}")
                if amount.is_constant():
                    constant += float(amount.constant_value())
                elif amount.is_fluent_exp():
                    terms.append(self._term(name, amount))
                else:
                    raise self._fail(f"action {name}: a cost is expected to be a number or one function, not {amount}")
            elif effect.value.is_bool_constant():
                (added if effect.value.is_true() else deleted).append(self._term(name, effect.fluent))
            else:
                raise self._fail(f"action {name}: expected an effect that sets or clears a predicate, found: {effect}")
        parameters = self._parameters(action.parameters)
        for parameter in parameters:
            if parameter.name in constants:
                raise self._fail(f"action {name}: the parameter ?{parameter.name} has the name of a constant")
        return ActionSchema(
            name=name,
            parameters=parameters,
            preconditions=tuple(literals),
            equalities=tuple(equalities),
            added=tuple(added),
            deleted=tuple(deleted),
            cost=constant,
            cost_terms=tuple(terms),
        )

    def _condition(
        self, action: str, node: Any, positive: bool, literals: list[Literal], equalities: list[Equality]
    ) -> None:
        if node.is_not():
            self._condition(action, node.arg(0), not positive, literals, equalities)
        elif node.is_and() and positive:
            for part in node.args:
                self._condition(action, part, True, literals, equalities)
        elif node.is_fluent_exp():
            term = self._term(action, node)
            literals.append(Literal(term.predicate, term.arguments, positive))
        elif node.is_equals():
            left, right = (self._argument(action, argument) for argument in node.args)
            equalities.append(Equality(left, right, positive))
        elif node.is_true() and positive:
            return
        else:
            raise self._fail(
                f"action {action}: expected a precondition made of and, not, = and predicates, found: {node}"
            )

    def _term(self, action: str, node: Any) -> Term:
        arguments = tuple(self._argument(action, argument) for argument in node.args)
        return Term(self._original(node.fluent().name), arguments)

    def _argument(self, action: str, node: Any) -> str:
        if node.is_parameter_exp():
            return str(node.parameter().name)
        if node.is_object_exp():
            return self._original(node.object().name)
        raise self._fail(f"action {action}: expected a parameter or a constant, found: {node}")
