"""Where the package's own data files are, in a source checkout and in an installed package."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "graph_planner_ros"


def config_roots() -> Iterator[Path]:
    """Yield every folder that may hold the package's ``config``, nearest first (they need not exist)."""
    package = Path(__file__).resolve().parents[1]
    yield package.parent / "config"
    yield package / "config"
    for parent in package.parents:
        yield parent / "share" / PACKAGE / "config"
    for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        if prefix:
            yield Path(prefix) / "share" / PACKAGE / "config"
    yield Path(sys.prefix) / "share" / PACKAGE / "config"


def find_config(relative: str | Path) -> Path:
    """Return the path of ``config/<relative>``.

    Raises:
        FileNotFoundError: naming what was looked for and where, if no installation or checkout has it.
    """
    tried: list[str] = []
    for root in config_roots():
        path = root / relative
        if path.exists():
            return path
        if str(root) not in tried:
            tried.append(str(root))
    raise FileNotFoundError(f"config/{relative} was not found; looked in: {', '.join(tried)}")
