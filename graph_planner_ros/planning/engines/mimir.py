"""The in-process engine: pymimir (lifted successors, C++ search) on a reduced task.

pymimir holds Python's global lock while it searches; a callback at every expansion lets other threads run and
ends the search on cancel or time-out. It prints to file descriptor 1 while it grounds, which is silenced.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import sys
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.planning.engines.base import EngineMissingError, EngineResult
from graph_planner_ros.planning.engines.compilation import REACH_ACTION, PddlTextError, compile_task
from graph_planner_ros.planning.engines.improvement import PlanImprover
from graph_planner_ros.planning.engines.model import (
    DomainModel,
    ProblemModel,
    Row,
    plan_cost,
    read_domain,
    read_problem,
)
from graph_planner_ros.planning.engines.movement import places
from graph_planner_ros.planning.engines.reduction import expand_plan, reduce_task, with_moves, without_moves
from graph_planner_ros.planning.engines.relevance import RelevantParts, relevant_parts
from graph_planner_ros.planning.result import PlanningStatus

_KEPT_DOMAINS = 64
_POLL = 0.05


class _Stopped(Exception):
    """A search was ended before its end: by a cancel, by the clock, or by the number of states that it may visit."""

    def __init__(self, status: PlanningStatus, reason: str, by_clock: bool = False) -> None:
        super().__init__(reason)
        self.status = status
        self.by_clock = by_clock


class MimirEngine:
    """Cheap plans in milliseconds.

    A* with the FF heuristic is tried on the task reduced to what matters; where that takes too long, a greedy
    search brings a plan at once, local changes make it cheaper, and A* orders it anew using only what occurs in it.
    Efforts are counted and not timed, so that the same task gets the same plan on any machine.

    Args:
        effort: states that the first searches may visit (a state takes about 40 us), A* a quarter of it: it finds its
            plan in the first few hundred states, or not for a long time.
        improvement: states that the A* over a plan's own things may visit.
        changes: local changes that may be tried on a plan.
    """

    name = "mimir"

    def __init__(self, effort: int = 800, improvement: int = 1000, changes: int = 1500) -> None:
        self._pymimir = _import_pymimir()
        self._effort = effort
        self._improvement = improvement
        self._changes = changes
        self._parsers: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()
        _ENGINES.add(self)

    def solve(
        self,
        domain_pddl: str,
        problem_pddl: str,
        timeout: float,
        cancel: threading.Event | None = None,
        states: int | None = None,
    ) -> EngineResult:
        """See `Engine.solve`."""
        start = time.perf_counter()
        stop = _Stop(start, timeout, cancel, states)
        try:
            while not self._lock.acquire(timeout=_POLL):
                stop.check()
            try:
                plan, cost = self._solve(domain_pddl, problem_pddl, stop)
            finally:
                self._lock.release()
        except PddlTextError as error:
            return self._result(PlanningStatus.REFUSED, start, f"the PDDL cannot be read: {error}")
        except RuntimeError as error:
            return self._result(PlanningStatus.REFUSED, start, f"pymimir refused the PDDL: {_first_line(error)}")
        except _Stopped as stopped:
            return replace(self._result(stopped.status, start, str(stopped)), by_clock=stopped.by_clock)
        if plan is None:
            return self._result(PlanningStatus.UNREACHABLE, start, "no sequence of actions reaches the goal")
        actions = tuple(GroundAction(row[0], row[1:]) for row in plan)
        return EngineResult(
            PlanningStatus.SOLVED,
            actions,
            cost,
            time.perf_counter() - start,
            f"a plan of {len(actions)} actions",
            self.name,
        )

    def close(self) -> None:
        """Forget the parsed domains."""
        self._parsers.clear()

    def _result(self, status: PlanningStatus, start: float, reason: str) -> EngineResult:
        return EngineResult(status, time=time.perf_counter() - start, reason=reason, engine=self.name)

    def _solve(self, domain_pddl: str, problem_pddl: str, stop: _Stop) -> tuple[list[Row] | None, float]:
        stop.check()
        compiled = compile_task(domain_pddl, problem_pddl, always=True)
        domain = read_domain(compiled.domain)
        problem = read_problem(compiled.problem, domain)
        plan: list[Row] | None
        if compiled.artificial and all(operator.simple for operator in domain.operators.values()):
            plan = self._search_smaller(domain, problem, stop)
            if plan is None:
                whole = RelevantParts(frozenset(problem.objects), frozenset(domain.operators))
                plan = self._search_parts(domain, problem, whole, stop, merge=False)
        else:
            found, _ = self._open(compiled.domain, compiled.problem).plans(stop, self._effort)
            plan = min(found, key=lambda rows: plan_cost(domain, problem, rows), default=None)
        if plan is None:
            if stop.spent:
                raise _Stopped(PlanningStatus.TIMED_OUT, f"no plan was found in {stop.states} states")
            return None, 0.0
        plan = [row for row in plan if row[0] != REACH_ACTION]
        return plan, plan_cost(domain, problem, plan)

    def _search_smaller(self, domain: DomainModel, problem: ProblemModel, stop: _Stop) -> list[Row] | None:
        """Search what seems to matter, at first only the most convenient of it; None if there is no plan in that."""
        tried: RelevantParts | None = None
        for choosy in (True, False):
            parts = relevant_parts(domain, problem, stop.check, choosy)
            if parts is not None and parts != tried:
                plan = self._search_parts(domain, problem, parts, stop)
                if plan is not None:
                    return plan
                tried = parts
        return None

    def _search_parts(
        self, domain: DomainModel, problem: ProblemModel, parts: RelevantParts, stop: _Stop, merge: bool = True
    ) -> list[Row] | None:
        """Search a reduced task; None if it has no plan, or (``stop.spent``) none was found."""
        stop.spent = False
        task = reduce_task(domain, problem, parts, merge)
        found, good = self._open(task.domain, task.problem).plans(stop, self._effort)
        if not found:
            return None
        if good:
            return expand_plan(found[0], domain, problem, task.movement)
        improver = PlanImprover(domain, problem, task.movement, parts.objects)
        best, cost = improver.improve(without_moves(found[0]), self._changes)
        # what the plan uses is little enough for A* to order it well
        used = {name for row in best for name in row[1:]} | set(domain.constants) | places(problem, task.movement)
        task = reduce_task(domain, problem, RelevantParts(frozenset(used), parts.operators), merge)
        ordered = self._open(task.domain, task.problem).attempt("astar", stop, self._improvement)
        if ordered is not None and (steps := without_moves(ordered)) != best:
            again, other = improver.improve(steps, self._changes)
            best = again if other < cost else best
        return with_moves(best, domain, problem, task.movement)

    def _open(self, domain: str, problem: str) -> _Session:
        return _Session(self._pymimir, self._parser(domain), problem)

    def _parser(self, domain: str) -> Any:
        """Return the parser of a domain; parsing takes 3 ms, so the last ones are kept."""
        parser = self._parsers.pop(domain, None)
        if parser is None:
            formalism = self._pymimir.advanced.formalism
            parser = formalism.Parser(domain, "", formalism.ParserOptions())
        self._parsers[domain] = parser
        while len(self._parsers) > _KEPT_DOMAINS:
            self._parsers.popitem(last=False)
        return parser


class _Stop:
    """When a search must end: some seconds after a start, when an event is set, or after ``states``.

    ``spent``: the last search has ended after so many states. A task that was reduced too far has no plan to be
    found, so the one that is reduced less is searched then.
    """

    def __init__(self, start: float, timeout: float, cancel: threading.Event | None, states: int | None) -> None:
        self._deadline = start + timeout
        self._timeout = timeout
        self._cancel = cancel
        self.states = states
        self.spent = False

    @property
    def seconds(self) -> float:
        """Seconds that are left."""
        return self._deadline - time.perf_counter()

    def check(self) -> None:
        """Raise `_Stopped` on cancel or if the time is over."""
        if self._cancel is not None and self._cancel.is_set():
            raise _Stopped(PlanningStatus.CANCELLED, "planning was cancelled")
        if self.seconds <= 0.0:
            raise self.time_is_over()

    def time_is_over(self) -> _Stopped:
        """Return the exception for the end by the clock."""
        return _Stopped(PlanningStatus.TIMED_OUT, f"no plan was found within {self._timeout:g} s", by_clock=True)


class _Session:
    """Searches of one task, which share its grounding."""

    def __init__(self, pymimir: Any, parser: Any, problem: str) -> None:
        formalism, search = pymimir.advanced.formalism, pymimir.advanced.search
        self._search = search
        self._problem = parser.parse_problem(problem, "", formalism.ParserOptions())
        lifted = search.LiftedOptions(search.LiftedKPKCOptions(search.SymmetryPruning.OFF))
        with _silent_stdout():
            self._context = search.SearchContext.create(self._problem, search.SearchContextOptions(lifted))
        self._heuristics: dict[str, Any] = {}
        self.unsolvable = False

    def _heuristic(self, kind: str) -> Any:
        """Return the heuristic for a search, made when it is first needed.

        A* takes h-add: with FF, whose relaxed plans depend on how ties are broken, the lazy one now and then returns
        the plan with the fewest steps instead of the cheapest (35 instead of 21 in a task of four places).
        """
        name = "AddHeuristic" if kind == "astar" else "FFHeuristic"
        if name not in self._heuristics:
            with _silent_stdout():
                grounder = self._search.LiftedGrounder(self._problem)
                self._heuristics[name] = getattr(self._search, name).create(grounder)
        return self._heuristics[name]

    def plans(self, stop: _Stop, effort: int) -> tuple[list[list[Row]], bool]:
        """Return plans, and whether the first is as good as A* finds them; no plans if there are none.

        Args:
            stop: ends the search by `_Stopped`. effort: states for each search while there are others to try; the
            last one may visit those of ``stop``.
        """
        for kind in ("astar", "greedy", "eager"):
            plan = self.attempt(kind, stop, effort // 4 if kind == "astar" else effort)
            if self.unsolvable:
                return [], True
            if plan is not None:
                return [plan], kind == "astar"
        plan = self.attempt("greedy", stop, None)
        return ([] if plan is None else [plan]), False

    def attempt(self, kind: str, stop: _Stop, states: int | None) -> list[Row] | None:
        """Search once; None if there is no plan (then ``unsolvable``) or more than ``states`` were visited."""
        search = self._search
        find, options, handler = {
            "astar": (search.find_solution_astar_lazy, search.AStarLazyOptions, search.IAStarLazyEventHandler),
            "eager": (search.find_solution_gbfs_eager, search.GBFSEagerOptions, search.IGBFSEagerEventHandler),
            "greedy": (search.find_solution_gbfs_lazy, search.GBFSLazyOptions, search.IGBFSLazyEventHandler),
        }[kind]
        chosen = options()
        stop.check()
        if states is not None:
            # a short search needs no watching, and is twice as fast without
            chosen.max_num_states = states
            chosen.max_time_in_ms = max(1, round(1000 * stop.seconds))
        else:
            chosen.event_handler = _handler(handler)(stop.check)
            if stop.states is not None:
                chosen.max_num_states = stop.states
        result = find(self._context, self._heuristic(kind), chosen)
        if result.plan is None:
            if result.status is search.SearchStatus.OUT_OF_TIME:
                raise stop.time_is_over()
            stop.spent |= states is None and result.status is search.SearchStatus.OUT_OF_STATES
            self.unsolvable = result.status in (search.SearchStatus.UNSOLVABLE, search.SearchStatus.EXHAUSTED)
            return None
        return _up_to_the_goal([_row(action) for action in result.plan.get_actions()])


def _up_to_the_goal(plan: list[Row]) -> list[Row]:
    """Return a plan up to the action that stands for the goal: lazy searches now and then go on after it."""
    end = next((number for number, row in enumerate(plan, 1) if row[0].endswith(REACH_ACTION)), len(plan))
    return plan[:end]


def _row(action: Any) -> Row:
    return (action.get_action().get_name(), *(item.get_name() for item in action.get_objects()))


_HANDLERS: dict[Any, type] = {}


def _handler(interface: Any) -> type:
    """Return a class that implements a search's event interface: it calls its function at every expansion."""
    known = _HANDLERS.get(interface)
    if known is None:

        def initialise(self: Any, check: Callable[[], None]) -> None:
            interface.__init__(self)
            self._check = check

        def expand(self: Any, *_: Any) -> None:
            self._check()

        def ignore(*_: Any) -> None:
            return None

        methods: dict[str, Any] = {name: ignore for name in dir(interface) if name.startswith("on_")}
        methods.update(__init__=initialise, on_expand_state=expand)
        known = _HANDLERS[interface] = type("ExpansionWatcher", (interface,), methods)
    return known


def _import_pymimir() -> Any:
    try:
        import pymimir
        import pymimir.advanced.formalism
        import pymimir.advanced.search
    except ImportError as error:
        raise EngineMissingError(
            "the planning engine mimir is not installed; install the extra 'planners' (pymimir, GPL-3)"
        ) from error
    return pymimir


@contextlib.contextmanager
def _silent_stdout() -> Iterator[None]:
    """Send what C++ code writes to file descriptor 1 nowhere; Python's lock is held, so no other thread is silenced."""
    libc = ctypes.PyDLL(None)
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    libc.fflush(None)
    kept = os.dup(1)
    sink = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(sink, 1)
        yield
    finally:
        libc.fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
        os.close(sink)


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


_ENGINES: weakref.WeakSet[MimirEngine] = weakref.WeakSet()


@atexit.register
def _close_engines() -> None:
    """Let pymimir's objects go before Python's own teardown, which would report them as leaks."""
    for engine in list(_ENGINES):
        engine.close()
    _HANDLERS.clear()
