"""What experience says about a plan in the making: it changes prices, and never what is possible.

Where things of a kind were in past episodes moves the prices of hypotheses (MemPlan 3.3) towards the places that
experience names; what was done in situations like this one is a little cheaper, so that of plans that are as good as
each other the remembered one is taken (GiG: advice from retrieved experience). Prices stay within the bounds that they
have without advice, so misleading memory costs a few looks and no more; a place that was looked at in vain is excluded
as ever, and the more experience had expected of it, the less experience counts from then on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.state import MissingValueError, cost
from graph_planner_ros.domain.symbols import Goal, GroundAction, SymbolicState
from graph_planner_ros.planning.hypotheses import Hypotheses, find_arguments
from graph_planner_ros.scene.graph import SceneGraph

PLACE_WEIGHT = 0.8
"""Share of experience in the relevance of a place where the domain has only its own plausibility to say."""
LEARNED_PLACE_WEIGHT = 0.25
"""The same where the domain has a prior that was learned from homes in which every place was looked at, see `prior`:
that says more than as many episodes, which saw what they needed to."""
DOUBT = 0.5
"""Exponent of the chance of having found nothing so far, by which that share shrinks: 0 believes experience whatever
happens, 1 takes each chance at its word. In the kitchens 0.5 found things faster than 1."""
DISCOUNT = 0.05
"""Part of an action's cost that a remembered action is cheaper by: so little that no detour is worth it."""
MEMORY = "memory"
COUNT = 3
"""Remembered actions that are asked for."""


class Remembered(Protocol):
    """A remembered action put in terms of the present, see `memory.retrieval`."""

    @property
    def action(self) -> GroundAction:
        """Applicable now."""

    @property
    def following(self) -> Sequence[GroundAction]:
        """What was done after it, as far as it can be put in terms of the present."""

    @property
    def origin(self) -> str:
        """Robot, world or file that it comes from."""

    @property
    def distance(self) -> float:
        """Cosine distance of the situations, 0 to 2."""


class Experience(Protocol):
    """What planning asks of the memory; `memory.retrieval.Retriever` is one."""

    def places(
        self, scene: SceneGraph, goals: Sequence[Goal], class_name: str, candidates: Mapping[str, str]
    ) -> Mapping[str, float]:
        """Return candidate place -> chance 0..1 that it holds a thing of a class.

        Args:
            candidates: place -> its class.

        Returns:
            Empty if nothing is known of such things.
        """

    def retrieve(
        self,
        scene: SceneGraph,
        state: SymbolicState,
        goals: Sequence[Goal],
        *,
        count: int,
        before: str | None = None,
    ) -> Sequence[Remembered]:
        """Return remembered actions, the nearest first.

        Args:
            before: name of the action that was done just before, empty at the beginning of a task; None: not known.
        """


@dataclass
class Advice:
    """Experience as prices.

    Attributes:
        domain: of the plans. experience: is asked.
        places, actions: whether the prices of hypotheses, and of actions, are changed.
        place_weight, learned_place_weight, doubt, discount: see the constants of this module.
    """

    domain: Domain
    experience: Experience
    places: bool = True
    actions: bool = True
    place_weight: float = PLACE_WEIGHT
    learned_place_weight: float = LEARNED_PLACE_WEIGHT
    doubt: float = DOUBT
    discount: float = DISCOUNT
    _known: dict[tuple[object, ...], dict[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shares = (self.place_weight, self.learned_place_weight, self.doubt, self.discount)
        if not all(0.0 <= share <= 1.0 for share in shares):
            raise ValueError(f"advice expects weights, doubt and discount from 0 to 1, got {shares}")

    def relevance(
        self,
        own: Mapping[str, float],
        class_name: str,
        places: Mapping[str, str],
        scene: SceneGraph | None,
        goal: Goal,
        *,
        learned: bool = False,
    ) -> dict[str, float]:
        """Return place -> relevance 0..1 with what experience says mixed in.

        Args:
            own: possible place -> relevance without advice. class_name: of the missing thing.
            places: every place -> its class, those that are refuted included.
            scene: what is believed; without it there is no advice. goal: that is planned for.
            learned: ``own`` rests on a learned prior.
        """
        said = self._ask(class_name, places, scene, goal) if self.places and scene is not None else {}
        if not said:
            return dict(own)
        # scaled over all places: what is left after the best ones were looked at in vain is no better than it was
        known = _scaled(said)
        # the chance of having found nothing so far, if experience were right: the less, the less it is believed
        vain = math.prod(1.0 - min(1.0, said.get(place, 0.0)) for place in places if place not in own)
        weight = (self.learned_place_weight if learned else self.place_weight) * vain**self.doubt
        return {place: (1.0 - weight) * value + weight * known.get(place, value) for place, value in own.items()}

    def discounts(
        self, scene: SceneGraph | None, state: SymbolicState, goal: Goal, *, before: str | None = None
    ) -> tuple[dict[GroundAction, float], dict[GroundAction, str]]:
        """Return the lower costs of remembered actions, and where each comes from.

        Args:
            scene: what is believed; without it there is no advice. state: with what is supposed. goal: planned for.
            before: name of the action that was done just before, see `Experience.retrieve`.
        """
        if not self.actions or scene is None:
            return {}, {}
        costs: dict[GroundAction, float] = {}
        origins: dict[GroundAction, str] = {}
        for found in self.experience.retrieve(scene, state, (goal,), count=COUNT, before=before):
            for action in (found.action, *found.following):
                price = self._price(state, action)
                if price is not None and action not in costs:
                    costs[action] = (1.0 - self.discount) * price
                    origins[action] = found.origin
        return costs, origins

    def source(self, class_name: str) -> str:
        """Return who says where things of a class are: memory, or what an experience with a ``source`` names."""
        named = getattr(self.experience, "source", None)
        return str(named(class_name)) if callable(named) else MEMORY

    def _price(self, state: SymbolicState, action: GroundAction) -> float | None:
        """Return what an action costs; None for moves (they come with what is done there) and what is not known."""
        schema = self.domain.actions.get(action.name)
        if schema is None or any(term.predicate == self.domain.location for term in schema.added):
            return None
        known = {*state.objects, *self.domain.constants}
        if len(action.arguments) != len(schema.parameters) or not known.issuperset(action.arguments):
            return None
        try:
            return cost(self.domain, state, action)
        except MissingValueError:
            return None

    def _ask(
        self, class_name: str, places: Mapping[str, str], scene: SceneGraph | None, goal: Goal
    ) -> dict[str, float]:
        assert scene is not None
        key = (class_name, tuple(sorted(places.items())), scene.revision, scene.stamp, goal)
        if key not in self._known:
            if len(self._known) > 64:
                self._known.clear()
            found = self.experience.places(scene, (goal,), class_name, places)
            self._known[key] = {place: float(value) for place, value in found.items() if place in places}
        return self._known[key]


def _scaled(values: Mapping[str, float]) -> dict[str, float]:
    """Return values min-max normalised; all 1 if they are all the same."""
    if not values:
        return {}
    low, high = min(values.values()), max(values.values())
    if high - low < 1e-9:
        return dict.fromkeys(values, 1.0)
    return {name: (value - low) / (high - low) for name, value in values.items()}


def advised_reason(
    domain: Domain,
    actions: Sequence[GroundAction],
    hypotheses: Hypotheses,
    origins: Mapping[GroundAction, str],
    source: Callable[[str], str] = lambda class_name: MEMORY,
) -> list[str]:
    """Return what of a plan comes from advice, in sentences; none if nothing does.

    Args:
        domain, actions: the plan. hypotheses: that it rests on. origins: remembered action -> where it comes from.
        source: who says where things of a class are, see `Advice.source`.
    """
    parts: list[str] = []
    for action in actions:
        if domain.hypotheses is not None and action.name == domain.hypotheses.action:
            thing, place = find_arguments(domain, action.arguments)
            if (thing, place) in hypotheses.advised:
                label = hypotheses.classes.get(thing, thing)
                parts.append(f"{source(label)} advises looking for {label} in {place}")
    remembered = [action for action in actions if action in origins]
    if remembered:
        sources = list(dict.fromkeys(origins[action] for action in remembered))
        parts.append(f"memory advises {', '.join(map(str, remembered))}, as in {', '.join(sources[:2])}")
    return parts
