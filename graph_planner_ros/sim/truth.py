"""The true state of the simulated kitchen, for evaluation only: nothing that plans or acts reads it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from graph_planner_ros.domain.symbols import SymbolicState, Truth
from graph_planner_ros.scene.graph import GROUND_TRUTH, MAP, ROBOT_ID, Attribute, Box, Relation, SceneGraph, SceneNode

if TYPE_CHECKING:
    from graph_planner_ros.domain.domain import Domain
    from graph_planner_ros.sim.world import KitchenWorld


def contains(box: Box, point: np.ndarray, margin: float = 0.0) -> bool:
    """True if a point [m] lies in an upright box, or within ``margin`` of it."""
    dx, dy, dz = (float(point[k] - box.center[k]) for k in range(3))
    c, s = math.cos(box.yaw), math.sin(box.yaw)
    half = box.extent
    return (
        abs(c * dx + s * dy) <= half[0] / 2 + margin
        and abs(-s * dx + c * dy) <= half[1] / 2 + margin
        and abs(dz) <= half[2] / 2 + margin
    )


def container_of(world: KitchenWorld, name: str) -> str | None:
    """What an item is directly in or on: a movable receptacle, else a fixture, else None; None while it is held."""
    if name == world.held:
        return None
    position, _ = world.item_pose(name)
    for other in world.items:
        if other == name:
            continue
        inner = world.inner_volume(other)
        if inner is not None and contains(inner, position):
            return other
    # The smallest volume wins: a pot on the stove is on the burner, not on the worktop around it.
    holders = [
        (float(np.prod(info.containment.extent)), fixture)
        for fixture, info in world.fixtures.items()
        if info.containment is not None and contains(info.containment, position, 0.005)
    ]
    return min(holders)[1] if holders else None


def truth_graph(world: KitchenWorld, domain: Domain) -> SceneGraph:
    """Every fixture and item with its true pose, attributes and relations."""
    now = world.time
    graph = SceneGraph(frame_id="map", stamp=now, domain=domain.name, revision=round(now * 1000))

    def attribute(node: SceneNode, name: str, value: bool) -> None:
        if name in domain.attributes:
            node.attributes[name] = Attribute(name, Truth.TRUE if value else Truth.FALSE, GROUND_TRUTH, now)

    for name, info in world.fixtures.items():
        node = SceneNode(name, info.label, info.box, info.containment, source=MAP, last_seen=now, observations=1)
        if info.door:
            attribute(node, "closed", world.is_closed(name))
        if info.button:
            attribute(node, "switched_on", name in world.switched_on)
        graph.nodes[name] = node
    for name, item in world.items.items():
        node = SceneNode(
            name,
            item.label,
            world.item_box(name),
            world.inner_volume(name),
            source=GROUND_TRUTH,
            last_seen=now,
            observations=1,
        )
        properties = world.properties[name]
        for field in ("hot", "cold", "cleaned", "dirty", "sliced", "examined"):
            attribute(node, field, getattr(properties, field))
        graph.nodes[name] = node
    graph.relations = _relations(world, now)
    return graph


def _relations(world: KitchenWorld, now: float) -> list[Relation]:
    relations = []
    for name in world.items:
        holder = container_of(world, name)
        if holder is None:
            continue
        closed_in = holder in world.items or world.fixtures[holder].door is not None or holder.startswith("sink")
        relations.append(Relation(name, "in" if closed_in else "on", holder, source=GROUND_TRUTH, stamp=now))
    if world.held:
        relations.append(Relation(ROBOT_ID, "holding", world.held, source=GROUND_TRUTH, stamp=now))
    place = robot_place(world)
    if place:
        relations.append(Relation(ROBOT_ID, "at", place, source=GROUND_TRUTH, stamp=now))
    return relations


def robot_place(world: KitchenWorld) -> str | None:
    """The fixture that the robot stands in front of, facing it; None if there is none."""
    if world.robot is None:
        return None
    x, y, yaw = world.robot.pose
    best: tuple[float, str | None] = (1.1, None)
    for name, info in world.fixtures.items():
        c, s = math.cos(info.front), math.sin(info.front)
        dx, dy = x - info.box.center[0], y - info.box.center[1]
        ahead, aside = c * dx + s * dy - info.box.extent[0] / 2, abs(-s * dx + c * dy)
        facing = math.cos(yaw - info.front) < -0.5
        if ahead > 0 and facing and aside < info.box.extent[1] / 2 + 0.1:
            best = min(best, (math.hypot(ahead, aside), name), key=lambda entry: entry[0])
    return best[1]


def truth_state(world: KitchenWorld, domain: Domain) -> SymbolicState:
    """The true scene as planning sees a scene."""
    from graph_planner_ros.scene.facts import symbolic_state  # the scene's view of facts is the only one

    return symbolic_state(truth_graph(world, domain), domain)
