"""What reasoning asks of a bank of experience, and a small bank in memory with exact search.

The small one serves evaluation and tests; robots use the bank that lives on disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from graph_planner_ros.memory.experience import Embedding, Episode, EpisodeHeader, EpisodeStatus, SceneEncoder


class NeighbourLike(Protocol):
    """A step that is near a scene."""

    @property
    def episode_id(self) -> str:
        """Of the episode."""

    @property
    def index(self) -> int:
        """Of the step in it."""

    @property
    def distance(self) -> float:
        """Cosine distance of the embeddings."""


class ExperienceSource(Protocol):
    """What retrieval and the learned model ask of a bank."""

    def nearest(
        self,
        embedding: Embedding,
        count: int,
        *,
        successful_only: bool = True,
        exclude_episode: str | None = None,
    ) -> Sequence[NeighbourLike]:
        """Return the nearest steps, nearest first; fewer if there are fewer."""

    def episode(self, episode_id: str) -> Episode:
        """Return an episode with its steps."""

    def headers(self) -> Iterable[EpisodeHeader]:
        """Return what is known of every episode apart from its steps."""


@dataclass(frozen=True)
class ExactNeighbour:
    """See `NeighbourLike`."""

    episode_id: str
    index: int
    distance: float


class ExactBank:
    """Episodes in memory, searched exactly.

    Args:
        episodes: to remember; two with the same id are refused. encoder: embeds scenes without an embedding, and all
            scenes if ``anew``.

    Raises:
        ValueError: naming the id that comes twice.
    """

    def __init__(self, episodes: Iterable[Episode], encoder: SceneEncoder, anew: bool = False) -> None:
        self._episodes: dict[str, Episode] = {}
        rows: list[Embedding] = []
        self._keys: list[tuple[str, int]] = []
        for episode in episodes:
            if episode.header.episode_id in self._episodes:
                raise ValueError(f"two episodes have the id {episode.header.episode_id!r}")
            embedded = with_embeddings(episode, encoder, anew)
            self._episodes[episode.header.episode_id] = embedded
            for number, step in enumerate(embedded.steps):
                if step.action is not None and step.embedding is not None:
                    rows.append(step.embedding)
                    self._keys.append((episode.header.episode_id, number))
        self._vectors = np.asarray(rows, dtype=np.float32).reshape(len(rows), encoder.dimension)
        self._succeeded = np.array(
            [self._episodes[key].header.status is EpisodeStatus.SUCCEEDED for key, _ in self._keys], dtype=bool
        )

    def nearest(
        self,
        embedding: Embedding,
        count: int,
        *,
        successful_only: bool = True,
        exclude_episode: str | None = None,
    ) -> list[ExactNeighbour]:
        """Return the nearest steps that have an action, nearest first."""
        if not self._keys or count < 1:
            return []
        distances = 1.0 - self._vectors @ np.asarray(embedding, dtype=np.float32)
        found: list[ExactNeighbour] = []
        for row in np.argsort(distances, kind="stable"):
            episode_id, index = self._keys[row]
            if (successful_only and not self._succeeded[row]) or episode_id == exclude_episode:
                continue
            found.append(ExactNeighbour(episode_id, index, max(0.0, float(distances[row]))))
            if len(found) == count:
                break
        return found

    def episode(self, episode_id: str) -> Episode:
        """Return an episode.

        Raises:
            KeyError: there is none with this id.
        """
        return self._episodes[episode_id]

    def headers(self) -> list[EpisodeHeader]:
        """Return the headers in the order in which the episodes came."""
        return [episode.header for episode in self._episodes.values()]


def with_embeddings(episode: Episode, encoder: SceneEncoder, anew: bool = False) -> Episode:
    """Return the episode with an embedding for every scene; ``anew``: also for those that have one."""
    missing = [number for number, step in enumerate(episode.steps) if anew or step.embedding is None]
    if not missing:
        return episode
    made = encoder.encode([episode.steps[number].scene for number in missing])
    steps = list(episode.steps)
    for number, vector in zip(missing, made, strict=True):
        steps[number] = replace(steps[number], embedding=vector)
    return replace(episode, steps=tuple(steps))
