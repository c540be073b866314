"""A task from its goals to its end: which plan is in force, and what becomes of it after every event.

After a success the rest of the plan is kept while it can still be executed in the new belief and nothing better is
known; a thing that was found takes the place of its placeholder (GraphThink III-C2; MemPlan 3.4). Looking in vain
refutes a hypothesis. Failures are tried again a few times, then the action is excluded. Everything is bounded.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import anchored, describe_goal, goal_holds
from graph_planner_ros.domain.symbols import Goal, GroundAction, SymbolicState
from graph_planner_ros.domain.wording import describe_action
from graph_planner_ros.planning.decision import FAILED_STATUS
from graph_planner_ros.planning.decision import Decision as Decision
from graph_planner_ros.planning.decision import DecisionKind as DecisionKind
from graph_planner_ros.planning.delays import Processes, settle
from graph_planner_ros.planning.failures import FailureLog, failed_task_status
from graph_planner_ros.planning.hypotheses import Hypotheses, find_arguments, spoken_names, still_supposed
from graph_planner_ros.planning.planner import Planner
from graph_planner_ros.planning.problem import is_excluded
from graph_planner_ros.planning.relevance import things_of
from graph_planner_ros.planning.result import ModelRound, PlannedStep, PlanningResult, PlanningStatus, TaskStatus
from graph_planner_ros.planning.reviewing import PlanInForce, PlanReviser, ReviewEvent, revised
from graph_planner_ros.planning.staging import next_part
from graph_planner_ros.planning.task_graph.subtasks import said_parameters
from graph_planner_ros.planning.tracking import Belief, BeliefTracker, not_there, place_of, things_in
from graph_planner_ros.planning.verifier import Verification, verify
from graph_planner_ros.planning.ways import from_here
from graph_planner_ros.scene.graph import SceneGraph
from graph_planner_ros.skills.result import SkillResult, SkillStatus

FOUND_NOTHING_CONFIDENCE = 0.95
"""Confidence that a thing is not in a place where it was looked for from close, doors open."""
MAX_REPLANS = 60
MAX_FAILURES = 3
_HARD_LIMIT = 20
"""No task replaces more than this many times ``max_replans`` plans, whatever for."""


class TaskSession:
    """One instruction. Not for use by several threads at once; ``cancel`` may be set by any.

    Args:
        domain: fixed. planner: makes the plans; its memories learn from what happens.
        instruction: what the user said. goals: to be reached one after the other.
        max_replans: plans that may be replaced before the task fails; those after looking somewhere in vain do not
            count, they are bounded by the number of places.
        max_failures: failures in a row after which an action is excluded.
        replan_every_step: plan anew after every action, as MemPlan does, instead of keeping what still holds.
        reviser: a second opinion on the plan after a completed subtask and after a failure; nobody, if left out.
        cancel: ends a planning call soon.
    """

    def __init__(
        self,
        domain: Domain,
        planner: Planner,
        instruction: str,
        goals: Sequence[Goal],
        *,
        max_replans: int = MAX_REPLANS,
        max_failures: int = MAX_FAILURES,
        replan_every_step: bool = False,
        reviser: PlanReviser | None = None,
        cancel: threading.Event | None = None,
    ) -> None:
        if not goals:
            raise ValueError("a task needs at least one goal")
        if max_replans < 0 or max_failures < 1:
            raise ValueError(f"expected max_replans >= 0 and max_failures >= 1, got {max_replans} and {max_failures}")
        self.domain = domain
        self.planner = planner
        self.goals = tuple(goals)
        self.replans = 0
        self.max_replans = max_replans
        self._setbacks = 0
        self.replan_every_step = replan_every_step
        self._cancel = cancel
        self._reviser = reviser
        self._rounds: tuple[ModelRound, ...] = ()
        self._tracker = BeliefTracker(domain, planner.positive, planner.negative, instruction)
        self._processes = Processes(domain)
        self._failures = FailureLog(domain, max_failures)
        self._goal_index = 0
        self._part = self.goals[0]
        self._last = ""  # name of the action that was done last; empty: nothing was done yet
        self._steps: tuple[PlannedStep, ...] = ()
        self._next = 0
        self._result: PlanningResult | None = None
        self._known: frozenset[str] = frozenset()
        self._resolved: dict[str, str] = {}

    @property
    def goal(self) -> Goal:
        """The goal that is being worked on."""
        return self.goals[min(self._goal_index, len(self.goals) - 1)]

    def extend(self, goals: Sequence[Goal], first: bool = False) -> None:
        """Add goals that became known only now, such as those of a recipe.

        Args:
            goals: they come after the others. first: they come before the one that is being worked on.
        """
        place = self._goal_index if first else len(self.goals)
        self.goals = (*self.goals[:place], *goals, *self.goals[place:])

    # ---- events

    def start(self, graph: SceneGraph, state: SymbolicState) -> Decision:
        """Make the first plan."""
        self.planner.negative.new_task()
        if self._reviser is not None:
            self._reviser.new_task()
        self.planner.negative.clock_went_back(graph.stamp)
        belief = self._believe(graph, state)
        return self._advance(belief) or self._plan(belief, "")

    def after_success(
        self, step: PlannedStep | GroundAction | int, graph: SceneGraph, state: SymbolicState
    ) -> Decision:
        """Decide after a step was carried out; ``graph`` and ``state`` are the belief after it."""
        action = self._action(step)
        self._last = action.name
        self._failures.succeeded(action)
        self._processes.acted(action)
        belief = self._believe(graph, state)
        if self._processes.lasts(action, belief.state):
            return self._advance(belief) or self._keep(belief, "it goes on") or self._plan(belief, "it goes on")
        self._next += 1
        done = self._advance(belief)
        if done is not None:
            return done
        if not self._is_find(action):
            revised = self._review(ReviewEvent.COMPLETED, action, "", belief)
            return revised or self._keep(belief, "") or self._plan(belief, self._why_not_kept(belief))
        found, news = self._after_look(action, belief)
        return self._keep(belief, news) or self._plan(belief, news, counts=found)

    def after_progress(
        self, step: PlannedStep | GroundAction | int, graph: SceneGraph, state: SymbolicState
    ) -> Decision:
        """Decide on the way, when a step of several parts (a move through several places) is not at its end."""
        action = self._action(step)
        self._last = action.name
        belief = self._believe(graph, state)
        moved = replace(self._steps[self._next], action=from_here(self.domain, belief.state, action))
        self._steps = (*self._steps[: self._next], moved, *self._steps[self._next + 1 :])
        return self._advance(belief) or self._keep(belief, "") or self._plan(belief, self._why_not_kept(belief))

    def after_failure(
        self,
        step: PlannedStep | GroundAction | int,
        result: SkillResult,
        graph: SceneGraph,
        state: SymbolicState,
    ) -> Decision:
        """Decide after a step failed in a way that the executor could not recover from."""
        action = self._action(step)
        self._last = action.name
        if result.status in (SkillStatus.CANCELLED, SkillStatus.SERVER_LOST):
            return self._fail(failed_task_status(result), f"{action}: {result.reason or result.status.name.lower()}")
        self._failures.failed(action, result)
        belief = self._believe(graph, state)
        done = self._advance(belief)
        if done is not None:
            return done
        news = f"{describe_action(self.domain, action)} failed: {result.reason or result.code or result.status.name}"
        if result.code == "object_not_found":
            if self._is_find(action):
                self._refute(action, belief)
            else:
                not_there(self.domain, self._tracker, self.planner.negative, action, belief)
                belief = self._believe(graph, state)
        excluded = is_excluded(action, self._failures.excluded)
        if not excluded:
            kept = self._keep(belief, f"{news}; trying again")
            if kept is not None:
                return kept
        news += "; it is not tried any more" if excluded else ""
        return self._review(ReviewEvent.FAILED, action, news, belief) or self._plan(belief, news)

    # ---- what the events mean

    def _believe(self, graph: SceneGraph, state: SymbolicState) -> Belief:
        belief = self._tracker.update(graph, state, self._last)
        return replace(belief, state=self._processes.believe(belief.state, self.goal))

    def _action(self, step: PlannedStep | GroundAction | int) -> GroundAction:
        """Return the action of the step that is running.

        Raises:
            ValueError: if ``step`` is not the step that is to be run now.
        """
        if self._next >= len(self._steps):
            raise ValueError(f"{step} was reported, but no step is to be run")
        expected = self._steps[self._next].action
        action = step.action if isinstance(step, PlannedStep) else step
        if action not in (expected, self._next):
            raise ValueError(f"{action} was reported, but step {self._next}, {expected}, is to be run")
        return expected

    def _is_find(self, action: GroundAction) -> bool:
        return self.domain.hypotheses is not None and action.name == self.domain.hypotheses.action

    def _after_look(self, action: GroundAction, belief: Belief) -> tuple[bool, str]:
        """Resolve the placeholder that was looked for, or refute that it is there; return whether, and the news."""
        placeholder, place = find_arguments(self.domain, action.arguments)
        class_name = self._classes().get(placeholder, "")
        taken = self._known | frozenset(self._resolved.values())
        here = sorted(
            thing
            for thing in things_of(self.domain, belief.state, class_name) - taken
            if place_of(self.domain, belief.state, thing) == place and self._is_meant(placeholder, thing)
        )
        if not here:
            self._refute(action, belief)
            return False, f"no {class_name} in {place}"
        self._substitute(placeholder, here[0])
        return True, f"{here[0]} was found in {place}"

    def _classes(self) -> dict[str, str]:
        return self._result.placeholders if self._result is not None else {}

    def _is_meant(self, placeholder: str, thing: str) -> bool:
        supposed = self._result.hypotheses.placeholders if self._result is not None else ()
        instance = next((item.instance for item in supposed if item.name == placeholder), None)
        return instance is None or instance == thing

    def _refute(self, action: GroundAction, belief: Belief) -> None:
        placeholder, place = find_arguments(self.domain, action.arguments)
        supposed = self._result.hypotheses.placeholders if self._result is not None else ()
        item = next((item for item in supposed if item.name == placeholder), None)
        if item is not None:
            what = item.instance or item.class_name
            there = things_in(self.domain, belief.state, item.class_name, place)
            confidence = FOUND_NOTHING_CONFIDENCE * belief.evidence.certainty.get(place, 1.0)
            self.planner.negative.refute(what, place, confidence, belief.evidence.now, there)

    def _substitute(self, placeholder: str, thing: str) -> None:
        """Put a thing in the place of a placeholder in the rest of the plan."""
        self._resolved[placeholder] = thing
        called = spoken_names(self._classes())
        rest = []
        for step in self._steps[self._next :]:
            arguments = tuple(thing if name == placeholder else name for name in step.action.arguments)
            action = GroundAction(step.action.name, arguments)
            rest.append(PlannedStep(action, step.cost, describe_action(self.domain, action, called)))
        self._steps = (*self._steps[: self._next], *rest)

    # ---- decisions

    def _advance(self, belief: Belief) -> Decision | None:
        """Go on to the next goal while goals are reached; DONE if none is left."""
        reached = False
        while self._goal_index < len(self.goals):
            goal = anchored(self.goal, belief.state, self.domain)
            if goal is not self.goal:  # taken up now: what it says of here is about this place
                self.goals = (*self.goals[: self._goal_index], goal, *self.goals[self._goal_index + 1 :])
            if not goal_holds(goal, belief.state, self.domain):
                break
            self._goal_index += 1
            reached = True
        if self._goal_index == len(self.goals):
            if not self._last:
                text = "; ".join(describe_goal(goal, self.domain) for goal in self.goals)
                return Decision(DecisionKind.DONE, TaskStatus.ALREADY_SATISFIED, f"already true: {text}")
            self._next = len(self._steps)
            return Decision(
                DecisionKind.DONE, TaskStatus.SUCCEEDED, "the goal is reached", self._steps, self._next, self._result
            )
        if reached and self._steps:
            return self._plan(belief, "on to the next goal", counts=False)
        return None

    def _hypotheses(self, belief: Belief) -> Hypotheses:
        """Return what the plan in force supposes, less what has been refuted or resolved since."""
        if self._result is None:
            return Hypotheses()
        # what is seen by the way counts as well: places looked at for another reason
        self.planner.note(belief.state, self._part, belief.evidence)
        names, now = set(self._result.placeholders) - set(self._resolved), belief.evidence.now
        return still_supposed(
            self._result.hypotheses, names, lambda what, place: self.planner.negative.is_refuted(what, place, now)
        )

    def _review(self, event: ReviewEvent, action: GroundAction, news: str, belief: Belief) -> Decision | None:
        """Ask for a second opinion; None if the plan is not revised, or what is to take its place is not let pass."""
        self._rounds = ()
        if self._reviser is None or self.domain.takes_time or self.replan_every_step:
            return None
        if event is ReviewEvent.COMPLETED and action.name not in said_parameters(self.domain):
            return None
        news = news or f"{describe_action(self.domain, action)}: done"
        plan = PlanInForce(self.goal, self._steps, self._next, self._hypotheses(belief), self._failures.excluded)
        revision, self._rounds = revised(self.domain, self._reviser, event, news, belief, plan, self._cancel)
        if revision is None:
            return None
        self._rounds = ()
        self.replans += 1
        self.goals = (*self.goals[: self._goal_index], revision.goal, *self.goals[self._goal_index + 1 :])
        self._part = revision.goal
        self._take(revision.result, belief)
        return self._decide(DecisionKind.REPLACE, f"{news}: {revision.result.reason}", revision.verification)

    def _take(self, result: PlanningResult, belief: Belief) -> None:
        """Put a plan in force."""
        self._result, self._steps, self._next = result, result.steps, 0
        self._known = frozenset(belief.state.objects)
        self._resolved = {}

    def _keep(self, belief: Belief, news: str) -> Decision | None:
        """Keep the rest of the plan if it still holds and nothing better is known; None if it must be replaced."""
        rest = settle(self.domain, belief.state, self._steps[self._next :])
        self._steps = (*self._steps[: self._next], *rest)
        if not rest or self.replan_every_step:
            return None
        if any(is_excluded(step.action, self._failures.excluded) for step in rest):
            return None
        hypotheses = self._hypotheses(belief)
        if self._seen_elsewhere(belief, hypotheses):
            return None
        verification = verify(self.domain, belief.state, self._part, rest, hypotheses)
        if not verification.valid:
            return None
        reason = f"{news}; the rest of the plan holds" if news else "the rest of the plan holds"
        return self._decide(DecisionKind.KEEP, reason, verification)

    def _seen_elsewhere(self, belief: Belief, hypotheses: Hypotheses) -> frozenset[str]:
        """Return things seen since the plan was made that could stand for a placeholder still in it."""
        open_classes = {item.class_name for item in hypotheses.placeholders}
        seen = frozenset(thing for name in open_classes for thing in things_of(self.domain, belief.state, name))
        return seen - self._known - frozenset(self._resolved.values())

    def _why_not_kept(self, belief: Belief) -> str:
        if self.replan_every_step:
            return "planned anew after every action"
        rest = self._steps[self._next :]
        if not rest:
            return "the plan is at its end and the goal is not reached"
        hypotheses = self._hypotheses(belief)
        seen = self._seen_elsewhere(belief, hypotheses)
        if seen:
            return f"{', '.join(sorted(seen))} came into view"
        return verify(self.domain, belief.state, self._part, rest, hypotheses).reason

    def _plan(self, belief: Belief, why: str, counts: bool = True) -> Decision:
        """Make a new plan, or say why there is none."""
        if self._steps:
            self.replans += 1
            self._setbacks += counts and not self.replan_every_step
            if self._setbacks > self.max_replans or self.replans > _HARD_LIMIT * (self.max_replans + 1):
                cause = self._failures.cause() or why or "the world keeps changing"
                return self._fail(
                    TaskStatus.EXECUTION_FAILED, f"gave up after {self.replans} replaced plans; last: {cause}"
                )
        self._part = next_part(self.domain, belief.state, self.goal)
        result = self._make_plan(belief)
        if result.status is PlanningStatus.TIMED_OUT:
            self._part = next_part(self.domain, belief.state, self.goal, 1)
            by_clock = result.by_clock
            result = self._make_plan(belief)
            result = replace(result, by_clock=by_clock or result.by_clock)
        elif result.status is not PlanningStatus.SOLVED and self._part != self.goal:
            self._part = self.goal
            result = self._make_plan(belief)
        if result.status is PlanningStatus.ALREADY_SATISFIED:
            return self._advance(belief) or self._fail(TaskStatus.PLAN_REFUSED, result.reason, result)
        if result.status in (PlanningStatus.GOAL_UNKNOWN, PlanningStatus.UNREACHABLE) and self.goal.optional:
            return self._do_without(belief, result)
        if result.status is not PlanningStatus.SOLVED:
            return self._no_plan(result, why)
        self._take(result, belief)
        verification = verify(self.domain, belief.state, self._part, result.steps, result.hypotheses)
        if not verification.valid:
            return self._fail(TaskStatus.PLAN_REFUSED, verification.reason, result)
        reason = f"{why}: {result.reason}" if why else result.reason
        return self._decide(DecisionKind.REPLACE, reason, verification)

    def _make_plan(self, belief: Belief) -> PlanningResult:
        return self.planner.plan(
            belief.state,
            self._part,
            self._cancel,
            evidence=belief.evidence,
            excluded=self._failures.excluded,
            **({"remaining": self._processes.remaining()} if self.domain.takes_time else {}),
        )

    def _do_without(self, belief: Belief, result: PlanningResult) -> Decision:
        """Leave an optional goal aside and go on with the next one."""
        aside = f"left aside, {describe_goal(self.goal, self.domain)}: {result.reason}"
        self._goal_index += 1
        if self._goal_index == len(self.goals):
            self._next = len(self._steps)
            return Decision(DecisionKind.DONE, TaskStatus.SUCCEEDED, aside, self._steps, self._next, self._result)
        return self._advance(belief) or self._plan(belief, aside, counts=False)

    def _no_plan(self, result: PlanningResult, why: str) -> Decision:
        failure = self._failures.cause()
        gave_up = result.status in (PlanningStatus.UNREACHABLE, PlanningStatus.GOAL_UNKNOWN)
        if failure and gave_up and self._failures.excluded:
            status = self._failures.status()
            return self._fail(status, f"{failure}, and there is no other way: {result.reason}", result)
        return self._fail(FAILED_STATUS[result.status], f"{why}: {result.reason}" if why else result.reason, result)

    def _decide(self, kind: DecisionKind, reason: str, verification: Verification) -> Decision:
        rest = sum(step.cost for step in self._steps[self._next :])
        rounds, self._rounds = self._rounds, ()
        result = self._result and replace(self._result, cost=rest, rounds=(*self._result.rounds, *rounds))
        return Decision(kind, TaskStatus.RUNNING, reason, self._steps, self._next, result, verification)

    def _fail(self, status: TaskStatus, reason: str, result: PlanningResult | None = None) -> Decision:
        return Decision(DecisionKind.FAILED, status, reason, self._steps, self._next, result or self._result)
