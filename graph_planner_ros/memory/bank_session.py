"""How long a bank is open: its connection, who writes, transactions, and whether the header still fits."""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.memory import bank_rows as rows
from graph_planner_ros.memory.bank_errors import BankError, BankFileError, BankMismatchError, named_errors
from graph_planner_ros.memory.bank_index import BankIndex
from graph_planner_ros.memory.bank_locks import WriterLocks
from graph_planner_ros.memory.bank_schema import (
    BankHeader,
    new_header,
    read_header,
    register_writer,
    transaction,
    write_header,
)
from graph_planner_ros.memory.episode_files import domain_hash
from graph_planner_ros.memory.experience import EpisodeHeader, EpisodeStatus, SceneEncoder


@dataclass(frozen=True)
class BankOptions:
    """What a bank was opened with; see `ExperienceBank.open`."""

    encoder: SceneEncoder | None
    domain: Domain | None
    limit_steps: int
    read_only: bool


class BankSession:
    """An open bank without its content: the base of `ExperienceBank`.

    Attributes:
        path: of the database. header: what identifies the bank, its vectors and its domain.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, options: BankOptions) -> None:
        self.path = path
        self._connection = connection
        self._options = options
        self._lock = threading.RLock()
        self._locks: WriterLocks | None = None
        self._writer: int | None = None
        self._closed = False
        self._headers: list[EpisodeHeader] = []
        self._headers_stamp: tuple[tuple[str, int], ...] | None = None
        self.header = read_header(connection)
        check_header(path, self.header, options)
        self._index = BankIndex(connection, path, self.header.dimension, not options.read_only)

    def close(self) -> None:
        """Say of own episodes that are not over that they were interrupted, write the index file, and close."""
        with self._lock:
            if self._closed:
                return
            try:
                if not self._options.read_only:
                    self._stop_writing()
            finally:
                self._closed = True
                self._connection.close()
                if self._locks is not None:
                    self._locks.close()

    def _start_writing(self) -> None:
        """Take a writer's number and close the episodes of writers that are no more."""
        try:
            self._locks = WriterLocks(self.path.with_name(self.path.name + ".lock"))
            self._writer = register_writer(self._connection, os.getpid())
            self._locks.take(self._writer)
        except OSError as error:
            raise BankFileError(f"{self.path}: its lock file cannot be made: {error.strerror}") from error
        with transaction(self._connection):
            alive = {self._writer}
            for (number,) in self._connection.execute("SELECT number FROM writer").fetchall():
                if number == self._writer or self._locks.is_alive(number):
                    alive.add(number)
                else:
                    self._connection.execute("DELETE FROM writer WHERE number = ?", (number,))
            self._interrupt(lambda writer: writer not in alive, "the process that wrote it ended before it was over")
            if alive == {self._writer}:  # what a `rebuild_bank` left that was killed
                self._connection.execute("DROP TABLE IF EXISTS embedding_new")
        if alive == {self._writer}:
            self._index.clean_up()

    def _stop_writing(self) -> None:
        with named_errors(self.path):
            try:
                with transaction(self._connection):
                    reason = "the bank was closed before it was over"
                    self._interrupt(lambda writer: writer == self._writer, reason)
                    self._connection.execute("DELETE FROM writer WHERE number = ?", (self._writer,))
            finally:
                self._index.save()

    def _interrupt(self, applies: Callable[[int | None], bool], reason: str) -> None:
        running = self._connection.execute(
            "SELECT number, writer FROM episode WHERE status = ?", (EpisodeStatus.RUNNING.value,)
        ).fetchall()
        for number, writer in running:
            if applies(writer):
                rows.set_status(self._connection, number, EpisodeStatus.INTERRUPTED, reason)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        with self._lock, named_errors(self.path):
            if self._closed:
                raise BankError(f"{self.path} is closed")
            yield

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction: what is inside is committed as a whole, or not at all."""
        with self._reading():
            if self._options.read_only:
                raise BankError(f"{self.path} was opened for reading only")
            with transaction(self._connection):
                self._check_unchanged()
                yield
            self._index.note_commit()

    def _check_unchanged(self) -> None:
        """Refuse to go on if another process has rebuilt the bank for another model or domain."""
        header = read_header(self._connection)
        if header != self.header:
            check_header(self.path, header, self._options)
            if (header.dimension, header.model_hash) != (self.header.dimension, self.header.model_hash):
                raise BankMismatchError(
                    f"{self.path}: another process has rebuilt the bank with the model {header.model_hash}, here it "
                    f"was opened with {self.header.model_hash}; open it again",
                    *("model hash", header.model_hash, self.header.model_hash),
                )
            self.header = header

    def _admit(self, header: EpisodeHeader) -> None:
        """Check that an episode is of the bank's domain; the first one decides for a bank that has none."""
        if not math.isfinite(header.started):
            raise BankError(f"the episode {header.episode_id!r} has no finite time of its start: {header.started}")
        if not header.episode_id:
            raise BankError("an episode needs an id")
        for what in ("episode_id", "instruction", "origin", "layout", "reason"):
            if not is_text(getattr(header, what)):
                raise BankError(f"{what} of the episode {header.episode_id!r} holds characters that no file can")
        if not self.header.domain_hash:
            updated = replace(self.header, domain=header.domain, domain_hash=header.domain_hash)
            write_header(self._connection, updated)
            self.header = updated
        for what, ours, theirs in (
            ("domain", self.header.domain, header.domain),
            ("domain hash", self.header.domain_hash, header.domain_hash),
        ):
            if ours != theirs:
                raise BankMismatchError(
                    f"{self.path}: the episode {header.episode_id!r} has the {what} {theirs!r}, the bank's is {ours!r}",
                    *(what, ours, theirs),
                )


def is_text(text: str) -> bool:
    """Return whether a text can be written as UTF-8; halves of surrogate pairs cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def header_for(path: Path, options: BankOptions) -> BankHeader:
    """Return the header of a bank that is to be made.

    Raises:
        BankFileError: there is nothing to read, or no encoder that says what its vectors are to be.
    """
    if options.read_only:
        raise BankFileError(f"{path}: there is no such bank (the file is empty)")
    if options.encoder is None:
        raise BankFileError(f"{path}: there is no such bank; to make one, an encoder is needed")
    domain = options.domain
    name, digest = (domain.name, domain_hash(domain)) if domain is not None else ("", "")
    return new_header(options.encoder.dimension, options.encoder.model_hash, name, digest)


def check_header(path: Path, header: BankHeader, options: BankOptions) -> None:
    """Refuse an encoder or a domain that the bank was not made with.

    Raises:
        BankMismatchError: naming what differs, both values, and what helps.
    """
    anew = f"`graph-planner memory rebuild {path}`"
    encoder, domain = options.encoder, options.domain
    if encoder is not None:
        way = f"{anew} embeds its scenes with the present encoder"
        _compare(path, "dimension", str(header.dimension), str(encoder.dimension), way)
        _compare(path, "model hash", header.model_hash, encoder.model_hash, way)
    if domain is not None and header.domain_hash:
        _compare(path, "domain", header.domain, domain.name, "use a bank of its own for each domain")
        way = f"the domain's files have changed; {anew} --domain {domain.name} checks and takes over the episodes"
        _compare(path, "domain hash", header.domain_hash, domain_hash(domain), way)


def check_same_domain(bank: BankSession, other: BankSession) -> None:
    """Refuse a bank whose episodes cannot come into another one; a bank without a domain takes any.

    Raises:
        BankMismatchError: they are of different domains, or of different states of the domain's files.
    """
    for what, ours, theirs in (
        ("domain", bank.header.domain, other.header.domain),
        ("domain hash", bank.header.domain_hash, other.header.domain_hash),
    ):
        if bank.header.domain_hash and other.header.domain_hash and ours != theirs:
            raise BankMismatchError(
                f"{other.path} has episodes of the {what} {theirs!r}, {bank.path} of {ours!r}; nothing of it was added",
                *(what, ours, theirs),
            )


def _compare(path: Path, what: str, expected: str, found: str, way: str) -> None:
    if expected != found:
        raise BankMismatchError(
            f"{path}: the bank has the {what} {expected!r}, it was opened for {found!r}; {way}", what, expected, found
        )
