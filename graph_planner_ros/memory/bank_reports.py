"""What the bank answers: neighbours, what came of adding, and what is in it."""

from __future__ import annotations

import dataclasses
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graph_planner_ros.memory.bank_index import BankIndex
from graph_planner_ros.memory.bank_schema import BankHeader


@dataclass(frozen=True)
class Neighbour:
    """A step whose scene is near: id of its episode, its index there, and the cosine distance, 0 to 2."""

    episode_id: str
    index: int
    distance: float


@dataclass
class AddReport:
    """What came of adding episodes.

    Attributes:
        added: episodes that are new in the bank, with ``steps`` steps.
        duplicates: episodes that were there already. conflicts: ids under which another episode was there; it stays.
        running: episodes that another process is still writing; they were left out.
        forgotten: episodes that had to go because of the limit.
        unreadable: episodes of a damaged bank that were left out, each with the reason.
    """

    added: int = 0
    steps: int = 0
    duplicates: int = 0
    conflicts: list[str] = field(default_factory=list)
    running: int = 0
    forgotten: int = 0
    unreadable: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class BankStats:
    """What is in a bank.

    Attributes:
        episodes: number by status. steps: of all of them. limit_steps: that it was opened with.
        origins, layouts: number of different ones.
        bytes: of the database with its log. index_bytes: of the index file.
        index_kind: flat or ivf; empty as long as nobody has searched. index_vectors: in it. index_lists: of ivf, of
            which a search looks into ``index_narrow``, or ``index_wide`` if nothing is near.
    """

    path: str
    format: int
    dimension: int
    model_hash: str
    domain: str
    domain_hash: str
    episodes: dict[str, int]
    steps: int
    limit_steps: int
    origins: int
    layouts: int
    bytes: int
    index_bytes: int
    index_kind: str
    index_vectors: int
    index_lists: int
    index_narrow: int
    index_wide: int

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return dataclasses.asdict(self)


def measure(
    connection: sqlite3.Connection, path: Path, header: BankHeader, index: BankIndex, limit_steps: int
) -> BankStats:
    """Count what is in a bank."""
    episodes = dict(connection.execute("SELECT status, count(*) FROM episode GROUP BY status ORDER BY status"))
    origins, layouts = connection.execute(
        "SELECT count(DISTINCT origin), count(DISTINCT layout) FROM episode"
    ).fetchone()
    loaded = index.loaded
    return BankStats(
        path=str(path),
        format=header.format,
        dimension=header.dimension,
        model_hash=header.model_hash,
        domain=header.domain,
        domain_hash=header.domain_hash,
        episodes=episodes,
        steps=int(connection.execute("SELECT steps FROM total").fetchone()[0]),
        limit_steps=limit_steps,
        origins=int(origins),
        layouts=int(layouts),
        bytes=_size(path) + _size(path.with_name(path.name + "-wal")),
        index_bytes=_size(index.file),
        index_kind=loaded.kind if loaded is not None else "",
        index_vectors=len(loaded) if loaded is not None else 0,
        index_lists=loaded.lists if loaded is not None else 0,
        index_narrow=loaded.narrow if loaded is not None else 0,
        index_wide=loaded.wide if loaded is not None else 0,
    )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
