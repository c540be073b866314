"""What appliances do to items: microwaves heat, fridges cool, water washes, lamps light."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from graph_planner_ros.sim.truth import contains

if TYPE_CHECKING:
    from graph_planner_ros.sim.world import KitchenWorld

HEAT_TIME = 3.0
"""Time [s] in a running, closed microwave until a thing is hot."""
COOL_TIME = 3.0
"""Time [s] in a fridge until a thing is cold."""
WASH_TIME = 2.0
"""Time [s] under running water until a thing is clean."""
LIGHT_TIME = 1.0
LIGHT_RANGE = 0.8
"""Something held for `LIGHT_TIME` [s] within this distance [m] of the bulb of a lamp that is on counts as examined."""
BULB_DEPTH = 0.08
"""Depth [m] of a lamp's bulb below its top."""


class Appliances:
    """Keeps, for every item and effect, how long it has been exposed without a break, and changes its properties."""

    def __init__(self, world: KitchenWorld) -> None:
        self._world = world
        self._exposed: dict[tuple[str, str], float] = {}
        self._time = 0.0

    def reset(self) -> None:
        """Forget all exposure and start from the present time."""
        self._exposed.clear()
        self._time = self._world.time

    def update(self) -> None:
        """Account for the simulated time since the last call."""
        world = self._world
        elapsed, self._time = world.time - self._time, world.time
        if elapsed <= 0:
            return
        active = self._active()
        if not active:
            self._exposed.clear()
            return
        exposed: dict[tuple[str, str], float] = {}
        for name in world.items:
            position = world.data.xpos[world.body_of_item[name]]
            for effect, fixture, duration in active:
                if self._reaches(effect, fixture, name, position):
                    total = self._exposed.get((name, effect), 0.0) + elapsed
                    exposed[name, effect] = total
                    if total >= duration:
                        self._apply(effect, name)
        self._exposed = exposed

    def _active(self) -> list[tuple[str, str, float]]:
        world, active = self._world, []
        for name, info in world.fixtures.items():
            on = name in world.switched_on
            if info.label == "Fridge":
                active.append(("cool", name, COOL_TIME))
            elif info.label == "Microwave" and on and world.is_closed(name):
                active.append(("heat", name, HEAT_TIME))
            elif info.label == "SinkBasin" and on:
                active.append(("wash", name, WASH_TIME))
            elif info.label == "DeskLamp" and on:
                active.append(("light", name, LIGHT_TIME))
        return active

    def _reaches(self, effect: str, fixture: str, name: str, position: np.ndarray) -> bool:
        info = self._world.fixtures[fixture]
        if effect == "light":
            bulb = info.box.center + np.array([0, 0, info.box.extent[2] / 2 - BULB_DEPTH])
            return name == self._world.held and bool(np.linalg.norm(position - bulb) < LIGHT_RANGE)
        volume = info.surfaces[0] if effect == "wash" else info.containment
        return volume is not None and contains(volume, position)

    def _apply(self, effect: str, name: str) -> None:
        properties = self._world.properties[name]
        if effect == "heat" and not properties.hot:
            properties.hot, properties.cold = True, False
        elif effect == "cool" and not properties.cold:
            properties.hot, properties.cold = False, True
        elif effect == "light":
            properties.examined = True
        elif effect == "wash" and not (properties.cleaned and not properties.dirty):
            properties.cleaned, properties.dirty = True, False
            self._world.refresh_looks()
