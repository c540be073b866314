"""From masks and depth to boxes, and what a frame says about things and doors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rendered_world import CAMERA, Solid, World, box, cabinet_walls, counter, drawer, fixture_map, look_at, mug

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.perception.backprojection import clean_points, fit_box, lift
from graph_planner_ros.perception.frame import Frame, SegmentLabel
from graph_planner_ros.perception.pipeline import PerceptionPipeline, PipelineConfig, ProcessedFrame
from graph_planner_ros.perception.segmentation import InstanceImageSegmenter
from graph_planner_ros.scene.graph import SceneGraph
from graph_planner_ros.scene.observation import PartReading
from graph_planner_ros.scene.presence import Sight, project, sight


def process(domain: Domain, world: World, config: PipelineConfig | None = None) -> ProcessedFrame:
    pipeline = PerceptionPipeline(domain, InstanceImageSegmenter(), fixture_map(), config)
    return pipeline.process(SceneGraph(), world.frame())


def test_lifting_and_projecting_are_inverse() -> None:
    pose = look_at((1.0, 0.5, 1.4), (0.0, 0.0, 0.9))
    depth = np.full((240, 320), 1.3, dtype=np.float32)
    rows, columns = np.array([10, 120, 230]), np.array([5, 160, 310])
    pixels, forward = project(lift(depth, rows, columns, CAMERA, pose), CAMERA, pose)
    assert np.allclose(pixels, np.column_stack((columns, rows)), atol=1e-6)
    assert np.allclose(forward, 1.3, atol=1e-6)


def test_pixels_without_depth_give_no_points() -> None:
    depth = np.array([[np.nan, 0.0, np.inf, 1.0]], dtype=np.float32)
    assert len(lift(depth, np.zeros(4, dtype=int), np.arange(4), CAMERA, np.eye(4))) == 1


@pytest.mark.parametrize("spread", [0.0, 1e-16, 1e-6])
def test_degenerate_boxes_are_dropped(spread: float) -> None:
    points = np.random.default_rng(0).normal(1.0, 1.0, (200, 3)) * spread + 1.0
    assert fit_box(points, np.zeros(3)) is None
    assert fit_box(np.zeros((0, 3)), np.zeros(3)) is None
    assert fit_box(clean_points(points), np.zeros(3)) is None


def test_stray_points_do_not_blow_up_a_box() -> None:
    random = np.random.default_rng(0)
    center = np.array([1.0, 0.0, 1.0])
    points = center + random.uniform(-0.04, 0.04, (600, 3))
    strays = np.vstack((points, center + random.uniform(-1.0, 1.0, (12, 3))))
    found = fit_box(clean_points(strays), np.array([0.0, 0.0, 2.5]))
    assert found is not None
    assert np.linalg.norm(found.center - center) < 0.01
    assert (found.extent < 0.11).all()


@pytest.mark.parametrize("yaw", [0.0, 0.4, 1.2, -0.7])
def test_a_long_thing_has_its_long_side_along_x(domain: Domain, yaw: float) -> None:
    knife = Solid("Knife", box(0.0, 0.1, 0.912, 0.22, 0.03, 0.024, yaw))
    world = World({**counter(), "knife": knife}, eye=(0.9, 0.1, 1.5))
    (seen,) = process(domain, world).observations.objects
    assert np.linalg.norm(seen.box.center - knife.box.center) < 0.015
    assert seen.box.extent[0] == pytest.approx(0.22, abs=0.03)
    assert seen.box.extent[1] < 0.06
    assert abs(math.remainder(seen.box.yaw - yaw, math.pi)) < 0.12


def test_the_hidden_back_of_a_round_thing_at_eye_height_is_counted_in() -> None:
    angle = np.linspace(-np.pi / 2, np.pi / 2, 60)
    ring = np.column_stack((1.0 + np.cos(angle) * 0.04, np.sin(angle) * 0.04))
    front = np.vstack([np.column_stack((ring, np.full(60, z))) for z in np.linspace(1.4, 1.5, 20)])
    found = fit_box(front, np.array([2.0, 0.0, 1.45]))
    assert found is not None
    assert np.linalg.norm(found.center - [1.0, 0.0, 1.45]) < 0.01


def test_a_thing_at_the_edge_of_the_image_or_behind_something_is_incomplete(domain: Domain) -> None:
    world = World({**counter(), "mug": mug(0.0, 0.1)}, eye=(0.7, 0.1, 1.2))
    assert process(domain, world).observations.objects[0].complete
    world.solids["board"] = Solid("Plate", box(0.1, 0.14, 0.95, 0.02, 0.1, 0.1))
    mugs = [o for o in process(domain, world).observations.objects if o.label == "Mug"]
    assert not mugs[0].complete
    del world.solids["board"]
    world.target = (0.0, -0.42, 0.9)
    seen = process(domain, world, PipelineConfig(min_border_pixels=1)).observations.objects
    assert [o.complete for o in seen] == [False]


def test_labels_that_the_domain_does_not_have_are_told(domain: Domain) -> None:
    result = process(domain, World({**counter(), "x": Solid("Hovercraft", box(0, 0, 1.0, 0.2, 0.2, 0.2))}))
    assert result.unknown_labels == ("Hovercraft",)
    assert result.observations.objects == []


def test_fixtures_tell_their_visible_attributes(domain: Domain) -> None:
    solids = {"counter": Solid("CounterTop", counter()["counter"].box, "", ("switched_on",))}
    assert process(domain, World(solids)).observations.fixtures == {"counter_top_1": ("switched_on",)}


def read_cabinet(domain: Domain, angle: float, side: float = 0.0, **extra: Solid) -> list[PartReading]:
    world = World({**cabinet_walls(angle), **extra}, eye=(1.2, -1.4 + side, 1.45), target=(-0.1, -1.4, 1.2))
    return [r for r in process(domain, world).observations.parts if r.node_id == "cabinet_1"]


@pytest.mark.parametrize("side", [-0.5, 0.0, 0.5])
def test_a_shut_door_is_shut_from_all_sides(domain: Domain, side: float) -> None:
    (reading,) = read_cabinet(domain, 0.0, side)
    assert (reading.attribute, reading.value) == ("closed", Truth.TRUE)


@pytest.mark.parametrize("angle", [0.6, 1.2, math.pi / 2, 1.9])
def test_an_open_door_is_open(domain: Domain, angle: float) -> None:
    (reading,) = read_cabinet(domain, angle)
    assert (reading.value, reading.slide) == (Truth.FALSE, 0.0)


def test_something_before_a_shut_door_does_not_open_it(domain: Domain) -> None:
    arm = Solid("", box(0.5, -1.4, 1.3, 0.5, 0.1, 0.1))
    assert [r.value for r in read_cabinet(domain, 0.0, arm=arm)] == [Truth.TRUE]
    board = Solid("", box(0.5, -1.4, 1.3, 0.02, 1.5, 1.5))
    assert read_cabinet(domain, 0.0, board=board) == []


@pytest.mark.parametrize(("out", "value"), [(0.0, Truth.TRUE), (0.25, Truth.FALSE), (0.4, Truth.FALSE)])
def test_a_drawer_is_open_as_far_as_its_front_is_out(domain: Domain, out: float, value: Truth) -> None:
    world = World(drawer(out), eye=(1.4, 1.2, 1.45), target=(0.3, 1.2, 0.8))
    (reading,) = [r for r in process(domain, world).observations.parts if r.node_id == "drawer_1"]
    assert reading.value is value
    if value is Truth.FALSE:
        assert reading.slide == pytest.approx(out + 0.02, abs=0.02)


@pytest.mark.parametrize(
    ("thing", "expected"),
    [
        (None, Sight.FREE),
        (mug(0.0, 0.1), Sight.FILLED),
        (Solid("", box(0.3, 0.1, 1.1, 0.02, 0.5, 0.5)), Sight.HIDDEN),
    ],
)
def test_whether_a_spot_is_free_filled_or_hidden(thing: Solid | None, expected: Sight) -> None:
    world = World({**counter(), **({"thing": thing} if thing is not None else {})}, eye=(0.9, 0.1, 1.4))
    assert sight(mug(0.0, 0.1).box, world.frame()) is expected
    flat = box(0.0, 0.1, 0.912, 0.2, 0.03, 0.024)
    if thing is None:
        world.eye, world.target = (0.45, 0.1, 1.25), (0.0, 0.1, 0.9)
        assert sight(flat, world.frame()) is Sight.FREE
        assert sight(box(0.0, 5.0, 0.95, 0.1, 0.1, 0.1), world.frame()) is Sight.OUT_OF_VIEW


def test_no_depth_is_no_evidence() -> None:
    frame = World(counter(), eye=(0.9, 0.1, 1.4)).frame()
    blind = Frame(1.0, np.full_like(frame.depth, np.nan), CAMERA, frame.camera_pose, labels={1: SegmentLabel("Egg")})
    assert sight(mug(0.0, 0.1).box, blind) is Sight.HIDDEN
