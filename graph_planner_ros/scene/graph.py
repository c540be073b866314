"""The scene graph: the belief that perception writes, skills update and planning reads."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.domain.symbols import Truth

FloatArray = NDArray[np.float64]

ROBOT_ID = "robot"
"""Instance id of the robot itself, subject of the relations ``holding`` and ``at``."""

PERCEPTION = "perception"
EFFECT = "effect"
MAP = "map"
ASSUMPTION = "assumption"
GROUND_TRUTH = "ground_truth"
"""The sources that a piece of the belief can have."""


class Presence(enum.Enum):
    """Whether a thing is believed to be where it was last seen; the numbers are those of the messages."""

    PRESENT = 0
    STALE = 1
    ABSENT = 2


@dataclass
class Box:
    """An upright box: centre [m] in the graph's frame, full side lengths [m] along its own axes, yaw [rad]."""

    center: FloatArray
    extent: FloatArray
    yaw: float = 0.0


@dataclass
class Attribute:
    """A unary predicate of a node with its provenance; ``stamp`` in seconds of ROS time, ``confidence`` 0..1."""

    name: str
    value: Truth
    source: str = PERCEPTION
    stamp: float = 0.0
    confidence: float = 1.0


@dataclass
class SceneNode:
    """One thing (entity instance).

    Attributes:
        instance_id: stable within a run, e.g. ``mug_1``.
        label: class name of the planning domain, original spelling.
        box: where it is; None while nobody knows. For fixtures the x axis points out of the front.
        containment: the volume that holds what is in or on it; None if it holds nothing.
        first_seen, last_seen: seconds of ROS time; only a real detection changes ``last_seen``.
        observations: number of detections merged.
    """

    instance_id: str
    label: str
    box: Box | None = None
    containment: Box | None = None
    presence: Presence = Presence.PRESENT
    attributes: dict[str, Attribute] = field(default_factory=dict)
    source: str = PERCEPTION
    first_seen: float = 0.0
    last_seen: float = 0.0
    observations: int = 0
    confidence: float = 1.0


@dataclass
class Relation:
    """A triple subject-predicate-object with provenance."""

    subject: str
    predicate: str
    object: str
    value: Truth = Truth.TRUE
    source: str = PERCEPTION
    stamp: float = 0.0
    confidence: float = 1.0


@dataclass
class SceneGraph:
    """Nodes by instance id and relations; ``revision`` grows with every change of content.

    Attributes:
        frame_id: frame of all poses; empty in a world that has none, where a place is all that there is to know.
        stamp: seconds of ROS time of the newest image that was merged.
        domain: name of the planning domain.
        limits: relation -> how many of it there can be at a time, as far as that has shown, see `counts`.
    """

    frame_id: str = "map"
    stamp: float = 0.0
    domain: str = ""
    revision: int = 0
    nodes: dict[str, SceneNode] = field(default_factory=dict)
    relations: list[Relation] = field(default_factory=list)
    limits: dict[str, int] = field(default_factory=dict)
