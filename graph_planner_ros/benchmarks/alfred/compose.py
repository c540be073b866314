"""The long-horizon set: two to four ALFRED goals for one room, in one instruction, with a plan that was verified.

The goals of a sample speak of different classes of things (fixtures may be shared), so none of them needs a thing that
another one needs and none can undo another's; what only one hand can do is asked for once, and last. Everything that
the goals need is present in the room of the first goal's trajectory. Types of composition are drawn evenly.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from graph_planner_ros.benchmarks.alfred.annotation_map import AnnotationMap, Request
from graph_planner_ros.benchmarks.alfred.data import AlfredDataError, Trajectory
from graph_planner_ros.benchmarks.alfred.evaluation import Outcome, plan_goals
from graph_planner_ros.benchmarks.alfred.judge import Judge, alfred_view
from graph_planner_ros.benchmarks.alfred.samples import (
    Sample,
    present_fixtures,
    recorded_places,
    reference_plan,
)
from graph_planner_ros.benchmarks.alfred.scene import labels_of, make_scene
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.supposing import Evidence
from graph_planner_ros.planning.task_graph import subtasks_of
from graph_planner_ros.scene.facts import symbolic_state

FEWEST, MOST = 2, 4
"""Goals of a sample."""
SHORTEST = 7
"""Subtasks of a sample's plan at least (GraphThink IV-E measures 7 to 12)."""
_TRIES = 100
"""Draws for one sample before its type is given up."""


@dataclass(frozen=True)
class Refusal:
    """Why goals were not composed; for the report."""

    reason: str


class Composer:
    """Composes samples; the same for the same trajectories and seed.

    Args:
        annotations: meaning of the annotations. trajectories: to take goals from.
        planner: makes the ground-truth plans. seed: of all that is drawn.
    """

    def __init__(
        self, annotations: AnnotationMap, trajectories: Sequence[Trajectory], planner: MemPlan, seed: int = 0
    ) -> None:
        self._annotations = annotations
        self._planner = planner
        self._judge = Judge(annotations)
        self._seed = seed
        self._rng = random.Random(seed)
        self._rooms: dict[str, dict[str, list[Trajectory]]] = {}
        for item in sorted(trajectories, key=lambda item: item.name):
            annotations.classes(Request.of(item))
            if item.annotations:
                self._rooms.setdefault(item.room, {}).setdefault(item.task, []).append(item)
        self.types = self._possible_types()
        self.refused: dict[str, int] = {}

    def _possible_types(self) -> list[tuple[str, ...]]:
        """Return all multisets of task types that some room has, those first that are played once a robot last."""
        found: dict[tuple[str, ...], None] = {}
        for number in range(FEWEST, MOST + 1):
            for tasks in self._rooms.values():
                ordered = sorted(tasks, key=lambda name: (self._is_last(name), name))
                for kinds in itertools.combinations_with_replacement(ordered, number):
                    if sum(map(self._is_last, kinds)) <= 1:
                        found[kinds] = None
        return sorted(found, key=lambda kinds: (len(kinds), kinds))

    def _is_last(self, task: str) -> bool:
        literals = self._annotations.task(task).literals
        return any(literal.predicate in self._annotations.once for literal in literals)

    def compose(self, count: int, progress: Callable[[int], None] = lambda _: None) -> list[Sample]:
        """Return so many samples: numbers of goals take turns, and within a number its types.

        Raises:
            AlfredDataError: if the trajectories do not give so many.
        """
        by_number = [[kinds for kinds in self.types if len(kinds) == number] for number in range(FEWEST, MOST + 1)]
        turns = [self._shuffled(kinds) for kinds in by_number if kinds]
        found: dict[tuple[tuple[str, int], ...], Sample] = {}
        position = 0
        while len(found) < count and any(turns):
            number = position % len(turns)
            turn = position // len(turns)
            position += 1
            if not turns[number]:
                continue
            kinds = turns[number][turn % len(turns[number])]
            drawn = self._draw(kinds, found, len(found))
            if drawn is None:
                turns[number].remove(kinds)
                continue
            key, sample = drawn
            found[key] = sample
            progress(len(found))
        if len(found) < count:
            raise AlfredDataError(f"the trajectories give {len(found)} composed samples, and {count} were wanted")
        return list(found.values())

    def _shuffled(self, kinds: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
        return self._rng.sample(kinds, len(kinds))

    def _draw(
        self, kinds: tuple[str, ...], known: dict[tuple[tuple[str, int], ...], Sample], number: int
    ) -> tuple[tuple[tuple[str, int], ...], Sample] | None:
        rooms = [name for name, tasks in self._rooms.items() if set(kinds) <= set(tasks)]
        for _ in range(_TRIES):
            room = self._rng.choice(rooms)
            chosen = [self._rng.choice(self._rooms[room][kind]) for kind in self._mixed(kinds)]
            said = [self._rng.randrange(len(item.annotations)) for item in chosen]
            key = tuple((item.name, index) for item, index in zip(chosen, said, strict=True))
            if key in known:
                continue
            made = self._make(chosen, said, number)
            if isinstance(made, Sample):
                return key, made
            self.refused[made.reason] = self.refused.get(made.reason, 0) + 1
        return None

    def _mixed(self, kinds: tuple[str, ...]) -> list[str]:
        """Return the kinds in any order, with what comes last at the end."""
        order = self._rng.sample(kinds, len(kinds))
        return sorted(order, key=self._is_last)

    def _make(self, chosen: Sequence[Trajectory], said: Sequence[int], number: int) -> Sample | Refusal:
        annotations = self._annotations
        requests = tuple(Request.of(item) for item in chosen)
        refusal = self._contradiction(requests) or self._absent(chosen)
        if refusal:
            return Refusal(refusal)
        texts = [item.annotations[index].goal for item, index in zip(chosen, said, strict=True)]
        places: dict[str, tuple[str, ...]] = {}
        for item in chosen:
            for label, where in recorded_places(annotations, item.plan).items():
                places.setdefault(label, where)
        sample = Sample(
            f"composed/{self._seed}/{number}",
            "+".join(sorted(annotations.task(item.task).short for item in chosen)),
            chosen[0].room,
            self._joined(texts),
            requests,
            chosen[0].objects,
            present_fixtures(annotations, chosen[0]),
            places,
            (),
            tuple(item.name for item in chosen),
        )
        if sum(len(reference_plan(annotations, item.plan)) for item in chosen) < SHORTEST:
            return Refusal(f"fewer than {SHORTEST} subtasks")  # seen at once, without planning
        return self._with_plan(sample)

    def _contradiction(self, requests: Sequence[Request]) -> str:
        """Return why goals cannot be asked for together, or an empty text."""
        annotations = self._annotations
        seen: set[str] = set()
        for request in requests:
            classes = annotations.classes(request)
            things = {label for label in classes.values() if not annotations.is_fixed(label)}
            if things & seen:
                return "two goals speak of things of one class"
            seen |= things
        goal = annotations.goal(requests)
        for predicate in annotations.once:
            if sum(literal.predicate == predicate for literal in goal.literals) > 1:
                return f"two goals want {predicate}"
        return ""

    def _absent(self, chosen: Sequence[Trajectory]) -> str:
        """Return what the first trajectory's room lacks for the other goals, or an empty text."""
        annotations = self._annotations
        fixtures = set(present_fixtures(annotations, chosen[0]))
        for item in chosen:
            needed: dict[str, int] = {}
            for label in annotations.classes(Request.of(item)).values():
                needed[label] = needed.get(label, 0) + 1
            for label, count in needed.items():
                there = int(label in fixtures) if annotations.is_fixed(label) else chosen[0].objects.get(label, 0)
                if there < (1 if annotations.is_fixed(label) else count):
                    return "the room lacks a thing of another goal"
        return ""

    def _joined(self, texts: Sequence[str]) -> str:
        said = texts[0]
        for text in texts[1:]:
            first = said.strip().rstrip(".!,; ")
            rest = text.strip()
            pattern = self._rng.choice(self._annotations.connectives)
            said = pattern.format(first=first, rest=rest[:1].lower() + rest[1:])
        return said

    def _with_plan(self, sample: Sample) -> Sample | Refusal:
        """Return the sample with a plan that the verifier and the task graph let pass."""
        annotations, domain = self._annotations, self._annotations.domain
        try:
            graph = make_scene(sample, annotations)
        except AlfredDataError:
            return Refusal("a thing has no place where its goal is not true at once")
        state = symbolic_state(graph, domain)
        outcome = Outcome(goals=(annotations.goal(sample.requests),))
        plan_goals(domain, lambda _, state, goal: self._planner.plan(state, goal), Evidence(), state, outcome)
        if outcome.status:
            return Refusal(f"no plan: {outcome.reason}")
        actions = outcome.actions
        labels = labels_of(graph)
        planned = replace(sample, plan=alfred_view(annotations, subtasks_of(domain, actions, labels)))
        judgement = self._judge.judge(planned, state, labels, actions)
        if not (judgement.execution.reached and judgement.graph):
            return Refusal(f"the plan was refused: {judgement.reason}")
        if planned.horizon < SHORTEST:
            return Refusal(f"fewer than {SHORTEST} subtasks")
        return planned
