"""The robot's body as MuJoCo elements: holonomic base, lift, telescopic arm, two-finger gripper and a head camera.

Every joint is zero at the start pose, so a freshly reset simulation keeps the robot standing there. The actuators take
velocities and hold the integral of what they were given, so that motion is smooth at the rate of the physics.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import mujoco

BASE_RADIUS = 0.25
"""Radius [m] of the footprint; with the arm retracted nothing of the robot reaches beyond it."""
CARRY_HEIGHT = 1.0
"""Height [m] of the grasp point while driving."""
WRIST_FORWARD = 0.14
"""Distance [m] from the base axis to the wrist axis with the arm retracted."""
HAND_LENGTH = 0.175
"""Distance [m] from the wrist axis to the grasp point between the fingers."""
FINGER_TIP = 0.02
"""Distance [m] from the grasp point to the finger tips."""
FINGER_THICKNESS = 0.010
ROD_FORWARD, ROD_LEFT = 0.09, 0.075
"""Tip of the drawn-in rod beside the wrist, from the wrist axis [m]; it presses switches while the hand is full."""
ROD_LENGTH, ROD_SEGMENTS = 0.64, 2
"""How far the telescopic rod comes out [m]."""
ARM_HALF_HEIGHT = 0.02
ARM_HALF_WIDTH = 0.03
ARM_SEGMENTS = 3
ARM_LENGTH = 0.78
"""Longest arm extension [m]."""
LIFT_RANGE = (0.12, 1.6)
"""Height [m] of the arm's axis."""
OPENING = 0.13
"""Widest gripper opening [m]."""
HEAD_HEIGHT = 1.45
CAMERA = "head_camera"
CAMERA_FOVY = 58.0
ROBOT_CONTYPE, ROBOT_CONAFFINITY = 2, 1
"""Collision bits: the robot touches the world (1/1) but not itself."""
CARRY_WELDS = 4
"""How many things inside a carried receptacle can be held fast in it."""

GRASP_WELD, HANDLE_CONNECT, CARRY_WELD = "robot_grasp", "robot_handle", "robot_carry_"


@dataclass(frozen=True)
class JointSpec:
    """A driven joint: limits of its position (of its actuator), speed [m/s or rad/s], acceleration, gains."""

    lower: float
    upper: float
    speed: float
    acceleration: float
    kp: float
    kv: float
    force: float


JOINTS: dict[str, JointSpec] = {
    "base_x": JointSpec(-50, 50, 0.8, 1.6, 40000, 2400, 500),
    "base_y": JointSpec(-50, 50, 0.8, 1.6, 40000, 2400, 500),
    "base_yaw": JointSpec(-1e4, 1e4, 1.5, 4.0, 6000, 360, 250),
    "lift": JointSpec(LIFT_RANGE[0], LIFT_RANGE[1], 0.5, 1.5, 9000, 400, 250),
    "arm": JointSpec(0.0, ARM_LENGTH, 0.6, 1.5, 9000, 300, 120),
    "rod": JointSpec(0.0, ROD_LENGTH, 0.5, 2.0, 800, 30, 20),
    "wrist_pitch": JointSpec(0.0, math.pi / 2, 2.5, 8.0, 120, 4, 25),
    "wrist_roll": JointSpec(-math.pi, math.pi, 3.0, 10.0, 40, 1.2, 8),
    "gripper": JointSpec(0.0, OPENING / 2, 0.10, 1.0, 1500, 60, 12),
    "head_pan": JointSpec(-math.pi, math.pi, 2.5, 8.0, 60, 3, 15),
    "head_tilt": JointSpec(-0.6, 1.45, 2.0, 8.0, 60, 3, 15),
}
"""Driven joints by the robot's own names: ``arm`` is the sum of its segments, ``gripper`` one finger's travel.
``wrist_pitch`` 0 points the hand forward, pi/2 down; ``head_tilt`` is positive downwards."""

HOME: dict[str, float] = {
    "lift": CARRY_HEIGHT + HAND_LENGTH, "arm": 0.0, "rod": 0.0, "wrist_pitch": math.pi / 2, "wrist_roll": 0.0,
    "gripper": 0.0, "head_pan": 0.0, "head_tilt": 0.5,
}  # fmt: skip
"""Joint positions (in the units of JOINTS) at which the model's joints are zero."""


def _geom(body: object, kind: mujoco.mjtGeom, size: list[float], pos: list[float], rgba: list[float],
          mass: float, name: str = "", solid: bool = True, friction: float = 1.0) -> None:  # fmt: skip
    geom = body.add_geom(type=kind, size=size + [0.0] * (3 - len(size)), pos=pos, rgba=rgba, mass=mass)  # type: ignore[attr-defined]
    geom.contype, geom.conaffinity = (ROBOT_CONTYPE, ROBOT_CONAFFINITY) if solid else (0, 0)
    geom.friction = [friction, 0.02, 0.001]
    if name:
        geom.name = name


def _joint(body: object, name: str, kind: mujoco.mjtJoint, axis: list[float], armature: float = 0.01) -> None:
    body.add_joint(name=name, type=kind, axis=axis, armature=armature)  # type: ignore[attr-defined]


BOX, CYLINDER = mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_CYLINDER
SLIDE, HINGE = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE
DARK, GREY, LIGHT, BLUE = [0.15, 0.15, 0.17, 1], [0.45, 0.46, 0.5, 1], [0.85, 0.86, 0.88, 1], [0.2, 0.35, 0.6, 1]


def add_robot(spec: mujoco.MjSpec, position: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> None:
    """Add the robot to a world before it is compiled.

    Args:
        position: x [m], y [m], yaw [rad] of the base in the map at the start.
    """
    x, y, yaw = position
    c, s = math.cos(yaw), math.sin(yaw)
    base = spec.worldbody.add_body(name="base_link", pos=[x, y, 0.0],
                                   quat=[math.cos(yaw / 2), 0, 0, math.sin(yaw / 2)])  # fmt: skip
    # The slides run along the map's axes whatever way the robot faces at the start.
    _joint(base, "base_x", SLIDE, [c, -s, 0.0])
    _joint(base, "base_y", SLIDE, [s, c, 0.0])
    _joint(base, "base_yaw", HINGE, [0, 0, 1])
    _geom(base, CYLINDER, [BASE_RADIUS, 0.05], [0, 0, 0.075], DARK, 25.0, "robot_base")
    _geom(base, BOX, [0.03, 0.045, 0.66], [-0.17, 0, 0.785], LIGHT, 4.0, "robot_mast")
    _add_head(base)
    _add_arm(base)
    for body in [base, *base.find_all(mujoco.mjtObj.mjOBJ_BODY)]:
        body.gravcomp = 1.0
    _add_actuators(spec)
    _add_equalities(spec)


def _add_head(base: object) -> None:
    pan = base.add_body(name="head_pan_link", pos=[-0.13, 0, HEAD_HEIGHT])  # type: ignore[attr-defined]
    _joint(pan, "head_pan", HINGE, [0, 0, 1])
    _geom(pan, CYLINDER, [0.03, 0.02], [0, 0, -0.02], GREY, 0.3, solid=False)
    tilt = pan.add_body(name="head_camera", pos=[0.0, 0, 0.03])
    # Zero is the tilt at home; the camera is mounted turned by that angle, so that zero means "slightly down".
    half = HOME["head_tilt"] / 2
    tilt.quat = [math.cos(half), 0, math.sin(half), 0]
    _joint(tilt, "head_tilt", HINGE, [0, 1, 0])
    _geom(tilt, BOX, [0.02, 0.06, 0.02], [-0.02, 0, 0], DARK, 0.3, solid=False)
    # MuJoCo's camera looks along its -z with y up: x right = -y of the link, y up = z of the link.
    tilt.add_camera(name=CAMERA, pos=[0.02, 0, 0], xyaxes=[0, -1, 0, 0, 0, 1], fovy=CAMERA_FOVY,
                    resolution=[640, 480])  # fmt: skip


def _add_arm(base: object) -> None:
    lift = base.add_body(name="lift_link", pos=[0, 0, HOME["lift"]])  # type: ignore[attr-defined]
    _joint(lift, "lift", SLIDE, [0, 0, 1], 0.5)
    _geom(lift, BOX, [0.03, 0.06, 0.05], [-0.15, 0, 0], DARK, 1.0, solid=False)
    body = lift
    for index in range(ARM_SEGMENTS):
        body = body.add_body(name=f"arm_link_{index + 1}")
        _joint(body, f"arm_{index + 1}", SLIDE, [1, 0, 0], 0.2)
        shrink = 0.003 * index
        half = 0.135
        _geom(body, BOX, [half, ARM_HALF_WIDTH - shrink, ARM_HALF_HEIGHT - shrink], [WRIST_FORWARD - half, 0, 0],
              LIGHT if index % 2 else GREY, 0.4, f"robot_arm_{index + 1}")  # fmt: skip
    _geom(body, BOX, [0.01, 0.05, 0.01], [WRIST_FORWARD - 0.03, 0.04, 0], GREY, 0.05, solid=False)
    rod, half = body, ROD_LENGTH / ROD_SEGMENTS / 2 + 0.02
    for index in range(ROD_SEGMENTS):
        rod = rod.add_body(name=f"rod_link_{index + 1}")
        _joint(rod, f"rod_{index + 1}", SLIDE, [1, 0, 0], 0.02)
        middle = [WRIST_FORWARD + ROD_FORWARD - half, ROD_LEFT, 0]
        _geom(rod, CYLINDER, [0.007 - 0.002 * index, half], middle, BLUE, 0.02,
              solid=False)  # fmt: skip
        rod.first_geom().quat = [math.cos(math.pi / 4), 0, math.sin(math.pi / 4), 0]
    rod.add_site(name="rod", pos=[WRIST_FORWARD + ROD_FORWARD, ROD_LEFT, 0], size=[0.005, 0.005, 0.005], group=4)
    # At home the hand points down: the x axis of wrist and hand runs from the wrist to the finger tips.
    wrist = body.add_body(name="wrist_link", pos=[WRIST_FORWARD, 0, 0])
    wrist.quat = [math.cos(math.pi / 4), 0, math.sin(math.pi / 4), 0]
    _joint(wrist, "wrist_pitch", HINGE, [0, 1, 0], 0.02)
    _geom(wrist, BOX, [0.02, 0.025, 0.018], [0.005, 0, 0], DARK, 0.2, "robot_wrist")
    hand = wrist.add_body(name="gripper")
    _joint(hand, "wrist_roll", HINGE, [1, 0, 0], 0.01)
    palm = HAND_LENGTH - 0.07
    _geom(hand, BOX, [palm / 2, 0.02, 0.015], [palm / 2, 0, 0], GREY, 0.1, "robot_hand")
    _geom(hand, BOX, [0.012, 0.068, 0.015], [palm, 0, 0], BLUE, 0.1, "robot_palm")
    hand.add_site(name="grasp", pos=[HAND_LENGTH, 0, 0], size=[0.005, 0.005, 0.005], group=4)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        finger = hand.add_body(name=f"finger_{side}", pos=[0, 0, 0])
        _joint(finger, f"finger_{side}", SLIDE, [0, sign, 0], 0.05)
        length = (HAND_LENGTH + FINGER_TIP - palm) / 2
        thick = FINGER_THICKNESS / 2
        _geom(finger, BOX, [length, thick, 0.011], [palm + length, sign * thick, 0], DARK, 0.05,
              f"robot_finger_{side}", friction=1.5)  # fmt: skip


def actuator_shares() -> dict[str, list[tuple[str, float]]]:
    """Robot joint -> the model joints that carry it out, with each one's share of the position."""
    shares = {name: [(name, 1.0)] for name in JOINTS}
    shares["arm"] = [(f"arm_{index + 1}", 1.0 / ARM_SEGMENTS) for index in range(ARM_SEGMENTS)]
    shares["rod"] = [(f"rod_{index + 1}", 1.0 / ROD_SEGMENTS) for index in range(ROD_SEGMENTS)]
    shares["gripper"] = [("finger_left", 1.0), ("finger_right", 1.0)]
    return shares


def _add_actuators(spec: mujoco.MjSpec) -> None:
    for name, parts in actuator_shares().items():
        joint = JOINTS[name]
        for part, _ in parts:
            actuator = spec.add_actuator(name=part, target=part, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            actuator.set_to_intvelocity(kp=joint.kp, kv=joint.kv)
            actuator.actlimited = mujoco.mjtLimited.mjLIMITED_FALSE
            actuator.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
            actuator.forcerange = [-joint.force, joint.force]


def _add_equalities(spec: mujoco.MjSpec) -> None:
    """Inactive constraints that `MujocoRobot` points at whatever is grasped (grasp assist)."""
    names = [GRASP_WELD, *(f"{CARRY_WELD}{index}" for index in range(CARRY_WELDS)), HANDLE_CONNECT]
    for name in names:
        kind = mujoco.mjtEq.mjEQ_CONNECT if name == HANDLE_CONNECT else mujoco.mjtEq.mjEQ_WELD
        equality = spec.add_equality(name=name, type=kind, objtype=mujoco.mjtObj.mjOBJ_BODY)
        equality.name1, equality.name2, equality.active = "gripper", "base_link", False
        equality.solref = [0.01, 1.0]
        equality.solimp = [0.95, 0.99, 0.001, 0.5, 2.0]
