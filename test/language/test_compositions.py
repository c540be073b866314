"""Goals about things that are put together, in the words of the world, and in a world of another kind."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.symbols import Goal
from graph_planner_ros.language.compositions import Compositions, load_compositions
from graph_planner_ros.language.interface import Context
from graph_planner_ros.language.rules import load_language


@pytest.fixture(scope="module")
def domain() -> Domain:
    return load_domain("robotouille")


@pytest.fixture(scope="module")
def dishes(domain: Domain) -> Compositions:
    found = load_compositions(domain)
    assert found is not None
    return found


def literals(goal: Goal | None) -> list[str]:
    """Return the literals over classes, sorted."""
    assert goal is not None
    called = {variable.name: variable.class_name or "?" for variable in goal.variables}
    return sorted(f"{item.predicate}({', '.join(called[name] for name in item.arguments)})" for item in goal.literals)


def about(goal: Goal | None, predicate: str) -> list[str]:
    return [text for text in literals(goal) if text.startswith(f"{predicate}(")]


def chain(goal: Goal | None) -> list[str]:
    """Return what lies on what from the lowest to the highest."""
    assert goal is not None
    above = {item.arguments[1]: item.arguments[0] for item in goal.literals if item.predicate == "atop"}
    name = next(item.arguments[0] for item in goal.literals if item.predicate == "item_on")
    found = [name]
    while found[-1] in above:
        found.append(above[found[-1]])
    called = {variable.name: variable.class_name or "?" for variable in goal.variables}
    return [called[name] for name in found]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Prepare a tomato cheese chicken sandwich on a table", ["cheese", "chicken", "tomato"]),
        ("Prepare a sandwich with lettuce and tomato on a table", ["lettuce", "tomato"]),
        ("Prepare a fried chicken sandwich with lettuce and tomato on a table", ["chicken", "lettuce", "tomato"]),
        ("Prepare a lettuce cheeseburger", ["cheese", "lettuce", "patty"]),
        ("Make a lettuce fried chicken fried onion burger on a table.", ["chicken", "lettuce", "onion"]),
    ],
)
def test_parts_come_before_the_noun_or_after_with(dishes: Compositions, text: str, parts: list[str]) -> None:
    goal = dishes.goal(text, {})
    bread = {"bread", "bottombun", "topbun"}
    found = [item.removeprefix("item_at(").split(",")[0] for item in about(goal, "item_at")]
    assert sorted(name for name in found if name not in bread) == parts
    assert not about(goal, "atop")  # the text does not say in which order


def test_parts_are_prepared_as_usual_unless_the_text_says_otherwise(dishes: Compositions) -> None:
    goal = dishes.goal("Prepare a fried chicken sandwich with lettuce and cheese", {})
    assert about(goal, "isfried") == ["isfried(chicken)"] and not about(goal, "iscooked")
    assert about(goal, "iscut") == ["iscut(lettuce)"]
    soup = dishes.goal("Make potato tomato chicken soup with cut tomato and cooked chicken", {})
    assert about(soup, "iscut") == ["iscut(tomato)"] and about(soup, "iscooked") == ["iscooked(chicken)"]
    assert len(about(soup, "addedto")) == 3


def test_a_single_filling_lies_between_bottom_and_top(dishes: Compositions) -> None:
    assert chain(dishes.goal("Prepare a hamburger on a table", {})) == ["bottombun", "patty", "topbun"]
    assert chain(dishes.goal("Prepare a cheese sandwich on a table", {})) == ["bread", "cheese", "bread"]


def test_the_order_is_kept_where_the_text_says_it(dishes: Compositions) -> None:
    double = "a double cheeseburger on a table which contains two patties and two cheese slices interleaved"
    expected = ["bottombun", "patty", "cheese", "patty", "cheese", "topbun"]
    assert chain(dishes.goal(f"Prepare {double} (starting with a patty)", {})) == expected
    expected[1:5] = ["cheese", "patty", "cheese", "patty"]
    assert chain(dishes.goal(f"Prepare {double} (starting with a cheese slice)", {})) == expected


@pytest.mark.parametrize(
    ("text", "upwards"),
    [
        ("Make a lettuce tomato burger on a table with lettuce on tomato on patty.", "patty tomato lettuce"),
        ("Make a burger with lettuce and tomato on top of the patty", "patty tomato lettuce"),
        ("Make a burger with cheese, lettuce and tomato on the patty", "patty tomato lettuce cheese"),
        ("Make a burger with lettuce on the patty and cheese on the lettuce", "patty lettuce cheese"),
        ("Make a burger with patty, tomato, lettuce, cheese, in that order", "patty tomato lettuce cheese"),
        ("Make a lettuce burger with patty and cheese from bottom to top", "lettuce patty cheese"),
        ("Make a burger with patty, tomato, lettuce from top to bottom on a table", "lettuce tomato patty"),
        ("Make a burger with cut lettuce on top of fried onion on top of the patty", "patty onion lettuce"),
    ],
)
def test_what_is_said_to_be_on_top_of_what_is_the_order(dishes: Compositions, text: str, upwards: str) -> None:
    assert chain(dishes.goal(text, {})) == ["bottombun", *upwards.split(), "topbun"]


def test_an_order_of_some_parts_is_wanted_as_far_as_it_goes(dishes: Compositions) -> None:
    goal = dishes.goal("Make a tomato burger with cheese on lettuce and onion on the patty", {})
    assert about(goal, "atop") == ["atop(cheese, lettuce)", "atop(onion, patty)"]
    assert about(dishes.goal("Make a burger with lettuce and tomato on a table with cheese", {}), "atop") == []


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("Prepare two cheeseburgers on separate tables", 2),
        ("Prepare 3 hamburgers", 3),
        ("Prepare a tomato burger and fries on separate tables", 2),
        ("Prepare an onion cheese burger and fried onion rings on separate tables", 2),
        ("Make soup with a cut tomato and cut onion served into a bowl on a table and two chicken sandwiches", 3),
        (
            "Make soup with a whole onion and potato served into a bowl, a burger with lettuce and fried onion rings, "
            "and an onion chicken sandwich all on separate tables.",
            3,
        ),
    ],
)
def test_each_dish_has_a_place_of_its_own(dishes: Compositions, text: str, tables: int) -> None:
    goal = dishes.goal(text, {})
    assert goal is not None
    places = [variable.name for variable in goal.variables if variable.class_name == "table"]
    assert len(places) == tables and tuple(places) in goal.distinct


def test_numbers_count_parts(dishes: Compositions) -> None:
    goal = dishes.goal("Make onion soup with 3 cut onions and serve into a bowl on a table.", {})
    assert about(goal, "iscut") == ["iscut(onion)"] * 3
    assert about(goal, "addedto") == ["addedto(onion, water)"] * 3


def test_what_goes_without_saying_is_left_out_where_there_is_none(dishes: Compositions) -> None:
    text = "Make a burger with lettuce and cheese"
    without = {"lettuce1": "lettuce", "cheese1": "cheese", "topbun1": "topbun", "bottombun1": "bottombun"}
    assert not about(dishes.goal(text, without), "iscooked")
    assert about(dishes.goal(text, {**without, "patty1": "patty"}), "iscooked") == ["iscooked(patty)"]
    assert about(dishes.goal(text, {}), "iscooked") == ["iscooked(patty)"]


@pytest.mark.parametrize(
    "text",
    [
        "Prepare an avocado sandwich on a table", "Prepare a sandwich with an avocado on a table", "Open the window",
        "", ".", "with with with", "(((", "a " * 10_000, "Bereite ein Brot mit Käse zu", "999999999 sandwiches " * 9,
        "sandwich " * 150,
    ],
)  # fmt: skip
def test_what_is_not_understood_is_no_goal(dishes: Compositions, text: str) -> None:
    assert dishes.goal(text, {}) is None


def test_the_parser_reads_goals_about_compositions(domain: Domain) -> None:
    parser = load_language(domain).parser
    (goal,) = parser.goals("Prepare a cheese sandwich on a table", Context())
    assert goal.text == "Prepare a cheese sandwich on a table"
    assert parser.goals("Prepare an avocado sandwich on a table", Context()) == ()


# ---- another world


TOWER = """
place: {class: Shelf}
parts: {Vase: {prepared: [polished]}, Jug: {words: [pitcher]}}
states: [{words: [burnt], facts: [fired]}, {words: [rough], facts: [], instead_of: [polished]}]
kinds:
  set:
    words: [set]
    part: ["stands(part, place)"]
alone: {facts: ["stands(part, place)"]}
grammar: {one: [a, an], numbers: {two: 2}, with: [of], and: [and]}
"""


@pytest.fixture
def pottery(tmp_path: Path) -> Path:
    source = Path(__file__).parents[1] / "fixtures" / "domains" / "pottery"
    shutil.copytree(source, tmp_path / "pottery")
    (tmp_path / "pottery" / "compositions.yaml").write_text(TOWER)
    return tmp_path / "pottery"


def test_another_world_has_compositions_of_its_own(pottery: Path) -> None:
    found = load_compositions(load_domain(pottery))
    assert found is not None
    goal = found.goal("Bring me a set of two vases and a burnt pitcher", {})
    assert (
        literals(goal)
        == ["fired(Jug)", "polished(Vase)", "polished(Vase)"] + ["stands(Jug, Shelf)"] + ["stands(Vase, Shelf)"] * 2
    )
    assert literals(found.goal("a rough vase", {})) == ["stands(Vase, Shelf)"]


def test_a_domain_without_compositions_has_none() -> None:
    assert load_compositions(load_domain("household")) is None


@pytest.mark.parametrize(
    ("old", "new", "entry"),
    [
        ("class: Shelf", "class: Rack", "place.class"),
        ("Vase: {", "Vaze: {", "parts"),
        ("stands(part, place)", "stans(part, place)", "kinds.set.part"),
        ("stands(part, place)", "stands(part)", "kinds.set.part"),
        ("stands(part, place)", "stands(part, rack)", "kinds.set.part"),
        ("[{words: [burnt]", "[{words: [burnt", "not YAML"),
        (TOWER, "- 1", "expected a mapping"),
    ],
)
def test_wrong_entries_are_refused_by_name(pottery: Path, old: str, new: str, entry: str) -> None:
    (pottery / "compositions.yaml").write_text(TOWER.replace(old, new))
    with pytest.raises(DomainError, match=entry):
        load_compositions(load_domain(pottery))
