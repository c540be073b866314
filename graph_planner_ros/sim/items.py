"""Builds the items of a kitchen: free bodies with simple collision shapes and nicer looks.

Every item is at most 8 cm wide across its own y axis, so that a 10 cm gripper can take it from the front or from
above, and has a flat bottom in collision, so that it stays where it is put. Sizes are full extents [m].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np

from graph_planner_ros.scene.graph import Box
from graph_planner_ros.sim import parts
from graph_planner_ros.sim.infos import ItemInfo

Colour = tuple[float, float, float, float]
_WALL = 0.005


@dataclass
class ItemBuilder:
    """Adds geoms to one free body whose origin is the middle of the thing."""

    spec: mujoco.MjSpec
    name: str
    label: str
    size: tuple[float, float, float]
    mass: float
    color: Colour

    def __post_init__(self) -> None:
        self.body = self.spec.worldbody.add_body(name=self.name)
        self.body.add_freejoint(name=self.name)
        self.looks: dict[str, list[str]] = {"whole": [], "sliced": [], "dirty": []}
        x, y, z = self.size
        self.body.explicitinertial = True
        self.body.mass = self.mass
        # The box's inertia; flat things get a little more so that contacts stay soft.
        self.body.inertia = [self.mass / 12 * max(a * a + b * b, 2e-3) for a, b in ((y, z), (x, z), (x, y))]

    def geom_name(self) -> str:
        """A fresh geom name."""
        return f"{self.name}/{sum(1 for _ in self.body.geoms)}"

    def solid_box(
        self,
        center: tuple[float, float, float],
        size: tuple[float, float, float],
        yaw: float = 0.0,
        group: int = parts.GROUP_COLLISION,
        rgba: Colour | None = None,
    ) -> None:
        """A box that collides."""
        parts.add_box(
            self.body,
            self.geom_name(),
            center,
            size,
            group=group,
            rgba=rgba,
            yaw=yaw,
            mass=0.0,
            friction=parts.ITEM_FRICTION,
        )

    def solid_cylinder(
        self,
        radius: float,
        height: float,
        center: tuple[float, float, float] = (0, 0, 0),
        group: int = parts.GROUP_COLLISION,
        rgba: Colour | None = None,
    ) -> None:
        """An upright cylinder that collides."""
        parts.add_cylinder(
            self.body,
            self.geom_name(),
            center,
            radius,
            height,
            group=group,
            rgba=rgba,
            mass=0.0,
            friction=parts.ITEM_FRICTION,
        )

    def solid_ellipsoid(self, size: tuple[float, float, float]) -> None:
        """An ellipsoid in the middle that collides."""
        geom = self.body.add_geom(
            name=self.geom_name(), type=mujoco.mjtGeom.mjGEOM_ELLIPSOID, size=[side / 2 for side in size]
        )
        parts.finish_geom(geom, "", True, parts.GROUP_COLLISION, 0.0, None, parts.ITEM_FRICTION)
        geom.condim = 6  # with rolling friction: once toppled it soon lies still

    def look(self, geom: mujoco.MjsGeom, kind: str) -> None:
        """Show this geom only in one of the looks ``whole``, ``sliced``, ``dirty``."""
        self.looks[kind].append(geom.name)
        if kind != "whole":
            geom.group = parts.GROUP_HIDDEN

    def slices(self, color: Colour, flesh: Colour, count: int = 4) -> None:
        """The look of a sliced thing: discs across x with gaps between them, in the same hull."""
        x, y, z = self.size
        pitch = x / count
        for k in range(count):
            at = -x / 2 + (k + 0.5) * pitch
            scale = math.sqrt(max(0.25, 1 - (2 * at / x) ** 2 * 0.8))
            for thick, shrink, shade in ((0.62, 1.0, color), (0.66, 0.86, flesh)):
                geom = parts.add_cylinder(
                    self.body,
                    self.geom_name(),
                    (at, 0, -z / 2 + min(y, z) * scale / 2),
                    min(y, z) / 2 * scale * shrink,
                    pitch * thick,
                    axis="x",
                    collide=False,
                    rgba=shade,
                )
                self.look(geom, "sliced")

    def stains(self, radius: float, ratio: float = 1.0) -> None:
        """Brown spots around an upright thing, seen while it is dirty; they hardly stick out of its wall."""
        z = self.size[2]
        spot = (0.026, 0.026, min(0.022, 0.5 * z))
        inside, play = radius - 0.010, (z - spot[2]) / 2
        for k in range(7):
            angle = 2 * math.pi * (k + 0.3 * math.sin(5.0 * k)) / 7
            center = (inside * math.cos(angle), (radius * ratio - 0.010) * math.sin(angle), play * math.cos(3.0 * k))
            self.look(parts.add_ellipsoid(self.body, self.geom_name(), center, spot, "dirt"), "dirty")

    def hollow(self, ratio: float, base: float, sides: int = 8) -> Box:
        """Bottom and walls of an upright (oval) vessel; returns the hollow in the item's frame."""
        x, _, z = self.size
        radius = x / 2 - _WALL / 2
        self.solid_box((0, 0, -z / 2 + base / 2), (x * 0.8, x * 0.8 * ratio, base))
        # Corners on the oval: a wall from each to the next.
        corners = [
            (radius * math.cos(a), radius * ratio * math.sin(a))
            for a in (2 * math.pi * (k + 0.5) / sides for k in range(sides))
        ]
        for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1], strict=True):
            # a little above the bottom, so that only the base touches what the vessel stands on
            center = ((ax + bx) / 2, (ay + by) / 2, 0.001)
            length = math.hypot(bx - ax, by - ay)
            self.solid_box(center, (length, _WALL, z - 0.002), yaw=math.atan2(by - ay, bx - ax))
        inner = np.array([x - 2 * _WALL, x * ratio - 2 * _WALL, z - base + 0.04])
        return Box(np.array([0, 0, base / 2 + 0.02]), inner)

    def info(self, containment: Box | None = None) -> ItemInfo:
        """The finished item."""
        looks = {kind: tuple(names) for kind, names in self.looks.items()}
        return ItemInfo(self.name, self.label, self.name, self.name, self.size, containment, looks)


def _round(b: ItemBuilder, flesh: Colour | None, stem: bool = False) -> ItemInfo:
    x, y, z = b.size
    if x > 1.15 * y:
        b.solid_box((0, 0, 0), (x * 0.8, y * 0.86, z))
    else:
        # round, so that it slides over a rim into a bowl, with a small flat foot, so that it does not roll away
        b.solid_ellipsoid(b.size)
        b.solid_cylinder(0.6 * y / 2, 0.1 * z, (0, 0, -0.45 * z))
    b.look(parts.add_ellipsoid(b.body, b.geom_name(), (0, 0, 0), b.size, rgba=b.color), "whole")
    if stem:
        b.look(parts.add_cylinder(b.body, b.geom_name(), (0, 0, z / 2), 0.004, 0.012, "leaf", collide=False), "whole")
    if flesh:
        b.slices(b.color, flesh)
    return b.info()


def _bread(b: ItemBuilder) -> ItemInfo:
    x, y, z = b.size
    b.solid_box((0, 0, 0), b.size)
    b.look(
        parts.add_box(b.body, b.geom_name(), (0, 0, -z * 0.12), (x, y, z * 0.76), collide=False, rgba=b.color), "whole"
    )
    crust = (0.62, 0.38, 0.16, 1.0)
    b.look(
        parts.add_ellipsoid(b.body, b.geom_name(), (0, 0, z * 0.18), (x * 1.02, y * 1.02, z * 0.64), rgba=crust),
        "whole",
    )
    for k in range(5):
        at = -x / 2 + (k + 0.5) * x / 5
        for thick, size, shade in ((0.60, 1.0, crust), (0.66, 0.88, (0.93, 0.84, 0.66, 1.0))):
            slab = parts.add_box(
                b.body, b.geom_name(), (at, 0, 0), (x / 5 * thick, y * size, z * size), collide=False, rgba=shade
            )
            b.look(slab, "sliced")
    return b.info()


def _long_tool(b: ItemBuilder, blade: tuple[float, float, float], blade_rgba: Colour) -> ItemInfo:
    """A lying tool: the handle along -x reaches over the middle, where it is grasped; the blade is at +x."""
    x, _, z = b.size
    handle = x - blade[0]
    b.solid_box((-x / 2 + handle / 2, 0, 0), (handle, 0.026, z), group=parts.GROUP_VISIBLE, rgba=b.color)
    b.solid_box((x / 2 - blade[0] / 2, 0, -z / 2 + blade[2] / 2), blade, group=parts.GROUP_VISIBLE, rgba=blade_rgba)
    return b.info()


def _vessel(b: ItemBuilder, foot: float, ratio: float = 1.0, base: float = 0.014, grip: str = "") -> ItemInfo:
    """An open vessel with the looks of a turned one; ``foot`` is the share of the radius at the bottom."""
    x, _, z = b.size
    r, mesh = x / 2, f"{b.name}_lathe"
    outer = [
        (0.0, -z / 2),
        (r * foot, -z / 2),
        (r * (0.4 + 0.6 * foot), -z / 4),
        (r * (0.85 + 0.15 * foot), z * 0.1),
        (r, z / 2),
    ]
    inner = [
        (r - 0.005, z / 2),
        ((r - 0.006) * (0.85 + 0.15 * foot), z * 0.1),
        ((r - 0.006) * foot, -z / 2 + base),
        (0.0, -z / 2 + base),
    ]
    parts.add_lathe(b.spec, mesh, outer + inner, width_ratio=ratio)
    parts.add_lathe_geom(b.body, b.geom_name(), mesh, rgba=b.color)
    hollow = b.hollow(ratio, base)
    if grip == "ear":
        parts.add_box(
            b.body, b.geom_name(), (r + 0.014, 0, 0.012), (0.009, 0.012, z * 0.5), collide=False, rgba=b.color
        )
        for end in (-1, 1):
            parts.add_box(
                b.body,
                b.geom_name(),
                (r + 0.005, 0, 0.012 + end * (z * 0.25 - 0.005)),
                (0.026, 0.012, 0.010),
                collide=False,
                rgba=b.color,
            )
    if grip == "pan":
        for end in (-1, 1):
            ear = (end * (r + 0.008), 0, z / 2 - 0.018)
            parts.add_box(b.body, b.geom_name(), ear, (0.022, 0.030, 0.010), "black", collide=False)
    b.stains(r * (0.85 + 0.15 * foot), ratio)
    return b.info(hollow)


@dataclass(frozen=True)
class _Kind:
    size: tuple[float, float, float]
    mass: float
    colors: tuple[Colour, ...]
    build: Callable[[ItemBuilder], ItemInfo]


_RED, _CREAM = (0.82, 0.12, 0.09, 1.0), (0.95, 0.92, 0.82, 1.0)
_KINDS: dict[str, _Kind] = {
    "Apple": _Kind(
        (0.058, 0.058, 0.056),
        0.12,
        ((0.55, 0.75, 0.20, 1.0), (0.80, 0.25, 0.18, 1.0)),
        lambda b: _round(b, _CREAM, True),
    ),
    "Tomato": _Kind((0.054, 0.054, 0.048), 0.10, (_RED,), lambda b: _round(b, (0.95, 0.45, 0.32, 1.0), True)),
    "Potato": _Kind(
        (0.078, 0.052, 0.048), 0.14, ((0.70, 0.55, 0.33, 1.0),), lambda b: _round(b, (0.96, 0.90, 0.65, 1.0))
    ),
    "Lettuce": _Kind(
        (0.095, 0.066, 0.066), 0.15, ((0.45, 0.72, 0.28, 1.0),), lambda b: _round(b, (0.80, 0.90, 0.60, 1.0))
    ),
    "Egg": _Kind((0.044, 0.044, 0.052), 0.10, ((0.95, 0.88, 0.78, 1.0),), lambda b: _round(b, None)),
    "Bread": _Kind((0.14, 0.070, 0.070), 0.20, ((0.72, 0.48, 0.24, 1.0),), _bread),
    "Knife": _Kind(
        (0.22, 0.032, 0.026),
        0.12,
        ((0.10, 0.10, 0.11, 1.0),),
        lambda b: _long_tool(b, (0.09, 0.032, 0.010), (0.80, 0.82, 0.84, 1.0)),
    ),
    "Spatula": _Kind(
        (0.23, 0.055, 0.026),
        0.12,
        ((0.55, 0.12, 0.12, 1.0),),
        lambda b: _long_tool(b, (0.08, 0.055, 0.010), (0.20, 0.20, 0.22, 1.0)),
    ),
    "Mug": _Kind(
        (0.074, 0.074, 0.092),
        0.25,
        ((0.16, 0.40, 0.62, 1.0), (0.88, 0.62, 0.16, 1.0), (0.80, 0.35, 0.40, 1.0)),
        lambda b: _vessel(b, 0.92, grip="ear"),
    ),
    "Cup": _Kind(
        (0.068, 0.068, 0.105), 0.18, ((0.62, 0.80, 0.80, 1.0), (0.75, 0.70, 0.85, 1.0)), lambda b: _vessel(b, 0.78)
    ),
    "Bowl": _Kind(
        (0.150, 0.080, 0.050),
        0.28,
        ((0.90, 0.90, 0.86, 1.0), (0.36, 0.55, 0.50, 1.0)),
        lambda b: _vessel(b, 0.70, 0.080 / 0.150),
    ),
    "Plate": _Kind(
        (0.170, 0.080, 0.038),
        0.28,
        ((0.94, 0.94, 0.95, 1.0), (0.60, 0.72, 0.85, 1.0)),
        lambda b: _vessel(b, 0.75, 0.080 / 0.170),
    ),
    "Pot": _Kind((0.082, 0.082, 0.085), 0.40, ((0.40, 0.42, 0.45, 1.0),), lambda b: _vessel(b, 0.97, grip="pan")),
}

ITEM_LABELS = tuple(_KINDS)
"""Every class of item that the simulator can build."""


def build_item(spec: mujoco.MjSpec, name: str, label: str, variant: int) -> ItemInfo:
    """Add an item to the model; ``variant`` picks its colour. ValueError names a label that nobody can build."""
    if label not in _KINDS:
        raise ValueError(f"cannot build an item of class {label!r}; known: {', '.join(sorted(_KINDS))}")
    kind = _KINDS[label]
    builder = ItemBuilder(spec, name, label, kind.size, kind.mass, kind.colors[variant % len(kind.colors)])
    return kind.build(builder)


def item_size(label: str) -> tuple[float, float, float]:
    """Full extent [m] of items of this class in their own frame."""
    return _KINDS[label].size
