"""The bank's database: tables, header, and how a file is opened and recognised."""

from __future__ import annotations

import contextlib
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from graph_planner_ros.memory.bank_errors import BankFileError, named_errors

FORMAT = 1
"""Version of the tables; a bank of another one is refused."""
APPLICATION_ID = 0x67504D42
"""Marks a SQLite database as a bank ("gPMB" in ASCII)."""
BUSY_SECONDS = 30.0
"""How long a process waits for another one to finish its transaction."""

TABLES = """
CREATE TABLE header (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE total (steps INTEGER NOT NULL);
INSERT INTO total VALUES (0);
CREATE TABLE writer (number INTEGER PRIMARY KEY AUTOINCREMENT, process INTEGER NOT NULL, started REAL NOT NULL);
CREATE TABLE episode (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    instruction TEXT NOT NULL,
    origin TEXT NOT NULL,
    layout TEXT NOT NULL,
    started REAL NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    details TEXT NOT NULL,
    steps INTEGER NOT NULL,
    writer INTEGER
);
CREATE INDEX episode_by_status ON episode (status);
CREATE TABLE step (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    episode INTEGER NOT NULL REFERENCES episode (number) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    stamp REAL NOT NULL,
    action TEXT,
    succeeded INTEGER,
    scene BLOB NOT NULL,
    UNIQUE (episode, position)
);
CREATE TRIGGER step_added AFTER INSERT ON step BEGIN UPDATE total SET steps = steps + 1; END;
CREATE TRIGGER step_removed AFTER DELETE ON step BEGIN UPDATE total SET steps = steps - 1; END;
CREATE TABLE embedding (
    step INTEGER PRIMARY KEY REFERENCES step (number) ON DELETE CASCADE,
    has_action INTEGER NOT NULL,
    vector BLOB NOT NULL
);
CREATE TABLE change (number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, episode INTEGER, steps BLOB);
CREATE TABLE snapshot (
    number INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT NOT NULL, last_step INTEGER NOT NULL,
    last_change INTEGER NOT NULL, settings TEXT NOT NULL
);
"""
"""Scenes are zlib-compressed JSON, vectors little-endian float32. ``change`` says what an index has to forget or to
look at again; ``snapshot`` which index file belongs to which state of the database."""


@dataclass(frozen=True)
class BankHeader:
    """What identifies a bank and what its vectors and episodes are.

    Attributes:
        bank: unique id. format: of the tables.
        dimension: of the embeddings. model_hash: of the encoder that made them.
        domain: name of the planning domain, domain_hash: of its files; empty until the first episode says it.
    """

    bank: str
    format: int
    dimension: int
    model_hash: str
    domain: str = ""
    domain_hash: str = ""


def connect(path: Path, read_only: bool, damaged: bool = False) -> sqlite3.Connection:
    """Open a database file, or make an empty one, without changing what is in it.

    Args:
        damaged: read as much as there is of a file that is cut off, which SQLite otherwise refuses as a whole.

    Raises:
        BankFileError: it cannot be opened, is no bank, or is a bank of another format.
    """
    if read_only and not path.exists():
        raise BankFileError(f"{path}: there is no such bank")
    if path.is_dir():
        raise BankFileError(f"{path} is a folder; a bank is one file")
    if not read_only:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BankFileError(f"{path}: its folder cannot be made: {error.strerror}") from error
    with named_errors(path):
        connection = _open(path, read_only, damaged)
        try:
            _check(connection, path)
            if not read_only:
                _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def is_empty(connection: sqlite3.Connection) -> bool:
    """Return whether the database has no tables at all (as a file of no bytes has)."""
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def create(connection: sqlite3.Connection, header: BankHeader) -> None:
    """Make the tables in one transaction, unless another process just did."""
    with transaction(connection):
        if not is_empty(connection):
            return
        for statement in _statements(TABLES):
            connection.execute(statement)
        write_header(connection, header)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")


def new_header(dimension: int, model_hash: str, domain: str, domain_hash: str) -> BankHeader:
    """Return the header of a bank that is just made."""
    return BankHeader(uuid.uuid4().hex, FORMAT, dimension, model_hash, domain, domain_hash)


def read_header(connection: sqlite3.Connection) -> BankHeader:
    """Return the header of a bank."""
    values = dict(connection.execute("SELECT name, value FROM header"))
    version, dimension = int(values["format"]), int(values["dimension"])
    return BankHeader(values["bank"], version, dimension, values["model_hash"], values["domain"], values["domain_hash"])


def write_header(connection: sqlite3.Connection, header: BankHeader) -> None:
    """Replace the header."""
    rows = [(name, str(value)) for name, value in vars(header).items()]
    connection.executemany("INSERT OR REPLACE INTO header VALUES (?, ?)", rows)


@contextmanager
def transaction(connection: sqlite3.Connection, mode: str = "IMMEDIATE") -> Iterator[None]:
    """Make what happens inside happen wholly or not at all; the readers of other processes are not held up."""
    connection.execute(f"BEGIN {mode}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def register_writer(connection: sqlite3.Connection, process: int) -> int:
    """Return a number for a process that writes; no number is ever given twice."""
    with transaction(connection):
        row = connection.execute("INSERT INTO writer (process, started) VALUES (?, ?)", (process, time.time()))
        number = row.lastrowid
    assert number is not None
    return number


def shrink(connection: sqlite3.Connection) -> None:
    """Give the room of what was deleted back to the disk, if nobody is in the way."""
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA incremental_vacuum").fetchall()


def sync(connection: sqlite3.Connection) -> None:
    """Put everything that is committed on the disk itself, so that it survives a loss of power too.

    Where that fails (a full disk) what is committed is still safe from the end of the process.
    """
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def _open(path: Path, read_only: bool, damaged: bool) -> sqlite3.Connection:
    address = path.absolute().as_uri()
    mode = "ro" if read_only else "rwc"
    connection = sqlite3.connect(
        f"{address}?mode={mode}", uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    if not read_only:
        return connection
    if damaged:
        connection.execute("PRAGMA writable_schema = ON")  # a file with fewer pages than its header says is read then
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError:
        connection.close()
        log = path.with_name(path.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise  # with an unfinished log only a process that may write can read the newest state
        # In a folder that cannot be written there is no place for the files that readers share with a writer,
        # and there can be no writer either.
        connection = sqlite3.connect(f"{address}?immutable=1", uri=True, isolation_level=None, check_same_thread=False)
        if damaged:
            connection.execute("PRAGMA writable_schema = ON")
    return connection


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse what is not a bank before anything is written to it."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if is_empty(connection):
        return
    if application != APPLICATION_ID:
        raise BankFileError(
            f"{path} is a SQLite database of something else, not an experience bank; it was not touched"
        )
    if version != FORMAT:
        raise BankFileError(f"{path}: expected a bank of format {FORMAT}, found format {version}; it was not touched")


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Set what holds for connections that write."""
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of use only before the first table
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise BankFileError(f"{path}: its file system cannot hold a write-ahead log (SQLite stays in mode {mode!r})")
    connection.execute("PRAGMA synchronous = NORMAL")  # what is committed survives the process; see docs/memory.md
    connection.execute("PRAGMA foreign_keys = ON")


def _statements(text: str) -> Iterator[str]:
    """Yield the statements of a script one by one (`executescript` would end the transaction)."""
    statement = ""
    for line in text.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
