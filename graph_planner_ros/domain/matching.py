"""Finds the bindings of typed variables under which literals hold in a symbolic state.

Positive literals are joined smallest first over an index of the state's atoms, so that only few of the many
combinations of things are ever looked at. The index is built once a state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import Equality, Literal
from graph_planner_ros.domain.symbols import SymbolicState

_Row = tuple[str, ...]
_INDEX = "_state_index"


class StateIndex:
    """The atoms of a state by predicate and by argument, and its objects by type."""

    def __init__(self, domain: Domain, state: SymbolicState) -> None:
        self.domain = domain
        self.rows: dict[str, set[_Row]] = {}
        for atom in state.atoms:
            self.rows.setdefault(atom.predicate, set()).add(atom.arguments)
        self._by_argument: dict[tuple[str, int], dict[str, list[_Row]]] = {}
        self._types: dict[str, str] = {**domain.constants, **state.objects}
        self._by_type: dict[str, frozenset[str]] = {}

    def of_type(self, type_name: str) -> frozenset[str]:
        """Return all things of a type or its subtypes."""
        known = self._by_type.get(type_name)
        if known is None:
            ancestors = self.domain.ancestors
            known = frozenset(name for name, of in self._types.items() if type_name in ancestors.get(of, ()))
            self._by_type[type_name] = known
        return known

    def holds(self, predicate: str, row: _Row) -> bool:
        """Return whether the ground atom is true."""
        rows = self.rows.get(predicate)
        return rows is not None and row in rows

    def matching(self, predicate: str, pattern: Sequence[str | None]) -> Iterable[_Row]:
        """Return rows of a predicate that may fit a pattern (None: anything): those that fit its rarest argument."""
        best: Iterable[_Row] = self.rows.get(predicate, ())
        size = len(self.rows.get(predicate, ()))
        for position, value in enumerate(pattern):
            if value is not None and size > 1:
                rows = self._column(predicate, position).get(value, [])
                if len(rows) < size:
                    best, size = rows, len(rows)
        return best

    def count(self, predicate: str, pattern: Sequence[str | None]) -> int:
        """Return an upper bound of the number of rows that fit a pattern."""
        rows = self.matching(predicate, pattern)
        return len(rows)  # type: ignore[arg-type]

    def _column(self, predicate: str, position: int) -> dict[str, list[_Row]]:
        key = (predicate, position)
        column = self._by_argument.get(key)
        if column is None:
            column = {}
            for row in self.rows.get(predicate, ()):
                column.setdefault(row[position], []).append(row)
            self._by_argument[key] = column
        return column


def index_of(domain: Domain, state: SymbolicState) -> StateIndex:
    """Return the index of a state, built at its first use and kept with it (states are immutable)."""
    index: StateIndex | None = state.__dict__.get(_INDEX)
    if index is None or index.domain is not domain:
        index = StateIndex(domain, state)
        state.__dict__[_INDEX] = index
    return index


def bindings(
    index: StateIndex,
    variables: Mapping[str, str],
    literals: Iterable[Literal],
    equalities: Iterable[Equality] = (),
    fixed: Mapping[str, str] | None = None,
) -> Iterator[dict[str, str]]:
    """Yield every binding of ``variables`` (name -> type) under which all literals and equalities hold.

    Args:
        index: of the state.
        variables: what is to be bound; other arguments of the literals are constants.
        literals, equalities: the conditions; a negative literal holds where the atom is not true.
        fixed: variables that are bound already (their types are checked).
    """
    binding: dict[str, str] = {}
    for name, value in (fixed or {}).items():
        if value not in index.of_type(variables[name]):
            return
        binding[name] = value
    positive = [literal for literal in literals if literal.positive]
    checks: list[Literal | Equality] = [literal for literal in literals if not literal.positive]
    checks.extend(equalities)
    yield from _join(index, variables, binding, positive, checks)


def value_of(argument: str, variables: Mapping[str, str], binding: Mapping[str, str]) -> str | None:
    """Return what an argument stands for: a constant itself, a variable its value, None while it has none."""
    return binding.get(argument) if argument in variables else argument


def _join(
    index: StateIndex,
    variables: Mapping[str, str],
    binding: dict[str, str],
    positive: list[Literal],
    checks: list[Literal | Equality],
) -> Iterator[dict[str, str]]:
    if not all(_passes(index, variables, binding, check) for check in checks):
        return
    if not positive:
        yield from _enumerate(index, variables, binding, checks)
        return
    patterns = [[value_of(argument, variables, binding) for argument in literal.arguments] for literal in positive]
    counts = [index.count(literal.predicate, pattern) for literal, pattern in zip(positive, patterns, strict=True)]
    chosen = min(range(len(positive)), key=counts.__getitem__)
    if counts[chosen] == 0:
        return
    literal, rest = positive[chosen], positive[:chosen] + positive[chosen + 1 :]
    for row in index.matching(literal.predicate, patterns[chosen]):
        extended = _unify(index, variables, binding, literal, row)
        if extended is not None:
            yield from _join(index, variables, extended, rest, checks)


def _unify(
    index: StateIndex, variables: Mapping[str, str], binding: dict[str, str], literal: Literal, row: _Row
) -> dict[str, str] | None:
    extended = dict(binding)
    for argument, value in zip(literal.arguments, row, strict=True):
        if argument not in variables:
            if argument != value:
                return None
        elif argument in extended:
            if extended[argument] != value:
                return None
        elif value in index.of_type(variables[argument]):
            extended[argument] = value
        else:
            return None
    return extended


def _enumerate(
    index: StateIndex, variables: Mapping[str, str], binding: dict[str, str], checks: list[Literal | Equality]
) -> Iterator[dict[str, str]]:
    """Bind the variables that no positive literal binds to everything of their type."""
    free = next((name for name in variables if name not in binding), None)
    if free is None:
        yield binding
        return
    for value in index.of_type(variables[free]):
        extended = {**binding, free: value}
        if all(_passes(index, variables, extended, check) for check in checks):
            yield from _enumerate(index, variables, extended, checks)


def _passes(
    index: StateIndex, variables: Mapping[str, str], binding: Mapping[str, str], check: Literal | Equality
) -> bool:
    """Return False if a negative literal or an equality is violated; what is not fully bound yet passes."""
    if isinstance(check, Equality):
        left, right = (value_of(side, variables, binding) for side in (check.left, check.right))
        return left is None or right is None or (left == right) == check.positive
    row = tuple(value_of(argument, variables, binding) for argument in check.arguments)
    return None in row or not index.holds(check.predicate, row)  # type: ignore[arg-type]
