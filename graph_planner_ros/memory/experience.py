"""What an episode leaves behind: scenes, the actions between them, and what came of it (GiG, outer graph)."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.domain.symbols import Goal, GroundAction
from graph_planner_ros.scene.graph import SceneGraph

Embedding = NDArray[np.float32]
"""A scene as a vector of unit length, shape (dimension,); batches have shape (n, dimension)."""


class EpisodeStatus(enum.Enum):
    """What came of an episode."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class ExperienceStep:
    """A scene and what was done in it.

    Attributes:
        index: 0, 1, ... within the episode.
        stamp: seconds of ROS time (in text worlds: the number of observations so far).
        scene: what was believed before the action.
        action: what was done; None for the scene at the end of an episode.
        succeeded: whether the action succeeded; None if that is not known, or nothing was done.
        embedding: of the scene; None if it was not made yet.
    """

    index: int
    stamp: float
    scene: SceneGraph
    action: GroundAction | None = None
    succeeded: bool | None = None
    embedding: Embedding | None = None


@dataclass(frozen=True)
class EpisodeHeader:
    """What is known of an episode apart from its steps.

    Attributes:
        episode_id: unique among all robots (a UUID in hexadecimal digits).
        domain: name of the planning domain. domain_hash: of its files, see `domain_hash`.
        instruction: what the user said. goals: as it was understood.
        origin: the robot, world or file that it comes from. layout: the home or game, as its world names it.
        seed: of the world, if it has one.
        started: seconds since 1970, UTC.
        status: what came of it. reason: in a sentence.
    """

    episode_id: str
    domain: str
    domain_hash: str
    instruction: str = ""
    goals: tuple[Goal, ...] = ()
    origin: str = ""
    layout: str = ""
    seed: int | None = None
    started: float = 0.0
    status: EpisodeStatus = EpisodeStatus.RUNNING
    reason: str = ""


@dataclass(frozen=True)
class Episode:
    """An episode with its steps in order."""

    header: EpisodeHeader
    steps: tuple[ExperienceStep, ...] = field(default=())


class SceneEncoder(Protocol):
    """Turns scenes into vectors; the same scene always into the same one."""

    @property
    def dimension(self) -> int:
        """Number of components of an embedding."""

    @property
    def model_hash(self) -> str:
        """Identifies weights and features: embeddings of different hashes cannot be compared."""

    def encode(self, scenes: Sequence[SceneGraph]) -> Embedding:
        """Return embeddings of unit length, shape (n, dimension)."""


def distance(first: Embedding, second: Embedding) -> NDArray[np.float32]:
    """Return the cosine distance 1 - cos of embeddings of unit length, 0 (same) to 2, row by row."""
    return np.asarray(1.0 - np.sum(first * second, axis=-1), dtype=np.float32)
