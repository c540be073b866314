"""The thread on which images and events become belief. No rclpy here."""

from __future__ import annotations

import copy
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.perception.frame import Frame
from graph_planner_ros.perception.pipeline import PerceptionPipeline, ProcessedFrame
from graph_planner_ros.scene.admission import known_part, summary
from graph_planner_ros.scene.effects import apply_effects
from graph_planner_ros.scene.graph import SceneGraph
from graph_planner_ros.scene.merging import SceneUpdater
from graph_planner_ros.scene.observation import RobotState
from graph_planner_ros.scene.storage import save_graph


@dataclass(frozen=True)
class EffectEvent:
    """A subtask that was carried out; ``stamp`` in seconds of ROS time."""

    key: tuple[str, int, int]
    action: GroundAction
    stamp: float


class PerceptionWorker:
    """Processes the newest frame and every event, in the order of their stamps, on one thread.

    Args:
        make_frame: builds the core frame from the messages, on this thread; it may raise ValueError to refuse them.
        publish: called on this thread with a copy of the graph after every change, and what was seen (or None).
        complain: called with a sentence about a frame that could not be used.
    """

    def __init__(
        self,
        domain: Domain,
        graph: SceneGraph,
        pipeline: PerceptionPipeline,
        updater: SceneUpdater,
        publish: Callable[[SceneGraph, ProcessedFrame | None, Frame | None], None],
        complain: Callable[[str], None],
        state_file: Path | None = None,
        save_period: float = 2.0,
    ) -> None:
        self.domain, self.graph, self.pipeline, self.updater = domain, graph, pipeline, updater
        self._publish, self._complain = publish, complain
        self._state_file, self._save_period = state_file, save_period
        self._condition = threading.Condition()
        self._events: deque[EffectEvent] = deque()
        self._seen: deque[tuple[str, int, int]] = deque(maxlen=64)
        self._frame: Callable[[], tuple[Frame, RobotState]] | None = None
        self._stop = False
        self._jumped = False
        self._saved_revision, self._saved_at = graph.revision, 0.0
        self.frames = 0
        self.frame_time = 0.0
        self._thread = threading.Thread(target=self._main, name="perception", daemon=True)

    # ---- any thread

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what is being processed, save the belief and end."""
        with self._condition:
            self._stop = True
            self._condition.notify()
        if self._thread.is_alive():
            self._thread.join(timeout=10.0)

    def put_event(self, event: EffectEvent) -> None:
        """Take an event; one that came before is not applied again."""
        with self._condition:
            if event.key not in self._seen:
                self._seen.append(event.key)
                self._events.append(event)
                self._condition.notify()

    def put_frame(self, make: Callable[[], tuple[Frame, RobotState]]) -> None:
        """Take a frame, to be built by ``make`` on the worker's thread; one still waiting is replaced."""
        with self._condition:
            self._frame = make
            self._condition.notify()

    def time_jumped(self) -> None:
        """Forget what waits and what is recent; keep what is known about the scene."""
        with self._condition:
            self._events.clear()
            self._frame = None
            self._jumped = True
            self._condition.notify()

    # ---- the worker's thread

    def _main(self) -> None:
        while True:
            with self._condition:
                while not (self._stop or self._events or self._frame or self._jumped):
                    self._condition.wait()
                if self._stop:
                    break
                events = sorted(self._events, key=lambda event: event.stamp)
                self._events.clear()
                make, self._frame = self._frame, None
                jumped, self._jumped = self._jumped, False
            try:
                if jumped:
                    self._forget_recent()
                self._work(events, make)
            except Exception as error:
                traceback.print_exc()
                self._complain(f"perception failed: {type(error).__name__}: {error}")
        self._save(force=True)

    def _work(self, events: list[EffectEvent], make: Callable[[], tuple[Frame, RobotState]] | None) -> None:
        for event in events:
            apply_effects(self.graph, self.domain, event.action, event.stamp)
        frame, processed = None, None
        if make is not None:
            started = time.perf_counter()
            try:
                frame, robot = make()
            except ValueError as error:
                self._complain(str(error))
            else:
                processed = self.pipeline.process(self.graph, frame, robot)
                self.updater.update(self.graph, processed.observations, frame, robot)
                self.frames += 1
                self.frame_time += 0.2 * (time.perf_counter() - started - self.frame_time)
        if events or processed is not None:
            self._publish(copy.deepcopy(self.graph), processed, frame)
            self._save()

    def _forget_recent(self) -> None:
        self.graph.stamp = 0.0
        self.updater.time_jumped()

    def _save(self, force: bool = False) -> None:
        if self._state_file is None or self.graph.revision == self._saved_revision:
            return
        now = time.monotonic()
        if not force and now - self._saved_at < self._save_period:
            return
        save_graph(self.graph, self._state_file)
        self._saved_revision, self._saved_at = self.graph.revision, now


def load_or_empty(load: Callable[[Path], SceneGraph], path: Path | None, domain: Domain) -> tuple[SceneGraph, str, str]:
    """Return the stored belief, or an empty one with a sentence saying why; and what of the stored one is left out."""
    empty = SceneGraph(domain=domain.name)
    if path is None or not path.exists():
        return empty, "", ""
    try:
        graph = load(path)
    except (ValueError, OSError) as error:
        return empty, f"the stored belief is not used: {error}", ""
    if graph.domain != domain.name:
        return empty, f"the stored belief is not used: it is of domain '{graph.domain}', not '{domain.name}'", ""
    known, left_out = known_part(graph, domain)
    return known, "", summary(left_out)
