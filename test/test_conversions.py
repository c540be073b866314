"""Messages and core types say the same: every core value comes back as it was."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as np_st
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Image, RegionOfInterest

import graph_planner_ros.msg as messages
from graph_planner_ros import conversions
from graph_planner_ros.action import ExecuteSkill
from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.domain.symbols import GroundAction, Truth
from graph_planner_ros.perception.frame import Detection, Intrinsics, SegmentLabel
from graph_planner_ros.planning.result import PlannedStep, TaskStatus
from graph_planner_ros.planning.verifier import Verification, VerifiedStep
from graph_planner_ros.scene.admission import known_part
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import Attribute, Box, Presence, Relation, SceneGraph, SceneNode
from graph_planner_ros.skills.result import SkillResult, SkillStatus

# CDR strings hold anything but NUL; surrogates are no text.
TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12)
NAME = TEXT.filter(bool)
SECONDS = st.floats(0, 2**31 - 2)
COORDINATE = st.floats(-100, 100)
LENGTH = st.floats(1e-3, 10)
UNIT = st.floats(0, 1, width=32)
HOUSEHOLD = load_domain("household")
FINE = settings(max_examples=60, deadline=None)


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    center, extent = (np.array([draw(s) for _ in range(3)]) for s in (COORDINATE, LENGTH))
    return Box(center, extent, draw(st.floats(-math.pi + 1e-6, math.pi - 1e-6)))


ATTRIBUTES = st.builds(Attribute, NAME, st.sampled_from(Truth), TEXT, SECONDS, UNIT)
RELATIONS = st.builds(Relation, NAME, NAME, NAME, st.sampled_from(Truth), TEXT, SECONDS, UNIT)
NODES = st.builds(
    SceneNode,
    NAME,
    TEXT,
    st.none() | boxes(),
    st.none() | boxes(),
    st.sampled_from(Presence),
    st.lists(ATTRIBUTES, max_size=3).map(lambda found: {attribute.name: attribute for attribute in found}),
    TEXT,
    SECONDS,
    SECONDS,
    st.integers(0, 2**32 - 1),
    UNIT,
)
GRAPHS = st.builds(
    SceneGraph,
    TEXT,
    SECONDS,
    TEXT,
    st.integers(0, 2**63),
    st.lists(NODES, max_size=3).map(lambda nodes: {node.instance_id: node for node in nodes}),
    st.lists(RELATIONS, max_size=3),
)
STEPS = st.builds(PlannedStep, st.builds(GroundAction, TEXT, st.lists(TEXT, max_size=3).map(tuple)), UNIT, TEXT)


def through_the_wire(message: Any) -> Any:
    return deserialize_message(serialize_message(message), type(message))


def same_box(one: Box | None, other: Box | None) -> bool:
    if one is None or other is None:
        return one is other
    return (
        np.allclose(one.center, other.center)
        and np.allclose(one.extent, other.extent)
        and math.isclose(one.yaw, other.yaw, abs_tol=1e-6)
    )


@FINE
@given(SECONDS)
def test_times_come_back_to_the_microsecond(seconds: float) -> None:
    stamp = conversions.to_stamp(seconds)
    assert 0 <= stamp.nanosec < 10**9
    assert conversions.from_stamp(stamp) == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize("seconds", [-1.0, math.nan, math.inf])
def test_a_time_that_cannot_be_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="time stamp"):
        conversions.to_stamp(seconds)


@FINE
@given(boxes())
def test_boxes_come_back(box: Box) -> None:
    assert same_box(conversions.box_from_msg(*conversions.box_to_msg(box)), box)


def test_an_unknown_box_stays_unknown() -> None:
    assert conversions.box_from_msg(*conversions.box_to_msg(None)) is None


@FINE
@given(np_st.arrays(float, 4, elements=st.floats(-1, 1)), st.lists(COORDINATE, min_size=3, max_size=3))
def test_rigid_transforms_come_back(quaternion: Any, translation: list[float]) -> None:
    if np.linalg.norm(quaternion) < 1e-3:
        return
    x, y, z, w = (float(v) for v in quaternion / np.linalg.norm(quaternion))
    message = conversions.matrix_to_transform(np.eye(4))
    message.rotation.x, message.rotation.y, message.rotation.z, message.rotation.w = x, y, z, w
    message.translation.x, message.translation.y, message.translation.z = translation
    matrix = conversions.matrix_from_transform(message)
    assert np.allclose(matrix[:3, :3] @ matrix[:3, :3].T, np.eye(3), atol=1e-9)
    assert np.allclose(conversions.matrix_from_transform(conversions.matrix_to_transform(matrix)), matrix, atol=1e-9)


def test_a_rotation_that_is_none_is_refused() -> None:
    message = conversions.matrix_to_transform(np.eye(4))
    message.rotation.w = 0.0
    with pytest.raises(ValueError, match="quaternion"):
        conversions.matrix_from_transform(message)


@FINE
@given(GRAPHS)
def test_scene_graphs_come_back(graph: SceneGraph) -> None:
    back = conversions.graph_from_msg(through_the_wire(conversions.graph_to_msg(graph)))
    assert (back.frame_id, back.domain, back.revision) == (graph.frame_id, graph.domain, graph.revision)
    assert list(back.nodes) == list(graph.nodes)
    for name, node in graph.nodes.items():
        other = back.nodes[name]
        assert (other.label, other.presence, other.source) == (node.label, node.presence, node.source)
        assert (other.observations, other.confidence) == (node.observations, node.confidence)
        assert other.last_seen == pytest.approx(node.last_seen, abs=1e-6)
        assert other.first_seen == pytest.approx(node.first_seen, abs=1e-6)
        assert same_box(other.box, node.box) and same_box(other.containment, node.containment)
        assert {k: (a.value, a.source, a.confidence) for k, a in other.attributes.items()} == {
            k: (a.value, a.source, a.confidence) for k, a in node.attributes.items()
        }
    triples = [(r.subject, r.predicate, r.object, r.value, r.source) for r in graph.relations]
    assert [(r.subject, r.predicate, r.object, r.value, r.source) for r in back.relations] == triples


NONSENSE: tuple[Any, ...] = (math.nan, math.inf, -math.inf, -1.0, 1e300, 255, -1, 2**31 - 1, "")


def leaves(message: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every number and text in a message, as a path of field names and indices."""
    for name in message.get_fields_and_field_types():
        value = getattr(message, name)
        entries = (
            [((name, i), entry) for i, entry in enumerate(value)] if isinstance(value, list) else [((name,), value)]
        )
        for step, entry in entries:
            if hasattr(entry, "get_fields_and_field_types"):
                yield from leaves(entry, (*path, *step))
            else:
                yield (*path, *step)


def put(message: Any, path: tuple[Any, ...], value: Any) -> None:
    """Write into a message; AssertionError if its field cannot hold the value."""
    for step in path[:-1]:
        message = message[step] if isinstance(step, int) else getattr(message, step)
    setattr(message, path[-1], value)


def full_graph() -> messages.SceneGraph:
    box = Box(np.array([1.0, 2.0, 0.5]), np.array([0.1, 0.1, 0.1]), 0.3)
    mug = SceneNode("mug_1", "Mug", box, box, attributes={"dirty": Attribute("dirty", Truth.TRUE)}, observations=3)
    table = SceneNode("table", "DiningTable", box, box)
    nodes = {"mug_1": mug, "table": table}
    return conversions.graph_to_msg(
        SceneGraph("map", 5.0, "household", 1, nodes, [Relation("mug_1", "on", "table", stamp=4.0)])
    )


@pytest.mark.parametrize("path", list(leaves(full_graph())), ids=str)
@pytest.mark.parametrize("value", NONSENSE, ids=repr)
def test_nonsense_in_a_scene_graph_is_refused_by_name_or_can_be_planned_with(path: Any, value: Any) -> None:
    message = full_graph()
    try:
        put(message, path, value)
    except AssertionError:
        return  # the middleware cannot carry it either
    try:
        graph = conversions.graph_from_msg(message)
    except ValueError as error:
        assert re.search(r"node|relation|scene graph", str(error))  # what is wrong is named
        return
    known, _ = known_part(graph, HOUSEHOLD)
    symbolic_state(known, HOUSEHOLD)
    conversions.graph_to_msg(known)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("nodes", 0, "pose", "position", "x"), math.nan, "'mug_1'.*centre"),
        (("nodes", 0, "pose", "orientation", "w"), math.nan, "'mug_1'.*quaternion"),
        (("nodes", 0, "containment_extent", "y"), -0.1, "'mug_1'.*containment"),
        (("nodes", 0, "instance_id"), "", "instance id"),
        (("nodes", 1, "instance_id"), "mug_1", "mug_1"),
        (("nodes", 0, "presence"), 9, "'mug_1'.*presence.*9"),
        (("nodes", 0, "confidence"), 1.5, "'mug_1'.*confidence"),
        (("nodes", 0, "last_seen", "sec"), -3, "'mug_1'.*last_seen"),
        (("nodes", 0, "attributes", 0, "value"), 7, "'mug_1'.*'dirty'.*7"),
        (("relations", 0, "value"), 7, "'mug_1 on table'.*7"),
        (("relations", 0, "confidence"), math.nan, "'mug_1 on table'.*confidence"),
        (("relations", 0, "stamp", "sec"), -1, "'mug_1 on table'.*stamp"),
        (("relations", 0, "predicate"), "", "predicate"),
        (("header", "stamp", "sec"), -5, "scene graph.*stamp"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_with_the_thing_and_the_field(path: Any, value: Any, words: str) -> None:
    message = full_graph()
    put(message, path, value)
    with pytest.raises(ValueError, match=words):
        conversions.graph_from_msg(message)


@pytest.mark.parametrize("path", list(leaves(conversions.matrix_to_transform(np.eye(4)))), ids=str)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_transform_with_a_number_that_is_none_is_refused(path: Any, value: float) -> None:
    message = conversions.matrix_to_transform(np.eye(4))
    put(message, path, value)
    with pytest.raises(ValueError, match="needs"):
        conversions.matrix_from_transform(message)


def test_two_nodes_of_one_id_are_refused_by_name() -> None:
    message = messages.SceneGraph(nodes=[messages.SceneNode(instance_id="mug_1")] * 2)
    with pytest.raises(ValueError, match="mug_1"):
        conversions.graph_from_msg(message)


@FINE
@given(STEPS)
def test_steps_keep_the_original_spelling(step: PlannedStep) -> None:
    back = conversions.step_from_msg(through_the_wire(conversions.step_to_msg(step)))
    assert (back.action, back.text, back.cost) == (step.action, step.text, step.cost)


@given(st.lists(STEPS, min_size=1, max_size=4), st.data())
@FINE
def test_a_plan_marks_what_is_done_and_what_is_next(steps: list[PlannedStep], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(steps)))
    plan = through_the_wire(conversions.plan_to_msg(steps, stamp=1.0, task_id="t", revision=3, next_index=index))
    marks = [subtask.status for subtask in plan.subtasks]
    done, active, pending = messages.Subtask.SUCCEEDED, messages.Subtask.ACTIVE, messages.Subtask.PENDING
    expected = [done] * index + [active] * (index < len(steps)) + [pending] * max(0, len(steps) - index - 1)
    assert marks == expected
    assert (plan.next, plan.revision, plan.status) == (index, 3, messages.Plan.ACTIVE)


def test_a_plan_that_has_ended_has_no_active_step() -> None:
    steps = [PlannedStep(GroundAction("look", ("fridge_1",)))]
    plan = conversions.plan_to_msg(steps, stamp=0.0, task_id="t", revision=1, status=messages.Plan.CANCELLED)
    assert [subtask.status for subtask in plan.subtasks] == [messages.Subtask.PENDING]


SKILL_RESULTS = st.builds(
    SkillResult,
    st.sampled_from([status for status in SkillStatus if status is not SkillStatus.SERVER_LOST]),
    TEXT,
    TEXT,
    st.booleans(),
    st.lists(TEXT, max_size=2).map(tuple),
)


@FINE
@given(SKILL_RESULTS)
def test_outcomes_of_skills_come_back(result: SkillResult) -> None:
    assert conversions.skill_result_from_msg(through_the_wire(conversions.skill_result_to_msg(result))) == result


@pytest.mark.parametrize("number", [6, 7, 99, 255])
def test_an_outcome_whose_status_is_none_is_a_failure_that_says_so(number: int) -> None:
    result = conversions.skill_result_from_msg(ExecuteSkill.Result(status=number, reason="who knows"))
    assert not result.succeeded and "who knows" in result.reason
    failure = conversions.failure_from_msg(messages.ActionFailure(status=number, reason="who knows"))
    assert not failure.succeeded and "who knows" in failure.reason
    assert number == 6 or str(number) in result.reason + failure.reason


def test_an_event_of_failure_is_no_success_whatever_it_says() -> None:
    assert not conversions.failure_from_msg(messages.ActionFailure(status=0)).succeeded


def test_a_lost_server_does_not_answer() -> None:
    with pytest.raises(ValueError, match="lost"):
        conversions.skill_result_to_msg(SkillResult(SkillStatus.SERVER_LOST))


def test_events_name_the_subtask_that_ran() -> None:
    actions = [GroundAction("go_to", ("start", "fridge_1")), GroundAction("open", ("fridge_1",))]
    steps = [PlannedStep(action) for action in actions]
    plan = conversions.plan_to_msg(steps, stamp=2.0, task_id="t", revision=7, next_index=1)
    result = SkillResult(SkillStatus.EXECUTION_FAILED, "door_stuck", "the door does not move", skills=("open",))
    failure = conversions.failure_to_msg(plan, result, stamp=3.0, attempts=2, duration=1.5)
    assert (failure.task_id, failure.revision, failure.index) == ("t", 7, 1)
    assert failure.subtask.action == "open" and failure.subtask.status == messages.Subtask.FAILED
    assert conversions.failure_from_msg(failure) == result
    done = conversions.completion_to_msg(plan, stamp=3.0, attempts=1, duration=1.5)
    assert done.subtask.status == messages.Subtask.SUCCEEDED and done.index == 1


def test_verification_traces_name_what_is_unmet() -> None:
    step = VerifiedStep(0, GroundAction("open", ("fridge_1",)), False, "not at fridge_1", ("at(fridge_1)",))
    trace = conversions.verification_to_msg(
        Verification(False, False, "step 1 cannot be executed", (step,)), stamp=1.0, task_id="t", revision=1
    )
    assert trace.steps[0].action == "open(fridge_1)"
    assert list(trace.steps[0].unmet) == ["at(fridge_1)"]
    assert not trace.valid and trace.reason == "step 1 cannot be executed"


def test_enums_have_the_numbers_of_the_messages() -> None:
    for status in TaskStatus:
        assert getattr(messages.GoalStatus, status.name) == status.value
    for truth in Truth:
        assert getattr(messages.Attribute, truth.name) == getattr(messages.Relation, truth.name) == truth.value
    for presence in Presence:
        assert getattr(messages.SceneNode, presence.name) == presence.value
    for skill_status in SkillStatus:
        if skill_status is not SkillStatus.SUCCEEDED:
            assert getattr(messages.ActionFailure, skill_status.name) == skill_status.value


IMAGES = st.sampled_from(sorted(conversions.IMAGE_TYPES)).flatmap(
    lambda encoding: st.tuples(
        st.just(encoding),
        np_st.arrays(
            conversions.IMAGE_TYPES[encoding][0],
            st.tuples(st.integers(1, 5), st.integers(1, 5)).map(
                lambda size, n=conversions.IMAGE_TYPES[encoding][1]: size if n == 1 else (*size, n)
            ),
        ),
    )
)


@FINE
@given(IMAGES)
def test_images_come_back(case: tuple[str, Any]) -> None:
    encoding, image = case
    message = through_the_wire(conversions.image_to_msg(image, encoding, 1.0, "camera"))
    back = conversions.image_from_msg(message)
    expected = image[:, :, ::-1] if encoding == "bgr8" else image
    np.testing.assert_array_equal(back, expected)


def test_padded_and_big_endian_images_are_read() -> None:
    image = np.arange(6, dtype=np.uint16).reshape(2, 3)
    message = conversions.image_to_msg(image, "16UC1", 0.0, "camera")
    rows = [row.astype(">u2").tobytes() + b"\xff\xff" for row in image]
    message.step, message.is_bigendian, message.data = 8, 1, b"".join(rows)
    np.testing.assert_array_equal(conversions.image_from_msg(message), image)


def test_unknown_encodings_and_short_images_are_refused() -> None:
    message = conversions.image_to_msg(np.zeros((2, 2), np.uint8), "mono8", 0.0, "camera")
    message.encoding = "bayer_rggb8"
    with pytest.raises(ValueError, match="bayer_rggb8"):
        conversions.image_from_msg(message)
    message.encoding = "32FC1"
    with pytest.raises(ValueError, match="too small"):
        conversions.image_from_msg(message)
    with pytest.raises(ValueError, match="32FC1"):
        conversions.image_to_msg(np.zeros((2, 2)), "32FC1", 0.0, "camera")


def test_intrinsics_come_back_and_an_uncalibrated_camera_is_refused() -> None:
    intrinsics = Intrinsics(500.0, 501.0, 319.5, 239.5)
    message = conversions.intrinsics_to_msg(intrinsics, 640, 480, 0.0, "camera")
    assert conversions.intrinsics_from_msg(through_the_wire(message)) == intrinsics
    for index in (0, 2, 4, 5):
        for value in (math.nan, math.inf, -math.inf, *([0.0, -1.0] if index in (0, 4) else [])):
            broken = conversions.intrinsics_to_msg(intrinsics, 640, 480, 0.0, "camera")
            broken.k[index] = value
            with pytest.raises(ValueError, match="calibration"):
                conversions.intrinsics_from_msg(broken)


@FINE
@given(st.dictionaries(st.integers(0, 2**32 - 1), st.builds(SegmentLabel, TEXT, TEXT), max_size=4))
def test_segment_labels_come_back(labels: dict[int, SegmentLabel]) -> None:
    assert conversions.labels_from_msg(through_the_wire(conversions.labels_to_msg(labels, 1.0, "camera"))) == labels


@FINE
@given(np_st.arrays(bool, (6, 7)))
def test_masks_come_back_from_their_windows(mask: Any) -> None:
    if not mask.any():
        return
    message = through_the_wire(conversions.detection_to_msg(Detection("Mug", "", 0.5, mask, ("dirty",)), "mug_1"))
    back = conversions.detection_from_msg(message, 6, 7)
    np.testing.assert_array_equal(back.mask, mask)
    assert (back.label, back.score, back.attributes) == ("Mug", 0.5, ("dirty",))
    assert message.instance_id == "mug_1"
    assert message.roi.width * message.roi.height <= 42


@pytest.mark.parametrize(
    ("window", "mask"),
    [
        ((0, 0, 9, 2), (2, 9)),
        ((6, 5, 2, 2), (2, 2)),
        ((0, 0, 2, 2), (3, 3)),
        ((0, 0, 2, 2), None),
        ((0, 0, 0, 0), None),
    ],
)
def test_a_detection_without_a_mask_or_with_a_wrong_one_has_none_or_is_refused(window: Any, mask: Any) -> None:
    message = messages.Detection(label="Mug")
    x, y, width, height = window
    message.roi = RegionOfInterest(x_offset=x, y_offset=y, width=width, height=height)
    if mask is not None:
        message.mask = conversions.image_to_msg(np.ones(mask, np.uint8), "mono8", 0.0, "")
    if width == 0:
        assert not conversions.detection_from_msg(message, 6, 7).mask.any()
        return
    with pytest.raises(ValueError):
        conversions.detection_from_msg(message, 6, 7)


SIZES = st.sampled_from([0, 1, 2, 3, 2**32 - 1])


@FINE
@given(
    SIZES, SIZES, SIZES, st.sampled_from([*sorted(conversions.IMAGE_TYPES), "", "rgb16", "\n"]), st.binary(max_size=40)
)
def test_an_image_of_any_size_step_and_data_is_read_or_refused(
    height: int, width: int, step: int, encoding: str, data: bytes
) -> None:
    message = Image(height=height, width=width, step=step, encoding=encoding)
    message.data = data
    try:
        image = conversions.image_from_msg(message)
    except ValueError:
        return
    assert image.shape[:2] == (height, width) or 0 in (height, width)
