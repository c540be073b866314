"""Embeds the scenes of a bank anew: for another encoder, for changed files of its domain, or to mend its vectors."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.memory import bank_rows as rows
from graph_planner_ros.memory.bank_errors import BankError, BankFileError, BankMismatchError, named_errors
from graph_planner_ros.memory.bank_locks import WriterLocks
from graph_planner_ros.memory.bank_schema import (
    BankHeader,
    connect,
    is_empty,
    read_header,
    register_writer,
    shrink,
    transaction,
    write_header,
)
from graph_planner_ros.memory.episode_files import domain_hash
from graph_planner_ros.memory.experience import SceneEncoder
from graph_planner_ros.scene.graph import SceneGraph

_BATCH = 256
_NAMED = 5
"""Actions that do not fit the domain and are named in the error."""

_NEW_TABLE = """CREATE TABLE embedding_new (
    step INTEGER PRIMARY KEY REFERENCES step (number) ON DELETE CASCADE,
    has_action INTEGER NOT NULL,
    vector BLOB NOT NULL
)"""


@dataclass(frozen=True)
class Rebuilt:
    """The header before and after, and the number of steps that were embedded."""

    before: BankHeader
    after: BankHeader
    steps: int


def rebuild_bank(
    path: Path, domain: Domain | None, encoder: SceneEncoder, progress: Callable[[int, int], None] | None = None
) -> Rebuilt:
    """Embed all scenes of a bank with an encoder, and take over the domain's present hash.

    The old vectors stay in force until all new ones are there; one transaction then swaps them. The next process that
    searches the bank makes the index anew.

    Args:
        domain: the episodes' domain as its files are now; None: its hash stays. progress: steps done, steps in all.

    Raises:
        BankMismatchError: the domain is another one, or no longer has the actions of the episodes.
        BankError: another process has the bank open for writing. BankFileError: it cannot be read or written.
    """
    connection = connect(path, read_only=not path.exists())
    locks: WriterLocks | None = None
    try:
        with named_errors(path):
            if is_empty(connection):
                raise BankFileError(f"{path} is empty; there is nothing to rebuild")
            locks = WriterLocks(path.with_name(path.name + ".lock"))
            own = register_writer(connection, os.getpid())
            locks.take(own)
            _refuse_writers(connection, locks, path, own)
            before = read_header(connection)
            after = _new_header(connection, path, before, domain, encoder)
            try:
                steps = _embed_all(connection, after, encoder, progress)
            finally:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("DROP TABLE IF EXISTS embedding_new")
                    connection.execute("DELETE FROM writer WHERE number = ?", (own,))
            shrink(connection)
    except OSError as error:
        raise BankFileError(f"{path}: its lock file cannot be made: {error.strerror}") from error
    finally:
        connection.close()
        if locks is not None:
            locks.close()
    return Rebuilt(before, after, steps)


def _refuse_writers(connection: sqlite3.Connection, locks: WriterLocks, path: Path, own: int) -> None:
    """Refuse to rebuild beside a process that came earlier; of two that rebuild, the first goes on."""
    query = "SELECT number, process FROM writer WHERE number < ?"
    for number, process in connection.execute(query, (own,)).fetchall():
        if locks.is_alive(number):
            raise BankError(f"{path} is open for writing in process {process}; end that first")


def _new_header(
    connection: sqlite3.Connection, path: Path, before: BankHeader, domain: Domain | None, encoder: SceneEncoder
) -> BankHeader:
    after = replace(before, dimension=encoder.dimension, model_hash=encoder.model_hash)
    if domain is None:
        return after
    if before.domain and before.domain != domain.name:
        raise BankMismatchError(
            f"{path} has episodes of the domain {before.domain!r}, not {domain.name!r}; use a bank of its own for each",
            *("domain", before.domain, domain.name),
        )
    unfit = []
    for (text,) in connection.execute("SELECT DISTINCT action FROM step WHERE action IS NOT NULL ORDER BY action"):
        name, *arguments = json.loads(text)
        schema = domain.actions.get(name)
        if schema is None or len(schema.parameters) != len(arguments):
            unfit.append(f"({' '.join((name, *arguments))})")
    if unfit:
        named = ", ".join(unfit[:_NAMED]) + (f" and {len(unfit) - _NAMED} more" if len(unfit) > _NAMED else "")
        raise BankMismatchError(
            f"{path}: the domain {domain.name!r} has no such actions (any more): {named}; delete their episodes, or "
            "use the domain's former files",
            *("actions", named, domain.name),
        )
    return replace(after, domain=domain.name, domain_hash=domain_hash(domain))


def _embed_all(
    connection: sqlite3.Connection,
    header: BankHeader,
    encoder: SceneEncoder,
    progress: Callable[[int, int], None] | None,
) -> int:
    """Fill a new table of vectors batch by batch, then put it in the place of the old one; return their number."""
    with transaction(connection):
        connection.execute("DROP TABLE IF EXISTS embedding_new")
        connection.execute(_NEW_TABLE)
    total = connection.execute("SELECT steps FROM total").fetchone()[0]
    done = last = 0
    while True:
        batch = connection.execute(
            "SELECT step.number, action IS NOT NULL, scene, id, position FROM step JOIN episode"
            " ON episode.number = step.episode WHERE step.number > ? ORDER BY step.number LIMIT ?",
            (last, _BATCH),
        ).fetchall()
        if not batch:
            break
        vectors = np.asarray(encoder.encode([_scene(row) for row in batch]))
        if len(vectors) != len(batch):
            raise BankError(f"the encoder made {len(vectors)} embeddings of {len(batch)} scenes")
        new = [
            (row[0], row[1], rows.vector_to_blob(rows.check_embedding(vector, header.dimension, _name(row))))
            for row, vector in zip(batch, vectors, strict=True)
        ]
        with transaction(connection):
            connection.executemany("INSERT INTO embedding_new VALUES (?, ?, ?)", new)
        done, last = done + len(batch), int(batch[-1][0])
        if progress is not None:
            progress(done, total)
    _swap(connection, header)
    return done


def _swap(connection: sqlite3.Connection, header: BankHeader) -> None:
    with transaction(connection):
        missing = connection.execute(
            "SELECT count(*) FROM step WHERE number NOT IN (SELECT step FROM embedding_new)"
        ).fetchone()[0]
        if missing:
            raise BankError(f"another process added {missing} steps meanwhile; the bank is as it was, try again")
        connection.execute("DROP TABLE embedding")
        connection.execute("ALTER TABLE embedding_new RENAME TO embedding")
        connection.execute(
            "UPDATE episode SET details = json_set(details, '$.domain', ?, '$.domain_hash', ?)",
            (header.domain, header.domain_hash),
        )
        write_header(connection, header)
        connection.execute("DELETE FROM snapshot")
        rows.log_change(connection, "rebuilt")


def _scene(row: tuple[int, int, bytes, str, int]) -> SceneGraph:
    try:
        return rows.unpack_scene(row[2])
    except rows.UNREADABLE as error:
        raise BankFileError(
            f"the scene of {_name(row)} cannot be read ({error!r}); the bank is as it was. Delete that episode first"
        ) from error


def _name(row: tuple[int, int, bytes, str, int]) -> str:
    return f"step {row[4]} of the episode {row[3]!r}"
