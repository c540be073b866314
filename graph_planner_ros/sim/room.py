"""How the kitchen is simulated, and the empty room: floor, walls, light and the overview camera."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco

from graph_planner_ros.sim import parts
from graph_planner_ros.sim.layouts import ROOM_SIZE

WALL_HEIGHT = 2.4


@dataclass(frozen=True)
class KitchenOptions:
    """How to simulate.

    Attributes:
        timestep: physics step [s].
        robot: put the robot into the kitchen.
        width, height: image size [pixel].
        shadows: cast shadows (for pictures; slow).
        sleep: things at rest are not simulated until something touches or moves them; several times faster.
    """

    timestep: float = 0.004
    robot: bool = True
    width: int = 640
    height: int = 480
    shadows: bool = False
    sleep: bool = True


def set_options(spec: mujoco.MjSpec, options: KitchenOptions) -> None:
    """Physics, camera and light settings."""
    spec.compiler.degree = False
    spec.option.timestep = options.timestep
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 5
    if options.sleep:
        spec.option.enableflags |= int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    spec.option.iterations = 30
    spec.option.ls_iterations = 20
    spec.stat.extent = ROOM_SIZE
    spec.stat.center = (0, 0, 1)
    # znear and zfar are shares of the extent: 5 cm to 15 m
    spec.visual.map.znear, spec.visual.map.zfar = 0.01, 3.0
    spec.visual.quality.shadowsize = 2048 if options.shadows else 0
    spec.visual.quality.offsamples = 4 if options.shadows else 0
    spec.visual.headlight.ambient = (0.42, 0.42, 0.42)
    spec.visual.headlight.diffuse = (0.30, 0.30, 0.30)
    spec.visual.headlight.specular = (0.05, 0.05, 0.05)
    getattr(spec.visual, "global").offwidth = max(1280, options.width)
    getattr(spec.visual, "global").offheight = max(960, options.height)


def add_room(spec: mujoco.MjSpec) -> None:
    """Floor, walls, a window, the light and the overview camera."""
    world, half, thick = spec.worldbody, ROOM_SIZE / 2, 0.1
    floor = world.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=(half + thick, half + thick, 0.1))
    floor.material, floor.group, floor.friction = "oak", parts.GROUP_ROOM, (0.8, 0.01, 0.001)
    middle, height = half + thick / 2, WALL_HEIGHT
    for name, center, size, group in (
        ("wall_north", (0, middle, height / 2), (ROOM_SIZE + 2 * thick, thick, height), parts.GROUP_ROOM),
        ("wall_west", (-middle, 0, height / 2), (thick, ROOM_SIZE, height), parts.GROUP_ROOM),
        ("wall_east", (middle, 0, height / 2), (thick, ROOM_SIZE, height), parts.GROUP_NEAR_WALL),
        ("wall_south", (0, -middle, height / 2), (ROOM_SIZE + 2 * thick, thick, height), parts.GROUP_NEAR_WALL),
    ):
        parts.add_box(world, name, center, size, "plaster", group=group)
    ceiling = ((0, 0, height + thick / 2), (ROOM_SIZE, ROOM_SIZE, thick))
    parts.add_box(world, "ceiling", *ceiling, "white", collide=False, group=parts.GROUP_NEAR_WALL)
    window = (0.0, half - 0.005, 1.75)
    parts.add_box(world, "window", window, (1.1, 0.02, 0.7), "sky", collide=False, group=parts.GROUP_ROOM)
    parts.add_box(world, "window_bar", window, (0.04, 0.04, 0.7), "white", collide=False, group=parts.GROUP_ROOM)
    for name, z in (("window_low", 1.38), ("window_high", 2.12)):
        parts.add_box(
            world, name, (0, half - 0.01, z), (1.2, 0.05, 0.04), "white", collide=False, group=parts.GROUP_ROOM
        )
    light = world.add_light(name="daylight", pos=(0.5, -0.8, 3.6), dir=(-0.15, 0.25, -1), castshadow=True)
    light.type = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
    light.diffuse, light.specular = (0.55, 0.53, 0.50), (0.1, 0.1, 0.1)
    world.add_camera(name="overview", pos=(3.6, -4.4, 4.3), xyaxes=(0.774, 0.633, 0, -0.36, 0.44, 0.82), fovy=42)
