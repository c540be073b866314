"""From subtasks to actions: symbolic execution of a plan in words, with what the executor does by itself in between.

Subtasks say little: "put the mug in the fridge" says neither that one has to go there nor that the door must be opened
before the mug is taken. A plan of subtasks is executable if there is a sequence of actions that carries them out in
their order with only implied actions between them. That is a planning problem: a counter says which subtask is next.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import goal_holds, unmet_literals
from graph_planner_ros.domain.matching import bindings, index_of
from graph_planner_ros.domain.state import effects, unmet_preconditions
from graph_planner_ros.domain.symbols import Goal, GroundAction, SymbolicState
from graph_planner_ros.planning.engines.base import Engine
from graph_planner_ros.planning.hypotheses import Hypotheses, with_hypotheses
from graph_planner_ros.planning.problem import bind_placeholders, complete_functions, is_excluded
from graph_planner_ros.planning.result import PlanningStatus
from graph_planner_ros.planning.task_graph.checks import KnownThings, check_edges, parameters_of, unfit
from graph_planner_ros.planning.task_graph.counted import CountedProblem, Stage
from graph_planner_ros.planning.task_graph.edges import repaired
from graph_planner_ros.planning.task_graph.graph import TaskGraph
from graph_planner_ros.planning.task_graph.subtasks import Subtask, implied_parameters
from graph_planner_ros.planning.verifier import literal_text, verify

_MOST_GROUNDINGS = 500
MAX_SUBTASKS = 60
"""Longest plan that is looked into: a longer one is refused, so that no answer of a model takes long."""


@dataclass(frozen=True)
class Refinement:
    """What came of executing a plan of subtasks symbolically.

    Attributes:
        status: SOLVED: the subtasks can be executed and the goal holds at the end (if one was given). UNREACHABLE: not
            so, for the reason. TIMED_OUT, CANCELLED, CRASHED: it is not known.
        steps: the actions, implied ones included; of the longest prefix that can be executed if not all can.
        executed: how many subtasks those steps carry out.
        reason: a sentence. allowed: subtasks that could come instead of the one that cannot be executed.
        goal_reached: the goal holds after ``steps``.
    """

    status: PlanningStatus
    steps: tuple[GroundAction, ...] = ()
    executed: int = 0
    reason: str = ""
    allowed: tuple[str, ...] = ()
    goal_reached: bool = False

    @property
    def valid(self) -> bool:
        """Whether the whole plan can be executed and reaches the goal."""
        return self.status is PlanningStatus.SOLVED


class Refiner:
    """Executes plans of subtasks symbolically.

    Args:
        domain: fixed. graph: says what could come instead of what cannot. engine: searches.
    """

    def __init__(self, domain: Domain, graph: TaskGraph, engine: Engine) -> None:
        self._domain, self._graph, self._engine = domain, graph, engine

    def refine(
        self,
        state: SymbolicState,
        goal: Goal | None,
        subtasks: Sequence[Subtask],
        *,
        hypotheses: Hypotheses | None = None,
        excluded: Iterable[GroundAction] = (),
        timeout: float = 5.0,
        cancel: threading.Event | None = None,
    ) -> Refinement:
        """Find actions that carry out the subtasks in their order.

        Args:
            state: what is believed. goal: that must hold at the end; None: the subtasks are all that is wanted.
            subtasks: that passed the node check; others make it UNREACHABLE with their reason.
            hypotheses: what is supposed about things that nobody has seen.
            excluded: actions that must not be used.
            timeout: seconds for everything. cancel: ends it soon.
        """
        run = _Run(self._domain, self._graph, self._engine, hypotheses or Hypotheses(), tuple(excluded), cancel)
        return run.refine(state, goal, tuple(subtasks), time.monotonic() + timeout)

    def complete(
        self,
        state: SymbolicState,
        goal: Goal,
        subtasks: Sequence[Subtask],
        *,
        hypotheses: Hypotheses | None = None,
        excluded: Iterable[GroundAction] = (),
        timeout: float = 5.0,
        cancel: threading.Event | None = None,
    ) -> Refinement:
        """Find actions that carry out the subtasks in their order, and then whatever reaches the goal.

        Args: as in `refine`.
        """
        run = _Run(self._domain, self._graph, self._engine, hypotheses or Hypotheses(), tuple(excluded), cancel)
        return run.complete(state, goal, tuple(subtasks), time.monotonic() + timeout)


class _Run:
    def __init__(
        self,
        domain: Domain,
        graph: TaskGraph,
        engine: Engine,
        hypotheses: Hypotheses,
        excluded: tuple[GroundAction, ...],
        cancel: threading.Event | None,
    ) -> None:
        self._domain, self._graph, self._engine = domain, graph, engine
        self._hypotheses, self._excluded, self._cancel = hypotheses, excluded, cancel

    def refine(
        self, state: SymbolicState, goal: Goal | None, subtasks: tuple[Subtask, ...], deadline: float
    ) -> Refinement:
        if len(subtasks) > MAX_SUBTASKS:
            reason = f"the plan has {len(subtasks)} subtasks, and at most {MAX_SUBTASKS} are looked into"
            return Refinement(PlanningStatus.UNREACHABLE, reason=reason)
        self._prepare(state, goal)
        stages, wrong = self._stages(subtasks)
        possible = self._possible_length(subtasks[: len(stages)])
        if wrong is None and possible == len(stages):
            whole = self._solve(stages, goal is not None, deadline)
            if whole.status is PlanningStatus.SOLVED:
                return self._checked(goal, whole.steps, len(stages))
            if whole.status is not PlanningStatus.UNREACHABLE:
                return whole
        return self._prefix(stages, subtasks, goal, wrong, possible, deadline)

    def complete(self, state: SymbolicState, goal: Goal, subtasks: tuple[Subtask, ...], deadline: float) -> Refinement:
        self._prepare(state, goal)
        stages, wrong = self._stages(subtasks)
        if wrong is not None or len(subtasks) > MAX_SUBTASKS:
            return Refinement(PlanningStatus.UNREACHABLE, reason=wrong or f"more than {MAX_SUBTASKS} subtasks")
        found = self._solve(stages, True, deadline, completed=True)
        return self._checked(goal, found.steps, len(stages)) if found.status is PlanningStatus.SOLVED else found

    def _prepare(self, state: SymbolicState, goal: Goal | None) -> None:
        self._known_state = state
        self._state = with_hypotheses(self._domain, complete_functions(self._domain, state), self._hypotheses)
        self._known = KnownThings.of(self._domain, self._state)
        self._goal = bind_placeholders(self._domain, goal, self._hypotheses) if goal is not None else None

    def _possible_length(self, subtasks: tuple[Subtask, ...]) -> int:
        """Return how many subtasks there are before the first pair that can never be neighbours; no search is needed.

        The domain's own graph says so: the one that was given may lack edges for other reasons.
        """
        wrong = check_edges(TaskGraph.of(self._domain), subtasks)
        return wrong[0].index if wrong else len(subtasks)

    def _stages(self, subtasks: tuple[Subtask, ...]) -> tuple[list[Stage], str | None]:
        """Return the stages of the subtasks, up to one that is about nothing that fits, and why that one is so."""
        stages: list[Stage] = []
        for subtask in subtasks:
            parameters = parameters_of(self._domain, subtask.action)
            if parameters is None or len(parameters) != len(subtask.arguments):
                return stages, f"{subtask} is no subtask with its arguments"
            allowed: dict[str, tuple[str, ...]] = {}
            for parameter, name in zip(parameters, subtask.arguments, strict=True):
                things = tuple(
                    thing
                    for thing in self._known.instances(name)
                    if not unfit(self._domain, subtask.action, parameter, self._known.labels[thing])
                )
                if not things:
                    return stages, f"there is no {name} that fits {subtask}"
                allowed[parameter.name] = things
            stages.append(Stage(subtask.action, allowed))
        return stages, None

    def _solve(self, stages: Sequence[Stage], with_goal: bool, deadline: float, completed: bool = False) -> Refinement:
        left = deadline - time.monotonic()
        if left <= 0.0:
            return Refinement(
                PlanningStatus.TIMED_OUT, reason="there was no time left to execute the plan symbolically"
            )
        goal = self._goal if with_goal else None
        problem = CountedProblem(self._domain, self._state, stages, goal, self._excluded, completed)
        found = self._engine.solve(problem.domain_pddl, problem.problem_pddl, left, self._cancel)
        steps = tuple(problem.action(action) for action in found.plan)
        return Refinement(found.status, steps, len(stages), found.reason)

    def _checked(self, goal: Goal | None, steps: tuple[GroundAction, ...], executed: int) -> Refinement:
        """Let the verifier have the last word."""
        empty = Goal((), ())
        verification = verify(self._domain, self._known_state, goal or empty, steps, self._hypotheses)
        banned = next((step for step in steps if is_excluded(step, self._excluded)), None)
        if not verification.valid or banned is not None:
            reason = verification.reason or f"{banned} is excluded"
            return Refinement(PlanningStatus.REFUSED, reason=f"the verifier refuses the refined plan: {reason}")
        return Refinement(PlanningStatus.SOLVED, steps, executed, f"{len(steps)} steps", goal_reached=goal is not None)

    # ---- what cannot be executed

    def _prefix(
        self,
        stages: list[Stage],
        subtasks: tuple[Subtask, ...],
        goal: Goal | None,
        wrong: str | None,
        possible: int,
        deadline: float,
    ) -> Refinement:
        """Find the longest prefix that can be executed, and say why it goes no further."""
        low, high, best = 0, possible, Refinement(PlanningStatus.UNREACHABLE)
        while low < high:  # invariant: `low` subtasks can be executed, more than `high` cannot
            middle = (low + high + 1) // 2
            found = self._solve(stages[:middle], False, deadline)
            if found.status is PlanningStatus.SOLVED:
                low, best = middle, found
            elif found.status is PlanningStatus.UNREACHABLE:
                high = middle - 1
            else:
                return found
        after = self._execute(best.steps)
        reached = self._goal is not None and goal_holds(self._goal, after, self._domain)
        if low == len(subtasks):
            reason = f"after the last subtask the goal still lacks: {self._lacking(after)}"
            allowed = self._allowed(subtasks, low, after)
        else:
            why = wrong if wrong is not None and low == len(stages) else self._why(stages[low], after)
            reason = f"subtask {low + 1}, {subtasks[low]}, cannot be executed: {why}"
            allowed = self._allowed(subtasks, low, after)
        return Refinement(PlanningStatus.UNREACHABLE, best.steps, low, reason, allowed, reached)

    def _execute(self, steps: Sequence[GroundAction]) -> SymbolicState:
        atoms = self._state.atoms
        for step in steps:
            added, deleted = effects(self._domain, step)
            atoms = (atoms - deleted) | added
        return SymbolicState(self._state.objects, atoms, self._state.functions)

    def _lacking(self, state: SymbolicState) -> str:
        if self._goal is None:
            return ""
        unmet = unmet_literals(self._goal, state, self._domain)
        return "; ".join(literal_text(self._goal, literal) for literal in unmet)

    def _why(self, stage: Stage, state: SymbolicState) -> str:
        """Return the preconditions that do not hold, of the choice of things for which the fewest do not."""
        best: list[str] | None = None
        for action in self._groundings(stage):
            unmet = unmet_preconditions(self._domain, state, action)
            lasting = [text for text in unmet if not self._repaired(text)] or unmet
            if best is None or len(lasting) < len(best):
                best = lasting
        if not best:
            return "nothing that the executor does by itself brings about what it needs"
        return f"{'; '.join(text.removesuffix('()') for text in best)} does not hold"

    def _repaired(self, unmet: str) -> bool:
        """Return whether implied actions can bring about what an unmet precondition names."""
        return repaired(
            self._domain, unmet.removeprefix("not ").partition("(")[0], positive=not unmet.startswith("not ")
        )

    def _groundings(self, stage: Stage) -> Iterable[GroundAction]:
        """Yield some of the choices of things for a subtask: those that are what it needs, or any if there are none."""
        schema = self._domain.action(stage.action)
        static = [
            literal
            for literal in schema.preconditions
            if literal.positive and literal.predicate in self._domain.static_predicates
        ]
        index, names = index_of(self._domain, self._state), [parameter.name for parameter in schema.parameters]
        said = itertools.islice(itertools.product(*stage.allowed.values()), _MOST_GROUNDINGS)
        chosen: list[dict[str, str]] = [dict(zip(stage.allowed, row, strict=True)) for row in said]
        for conditions in (static, []):
            found = (
                GroundAction(stage.action, tuple(binding[name] for name in names))
                for fixed in chosen
                for binding in bindings(index, dict(schema.parameters), conditions, fixed=fixed)
            )
            first = next(found, None)
            if first is not None:
                return itertools.islice(itertools.chain((first,), found), _MOST_GROUNDINGS)
        return ()

    def _allowed(self, subtasks: tuple[Subtask, ...], index: int, state: SymbolicState) -> tuple[str, ...]:
        """Return the subtasks that the graph and the state allow at a place of the plan."""
        implied = implied_parameters(self._domain)
        before = next((s.action for s in reversed(subtasks[:index]) if s.action not in implied), None)
        names = self._graph.successors(before) if before is not None else tuple(self._graph.by_action)
        return tuple(name for name in names if self._possible(name, state))

    def _possible(self, name: str, state: SymbolicState) -> bool:
        """Return whether all holds that a subtask needs of some things and that nothing implied brings about."""
        schema = self._domain.action(name)
        lasting = [need for need in schema.preconditions if not repaired(self._domain, need.predicate, need.positive)]
        spoken = {argument for need in lasting for argument in need.arguments}
        variables = {parameter: of for parameter, of in schema.parameters if parameter in spoken}
        return next(bindings(index_of(self._domain, state), variables, lasting), None) is not None


__all__ = ["MAX_SUBTASKS", "Refinement", "Refiner"]
