"""What `llm_fuzz` does with the shorter questions to a model: choices of actions, key objects, places, revisions.

Each of them is asked as the planner node asks it, and what comes of it is judged without the code that let it pass.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graph_planner_ros.benchmarks.model_outputs import INJECTIONS, MadeAnswer
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Goal, GroundAction, SymbolicState
from graph_planner_ros.language.models import Reply, ReplyStatus, Request
from graph_planner_ros.planning.advice import Advice
from graph_planner_ros.planning.engines.base import Engine
from graph_planner_ros.planning.hypotheses import candidate_places
from graph_planner_ros.planning.llm import ActionPlanner, GuessingPlanner, ModelExperience, ModelPlanning, Reviser
from graph_planner_ros.planning.llm.asking import find_object
from graph_planner_ros.planning.llm.key_objects import MAX_KEY_OBJECTS, MAX_PLACES, asked_key_objects
from graph_planner_ros.planning.llm.task_scene import task_scene
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.result import ModelRound, PlanningResult
from graph_planner_ros.planning.reviewing import ReviewEvent, ReviewKind, verified_revision
from graph_planner_ros.planning.supposing import Evidence
from graph_planner_ros.planning.task_graph import KnownThings, Subtask
from graph_planner_ros.scene.graph import ROBOT_ID

ACTIONS, KEY_OBJECTS, PLACES, REVISIONS = "actions", "key_objects", "places", "revisions"
ROUNDS = 3
SICK = 0.03
"""Share of the questions at which the endpoint is ill instead."""


@dataclass(frozen=True)
class FuzzTask:
    """A task in which a model is asked; ``plan`` is right, ``excluded`` holds an action that must not be used.

    ``names``: classes and instances that a plan may speak of. ``base``: MemPlan's plan.
    """

    state: SymbolicState
    goal: Goal
    evidence: Evidence
    plan: tuple[Subtask, ...]
    excluded: tuple[GroundAction, ...]
    names: tuple[str, ...]
    base: PlanningResult


class FuzzModel:
    """Says made-up answers, is ill now and then, and raises now and then."""

    name = "fuzz"

    def __init__(self, make: Callable[[Request], MadeAnswer], rng: random.Random) -> None:
        self._make, self._rng = make, rng
        self.said: list[MadeAnswer] = []
        self.longest_question = 0
        self.broken = False

    def ask(self, request: Request, *, timeout: float | None = None, cancel: Any = None) -> Reply:
        """Return the next made-up answer."""
        del timeout, cancel
        self.longest_question = max(self.longest_question, sum(len(item.content) for item in request.messages))
        made = self._make(request)
        self.said.append(made)
        if self._rng.random() < SICK:
            statuses = [status for status in ReplyStatus if status is not ReplyStatus.CANCELLED]
            status = self._rng.choice((*statuses, None))
            if status is None:
                self.broken = True
                raise RuntimeError(self._rng.choice(INJECTIONS))
            return Reply(status, made.text, self._rng.choice(INJECTIONS), model=self.name)
        return Reply(ReplyStatus.ANSWERED, made.text, model=self.name)


@dataclass
class Findings:
    """What came of one call.

    Attributes:
        taken: what the model said counted. wrong: what got past, a sentence each. reason: of the plan or the review.
        rounds: that are published.
    """

    taken: bool = False
    wrong: list[str] = field(default_factory=list)
    reason: str = ""
    rounds: Sequence[ModelRound] = ()


Judge = Callable[[FuzzTask, PlanningResult], str]
"""Says what is wrong with a plan, see `llm_fuzz.judge`."""


def choose_actions(domain: Domain, engine: Engine, task: FuzzTask, model: FuzzModel, judge: Judge) -> Findings:
    """Let the model choose the next action."""
    planner = ActionPlanner(domain, engine, model, MemPlan(domain, engine), ModelPlanning(timeout=60.0, rounds=ROUNDS))
    result = planner.plan(task.state, task.goal, evidence=task.evidence, excluded=task.excluded)
    problem = judge(task, result)
    taken = result.engine.startswith("llm_actions")
    return Findings(taken, [problem] if problem else [], result.reason, result.rounds)


def name_key_objects(domain: Domain, engine: Engine, task: FuzzTask, model: FuzzModel, judge: Judge) -> Findings:
    """Let the model name key objects, and take the part of the scene about them."""
    del engine, judge
    present = set(KnownThings.of(domain, task.state).labels.values())
    wanted = {item.class_name for item in task.goal.variables if item.class_name is not None}
    found, entry = asked_key_objects(model, task.evidence.instruction, present, task.goal, domain)
    wrong = []
    if strangers := set(found) - present - wanted:
        wrong.append(f"classes that are not there: {sorted(strangers)}")
    if wanted - set(found) or len(found) > MAX_KEY_OBJECTS + len(wanted):
        wrong.append(f"{len(found)} classes, and those of the goal may be missing")
    whole = task.evidence.scene
    part = task_scene(domain, whole, task.goal, found)
    if whole is not None and part is not None:
        ends = {*part.nodes, ROBOT_ID}
        if not part.nodes.keys() <= whole.nodes.keys() or any(r.subject not in ends for r in part.relations):
            wrong.append("the part of the scene has what the scene has not")
    taken = entry is not None and not entry.problems
    return Findings(taken, wrong, "", [entry] if entry is not None else [])


def guess_places(domain: Domain, engine: Engine, task: FuzzTask, model: FuzzModel, judge: Judge) -> Findings:
    """Let the model guess where things are, and plan with that."""
    experience = ModelExperience(model)
    labels = KnownThings.of(domain, task.state).labels
    places = {place: labels.get(place, "") for place in candidate_places(domain, task.state)}
    what = next((item.class_name for item in task.goal.variables if item.class_name is not None), "")
    scene = task.evidence.scene
    assert scene is not None
    found = experience.places(scene, (task.goal,), what, places)
    wrong = []
    if not found.keys() <= places.keys() or len(found) > MAX_PLACES:
        wrong.append("guesses about places that were not asked for")
    if not all(isinstance(value, float) and math.isfinite(value) and 0.0 <= value <= 1.0 for value in found.values()):
        wrong.append("a guess that is no share")
    memplan = MemPlan(domain, engine, advice=Advice(domain, experience))
    planner = GuessingPlanner(memplan, experience)
    result = planner.plan(task.state, task.goal, evidence=task.evidence, excluded=task.excluded)
    plain = MemPlan(domain, engine).plan(task.state, task.goal, evidence=task.evidence, excluded=task.excluded)
    if set(result.hypotheses.candidates) != set(plain.hypotheses.candidates):
        wrong.append("places were taken away or added")
    if problem := judge(task, result):
        wrong.append(problem)
    return Findings(bool(found), wrong, result.reason, result.rounds)


def revise_plans(domain: Domain, engine: Engine, task: FuzzTask, model: FuzzModel, judge: Judge) -> Findings:
    """Let the model revise MemPlan's plan."""
    reviser = Reviser(domain, engine, model, timeout=60.0, rounds=ROUNDS)
    base = task.base
    review = reviser.review(
        ReviewEvent.FAILED,
        instruction=task.evidence.instruction,
        goal=task.goal,
        steps=base.steps,
        next=0,
        feedback=INJECTIONS[len(base.steps) % len(INJECTIONS)],
        scene=task.evidence.scene,
        state=task.state,
        hypotheses=base.hypotheses,
        excluded=task.excluded,
    )
    findings = Findings(review.kind is ReviewKind.REVISE, [], review.reason, review.rounds)
    if len(review.rounds) > ROUNDS:
        findings.wrong.append(f"{len(review.rounds)} rounds")
    if review.kind is ReviewKind.KEEP:
        if review.steps or review.goal is not None:
            findings.wrong.append("a plan is kept and comes with steps or a goal")
        return findings
    revision = verified_revision(domain, task.state, task.goal, review, base.hypotheses, task.excluded)
    if revision is None:
        findings.wrong.append("a revision that a task refuses")
        return findings
    before, after = task.goal.variables, revision.goal.variables
    changed = sum(old != new for old, new in zip(before, after, strict=False))
    if revision.goal.literals != task.goal.literals or len(before) != len(after) or changed > 1:
        findings.wrong.append(f"another goal: {revision.goal}")
    if problem := judge(replace(task, goal=revision.goal), revision.result):
        findings.wrong.append(problem)
    return findings


QUESTIONS = {
    ACTIONS: choose_actions,
    KEY_OBJECTS: name_key_objects,
    PLACES: guess_places,
    REVISIONS: revise_plans,
}
_KEYS = {ACTIONS: "action", KEY_OBJECTS: "classes", PLACES: "places", REVISIONS: "decision"}


def reading_seconds(part: str, text: str) -> float:
    """Return the seconds of the processor that it takes to read an answer by itself."""
    started = time.thread_time()
    find_object(text, _KEYS[part])
    return time.thread_time() - started
