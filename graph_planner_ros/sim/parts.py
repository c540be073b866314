"""Small helpers to build MuJoCo models: coloured materials, boxes, cylinders, turned (lathe) meshes.

Geom groups: 0 room, 1 visible things, 2 walls that the overview camera looks through, 3 collision shapes that no camera
sees, 5 hidden for now (looks that are switched on later).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import mujoco
import numpy as np

GROUP_ROOM = 0
GROUP_VISIBLE = 1
GROUP_NEAR_WALL = 2
GROUP_COLLISION = 3
GROUP_HIDDEN = 5

ITEM_FRICTION = (1.0, 0.02, 0.004)

_COLOURS: dict[str, tuple[float, float, float, float]] = {
    "white": (0.93, 0.93, 0.91, 1),
    "steel": (0.62, 0.65, 0.68, 1),
    "dark_steel": (0.22, 0.23, 0.25, 1),
    "black": (0.08, 0.08, 0.09, 1),
    "cream": (0.93, 0.89, 0.80, 1),
    "sage": (0.55, 0.65, 0.56, 1),
    "navy": (0.22, 0.33, 0.47, 1),
    "brass": (0.78, 0.62, 0.30, 1),
    "interior": (0.97, 0.97, 0.98, 1),
    "water": (0.45, 0.70, 0.95, 0.75),
    "ember": (1.0, 0.25, 0.08, 1),
    "glow": (1.0, 0.90, 0.45, 1),
    "dirt": (0.30, 0.19, 0.08, 1),
    "shade": (0.86, 0.55, 0.35, 1),
    "plaster": (0.83, 0.80, 0.74, 1),
    "sky": (0.70, 0.86, 0.98, 1),
    "leaf": (0.26, 0.52, 0.25, 1),
}
_GLOWING = {"ember": 0.9, "glow": 1.0, "sky": 0.5, "interior": 0.12}


def add_materials(spec: mujoco.MjSpec) -> None:
    """Add the plain and textured materials that fixtures and items use."""
    spec.add_texture(
        name="sky_box",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=(0.90, 0.94, 0.98),
        rgb2=(0.72, 0.78, 0.85),
        width=64,
        height=384,
    )
    _add_texture(spec, "oak", _planks(256, (0.72, 0.53, 0.34), 4, 0.10))
    _add_texture(spec, "birch", _planks(128, (0.86, 0.77, 0.62), 2, 0.08))
    _add_texture(spec, "walnut", _planks(128, (0.47, 0.31, 0.20), 1, 0.14))
    for name, repeat in (("oak", 2.0), ("birch", 1.5), ("walnut", 1.0)):
        # a texture "repeat" with texuniform is per metre, so that boards are equally wide on every box
        material = spec.add_material(
            name=name, texrepeat=(repeat, repeat), texuniform=True, specular=0.2, shininess=0.3
        )
        textures = list(material.textures)
        textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = name
        material.textures = textures
    for name, rgba in _COLOURS.items():
        spec.add_material(name=name, rgba=rgba, emission=_GLOWING.get(name, 0.0), specular=0.25, shininess=0.3)


def _add_texture(spec: mujoco.MjSpec, name: str, image: np.ndarray) -> None:
    height, width, _ = image.shape
    texture = spec.add_texture(name=name, type=mujoco.mjtTexture.mjTEXTURE_2D, width=width, height=height, nchannel=3)
    texture.data = np.clip(image * 255, 0, 255).astype(np.uint8).tobytes()


def _planks(size: int, colour: Sequence[float], boards: int, contrast: float) -> np.ndarray:
    rng = np.random.default_rng(7)
    rows = np.arange(size)
    grain = np.cumsum(rng.normal(0, 1, (size, 1)), axis=0)
    grain = (grain - grain.mean()) / (np.ptp(grain) + 1e-9)
    wave = 0.25 * np.sin(np.linspace(0, 2 * math.pi, size))[None, :]
    shade = 1 + contrast * (grain + 0.3 * np.sin(6 * math.pi * (rows[:, None] / size + 0.2 * wave)))
    image = shade[:, :, None] * np.asarray(colour)[None, None, :]
    for board in range(boards):
        band = slice(board * size // boards, (board + 1) * size // boards)
        image[band] *= 1 + contrast * rng.uniform(-0.8, 0.8)
        image[band.start : band.start + max(1, size // 128)] *= 0.7
        if boards > 1:
            seam = int(rng.integers(0, size))
            image[band, seam : seam + 2] *= 0.75
    return image


def add_box(
    body: mujoco.MjsBody,
    name: str,
    center: Sequence[float],
    size: Sequence[float],
    material: str = "",
    *,
    collide: bool = True,
    group: int = GROUP_VISIBLE,
    mass: float | None = None,
    yaw: float = 0.0,
    rgba: Sequence[float] | None = None,
    friction: Sequence[float] | None = None,
) -> mujoco.MjsGeom:
    """Add a box; ``size`` is full side lengths [m], ``center`` [m] in the body's frame."""
    geom = body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=center,
        size=[s / 2 for s in size],
        quat=(math.cos(yaw / 2), 0, 0, math.sin(yaw / 2)),
    )
    return finish_geom(geom, material, collide, group, mass, rgba, friction)


def add_cylinder(
    body: mujoco.MjsBody,
    name: str,
    center: Sequence[float],
    radius: float,
    height: float,
    material: str = "",
    *,
    axis: str = "z",
    collide: bool = True,
    group: int = GROUP_VISIBLE,
    mass: float | None = None,
    rgba: Sequence[float] | None = None,
    friction: Sequence[float] | None = None,
) -> mujoco.MjsGeom:
    """Add a cylinder of full height [m] along the body's ``axis``."""
    half = math.sqrt(0.5)
    quat = {"x": (half, 0, half, 0), "y": (half, half, 0, 0), "z": (1, 0, 0, 0)}[axis]
    geom = body.add_geom(
        name=name, type=mujoco.mjtGeom.mjGEOM_CYLINDER, pos=center, size=[radius, height / 2, 0], quat=quat
    )
    return finish_geom(geom, material, collide, group, mass, rgba, friction)


def add_ellipsoid(
    body: mujoco.MjsBody,
    name: str,
    center: Sequence[float],
    size: Sequence[float],
    material: str = "",
    *,
    group: int = GROUP_VISIBLE,
    rgba: Sequence[float] | None = None,
) -> mujoco.MjsGeom:
    """Add an ellipsoid that is only seen; ``size`` is its full extent [m]."""
    geom = body.add_geom(name=name, type=mujoco.mjtGeom.mjGEOM_ELLIPSOID, pos=center, size=[s / 2 for s in size])
    return finish_geom(geom, material, False, group, 0.0, rgba, None)


def finish_geom(
    geom: mujoco.MjsGeom,
    material: str,
    collide: bool,
    group: int,
    mass: float | None,
    rgba: Sequence[float] | None,
    friction: Sequence[float] | None,
) -> mujoco.MjsGeom:
    """Set colour, group, mass and contact properties of a geom that was just added."""
    geom.group = group
    if material:
        geom.material = material
    if rgba is not None:
        geom.rgba = rgba
    if not collide:
        geom.contype = geom.conaffinity = 0
    if mass is not None:
        geom.mass = mass
    elif not collide:
        geom.mass = 0.0
    if friction is not None:
        geom.friction = friction
        geom.condim = 4
    return geom


def add_lathe(
    spec: mujoco.MjSpec,
    name: str,
    profile: Sequence[tuple[float, float]],
    *,
    width_ratio: float = 1.0,
    segments: int = 20,
) -> None:
    """Add a mesh turned around z from a profile of (radius, height) [m]; ``width_ratio`` scales its y axis."""
    angles = np.linspace(0, 2 * math.pi, segments, endpoint=False)
    points = [(r * math.cos(a), r * math.sin(a) * width_ratio, z) for r, z in profile for a in angles]
    faces = []
    for ring in range(len(profile) - 1):
        for k in range(segments):
            a, b = ring * segments + k, ring * segments + (k + 1) % segments
            c, d = a + segments, b + segments
            faces += [(a, b, d), (a, d, c)]
    mesh = spec.add_mesh(name=name)
    mesh.uservert = np.asarray(points, dtype=np.float64).ravel()
    mesh.userface = np.asarray(faces, dtype=np.int32).ravel()
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL


def add_lathe_geom(
    body: mujoco.MjsBody, name: str, mesh: str, *, rgba: Sequence[float], group: int = GROUP_VISIBLE
) -> mujoco.MjsGeom:
    """Show a turned mesh on a body, for looks only."""
    geom = body.add_geom(name=name, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh)
    return finish_geom(geom, "", False, group, 0.0, rgba, None)
