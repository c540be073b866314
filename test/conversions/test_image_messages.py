"""Times, poses, images, masks and cameras come back from their messages as they were."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as np_st
from message_values import COORDINATE, FINE, SECONDS, TEXT, boxes, leaves, put, same_box, through_the_wire
from sensor_msgs.msg import Image, RegionOfInterest

import graph_planner_ros.msg as messages
from graph_planner_ros import conversions
from graph_planner_ros.perception.frame import Detection, Intrinsics, SegmentLabel
from graph_planner_ros.scene.graph import Box


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


@pytest.mark.parametrize("path", list(leaves(conversions.matrix_to_transform(np.eye(4)))), ids=str)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_transform_with_a_number_that_is_none_is_refused(path: Any, value: float) -> None:
    message = conversions.matrix_to_transform(np.eye(4))
    put(message, path, value)
    with pytest.raises(ValueError, match="needs"):
        conversions.matrix_from_transform(message)
