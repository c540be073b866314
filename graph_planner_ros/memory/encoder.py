"""The encoder that runs: scenes to vectors of unit length on onnxruntime, without torch.

The shipped one is ``config/memory/encoder.onnx``; its metadata say how it was trained, from what, and how good it is.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.domain.paths import find_config
from graph_planner_ros.memory.experience import Embedding
from graph_planner_ros.memory.features import FORMAT, FeatureBatch, FeatureMaker, SceneStructure, structure_of
from graph_planner_ros.memory.sentences import TEXT_DIMENSION, SentenceEncoder
from graph_planner_ros.scene.graph import SceneGraph

SHIPPED = "memory/encoder.onnx"
MAX_DIMENSION = 128
_MAX_NODES = 8_000
"""Nodes and edges that are computed at once (some 10 MB for each thousand); one scene may have more."""


class EncoderMissingError(RuntimeError):
    """The encoder cannot be used; the message is one sentence that says what is missing or wrong with which file."""


class OnnxSceneEncoder:
    """Implements `experience.SceneEncoder`.

    Args:
        path: of a file that ``graph-planner memory train`` wrote. threads: of one call.

    Attributes:
        information: what the file says of itself. text_vectors: vectors of the texts of its training.

    Raises:
        EncoderMissingError: naming the package or the file.
    """

    def __init__(self, path: Path, threads: int = 1) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise EncoderMissingError(
                f"the graph memory needs onnxruntime ({error}): pip install -r requirements/core.txt"
            ) from error
        try:
            content = path.read_bytes()
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = threads
            options.log_severity_level = 3
            self._session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
            entries = self._session.get_modelmeta().custom_metadata_map
            self.information: Mapping[str, Any] = {name: json.loads(value) for name, value in entries.items()}
            self.text_vectors = unpack_vectors(self.information["text_vectors"])
            found, self._dimension = int(self.information["format"]), int(self.information["shape"]["dimension"])
        except OSError as error:
            raise EncoderMissingError(f"there is no readable encoder at {path}: {error}") from error
        except Exception as error:  # onnxruntime raises classes of its own for what it cannot read
            raise EncoderMissingError(f"{path} is no encoder of `graph-planner memory train`: {error!r}") from error
        if found != FORMAT or self._dimension > MAX_DIMENSION:
            raise EncoderMissingError(
                f"{path} reads features of format {found} and gives {self._dimension} numbers; "
                f"expected format {FORMAT} and at most {MAX_DIMENSION}: train it again"
            )
        self._hash = hashlib.sha256(content).hexdigest()[:16]
        self._features = FeatureMaker(SentenceEncoder(self.text_vectors))

    @property
    def dimension(self) -> int:
        """Number of components of an embedding."""
        return self._dimension

    @property
    def model_hash(self) -> str:
        """Identifies weights and features: the first 16 hexadecimal digits of the file's SHA-256."""
        return self._hash

    @property
    def tau(self) -> float:
        """The cosine distance under which two scenes count as alike, chosen on held-out trajectories."""
        return float(self.information["tau"])

    def encode(self, scenes: Sequence[SceneGraph]) -> Embedding:
        """Return embeddings of unit length, shape (n, dimension); for no scenes, (0, dimension).

        Raises:
            ValueError: a scene is malformed; the message names what was expected.
            SentencesMissingError: a text is new and the sentence encoder is not installed.
        """
        structures = [structure_of(scene) for scene in scenes]
        parts = [self._run(self._features.batch(chunk)) for chunk in _chunks(structures)]
        return np.concatenate(parts) if parts else np.zeros((0, self._dimension), np.float32)

    def _run(self, batch: FeatureBatch) -> Embedding:
        inputs = {
            "node_table": batch.node_table,
            "node_kind": batch.node_kind,
            "edge_table": batch.edge_table,
            "edge_kind": batch.edge_kind,
            "source": batch.source,
            "target": batch.target,
            "graph": batch.graph,
            "size": np.bincount(batch.graph, minlength=batch.graphs).astype(np.float32),
        }
        return unit_rows(self._session.run(None, inputs)[0])


def load_encoder(path: Path | None = None) -> OnnxSceneEncoder:
    """Return the shipped encoder, or that of a file.

    Raises:
        EncoderMissingError: it is not there, is something else, or onnxruntime is not installed.
    """
    if path is None:
        try:
            path = find_config(SHIPPED)
        except FileNotFoundError as error:
            raise EncoderMissingError(str(error)) from error
    return OnnxSceneEncoder(path)


def unit_rows(rows: NDArray[np.float32]) -> Embedding:
    """Return rows of unit length; a row without a direction becomes the first axis, so that none is without one."""
    exact = np.nan_to_num(rows.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    lengths = np.linalg.norm(exact, axis=1)
    exact[lengths < 1e-6] = np.eye(1, rows.shape[1])
    return np.asarray(exact / np.linalg.norm(exact, axis=1, keepdims=True), np.float32)


def unpack_vectors(packed: Mapping[str, Any]) -> dict[str, NDArray[np.float32]]:
    """Return the vectors of texts that `onnx_export.pack_vectors` made JSON of."""
    values = np.frombuffer(base64.b64decode(packed["values"]), "<f2").astype(np.float32)
    return dict(zip(packed["texts"], values.reshape(-1, TEXT_DIMENSION), strict=True))


def _chunks(structures: Sequence[SceneStructure]) -> Iterator[list[SceneStructure]]:
    chunk: list[SceneStructure] = []
    size = 0
    for structure in structures:
        weight = len(structure.nodes) + len(structure.edges)
        if chunk and size + weight > _MAX_NODES:
            yield chunk
            chunk, size = [], 0
        chunk.append(structure)
        size += weight
    if chunk:
        yield chunk
