"""One action at a time: what a model chooses is done only with a verified plan behind it; a task ends all the same."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from engine_tasks import GOALS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from symbolic_world import World, put_goal, reached, run
from symbolic_world import kitchen as symbolic_kitchen

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Atom, Goal, GoalLiteral, GoalVariable, GroundAction, SymbolicState
from graph_planner_ros.language.models import Reply, ReplyStatus, Request, ScriptedModel
from graph_planner_ros.planning.advice import Advice
from graph_planner_ros.planning.engines import make_engine
from graph_planner_ros.planning.llm import ActionPlanner, ModelPlanning
from graph_planner_ros.planning.llm.action_planner import MAX_DETOURS, MAX_SILENCES
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.problem import is_excluded
from graph_planner_ros.planning.result import PlanningResult, PlanningStatus
from graph_planner_ros.planning.session import DecisionKind, TaskSession
from graph_planner_ros.planning.supposing import Evidence
from graph_planner_ros.planning.verifier import verify
from graph_planner_ros.scene.graph import ROBOT_ID, Relation, SceneGraph, SceneNode

ENGINE = make_engine("auto")
GOAL = GOALS["change"]
EGG = Goal(
    (GoalVariable("?i", "item", "Egg"), GoalVariable("?d", "fixture", "DiningTable")),
    (GoalLiteral("in", ("?i", "?d")),),
)


def answer(label: str) -> str:
    return json.dumps({"action": label, "reason": "it is near"})


def labels(request: Request) -> list[str]:
    assert request.schema is not None
    return list(request.schema["properties"]["action"]["enum"])


def planner(household: Domain, script: Any, **options: Any) -> ActionPlanner:
    model = ScriptedModel(script)
    return ActionPlanner(household, ENGINE, model, MemPlan(household, ENGINE), ModelPlanning(**options))


def asked(made: ActionPlanner) -> Sequence[Request]:
    requests: Sequence[Request] = made.model.requests  # type: ignore[attr-defined]
    return requests


def valid(household: Domain, state: SymbolicState, goal: Goal, found: PlanningResult) -> bool:
    return verify(household, state, goal, found.steps, found.hypotheses).valid


def test_a_choice_is_the_first_step_with_a_verified_plan_behind_it(household: Domain, kitchen: SymbolicState) -> None:
    made = planner(household, [answer("go_to(start, sink_1)")])
    found = made.plan(kitchen, GOAL)
    assert found.status is PlanningStatus.SOLVED and valid(household, kitchen, GOAL, found)
    assert found.steps[0].action == GroundAction("go_to", ("start", "sink_1"))
    assert (
        found.engine == "llm_actions scripted" and "planned behind it" in found.reason and "it is near" in found.reason
    )
    assert [(item.number, item.problems) for item in found.rounds] == [(1, ())] and made.detours == 1


def test_memplans_own_first_action_is_said_to_be_that(household: Domain, kitchen: SymbolicState) -> None:
    base = MemPlan(household, ENGINE).plan(kitchen, GOAL)
    made = planner(household, lambda request: answer(labels(request)[0]))
    found = made.plan(kitchen, GOAL)
    assert found.steps == base.steps and "as planned without it" in found.reason and made.detours == 0


def test_what_supposes_an_unseen_thing_can_be_chosen(household: Domain, kitchen: SymbolicState) -> None:
    at_sink = replace(kitchen, atoms=(kitchen.atoms - {Atom("at", ("start",))}) | {Atom("at", ("sink_1",))})
    made = planner(household, lambda request: answer(next(x for x in labels(request) if x.startswith("find("))))
    found = made.plan(at_sink, EGG)
    assert found.steps[0].action.name == "find" and valid(household, at_sink, EGG, found), found.reason
    assert set(found.placeholders.values()) == {"Egg"}


DEAD = Reply(ReplyStatus.UNREACHABLE, reason="no connection")


@pytest.mark.parametrize("said", [DEAD, "no", answer("fly(moon)"), Reply(ReplyStatus.TIMED_OUT), ""])
def test_without_a_choice_it_is_memplans_plan_and_it_is_said(
    household: Domain, kitchen: SymbolicState, said: str | Reply
) -> None:
    base = MemPlan(household, ENGINE).plan(kitchen, GOAL)
    found = planner(household, lambda request: said).plan(kitchen, GOAL)
    assert found.steps == base.steps and found.engine == base.engine
    assert "planned without the model scripted" in found.reason and found.rounds[-1].problems


def test_a_choice_that_leads_nowhere_is_refused_and_the_model_is_told(
    household: Domain, kitchen: SymbolicState
) -> None:
    """The tomato is in the hand and must stay whole: once it is sliced it cannot be that any more."""
    whole = Goal(
        (GoalVariable("?t", "item", instance="tomato_2"), GoalVariable("?d", "fixture", "DiningTable")),
        (GoalLiteral("in", ("?t", "?d")), GoalLiteral("sliced", ("?t",), False)),
    )
    atoms = {Atom("at", ("counter_1",)), Atom("holding", ("knife_1",))}
    gone = {Atom("at", ("start",)), Atom("hand_empty"), Atom("in", ("knife_1", "drawer_1"))}
    state = replace(kitchen, atoms=(kitchen.atoms - gone) | atoms)
    slicing = next(iter(x for x in _labels(household, state, whole) if x.startswith("slice(") and "tomato_2" in x))
    made = planner(household, lambda request: answer(slicing), rounds=2)
    found = made.plan(state, whole)
    assert found.status is PlanningStatus.SOLVED and valid(household, state, whole, found)
    assert "planned without the model" in found.reason and "cannot be reached any more" in found.reason
    assert [item.number for item in found.rounds] == [1, 2] and all(item.problems for item in found.rounds)
    assert "cannot be reached any more" in asked(made)[1].messages[-1].content


def _labels(household: Domain, state: SymbolicState, goal: Goal) -> list[str]:
    made = planner(household, ["no"], rounds=1)
    made.plan(state, goal)
    return labels(asked(made)[0])


def test_what_is_excluded_is_neither_chosen_nor_planned_behind(household: Domain, kitchen: SymbolicState) -> None:
    banned = (GroundAction("open", ("fridge_1",)),)
    goal = GOALS["move"]
    made = planner(household, lambda request: answer("go_to(start, fridge_1)"))
    found = made.plan(kitchen, goal, excluded=banned)
    assert valid(household, kitchen, goal, found) and found.steps[0].action.arguments[-1] == "fridge_1"
    assert not any(is_excluded(step.action, banned) for step in found.steps)


def test_a_cancelled_question_cancels_the_planning(household: Domain, kitchen: SymbolicState) -> None:
    cancel = threading.Event()

    def late(request: Request) -> Reply:
        cancel.set()
        return Reply(ReplyStatus.CANCELLED)

    assert planner(household, late).plan(kitchen, GOAL, cancel).status is PlanningStatus.CANCELLED


def test_a_model_that_raises_ends_nothing(household: Domain, kitchen: SymbolicState) -> None:
    def broken(request: Request) -> str:
        raise RuntimeError("boom")

    found = planner(household, broken).plan(kitchen, GOAL)
    assert found.status is PlanningStatus.SOLVED and "boom" in found.reason


def test_a_silent_model_is_not_asked_for_ever(household: Domain, kitchen: SymbolicState) -> None:
    made = planner(household, lambda request: DEAD)
    reasons = [made.plan(kitchen, GOAL).reason for _ in range(MAX_SILENCES + 2)]
    assert len(asked(made)) == MAX_SILENCES and "is not asked: it did not answer before" in reasons[-1]


# ---- in a task


def task(household: Domain, world: World, goal: Goal, script: Any, **options: Any) -> tuple[ActionPlanner, TaskSession]:
    del world
    made = planner(household, script, **options)
    return made, TaskSession(household, made, goal.text, [goal], replan_every_step=True)


SCRIPTS: dict[str, Callable[[Request], Any]] = {
    "first": lambda request: answer(labels(request)[0]),
    "last": lambda request: answer(labels(request)[-1]),
    "dead": lambda request: DEAD,
    "useless": lambda request: "I am only a language model.",
    "walks": lambda request: answer(next((x for x in labels(request) if x.startswith("go_to(")), "")),
}


@pytest.mark.parametrize("script", SCRIPTS, ids=str)
@pytest.mark.parametrize("seed", [2, 5])
def test_a_task_ends_whatever_the_model_chooses(household: Domain, script: str, seed: int) -> None:
    world, goal = symbolic_kitchen(household, seed, ["Mug"], extra=2), put_goal("Mug", "DiningTable")
    made, session = task(household, world, goal, SCRIPTS[script])
    decision = run(world, session)
    assert decision.kind is DecisionKind.DONE and reached(world, goal), decision.reason
    assert made.detours <= MAX_DETOURS


def test_after_too_many_detours_memplan_goes_on(household: Domain) -> None:
    """The model walks to and fro between two places that are no use."""
    world, goal = symbolic_kitchen(household, 3, ["Mug"], extra=0), put_goal("Mug", "DiningTable")

    def astray(request: Request) -> str:
        walks = [x for x in labels(request) if x.startswith("go_to(")]
        return answer(walks[-1] if walks else labels(request)[-1])

    made, session = task(household, world, goal, astray)
    decision = run(world, session)
    assert decision.kind is DecisionKind.DONE and reached(world, goal)
    assert made.detours == MAX_DETOURS and len(asked(made)) < 3 * len(world.executed)


def test_a_robot_that_goes_in_circles_is_warned_and_not_sent_round_again(household: Domain) -> None:
    world, goal = symbolic_kitchen(household, 3, ["Mug"], extra=0), put_goal("Mug", "DiningTable")
    world.glimpse = 0.0
    places = ("sinkbasin_1", "stoveburner_1")

    def to_and_fro(request: Request) -> str:
        return answer(next((x for x in labels(request) for place in places if x.endswith(f", {place})")), "no"))

    made, session = task(household, world, goal, to_and_fro)
    assert run(world, session).kind is DecisionKind.DONE
    warned = [request for request in asked(made) if "Warning" in request.messages[1].content]
    assert warned and made.detours <= MAX_DETOURS
    assert any("led back to here" in request.messages[-1].content for request in asked(made))


# ---- the prompt


def test_memory_and_key_objects_are_in_the_prompt(household: Domain, kitchen: SymbolicState) -> None:
    scene = SceneGraph(nodes={name: SceneNode(name, label) for name, label in _instances(kitchen).items()})
    scene.relations = [
        Relation("mug_1", "on", "counter_1"), Relation("tomato_2", "on", "counter_1"),
        Relation(ROBOT_ID, "at", "sink_1"),
    ]  # fmt: skip
    scene.relations.append(Relation("knife_1", "in", "drawer_1"))

    class Remembers:
        def places(self, *_: Any) -> dict[str, float]:
            return {}

        def retrieve(self, *_: Any, **__: Any) -> list[Any]:
            action = GroundAction("open", ("fridge_1",))
            return [type("Found", (), {"action": action, "following": (), "origin": "kitchen 7", "distance": 0.0})()]

    replies = ['{"classes": ["Tomato", "Fridge"]}', answer("go_to(start, fridge_1)"), answer("go_to(start, sink_1)")]
    model = ScriptedModel(replies)
    memplan = MemPlan(household, ENGINE, advice=Advice(household, Remembers()))
    made = ActionPlanner(household, ENGINE, model, memplan, ModelPlanning(key_objects=True))
    evidence = Evidence(instruction="a cold tomato, please", scene=scene)
    found = made.plan(kitchen, GOAL, evidence=evidence)
    text = model.requests[1].messages[1].content
    assert "tomato_2 on counter_1" in text and "robot at sink_1" in text and "mug_1 on" not in text
    assert "kitchen 7" in text and [item.number for item in found.rounds] == [0, 1]
    again = made.plan(kitchen, GOAL, evidence=evidence)
    assert [item.number for item in again.rounds] == [1] and len(model.requests) == 3


def _instances(kitchen: SymbolicState) -> dict[str, str]:
    return {atom.arguments[0]: atom.arguments[1] for atom in kitchen.atoms if atom.predicate == "instance_of"}


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), name=st.sampled_from(sorted(set(GOALS) - {"negative"})), seen=st.booleans())
def test_whatever_is_chosen_the_plan_is_verified(
    household: Domain, kitchen: SymbolicState, data: st.DataObject, name: str, seen: bool
) -> None:
    goal = GOALS[name] if seen else EGG

    def said(request: Request) -> str:
        return data.draw(st.one_of(st.sampled_from(labels(request)).map(answer), st.text(max_size=60)))

    found = planner(household, said).plan(kitchen, goal, evidence=Evidence(instruction=data.draw(st.text(max_size=30))))
    assert found.status is PlanningStatus.SOLVED and valid(household, kitchen, goal, found)
