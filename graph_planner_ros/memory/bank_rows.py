"""Episodes and steps as rows of the bank's database, and back."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.memory.bank_errors import (
    BankError,
    BankFileError,
    BankFullError,
    EmbeddingError,
    UnknownEpisodeError,
)
from graph_planner_ros.memory.episode_files import goal_from_dict, goal_to_dict, step_to_dict
from graph_planner_ros.memory.experience import Embedding, Episode, EpisodeHeader, EpisodeStatus, ExperienceStep
from graph_planner_ros.scene.graph import SceneGraph
from graph_planner_ros.scene.storage import graph_from_dict, graph_to_dict

_VECTOR = np.dtype("<f4")
_TOLERANCE = 1e-3
"""How far the length of an embedding may be from 1."""
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError, zlib.error)


def check_embedding(vector: Any, dimension: int, what: str) -> Embedding:
    """Return an embedding as float32.

    Raises:
        EmbeddingError: naming ``what`` it belongs to, if its shape is not (dimension,), a component is not finite, or
            its length is not 1.
    """
    try:
        checked = np.ascontiguousarray(vector, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"the embedding of {what} is no array of numbers: {error}") from error
    if checked.shape != (dimension,):
        raise EmbeddingError(f"the embedding of {what} has the shape {checked.shape}, expected ({dimension},)")
    if not np.isfinite(checked).all():
        raise EmbeddingError(f"the embedding of {what} has components that are not finite (NaN or infinite)")
    length = float(np.linalg.norm(checked))
    if abs(length - 1.0) > _TOLERANCE:
        raise EmbeddingError(f"the embedding of {what} has the length {length:.4g}, expected 1")
    return checked


def vector_to_blob(vector: Embedding) -> bytes:
    """Return the bytes of a vector."""
    return bytes(np.asarray(vector, dtype=_VECTOR).tobytes())


def blobs_to_vectors(blobs: Sequence[bytes], dimension: int) -> Embedding:
    """Return the vectors of some blobs, shape (n, dimension).

    Raises:
        ValueError: a blob is longer or shorter than a vector.
    """
    return np.frombuffer(b"".join(blobs), dtype=_VECTOR).astype(np.float32).reshape(len(blobs), dimension)


def insert_episode(connection: sqlite3.Connection, header: EpisodeHeader, writer: int | None) -> int:
    """Insert an episode without steps and return its number.

    Raises:
        BankError: there is an episode with this id.
    """
    if connection.execute("SELECT 1 FROM episode WHERE id = ?", (header.episode_id,)).fetchone():
        raise BankError(f"there is an episode with the id {header.episode_id!r} already")
    details = {
        "domain": header.domain,
        "domain_hash": header.domain_hash,
        "goals": [goal_to_dict(goal) for goal in header.goals],
        "seed": header.seed,
    }
    values = (
        *(header.episode_id, header.instruction, header.origin, header.layout, header.started),
        *(header.status.value, header.reason, json.dumps(details, allow_nan=False), 0, writer),
    )
    row = connection.execute(
        "INSERT INTO episode (id, instruction, origin, layout, started, status, reason, details, steps, writer)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        values,
    )
    number = row.lastrowid
    assert number is not None
    return number


def insert_step(
    connection: sqlite3.Connection, episode: int, step: ExperienceStep, scene: bytes, embedding: Embedding
) -> None:
    """Insert a step, whose scene was packed by `pack_scene`, at the end of an episode."""
    action = json.dumps([step.action.name, *step.action.arguments]) if step.action is not None else None
    succeeded = None if step.succeeded is None else int(step.succeeded)
    row = connection.execute(
        "INSERT INTO step (episode, position, stamp, action, succeeded, scene) VALUES (?, ?, ?, ?, ?, ?)",
        (episode, step.index, step.stamp, action, succeeded, scene),
    )
    connection.execute(
        "INSERT INTO embedding VALUES (?, ?, ?)",
        (row.lastrowid, int(step.action is not None), vector_to_blob(embedding)),
    )
    connection.execute("UPDATE episode SET steps = steps + 1 WHERE number = ?", (episode,))


def pack_scene(scene: SceneGraph) -> bytes:
    """Return a scene as compressed JSON.

    Raises:
        BankError: a number in it is not finite.
    """
    try:
        text = json.dumps(graph_to_dict(scene), allow_nan=False, separators=(",", ":"))
    except ValueError as error:
        raise BankError(f"the scene cannot be stored: a number in it is not finite ({error})") from error
    return zlib.compress(text.encode(), 6)


def unpack_scene(blob: bytes) -> SceneGraph:
    """Return the scene that `pack_scene` packed."""
    return graph_from_dict(json.loads(zlib.decompress(blob)))


_HEADER = "id, instruction, origin, layout, started, status, reason, details"


def read_headers(connection: sqlite3.Connection) -> list[EpisodeHeader]:
    """Return the headers of all episodes in the order in which they came."""
    return [_header(row) for row in connection.execute(f"SELECT {_HEADER} FROM episode ORDER BY number")]


def headers_stamp(connection: sqlite3.Connection) -> tuple[tuple[str, int], ...]:
    """Return what is another one whenever `read_headers` would return something else, at no cost."""
    return tuple(connection.execute("SELECT name, seq FROM sqlite_sequence WHERE name IN ('change', 'episode')"))


def rising(found: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Yield rows whose first column is a number that rises; in a damaged file they may come round and round.

    Raises:
        sqlite3.DatabaseError: it does not rise.
    """
    last: int | None = None
    for row in found:
        if not isinstance(row[0], int) or (last is not None and row[0] <= last):
            raise sqlite3.DatabaseError("database disk image is malformed: rows are out of order")
        last = row[0]
        yield row


def find_episode(connection: sqlite3.Connection, episode_id: str) -> tuple[int, EpisodeHeader]:
    """Return number and header of an episode.

    Raises:
        UnknownEpisodeError: there is none with this id.
        BankFileError: its header cannot be read.
    """
    row = connection.execute(f"SELECT number, {_HEADER} FROM episode WHERE id = ?", (episode_id,)).fetchone()
    if row is None:
        raise UnknownEpisodeError(f"there is no episode with the id {episode_id!r} in the bank")
    return int(row[0]), _header(row[1:])


def read_steps(
    connection: sqlite3.Connection, number: int, dimension: int | None, first: int = 0, last: int | None = None
) -> Iterator[ExperienceStep]:
    """Yield the steps ``first`` to ``last`` (included; None: to the end) of an episode in order.

    Args:
        dimension: of the vectors; None: leave them out.

    Raises:
        BankFileError: a step cannot be read; naming it.
    """
    vectors = "vector FROM step LEFT JOIN embedding ON embedding.step = step.number"
    rows = connection.execute(
        f"SELECT position, stamp, action, succeeded, scene, {vectors if dimension is not None else 'NULL FROM step'}"
        " WHERE episode = ? AND position BETWEEN ? AND ? ORDER BY position",
        (number, first, last if last is not None else 2**62),
    )
    for position, stamp, action, succeeded, scene, vector in rising(rows):
        try:
            words = json.loads(action) if action is not None else None
            yield ExperienceStep(
                position,
                stamp,
                unpack_scene(scene),
                GroundAction(words[0], tuple(words[1:])) if words is not None else None,
                None if succeeded is None else bool(succeeded),
                blobs_to_vectors([vector], dimension)[0] if vector is not None and dimension is not None else None,
            )
        except UNREADABLE as error:
            raise BankFileError(f"step {position} of episode number {number} cannot be read: {error!r}") from error


def delete_episodes(connection: sqlite3.Connection, numbers: Sequence[int]) -> int:
    """Delete episodes and leave word for every index; return the number of steps that went with them."""
    count = 0
    for number in numbers:
        rows = connection.execute("SELECT number FROM step WHERE episode = ?", (number,)).fetchall()
        steps = np.array([row[0] for row in rows], dtype="<i8")
        connection.execute("DELETE FROM episode WHERE number = ?", (number,))
        log_change(connection, "deleted", number, steps)
        count += len(steps)
    return count


def set_status(connection: sqlite3.Connection, number: int, status: EpisodeStatus, reason: str) -> None:
    """Say what came of an episode, and leave word for every index."""
    connection.execute(
        "UPDATE episode SET status = ?, reason = ?, writer = NULL WHERE number = ?", (status.value, reason, number)
    )
    log_change(connection, "status", number)


def log_change(
    connection: sqlite3.Connection, kind: str, episode: int | None = None, steps: NDArray[np.int64] | None = None
) -> None:
    """Note a change that an index cannot see from the numbers of the steps: deleted, status or rebuilt."""
    blob = steps.tobytes() if steps is not None else None
    connection.execute("INSERT INTO change (kind, episode, steps) VALUES (?, ?, ?)", (kind, episode, blob))


def settled(episode: Episode) -> Episode:
    """Return an episode that comes from elsewhere as one that is over: nobody here will go on with it."""
    if episode.header.status is not EpisodeStatus.RUNNING:
        return episode
    header = replace(
        episode.header, status=EpisodeStatus.INTERRUPTED, reason="it was not over when it was written to a file"
    )
    return replace(episode, header=header)


def without_embeddings(episode: Episode) -> Episode:
    """Return an episode whose scenes have to be embedded anew."""
    return replace(episode, steps=tuple(replace(step, embedding=None) for step in episode.steps))


def check_whole(episode: Episode, limit: int) -> None:
    """Refuse an episode with missing steps, or one that no bank of this limit can hold."""
    name = episode.header.episode_id
    for position, step in enumerate(episode.steps):
        if step.index != position:
            raise BankError(f"expected step {position} of the episode {name!r}, found step {step.index}")
    if len(episode.steps) > limit:
        raise BankFullError(f"the episode {name!r} has {len(episode.steps)} steps; the bank's limit is {limit}")


def content_hash(episode: Episode) -> str:
    """Return a hash of everything but embeddings and domain hash: two robots' copies of an episode have the same."""
    header = replace(episode.header, domain_hash="", goals=())
    content = {
        **vars(header),
        "started": _plain(header.started),
        "status": header.status.value,
        "goals": [goal_to_dict(goal) for goal in episode.header.goals],
        "steps": [step_to_dict(replace(step, stamp=_plain(step.stamp), embedding=None)) for step in episode.steps],
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _plain(number: float) -> float:
    """Return a number as the database gives it back: without the sign of a zero."""
    return float(number) + 0.0


def _header(row: Sequence[Any]) -> EpisodeHeader:
    episode_id, instruction, origin, layout, started, status, reason, details = row
    try:
        values = json.loads(details)
        goals = tuple(goal_from_dict(goal) for goal in values["goals"])
        return EpisodeHeader(
            *(episode_id, values["domain"], values["domain_hash"], instruction, goals, origin, layout),
            *(values["seed"], started, EpisodeStatus(status), reason),
        )
    except UNREADABLE as error:
        raise BankFileError(f"the header of episode {episode_id!r} cannot be read: {error!r}") from error
