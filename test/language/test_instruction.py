"""What instructions mean, in the household domain."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import check_goal
from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.language.instruction import InstructionParser, ParseStatus
from graph_planner_ros.scene.graph import Attribute, Relation, SceneGraph, SceneNode

Helper = Callable[..., Any]

ONE_GOAL = [
    ("put the apple in the fridge", {"in(Apple, Fridge)"}),
    ("Place an apple inside the refrigerator, please!", {"in(Apple, Fridge)"}),
    ("move a mug onto the kitchen table", {"in(Mug, DiningTable)"}),
    ("could you bring the mug to the sink", {"in(Mug, SinkBasin)"}),
    ("take the loaf of bread to the counter", {"in(Bread, CounterTop)"}),
    ("putting the bowl away in a cabinet", {"in(Bowl, Cabinet)"}),
    ("put down the knife on the counter", {"in(Knife, CounterTop)"}),
    ("put a cold apple in the bowl", {"in(Apple, Bowl)", "cold(Apple)"}),
    ("put the chilled, clean plate on the table", {"in(Plate, DiningTable)", "cold(Plate)", "cleaned(Plate)"}),
    (
        "put a washed piece of lettuce on the counter",
        {"in(Lettuce, CounterTop)", "cleaned(Lettuce)", "sliced(Lettuce)"},
    ),
    ("put a hot slice of the tomato on a plate", {"in(Tomato, Plate)", "hot(Tomato)", "sliced(Tomato)"}),
    ("put two mugs in the sink", {"in(Mug1, SinkBasin)", "in(Mug2, SinkBasin)"}),
    ("put both knives in a drawer", {"in(Knife1, Drawer)", "in(Knife2, Drawer)"}),
    ("put 3 potatoes into the pot", {"in(Potato1, Pot)", "in(Potato2, Pot)", "in(Potato3, Pot)"}),
    ("put a couple of the cups on the table", {"in(Cup1, DiningTable)", "in(Cup2, DiningTable)"}),
    (
        "put the egg, the fork and a spoon in the sink",
        {"in(Egg, SinkBasin)", "in(Fork, SinkBasin)", "in(Spoon, SinkBasin)"},
    ),
    ("slice the bread", {"sliced(Bread)"}),
    ("cut up a potato with the knife", {"sliced(Potato)"}),
    ("slice and wash the lettuce", {"sliced(Lettuce)", "cleaned(Lettuce)"}),
    ("warm up the mug in the microwave", {"hot(Mug)"}),
    ("cool an egg down", {"cold(Egg)"}),
    ("rinse the plate off", {"cleaned(Plate)"}),
    ("heat the potato and put it on the table", {"hot(Potato)", "in(Potato, DiningTable)"}),
    ("open the microwave", {"not closed(Microwave)"}),
    ("shut the drawer", {"closed(Drawer)"}),
    ("open the fridge and the microwave", {"not closed(Fridge)", "not closed(Microwave)"}),
    ("switch the desk lamp on", {"switched_on(DeskLamp)"}),
    ("turn off the stove", {"not switched_on(StoveBurner)"}),
    ("examine the mug under the desk lamp", {"examined(Mug)", "switched_on(DeskLamp)"}),
    ("turn on the floor lamp while holding a book", {"switched_on(FloorLamp)", "holding(Book)"}),
    ("find a mug", {"holding(Mug)"}),
    ("look for the keys", {"holding(KeyChain)"}),
    ("pick the spatula up", {"holding(Spatula)"}),
    ("go to the sink", {"at(SinkBasin)"}),
    ("look in the fridge", {"observed(Fridge)"}),
    ("make sure the fridge is closed", {"closed(Fridge)"}),
    ("put the egg in the fridge and the mug in the sink", {"in(Egg, Fridge)", "in(Mug, SinkBasin)"}),
    ("put a bowl with an egg in it in the fridge", {"in(Bowl, Fridge)", "in(Egg, Bowl)"}),
    ("put an egg in a bowl and put the bowl in the fridge", {"in(Bowl, Fridge)", "in(Egg, Bowl)"}),
    ("put an egg in a bowl and put it in the fridge", {"in(Bowl, Fridge)", "in(Egg, Bowl)"}),
    ("put a slice of apple on a plate in the fridge", {"in(Apple, Plate)", "in(Plate, Fridge)", "sliced(Apple)"}),
    ("get an apple, get a mug and put them on the counter", {"in(Apple, CounterTop)", "in(Mug, CounterTop)"}),
    ("slice the tomato and put a slice in the bowl", {"sliced(Tomato)", "in(Tomato, Bowl)"}),
    ("put a bowl with an egg in it, in the sink", {"in(Bowl, SinkBasin)", "in(Egg, Bowl)"}),
    ("wash the mug and put away in the cabinet", {"cleaned(Mug)", "in(Mug, Cabinet)"}),
    ("pick up the mug to put it in the sink", {"in(Mug, SinkBasin)"}),
    ("put the coffee cup on the table", {"in(Mug, DiningTable)"}),
    ("put the apple in the CounterTop", {"in(Apple, CounterTop)"}),
]


@pytest.mark.parametrize(("text", "expected"), ONE_GOAL)
def test_meaning(parser: InstructionParser, household: Domain, text: str, expected: set[str], literals: Helper) -> None:
    parsed = parser.parse(text)
    assert parsed.understood, parsed
    assert [literals(goal) for goal in parsed.goals] == [expected]
    check_goal(parsed.goals[0], household)


SEVERAL_GOALS = [
    ("open the fridge, then close it", [{"not closed(Fridge)"}, {"closed(Fridge)"}]),
    ("open the fridge and close it", [{"not closed(Fridge)"}, {"closed(Fridge)"}]),
    ("OPEN FRIDGE THEN GO TO THE SINK", [{"not closed(Fridge)"}, {"not closed(Fridge)", "at(SinkBasin)"}]),
    ("heat the egg. Then put it in the bowl.", [{"hot(Egg)"}, {"hot(Egg)", "in(Egg, Bowl)"}]),
    ("open the fridge and look in", [{"not closed(Fridge)", "observed(Fridge)"}]),
    ("go to the fridge and open it", [{"at(Fridge)", "not closed(Fridge)"}]),
    ("go to the fridge, then put the egg in the sink", [{"at(Fridge)"}, {"in(Egg, SinkBasin)"}]),
    ("go to the fridge and bring the egg to the sink", [{"at(Fridge)"}, {"in(Egg, SinkBasin)"}]),
    ("heat the egg and then cool it", [{"hot(Egg)"}, {"cold(Egg)"}]),
    ("put the mug in the sink, after that put it in the cabinet", [{"in(Mug, SinkBasin)"}, {"in(Mug, Cabinet)"}]),
    (
        "put the knife in the sink; afterwards put the fork in the drawer",
        [{"in(Knife, SinkBasin)"}, {"in(Knife, SinkBasin)", "in(Fork, Drawer)"}],
    ),
]


@pytest.mark.parametrize(("text", "expected"), SEVERAL_GOALS)
def test_each_goal_of_a_sequence_keeps_what_still_holds(
    parser: InstructionParser, text: str, expected: list[set[str]], read: Helper
) -> None:
    assert read(parser, text) == expected


@pytest.mark.parametrize("joint", ["and", "and then", ", then"])
def test_picking_up_is_a_means_when_the_thing_is_put_somewhere(
    parser: InstructionParser, joint: str, read: Helper
) -> None:
    assert read(parser, f"pick up the mug {joint} put it in the sink") == [{"in(Mug, SinkBasin)"}]


def test_another_is_a_different_thing(parser: InstructionParser, literals: Helper) -> None:
    goal = parser.parse("put a mug in the sink and another mug on the table").goals[0]
    assert goal.distinct == (tuple(variable.name for variable in goal.variables if variable.class_name == "Mug"),)
    assert literals(goal) == {"in(Mug1, SinkBasin)", "in(Mug2, DiningTable)"}


def test_things_of_one_kind_are_distinct(parser: InstructionParser) -> None:
    goal = parser.parse("put two apples in the fridge").goals[0]
    assert len(goal.distinct) == 1 and len(goal.distinct[0]) == 2


def test_the_same_thing_again_is_the_same_thing(parser: InstructionParser, read: Helper) -> None:
    assert read(parser, "slice the bread and put the bread on the table") == [
        {"sliced(Bread)", "in(Bread, DiningTable)"}
    ]


def test_plural_without_a_number_is_read_as_two_and_said_so(parser: InstructionParser, literals: Helper) -> None:
    parsed = parser.parse("put the apples in the fridge")
    assert literals(parsed.goals[0]) == {"in(Apple1, Fridge)", "in(Apple2, Fridge)"}
    assert any("two" in note for note in parsed.notes)


UNKNOWN = [
    ("put the unicorn in the fridge", ("unicorn",)),
    ("frobnicate the mug", ("frobnicate",)),
    ("put the gizmo on the doohickey", ("gizmo", "doohickey")),
    ("put mug_9 in the sink", ("mug_9",)),
    ("put the café-1 in the fridge", ("café",)),
]


@pytest.mark.parametrize(("text", "words"), UNKNOWN)
def test_unknown_words_are_named(parser: InstructionParser, text: str, words: tuple[str, ...], refuse: Helper) -> None:
    parsed = refuse(parser, text)
    assert parsed.status is ParseStatus.NOT_UNDERSTOOD
    assert parsed.not_understood == words
    assert all(word in parsed.reason for word in words)


NOT_EXPRESSIBLE = [
    ("put all mugs in the sink", "number"),
    ("do not open the fridge", "must not"),
    ("don't open the fridge", "must not"),
    ("open the fridge if the apple is cold", "conditions"),
    ("put the red mug in the sink", "colours"),
    ("put the mug next to the plate", "in or on"),
    ("bring me a mug", "people"),
    ("open the mug", "Mug"),
    ("slice the plate", "sliceable"),
    ("put the apple on the desk lamp", "receptacle"),
    ("put the fridge in the mug", "Fridge"),
    ("heat the potato with the stove", "heats"),
    ("cut the bread with the spatula", "cuts"),
    ("pick up the mug and the plate", "both"),
    ("put two mugs in two cabinets", "one thing"),
    ("put a hot cold apple in the sink", "contradicts"),
    ("put 400 mugs in the sink", "at most"),
    ("put two slices of bread on the table", "parts"),
]


@pytest.mark.parametrize(("text", "because"), NOT_EXPRESSIBLE)
def test_what_cannot_be_said_as_a_goal_is_refused_with_the_reason(
    parser: InstructionParser, text: str, because: str, refuse: Helper
) -> None:
    parsed = refuse(parser, text)
    contradictory = because == "contradicts"
    assert parsed.status is (ParseStatus.CONTRADICTORY if contradictory else ParseStatus.NOT_EXPRESSIBLE)
    assert because in parsed.reason


@pytest.mark.parametrize(
    "text", ["", "  ", "?!", "the", "mug", "please", "put", "and then", "put the mug", "in the sink"]
)
def test_no_sentence_is_refused(parser: InstructionParser, text: str, refuse: Helper) -> None:
    assert refuse(parser, text).status is ParseStatus.NOT_UNDERSTOOD


def test_an_unfinished_sentence_gets_a_way_to_end_it(parser: InstructionParser, refuse: Helper) -> None:
    parsed = refuse(parser, "put away the mug.")
    assert "missing" in parsed.reason
    assert parsed.suggestions[0].startswith("put the mug")


def test_words_that_do_not_fit_in_are_named(parser: InstructionParser, refuse: Helper) -> None:
    parsed = refuse(parser, "put the mug in the sink tomato the fridge")
    assert parsed.not_understood and "tomato the fridge" in parsed.not_understood[0]


@pytest.mark.parametrize("text", [text for text, _ in UNKNOWN + NOT_EXPRESSIBLE] + ["hello world", "put"])
def test_every_suggestion_can_be_carried_out(parser: InstructionParser, text: str, refuse: Helper) -> None:
    suggestions = refuse(parser, text).suggestions
    assert suggestions
    for suggestion in suggestions:
        assert parser.parse(suggestion).understood


def test_a_slip_of_the_pen_is_mended_in_a_suggestion(parser: InstructionParser, refuse: Helper) -> None:
    assert refuse(parser, "put the mug in the fridg").suggestions[0] == "put the mug in the fridge"
    assert refuse(parser, "put the red mug in the sink").suggestions[0] == "put the mug in the sink"


@pytest.mark.parametrize("number", ["0", "zero", "-1", "−3", "-99", "7", "eight", "a dozen", "9" * 30])
def test_numbers_of_things_that_cannot_be_are_refused(parser: InstructionParser, refuse: Helper, number: str) -> None:
    refused = refuse(parser, f"put {number} mugs in the sink")
    assert refused.status is ParseStatus.NOT_EXPRESSIBLE
    assert number.replace("−", "-") in refused.reason


def test_a_goal_speaks_of_a_bounded_number_of_things(parser: InstructionParser, read: Helper, refuse: Helper) -> None:
    assert read(parser, "put six mugs and three cups in the sink")
    refused = refuse(parser, "put six mugs, six cups, six plates, six bowls and six forks in the sink")
    assert refused.status is ParseStatus.NOT_EXPRESSIBLE and "31 things" in refused.reason
    assert refused.suggestions


@pytest.mark.parametrize("text", ["put " * 250_000, "a" * 1_000_000, "put the mug in the sink. " * 20, "🍅" * 500_000])
def test_a_text_of_any_length_is_answered_at_once(parser: InstructionParser, refuse: Helper, text: str) -> None:
    started = time.process_time()
    refused = refuse(parser, text)
    assert time.process_time() - started < 2.0
    assert len(refused.reason) < 200 and refused.suggestions


# -- with a scene ---------------------------------------------------------------------------------------------------


def scene(*labels: str) -> SceneGraph:
    """A scene with things mug_1, mug_2, ... of the given classes."""
    graph = SceneGraph()
    for label in labels:
        number = 1 + sum(node.label == label for node in graph.nodes.values())
        name = f"{label.lower()}_{number}"
        graph.nodes[name] = SceneNode(name, label)
    return graph


def test_a_word_with_several_meanings_gets_that_which_is_there(parser: InstructionParser, read: Helper) -> None:
    assert read(parser, "turn on the lamp") == [{"switched_on(DeskLamp)"}]
    assert read(parser, "turn on the lamp", scene("FloorLamp", "Mug")) == [{"switched_on(FloorLamp)"}]
    assert parser.parse("turn on the lamp").notes


def test_a_thing_can_be_named_by_its_id(parser: InstructionParser, read: Helper) -> None:
    graph = scene("Mug", "Mug", "SinkBasin")
    assert read(parser, "put mug_2 in the sink", graph) == [{"in(mug_2, SinkBasin)"}]
    assert read(parser, "PUT Mug_2 IN sinkbasin_1", graph) == [{"in(mug_2, sinkbasin_1)"}]


def test_ids_are_whole_words(parser: InstructionParser, read: Helper, refuse: Helper) -> None:
    graph = scene(*["Mug"] * 10, "SinkBasin")
    assert read(parser, "put mug_10 in the sink", graph) == [{"in(mug_10, SinkBasin)"}]
    assert refuse(parser, "put mug_11 in the sink", graph).not_understood == ("mug_11",)


def test_where_a_thing_is_now_chooses_it(parser: InstructionParser, read: Helper) -> None:
    graph = scene("Mug", "Mug", "DiningTable", "SinkBasin")
    graph.relations.append(Relation("mug_2", "on", "diningtable_1"))
    for text in ("move the mug from the table to the sink", "put the mug on the table in the sink"):
        assert read(parser, text, graph) == [{"in(mug_2, SinkBasin)"}]


def test_how_a_thing_is_now_chooses_it(parser: InstructionParser, read: Helper) -> None:
    graph = scene("Plate", "Plate")
    graph.nodes["plate_2"].attributes["dirty"] = Attribute("dirty", Truth.TRUE)
    assert read(parser, "wash the dirty plate", graph) == [{"cleaned(plate_2)"}]


def test_a_description_that_tells_nothing_is_noted(parser: InstructionParser, literals: Helper) -> None:
    parsed = parser.parse("move the mug from the table to the sink")
    assert literals(parsed.goals[0]) == {"in(Mug, SinkBasin)"}
    assert any("any mug" in note for note in parsed.notes)


def test_suggestions_speak_of_things_that_are_there(parser: InstructionParser, refuse: Helper) -> None:
    suggestions = refuse(parser, "hello", scene("Egg", "Fridge")).suggestions
    assert suggestions
    assert all("egg" in text or "fridge" in text for text in suggestions)


@pytest.mark.parametrize(
    "text",
    [
        "put the bowl in the pot and the pot in the bowl",
        "put the mug in the cup, then put the cup in the mug",
        "put the bowl in the pot, the pot in the cup and the cup in the bowl",
    ],
)
def test_things_that_are_to_be_in_one_another_are_refused(parser: InstructionParser, text: str) -> None:
    parsed = parser.parse(text)
    assert parsed.status is ParseStatus.NOT_EXPRESSIBLE
    assert " in " in parsed.reason
