"""What nobody has seen yet: placeholders, the places where they may be, and what looking there costs (MemPlan 3.2)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.symbols import Atom, SymbolicState
from graph_planner_ros.planning.ways import Ways

PLACEHOLDER_PREFIX = "unseen_"


@dataclass(frozen=True)
class Placeholder:
    """A thing that a goal or an action needs and nobody has seen, e.g. ``unseen_tomato_1``.

    Attributes:
        name: stands for it in plans. class_name: what it is.
        instance: the instance that it must be, if the goal names one whose place is not known; else None.
    """

    name: str
    class_name: str
    instance: str | None = None


@dataclass(frozen=True)
class Hypotheses:
    """The placeholders of one problem.

    Attributes:
        placeholders: see `Placeholder`.
        candidates: (placeholder, place) -> cost of the hypothesis that it is there.
        refuted: pairs (placeholder, place) that are excluded.
        advised: candidates that are cheaper than without advice from experience.
    """

    placeholders: tuple[Placeholder, ...] = ()
    candidates: Mapping[tuple[str, str], float] = field(default_factory=dict)
    refuted: frozenset[tuple[str, str]] = frozenset()
    advised: frozenset[tuple[str, str]] = frozenset()

    @property
    def classes(self) -> dict[str, str]:
        """Placeholder -> class name."""
        return {placeholder.name: placeholder.class_name for placeholder in self.placeholders}


def spoken_names(classes: Mapping[str, str]) -> dict[str, str]:
    """Return placeholder -> what people call it: some mug, another mug.

    Args:
        classes: placeholder -> class name.
    """
    spoken: dict[str, str] = {}
    met: set[str] = set()
    for name, label in sorted(classes.items()):
        spoken[name] = f"{'another' if label in met else 'some'} {label}"
        met.add(label)
    return spoken


def still_supposed(made: Hypotheses, names: Collection[str], is_refuted: Callable[[str, str], bool]) -> Hypotheses:
    """Return what is left of hypotheses.

    Args:
        made: the hypotheses of a plan. names: placeholders that still stand for something unseen.
        is_refuted: of a class or an instance, and a place: whether it is known not to be there.
    """
    things = {item.name: item.instance or item.class_name for item in made.placeholders if item.name in names}
    refuted = frozenset(pair for pair in made.candidates if pair[0] in things and is_refuted(things[pair[0]], pair[1]))
    candidates = {pair: value for pair, value in made.candidates.items() if pair[0] in things and pair not in refuted}
    return Hypotheses(tuple(item for item in made.placeholders if item.name in things), candidates, refuted)


def candidate_places(domain: Domain, state: SymbolicState) -> tuple[str, ...]:
    """Return the places of a state where an unseen thing may be: of the type and with the fact that the YAML names."""
    hypotheses = domain.hypotheses
    if hypotheses is None:
        return ()
    places = (name for name, of in state.objects.items() if domain.is_a(of, hypotheses.place_type))
    fact = hypotheses.place_fact
    return tuple(sorted(name for name in places if fact is None or Atom(fact, (name,)) in state.atoms))


@lru_cache(maxsize=32)
def find_observes(domain: Domain) -> frozenset[str]:
    """Return the predicates of a place that become true when something is looked for there, e.g. ``{observed}``."""
    hypotheses = domain.hypotheses
    if hypotheses is None:
        return frozenset()
    schema = domain.action(hypotheses.action)
    places = {name for name, of in schema.parameters if domain.is_a(of, hypotheses.place_type)}
    return frozenset(
        term.predicate for term in schema.added if len(term.arguments) == 1 and term.arguments[0] in places
    )


@lru_cache(maxsize=32)
def find_needs(domain: Domain) -> tuple[tuple[str, bool], ...]:
    """Return what must be true or false of a place so that it can be looked into, apart from being there."""
    hypotheses = domain.hypotheses
    if hypotheses is None:
        return ()
    schema = domain.action(hypotheses.action)
    places = {name for name, of in schema.parameters if domain.is_a(of, hypotheses.place_type)}
    return tuple(
        (literal.predicate, literal.positive)
        for literal in schema.preconditions
        if len(literal.arguments) == 1
        and literal.arguments[0] in places
        and literal.predicate not in {domain.location, *domain.static_predicates}
    )


@lru_cache(maxsize=128)
def achieving_cost(domain: Domain, predicate: str, positive: bool) -> float:
    """Return the fixed cost of the cheapest action that makes a predicate true or false; 0 if none does."""
    return min(
        (
            schema.cost
            for schema in domain.actions.values()
            if any(term.predicate == predicate for term in (schema.added if positive else schema.deleted))
        ),
        default=0.0,
    )


def find_arguments(domain: Domain, arguments: tuple[str, ...]) -> tuple[str, str]:
    """Return thing and place of a ground action of looking for something.

    Raises:
        DomainError: if the domain has no hypotheses.
    """
    if domain.hypotheses is None:
        raise DomainError(f"the domain {domain.name!r} has no hypotheses")
    schema = domain.action(domain.hypotheses.action)
    literal = next(
        (literal for literal in schema.preconditions if literal.predicate == domain.hypotheses.candidate), None
    )
    if literal is None:
        raise DomainError(f"the action {schema.name!r} does not ask for {domain.hypotheses.candidate!r}")
    binding = {name: value for (name, _), value in zip(schema.parameters, arguments, strict=True)}
    thing, place = (binding[name] for name in literal.arguments)
    return thing, place


def look_from(domain: Domain, state: SymbolicState, place: str) -> tuple[str, ...]:
    """Return where the robot must be to look into a place: the place itself, or what a fact ties to it.

    Raises:
        DomainError: if the domain has no hypotheses.
    """
    predicate = _stand(domain)
    if predicate is None:
        return (place,)
    return tuple(sorted(a.arguments[1] for a in state.atoms if a.predicate == predicate and a.arguments[0] == place))


@lru_cache(maxsize=32)
def _stand(domain: Domain) -> str | None:
    """Return the predicate that ties a place to where it is looked into from; None if that is the place itself."""
    if domain.hypotheses is None:
        raise DomainError(f"the domain {domain.name!r} has no hypotheses")
    schema = domain.action(domain.hypotheses.action)
    names = {literal.predicate: literal.arguments for literal in schema.preconditions if literal.positive}
    place = names.get(domain.hypotheses.candidate, ("", ""))[-1]
    here = names.get(domain.location or "", ("",))[0]
    if here in ("", place):
        return None
    return next((predicate for predicate, arguments in names.items() if arguments == (place, here)), None)


def with_hypotheses(domain: Domain, state: SymbolicState, hypotheses: Hypotheses) -> SymbolicState:
    """Return the state with the placeholders in it: type, class facts, candidate places and their costs.

    Things that are known count as found, so that a goal can ask that what it speaks of be found.
    """
    symbols = domain.hypotheses
    if symbols is None or not hypotheses.placeholders:
        return state
    objects = dict(state.objects)
    atoms = set(state.atoms)
    functions = state.functions.copy() if isinstance(state.functions, Ways) else dict(state.functions)
    known = [name for name, of in objects.items() if domain.is_a(of, symbols.item_type)]
    atoms.update(Atom(symbols.found, (name,)) for name in known)
    for placeholder in hypotheses.placeholders:
        entry = domain.class_of(placeholder.class_name)
        objects[placeholder.name] = entry.type_name
        atoms.update(Atom(fact, (placeholder.name,)) for fact in entry.facts)
        if domain.class_predicate is not None:
            atoms.add(Atom(domain.class_predicate, (placeholder.name, placeholder.class_name)))
            if domain.class_type is not None:
                objects.setdefault(placeholder.class_name, domain.class_type)
    for pair, cost in hypotheses.candidates.items():
        atoms.add(Atom(symbols.candidate, pair))
        functions[Atom(symbols.cost, pair)] = cost
    atoms.update(Atom(symbols.refuted, pair) for pair in hypotheses.refuted)
    return SymbolicState(objects, frozenset(atoms), functions)


def open_hypotheses(domain: Domain, state: SymbolicState, placeholders: Mapping[str, str]) -> Hypotheses:
    """Return hypotheses in which every candidate place is possible at no cost, for judging plans of others.

    Args:
        domain, state: of the problem.
        placeholders: placeholder name -> class name.

    Raises:
        UnknownClassError: if a class is not of the domain.
    """
    things = tuple(Placeholder(name, domain.class_of(label).name) for name, label in placeholders.items())
    places = candidate_places(domain, state)
    return Hypotheses(things, {(thing.name, place): 0.0 for thing in things for place in places})
