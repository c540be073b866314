"""Stands in for the real engine's server: a kitchen of two tables, in the words of Robotouille."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[2])))
from channel import serve

HEAD = """Station table1:
table1 is a table
{t1}

Station table2:
table2 is a table
{t2}

Station board1:
board1 is a cutting board
{b1}

Item bread1:
bread1 is a bread slice
bread1 is at table1
bread1 is directly on top of table1
{bread}
Item lettuce1:
lettuce1 is a head of lettuce
lettuce1 can be cut on a cutting board
{lettuce}
Player robot1:
robot1 is a robot
robot1 is at board1
robot1 is holding {held}

Valid Actions:
{commands}

Goal: Fetch it"""


class Kitchen:
    """Counts cuts; knows nothing else."""

    def __init__(self) -> None:
        self.cuts = 0

    def do_load(self, environment):  # type: ignore[no-untyped-def]
        self.environment = environment
        return {}

    def do_reset(self):  # type: ignore[no-untyped-def]
        self.cuts = 0
        return self._answer()

    def do_step(self, command):  # type: ignore[no-untyped-def]
        if command == "die":
            raise SystemExit(3)
        if command == "nonsense":
            return {"text": "?"}
        if command.startswith("Cut"):
            self.cuts += 1
            return self._answer()
        if command == "Do nothing":
            return self._answer()
        return {**self._answer(), "text": "That command cannot be carried out now.\n\n" + self._answer()["text"]}

    def _answer(self):  # type: ignore[no-untyped-def]
        commands = ["Move robot1 from board1 to table1", "Cut lettuce1 on board1 using robot1", "Do nothing"]
        lettuce = "lettuce1 is at board1\nlettuce1 is directly on top of board1\nlettuce1 has nothing above it\n"
        text = HEAD.format(
            t1="table1 has no players at it\ntable1 has bread1\ntable1 has bread1 directly on top of it",
            t2="table2 has no players at it\ntable2 has nothing on it",
            b1="board1 is occupied by robot1\nboard1 has lettuce1\nboard1 has lettuce1 directly on top of it",
            bread="bread1 has nothing above it\n",
            lettuce=("lettuce1 is cut\n" if self.cuts >= 3 else "") + lettuce,
            held="nothing",
            commands="\n".join(commands),
        )
        return {"text": text, "commands": commands, "goal": self.environment["goal"], "done": self.cuts >= 3}


if __name__ == "__main__":
    serve(Kitchen)
