"""Reading domains: what the files say is served, what is wrong in them is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from graph_planner_ros.domain.domain import Domain, available_domains, load_domain
from graph_planner_ros.domain.paths import find_config
from graph_planner_ros.domain.pddl import read_pddl
from graph_planner_ros.domain.schema import DomainError, Literal, Term, UnknownClassError

WAREHOUSE = Path(__file__).parents[1] / "fixtures" / "domains" / "warehouse"


def test_the_household_domain_covers_alfreds_skills(household: Domain) -> None:
    wanted = {"go_to", "pick_up", "put", "open", "close", "slice", "heat", "cool", "clean", "toggle_on", "look"}
    assert wanted <= set(household.actions)
    assert household.name == "household"
    assert "household" in available_domains()


def test_types_form_a_tree(household: Domain) -> None:
    assert household.types["object"] is None
    assert household.is_a("movable_receptacle", "thing")
    assert household.is_a("item", "item")
    assert not household.is_a("fixture", "item")
    assert not household.is_a("unheard-of", "object")


def test_an_action_is_read_whole(household: Domain) -> None:
    go_to = household.actions["go_to"]
    assert go_to.parameters == (("from", "place"), ("to", "fixture"))
    assert go_to.preconditions == (Literal("at", ("from",)),)
    assert go_to.added == (Term("at", ("to",)),)
    assert go_to.deleted == (Term("at", ("from",)),)
    assert go_to.cost_terms == (Term("distance", ("from", "to")),)
    assert household.actions["slice"].cost == 3.0


def test_static_predicates_are_those_that_no_action_changes(household: Domain) -> None:
    assert {"openable", "cuts", "instance_of"} <= household.static_predicates
    assert not {"in", "closed", "hot"} & household.static_predicates


def test_the_yaml_is_served(household: Domain) -> None:
    assert household.class_of("Fridge").encloses
    assert household.assumptions["closed"].when == "openable"
    assert household.relations["on"].predicate == "in"
    assert household.skills["find"].skill == "look"
    assert household.hypotheses is not None and household.hypotheses.cost == "check_cost"
    assert household.none_of == {"hand_empty": "holding"}


def test_an_unknown_class_is_named(household: Domain) -> None:
    with pytest.raises(UnknownClassError, match="Zeppelin"):
        household.class_of("Zeppelin")
    with pytest.raises(KeyError):
        household.class_of("Zeppelin")


def test_case_is_kept_and_types_that_differ_only_in_case_stay_apart(warehouse: Domain) -> None:
    assert {"Robot", "robot"} <= set(warehouse.types)
    assert "notFilling" in warehouse.predicates
    assert "Drive" in warehouse.actions
    assert warehouse.predicates["plugged"].parameters[0].type_name == "robot"
    assert warehouse.actions["load"].parameters[1].type_name == "Robot"
    names = list(warehouse.pddl_names.values())
    assert len(names) == len(set(names))
    assert all(name == name.lower() for name in names)


def test_a_use_in_another_case_means_what_was_declared(warehouse: Domain) -> None:
    assert Literal("notFilling", ("r",)) in warehouse.actions["load"].preconditions


def test_a_use_that_could_mean_two_things_is_refused(tmp_path: Path) -> None:
    text = (WAREHOUSE / "domain.pddl").read_text().replace("?r - Robot ?a - Dock", "?r - ROBOT ?a - Dock")
    (tmp_path / "domain.pddl").write_text(text)
    with pytest.raises(DomainError, match="'ROBOT' could be any of Robot, robot"):
        read_pddl(tmp_path / "domain.pddl")


def test_constants_of_the_domain_are_read(warehouse: Domain) -> None:
    assert warehouse.constants == {"Home": "Dock"}
    assert warehouse.actions["plug"].added == (Term("plugged", ("o", "Home")),)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("type: Crate", "type: Crat", r"classes\.Crate\.type.*'Crat'.*'Crate'"),
        ("[notFilling, padded]", "[notFilling, paded]", r"classes\.Soft Carrier\.facts.*'padded'"),
        ("[notFilling, padded]", "[fragile]", r"classes\.Soft Carrier\.facts.*type 'Crate'"),
        ("likely_in: [Dock]", "likely_in: [Dok]", r"classes\.Crate\.likely_in.*'Dock'"),
        ("predicate: stored", "predicate: stord", r"relations\.stored in\.predicate.*'stored'"),
        ("[subject, object]", "[subject]", r"relations\.stored in\.predicate.*1 arguments"),
        ('text: "load {c} onto {r}"', 'text: "load {x}"', r"skills\.load\.text.*'x'"),
        ("assume: false", "assume: 0", r"attributes\.fragile\.assume.*true or false"),
        ("distance: metres", "distance: meters", r"distance.*'metres'"),
        ('  plug: {skill: plug, arguments: [o], text: "plug {o} in"}\n', "", r"skills.*action 'plug'"),
        ("attributes:", "atributes:", r"atributes.*did you mean 'attributes'"),
        ("meta: obj", "meta: food", r"classes\.Crate\.meta.*'food'"),
        ("words: [crate, box]", "words: [crate, no]", r"classes\.Crate\.words.*quoted"),
    ],
)
def test_a_wrong_entry_is_named_with_its_file_and_what_was_expected(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    shutil.copy(WAREHOUSE / "domain.pddl", tmp_path)
    text = (WAREHOUSE / "domain.yaml").read_text()
    assert old in text
    (tmp_path / "domain.yaml").write_text(text.replace(old, new, 1))
    with pytest.raises(DomainError, match=expected) as caught:
        load_domain(tmp_path)
    assert "domain.yaml" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("(:predicates", "(:predicates (", "domain.pddl"),
        ("(standsAt ?r ?d) (loaded ?c ?r)", "(or (standsAt ?r ?d) (loaded ?c ?r))", "action unload.*and, not, ="),
        (":effect (and (plugged ?o Home)", ":effect (and (when (fragile crate) (plugged ?o Home))", "domain.pddl"),
    ],
)
def test_pddl_that_is_not_understood_is_refused_by_name(tmp_path: Path, old: str, new: str, expected: str) -> None:
    shutil.copy(WAREHOUSE / "domain.yaml", tmp_path)
    text = (WAREHOUSE / "domain.pddl").read_text()
    assert old in text
    (tmp_path / "domain.pddl").write_text(text.replace(old, new, 1))
    with pytest.raises(DomainError, match=expected):
        load_domain(tmp_path)


def test_a_domain_that_does_not_exist_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"'kitchenette'.*household"):
        load_domain("kitchenette")


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    for name in ("domain.pddl", "domain.yaml"):
        shutil.copy(WAREHOUSE / name, tmp_path)
    first = load_domain(tmp_path)
    assert load_domain(tmp_path) is first
    text = (tmp_path / "domain.yaml").read_text()
    (tmp_path / "domain.yaml").write_text(text.replace("name: Warehouse", "name: Depot and more"))
    assert load_domain(tmp_path).name == "Depot and more"


def test_an_installed_package_finds_its_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "share" / "graph_planner_ros" / "config" / "somewhere"
    place.mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path}")
    assert find_config("somewhere") == place
    with pytest.raises(FileNotFoundError, match="elsewhere"):
        find_config("elsewhere")
