"""Goals that texts bring, and the choice of who reads instructions."""

from __future__ import annotations

import pytest

from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable, SymbolicState
from graph_planner_ros.language.instruction import InstructionParser, ParseStatus
from graph_planner_ros.language.interface import Context, ParsedObservation
from graph_planner_ros.language.learning import LearnedGoals
from graph_planner_ros.language.world_goals import WorldGoals, instruction_reader
from graph_planner_ros.scene.graph import SceneGraph, SceneNode

DOMAIN = load_domain("textworld")
READ = Goal((GoalVariable("?n", "note", None, "note"),), (GoalLiteral("read", ("?n",)),))
COOK = Goal((GoalVariable("?b", "item", "Cookbook"),), (GoalLiteral("enjoyed", ("?b",)),))


class Reader:
    """Finds an urgent goal in every text, and another one in texts with 'meal'."""

    def parse(self, text: str, context: Context) -> ParsedObservation:
        return ParsedObservation()

    def goals(self, text: str, context: Context) -> tuple[Goal, ...]:
        return ()

    def learned(self, text: str, context: Context, urgent: bool = False) -> tuple[Goal, ...]:
        if urgent:
            return (READ,)
        return (COOK,) if "meal" in text else ()


def read(learned: LearnedGoals, text: str, state: SymbolicState | None = None) -> list[tuple[list[Goal], bool]]:
    there = state or SymbolicState({}, frozenset(), {})
    return [(goals, urgent) for goals, urgent in learned.read(text, Context, lambda: there) if goals]


def test_each_goal_is_found_once_and_urgent_ones_are_marked() -> None:
    learned = LearnedGoals(DOMAIN, Reader())
    assert read(learned, "prepare meal") == [([COOK], False), ([READ], True)]
    assert read(learned, "prepare meal") == []
    assert learned.goals == [COOK, READ]


def test_an_urgent_goal_that_holds_already_is_none() -> None:
    from graph_planner_ros.domain.symbols import Atom

    done = SymbolicState({"note": "note"}, frozenset({Atom("read", ("note",))}), {})
    assert read(LearnedGoals(DOMAIN, Reader()), "a note", done) == []


def test_a_parser_that_learns_nothing_is_asked_nothing() -> None:
    assert read(LearnedGoals(DOMAIN, object()), "prepare meal") == []


def test_a_text_world_is_read_in_its_own_words_and_a_household_in_those_of_people() -> None:
    reader, parser = instruction_reader(load_domain("household"))
    assert isinstance(reader, InstructionParser) and parser is None
    for name, goal in (
        ("alfworld", "put a hot egg in countertop"),
        ("textworld", "Check the cookbook in the kitchen for the recipe."),
    ):
        reader, parser = instruction_reader(load_domain(name))
        assert isinstance(reader, WorldGoals) and parser is not None
        assert reader.parse(goal).status is ParseStatus.UNDERSTOOD


def test_names_that_the_belief_knows_can_be_spoken_of() -> None:
    reader, _ = instruction_reader(DOMAIN)
    graph = SceneGraph(nodes={"golden key": SceneNode("golden key", "Key")})
    found = reader.parse("find the golden key", graph)
    assert found.understood and found.goals[0].variables[0].instance == "golden key"


@pytest.mark.parametrize("text", ["", "   ", "dance", "x" * 100_000, "<b>put a egg in countertop</b>", "\x00\n\ud800"])
def test_what_is_no_goal_of_the_world_is_refused_with_a_reason_and_the_games_own_goal(text: str) -> None:
    reader, _ = instruction_reader(load_domain("alfworld"))
    assert isinstance(reader, WorldGoals)
    assert reader.parse(text).suggestions == ()
    reader.own = "put a mug in desk"
    answer = reader.parse(text)
    assert answer.status is ParseStatus.NOT_UNDERSTOOD and answer.reason and len(answer.reason) < 500
    assert answer.suggestions == ("put a mug in desk",)
