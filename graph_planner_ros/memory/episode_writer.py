"""Writes one running episode into a bank, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graph_planner_ros.memory.bank_errors import BankError
from graph_planner_ros.memory.experience import EpisodeHeader, EpisodeStatus, ExperienceStep

if TYPE_CHECKING:
    from graph_planner_ros.memory.bank import ExperienceBank


class EpisodeWriter:
    """Writes one episode; `ExperienceBank.begin` makes it. Each call is one committed transaction."""

    def __init__(self, bank: ExperienceBank, header: EpisodeHeader, number: int) -> None:
        self.header = header
        self._bank = bank
        self._number = number

    def add(self, step: ExperienceStep) -> None:
        """Add the next step; its embedding is made if it has none.

        Raises:
            BankError: it is not the next one, the episode is over, or the scene holds numbers that are not finite.
            EmbeddingError: its embedding is refused. BankFullError, BankFileError: it cannot be written.
        """
        self._bank._append(self._number, self.header.episode_id, step)

    def finish(self, status: EpisodeStatus, reason: str = "") -> None:
        """Say what came of the episode; no more steps can follow.

        Raises:
            BankError: the episode is over already, or the status is RUNNING.
        """
        if status is EpisodeStatus.RUNNING:
            raise BankError("an episode cannot finish as running")
        self._bank._finish(self._number, self.header.episode_id, status, reason)
