"""What the kitchen world tells about its fixtures and items."""

from __future__ import annotations

from dataclasses import dataclass, field

from graph_planner_ros.scene.graph import Box


@dataclass(frozen=True)
class DoorInfo:
    """A hinged door or a drawer.

    Attributes:
        joint: MuJoCo joint; 0 is closed, positive opens.
        kind: ``hinge`` [rad] or ``slide`` [m].
        open_position: joint value of the fully open door.
        closed_below: joint value under which the door counts as closed.
        body: MuJoCo body of the moving part.
        handle: MuJoCo site in the middle of the (vertical) handle bar; its x axis points out of the front.
        pivot: hinge axis in the map, x and y [m]; for a drawer the middle of its closed front.
        side: -1 hinge on the left of a robot that faces the fixture, 1 on the right, 0 drawer.
    """

    joint: str
    kind: str
    open_position: float
    closed_below: float
    body: str
    handle: str
    pivot: tuple[float, float]
    side: int


@dataclass(frozen=True)
class FixtureInfo:
    """A fixture as the robot's map knows it; boxes in the map frame, their x axis points out of the front.

    Attributes:
        box: the whole thing from the floor up (a microwave: without the cupboard below it).
        containment: volume that holds what is in or on it; for a drawer both its closed and its open range.
        surfaces: volumes above each supporting plane: the bottom is the plane, the height is the clearance. For a
            drawer in the closed position; `KitchenWorld.surfaces` follows the drawer.
        door: its door or drawer, None if it has none.
        button: MuJoCo site of its switch, None if it has none.
        height: height [m] of its first supporting plane, or of its top.
    """

    instance_id: str
    label: str
    box: Box
    containment: Box | None = None
    surfaces: tuple[Box, ...] = ()
    door: DoorInfo | None = None
    button: str | None = None
    height: float = 0.0

    @property
    def front(self) -> float:
        """Heading [rad] in the map that its front faces."""
        return self.box.yaw

    @property
    def doors(self) -> tuple[DoorInfo, ...]:
        """Its doors, as a tuple."""
        return (self.door,) if self.door else ()


@dataclass(frozen=True)
class ItemInfo:
    """A movable thing of the world.

    Attributes:
        instance_id: true id of the simulator, e.g. ``mug_1``.
        body: MuJoCo body; its origin is the middle of the thing and z points up when it stands.
        joint: its free joint.
        size: full extent [m] in its own frame; x is the long side.
        containment: hollow volume in its own frame, None if it holds nothing.
        looks: geom names shown ``whole``, ``sliced`` or ``dirty``.
    """

    instance_id: str
    label: str
    body: str
    joint: str
    size: tuple[float, float, float]
    containment: Box | None = None
    looks: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass
class ItemProperties:
    """What appliances and tools have done to an item."""

    hot: bool = False
    cold: bool = False
    cleaned: bool = False
    dirty: bool = False
    sliced: bool = False
    examined: bool = False
