"""Serves one ALFWorld text game; runs in an environment with ``alfworld`` (see requirements/alfworld.txt).

Only what a player sees leaves this process: the text, the admissible commands, and whether the game is won.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from channel import serve

_UNSOLVABLE = "val1"
"""What TextWorld stumbles over when Fast Downward's translator replaces a task without solution by a dummy."""


class Server:
    """One game at a time; each ``start`` replaces the one before."""

    def __init__(self) -> None:
        import textworld
        from alfworld.agents.utils.misc import Demangler
        from alfworld.info import ALFRED_PDDL_PATH, ALFRED_TWL2_PATH

        class Names(textworld.core.Wrapper):
            """Gives things the names that ALFWorld gives them: class and number."""

            def load(self, *args: Any, **kwargs: Any) -> None:
                super().load(*args, **kwargs)
                names = Demangler(game_infos=self._entity_infos, shuffle=False)
                for info in self._entity_infos.values():
                    info.name = names.demangle_alfred_name(info.id)

        self._textworld = textworld
        self._wrapper = Names
        self._logic = Path(ALFRED_PDDL_PATH).read_text()
        self._grammar = Path(ALFRED_TWL2_PATH).read_text()
        self._game: Any = None
        self._started: tuple[str, str] | None = None

    def do_start(self, goal: str, pddl_problem: str) -> dict[str, Any]:
        """Start a game; the one that is loaded already starts anew, without being translated again."""
        if self._started == (goal, pddl_problem):
            return self._answer(self._game.reset())
        self._started = None
        content = {
            "pddl_domain": self._logic,
            "grammar": self._grammar.replace("UNKNOWN GOAL", goal),
            "pddl_problem": pddl_problem,
            "solvable": None,
            "walkthrough": None,
        }
        infos = self._textworld.EnvInfos(won=True, admissible_commands=True)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "game.tw-pddl"
            file.write_text(json.dumps(content))
            try:
                self._game = self._textworld.start(str(file), infos, wrappers=[self._wrapper])
            except KeyError as error:
                if error.args == (_UNSOLVABLE,):
                    raise RuntimeError(
                        "the game has no solution: the engine's own translator proves that its goal cannot be reached"
                    ) from error
                raise
        self._started = goal, pddl_problem
        return self._answer(self._game.reset())

    def do_step(self, command: str) -> dict[str, Any]:
        """Carry out a command."""
        state, _, done = self._game.step(command)
        return {**self._answer(state), "done": bool(done)}

    def _answer(self, state: Any) -> dict[str, Any]:
        return {
            "text": state.feedback,
            "commands": [command.strip() for command in state.admissible_commands],
            "won": bool(state.won),
            "done": False,
        }


if __name__ == "__main__":
    serve(Server)
