"""Pictures of a kitchen for the README: antialiased, with shadows."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from graph_planner_ros.sim.rendering import OVERVIEW
from graph_planner_ros.sim.room import KitchenOptions
from graph_planner_ros.sim.world import KitchenWorld

PICTURE = KitchenOptions(width=1280, height=960, shadows=True)
"""Options for a world of which pictures are taken."""


def save_picture(world: KitchenWorld, path: Path | str, camera: str = OVERVIEW) -> Path:
    """Save what a camera sees as a PNG; the size is that of the world's options."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(world.render_rgb(camera)).save(path)
    return path


def save_kitchen(path: Path | str, layout: str = "l_shape", seed: int = 0, *, open_doors: bool = False) -> Path:
    """Save a picture of a fresh kitchen, on request with everything open and switched on."""
    world = KitchenWorld(layout, seed, PICTURE)
    try:
        if open_doors:
            for name, info in world.fixtures.items():
                if info.door:
                    world.set_door(name, info.door.open_position)
                if info.button:
                    world.switch(name, True)
        return save_picture(world, path)
    finally:
        world.close()
