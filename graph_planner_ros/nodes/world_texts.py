"""What a text world says to the planner: its goal, how the game stands, and texts that goals are learned from."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from graph_planner_ros import msg as messages
from graph_planner_ros.nodes.base import KEPT, ManagedNode
from graph_planner_ros.scene.graph import SceneGraph

LONGEST_HOLD = 2.0
"""Seconds of wall time that a belief waits for the text that it was made of; a text that is lost must not stop it."""


@dataclass(frozen=True)
class WorldText:
    """An observation: its words, and the commands that were admitted then."""

    text: str
    commands: tuple[str, ...] = ()


@dataclass(frozen=True)
class GameView:
    """How the game stands. ``status``: a constant of TextObservation; ``reason``: a sentence if it was not won."""

    goal: str = ""
    status: int = messages.TextObservation.RUNNING
    reason: str = ""

    @property
    def won(self) -> bool:
        """Whether the world says that it is won."""
        return self.status == messages.TextObservation.WON

    @property
    def over(self) -> bool:
        """Whether no more commands can be given."""
        return self.status != messages.TextObservation.RUNNING


class WorldTexts:
    """Listens to `observation_text`; texts and view may be read on any thread, all else on the executor thread.

    Args:
        node: whose interfaces are used. begun: is called when another game begins than the one that was heard of.
        came: is called when a text came, since a belief may have waited for it.
    """

    def __init__(self, node: ManagedNode, begun: Callable[[str], None], came: Callable[[], None]) -> None:
        self._node, self._begun, self._came = node, begun, came
        self._lock = threading.Lock()
        self._texts: list[WorldText] = []
        self._revision = 0
        self._heard = False
        self._held_since = 0.0
        self.view = GameView()
        self._subscription = node.create_subscription(messages.TextObservation, "observation_text", self._hear, KEPT)
        self._topic = node.resolve_topic_name("observation_text")

    @property
    def entities(self) -> list[Any]:
        """What must be destroyed in the end."""
        return [self._subscription]

    def since(self, count: int) -> Sequence[WorldText]:
        """Return the texts of this game but the first ``count``."""
        with self._lock:
            return tuple(self._texts[count:])

    def covers(self, graph: SceneGraph) -> bool:
        """Return whether the texts that a belief was made of have come, or are given up; then it may be used."""
        expected = self._heard or self._node.count_publishers(self._topic) > 0
        if not expected or graph.revision <= self._revision:
            self._held_since = 0.0
            return True
        now = time.monotonic()
        self._held_since = self._held_since or now
        if now - self._held_since < LONGEST_HOLD:
            return False
        self._node.warn_once("text lost", "a scene graph came without the text that it was made of")
        return True

    def _hear(self, message: messages.TextObservation) -> None:
        begins = message.step == 0
        with self._lock:
            if begins:
                self._texts = []
            self._texts.append(WorldText(message.text, tuple(message.commands)))
            self.view = GameView(message.goal, message.status, message.reason)
            self._revision = message.revision
        if begins and self._heard:
            self._begun(message.game)
        self._heard = True
        self._came()
