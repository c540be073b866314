"""Keep or revise: a model looks at the plan after a completed subtask and after a failure (GraphThink III-C).

A revision counts only if its nodes and edges are those of the task graph, it can be carried out from what is believed,
and it reaches the goal, or another reading of the goal that differs in one thing or place (see `readings`). In doubt,
and whatever goes wrong, the plan is kept.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import describe_goal, goal_holds
from graph_planner_ros.domain.symbols import Goal, GroundAction, SymbolicState
from graph_planner_ros.language.models import LanguageModel, Message, load_prompt
from graph_planner_ros.planning.engines.base import Engine
from graph_planner_ros.planning.hypotheses import Hypotheses, with_hypotheses
from graph_planner_ros.planning.llm import prompting
from graph_planner_ros.planning.llm.asking import Answer, ask_object, one_line
from graph_planner_ros.planning.llm.reading import KEY, Names, read_plan
from graph_planner_ros.planning.llm.readings import other_readings
from graph_planner_ros.planning.problem import complete_functions
from graph_planner_ros.planning.result import ModelRound, PlannedStep, PlanningStatus, planned_steps
from graph_planner_ros.planning.reviewing import Review, ReviewEvent, ReviewKind
from graph_planner_ros.planning.task_graph import (
    MAX_SUBTASKS,
    KnownThings,
    Refiner,
    Subtask,
    TaskGraph,
    check_edges,
    check_nodes,
    implied_parameters,
    subtasks_of,
)
from graph_planner_ros.planning.verifier import verify
from graph_planner_ros.scene.graph import SceneGraph

MAX_REVISIONS = 5
ROUNDS = 3
"""Questions about one event (GraphThink: 3 rounds of correction)."""
MAX_SILENCES = 2
"""Questions in a row without an answer after which the model is not asked any more in a task."""
_LEAST = 0.1
"""Seconds in which an answer is looked at, even if hardly any of the time for judging is left."""
_THE_SAME = "its revision is the plan that there is"
_MAX_TOKENS = 1024
_MAX_STEPS_SHOWN = 60
_EVENTS = {
    ReviewEvent.COMPLETED: "A subtask was completed. The plan can go on as it is.",
    ReviewEvent.FAILED: "A step failed. If the plan is kept, it is planned anew for the same goal.",
}
_SCHEMA = {
    "type": "object",
    "properties": {
        "decision": {"type": "string", "enum": ["keep", "revise"]},
        "reason": {"type": "string", "maxLength": 400},
        KEY: {
            "type": "array",
            "maxItems": 40,
            "items": {"type": "array", "minItems": 1, "items": {"type": "string"}},
        },
    },
    "required": ["decision", "reason", KEY],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class _Case:
    """What is looked at; ``full`` is the state with the hypotheses in it, ``rest`` what is left of the plan."""

    event: ReviewEvent
    instruction: str
    goal: Goal
    steps: tuple[PlannedStep, ...]
    next: int
    feedback: str
    scene: SceneGraph | None
    state: SymbolicState
    full: SymbolicState
    hypotheses: Hypotheses
    excluded: tuple[GroundAction, ...]
    cancel: threading.Event | None
    rest: tuple[Subtask, ...]


class Reviser:
    """Asks a model whether to keep a plan, and grounds what it wants instead.

    Args:
        domain: fixed. engine: executes plans symbolically. model: is asked. graph: the task graph.
        timeout: seconds for all questions about one event; as many again at most for judging the answers.
        rounds: questions about one event: why a revision is refused is told to the model with the next one.
        max_revisions: in a task. enabled: without it everything is kept, and nobody is asked.
    """

    def __init__(
        self,
        domain: Domain,
        engine: Engine,
        model: LanguageModel,
        graph: TaskGraph | None = None,
        *,
        timeout: float = 10.0,
        rounds: int = ROUNDS,
        max_revisions: int = MAX_REVISIONS,
        enabled: bool = True,
    ) -> None:
        if timeout <= 0.0 or max_revisions < 0 or rounds < 1:
            raise ValueError(
                f"expected timeout > 0, rounds >= 1 and max_revisions >= 0, got {timeout}, {rounds} and {max_revisions}"
            )
        self.domain, self.model, self.graph = domain, model, graph or TaskGraph.of(domain)
        self.timeout, self.rounds, self.max_revisions, self.enabled = timeout, rounds, max_revisions, enabled
        self.revisions = 0
        self._silences = 0
        self._judged = 0.0
        self._refiner = Refiner(domain, self.graph, engine)
        self._prompt, self._feedback = load_prompt("replan"), load_prompt("replan_feedback")

    def new_task(self) -> None:
        """Forget what happened in the last task."""
        self.revisions = self._silences = 0

    def review(
        self,
        event: ReviewEvent,
        *,
        instruction: str,
        goal: Goal,
        steps: Sequence[PlannedStep],
        next: int,
        feedback: str,
        scene: SceneGraph | None,
        state: SymbolicState,
        hypotheses: Hypotheses,
        excluded: Iterable[GroundAction] = (),
        cancel: threading.Event | None = None,
    ) -> Review:
        """See `reviewing.PlanReviser`."""
        if not self.enabled:
            return _kept("no model is asked")
        if self.revisions >= self.max_revisions:
            return _kept(f"the plan was revised {self.revisions} times, and is not revised any more")
        if self._silences >= MAX_SILENCES:
            return _kept("the model did not answer before, and is not asked any more")
        entries: list[ModelRound] = []
        try:
            whole = complete_functions(self.domain, state)
            full = with_hypotheses(self.domain, whole, hypotheses)
            labels = KnownThings.of(self.domain, full).labels
            rest = subtasks_of(self.domain, steps[next:], labels)
            case = _Case(
                event, instruction, goal, tuple(steps), next, feedback, scene, whole, full, hypotheses,
                tuple(excluded), cancel, rest,
            )  # fmt: skip
            review = self._reviewed(case, entries)
        except Exception as error:  # a second opinion must never end a task
            review = _kept(f"the review failed: {type(error).__name__}: {one_line(str(error))}")
        return replace(review, rounds=tuple(entries))

    # ---- asking

    def _reviewed(self, case: _Case, entries: list[ModelRound]) -> Review:
        """Ask until an answer counts, the rounds are over or the time is; ``entries`` gets a round for each."""
        messages = self._question(case)
        deadline, self._judged = time.monotonic() + self.timeout, 0.0
        review = _kept("the model was not asked")
        for number in range(1, self.rounds + 1):
            left = deadline + self._judged - time.monotonic()  # judging has a time of its own
            if entries and (left <= 0.0 or self._judged >= self.timeout):
                break
            answer = ask_object(
                self.model, messages, _SCHEMA, "decision", max_tokens=_MAX_TOKENS, timeout=left, cancel=case.cancel
            )
            entries.append(replace(answer.round, number=number))
            before, review = review, self._judge(case, answer)
            if number > 1 and answer.content is None:
                review = _kept(f"{before.reason}; asked once more: {answer.problem}")
            wrong = review.kind is ReviewKind.KEEP and not _said_keep(answer)
            if wrong and not answer.round.problems:
                entries[-1] = replace(entries[-1], problems=(review.reason,))
            if not wrong or answer.content is None or answer.cancelled or review.reason == _THE_SAME:
                break
            if case.cancel is not None and case.cancel.is_set():
                break
            more = self._feedback.render(problem=prompting.quoted(review.reason, 400)[1:-1])
            messages = (*messages, Message("assistant", answer.round.text), *more)
        return review

    def _question(self, case: _Case) -> tuple[Message, ...]:
        known = KnownThings.of(self.domain, case.full)
        spoken = {name for variable in case.goal.variables if (name := variable.class_name) is not None}
        return self._prompt.render(
            nodes=prompting.describe_nodes(self.graph),
            edges=prompting.describe_edges(self.graph),
            instruction=prompting.quoted(case.instruction, prompting.MAX_INSTRUCTION),
            goal=prompting.quoted(describe_goal(case.goal, self.domain), prompting.MAX_INSTRUCTION),
            plan=_progress(case),
            rest=json.dumps([[item.action, *map(prompting.named, item.arguments)] for item in case.rest]),
            event=_EVENTS[case.event],
            feedback=prompting.quoted(case.feedback, 400) if case.feedback else prompting.NOTHING,
            objects=prompting.describe_things(known, self.domain),
            scene=prompting.describe_scene(case.scene, spoken),
        )

    # ---- judging

    def _judge(self, case: _Case, answer: Answer) -> Review:
        if answer.content is None:
            self._silences += not answer.cancelled
            return _kept(answer.problem)
        self._silences = 0
        reason = one_line(answer.content.get("reason"))
        if _said_keep(answer):
            return _kept(reason)
        if answer.content["decision"] != "revise":
            return _kept("its decision is neither keep nor revise")
        subtasks, problem = self._subtasks(case, answer.content)
        if problem:
            return _kept(f"its revision was refused: {problem}")
        steps, reading, problem = self._refined(case, subtasks)
        if problem:
            return _kept(f"its revision was refused: {problem}")
        if steps == tuple(step.action for step in case.steps[case.next :]) and reading is None:
            return _kept(_THE_SAME)
        self.revisions += 1
        return Review(ReviewKind.REVISE, reason, self._planned(case, steps), reading)

    def _subtasks(self, case: _Case, content: dict[str, object]) -> tuple[tuple[Subtask, ...], str]:
        """Return the subtasks of a revision, or what is wrong with them."""
        known = KnownThings.of(self.domain, case.full)
        names = Names(
            [*self.graph.by_action, *implied_parameters(self.domain)], [*known.labels, *known.labels.values()]
        )
        parsed = read_plan(json.dumps({KEY: content.get(KEY)}), names)
        if parsed.problems:
            return (), parsed.problems[0]
        if not 0 < len(parsed.subtasks) <= MAX_SUBTASKS:
            return (), "it has no subtasks, or too many"
        objections = check_nodes(self.graph, parsed.subtasks, known) + check_edges(self.graph, parsed.subtasks)
        if objections:
            first = min(objections, key=lambda item: item.index)
            return (), f"subtask {first.index + 1}: {first.reason}"
        return parsed.subtasks, ""

    def _refined(self, case: _Case, subtasks: tuple[Subtask, ...]) -> tuple[tuple[GroundAction, ...], Goal | None, str]:
        """Return verified steps and the other reading of the goal that they reach, if any; or what is wrong."""
        steps, problem = self._execute(case, case.goal, subtasks)
        if not problem:
            return steps, None, ""
        seen = KnownThings.of(self.domain, case.state)  # without what is only supposed
        readings = other_readings(self.domain, case.goal, case.instruction, case.rest, subtasks, seen)
        found = []
        for reading in readings:
            if goal_holds(reading, case.state, self.domain):
                continue
            actions, wrong = self._execute(case, reading, subtasks)
            if not wrong:
                found.append((actions, reading))
        if len(found) > 1:
            return (), None, "it could be meant for several other goals"
        return (*found[0], "") if found else ((), None, problem)

    def _execute(self, case: _Case, goal: Goal, subtasks: tuple[Subtask, ...]) -> tuple[tuple[GroundAction, ...], str]:
        started = time.monotonic()
        refined = self._refiner.refine(
            case.state,
            goal,
            subtasks,
            hypotheses=case.hypotheses,
            excluded=case.excluded,
            timeout=max(_LEAST, (self.timeout - self._judged) / 5.0),  # the goal and at most four other readings
            cancel=case.cancel,
        )
        self._judged += time.monotonic() - started
        if refined.status is not PlanningStatus.SOLVED:
            return (), one_line(refined.reason) or refined.status.value
        verification = verify(self.domain, case.state, goal, refined.steps, case.hypotheses)
        return refined.steps, verification.reason if not verification.valid else ""

    def _planned(self, case: _Case, steps: Sequence[GroundAction]) -> tuple[PlannedStep, ...]:
        used = {name for action in steps for name in action.arguments}
        classes = {item.name: item.class_name for item in case.hypotheses.placeholders if item.name in used}
        return planned_steps(self.domain, case.full, steps, classes)


def _kept(reason: str) -> Review:
    return Review(ReviewKind.KEEP, reason)


def _said_keep(answer: Answer) -> bool:
    return answer.content is not None and answer.content.get("decision") == "keep"


def _progress(case: _Case) -> str:
    """Return the plan with what is done, what is next, and what is to come."""
    start = max(0, min(case.next - _MAX_STEPS_SHOWN // 2, len(case.steps) - _MAX_STEPS_SHOWN))
    lines = []
    for index, step in enumerate(case.steps[start : start + _MAX_STEPS_SHOWN], start):
        when = "done" if index < case.next else "next" if index == case.next else "to do"
        lines.append(f"{when}: {prompting.quoted(step.text or str(step.action), 160)}")
    return "\n".join(lines) or prompting.NOTHING
