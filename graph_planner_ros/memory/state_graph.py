"""The running episode as a graph: nodes are situations, edges the actions between them (GiG, outer graph).

Going back to a situation is a loop, and the loop has a name: the actions since it was there last. What counts as the
same situation decides how much this is worth. Neighbours of a good trajectory are less than 0.1 apart, so nearness of
embeddings alone would find a loop at every step. Here the embedding only proposes; what is true must be the same as
well. So walking to and fro is no loop while something new is seen on the way, and it is one when nothing is.

Two things make progress that no scene shows, and the domain says which: an action that has to be done several times
(`repetitions`), and what goes on by itself (`delays`). They are counted, and are part of the situation. But time that
passes is progress only for who starts something or waits for its end. To stack and unstack is a loop while something
cooks too.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.memory.experience import Embedding
from graph_planner_ros.memory.scene_facts import SceneFacts, scene_facts
from graph_planner_ros.scene.graph import SceneGraph

LOOP_THRESHOLD = 0.1
"""Cosine distance up to which two scenes may be the same situation (GiG's tau)."""
BLIND_THRESHOLD = 0.001
"""The same where nothing but the embedding is known: adjacent scenes of good trajectories are farther apart."""


@dataclass(frozen=True)
class Loop:
    """A way that led back to where it began.

    Attributes:
        actions: the cycle, in the order in which it was done. start: number of the node where it begins and ends.
        turns: how often it was gone round in a row, at least 1. distance: between the embeddings at its ends.
    """

    actions: tuple[GroundAction, ...]
    start: int
    turns: int = 1
    distance: float = 0.0

    def __str__(self) -> str:
        return " -> ".join(map(str, self.actions))


@dataclass
class StateNode:
    """A situation of the running episode.

    Attributes:
        index: number of the node. embedding: of the scene when it was first there.
        facts: what was true; None if only the embedding is known.
        done: how often actions were done that take several. going: what goes on by itself, and for how many actions.
        turns: after how many actions the episode was here.
    """

    index: int
    embedding: Embedding
    facts: SceneFacts | None
    done: frozenset[tuple[GroundAction, int]] = frozenset()
    going: frozenset[tuple[GroundAction, int]] = frozenset()
    turns: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class StateEdge:
    """An executed action between two situations, given by their numbers."""

    source: int
    target: int
    action: GroundAction


class StateGraph:
    """Grows with an episode and says when it goes in circles.

    Call `observe` when a scene shows what came of the last action, then `acted` with the next one. A scene from before
    the effects are visible looks as if the action had changed nothing.

    Args:
        domain: says which facts matter, and what takes several actions; without it all facts of a scene count.
        loop_threshold: cosine distance up to which two scenes may be the same situation.
    """

    def __init__(self, domain: Domain | None = None, loop_threshold: float = LOOP_THRESHOLD) -> None:
        if not 0.0 <= loop_threshold <= 2.0:
            raise ValueError(f"a loop threshold is a cosine distance from 0 to 2, not {loop_threshold}")
        self._domain = domain
        self._threshold = loop_threshold
        self.reset()

    def reset(self) -> None:
        """Begin a new episode."""
        self.nodes: list[StateNode] = []
        self.edges: list[StateEdge] = []
        self.actions: list[GroundAction] = []
        self.current: StateNode | None = None
        self._left: tuple[int, int] | None = None
        self._done: dict[GroundAction, int] = {}
        self._started: dict[GroundAction, int] = {}

    def acted(self, action: GroundAction) -> None:
        """Note an action that was carried out, whatever came of it.

        Raises:
            ValueError: nothing was observed before.
        """
        if self.current is None:
            raise ValueError(f"{action} was carried out before anything was observed")
        if self._left is None:
            self._left = (self.current.index, len(self.actions))
        self.actions.append(action)
        for started in self._started:
            self._started[started] += 1
        if self._domain is None:
            return
        if action.name in self._domain.repetitions:
            self._done[action] = self._done.get(action, 0) + 1
        if any(delay.start == action.name for delay in self._domain.delays.values()):
            self._started[action] = 1

    @property
    def waiting(self) -> int:
        """Actions until all that goes on must be over; 0 if nothing goes on. Until then a cycle with a wait is none."""
        if self._domain is None:
            return 0
        steps = {delay.start: delay.steps for delay in self._domain.delays.values()}
        return max((0, *(steps[action.name] - age for action, age in self._started.items())))

    def observe(self, embedding: Embedding, scene: SceneGraph | None = None) -> Loop | None:
        """Take in a scene; return the loop that it closes, None if it closes none.

        Args:
            embedding: of the scene, unit length, shape (dimension,). scene: None if only the embedding is known.

        Raises:
            ValueError: the embedding has another dimension than those before, or is not finite.
        """
        vector = np.asarray(embedding, dtype=np.float32)
        if vector.ndim != 1 or not np.isfinite(vector).all():
            raise ValueError(f"an embedding is a row of finite numbers, not an array of shape {vector.shape}")
        if self.nodes and vector.shape != self.nodes[0].embedding.shape:
            raise ValueError(f"expected an embedding of shape {self.nodes[0].embedding.shape}, found {vector.shape}")
        node, apart = self._node(vector, scene_facts(scene, self._domain) if scene is not None else None)
        now = len(self.actions)
        if self._left is not None:
            source, first = self._left
            if now == first + 1:
                self.edges.append(StateEdge(source, node.index, self.actions[first]))
            self._left = None
        self.current = node
        before = node.turns[-1] if node.turns else now
        if not node.turns or before < now:
            node.turns.append(now)
        if before == now:
            return None
        cycle = tuple(self.actions[before:now])
        return Loop(cycle, node.index, self._turns(cycle), apart)

    def _node(self, vector: Embedding, facts: SceneFacts | None) -> tuple[StateNode, float]:
        """Return the node of a situation and how far its embedding is; a new one if the episode was never there.

        Of several that fit, as before something went on and when it must be over, it is the one that was left last: its
        cycle is the shortest.
        """
        done, going = self._repeated(), self._going()
        found: list[tuple[int, StateNode, float]] = []
        if self.nodes:
            distances = 1.0 - np.stack([node.embedding for node in self.nodes]) @ vector
            for index in np.flatnonzero(distances <= self._threshold):
                node, apart = self.nodes[index], max(0.0, float(distances[index]))
                same_progress = node.done == done and (node.going == going or not self._waited_since(node))
                if same_progress and _same(node.facts, facts, apart):
                    found.append((node.turns[-1], node, apart))
        if found:
            _, node, apart = max(found, key=lambda entry: entry[0])
            return node, apart
        made = StateNode(len(self.nodes), vector, facts, done, going)
        self.nodes.append(made)
        return made, 0.0

    def _repeated(self) -> frozenset[tuple[GroundAction, int]]:
        if self._domain is None:
            return frozenset()
        most = self._domain.repetitions
        return frozenset((action, min(count, most[action.name])) for action, count in self._done.items())

    def _going(self) -> frozenset[tuple[GroundAction, int]]:
        if self._domain is None:
            return frozenset()
        steps = {delay.start: delay.steps for delay in self._domain.delays.values()}
        return frozenset((action, age) for action, age in self._started.items() if age < steps[action.name])

    def _waited_since(self, node: StateNode) -> bool:
        """Return whether something that goes on by itself was started or waited for since a situation was left."""
        if self._domain is None:
            return False
        names = {name for delay in self._domain.delays.values() for name in (delay.start, delay.done)}
        return any(action.name in names for action in self.actions[node.turns[-1] :])

    def _turns(self, cycle: tuple[GroundAction, ...]) -> int:
        count, end = 0, len(self.actions)
        while end >= len(cycle) and tuple(self.actions[end - len(cycle) : end]) == cycle:
            count, end = count + 1, end - len(cycle)
        return count


def _same(first: SceneFacts | None, second: SceneFacts | None, apart: float) -> bool:
    if first is None or second is None:
        return first is second and apart <= BLIND_THRESHOLD
    return first.agrees_with(second)
