"""The robot alone in an empty world: it stands, its joints go where they are sent, and it reports what it should."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

from graph_planner_ros.sim.robot import MujocoRobot
from graph_planner_ros.sim.robot_model import BASE_RADIUS, CARRY_HEIGHT, OPENING, WRIST_FORWARD, add_robot


class EmptyWorld:
    """A floor, the robot and one block in front of it."""

    def __init__(self, position: tuple[float, float, float] = (0.3, -0.2, 0.7), block: float = 0.05) -> None:
        spec = mujoco.MjSpec()
        spec.option.enableflags |= int(mujoco.mjtEnableBit.mjENBL_SLEEP)
        spec.option.timestep, spec.option.integrator = 0.004, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1])
        ahead = np.array([math.cos(position[2]), math.sin(position[2])]) * 0.6 + position[:2]
        stand = spec.worldbody.add_body(name="stand", pos=[*ahead, 0.4])
        stand.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.15, 0.15, 0.4])
        body = spec.worldbody.add_body(name="block", pos=[*ahead, 0.8 + block / 2 + 0.001])
        body.quat = [math.cos(position[2] / 2), 0, 0, math.sin(position[2] / 2)]
        body.add_freejoint()
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[block / 2] * 3, mass=0.2)
        add_robot(spec, position)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.robot: object | None = None
        mujoco.mj_forward(self.model, self.data)

    def step(self, n: int = 1) -> None:
        """Advance the physics."""
        for _ in range(n):
            mujoco.mj_step(self.model, self.data)


def _run(robot: MujocoRobot, seconds: float) -> None:
    for _ in range(round(seconds / robot.period)):
        robot.tick()


def _grasp_block(robot: MujocoRobot) -> bool:
    robot.move("gripper", OPENING / 2)
    robot.move("arm", 0.6 - WRIST_FORWARD)
    _run(robot, 2.0)
    robot.move("lift", robot.position("lift") - (robot.gripper_position[2] - 0.825))
    _run(robot, 2.0)
    robot.move("gripper", 0.0)
    _run(robot, 1.0)
    return robot.try_grasp()


def test_robot_stands_where_it_was_put() -> None:
    robot = MujocoRobot(EmptyWorld())
    _run(robot, 1.0)
    assert robot.pose == pytest.approx((0.3, -0.2, 0.7), abs=1e-3)
    assert robot.gripper_position[2] == pytest.approx(CARRY_HEIGHT, abs=2e-3)


def test_base_goes_to_map_coordinates_whatever_way_it_started() -> None:
    robot = MujocoRobot(EmptyWorld((0.3, -0.2, 2.5)))
    robot.move_base(-0.2, -0.6, -2.9)
    _run(robot, 4.0)
    assert robot.pose == pytest.approx((-0.2, -0.6, -2.9), abs=0.01)


def test_camera_pose_looks_along_its_z_axis_ahead_and_down() -> None:
    robot = MujocoRobot(EmptyWorld((0.0, 0.0, 0.0)))
    _run(robot, 0.1)
    pose = robot.camera_pose()
    assert pose[:3, 2] == pytest.approx([math.cos(0.5), 0.0, -math.sin(0.5)], abs=1e-3)
    assert pose[:3, 0] == pytest.approx([0.0, -1.0, 0.0], abs=1e-3)
    assert pose[2, 3] > 1.4


def test_retracted_robot_fits_into_its_footprint() -> None:
    world = EmptyWorld((0.0, 0.0, 0.0))
    robot = MujocoRobot(world)
    solid = [g for g in range(world.model.ngeom)
             if int(world.model.geom_bodyid[g]) in robot.body_ids and world.model.geom_contype[g]]  # fmt: skip
    for geom in solid:
        size, center = world.model.geom_aabb[geom][3:], world.data.geom_xpos[geom]
        corners = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]) * size
        points = center + corners @ world.data.geom_xmat[geom].reshape(3, 3).T
        if world.model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_CYLINDER:
            assert np.hypot(points[:, 0], points[:, 1]).max() <= BASE_RADIUS + 1e-6


def test_grasp_holds_what_is_between_the_fingers_and_release_lets_go() -> None:
    robot = MujocoRobot(EmptyWorld())
    assert _grasp_block(robot)
    assert robot.holding and robot.held_body == "block"
    robot.move("lift", robot.position("lift") + 0.2)
    _run(robot, 1.5)
    assert robot.data.body("block").xpos[2] > 1.0
    robot.release()
    _run(robot, 1.0)
    assert not robot.holding
    assert robot.data.body("block").xpos[2] < 0.9


@pytest.mark.parametrize("held_for", [0.5, 3.0])
def test_a_thing_that_is_let_go_after_being_held_still_falls(held_for: float) -> None:
    robot = MujocoRobot(EmptyWorld())
    assert _grasp_block(robot)
    robot.move("lift", robot.position("lift") + 0.2)
    _run(robot, 1.5 + held_for)
    robot.release()
    robot.stop()
    _run(robot, 1.0)
    assert robot.data.body("block").xpos[2] < 0.9


def test_grasp_of_nothing_fails() -> None:
    robot = MujocoRobot(EmptyWorld())
    robot.move("gripper", 0.0)
    _run(robot, 1.0)
    assert not robot.try_grasp()
    assert not robot.holding


def test_slip_is_felt_while_lifting() -> None:
    robot = MujocoRobot(EmptyWorld())
    robot.slip_next = True
    assert _grasp_block(robot)
    robot.move("lift", robot.position("lift") + 0.2)
    _run(robot, 1.5)
    assert not robot.holding


def test_stop_leaves_the_robot_still_and_ready() -> None:
    robot = MujocoRobot(EmptyWorld())
    robot.move_base(1.5, 1.0, 0.0)
    robot.move("arm", 0.5)
    _run(robot, 0.7)
    robot.stop()
    _run(robot, 0.5)
    before = robot.joint_states()
    _run(robot, 0.5)
    assert robot.joint_states() == pytest.approx(before, abs=2e-3)
    robot.move("arm", 0.0)
    _run(robot, 2.0)
    assert robot.position("arm") == pytest.approx(0.0, abs=2e-3)


def test_same_seed_same_motion() -> None:
    states = []
    for _ in range(2):
        robot = MujocoRobot(EmptyWorld())
        assert _grasp_block(robot)
        states.append(robot.joint_states())
    assert states[0] == states[1]
