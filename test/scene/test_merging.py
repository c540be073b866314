"""Images into belief: identity, position, presence, attributes, places."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rendered_world import Solid, World, box, cabinet_walls, counter, drawer, fixture_map, mug

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import GroundAction, Truth
from graph_planner_ros.perception.pipeline import PerceptionPipeline
from graph_planner_ros.perception.segmentation import InstanceImageSegmenter
from graph_planner_ros.scene.belief import attribute_value, held, place_relation
from graph_planner_ros.scene.effects import apply_effects
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import Presence, SceneGraph, SceneNode
from graph_planner_ros.scene.merging import SceneUpdater
from graph_planner_ros.scene.observation import RobotState
from graph_planner_ros.scene.tracking import MergeReport, fuse


class Observer:
    """A camera in a rendered world that feeds a belief."""

    def __init__(self, domain: Domain, world: World) -> None:
        self.domain, self.world = domain, world
        self.pipeline = PerceptionPipeline(domain, InstanceImageSegmenter(), fixture_map())
        self.updater = SceneUpdater(domain, fixture_map())
        self.graph = SceneGraph(domain=domain.name)
        self.gripper: tuple[float, float, float] | None = None
        self.holding: bool | None = None

    def look(self, images: int = 1) -> MergeReport:
        report = MergeReport()
        for _ in range(images):
            frame = self.world.frame()
            robot = RobotState((1.2, 0.0), math.pi, self.gripper, self.holding)
            processed = self.pipeline.process(self.graph, frame, robot)
            report = self.updater.update(self.graph, processed.observations, frame, robot)
        return report

    def act(self, action: str, *arguments: str) -> None:
        apply_effects(self.graph, self.domain, GroundAction(action, arguments), self.world.time)

    def of(self, label: str, *presences: Presence) -> list[SceneNode]:
        wanted = presences or (Presence.PRESENT, Presence.STALE)
        return [n for n in self.graph.nodes.values() if n.label == label and n.presence in wanted]

    def place(self, node_id: str) -> str | None:
        relation = place_relation(self.graph, node_id)
        return relation.object if relation is not None else None


@pytest.fixture
def observer(domain: Domain) -> Observer:
    return Observer(domain, World({**counter(), "mug": mug(0.0, 0.1)}))


def test_one_mug_from_many_sides_is_one_node_with_a_stable_id(observer: Observer) -> None:
    for eye in ((1.2, 0.0, 1.45), (1.0, 0.6, 1.45), (0.9, -0.7, 1.5), (1.3, 0.2, 1.3)):
        observer.world.eye = eye
        observer.look(2)
    (node,) = observer.of("Mug")
    assert node.instance_id == "mug_1"
    assert node.observations == 8
    assert node.box is not None
    assert np.linalg.norm(node.box.center - [0.0, 0.1, 0.945]) < 0.02
    assert observer.place("mug_1") == "counter_top_1"


@pytest.mark.parametrize("apart", [0.1, 0.2, 0.5])
def test_two_mugs_side_by_side_are_two_nodes(domain: Domain, apart: float) -> None:
    observer = Observer(domain, World({**counter(), "a": mug(0.0, 0.0), "b": mug(0.0, apart)}))
    observer.look(4)
    assert {n.instance_id for n in observer.of("Mug")} == {"mug_1", "mug_2"}


def test_two_mugs_keep_their_ids_while_only_one_is_in_view(domain: Domain) -> None:
    observer = Observer(domain, World({**counter(), "a": mug(0.0, 0.0), "b": mug(0.0, 0.2)}))
    observer.look(3)
    where = {n.instance_id: n.box.center[1] for n in observer.of("Mug") if n.box is not None}
    del observer.world.solids["a"]
    observer.look(2)
    observer.world.solids["a"] = mug(0.0, 0.0)
    observer.look(2)
    for node in observer.of("Mug"):
        assert node.box is not None
        assert node.box.center[1] == pytest.approx(where[node.instance_id], abs=0.01)


def test_an_item_that_is_gone_becomes_stale_then_absent_and_keeps_its_last_seen(observer: Observer) -> None:
    observer.look(5)
    seen = observer.graph.nodes["mug_1"].last_seen
    del observer.world.solids["mug"]
    observer.look(2)
    assert observer.graph.nodes["mug_1"].presence is Presence.PRESENT
    observer.look(2)
    assert observer.graph.nodes["mug_1"].presence is Presence.STALE
    assert "mug_1" not in symbolic_state(observer.graph, observer.domain).objects
    observer.look(8)
    node = observer.graph.nodes["mug_1"]
    assert node.presence is Presence.ABSENT
    assert node.last_seen == seen
    assert observer.place("mug_1") is None


def test_an_item_behind_something_or_out_of_view_stays_present(observer: Observer) -> None:
    observer.look(4)
    observer.world.solids["board"] = Solid("Plate", box(0.2, 0.1, 1.05, 0.02, 0.4, 0.3))
    observer.look(6)
    assert observer.graph.nodes["mug_1"].presence is Presence.PRESENT
    observer.world.target = (0.0, 5.0, 0.9)
    observer.look(6)
    assert observer.graph.nodes["mug_1"].presence is Presence.PRESENT


def test_a_moved_item_is_found_again_under_its_id_once_it_is_known_to_be_gone(observer: Observer) -> None:
    observer.look(5)
    del observer.world.solids["mug"]
    observer.look(12)
    observer.world.solids["mug"] = mug(-0.1, -0.5)
    observer.look(2)
    (node,) = observer.of("Mug")
    assert node.instance_id == "mug_1"
    assert node.presence is Presence.PRESENT
    assert observer.place("mug_1") == "counter_top_1"


def test_what_cannot_be_seen_is_unknown_again_of_an_item_that_was_lost(observer: Observer) -> None:
    observer.look(5)
    observer.act("clean", "mug_1", "sink_basin_1")
    observer.act("put", "mug_1", "counter_top_1")
    assert attribute_value(observer.domain, observer.graph.nodes["mug_1"], "cleaned") is Truth.TRUE
    del observer.world.solids["mug"]
    observer.look(12)
    observer.world.solids["mug"] = mug(-0.1, -0.5)
    observer.look(2)
    assert attribute_value(observer.domain, observer.graph.nodes["mug_1"], "cleaned") is Truth.UNKNOWN


def test_a_thing_replaced_by_another_in_the_same_spot_goes(domain: Domain) -> None:
    apple = Solid("Apple", box(0.0, 0.1, 0.94, 0.07, 0.07, 0.08))
    observer = Observer(domain, World({**counter(), "thing": apple}))
    observer.look(5)
    observer.world.solids["thing"] = Solid("Tomato", apple.box)
    observer.look(12)
    assert observer.of("Apple") == []
    assert len(observer.of("Tomato")) == 1


def test_the_item_in_the_gripper_moves_with_it_and_is_no_new_node(observer: Observer) -> None:
    observer.look(4)
    observer.act("pick_up", "mug_1", "counter_top_1")
    observer.holding = True
    for step in range(8):
        place = (0.1 * step, -0.05 * step, 0.95 + 0.04 * step)
        observer.gripper = (place[0], place[1], place[2] + 0.04)
        observer.world.solids["mug"] = mug(*place)
        observer.look()
    assert [n.instance_id for n in observer.of("Mug")] == ["mug_1"]
    assert held(observer.graph) == ["mug_1"]
    assert observer.place("mug_1") is None
    box_now = observer.graph.nodes["mug_1"].box
    assert box_now is not None
    assert np.linalg.norm(box_now.center - observer.world.solids["mug"].box.center) < 0.03


def test_an_item_that_was_put_down_is_the_same_at_its_new_place(observer: Observer) -> None:
    observer.look(4)
    observer.act("pick_up", "mug_1", "counter_top_1")
    observer.holding = True
    observer.world.solids.pop("mug")
    for y in (0.1, -0.1, -0.3, -0.5):
        observer.gripper = (0.0, y, 1.0)
        observer.look()
    observer.holding = False
    observer.world.solids["mug"] = mug(0.03, -0.53)
    observer.act("put", "mug_1", "counter_top_1")
    observer.gripper = (0.6, -0.5, 1.0)
    observer.look(3)
    assert [n.instance_id for n in observer.of("Mug")] == ["mug_1"]
    assert held(observer.graph) == []
    assert observer.place("mug_1") == "counter_top_1"
    box_now = observer.graph.nodes["mug_1"].box
    assert box_now is not None
    assert np.linalg.norm(box_now.center - [0.03, -0.53, 0.945]) < 0.02


def test_an_item_that_was_put_somewhere_unseen_is_found_there_under_its_id(observer: Observer) -> None:
    observer.look(4)
    observer.act("pick_up", "mug_1", "counter_top_1")
    del observer.world.solids["mug"]
    observer.act("put", "mug_1", "cabinet_1")
    assert observer.graph.nodes["mug_1"].box is None
    assert observer.place("mug_1") == "cabinet_1"
    observer.world.solids = {**cabinet_walls(math.pi / 2), "mug": mug(0.0, -1.4, 0.965)}
    observer.world.eye, observer.world.target = (1.1, -1.4, 1.45), (-0.1, -1.4, 1.1)
    observer.look(3)
    assert [n.instance_id for n in observer.of("Mug")] == ["mug_1"]
    assert observer.place("mug_1") == "cabinet_1"


def test_an_empty_gripper_refutes_that_something_is_held(observer: Observer) -> None:
    observer.look(4)
    observer.act("pick_up", "mug_1", "counter_top_1")
    observer.gripper, observer.holding = (0.0, 0.1, 0.98), True
    observer.look(4)
    observer.holding = False
    observer.world.solids["mug"] = mug(0.1, 0.2)
    observer.look()
    assert held(observer.graph) == ["mug_1"]  # one reading alone is noise
    observer.look(5)
    assert held(observer.graph) == []
    assert [n.instance_id for n in observer.of("Mug")] == ["mug_1"]
    assert observer.place("mug_1") == "counter_top_1"


def test_the_content_of_a_carried_bowl_moves_along(domain: Domain) -> None:
    bowl = Solid("Bowl", box(0.0, 0.0, 0.93, 0.16, 0.16, 0.06))
    egg = Solid("Egg", box(0.0, 0.0, 0.975, 0.05, 0.05, 0.05))
    observer = Observer(domain, World({**counter(), "bowl": bowl, "egg": egg}))
    observer.look(4)
    assert observer.place("egg_1") == "bowl_1"
    observer.act("pick_up", "bowl_1", "counter_top_1")
    observer.world.solids = counter()
    observer.holding = True
    observer.gripper = (0.0, 0.0, 0.95)
    observer.look(2)
    observer.gripper = (0.5, 0.4, 1.2)
    observer.look(2)
    egg_box = observer.graph.nodes["egg_1"].box
    assert egg_box is not None
    assert np.linalg.norm(egg_box.center - [0.5, 0.4, 1.2]) < 0.1
    assert observer.place("egg_1") == "bowl_1"
    state = symbolic_state(observer.graph, domain)
    assert {"egg_1", "bowl_1"} <= set(state.objects)


def test_the_content_of_a_container_is_kept_when_it_is_shut(domain: Domain) -> None:
    observer = Observer(domain, World({**cabinet_walls(math.pi / 2), "mug": mug(-0.1, -1.4, 0.965)}))
    observer.world.eye, observer.world.target = (1.1, -1.4, 1.45), (-0.1, -1.4, 1.1)
    observer.look(5)
    assert observer.place("mug_1") == "cabinet_1"
    observer.world.solids = {**cabinet_walls(), "mug": mug(-0.1, -1.4, 0.965)}
    observer.look(12)
    assert attribute_value(domain, observer.graph.nodes["cabinet_1"], "closed") is Truth.TRUE
    assert observer.graph.nodes["mug_1"].presence is Presence.PRESENT
    assert observer.place("mug_1") == "cabinet_1"


def test_what_lies_in_a_drawer_moves_with_it_and_stays_one_thing(domain: Domain) -> None:
    observer = Observer(domain, World(drawer(), eye=(1.4, 1.2, 1.5), target=(0.4, 1.2, 0.75)))

    def put_drawer(out: float, images: int) -> None:
        egg = Solid("Egg", box(0.1 + out, 1.2, 0.75, 0.05, 0.05, 0.05))
        observer.world.solids = {**drawer(out), "egg": egg}
        observer.look(images)

    put_drawer(0.0, 4)
    assert observer.of("Egg") == []
    for _ in range(2):
        for out in (0.1, 0.2, 0.3, 0.4):
            put_drawer(out, 1)
        put_drawer(0.4, 6)
        (egg,) = observer.of("Egg")
        assert observer.place(egg.instance_id) == "drawer_1"
        assert egg.box is not None
        assert egg.box.center[0] == pytest.approx(0.5, abs=0.03)
        for out in (0.3, 0.2, 0.1):
            put_drawer(out, 1)
        put_drawer(0.0, 6)
        (egg,) = observer.of("Egg")
        assert egg.presence is Presence.PRESENT
        assert observer.place(egg.instance_id) == "drawer_1"
        assert egg.box is not None
        assert egg.box.center[0] == pytest.approx(0.1, abs=0.06)
    assert len([n for n in observer.graph.nodes.values() if n.label == "Egg"]) == 1


def test_a_thing_that_rolled_on_its_surface_keeps_its_id_and_what_was_done_to_it(observer: Observer) -> None:
    observer.look(4)
    observer.act("heat", "mug_1", "microwave_1")
    observer.act("put", "mug_1", "counter_top_1")
    observer.world.solids["mug"] = mug(0.05, 0.35)
    observer.look(3)
    (node,) = observer.of("Mug")
    assert node.instance_id == "mug_1"
    assert node.box is not None
    assert np.linalg.norm(node.box.center - [0.05, 0.35, 0.945]) < 0.02
    assert node.attributes["hot"].value is Truth.TRUE


def test_visible_attributes_follow_the_image_but_not_one_noisy_one(observer: Observer) -> None:
    observer.world.eye = (0.9, 0.1, 1.3)
    observer.look(2)
    node = observer.graph.nodes["mug_1"]
    assert node.attributes["dirty"].value is Truth.FALSE
    observer.world.solids["mug"] = mug(0.0, 0.1, dirty=True)
    observer.look()
    assert node.attributes["dirty"].value is Truth.FALSE
    observer.world.solids["mug"] = mug(0.0, 0.1)
    observer.look()
    observer.world.solids["mug"] = mug(0.0, 0.1, dirty=True)
    observer.look(2)
    assert node.attributes["dirty"].value is Truth.TRUE
    assert "closed" not in node.attributes
    assert "hot" not in node.attributes


def test_going_back_in_time_keeps_the_belief_and_drops_what_is_recent(observer: Observer) -> None:
    observer.look(4)
    observer.world.time -= 100.0
    report = observer.look(2)
    assert [n.instance_id for n in observer.of("Mug")] == ["mug_1"]
    assert report.created == []
    assert observer.graph.stamp == pytest.approx(observer.world.time)


@pytest.mark.parametrize("told", [True, False])
def test_what_is_seen_after_the_clock_went_back_counts_as_newer(observer: Observer, told: bool) -> None:
    observer.world.eye, observer.world.time = (0.9, 0.1, 1.3), 500.0
    observer.world.solids["mug"] = mug(0.0, 0.1, dirty=True)
    observer.look(5)
    observer.act("pick_up", "mug_1", "counter_top_1")
    observer.act("put", "mug_1", "counter_top_1")
    assert attribute_value(observer.domain, observer.graph.nodes["mug_1"], "dirty") is Truth.TRUE
    observer.world.time = 5.0  # the simulator was restarted
    if told:
        observer.updater.time_jumped()
    observer.world.solids["mug"] = mug(0.0, 0.1)
    observer.look(5)
    node = observer.graph.nodes["mug_1"]
    assert attribute_value(observer.domain, node, "dirty") is Truth.FALSE
    stamps = [node.first_seen, node.last_seen, *(item.stamp for item in node.attributes.values())]
    stamps += [relation.stamp for relation in observer.graph.relations]
    assert max(stamps) <= observer.graph.stamp


def test_positions_survive_noise_of_the_depth_camera(domain: Domain) -> None:
    observer = Observer(domain, World({**counter(), "mug": mug(0.0, 0.1)}, noise=0.004))
    observer.look(6)
    (node,) = observer.of("Mug")
    assert node.box is not None
    assert np.linalg.norm(node.box.center - [0.0, 0.1, 0.945]) < 0.03


def test_the_revision_grows_with_the_content_only(observer: Observer) -> None:
    observer.look(6)
    before = observer.graph.revision
    observer.look(3)
    assert observer.graph.revision == before
    del observer.world.solids["mug"]
    observer.look(6)
    assert observer.graph.revision > before


@pytest.mark.parametrize(("first", "second"), [(3, 1), (1, 3), (5, 5)])
def test_merging_two_nodes_averages_by_their_observations(first: int, second: int) -> None:
    graph = SceneGraph()
    for name, x, count in (("mug_1", 0.0, first), ("mug_2", 1.0, second)):
        graph.nodes[name] = SceneNode(name, "Mug", box(x, 0, 0, 0.1, 0.1, 0.1), observations=count)
    fuse(graph, graph.nodes["mug_1"], graph.nodes["mug_2"])
    merged = graph.nodes["mug_1"]
    assert list(graph.nodes) == ["mug_1"]
    assert merged.observations == first + second
    assert merged.box is not None
    assert merged.box.center[0] == pytest.approx(second / (first + second))


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("Mug", "mug_1"),
        ("CounterTop", "counter_top_1"),
        ("Mug (Red)", "mug_red_1"),
        ("café-1", "café_1_1"),
        ("!", "thing_1"),
    ],
)
def test_ids_are_made_of_any_label(domain: Domain, label: str, expected: str) -> None:
    updater = SceneUpdater(domain)
    assert updater._new_id(SceneGraph(), label) == expected
