"""A little world that talks as ALFWorld does, without an engine, whose games can crash, hang or die on purpose.

Imported by name in the workers: the tests put this folder on the module search path.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from graph_planner_ros.benchmarks.worlds.game import Game, GameSpec, GameStatus, Observation, WorldUnavailableError

PLACES = {"cabinet 1": False, "cabinet 2": False, "drawer 1": False, "countertop 1": True, "sinkbasin 1": True}
"""Places, and whether each is open at the start."""
LIMIT = 30


class RoomGame:
    """A mug is somewhere and is wanted elsewhere. ``data``: mug, goal, behaviour, after (steps), seconds."""

    def __init__(self, data: Mapping[str, object]) -> None:
        self._data = data
        self._open = dict(PLACES)
        self._mug = str(data.get("mug", "drawer 1"))
        self._here = ""
        self._steps = 0
        self.closed = False

    def reset(self) -> Observation:
        self.__init__(self._data)  # type: ignore[misc]
        names = [f"a {name}" for name in PLACES]
        listed = f"{', '.join(names[:-1])}, and {names[-1]}"
        return self._say(f"You are in the middle of a room. Looking quickly around you, you see {listed}.")

    def step(self, command: str) -> Observation:
        self._steps += 1
        time.sleep(float(str(self._data.get("seconds", 0.0))))
        if self._steps == int(str(self._data.get("after", 2))):
            self._misbehave(str(self._data.get("behaviour", "")))
            if self._data.get("behaviour") in ("crash", "lose"):
                status = GameStatus.CRASHED if self._data["behaviour"] == "crash" else GameStatus.LOST
                return Observation("", (), self._goal(), status, f"the {self._data['behaviour']} was planned")
        return self._say(self._carry_out(command.lower()))

    def close(self) -> None:
        self.closed = True

    def _misbehave(self, behaviour: str) -> None:
        if behaviour == "hang":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
            Path(str(self._data["pids"])).write_text(f"{os.getpid()} {child.pid}")
            while True:
                time.sleep(60)
        if behaviour == "die":
            print("the engine's last words", file=sys.stderr)
            os.kill(os.getpid(), signal.SIGSEGV)
        if behaviour == "exit":
            os._exit(7)
        if behaviour == "raise":
            raise RuntimeError("a fault of the adapter")

    def _carry_out(self, command: str) -> str:
        if command.startswith("go to ") and command[6:] in PLACES and command[6:] != self._here:
            self._here = command[6:]
            return f"You arrive at {self._here}. {self._look()}"
        if command == f"open {self._here}" and not self._open[self._here]:
            self._open[self._here] = True
            return f"You open the {self._here}. {self._look()}"
        if command == f"take mug 1 from {self._here}" and self._mug == self._here and self._open[self._here]:
            self._mug = "hand"
            return f"You pick up the mug 1 from the {self._here}."
        if command == f"move mug 1 to {self._here}" and self._mug == "hand" and self._open[self._here]:
            self._mug = self._here
            return f"You move the mug 1 to the {self._here}."
        if command == "inventory":
            return "You are carrying: a mug 1." if self._mug == "hand" else "You are not carrying anything."
        if command == "look":
            return "You are in the middle of a room." if not self._here else self._look()
        return "Nothing happens."

    def _look(self) -> str:
        inside = "a mug 1" if self._mug == self._here else "nothing"
        if PLACES[self._here]:
            return f"On the {self._here}, you see {inside}."
        if self._open[self._here]:
            return f"The {self._here} is open. In it, you see {inside}."
        return f"The {self._here} is closed."

    def _goal(self) -> str:
        return f"put a mug in {str(self._data.get('goal', 'sinkbasin 1')).split()[0]}"

    def _say(self, text: str) -> Observation:
        commands = [f"go to {name}" for name in PLACES if name != self._here] + ["inventory", "look"]
        if self._here and not self._open[self._here]:
            commands.append(f"open {self._here}")
        elif self._here and self._mug == self._here:
            commands.append(f"take mug 1 from {self._here}")
        elif self._here and self._mug == "hand":
            commands.append(f"move mug 1 to {self._here}")
        won = self._mug == self._data.get("goal", "sinkbasin 1")
        return Observation(
            text, tuple(commands), self._goal(), GameStatus.WON if won else GameStatus.RUNNING, score=float(won)
        )


class RoomWorld:
    """Games of two groups; options change one game each.

    Args:
        crash, hang, die, exit, raise_, lose: number of the game that does so at its second step. pids: file for the
            ids of a hanging game's processes. seconds: that each step takes. size: number of games.
        missing: any text: the world is not installed.
    """

    name = "rooms"
    domain = "alfworld"

    def __init__(self, size: str = "6", seconds: str = "0", missing: str = "", pids: str = "", **bad: str) -> None:
        self._size = int(size)
        self._seconds = seconds
        self._missing = missing
        self._pids = pids
        self._bad = {int(number): name.rstrip("_") for name, number in bad.items()}

    def games(self, split: str, seeds: Sequence[int], limit: int | None) -> list[GameSpec]:
        if split not in ("", "easy", "other"):
            raise ValueError(f"rooms has no split {split!r}")
        found = []
        hidden = [name for name in PLACES if name != "sinkbasin 1"]
        for seed in seeds or (0,):
            for number in range(self._size):
                data: dict[str, object] = {"mug": hidden[number % len(hidden)], "seconds": self._seconds}
                if split == "other":
                    data["mug"] = hidden[(number + 1) % len(hidden)]
                if number in self._bad:
                    data.update(behaviour=self._bad[number], pids=self._pids)
                group = "shut" if not PLACES[str(data["mug"])] else "open"
                found.append(GameSpec(self.name, f"room-{number}", group, split or "easy", limit or LIMIT, seed, data))
        return found

    def open(self, spec: GameSpec) -> Game:
        return RoomGame(spec.data)

    def versions(self) -> Mapping[str, str]:
        if self._missing:
            raise WorldUnavailableError("rooms is not installed: ./run world rooms makes it")
        return {"rooms": "1"}
