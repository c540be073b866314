"""Planning engines behind one interface; see `base` for the PDDL that they take."""

from __future__ import annotations

from graph_planner_ros.planning.engines.base import Engine, EngineMissingError, EngineResult
from graph_planner_ros.planning.engines.fast_downward import FastDownwardEngine
from graph_planner_ros.planning.engines.mimir import MimirEngine

ENGINE_NAMES = ("auto", "mimir", "fast_downward")


def make_engine(name: str = "auto") -> Engine:
    """Return an engine by name; ``auto`` takes the first of mimir and Fast Downward that is installed.

    Raises:
        EngineMissingError: if it is not installed, naming the extra that brings it.
        ValueError: if there is no engine of that name.
    """
    if name == "mimir":
        return MimirEngine()
    if name == "fast_downward":
        return FastDownwardEngine()
    if name != "auto":
        raise ValueError(f"there is no planning engine {name!r}; there are: {', '.join(ENGINE_NAMES)}")
    try:
        return MimirEngine()
    except EngineMissingError:
        pass
    try:
        return FastDownwardEngine()
    except EngineMissingError:
        raise EngineMissingError(
            "no planning engine is installed; install the extra 'planners' (pymimir, up-fast-downward; both GPL-3)"
        ) from None


__all__ = [
    "ENGINE_NAMES",
    "Engine",
    "EngineMissingError",
    "EngineResult",
    "FastDownwardEngine",
    "MimirEngine",
    "make_engine",
]
