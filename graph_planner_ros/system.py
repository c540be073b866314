"""A whole system for a while: processes, a client of the planner, and what the simulator says is true."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from std_msgs.msg import String

import graph_planner_ros.msg as messages
from graph_planner_ros import bringup
from graph_planner_ros.analysis.bag_repair import repair_bag
from graph_planner_ros.conversions import graph_from_msg
from graph_planner_ros.nodes.base import KEPT, LATCHED
from graph_planner_ros.nodes.client import TaskClient, TaskReport
from graph_planner_ros.scene.graph import SceneGraph
from graph_planner_ros.supervisor import ProcessEvent, Supervisor

DOMAIN_IDS = range(1, 101)
"""ROS domains that never clash with the ports that Linux hands out by itself."""


@contextlib.contextmanager
def reserve_domain() -> Iterator[int]:
    """Yield a ROS domain that no other process of this machine got from here."""
    folder = Path(tempfile.gettempdir()) / f"graph_planner_ros_domains_{os.getuid()}"
    folder.mkdir(exist_ok=True)
    for offset in range(len(DOMAIN_IDS)):
        number = DOMAIN_IDS[(os.getpid() + offset) % len(DOMAIN_IDS)]
        with open(folder / f"{number}.lock", "w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield number
            return
    raise RuntimeError(f"all ROS domains from {DOMAIN_IDS[0]} to {DOMAIN_IDS[-1]} are in use")


def new_run_directory(base: Path, name: str) -> Path:
    """Make and return a folder for one run, named by date, time and ``name``."""
    words = "".join(c if c.isalnum() else "_" for c in name.lower())[:40].strip("_")
    stem = f"{time.strftime('%Y-%m-%d_%H-%M-%S')}_{words}"
    for number in range(1000):
        path = (base / (stem if number == 0 else f"{stem}_{number + 1}")).absolute()
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return path
    raise RuntimeError(f"cannot make a folder for the run in {base}")


def in_run_directory(arguments: Mapping[str, str], run_directory: Path) -> dict[str, str]:
    """Return the arguments with the bag, and what must survive the death of a node, in the run's own folder."""
    state = Path(arguments["state_directory"] or run_directory / "state").absolute()
    state.mkdir(parents=True, exist_ok=True)
    return {**arguments, "bag": str(run_directory / arguments["bag"]), "state_directory": str(state)}


class System:
    """The system as processes, in a ``with`` block: started on entry, ended in order on exit.

    Args:
        arguments: of the bring-up; ``bag`` is relative to the run directory.
        run_directory: gets logs, parameters and the bag.
        domain_id: ROS domain; None: that of the environment.
        on_event: is told what happens to the processes. on_message: gets what the planner and executor publish.
    """

    def __init__(
        self,
        arguments: Mapping[str, str],
        run_directory: Path,
        domain_id: int | None = None,
        on_event: Callable[[ProcessEvent], None] = lambda event: None,
        on_message: Callable[[Any], None] = lambda message: None,
    ) -> None:
        self.arguments = in_run_directory(bringup.check_arguments(arguments), run_directory)
        self.run_directory = run_directory
        self.truth: SceneGraph | None = None
        self.disturbances: list[str] = []
        self.game: Any = None
        """What a text world said last (TextObservation)."""
        self.on_truth: Callable[[SceneGraph], None] = lambda graph: None
        self._domain_id, self._on_message = domain_id, on_message
        specs = bringup.processes(self.arguments, run_directory, domain_id)
        self.supervisor = Supervisor(specs, run_directory / "logs", on_event)
        self._client: TaskClient | None = None

    def __enter__(self) -> System:
        self.supervisor.start()
        try:
            self._client = TaskClient(self.arguments["namespace"], self._on_message, self._domain_id)
            self._client.node.create_subscription(
                messages.SceneGraph, "ground_truth/scene_graph", self._receive_truth, LATCHED
            )
            self._client.node.create_subscription(
                String, "ground_truth/disturbances", lambda message: self.disturbances.append(message.data), KEPT
            )
            self._client.node.create_subscription(
                messages.TextObservation, "observation_text", self._receive_text, KEPT
            )
        except BaseException:
            self.supervisor.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._client is not None:
                self._client.__exit__()
        finally:
            self.supervisor.stop()
            self._mend_bags()

    @property
    def client(self) -> TaskClient:
        """The client of the planner, between entry and exit."""
        assert self._client is not None, "the system is not running"
        return self._client

    def bags(self) -> list[Path]:
        """Return the folders of this run's bags; more than one if the recorder had to be restarted."""
        bag = Path(self.arguments["bag"])
        return sorted(path for path in bag.parent.glob(f"{bag.name}*") if path.is_dir())

    def wait_ready(self, timeout: float = 60.0) -> str:
        """Wait until an instruction can be sent; return why it cannot, or an empty string."""
        missing = self.client.wait_ready(timeout, lambda: bool(self.supervisor.failure()))
        return self.supervisor.failure() or missing

    def execute(
        self, instruction: str, timeout: float = 3600.0, cancel: Callable[[], bool] = lambda: False
    ) -> TaskReport:
        """Send an instruction and wait for its end."""
        return self.client.execute(instruction, timeout, cancel, self.supervisor.failure)

    def newest_truth(self, timeout: float = 10.0) -> SceneGraph | None:
        """Wait for ground truth from now on and return it; None if the simulator says nothing."""
        before = self.truth.stamp if self.truth is not None else -1.0

        def newer() -> bool:
            return self.truth is not None and self.truth.stamp > before

        if not self.client.spin_until(newer, timeout, lambda: bool(self.supervisor.failure())):
            return None
        return self.truth

    def _receive_text(self, message: Any) -> None:
        self.game = message

    def _receive_truth(self, message: Any) -> None:
        self.truth = graph_from_msg(message)
        self.on_truth(self.truth)

    def _mend_bags(self) -> None:
        for bag in self.bags():
            with contextlib.suppress(OSError, ValueError):
                repair_bag(bag)
