"""How the fingers go around a thing: where, turned how, opened how far, and what they must feel if it is the right one.

Everything here follows from believed boxes; the hand's own opening and height then say whether that was true.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.scene.graph import Box, SceneNode
from graph_planner_ros.sim.motion import TIP, SkillFailure
from graph_planner_ros.sim.robot_model import FINGER_THICKNESS, OPENING
from graph_planner_ros.sim.skill_context import long_side

FloatArray = NDArray[np.float64]
WALL = 0.006
"""Thickness [m] of a vessel's wall."""
PLAY = 0.016
"""How much farther [m] than the thing is wide the fingers open between the ends of a vessel."""
LEAST_PLAY = 0.006
ABOVE_RIM = 0.006
"""Gap [m] between the finger tips and a rim that they stay above."""
DEEP = 0.012
"""How far [m] the tips must reach down beside a thing that stands out of a vessel without room for fingers."""
SLACK = 0.004
TRIES_IN_VESSEL = 7
SIDESTEP, NUDGE = 0.009, 0.005
"""How far the hand moves [m] away from a rim, and towards a finger that came down on the thing itself."""
THIN = 0.012
"""Opening [m] below which the fingers hold a vessel's wall or nothing."""
AIR = 0.004
"""How far [m] above the believed top of a thing finger tips can still have hold of it, given how boxes err."""


@dataclass(frozen=True)
class Try:
    """One try, as changes to the grip: turn of the wrist [rad], height and reach [m]."""

    turn: float = 0.0
    sink: float = 0.0
    farther: float = 0.0


@dataclass(frozen=True)
class Grip:
    """How to take hold of a thing.

    Attributes:
        point: where the hand goes down (2,), in the map [m].
        closing: heading of the fingers' closing axis [rad].
        opening, retry_opening: how far to open at first and after a failed try [m].
        felt: least and greatest opening [m] at which it can be this thing that is between the fingers.
        top: believed height of its top [m] in the map.
        tries: what to try one after the other.
        lowest: height [m] below which the grasp point must not go.
        rim: believed height of the rim of the movable receptacle that it lies in [m]; None if it is in none.
    """

    point: FloatArray
    closing: float
    opening: float
    retry_opening: float
    felt: tuple[float, float]
    top: float
    tries: tuple[Try, ...]
    rim: float | None = None
    lowest: float = 0.0

    @property
    def in_vessel(self) -> bool:
        """Whether it lies in a movable receptacle."""
        return self.rim is not None

    def contradiction(self, opening: float, height: float) -> str:
        """Why what is held cannot be it, by this opening and height of the grasp point [m]; empty if it may be."""
        if opening > self.felt[1]:
            return f"what the fingers hold is {100 * opening:.1f} cm wide, more than {100 * self.felt[1]:.1f} cm"
        if opening < self.felt[0]:
            return f"what the fingers hold is {100 * opening:.1f} cm wide, less than {100 * self.felt[0]:.1f} cm"
        if height - TIP > self.top + AIR:
            return f"the fingers hold something {100 * (height - TIP - self.top):.1f} cm above its top"
        return ""


def grip_in_the_open(box: Box) -> Grip:
    """Around a thing that stands free: across its long side."""
    length, width, heading = long_side(box)
    # What is seen from one side only may look flatter than it is, but nothing then looks much longer than wide.
    widest = width + 0.03 if length > 3 * width else length + 0.025
    tries = (
        Try(),
        Try(sink=-0.012, farther=0.015),  # what is seen from one side only is a little farther away than it seems
        Try(turn=np.pi / 4),
        Try(turn=np.pi / 2),
        Try(sink=-0.005, farther=-0.015),
    )
    top = float(box.center[2] + box.extent[2] / 2)
    opening = min(max(width + 0.05, 0.09), OPENING)
    return Grip(box.center[:2], heading + np.pi / 2, opening, OPENING, (0.2 * width, widest), top, tries)


def grip_in_vessel(item: SceneNode, box: Box, vessel: SceneNode, holder: Box) -> Grip:
    """Out of a movable receptacle: the fingers go down between its ends and close along its long side.

    Raises:
        SkillFailure: the vessel leaves no room for fingers beside the thing, which lies deep in it.
    """
    long, short, axis = long_side(holder)
    length, width, heading = long_side(box)
    if long < 1.2 * short:  # a round vessel has no long side; the thing may have a narrow one
        axis = heading + np.pi / 2
    span = float(np.hypot(length * np.cos(axis - heading), width * np.sin(axis - heading)))
    across = float(np.hypot(length * np.sin(axis - heading), width * np.cos(axis - heading)))
    room = long - 2 * (WALL + FINGER_THICKNESS) - LEAST_PLAY
    top = float(box.center[2] + box.extent[2] / 2)
    rim = float(holder.center[2] + holder.extent[2] / 2)
    if span > room and top < rim + ABOVE_RIM + DEEP:
        reason = f"{item.instance_id} lies too deep in {vessel.instance_id}, which leaves no room for the fingers"
        raise SkillFailure("not_reachable", reason, recoverable=False)
    opening = float(np.clip(span + PLAY, 0.02, max(room, span + 2 * LEAST_PLAY)))
    # It lies within the walls, and the fingers need their own room there.
    u = np.array([np.cos(axis), np.sin(axis)])
    v = np.array([-u[1], u[0]])
    offset = box.center[:2] - holder.center[:2]
    ends = max(long / 2 - WALL - FINGER_THICKNESS - opening / 2 - SLACK, 0.0)
    sides = max(short / 2 - WALL - across / 2, 0.0)
    along = float(np.clip(offset @ u, -ends, ends))
    aside = float(np.clip(offset @ v, -sides, sides))
    # Wider than half-way to the vessel's own width it is the vessel.
    widest = span + float(np.clip((short - span) / 2, 0.008, 0.018))
    point = holder.center[:2] + along * u + aside * v
    felt = (max(THIN, 0.35 * span), widest)
    lowest = rim + ABOVE_RIM + TIP if span > room else 0.0
    return Grip(point, axis, opening, opening, felt, top, (Try(),) * TRIES_IN_VESSEL, rim, lowest)


def feel_the_way(grip: Grip, tips: FloatArray, tip_height: float, count: int) -> FloatArray:
    """Where to go down next after finger tips met something in or on a vessel: a step (2,) in the map [m].

    Args:
        tips: unit vector (2,) from the middle of the hand to the finger that met it; zero if both did, or none.
        tip_height: where that was [m]. count: how many tries there have been.
    """
    assert grip.rim is not None
    if np.any(tips):
        on_rim = abs(tip_height - grip.rim) < 0.012
        return np.asarray(-SIDESTEP * tips if on_rim else NUDGE * tips)
    aside = np.array([-np.sin(grip.closing), np.cos(grip.closing)])
    return np.asarray(aside * SIDESTEP * count * (1 if count % 2 else -1))
