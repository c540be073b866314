"""How long a plan takes: ways, repetitions, and processes that go on by themselves while other steps are done.

A plan is looked at as its *work*: the steps without ways (they follow from where the work is) and without the ends of
processes (they come by themselves). Work in any order can be timed: a way is put in where it is needed, and a step
that needs the end of a process, or would break it off, waits for it. That is what makes orders comparable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.state import effects
from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction, SymbolicState
from graph_planner_ros.planning.alternatives import Alternatives
from graph_planner_ros.planning.delays import marker_of
from graph_planner_ros.planning.travel import find_way

_WAYS_OUT = 3
"""Other ways to do a step that are looked at."""


class _Step(NamedTuple):
    """A ground action as sets of bits; ``place`` is the place that it needs (its bit and its atom)."""

    needed: int
    forbidden: int
    added: int
    deleted: int
    place: int
    target: Atom | None
    duration: int
    starts: tuple[tuple[Atom, int], ...]


@dataclass
class Moment:
    """A moment of a plan that is being timed: what is true, when it is, which processes go on until when."""

    atoms: int
    time: int = 0
    pending: tuple[tuple[int, Atom], ...] = ()


@dataclass
class Timed:
    """Work with its duration.

    Attributes:
        time: actions that it takes, waiting included. moments: before each step, and at the end.
    """

    work: tuple[GroundAction, ...]
    time: int
    moments: list[Moment] = field(default_factory=list)


class Timeline:
    """Times work from one state.

    Args:
        domain, state: the state holds the markers of what goes on.
        remaining: marker -> actions until the end of its process.
    """

    def __init__(self, domain: Domain, state: SymbolicState, remaining: Mapping[Atom, int]) -> None:
        self._domain = domain
        self._bits: dict[Atom, int] = {}
        self._known: dict[GroundAction, _Step | None] = {}
        self._ways: dict[tuple[str, ...], _Step | None] = {}
        self._objects = {**domain.constants, **state.objects}
        self._static = {atom for atom in state.atoms if atom.predicate in domain.static_predicates}
        self._way = find_way(domain)
        self._here: dict[int, str] = {}
        self._places = 0
        self._alternatives = Alternatives(domain, state.objects)
        self.ends: dict[Atom, GroundAction] = {}
        pending = tuple(sorted((left, atom) for atom, left in remaining.items() if atom in state.atoms))
        self.start = Moment(self._mask(a for a in state.atoms if a not in self._static), 0, pending)

    def _bit(self, atom: Atom) -> int:
        bit = self._bits.get(atom)
        if bit is None:
            bit = self._bits[atom] = 1 << len(self._bits)
            if self._way is not None and atom.predicate == self._way.predicate:
                self._here[bit] = atom.arguments[self._way.position]
                self._places |= bit
        return bit

    def _mask(self, atoms: Iterable[Atom]) -> int:
        mask = 0
        for atom in atoms:
            mask |= self._bit(atom)
        return mask

    # -- what a plan is -----------------------------------------------------------------------------------------------

    def work_of(self, actions: Iterable[GroundAction]) -> tuple[GroundAction, ...]:
        """Return the work of a plan; the ends of its processes are noted in ``ends``."""
        work = []
        for action in actions:
            if action.name in self._domain.delays:
                self.ends[marker_of(self._domain, action)] = action
            elif self._way is None or action.name != self._way.action:
                work.append(action)
        return tuple(work)

    def goal_masks(self, goal: Goal, binding: Mapping[str, str]) -> tuple[int, int] | None:
        """Return the atoms that must be true and those that must be false; None if a static one is otherwise."""
        masks = [0, 0]
        for literal in goal.literals:
            atom = Atom(literal.predicate, tuple(binding.get(name, name) for name in literal.arguments))
            if literal.predicate in self._domain.static_predicates:
                if (atom in self._static) != literal.positive:
                    return None
                continue
            masks[0 if literal.positive else 1] |= self._bit(atom)
        return masks[0], masks[1]

    # -- timing -------------------------------------------------------------------------------------------------------

    def time(
        self,
        work: Sequence[GroundAction],
        goal: tuple[int, int],
        best: Timed | None = None,
        same: int = 0,
        limit: int = 1 << 30,
        repairs: int = 0,
    ) -> Timed | None:
        """Return the work with its duration; None if a step does not apply, the goal is missed, or it takes too long.

        Args:
            work: steps in order. goal: see `goal_masks`.
            best, same: work that begins with the same number of steps, which are not looked at again.
            limit: the duration must be less.
            repairs: a step that does not apply may be done otherwise (with its thing where that is now, somewhere
                else that is free), and steps that undo each other are left out; so many other ways are looked at.
        """
        moments = list(best.moments[: same + 1]) if best is not None else [self.start]
        done = list(work[: len(moments) - 1])
        return self._follow(done, moments, list(work[len(done) :]), goal, limit, [repairs], repairs > 0)

    def _follow(
        self,
        done: list[GroundAction],
        moments: list[Moment],
        rest: list[GroundAction],
        goal: tuple[int, int],
        limit: int,
        budget: list[int],
        mend: bool,
    ) -> Timed | None:
        for index, action in enumerate(rest):
            step = self._step(action)
            moment = self._after(moments[-1], step, None) if step is not None else None
            if moment is None:
                for other in self._others(moments[-1], action) if budget[0] > 0 else ():
                    if budget[0] <= 0:
                        return None
                    budget[0] -= 1
                    again = [other, *rest[index + 1 :]]
                    found = self._follow(list(done), list(moments), again, goal, limit, budget, mend)
                    if found is not None:
                        return found
                return None
            if moment.time >= limit:
                return None
            done.append(action)
            moments.append(moment)
            if mend and len(moments) > 2 and self._is_undone(moments[-3], moment):
                del done[-2:], moments[-2:]
        last = self._until(moments[-1], goal[0], goal[1], None)
        if last is None or last.time >= limit:
            return None
        return Timed(tuple(done), last.time, moments)

    def _is_undone(self, before: Moment, now: Moment) -> bool:
        """Return whether nothing has changed between two moments but the place."""
        return (before.atoms ^ now.atoms) & ~self._places == 0 and before.pending == now.pending

    def _others(self, moment: Moment, action: GroundAction) -> Iterator[GroundAction]:
        """Yield other actions with the same thing and outcome that apply now, those that differ least first."""
        found = []
        atoms = moment.atoms | self._places
        for order, other in enumerate(self._alternatives.of(action)):
            step = self._step(other)
            if step is not None and not step.needed & ~atoms and not step.forbidden & moment.atoms:
                differ = sum(a not in other.arguments for a in action.arguments)
                found.append((other.name != action.name, differ, order, other))
        return (other for _, _, _, other in sorted(found, key=lambda item: item[:3])[:_WAYS_OUT])

    def plan(self, timed: Timed, goal: tuple[int, int]) -> list[tuple[GroundAction, int]]:
        """Return the plan of timed work: with ways and with the ends of processes; each with the actions it takes."""
        written: list[tuple[GroundAction, int]] = []
        moment: Moment | None = self.start
        for action in timed.work:
            step = self._step(action)
            assert moment is not None and step is not None
            moment = self._after(moment, step, written)
            written.append((action, step.duration))
        assert moment is not None
        self._until(moment, goal[0], goal[1], written)
        return written

    def _after(self, moment: Moment, step: _Step, written: list[tuple[GroundAction, int]] | None) -> Moment | None:
        atoms, now, pending = moment.atoms, moment.time, moment.pending
        if step.place and not atoms & step.place:
            way = self._go(atoms, step)
            if way is None:
                return None
            way_step, way_action = way
            atoms, now = (atoms & ~way_step.deleted) | way_step.added, now + 1
            if written is not None:
                written.append((way_action, 1))
        if pending:
            for end in pending:
                done = self._done(end[1])
                if done is None:
                    continue
                helps = (step.needed & ~atoms & done.added) or (step.forbidden & atoms & done.deleted)
                if helps or (done.needed & step.deleted) or (done.forbidden & step.added):
                    if done.needed & ~atoms or done.forbidden & atoms:
                        return None
                    if written is not None:
                        written.append((self.ends[end[1]], max(0, end[0] - now)))
                    now = max(now, end[0])
                    atoms = (atoms & ~done.deleted) | done.added
                    pending = tuple(other for other in pending if other is not end)
        if step.needed & ~atoms or step.forbidden & atoms:
            return None
        if step.starts:
            pending = tuple(sorted((*pending, *((now + steps, marker) for marker, steps in step.starts))))
        return Moment((atoms & ~step.deleted) | step.added, now + step.duration, pending)

    def _until(
        self, moment: Moment, wanted: int, unwanted: int, written: list[tuple[GroundAction, int]] | None
    ) -> Moment | None:
        """Wait for the processes that the goal needs."""
        atoms, now = moment.atoms, moment.time
        for end, marker in moment.pending:
            done = self._done(marker)
            if done is not None and ((wanted & ~atoms & done.added) or (unwanted & atoms & done.deleted)):
                if done.needed & ~atoms or done.forbidden & atoms:
                    return None
                if written is not None:
                    written.append((self.ends[marker], max(0, end - now)))
                now = max(now, end)
                atoms = (atoms & ~done.deleted) | done.added
        return None if wanted & ~atoms or unwanted & atoms else Moment(atoms, now)

    # -- ground actions -----------------------------------------------------------------------------------------------

    def _done(self, marker: Atom) -> _Step | None:
        action = self.ends.get(marker)
        if action is None:
            action = self._end_like(marker)
            if action is None:
                return None
            self.ends[marker] = action
        return self._step(action)

    def _end_like(self, marker: Atom) -> GroundAction | None:
        """Return the end of a process that the plan did not have: like that of another process of its kind."""
        for known, action in self.ends.items():
            if known.predicate == marker.predicate:
                swap = dict(zip(known.arguments, marker.arguments, strict=True))
                return GroundAction(action.name, tuple(swap.get(name, name) for name in action.arguments))
        return None

    def _step(self, action: GroundAction) -> _Step | None:
        """Return an action in bits; None if it can never apply."""
        if action not in self._known:
            self._known[action] = self._make(action)
        return self._known[action]

    def _make(self, action: GroundAction) -> _Step | None:
        domain, schema = self._domain, self._domain.action(action.name)
        binding = dict(zip((name for name, _ in schema.parameters), action.arguments, strict=True))
        if not all(domain.is_a(self._objects.get(binding[name], ""), of) for name, of in schema.parameters):
            return None
        if any((binding.get(e.left, e.left) == binding.get(e.right, e.right)) != e.positive for e in schema.equalities):
            return None
        needed = forbidden = place = 0
        target: Atom | None = None
        for literal in schema.preconditions:
            atom = Atom(literal.predicate, tuple(binding.get(name, name) for name in literal.arguments))
            if literal.predicate in domain.static_predicates:
                if (atom in self._static) != literal.positive:
                    return None
            elif literal.positive and self._way is not None and literal.predicate == self._way.predicate:
                place, target = self._bit(atom), atom
                needed |= place
            elif literal.positive:
                needed |= self._bit(atom)
            else:
                forbidden |= self._bit(atom)
        added, deleted = effects(domain, action)
        starts = tuple(
            (atom, delay.steps)
            for delay in domain.delays.values()
            if delay.start == action.name
            for atom in sorted(added)
            if atom.predicate == delay.marker
        )
        duration = 0 if action.name in domain.delays else domain.repetitions.get(action.name, 1)
        return _Step(needed, forbidden, self._mask(added), self._mask(deleted), place, target, duration, starts)

    def _go(self, atoms: int, step: _Step) -> tuple[_Step, GroundAction] | None:
        """Return the way to where a step is done, as it can be gone now."""
        way, target = self._way, step.target
        assert way is not None and target is not None
        names = [name for name, _ in self._domain.action(way.action).parameters]
        fixed = dict(zip(way.fixed, (a for i, a in enumerate(target.arguments) if i != way.position), strict=True))
        for bit, here in self._here.items():
            if atoms & bit:
                values = {**fixed, way.start: here, way.end: target.arguments[way.position]}
                action = GroundAction(way.action, tuple(values[name] for name in names))
                found = self._step(action)
                if found is not None and not found.needed & ~atoms and not found.forbidden & atoms:
                    return found, action
        return None
