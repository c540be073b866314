"""Real nodes in one process, each test on its own ROS domain, with a fake bridge and a fake perception."""

from __future__ import annotations

import copy
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import rclpy
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter

from graph_planner_ros import msg as messages
from graph_planner_ros.action import ExecuteSkill, ExecuteTask
from graph_planner_ros.bridges.skill_server import ServedSkill, SkillServer
from graph_planner_ros.conversions import from_stamp, graph_from_msg, graph_to_msg, step_from_msg
from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.nodes.base import LATCHED, RELIABLE, ManagedNode, take_all
from graph_planner_ros.nodes.process import Spinner
from graph_planner_ros.scene.effects import apply_effects
from graph_planner_ros.scene.graph import MAP, Box, Relation, SceneGraph, SceneNode
from graph_planner_ros.skills.result import SkillResult, SkillStatus

T = TypeVar("T")
WAIT = 90.0
"""Bound [s] of every wait: far above what is needed, so that a busy machine does not fail a test."""


# Domains 1 to 100: above that the ports of DDS meet those that the system hands out.
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw") or 0)
_numbers = itertools.count(os.getpid())


def free_domain() -> int:
    """Return a ROS domain for one test; workers never share one."""
    return 1 + (_WORKER % 5) * 20 + next(_numbers) % 20


def wait_until(condition: Callable[[], T], what: str, timeout: float = WAIT) -> T:
    """Return the first true value of ``condition``; fail naming ``what`` after ``timeout`` seconds."""
    end = time.monotonic() + timeout
    pause = threading.Event()
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout:g} s: {what}")
        pause.wait(0.01)


def kitchen() -> SceneGraph:
    """A kitchen with an open counter and table, a closed fridge and cabinet, and nothing in sight yet."""
    import numpy as np

    graph = SceneGraph(domain="household")
    for index, (name, label) in enumerate(
        [
            ("counter_top_1", "CounterTop"),
            ("dining_table_1", "DiningTable"),
            ("fridge_1", "Fridge"),
            ("cabinet_1", "Cabinet"),
            ("sink_basin_1", "SinkBasin"),
            ("microwave_1", "Microwave"),
        ]
    ):
        box = Box(np.array([1.0 * index, 1.5, 0.5]), np.array([0.6, 0.6, 1.0]), -1.57)
        graph.nodes[name] = SceneNode(name, label, box=box, containment=copy.deepcopy(box), source=MAP)
    return graph


def add_item(graph: SceneGraph, name: str, label: str, place: str) -> None:
    """Put an item into a graph, in the middle of a place."""
    import numpy as np

    place_box = graph.nodes[place].box
    assert place_box is not None
    box = Box(place_box.center.copy(), np.array([0.07, 0.07, 0.07]))
    graph.nodes[name] = SceneNode(name, label, box=box)
    predicate = "in" if label_encloses(graph.nodes[place].label) else "on"
    graph.relations.append(Relation(name, predicate, place))


def label_encloses(label: str) -> bool:
    """Whether things are in, not on, a fixture of this class."""
    return label in ("Fridge", "Cabinet", "Microwave", "Drawer")


class FakePerception(ManagedNode):
    """Publishes a belief 20 times a second; applies effects; shows hidden things when looked for.

    A belief is stamped with the time of the beat before: whatever had ended by then has been heard of and is in it,
    as it is with images, which take a moment to become belief.
    """

    def __init__(self, graph: SceneGraph, hidden: dict[str, tuple[str, str]] | None = None, **options: Any) -> None:
        super().__init__("perception", (), **options)
        self.graph = graph
        self.hidden = dict(hidden or {})
        self.domain = load_domain("household")
        self.paused = False

    def configure(self) -> None:
        self._graphs = self.create_publisher(messages.SceneGraph, "scene_graph", LATCHED)
        self._events = self.create_subscription(
            messages.SubtaskCompleted, "events/subtask_completed", self._on_done, RELIABLE
        )
        self._beat = self.now()
        self._entities = [
            self._graphs,
            self._events,
            self.create_timer(0.05, self._publish, clock=self.steady_clock),
        ]

    def release(self) -> None:
        self.destroy_all(getattr(self, "_entities", []))
        self._entities = []

    def _on_done(self, message: Any) -> None:
        action = step_from_msg(message.subtask).action
        apply_effects(self.graph, self.domain, action, from_stamp(message.header.stamp))
        for name, (label, place) in list(self.hidden.items()):
            if place in action.arguments and action.name in ("find", "look"):
                del self.hidden[name]
                add_item(self.graph, name, label, place)

    def _publish(self) -> None:
        for message in take_all(self._events, RELIABLE.depth):
            self._on_done(message)
        self.graph.stamp, self._beat = self._beat, self.now()
        if self.active and not self.paused:
            self._graphs.publish(graph_to_msg(self.graph))


class FakeBridge(ManagedNode):
    """Succeeds at every skill, unless a script says otherwise; a skill scripted "hang" runs until it is stopped.

    Attributes:
        script: skill -> outcomes of its next calls: a SkillResult, or "hang".
        calls: (skill, argument ids) of every accepted goal. stopped: reasons of stopped skills.
    """

    def __init__(self, script: dict[str, list[Any]] | None = None, **options: Any) -> None:
        super().__init__("bridge", (), **options)
        self.script = dict(script or {})
        self.calls: list[tuple[str, tuple[str, ...]]] = []
        self.stopped: list[str] = []
        self.server: SkillServer | None = None
        self.silent = False

    def configure(self) -> None:
        self.server = SkillServer(self, self._begin, client_timeout=2.0)
        self._running: ServedSkill | None = None
        self._timer = self.create_timer(0.2, self._feedback, clock=self.steady_clock)

    def release(self) -> None:
        if self.server is not None:
            self.server.destroy()
            self.destroy_timer(self._timer)
            self.server = None

    def _begin(self, served: ServedSkill, skill: str, arguments: list[SceneNode], timeout: float) -> Any:
        self.calls.append((skill, tuple(node.instance_id for node in arguments)))
        outcomes = self.script.get(skill, [])
        outcome = outcomes.pop(0) if outcomes else SkillResult(SkillStatus.SUCCEEDED)
        self._running = served

        def stop(reason: str) -> None:
            self.stopped.append(reason)
            served.ended(SkillResult(SkillStatus.CANCELLED, "cancelled", reason))

        if outcome != "hang":
            served.ended(outcome)
        return stop

    def _feedback(self) -> None:
        served = self._running
        if served is None or served.future.done():
            return
        if not served.alive():
            served.stop("nobody waits for it any more")
        elif not self.silent:
            served.feedback(0.5, "working")


class System:
    """Nodes of one test in one ROS domain."""

    def __init__(self, domain_id: int | None = None, namespace: str = "") -> None:
        self.domain_id = free_domain() if domain_id is None else domain_id
        self.namespace = namespace
        self.context = Context()
        rclpy.init(context=self.context, domain_id=self.domain_id)
        self._spinners: list[tuple[Spinner, Any]] = []

    def add(self, factory: Callable[..., Any], *arguments: Any, autostart: bool = True, **parameters: Any) -> Any:
        """Create a node, spin it, and take it to the state active."""
        options: dict[str, Any] = {
            "context": self.context,
            "namespace": self.namespace,
            "parameter_overrides": [Parameter(name, value=value) for name, value in parameters.items()],
        }
        node = factory(*arguments, **options)
        spinner = Spinner(node)
        spinner.start()
        self._spinners.append((spinner, node))
        if autostart:
            self.transition(node, "trigger_configure")
            self.transition(node, "trigger_activate")
            assert node.active, node.fault
        return node

    def transition(self, node: Any, name: str) -> Any:
        """Trigger a life-cycle transition on the node's own thread and return its outcome."""
        return self.on_thread(node, getattr(node, name))

    def on_thread(self, node: Any, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function on the node's executor thread and return what it returns."""
        box: list[Any] = []

        def work() -> None:
            try:
                box.append((True, function(*arguments)))
            except Exception as error:
                box.append((False, error))

        node.executor.create_task(work)
        wait_until(lambda: box, f"{function}")
        fine, value = box[0]
        if not fine:
            raise value
        return value

    def remove(self, node: Any) -> None:
        """End one node, as if its process had ended in good order."""
        for entry in list(self._spinners):
            spinner, known = entry
            if known is node:
                self._spinners.remove(entry)
                self.on_thread(node, node.close)
                spinner.stop()
                node.destroy_node()

    def close(self) -> None:
        """End everything."""
        for spinner, node in reversed(self._spinners):
            if isinstance(node, ManagedNode):
                self.on_thread(node, node.close)
            spinner.stop()
            node.destroy_node()
        self._spinners = []
        self.context.try_shutdown()


class Client(ManagedNode):
    """Sends instructions and listens to everything that is published about them."""

    def __init__(self, **options: Any) -> None:
        super().__init__("client", (), **options)
        self.plans: list[Any] = []
        self.statuses: list[Any] = []
        self.events: list[Any] = []
        self.feedback: list[Any] = []

    def configure(self) -> None:
        self.tasks = ActionClient(self, ExecuteTask, "execute_task")
        self.skills = ActionClient(self, ExecuteSkill, "execute_skill")
        subscribe = self.create_subscription
        self._entities = [
            self.tasks,
            self.skills,
            subscribe(messages.Plan, "plan", self.plans.append, LATCHED),
            subscribe(messages.GoalStatus, "goal_status", self.statuses.append, LATCHED),
            subscribe(messages.SubtaskCompleted, "events/subtask_completed", self.events.append, RELIABLE),
            subscribe(messages.ActionFailure, "events/action_failure", self.events.append, RELIABLE),
        ]

    def release(self) -> None:
        self.destroy_all(getattr(self, "_entities", []))
        self._entities = []


class Sent:
    """An instruction under way."""

    def __init__(self, system: System, client: Client, instruction: str) -> None:
        self.system, self.client = system, client
        wait_until(client.tasks.server_is_ready, "execute_task is offered")
        goal = ExecuteTask.Goal(instruction=instruction)
        for last in (False, False, True):
            self._goal = system.on_thread(
                client, client.tasks.send_goal_async, goal, lambda m: client.feedback.append(m.feedback)
            )
            # The middleware can lose an answer while the two sides are still being matched; ask again then.
            try:
                wait_until(self._goal.done, "the goal is answered", WAIT if last else 15.0)
                break
            except AssertionError:
                if last:
                    raise
        self.handle = self._goal.result()
        self._result = system.on_thread(client, self.handle.get_result_async) if self.handle.accepted else None

    def result(self, timeout: float = WAIT) -> Any:
        """Wait for the outcome."""
        assert self._result is not None, "the goal was rejected"
        wait_until(self._result.done, "the task ends", timeout)
        return self._result.result().result

    def cancel(self) -> float:
        """Cancel and return the seconds until the result was there."""
        begun = time.monotonic()
        self.system.on_thread(self.client, self.handle.cancel_goal_async)
        self.result()
        return time.monotonic() - begun


@contextmanager
def running(**options: Any) -> Iterator[System]:
    """A system that is closed at the end."""
    system = System(**options)
    try:
        yield system
    finally:
        system.close()


__all__ = [
    "Client",
    "FakeBridge",
    "FakePerception",
    "Sent",
    "System",
    "TransitionCallbackReturn",
    "add_item",
    "free_domain",
    "graph_from_msg",
    "kitchen",
    "running",
    "wait_until",
]
