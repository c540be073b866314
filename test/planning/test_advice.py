"""Advice from experience moves prices within their bounds, gives way to evidence, and never makes anything possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from symbolic_world import FIXTURES, World, kitchen, put_goal, reached, run

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.symbols import Goal, GroundAction, SymbolicState
from graph_planner_ros.planning.advice import Advice, advised_reason
from graph_planner_ros.planning.engines import make_engine
from graph_planner_ros.planning.hypotheses import Hypotheses, Placeholder
from graph_planner_ros.planning.memory import PositiveMemory
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.result import PlanningStatus
from graph_planner_ros.planning.session import DecisionKind, TaskSession
from graph_planner_ros.planning.supposing import Evidence
from graph_planner_ros.scene.graph import SceneGraph

DOMAIN: Domain = load_domain("household")
ENGINE = make_engine("auto")


@dataclass(frozen=True)
class Memory:
    """A remembered action."""

    action: GroundAction
    following: Sequence[GroundAction] = ()
    origin: str = "an old day"
    distance: float = 0.01


@dataclass
class Said:
    """Experience that says what a test wants: class of place -> relevance, and remembered actions."""

    chances: Mapping[str, float] = field(default_factory=dict)
    remembered: Sequence[Memory] = ()
    after: Mapping[str | None, Sequence[Memory]] = field(default_factory=dict)
    asked: int = 0
    befores: list[str | None] = field(default_factory=list)

    def places(
        self, scene: SceneGraph, goals: Sequence[Goal], class_name: str, candidates: Mapping[str, str]
    ) -> Mapping[str, float]:
        self.asked += 1
        return {place: self.chances[label] for place, label in candidates.items() if label in self.chances}

    def retrieve(
        self,
        scene: SceneGraph,
        state: SymbolicState,
        goals: Sequence[Goal],
        *,
        count: int,
        before: str | None = None,
    ) -> Sequence[Memory]:
        self.befores.append(before)
        return self.after.get(before, self.remembered)


def planner(said: Said | None, **switches: bool) -> MemPlan:
    return MemPlan(DOMAIN, ENGINE, advice=Advice(DOMAIN, said, **switches) if said is not None else None)


def looks(world: World) -> list[str]:
    return [action.arguments[1] for action in world.executed if action.name == "find"]


def play(world: World, goal: Goal, said: Said | None, **switches: bool) -> None:
    decision = run(world, TaskSession(DOMAIN, planner(said, **switches), goal.text, [goal]))
    assert decision.kind is DecisionKind.DONE, decision.reason


PLACES = {"cabinet_1": "Cabinet", "drawer_1": "Drawer", "fridge_1": "Fridge", "sinkbasin_1": "SinkBasin"}
GOAL = put_goal("Mug", "DiningTable")
chance = st.floats(0.0, 1.0)


@given(st.dictionaries(st.sampled_from(sorted(PLACES)), chance, min_size=1), st.dictionaries(
    st.sampled_from(sorted(PLACES.values())), chance), st.booleans())  # fmt: skip
def test_relevance_stays_between_0_and_1_for_the_same_places(
    own: dict[str, float], chances: dict[str, float], learned: bool
) -> None:
    advice = Advice(DOMAIN, Said(chances))
    mixed = advice.relevance(own, "Mug", PLACES, SceneGraph(), GOAL, learned=learned)
    assert mixed.keys() == own.keys()
    assert all(0.0 <= value <= 1.0 for value in mixed.values())


def test_without_experience_of_such_things_nothing_changes() -> None:
    own = {"cabinet_1": 0.3, "fridge_1": 1.0}
    assert Advice(DOMAIN, Said()).relevance(own, "Mug", PLACES, SceneGraph(), GOAL) == own
    said = Said({"Cabinet": 1.0, "Fridge": 0.0})
    assert Advice(DOMAIN, said).relevance(own, "Mug", PLACES, None, GOAL) == own
    assert Advice(DOMAIN, said, places=False).relevance(own, "Mug", PLACES, SceneGraph(), GOAL) == own


def test_experience_outweighs_plausibility_but_not_a_learned_prior() -> None:
    own, said = {"cabinet_1": 1.0, "fridge_1": 0.0}, Said({"Cabinet": 0.0, "Fridge": 1.0})
    mixed = Advice(DOMAIN, said).relevance(own, "Mug", PLACES, SceneGraph(), GOAL)
    assert mixed["fridge_1"] > mixed["cabinet_1"]
    learned = Advice(DOMAIN, said).relevance(own, "Mug", PLACES, SceneGraph(), GOAL, learned=True)
    assert learned["cabinet_1"] > learned["fridge_1"]


def test_each_place_that_was_named_and_held_nothing_makes_advice_count_less() -> None:
    places = {f"fridge_{number}": "Fridge" for number in range(1, 8)} | {"cabinet_1": "Cabinet"}
    advice = Advice(DOMAIN, Said({"Cabinet": 0.0, "Fridge": 0.5}))
    turned = False
    for looked_at in range(7):
        left = dict.fromkeys(list(places)[looked_at:7], 0.0) | {"cabinet_1": 1.0}
        mixed = advice.relevance(left, "Mug", places, SceneGraph(), GOAL)
        now = mixed["cabinet_1"] > max(value for name, value in mixed.items() if name != "cabinet_1")
        assert now or not turned, "trust came back without evidence"
        turned = turned or now
    assert turned


def test_a_thing_is_looked_for_first_where_experience_found_such_things() -> None:
    for label in ("Microwave", "StoveBurner"):
        world = kitchen(DOMAIN, 3, ["Knife"], extra=0)
        place = next(name for name, node in world.graph.nodes.items() if node.label == label)
        world.move("knife_1", place)
        world.glimpse = 0.0
        play(world, put_goal("Knife", "DiningTable"), Said(dict.fromkeys(FIXTURES, 0.0) | {label: 1.0}))
        assert looks(world)[0] == place


def test_where_a_thing_was_last_seen_in_this_task_counts_more_than_experience() -> None:
    world = kitchen(DOMAIN, 3, ["Mug"], extra=0)
    state = world.state()
    evidence = Evidence(0.0, {}, {"Mug": frozenset({"drawer_1"})}, {}, {}, "", world.graph)
    said = Said({"Drawer": 0.0, "Fridge": 1.0})
    result = planner(said).plan(state, put_goal("Mug", "DiningTable"), evidence=evidence)
    assert any(step.action.name == "find" and step.action.arguments[1] == "drawer_1" for step in result.steps)
    assert said.asked == 0


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 10_000),
    st.dictionaries(st.sampled_from(sorted({*PLACES.values(), "CounterTop", "Microwave"})), chance),
)
def test_misleading_advice_delays_but_does_not_prevent(seed: int, chances: dict[str, float]) -> None:
    goal = put_goal("Mug", "DiningTable")
    world = kitchen(DOMAIN, seed, ["Mug"], extra=2)
    play(world, goal, Said(chances, [Memory(GroundAction("open", ("fridge_1",)))]))
    assert reached(world, goal)
    looked = looks(world)
    assert len(looked) == len(set(looked)), "a place was looked at twice because of advice"


names = st.sampled_from(
    ["mug_1", "fridge_1", "cabinet_1", "cabinet_2", "drawer_1", "nothing_9", "unseen_mug_1", "start"]
)
nonsense = st.builds(
    GroundAction,
    st.sampled_from([*DOMAIN.actions, "fly"]),
    st.lists(names, max_size=3).map(tuple),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(nonsense, max_size=6))
def test_remembered_nonsense_changes_neither_what_is_possible_nor_the_cost_of_plans(
    actions: list[GroundAction],
) -> None:
    world = kitchen(DOMAIN, 1, ["Mug"], extra=1)
    goal, evidence = put_goal("Mug", "DiningTable"), Evidence(scene=world.graph)
    plain = planner(None).plan(world.state(), goal, evidence=evidence)
    advised = planner(Said({}, [Memory(action) for action in actions])).plan(world.state(), goal, evidence=evidence)
    assert advised.status is plain.status is PlanningStatus.SOLVED
    assert advised.cost <= plain.cost * 1.05 + 1e-6
    for step in advised.steps:
        assert step.action.name in DOMAIN.actions


def test_of_like_plans_the_remembered_one_is_taken_and_the_reason_says_so() -> None:
    world = kitchen(DOMAIN, 1, ["Mug", "Mug", "Mug"], extra=0)
    # three mugs in one place, seen: which one is taken makes no difference
    for number in (1, 2, 3):
        world.move(f"mug_{number}", "countertop_1")
        world._see(f"mug_{number}", "countertop_1")
    goal, evidence = put_goal("Mug", "DiningTable"), Evidence(scene=world.graph)
    for wanted in ("mug_1", "mug_2", "mug_3"):
        action = GroundAction("pick_up", (wanted, "countertop_1"))
        said = Said({}, [Memory(GroundAction("fly", ()), (action,))])
        result = planner(said).plan(world.state(), goal, evidence=evidence)
        assert action in [step.action for step in result.steps]
        assert f"memory advises {action}, as in an old day" in result.reason
        without = planner(said, actions=False).plan(world.state(), goal, evidence=evidence)
        assert "memory" not in without.reason


def test_which_advice_a_plan_uses_depends_on_what_was_done_just_before() -> None:
    world = kitchen(DOMAIN, 1, ["Mug", "Mug", "Mug"], extra=0)
    for number in (1, 2, 3):
        world.move(f"mug_{number}", "countertop_1")
        world._see(f"mug_{number}", "countertop_1")
    wanted = {None: "mug_1", "": "mug_2", "find": "mug_3"}
    actions = {before: GroundAction("pick_up", (mug, "countertop_1")) for before, mug in wanted.items()}
    said = Said(after={before: [Memory(GroundAction("fly", ()), (action,))] for before, action in actions.items()})
    for before, action in actions.items():
        evidence = Evidence(scene=world.graph, before=before)
        result = planner(said).plan(world.state(), put_goal("Mug", "DiningTable"), evidence=evidence)
        assert action in [step.action for step in result.steps]
        assert f"memory advises {action}" in result.reason
    assert said.befores == list(wanted)


@pytest.mark.parametrize("every_step", [False, True])
def test_experience_is_asked_with_the_action_that_the_task_did_last(every_step: bool) -> None:
    world, said = kitchen(DOMAIN, 3, ["Knife", "Mug"], extra=0), Said()
    goals = [put_goal("Knife", "DiningTable"), put_goal("Mug", "CounterTop")]
    did: list[str] = []  # what the task had done last whenever experience was asked
    retrieve = said.retrieve

    def noted(*arguments: Any, **options: Any) -> Sequence[Memory]:
        did.append(world.executed[-1].name if world.executed else "")
        return retrieve(*arguments, **options)

    said.retrieve = noted  # type: ignore[method-assign]
    session = TaskSession(DOMAIN, planner(said), "", goals, replan_every_step=every_step)
    assert run(world, session).kind is DecisionKind.DONE
    assert said.befores == did and did[0] == "" and len(set(did)) > 1


def test_a_look_that_experience_made_cheaper_is_named_in_the_reason() -> None:
    world = kitchen(DOMAIN, 3, ["Knife"], extra=0)
    result = planner(Said({"Drawer": 0.0, "Microwave": 1.0, "Cabinet": 0.0})).plan(
        world.state(), put_goal("Knife", "DiningTable"), evidence=Evidence(scene=world.graph)
    )
    assert "memory advises looking for Knife in microwave_1" in result.reason
    made = Hypotheses((Placeholder("unseen_knife_1", "Knife"),), {("unseen_knife_1", "microwave_1"): 1.0})
    look = GroundAction("find", ("unseen_knife_1", "microwave_1"))
    assert advised_reason(DOMAIN, [look], made, {}) == []


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_weights_outside_0_to_1_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        Advice(DOMAIN, Said(), place_weight=value)


def test_without_prior_a_domain_falls_back_on_its_own_plausibility() -> None:
    alfworld = load_domain("alfworld")
    places = {"desk 1": "Desk", "fridge 1": "Fridge", "drawer 1": "Drawer"}
    assert PositiveMemory(alfworld).is_learned("Pencil")
    plain = PositiveMemory(alfworld, use_prior=False)
    assert not plain.is_learned("Pencil")
    assert plain.relevance("", "Pencil", places) != PositiveMemory(alfworld).relevance("", "Pencil", places)
