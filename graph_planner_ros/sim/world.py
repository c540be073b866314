"""The simulated kitchen: model, physics step, what is where, and access to everything that moves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import mujoco
import numpy as np

from graph_planner_ros.perception.frame import SegmentLabel
from graph_planner_ros.scene.graph import Box, SceneGraph, SceneNode
from graph_planner_ros.sim import parts
from graph_planner_ros.sim.disturbances import DisturbanceSchedule, Disturber
from graph_planner_ros.sim.fixtures import build_fixture
from graph_planner_ros.sim.infos import FixtureInfo, ItemInfo, ItemProperties
from graph_planner_ros.sim.items import build_item
from graph_planner_ros.sim.layouts import Layout, Placement, get_layout, snake_case
from graph_planner_ros.sim.placement import Spot, choose_spots
from graph_planner_ros.sim.properties import Appliances
from graph_planner_ros.sim.rendering import Renderer
from graph_planner_ros.sim.robot_model import add_robot
from graph_planner_ros.sim.room import KitchenOptions, add_room, set_options
from graph_planner_ros.sim.truth import contains, truth_graph, truth_state
from graph_planner_ros.sim.waking import stay_awake

if TYPE_CHECKING:
    from graph_planner_ros.domain.domain import Domain
    from graph_planner_ros.domain.symbols import SymbolicState


class RobotBody(Protocol):
    """What the world needs of the robot; `graph_planner_ros.sim.robot.MujocoRobot` is one."""

    slip_next: bool

    @property
    def held_body(self) -> str | None:
        """Name of the body in the gripper."""

    @property
    def pose(self) -> tuple[float, float, float]:
        """Base x [m], y [m], yaw [rad] in the map."""

    def release(self) -> None:
        """Let go of what is held, at once."""


class KitchenWorld:
    """A kitchen with fixtures, items and (by default) the robot, the same for the same layout and seed.

    Args:
        layout: name of a layout, see `describe_layouts`.
        seed: decides where the items are, which are dirty, the robot's heading and every random choice later on.
        robot: shorthand for ``KitchenOptions(robot=...)``.

    Attributes:
        model, data: MuJoCo's; change positions through the methods below.
        fixtures: instance id -> `FixtureInfo`; this is what the robot's own map knows.
        items: true id -> `ItemInfo`; only for evaluation.
        properties: true id -> `ItemProperties`.
        switched_on: ids of fixtures that are on.
        obstacles: boxes that the robot's base cannot pass.
        robot: the robot, which sets this itself (`graph_planner_ros.sim.robot`); None before that.
    """

    def __init__(
        self,
        layout: str = "l_shape",
        seed: int = 0,
        options: KitchenOptions | None = None,
        *,
        robot: bool | None = None,
    ) -> None:
        self.layout: Layout = get_layout(layout)
        self.seed = seed
        self.options = options or KitchenOptions()
        self.random = np.random.default_rng([seed, *layout.encode()])
        self.fixtures: dict[str, FixtureInfo] = {}
        self.items: dict[str, ItemInfo] = {}
        self.properties: dict[str, ItemProperties] = {}
        self.switched_on: set[str] = set()
        self.robot: RobotBody | None = None
        self._switched_geoms: dict[str, tuple[str, ...]] = {}
        with_robot = self.options.robot if robot is None else robot
        self.start_pose = (*self.layout.start, float(self.random.uniform(-math.pi, math.pi)))
        spots = self._build(with_robot)
        self._index()
        self._place_items(spots)
        self.appliances = Appliances(self)
        self.disturber = Disturber(self)
        self.disturbances = DisturbanceSchedule(())
        self._renderer: Renderer | None = None
        self.step(round(0.5 / self.model.opt.timestep))
        # The clock goes on from there: nothing that the world ever publishes has a zero stamp.
        self.appliances.reset()

    # --- building ---------------------------------------------------------------------------------------------
    def _build(self, with_robot: bool) -> dict[str, Spot]:
        spec = mujoco.MjSpec()
        spec.modelname = f"kitchen_{self.layout.name}"
        set_options(spec, self.options)
        parts.add_materials(spec)
        add_room(spec)
        for placement in self.layout.placements:
            built = build_fixture(spec, placement)
            self.fixtures[placement.instance_id] = built.info
            self._switched_geoms[placement.instance_id] = built.switched_geoms
        counts: dict[str, int] = {}
        for item in self.layout.items:
            counts[item.label] = counts.get(item.label, 0) + 1
            name = f"{snake_case(item.label)}_{counts[item.label]}"
            self.items[name] = build_item(spec, name, item.label, counts[item.label] - 1)
            self.properties[name] = ItemProperties(dirty=bool(self.random.random() < item.dirty))
        if with_robot:
            add_robot(spec, self.start_pose)
        self.spec = spec
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        wanted = {name: spec.places for name, spec in zip(self.items, self.layout.items, strict=True)}
        return choose_spots(self.fixtures, self.items, wanted, self.random)

    def _index(self) -> None:
        model = self.model
        self._joint_adr = {
            model.joint(i).name: (int(model.jnt_qposadr[i]), int(model.jnt_dofadr[i])) for i in range(model.njnt)
        }
        bodies = {model.body(i).name: i for i in range(model.nbody)}
        self.body_of_item = {name: bodies[name] for name in self.items}
        self.item_of_body = {body: name for name, body in self.body_of_item.items()}
        owners: dict[str, tuple[str, str]] = {name: (name, "") for name in (*self.fixtures, *self.items)}
        owners.update({f"{name}/door": (name, "door") for name, info in self.fixtures.items() if info.door})
        self.owner_of_geom: dict[int, tuple[str, str]] = {}
        for geom in range(model.ngeom):
            owner = owners.get(model.body(int(model.geom_bodyid[geom])).name)
            if owner:
                self.owner_of_geom[geom] = owner
        self.obstacles = [_footprint(placement) for placement in self.layout.placements]
        self._door_range = {
            name: tuple(model.joint(info.door.joint).range) for name, info in self.fixtures.items() if info.door
        }
        self._geom_ids = {model.geom(i).name: i for i in range(model.ngeom) if model.geom(i).name}
        self.refresh_looks()

    def _place_items(self, spots: dict[str, Spot]) -> None:
        for name, spot in spots.items():
            self.set_item_pose(name, spot.position, spot.yaw)
        mujoco.mj_forward(self.model, self.data)

    # --- time -------------------------------------------------------------------------------------------------
    @property
    def time(self) -> float:
        """Simulated time [s]; a fresh world has already settled for half a second."""
        return float(self.data.time)

    def step(self, n: int = 1) -> None:
        """Advance the physics by ``n`` steps and let the appliances work."""
        for _ in range(n):
            mujoco.mj_step(self.model, self.data)
        self.appliances.update()

    # --- items ------------------------------------------------------------------------------------------------
    def item_pose(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Position [m] of an item's middle in the map and its 3x3 rotation."""
        body = self.body_of_item[self._known(name, self.items, "item")]
        return self.data.xpos[body].copy(), self.data.xmat[body].reshape(3, 3).copy()

    def item_yaw(self, name: str) -> float:
        """Heading [rad] of an item's long axis."""
        rotation = self.item_pose(name)[1]
        return math.atan2(rotation[1, 0], rotation[0, 0])

    def item_box(self, name: str) -> Box:
        """Upright box of an item, from its true pose and size."""
        position, rotation = self.item_pose(name)
        yaw = math.atan2(rotation[1, 0], rotation[0, 0])
        c, s = math.cos(yaw), math.sin(yaw)
        upright = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) @ rotation
        return Box(position, np.abs(upright) @ np.asarray(self.items[name].size), yaw)

    def set_item_pose(self, name: str, position: np.ndarray, yaw: float) -> None:
        """Put an item somewhere, upright and at rest; ``position`` is where its middle goes [m]."""
        qpos, qvel = self._joint_adr[self.items[self._known(name, self.items, "item")].joint]
        self.data.qpos[qpos : qpos + 3] = position
        self.data.qpos[qpos + 3 : qpos + 7] = (math.cos(yaw / 2), 0, 0, math.sin(yaw / 2))
        self.data.qvel[qvel : qvel + 6] = 0.0
        mujoco.mj_kinematics(self.model, self.data)
        stay_awake(self.model, self.data, self.body_of_item[name])

    def inner_volume(self, name: str) -> Box | None:
        """The hollow of a movable receptacle in the map, None if the item is not hollow."""
        inner = self.items[self._known(name, self.items, "item")].containment
        if inner is None:
            return None
        position, rotation = self.item_pose(name)
        return Box(position + rotation @ inner.center, inner.extent.copy(), self.item_yaw(name))

    def slice_item(self, name: str) -> None:
        """Cut an item: from now on it looks and counts as sliced. ValueError if nobody can slice it."""
        if not self.items[self._known(name, self.items, "item")].looks.get("sliced"):
            raise ValueError(f"{name} is a {self.items[name].label}, which cannot be sliced")
        self.properties[name].sliced = True
        self.refresh_looks()

    @property
    def held(self) -> str | None:
        """True id of the item in the gripper."""
        body = self.robot.held_body if self.robot is not None else None
        return body if body in self.items else None

    # --- fixtures ---------------------------------------------------------------------------------------------
    def door_position(self, fixture: str) -> float:
        """Joint value of a fixture's door, 0 is closed; ValueError if it has none."""
        return float(self.data.qpos[self._door_adr(fixture)[0]])

    def set_door(self, fixture: str, position: float) -> None:
        """Put a door at a joint value at once, with what lies in a drawer (for tests and scene set-up)."""
        qpos, qvel = self._door_adr(fixture)
        door = self.fixtures[fixture].door
        moved = position - self.data.qpos[qpos]
        if door is not None and door.kind == "slide":
            heading = self.fixtures[fixture].front
            inside = self.fixtures[fixture].containment
            for name in self.items:
                place, _ = self.item_pose(name)
                if inside is not None and contains(inside, place):
                    self.set_item_pose(
                        name, place + moved * np.array([math.cos(heading), math.sin(heading), 0]), self.item_yaw(name)
                    )
        self.data.qpos[qpos] = position
        self.data.qvel[qvel] = 0.0
        mujoco.mj_forward(self.model, self.data)

    def is_closed(self, fixture: str) -> bool:
        """True if the fixture has a door and it is shut."""
        door = self.fixtures[self._known(fixture, self.fixtures, "fixture")].door
        return door is not None and self.door_position(fixture) < door.closed_below

    def shut_fixtures(self) -> set[str]:
        """Ids of the fixtures that are shut."""
        return {name for name in self.fixtures if self.is_closed(name)}

    def jam_door(self, fixture: str, jammed: bool) -> None:
        """Hold a door where it stands (a hard limit on its joint), or let it move again."""
        self._door_adr(fixture)
        door = self.fixtures[fixture].door
        assert door is not None
        joint = self.model.joint(door.joint).id
        here = self.door_position(fixture)
        self.model.jnt_range[joint] = (here - 1e-3, here + 1e-3) if jammed else self._door_range[fixture]

    def switch(self, fixture: str, on: bool) -> None:
        """Switch a fixture on or off; ValueError if it has no switch."""
        if self.fixtures[self._known(fixture, self.fixtures, "fixture")].button is None:
            raise ValueError(f"{fixture} is a {self.fixtures[fixture].label}, which has no switch")
        (self.switched_on.add if on else self.switched_on.discard)(fixture)
        self.refresh_looks()

    def surfaces(self, fixture: str) -> tuple[Box, ...]:
        """Volumes above the supporting planes of a fixture, where they are now (a drawer's move with it)."""
        info = self.fixtures[self._known(fixture, self.fixtures, "fixture")]
        if info.door is None or info.door.kind != "slide":
            return info.surfaces
        out = self.door_position(fixture) * np.array([math.cos(info.front), math.sin(info.front), 0.0])
        return tuple(Box(box.center + out, box.extent, box.yaw) for box in info.surfaces)

    def site(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Position [m] and 3x3 rotation of a handle or button site in the map."""
        site = self.data.site(name)
        return site.xpos.copy(), site.xmat.reshape(3, 3).copy()

    # --- looks ------------------------------------------------------------------------------------------------
    def refresh_looks(self) -> None:
        """Show what the properties say: whole or sliced, dirty, switched on."""

        def show(names: tuple[str, ...], visible: bool) -> None:
            for name in names:
                self.model.geom_group[self._geom_ids[name]] = parts.GROUP_VISIBLE if visible else parts.GROUP_HIDDEN

        for name, item in self.items.items():
            properties = self.properties[name]
            show(item.looks.get("whole", ()), not properties.sliced)
            show(item.looks.get("sliced", ()), properties.sliced)
            show(item.looks.get("dirty", ()), properties.dirty)
        for name, geoms in self._switched_geoms.items():
            show(geoms, name in self.switched_on)

    # --- pictures, truth, disturbances ------------------------------------------------------------------------
    @property
    def renderer(self) -> Renderer:
        """The renderer; made at first use, belongs to the thread that makes it."""
        if self._renderer is None:
            self._renderer = Renderer(self)
        return self._renderer

    def render_rgb(self, camera: str = "head_camera") -> np.ndarray:
        """Colour image, (H, W, 3) uint8."""
        return self.renderer.rgb(camera)

    def render_depth(self, camera: str = "head_camera") -> np.ndarray:
        """Depth along the optical axis, (H, W) float32 [m]; NaN where nothing is hit."""
        return self.renderer.depth(camera)

    def render_instances(self, camera: str = "head_camera") -> tuple[np.ndarray, dict[int, SegmentLabel]]:
        """Instance image (H, W) int32, 0 for the robot and the room, and what each of its values stands for."""
        return self.renderer.instances(camera)

    def disturb(self, kind: str, target: str = "") -> str:
        """Disturb the world now (see `Disturber`) and say what was done; ValueError says why it cannot be done."""
        return self.disturber.disturb(kind, target)

    def on_skill(self, skill: str, arguments: Sequence[SceneNode], phase: str) -> list[str]:
        """The bridge reports that a skill is in phase ``start``, ``middle`` or ``end``; returns what disturbed it.

        Reporting the end of ``open`` also counts as an attempt at a stuck door.
        """
        told = self.disturbances.on_skill(self.disturber, skill, arguments, phase)
        if skill == "open" and phase == "end":
            for node in arguments:
                self.disturber.opening_attempt(node.instance_id)
        return told

    def truth_graph(self, domain: Domain) -> SceneGraph:
        """The true scene with true ids, for evaluation only."""
        return truth_graph(self, domain)

    def truth_state(self, domain: Domain) -> SymbolicState:
        """The true symbolic state with true ids, for evaluation only."""
        return truth_state(self, domain)

    def close(self) -> None:
        """Free the renderer."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    # --- helpers ----------------------------------------------------------------------------------------------
    @staticmethod
    def _known(name: str, names: Mapping[str, object], kind: str) -> str:
        if name not in names:
            raise ValueError(f"no {kind} {name!r} in this kitchen; there are {', '.join(sorted(names))}")
        return name

    def _door_adr(self, fixture: str) -> tuple[int, int]:
        door = self.fixtures[self._known(fixture, self.fixtures, "fixture")].door
        if door is None:
            raise ValueError(f"{fixture} is a {self.fixtures[fixture].label}, which has no door")
        return self._joint_adr[door.joint]


def _footprint(placement: Placement) -> Box:
    unit = placement.unit
    return Box(np.array([placement.x, placement.y, 0.5]), np.array([unit.depth, unit.width, 1.0]), placement.yaw)
