"""The terminal that people look at, which may be closed while a program still works."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table


class Terminal(Console):
    """A console whose reader may go away: a closed terminal, or ``| head``. What is printed after that is lost.

    Attributes:
        on_lost: called once when the reader has gone, so that a program can end in good order; None: it ends at once.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.on_lost: Callable[[], None] | None = None
        self._lost = False

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as rich does, if anybody reads it."""
        if self._lost:
            return
        try:
            super().print(*objects, **options)
        except OSError:
            self.on_broken_pipe()

    def on_broken_pipe(self) -> None:
        """Write nothing any more and tell the program."""
        self._lost = True
        with contextlib.suppress(OSError, ValueError):
            # the interpreter writes what is left in its buffer at its end; that must not fail again
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.file.fileno())
            os.close(nowhere)
        if self.on_lost is None:
            raise SystemExit(1)
        self.on_lost()

    def stop_signal(self) -> Callable[[], bool]:
        """Turn Ctrl-C, SIGTERM, SIGHUP and a closed terminal into a flag: what runs is finished and written."""
        event = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: event.set())
        self.on_lost = event.set
        return event.is_set


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table for the terminal."""
    result = Table(title=title, title_justify="left")
    for column in columns:
        result.add_column(column)
    for row in rows:
        result.add_row(*(escape(cell) for cell in row))
    return result


errors = Console(stderr=True, highlight=False)
"""Where all commands say what went wrong."""


def flushed(code: int) -> int:
    """Write out what is still to be printed, and return an exit code; 1 where nobody reads it any more."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or 1
            with contextlib.suppress(OSError, ValueError):
                # the interpreter flushes once more at its end
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)
    return code


def fail(why: str | Exception, code: int) -> typer.Exit:
    """Print an error and return the exit to raise.

    Args:
        why: what went wrong, in a sentence, or the exception that says it.
        code: 2 for wrong usage, 3 for what is not installed or not there.
    """
    errors.print(f"[red]error[/red] {escape(why if isinstance(why, str) else in_words(why))}", soft_wrap=True)
    return typer.Exit(code)


def in_words(error: Exception) -> str:
    """Return what an exception says to people: of the system's errors the file and what is wrong with it."""
    if isinstance(error, OSError) and error.strerror:
        words = error.strerror[0].lower() + error.strerror[1:]
        return f"{error.filename}: {words}" if error.filename is not None else words
    return str(error)


def finite(value: float | None) -> float | None:
    """Refuse what is no number or endless (a callback of options): nan is neither too small nor too large."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"expected a finite number, found {value}")
    return value


def writable(path: Path | None) -> Path | None:
    """Refuse a file that cannot be written before the work whose results it is to hold (a callback of options)."""
    if path is None:
        return None
    folder = path.absolute().parent
    if path.is_dir() or not folder.is_dir():
        raise typer.BadParameter(f"{path} cannot be written: it is a folder, or its folder does not exist")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise typer.BadParameter(f"{path} cannot be written: permission denied")
    return path
