"""Writes episodes into a bank until it is killed; says on its output what is committed, a line for each.

Arguments: path of the bank, number of its first episode, limit of steps.
"""

from __future__ import annotations

import os
import sys

from bank_fakes import Encoder, header, step

from graph_planner_ros.memory.bank import ExperienceBank
from graph_planner_ros.memory.experience import EpisodeStatus

STEPS = 6


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def main() -> None:
    path, first, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    say("started")
    number = first
    while True:
        # opened anew every few episodes, so that the kill also hits opening, forgetting and closing
        with ExperienceBank.open(path, None, Encoder(), limit_steps=limit) as bank:
            for _ in range(3):
                writer = bank.begin(header(number))
                say(f"begun {number}")
                for index in range(STEPS):
                    writer.add(step(number, index, index == STEPS - 1))
                    say(f"step {number} {index}")
                writer.finish(EpisodeStatus.SUCCEEDED)
                say(f"finished {number}")
                number += 1


main()
