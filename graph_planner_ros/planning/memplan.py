"""MemPlan: plans under partial observability by pricing hypotheses about unseen things (MemPlan 3.3, 3.4)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import check_goal, describe_goal, goal_holds, unmet_literals
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction, SymbolicState
from graph_planner_ros.planning.advice import Advice, advised_reason
from graph_planner_ros.planning.delays import with_unmade
from graph_planner_ros.planning.engines.base import Engine, EngineResult
from graph_planner_ros.planning.hypotheses import (
    Hypotheses,
    achieving_cost,
    candidate_places,
    find_needs,
    look_from,
    with_hypotheses,
)
from graph_planner_ros.planning.memory import NegativeMemory, PositiveMemory
from graph_planner_ros.planning.problem import (
    UNKNOWN_DISTANCE,
    compile_problem,
    complete_functions,
    has_costs,
    is_excluded,
)
from graph_planner_ros.planning.relevance import lacking_facts, things_of
from graph_planner_ros.planning.result import PlanningResult, PlanningStatus, planned_steps
from graph_planner_ros.planning.supposing import Evidence, Missing, Supposer, missing_things
from graph_planner_ros.planning.timed import plan_in_time
from graph_planner_ros.planning.verifier import literal_text, verify

BEAM = 6
"""Candidate places that are put into the problem at first, the most promising ones; shared by the placeholders, and
at least two for each."""


@dataclass(frozen=True)
class _Attempt:
    """One way to put the problem: with few candidates; with spare placeholders; with nothing left out."""

    narrow: bool
    spare: bool
    prune: bool


_ATTEMPTS = (
    _Attempt(True, False, True),
    _Attempt(False, False, True),
    _Attempt(False, True, True),
    _Attempt(False, True, False),
)


class MemPlan:
    """Makes verified plans from a belief.

    Args:
        domain: fixed. engine: searches. positive, negative: the memories; new ones if left out.
        timeout: seconds for one call of `plan`. beam: see `BEAM`.
        states: that one search may visit, see `Engine.solve`; left out, only the time ends it.
        advice: what experience says about prices; nothing if left out.
    """

    def __init__(
        self,
        domain: Domain,
        engine: Engine,
        positive: PositiveMemory | None = None,
        negative: NegativeMemory | None = None,
        timeout: float = 10.0,
        beam: int = BEAM,
        states: int | None = None,
        advice: Advice | None = None,
    ) -> None:
        if timeout <= 0.0 or beam < 1:
            raise ValueError(f"expected a planning time-out above 0 s and a beam of at least 1, got {timeout}, {beam}")
        self.domain = domain
        self.engine = engine
        self.positive = positive if positive is not None else PositiveMemory(domain)
        self.negative = negative if negative is not None else NegativeMemory()
        self.timeout = timeout
        self.beam = beam
        self.states = states
        self.advice = advice
        self.supposer = Supposer(domain, self.positive, self.negative, advice)

    def plan(
        self,
        state: SymbolicState,
        goal: Goal,
        cancel: threading.Event | None = None,
        *,
        evidence: Evidence | None = None,
        excluded: Iterable[GroundAction] = (),
        remaining: Mapping[Atom, int] | None = None,
    ) -> PlanningResult:
        """Plan from what is believed.

        Args:
            state: what is believed; things whose place is not known are not in it.
            goal: to be reached.
            cancel: when set by another thread, the call returns CANCELLED soon.
            evidence: what is known beside the state.
            excluded: actions that must not be planned.
            remaining: marker of what goes on by itself, see `delays.Processes` -> actions until its end.
        """
        started = time.monotonic()
        known = evidence or Evidence()
        refusal = self.refusal(state, goal, known)
        if refusal:
            return PlanningResult(PlanningStatus.REFUSED, refusal)
        if goal_holds(goal, state, self.domain):
            return PlanningResult(PlanningStatus.ALREADY_SATISFIED, f"{describe_goal(goal, self.domain)}: already true")
        if self.domain.takes_time:
            whole = with_unmade(self.domain, complete_functions(self.domain, state), goal)
            timed = plan_in_time(
                self.domain,
                self.engine,
                whole,
                goal,
                started + self.timeout,
                cancel=cancel,
                excluded=excluded,
                remaining=remaining,
            )
            return replace(timed, time=time.monotonic() - started)
        search = _Search(self, complete_functions(self.domain, state), goal, known, tuple(excluded), cancel, started)
        return replace(search.run(), time=time.monotonic() - started)

    def note(self, state: SymbolicState, goal: Goal, evidence: Evidence) -> None:
        """Let negative memory learn from what was looked at by the way, for the things that the goal misses."""
        missing = missing_things(self.domain, state, goal, evidence)
        self.supposer.note_observed(state, missing, evidence)

    def refusal(self, state: SymbolicState, goal: Goal, evidence: Evidence) -> str:
        """Return why a goal cannot even be planned for, or an empty text."""
        try:
            check_goal(goal, self.domain)
        except DomainError as error:
            return str(error)
        for variable in goal.variables:
            if variable.instance is not None and variable.instance not in {**state.objects, **evidence.labels}:
                return f"the goal names {variable.instance!r}, and nothing of that name is known"
        return ""


class _Search:
    """One call of `MemPlan.plan`: tries the problem in several ways until one of them is solved."""

    def __init__(
        self,
        planner: MemPlan,
        state: SymbolicState,
        goal: Goal,
        evidence: Evidence,
        excluded: tuple[GroundAction, ...],
        cancel: threading.Event | None,
        started: float,
    ) -> None:
        self._planner = planner
        self._domain = planner.domain
        self._state = state
        self._goal = goal
        self._evidence = evidence
        self._excluded = excluded
        self._cancel = cancel
        self._deadline = started + planner.timeout
        self._relaxed: list[str] = []
        self._origins: dict[GroundAction, str] = {}
        self._prices: dict[GroundAction, float] | None = None

    def run(self) -> PlanningResult:
        result = PlanningResult(PlanningStatus.UNREACHABLE, "nothing was tried")
        tried: set[tuple[str, str]] = set()
        for attempt in _ATTEMPTS:
            missing = missing_things(self._domain, self._state, self._goal, self._evidence, attempt.spare)
            self._planner.supposer.note_observed(self._state, missing, self._evidence)
            hypotheses = self._suppose(missing)
            hopeless = self._hopeless(missing, hypotheses)
            if hopeless:
                return self._unknown(hopeless)
            narrow = self._narrow(hypotheses) if attempt.narrow else hypotheses
            problem = compile_problem(
                self._domain,
                self._state,
                self._goal,
                narrow,
                excluded=self._excluded,
                prune=attempt.prune,
                prices=self._advised_prices(hypotheses),
            )
            if (problem.domain_pddl, problem.problem_pddl) in tried:
                continue
            tried.add((problem.domain_pddl, problem.problem_pddl))
            left = self._deadline - time.monotonic()
            if left <= 0.0:
                why = f"no plan within {self._planner.timeout:g} s"
                return PlanningResult(PlanningStatus.TIMED_OUT, why, by_clock=True)
            found = self._planner.engine.solve(
                problem.domain_pddl, problem.problem_pddl, left, self._cancel, self._planner.states
            )
            if found.status is PlanningStatus.SOLVED:
                actions = [problem.action(action) for action in found.plan]
                return self._checked(found, actions, hypotheses, problem.state)
            result = self._failed(found)
            if found.status is not PlanningStatus.UNREACHABLE:
                return result
        return result

    def _suppose(self, missing: list[Missing]) -> Hypotheses:
        """Suppose; where a need has no place left for any of its things, relax the least certain refutation."""
        places = candidate_places(self._domain, self._state)
        negative, now = self._planner.negative, self._evidence.now
        for need in {item.need for item in missing if item.need and item.findable}:
            things = [item.what for item in missing if item.need == need]
            if all(negative.is_refuted(thing, place, now) for thing in things for place in places):
                weakest = next((found for thing in things if (found := negative.relax(thing, places, now))), None)
                if weakest is not None:
                    self._relaxed.append(
                        f"no {weakest.what} was seen anywhere, so {weakest.place} is looked at once more"
                    )
        return self._planner.supposer.suppose(self._state, self._goal, missing, self._evidence)

    def _advised_prices(self, hypotheses: Hypotheses) -> dict[GroundAction, float]:
        """Return the prices of remembered actions, asked for once a call; none without advice or without costs."""
        advice = self._planner.advice
        if self._prices is None:
            self._prices = {}
            if advice is not None and has_costs(self._domain):
                full = with_hypotheses(self._domain, self._state, hypotheses)
                self._prices, self._origins = advice.discounts(
                    self._evidence.scene, full, self._goal, before=self._evidence.before
                )
        return self._prices

    def _narrow(self, hypotheses: Hypotheses) -> Hypotheses:
        """Keep the candidates of each placeholder that are cheapest to check, the way there and doors included."""
        kept: dict[tuple[str, str], float] = {}
        beam = max(2, self._planner.beam // max(1, len(hypotheses.placeholders)))
        for item in hypotheses.placeholders:
            pairs = {pair: value for pair, value in hypotheses.candidates.items() if pair[0] == item.name}
            best = sorted(pairs, key=lambda pair: (pairs[pair] + self._effort(pair[1]), pair))[:beam]
            kept.update({pair: pairs[pair] for pair in best})
        return replace(hypotheses, candidates=kept)

    def _effort(self, place: str) -> float:
        """Return what it costs to be where a place can be looked into, with whatever must be opened."""
        return self._way(place) + sum(
            achieving_cost(self._domain, predicate, positive)
            for predicate, positive in find_needs(self._domain)
            if (Atom(predicate, (place,)) in self._state.atoms) != positive
        )

    def _way(self, place: str) -> float:
        """Return what it costs to go where a place can be looked into: the way, and what every move costs."""
        here = next((atom.arguments for atom in self._state.atoms if atom.predicate == self._domain.location), ())
        stands = look_from(self._domain, self._state, place)
        if set(stands) & set(here):
            return 0.0
        move = achieving_cost(self._domain, self._domain.location or "", True)
        return move + min(
            (self._state.functions.get(Atom(self._domain.distance or "", (*here, p)), 0.0) for p in stands),
            default=UNKNOWN_DISTANCE,
        )

    def _hopeless(self, missing: list[Missing], hypotheses: Hypotheses) -> list[Missing]:
        """Return things with one need, none of which can be anywhere; empty if there is no such need."""
        somewhere = {name for name, _ in hypotheses.candidates}
        possible = {item.class_name for item in hypotheses.placeholders if item.name in somewhere}
        for need in [item.need for item in missing if item.need]:
            things = [item for item in missing if item.need == need]
            if possible.isdisjoint(item.class_name for item in things):
                return things
        return []

    def _unknown(self, things: list[Missing]) -> PlanningResult:
        places = candidate_places(self._domain, self._state)
        names = " and no ".join(item.what for item in things)
        negative = self._planner.negative
        searched = [place for place in places if any(negative.get(item.what, place) for item in things)]
        if not things[0].findable:
            where = "the robot's map has none"
        elif searched:
            again = sum(any(self._again(item.what, place) for item in things) for place in searched)
            twice = f" ({again} of them once more)" if again else ""
            number = "1 place" if len(searched) == 1 else f"{len(searched)} places"
            where = f"looked in {number}{twice}, {', '.join(searched)}"
        else:
            where = "there is no place to look in"
        known = len(things_of(self._domain, self._state, things[0].class_name))
        more = f"no other {names}" if known and things[0].instance is None else f"no {names}"
        return PlanningResult(PlanningStatus.GOAL_UNKNOWN, f"{more} was found: {where} ({things[0].need})")

    def _again(self, what: str, place: str) -> bool:
        """Return whether a place was looked at once more in this task."""
        known = self._planner.negative.get(what, place)
        return known is not None and known.relaxations > 0 and not known.earlier

    def _checked(
        self, found: EngineResult, actions: list[GroundAction], hypotheses: Hypotheses, state: SymbolicState
    ) -> PlanningResult:
        """Turn an engine's plan into a result, if the verifier lets it pass."""
        verification = verify(self._domain, self._state, self._goal, actions, hypotheses)
        banned = next((action for action in actions if is_excluded(action, self._excluded)), None)
        if not verification.valid or banned is not None:
            reason = verification.reason or f"{banned} is excluded"
            return PlanningResult(
                PlanningStatus.REFUSED,
                f"the plan of {found.engine} was refused by the verifier: {reason}",
                engine=found.engine,
                by_clock=found.by_clock,
            )
        used = {name for action in actions for name in action.arguments}
        things = tuple(item for item in hypotheses.placeholders if item.name in used)
        classes = {item.name: item.class_name for item in things}
        steps = planned_steps(self._domain, state, actions, classes)
        reason = f"{len(steps)} steps"
        if things:
            reason += f", supposing a place for {', '.join(item.class_name for item in things)}"
        who = {"source": self._planner.advice.source} if self._planner.advice is not None else {}
        advised = advised_reason(self._domain, actions, hypotheses, self._origins, **who)
        return PlanningResult(
            PlanningStatus.SOLVED,
            "; ".join([reason, *self._relaxed, *advised]),
            steps,
            classes,
            sum(step.cost for step in steps),
            engine=found.engine,
            hypotheses=hypotheses,
            by_clock=found.by_clock,
        )

    def _failed(self, found: EngineResult) -> PlanningResult:
        reason = found.reason
        if found.status is PlanningStatus.UNREACHABLE:
            lacking = ", ".join(
                literal_text(self._goal, item) for item in unmet_literals(self._goal, self._state, self._domain)
            )
            reason = f"no sequence of actions reaches the goal ({lacking}) from what is known"
            if without := lacking_facts(self._domain, self._state, self._goal):
                reason += f"; nothing known has {', '.join(without)}"
            if self._excluded:
                reason += f"; excluded after failures: {', '.join(map(str, self._excluded))}"
        return PlanningResult(
            found.status,
            reason,
            engine=found.engine,
            exit_code=found.exit_code,
            stderr=found.stderr,
            by_clock=found.by_clock,
        )
