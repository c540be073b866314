"""What matters for a goal: the actions, predicates and things that can help, found backwards from the goal.

Planners search much faster on what is left. Leaving out actions and predicates is sound (what is left out can
reach nothing that the goal or another relevant action asks for), but two rules below are only plausible, so a
caller that finds no plan must try again with everything (`everything`).

This works on types and before anything is supposed, as it says what must be supposed; `engines.relevance` works on the
things of a written problem, and says which of them to search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import ActionSchema, Literal, Term
from graph_planner_ros.domain.symbols import Goal, SymbolicState

_Types = frozenset[str]
_Need = dict[tuple[str, bool], tuple[_Types, ...]]


@dataclass(frozen=True)
class Relevance:
    """What can help to reach a goal.

    Attributes:
        actions: names of the actions that can help.
        predicates: the predicates that those actions or the goal ask for.
        capabilities: for each parameter of these actions that stands for a hypothesisable item, the static unary
            facts that it needs, e.g. ``{cuts}``.
    """

    actions: frozenset[str]
    predicates: frozenset[str]
    capabilities: tuple[frozenset[str], ...] = ()


def everything(domain: Domain) -> Relevance:
    """Return the relevance that leaves nothing out."""
    schemas = domain.planned_actions.values()
    return Relevance(
        frozenset(domain.planned_actions), frozenset(domain.predicates), _capabilities(domain, list(schemas))
    )


def relevance(domain: Domain, state: SymbolicState, goal: Goal) -> Relevance:
    """Find what can help to reach ``goal`` from ``state`` by chaining backwards over types.

    Args:
        domain: whose actions are chained.
        state: only which predicates are true of anything, the predicates that link items in it, and the types of
            what the goal names are used, so that the answer is the same for many states and is remembered.
        goal: its literals start the chain.
    """
    named = {name for literal in goal.literals for name in literal.arguments if name in state.objects}
    types = frozenset((name, state.objects[name]) for name in named)
    return _relevance(domain, goal, types, _facts(state), _links(domain, state))


def _facts(state: SymbolicState) -> frozenset[str]:
    return frozenset(atom.predicate for atom in state.atoms)


def _links(domain: Domain, state: SymbolicState) -> frozenset[str]:
    """Return predicates that tie two items together in the state, e.g. an egg in a bowl."""
    if domain.hypotheses is None:
        return frozenset()
    items = {name for name, of in state.objects.items() if domain.is_a(of, domain.hypotheses.item_type)}
    return frozenset(
        atom.predicate for atom in state.atoms if len(atom.arguments) > 1 and items.issuperset(atom.arguments)
    )


@lru_cache(maxsize=256)
def _relevance(
    domain: Domain, goal: Goal, named: frozenset[tuple[str, str]], facts: frozenset[str], links: frozenset[str]
) -> Relevance:
    chain = _Chain(domain, facts, links)
    types = {**dict(named), **{variable.name: variable.type_name for variable in goal.variables}}
    for literal in goal.literals:
        schema = domain.predicates[literal.predicate]
        row = tuple(
            chain.leaves(types.get(argument, parameter.type_name))
            for argument, parameter in zip(literal.arguments, schema.parameters, strict=True)
        )
        chain.request(literal.predicate, literal.positive)
        chain.need(literal.predicate, literal.positive, row)
    chain.run()
    relevant = [domain.actions[name] for name in chain.actions]
    predicates = {literal.predicate for schema in relevant for literal in schema.preconditions}
    predicates |= {literal.predicate for literal in goal.literals}
    return Relevance(frozenset(chain.actions), frozenset(predicates), _capabilities(domain, relevant))


class _Chain:
    """The fix point of: what is needed, which actions achieve it, what those need."""

    def __init__(self, domain: Domain, facts: frozenset[str], links: frozenset[str]) -> None:
        self._domain = domain
        self._item = domain.hypotheses.item_type if domain.hypotheses else None
        self._facts = facts
        self._linked = links
        self._needs: _Need = {}
        self._given: _Need = {}
        self._changed = False
        self._on_request = frozenset(domain.raw.get("on_request") or ())
        self._requested: set[tuple[str, bool]] = set()
        self.actions: set[str] = set()

    def leaves(self, type_name: str) -> _Types:
        """Return a type with everything below and above it that a thing of the type can be."""
        return frozenset(name for name in self._domain.types if self._domain.is_a(name, type_name))

    def request(self, predicate: str, positive: bool) -> None:
        """Note that somebody asks for such a literal: only then actions help that the domain lists as `on_request`."""
        self._requested.add((predicate, positive))

    def need(self, predicate: str, positive: bool, row: tuple[_Types, ...]) -> None:
        """Note that a literal over things of these types is needed."""
        if predicate in self._domain.static_predicates:
            return
        if (not row or not positive) and self._stays(predicate, positive):
            self._given[predicate, positive] = row
            return
        known = self._needs.get((predicate, positive))
        merged = row if known is None else tuple(old | new for old, new in zip(known, row, strict=True))
        if merged != known:
            self._needs[predicate, positive] = merged
            self._changed = True

    def _stays(self, predicate: str, positive: bool) -> bool:
        """Return whether a fact without arguments is as needed now and no relevant action undoes it.

        So is one with arguments that is needed to be false and is true of nothing: where nothing is locked, no key
        is needed.
        """
        if (predicate in self._facts) != positive:
            return False
        schemas = (self._domain.actions[name] for name in self.actions)
        return not any(
            term.predicate == predicate for schema in schemas for term in (schema.deleted if positive else schema.added)
        )

    def run(self) -> None:
        """Chain until nothing new is needed."""
        self._changed = True
        while self._changed:
            self._changed = False
            for (predicate, positive), row in list(self._given.items()):
                self.need(predicate, positive, row)
            for (predicate, positive), row in list(self._needs.items()):
                for schema, bound in self._achievers(predicate, positive, row):
                    self.actions.add(schema.name)
                    if schema.name in self._on_request:
                        self._requested.update((item.predicate, item.positive) for item in schema.preconditions)
                    self._need_preconditions(schema, bound)

    def _achievers(
        self, predicate: str, positive: bool, row: tuple[_Types, ...]
    ) -> list[tuple[ActionSchema, dict[str, _Types]]]:
        found = [
            (self._strangers(schema, term), schema, bound)
            for schema in self._domain.planned_actions.values()
            for term in (schema.added if positive else schema.deleted)
            if term.predicate == predicate
            and (schema.name not in self._on_request or (predicate, positive) in self._requested)
            and (bound := self._bind(schema, term, row)) is not None
        ]
        fewest = min((count for count, _, _ in found), default=0)
        # plausible, not certain: whoever can do it without bringing in yet another item is enough
        return [(schema, bound) for count, schema, bound in found if count == fewest or count == 0]

    def _bind(self, schema: ActionSchema, term: Term, row: tuple[_Types, ...]) -> dict[str, _Types] | None:
        """Return the types of the action's parameters if the term is to have arguments of the needed types."""
        bound = {parameter.name: self.leaves(parameter.type_name) for parameter in schema.parameters}
        for argument, wanted in zip(term.arguments, row, strict=True):
            if argument in bound:
                bound[argument] = bound[argument] & wanted
                if not bound[argument]:
                    return None
        return bound

    def _strangers(self, schema: ActionSchema, term: Term) -> int:
        """Count the items of an action that neither its wanted effect, nor a capability, nor a known link names."""
        if self._item is None:
            return 0
        count = 0
        for parameter in schema.parameters:
            if parameter.name in term.arguments or not self._domain.is_a(parameter.type_name, self._item):
                continue
            about = [literal for literal in schema.preconditions if parameter.name in literal.arguments]
            capable = any(self._is_capability(literal) for literal in about)
            linked = any(literal.positive and literal.predicate in self._linked for literal in about)
            if not (capable or (linked and self._ties(schema, about))):
                count += 1
        return count

    def _ties(self, schema: ActionSchema, about: list[Literal]) -> bool:
        items = {p.name for p in schema.parameters if self._item and self._domain.is_a(p.type_name, self._item)}
        return any(len(literal.arguments) > 1 and items.issuperset(literal.arguments) for literal in about)

    def _is_capability(self, literal: Literal) -> bool:
        return literal.positive and len(literal.arguments) == 1 and literal.predicate in self._domain.static_predicates

    def _need_preconditions(self, schema: ActionSchema, bound: Mapping[str, _Types]) -> None:
        for literal in schema.preconditions:
            parameters = self._domain.predicates[literal.predicate].parameters
            row = tuple(
                bound.get(argument, self.leaves(parameter.type_name))
                for argument, parameter in zip(literal.arguments, parameters, strict=True)
            )
            self.need(literal.predicate, literal.positive, row)


def _capabilities(domain: Domain, schemas: list[ActionSchema]) -> tuple[frozenset[str], ...]:
    if domain.hypotheses is None:
        return ()
    found = {facts for schema in schemas for facts in _static_facts(domain, schema, domain.hypotheses.item_type)}
    return tuple(sorted(found, key=sorted))


def _static_facts(domain: Domain, schema: ActionSchema, item_type: str) -> Iterator[frozenset[str]]:
    """Yield the static unary facts of every parameter of an action that stands for an item."""
    for parameter in schema.parameters:
        if domain.is_a(parameter.type_name, item_type):
            facts = frozenset(
                literal.predicate
                for literal in schema.preconditions
                if literal.positive
                and literal.arguments == (parameter.name,)
                and literal.predicate in domain.static_predicates
            )
            if facts:
                yield facts


def relevant_things(domain: Domain, state: SymbolicState, goal: Goal, found: Relevance) -> frozenset[str]:
    """Return the things of the state that a problem for this goal needs.

    Everything that is not an item stays. Items stay if the goal may speak of them, if they have a capability
    that no item of the goal has, if the robot holds them, or if they are tied to such an item (the bowl that it is
    in, the egg that is in it).
    """
    if domain.hypotheses is None:
        return frozenset(state.objects)
    item = domain.hypotheses.item_type
    items = {name for name, of in state.objects.items() if domain.is_a(of, item)}
    facts: dict[str, set[str]] = {name: set() for name in items}
    for atom in state.atoms:
        if len(atom.arguments) == 1 and atom.arguments[0] in facts:
            facts[atom.arguments[0]].add(atom.predicate)
    named = _named_by(domain, state, goal)
    kept = items & named
    kept |= _with_robot(domain, state, items)
    for needed in found.capabilities:
        if not any(needed <= facts[name] for name in kept):
            kept |= {name for name in items if needed <= facts[name]}
    kept = _tied(state, items, kept)
    empty = _empty_places(domain, state, found, items - kept) - named
    return frozenset(kept | (set(state.objects) - items - empty))


def _empty_places(domain: Domain, state: SymbolicState, found: Relevance, gone: set[str]) -> set[str]:
    """Return places of which nothing is said that anybody asks for, and so where nothing can be done.

    Args:
        gone: items that are left out; what is said of them does not count.
    """
    schema = domain.predicates.get(domain.location or "")
    if schema is None or schema.arity != 1:
        return set()
    said = {
        name
        for atom in state.atoms
        if atom.predicate in found.predicates and gone.isdisjoint(atom.arguments)
        for name in atom.arguments
    }
    places = {name for name, of in state.objects.items() if domain.is_a(of, schema.parameters[0].type_name)}
    return places - said


def _named_by(domain: Domain, state: SymbolicState, goal: Goal) -> set[str]:
    """Return the things that the goal names or that its variables may stand for."""
    named = {name for literal in goal.literals for name in literal.arguments}
    return named.union(*(eligible(domain, state, goal, variable.name) for variable in goal.variables))


def eligible(domain: Domain, state: SymbolicState, goal: Goal, variable_name: str) -> frozenset[str]:
    """Return the things of a state that a goal variable may stand for."""
    variable = next(variable for variable in goal.variables if variable.name == variable_name)
    of_type = {name for name, of in state.objects.items() if domain.is_a(of, variable.type_name)}
    if variable.instance is not None:
        return frozenset(of_type & {variable.instance})
    if variable.class_name is not None:
        of_type &= things_of(domain, state, variable.class_name)
    return frozenset(of_type)


def things_of(domain: Domain, state: SymbolicState, class_name: str) -> frozenset[str]:
    """Return the things of a class that are in a state."""
    return frozenset(
        atom.arguments[0]
        for atom in state.atoms
        if atom.predicate == domain.class_predicate and atom.arguments[1] == class_name
    )


def lacking_facts(domain: Domain, state: SymbolicState, goal: Goal) -> tuple[str, ...]:
    """Return static facts that relevant actions ask of one of their parameters and that nothing in the state has."""
    present = {atom.predicate for atom in state.atoms if len(atom.arguments) == 1}
    asked = {
        literal.predicate
        for name in relevance(domain, state, goal).actions
        for literal in domain.actions[name].preconditions
        if literal.positive and len(literal.arguments) == 1 and literal.predicate in domain.static_predicates
    }
    return tuple(sorted(asked - present))


def _with_robot(domain: Domain, state: SymbolicState, items: set[str]) -> set[str]:
    """Return items that have a relation to the robot: what it holds."""
    relations = {schema.predicate for schema in domain.relations.values() if len(schema.arguments) == 1}
    return {
        atom.arguments[0]
        for atom in state.atoms
        if atom.predicate in relations and len(atom.arguments) == 1 and atom.arguments[0] in items
    }


def _tied(state: SymbolicState, items: set[str], kept: set[str]) -> set[str]:
    links = [atom.arguments for atom in state.atoms if len(atom.arguments) > 1 and items.issuperset(atom.arguments)]
    kept = set(kept)
    grown = True
    while grown:
        grown = False
        for row in links:
            if not kept.issuperset(row) and kept.intersection(row):
                kept |= set(row)
                grown = True
    return kept
