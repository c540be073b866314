"""kill -9 at any instant: the bank opens, everything that was committed is there, and nothing is half there."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest
from bank_fakes import Encoder, step

from graph_planner_ros.memory.bank import ExperienceBank
from graph_planner_ros.memory.experience import EpisodeStatus

PROGRAM = Path(__file__).parent / "bank_writing_process.py"
ROOT = Path(__file__).parents[2]
STEPS = 6
ROOM = 100_000
TIGHT = 40
"""Limits: no episode has to go, and some have to go all the time."""


def run(path: Path, kills: int, limit: int, seed: int) -> int:
    """Kill writers of one bank again and again and check it each time; return how many steps were committed."""
    chance = random.Random(seed)
    committed = 0
    for kill in range(kills):
        first = 1000 * kill
        said = Said(path, first, limit, chance)
        with ExperienceBank.open(path, None, Encoder(), limit_steps=limit) as bank:
            check(bank, said, first, everything=limit == ROOM)
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()
        committed += sum(said.steps.values())
    return committed


class Said:
    """What a killed process said: steps that were committed by episode, and which episodes were finished."""

    def __init__(self, path: Path, first: int, limit: int, chance: random.Random) -> None:
        self.steps: dict[int, int] = defaultdict(int)
        self.finished: set[int] = set()
        for line in self._lines(path, first, limit, chance):
            word, *numbers = line.split()
            if word == "begun":
                self.steps[int(numbers[0])] += 0
            elif word == "step":
                self.steps[int(numbers[0])] += 1
            elif word == "finished":
                self.finished.add(int(numbers[0]))

    @staticmethod
    def _lines(path: Path, first: int, limit: int, chance: random.Random) -> list[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, str(PROGRAM), str(path), str(first), str(limit)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(chance.randrange(1, 60))]
            time.sleep(chance.uniform(0.0, 0.003))  # waits for nothing: the kill is to come between two lines as well
            process.send_signal(signal.SIGKILL)
            lines += process.stdout.readlines()
        assert process.returncode == -signal.SIGKILL
        return [line.decode().strip() for line in lines if line.endswith(b"\n")]


def check(bank: ExperienceBank, said: Said, first: int, everything: bool) -> None:
    """Compare a bank with what the last process that wrote it said."""
    present = {
        int(header.episode_id.split()[1]): header
        for header in bank.headers()
        if int(header.episode_id.split()[1]) >= first
    }
    if everything:
        assert set(said.steps) <= set(present)
    assert len(set(present) - set(said.steps)) <= 1  # begun, and killed before it could say so
    for number, header in present.items():
        steps = bank.episode(header.episode_id).steps
        assert said.steps[number] <= len(steps) <= said.steps[number] + 1
        for index, found in enumerate(steps):
            expected = step(number, index, index == STEPS - 1)
            assert (found.index, found.scene.stamp, found.action) == (index, expected.scene.stamp, expected.action)
            assert found.embedding is not None
        if number in said.finished:
            assert header.status is EpisodeStatus.SUCCEEDED
        elif len(steps) < STEPS:
            assert header.status is EpisodeStatus.INTERRUPTED
            assert header.reason
        else:
            assert header.status in (EpisodeStatus.INTERRUPTED, EpisodeStatus.SUCCEEDED)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("limit", [ROOM, TIGHT])
def test_some_random_kills(tmp_path: Path, limit: int) -> None:
    assert run(tmp_path / "bank.sqlite", 18, limit, seed=limit) > 0


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_hundred_random_kills(tmp_path: Path) -> None:
    committed = run(tmp_path / "bank.sqlite", 150, ROOM, seed=1)
    committed += run(tmp_path / "tight.sqlite", 50, TIGHT, seed=2)
    print(f"200 kills, {committed} committed steps, none lost")
