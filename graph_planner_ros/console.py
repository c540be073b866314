"""The terminal that people look at, which may be closed while a program still works."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Sequence
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


def fail(text: str, code: int) -> typer.Exit:
    """Print an error and return the exit to raise.

    Args:
        text: what went wrong, in a sentence. code: 2 for wrong usage, 3 for what is not installed or not there.
    """
    errors.print(f"[red]error[/red] {escape(text)}", soft_wrap=True)
    return typer.Exit(code)
