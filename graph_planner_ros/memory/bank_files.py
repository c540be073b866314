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
from graph_planner_ros.memory.bank_errors import BankError, BankFileError, BankMismatchError
from graph_planner_ros.memory.bank_reports import AddReport
from graph_planner_ros.memory.bank_schema import connect, is_empty, read_header
from graph_planner_ros.memory.episode_files import EpisodeFileError, read_episodes, write_episodes
from graph_planner_ros.memory.experience import Episode, EpisodeStatus

Progress = Callable[[int], None]
_TRIED = 200_000
"""Numbers of episodes that are tried one by one behind a damaged page."""


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


@dataclass(frozen=True)
class FilesDomain:
    """The one domain of all episodes of some files, and the id of the first of them."""

    name: str
    domain_hash: str
    episode_id: str

    def check(self, bank_name: str, bank_hash: str) -> None:
        """Refuse a bank of another domain; one that has none yet takes this one.

        Raises:
            BankMismatchError: naming an episode and both hashes.
        """
        if bank_hash and bank_hash != self.domain_hash:
            raise BankMismatchError(
                f"the episode {self.episode_id!r} has the domain hash {self.domain_hash!r} ({self.name}), the bank's "
                f"is {bank_hash!r} ({bank_name}); nothing was added",
                *("domain hash", bank_hash, self.domain_hash),
            )


def check_files(paths: Iterable[Path]) -> FilesDomain:
    """Read files of episodes to their end, before anything is made for them, and return their domain.

    Raises:
        EpisodeFileError, FileNotFoundError: one cannot be read, or has no episodes.
        BankMismatchError: they are of several domains.
    """
    domain: FilesDomain | None = None
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path}")
        is_empty_file = True
        for episode in read_episodes(path):
            is_empty_file = False
            found = FilesDomain(episode.header.domain, episode.header.domain_hash, episode.header.episode_id)
            if domain is None:
                domain = found
            found.check("of the first episode", domain.domain_hash)
        if is_empty_file:
            raise EpisodeFileError(f"{path} has no episodes")
    if domain is None:
        raise EpisodeFileError("there are no files of episodes")
    return domain


def import_episodes(
    bank: ExperienceBank, paths: Iterable[Path], progress: Progress | None = None, checked: FilesDomain | None = None
) -> AddReport:
    """Add the episodes of files of JSON lines; scenes are embedded anew.

    Every file is read to its end before the first episode is added, so that a damaged one adds nothing.

    Args:
        checked: what `check_files` said of these files; None: they are checked here.

    Raises:
        EpisodeFileError, FileNotFoundError: a file cannot be read. BankMismatchError: an episode is of another domain.
    """
    files = list(paths)
    (checked or check_files(files)).check(bank.header.domain, bank.header.domain_hash)
    episodes = itertools.chain.from_iterable(map(read_episodes, files))
    return bank.add_episodes((rows.without_embeddings(episode) for episode in episodes), progress)


def export_damaged(bank_path: Path, path: Path, progress: Progress | None = None) -> Salvage:
    """Write what can still be read of a damaged bank; the bank is only read.

    Raises:
        BankError: not even the list of episodes can be read, or the file cannot be written.
    """
    salvage = Salvage()
    connection = connect(bank_path, read_only=True, damaged=True)
    try:
        if is_empty(connection):
            raise BankFileError(f"{bank_path} is empty")

        def episodes() -> Iterator[Episode]:
            for number, name in _listed(connection, bank_path, salvage):
                try:
                    _, header = rows.find_episode(connection, name)
                    episode = Episode(header, tuple(rows.read_steps(connection, number, None)))
                except (BankError, sqlite3.Error) as error:
                    salvage.lost.append(f"episode {name}: {error}")
                else:
                    yield rows.settled(episode)

        salvage.written = _write(path, episodes(), progress)
    except sqlite3.Error as error:
        raise BankFileError(f"{bank_path}: so much is damaged that no episode can be read ({error})") from error
    finally:
        connection.close()
    return salvage


def _listed(connection: sqlite3.Connection, path: Path, salvage: Salvage) -> Iterator[tuple[int, str]]:
    """Yield number and id of every episode; past a damaged page each number is tried by itself."""
    last = 0
    try:
        for row in rows.rising(connection.execute("SELECT number, id FROM episode ORDER BY number")):
            last = int(row[0])
            yield last, str(row[1])
        return
    except sqlite3.Error as error:
        damage = str(error)
    most = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'episode'").fetchone()
    found = 0
    end = min(int(most[0]), last + _TRIED) if most is not None else 0  # the sequence may be what is damaged
    for number in range(last + 1, end + 1):
        try:
            row = connection.execute("SELECT number, id FROM episode WHERE number = ?", (number,)).fetchone()
        except sqlite3.Error:
            continue
        if row is not None:
            found += 1
            yield number, str(row[1])
    missing = f"of those with the numbers {last + 1} to {end}" if most is not None else "of those that came later"
    salvage.lost.append(f"episodes {missing} only {found} could be found: the list is damaged ({damage})")


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
    listed = connection.execute("SELECT number, id, steps FROM episode ORDER BY number")
    for number, episode_id, steps in list(rows.rising(listed)):
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
        temporary.unlink(missing_ok=True)  # of a process with this number that was killed; writing would go on after it
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
