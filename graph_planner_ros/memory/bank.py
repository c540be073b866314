"""The experience bank: episodes of one planning domain on disk, searched by the embeddings of their scenes.

One SQLite file holds everything; the index of the vectors is derived from it (`bank_index`). Every call that writes is
one committed transaction. See docs/memory.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.memory import bank_rows as rows
from graph_planner_ros.memory.bank_errors import (
    BankError,
    BankFileError,
    BankFullError,
    UnknownEpisodeError,
    damaged,
    named_errors,
)
from graph_planner_ros.memory.bank_reports import AddReport, BankStats, Neighbour, measure
from graph_planner_ros.memory.bank_schema import connect, create, is_empty, shrink, sync, transaction
from graph_planner_ros.memory.bank_session import BankOptions, BankSession, check_same_domain, header_for
from graph_planner_ros.memory.bank_size import too_many
from graph_planner_ros.memory.episode_writer import EpisodeWriter
from graph_planner_ros.memory.experience import (
    Embedding,
    Episode,
    EpisodeHeader,
    EpisodeStatus,
    ExperienceStep,
    SceneEncoder,
)
from graph_planner_ros.memory.index import Ids

LIMIT_STEPS = 200_000
"""Steps that a bank holds unless another limit is asked for: about 0.6 GB with the scenes of the kitchen."""
_BATCH_STEPS = 512
"""Steps that are embedded and committed at once when whole episodes are added."""


class ExperienceBank(BankSession):
    """Use `open`. Safe to use from several threads; several processes may read while others write."""

    @classmethod
    def open(
        cls,
        path: str | Path,
        domain: Domain | None,
        encoder: SceneEncoder | None,
        *,
        limit_steps: int = LIMIT_STEPS,
        read_only: bool = False,
    ) -> ExperienceBank:
        """Open a bank, or make an empty one where there is no file.

        Args:
            path: of the database file. domain: the planning domain of its episodes; None: whatever it has.
            encoder: embeds scenes; None: whatever made its vectors (then no scenes can be added without embeddings).
            limit_steps: steps that it may hold; which episodes go when there are more is said in `bank_size`.
            read_only: change nothing, not even what processes that were killed have left open.

        Raises:
            BankFileError: the file cannot be opened, is damaged, or is no bank. It is left as it is.
            BankMismatchError: its dimension, model hash, domain or domain hash is another.
        """
        if limit_steps < 1:
            raise BankError(f"limit_steps must be at least 1, not {limit_steps}")
        place, options = Path(path), BankOptions(encoder, domain, limit_steps, read_only)
        connection = connect(place, read_only)
        try:
            with named_errors(place):
                if is_empty(connection):
                    create(connection, header_for(place, options))
                bank = cls(place, connection, options)
                if not read_only:
                    bank._start_writing()
        except BaseException:
            connection.close()
            raise
        return bank

    def begin(self, header: EpisodeHeader) -> EpisodeWriter:
        """Begin an episode that is written step by step.

        Raises:
            BankMismatchError: it is of another domain. BankError: its id is taken, or it is not RUNNING.
        """
        if header.status is not EpisodeStatus.RUNNING:
            raise BankError(f"an episode begins as running, not {header.status.value}; add_episode takes whole ones")
        with self._writing():
            self._admit(header)
            number = rows.insert_episode(self._connection, header, self._writer)
        return EpisodeWriter(self, header, number)

    def add_episode(self, episode: Episode) -> bool:
        """Add a whole episode in one transaction; False if the same one is there already.

        Raises:
            BankError: another episode has its id; the episode is not well-formed.
        """
        report = self.add_episodes([episode])
        if report.conflicts:
            raise BankError(f"another episode with the id {report.conflicts[0]!r} is in the bank")
        return bool(report.added)

    def add_episodes(self, episodes: Iterable[Episode], progress: Callable[[int], None] | None = None) -> AddReport:
        """Add whole episodes, some hundred steps in a transaction. Running ones become interrupted ones.

        Args:
            episodes: embeddings that are missing are made. progress: is told how many episodes have been looked at.

        Raises:
            BankError: an episode is not well-formed or of another domain; those before it have been added.
        """
        report = AddReport()
        batch: list[Episode] = []
        for number, episode in enumerate(episodes, 1):
            batch.append(rows.settled(episode))
            if sum(len(e.steps) for e in batch) >= _BATCH_STEPS:
                self._add_batch(batch, report)
                batch = []
            if progress is not None:
                progress(number)
        self._add_batch(batch, report)
        with self._reading():
            self._index.grow()
        return report

    def merge(self, other: ExperienceBank, progress: Callable[[int], None] | None = None) -> AddReport:
        """Add the episodes of another bank that are over and not here yet.

        Vectors are taken over if both banks have the same model, and made anew otherwise. Episodes that cannot be read
        are left out and reported.

        Raises:
            BankMismatchError: the other bank is of another domain; nothing was added.
        """
        check_same_domain(self, other)
        ours, theirs = self.header, other.header
        same_model = (ours.model_hash, ours.dimension) == (theirs.model_hash, theirs.dimension)
        report = AddReport()

        def episodes() -> Iterator[Episode]:
            for header in other.headers():
                if header.status is EpisodeStatus.RUNNING:
                    report.running += 1
                    continue
                try:
                    episode = other.episode(header.episode_id)
                except BankFileError as error:
                    report.unreadable.append(f"{header.episode_id}: {error}")
                    continue
                yield episode if same_model else rows.without_embeddings(episode)

        added = self.add_episodes(episodes(), progress)
        added.running, added.unreadable = report.running, report.unreadable
        return added

    def nearest(
        self,
        embedding: Embedding,
        count: int,
        *,
        successful_only: bool = True,
        exclude_episode: str | None = None,
    ) -> list[Neighbour]:
        """Return the steps with an action whose scenes are nearest, nearest first; fewer only if there are fewer.

        Args:
            embedding: of a scene, shape (dimension,). count: how many steps.
            successful_only: only of episodes that succeeded. exclude_episode: id of an episode that does not count.

        Raises:
            EmbeddingError: the embedding is not finite, not of unit length, or of another dimension.
            BankMismatchError: another process has rebuilt the bank with another model meanwhile.
        """
        vector = rows.check_embedding(embedding, self.header.dimension, "the scene that is looked for")
        with self._reading():
            while True:
                if self._index.is_stale():
                    self._check_unchanged()
                index = self._index.refreshed()
                without = self._ids_of(exclude_episode) if exclude_episode is not None else None
                ids, distances = index.search(vector, count, flagged=successful_only, without=without)
                places = [self._place(int(step)) for step in ids]
                if None not in places:
                    pairs = zip(places, distances, strict=True)
                    return [Neighbour(place[0], place[1], float(far)) for place, far in pairs if place is not None]
                # a step that is gone was deleted by another process after the search: look again
                if not self._index.is_stale():
                    raise damaged(self.path, "there are steps of no episode")

    def warm_up(self) -> None:
        """Load the index now, or make it, so that the first query does not wait for it."""
        with self._reading():
            self._index.refreshed()

    def episode(self, episode_id: str) -> Episode:
        """Return an episode with its steps.

        Raises:
            UnknownEpisodeError: there is none with this id.
        """
        with self._reading(), transaction(self._connection, "DEFERRED"):
            number, header = rows.find_episode(self._connection, episode_id)
            return Episode(header, tuple(rows.read_steps(self._connection, number, self.header.dimension)))

    def steps(self, episode_id: str, first: int = 0, last: int | None = None) -> tuple[ExperienceStep, ...]:
        """Return the steps ``first`` to ``last`` (included; None: to the end) of an episode.

        Raises:
            UnknownEpisodeError: there is no such episode.
        """
        with self._reading(), transaction(self._connection, "DEFERRED"):
            number, _ = rows.find_episode(self._connection, episode_id)
            return tuple(rows.read_steps(self._connection, number, self.header.dimension, first, last))

    def step(self, episode_id: str, index: int) -> ExperienceStep:
        """Return one step.

        Raises:
            UnknownEpisodeError: there is no such episode or step.
        """
        found = self.steps(episode_id, index, index)
        if not found:
            raise UnknownEpisodeError(f"the episode {episode_id!r} has no step {index}")
        return found[0]

    def headers(self) -> list[EpisodeHeader]:
        """Return what is known of every episode apart from its steps, in the order in which they came."""
        with self._reading(), transaction(self._connection, "DEFERRED"):
            stamp = rows.headers_stamp(self._connection)
            if stamp != self._headers_stamp:
                self._headers, self._headers_stamp = rows.read_headers(self._connection), stamp
            return list(self._headers)

    def delete(self, episode_ids: Sequence[str]) -> int:
        """Delete episodes, all or (if one is refused) none; return the number of steps that went with them.

        Raises:
            UnknownEpisodeError: there is none with one of the ids. BankError: one is being written.
        """
        with self._writing():
            numbers = []
            for episode_id in dict.fromkeys(episode_ids):
                number, header = rows.find_episode(self._connection, episode_id)
                if header.status is EpisodeStatus.RUNNING:
                    raise BankError(f"the episode {episode_id!r} is being written and cannot be deleted")
                numbers.append(number)
            count = rows.delete_episodes(self._connection, numbers)
        with self._reading():
            shrink(self._connection)
        return count

    def stats(self) -> BankStats:
        """Return what is in the bank."""
        with self._reading():
            return measure(self._connection, self.path, self.header, self._index, self._options.limit_steps)

    def __enter__(self) -> ExperienceBank:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _embed(self, steps: Sequence[tuple[str, ExperienceStep]]) -> list[Embedding]:
        """Return checked embeddings of steps (each with the id of its episode), making those that are missing."""
        for name, step in steps:
            if not math.isfinite(step.stamp):
                raise BankError(f"step {step.index} of the episode {name!r} has no finite stamp: {step.stamp}")
        missing = [position for position, (_, step) in enumerate(steps) if step.embedding is None]
        vectors: list[Any] = [step.embedding for _, step in steps]
        if missing:
            for position, vector in zip(missing, self._encode([steps[p][1] for p in missing]), strict=True):
                vectors[position] = vector
        return [
            rows.check_embedding(vector, self.header.dimension, f"step {step.index} of the episode {name!r}")
            for (name, step), vector in zip(steps, vectors, strict=True)
        ]

    def _encode(self, steps: Sequence[ExperienceStep]) -> Embedding:
        if self._options.encoder is None:
            raise BankError(f"{self.path} was opened without an encoder; it cannot embed scenes")
        made = np.asarray(self._options.encoder.encode([step.scene for step in steps]))
        if len(made) != len(steps):
            raise BankError(f"the encoder made {len(made)} embeddings of {len(steps)} scenes")
        return made

    def _add_batch(self, batch: Sequence[Episode], report: AddReport) -> None:
        """Embed some episodes and add them in one transaction."""
        with self._reading():
            fresh: list[Episode] = []
            for episode in batch:
                if self._is_new(episode, fresh, report):
                    rows.check_whole(episode, self._options.limit_steps)
                    fresh.append(episode)
            steps = [(episode.header.episode_id, step) for episode in fresh for step in episode.steps]
            vectors = iter(self._embed(steps))
            scenes = [[rows.pack_scene(step.scene) for step in episode.steps] for episode in fresh]
            if not fresh:
                return
            with self._writing():
                for episode, packed in zip(fresh, scenes, strict=True):
                    self._admit(episode.header)
                    number = rows.insert_episode(self._connection, episode.header, None)
                    for step, scene in zip(episode.steps, packed, strict=True):
                        rows.insert_step(self._connection, number, step, scene, next(vectors))
                    rows.log_change(self._connection, "status", number)
                forgotten = self._forget(0)
            report.added += len(fresh)
            report.steps += len(steps)
            report.forgotten += forgotten

    def _is_new(self, episode: Episode, coming: Sequence[Episode], report: AddReport) -> bool:
        """Return whether no episode here or among those that come has its id; otherwise note if it is the same."""
        name = episode.header.episode_id
        ours = next((other for other in coming if other.header.episode_id == name), None)
        try:
            ours = ours or self.episode(name)
        except UnknownEpisodeError:
            return True
        if rows.content_hash(ours) == rows.content_hash(episode):
            report.duplicates += 1
        else:
            report.conflicts.append(name)
        return False

    def _forget(self, coming: int, keep: int | None = None) -> int:
        """Delete what has to go for ``coming`` steps, inside a transaction; return how many episodes that are.

        Raises:
            BankFullError: what is left is being written.
        """
        numbers = too_many(self._connection, self._options.limit_steps, coming, keep)
        rows.delete_episodes(self._connection, numbers)
        steps = self._connection.execute("SELECT steps FROM total").fetchone()[0]
        if steps + coming > self._options.limit_steps:
            raise BankFullError(
                f"{self.path}: the episodes that are being written fill the limit of {self._options.limit_steps} steps"
            )
        return len(numbers)

    def _ids_of(self, episode_id: str) -> Ids | None:
        """Return what the index knows of an episode; None if there is no such episode."""
        row = self._connection.execute("SELECT number FROM episode WHERE id = ?", (episode_id,)).fetchone()
        return self._index.ids_of(row[0]) if row is not None else None

    def _place(self, step: int) -> tuple[str, int] | None:
        """Return id of the episode and index of a step by its number in the database."""
        row = self._connection.execute(
            "SELECT id, position FROM step JOIN episode ON episode.number = step.episode WHERE step.number = ?", (step,)
        ).fetchone()
        return (str(row[0]), int(row[1])) if row is not None else None

    # What an EpisodeWriter does, under the bank's lock.

    def _append(self, number: int, name: str, step: ExperienceStep) -> None:
        with self._reading():
            vector = self._embed([(name, step)])[0]
            scene = rows.pack_scene(step.scene)
            with self._writing():
                row = self._connection.execute(
                    "SELECT status, steps FROM episode WHERE number = ?", (number,)
                ).fetchone()
                if row is None or row[0] != EpisodeStatus.RUNNING.value:
                    raise BankError(f"the episode {name!r} is over and takes no more steps")
                if step.index != row[1]:
                    raise BankError(f"expected step {row[1]} of the episode {name!r}, found step {step.index}")
                self._forget(1, keep=number)
                rows.insert_step(self._connection, number, step, scene, vector)

    def _finish(self, number: int, name: str, status: EpisodeStatus, reason: str) -> None:
        with self._writing():
            row = self._connection.execute("SELECT status FROM episode WHERE number = ?", (number,)).fetchone()
            if row is None or row[0] != EpisodeStatus.RUNNING.value:
                raise BankError(f"the episode {name!r} is over already")
            rows.set_status(self._connection, number, status, reason.encode(errors="replace").decode())
        with self._reading():
            sync(self._connection)
