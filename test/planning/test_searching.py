"""Things that are nowhere, that come later, and that move: how long the robot looks for them, and where."""

from __future__ import annotations

from dataclasses import replace

from symbolic_world import World, kitchen, put_goal, reached, run

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction
from graph_planner_ros.planning.engines import make_engine
from graph_planner_ros.planning.memory import MAX_LOOKS_AGAIN
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.result import TaskStatus
from graph_planner_ros.planning.session import DecisionKind, TaskSession
from graph_planner_ros.scene.facts import symbolic_state

DOMAIN: Domain = load_domain("household")
ENGINE = make_engine("auto")


def session(goal: Goal) -> TaskSession:
    return TaskSession(DOMAIN, MemPlan(DOMAIN, ENGINE), goal.text, [goal])


def finds(world: World) -> list[GroundAction]:
    return [action for action in world.executed if action.name == "find"]


def test_a_thing_that_is_nowhere_is_goal_unknown_naming_class_and_places_each_looked_at_once() -> None:
    goal = put_goal("Lettuce", "DiningTable")
    world = kitchen(DOMAIN, 5, ["Mug"], extra=0)
    decision = run(world, session(goal))
    assert (decision.kind, decision.status) == (DecisionKind.FAILED, TaskStatus.GOAL_UNKNOWN)
    assert "Lettuce" in decision.reason
    for place in ("fridge_1", "cabinet_1", "cabinet_2", "drawer_1", "diningtable_1"):
        assert place in decision.reason
    looked = [action.arguments[1] for action in finds(world)]
    assert sorted(looked) == sorted(set(looked))
    assert f"looked in {len(looked)} places" in decision.reason


def test_places_that_were_seen_in_part_only_are_looked_at_once_more_but_not_all_of_them() -> None:
    world = kitchen(DOMAIN, 5, ["Mug"], extra=0)

    perceive = world.perceive

    def glance(thorough: bool) -> None:
        perceive(thorough)
        for node in world.graph.nodes.values():
            if "observed" in node.attributes:
                node.attributes["observed"].confidence = 0.5

    world.perceive = glance
    decision = run(world, session(put_goal("Lettuce", "DiningTable")))
    assert decision.status is TaskStatus.GOAL_UNKNOWN
    looked = [action.arguments[1] for action in finds(world)]
    assert len(looked) - len(set(looked)) == MAX_LOOKS_AGAIN
    assert f"{MAX_LOOKS_AGAIN} of them once more" in decision.reason


def test_the_next_task_looks_everywhere_again_as_somebody_may_have_brought_the_thing() -> None:
    world = kitchen(DOMAIN, 5, ["Mug"], extra=0)
    planner = MemPlan(DOMAIN, ENGINE)
    goal = put_goal("Mug", "DiningTable")
    world.truth = replace(world.truth, atoms=frozenset(a for a in world.truth.atoms if a.arguments[:1] != ("mug_1",)))
    assert run(world, TaskSession(DOMAIN, planner, goal.text, [goal])).status is TaskStatus.GOAL_UNKNOWN
    before = len(finds(world))
    facts = {Atom("in", ("mug_1", "cabinet_1")), Atom("instance_of", ("mug_1", "Mug")), Atom("pickupable", ("mug_1",))}
    world.truth = replace(world.truth, atoms=world.truth.atoms | facts)
    decision = run(world, TaskSession(DOMAIN, planner, goal.text, [goal]))
    assert decision.status is TaskStatus.SUCCEEDED, decision.reason
    assert len(finds(world)) - before <= before


def test_a_thing_that_was_seen_and_moved_is_looked_for_where_it_was_not_before() -> None:
    world = kitchen(DOMAIN, 5, ["Mug"], extra=0)
    moved: list[str] = []

    def move(world: World, action: GroundAction) -> None:
        looked = [find.arguments[1] for find in finds(world)]
        if action.name == "pick_up" and not moved and len(looked) > 1:
            moved.append(looked[0])
            world.move("mug_1", looked[0])

    world.disturb = move
    world.move("mug_1", "drawer_2")
    goal = put_goal("Mug", "DiningTable")
    decision = run(world, session(goal))
    assert moved
    assert decision.status is TaskStatus.SUCCEEDED, decision.reason
    assert reached(world, goal)


def test_two_unseen_things_of_a_class_are_told_apart_in_words() -> None:
    goal = put_goal("Mug", "DiningTable", count=2)
    world = kitchen(DOMAIN, 5, ["Mug", "Mug"], extra=0)
    task = session(goal)
    decision = task.start(world.graph, symbolic_state(world.graph, DOMAIN))
    texts = [step.text for step in decision.steps]
    assert any("some Mug" in text for text in texts) and any("another Mug" in text for text in texts)
    looks = [text for step, text in zip(decision.steps, texts, strict=True) if step.action.name == "find"]
    assert len(looks) == len(set(looks))
