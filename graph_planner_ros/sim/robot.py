"""The simulated robot: joint motion, what it feels, and the grasp assist."""

from __future__ import annotations

import math
from typing import Any, Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.sim.robot_model import (
    CAMERA,
    CARRY_WELD,
    CARRY_WELDS,
    GRASP_WELD,
    HAND_LENGTH,
    HANDLE_CONNECT,
    HOME,
    JOINTS,
    actuator_shares,
    add_robot,
)
from graph_planner_ros.sim.touch import Touch
from graph_planner_ros.sim.waking import stay_awake

__all__ = ["MujocoRobot", "SimWorld", "add_robot", "wrap_angle"]

FloatArray = NDArray[np.float64]
CONTROL_PERIOD = 0.02
"""Time [s] between two control ticks."""
OPTICAL = np.array([[1.0, 0, 0], [0, -1.0, 0], [0, 0, -1.0]])
"""MuJoCo's camera axes (x right, y up, z back) to optical ones (x right, y down, z forward)."""


class SimWorld(Protocol):
    """What the robot needs of its world; `KitchenWorld` is one."""

    model: Any
    data: Any

    robot: Any

    def step(self, n: int = 1) -> None:
        """Advance the physics by ``n`` steps."""


def wrap_angle(angle: float) -> float:
    """The same angle [rad] in [-pi, pi)."""
    return (angle + math.pi) % (2 * math.pi) - math.pi


class MujocoRobot:
    """Drives the joints with bounded speed and acceleration and holds things.

    Targets are positions in the robot's own units (see `robot_model.JOINTS`); base targets are map coordinates.

    Args:
        seed: for the small noise of grasps that slip by chance; 0 chance by default.
    """

    def __init__(self, world: SimWorld, seed: int = 0) -> None:
        self.world, self.model, self.data = world, world.model, world.data
        self.random = np.random.default_rng(seed)
        self.slip_next = False
        self._slip_height: float | None = None
        self._handle_body: int | None = None
        self._read_model()
        self.reset()
        world.robot = self  # its disturbances act through it

    def _read_model(self) -> None:
        model = self.model
        self._parts: dict[str, list[tuple[int, int, int, float]]] = {}
        for name, parts in actuator_shares().items():
            entries = []
            for part, share in parts:
                joint, actuator = model.joint(part), model.actuator(part)
                act = int(model.actuator_actadr[actuator.id])
                entries.append((int(joint.qposadr[0]), act, actuator.id, share))
            self._parts[name] = entries
        base = model.body("base_link")
        yaw = 2 * math.atan2(model.body_quat[base.id][3], model.body_quat[base.id][0])
        self._offset = {"base_x": base.pos[0], "base_y": base.pos[1], "base_yaw": yaw, **HOME}
        self._base, self._hand = base.id, model.body("gripper").id
        self._site, self._rod = model.site("grasp").id, model.site("rod").id
        self._camera = model.camera(CAMERA).id
        self.touch = Touch(model, self.data)
        self.body_ids = self.touch.body_ids
        self._bits = {geom: (int(model.geom_contype[geom]), int(model.geom_conaffinity[geom]))
                      for geom in self.touch.hand_geoms}  # fmt: skip
        self._ticks = max(1, round(CONTROL_PERIOD / model.opt.timestep))
        self.period = self._ticks * model.opt.timestep

    def reset(self) -> None:
        """Forget targets and what is held; keep the joints where they are."""
        self.speed_scale: dict[str, float] = {}
        self._direct: set[str] = set()
        self._letting_go = False
        self._velocity = dict.fromkeys(JOINTS, 0.0)
        self._target = {name: self.position(name) for name in JOINTS}

    # --- joints -----------------------------------------------------------------------------------------------
    def position(self, joint: str) -> float:
        """Measured position of a robot joint [m or rad], base joints in the map."""
        total = sum(self.data.qpos[qpos] for qpos, _, _, _ in self._parts[joint])
        if joint == "gripper":
            total /= 2
        return float(total + self._offset[joint])

    def commanded(self, joint: str) -> float:
        """Position that the actuator is asked for right now."""
        total = sum(self.data.act[act] for _, act, _, _ in self._parts[joint])
        if joint == "gripper":
            total /= 2
        return float(total + self._offset[joint])

    def target(self, joint: str) -> float:
        """Where the joint is going."""
        return self._target[joint]

    def move(self, joint: str, position: float, speed: float = 1.0) -> None:
        """Send a joint towards a position; ``speed`` is a share (0..1] of its top speed."""
        spec = JOINTS[joint]
        self._target[joint] = min(max(position, spec.lower), spec.upper)
        self.speed_scale[joint] = speed
        self._direct.discard(joint)
        if joint == "gripper":
            self._letting_go = False

    def follow(self, joint: str, position: float) -> None:
        """Set the next point of a trajectory: the joint is there after one control period, its top speed permitting."""
        spec = JOINTS[joint]
        self._target[joint] = min(max(position, spec.lower), spec.upper)
        self._direct.add(joint)

    def move_base(self, x: float, y: float, yaw: float, speed: float = 1.0) -> None:
        """Send the base straight to a pose, turning the short way."""
        self.move("base_x", x, speed)
        self.move("base_y", y, speed)
        here = self.commanded("base_yaw")
        self.move("base_yaw", here + wrap_angle(yaw - here), speed)

    def arrived(self, *joints: str, tolerance: float = 0.004) -> bool:
        """True if every named joint has come to its target and the robot's body has followed."""
        return all(
            abs(self.commanded(joint) - self._target[joint]) < 1e-3
            and abs(self.position(joint) - self._target[joint]) < tolerance
            for joint in joints
        )

    def stop(self) -> None:
        """Stand still here and now: targets become the present positions."""
        for joint in JOINTS:
            if joint == "gripper" and (self.touch.held is not None or self._letting_go):
                continue  # fingers that let go do so to the end, or friction would keep the thing
            for qpos, act, actuator, _ in self._parts[joint]:
                if joint != "gripper":
                    self.data.act[act] = self.data.qpos[qpos]
                self.data.ctrl[actuator] = 0.0
            self._velocity[joint] = 0.0
            self._target[joint] = self.commanded(joint)
        self._direct.clear()

    def update(self) -> None:
        """Set the actuators' velocities for the next control period."""
        dt = self.period
        for joint, spec in JOINTS.items():
            error = self._target[joint] - self.commanded(joint)
            if joint in self._direct:
                self._drive(joint, min(max(error / dt, -spec.speed), spec.speed))
                continue
            scale = self.speed_scale.get(joint, 1.0)
            top = min(spec.speed * scale, math.sqrt(2 * spec.acceleration * scale * abs(error)), abs(error) / dt)
            wanted = math.copysign(top, error)
            change = spec.acceleration * scale * dt
            now = self._velocity[joint]
            velocity = min(max(wanted, now - change), now + change)
            if abs(velocity) > abs(error) / dt:  # never past the target
                velocity = error / dt
            self._drive(joint, velocity)

    def _drive(self, joint: str, velocity: float) -> None:
        self._velocity[joint] = velocity
        aim = self.commanded(joint) - self._offset[joint] + velocity * self.period
        top = JOINTS[joint].speed
        for _, act, actuator, share in self._parts[joint]:
            # Parts that were stopped unevenly come back to their share.
            self.data.ctrl[actuator] = min(max((aim * share - self.data.act[act]) / self.period, -top), top)

    def tick(self) -> None:
        """One control period: command, physics, and looking after what is held."""
        self.update()
        self.world.step(self._ticks)
        if self._slip_height is not None and self.touch.held is not None and self.position("lift") > self._slip_height:
            self.release()

    # --- state that others read ---------------------------------------------------------------------------------
    @property
    def pose(self) -> tuple[float, float, float]:
        """Base x [m], y [m], yaw [rad] in the map."""
        return self.position("base_x"), self.position("base_y"), wrap_angle(self.position("base_yaw"))

    def camera_pose(self) -> FloatArray:
        """4x4 transform map <- head_camera_optical_frame (z forward, x right, y down)."""
        pose = np.eye(4)
        pose[:3, :3] = self.data.cam_xmat[self._camera].reshape(3, 3) @ OPTICAL
        pose[:3, 3] = self.data.cam_xpos[self._camera]
        return pose

    @property
    def gripper_position(self) -> FloatArray:
        """Grasp point between the fingers in the map [m], shape (3,)."""
        return np.array(self.data.site_xpos[self._site])

    @property
    def rod_position(self) -> FloatArray:
        """Tip of the rod beside the wrist in the map [m], shape (3,)."""
        return np.array(self.data.site_xpos[self._rod])

    @property
    def opening(self) -> float:
        """Distance [m] between the finger pads."""
        return 2 * self.position("gripper")

    @property
    def holding(self) -> bool:
        """What the gripper itself feels: something is held between the fingers."""
        return self.touch.held is not None

    @property
    def held_body(self) -> str | None:
        """Name of the held body (for the world's disturbances; no skill decides by it)."""
        return None if self.touch.held is None else str(self.model.body(self.touch.held).name)

    @property
    def carried_bodies(self) -> tuple[str, ...]:
        """Names of the bodies that lie in the held one."""
        return tuple(str(self.model.body(body).name) for body in self.touch.carried)

    def joint_states(self) -> dict[str, float]:
        """Joint name -> position [m or rad] as for a ROS joint state."""
        states = {name: self.position(name) for name in JOINTS if name not in ("gripper",)}
        for name, (qpos, _, _, _) in zip(("finger_left", "finger_right"), self._parts["gripper"], strict=True):
            states[name] = float(self.data.qpos[qpos])
        return states

    # --- holding ------------------------------------------------------------------------------------------------
    def try_grasp(self) -> bool:
        """Hold what both fingers touch (grasp assist: a weld keeps it); False if they close on nothing."""
        touching = self.touch.fingers()
        common = touching["left"] & touching["right"]
        if not common:
            return False
        # Of several (an item in a bowl) the one nearest to the grasp point is held.
        body = min(common, key=lambda b: float(np.linalg.norm(self.data.xipos[b] - self.gripper_position)))
        self._weld(GRASP_WELD, self._hand, body)
        self.touch.held = body
        self._slip_height = self.position("lift") + 0.04 if self.slip_next else None
        self.slip_next = False
        self.touch.carried = self.touch.lying_in(body)
        for index, inside in enumerate(self.touch.carried):
            self._weld(f"{CARRY_WELD}{index}", body, inside)
        return True

    def release(self) -> None:
        """Let go of what is held, at once, and of what was carried in it; the fingers open."""
        for name in [GRASP_WELD, *(f"{CARRY_WELD}{i}" for i in range(CARRY_WELDS))]:
            self.data.eq_active[self.model.equality(name).id] = 0
        if self.touch.held is not None:
            self.move("gripper", JOINTS["gripper"].upper)
            self._letting_go = True
            for body in (self.touch.held, *self.touch.carried):
                stay_awake(self.model, self.data, body)
        self.touch.held, self.touch.carried, self._slip_height = None, [], None

    def _weld(self, name: str, first: int, second: int) -> None:
        """Point an equality at two bodies as they now stand."""
        index = self.model.equality(name).id
        position, quaternion = np.zeros(3), np.zeros(4)
        inverse_p, inverse_q = np.zeros(3), np.zeros(4)
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mju_negPose(inverse_p, inverse_q, self.data.xpos[first], self.data.xquat[first])
        mujoco.mju_mulPose(position, quaternion, inverse_p, inverse_q, self.data.xpos[second], self.data.xquat[second])
        self.model.eq_obj1id[index], self.model.eq_obj2id[index] = first, second
        self.model.eq_data[index, :3] = 0.0
        self.model.eq_data[index, 3:6], self.model.eq_data[index, 6:10] = position, quaternion
        self.model.eq_data[index, 10] = 1.0
        self.data.eq_active[index] = 1

    def grip_handle(self, body: str, point: FloatArray) -> None:
        """Hook the hand to a door's handle (assist): a ball joint between the grasp point and the handle.

        While it holds, the hand's own shape does not collide, since fingers close around a handle in a way that
        boxes cannot. Force limits of base and arm stay, so a stuck door stays stuck.
        """
        index = self.model.equality(HANDLE_CONNECT).id
        door = self.model.body(body).id
        mujoco.mj_kinematics(self.model, self.data)
        self.model.eq_obj1id[index], self.model.eq_obj2id[index] = self._hand, door
        self.model.eq_data[index, 0:3] = [HAND_LENGTH, 0, 0]
        local = self.data.xmat[door].reshape(3, 3).T @ (np.asarray(point) - self.data.xpos[door])
        self.model.eq_data[index, 3:6] = local
        self.data.eq_active[index] = 1
        self._handle_body = door
        self.hand_solid(False)

    def release_handle(self) -> None:
        """Let go of the handle; the hand stays soft until `hand_solid` is called."""
        self.data.eq_active[self.model.equality(HANDLE_CONNECT).id] = 0
        self._handle_body = None

    def hand_solid(self, solid: bool) -> None:
        """Whether palm, wrist and fingers collide with the world."""
        for geom, (contype, conaffinity) in self._bits.items():
            self.model.geom_contype[geom] = contype if solid else 0
            self.model.geom_conaffinity[geom] = conaffinity if solid else 0
