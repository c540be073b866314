"""Worlds and goals made up from a planning domain alone, of any size, for measuring planners.

Nothing here knows what the domain is about: places, things, what can change and what hides its content come from it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import ActionSchema, DomainError, ObjectClass
from graph_planner_ros.domain.symbols import Atom, Goal, GoalLiteral, GoalVariable, SymbolicState

_FLOOR_PER_PLACE = 1.7
"""Floor area [m^2] for each place."""
_WAY_OVERHEAD = 0.3
"""What every way costs on top of its length [m]."""


@dataclass(frozen=True)
class GeneratedWorld:
    """A made-up world as a robot may believe it to be.

    Attributes:
        state: what is known; things inside closed places that hide their content are mostly not in it.
        classes: classes of all things that exist, known or not.
        places, things: how many there are.
    """

    state: SymbolicState
    classes: tuple[str, ...]
    places: int
    things: int


def generate_world(domain: Domain, places: int, things: int, seed: int, hidden: float = 0.6) -> GeneratedWorld:
    """Make a world.

    Args:
        domain: must have hypotheses, a location, a distance and classes for places and things.
        places, things: how many.
        seed: of everything random.
        hidden: share of the things in closed places of the hiding kind that nobody knows of.
    """
    rng = random.Random(seed)
    kinds = _Kinds(domain)
    atoms: set[Atom] = set()
    objects: dict[str, str] = {}

    def add(entry: ObjectClass, number: int) -> str:
        name = f"{entry.name.lower()}_{number}"
        objects[name] = entry.type_name
        atoms.add(Atom(kinds.class_predicate, (name, entry.name)))
        if domain.class_type is not None:
            objects[entry.name] = domain.class_type
        atoms.update(Atom(fact, (name,)) for fact in entry.facts)
        for attribute in domain.assumptions.values():
            if attribute.assume and (attribute.when is None or attribute.when in entry.facts):
                atoms.add(Atom(attribute.name, (name,)))
        return name

    numbers: dict[str, int] = {}
    where: dict[str, ObjectClass] = {}
    for entry in _mixed(kinds.places, places, rng):
        numbers[entry.name] = numbers.get(entry.name, 0) + 1
        where[add(entry, numbers[entry.name])] = entry
    existing: list[str] = []
    # about two of each class
    chosen = rng.sample(kinds.things, min(len(kinds.things), max(1, (things + 1) // 2)))
    for index in range(things):
        entry = chosen[index % len(chosen)]
        likely = [name for name, of in where.items() if of.name in entry.likely_in]
        place = rng.choice(likely if likely and rng.random() < 0.7 else list(where))
        existing.append(entry.name)
        if where[place].encloses and rng.random() < hidden:
            continue
        numbers[entry.name] = numbers.get(entry.name, 0) + 1
        atoms.add(Atom(kinds.inside, (add(entry, numbers[entry.name]), place)))
    atoms.update(Atom(predicate) for predicate in domain.none_of)
    functions = _place_robot(domain, objects, atoms, list(where), rng)
    state = SymbolicState(objects, frozenset(atoms), functions)
    return GeneratedWorld(state, tuple(dict.fromkeys(existing)), places, things)


def generate_goals(domain: Domain, world: GeneratedWorld, seed: int) -> Iterator[Goal]:
    """Yield made-up goals without end: things moved, changed and moved, two of a kind, one thing inside another.

    Not all of them can be reached.
    """
    rng = random.Random(seed)
    kinds = _Kinds(domain)
    shapes = (_move, _change, _change, _move_two, _nest)
    while True:
        for shape in shapes:
            goal = shape(domain, kinds, world, rng)
            if goal is not None:
                yield goal


class _Kinds:
    """What the domain's classes and actions are good for."""

    def __init__(self, domain: Domain) -> None:
        hypotheses = domain.hypotheses
        if hypotheses is None or domain.class_predicate is None:
            raise DomainError(
                f"worlds cannot be made up for {domain.name!r}: it has no hypotheses or no class_predicate"
            )
        self.class_predicate = domain.class_predicate
        entries = list(domain.classes.values())
        self.places = [entry for entry in entries if domain.is_a(entry.type_name, hypotheses.place_type)]
        self.things = [entry for entry in entries if domain.is_a(entry.type_name, hypotheses.item_type)]
        fact = hypotheses.place_fact
        self.receiving = [entry for entry in self.places if fact is None or fact in entry.facts]
        find = domain.action(hypotheses.action)
        self.inside = next(term.predicate for term in find.added if len(term.arguments) == 2)
        self.thing_type, self.place_type = hypotheses.item_type, hypotheses.place_type
        self.holders = self._holders(domain, find)
        self.changes = self._changes(domain, find)

    def _holders(self, domain: Domain, find: ActionSchema) -> list[ObjectClass]:
        """Return the classes of things that other things can be put into."""
        types = {
            dict(action.parameters)[term.arguments[1]]
            for action in domain.actions.values()
            if action is not find
            for term in action.added
            if term.predicate == self.inside and term.arguments[1] in dict(action.parameters)
        }
        types = {of for of in types if domain.is_a(of, self.thing_type)}
        return [entry for entry in self.things if any(domain.is_a(entry.type_name, of) for of in types)]

    def _changes(self, domain: Domain, find: ActionSchema) -> list[tuple[str, frozenset[str]]]:
        """Return attributes of things that some action brings about, with the facts that the thing must have."""
        found: dict[tuple[str, frozenset[str]], None] = {}
        for action in domain.actions.values():
            types = dict(action.parameters)
            for term in action.added:
                if action is find or len(term.arguments) != 1 or term.predicate not in domain.attributes:
                    continue
                if domain.is_a(types.get(term.arguments[0], ""), self.thing_type):
                    needed = frozenset(
                        literal.predicate
                        for literal in action.preconditions
                        if literal.positive
                        and literal.arguments == term.arguments
                        and literal.predicate in domain.static_predicates
                    )
                    found[(term.predicate, needed)] = None
        return list(found)


def _mixed(entries: list[ObjectClass], count: int, rng: random.Random) -> list[ObjectClass]:
    """Return ``count`` classes, every one before any comes again."""
    mixed: list[ObjectClass] = []
    while len(mixed) < count:
        mixed.extend(rng.sample(entries, len(entries)))
    return mixed[:count]


def _place_robot(
    domain: Domain, objects: dict[str, str], atoms: set[Atom], places: list[str], rng: random.Random
) -> dict[Atom, float]:
    """Put places on the floor and the robot among them; return the lengths of all ways."""
    if domain.location is None or domain.distance is None or domain.start_place is None:
        raise DomainError(f"worlds cannot be made up for {domain.name!r}: it has no location, distance or start_place")
    start = domain.start_place
    objects[start.id] = start.type_name
    atoms.add(Atom(domain.location, (start.id,)))
    side = math.sqrt(_FLOOR_PER_PLACE * len(places))
    spots = {name: (rng.uniform(0, side), rng.uniform(0, side)) for name in (*places, start.id)}
    ways: dict[Atom, float] = {}
    for origin, position in spots.items():
        for target in places:
            length = 0.0 if origin == target else math.dist(position, spots[target]) + _WAY_OVERHEAD
            ways[Atom(domain.distance, (origin, target))] = round(length, 2)
    return ways


def _things(kinds: _Kinds, world: GeneratedWorld) -> list[ObjectClass]:
    return [entry for entry in kinds.things if entry.name in world.classes]


def _receiving(kinds: _Kinds, world: GeneratedWorld) -> list[ObjectClass]:
    there = {atom.arguments[1] for atom in world.state.atoms if atom.predicate == kinds.class_predicate}
    return [entry for entry in kinds.receiving if entry.name in there]


def _variable(name: str, entry: ObjectClass) -> GoalVariable:
    return GoalVariable(name, entry.type_name, entry.name)


def _move(domain: Domain, kinds: _Kinds, world: GeneratedWorld, rng: random.Random) -> Goal | None:
    thing, place = rng.choice(_things(kinds, world)), rng.choice(_receiving(kinds, world))
    variables = (_variable("?x", thing), _variable("?p", place))
    return Goal(variables, (GoalLiteral(kinds.inside, ("?x", "?p")),), text=f"{thing.name} to {place.name}")


def _change(domain: Domain, kinds: _Kinds, world: GeneratedWorld, rng: random.Random) -> Goal | None:
    attribute, needed = rng.choice(kinds.changes)
    fitting = [entry for entry in _things(kinds, world) if needed <= set(entry.facts)]
    if not fitting:
        return None
    thing, place = rng.choice(fitting), rng.choice(_receiving(kinds, world))
    literals = (GoalLiteral(attribute, ("?x",)), GoalLiteral(kinds.inside, ("?x", "?p")))
    text = f"{attribute} {thing.name} to {place.name}"
    return Goal((_variable("?x", thing), _variable("?p", place)), literals, text=text)


def _move_two(domain: Domain, kinds: _Kinds, world: GeneratedWorld, rng: random.Random) -> Goal | None:
    thing, place = rng.choice(_things(kinds, world)), rng.choice(_receiving(kinds, world))
    variables = (_variable("?x", thing), _variable("?y", thing), _variable("?p", place))
    literals = (GoalLiteral(kinds.inside, ("?x", "?p")), GoalLiteral(kinds.inside, ("?y", "?p")))
    return Goal(variables, literals, (("?x", "?y"),), f"two {thing.name} to {place.name}")


def _nest(domain: Domain, kinds: _Kinds, world: GeneratedWorld, rng: random.Random) -> Goal | None:
    holders = [entry for entry in kinds.holders if entry.name in world.classes]
    if not holders:
        return None
    holder, place = rng.choice(holders), rng.choice(_receiving(kinds, world))
    others = [entry for entry in _things(kinds, world) if entry is not holder and entry not in kinds.holders]
    if not others:
        return None
    thing = rng.choice(others)
    variables = (_variable("?x", thing), _variable("?m", holder), _variable("?p", place))
    literals = (GoalLiteral(kinds.inside, ("?x", "?m")), GoalLiteral(kinds.inside, ("?m", "?p")))
    return Goal(variables, literals, text=f"{thing.name} in {holder.name} to {place.name}")
