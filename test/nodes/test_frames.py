"""Camera messages that belong together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graph_planner_ros.nodes.frames import FrameAssembler

KINDS = ("depth", "instances", "labels")


def test_a_frame_is_complete_when_every_kind_of_one_stamp_is_there() -> None:
    frames = FrameAssembler(KINDS)
    assert frames.add("depth", 1.0, "d1", 0.0) is None
    assert frames.add("depth", 2.0, "d2", 0.0) is None
    assert frames.add("instances", 2.0, "i2", 0.0) is None
    assert frames.add("labels", 2.0, "l2", 0.0) == (2.0, {"depth": "d2", "instances": "i2", "labels": "l2"})


def test_messages_older_than_a_complete_frame_are_left_out() -> None:
    frames = FrameAssembler(("depth",))
    assert frames.add("depth", 2.0, "new", 0.0) is not None
    assert frames.add("depth", 1.0, "old", 0.0) is None


def test_without_a_stamp_messages_are_dropped_and_counted() -> None:
    frames = FrameAssembler(KINDS)
    for kind in KINDS:
        assert frames.add(kind, 0.0, "x", 5.0) is None
    assert frames.dropped == 3


def test_without_a_stamp_messages_get_their_arrival_time_on_request() -> None:
    frames = FrameAssembler(KINDS, stamp_on_arrival=True)
    assert frames.add("depth", 0.0, "d", 5.0) is None
    assert frames.add("instances", 0.0, "i", 5.1) is None
    done = frames.add("labels", 0.0, "l", 5.2)
    assert done is not None and done[0] == 5.0
    assert frames.add("depth", 0.0, "d2", 6.0) is None
    assert frames.add("depth", 0.0, "d3", 7.0) is None  # the frame before stays incomplete
    assert frames.add("instances", 0.0, "i3", 7.1) is None
    done = frames.add("labels", 0.0, "l3", 7.2)
    assert done is not None and (done[0], done[1]["depth"]) == (7.0, "d3")


def test_after_clear_older_stamps_are_taken_again() -> None:
    frames = FrameAssembler(("depth",))
    frames.add("depth", 100.0, "x", 0.0)
    frames.clear()
    assert frames.add("depth", 1.0, "y", 0.0) == (1.0, {"depth": "y"})


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, 8)), max_size=80))
def test_frames_come_out_whole_and_in_the_order_of_their_stamps(messages: list[tuple[str, int]]) -> None:
    frames = FrameAssembler(KINDS)
    stamps = []
    for kind, stamp in messages:
        done = frames.add(kind, float(stamp), (kind, stamp), 0.0)
        if done is not None:
            assert done[1] == {name: (name, stamp) for name in KINDS}
            stamps.append(done[0])
    assert stamps == sorted(set(stamps))
    assert len(frames._frames) <= frames.depth
