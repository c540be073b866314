"""Decides what must be supposed for a goal: which things are missing, and where each of them may be (MemPlan 3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import describe_goal
from graph_planner_ros.domain.symbols import Atom, Goal, GoalLiteral, SymbolicState
from graph_planner_ros.planning.advice import Advice
from graph_planner_ros.planning.hypotheses import (
    PLACEHOLDER_PREFIX,
    Hypotheses,
    Placeholder,
    candidate_places,
    find_observes,
)
from graph_planner_ros.planning.memory import NegativeMemory, PositiveMemory
from graph_planner_ros.planning.relevance import eligible, relevance, things_of
from graph_planner_ros.scene.graph import SceneGraph

OBSERVED_CONFIDENCE = 0.8
"""Confidence that a place holds nothing of a kind, if it was looked at for another reason."""


@dataclass(frozen=True)
class Evidence:
    """What is known beside the symbolic state.

    Attributes:
        now: seconds of ROS time.
        labels: instance id -> label, also of things whose place is not known.
        lost: label -> places where such a thing was last seen that is not believed to be there for certain (stale).
        observed: place -> seconds of ROS time of the last look at it.
        certainty: place -> how well the last look at it showed what is there, 0..1; 1 if left out. Less where only a
            part of it was seen, or from far away.
        instruction: what the user said.
        scene: what the state is a view of; None if nobody has it. Only advice from experience looks at it.
        before: name of the action that was done just before, empty at the beginning of a task; None: not known. Only
            advice from experience looks at it.
    """

    now: float = 0.0
    labels: Mapping[str, str] = field(default_factory=dict)
    lost: Mapping[str, frozenset[str]] = field(default_factory=dict)
    observed: Mapping[str, float] = field(default_factory=dict)
    certainty: Mapping[str, float] = field(default_factory=dict)
    instruction: str = ""
    scene: SceneGraph | None = None
    before: str | None = None


@dataclass(frozen=True)
class Missing:
    """A kind of thing that is missing.

    Attributes:
        class_name, count: what and how many.
        instance: the instance id, where one instance is meant.
        need: what it is missing for, in words. Any one of those with the same need is enough; without any there is no
            plan. Empty: it is only a spare one.
        findable: whether such things can be looked for (the map of places is taken to be complete).
    """

    class_name: str
    count: int = 1
    instance: str | None = None
    need: str = ""
    findable: bool = True

    @property
    def what(self) -> str:
        """Key in negative memory."""
        return self.instance or self.class_name


def missing_things(
    domain: Domain, state: SymbolicState, goal: Goal, evidence: Evidence, spare: bool = False
) -> list[Missing]:
    """Return what the goal and the relevant actions need and the state does not have.

    Args:
        domain, state, goal, evidence: the task as it is believed to be.
        spare: suppose one more thing of every class of the goal, for when those that are known are of no use.
    """
    missing = _missing_for_goal(domain, state, goal, evidence, spare)
    missing.extend(_missing_capabilities(domain, state, goal, missing, spare))
    return missing


def _missing_for_goal(
    domain: Domain, state: SymbolicState, goal: Goal, evidence: Evidence, spare: bool
) -> list[Missing]:
    item = domain.hypotheses.item_type if domain.hypotheses else None
    missing: list[Missing] = []
    for name, count in _wanted(goal).items():
        variable = next(v for v in goal.variables if v.class_name == name and v.instance is None)
        known = len(eligible(domain, state, goal, variable.name))
        findable = item is not None and domain.is_a(domain.class_of(name).type_name, item)
        if known < count:
            missing.append(Missing(name, count - known, need=f"the goal needs {count} {name}", findable=findable))
        elif spare and findable:
            missing.append(Missing(name))
    for variable in goal.variables:
        if variable.instance is not None and variable.instance not in state.objects:
            label = evidence.labels.get(variable.instance)
            if label is not None and item is not None and domain.is_a(domain.class_of(label).type_name, item):
                need = f"the goal needs {variable.instance}"
                missing.append(Missing(label, instance=variable.instance, need=need))
    return missing


def _wanted(goal: Goal) -> dict[str, int]:
    """Return class -> how many different things of it the goal needs."""
    of = {variable.name: variable.class_name for variable in goal.variables if variable.instance is None}
    wanted: dict[str, int] = {}
    for name in of.values():
        if name is not None:
            wanted.setdefault(name, 1)
    for group in goal.distinct:
        for name in {of.get(member) for member in group} - {None}:
            if name is not None:
                wanted[name] = max(wanted[name], sum(of.get(member) == name for member in group))
    return wanted


def _missing_capabilities(
    domain: Domain, state: SymbolicState, goal: Goal, missing: Iterable[Missing], spare: bool
) -> list[Missing]:
    if domain.hypotheses is None:
        return []
    supposed = [frozenset(domain.class_of(item.class_name).facts) for item in missing]
    of_goal = [frozenset(domain.class_of(name).facts) for name in _wanted(goal)]
    facts: dict[str, set[str]] = {}
    for atom in state.atoms:
        if len(atom.arguments) == 1:
            facts.setdefault(atom.arguments[0], set()).add(atom.predicate)
    items = [
        facts.get(name, set()) for name, of in state.objects.items() if domain.is_a(of, domain.hypotheses.item_type)
    ]
    found: list[Missing] = []
    # what is true already needs no tools: only the last attempt considers that it may have to be undone on the way
    for needed in relevance(domain, state, goal if spare else _unmet(domain, state, goal)).capabilities:
        lacking = not any(needed <= of for of in (*items, *supposed))
        if not lacking and (not spare or any(needed <= of for of in of_goal)):
            continue
        classes = [
            entry
            for entry in domain.classes.values()
            if domain.is_a(entry.type_name, domain.hypotheses.item_type) and needed <= set(entry.facts)
        ]
        need = f"the goal needs something with {', '.join(sorted(needed))}" if lacking else ""
        found.extend(Missing(entry.name, need=need) for entry in classes)
    return found


def _unmet(domain: Domain, state: SymbolicState, goal: Goal) -> Goal:
    """Return a goal without those literals about named things that are true."""
    named = {variable.name: variable.instance for variable in goal.variables if variable.instance is not None}
    left = tuple(literal for literal in goal.literals if not _is_met(domain, state, literal, named))
    return replace(goal, literals=left) if left else goal


def _is_met(domain: Domain, state: SymbolicState, literal: GoalLiteral, named: Mapping[str, str]) -> bool:
    arguments = tuple(named.get(name, name) for name in literal.arguments)
    if not all(name in state.objects or name in domain.constants for name in arguments):
        return False
    return (Atom(literal.predicate, arguments) in state.atoms) == literal.positive


@dataclass
class Supposer:
    """Makes hypotheses from missing things and both memories."""

    domain: Domain
    positive: PositiveMemory
    negative: NegativeMemory
    advice: Advice | None = None

    def note_observed(self, state: SymbolicState, missing: Iterable[Missing], evidence: Evidence) -> None:
        """Refute that places which were looked at hold more of the missing kinds than was seen."""
        observed = {
            atom.arguments[0]
            for atom in state.atoms
            if atom.predicate in find_observes(self.domain) and len(atom.arguments) == 1
        }
        for item in missing:
            for place in observed.intersection(candidate_places(self.domain, state)):
                if place in evidence.lost.get(item.class_name, ()):
                    continue
                stamp = evidence.observed.get(place, evidence.now)
                known = self.negative.get(item.what, place)
                if known is None or (place in evidence.observed and stamp > known.stamp):
                    there = self._there(state, item, place)
                    confidence = OBSERVED_CONFIDENCE * evidence.certainty.get(place, 1.0)
                    self.negative.refute(item.what, place, confidence, stamp, there)

    def _there(self, state: SymbolicState, item: Missing, place: str) -> frozenset[str]:
        """Return the things of the missing kind that are known to be in a place."""
        here = {atom.arguments[0] for atom in state.atoms if len(atom.arguments) > 1 and atom.arguments[-1] == place}
        return things_of(self.domain, state, item.class_name) & here

    def suppose(self, state: SymbolicState, goal: Goal, missing: Iterable[Missing], evidence: Evidence) -> Hypotheses:
        """Return the placeholders with their candidate places and costs."""
        places = {place: _label(self.domain, state, place) for place in candidate_places(self.domain, state)}
        text = evidence.instruction or describe_goal(goal, self.domain)
        placeholders: list[Placeholder] = []
        candidates: dict[tuple[str, str], float] = {}
        refuted: set[tuple[str, str]] = set()
        advised: set[tuple[str, str]] = set()
        numbers: dict[str, int] = {}
        for item in missing:
            if not item.findable:
                continue
            possible = {p: of for p, of in places.items() if not self.negative.is_refuted(item.what, p, evidence.now)}
            hints = dict.fromkeys(evidence.lost.get(item.class_name, ()), 1.0)
            own = self.positive.costs(text, item.class_name, possible, hints)
            costs = own if hints else self._advised(own, item.class_name, places, goal, evidence)
            asked_for = self._asked_for(state, goal, item.class_name).difference(hints)
            if not asked_for.issuperset(costs):
                costs = {place: cost for place, cost in costs.items() if place not in asked_for}
            for _ in range(item.count):
                name = _free_name(state, item.class_name, numbers)
                placeholders.append(Placeholder(name, item.class_name, item.instance))
                candidates.update({(name, place): cost for place, cost in costs.items()})
                refuted.update((name, place) for place in places if place not in possible)
                advised.update((name, place) for place, cost in costs.items() if cost < own[place] - 1e-9)
        return Hypotheses(tuple(placeholders), candidates, frozenset(refuted), frozenset(advised))

    def _advised(
        self, own: dict[str, float], class_name: str, places: Mapping[str, str], goal: Goal, evidence: Evidence
    ) -> dict[str, float]:
        """Return the costs of candidate places with what experience says; ``places`` are all that there are."""
        if self.advice is None or not own:
            return own
        base, scale = self.positive.kappa_base, self.positive.scale
        without = {place: 1.0 - (cost - base) / scale for place, cost in own.items()}
        learned = self.positive.is_learned(class_name)
        mixed = self.advice.relevance(without, class_name, places, evidence.scene, goal, learned=learned)
        return {place: base + scale * (1.0 - value) for place, value in mixed.items()}

    def _asked_for(self, state: SymbolicState, goal: Goal, class_name: str) -> set[str]:
        """Return places where the goal wants a thing of a class, and nothing else of it.

        Who asks for a mug to be put on the table does not think that it is there already, so just that, which makes
        the shortest plans of all, is not supposed while there is another place.
        """
        places: set[str] = set()
        for variable in goal.variables:
            about = [literal for literal in goal.literals if variable.name in literal.arguments]
            if variable.class_name != class_name or len(about) != 1 or len(about[0].arguments) != 2:
                continue
            other = next((name for name in about[0].arguments if name != variable.name), "")
            known = {item.name for item in goal.variables}
            places |= eligible(self.domain, state, goal, other) if other in known else {other}
        return places


def _free_name(state: SymbolicState, class_name: str, numbers: dict[str, int]) -> str:
    while True:
        numbers[class_name] = numbers.get(class_name, 0) + 1
        name = f"{PLACEHOLDER_PREFIX}{class_name.lower()}_{numbers[class_name]}"
        if name not in state.objects:
            return name


def _label(domain: Domain, state: SymbolicState, thing: str) -> str:
    return next(
        (
            atom.arguments[1]
            for atom in state.atoms
            if atom.predicate == domain.class_predicate and atom.arguments[0] == thing
        ),
        "",
    )
