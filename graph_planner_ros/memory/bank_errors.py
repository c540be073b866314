"""What can go wrong with an experience bank; every message names the file or the thing, and what helps."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class BankError(Exception):
    """Something that the bank refuses, or cannot do; the message says what and why. Nothing was changed."""


class BankFileError(BankError):
    """The file cannot be read or written, or is no bank; it was left as it is."""


class BankMismatchError(BankError):
    """Dimension, model hash, domain or domain hash are others than the bank's.

    Attributes:
        what: name of what differs. expected: what the bank has. found: what it was opened or used with.
    """

    def __init__(self, message: str, what: str, expected: str, found: str) -> None:
        super().__init__(message)
        self.what = what
        self.expected = expected
        self.found = found


class BankFullError(BankError):
    """The limit is reached and no episode can be forgotten for the new steps."""


class EmbeddingError(BankError, ValueError):
    """A vector that must not go into the bank: wrong shape, not finite, or not of unit length."""


class UnknownEpisodeError(BankError, KeyError):
    """There is no such episode, or no such step in it."""

    def __str__(self) -> str:
        return str(self.args[0])


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into a `BankFileError` that says what happened to which file and what helps."""
    try:
        yield
    except sqlite3.Error as error:
        raise BankFileError(f"{path}: {_explain(error)}") from error


def damaged(path: Path, what: str) -> BankFileError:
    """Return the error of a bank whose file was changed by something else than a bank."""
    return BankFileError(f"{path}: {_damaged(what)}")


def _damaged(what: str) -> str:
    return (
        f"the file is damaged ({what}). It was left as it is; `graph-planner memory export --damaged` saves the "
        "episodes that can still be read"
    )


def _explain(error: sqlite3.Error) -> str:
    """Return what an error of SQLite means for the bank, in a sentence."""
    text = str(error)
    if "not a database" in text:
        return "this is not an experience bank (no SQLite database). It was left as it is"
    if "malformed" in text:
        return _damaged(text)
    if "full" in text:
        return "the disk is full. Nothing of what was being written is in the bank; what was written before is safe"
    if "locked" in text or "busy" in text:
        return "another process has been writing to the bank for too long; try again"
    if "readonly" in text:
        return "the file or its folder is read-only; open the bank for reading only, or make them writable"
    if "unable to open" in text:
        return "the file cannot be opened: its folder is missing or read-only, or it is no regular file"
    if "disk I/O" in text:
        return (
            "the disk refused to read or write (full, over a quota, or failing). Nothing of what was being written is "
            "in the bank; what was written before is safe"
        )
    return f"SQLite says: {text}"


__all__ = [
    "BankError",
    "BankFileError",
    "BankFullError",
    "BankMismatchError",
    "EmbeddingError",
    "UnknownEpisodeError",
    "damaged",
    "named_errors",
]
