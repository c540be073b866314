"""Images of the kitchen: depth and instances in one pass, colour in another, on EGL or OSMesa without a display."""

from __future__ import annotations

import importlib
import os
import sys
import weakref
from collections.abc import Callable
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
DEPTH_RANGE = 7.2
"""The depth camera measures up to here [m]: just across the room."""
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
            _forget_opengl(platform)
            continue
        os.environ["MUJOCO_GL"] = backend  # MuJoCo's own loader of OpenGL functions asks for it
        return context
    raise RuntimeError(f"no headless OpenGL; install libegl1 or libosmesa6 ({'; '.join(problems)})")


def _forget_opengl(platform: str | None) -> None:
    """Undo the import of a backend that failed: PyOpenGL binds itself to one platform when it is first imported."""
    for name in list(sys.modules):
        if name.split(".")[0] == "OpenGL" or name.startswith(("mujoco.egl", "mujoco.osmesa")):
            del sys.modules[name]
    if platform is None:
        os.environ.pop("PYOPENGL_PLATFORM", None)
    else:
        os.environ["PYOPENGL_PLATFORM"] = platform


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
        # Freed at the latest when Python ends, while OpenGL is still there.
        self._free = weakref.finalize(self, _free, self._context, self._gl)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        self._option = mujoco.MjvOption()
        self._rect = mujoco.MjrRect(0, 0, self.width, self.height)
        self._cache: dict[str, tuple[object, Any]] = {}
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

    def _update(self, camera: str | mujoco.MjvCamera, segment: bool) -> None:
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
        for flag in (mujoco.mjtRndFlag.mjRND_SEGMENT, mujoco.mjtRndFlag.mjRND_IDCOLOR):
            self._scene.flags[flag] = segment

    def rgb(self, camera: str) -> NDArray[np.uint8]:
        """Colour image (H, W, 3) uint8."""
        return self._once("rgb", camera, self._colour_pass)

    def depth(self, camera: str) -> NDArray[np.float32]:
        """Depth along the optical axis (H, W) float32 [m], NaN where nothing is hit."""
        return self._once("segments", camera, self._segment_pass)[1]

    def instances(self, camera: str) -> tuple[NDArray[np.int32], dict[int, SegmentLabel]]:
        """Instance values (H, W) int32 and what the values that occur stand for; 0 is the robot and the room."""
        values = self._once("segments", camera, self._segment_pass)[0]
        present = np.flatnonzero(np.bincount(values.ravel(), minlength=1))
        return values, {int(v): self._view(int(v)) for v in present if v}

    def _once(self, kind: str, camera: str, render: Callable[[str], Any]) -> Any:
        """Render only if anything has moved: who asks twice at the same moment pays once."""
        model, data = self._world.model, self._world.data
        moving = (data.qpos, data.cam_xpos, data.cam_xmat, model.geom_group)
        key = (camera, *(hash(values.tobytes()) for values in moving))
        if kind not in self._cache or self._cache[kind][0] != key:
            self._cache[kind] = (key, render(camera))
        return self._cache[kind][1]

    def picture(
        self, target: tuple[float, float, float], distance: float, azimuth: float, elevation: float
    ) -> NDArray[np.uint8]:
        """Colour image of a free camera that looks at ``target`` [m]; angles in degrees, elevation negative from above.

        Like the overview camera it looks through the south and the east wall.
        """
        camera = mujoco.MjvCamera()
        camera.lookat[:] = target
        camera.distance, camera.azimuth, camera.elevation = distance, azimuth, elevation
        return self._colour_pass(camera)

    def _colour_pass(self, camera: str | mujoco.MjvCamera) -> NDArray[np.uint8]:
        self._update(camera, segment=False)
        mujoco.mjr_render(self._rect, self._scene, self._context)
        rgb = np.empty((self.height, self.width, 3), np.uint8)
        mujoco.mjr_readPixels(rgb, None, self._rect, self._context)
        return np.ascontiguousarray(rgb[::-1])

    def _segment_pass(self, camera: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Instance values and depth, which come from one pass."""
        self._update(camera, segment=True)
        mujoco.mjr_render(self._rect, self._scene, self._context)
        pixels = np.empty((self.height, self.width, 3), np.uint8)
        raw = np.empty((self.height, self.width), np.float32)
        mujoco.mjr_readPixels(pixels, raw, self._rect, self._context)
        codes = pixels[::-1].astype(np.int32) @ np.array([1, 256, 65536], dtype=np.int32)
        values = self._value_of_code()[np.minimum(codes, self._scene.ngeom)]
        return values, np.ascontiguousarray(self._metres(raw[::-1]))

    def _metres(self, raw: NDArray[np.float32]) -> NDArray[np.float32]:
        """Depth from the reversed depth buffer, which is 1 at the near and 0 at the far plane."""
        model = self._world.model
        near, far = model.vis.map.znear * model.stat.extent, model.vis.map.zfar * model.stat.extent
        depth = np.float32(near * far) / (np.float32(near) + raw * np.float32(far - near))
        depth[depth > DEPTH_RANGE] = np.nan  # the sky is drawn as a far cube and would have a depth
        return depth

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
        self._free()


def _free(context: mujoco.MjrContext, gl: Any) -> None:
    gl.make_current()
    context.free()
    gl.free()
