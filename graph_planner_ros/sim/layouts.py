"""Kitchen layouts: which fixture stands where, and which items may lie in it.

The map frame has its origin in the middle of the square room, x east, y north. A fixture's own frame has x pointing
out of its front, z up, and its origin on the floor in the middle of its footprint, so +y is on the right of a robot
that faces the fixture. Layouts are data; `graph_planner_ros.sim.fixtures` knows how to build each kind of fixture.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

ROOM_SIZE = 5.0
"""Side of the square room [m]."""

LEFT = -1
RIGHT = 1
"""Side of the hinge, as seen by a robot that faces the fixture."""


@dataclass(frozen=True)
class Unit:
    """One fixture of a wall run: class label, width along the wall [m], depth [m], side of the hinge if it has one."""

    label: str
    width: float
    depth: float = 0.6
    hinge: int = 0


@dataclass(frozen=True)
class WallRun:
    """Units side by side along a wall, from left to right as seen facing it; a number is a gap [m].

    ``wall`` is ``north``, ``east``, ``south`` or ``west``; ``start`` is the distance [m] from the left corner.
    """

    wall: str
    start: float
    units: tuple[Unit | float, ...]


@dataclass(frozen=True)
class FreeUnit:
    """A fixture that stands free in the room: position [m] of its footprint's centre and heading of its front [rad]."""

    unit: Unit
    x: float
    y: float
    yaw: float


@dataclass(frozen=True)
class Placement:
    """A fixture in the map: instance id, what to build, footprint centre [m], heading of its front [rad]."""

    instance_id: str
    unit: Unit
    x: float
    y: float
    yaw: float


@dataclass(frozen=True)
class ItemSpec:
    """One item of a layout: its class, the fixture classes that it may start in, and the chance that it is dirty."""

    label: str
    places: tuple[str, ...]
    dirty: float = 0.0


@dataclass(frozen=True)
class Layout:
    """A kitchen: fixtures, items and where the robot starts (x [m], y [m])."""

    name: str
    description: str
    runs: tuple[WallRun, ...]
    free: tuple[FreeUnit, ...] = ()
    items: tuple[ItemSpec, ...] = ()
    start: tuple[float, float] = (0.0, 0.0)
    placements: tuple[Placement, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "placements", _place(self))


_HALF = ROOM_SIZE / 2
_WALLS: dict[str, tuple[tuple[float, float], tuple[float, float], float]] = {
    # left corner, direction to the right, heading of a front that stands at this wall
    "north": ((-_HALF, _HALF), (1.0, 0.0), -math.pi / 2),
    "east": ((_HALF, _HALF), (0.0, -1.0), math.pi),
    "south": ((_HALF, -_HALF), (-1.0, 0.0), math.pi / 2),
    "west": ((-_HALF, -_HALF), (0.0, 1.0), 0.0),
}


def snake_case(label: str) -> str:
    """``CounterTop`` -> ``counter_top``: the stem of instance ids."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", label).lower()


def _place(layout: Layout) -> tuple[Placement, ...]:
    counts: dict[str, int] = {}
    placed: list[Placement] = []

    def add(unit: Unit, x: float, y: float, yaw: float) -> None:
        counts[unit.label] = counts.get(unit.label, 0) + 1
        placed.append(Placement(f"{snake_case(unit.label)}_{counts[unit.label]}", unit, x, y, yaw))

    for run in layout.runs:
        corner, right, yaw = _WALLS[run.wall]
        along = run.start
        for unit in run.units:
            if not isinstance(unit, Unit):
                along += unit
                continue
            middle, inward = along + unit.width / 2, unit.depth / 2
            add(
                unit,
                corner[0] + right[0] * middle + math.cos(yaw) * inward,
                corner[1] + right[1] * middle + math.sin(yaw) * inward,
                yaw,
            )
            along += unit.width
        if along > ROOM_SIZE:
            raise ValueError(
                f"layout {layout.name}: the {run.wall} wall has {ROOM_SIZE} m, its units need {along:.2f} m"
            )
    for free in layout.free:
        add(free.unit, free.x, free.y, free.yaw)
    return tuple(placed)


def _counter(width: float = 0.9) -> Unit:
    return Unit("CounterTop", width)


def _cabinet(hinge: int) -> Unit:
    return Unit("Cabinet", 0.6, hinge=hinge)


def _fridge(hinge: int) -> Unit:
    return Unit("Fridge", 0.74, depth=0.66, hinge=hinge)


_SINK = Unit("SinkBasin", 0.7)
_STOVE = Unit("StoveBurner", 0.6)
_MICROWAVE = Unit("Microwave", 0.64, hinge=LEFT)
_DRAWER = Unit("Drawer", 0.5)
_LAMP = Unit("DeskLamp", 0.45, depth=0.45)
_TABLE = Unit("DiningTable", 1.1, depth=0.65)

_OPEN = ("CounterTop", "DiningTable")
_ITEMS = (
    ItemSpec("Tomato", ("Fridge", "Cabinet")),
    ItemSpec("Tomato", ("Fridge", "Cabinet")),
    ItemSpec("Apple", _OPEN),
    ItemSpec("Apple", ("Fridge", "Cabinet")),
    ItemSpec("Potato", ("CounterTop", "DiningTable", "Cabinet")),
    ItemSpec("Potato", ("CounterTop", "Fridge")),
    ItemSpec("Bread", _OPEN),
    ItemSpec("Lettuce", ("Fridge",)),
    ItemSpec("Egg", ("Fridge",)),
    ItemSpec("Egg", ("CounterTop", "Fridge")),
    ItemSpec("Knife", ("Drawer",)),
    ItemSpec("Spatula", ("Drawer",)),
    ItemSpec("Mug", _OPEN, dirty=0.5),
    ItemSpec("Mug", ("Cabinet",)),
    ItemSpec("Cup", ("SinkBasin", "Cabinet"), dirty=0.5),
    ItemSpec("Bowl", _OPEN),
    ItemSpec("Bowl", ("Cabinet", "CounterTop"), dirty=0.3),
    ItemSpec("Plate", _OPEN, dirty=1.0),
    ItemSpec("Plate", ("Cabinet", "DiningTable")),
    ItemSpec("Pot", ("StoveBurner",)),
)

LAYOUTS: dict[str, Layout] = {
    layout.name: layout
    for layout in (
        Layout(
            "l_shape",
            "worktops along the north wall, cabinets and drawers in the east, table in the west",
            (
                WallRun("north", 0.35, (_fridge(LEFT), _counter(), _SINK, _STOVE, _counter(0.8))),
                WallRun("east", 0.95, (_cabinet(LEFT), _cabinet(RIGHT), 0.25, _DRAWER, 0.02, _DRAWER)),
                WallRun("south", 1.0, (_MICROWAVE, _counter(), _cabinet(RIGHT))),
                WallRun("west", 0.9, (_LAMP, 0.2, _TABLE)),
            ),
            items=_ITEMS,
            start=(-0.2, -0.3),
        ),
        Layout(
            "galley",
            "two worktops facing each other, table at the east end, drawers on both sides",
            (
                WallRun("north", 0.35, (_cabinet(LEFT), _counter(), _SINK, _counter(), _DRAWER)),
                WallRun("south", 0.35, (_fridge(LEFT), 0.2, _MICROWAVE, _STOVE, 0.22, _cabinet(LEFT), _cabinet(RIGHT))),
                WallRun("east", 1.95, (_TABLE,)),
                WallRun("west", 1.5, (_DRAWER, 0.3, _LAMP)),
            ),
            items=_ITEMS,
            start=(0.0, 0.1),
        ),
        Layout(
            "island",
            "worktops on three sides around a free-standing table",
            (
                WallRun("north", 1.0, (_SINK, _counter(), _STOVE, _DRAWER)),
                WallRun("west", 0.95, (_cabinet(LEFT), _counter(1.0), _DRAWER)),
                WallRun("east", 1.0, (_MICROWAVE, _cabinet(RIGHT), 0.3, _fridge(RIGHT))),
                WallRun("south", 1.45, (_LAMP, 0.35, _cabinet(LEFT))),
            ),
            free=(FreeUnit(_TABLE, 0.0, -0.4, math.pi / 2),),
            items=_ITEMS,
            start=(0.0, 1.0),
        ),
    )
}


def get_layout(name: str) -> Layout:
    """Return the layout of this name; ValueError lists the layouts there are."""
    if name not in LAYOUTS:
        raise ValueError(f"unknown layout {name!r}; expected one of {', '.join(sorted(LAYOUTS))}")
    return LAYOUTS[name]


def describe_layouts() -> dict[str, str]:
    """Name -> one-line description of every layout."""
    return {name: layout.description for name, layout in LAYOUTS.items()}
