"""Makes a plan shorter where time matters: leaves out, exchanges and moves steps, so that waiting time is used.

Efforts are counted and not timed, and nothing is left to chance, so the same plan becomes the same on any machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction, SymbolicState
from graph_planner_ros.planning.timeline import Timed, Timeline

EFFORT = 8_000
"""Changes that are tried on a plan; a thousand take about a tenth of a second."""
REPAIRS = 6
"""Other ways for steps that a change has made impossible, for each change."""
LONGEST_BLOCK = 8
"""Steps that are moved together."""

Work = tuple[GroundAction, ...]


@dataclass(frozen=True)
class _Candidate:
    """Changed work: how many steps at its beginning are as before, and which things stand for the goal's variables."""

    work: Work
    same: int
    binding: Mapping[str, str]
    renamed: Mapping[str, str] | None = None


class Scheduler:
    """Improves one plan.

    Args:
        domain, state: of the plan. goal: with an instance for each variable. remaining: see `Timeline`.
        effort: changes that are tried.
    """

    def __init__(
        self,
        domain: Domain,
        state: SymbolicState,
        goal: Goal,
        remaining: Mapping[Atom, int],
        effort: int = EFFORT,
    ) -> None:
        self._domain = domain
        self._goal = goal
        self._timeline = Timeline(domain, state, remaining)
        self._left = effort
        self._classes = {
            atom.arguments[0]: atom.arguments[1] for atom in state.atoms if atom.predicate == domain.class_predicate
        }
        self._alike: dict[str, list[str]] = {}
        for name, of in sorted(state.objects.items()):
            if of != domain.class_type:
                self._alike.setdefault(of, []).append(name)
        self._types = dict(state.objects)

    def improve(self, actions: list[GroundAction]) -> list[tuple[GroundAction, int]] | None:
        """Return the shortest plan found: actions, each with how many steps it takes; None if it cannot be timed."""
        binding = {v.name: v.instance for v in self._goal.variables if v.instance is not None}
        work = self._timeline.work_of(actions)
        masks = self._timeline.goal_masks(self._goal, binding)
        best = self._timeline.time(work, masks) if masks is not None else None
        if best is None:
            return None
        improved = True
        while improved and self._left > 0:
            improved = False
            for neighbours in (self._shorter, self._exchanged, self._moved):
                found = self._climb(best, binding, neighbours)
                if found is not None:
                    best, binding = found
                    improved = True
        masks = self._timeline.goal_masks(self._goal, binding)
        assert masks is not None
        return self._timeline.plan(best, masks)

    def _climb(self, best: Timed, binding: dict[str, str], neighbours) -> tuple[Timed, dict[str, str]] | None:  # type: ignore[no-untyped-def]
        """Take the first change that helps, again and again."""
        result = None
        again = True
        while again:
            again = False
            for candidate in neighbours(best.work, binding):
                if self._left <= 0:
                    return result
                self._left -= 1
                timed = self._try(candidate, best)
                if timed is not None:
                    best, binding = timed, dict(candidate.binding)
                    result = best, binding
                    again = True
                    break
        return result

    def _try(self, candidate: _Candidate, best: Timed) -> Timed | None:
        ends = self._timeline.ends
        if candidate.renamed is not None:
            renamed = candidate.renamed
            self._timeline.ends = {
                **ends,
                **{
                    Atom(marker.predicate, tuple(renamed.get(n, n) for n in marker.arguments)): _renamed(
                        action, renamed
                    )
                    for marker, action in ends.items()
                },
            }
        masks = self._timeline.goal_masks(self._goal, candidate.binding)
        timed = None
        if masks is not None:
            same = min(candidate.same, len(best.moments) - 1)
            timed = self._timeline.time(candidate.work, masks, best, same, best.time, REPAIRS)
        if timed is None:
            self._timeline.ends = ends
        return timed

    # -- changes ------------------------------------------------------------------------------------------------------

    def _shorter(self, work: Work, binding: Mapping[str, str]) -> Iterator[_Candidate]:
        for length in (1, 2, 3, 4):
            for start in range(len(work) - length + 1):
                yield _Candidate(work[:start] + work[start + length :], start, binding)

    def _moved(self, work: Work, binding: Mapping[str, str]) -> Iterator[_Candidate]:
        for length in range(1, LONGEST_BLOCK + 1):
            for start in range(len(work) - length + 1):
                block, rest = work[start : start + length], work[:start] + work[start + length :]
                for target in range(len(rest) + 1):
                    if target != start:
                        yield _Candidate(rest[:target] + block + rest[target:], min(start, target), binding)

    def _exchanged(self, work: Work, binding: Mapping[str, str]) -> Iterator[_Candidate]:
        used = list(dict.fromkeys(name for action in work for name in action.arguments))
        for name in used:
            for other in self._alike.get(self._types.get(name, ""), ()):
                if other == name:
                    continue
                swap = {name: other, other: name}
                bound = binding
                if self._classes.get(name) == self._classes.get(other):
                    bound = {variable: swap.get(value, value) for variable, value in binding.items()}
                first = next(i for i, action in enumerate(work) if name in action.arguments)
                yield _Candidate(tuple(_renamed(action, swap) for action in work), 0, bound, swap)
                for start in range(first, len(work)):
                    if name not in work[start].arguments:
                        continue
                    later = tuple(_renamed(action, swap) for action in work[start:])
                    yield _Candidate(work[:start] + later, start, binding, swap)
                    for end in range(start + 1, min(len(work), start + 40)):
                        if name in work[end].arguments:
                            part = tuple(_renamed(action, swap) for action in work[start : end + 1])
                            yield _Candidate(work[:start] + part + work[end + 1 :], start, binding, swap)
                            break


def _renamed(action: GroundAction, names: Mapping[str, str]) -> GroundAction:
    return GroundAction(action.name, tuple(names.get(name, name) for name in action.arguments))
