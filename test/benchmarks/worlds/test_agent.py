"""The agent that plays text worlds: it finds, acts, recovers, explores, and is never led astray by what it is told."""

from __future__ import annotations

import dataclasses
import random

import pytest
from small_house import SPEC, SmallHouse

from graph_planner_ros.benchmarks.worlds.agent import TextAgent
from graph_planner_ros.benchmarks.worlds.game import GameSpec, GameStatus, Observation
from graph_planner_ros.benchmarks.worlds.options import AgentOptions
from graph_planner_ros.benchmarks.worlds.records import EXPLORE, OBSERVE, EpisodeRecord
from graph_planner_ros.language.rules import Language, load_language
from graph_planner_ros.planning.engines.base import EngineResult
from graph_planner_ros.planning.engines.mimir import MimirEngine

PLACES = {"countertop 1": ["mug 1"], "cabinet 1": [], "cabinet 2": ["egg 1"], "fridge 1": ["apple 1"]}
SHUT = ("cabinet 1", "cabinet 2", "fridge 1")
STRANGE = {
    "empty": "",
    "markup": "<html><body>On the countertop 1, you see a egg 1.</body></html>",
    "another language": "Auf dem Schrank 1 liegt ein Ei 1. Du nimmst das Ei.",
    "huge": "On the countertop 1, you see a egg 1. " * 30_000,
    "unknown things": "On the gizmo 1, you see a frobnicator 7.",
    "nothing happens": "Nothing happens.",
    "binary": "\x00\x1b[31m\ufffd" * 50,
}


@pytest.fixture(scope="module")
def language() -> Language:
    return load_language("alfworld")


def play(language: Language, game: SmallHouse, spec: GameSpec = SPEC, **options: object) -> EpisodeRecord:
    return TextAgent(language.domain, language.parser, language.grounder, AgentOptions(**options)).play(game, spec)  # type: ignore[arg-type]


def test_finds_what_nobody_has_seen_and_brings_it(language: Language) -> None:
    record = play(language, SmallHouse(PLACES, SHUT))
    assert (record.won, record.status, record.reason) == (True, "won", "")
    assert record.goals == ["put a egg in countertop"]
    assert (record.invalid, record.repeated_checks, record.planner_failures, record.tokens) == (0, 0, 0, 0)
    commands = [step.command for step in record.steps[1:]]
    assert commands[-3:] == ["take egg 1 from cabinet 2", "go to countertop 1", "move egg 1 to countertop 1"]
    assert record.steps_taken == len(commands) == len(set(commands)), "no command is wasted"
    assert all(command.split()[0] in ("go", "open", "take", "move") for command in commands)


def test_every_step_says_what_led_to_it_and_what_came_of_it(language: Language) -> None:
    record = play(language, SmallHouse(PLACES, SHUT))
    assert record.steps[0].command == ""
    last = record.steps[-1]
    assert last.action == "put(egg 1, countertop 1)"
    assert (last.score, last.goal_score, last.plan_length) == (1.0, 1.0, 1)
    assert last.facts == ["in(egg 1, countertop 1)"]
    assert record.steps[1].decision.startswith("replace: ")
    assert all(step.planning_seconds >= 0.0 for step in record.steps)
    assert EpisodeRecord.from_json(record.to_json()) == record


def test_places_are_known_from_what_can_be_done_where_nobody_lists_them(language: Language) -> None:
    record = play(language, SmallHouse(PLACES, SHUT, facing=True))
    assert record.won
    assert all(step.kind == "act" for step in record.steps[1:])


@pytest.mark.parametrize("kind", sorted(STRANGE))
@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_a_strange_answer_neither_stops_the_game_nor_is_believed(language: Language, kind: str, step: int) -> None:
    record = play(language, SmallHouse(PLACES, SHUT, strange={step: STRANGE[kind]}))
    assert record.won
    # where one has gone is known from the command, if the answer is one of the world's sentences
    assert all(fact.startswith("at(") for fact in record.steps[step].facts)
    assert record.steps[step].failed == (kind == "nothing happens")


@pytest.mark.parametrize("seed", range(5))
def test_many_strange_answers_end_with_a_reason(language: Language, seed: int) -> None:
    rng = random.Random(seed)
    strange = {step: STRANGE[rng.choice(sorted(STRANGE))] for step in range(1, 60) if rng.random() < 0.5}
    record = play(language, SmallHouse(PLACES, SHUT, strange=strange))
    assert record.won or record.reason
    assert record.steps_taken <= SPEC.limit


def test_a_world_that_only_talks_nonsense_ends_at_the_limit(language: Language) -> None:
    strange = dict.fromkeys(range(100), "Lorem ipsum dolor sit amet.")
    record = play(language, SmallHouse({"countertop 1": [], "cabinet 1": []}, wins=("egg 1", ""), strange=strange))
    assert (record.status, record.steps_taken) == ("running", SPEC.limit)
    assert record.reason.startswith(f"not solved within {SPEC.limit} steps")


def test_the_same_seed_gives_the_same_game(language: Language) -> None:
    def without_times(record: EpisodeRecord) -> list[dict[str, object]]:
        steps = [dataclasses.asdict(step) for step in record.steps]
        return [{name: value for name, value in step.items() if not name.endswith("_seconds")} for step in steps]

    game = SmallHouse(PLACES, SHUT, goal="do a backflip", wins=("egg 1", "nowhere"))
    assert without_times(play(language, game)) == without_times(play(language, game))


def test_without_a_goal_it_explores_and_says_why(language: Language) -> None:
    record = play(language, SmallHouse(PLACES, SHUT, goal="do a backflip", wins=("egg 1", "nowhere")))
    assert record.steps_taken == SPEC.limit
    assert {step.kind for step in record.steps[1:]} == {EXPLORE}
    assert "do a backflip" in record.steps[1].planner_failure
    assert len({step.command for step in record.steps[1:]}) > 10, "what was tried least comes first"


def test_what_exists_nowhere_is_looked_for_everywhere_once(language: Language) -> None:
    record = play(language, SmallHouse(PLACES, SHUT, goal="put a potato in countertop", wins=("potato 1", "")))
    assert not record.won
    until = next(step.index for step in record.steps if step.planner_failure)
    opened = [step.command for step in record.steps[:until] if step.command.startswith("open")]
    assert sorted(opened) == ["open cabinet 1", "open cabinet 2", "open fridge 1"]
    assert "no Potato was found: looked in 4 places" in record.steps[until].planner_failure


class Silent:
    """A world that offers no commands and says nothing."""

    def reset(self) -> Observation:
        return Observation("", goal="put a egg in countertop")

    def step(self, command: str) -> Observation:
        raise AssertionError("there is nothing to be said")

    def close(self) -> None:
        return None


def test_it_gives_up_where_nothing_can_be_said(language: Language) -> None:
    agent = TextAgent(language.domain, language.parser, NoCommands())
    record = agent.play(Silent(), SPEC)
    assert record.steps_taken == 0
    assert record.reason.startswith("there is no plan and nothing to try")


class NoCommands:
    def ground(self, action: object, context: object) -> object:
        from graph_planner_ros.language.interface import Grounding

        return Grounding(None, 0.0, "nothing fits")

    def observe(self, context: object) -> object:
        return self.ground(None, None)


def test_actions_without_a_command_lead_to_looking_and_then_to_other_ways(language: Language) -> None:
    class Refuses(NoCommands):
        def observe(self, context: object) -> object:
            return language.grounder.observe(context)  # type: ignore[arg-type]

    record = TextAgent(language.domain, language.parser, Refuses()).play(SmallHouse(PLACES, SHUT), SPEC)  # type: ignore[arg-type]
    kinds = [step.kind for step in record.steps[1:]]
    assert OBSERVE in kinds and EXPLORE in kinds
    assert record.won or record.steps_taken == SPEC.limit


def test_a_crash_of_the_world_is_its_result(language: Language) -> None:
    class Dies(SmallHouse):
        def step(self, command: str) -> Observation:
            if len(self.commands) == 2:
                return Observation("", status=GameStatus.CRASHED, reason="the engine died")
            return super().step(command)

    record = play(language, Dies(PLACES, SHUT))
    assert (record.status, record.reason, record.steps_taken) == ("crashed", "the engine died", 3)


def test_without_placeholders_there_is_no_plan(language: Language) -> None:
    record = play(language, SmallHouse(PLACES, SHUT), placeholders=False)
    assert record.planner_failures > 0
    assert "Egg" in record.steps[1].planner_failure


def test_without_negative_memory_the_same_place_is_checked_again(language: Language) -> None:
    places = {"countertop 1": [], "cabinet 1": [], "cabinet 2": [], "fridge 1": []}
    game = SmallHouse(places, SHUT, wins=("egg 1", ""))
    assert play(language, game, negative_memory=False).repeated_checks > 0
    assert play(language, game).repeated_checks == 0


def test_without_parser_nothing_is_known(language: Language) -> None:
    record = play(language, SmallHouse(PLACES, SHUT), parser=False)
    assert all(not step.facts for step in record.steps)
    assert {step.kind for step in record.steps[1:]} == {EXPLORE}


def test_without_grounder_actions_are_said_as_the_domain_writes_them(language: Language) -> None:
    record = play(language, SmallHouse(PLACES, SHUT), grounder=False)
    said = {step.command.split()[0] for step in record.steps if step.kind == "act"}
    assert said <= {"open", "close"}, "what has the same words in the domain and in the world"
    assert record.steps[1].reason.startswith("no command for go_to(start, ")


def test_planning_anew_at_every_step_takes_the_same_way(language: Language) -> None:
    kept, anew = (play(language, SmallHouse(PLACES, SHUT), replan_every_step=flag) for flag in (False, True))
    assert anew.won and anew.steps_taken == kept.steps_taken
    assert all(step.decision.startswith("replace") for step in anew.steps[1:])


# ---- memory from game to game


def play_all(language: Language, games: int, place: str, **options: object) -> list[EpisodeRecord]:
    """Play games in which the egg is always in the same place, all by one agent."""
    agent = TextAgent(language.domain, language.parser, language.grounder, AgentOptions(**options))  # type: ignore[arg-type]
    inside = {name: [thing for thing in things if thing != "egg 1"] for name, things in PLACES.items()}
    inside[place] = [*inside[place], "egg 1"]
    return [agent.play(SmallHouse(inside, SHUT), SPEC) for _ in range(games)]


def test_kept_memory_learns_where_things_are(language: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graph_planner_ros.benchmarks.worlds.agent.domain_prior", lambda domain: None)
    for place in ("cabinet 2", "fridge 1"):
        records = play_all(language, 8, place, keep_memory=True)
        for record in records[5:]:
            first = next(step.command for step in record.steps if step.command.startswith("go to"))
            assert first.split()[2] == place.split()[0], "places of the kind in which it was before come first"
            assert record.steps_taken <= records[0].steps_taken


def test_without_it_every_game_is_the_first(language: Language) -> None:
    for options in ({}, {"uniform_costs": True}):
        steps = [record.steps_taken for record in play_all(language, 3, "cabinet 2", **options)]
        assert len(set(steps)) == 1


def test_uniform_costs_learn_nothing(language: Language) -> None:
    records = play_all(language, 3, "cabinet 2", keep_memory=True, uniform_costs=True)
    assert len({record.steps_taken for record in records}) == 1 and all(record.won for record in records)


def test_what_is_learned_is_about_kinds_of_places_and_not_kept_in_the_domain(language: Language) -> None:
    first = play(language, SmallHouse(PLACES, SHUT))
    play_all(language, 6, "fridge 1", keep_memory=True)
    again = play(language, SmallHouse(PLACES, SHUT))
    assert [step.command for step in again.steps] == [step.command for step in first.steps]


# ---- the clock


class Hurried(MimirEngine):
    """Says of some of its plans that the clock has ended the search."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.left = count

    def solve(self, *arguments: object, **options: object) -> EngineResult:
        self.left -= 1
        return dataclasses.replace(super().solve(*arguments, **options), by_clock=self.left >= 0)  # type: ignore[arg-type]


def test_a_search_that_the_clock_has_ended_is_in_the_record(language: Language) -> None:
    for count in (0, 1):
        agent = TextAgent(language.domain, language.parser, language.grounder, engine=Hurried(count))
        record = agent.play(SmallHouse(PLACES, SHUT), SPEC)
        assert record.won and record.by_clock == count
        assert [step.index for step in record.steps if step.by_clock] == [1] * count
        assert EpisodeRecord.from_json(record.to_json()) == record
