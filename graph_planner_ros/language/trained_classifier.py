"""A small linear classifier over hashed n-grams, trained with numpy in seconds and stored in little room."""

from __future__ import annotations

import base64
import itertools
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
WIDTH = 2048
"""Hashed features."""


def ngrams(tokens: Sequence[str]) -> list[str]:
    """Return the features of a sentence: words, pairs and triples of words, and pieces of words."""
    words = ["^", *tokens, "$"]
    found = [f"1 {word}" for word in tokens]
    found += [f"2 {a} {b}" for a, b in itertools.pairwise(words)]
    found += [f"3 {a} {b} {c}" for a, b, c in zip(words, words[1:], words[2:], strict=False)]
    found += [f"c {word[i : i + 4]}" for word in tokens if len(word) > 4 for i in range(len(word) - 3)]
    return found


def hashed(features: Iterable[str], width: int = WIDTH) -> dict[int, float]:
    """Return feature number -> value, of length one together. The hash is the same on every machine."""
    values: dict[int, float] = {}
    for feature in features:
        code = zlib.crc32(feature.encode("utf-8", "surrogatepass"))  # a text may hold half a character
        values[code % width] = values.get(code % width, 0.0) + (1.0 if code & 0x8000_0000 else -1.0)
    length = float(np.sqrt(sum(value * value for value in values.values()))) or 1.0
    return {index: value / length for index, value in sorted(values.items())}


def matrix(rows: Sequence[Mapping[int, float]], width: int = WIDTH) -> Floats:
    """Return rows of features as a matrix."""
    table = np.zeros((len(rows), width))
    for number, row in enumerate(rows):
        table[number, list(row)] = list(row.values())
    return table


@dataclass
class Softmax:
    """Multinomial logistic regression: ``weights`` of features x classes, ``bias`` of classes."""

    weights: Floats
    bias: Floats

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probability of every class for every row."""
        return _softmax(rows @ self.weights + self.bias)

    def plain(self) -> dict[str, Any]:
        """Return plain values; weights are kept to half precision."""
        return {"shape": list(self.weights.shape), "weights": pack(self.weights), "bias": pack(self.bias)}

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> Softmax:
        """Read what `plain` made."""
        rows, columns = (int(size) for size in plain["shape"])
        return Softmax(unpack(plain["weights"]).reshape(rows, columns), unpack(plain["bias"]))


def fit_softmax(
    rows: Floats, labels: NDArray[np.int64], sample_weights: Floats, classes: int, rounds: int = 400
) -> Softmax:
    """Fit by full-batch gradient descent with momentum (Nesterov); deterministic.

    The weights stay sums of rows, so the steps are taken in the rows' shares: there are fewer rows than features.
    """
    products = rows @ rows.T
    shares, bias = np.zeros((len(rows), classes)), np.zeros(classes)
    target = np.eye(classes)[labels]
    weight = (sample_weights / sample_weights.sum())[:, None]
    speed_s, speed_b = np.zeros_like(shares), np.zeros_like(bias)
    rate, momentum, decay = 8.0, 0.9, 2e-5
    for _ in range(rounds):
        ahead_s, ahead_b = shares + momentum * speed_s, bias + momentum * speed_b
        error = (_softmax(products @ ahead_s + ahead_b) - target) * weight
        speed_s = momentum * speed_s - rate * (error + decay * ahead_s)
        speed_b = momentum * speed_b - rate * error.sum(axis=0)
        shares, bias = shares + speed_s, bias + speed_b
    return Softmax(rows.T @ shares, bias)


def fit_logistic(
    rows: Floats, labels: Floats, sample_weights: Floats, decay: float = 1e-4, rounds: int = 3000
) -> Floats:
    """Return the weights of a logistic regression; the last one is the bias."""
    table = np.hstack([rows, np.ones((len(rows), 1))])
    weights = np.zeros(table.shape[1])
    share = sample_weights / sample_weights.sum()
    speed = np.zeros_like(weights)
    for _ in range(rounds):
        ahead = weights + 0.9 * speed
        error = (sigmoid(table @ ahead) - labels) * share
        speed = 0.9 * speed - 1.0 * (table.T @ error + decay * ahead)
        weights = weights + speed
    return weights


def sigmoid(values: Floats) -> Floats:
    """Return the logistic function."""
    return 1.0 / (1.0 + np.exp(-np.clip(values, -30.0, 30.0)))


def pack(values: Floats) -> str:
    """Return numbers as text, half precision, compressed."""
    return base64.b64encode(zlib.compress(values.astype("<f2").tobytes(), 9)).decode()


def unpack(text: str) -> Floats:
    """Read what `pack` made."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), "<f2").astype(float)


def _softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
