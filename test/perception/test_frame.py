"""Depth images, frames and segmentation."""

from __future__ import annotations

import numpy as np
import pytest
from rendered_world import CAMERA, World, counter, mug

from graph_planner_ros.perception.frame import Detection, Frame, FrameError, SegmentLabel, decode_depth, window
from graph_planner_ros.perception.segmentation import InstanceImageSegmenter


def test_millimetres_become_metres_and_metres_stay() -> None:
    millimetres = np.array([[0, 1500], [700, 65535]], dtype=np.uint16)
    assert np.allclose(decode_depth("16UC1", millimetres), [[np.nan, 1.5], [0.7, 65.535]], equal_nan=True)
    metres = np.array([[0.0, 1.5], [np.nan, np.inf]], dtype=np.float32)
    assert np.allclose(decode_depth("32FC1", metres), [[np.nan, 1.5], [np.nan, np.nan]], equal_nan=True)
    assert np.isnan(decode_depth("32FC1", np.array([[-1.0]], dtype=np.float32))).all()


@pytest.mark.parametrize("encoding", ["8UC1", "64FC1", "", "rgb8"])
def test_an_unknown_depth_encoding_is_an_error_that_names_it(encoding: str) -> None:
    with pytest.raises(FrameError, match=f"'{encoding}'"):
        decode_depth(encoding, np.zeros((2, 2)))


@pytest.mark.parametrize("shape", [(0, 0), (4,), (2, 2, 3)])
def test_an_empty_or_odd_depth_image_is_an_error(shape: tuple[int, ...]) -> None:
    with pytest.raises(FrameError):
        decode_depth("32FC1", np.zeros(shape))


def test_images_of_a_frame_must_fit_together() -> None:
    depth = np.ones((4, 6), dtype=np.float32)
    with pytest.raises(FrameError, match="instance image"):
        Frame(1.0, depth, CAMERA, np.eye(4), instances=np.zeros((6, 4), dtype=np.int32))
    with pytest.raises(FrameError, match="4x4"):
        Frame(1.0, depth, CAMERA, np.eye(3))
    with pytest.raises(FrameError):
        Frame(1.0, np.zeros((0, 0), dtype=np.float32), CAMERA, np.eye(4))


def test_the_window_of_a_mask_is_tight() -> None:
    mask = np.zeros((10, 12), dtype=bool)
    assert window(mask) == (0, 0, 0, 0)
    mask[3:5, 7] = True
    assert window(mask) == (3, 7, 5, 8)
    assert Detection("Mug", "", 1.0, mask).roi == (3, 7, 5, 8)


def test_instances_become_detections_whatever_their_values() -> None:
    world = World({**counter(), "mug": mug(0.0, 0.1, dirty=True)})
    frame = world.frame()
    assert frame.instances is not None
    values = np.array([0, 77, 5], dtype=np.int32)[frame.instances]
    labels = {5: SegmentLabel("Mug", "", ("dirty",)), 77: SegmentLabel("CounterTop"), 99: SegmentLabel("Egg")}
    renamed = Frame(frame.stamp, frame.depth, CAMERA, frame.camera_pose, None, values, labels)
    found = {d.label: d for d in InstanceImageSegmenter().segment(renamed)}
    assert set(found) == {"Mug", "CounterTop"}
    assert found["Mug"].attributes == ("dirty",)
    assert found["Mug"].mask.sum() == (frame.instances == 2).sum()


def test_small_and_unnamed_segments_are_no_detections() -> None:
    values = np.zeros((20, 20), dtype=np.int32)
    values[0, :3], values[5:15, 5:15] = 1, 2
    depth = np.ones((20, 20), dtype=np.float32)
    labels = {1: SegmentLabel("Egg"), 2: SegmentLabel("")}
    frame = Frame(1.0, depth, CAMERA, np.eye(4), None, values, labels)
    assert InstanceImageSegmenter().segment(frame) == []
    assert [d.label for d in InstanceImageSegmenter(min_pixels=3).segment(frame)] == ["Egg"]
    with pytest.raises(ValueError, match="min_pixels"):
        InstanceImageSegmenter(min_pixels=0)


def test_a_frame_without_instances_is_refused_by_the_segmenter() -> None:
    frame = Frame(1.0, np.ones((4, 6), dtype=np.float32), CAMERA, np.eye(4))
    with pytest.raises(FrameError, match="instance image"):
        InstanceImageSegmenter().segment(frame)
