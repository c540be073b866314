"""Runs Robotouille's own generator of kitchens for `benchmarks/worlds/robotouille_tasks.py`; the pipe is `channel`'s.

Arguments: the checkout of portal-cornell/robotouille. The generator needs nothing but Python itself.
"""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path
from typing import Any

from channel import serve  # before the generator: from here on, prints go to stderr

TRIES = 200
"""Seeds that are tried one after the other; the engine itself tries without end."""


class Handler:
    """Makes kitchens.

    Args:
        checkout: folder of the engine.
    """

    def __init__(self, checkout: Path) -> None:
        if not (checkout / "environments" / "env_generator" / "procedural_generator.py").is_file():
            raise FileNotFoundError(f"there is no generator of Robotouille in {checkout}")
        sys.path.insert(0, str(checkout))
        self._builder = importlib.import_module("environments.env_generator.builder")
        self._generator = importlib.import_module("environments.env_generator.procedural_generator")

    def do_make(self, task: str, seed: int) -> dict[str, Any]:
        """Return the environment of a task (``<family>/<name>``) for a seed, and the seed that gave it.

        As in the engine, a seed with which the generator fails is replaced by the next one.
        """
        random.seed(seed)
        drawn = self._builder.load_environment(f"{task}.json")
        reason: Exception | None = None
        for draw in range(seed, seed + TRIES):
            try:
                return {"environment": self._generator.randomize_environment(drawn, draw), "drawn": draw}
            except Exception as error:  # the generator raises anything where it finds no place
                reason = error
        raise RuntimeError(f"no kitchen for {task} with the seeds {seed} to {seed + TRIES - 1}: {reason!r}")


if __name__ == "__main__":
    serve(lambda: Handler(Path(sys.argv[1]).resolve()))
