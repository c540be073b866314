"""Adds the parts that fixtures are made of: boxes, handles, doors, switches, cupboards."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import mujoco
import numpy as np

from graph_planner_ros.scene.graph import Box
from graph_planner_ros.sim import parts
from graph_planner_ros.sim.infos import DoorInfo
from graph_planner_ros.sim.layouts import Placement

HANDLE_STANDOFF = 0.05
"""Distance [m] from a front to the axis of its handle bar."""
HINGE_LIMIT = math.radians(110)

Triple = tuple[float, float, float]


@dataclass
class Builder:
    """Adds geoms to one fixture, in the fixture's own frame (see `graph_planner_ros.sim.layouts`)."""

    spec: mujoco.MjSpec
    placement: Placement
    body: mujoco.MjsBody = field(init=False)
    switched_geoms: list[str] = field(default_factory=list)
    _count: int = 0

    def __post_init__(self) -> None:
        place = self.placement
        half = place.yaw / 2
        self.body = self.spec.worldbody.add_body(
            name=place.instance_id, pos=(place.x, place.y, 0), quat=(math.cos(half), 0, 0, math.sin(half))
        )

    def name(self) -> str:
        """A fresh geom name."""
        self._count += 1
        return f"{self.placement.instance_id}/{self._count}"

    def box(
        self,
        low: Triple,
        high: Triple,
        material: str,
        *,
        collide: bool = True,
        body: mujoco.MjsBody | None = None,
        mass: float | None = None,
        group: int = parts.GROUP_VISIBLE,
    ) -> None:
        """Add a box between two corners [m]."""
        center = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
        size = [b - a for a, b in zip(low, high, strict=True)]
        parts.add_box(body or self.body, self.name(), center, size, material, collide=collide, mass=mass, group=group)

    def cylinder(
        self,
        center: Triple,
        radius: float,
        height: float,
        material: str,
        axis: str = "z",
        *,
        collide: bool = True,
        body: mujoco.MjsBody | None = None,
        mass: float | None = None,
    ) -> None:
        """Add a cylinder."""
        parts.add_cylinder(
            body or self.body, self.name(), center, radius, height, material, axis=axis, collide=collide, mass=mass
        )

    def in_map(self, low: Triple, high: Triple) -> Box:
        """The map's box between two corners of the fixture's frame."""
        place = self.placement
        center = np.array([(a + b) / 2 for a, b in zip(low, high, strict=True)])
        c, s = math.cos(place.yaw), math.sin(place.yaw)
        center = np.array([place.x + c * center[0] - s * center[1], place.y + s * center[0] + c * center[1], center[2]])
        return Box(center, np.array([b - a for a, b in zip(low, high, strict=True)], dtype=float), place.yaw)

    def button(self, center: Triple) -> str:
        """Add a switch: a small knob with a site at its tip."""
        name = f"{self.placement.instance_id}/button"
        self.cylinder(center, 0.018, 0.02, "brass", axis="x", collide=False)
        self.body.add_site(name=name, pos=(center[0] + 0.01, center[1], center[2]), group=4)
        return name

    def when_on(self, geom: mujoco.MjsGeom) -> None:
        """Show this geom only while the fixture is switched on."""
        geom.group = parts.GROUP_HIDDEN
        self.switched_geoms.append(geom.name)

    def handle(self, body: mujoco.MjsBody, x: float, y: float, z: float, length: float) -> str:
        """Add a vertical handle bar in front of the plane at ``x`` of the body's frame; returns the site's name."""
        name = f"{self.placement.instance_id}/handle"
        bar = x + HANDLE_STANDOFF
        self.cylinder((bar, y, z), 0.009, length, "dark_steel", body=body, mass=0.05)
        for end in (-1, 1):
            self.box(
                (x, y - 0.006, z + end * (length / 2 - 0.012) - 0.006),
                (bar, y + 0.006, z + end * (length / 2 - 0.012) + 0.006),
                "dark_steel",
                body=body,
                mass=0.01,
            )
        body.add_site(name=name, pos=(bar, y, z), group=4)
        return name

    def hinged_door(
        self,
        front: float,
        y_range: tuple[float, float],
        z_range: tuple[float, float],
        material: str,
        thickness: float,
        handle_length: float,
    ) -> DoorInfo:
        """Add a door in front of the plane x = ``front``; the placement says on which side its hinge is."""
        place, side = self.placement, self.placement.unit.hinge
        if side not in (-1, 1):
            raise ValueError(f"{place.instance_id}: a {place.unit.label} needs a hinge side, -1 (left) or 1 (right)")
        hinge_y = y_range[1] if side > 0 else y_range[0]
        name, width = f"{place.instance_id}/door", y_range[1] - y_range[0]
        door = self.body.add_body(name=name, pos=(front, hinge_y, 0))
        # Enough dry friction that the door stays where it is left, enough damping that it does not swing on.
        door.add_joint(
            name=name,
            type=mujoco.mjtJoint.mjJNT_HINGE,
            axis=(0, 0, side),
            range=(0, HINGE_LIMIT),
            limited=mujoco.mjtLimited.mjLIMITED_TRUE,
            damping=[1.2, 0, 0],
            frictionloss=0.5,
            armature=0.05,
        )
        far = -side * width
        self.box(
            (0.003, min(0.0, far), z_range[0]), (thickness, max(0.0, far), z_range[1]), material, body=door, mass=2.0
        )
        handle_z = (z_range[0] + z_range[1]) / 2
        handle = self.handle(door, thickness, far + side * 0.045, handle_z, handle_length)
        self.spec.add_exclude(bodyname1=place.instance_id, bodyname2=name)
        pivot = self.in_map((front, hinge_y, 0), (front, hinge_y, 0)).center
        return DoorInfo(name, "hinge", math.radians(100), 0.10, name, handle, (float(pivot[0]), float(pivot[1])), side)

    def base(self, width: float, depth: float, *, top: float, front: str = "sage", slab: str = "walnut") -> None:
        """A closed floor cupboard with a worktop, drawn with two false doors."""
        half_w, half_d = width / 2, depth / 2
        self.box((-half_d, -half_w, 0.08), (half_d - 0.04, half_w, top - 0.04), "cream")
        self.box((-half_d, -half_w, 0.0), (half_d - 0.09, half_w, 0.08), "dark_steel", collide=False)
        self.box((-half_d, -half_w, top - 0.04), (half_d, half_w, top), slab)
        for low, high in ((-half_w, 0.0), (0.0, half_w)):
            self.box(
                (half_d - 0.04, low + 0.008, 0.10), (half_d - 0.02, high - 0.008, top - 0.06), front, collide=False
            )
