"""The executor's memory on ROS: what perception publishes goes in, what a skill needs comes out, a file keeps it."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rclpy.clock import JumpThreshold
from rclpy.duration import Duration
from tf2_msgs.msg import TFMessage

from graph_planner_ros import msg as messages
from graph_planner_ros.conversions import detection_from_msg, from_stamp, matrix_from_transform, step_from_msg
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.nodes.base import LATCHED, SENSOR, TRANSFORMS, ManagedNode
from graph_planner_ros.perception.transforms import TransformBuffer, TransformError
from graph_planner_ros.scene.belief import place_relation
from graph_planner_ros.scene.graph import SceneGraph
from graph_planner_ros.skills.memory import Mask, MemoryFileError, Sighting, SkillMemory
from graph_planner_ros.skills.task_objects import TaskObjects, is_movable, task_objects

TRANSFORM_TIMEOUT = 1.0
"""Longest wait [s, ROS time] of detections for the robot's pose at their time."""
LARGEST_IMAGE = 16384
"""Most rows or columns [pixels] that a detection's window may reach to; more is a damaged message."""


class TaskMemory:
    """Notes where the things of the running task are seen, and from where (GraphThink III-B).

    `recall`, `forget` and `len` may be called on any thread, all else on the executor thread.

    Args:
        node: whose interfaces are used. domain: of its plans.
        base_frame: frame of the robot's base. file: keeps the memory over restarts; None: nothing does.
    """

    def __init__(self, node: ManagedNode, domain: Domain, base_frame: str, file: Path | None) -> None:
        self._node, self._domain, self._base_frame, self._file = node, domain, base_frame, file
        self._lock = threading.Lock()
        self._memory = self._load()
        self._from_file = len(self._memory) > 0
        self._graph: SceneGraph | None = None
        self._task, self._objects, self._following = "", TaskObjects(), False
        self._pending: messages.Detections | None = None
        self._saver: threading.Thread | None = None
        self._buffer = TransformBuffer()
        subscribe = node.create_subscription
        self._entities: list[Any] = [
            subscribe(TFMessage, "/tf", functools.partial(self._on_transforms, False), TRANSFORMS),
            subscribe(TFMessage, "/tf_static", functools.partial(self._on_transforms, True), LATCHED),
            subscribe(messages.Detections, "detections", self._on_detections, SENSOR),
        ]
        self._jump = node.get_clock().create_jump_callback(
            JumpThreshold(min_forward=None, min_backward=Duration(seconds=-0.1), on_clock_change=False),
            post_callback=self._on_jump,
        )

    def destroy(self) -> None:
        """Save what is remembered and destroy the interfaces."""
        self._jump.unregister()
        self._node.destroy_all(self._entities)
        self._entities = []
        self._wait_saved()
        with self._lock:
            memory = self._memory.copy()
        self._save(memory)

    # ---- what the executor tells and asks

    def __len__(self) -> int:
        with self._lock:
            return len(self._memory)

    def put_graph(self, graph: SceneGraph) -> None:
        """Take a newer belief; it says in what place the seen things are."""
        self._graph = graph

    def follow(self, plan: messages.Plan) -> None:
        """Watch for what a plan in force is about; the memory is saved when the plan of a task has come to its end."""
        active = plan.status == messages.Plan.ACTIVE
        if active:
            actions = [step_from_msg(subtask).action for subtask in plan.subtasks]
            objects = task_objects(self._domain, plan.goal, actions)
            if plan.task_id == self._task:
                objects |= self._objects  # later plans of a task may no longer name what is dealt with
            if (plan.task_id, objects) != (self._task, self._objects):
                self._task, self._objects = plan.task_id, objects
                with self._lock:
                    self._memory.watch(objects.labels, objects.instances)
        elif self._following:
            self._pending = None
            self._save_later()
        self._following = active

    def recall(self, instance_id: str) -> Sighting | None:
        """Return the last sighting of a thing."""
        with self._lock:
            return self._memory.recall(instance_id)

    def forget(self, instance_ids: Iterable[str]) -> None:
        """Drop the sightings of things that were not where they were seen."""
        with self._lock:
            for instance_id in instance_ids:
                self._memory.forget(instance_id)

    # ---- subscriptions

    def _on_transforms(self, static: bool, message: TFMessage) -> None:
        for item in message.transforms:
            try:
                pose, stamp = matrix_from_transform(item.transform), from_stamp(item.header.stamp)
                self._buffer.add(item.header.frame_id, item.child_frame_id, pose, stamp, static)
            except ValueError as error:
                self._node.warn_once(f"tf {item.child_frame_id}", f"'{item.child_frame_id}' refused: {error}")
        self._try_pending()

    def _on_detections(self, message: messages.Detections) -> None:
        if not self._following:
            return
        stamp = from_stamp(message.header.stamp)
        if self._from_file:
            self._from_file = False
            with self._lock:
                self._memory.time_jumped(stamp)  # the file may be of a simulation that ran before
        if self._graph is not None and self._graph.frame_id != message.header.frame_id:
            text = f"detections in frame '{message.header.frame_id}' are not noted; the belief's is"
            self._node.warn_once("frame", f"{text} '{self._graph.frame_id}'")
            return
        self._try_pending()
        if self._pending is None and any(map(self._wants, message.detections)):
            self._pending = message  # while one waits for its transform, newer ones are let go: there are many
            self._try_pending()

    def _try_pending(self) -> None:
        """Note the waiting detections as soon as it is known where the robot was when they were made."""
        message = self._pending
        if message is None:
            return
        stamp = from_stamp(message.header.stamp)
        try:
            base = self._buffer.lookup(message.header.frame_id, self._base_frame, stamp)
        except TransformError as error:
            if self._node.now() - stamp > TRANSFORM_TIMEOUT:
                self._pending = None
                self._node.warn_once(
                    "waypoint", f"what is seen is not noted while the robot's pose is unknown: {error}"
                )
            return
        self._pending = None
        waypoint = float(base[0, 3]), float(base[1, 3]), math.atan2(float(base[1, 0]), float(base[0, 0]))
        for detection in filter(self._wants, message.detections):
            try:
                seen = self._sighting(detection, waypoint, stamp)
            except ValueError as error:
                self._node.warn_once("detection", f"a detection of {detection.instance_id} is not noted: {error}")
                continue
            with self._lock:
                self._memory.observe(seen)

    def _wants(self, detection: messages.Detection) -> bool:
        """Whether it is a whole, movable thing of the task, known to the belief and with a position."""
        placed = detection.extent.x > 0.0 or detection.extent.y > 0.0 or detection.extent.z > 0.0
        if not detection.instance_id or detection.part or not placed or not is_movable(self._domain, detection.label):
            return False
        with self._lock:
            return self._memory.wants(detection.instance_id, detection.label)

    def _sighting(self, detection: messages.Detection, waypoint: tuple[float, float, float], stamp: float) -> Sighting:
        """Return the detection as a sighting; ValueError says what is wrong with it."""
        at, size, roi = detection.position, detection.extent, detection.roi
        if not all(map(math.isfinite, (at.x, at.y, at.z, size.x, size.y, size.z))):
            raise ValueError("its position or extent is not finite")
        height, width = roi.y_offset + roi.height, roi.x_offset + roi.width
        if max(height, width) > LARGEST_IMAGE:
            raise ValueError(f"its window reaches to row {height} and column {width}")
        mask = detection_from_msg(detection, height, width).mask
        relation = place_relation(self._graph, detection.instance_id) if self._graph is not None else None
        return Sighting(
            detection.instance_id,
            detection.label,
            (at.x, at.y, at.z),
            waypoint,
            stamp,
            relation.object if relation is not None else "",
            Mask.encode(mask) if mask.size else None,
            (size.x, size.y, size.z),
        )

    def _on_jump(self, _: Any) -> None:
        self._buffer.clear()
        self._graph, self._pending = None, None
        with self._lock:
            self._memory.time_jumped(self._node.now())

    # ---- the file

    def _load(self) -> SkillMemory:
        if self._file is None:
            return SkillMemory()
        try:
            return SkillMemory.load(self._file)
        except FileNotFoundError:
            return SkillMemory()
        except (MemoryFileError, OSError) as error:
            self._node.get_logger().error(f"the stored memory is not used: {error}")
            damaged = isinstance(error, MemoryFileError)
        if damaged:
            try:
                self._file.replace(self._file.with_name(self._file.name + ".unreadable"))
            except OSError as error:
                self._node.get_logger().error(f"{self._file} cannot be kept aside: {error}")
        return SkillMemory()

    def _save_later(self) -> None:
        """Save on a thread of its own, since a disk may take its time."""
        if self._file is None:
            return
        self._wait_saved()
        with self._lock:
            memory = self._memory.copy()
        self._saver = threading.Thread(target=self._save, args=(memory,), name="save memory", daemon=True)
        self._saver.start()

    def _save(self, memory: SkillMemory) -> None:
        if self._file is None:
            return
        try:
            memory.save(self._file)
        except OSError as error:
            self._node.get_logger().error(f"the executor's memory is not saved in {self._file}: {error}")

    def _wait_saved(self) -> None:
        if self._saver is not None:
            self._saver.join(timeout=10.0)
            self._saver = None
