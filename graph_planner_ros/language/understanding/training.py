"""Trains the reader and judges it on what was held out; needs torch.

A fifth of the time the network does not see what is there, another fifth it sees half of the things, so that it also
works where the robot has not looked yet.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch.nn import functional

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.language.understanding.decoding import Decoder, RoomPrior, Scores
from graph_planner_ros.language.understanding.encoding import MAX_PIECES, SPECIAL, Pieces, presence
from graph_planner_ros.language.understanding.examples import Example, composed
from graph_planner_ros.language.understanding.network import Reader
from graph_planner_ros.language.understanding.slots import NONE, OTHER, SEVERAL, Inventory, fixed_classes

FREQUENT = 12_000
"""Word pieces of the encoder's own vocabulary that are kept whether or not the data have them: the frequent ones."""


@dataclass(frozen=True)
class TrainingOptions:
    """How to train.

    Attributes:
        epochs, batch, seed, threads: as usual. encoder_rate, head_rate: learning rates.
        without_scene, half_scene: shares of sentences that are read with nothing, or half of the things, to be seen.
        several, other: sentences that ask for several things, or for others, per sentence of the data.
    """

    epochs: int = 4
    batch: int = 48
    seed: int = 0
    threads: int = 1
    encoder_rate: float = 7e-5
    head_rate: float = 7e-4
    without_scene: float = 0.2
    half_scene: float = 0.2
    several: float = 0.12
    other: float = 0.08


@dataclass(frozen=True)
class Setting:
    """What the network is made for.

    Attributes:
        domain, inventory: what can be meant. vocabulary: word pieces. kept: their rows in the encoder's own.
        names: structures in the order of the scores, `SEVERAL` and `OTHER` last.
    """

    domain: Domain
    inventory: Inventory
    vocabulary: tuple[str, ...]
    kept: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """See above."""
        return (*self.inventory.structures, SEVERAL, OTHER)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of the domain in the order of the network's rows."""
        return tuple(self.domain.classes)

    @property
    def fixed(self) -> frozenset[str]:
        """Classes of things that stay where they are."""
        return fixed_classes(self.domain)


def choose_vocabulary(own: Sequence[str], texts: Sequence[str]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the word pieces that are kept, `SPECIAL` first, and their rows in the encoder's own vocabulary."""
    rows = {piece: row for row, piece in enumerate(own)}
    whole = Pieces([*SPECIAL, *(piece for piece in own if piece not in SPECIAL)])
    order = [*SPECIAL, *(piece for piece in own if piece not in SPECIAL)]
    used = {order[row] for text in texts for row in whole.ids(text)}
    frequent = set(own[:FREQUENT])
    kept = [piece for piece in own if piece not in SPECIAL and (piece in used or piece in frequent)]
    kept = [piece for piece in kept if not piece.startswith("[unused")]
    chosen = (*SPECIAL, *kept)
    return chosen, tuple(rows[piece] for piece in chosen)


def empty_reader(setting: Setting) -> Reader:
    """Return a reader of the right shape with random weights."""
    rows = {name: row for row, name in enumerate(setting.classes)}
    candidates = [[rows[name] for name in setting.inventory.candidates[slot]] for slot in setting.inventory.slots]
    return Reader(len(setting.vocabulary), MAX_PIECES, len(rows), candidates, len(setting.names))


def make_reader(setting: Setting, weights: Mapping[str, torch.Tensor]) -> Reader:
    """Return an untrained reader on top of a trained encoder; the classes begin as the vectors of their words."""
    reader = empty_reader(setting)
    rows = {name: row for row, name in enumerate(setting.classes)}
    reader.encoder.take_weights(weights, setting.kept)
    reader.eval()
    pieces = Pieces(setting.vocabulary)
    with torch.no_grad():
        for name, row in rows.items():
            vectors = []
            for word in setting.domain.classes[name].words or (name,):
                ids = torch.tensor([pieces.ids(word)])
                vectors.append(reader.encoder(ids, ids > 0)[0, 1:-1].mean(0))
            reader.vectors[row] = torch.stack(vectors).mean(0)
    return reader


@dataclass(frozen=True)
class _Row:
    """A sentence as numbers; ``slots`` is None where only the structure is known."""

    ids: list[int]
    present: Mapping[str, int]
    structure: int
    changed: bool = False
    slots: tuple[int, ...] | None = None


class Trainer:
    """Trains a reader.

    Args:
        setting, options: see there. examples: to learn from. others: sentences that ask for other things.
        connectives: between the goals of a text that asks for several.
        say: gets a line of progress.
    """

    def __init__(
        self,
        setting: Setting,
        options: TrainingOptions,
        examples: Sequence[Example],
        others: Sequence[str],
        connectives: Sequence[str],
        say: Callable[[str], None] = print,
    ) -> None:
        self._setting, self._options, self._examples, self._say = setting, options, tuple(examples), say
        self._others, self._connectives = tuple(others), tuple(connectives)
        self._pieces = Pieces(setting.vocabulary)
        self._rng = random.Random(options.seed)
        self._rooms: dict[str, list[Example]] = {}
        for example in self._examples:
            self._rooms.setdefault(example.room, []).append(example)
        self._columns = [
            {name: column for column, name in enumerate((*setting.inventory.candidates[slot], NONE))}
            for slot in setting.inventory.slots
        ]
        self._ids = {example.text: self._pieces.ids(example.text) for example in self._examples}

    def train(self, reader: Reader, after_epoch: Callable[[int], None] | None = None) -> None:
        """Train a reader in place.

        Args:
            after_epoch: is called with the number of the epoch, from 1.
        """
        options = self._options
        torch.manual_seed(options.seed)
        torch.set_num_threads(options.threads)
        encoder = [p for name, p in reader.named_parameters() if name.startswith("encoder") and p.requires_grad]
        heads = [p for name, p in reader.named_parameters() if not name.startswith("encoder")]
        optimizer = torch.optim.AdamW(
            [{"params": encoder, "lr": options.encoder_rate}, {"params": heads, "lr": options.head_rate}],
            weight_decay=0.01,
        )
        total = options.epochs * (int(len(self._examples) * (1 + options.several + options.other)) // options.batch)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min(1.0, (step + 1) / 150) * max(0.02, 1.0 - step / max(1, total))
        )
        started, done, losses = time.monotonic(), 0, []
        for epoch in range(1, options.epochs + 1):
            reader.train()
            for batch in self._batches():
                loss = self._loss(reader, batch)
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                losses.append(float(loss))
                done += 1
                if done % 50 == 0:
                    spent = time.monotonic() - started
                    self._say(f"epoch {epoch}, {done} of {total}, loss {np.mean(losses[-50:]):.3f}, {spent:.0f} s")
            reader.eval()
            if after_epoch is not None:
                after_epoch(epoch)

    def _batches(self) -> list[list[_Row]]:
        """Return the rows of an epoch, sentences of like length together."""
        options, names = self._options, self._setting.names
        rows = [self._row(example) for example in self._examples]
        for _ in range(int(options.several * len(self._examples))):
            text, present = composed(self._rng, self._rooms, self._rooms, self._connectives)
            rows.append(_Row(self._pieces.ids(text), present, names.index(SEVERAL)))
        for _ in range(int(options.other * len(self._examples)) if self._others else 0):
            present = self._rng.choice(self._examples).present
            rows.append(_Row(self._pieces.ids(self._rng.choice(self._others)), present, names.index(OTHER)))
        self._rng.shuffle(rows)
        size, batches = options.batch, []
        for start in range(0, len(rows), size * 20):
            part = sorted(rows[start : start + size * 20], key=lambda row: len(row.ids))
            batches += [part[index : index + size] for index in range(0, len(part), size)]
        self._rng.shuffle(batches)
        return batches

    def _row(self, example: Example) -> _Row:
        meaning = example.meaning
        columns = tuple(column[name] for column, name in zip(self._columns, meaning.classes, strict=True))
        row = _Row(
            self._ids[example.text],
            example.present,
            self._setting.names.index(meaning.structure),
            meaning.changed,
            columns,
        )
        chance = self._rng.random()
        if chance < self._options.without_scene:
            return replace(row, present={})
        if chance < self._options.without_scene + self._options.half_scene:
            fixed = self._setting.fixed
            seen = {n: c for n, c in example.present.items() if n in fixed or self._rng.random() < 0.5}
            return replace(row, present=seen)
        return row

    def _loss(self, reader: Reader, batch: Sequence[_Row]) -> torch.Tensor:
        ids, mask, present = tensors(self._setting, [(row.ids, row.present) for row in batch])
        structures, changed, *slots = reader(ids, mask, present)
        loss = functional.cross_entropy(structures, torch.tensor([row.structure for row in batch]))
        known = [index for index, row in enumerate(batch) if row.slots is not None]
        if not known:
            return loss
        share = len(known) / len(batch)
        wanted = torch.tensor([float(batch[index].changed) for index in known])
        loss = loss + share * functional.binary_cross_entropy_with_logits(changed[known, 0], wanted)
        for number, scores in enumerate(slots):
            targets = torch.tensor([(batch[index].slots or ())[number] for index in known])
            loss = loss + share * functional.cross_entropy(scores[known], targets)
        return loss


def tensors(
    setting: Setting, rows: Sequence[tuple[Sequence[int], Mapping[str, int]]]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return ids (B, T), mask (B, T) and presence (B, C) of sentences and what is there."""
    length = max(len(ids) for ids, _ in rows)
    ids = torch.zeros(len(rows), length, dtype=torch.long)
    for index, (pieces, _) in enumerate(rows):
        ids[index, : len(pieces)] = torch.tensor(list(pieces))
    there = np.stack([presence(setting.classes, present, setting.fixed) for _, present in rows])
    return ids, ids > 0, torch.from_numpy(there)


def scores_of(reader: Reader, setting: Setting, examples: Sequence[Example], batch: int = 64) -> list[Scores]:
    """Return the scores of examples, read with all that is there."""
    pieces = Pieces(setting.vocabulary)
    found: list[Scores] = []
    with torch.no_grad():
        for start in range(0, len(examples), batch):
            part = examples[start : start + batch]
            inputs = tensors(setting, [(pieces.ids(example.text), example.present) for example in part])
            structures, changed, *slots = (value.numpy() for value in reader(*inputs))
            found += [
                Scores(structures[row], float(changed[row, 0]), tuple(slot[row] for slot in slots))
                for row in range(len(part))
            ]
    return found


def make_decoder(
    setting: Setting, examples: Sequence[Example], changeable: frozenset[str], fixed: frozenset[str]
) -> Decoder:
    """Return a decoder with the prior of these examples."""
    return Decoder(setting.inventory, setting.names, changeable, fixed, RoomPrior.of(examples, fixed))


def whole_right(decoder: Decoder, scores: Sequence[Scores], examples: Sequence[Example]) -> list[tuple[bool, float]]:
    """Return for each example whether the likeliest meaning is the wanted one, and its probability."""
    found = []
    for score, example in zip(scores, examples, strict=True):
        readings = decoder.readings(score, example.present, True, 1)
        found.append(
            (bool(readings) and readings[0].meaning == example.meaning, readings[0].probability if readings else 0.0)
        )
    return found


__all__ = [
    "Setting",
    "Trainer",
    "TrainingOptions",
    "choose_vocabulary",
    "empty_reader",
    "make_decoder",
    "make_reader",
    "scores_of",
    "tensors",
    "whole_right",
]
