"""Sentences as word pieces and scenes as vectors: the inputs of the trained reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_PIECES = 64
"""Word pieces of a text that are read."""
MAX_CHARACTERS = 1000
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
_MANY = 3


class Pieces:
    """Splits texts into word pieces (WordPiece without capitals and accents, as BERT).

    Args:
        vocabulary: the pieces; the first four are `SPECIAL`.
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

        if tuple(vocabulary[: len(SPECIAL)]) != SPECIAL:
            raise ValueError(f"expected a vocabulary that begins with {', '.join(SPECIAL)}")
        rows = {piece: row for row, piece in enumerate(vocabulary)}
        self._tokenizer: Any = Tokenizer(models.WordPiece(rows, unk_token="[UNK]", max_input_chars_per_word=60))
        self._tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        self._tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        self._first, self._last = rows["[CLS]"], rows["[SEP]"]

    def ids(self, text: str) -> list[int]:
        """Return the rows of a text's pieces, at most `MAX_PIECES`."""
        return [self._first, *self._split(text)[: MAX_PIECES - 2], self._last]

    def whole(self, text: str) -> bool:
        """Return whether all of a text is read: what comes after would be left undone, and nobody would hear of it."""
        return len(text) <= MAX_CHARACTERS and len(self._split(text)) <= MAX_PIECES - 2

    def _split(self, text: str) -> list[int]:
        clean = text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
        found: list[int] = self._tokenizer.encode(clean, add_special_tokens=False).ids
        return found


def presence(classes: Sequence[str], present: Mapping[str, int], fixed: frozenset[str]) -> NDArray[np.float32]:
    """Return (C,) how much of each class is there: 0; 1 for fixtures; 0.63 to 1.3 for one to many other things."""
    vector = np.zeros(len(classes), np.float32)
    for row, name in enumerate(classes):
        count = present.get(name, 0)
        if count > 0:
            vector[row] = 1.0 if name in fixed else min(count, _MANY) / _MANY + 0.3
    return vector
