"""Keeps things awake that the physics engine would let sleep because it has not seen yet that they can move.

MuJoCo lets a thing sleep once it has been slow for some steps. Something that has just been put elsewhere, or let go,
has no speed yet, so its count of slow steps starts anew here; otherwise it could fall asleep in mid-air.
"""

from __future__ import annotations

from typing import Any

import mujoco


def stay_awake(model: Any, data: Any, body: int) -> None:
    """Start a body's count of slow steps anew; whatever moved it has woken it already if it was asleep."""
    tree = int(model.body_treeid[body])
    if tree >= 0 and data.tree_asleep[tree] < 0:
        data.tree_asleep[tree] = -(1 + mujoco.mjMINAWAKE)
