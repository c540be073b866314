"""How well loops are found: planted cycles of length 1 to 6, and false alarms on episodes that reached their goal."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from graph_planner_ros.benchmarks.statistics import Interval, wilson
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.state import applicable_actions, effects, successor
from graph_planner_ros.domain.symbols import GroundAction, SymbolicState
from graph_planner_ros.memory.exact_bank import with_embeddings
from graph_planner_ros.memory.experience import Embedding, Episode, EpisodeStatus, SceneEncoder
from graph_planner_ros.memory.scene_facts import scene_facts
from graph_planner_ros.memory.state_graph import LOOP_THRESHOLD, Loop, StateGraph
from graph_planner_ros.scene.effects import apply_effects
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import SceneGraph

LENGTHS = (1, 2, 3, 4, 5, 6)
TURNS = 2
"""How often a planted cycle is gone round: a loop counts as found when its first or second turn ends with its name."""
PLACES = 5
"""Steps of an episode that are tried for a cycle of one length: from some there is no way back, as from the start."""
TRIES = 20
"""Random ways that are tried for a cycle of one length at one place."""
BRANCHES = 40
"""Actions that are tried for the last step but one."""


@dataclass
class PlantedCounts:
    """What came of the planted cycles of one length.

    Attributes:
        planted: cycles. at_once: found when the first turn ended. within_turn: by when the second ended.
        waiting: planted while something went on by itself, when going round may be waiting.
        after_waiting: found by when the second turn ended after that must have been over (all others: as within_turn).
        impossible: places were tried and no cycle was found.
    """

    planted: int = 0
    at_once: int = 0
    within_turn: int = 0
    waiting: int = 0
    after_waiting: int = 0
    impossible: int = 0


@dataclass
class LoopReport:
    """What `measure_loops` found.

    Attributes:
        episodes, steps: solved episodes and their observed steps.
        alarmed: episodes with an alarm. alarms: steps with one.
        harmless: alarms after an action that the episode itself says failed: a true report of a useless step.
        planted: by length. examples: alarms in words, at most 20.
        skipped: episodes that did not reach their goal or are of another domain.
    """

    episodes: int = 0
    steps: int = 0
    alarmed: int = 0
    alarms: int = 0
    harmless: int = 0
    planted: dict[int, PlantedCounts] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)
    skipped: int = 0

    @property
    def alarm_rate(self) -> Interval:
        """Share of steps of solved episodes with an alarm."""
        return wilson(self.alarms, self.steps)

    @property
    def alarmed_rate(self) -> Interval:
        """Share of solved episodes with an alarm."""
        return wilson(self.alarmed, self.episodes)

    def found(self, length: int, at_once: bool = False) -> Interval:
        """Return the share of planted cycles of a length that were found."""
        counts = self.planted[length]
        return wilson(counts.at_once if at_once else counts.within_turn, counts.planted)


def measure_loops(
    episodes: Iterable[Episode],
    domain_of: Callable[[str], Domain],
    encoder: SceneEncoder,
    *,
    threshold: float = LOOP_THRESHOLD,
    per_episode: int = 1,
    seed: int = 0,
    lengths: Sequence[int] = LENGTHS,
) -> LoopReport:
    """Run loop detection over solved episodes, and over the same with cycles planted at random places.

    Args:
        domain_of: name -> domain. per_episode: cycles of each length planted in every episode.
    """
    report = LoopReport(planted={length: PlantedCounts() for length in lengths})
    source = random.Random(seed)
    for episode in episodes:
        if episode.header.status is not EpisodeStatus.SUCCEEDED or len(episode.steps) < 2:
            report.skipped += 1
            continue
        domain = domain_of(episode.header.domain)
        episode = with_embeddings(episode, encoder)
        _false_alarms(episode, domain, threshold, report)
        for length in lengths:
            for _ in range(per_episode):
                _plant(episode, domain, encoder, threshold, length, source, report.planted[length])
    return report


def _false_alarms(episode: Episode, domain: Domain, threshold: float, report: LoopReport) -> None:
    loops = list(_replay(episode, domain, threshold))
    report.episodes += 1
    report.steps += len(loops)
    found = [(number, loop) for number, loop in enumerate(loops) if loop is not None]
    report.alarmed += bool(found)
    report.alarms += len(found)
    for number, loop in found:
        failed = number > 0 and episode.steps[number - 1].succeeded is False
        report.harmless += failed
        if len(report.examples) < 20:
            name = f"{episode.header.instruction!r}, step {number}{', after a failure' if failed else ''}"
            report.examples.append(f"{name}: {loop}")


def _replay(episode: Episode, domain: Domain, threshold: float) -> Iterator[Loop | None]:
    graph = StateGraph(domain, threshold)
    for step in episode.steps:
        assert step.embedding is not None
        yield graph.observe(step.embedding, step.scene)
        if step.action is None:
            return
        graph.acted(step.action)


def _plant(
    episode: Episode,
    domain: Domain,
    encoder: SceneEncoder,
    threshold: float,
    length: int,
    source: random.Random,
    counts: PlantedCounts,
) -> None:
    """Go round a cycle twice somewhere in the episode, and count when it is found."""
    cycle, place = None, 0
    for _ in range(PLACES):
        place = source.randrange(len(episode.steps))
        cycle = plant_cycle(domain, episode.steps[place].scene, length, source)
        if cycle is not None:
            break
    if cycle is None:
        counts.impossible += 1
        return
    scene = episode.steps[place].scene
    graph = StateGraph(domain, threshold)
    for step in episode.steps[:place]:
        assert step.embedding is not None
        graph.observe(step.embedding, step.scene)
        if step.action is not None:
            graph.acted(step.action)
    counts.planted += 1
    graph.observe(_embedding(encoder, scene), scene)
    actions = tuple(action for action, _ in cycle)
    embeddings = encoder.encode([after for _, after in cycle])
    waits = -(-graph.waiting // length)  # turns
    counts.waiting += waits > 0
    for turn in range(waits + TURNS):
        loop = None
        for (action, after), embedding in zip(cycle, embeddings, strict=True):
            graph.acted(action)
            loop = graph.observe(embedding, after)
        if loop is not None and loop.actions == actions:
            counts.at_once += turn == 0
            counts.within_turn += turn < TURNS
            counts.after_waiting += 1
            return


def _embedding(encoder: SceneEncoder, scene: SceneGraph) -> Embedding:
    return encoder.encode([scene])[0]


def plant_cycle(
    domain: Domain, scene: SceneGraph, length: int, source: random.Random
) -> list[tuple[GroundAction, SceneGraph]] | None:
    """Return actions that lead from a scene back to where it was, with the scene after each; None if none was found.

    No situation comes twice on the way. A cycle of length 1 is an action that changes nothing, as when it fails; not
    one that takes several actions by what the domain says, as that would be no loop.
    """
    try:
        start = symbolic_state(scene, domain)
        first = applicable_actions(domain, start)
    except (DomainError, ValueError):
        return None
    if length == 1:
        slow = {*domain.repetitions, *(delay.start for delay in domain.delays.values())}
        at_once = [action for action in first if action.name not in slow]
        return [(source.choice(at_once), _later(scene))] if at_once else None
    for _ in range(TRIES):
        actions = _round_trip(domain, start, length, source)
        if actions is None:
            continue
        scenes = _scenes(domain, scene, actions)
        last = scene_facts(scenes[-1], domain) if scenes else None
        if last is not None and last.agrees_with(scene_facts(scene, domain)):
            return list(zip(actions, scenes, strict=True))
    return None


def _round_trip(domain: Domain, start: SymbolicState, length: int, source: random.Random) -> list[GroundAction] | None:
    """Walk at random and, with the last two steps, look for a way back."""
    state, actions, seen = start, list[GroundAction](), {start.atoms}
    while len(actions) < length - 2:
        choices = applicable_actions(domain, state)
        source.shuffle(choices)
        fresh = ((action, successor(domain, state, action)) for action in choices)
        step = next(((action, after) for action, after in fresh if after.atoms not in seen), None)
        if step is None:
            return None
        actions.append(step[0])
        state = step[1]
        seen.add(state.atoms)
    choices = applicable_actions(domain, state)
    source.shuffle(choices)
    for action in choices[:BRANCHES]:
        after = successor(domain, state, action)
        if after.atoms in seen:
            continue
        for last in applicable_actions(domain, after):
            added, deleted = effects(domain, last)
            if (after.atoms - deleted) | added == start.atoms:
                return [*actions, action, last]
    return None


def _scenes(domain: Domain, scene: SceneGraph, actions: Sequence[GroundAction]) -> list[SceneGraph]:
    scenes: list[SceneGraph] = []
    current = scene
    for action in actions:
        current = _later(current)
        apply_effects(current, domain, action, current.stamp)
        scenes.append(current)
    return scenes


def _later(scene: SceneGraph) -> SceneGraph:
    later = deepcopy(scene)
    later.stamp += 1.0
    return later
