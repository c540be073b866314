"""The trained reader of instructions: what it hears, when it asks, and what it leaves to the rules."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.goal import check_goal
from graph_planner_ros.domain.symbols import Goal
from graph_planner_ros.language.instruction import InstructionParser, ParseStatus
from graph_planner_ros.language.understanding import (
    InstructionUnderstanding,
    ReaderFileError,
    make_reader,
    shipped_reader,
)
from graph_planner_ros.language.understanding.decoding import RoomPrior
from graph_planner_ros.language.understanding.examples import Example, hold_out
from graph_planner_ros.language.understanding.parts import MAX_PARTS, clearest, likeliest, places, spans
from graph_planner_ros.language.understanding.reader import SURE
from graph_planner_ros.language.understanding.slots import Meaning

KITCHEN = dict.fromkeys(
    ("CounterTop", "DiningTable", "Fridge", "Microwave", "SinkBasin", "Cabinet", "Drawer", "StoveBurner"), 1
)
THINGS = {"Tomato": 2, "Mug": 2, "Apple": 1, "Knife": 1, "Fork": 2, "Bowl": 1, "Potato": 1}


@pytest.fixture(scope="module")
def household() -> Domain:
    return load_domain("household")


@pytest.fixture(scope="module")
def reader(household: Domain) -> InstructionUnderstanding:
    made = make_reader(household, "trained")
    assert isinstance(made, InstructionUnderstanding)
    return made


def said(goals: tuple[Goal, ...]) -> set[str]:
    """Return the literals of the last goal with classes in place of variables."""
    classes = {variable.name: variable.class_name or "" for variable in goals[-1].variables}
    return {
        f"{'' if literal.positive else 'not '}{literal.predicate}({', '.join(classes[n] for n in literal.arguments)})"
        for literal in goals[-1].literals
    }


GOLDEN = {
    "Put a chilled tomato on the dining table.": {"in(Tomato, DiningTable)", "cold(Tomato)"},
    "Take a mug to the sink, rinse it, and leave it in the cabinet.": {"in(Mug, Cabinet)", "cleaned(Mug)"},
    "Warm up a potato and place it in the refrigerator.": {"in(Potato, Fridge)", "hot(Potato)"},
    "Put two forks in a drawer.": {"in(Fork, Drawer)"},
    "Place a bowl with a fork in it on the counter.": {"in(Fork, Bowl)", "in(Bowl, CounterTop)"},
}


@pytest.mark.parametrize("text", GOLDEN, ids=str)
@pytest.mark.parametrize("kind", ["auto", "trained"])
def test_people_are_understood(household: Domain, kind: str, text: str) -> None:
    made = make_reader(household, kind)
    assert isinstance(made, InstructionUnderstanding)
    parsed = made.parse(text, present={**KITCHEN, **THINGS})
    assert parsed.understood and said(parsed.goals) == GOLDEN[text], parsed


def test_words_that_nobody_taught_the_rules_are_understood(household: Domain) -> None:
    text = "Remove the chilled apple from the refrigerator door to stow it by the dishwasher on the counter"
    assert not InstructionParser(household).parse(text).understood
    made = make_reader(household, "auto")
    assert isinstance(made, InstructionUnderstanding)
    parsed = made.parse(text, present={**KITCHEN, **THINGS})
    assert "in(Apple, CounterTop)" in said(parsed.goals), parsed


def test_several_requests_in_one_text_are_all_heard(household: Domain) -> None:
    text = "Put a mug in the sink. Then put a heated potato in the fridge, and then put two forks in the drawer."
    made = make_reader(household, "auto")
    assert isinstance(made, InstructionUnderstanding)
    parsed = made.parse(text, present={**KITCHEN, **THINGS})
    assert said(parsed.goals) == {"in(Mug, SinkBasin)", "in(Potato, Fridge)", "hot(Potato)", "in(Fork, Drawer)"}


@pytest.mark.parametrize("kind", ["auto", "trained"])
@pytest.mark.parametrize(
    "text",
    [
        "do not put the mug in the sink",
        "put all mugs in the sink",
        "if the mug is dirty put it in the sink",
        "stop putting apples in the fridge",
        "it is forbidden to put the knife in the microwave",
        "you can't put the mug in the sink",
        "nobody should put a mug in the sink",
        "put a mug anywhere but the sink",
        "put one hundred mugs in the sink",
    ],
)
def test_what_forbids_or_makes_conditions_is_never_acted_against(household: Domain, kind: str, text: str) -> None:
    assert make_reader(household, kind).parse(text).status is ParseStatus.NOT_EXPRESSIBLE


@pytest.mark.parametrize(
    "text",
    [
        "open the drawer",
        "turn on the stove",
        "pick up the mug",
        "slice the bread",
        "put an apple and two mugs in the fridge",
    ],
)
def test_what_the_rules_are_sure_of_is_done_as_they_say(household: Domain, text: str) -> None:
    ruled = InstructionParser(household).parse(text)
    assert make_reader(household, "auto").parse(text).goals == ruled.goals


def test_words_that_were_left_out_are_named(household: Domain) -> None:
    parsed = make_reader(household, "auto").parse("put the red mug in the sink", None)
    assert parsed.understood and "'red'" in " ".join(parsed.notes)


def test_who_is_not_sure_asks_back(household: Domain) -> None:
    parsed = make_reader(household, "auto").parse("store the stuff someplace fine")
    assert parsed.status is ParseStatus.NOT_UNDERSTOOD and parsed.suggestions


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(("stuff", "fruit", "thing", "kitchen", "place", "nice", "put", "table")), max_size=9))
def test_who_is_careful_never_acts_on_what_it_is_not_sure_of(words: list[str]) -> None:
    parsed = make_reader(load_domain("household"), "auto").parse(" ".join(words))
    assert not parsed.understood or parsed.confidence >= SURE


@pytest.mark.parametrize("number", ["0", "-1", "7", "999999999999", "2.5", "zero", "twelve"])
def test_numbers_that_no_structure_has_are_for_the_rules(reader: InstructionUnderstanding, number: str) -> None:
    domain = load_domain("household")
    text = f"put {number} mugs in the sink"
    ruled = InstructionParser(domain).parse(text)
    assert reader.parse(text) == ruled and make_reader(domain, "auto").parse(text) == ruled


def test_things_that_were_spoken_of_and_not_used_are_named(reader: InstructionUnderstanding) -> None:
    parsed = reader.parse("wash a plate, a mug and a fork and put them on the table")
    used = {variable.class_name for variable in parsed.goals[-1].variables}
    for name in {"Plate", "Mug", "Fork"} - used:
        assert repr(name.lower()) in " ".join(parsed.notes)
    tool = reader.parse("use a knife to slice a tomato and put a slice in the fridge")
    assert tool.understood and "knife" not in " ".join(tool.notes)


@pytest.mark.parametrize("kind", ["auto", "trained"])
def test_what_is_said_behind_the_end_of_what_is_read_is_not_dropped(household: Domain, kind: str) -> None:
    text = f"place a mug {'with an extraordinarily ornamented handle ' * 10}in the sink"
    assert not make_reader(household, kind).parse(text).understood


def test_what_is_there_decides_what_a_word_means(reader: InstructionUnderstanding) -> None:
    for table in ("SideTable", "CoffeeTable", "DiningTable"):
        parsed = reader.parse("put a book on the table", present={table: 1, "Book": 1, "Bed": 1})
        assert f"in(Book, {table})" in said(parsed.goals)


WORDS = ("put", "mug", "in", "the", "fridge", "and", "then", ",", ".", "heat", "it")


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.text(max_size=300), st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join)))
def test_any_text_becomes_goals_that_the_domain_can_judge_or_a_reason(text: str) -> None:
    domain = load_domain("household")
    for kind in ("auto", "trained"):
        parsed = make_reader(domain, kind).parse(text)
        assert parsed.understood or parsed.reason
        assert 0.0 <= parsed.confidence <= 1.0
        for goal in parsed.goals:
            check_goal(goal, domain)


@pytest.mark.parametrize("text", ["x" * 10**6, "put " * 10**5, "\n" * 10**5])
def test_long_texts_are_refused(reader: InstructionUnderstanding, text: str) -> None:
    assert not reader.parse(text).understood


# ---- files


@pytest.fixture
def copy(household: Domain, tmp_path: Path) -> Path:
    source = shipped_reader(household)
    assert source is not None
    return Path(shutil.copytree(source, tmp_path / "reader"))


@pytest.mark.parametrize(
    "name", ["header.json", "model.onnx", "vocabulary.txt.gz", "rooms.json.gz", "evidence.json.gz"]
)
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "other"])
def test_damaged_files_are_named(household: Domain, copy: Path, name: str, damage: str) -> None:
    path = copy / name
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes({"empty": b"", "cut": content[: len(content) // 2], "other": b"{}"}[damage])
    with pytest.raises(ReaderFileError) as raised:
        make_reader(household, "trained", copy)
    assert str(copy) in str(raised.value)


def test_a_reader_of_other_classes_is_refused(household: Domain, copy: Path) -> None:
    header = json.loads((copy / "header.json").read_text())
    header["candidates"]["object_target"].append("Unicorn")
    (copy / "header.json").write_text(json.dumps(header))
    with pytest.raises(ReaderFileError, match="Unicorn"):
        make_reader(household, "trained", copy)


def test_domains_without_a_trained_reader_have_the_rules() -> None:
    domain = load_domain("virtualhome")
    assert isinstance(make_reader(domain), InstructionParser)
    with pytest.raises(ReaderFileError, match="virtualhome"):
        make_reader(domain, "trained")
    with pytest.raises(ValueError, match="there are: auto, rules, trained"):
        make_reader(domain, "magic")


# ---- parts


def test_a_text_is_split_where_both_sides_are_requests() -> None:
    text = "put a mug and a fork in the sink and then heat an egg"
    texts = spans(text, places(text, {"then", "and then"}, {"and"}, {"put", "heat"}))
    values = {span: 0.0 if part.count("put") + part.count("heat") == 1 else -9.0 for span, part in texts.items()}
    assert [texts[span] for span in likeliest(values)] == ["put a mug and a fork in the sink", "heat an egg"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("wash a spoon and put it next to the sink", ["wash a spoon", "put it next to the sink"]),
        ("put it to the left, then heat an egg", ["put it to the left", "heat an egg"]),
        ("put a mug away and then the egg", ["put a mug away", "the egg"]),
        ("put a mug away, then to heat an egg", ["put a mug away", "heat an egg"]),
    ],
)
def test_words_of_places_are_no_new_step(text: str, parts: list[str]) -> None:
    texts = spans(text, places(text, {"then", "next", "to", "and then"}, {"and"}, {"put", "heat", "wash"}))
    last = max(last for _, last in texts)
    assert [texts[index, index] for index in range(last + 1)] == parts


@given(st.text(max_size=80))
def test_places_are_in_order_and_inside(text: str) -> None:
    cuts = places(text, {"then", "to"}, {"and"}, {"put"})
    assert all(0 <= start <= end < len(text) for start, end in cuts)
    assert cuts == sorted(cuts)
    texts = spans(text, cuts)
    assert all(texts[index, index] for index in range(len(cuts) + 1)) or not cuts


@given(
    st.integers(1, 7).flatmap(
        lambda n: st.lists(
            st.tuples(st.integers(-9, 0), st.integers(-9, 0)), min_size=n * (n + 1) // 2, max_size=n * (n + 1) // 2
        )
    )
)
def test_the_best_way_to_split_is_found_without_looking_at_all(numbers: list[tuple[int, int]]) -> None:
    count = next(n for n in range(1, 8) if n * (n + 1) // 2 == len(numbers))
    all_spans = [(first, last) for first in range(count) for last in range(first, count)]
    values = {span: float(value) for span, (value, _) in zip(all_spans, numbers, strict=True)}
    clear = {span: float(value) for span, (_, value) in zip(all_spans, numbers, strict=True)}

    def ways(begin: int, parts: int) -> list[float]:
        if begin == count:
            return [0.0]
        ends = range(begin, count) if parts else ()
        return [values[begin, last] + clear[begin, last] + rest for last in ends for rest in ways(last + 1, parts - 1)]

    asked: list[tuple[int, int]] = []

    def clarity(span: tuple[int, int]) -> float:
        asked.append(span)
        return clear[span]

    found = clearest(values, clarity)
    assert sum(values[span] + clear[span] for span in found) == max(ways(0, MAX_PARTS))
    assert len(set(asked)) == len(asked)
    assert [found[0][0], *(last + 1 for _, last in found)] == [first for first, _ in found] + [count]


# ---- rooms


def example(room: str, structure: str, present: dict[str, int]) -> Example:
    return Example("text", Meaning(structure, ("Mug",)), present, room, f"{room} {structure}")


def test_a_room_like_one_that_is_known_has_its_habits() -> None:
    fixed = frozenset({"Fridge", "Bed", "Sofa"})
    prior = RoomPrior.of([example("kitchen", "cool", {"Fridge": 1}), example("bedroom", "put", {"Bed": 1})], fixed)
    room = prior.nearest(frozenset({"Fridge"}))
    assert room.likeness == 1.0 and set(room.shares) == {Meaning("cool", ("Mug",))}
    assert prior.nearest(frozenset({"Sofa"})).likeness == 0.0
    again = RoomPrior.from_json(json.loads(json.dumps(prior.to_json())))
    assert again.nearest(frozenset({"Bed"})) == prior.nearest(frozenset({"Bed"}))


def test_held_out_parts_share_neither_rooms_nor_episodes() -> None:
    examples = [example(f"room {index % 7}", f"s{index}", {}) for index in range(70)]
    parts = hold_out(examples, 3, rooms=2, episodes=10)
    assert {e.room for e in parts.fit}.isdisjoint(e.room for e in parts.unseen_rooms)
    assert {e.episode for e in parts.fit}.isdisjoint(e.episode for e in parts.seen_rooms)
    assert len(parts.fit) + len(parts.seen_rooms) + len(parts.unseen_rooms) == 70
    assert hold_out(examples, 3, rooms=2, episodes=10) == parts
