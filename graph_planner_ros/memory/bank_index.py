"""Keeps an index of vectors in step with the bank's database, and a file of it beside the bank.

The database is the one source of truth. An index file is believed only if the database knows its SHA-256: then it is
the index of an earlier state of this very database, and what has come and gone since is applied to it.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import logging
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from graph_planner_ros.memory.bank_errors import BankError, BankFileError
from graph_planner_ros.memory.bank_rows import blobs_to_vectors
from graph_planner_ros.memory.bank_schema import transaction
from graph_planner_ros.memory.experience import Embedding, EpisodeStatus
from graph_planner_ros.memory.index import Ids, VectorIndex

_CHUNK = 8192
_SNAPSHOTS = 3
"""Files of the last so many states are believed, should writing a newer one be cut short."""
_WORTH_A_FILE = 2000
"""A smaller index is made from the database as fast as it is read from a file."""
_WORTH_ANOTHER = 0.05
"""Part of the vectors that must have come or gone before the file is written again."""

log = logging.getLogger(__name__)


class BankIndex:
    """The index of a bank.

    Args:
        connection: to the database; used only while the bank holds its lock. path: of the bank. dimension: of vectors.
        writable: whether index files may be written.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, dimension: int, writable: bool) -> None:
        self._connection = connection
        self.file = path.with_name(path.name + ".index")
        self._dimension = dimension
        self._writable = writable
        self._index: VectorIndex | None = None
        self._last_step = self._last_change = 0
        self._version = -1
        self._own_commits = False
        self._moved = 0  # vectors that came or went since the file was written
        self.from_file = False

    @property
    def loaded(self) -> VectorIndex | None:
        """The index, if it is in memory."""
        return self._index

    def note_commit(self) -> None:
        """Tell that this process has committed something."""
        self._own_commits = True

    def is_stale(self) -> bool:
        """Return whether anything has been committed since `refreshed`, here or by another process."""
        return self._index is None or self._own_commits or self._data_version() != self._version

    def refreshed(self) -> VectorIndex:
        """Return the index with everything that is committed; loads or makes it at the first call."""
        if self._index is not None and not self.is_stale():
            return self._index
        is_first = self._index is None
        version = self._data_version()
        with transaction(self._connection, "DEFERRED"):
            if is_first:
                self._load()
            index = self._index
            if index is None or not self._catch_up(index) or (is_first and self._writable and index.outgrown):
                index = self._build()
            self._index = index
        self._version, self._own_commits = version, False
        return index

    def grow(self) -> None:
        """Make the index anew if the bank has outgrown it, which takes minutes in a very large bank.

        So that happens when a bank is opened and when many episodes are added, and never to a robot at work.
        """
        if self._index is not None and self.refreshed().outgrown:
            self.rebuild()

    def rebuild(self) -> VectorIndex:
        """Make the index from the database, whatever there is."""
        with transaction(self._connection, "DEFERRED"):
            self._index = self._build()
        return self._index

    def clean_up(self) -> None:
        """Remove what a process left that was killed while it wrote the file; nobody else may be writing."""
        for left in self.file.parent.glob(f".{glob.escape(self.file.name)}.*"):
            with contextlib.suppress(OSError):
                left.unlink()

    def save(self, always: bool = False) -> bool:
        """Write the file if that is worth while; return whether there is a file of this state.

        A file that cannot be written is no harm: the index is made anew the next time. That is logged.
        """
        if self._index is None or not self._writable:
            return False
        enough = self._moved > _WORTH_ANOTHER * len(self._index) or not self.from_file
        if not always and (len(self._index) < _WORTH_A_FILE or not enough):
            return self.from_file
        temporary: str | None = None
        try:
            handle, temporary = tempfile.mkstemp(dir=self.file.parent, prefix=f".{self.file.name}.")
            os.close(handle)
            self._index.save(Path(temporary))
            _sync(temporary)
            self._note_snapshot(_digest(Path(temporary)))
            os.replace(temporary, self.file)
        except (OSError, sqlite3.Error) as error:
            log.warning("%s was not written (%s); the index will be made anew at the next start", self.file, error)
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
            return False
        self.from_file, self._moved = True, 0
        return True

    def _data_version(self) -> int:
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def _note_snapshot(self, digest: str) -> None:
        assert self._index is not None
        row = (digest, self._last_step, self._last_change, json.dumps(self._index.settings))
        with transaction(self._connection):
            self._connection.execute(
                "INSERT INTO snapshot (digest, last_step, last_change, settings) VALUES (?, ?, ?, ?)", row
            )
            self._connection.execute(
                "DELETE FROM snapshot WHERE number <= (SELECT max(number) FROM snapshot) - ?", (_SNAPSHOTS,)
            )
            # What every index file that may still be read knows already need not be told again.
            self._connection.execute(
                "DELETE FROM change WHERE number <= (SELECT min(last_change) FROM snapshot) AND number <= ?",
                (self._last_change - 10_000,),
            )

    def _load(self) -> None:
        """Take the index from its file, if the database knows that file."""
        try:
            known = self._connection.execute("SELECT count(*) FROM snapshot").fetchone()[0]
            if not known or not self.file.is_file():
                return
            row = self._connection.execute(
                "SELECT last_step, last_change, settings FROM snapshot WHERE digest = ? ORDER BY number DESC",
                (_digest(self.file),),
            ).fetchone()
            if row is None:
                log.warning("%s does not belong to the present state of the bank; it is made anew", self.file)
                return
            index = VectorIndex.load(self.file, self._dimension, json.loads(row[2]))
        except (OSError, BankError) as error:
            log.warning("%s is not used (%s); it is made anew", self.file, error)
            return
        if self._forgotten(int(row[1])):
            return
        self._index, self._last_step, self._last_change = index, int(row[0]), int(row[1])
        self.from_file = True
        self._set_flags(index, self._last_step)

    def _forgotten(self, last_change: int) -> bool:
        """Return whether changes after this one are no longer listed."""
        first = self._connection.execute("SELECT min(number) FROM change").fetchone()[0]
        newest = self._newest_change()
        return newest > last_change and (first is None or first > last_change + 1)

    def _newest_change(self) -> int:
        row = self._connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'change'").fetchone()
        return int(row[0]) if row is not None else 0

    def _catch_up(self, index: VectorIndex) -> bool:
        """Apply what has been committed since the last time; False if that is not possible."""
        if self._forgotten(self._last_change):
            return False
        changes = self._connection.execute(
            "SELECT number, kind, episode, steps FROM change WHERE number > ? ORDER BY number", (self._last_change,)
        ).fetchall()
        if any(kind == "rebuilt" for _, kind, _, _ in changes):
            return False
        first_new = self._last_step + 1
        for ids, vectors in self._vectors(1, first_new):
            index.add(ids, vectors)
            self._last_step = int(ids[-1])
            self._moved += len(ids)
        for number, kind, episode, steps in changes:
            if kind == "deleted":
                gone = np.frombuffer(steps, dtype="<i8").astype(np.int64)
                index.remove(gone[gone < first_new])  # later ones were never added
                self._moved += len(gone)
            else:
                self._flag_episode(index, int(episode))
            self._last_change = int(number)
        return True

    def _build(self) -> VectorIndex:
        count = self._connection.execute("SELECT count(*) FROM embedding WHERE has_action").fetchone()[0]
        index = VectorIndex.build(self._dimension, int(count), lambda stride: self._vectors(stride, 0))
        last = self._connection.execute("SELECT max(step) FROM embedding").fetchone()[0]
        self._last_step, self._last_change = int(last or 0), self._newest_change()
        self._set_flags(index, self._last_step)
        self.from_file, self._moved = False, len(index)
        return index

    def _vectors(self, stride: int, first: int) -> Iterator[tuple[Ids, Embedding]]:
        """Yield numbers and vectors of the steps with an action from ``first``, every stride-th of them."""
        rows = self._connection.execute(
            "SELECT step, vector FROM embedding WHERE step >= ? AND has_action ORDER BY step", (first,)
        )
        position = 0
        while chunk := rows.fetchmany(_CHUNK):
            chosen = chunk[-position % stride :: stride]
            position += len(chunk)
            if chosen:
                try:
                    vectors = blobs_to_vectors([row[1] for row in chosen], self._dimension)
                except ValueError as error:
                    raise BankFileError(
                        f"vectors of the steps {chosen[0][0]} to {chosen[-1][0]} are damaged: {error}; "
                        "`graph-planner memory rebuild` makes them anew from the scenes"
                    ) from error
                yield np.array([row[0] for row in chosen], dtype=np.int64), vectors

    def _set_flags(self, index: VectorIndex, last_step: int) -> None:
        """Flag the steps of episodes that succeeded."""
        rows = self._connection.execute(
            "SELECT step.number FROM episode JOIN step ON step.episode = episode.number"
            " WHERE episode.status = ? AND step.number <= ? AND step.action IS NOT NULL",
            (EpisodeStatus.SUCCEEDED.value, last_step),
        )
        while chunk := rows.fetchmany(16 * _CHUNK):
            index.flag(_numbers(chunk), True)

    def _flag_episode(self, index: VectorIndex, episode: int) -> None:
        row = self._connection.execute("SELECT status FROM episode WHERE number = ?", (episode,)).fetchone()
        if row is not None:
            index.flag(self.ids_of(episode), row[0] == EpisodeStatus.SUCCEEDED.value)

    def ids_of(self, episode: int) -> Ids:
        """Return the ids of an episode's vectors in the index."""
        rows = self._connection.execute(
            "SELECT number FROM step WHERE episode = ? AND action IS NOT NULL AND number <= ?",
            (episode, self._last_step),
        )
        return _numbers(rows)


def _numbers(rows: Iterable[Any]) -> Ids:
    return np.fromiter((row[0] for row in rows), dtype=np.int64)


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    content = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            content.update(block)
    return content.hexdigest()


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
