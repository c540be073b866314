"""The results of a benchmark as JSON lines: a header, then one line a game with every step (docs/benchmarks.md).

A file holds one experiment. It can be written on after a stop or a crash: a half-written last line is taken off, and
what is there is not run again. What decides a result is in the header's ``settings`` and in its hash; a file whose
hash is another's is refused, naming what differs.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from graph_planner_ros.benchmarks.worlds.game import GameSpec
from graph_planner_ros.benchmarks.worlds.records import EpisodeRecord
from graph_planner_ros.domain.json_files import NO_SUCH_SHAPE, what_is_wrong

FORMAT = 1
"""Version of the file format."""
_SHOWN = 5


class ResultsError(ValueError):
    """A results file that cannot be used; the message says why and what to do."""


@dataclass
class Results:
    """A file that was read.

    Attributes:
        header: its first line. rows: by name and seed, in the order of the file; raw: the same lines as they are.
        expected: number of games that the last run over this file was to play.
    """

    path: Path
    header: dict[str, Any]
    rows: dict[tuple[str, int], EpisodeRecord] = field(default_factory=dict)
    raw: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    expected: int = 0

    @property
    def settings(self) -> dict[str, Any]:
        """What decides the results."""
        settings: dict[str, Any] = self.header["settings"]
        return settings


def canonical_hash(content: Any) -> str:
    """Return 16 hexadecimal digits that plain data always has, whatever the order of its keys."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def spec_hash(spec: GameSpec) -> str:
    """Return the hash of a game's name and data; of files that the data name it takes the contents, not the paths."""
    return canonical_hash([spec.world, spec.name, spec.group, spec.split, _contents(dict(spec.data))])


def _contents(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _contents(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_contents(item) for item in value]
    if isinstance(value, (str, Path)) and 0 < len(str(value)) < 4096 and "\n" not in str(value):
        path = Path(value)
        if path.is_absolute() and path.is_file():
            return hashlib.sha256(path.read_bytes()).hexdigest()
        if path.is_absolute() and path.is_dir():
            return path.name
    return str(value) if isinstance(value, Path) else value


def make_header(settings: Mapping[str, Any], about: Mapping[str, Any], games: int) -> dict[str, Any]:
    """Return a header: ``settings`` decide the results, ``about`` (command, versions) says how they were made."""
    plain = json.loads(json.dumps(dict(settings)))
    return {
        "kind": "header",
        "format": FORMAT,
        "hash": canonical_hash(plain),
        "settings": plain,
        "games": games,
        **about,
    }


Keeper = Callable[[Results, Mapping[str, Any]], None]
"""Checks a row and keeps it in the results that were read; raises ValueError, KeyError or TypeError if it is wrong."""


class ResultsFile:
    """A results file open for writing; a context manager. Each row is on disk when `add` returns.

    Args:
        path: of the file. header: of the run. keep: for rows that are no games of a world.

    Raises:
        ResultsError: the file is of another experiment, broken, or is being written by another process.
    """

    def __init__(self, path: Path, header: Mapping[str, Any], keep: Keeper | None = None) -> None:
        self.path = path
        self._keep = keep or keep_game
        self._file: BinaryIO = open(path, "a+b")  # noqa: SIM115  # closed by close()
        try:
            self._lock()
            self.repaired = _take_off_half_line(self._file)
            self.results = self._resume(dict(header))
        except BaseException:
            self._file.close()
            raise

    def add(self, row: Mapping[str, Any]) -> None:
        """Write one row."""
        self._write({"kind": "game", **row})
        self._keep(self.results, row)

    def close(self) -> None:
        """Close the file; may be called twice."""
        self._file.close()

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ResultsError(
                f"{self.path} is being written by another run; wait for it or choose another file"
            ) from None

    def _resume(self, header: dict[str, Any]) -> Results:
        if self._file.seek(0, os.SEEK_END) == 0:
            self._write(header)
            return Results(self.path, header, expected=header["games"])
        results = read_results(self.path, self._keep)
        if results.header["hash"] != header["hash"]:
            differing = "; ".join(differences(results.settings, header["settings"])) or "the header was edited"
            raise ResultsError(f"{self.path} holds another experiment ({differing}); choose another file for --out")
        resumed = {key: value for key, value in header.items() if key not in ("settings", "format")}
        self._write({**resumed, "kind": "resumed"})
        results.expected = header["games"]
        return results

    def _write(self, content: Mapping[str, Any]) -> None:
        self._file.write(
            json.dumps(_finite(content), ensure_ascii=False, allow_nan=False).encode("utf-8", "replace") + b"\n"
        )
        self._file.flush()
        os.fsync(self._file.fileno())


def _finite(value: Any) -> Any:
    """Return plain data without NaN and infinity, which JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def _take_off_half_line(file: BinaryIO) -> bool:
    """Cut a file after its last complete line; return whether something was cut."""
    end = position = file.seek(0, os.SEEK_END)
    keep = 0
    while position > 0 and not keep:
        start = max(0, position - 65536)
        file.seek(start)
        found = file.read(position - start).rfind(b"\n")
        keep, position = (start + found + 1, position) if found >= 0 else (0, start)
    if keep != end:
        file.truncate(keep)
        file.seek(0, os.SEEK_END)
    return keep != end


def read_results(path: Path, keep: Keeper | None = None) -> Results:
    """Read a results file; a half-written last line is passed over. ``keep``: for rows that are no games of a world.

    Raises:
        ResultsError: if it is no such file, with the number of the line that is wrong.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ResultsError(f"{path} cannot be read: {error.strerror}") from None
    lines = content[: content.rfind(b"\n") + 1].splitlines()
    if not lines:
        raise ResultsError(f"{path} has no header: it is empty, or no results file")
    results = Results(path, _header(path, lines[0]))
    results.expected = results.header.get("games", 0)
    for number, line in enumerate(lines[1:], 2):
        try:
            entry = json.loads(line)
            if entry["kind"] == "resumed":
                results.expected = entry["games"]
            elif entry["kind"] == "game":
                (keep or keep_game)(results, entry)
            else:
                raise ValueError(f"unknown kind {entry['kind']!r}")
        except NO_SUCH_SHAPE as error:
            raise ResultsError(f"{path}, line {number}: {what_is_wrong(error, 'a row of a benchmark')}") from None
    return results


def _header(path: Path, line: bytes) -> dict[str, Any]:
    try:
        header: dict[str, Any] = json.loads(line)
        if header["kind"] != "header" or not isinstance(header["settings"], dict) or not header["hash"]:
            raise ValueError("no header")
        written = header["format"]
    except NO_SUCH_SHAPE:
        raise ResultsError(f"{path} has no header: it is no results file of graph-planner bench") from None
    if written != FORMAT:
        raise ResultsError(f"{path} has format {written}, and this version reads {FORMAT}")
    return header


def keep_game(results: Results, entry: Mapping[str, Any]) -> None:
    """Keep the row of a game.

    Raises:
        ValueError: (or KeyError, TypeError) if it is no such row.
    """
    record = EpisodeRecord.from_json(json.dumps(_finite(entry)))
    for name in ("seed", "limit", "steps_taken", "tokens", "invalid", "repeated_checks", "planner_failures"):
        if type(getattr(record, name)) is not int:
            raise ValueError(f"{name} is no whole number")
    key = record.name, record.seed
    results.rows[key] = record
    results.raw[key] = dict(entry)


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """Say in what two settings differ, one phrase a setting; of settings with parts, the parts that differ."""
    found = []
    for name in sorted({*first, *second}):
        one, other = first.get(name), second.get(name)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            found += differences(one, other)
        elif one != other and not (
            (one is None and isinstance(other, Mapping)) or (other is None and isinstance(one, Mapping))
        ):
            found.append(f"{name}: {_short(one)} and {_short(other)}")
    return found


def some(names: Sequence[str]) -> str:
    """Return a few names of many."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _short(value: Any) -> str:
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."
