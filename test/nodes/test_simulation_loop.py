"""The thread that owns a simulation, with a world of arithmetic."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from graph_planner_ros.bridges.mujoco_loop import LoopRates, SimulationLoop, SkillRequest
from graph_planner_ros.skills.result import SkillResult, SkillStatus

PERIOD = 0.02


class World:
    def __init__(self) -> None:
        self.time = 0.0
        self.closed = False

    def close(self) -> None:
        self.closed = True


class Robot:
    def __init__(self, world: World) -> None:
        self.world = world

    def tick(self) -> None:
        self.world.time += PERIOD


class Run:
    """Succeeds after three ticks, unless its name says otherwise."""

    def __init__(self, skill: str, world: World) -> None:
        self.skill, self.world = skill, world
        self.ticks, self.phase, self.progress = 0, "working", 0.0
        self.result: SkillResult | None = None
        self.cancelled = False

    def tick(self) -> None:
        self.world.time += PERIOD
        self.ticks += 1
        if self.skill == "break":
            raise RuntimeError("arm fell off")
        if self.skill == "quick" and self.ticks == 3:
            self.result = SkillResult(SkillStatus.SUCCEEDED)

    def cancel(self) -> None:
        self.cancelled = True


class Bridge:
    skills = ("quick", "endless", "break", "picky")

    def __init__(self, world: World) -> None:
        self.world = world
        self.runs: list[Run] = []

    def start(self, skill: str, arguments: Any, timeout: float, context: Any) -> Run:
        if skill == "picky":
            raise ValueError("picky needs a reason")
        self.runs.append(Run(skill, self.world))
        return self.runs[-1]


class Sink:
    def __init__(self) -> None:
        self.calls: dict[str, list[float]] = {}

    def __getattr__(self, name: str) -> Any:
        return lambda now, *_: self.calls.setdefault(name, []).append(now)


class Port:
    """Waits for the end of a skill."""

    def __init__(self) -> None:
        self.result: SkillResult | None = None
        self.count = 0
        self.done = threading.Event()
        self.waiting = True

    def feedback(self, progress: float, phase: str) -> None:
        pass

    def ended(self, result: SkillResult) -> None:
        self.result = result
        self.count += 1
        self.done.set()

    def alive(self) -> bool:
        return self.waiting

    def wait(self) -> SkillResult:
        assert self.done.wait(30.0)
        assert self.result is not None and self.count == 1
        return self.result


class Rig:
    def __init__(self, **rates: float) -> None:
        self.world = World()
        self.bridge = Bridge(self.world)
        self.sink = Sink()
        settings = LoopRates(**{"real_time_factor": 0.0, **rates})
        self.loop = SimulationLoop(
            lambda: (self.world, Robot(self.world), self.bridge), lambda world, robot: self.sink, settings
        )
        self.loop.start()

    def run(self, skill: str, port: Port | None = None) -> tuple[SkillRequest, Port]:
        port = port or Port()
        request = SkillRequest(skill, [], 0.0, port)
        self.loop.run_skill(request)
        return request, port


@pytest.fixture()
def rig() -> Iterator[Rig]:
    made = Rig()
    try:
        yield made
    finally:
        made.loop.stop()
        assert not made.loop.alive and made.world.closed


def until(condition: Any) -> None:
    for _ in range(3000):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it never came")


def test_a_skill_runs_to_its_end(rig: Rig) -> None:
    assert rig.run("quick")[1].wait().succeeded


def test_an_unknown_skill_is_refused_with_those_there_are(rig: Rig) -> None:
    result = rig.run("juggle")[1].wait()
    assert result.status is SkillStatus.UNKNOWN_SKILL and "quick" in result.reason and "quick" in result.skills


def test_arguments_that_a_skill_refuses_are_a_failed_precondition(rig: Rig) -> None:
    result = rig.run("picky")[1].wait()
    assert result.status is SkillStatus.PRECONDITION_FAILED and "reason" in result.reason


def test_a_skill_that_breaks_ends_as_failed_and_the_simulation_goes_on(rig: Rig) -> None:
    result = rig.run("break")[1].wait()
    assert result.status is SkillStatus.EXECUTION_FAILED and "arm fell off" in result.reason
    assert rig.run("quick")[1].wait().succeeded


def test_a_new_skill_stops_the_one_before(rig: Rig) -> None:
    _, first = rig.run("endless")
    until(lambda: rig.loop.busy == "endless")
    _, second = rig.run("quick")
    assert second.wait().succeeded
    assert first.wait().status is SkillStatus.CANCELLED and "quick" in first.wait().reason
    assert rig.bridge.runs[0].cancelled


def test_a_stopped_skill_ends_as_cancelled_with_the_reason(rig: Rig) -> None:
    request, port = rig.run("endless")
    until(lambda: rig.loop.busy == "endless")
    rig.loop.stop_skill(request, "enough")
    assert port.wait().status is SkillStatus.CANCELLED and "enough" in port.wait().reason
    assert rig.bridge.runs[0].cancelled


def test_a_skill_stopped_before_it_began_never_begins(rig: Rig) -> None:
    port = Port()
    request = SkillRequest("endless", [], 0.0, port)
    rig.loop.stop_skill(request, "too late")
    rig.loop.run_skill(request)
    assert port.wait().status is SkillStatus.CANCELLED
    assert not rig.bridge.runs


def test_a_skill_that_nobody_waits_for_is_stopped(rig: Rig) -> None:
    _, port = rig.run("endless")
    until(lambda: rig.loop.busy == "endless")
    port.waiting = False
    assert port.wait().status is SkillStatus.CANCELLED and "nobody" in port.wait().reason


def test_streams_keep_their_rates_in_simulated_time(rig: Rig) -> None:
    until(lambda: rig.world.time > 20.0)
    for name, rate in (("images", 4.0), ("holding", 5.0), ("truth", 2.0), ("clock", 50.0)):
        stamps = rig.sink.calls[name]
        measured = (len(stamps) - 1) / (stamps[-1] - stamps[0])
        assert abs(measured - rate) < 0.05 * rate, name


def test_every_image_has_the_robots_pose_of_its_moment(rig: Rig) -> None:
    until(lambda: rig.world.time > 10.0)
    poses = set(rig.sink.calls["robot_state"])
    assert all(stamp in poses for stamp in list(rig.sink.calls["images"]))


def test_a_world_that_cannot_be_built_is_reported_by_start() -> None:
    def fail() -> Any:
        raise ValueError("no such layout: igloo")

    loop = SimulationLoop(fail, lambda world, robot: Sink(), LoopRates())
    with pytest.raises(RuntimeError, match="igloo"):
        loop.start()


def test_ending_the_simulation_ends_its_skill() -> None:
    rig = Rig()
    _, port = rig.run("endless")
    until(lambda: rig.loop.busy == "endless")
    rig.loop.stop()
    assert port.wait().status is SkillStatus.CANCELLED
