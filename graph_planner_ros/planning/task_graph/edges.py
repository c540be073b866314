"""When one subtask can come after another, judged on lifted actions: no state is known, only what each needs and does.

An edge is missing only if the second subtask can never be carried out directly after the first, whatever both are
about and whatever the executor does in between; so no plan that can be executed uses a missing edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import ActionSchema, Literal
from graph_planner_ros.planning.task_graph.subtasks import implied_parameters


def obstacle_between(domain: Domain, source: str, target: str) -> str:
    """Return why ``target`` can never follow ``source``; empty if it can.

    Only what holds of everything counts: a predicate without arguments, what excludes it (``none_of``), and the one
    thing of which something holds (what is held). An effect on one of many things never stands in the way, since the
    next subtask may be about another. What an implied action can repair is none.
    """
    first, second = domain.action(source), domain.action(target)
    exclusive = _exclusive(domain)
    for need in second.preconditions:
        if _repaired(domain, need):
            continue
        for truth in _truths(first):
            if not need.arguments and truth.predicate == need.predicate and truth.positive != need.positive:
                return _contradiction(first, truth, second, need)
            if not need.positive or not truth.positive:
                continue
            if exclusive.get(truth.predicate) == need.predicate or exclusive.get(need.predicate) == truth.predicate:
                return _contradiction(first, truth, second, need)
            if truth.predicate == need.predicate and truth.predicate in _single(domain):
                wrong = _never_the_same(domain, first, truth, second, need)
                if wrong:
                    return wrong
    return ""


def help_of(domain: Domain, source: str, target: str) -> str:
    """Return what of the effects of one subtask the other needs of the same things; empty if nothing."""
    first, second = domain.action(source), domain.action(target)
    for need in second.preconditions:
        for term in first.added if need.positive else first.deleted:
            if term.predicate != need.predicate:
                continue
            binding = _unified(domain, first, term.arguments, second, need.arguments)
            if binding is not None and not _contradicted(first, second, binding):
                return f"{source} brings about {_text(need)}, which {target} needs"
    return ""


def may_start(domain: Domain, name: str) -> bool:
    """Return whether a subtask can be the first while nothing is held, and so on for what ``none_of`` names."""
    exclusive = _exclusive(domain)
    return not any(
        literal.positive and literal.predicate in exclusive.values() and not _repaired(domain, literal)
        for literal in domain.action(name).preconditions
    )


def required_facts(domain: Domain, action: str, parameter: str) -> tuple[str, ...]:
    """Return the static facts that an action needs of one of its things alone, e.g. ``heats`` of heat's place."""
    return tuple(
        literal.predicate
        for literal in domain.action(action).preconditions
        if literal.positive and literal.arguments == (parameter,) and literal.predicate in domain.static_predicates
    )


def _truths(action: ActionSchema) -> list[Literal]:
    """Return what is surely so after an action: its effects, and what it needs and leaves alone."""
    added = [Literal(term.predicate, term.arguments) for term in action.added]
    changed = {(term.predicate, term.arguments) for term in (*action.added, *action.deleted)}
    deleted = [
        Literal(term.predicate, term.arguments, False)
        for term in action.deleted
        if Literal(term.predicate, term.arguments) not in added
    ]
    # two parameters may be the same thing, so only what no effect can touch is kept for sure
    touched = {term.predicate for term in action.deleted}
    kept = [
        literal
        for literal in action.preconditions
        if (literal.predicate, literal.arguments) not in changed
        and (not literal.positive or literal.predicate not in touched)
    ]
    return [*added, *deleted, *kept]


@lru_cache(maxsize=32)
def _exclusive(domain: Domain) -> Mapping[str, str]:
    """Return predicate without arguments -> the predicate of which nothing is true while it holds, and only then."""
    return {name: domain.relations[relation].predicate for name, relation in domain.none_of.items()}


@lru_cache(maxsize=32)
def _single(domain: Domain) -> frozenset[str]:
    """Return predicates that are true of at most one thing, and that no implied action changes.

    Every action that makes one true needs the predicate that says that it is true of nothing, and ends that.
    """
    found = set()
    for empty, predicate in _exclusive(domain).items():
        makers = [a for a in domain.actions.values() if any(term.predicate == predicate for term in a.added)]
        guarded = all(
            any(need.predicate == empty and need.positive for need in maker.preconditions)
            and any(term.predicate == empty for term in maker.deleted)
            for maker in makers
        )
        changed = {t.predicate for name in implied_parameters(domain) for t in _effects(domain.actions[name])}
        if guarded and predicate not in changed and domain.predicates[predicate].arity == 1:
            found.add(predicate)
    return frozenset(found)


def _effects(action: ActionSchema) -> Iterable[Literal]:
    yield from (Literal(term.predicate, term.arguments) for term in action.added)
    yield from (Literal(term.predicate, term.arguments, False) for term in action.deleted)


def _never_the_same(domain: Domain, first: ActionSchema, truth: Literal, second: ActionSchema, need: Literal) -> str:
    """Return why the one thing that is left by one action cannot be the one that the other needs; empty if it can."""
    left, right = truth.arguments[0], need.arguments[0]
    if _alike(domain, first, left, second, right):
        return ""
    kinds = [
        " and ".join(required_facts(domain, action.name, name)) or dict(action.parameters).get(name, name)
        for action, name in ((first, left), (second, right))
    ]
    return (
        f"after {first.name} {_text(truth)} holds of a thing that is {kinds[0]}, and {second.name} needs {_text(need)} "
        f"of one that is {kinds[1]}; no class is both"
    )


def _alike(domain: Domain, first: ActionSchema, left: str, second: ActionSchema, right: str) -> bool:
    """Return whether some class of things can be both of two arguments of actions."""
    of, other = (
        dict(action.parameters).get(name) or domain.constants.get(name)
        for action, name in ((first, left), (second, right))
    )
    if of is None or other is None or not (domain.is_a(of, other) or domain.is_a(other, of)):
        return False
    if domain.class_predicate is None or left in domain.constants or right in domain.constants:
        return left == right or not (left in domain.constants and right in domain.constants)
    facts = {*required_facts(domain, first.name, left), *required_facts(domain, second.name, right)}
    return any(
        domain.is_a(entry.type_name, of) and domain.is_a(entry.type_name, other) and facts <= set(entry.facts)
        for entry in domain.classes.values()
    )


def _unified(
    domain: Domain, first: ActionSchema, given: tuple[str, ...], second: ActionSchema, needed: tuple[str, ...]
) -> dict[str, str] | None:
    """Return argument of the second -> of the first that is the same thing; None if they cannot be."""
    binding: dict[str, str] = {}
    for left, right in zip(given, needed, strict=True):
        if binding.setdefault(right, left) != left or not _alike(domain, first, left, second, right):
            return None
    return binding


def _contradicted(first: ActionSchema, second: ActionSchema, binding: Mapping[str, str]) -> bool:
    """Return whether what the first leaves contradicts what the second needs of the things that both are about."""
    truths = {(truth.predicate, truth.arguments): truth.positive for truth in _effects(first)}
    truths |= {(term.predicate, term.arguments): True for term in first.added}
    for need in second.preconditions:
        if need.arguments and all(name in binding for name in need.arguments):
            row = tuple(binding[name] for name in need.arguments)
            if truths.get((need.predicate, row), need.positive) != need.positive:
                return True
    return False


def repaired(domain: Domain, predicate: str, positive: bool = True) -> bool:
    """Return whether some action that is implied between subtasks can make a predicate true (false) of something."""
    for name in implied_parameters(domain):
        schema = domain.actions[name]
        if any(term.predicate == predicate for term in (schema.added if positive else schema.deleted)):
            return True
    return False


def _repaired(domain: Domain, need: Literal) -> bool:
    return repaired(domain, need.predicate, need.positive)


def _contradiction(source: ActionSchema, truth: Literal, target: ActionSchema, need: Literal) -> str:
    return f"after {source.name} {_text(truth)} holds, and {target.name} needs {_text(need)}"


def _text(literal: Literal) -> str:
    text = f"{literal.predicate}({', '.join(literal.arguments)})" if literal.arguments else literal.predicate
    return text if literal.positive else f"not {text}"
