"""The network of the trained reader, in torch: needed to train, not to run.

A sentence encoder (all-MiniLM-L6-v2, Wang et al. 2020, as the weights of a BERT) is fine-tuned. Every class that may
fill a slot asks the sentence for itself: its vector, first that of its words, attends to the word pieces, and what it
finds is scored. So classes that never filled a slot in the data can be chosen too. What is there joins as a vector,
because what "the table" is depends on which tables there are.

Shapes: B sentences, T word pieces, D = 384, C classes of the domain, K candidates of a slot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH = 384
HEADS = 12
LAYERS = 6
FEED_FORWARD = 1536
SCENE = 64
HIDDEN = 128
MASKED = -1e4


class EncoderLayer(nn.Module):
    """A layer of BERT."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.output = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.attention_norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.inner, self.outer = nn.Linear(WIDTH, FEED_FORWARD), nn.Linear(FEED_FORWARD, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.dropout = nn.Dropout(0.1)

    def forward(self, pieces: Tensor, mask: Tensor) -> Tensor:
        """Return (B, T, D) for (B, T, D); ``mask`` (B, T) is True for word pieces."""
        batch, length, _ = pieces.shape

        def heads(vectors: Tensor) -> Tensor:
            return vectors.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)

        scores = heads(self.query(pieces)) @ heads(self.key(pieces)).transpose(2, 3) / math.sqrt(WIDTH // HEADS)
        weights = scores.masked_fill(~mask[:, None, None, :], MASKED).softmax(-1)
        mixed = (weights @ heads(self.value(pieces))).transpose(1, 2).reshape(batch, length, WIDTH)
        pieces = self.attention_norm(pieces + self.dropout(self.output(mixed)))
        inner = self.outer(functional.gelu(self.inner(pieces)))
        normed: Tensor = self.norm(pieces + self.dropout(inner))
        return normed


class Encoder(nn.Module):
    """BERT without its pooler; the vectors of word pieces are not trained."""

    def __init__(self, pieces: int, positions: int) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(pieces, WIDTH), nn.Embedding(positions, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(EncoderLayer() for _ in range(LAYERS))
        self.dropout = nn.Dropout(0.1)
        self.words.weight.requires_grad_(False)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return (B, T, D) for ids (B, T)."""
        found = self.words(ids) + self.positions.weight[: ids.shape[1]]
        found = self.dropout(self.norm(found))
        for layer in self.layers:
            found = layer(found, mask)
        return found

    def take_weights(self, weights: Mapping[str, Tensor], kept: Sequence[int]) -> None:
        """Take the weights of a BERT as its files name them.

        Args:
            kept: rows of its vocabulary that ours has, in our order.
        """
        first = "embeddings."
        with torch.no_grad():
            self.words.weight.copy_(weights[f"{first}word_embeddings.weight"][list(kept)])
            segment = weights[f"{first}token_type_embeddings.weight"][0]
            positions = weights[f"{first}position_embeddings.weight"][: self.positions.num_embeddings]
            self.positions.weight.copy_(positions + segment)
        self._load(self.norm, weights, f"{first}LayerNorm")
        names = {
            "query": "attention.self.query",
            "key": "attention.self.key",
            "value": "attention.self.value",
            "output": "attention.output.dense",
            "attention_norm": "attention.output.LayerNorm",
            "inner": "intermediate.dense",
            "outer": "output.dense",
            "norm": "output.LayerNorm",
        }
        for index, layer in enumerate(self.layers):
            for ours, theirs in names.items():
                self._load(getattr(layer, ours), weights, f"encoder.layer.{index}.{theirs}")

    @staticmethod
    def _load(part: Any, weights: Mapping[str, Tensor], name: str) -> None:
        part.load_state_dict({"weight": weights[f"{name}.weight"], "bias": weights[f"{name}.bias"]})


class SlotHead(nn.Module):
    """Scores the candidates of one slot."""

    def __init__(self, candidates: Sequence[int], classes: int) -> None:
        super().__init__()
        self.rows: Tensor
        self.register_buffer("rows", torch.tensor([*candidates, classes]), persistent=False)
        self.ask = nn.Linear(WIDTH, WIDTH)
        self.found = nn.Linear(2 * WIDTH, HIDDEN)
        self.context = nn.Linear(WIDTH + SCENE, HIDDEN)
        self.score = nn.Linear(HIDDEN, 1)
        self.scene = nn.Linear(SCENE, len(candidates) + 1)
        self.there = nn.Parameter(torch.zeros(1))

    def forward(
        self, pieces: Tensor, keys: Tensor, mask: Tensor, context: Tensor, vectors: Tensor, scene: Tensor, there: Tensor
    ) -> Tensor:
        """Return scores (B, K + 1); the last is that nothing fills the slot.

        Args:
            pieces, keys: (B, T, D). context: (B, D + SCENE). vectors: (C + 1, D). scene: (B, SCENE).
            there: (B, C + 1), 1 for classes that are there.
        """
        own = vectors[self.rows]
        weights = (self.ask(own) @ keys.transpose(1, 2) / math.sqrt(WIDTH)).masked_fill(~mask[:, None, :], MASKED)
        heard = weights.softmax(-1) @ pieces
        hidden = self.found(torch.cat((heard, heard * own), -1)) + self.context(context)[:, None]
        scores = self.score(functional.gelu(hidden))[..., 0] + self.scene(scene)
        total: Tensor = scores + self.there * there[:, self.rows]
        return total


class Reader(nn.Module):
    """See the top of this file.

    Args:
        pieces, positions: sizes of the encoder's tables. classes: of the domain, C.
        candidates: for each slot the rows of its classes. structures: how many there are.
    """

    def __init__(
        self, pieces: int, positions: int, classes: int, candidates: Sequence[Sequence[int]], structures: int
    ) -> None:
        super().__init__()
        self.encoder = Encoder(pieces, positions)
        self.vectors = nn.Parameter(torch.zeros(classes + 1, WIDTH))
        self.keys = nn.Linear(WIDTH, WIDTH)
        self.slots = nn.ModuleList(SlotHead(rows, classes) for rows in candidates)
        self.scene = nn.Sequential(
            nn.Dropout(0.2), nn.Linear(classes, HIDDEN), nn.GELU(), nn.Dropout(0.1), nn.Linear(HIDDEN, SCENE)
        )
        self.structure = nn.Sequential(nn.Linear(2 * WIDTH + SCENE, 256), nn.GELU(), nn.Linear(256, structures))
        self.changed = nn.Sequential(nn.Linear(2 * WIDTH + SCENE, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, 1))

    def forward(self, ids: Tensor, mask: Tensor, present: Tensor) -> tuple[Tensor, ...]:
        """Return scores of the structures (B, S), of a change (B, 1), and of each slot's candidates (B, K + 1).

        Args:
            ids, mask: (B, T) word pieces, and where there are any. present: (B, C), see `encoding.presence`.
        """
        pieces = self.encoder(ids, mask)
        weight = mask.to(pieces.dtype)[..., None]
        mean = (pieces * weight).sum(1) / weight.sum(1)
        scene = self.scene(present)
        there = functional.pad((present > 0).to(pieces.dtype), (0, 1))
        keys = self.keys(pieces)
        context = torch.cat((mean, scene), 1)
        slots = [head(pieces, keys, mask, context, self.vectors, scene, there) for head in self.slots]
        whole = torch.cat((pieces[:, 0], mean, scene), 1)
        return self.structure(whole), self.changed(whole), *slots
