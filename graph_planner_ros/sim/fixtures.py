"""Builds the fixtures of a kitchen: every builder adds one body to the model and says what it made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mujoco

from graph_planner_ros.scene.graph import Box
from graph_planner_ros.sim import parts
from graph_planner_ros.sim.fixture_builder import Builder, Triple
from graph_planner_ros.sim.infos import DoorInfo, FixtureInfo
from graph_planner_ros.sim.layouts import Placement

COUNTER_HEIGHT = 0.88
TABLE_HEIGHT = 0.75
TAP_HEIGHT = 0.42
"""Height [m] of the tap's mouth above the worktop."""
SINK_DEPTH = 0.08
"""Shallow, as the drawers are: a hand that points down into it hangs from an arm that passes over the front edge."""
_FREE_HEIGHT = 0.4


@dataclass
class BuiltFixture:
    """What a builder made: the map's entry and the geoms that show only while it is switched on."""

    info: FixtureInfo
    switched_geoms: tuple[str, ...] = ()


def _counter(b: Builder) -> FixtureInfo:
    w, d, h = b.placement.unit.width / 2, b.placement.unit.depth / 2, COUNTER_HEIGHT
    b.base(2 * w, 2 * d, top=h)
    surface = b.in_map((-d, -w, h), (d, w, h + _FREE_HEIGHT))
    return _info(b, b.in_map((-d, -w, 0), (d, w, h)), surface, (surface,), height=h)


def _table(b: Builder) -> FixtureInfo:
    w, d, h = b.placement.unit.width / 2, b.placement.unit.depth / 2, TABLE_HEIGHT
    b.box((-d, -w, h - 0.04), (d, w, h), "birch")
    for x in (-1, 1):
        for y in (-1, 1):
            b.box(
                (x * (d - 0.04) - 0.025, y * (w - 0.04) - 0.025, 0),
                (x * (d - 0.04) + 0.025, y * (w - 0.04) + 0.025, h - 0.04),
                "walnut",
            )
    surface = b.in_map((-d, -w, h), (d, w, h + _FREE_HEIGHT))
    return _info(b, b.in_map((-d, -w, 0), (d, w, h)), surface, (surface,), height=h)


def _sink(b: Builder) -> FixtureInfo:
    w, d, h = b.placement.unit.width / 2, b.placement.unit.depth / 2, COUNTER_HEIGHT
    low, high, floor, wall = (-0.16, -0.23), (0.22, 0.23), h - SINK_DEPTH, 0.015
    b.box((-d, -w, 0.08), (d - 0.04, w, floor - wall), "cream")
    b.box((-d, -w, 0.0), (d - 0.09, w, 0.08), "dark_steel", collide=False)
    for y0, y1 in ((-w, 0.0), (0.0, w)):
        b.box((d - 0.04, y0 + 0.008, 0.10), (d - 0.02, y1 - 0.008, h - 0.06), "sage", collide=False)
    # the worktop around the basin reaches down to the basin's floor and so makes its walls
    b.box((high[0], -w, floor - wall), (d - 0.03, w, h - 0.04), "steel")
    b.box((high[0], -w, h - 0.04), (d, w, h), "walnut")
    b.box((-d, -w, floor - wall), (low[0], w, h), "walnut")
    b.box((low[0], -w, floor - wall), (high[0], low[1], h), "walnut")
    b.box((low[0], high[1], floor - wall), (high[0], w, h), "walnut")
    b.box((low[0], low[1], floor - wall), (high[0], high[1], floor), "steel")
    rim = 0.012
    for corner_a, corner_b in (
        ((high[0], low[1] - rim), (high[0] + rim, high[1] + rim)),
        ((low[0] - rim, low[1] - rim), (low[0], high[1] + rim)),
        ((low[0], low[1] - rim), (high[0], low[1])),
        ((low[0], high[1]), (high[0], high[1] + rim)),
    ):
        b.box((*corner_a, h), (*corner_b, h + 0.004), "steel", collide=False)
    b.cylinder((-0.23, 0, h + TAP_HEIGHT / 2 + 0.02), 0.018, TAP_HEIGHT + 0.04, "steel")
    b.cylinder((-0.12, 0, h + TAP_HEIGHT + 0.04), 0.014, 0.24, "steel", axis="x")
    b.cylinder((0.0, 0, h + TAP_HEIGHT + 0.025), 0.016, 0.05, "steel")
    mouth = h + TAP_HEIGHT
    water = parts.add_cylinder(
        b.body, b.name(), (0.0, 0, (floor + mouth) / 2), 0.012, mouth - floor, "water", collide=False
    )
    b.when_on(water)
    pool = parts.add_box(b.body, b.name(), (0.03, 0, floor + 0.004), (0.38, 0.46, 0.008), "water", collide=False)
    b.when_on(pool)
    # The switch is on the front: a robot with something in its hand can press it without reaching over the basin.
    button = b.button((d - 0.01, 0.27, h - 0.09))
    containment = b.in_map((low[0], low[1], floor), (high[0], high[1], h + 0.08))
    surface = b.in_map((low[0], low[1], floor), (high[0], high[1], mouth))
    return _info(b, b.in_map((-d, -w, 0), (d, w, h)), containment, (surface,), button=button, height=floor)


def _stove(b: Builder) -> FixtureInfo:
    w, d, h = b.placement.unit.width / 2, b.placement.unit.depth / 2, COUNTER_HEIGHT
    b.base(2 * w, 2 * d, top=h, front="dark_steel", slab="black")
    plate = h + 0.008
    b.cylinder((0.06, 0, h + 0.004), 0.15, 0.008, "dark_steel")
    ember = parts.add_cylinder(b.body, b.name(), (0.06, 0, h + 0.0085), 0.145, 0.002, "ember", collide=False)
    b.when_on(ember)
    for y in (-0.2, -0.1, 0.1):
        b.cylinder((d - 0.01, y, h - 0.09), 0.015, 0.02, "steel", axis="x", collide=False)
    button = b.button((d - 0.01, 0.2, h - 0.09))
    surface = b.in_map((-0.07, -0.13, plate), (0.19, 0.13, plate + _FREE_HEIGHT))
    containment = b.in_map((-0.12, -0.18, h), (0.24, 0.18, plate + _FREE_HEIGHT))
    return _info(b, b.in_map((-d, -w, 0), (d, w, h)), containment, (surface,), button=button, height=plate)


def _compartment(
    b: Builder, low: Triple, high: Triple, outer_w: float, depth: float, top: float, material: str
) -> None:
    """Walls around a hollow that is open at the front: sides, a thick back and a roof up to ``top``."""
    b.box((-depth / 2, -outer_w / 2, low[2] - 0.03), (low[0], outer_w / 2, top), material)
    b.box((low[0], -outer_w / 2, low[2] - 0.03), (high[0], low[1], top), material)
    b.box((low[0], high[1], low[2] - 0.03), (high[0], outer_w / 2, top), material)
    b.box((low[0], low[1], high[2]), (high[0], high[1], top), material)


def _fridge(b: Builder) -> FixtureInfo:
    w, d, top = b.placement.unit.width / 2, b.placement.unit.depth / 2, 1.56
    low, high, shelf = (d - 0.46, -w + 0.05, 0.60), (d, w - 0.05, 1.51), 1.04
    b.box((-d, -w, 0.04), (d, w, low[2] - 0.02), "steel")
    b.box((d, -w + 0.004, 0.06), (d + 0.04, w - 0.004, low[2] - 0.04), "white", collide=False)
    _compartment(b, low, high, 2 * w, 2 * d, top, "steel")
    b.box((low[0], low[1], low[2]), (low[0] + 0.005, high[1], high[2]), "interior", collide=False)
    b.box((low[0], low[1], low[2] - 0.02), (high[0], high[1], low[2]), "interior")
    b.box((low[0], low[1], shelf - 0.02), (high[0], high[1], shelf), "interior")
    door = b.hinged_door(d, (-w, w), (low[2] - 0.03, top), "white", 0.04, 0.36)
    surfaces = (b.in_map((*low[:2], low[2]), (*high[:2], shelf - 0.02)), b.in_map((*low[:2], shelf), high))
    return _info(b, b.in_map((-d, -w, 0), (d, w, top)), b.in_map(low, high), surfaces, door=door, height=low[2])


def _cabinet(b: Builder) -> FixtureInfo:
    w, d, top = b.placement.unit.width / 2, b.placement.unit.depth / 2, 1.5
    low, high = (d - 0.42, -w + 0.03, 0.80), (d, w - 0.03, 1.25)
    b.box((-d, -w, 0.0), (d, w, low[2] - 0.03), "navy")
    b.box((d, -w + 0.01, 0.08), (d + 0.015, w - 0.01, low[2] - 0.05), "navy", collide=False)
    _compartment(b, low, high, 2 * w, 2 * d, top, "navy")
    b.box((low[0], low[1], low[2]), (low[0] + 0.005, high[1], high[2]), "cream", collide=False)
    b.box((low[0], low[1], low[2] - 0.03), (high[0], high[1], low[2] + 0.003), "oak")
    b.box((-d - 0.0, -w - 0.0, top), (d + 0.01, w, top + 0.02), "walnut", collide=False)
    door = b.hinged_door(d, (-w + 0.005, w - 0.005), (low[2] - 0.03, high[2] + 0.03), "navy", 0.025, 0.16)
    surface = b.in_map((low[0], low[1], low[2] + 0.003), high)
    return _info(
        b, b.in_map((-d, -w, 0), (d, w, top)), b.in_map(low, high), (surface,), door=door, height=low[2] + 0.003
    )


def _microwave(b: Builder) -> FixtureInfo:
    w, d, h = b.placement.unit.width / 2, b.placement.unit.depth / 2, COUNTER_HEIGHT
    b.base(2 * w, 2 * d, top=h)
    low, high, top = (d - 0.38, -0.27, h + 0.03), (d, 0.15, h + 0.36), h + 0.40
    # right of the hollow sits the panel with the switch
    b.box((-d + 0.05, -0.30, h), (low[0], 0.30, top), "white")
    b.box((low[0], -0.30, h), (high[0], low[1], top), "white")
    b.box((low[0], high[1], h), (high[0], 0.30, top), "white")
    b.box((low[0], low[1], high[2]), (high[0], high[1], top), "white")
    b.box((low[0], low[1], h), (high[0], high[1], low[2]), "interior")
    b.box((d, 0.17, h + 0.02), (d + 0.008, 0.295, top - 0.02), "black", collide=False)
    b.box((d + 0.008, 0.18, top - 0.09), (d + 0.011, 0.285, top - 0.04), "dark_steel", collide=False)
    light = parts.add_box(
        b.body, b.name(), (d + 0.010, 0.2325, top - 0.065), (0.006, 0.105, 0.05), "glow", collide=False
    )
    b.when_on(light)
    button = b.button((d + 0.018, 0.2325, h + 0.09))
    door = b.hinged_door(d, (-0.30, 0.165), (h + 0.005, top - 0.005), "black", 0.03, 0.16)
    surface = b.in_map(low, high)
    box = b.in_map((-d + 0.05, -0.30, h), (d, 0.30, top))
    return _info(b, box, surface, (surface,), door=door, button=button, height=low[2])


def _drawer(b: Builder) -> FixtureInfo:
    w, d, top, travel = b.placement.unit.width / 2, b.placement.unit.depth / 2, 0.79, 0.42
    floor, wall = 0.66, 0.012
    low, high = (d - 0.40, -w + 0.045, floor), (d - 0.012, w - 0.045, floor + 0.06)
    b.box((-d, -w, 0.0), (d, w, floor - 0.06), "sage")
    b.box((d, -w + 0.01, 0.08), (d + 0.02, w - 0.01, floor - 0.07), "sage", collide=False)
    b.box((-d, -w, floor - 0.06), (d - 0.44, w, top - 0.03), "sage")
    for y0, y1 in ((-w, -w + 0.025), (w - 0.025, w)):
        b.box((d - 0.44, y0, floor - 0.06), (d, y1, top - 0.03), "sage")
    b.box((-d, -w, top - 0.03), (d, w, top), "oak")
    name = f"{b.placement.instance_id}/door"
    tray = b.body.add_body(name=name)
    tray.add_joint(
        name=name,
        type=mujoco.mjtJoint.mjJNT_SLIDE,
        axis=(1, 0, 0),
        range=(0, travel),
        limited=mujoco.mjtLimited.mjLIMITED_TRUE,
        damping=[12, 0, 0],
        frictionloss=4.0,
        armature=0.2,
    )
    b.box(
        (low[0] - wall, low[1] - wall, floor - wall),
        (high[0] + wall, high[1] + wall, floor),
        "oak",
        body=tray,
        mass=1.0,
    )
    b.box((low[0] - wall, low[1] - wall, floor), (low[0], high[1] + wall, high[2]), "oak", body=tray, mass=0.2)
    b.box((low[0], low[1] - wall, floor), (high[0], low[1], high[2]), "oak", body=tray, mass=0.2)
    b.box((low[0], high[1], floor), (high[0], high[1] + wall, high[2]), "oak", body=tray, mass=0.2)
    b.box((d - wall, -w + 0.008, floor - 0.055), (d + 0.02, w - 0.008, floor + 0.075), "sage", body=tray, mass=0.6)
    handle = b.handle(tray, d + 0.02, 0.0, floor + 0.01, 0.10)
    b.spec.add_exclude(bodyname1=b.placement.instance_id, bodyname2=name)
    pivot = b.in_map((d, 0, 0), (d, 0, 0)).center
    door = DoorInfo(name, "slide", travel - 0.02, 0.05, name, handle, (float(pivot[0]), float(pivot[1])), 0)
    # A thing in the drawer counts as in it both while the drawer is shut and while it is pulled out.
    containment = b.in_map(low, (high[0] + travel, high[1], top - 0.04))
    surface = b.in_map(low, (high[0], high[1], top - 0.04))
    return _info(b, b.in_map((-d, -w, 0), (d, w, top)), containment, (surface,), door=door, height=floor)


def _lamp(b: Builder) -> FixtureInfo:
    w, d, h = b.placement.unit.width / 2, b.placement.unit.depth / 2, 0.70
    b.box((-d, -w, h - 0.03), (d, w, h), "walnut")
    b.box((-d + 0.03, -w + 0.03, 0.0), (d - 0.03, w - 0.03, h - 0.03), "cream")
    b.cylinder((-0.05, 0, h + 0.015), 0.08, 0.03, "brass")
    b.cylinder((-0.05, 0, h + 0.18), 0.01, 0.34, "brass")
    b.cylinder((-0.05, 0, h + 0.38), 0.10, 0.15, "shade")
    glow = parts.add_cylinder(b.body, b.name(), (-0.05, 0, h + 0.38), 0.102, 0.152, "glow", collide=False)
    b.when_on(glow)
    button = b.button((d - 0.02, 0.0, h - 0.10))
    return _info(b, b.in_map((-d, -w, 0), (d, w, h + 0.46)), None, (), button=button, height=h)


def _info(
    b: Builder,
    box: Box,
    containment: Box | None,
    surfaces: tuple[Box, ...],
    *,
    door: DoorInfo | None = None,
    button: str | None = None,
    height: float,
) -> FixtureInfo:
    place = b.placement
    return FixtureInfo(place.instance_id, place.unit.label, box, containment, surfaces, door, button, height)


_BUILDERS: dict[str, Callable[[Builder], FixtureInfo]] = {
    "CounterTop": _counter,
    "DiningTable": _table,
    "SinkBasin": _sink,
    "StoveBurner": _stove,
    "Fridge": _fridge,
    "Cabinet": _cabinet,
    "Microwave": _microwave,
    "Drawer": _drawer,
    "DeskLamp": _lamp,
}


def build_fixture(spec: mujoco.MjSpec, placement: Placement) -> BuiltFixture:
    """Add a fixture to the model; ValueError names a label that nobody can build."""
    label = placement.unit.label
    if label not in _BUILDERS:
        raise ValueError(f"cannot build a fixture of class {label!r}; known: {', '.join(sorted(_BUILDERS))}")
    builder = Builder(spec, placement)
    info = _BUILDERS[label](builder)
    return BuiltFixture(info, tuple(builder.switched_geoms))
