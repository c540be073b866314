"""A small encoder and small episodes for tests of the bank; also imported by the process that is killed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.memory.experience import Embedding, Episode, EpisodeHeader, EpisodeStatus, ExperienceStep
from graph_planner_ros.scene.graph import SceneGraph, SceneNode

DIMENSION = 8
ACTION = GroundAction("go", ("shelf",))


@dataclass
class Encoder:
    """Turns the stamp of a scene into a random unit vector, always the same one."""

    dimension: int = DIMENSION
    model_hash: str = "first model"
    calls: int = 0

    def encode(self, scenes: Sequence[SceneGraph]) -> Embedding:
        self.calls += 1
        return np.stack([self.vector(scene.stamp) for scene in scenes])

    def vector(self, stamp: float) -> Embedding:
        seed = hashlib.sha256(f"{self.model_hash} {stamp}".encode()).digest()[:8]
        vector = np.random.default_rng(int.from_bytes(seed, "little")).standard_normal(self.dimension)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


def scene(stamp: float) -> SceneGraph:
    return SceneGraph(stamp=stamp, domain="garden", nodes={"pot_1": SceneNode("pot_1", "Pot")})


def step(number: int, index: int, last: bool = False) -> ExperienceStep:
    """Step of the episode with this number; the last one has no action."""
    return ExperienceStep(
        index, float(index), scene(1000.0 * number + index), None if last else ACTION, not last or None
    )


def header(number: int, status: EpisodeStatus = EpisodeStatus.RUNNING, **values: object) -> EpisodeHeader:
    content: dict = {"layout": f"garden {number}", "started": float(number), "status": status, **values}
    return EpisodeHeader(f"episode {number}", "garden", "hash of the garden", **content)


def episode(number: int, steps: int = 4, status: EpisodeStatus = EpisodeStatus.SUCCEEDED, **values: object) -> Episode:
    taken = tuple(step(number, index, index == steps - 1) for index in range(steps))
    return Episode(header(number, status, **values), taken)
