"""The thread that owns the simulation: physics, the running skill, cameras. No rclpy here; a sink publishes.

MuJoCo's renderer belongs to the thread that made it, so world, robot and renderer are made, used and closed on this
one thread, and everybody else sends it commands.
"""

from __future__ import annotations

import queue
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from graph_planner_ros.scene.graph import SceneNode
from graph_planner_ros.skills.result import SkillResult, SkillStatus


@dataclass(frozen=True)
class LoopRates:
    """Frequencies [Hz] of simulated time; ``real_time_factor`` 0 runs as fast as the machine can."""

    real_time_factor: float = 1.0
    clock: float = 50.0
    joints: float = 20.0
    camera: float = 4.0
    color: float = 2.0
    holding: float = 5.0
    truth: float = 2.0


class Sink(Protocol):
    """What the loop publishes through; all calls come from the loop's thread."""

    def clock(self, now: float) -> None:
        """Simulated time [s]."""

    def robot_state(self, now: float) -> None:
        """Joint states, odometry and transforms."""

    def images(self, now: float, color: bool) -> None:
        """Depth, instances and labels, and the colour image too if ``color``."""

    def holding(self, now: float) -> None:
        """What the gripper feels."""

    def truth(self, now: float) -> None:
        """Ground truth for evaluation."""


class SkillPort(Protocol):
    """Who waits for a skill."""

    def feedback(self, progress: float, phase: str) -> None:
        """Hear of progress, at least twice a second of wall time."""

    def ended(self, result: SkillResult) -> None:
        """Hear of the end; called exactly once."""

    def alive(self) -> bool:
        """Say whether anybody still waits for the skill."""


@dataclass
class SkillRequest:
    """One skill to run. ``timeout`` in seconds of simulated time, 0: none; ``context``: all that is believed."""

    skill: str
    arguments: list[SceneNode]
    timeout: float
    port: SkillPort
    context: list[SceneNode] = field(default_factory=list)
    stop_reason: str = ""
    run: Any = None
    heard: float = field(default_factory=time.monotonic)


class SimulationLoop:
    """Runs the world until `stop`; skills, disturbances and other calls come in through queues."""

    def __init__(
        self, make: Callable[[], tuple[Any, Any, Any]], make_sink: Callable[[Any, Any], Sink], rates: LoopRates
    ) -> None:
        """Prepare; ``make`` returns world, robot and bridge, ``make_sink`` gets world and robot."""
        self._make, self._make_sink, self.rates = make, make_sink, rates
        self._commands: queue.Queue[Callable[[], None]] = queue.Queue()
        self._stop = threading.Event()
        self._ready = threading.Event()
        self.error = ""
        self.skills: tuple[str, ...] = ()
        self.real_time_factor = 0.0
        self._active: SkillRequest | None = None
        self._thread = threading.Thread(target=self._main, name="simulation", daemon=True)

    # ---- any thread

    def start(self, timeout: float = 120.0) -> None:
        """Build the world and begin; raises RuntimeError with the cause if that fails."""
        self._thread.start()
        if not self._ready.wait(timeout):
            self.error = self.error or f"the simulation was not ready within {timeout:g} s"
        if self.error:
            raise RuntimeError(self.error)

    def stop(self) -> None:
        """End the thread; a running skill ends as cancelled."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10.0)

    @property
    def alive(self) -> bool:
        """Whether the simulation runs."""
        return self._thread.is_alive()

    @property
    def busy(self) -> str:
        """Name of the running skill, or an empty string."""
        active = self._active
        return active.skill if active is not None else ""

    def run_skill(self, request: SkillRequest) -> None:
        """Run a skill; one that runs is stopped first."""
        self._commands.put(lambda: self._begin(request))

    def stop_skill(self, request: SkillRequest, reason: str) -> None:
        """Stop that skill, if it still runs."""
        request.stop_reason = request.stop_reason or reason

    def call(self, function: Callable[[Any, Any], None]) -> None:
        """Call ``function(world, robot)`` on the simulation's thread."""
        self._commands.put(lambda: function(self.world, self.robot))

    # ---- the simulation's thread

    def _main(self) -> None:
        try:
            self.world, self.robot, self.bridge = self._make()
            self.skills = tuple(self.bridge.skills)
            self.sink = self._make_sink(self.world, self.robot)
        except Exception as error:
            self.error = f"cannot build the simulation: {type(error).__name__}: {error}"
            traceback.print_exc()
            self._ready.set()
            return
        self._ready.set()
        try:
            self._loop()
        except Exception as error:
            self.error = f"the simulation failed: {type(error).__name__}: {error}"
            traceback.print_exc()
        finally:
            if self._active is not None:
                self._end(self._active, self._stopped(self._active, self.error or "the simulation ends"))
            close = getattr(self.world, "close", None)
            if close is not None:
                close()

    def _loop(self) -> None:
        rates = self.rates
        due = dict.fromkeys(("clock", "joints", "holding", "truth", "camera", "color"), float("-inf"))
        wall_base, sim_base = time.monotonic(), float(self.world.time)
        mark_wall, mark_sim = wall_base, sim_base
        while not self._stop.is_set():
            self._take_commands()
            self._advance()
            now = float(self.world.time)
            self._publish(now, due)
            wall = time.monotonic()
            if wall - mark_wall > 1.0:
                self.real_time_factor = (now - mark_sim) / (wall - mark_wall)
                mark_wall, mark_sim = wall, now
            if rates.real_time_factor <= 0.0:
                continue
            ahead = (now - sim_base) / rates.real_time_factor - (wall - wall_base)
            if ahead > 0.0:
                self._stop.wait(ahead)
            elif ahead < -0.2:
                wall_base, sim_base = wall, now  # too slow a machine: do not run faster later to catch up

    def _publish(self, now: float, due: dict[str, float]) -> None:
        rates, sink = self.rates, self.sink

        def is_due(name: str, rate: float) -> bool:
            if rate <= 0.0 or now + 1e-9 < due[name]:
                return False
            due[name] = max(due[name] + 1.0 / rate, now + 0.5 / rate)
            return True

        if is_due("clock", rates.clock):
            sink.clock(now)
        frame = is_due("camera", rates.camera)
        if is_due("joints", rates.joints) or frame:
            sink.robot_state(now)
        if is_due("holding", rates.holding):
            sink.holding(now)
        if is_due("truth", rates.truth):
            sink.truth(now)
        if frame:
            sink.images(now, is_due("color", rates.color))

    def _take_commands(self) -> None:
        while True:
            try:
                command = self._commands.get_nowait()
            except queue.Empty:
                return
            command()

    # ---- skills

    def _begin(self, request: SkillRequest) -> None:
        if self._active is not None:
            self._active.run.cancel()
            self._end(self._active, self._stopped(self._active, f"replaced by {request.skill}"))
        if request.stop_reason:
            request.port.ended(self._stopped(request, request.stop_reason))
            return
        if request.skill not in self.skills:
            request.port.ended(unknown_skill(request.skill, self.skills))
            return
        try:
            request.run = self.bridge.start(request.skill, request.arguments, request.timeout, context=request.context)
        except ValueError as error:
            request.port.ended(SkillResult(SkillStatus.PRECONDITION_FAILED, "bad_arguments", str(error)))
            return
        self._active = request

    def _advance(self) -> None:
        request = self._active
        if request is None:
            self.robot.tick()
            return
        run = request.run
        if run.result is None:
            if not request.stop_reason and not request.port.alive():
                request.stop_reason = "nobody waits for it any more"
            if request.stop_reason:
                run.cancel()
                self._end(request, self._stopped(request, request.stop_reason))
                return
            try:
                run.tick()
            except Exception as error:
                traceback.print_exc()
                run.cancel()
                self._end(
                    request,
                    SkillResult(
                        SkillStatus.EXECUTION_FAILED,
                        "bridge_error",
                        f"{request.skill}: {type(error).__name__}: {error}",
                    ),
                )
                return
        if run.result is not None:
            self._end(request, run.result)
            return
        wall = time.monotonic()
        if wall - request.heard > 0.4:
            request.heard = wall
            request.port.feedback(float(run.progress), str(run.phase))

    def _stopped(self, request: SkillRequest, reason: str) -> SkillResult:
        return SkillResult(SkillStatus.CANCELLED, "cancelled", f"{request.skill} was stopped: {reason}")

    def _end(self, request: SkillRequest, result: SkillResult) -> None:
        if self._active is request:
            self._active = None
        request.port.ended(result)


def unknown_skill(skill: str, skills: tuple[str, ...]) -> SkillResult:
    """Return the refusal of a skill that the robot does not have; it lists those it has."""
    return SkillResult(
        SkillStatus.UNKNOWN_SKILL,
        "unknown_skill",
        f"this robot has no skill '{skill}'; it has: {', '.join(skills) or 'none'}",
        skills=skills,
    )
