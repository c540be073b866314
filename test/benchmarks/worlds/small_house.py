"""A text world of a few places that talks like ALFWorld, for tests of the agent without an engine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from graph_planner_ros.benchmarks.worlds.game import GameSpec, GameStatus, Observation

SPEC = GameSpec("small", "egg", "put", "test", 60)


class SmallHouse:
    """Places with doors or without, and things in them.

    Args:
        places: place -> what is in it. shut: places with a door, all shut at first. goal: sentence.
        wins: thing and place that win the game. strange: step -> what the world says instead of its answer there.
        facing: whether the game starts in front of the first place, without a list of places.
    """

    def __init__(
        self,
        places: Mapping[str, Iterable[str]],
        shut: Iterable[str] = (),
        goal: str = "put a egg in countertop",
        wins: tuple[str, str] = ("egg 1", "countertop 1"),
        strange: Mapping[int, str] | None = None,
        facing: bool = False,
    ) -> None:
        self._start = {place: list(things) for place, things in places.items()}
        self._doors = frozenset(shut)
        self._goal = goal
        self._wins = wins
        self._strange = dict(strange or {})
        self._facing = facing
        self.commands: list[str] = []
        self.closed = False

    def reset(self) -> Observation:
        self.places = {place: list(things) for place, things in self._start.items()}
        self.shut = set(self._doors)
        self.hand: str | None = None
        self.here = next(iter(self.places)) if self._facing else ""
        self.commands = []
        names = [f"a {place}" for place in self.places]
        text = f"You are in the middle of a room. Looking quickly around you, you see {_list(names)}."
        if self._facing:
            text = f"You are facing the {self.here}. Next to it, you see nothing."
        return self._answer(f"-= Welcome! =-\n\n{text}\n\nYour task is to: {self._goal}.")

    def step(self, command: str) -> Observation:
        self.commands.append(command)
        text = self._carry_out(command) if command in self._admissible() else "Nothing happens."
        return self._answer(self._strange.get(len(self.commands), text))

    def close(self) -> None:
        self.closed = True

    def _answer(self, text: str) -> Observation:
        won = self._wins[0] in self.places.get(self._wins[1], ())
        status = GameStatus.WON if won else GameStatus.RUNNING
        return Observation(text, tuple(self._admissible()), self._goal, status, score=float(won))

    def _admissible(self) -> list[str]:
        found = ["look", "inventory", *(f"go to {place}" for place in self.places if place != self.here)]
        if self.here:
            found.append(f"examine {self.here}")
            if self.here in self._doors:
                found.append(f"{'open' if self.here in self.shut else 'close'} {self.here}")
            if self.here not in self.shut:
                if self.hand is None:
                    found += [f"take {thing} from {self.here}" for thing in self.places[self.here]]
                else:
                    found.append(f"move {self.hand} to {self.here}")
        return sorted(found)

    def _carry_out(self, command: str) -> str:
        if command == "inventory":
            return f"You are carrying: a {self.hand}." if self.hand else "You are not carrying anything."
        if command == "look":
            return f"You are facing the {self.here}. Next to it, you see nothing."
        verb, name = command.split(" ", 1)
        if verb == "go":
            self.here = name.removeprefix("to ")
            return f"You arrive at {self.here}. {self._content()}"
        if verb == "open":
            self.shut.discard(name)
            return f"You open the {name}. {self._content()}"
        if verb == "close":
            self.shut.add(name)
            return f"You close the {name}."
        if verb == "take":
            self.hand = re.split(" from ", name)[0]
            self.places[self.here].remove(self.hand)
            return f"You pick up the {self.hand} from the {self.here}."
        if verb == "move":
            thing, self.hand = self.hand, None
            self.places[self.here].append(str(thing))
            return f"You move the {thing} to the {self.here}."
        return self._content()

    def _content(self) -> str:
        if self.here in self.shut:
            return f"The {self.here} is closed."
        things = _list([f"a {thing}" for thing in self.places[self.here]])
        if self.here in self._doors:
            return f"The {self.here} is open. In it, you see {things}."
        return f"On the {self.here}, you see {things}."


def _list(names: list[str]) -> str:
    if len(names) < 2:
        return names[0] if names else "nothing"
    return f"{', '.join(names[:-1])}, and {names[-1]}"
