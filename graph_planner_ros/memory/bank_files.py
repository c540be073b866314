"""Banks and files: episodes out as JSON lines, in again, and what a damaged bank can still say."""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from graph_planner_ros.memory import bank_rows as rows
from graph_planner_ros.memory.bank import ExperienceBank
from graph_planner_ros.memory.bank_errors import BankError, BankFileError, BankMismatchError, named_errors
from graph_planner_ros.memory.bank_reports import AddReport
from graph_planner_ros.memory.bank_schema import connect, is_empty, read_header
from graph_planner_ros.memory.episode_files import EpisodeFileError, read_episodes, write_episodes
from graph_planner_ros.memory.experience import Episode, EpisodeStatus

Progress = Callable[[int], None]


@dataclass
class Salvage:
    """What a damaged bank still had: episodes that were written, and what could not be read, with the reason."""

    written: int = 0
    lost: list[str] = field(default_factory=list)


def export_episodes(
    bank: ExperienceBank, path: Path, episode_ids: Iterable[str] | None = None, progress: Progress | None = None
) -> int:
    """Write episodes that are over to a file of JSON lines (gzipped if its name ends in .gz); return how many.

    Embeddings stay behind: a file says nothing of the model, and who imports it embeds the scenes anew.

    Args:
        episode_ids: which episodes; None: all. progress: is told how many are written.

    Raises:
        BankError: the file exists, or cannot be written. Nothing is left of it then.
    """
    chosen = list(episode_ids) if episode_ids is not None else _finished(bank)
    return _write(path, (rows.without_embeddings(bank.episode(name)) for name in chosen), progress)


def check_files(paths: Iterable[Path]) -> None:
    """Look whether files begin with an episode, before anything is made for them.

    Raises:
        EpisodeFileError, FileNotFoundError: one cannot be read, or has no episodes.
    """
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path}")
        if next(read_episodes(path), None) is None:
            raise EpisodeFileError(f"{path} has no episodes")


def import_episodes(bank: ExperienceBank, paths: Iterable[Path], progress: Progress | None = None) -> AddReport:
    """Add the episodes of files of JSON lines; scenes are embedded anew.

    Every file is read to its end before the first episode is added, so that a damaged one adds nothing.

    Raises:
        EpisodeFileError, FileNotFoundError: a file cannot be read. BankMismatchError: an episode is of another domain.
    """
    files = list(paths)
    domain_hash, name = bank.header.domain_hash, bank.header.domain or "of the first episode"
    for episode in itertools.chain.from_iterable(map(read_episodes, files)):
        domain_hash = domain_hash or episode.header.domain_hash
        if episode.header.domain_hash != domain_hash:
            raise BankMismatchError(
                f"the episode {episode.header.episode_id!r} has the domain hash {episode.header.domain_hash!r} "
                f"({episode.header.domain}), the bank's is {domain_hash!r} ({name}); "
                "nothing was added",
                *("domain hash", domain_hash, episode.header.domain_hash),
            )
    episodes = itertools.chain.from_iterable(map(read_episodes, files))
    return bank.add_episodes((rows.without_embeddings(episode) for episode in episodes), progress)


def export_damaged(bank_path: Path, path: Path, progress: Progress | None = None) -> Salvage:
    """Write what can still be read of a damaged bank; the bank is only read.

    Raises:
        BankError: not even the list of episodes can be read, or the file cannot be written.
    """
    salvage = Salvage()
    connection = connect(bank_path, read_only=True)
    try:
        if is_empty(connection):
            raise BankFileError(f"{bank_path} is empty")

        def episodes() -> Iterator[Episode]:
            numbers = connection.execute("SELECT number, id FROM episode ORDER BY number")
            while True:
                try:
                    with named_errors(bank_path):
                        row = numbers.fetchone()
                except BankFileError as error:
                    salvage.lost.append(f"the episodes after that: {error}")
                    return
                if row is None:
                    return
                try:
                    with named_errors(bank_path):
                        _, header = rows.find_episode(connection, row[1])
                        episode = Episode(header, tuple(rows.read_steps(connection, row[0], None)))
                except BankError as error:
                    salvage.lost.append(f"episode {row[1]}: {error}")
                else:
                    yield rows.settled(episode)

        with named_errors(bank_path):
            salvage.written = _write(path, episodes(), progress)
    finally:
        connection.close()
    return salvage


def check_bank(path: Path) -> list[str]:
    """Read a whole bank and return what is wrong with it, in sentences; empty if nothing is.

    Raises:
        BankFileError: it cannot be opened, or is no bank.
    """
    connection = connect(path, read_only=True)
    try:
        if is_empty(connection):
            raise BankFileError(f"{path} is empty")
        found: list[str] = []
        try:
            found += [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
            found += _unreadable(connection, read_header(connection).dimension)
        except sqlite3.Error as error:
            found.append(f"the file is damaged: {error}")
        return found
    finally:
        connection.close()


def _unreadable(connection: sqlite3.Connection, dimension: int) -> list[str]:
    """Return which episodes cannot be read, and how many steps have no vector."""
    found = []
    for number, episode_id, steps in connection.execute("SELECT number, id, steps FROM episode").fetchall():
        try:
            rows.find_episode(connection, episode_id)
            read = sum(1 for _ in rows.read_steps(connection, number, dimension))
            if read != steps:
                found.append(f"episode {episode_id}: expected {steps} steps, found {read}")
        except BankFileError as error:
            found.append(f"episode {episode_id}: {error}")
    query = "SELECT count(*) FROM step WHERE number NOT IN (SELECT step FROM embedding)"
    bare = connection.execute(query).fetchone()[0]
    return [*found, f"{bare} steps have no vector; `graph-planner memory rebuild` makes it"] if bare else found


def _finished(bank: ExperienceBank) -> list[str]:
    return [header.episode_id for header in bank.headers() if header.status is not EpisodeStatus.RUNNING]


def _write(path: Path, episodes: Iterable[Episode], progress: Progress | None) -> int:
    """Write a new file wholly, or nothing."""
    if path.exists():
        raise BankError(f"{path} exists already; choose another name")
    temporary = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        count = write_episodes(temporary, _counted(episodes, progress))
        if not count:
            temporary.touch()
        os.replace(temporary, path)
    except OSError as error:
        raise BankError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    return count


def _counted(episodes: Iterable[Episode], progress: Progress | None) -> Iterator[Episode]:
    for number, episode in enumerate(episodes, 1):
        yield episode
        if progress is not None:
            progress(number)
