"""Plans for large goals in stages: one thing of the goal after the other, in an order that is learned by trying.

A goal such as a whole meal is too large for one search, and its existential variables have thousands of groundings.
Here what is wanted of one thing (all literals with the same first argument) is one stage. Each stage is a search of
its own for *everything reached so far and this*, with the variables that no stage has bound yet left open, so that the
search itself chooses the thing that is cheapest to use. Where a stage has to undo what an earlier one reached, or finds
that it comes too late, it should have come before it: the stages are put in that order and tried again.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import goal_binding
from graph_planner_ros.domain.state import effects
from graph_planner_ros.domain.symbols import Atom, Goal, GoalLiteral, GroundAction, SymbolicState
from graph_planner_ros.planning.engines.base import Engine, EngineResult
from graph_planner_ros.planning.hypotheses import Hypotheses
from graph_planner_ros.planning.problem import compile_problem
from graph_planner_ros.planning.relevance import eligible
from graph_planner_ros.planning.result import PlanningStatus
from graph_planner_ros.planning.sparing import find_bystanders, mixing_actions, spoiling_actions

ROUNDS = 12
"""Orders of the stages that are tried at most."""
STAGE_STATES = 5_000
"""States that one search may visit; those that find a plan visit a few hundred."""
FEW_STAGES = 5
"""With at most so many stages that are not reached yet, other orders are tried although one has led to a plan."""
MORE_ORDERS = 5
"""So many of them."""
SPENT_SEARCHES = 6
"""After so many searches that visited all their states without a plan no other order is tried."""


def _without(state: SymbolicState, hidden: frozenset[str]) -> SymbolicState:
    """Return a state without some things; what is true of the others stays true, so its plans are plans."""
    if not hidden:
        return state
    objects = {name: of for name, of in state.objects.items() if name not in hidden}
    atoms = frozenset(atom for atom in state.atoms if hidden.isdisjoint(atom.arguments))
    return SymbolicState(objects, atoms, state.functions)


@dataclass
class _Course:
    """How far one order of the stages has led.

    Attributes:
        state: reached so far. actions: that led there. bound: goal variable -> thing.
        reached: literals to be kept. owners: literal -> stage that reached it.
    """

    state: SymbolicState
    actions: list[GroundAction] = field(default_factory=list)
    bound: dict[str, str] = field(default_factory=dict)
    owners: dict[GoalLiteral, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StagedPlan:
    """A plan and the goal with the things that it chose for the variables; or why there is none.

    Attributes:
        by_clock: the search was ended by the wall clock, so another run may have another outcome.
        others: plans of other orders, each with its goal; they may be better when time is what counts.
    """

    status: PlanningStatus
    actions: tuple[GroundAction, ...] = ()
    goal: Goal | None = None
    reason: str = ""
    by_clock: bool = False
    others: tuple[tuple[tuple[GroundAction, ...], Goal], ...] = ()


class StagePlanner:
    """Makes plans in stages.

    Args:
        domain: of the problems. engine: searches each stage.
    """

    def __init__(self, domain: Domain, engine: Engine) -> None:
        self._domain = domain
        self._engine = engine

    def plan(
        self,
        state: SymbolicState,
        goal: Goal,
        deadline: float,
        cancel: threading.Event | None = None,
        excluded: Iterable[GroundAction] = (),
    ) -> StagedPlan:
        """Return the shortest plan of all orders that were tried, and the others.

        Args:
            state: to start from. goal: to be reached. deadline: of ``time.monotonic``.
            cancel: ends the search. excluded: actions that must not be planned.
        """
        found: list[StagedPlan] = []
        for careful in (True, False):
            search = _Search(self._domain, self._engine, state, goal, deadline, cancel, tuple(excluded), careful)
            result = search.run()
            if result.status is PlanningStatus.CANCELLED:
                return result
            found.append(result)
        return self._together(found)

    def _together(self, found: Sequence[StagedPlan]) -> StagedPlan:
        """Return the plans of both searches as one."""
        plans = [(plan.actions, plan.goal) for plan in found if plan.goal is not None]
        plans += [other for plan in found for other in plan.others]
        ranked = sorted(dict.fromkeys(plans), key=lambda plan: len(plan[0]))
        by_clock = any(plan.by_clock for plan in found)
        if not ranked:
            return replace(found[0], by_clock=by_clock)
        return StagedPlan(PlanningStatus.SOLVED, *ranked[0], by_clock=by_clock, others=tuple(ranked[1:]))


class _Search:
    def __init__(
        self,
        domain: Domain,
        engine: Engine,
        state: SymbolicState,
        goal: Goal,
        deadline: float,
        cancel: threading.Event | None,
        excluded: tuple[GroundAction, ...],
        careful: bool,
    ) -> None:
        self._domain = domain
        self._engine = engine
        self._start = state
        self._goal = goal
        self._deadline = deadline
        self._cancel = cancel
        self._excluded = excluded
        self._careful = careful
        self._stages: dict[str, list[GoalLiteral]] = {}
        for literal in goal.literals:
            self._stages.setdefault(literal.arguments[0] if literal.arguments else "", []).append(literal)
        subjects = {variable.name: variable.type_name for variable in goal.variables}
        self._material = {subjects[name] for name in self._stages if name in subjects}
        self._before: dict[tuple[str, str], int] = {}
        self._courses: dict[tuple[str, ...], _Course] = {(): _Course(state)}
        self._failure = EngineResult(PlanningStatus.UNREACHABLE)
        self._spent = 0
        self._by_clock = False

    def run(self) -> StagedPlan:
        order = first = self._first_order()
        courses: list[_Course] = []
        tried: set[tuple[str, ...]] = set()
        for round_number in range(1, ROUNDS + 1):
            tried.add(tuple(order))
            course, late = self._follow(order, round_number)
            if course is not None:
                courses.append(course)
            if self._is_over():
                break
            order = self._sorted(order, late)
            if tuple(order) in tried:
                break
        self._try_others(first, tried, courses)
        if not courses:
            return StagedPlan(self._failure.status, reason=self._failure.reason, by_clock=self._by_clock)
        best, *others = ((tuple(c.actions), self._bound_goal(c)) for c in sorted(courses, key=lambda c: len(c.actions)))
        return StagedPlan(PlanningStatus.SOLVED, *best, by_clock=self._by_clock, others=tuple(others))

    def _try_others(self, first: list[str], tried: set[tuple[str, ...]], courses: list[_Course]) -> None:
        """Try each stage as the first one, if there is no plan yet, or if there are so few that it takes no time."""
        there = next(n for n in range(len(first), -1, -1) if self._is_reached(first[:n]))
        front, rest = first[:there], first[there:]
        if courses and len(rest) > FEW_STAGES:
            return
        for stage in rest[1 : MORE_ORDERS + 1]:
            order = [*front, stage, *(name for name in rest if name != stage)]
            if self._is_over():
                return
            if tuple(order) not in tried:
                course, _ = self._follow(order, ROUNDS)
                if course is not None:
                    courses.append(course)

    def _is_reached(self, order: Sequence[str]) -> bool:
        course = self._courses.get(tuple(order))
        return course is not None and not course.actions

    def _bound_goal(self, course: _Course) -> Goal:
        variables = tuple(replace(v, instance=course.bound.get(v.name, v.instance)) for v in self._goal.variables)
        return replace(self._goal, variables=variables)

    def _is_over(self) -> bool:
        """Return whether no other order is to be tried: cancelled, too much was searched in vain, or too late."""
        cancelled = self._failure.status is PlanningStatus.CANCELLED
        return cancelled or self._spent >= SPENT_SEARCHES or self._is_late()

    def _is_late(self) -> bool:
        late = time.monotonic() > self._deadline
        self._by_clock |= late
        return late

    # -- one order ----------------------------------------------------------------------------------------------------

    def _follow(self, order: Sequence[str], now: int) -> tuple[_Course | None, str]:
        """Go through the stages; return where that led, or None and the stage that could not be reached."""
        course = self._courses[()]
        for index, stage in enumerate(order):
            done = tuple(order[: index + 1])
            known = self._courses.get(done)
            if known is None:
                known = self._step(course, stage, now)
                if known is None:
                    return None, stage
                self._courses[done] = known
            course = known
        return course, ""

    def _step(self, course: _Course, stage: str, now: int) -> _Course | None:
        goal = self._partial(course, stage)
        binding = goal_binding(goal, course.state, self._domain)
        actions = [] if binding is not None else self._solve(course, goal, stage)
        if actions is None:
            return None
        state = course.state
        for action in actions:
            added, deleted = effects(self._domain, action)
            state = SymbolicState(state.objects, (state.atoms - deleted) | added, state.functions)
            for literal, owner in course.owners.items():
                if not self._holds(literal, course.bound, state):
                    self._before[stage, owner] = now
        binding = binding or goal_binding(goal, state, self._domain) or {}
        owners = {**course.owners, **dict.fromkeys(self._stages[stage], stage)}
        return _Course(state, course.actions + actions, {**course.bound, **binding}, owners)

    def _solve(self, course: _Course, goal: Goal, stage: str) -> list[GroundAction] | None:
        """Search one stage: at first with everything else left where it is, then with little mixed up, then freely."""
        own = self._own(course, goal, stage)
        state, bound = course.state, set(course.bound.values())
        bystanders = find_bystanders(self._domain, state, own | bound)
        wanted = frozenset(bound).union(
            *(eligible(self._domain, state, self._goal, variable.name) for variable in self._goal.variables)
        )
        lasting = spoiling_actions(self._domain, state, goal, wanted) if self._careful else ()
        apart = (*lasting, *mixing_actions(self._domain, state, wanted, own, self._material))
        ways: list[tuple[frozenset[str], tuple[GroundAction, ...]]] = [
            (bystanders, lasting), (frozenset(), apart), (frozenset(), lasting), (frozenset(), ())
        ]  # fmt: skip
        for hidden, excluded in dict.fromkeys(ways):
            state = _without(course.state, hidden)
            problem = compile_problem(self._domain, state, goal, Hypotheses(), excluded=(*self._excluded, *excluded))
            if self._is_late():
                self._failure = EngineResult(PlanningStatus.TIMED_OUT, reason="no plan within the time")
                return None
            left = self._deadline - time.monotonic()
            found = self._engine.solve(problem.domain_pddl, problem.problem_pddl, left, self._cancel, STAGE_STATES)
            self._by_clock |= found.by_clock
            self._spent += found.status is PlanningStatus.TIMED_OUT
            if found.status is PlanningStatus.SOLVED:
                return [problem.names.action_from_pddl(action) for action in found.plan]
            self._failure = found
            if found.status is PlanningStatus.CANCELLED:
                return None
        return None

    def _own(self, course: _Course, goal: Goal, stage: str) -> frozenset[str]:
        """Return the things that a stage may be about: what its variables are bound to, or may be bound to."""
        own: set[str] = set()
        for variable in goal.variables:
            if variable.instance is None:
                own |= eligible(self._domain, course.state, goal, variable.name)
            elif variable.name == stage:
                own.add(variable.instance)
        return frozenset(own)

    def _partial(self, course: _Course, stage: str) -> Goal:
        """Return the goal to keep what is reached and to reach one stage."""
        literals = (*course.owners, *self._stages[stage])
        named = {name for literal in literals for name in literal.arguments} | set(course.bound)
        variables = tuple(
            replace(v, instance=course.bound.get(v.name, v.instance)) for v in self._goal.variables if v.name in named
        )
        distinct = tuple(
            kept for group in self._goal.distinct if len(kept := tuple(name for name in group if name in named)) > 1
        )
        return Goal(variables, literals, distinct)

    def _holds(self, literal: GoalLiteral, bound: dict[str, str], state: SymbolicState) -> bool:
        atom = Atom(literal.predicate, tuple(bound.get(name, name) for name in literal.arguments))
        return (atom in state.atoms) == literal.positive

    # -- orders -------------------------------------------------------------------------------------------------------

    def _first_order(self) -> list[str]:
        """Return the order of the goal, but what holds already and is the beginning of something first.

        So it is kept from the start, and nothing is put down on it by the way.
        """
        linked: dict[str, str] = {}
        front: list[str] = []
        course = self._courses[()]
        stopped: set[str] = set()
        for stage, literals in self._stages.items():
            names = {name for literal in literals for name in literal.arguments} - {stage}
            groups = {linked.get(name, stage) for name in names} or {stage}
            group = min(groups)
            linked.update(dict.fromkeys([*names, stage], group))
            if not groups.isdisjoint(stopped):
                stopped.add(group)
                continue
            goal = self._partial(course, stage)
            binding = goal_binding(goal, course.state, self._domain)
            if binding is None:
                stopped.add(group)
                continue
            owners = {**course.owners, **dict.fromkeys(literals, stage)}
            course = _Course(course.state, [], {**course.bound, **binding}, owners)
            front.append(stage)
            self._courses[tuple(front)] = course
        return [*front, *(stage for stage in self._stages if stage not in front)]

    def _sorted(self, order: list[str], late: str) -> list[str]:
        """Return the order after what was learned; a stage that came too late goes to the front of what it follows."""
        if late:
            position = order.index(late)
            front = [name for name in order[:position] if self._moves(order, name)]
            for name, stage in itertools.product(front or order[:position], self._of_kind(late, order[position:])):
                self._before[stage, name] = ROUNDS + 1
        # newer lessons first: they were learned where more was reached
        kept: dict[str, set[str]] = {name: set() for name in order}
        for (first, second), _ in sorted(self._before.items(), key=lambda item: (-item[1], item[0])):
            if not self._reaches(kept, first, second):
                kept[second].add(first)
        result: list[str] = []
        waiting = list(order)
        while waiting:
            chosen = next(name for name in waiting if kept[name].isdisjoint(waiting))
            waiting.remove(chosen)
            result.append(chosen)
        return result

    def _of_kind(self, late: str, stages: list[str]) -> list[str]:
        """Return the stages that want something of the same other things: what is too late for one is for all."""
        wanted = {(item.predicate, item.arguments[1:]) for item in self._stages[late] if len(item.arguments) > 1}
        return [
            stage
            for stage in stages
            if stage == late or any((item.predicate, item.arguments[1:]) in wanted for item in self._stages[stage])
        ]

    def _moves(self, order: list[str], name: str) -> bool:
        """Return whether a stage of an order needed any action."""
        index = order.index(name)
        here, before = self._courses.get(tuple(order[: index + 1])), self._courses.get(tuple(order[:index]))
        return here is None or before is None or len(here.actions) > len(before.actions)

    def _reaches(self, kept: dict[str, set[str]], first: str, second: str) -> bool:
        """Return whether ``second`` has to come before ``first`` already."""
        waiting, seen = [first], set()
        while waiting:
            name = waiting.pop()
            if name == second:
                return True
            if name not in seen:
                seen.add(name)
                waiting.extend(kept[name])
        return False
