"""What the cameras see: true depth, true outlines, and nothing through closed doors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from graph_planner_ros.sim.room import KitchenOptions
from graph_planner_ros.sim.snapshot import save_picture
from graph_planner_ros.sim.truth import container_of
from graph_planner_ros.sim.world import KitchenWorld


@pytest.fixture(scope="module")
def world() -> Iterator[KitchenWorld]:
    world = KitchenWorld("l_shape", 3)
    yield world
    world.close()


def look_at(world: KitchenWorld, eye: np.ndarray, target: np.ndarray) -> None:
    """Put the head camera somewhere until the next step."""
    camera = world.model.camera("head_camera").id
    back = (eye - target) / np.linalg.norm(eye - target)
    right = np.cross([0, 0, 1.0], back)
    right /= np.linalg.norm(right)
    rotation = np.stack([right, np.cross(back, right), back], axis=1)
    world.data.cam_xpos[camera] = eye
    world.data.cam_xmat[camera] = rotation.ravel()


def face(world: KitchenWorld, fixture: str, distance: float = 0.9, height: float = 1.45) -> None:
    info = world.fixtures[fixture]
    front = np.array([np.cos(info.front), np.sin(info.front), 0])
    eye = info.box.center + front * (info.box.extent[0] / 2 + distance)
    eye[2] = height
    target = (info.containment or info.box).center
    look_at(world, eye, target)


def labels_seen(world: KitchenWorld) -> set[tuple[str, str]]:
    values, labels = world.render_instances()
    assert set(np.unique(values)) - {0} == set(labels)
    return {(label.label, label.part) for label in labels.values()}


def test_images_have_the_size_and_types_of_a_camera(world: KitchenWorld) -> None:
    face(world, "counter_top_1")
    rgb, depth = world.render_rgb(), world.render_depth()
    values, labels = world.render_instances()
    assert rgb.shape == (480, 640, 3) and rgb.dtype == np.uint8 and rgb.std() > 10
    assert depth.shape == values.shape == (480, 640)
    assert depth.dtype == np.float32 and values.dtype == np.int32
    assert labels


def test_depth_is_the_distance_along_the_optical_axis(world: KitchenWorld) -> None:
    eye = np.array([0.0, -1.0, 1.2])
    look_at(world, eye, np.array([0.0, 3.0, 1.2]))  # level, towards the north wall, 3.5 m away
    depth = world.render_depth()
    assert depth[240, 320] == pytest.approx(3.5, abs=0.03)
    assert depth[100, 100] == pytest.approx(3.5, abs=0.03), "not the distance along the ray"
    look_at(world, np.array([0.0, 0.0, 30.0]), np.array([0.1, 0.0, 60.0]))
    assert np.isnan(world.render_depth()).all(), "nothing there: no depth"


def test_closed_doors_hide_what_is_inside_and_open_ones_show_it(world: KitchenWorld) -> None:
    inside = {world.items[name].label for name in world.items if container_of(world, name) == "fridge_1"}
    assert inside
    face(world, "fridge_1")
    seen = labels_seen(world)
    assert ("Fridge", "door") in seen
    assert not inside & {label for label, _ in seen}
    world.set_door("fridge_1", 1.7)
    face(world, "fridge_1")
    seen = labels_seen(world)
    world.set_door("fridge_1", 0.0)
    assert inside <= {label for label, _ in seen}


@pytest.mark.parametrize("kind", ["Cabinet", "Drawer"])
def test_whatever_is_in_an_opened_fixture_can_be_seen_from_the_robots_height(world: KitchenWorld, kind: str) -> None:
    for fixture, info in world.fixtures.items():
        inside = {world.items[name].label for name in world.items if container_of(world, name) == fixture}
        if info.label != kind or not inside:
            continue
        assert info.door is not None
        world.set_door(fixture, info.door.open_position)
        face(world, fixture)
        seen = {label for label, _ in labels_seen(world)}
        world.set_door(fixture, 0.0)
        assert inside <= seen, fixture


def test_the_robot_and_the_room_have_no_instance(world: KitchenWorld) -> None:
    look_at(
        world,
        np.array([*world.layout.start, 2.2]),
        np.array([world.layout.start[0] + 0.01, world.layout.start[1], 0.0]),
    )
    values, labels = world.render_instances()
    assert (values[200:280, 280:360] == 0).all()
    assert all(label.label for label in labels.values())


def test_visible_attributes_come_with_the_instance(world: KitchenWorld) -> None:
    dirty = next(
        n for n, p in world.properties.items() if p.dirty and container_of(world, n) not in world.shut_fixtures()
    )
    where = world.item_pose(dirty)[0]
    look_at(world, where + np.array([0.0, -0.5, 0.5]), where)
    values, labels = world.render_instances()
    assert labels[int(values[240, 320])].label == world.items[dirty].label
    assert "dirty" in labels[int(values[240, 320])].attributes
    world.switch("stove_burner_1", True)
    face(world, "stove_burner_1")
    assert any(
        label.label == "StoveBurner" and "switched_on" in label.attributes
        for label in world.render_instances()[1].values()
    )
    world.switch("stove_burner_1", False)
    assert not any("switched_on" in label.attributes for label in world.render_instances()[1].values())


def test_dirt_and_slices_change_the_picture(world: KitchenWorld) -> None:
    bread = world.item_pose("bread_1")[0]
    look_at(world, bread + np.array([0.0, -0.3, 0.4]), bread)
    whole = world.render_rgb().astype(int)
    world.slice_item("bread_1")
    sliced = world.render_rgb().astype(int)
    world.properties["bread_1"].sliced = False
    world.refresh_looks()
    assert np.abs(whole - sliced).max(axis=2).astype(bool).mean() > 0.01
    assert np.array_equal(world.render_rgb().astype(int), whole)


def test_instance_values_are_no_identities_across_runs(world: KitchenWorld) -> None:
    def value_of(world: KitchenWorld, label: str) -> int:
        face(world, "stove_burner_1")
        return next(
            value for value, seen in world.render_instances()[1].items() if seen.label == label and not seen.part
        )

    other = KitchenWorld("l_shape", 4)
    third = KitchenWorld("l_shape", 5)
    values = [value_of(each, "StoveBurner") for each in (world, other, third)]
    other.close()
    third.close()
    assert len(set(values)) > 1


def test_an_unknown_camera_is_refused_with_the_names_of_all(world: KitchenWorld) -> None:
    with pytest.raises(ValueError, match="head_camera"):
        world.render_rgb("tail_camera")


def test_a_picture_can_be_saved(tmp_path: object) -> None:
    world = KitchenWorld("island", 0, KitchenOptions(width=320, height=240))
    path = save_picture(world, f"{tmp_path}/pictures/kitchen.png")
    world.close()
    assert path.stat().st_size > 5000
