"""Records what an agent of text worlds goes through as an episode of experience (`memory.experience`)."""

from __future__ import annotations

import copy
import time
import uuid
from collections.abc import Sequence
from typing import Protocol

from graph_planner_ros.benchmarks.worlds.game import GameSpec, GameStatus
from graph_planner_ros.benchmarks.worlds.records import EpisodeRecord
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Goal, GroundAction
from graph_planner_ros.memory.episode_files import domain_hash
from graph_planner_ros.memory.experience import Episode, EpisodeHeader, EpisodeStatus, ExperienceStep
from graph_planner_ros.planning.looks import name_what_was_found
from graph_planner_ros.scene.graph import SceneGraph

_NOT_WON = {GameStatus.CRASHED.value: EpisodeStatus.INTERRUPTED}


class Observer(Protocol):
    """Is told what an agent does; it must change nothing of what it is given, and copies what it keeps."""

    def acting(self, scene: SceneGraph, action: GroundAction) -> None:
        """An action of a plan is about to be carried out in a scene."""

    def acted(self, scene: SceneGraph, succeeded: bool) -> None:
        """That action is over; ``scene`` is what is believed then."""

    def ended(self, scene: SceneGraph, goals: Sequence[Goal], record: EpisodeRecord) -> None:
        """The game is over. ``goals`` are those that were understood or learned; none if it was not understood."""


class Recorder:
    """Keeps the scenes and actions of one episode; `episode` is there when it is over.

    A look for something that nobody had seen names a placeholder while it is planned. Here it names the thing that was
    found; where nothing was found it keeps the placeholder, and has not succeeded.

    Args:
        domain: of the scenes. spec: of the game. layout: the home that it plays in, as its world names it.
    """

    def __init__(self, domain: Domain, spec: GameSpec, layout: str = "") -> None:
        self._domain = domain
        self._spec = spec
        self._layout = layout
        self._started = time.time()
        self.episode: Episode | None = None
        self._pending: tuple[SceneGraph, GroundAction] | None = None
        self._steps: list[ExperienceStep] = []

    def acting(self, scene: SceneGraph, action: GroundAction) -> None:
        """See `Observer`."""
        self._pending = copy.deepcopy(scene), action

    def acted(self, scene: SceneGraph, succeeded: bool) -> None:
        """See `Observer`."""
        if self._pending is None:
            return
        before, action = self._pending
        self._pending = None
        if succeeded:
            action, succeeded = name_what_was_found(self._domain, before, scene, action)
        self._steps.append(ExperienceStep(len(self._steps), before.stamp, before, action, succeeded))

    def ended(self, scene: SceneGraph, goals: Sequence[Goal], record: EpisodeRecord) -> None:
        """See `Observer`."""
        won = record.status == GameStatus.WON.value
        if self._pending is not None:  # the world broke while an action was carried out
            self.acted(scene, False)
        header = EpisodeHeader(
            uuid.uuid4().hex,
            self._domain.name,
            domain_hash(self._domain),
            record.goal,
            tuple(goals),
            origin_of(self._spec),
            self._layout,
            self._spec.seed,
            self._started,
            EpisodeStatus.SUCCEEDED if won else _NOT_WON.get(record.status, EpisodeStatus.FAILED),
            record.reason,
        )
        last = ExperienceStep(len(self._steps), scene.stamp, copy.deepcopy(scene))
        self.episode = Episode(header, (*self._steps, last))


def origin_of(spec: GameSpec) -> str:
    """Return what the header of an episode says of the game that it comes from."""
    return f"{spec.world} {spec.split} {spec.name}"
