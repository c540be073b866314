"""The bridge to the MuJoCo kitchen: publishes what a robot would, and carries out its skills."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from nav_msgs.msg import Odometry
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_msgs.msg import Bool, String
from tf2_msgs.msg import TFMessage

from graph_planner_ros import msg as messages
from graph_planner_ros.bridges.mujoco import MujocoBridge
from graph_planner_ros.bridges.mujoco_loop import LoopRates, SimulationLoop, SkillRequest
from graph_planner_ros.bridges.skill_server import ServedSkill, SkillServer
from graph_planner_ros.conversions import (
    graph_to_msg,
    header,
    image_to_msg,
    intrinsics_to_msg,
    labels_to_msg,
    to_stamp,
    transform_to_msg,
    yaw_to_quaternion,
)
from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.nodes.base import IMAGES, KEPT, LATCHED, ManagedNode, Param
from graph_planner_ros.nodes.belief_messages import receive_graph
from graph_planner_ros.nodes.process import run_node
from graph_planner_ros.perception.frame import Intrinsics
from graph_planner_ros.scene.graph import MAP, SceneGraph, SceneNode
from graph_planner_ros.sim.disturbances import DisturbanceSchedule
from graph_planner_ros.sim.robot import MujocoRobot
from graph_planner_ros.sim.world import KitchenWorld
from graph_planner_ros.srv import Disturb

CAMERA = "head_camera"
OPTICAL_FRAME = "head_camera_optical_frame"
CLOCK = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)

PARAMETERS = (
    Param("domain", "household", "planning domain: a folder under config/domains, or a path"),
    Param("layout", "l_shape", "layout of the kitchen"),
    Param("seed", 0, "seed of everything random in the world", 0, 2**31 - 1),
    Param("disturbances", "[]", "JSON list of disturbances: kind, target, when"),
    Param("real_time_factor", 1.0, "simulated seconds per second; 0: as fast as possible", 0.0, 100.0),
    Param("camera_rate", 4.0, "depth and instance images per simulated second", 0.1, 30.0),
    Param("color_rate", 1.0, "colour images per simulated second, at most camera_rate; 0: none", 0.0, 30.0),
    Param("truth_rate", 2.0, "ground truth messages per simulated second; 0: none", 0.0, 30.0),
    Param("client_timeout", 10.0, "silence of the executor after which its skill is stopped, wall seconds", 0.5, 60.0),
    Param("frame_prefix", "", "prefix of all TF frames but map, for several robots"),
)


class RosSink:
    """Publishes the simulation's state; lives on the simulation's thread."""

    def __init__(self, node: MujocoNode, world: KitchenWorld, robot: MujocoRobot) -> None:
        self.node, self.world, self.robot = node, world, robot
        prefix = str(node.value("frame_prefix"))
        self.odom, self.base, self.optical = f"{prefix}odom", f"{prefix}base_link", f"{prefix}{OPTICAL_FRAME}"
        self.gripper = f"{prefix}gripper"
        height, width = int(world.options.height), int(world.options.width)
        fovy = math.radians(float(world.model.camera(CAMERA).fovy[0]))
        focal = 0.5 * height / math.tan(0.5 * fovy)
        self.width, self.height = width, height
        self.intrinsics = Intrinsics(fx=focal, fy=focal, cx=(width - 1) / 2, cy=(height - 1) / 2)
        self._last_pose: tuple[float, float, float, float] | None = None
        self._told = 0

    def clock(self, now: float) -> None:
        """Publish simulated time."""
        self.node.publish("clock", Clock(clock=to_stamp(now)))

    def robot_state(self, now: float) -> None:
        """Publish joint states, odometry and transforms."""
        names, values = zip(*sorted(self.robot.joint_states().items()), strict=True)
        self.node.publish(
            "joint_states", JointState(header=header(now), name=names, position=[float(v) for v in values])
        )
        x, y, yaw = self.robot.pose
        base = np.eye(4)
        base[:2, :2] = [[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]]
        base[:2, 3] = x, y
        camera = np.linalg.inv(base) @ self.robot.camera_pose()
        gripper = np.eye(4)
        gripper[:3, 3] = (np.linalg.inv(base) @ np.append(self.robot.gripper_position, 1.0))[:3]
        self.node.publish(
            "tf",
            TFMessage(
                transforms=[
                    transform_to_msg(self.odom, self.base, base, now),
                    transform_to_msg(self.base, self.optical, camera, now),
                    transform_to_msg(self.base, self.gripper, gripper, now),
                ]
            ),
        )
        self.node.publish("odom", self._odometry(now, x, y, yaw))

    def _odometry(self, now: float, x: float, y: float, yaw: float) -> Odometry:
        odometry = Odometry(header=header(now, self.odom), child_frame_id=self.base)
        odometry.pose.pose.position.x, odometry.pose.pose.position.y = float(x), float(y)
        odometry.pose.pose.orientation = yaw_to_quaternion(yaw)
        if self._last_pose is not None and now > self._last_pose[0]:
            before, x0, y0, yaw0 = self._last_pose
            dx, dy, dt = x - x0, y - y0, now - before
            odometry.twist.twist.linear.x = (math.cos(yaw) * dx + math.sin(yaw) * dy) / dt
            odometry.twist.twist.linear.y = (-math.sin(yaw) * dx + math.cos(yaw) * dy) / dt
            odometry.twist.twist.angular.z = math.remainder(yaw - yaw0, 2 * math.pi) / dt
        self._last_pose = (now, x, y, yaw)
        return odometry

    def images(self, now: float, color: bool) -> None:
        """Render and publish what the head camera sees."""
        depth = np.ascontiguousarray(self.world.render_depth(CAMERA), dtype=np.float32)
        instances, labels = self.world.render_instances(CAMERA)
        frame = self.optical
        node = self.node
        node.publish(
            "camera_info",
            intrinsics_to_msg(self.intrinsics, self.width, self.height, now, frame),
        )
        node.publish("labels", labels_to_msg(labels, now, frame))
        node.publish("depth", image_to_msg(depth, "32FC1", now, frame))
        node.publish("instances", image_to_msg(np.asarray(instances, dtype=np.int32), "32SC1", now, frame))
        if color:
            node.publish("rgb", image_to_msg(np.asarray(self.world.render_rgb(CAMERA)), "rgb8", now, frame))

    def holding(self, now: float) -> None:
        """Publish what the gripper feels."""
        self.node.publish("holding", Bool(data=bool(self.robot.holding)))

    def truth(self, now: float) -> None:
        """Publish ground truth; for evaluation only."""
        graph = self.world.truth_graph(self.node.domain)
        graph.stamp = now
        self.node.publish("truth", graph_to_msg(graph))
        history = self.world.disturber.history
        for told in history[self._told :]:
            self.node.publish("disturbed", String(data=told))
        self._told = len(history)


class MujocoNode(ManagedNode):
    """Owns one simulated kitchen with one robot."""

    def __init__(self, **options: Any) -> None:
        super().__init__("mujoco_bridge", PARAMETERS, **options)
        self._entities: list[Any] = []
        self._publishers_by_name: dict[str, Any] = {}
        self._loop: SimulationLoop | None = None
        self._server: SkillServer | None = None
        self._believed: list[SceneNode] = []
        self.domain: Domain

    # ---- life cycle

    def configure(self) -> None:
        """Build the kitchen and begin to simulate; skills are refused until the node is active."""
        self.domain = load_domain(self.value("domain"))
        schedule = _disturbances(self.value("disturbances"))
        layout, seed = self.value("layout"), self.value("seed")
        self._create_publishers()
        rates = LoopRates(
            real_time_factor=self.value("real_time_factor"),
            camera=self.value("camera_rate"),
            color=self.value("color_rate"),
            truth=self.value("truth_rate"),
        )

        def make() -> tuple[Any, Any, Any]:
            world = KitchenWorld(layout, seed)
            world.disturbances = schedule
            robot = MujocoRobot(cast(Any, world), seed)
            return world, robot, MujocoBridge(world, robot)

        self._loop = SimulationLoop(make, lambda world, robot: RosSink(self, world, robot), rates)
        self._loop.start()
        self._publish_fixtures(self._loop.world)
        self._server = SkillServer(self, self._begin, client_timeout=self.value("client_timeout"))
        self._entities.append(self.create_subscription(messages.SceneGraph, "scene_graph", self._on_belief, LATCHED))
        self._entities.append(
            self.create_service(Disturb, "disturb", self._on_disturb, callback_group=ReentrantCallbackGroup())
        )

    def deactivate(self) -> None:
        """Stop the running skill; the world goes on."""
        if self._server is not None:
            self._server.stop_current("the bridge was deactivated")

    def release(self) -> None:
        """End the simulation and destroy the interfaces."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.stop()
        if self._server is not None:
            self._server.destroy()
            self._server = None
        self._publishers_by_name = {}
        self.destroy_all(self._entities)
        self._entities = []

    def busy(self) -> bool:
        """Return whether a skill has not given its result yet."""
        return self._server is not None and self._server.busy

    def diagnose(self) -> tuple[bytes, str, dict[str, Any]]:
        """Say how fast the simulation runs and which skill."""
        loop = self._loop
        if loop is None:
            return DiagnosticStatus.OK, "no simulation", {}
        values = {
            "real_time_factor": f"{loop.real_time_factor:.2f}",
            "skill": loop.busy,
            "layout": self.value("layout"),
        }
        if loop.error or not loop.alive:
            return DiagnosticStatus.ERROR, loop.error or "the simulation's thread ended", values
        return DiagnosticStatus.OK, "running", values

    # ---- interfaces

    def _create_publishers(self) -> None:
        topics: dict[str, tuple[Any, str, Any]] = {
            "clock": (Clock, "/clock", CLOCK),
            "joint_states": (JointState, "joint_states", 10),
            "odom": (Odometry, "odom", 10),
            "tf": (TFMessage, "/tf", QoSProfile(depth=100)),
            "tf_static": (TFMessage, "/tf_static", LATCHED),
            "camera_info": (CameraInfo, "camera_info", IMAGES),
            "rgb": (Image, "rgb/image", IMAGES),
            "depth": (Image, "depth/image", IMAGES),
            "instances": (Image, "segmentation/image", IMAGES),
            "labels": (messages.SegmentLabels, "segmentation/labels", IMAGES),
            "holding": (Bool, "gripper/holding", 10),
            "fixtures": (messages.SceneGraph, "fixtures", LATCHED),
            "truth": (messages.SceneGraph, "ground_truth/scene_graph", LATCHED),
            "disturbed": (String, "ground_truth/disturbances", KEPT),
        }
        for name, (kind, topic, qos) in topics.items():
            self._publishers_by_name[name] = self.create_publisher(kind, topic, qos)
        self._entities = list(self._publishers_by_name.values())

    def publish(self, name: str, message: Any) -> None:
        """Publish on one of the bridge's topics (any thread)."""
        publisher = self._publishers_by_name.get(name)
        if publisher is not None:
            publisher.publish(message)

    def _publish_fixtures(self, world: KitchenWorld) -> None:
        graph = SceneGraph(frame_id="map", stamp=0.0, domain=self.domain.name)
        for info in world.fixtures.values():
            graph.nodes[info.instance_id] = SceneNode(
                info.instance_id, info.label, box=info.box, containment=info.containment, source=MAP
            )
        self.publish("fixtures", graph_to_msg(graph))
        prefix = str(self.value("frame_prefix"))
        self.publish("tf_static", TFMessage(transforms=[transform_to_msg("map", f"{prefix}odom", np.eye(4), 0.0)]))

    def _on_belief(self, message: messages.SceneGraph) -> None:
        """Keep the robot's own belief: skills keep clear of what is known beside their arguments."""
        graph = receive_graph(message, self.domain, lambda text: self.warn_once(text, text))
        if graph is not None:
            self._believed = list(graph.nodes.values())

    def _begin(
        self, served: ServedSkill, skill: str, arguments: list[SceneNode], timeout: float
    ) -> Callable[[str], None]:
        loop = self._loop
        assert loop is not None
        request = SkillRequest(skill, arguments, timeout, served, context=self._believed)
        loop.run_skill(request)
        return lambda reason: loop.stop_skill(request, reason)

    async def _on_disturb(self, request: Any, response: Any) -> Any:
        if self._loop is None or not self._loop.alive:
            response.success, response.reason = False, "no simulation runs"
            return response
        ended: Future = Future()

        def disturb(world: KitchenWorld, robot: MujocoRobot) -> None:
            answer: tuple[bool, str]
            try:
                answer = (True, world.disturb(request.kind, request.target))
            except (ValueError, KeyError) as error:
                answer = (False, str(error))
            self.on_executor(ended.set_result, answer)

        self._loop.call(disturb)
        response.success, response.reason = await ended
        return response


def _disturbances(text: str) -> DisturbanceSchedule:
    try:
        return DisturbanceSchedule.from_json(text or "[]")
    except ValueError as error:
        raise ValueError(f"parameter 'disturbances': {error}") from None


def main() -> int:
    """Run the bridge."""
    return run_node(MujocoNode, sys.argv)


if __name__ == "__main__":
    sys.exit(main())
