"""Disturbances behind the robot's back, at once or scheduled on the start, middle or end of a skill."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from graph_planner_ros.scene.graph import Box, SceneNode
from graph_planner_ros.sim.placement import free_spot
from graph_planner_ros.sim.truth import container_of, contains

if TYPE_CHECKING:
    from graph_planner_ros.sim.world import KitchenWorld, RobotBody

KINDS = ("move", "drop", "stick_door", "swap_instance", "slip")
PHASES = ("start", "middle", "end")


class DisturbanceError(ValueError):
    """A disturbance is unknown or cannot be done now; the message says why."""


@dataclass(frozen=True)
class Trigger:
    """When a scheduled disturbance comes: the ``nth`` time that ``skill`` on a ``target`` reaches ``phase``.

    An empty ``skill`` or ``target`` stands for any; ``target`` is a class label or an id among the skill's arguments.
    """

    skill: str = ""
    target: str = ""
    nth: int = 1
    phase: str = "start"


@dataclass(frozen=True)
class Disturbance:
    """One disturbance: its kind, what it befalls (class, true id or empty: chosen by the seed), and when."""

    kind: str
    target: str = ""
    when: Trigger = field(default_factory=Trigger)


@dataclass
class _Waiting:
    disturbance: Disturbance
    left: int


class DisturbanceSchedule:
    """Disturbances that wait for their skill; the bridge reports skills through `KitchenWorld.on_skill`."""

    def __init__(self, disturbances: Sequence[Disturbance] = ()) -> None:
        self._waiting = [_Waiting(disturbance, disturbance.when.nth) for disturbance in disturbances]

    @classmethod
    def from_json(cls, text: str | Sequence[Any]) -> DisturbanceSchedule:
        """Read a JSON list (or the list itself) of {kind, target, when: {skill, target, nth, phase}}.

        ValueError names the entry and what was expected.
        """
        try:
            entries = json.loads(text) if isinstance(text, str) else list(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"disturbances are not JSON: {error}") from error
        if not isinstance(entries, list):
            raise ValueError(f"disturbances: expected a list, got {type(entries).__name__}")
        return cls([_parse(entry, index) for index, entry in enumerate(entries)])

    @property
    def waiting(self) -> tuple[Disturbance, ...]:
        """Those that have not come yet."""
        return tuple(entry.disturbance for entry in self._waiting)

    def on_skill(self, disturber: Disturber, skill: str, arguments: Sequence[SceneNode], phase: str) -> list[str]:
        """Carry out what waits for this phase of this skill; returns a sentence for each that came.

        What cannot be done now (nothing is held, nothing matches) waits for the next time.
        """
        names = {name for node in arguments for name in (node.label, node.instance_id)}
        told: list[str] = []
        still: list[_Waiting] = []
        for entry in self._waiting:
            when = entry.disturbance.when
            if when.phase != phase or when.skill not in ("", skill) or (when.target and when.target not in names):
                still.append(entry)
                continue
            entry.left -= 1
            if entry.left > 0:
                still.append(entry)
                continue
            try:
                told.append(disturber.disturb(entry.disturbance.kind, entry.disturbance.target, arguments))
            except DisturbanceError:
                entry.left = 1
                still.append(entry)
        self._waiting = still
        return told


def _parse(entry: object, index: int) -> Disturbance:
    where = f"disturbance {index + 1}"
    known = _object(entry, ("kind", "target", "when"), where)
    when = _object(known.get("when", {}), ("skill", "target", "nth", "phase"), f"{where}, when")
    kind, phase, nth = known.get("kind"), when.get("phase", "start"), when.get("nth", 1)
    if kind not in KINDS:
        raise ValueError(f"{where}: kind {kind!r}, expected one of {', '.join(KINDS)}")
    if phase not in PHASES:
        raise ValueError(f"{where}, when: phase {phase!r}, expected one of {', '.join(PHASES)}")
    if not isinstance(nth, int) or isinstance(nth, bool) or nth < 1:
        raise ValueError(f"{where}, when: nth {nth!r}, expected a whole number from 1")
    for name, value in (("target", known), ("skill", when), ("target", when)):
        if not isinstance(value.get(name, ""), str):
            raise ValueError(f"{where}: {name} {value[name]!r}, expected text")
    return Disturbance(
        str(kind), known.get("target", ""), Trigger(when.get("skill", ""), when.get("target", ""), nth, str(phase))
    )


def _object(entry: object, known: tuple[str, ...], where: str) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise ValueError(f"{where}: expected an object with {', '.join(known)}, got {type(entry).__name__}")
    unknown = sorted(set(entry) - set(known))
    if unknown:
        raise ValueError(f"{where}: unknown key {unknown[0]!r}, expected {', '.join(known)}")
    return entry


class Disturber:
    """Carries out disturbances on a world.

    ``move``: somebody puts an item somewhere else in the open. ``drop``: the robot loses what it holds, now;
    what would fall on the floor is put back on the nearest worktop or table.
    ``stick_door``: a door does not move until the robot has tried once or twice. ``swap_instance``: two items of
    one class exchange places. ``slip``: the next thing that the robot lifts slips out of the gripper.

    Attributes:
        stuck: fixture id -> opening attempts that will still fail.
        history: what was done, a sentence each, oldest first.
    """

    def __init__(self, world: KitchenWorld) -> None:
        self._world = world
        self.stuck: dict[str, int] = {}
        self.history: list[str] = []

    def disturb(self, kind: str, target: str = "", arguments: Sequence[SceneNode] = ()) -> str:
        """Do it now and say what was done.

        Of several things that match the target the one nearest to a skill's ``arguments`` is taken, without them the
        seed decides. DisturbanceError if it is unknown or cannot be done now.
        """
        if kind not in KINDS:
            raise DisturbanceError(f"unknown disturbance {kind!r}; expected one of {', '.join(KINDS)}")
        self._check_target(target)
        told: str = getattr(self, f"_{kind}")(target, arguments)
        self.history.append(told)
        return told

    def _check_target(self, target: str) -> None:
        """Refuse a target that is nothing in this world, rather than say that it cannot be reached."""
        world = self._world
        names = {*world.items, *world.fixtures}
        names |= {item.label for item in world.items.values()} | {info.label for info in world.fixtures.values()}
        if target and target not in names:
            known = ", ".join(sorted({item.label for item in world.items.values()}))
            raise DisturbanceError(f"nothing in this kitchen is called {target!r}; its movable things are: {known}")

    def opening_attempt(self, fixture: str) -> bool:
        """The robot has tried a door: True if it is stuck; after its last failing attempt it comes free."""
        if fixture not in self.stuck:
            return False
        self.stuck[fixture] -= 1
        if self.stuck[fixture] <= 0:
            self.release_door(fixture)
        return True

    def release_door(self, fixture: str) -> None:
        """Make a stuck door move again."""
        self.stuck.pop(fixture, None)
        self._world.jam_door(fixture, False)

    def _items(self, target: str, arguments: Sequence[SceneNode]) -> list[str]:
        """Items that match and are not held: nearest to the arguments first, else in a random order."""
        world = self._world
        names = [n for n, item in world.items.items() if n != world.held and target in ("", n, item.label)]
        boxes = [node.box for node in arguments if node.box is not None]
        if boxes:
            center = boxes[0].center
            return sorted(names, key=lambda n: float(np.linalg.norm(world.item_pose(n)[0] - center)))
        return [names[int(i)] for i in world.random.permutation(len(names))]

    def _relocate(self, *moves: tuple[str, np.ndarray, float]) -> None:
        """Put items (name, position, yaw) somewhere, each with what lies in it."""
        world = self._world
        inside = {name: [other for other in world.items if container_of(world, other) == name] for name, _, _ in moves}
        for name, position, yaw in moves:
            shift = np.asarray(position) - world.item_pose(name)[0]
            for other in inside[name]:
                world.set_item_pose(other, world.item_pose(other)[0] + shift, world.item_yaw(other))
            world.set_item_pose(name, position, yaw)

    def _put_in_the_open(self, name: str, but: str | None, near: np.ndarray | None = None) -> str | None:
        """Put an item on a worktop or table, a random one or the one nearest to a point; None if there is no room."""
        world = self._world
        places = [f for f, info in world.fixtures.items() if f != but and info.label in ("CounterTop", "DiningTable")]
        places = [places[int(index)] for index in world.random.permutation(len(places))]
        if near is not None:
            places.sort(key=lambda f: float(np.linalg.norm(world.fixtures[f].box.center[:2] - near)))
        others = [world.item_pose(other)[0] for other in world.items if other != name]
        for place in places:
            size = world.items[name].size
            spot = free_spot(world.fixtures[place], world.surfaces(place), size, others, world.random)
            if spot:
                self._relocate((name, spot.position, spot.yaw))
                return place
        return None

    def _move(self, target: str, arguments: Sequence[SceneNode]) -> str:
        world = self._world
        shut = world.shut_fixtures()
        for name in self._items(target, arguments):
            here = container_of(world, name)
            if here in world.items:
                here = container_of(world, here)
            if here in shut:
                continue
            place = self._put_in_the_open(name, here)
            if place is not None:
                return f"{name} was moved to {place}"
        raise DisturbanceError(f"no {target or 'item'} within people's reach and with a place to go")

    def _robot(self) -> RobotBody:
        if self._world.robot is None:
            raise DisturbanceError("there is no robot in this world")
        return self._world.robot

    def _drop(self, target: str, arguments: Sequence[SceneNode]) -> str:
        world = self._world
        robot, held = self._robot(), world.held
        if held is None:
            raise DisturbanceError("the robot holds nothing that could drop")
        if target not in ("", held, world.items[held].label):
            raise DisturbanceError(f"the robot holds {held}, not {target}")
        robot.release()
        position = world.item_pose(held)[0]
        below = [surface for fixture in world.fixtures for surface in world.surfaces(fixture)]
        if any(contains(Box(s.center, s.extent + np.array([-0.06, -0.06, 1.0]), s.yaw), position) for s in below):
            return f"{held} dropped from the gripper"
        # The household domain has no floor to pick things up from: what falls there is put back by somebody.
        place = self._put_in_the_open(held, None, position[:2])
        return f"{held} dropped from the gripper and was put on {place}" if place else f"{held} dropped on the floor"

    def _slip(self, target: str, arguments: Sequence[SceneNode]) -> str:
        self._robot().slip_next = True
        return "the next thing that is lifted will slip"

    def _stick_door(self, target: str, arguments: Sequence[SceneNode]) -> str:
        world = self._world
        names = [n for n, info in world.fixtures.items() if info.door and target in ("", n, info.label)]
        meant = [node.instance_id for node in arguments if node.instance_id in names]
        if not names:
            raise DisturbanceError(f"no door matches {target!r}")
        # Without a skill that says which, all that match stick: nobody knows which one the robot will try.
        attempts = int(world.random.integers(1, 3))
        for name in meant or names:
            self.stuck[name] = attempts
            world.jam_door(name, True)
        return f"{', '.join(meant or names)} stuck for {attempts} attempts"

    def _swap_instance(self, target: str, arguments: Sequence[SceneNode]) -> str:
        world = self._world
        for first in self._items(target, arguments):
            label = world.items[first].label
            others = [n for n in self._items(label, ()) if n != first and first != container_of(world, n)]
            if others:
                second = others[0]
                self._relocate(
                    (first, world.item_pose(second)[0], world.item_yaw(second)),
                    (second, world.item_pose(first)[0], world.item_yaw(first)),
                )
                return f"{first} and {second} have changed places"
        raise DisturbanceError(f"no two things of one class match {target!r}")
