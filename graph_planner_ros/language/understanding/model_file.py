"""A trained reader on disk: a folder with the network, its word pieces, counts of rooms and of
words, and a header that says all."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.files import write_atomically
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.language.understanding.decoding import Decoder, RoomPrior, Scores
from graph_planner_ros.language.understanding.encoding import Pieces, presence
from graph_planner_ros.language.understanding.evidence import Evidence
from graph_planner_ros.language.understanding.slots import Inventory

MODEL, VOCABULARY, ROOMS, HEADER = "model.onnx", "vocabulary.txt.gz", "rooms.json.gz", "header.json"
EVIDENCE = "evidence.json.gz"
FORMAT = 1
INPUTS = ("ids", "mask", "present")


class ReaderFileError(ValueError):
    """A trained reader cannot be used; the message names the file and what was expected."""


class ReaderMissingError(RuntimeError):
    """What a trained reader needs to run is not installed; the message is one sentence that says how to get it."""


def write_evidence(folder: Path, evidence: Evidence) -> None:
    """Write the words that a reader learned from."""
    write_atomically(folder / EVIDENCE, gzip.compress(json.dumps(evidence.to_json()).encode(), mtime=0))


def write_header(folder: Path, header: Mapping[str, Any], vocabulary: Sequence[str], prior: RoomPrior) -> None:
    """Write everything but the network, whose file must be there already."""
    digest = hashlib.sha256((folder / MODEL).read_bytes()).hexdigest()[:16]
    write_atomically(folder / VOCABULARY, gzip.compress("\n".join(vocabulary).encode(), mtime=0))
    write_atomically(folder / ROOMS, gzip.compress(json.dumps(prior.to_json()).encode(), mtime=0))
    write_atomically(folder / HEADER, json.dumps({"format": FORMAT, "model": digest, **header}, indent=1) + "\n")


@dataclass(frozen=True)
class TrainedReader:
    """A network with all that is needed to use it. May be shared between threads.

    Attributes:
        header: training command, hash of the data, seed, held-out report and so on. decoder: see there.
        classes: in the order of the network's rows. evidence: words that it learned from.
    """

    header: Mapping[str, Any]
    decoder: Decoder
    classes: tuple[str, ...]
    pieces: Pieces
    session: Any
    evidence: Evidence

    def scores(self, texts: Sequence[str], present: Mapping[str, int]) -> list[Scores]:
        """Return the scores of texts that are said where these things are (class -> how many).

        One after the other: a batch would have the length of its longest text, and the activations' quantization, and
        with it each text's scores, would depend on the others.
        """
        there = presence(self.classes, present, self.decoder.fixed)[None]
        found = []
        for text in texts:
            ids = np.array([self.pieces.ids(text)], np.int64)
            structures, changed, *slots = self.session.run(
                None, {"ids": ids, "mask": np.ones_like(ids, bool), "present": there}
            )
            found.append(Scores(structures[0], float(changed[0, 0]), tuple(slot[0] for slot in slots)))
        return found


def load_reader(domain: Domain, folder: Path) -> TrainedReader:
    """Load a trained reader.

    Raises:
        ReaderFileError: a file is missing or wrong, or the reader was trained for classes that the domain lacks.
        ReaderMissingError: onnxruntime or tokenizers are not installed.
    """
    try:
        import onnxruntime
    except ImportError:
        raise ReaderMissingError(
            "the trained reader of instructions needs onnxruntime: pip install onnxruntime"
        ) from None
    try:
        header = json.loads((folder / HEADER).read_text(encoding="utf-8"))
        if header.get("format") != FORMAT:
            raise ReaderFileError(f"{folder / HEADER}: expected format {FORMAT}, found {header.get('format')!r}")
        model = (folder / MODEL).read_bytes()
        digest = hashlib.sha256(model).hexdigest()[:16]
        if digest != header["model"]:
            raise ReaderFileError(f"{folder / MODEL}: expected the network {header['model']}, found {digest}")
        vocabulary = gzip.decompress((folder / VOCABULARY).read_bytes()).decode().split("\n")
        prior = RoomPrior.from_json(json.loads(gzip.decompress((folder / ROOMS).read_bytes())))
        evidence = Evidence.from_json(json.loads(gzip.decompress((folder / EVIDENCE).read_bytes())))
        inventory = Inventory.of(domain, header["structures"], header["extra"], header["candidates"])
        decoder = Decoder(
            inventory,
            tuple(header["names"]),
            frozenset(header["changeable"]),
            frozenset(header["fixed"]),
            prior,
            float(header["prior_weight"]),
            float(header["temperature"]),
        )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return TrainedReader(header, decoder, tuple(header["classes"]), Pieces(vocabulary), session, evidence)
    except (OSError, EOFError, KeyError, TypeError, AttributeError, DomainError) as error:
        raise ReaderFileError(f"{folder}: no trained reader of the domain {domain.name!r}: {error}") from None
    except (ReaderFileError, ReaderMissingError):
        raise
    except Exception as error:  # onnxruntime and json have exceptions of their own
        raise ReaderFileError(f"{folder}: {error}") from None
