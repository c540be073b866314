"""Drives the robot through many skills with beliefs made from the truth plus noise; run by the slow tests, or by hand.

python test/sim/robot_stress.py --layouts l_shape galley island --seeds 3
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from graph_planner_ros.bridges.mujoco import MujocoBridge
from graph_planner_ros.scene.graph import Box, SceneNode
from graph_planner_ros.sim.robot import MujocoRobot
from graph_planner_ros.sim.truth import container_of
from graph_planner_ros.sim.world import KitchenWorld
from graph_planner_ros.skills.result import SkillResult

NOISE = 0.01


@dataclass
class Tally:
    """Outcomes by skill."""

    good: Counter[str] = field(default_factory=Counter)
    bad: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    duration: dict[str, list[float]] = field(default_factory=dict)

    def rate(self) -> float:
        """Share of successes."""
        total = self.good.total() + self.bad.total()
        return self.good.total() / total if total else 1.0


class Driver:
    """One kitchen with a robot, and a belief that is the truth plus noise."""

    def __init__(self, layout: str, seed: int, verbose: bool = False) -> None:
        self.world = KitchenWorld(layout, seed)
        self.robot = MujocoRobot(self.world, seed)
        self.bridge = MujocoBridge(self.world, self.robot)
        self.random = np.random.default_rng(seed)
        self.name, self.verbose = f"{layout}/{seed}", verbose
        self.tally = Tally()

    def item(self, name: str) -> SceneNode:
        """An item as believed: position noise of 1 cm, extent noise of 3 mm."""
        box = self.world.item_box(name)
        center = box.center + self.random.uniform(-NOISE, NOISE, 3) * [1, 1, 0.5]
        extent = box.extent + self.random.uniform(-0.003, 0.003, 3)
        return SceneNode(name, self.world.items[name].label, Box(center, extent, box.yaw + self.random.normal(0, 0.05)))

    def fixture(self, name: str) -> SceneNode:
        """A fixture of the map."""
        info = self.world.fixtures[name]
        return SceneNode(name, info.label, info.box, info.containment)

    def place(self, item: str) -> str | None:
        """What holds an item in truth."""
        return container_of(self.world, item)

    def do(self, skill: str, *names: str, check: bool | None = None) -> SkillResult:
        """Carry a skill out and count how it went."""
        nodes = [self.fixture(n) if n in self.world.fixtures else self.item(n) for n in names]
        visible = [self.item(n) for n in self.world.items if self.place(n) not in self.world.shut_fixtures()]
        begin = self.world.time
        result = self.bridge.start(skill, nodes, timeout=120.0, context=visible).run()
        return self._count(skill, names, result, self.world.time - begin)

    def _count(self, skill: str, names: tuple[str, ...], result: SkillResult, took: float) -> SkillResult:
        problem = "" if result.succeeded else f"{result.code}: {result.reason}"
        if result.succeeded:
            problem = self._untrue(skill, names)
        self.tally.duration.setdefault(skill, []).append(took)
        if problem:
            self.tally.bad[skill] += 1
            self.tally.failures.append(f"{self.name} t={self.world.time:.1f} {skill}{names}: {problem}")
            if self.verbose:
                print("  BAD ", self.tally.failures[-1], flush=True)
        else:
            self.tally.good[skill] += 1
            if self.verbose:
                print(f"  ok   {skill}{names} {took:.1f} s", flush=True)
        return result

    def _untrue(self, skill: str, names: tuple[str, ...]) -> str:
        """What is wrong in truth after a skill that claims success; empty if nothing."""
        world, first = self.world, names[0]
        properties = world.properties.get(first)
        checks = {
            "pick_up": lambda: world.held == first,
            "put": lambda: self.place(first) == names[1] and world.held is None,
            "open": lambda: world.door_position(first) > 0.85 * (world.fixtures[first].door.open_position),
            "close": lambda: world.is_closed(first),
            "heat": lambda: properties.hot and world.held == first,
            "cool": lambda: properties.cold and world.held == first,
            "clean": lambda: properties.cleaned and world.held == first,
            "slice": lambda: properties.sliced,
            "examine": lambda: properties.examined,
            "toggle_on": lambda: first in world.switched_on,
            "toggle_off": lambda: first not in world.switched_on,
        }
        holds = checks.get(skill, lambda: True)()
        return (
            "" if holds else f"claimed success, truth differs (item is in {self.place(first) if properties else '-'})"
        )


def of_class(driver: Driver, label: str) -> list[str]:
    """Fixtures of a class."""
    return [name for name, info in driver.world.fixtures.items() if info.label == label]


def tour(driver: Driver) -> None:
    """Everything that the robot can do, on everything that is there."""
    world, random = driver.world, driver.random
    for name, info in world.fixtures.items():
        driver.do("go_to", name)
        if info.door:
            driver.do("open", name)
        if info.surfaces:
            driver.do("look", name)
    targets = [n for n, i in world.fixtures.items() if i.surfaces and i.label != "Microwave"]
    sink, lamp = of_class(driver, "SinkBasin")[0], of_class(driver, "DeskLamp")
    fridge, microwave = of_class(driver, "Fridge")[0], of_class(driver, "Microwave")[0]
    for item in random.permutation(sorted(world.items)):
        item = str(item)
        place = driver.place(item)
        if place is None or not driver.do("pick_up", item, place).succeeded:
            continue
        uses = {"Mug": "clean", "Plate": "clean", "Tomato": "cool", "Apple": "heat", "Egg": "heat", "Bowl": "examine"}
        use = uses.get(world.items[item].label, "")
        if use == "examine" and lamp:
            driver.do("toggle_on", lamp[0])
            driver.do("examine", item, lamp[0])
            driver.do("toggle_off", lamp[0])
        elif use:
            driver.do(use, item, {"clean": sink, "cool": fridge, "heat": microwave}[use])
        if not driver.robot.holding:
            continue
        if world.items[item].label == "Knife":
            _slice_something(driver, item)
        driver.do("put", item, str(random.choice([t for t in targets if _has_room(driver, t, item)])))
        if driver.robot.holding:
            driver.do("put", item, of_class(driver, "DiningTable")[0])
    _vessels(driver)
    for name, info in world.fixtures.items():
        if info.door:
            driver.do("close", name)
    for stove in of_class(driver, "StoveBurner"):
        driver.do("toggle_on", stove)
        driver.do("toggle_off", stove)


def _vessels(driver: Driver) -> None:
    """Things into bowls and plates, carried about, and taken out again."""
    world, table = driver.world, of_class(driver, "DiningTable")[0]

    def free(*labels: str) -> list[str]:
        shut = world.shut_fixtures()
        return [
            n for n, i in world.items.items() if i.label in labels and driver.place(n) in set(world.fixtures) - shut
        ]

    for vessel, item in zip(free("Bowl", "Plate"), free("Egg", "Apple", "Tomato"), strict=False):
        if not driver.do("pick_up", item, str(driver.place(item))).succeeded:
            continue
        if (
            driver.do("put", item, vessel).succeeded
            and driver.do("pick_up", vessel, str(driver.place(vessel))).succeeded
        ):
            driver.do("put", vessel, table)
            if driver.do("pick_up", item, vessel).succeeded:
                driver.do("put", item, table)


def _has_room(driver: Driver, fixture: str, item: str) -> bool:
    """Small places take one small thing, other places a few, so that no free space is not what fails."""
    inside = sum(driver.place(name) == fixture for name in driver.world.items)
    label, size = driver.world.fixtures[fixture].label, driver.world.items[item].size
    if label in ("StoveBurner", "SinkBasin", "Drawer"):
        return inside == 0 and size[0] < 0.2
    return inside < (4 if label in ("Cabinet", "Fridge") else 6)


def _slice_something(driver: Driver, knife: str) -> None:
    world = driver.world
    for name, info in world.items.items():
        place = driver.place(name)
        board = of_class(driver, "CounterTop") + of_class(driver, "DiningTable")
        if info.label in ("Bread", "Apple", "Potato", "Tomato", "Lettuce") and place in board:
            driver.do("slice", name, knife)
            return


def main() -> None:
    """Run tours and print what failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--layouts", nargs="*", default=["l_shape", "galley", "island"])
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    good, bad, durations = Counter(), Counter(), {}
    for layout in options.layouts:
        for seed in options.seeds:
            driver, begin = Driver(layout, seed, options.v), time.time()
            tour(driver)
            good += driver.tally.good
            bad += driver.tally.bad
            for skill, values in driver.tally.duration.items():
                durations.setdefault(skill, []).extend(values)
            print(
                f"{driver.name}: {driver.tally.rate():.3f}, {driver.world.time / (time.time() - begin):.1f} x real time"
            )
            if not options.v:
                print("\n".join(driver.tally.failures), flush=True)
    for skill in durations:
        mean, worst = np.mean(durations[skill]), np.max(durations[skill])
        print(f"{skill:11s} {good[skill]:4d} good {bad[skill]:3d} bad, {mean:.1f} s, at most {worst:.1f} s")


if __name__ == "__main__":
    main()
