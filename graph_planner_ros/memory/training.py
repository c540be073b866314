"""Training of the graph encoder (GiG): triplets of steps, and a term that spreads embeddings out.

Loss = mean over triplets that are not met of max(0, d(anchor, positive) - d(anchor, negative) + margin)
     + lambda x mean over pairs of cos^2

with cosine distances d. Anchor and positive are neighbours in one trajectory, the negatives are the steps of all other
trajectories of the batch. Trajectories of one home (layout and seed) are kept together when some are held out.
"""

from __future__ import annotations

import copy
import hashlib
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from graph_planner_ros.memory.experience import Embedding, Episode
from graph_planner_ros.memory.features import FeatureMaker, SceneStructure, structure_of
from graph_planner_ros.memory.gat import GatShape, GraphEncoder, graph_data
from graph_planner_ros.scene.graph import SceneGraph


@dataclass(frozen=True)
class TrainingOptions:
    """How to train.

    Attributes:
        seed: of weights, of drawing and of what is held out.
        margin: of the triplet loss [cosine distance]. spread: lambda of the uniformity term.
        batch: trajectories in a batch, as many of each domain. steps: most batches.
        rate: of learning (AdamW), falling to zero along a cosine. decay: of weights.
        held_out: share of the homes of each domain that early stopping looks at.
        every: batches between two looks at them. patience: looks without a better one after which training ends.
        thinned: share of the trajectories of a batch from which things are taken out, see `thin`.
        far: share of the positives that are any other step of the trajectory; 0 as in the paper: all are adjacent.
    """

    seed: int = 0
    margin: float = 1.0
    spread: float = 1.0
    batch: int = 48
    steps: int = 1200
    rate: float = 2e-3
    decay: float = 1e-4
    held_out: float = 0.2
    every: int = 50
    patience: int = 16
    thinned: float = 0.5
    far: float = 0.5


@dataclass(frozen=True)
class Trajectory:
    """The scenes of an episode in order, with its domain and its home: layout and seed of the world."""

    domain: str
    home: tuple[str, int | None]
    scenes: tuple[SceneGraph, ...]


@dataclass(frozen=True)
class Look:
    """Progress: batches so far, mean training loss since the last look, held-out loss, and whether it is the best."""

    step: int
    training: float
    held_out: float
    best: bool


def trajectories_of(episodes: Iterable[Episode]) -> list[Trajectory]:
    """Return the trajectories of episodes with two steps or more; others have no neighbours."""
    return [
        Trajectory(item.header.domain, (item.header.layout, item.header.seed), tuple(step.scene for step in item.steps))
        for item in episodes
        if len(item.steps) > 1
    ]


def split(trajectories: Sequence[Trajectory], share: float, seed: int) -> tuple[list[Trajectory], list[Trajectory]]:
    """Return trajectories to learn from and those that are held out, so that no home (layout and seed) is in both.

    Raises:
        ValueError: a domain has fewer than two homes, so nothing of it can be held out.
    """
    held: set[tuple[str, tuple[str, int | None]]] = set()
    for domain in sorted({item.domain for item in trajectories}):
        homes = sorted({item.home for item in trajectories if item.domain == domain}, key=repr)
        if len(homes) < 2:
            raise ValueError(f"domain {domain!r} has trajectories of {len(homes)} home; expected two or more")
        random.Random(f"{seed} {domain}").shuffle(homes)
        held |= {(domain, home) for home in homes[: max(1, round(share * len(homes)))]}
    learned = [item for item in trajectories if (item.domain, item.home) not in held]
    return learned, [item for item in trajectories if (item.domain, item.home) in held]


def thin(scenes: Sequence[SceneGraph], rng: random.Random) -> list[SceneGraph]:
    """Return scenes of one trajectory without some of their things, the same ones in each.

    What is left is a layout that nobody has seen, so that the encoder learns to tell layouts and not the few of the
    training data.
    """
    share = rng.uniform(0.0, 0.4)
    names = dict.fromkeys(name for scene in scenes for name in scene.nodes)
    gone = {name for name in names if rng.random() < share}
    return [
        replace(
            scene,
            nodes={name: node for name, node in scene.nodes.items() if name not in gone},
            relations=[item for item in scene.relations if item.subject not in gone and item.object not in gone],
        )
        for scene in scenes
    ]


def loss_of(embeddings: Tensor, margin: float, spread: float) -> Tensor:
    """Return the loss of a batch.

    Args:
        embeddings: of unit length, shape (2 n, dimension): n anchors, then their n positives, of n trajectories.
    """
    count = len(embeddings) // 2
    cosines = embeddings @ embeddings.T
    owner = torch.arange(len(embeddings)) % count
    apart = owner[:, None] != owner[None, :]
    positive = cosines[torch.arange(len(embeddings)), (torch.arange(len(embeddings)) + count) % len(embeddings)]
    hinges = torch.relu(margin + cosines - positive[:, None])[apart]
    pairs = ~torch.eye(len(embeddings), dtype=torch.bool)
    # over those that are not met yet: trajectories of two domains are soon apart, and would only thin out the others
    triplets = hinges.sum() / (hinges > 0).sum().clamp(min=1)
    return triplets + spread * cosines[pairs].square().mean()


class Trainer:
    """Trains an encoder.

    Args:
        trajectories: to learn from and to hold out. features: makes batches. options: how. shape: of the encoder.

    Raises:
        ValueError: there are too few.
    """

    def __init__(
        self,
        trajectories: Sequence[Trajectory],
        features: FeatureMaker,
        options: TrainingOptions,
        shape: GatShape | None = None,
    ) -> None:
        self.options = options
        self.learned, self.held_out = split(trajectories, options.held_out, options.seed)
        self._features = features
        self._random = random.Random(options.seed)
        torch.manual_seed(options.seed)
        self.model = GraphEncoder(shape)

    def run(self, tell: Callable[[Look], None] = lambda look: None, stop: Callable[[], bool] = lambda: False) -> Look:
        """Train to the end, keep the weights with the lowest held-out loss, and return that look.

        Args:
            tell: is called at every look. stop: asked between batches; training ends where it returns True.
        """
        options = self.options
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=options.rate, weight_decay=options.decay)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps)
        checks = self._checks()
        best, kept, since = Look(0, float("nan"), self._check(checks), True), self._state(), 0
        losses: list[float] = []
        for step in range(1, options.steps + 1):
            self.model.train()
            optimizer.zero_grad()
            loss = loss_of(self.model(graph_data(self._features.batch(self._draw()))), options.margin, options.spread)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            optimizer.step()
            schedule.step()
            losses.append(float(loss.detach()))
            if step % options.every == 0 or step == options.steps or stop():
                held_out = self._check(checks)
                look = Look(step, float(np.mean(losses)), held_out, held_out < best.held_out)
                losses.clear()
                since = 0 if look.best else since + 1
                if look.best:
                    best, kept = look, self._state()
                tell(look)
                if since >= options.patience or stop():
                    break
        self.model.load_state_dict(kept)
        self.model.eval()
        return best

    def embed(self, scenes: Sequence[SceneGraph]) -> Embedding:
        """Return the embeddings that the torch model gives, shape (n, dimension)."""
        self.model.eval()
        with torch.no_grad():
            batch = self._features.batch([structure_of(scene) for scene in scenes])
            return np.asarray(self.model(graph_data(batch)).numpy(), np.float32)

    def _state(self) -> dict[str, Tensor]:
        return copy.deepcopy(self.model.state_dict())

    def _draw(self) -> list[SceneStructure]:
        chosen = draw(self.learned, self.options.batch, self._random)
        pairs = []
        for item in chosen:
            scenes: Sequence[SceneGraph] = self._neighbours(item)
            if self._random.random() < self.options.thinned:
                scenes = thin(scenes, self._random)
            pairs.append([structure_of(scene) for scene in scenes])
        return [pair[0] for pair in pairs] + [pair[1] for pair in pairs]

    def _neighbours(self, item: Trajectory) -> list[SceneGraph]:
        count = len(item.scenes)
        if self._random.random() < self.options.far:
            first, second = self._random.sample(range(count), 2)
        else:
            first = self._random.randrange(count - 1)
            second = first + 1
        return [item.scenes[first], item.scenes[second]]

    def _checks(self) -> list[list[SceneStructure]]:
        """Return the batches of held-out neighbours that judge the training: each of one domain, always the same."""
        rng = random.Random(self.options.seed + 1)
        batches = []
        for domain in sorted({item.domain for item in self.held_out}):
            items = [item for item in self.held_out if item.domain == domain]
            for _ in range(8):
                chosen = rng.sample(items, min(len(items), self.options.batch))
                pairs = []
                for item in chosen:
                    first = rng.randrange(len(item.scenes) - 1)
                    pairs.append([structure_of(scene) for scene in item.scenes[first : first + 2]])
                batches.append([pair[0] for pair in pairs] + [pair[1] for pair in pairs])
        return batches

    def _check(self, batches: Sequence[Sequence[SceneStructure]]) -> float:
        self.model.eval()
        with torch.no_grad():
            losses = [
                float(
                    loss_of(
                        self.model(graph_data(self._features.batch(batch))), self.options.margin, self.options.spread
                    )
                )
                for batch in batches
                if len(batch) > 2
            ]
        return float(np.mean(losses)) if losses else float("nan")


def draw(trajectories: Sequence[Trajectory], count: int, rng: random.Random) -> list[Trajectory]:
    """Return different trajectories, about as many of each domain."""
    groups: dict[str, list[Trajectory]] = {}
    for item in trajectories:
        groups.setdefault(item.domain, []).append(item)
    waiting = [rng.sample(group, len(group)) for _, group in sorted(groups.items())]
    chosen: list[Trajectory] = []
    while len(chosen) < count and any(waiting):
        for group in waiting:
            if group and len(chosen) < count:
                chosen.append(group.pop())
    return chosen


def data_hash(contents: Iterable[bytes]) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of files, in this order."""
    digest = hashlib.sha256()
    for content in contents:
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()[:16]
