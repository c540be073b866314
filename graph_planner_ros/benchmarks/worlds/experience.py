"""Collects experience by playing: MemPlan plays games of a world, and each becomes an episode."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from graph_planner_ros.benchmarks.worlds.agent import TextAgent
from graph_planner_ros.benchmarks.worlds.game import GameSpec
from graph_planner_ros.benchmarks.worlds.options import AgentOptions
from graph_planner_ros.benchmarks.worlds.recording import Recorder, origin_of
from graph_planner_ros.benchmarks.worlds.registry import World
from graph_planner_ros.language.rules import load_language
from graph_planner_ros.memory.experience import Episode


def collect_from_world(
    world: World, specs: Sequence[GameSpec], options: AgentOptions | None = None
) -> Iterator[tuple[GameSpec, Episode]]:
    """Play games one after the other, each with a new belief, and yield what was experienced in each.

    Raises:
        WorldUnavailableError, EngineMissingError: something is not installed.
    """
    language = load_language(world.domain)
    agent = TextAgent(language.domain, language.parser, language.grounder, options)
    for spec in specs:
        recorder = agent.observer = Recorder(language.domain, spec, layout_of(world, spec))
        game = world.open(spec)
        try:
            agent.play(game, spec)
        finally:
            game.close()
        assert recorder.episode is not None
        yield spec, recorder.episode


def spread(specs: Sequence[GameSpec], count: int = 0) -> list[GameSpec]:
    """Return at most ``count`` games (0: all), the groups in turn, and of each group games from all of its list.

    So the first part of a collection that was broken off is as mixed as the whole.
    """
    groups: dict[str, list[GameSpec]] = {}
    for spec in specs:
        groups.setdefault(spec.group, []).append(spec)
    quota = -(-count // len(groups)) if count and groups else 0
    turns: list[tuple[int, str, GameSpec]] = []
    for name, found in groups.items():
        wanted = min(len(found), quota) if quota else len(found)
        # a step without common divisor visits each game once, far from the one before
        step = next(
            size for size in range(max(1, int(0.382 * len(found))), len(found) + 2) if math.gcd(size, len(found)) == 1
        )
        turns += [(turn, name, found[turn * step % len(found)]) for turn in range(wanted)]
    turns.sort(key=lambda entry: entry[:2])
    return [spec for _, _, spec in turns][: count or None]


def layout_of(world: World, spec: GameSpec) -> str:
    """Return the home that a game plays in; worlds that have no such thing have one for each group and seed."""
    named = getattr(world, "layout", None)
    return str(named(spec)) if named is not None else f"{spec.group}, seed {spec.seed}"


__all__ = ["collect_from_world", "layout_of", "origin_of", "spread"]
