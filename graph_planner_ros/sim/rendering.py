"""Images of the kitchen: colour and depth in one pass, instances in another, on EGL or OSMesa without a display."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.perception.frame import SegmentLabel
from graph_planner_ros.sim import parts

if TYPE_CHECKING:
    from graph_planner_ros.sim.world import KitchenWorld

OVERVIEW = "overview"
"""Camera that looks into the room from above its south-east corner, through the walls there."""
_BACKENDS = ("egl", "osmesa")


def make_gl_context(width: int, height: int) -> Any:
    """A headless OpenGL context of the first backend that works; MUJOCO_GL may name the one to use.

    RuntimeError says what to install if none works.
    """
    wanted = os.environ.get("MUJOCO_GL", "").strip().lower()
    if wanted not in ("", *_BACKENDS):
        raise RuntimeError(f"MUJOCO_GL={wanted!r} is not a headless backend; expected egl or osmesa, or leave it unset")
    problems = []
    for backend in (wanted,) if wanted else _BACKENDS:
        platform = os.environ.get("PYOPENGL_PLATFORM")
        try:
            context = importlib.import_module(f"mujoco.{backend}").GLContext(width, height)
            context.make_current()
        except Exception as error:  # the bindings raise many kinds, down to AttributeError of a missing library
            problems.append(f"{backend}: {error}")
            if platform is None:
                os.environ.pop("PYOPENGL_PLATFORM", None)
            continue
        return context
    raise RuntimeError(f"no headless OpenGL; install libegl1 or libosmesa6 ({'; '.join(problems)})")


class Renderer:
    """Renders the world's cameras; use it from one thread only.

    The values of the instance image are a random permutation, the same during one run: they are no identities.
    """

    def __init__(self, world: KitchenWorld) -> None:
        self._world = world
        self.width, self.height = world.options.width, world.options.height
        self._gl = make_gl_context(self.width, self.height)
        self._scene = mujoco.MjvScene(world.model, maxgeom=max(1000, 2 * world.model.ngeom))
        self._context = mujoco.MjrContext(world.model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        self._context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        self._option = mujoco.MjvOption()
        self._rect = mujoco.MjrRect(0, 0, self.width, self.height)
        self._cached_key: tuple[str, int, int] | None = None
        self._cached: tuple[NDArray[np.uint8], NDArray[np.float32]]
        self._number_instances()

    def _number_instances(self) -> None:
        world = self._world
        owners = sorted(set(world.owner_of_geom.values()))
        random = np.random.default_rng([world.seed, 97])
        values = random.permutation(len(owners)) + 1
        self._owners = {int(value): owner for value, owner in zip(values, owners, strict=True)}
        value_of = {owner: value for value, owner in self._owners.items()}
        # index geom id + 1, so that -1 (no geom) maps to 0
        self._value_of_geom = np.zeros(world.model.ngeom + 1, dtype=np.int32)
        for geom, owner in world.owner_of_geom.items():
            self._value_of_geom[geom + 1] = value_of[owner]

    def _resolve(self, camera: str) -> mujoco.MjvCamera:
        model, found = self._world.model, mujoco.MjvCamera()
        found.type = mujoco.mjtCamera.mjCAMERA_FIXED
        found.fixedcamid = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, camera)
        if found.fixedcamid < 0:
            names = ", ".join(model.camera(i).name for i in range(model.ncam))
            raise ValueError(f"no camera {camera!r}; there are {names}")
        return found

    def _update(self, camera: str | mujoco.MjvCamera) -> None:
        model = self._world.model
        seen_by = self._resolve(camera) if isinstance(camera, str) else camera
        self._option.geomgroup[parts.GROUP_NEAR_WALL] = isinstance(camera, str) and camera != OVERVIEW
        for group in (parts.GROUP_COLLISION, 4, parts.GROUP_HIDDEN):
            self._option.geomgroup[group] = 0
            self._option.sitegroup[group] = 0
        self._gl.make_current()
        mujoco.mjv_updateScene(
            model, self._world.data, self._option, None, seen_by, mujoco.mjtCatBit.mjCAT_ALL.value, self._scene
        )
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = self._world.options.shadows
        self._scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = 0

    def rgb_and_depth(self, camera: str = "head_camera") -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """Colour (H, W, 3) uint8 and depth along the optical axis (H, W) float32 [m], NaN where nothing is hit."""
        model, data = self._world.model, self._world.data
        # Depth and colour come from one pass: who asks for one after the other at the same moment pays once.
        key = (camera, hash(data.qpos.tobytes()), hash(model.geom_group.tobytes()))
        if key != self._cached_key:
            self._cached = self._colour_pass(camera)
            self._cached_key = key
        return self._cached

    def picture(
        self, target: tuple[float, float, float], distance: float, azimuth: float, elevation: float
    ) -> NDArray[np.uint8]:
        """Colour image of a free camera that looks at ``target`` [m]; angles in degrees, elevation negative from above.

        Like the overview camera it looks through the south and the east wall.
        """
        camera = mujoco.MjvCamera()
        camera.lookat[:] = target
        camera.distance, camera.azimuth, camera.elevation = distance, azimuth, elevation
        return self._colour_pass(camera)[0]

    def _colour_pass(self, camera: str | mujoco.MjvCamera) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        self._update(camera)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = 0
        self._scene.flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = 0
        mujoco.mjr_render(self._rect, self._scene, self._context)
        rgb = np.empty((self.height, self.width, 3), np.uint8)
        raw = np.empty((self.height, self.width), np.float32)
        mujoco.mjr_readPixels(rgb, raw, self._rect, self._context)
        return np.ascontiguousarray(rgb[::-1]), np.ascontiguousarray(self._metres(raw[::-1]))

    def _metres(self, raw: NDArray[np.float32]) -> NDArray[np.float32]:
        """Depth from the reversed depth buffer, which is 1 at the near and 0 at the far plane."""
        model = self._world.model
        near, far = model.vis.map.znear * model.stat.extent, model.vis.map.zfar * model.stat.extent
        depth = np.float32(near * far) / (np.float32(near) + raw * np.float32(far - near))
        depth[raw <= 1e-7] = np.nan
        return depth

    def instances(self, camera: str = "head_camera") -> tuple[NDArray[np.int32], dict[int, SegmentLabel]]:
        """Instance values (H, W) int32 and what the values that occur stand for; 0 is the robot and the room."""
        self._update(camera)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = 1
        self._scene.flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = 1
        mujoco.mjr_render(self._rect, self._scene, self._context)
        pixels = np.empty((self.height, self.width, 3), np.uint8)
        mujoco.mjr_readPixels(pixels, None, self._rect, self._context)
        codes = pixels[::-1].astype(np.int32) @ np.array([1, 256, 65536], dtype=np.int32)
        values = self._value_of_code()[np.minimum(codes, self._scene.ngeom)]
        present = np.flatnonzero(np.bincount(values.ravel(), minlength=1))
        return values, {int(v): self._view(int(v)) for v in present if v}

    def _value_of_code(self) -> NDArray[np.int32]:
        """Pixel code (scene geom's segment id + 1) -> instance value."""
        table = np.zeros(self._scene.ngeom + 1, dtype=np.int32)
        for geom in self._scene.geoms[: self._scene.ngeom]:
            if geom.segid >= 0 and geom.objtype == mujoco.mjtObj.mjOBJ_GEOM:
                table[min(geom.segid + 1, self._scene.ngeom)] = self._value_of_geom[geom.objid + 1]
        return table

    def _view(self, value: int) -> SegmentLabel:
        name, part = self._owners[value]
        world = self._world
        if name in world.fixtures:
            on = name in world.switched_on and not part
            return SegmentLabel(world.fixtures[name].label, part, ("switched_on",) if on else ())
        properties = world.properties[name]
        attributes = tuple(field for field in ("sliced", "dirty") if getattr(properties, field))
        return SegmentLabel(world.items[name].label, part, attributes)

    def close(self) -> None:
        """Free the OpenGL resources."""
        self._context.free()
        self._gl.free()
