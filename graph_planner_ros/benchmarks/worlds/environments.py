"""Where the Python environments of the worlds' engines are: each world has one of its own, beside ours."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from graph_planner_ros.benchmarks.worlds.game import WorldUnavailableError

_TIMEOUT = 60.0
_VERSIONS = """
import importlib.metadata, json, platform, sys
found = {"python": platform.python_version()}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


def environment_variable(world: str) -> str:
    """Return the name of the variable that may hold the path of a world's Python."""
    return f"GRAPH_PLANNER_{world.upper()}_PYTHON"


def how_to_get(world: str) -> str:
    """Return the sentence that says how to get a world."""
    return (
        f"{world} is not installed: './run world {world}' makes an environment for it, "
        f"or name the Python that has it with --python or {environment_variable(world)}"
    )


def find_python(world: str, named: str | Path | None = None) -> Path:
    """Return the Python interpreter of a world's environment: the named one, the variable's, or ``.venv-<world>``.

    ``.venv-<world>`` is looked for in the current folder and those above it, and beside this package's checkout.

    Raises:
        WorldUnavailableError: there is none; the message says how to get it.
    """
    given = named or os.environ.get(environment_variable(world))
    if given:
        path = Path(given).expanduser()
        if path.is_dir():
            path = path / "bin" / "python"
        if not (path.is_file() and os.access(path, os.X_OK)):
            raise WorldUnavailableError(f"{path} is no Python interpreter; {how_to_get(world)}")
        return path.absolute()
    here = Path.cwd()
    for folder in (here, *here.parents, Path(__file__).resolve().parents[3]):
        path = folder / f".venv-{world}" / "bin" / "python"
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise WorldUnavailableError(how_to_get(world))


def engine_versions(world: str, python: Path, packages: Sequence[str]) -> dict[str, str]:
    """Return the versions of a world's Python and of its packages.

    Raises:
        WorldUnavailableError: the Python does not start, or lacks one of the packages.
    """
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    variables.pop("LD_LIBRARY_PATH", None)
    try:
        said = subprocess.run(
            [str(python), "-c", _VERSIONS, *packages],
            capture_output=True, text=True, timeout=_TIMEOUT, env=variables, check=True,
        )  # fmt: skip
        versions: dict[str, str] = json.loads(said.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise WorldUnavailableError(f"{python} does not run ({type(error).__name__}); {how_to_get(world)}") from None
    if missing := [name for name in packages if name not in versions]:
        raise WorldUnavailableError(f"{python} has no {' and no '.join(missing)}; {how_to_get(world)}")
    return versions
