"""The executor's policy: checks, arguments, retries."""

from __future__ import annotations

import pytest

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.symbols import Atom, GroundAction, SymbolicState, Truth
from graph_planner_ros.scene.graph import (
    EFFECT,
    PERCEPTION,
    ROBOT_ID,
    Attribute,
    Presence,
    Relation,
    SceneGraph,
    SceneNode,
)
from graph_planner_ros.skills.executor import (
    ArgumentError,
    ExecutionPolicy,
    check_postconditions,
    check_preconditions,
    should_retry,
    skill_arguments,
)
from graph_planner_ros.skills.memory import MEMORY, Sighting
from graph_planner_ros.skills.result import SkillResult, SkillStatus

TILT = GroundAction("tilt", ("skylight_1",))
LIFT = GroundAction("lift", ("fern_1", "bench_1"))
OBJECTS = {"fern_1": "plant", "bench_1": "bench", "skylight_1": "vent"}


def state(*atoms: Atom) -> SymbolicState:
    """A state of the greenhouse."""
    return SymbolicState(OBJECTS, frozenset(atoms))


# -- preconditions --------------------------------------------------------------------------------------------------


def test_an_applicable_action_may_start(greenhouse: Domain) -> None:
    assert check_preconditions(greenhouse, state(Atom("near", ("skylight_1",))), TILT) is None


def test_what_is_missing_is_named(greenhouse: Domain) -> None:
    result = check_preconditions(greenhouse, state(Atom("near", ("bench_1",))), LIFT)
    assert result is not None and result.status is SkillStatus.PRECONDITION_FAILED and result.code
    assert "stands(fern_1, bench_1)" in result.reason and "free_hands" in result.reason
    assert "near" not in result.reason


def test_a_thing_that_is_gone_is_named(greenhouse: Domain) -> None:
    result = check_preconditions(greenhouse, state(), GroundAction("lift", ("fern_9", "bench_1")))
    assert result is not None and "fern_9" in result.reason


def test_looking_for_something_unseen_needs_no_such_thing_in_the_belief(household: Domain) -> None:
    find = GroundAction("find", ("unseen_egg_1", "shelf_1"))
    there = SymbolicState({"shelf_1": "fixture"}, frozenset({Atom("at", ("shelf_1",))}))
    assert check_preconditions(household, there, find) is None
    closed = SymbolicState(there.objects, there.atoms | {Atom("closed", ("shelf_1",))})
    refused = check_preconditions(household, closed, find)
    assert refused is not None and "not closed(shelf_1)" in refused.reason
    assert "candidate" not in refused.reason


def test_other_actions_need_what_they_act_on(household: Domain) -> None:
    there = SymbolicState({"shelf_1": "fixture"}, frozenset({Atom("at", ("shelf_1",)), Atom("hand_empty")}))
    assert check_preconditions(household, there, GroundAction("pick_up", ("unseen_egg_1", "shelf_1"))) is not None


# -- postconditions -------------------------------------------------------------------------------------------------


def seen(scene: SceneGraph, value: Truth, stamp: float, source: str = PERCEPTION) -> SceneGraph:
    """The scene with a view of the skylight."""
    scene.nodes["skylight_1"].attributes["ajar"] = Attribute("ajar", value, source, stamp)
    return scene


def test_an_effect_that_is_seen_not_to_have_come_is_a_failure(greenhouse: Domain, scene: SceneGraph) -> None:
    result = check_postconditions(greenhouse, state(), TILT, seen(scene, Truth.FALSE, 5.0), since=4.0)
    assert result is not None and result.status is SkillStatus.POSTCONDITION_FAILED and result.recoverable
    assert "ajar(skylight_1)" in result.reason


@pytest.mark.parametrize(
    ("value", "stamp", "source"),
    [
        (Truth.TRUE, 5.0, PERCEPTION),  # seen to have come
        (Truth.UNKNOWN, 5.0, PERCEPTION),  # looked at in vain
        (Truth.FALSE, 3.0, PERCEPTION),  # an old view
        (Truth.FALSE, 5.0, EFFECT),  # nothing that was seen
    ],
)
def test_what_was_not_seen_since_is_no_failure(
    greenhouse: Domain, scene: SceneGraph, value: Truth, stamp: float, source: str
) -> None:
    assert check_postconditions(greenhouse, state(), TILT, seen(scene, value, stamp, source), since=4.0) is None


def test_unseen_effects_are_believed(greenhouse: Domain, scene: SceneGraph) -> None:
    water = GroundAction("water", ("fern_1", "bench_1"))
    assert check_postconditions(greenhouse, state(), water, scene, since=0.0) is None
    assert check_postconditions(greenhouse, state(), water) is None


def test_a_thing_in_the_gripper_may_look_as_if_it_still_lay_there(greenhouse: Domain, scene: SceneGraph) -> None:
    scene.relations[0].stamp = 5.0
    assert check_postconditions(greenhouse, state(), LIFT, scene, since=4.0) is None


def test_a_thing_that_is_seen_not_to_stand_where_it_was_put_is_a_failure(greenhouse: Domain, scene: SceneGraph) -> None:
    scene.relations[0].stamp, scene.relations[0].value = 5.0, Truth.FALSE
    put = GroundAction("stand", ("fern_1", "bench_1"))
    result = check_postconditions(greenhouse, state(), put, scene, since=4.0)
    assert result is not None and "stands(fern_1, bench_1)" in result.reason


# -- arguments ------------------------------------------------------------------------------------------------------


def test_a_skill_gets_the_things_that_the_domain_says(greenhouse: Domain, scene: SceneGraph) -> None:
    skill, nodes = skill_arguments(greenhouse, scene, LIFT)
    assert skill == "lift"
    assert [node.instance_id for node in nodes] == ["fern_1", "bench_1"]


def test_what_the_skill_does_not_get_need_not_be_known(greenhouse: Domain, scene: SceneGraph) -> None:
    skill, nodes = skill_arguments(greenhouse, scene, GroundAction("walk", ("nowhere", "bench_1")))
    assert (skill, [node.instance_id for node in nodes]) == ("walk", ["bench_1"])


def test_missing_lost_and_unplaced_things_are_named(greenhouse: Domain, scene: SceneGraph) -> None:
    node = scene.nodes["fern_1"]
    node.presence = Presence.ABSENT
    with pytest.raises(ArgumentError, match=r"fern_1.*no longer") as error:
        skill_arguments(greenhouse, scene, LIFT)
    assert error.value.result.status is SkillStatus.PRECONDITION_FAILED
    node.presence, node.box = Presence.PRESENT, None
    with pytest.raises(ArgumentError, match=r"fern_1.*where it is"):
        skill_arguments(greenhouse, scene, LIFT)
    del scene.nodes["fern_1"]
    with pytest.raises(ArgumentError, match=r"fern_1.*not in the scene graph"):
        skill_arguments(greenhouse, scene, LIFT)


def test_a_remembered_position_serves_where_the_belief_has_none(greenhouse: Domain, scene: SceneGraph) -> None:
    seen = Sighting("fern_1", "Fern", (1.0, 2.0, 0.9), (0.5, 2.0, 0.0), 3.0, "bench_1")
    _, nodes = skill_arguments(greenhouse, scene, LIFT, {"fern_1": seen}.get)
    assert nodes[0] is scene.nodes["fern_1"], "what the belief knows goes first"
    scene.nodes["fern_1"].box = None
    _, nodes = skill_arguments(greenhouse, scene, LIFT, {"fern_1": seen}.get)
    assert nodes[0].source == MEMORY and nodes[0].box is not None and tuple(nodes[0].box.center) == seen.position
    scene.nodes["fern_1"].presence = Presence.ABSENT
    with pytest.raises(ArgumentError, match=r"fern_1.*no longer"):
        skill_arguments(greenhouse, scene, LIFT, {"fern_1": seen}.get)


def test_a_stale_thing_may_be_tried(greenhouse: Domain, scene: SceneGraph) -> None:
    scene.nodes["fern_1"].presence = Presence.STALE
    assert skill_arguments(greenhouse, scene, LIFT)[1]


def test_what_the_robot_holds_needs_no_place(greenhouse: Domain, scene: SceneGraph) -> None:
    scene.nodes["fern_1"].box = None
    scene.relations = [Relation(ROBOT_ID, "holding", "fern_1")]
    _, nodes = skill_arguments(greenhouse, scene, GroundAction("stand", ("fern_1", "bench_1")))
    assert [node.instance_id for node in nodes] == ["fern_1", "bench_1"]


# -- retries --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [SkillStatus.EXECUTION_FAILED, SkillStatus.POSTCONDITION_FAILED])
def test_recoverable_failures_are_tried_again_a_few_times(status: SkillStatus) -> None:
    result = SkillResult(status, "collision", "bumped into something", recoverable=True)
    assert [should_retry(result, attempts, 3) for attempts in (1, 2, 3, 4)] == [True, True, False, False]
    assert not ExecutionPolicy(max_attempts=1).should_retry(result, 1)


@pytest.mark.parametrize(
    "status",
    [
        SkillStatus.SUCCEEDED,
        SkillStatus.PRECONDITION_FAILED,
        SkillStatus.CANCELLED,
        SkillStatus.UNKNOWN_SKILL,
        SkillStatus.SERVER_LOST,
    ],
)
def test_what_trying_again_cannot_mend_goes_to_the_planner(status: SkillStatus) -> None:
    assert not should_retry(SkillResult(status, recoverable=True), 1)


def test_failures_that_are_not_recoverable_go_to_the_planner() -> None:
    assert not should_retry(SkillResult(SkillStatus.EXECUTION_FAILED, "door_stuck"), 1)


def test_what_only_the_planner_counts_does_not_keep_an_action_from_starting() -> None:
    """Marks of what goes on by itself, and things that wait to be made, are in no belief."""
    domain = load_domain("robotouille")
    objects = {"pot1": "container", "sink1": "station", "robot1": "player"}
    there = Atom("container_at", ("pot1", "sink1"))
    atoms = {Atom("ispot", ("pot1",)), Atom("issink", ("sink1",)), there}
    believed = SymbolicState(objects, frozenset(atoms), {})
    end = GroundAction("fill-pot-done", ("unmade_water_1", "pot1", "sink1"))
    assert check_preconditions(domain, believed, end) is None
    moved = SymbolicState(objects, frozenset(atoms - {there}), {})
    refused = check_preconditions(domain, moved, end)
    assert refused is not None and "container_at" in refused.reason
    start = GroundAction("fill-pot", ("pot1", "sink1", "robot1"))
    assert check_preconditions(domain, believed, start) is not None  # what the belief can say still counts


def test_where_nothing_has_a_position_a_name_is_enough() -> None:
    domain = load_domain("alfworld")
    graph = SceneGraph(frame_id="", domain="alfworld", nodes={"mug 1": SceneNode("mug 1", "Mug")})
    action = GroundAction("take", ("mug 1", "drawer 2"))
    skill, arguments = skill_arguments(domain, graph, action)
    assert (skill, [node.instance_id for node in arguments]) == ("pick_up", ["mug 1", "drawer 2"])
    graph.frame_id = "map"
    with pytest.raises(ArgumentError):
        skill_arguments(domain, graph, action)
