"""The tasks on which advice is measured: text games, and the symbolic kitchen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from graph_planner_ros.benchmarks.advice import (
    BANK,
    MISLED,
    NO_ADVICE,
    Played,
    Setting,
    SkippedError,
    Variant,
    choose_bank,
)
from graph_planner_ros.benchmarks.misleading import mislead
from graph_planner_ros.benchmarks.symbolic_kitchen import KitchenTask, list_tasks, play_kitchen
from graph_planner_ros.benchmarks.worlds.agent import TextAgent
from graph_planner_ros.benchmarks.worlds.banks import experience_of
from graph_planner_ros.benchmarks.worlds.experience import layout_of, spread
from graph_planner_ros.benchmarks.worlds.game import Game, GameSpec, GameStatus
from graph_planner_ros.benchmarks.worlds.options import AgentOptions
from graph_planner_ros.benchmarks.worlds.registry import World
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.language.rules import load_language
from graph_planner_ros.memory.experience import Episode, SceneEncoder
from graph_planner_ros.planning.advice import Advice, Experience
from graph_planner_ros.planning.engines import make_engine
from graph_planner_ros.planning.memory import PositiveMemory
from graph_planner_ros.planning.memplan import MemPlan


class Advisers:
    """What a bank says, and what it says when it misleads."""

    def __init__(self, domain: Domain, bank: Sequence[Episode], encoder: SceneEncoder | None = None) -> None:
        self._good = experience_of(domain, bank, encoder)
        self._wrong = experience_of(domain, mislead(domain, bank), encoder)

    def of(self, variant: Variant) -> Experience | None:
        """Return what advises in a variant."""
        if variant.bank == NO_ADVICE:
            return None
        return self._wrong if variant.bank == MISLED else self._good


def kitchen_settings(
    domain: Domain,
    episodes: Iterable[Episode],
    layouts: Sequence[str],
    seeds: Sequence[int],
    tasks: int,
    count: int = BANK,
    seed: int = 0,
    encoder: SceneEncoder | None = None,
) -> Iterator[Setting]:
    """Yield a setting for each layout: its tasks, and a bank from the other layouts.

    Args:
        episodes: to choose the banks from. seeds: of the kitchens; none of the episodes' should be among them.
        tasks: in each kitchen. count: episodes in a bank. seed: of the choice.

    Raises:
        ValueError: there are too few episodes. EngineMissingError, EncoderMissingError: something is not installed.
    """
    engine = make_engine()
    known = list(episodes)
    for layout in layouts:
        bank = choose_bank(known, (layout,), count, seed)
        advisers = Advisers(domain, bank, encoder)
        found = {task.spec().name: task for task in list_tasks(domain, MemPlan(domain, engine), [layout], seeds, tasks)}

        def play(
            name: str,
            variant: Variant,
            found: dict[str, KitchenTask] = found,
            advisers: Advisers = advisers,
        ) -> Played:
            experience = advisers.of(variant)
            advice = Advice(domain, experience, variant.places, variant.actions) if experience is not None else None
            positive = PositiveMemory(domain, use_prior=variant.prior)
            task = found[name]
            record = play_kitchen(domain, MemPlan(domain, engine, positive, advice=advice), task)
            return Played(record.steps_taken if record.won else record.limit, record.won)

        shortest = {name: task.shortest for name, task in found.items()}
        yield Setting(bank, frozenset((layout,)), list(found), play, shortest)


def text_settings(
    world: World,
    specs: Sequence[GameSpec],
    episodes: Iterable[Episode],
    count: int = BANK,
    games: int = 0,
    seed: int = 0,
    encoder: SceneEncoder | None = None,
    options: AgentOptions | None = None,
) -> Iterator[Setting]:
    """Yield the one setting of a text world: a bank, and the games in homes that are not in it.

    Args:
        world, specs: games to be tested, of which those in homes of the bank are left out.
        episodes: to choose the bank from.
        count: episodes in the bank. games: at most so many, spread over the groups; 0: all. seed: of the choice.

    Raises:
        ValueError: there are too few episodes. EngineMissingError, EncoderMissingError: something is not installed.
    """
    bank = choose_bank(episodes, (), count, seed)
    homes = {episode.header.layout for episode in bank}
    chosen = spread([spec for spec in specs if layout_of(world, spec) not in homes], games)
    language = load_language(world.domain)
    player = _TextPlayer(world, Advisers(language.domain, bank, encoder), options or AgentOptions())
    by_name = {spec.name: spec for spec in chosen}
    try:
        yield Setting(
            bank,
            frozenset(layout_of(world, spec) for spec in chosen),
            list(by_name),
            lambda name, variant: player.play(by_name[name], variant),
        )
    finally:
        player.close()


class _TextPlayer:
    """Plays one game in many variants; its engine is started once."""

    def __init__(self, world: World, advisers: Advisers, options: AgentOptions) -> None:
        self._world = world
        self._advisers = advisers
        self._options = options
        self._language = load_language(world.domain)
        self._agents: dict[Variant, TextAgent] = {}
        self._name = ""
        self._game: Game | None = None

    def play(self, spec: GameSpec, variant: Variant) -> Played:
        """Play a game.

        Raises:
            SkippedError: the engine cannot play it.
        """
        if self._game is None or spec.name != self._name:
            self.close()
            self._name, self._game = spec.name, self._world.open(spec)
        record = self._agent(variant).play(self._game, spec)
        if record.status == GameStatus.CRASHED.value:
            raise SkippedError(record.reason)
        return Played(record.steps_taken if record.won else record.limit, record.won)

    def _agent(self, variant: Variant) -> TextAgent:
        if variant not in self._agents:
            language = self._language
            options = replace(
                self._options, prior=variant.prior, place_advice=variant.places, action_advice=variant.actions
            )
            agent = TextAgent(language.domain, language.parser, language.grounder, options)
            agent.experience = self._advisers.of(variant)
            self._agents[variant] = agent
        return self._agents[variant]

    def close(self) -> None:
        """End the engine."""
        if self._game is not None:
            self._game.close()
            self._game = None
