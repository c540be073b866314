"""What the scene hears from perception: observed things, door readings, the view they come from, the robot's state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.scene.graph import Box, FloatArray


@dataclass(frozen=True)
class Intrinsics:
    """A pinhole camera: focal lengths and principal point [pixels]."""

    fx: float
    fy: float
    cx: float
    cy: float


class View(Protocol):
    """Where a camera was and what depth it saw.

    Attributes:
        stamp: seconds of ROS time.
        depth: (height, width) float32 [m]; NaN or 0 where there is none.
        camera_pose: 4x4, map <- optical frame (z forward, x right, y down).
    """

    @property
    def stamp(self) -> float: ...

    @property
    def depth(self) -> NDArray[np.float32]: ...

    @property
    def intrinsics(self) -> Intrinsics: ...

    @property
    def camera_pose(self) -> FloatArray: ...


@dataclass(frozen=True)
class RobotState:
    """What the robot knows of itself.

    Attributes:
        position: x, y of the base [m, map]. yaw: heading of the base [rad].
        gripper: x, y, z of the point between the finger tips [m, map]; None if unknown.
        holding: what the gripper feels; None if unknown.
    """

    position: tuple[float, float] = (0.0, 0.0)
    yaw: float = 0.0
    gripper: tuple[float, float, float] | None = None
    holding: bool | None = None


@dataclass
class ObservedObject:
    """One thing in one image, placed in the map.

    Attributes:
        label: class name. box: estimate from what is visible of it.
        attributes: visible attributes that hold. pixels: size of its mask. distance: from the camera [m].
        complete: False if the image's edge or something before it cuts it off, so that its box is a part only.
        in_view_cone: it lies near enough to the camera's heading for its relations to be judged.
        detection: index of the detection that it comes from.
        node_id: filled in by merging: the node that it became part of.
    """

    label: str
    box: Box
    attributes: tuple[str, ...] = ()
    score: float = 1.0
    pixels: int = 0
    distance: float = 1.0
    complete: bool = True
    in_view_cone: bool = True
    detection: int = -1
    node_id: str = ""


@dataclass(frozen=True)
class PartReading:
    """What one image says about an attribute that shows in the place of a part, e.g. a door.

    Attributes:
        node_id: the fixture. attribute: name of the attribute. value: TRUE while the part is in its front.
        slide: how far a sliding part, content and all, is out of the front [m]; 0 for a hinged one that is open.
            Of one that is shut: how far it stands out even so, e.g. its thickness.
    """

    node_id: str
    attribute: str
    value: Truth
    slide: float = 0.0


@dataclass
class Observations:
    """All that one image says.

    Attributes:
        objects: items. fixtures: id of a fixture seen -> visible attributes that hold of it.
        parts: readings of doors and the like.
    """

    objects: list[ObservedObject] = field(default_factory=list)
    fixtures: dict[str, tuple[str, ...]] = field(default_factory=dict)
    parts: list[PartReading] = field(default_factory=list)
