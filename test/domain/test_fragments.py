"""Domain fragments: skills added by two files alone; a clash is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.domain.fragments import available_fragments
from graph_planner_ros.domain.schema import DomainError

WAREHOUSE = Path(__file__).parents[1] / "fixtures" / "domains" / "warehouse"
PDDL = """; seals crates
(define (fragment sealing)
  (:predicates (Sealed ?c - Crate))
  (:action seal :parameters (?c - Crate ?d - Dock)
    :precondition (and (stored ?c ?d) (not (Sealed ?c))) :effect (and (Sealed ?c))))
"""
YAML = """
classes: {Crate: {words: [parcel]}}
attributes: {Sealed: {visible: true}}
skills: {seal: {skill: seal, arguments: [c], text: "seal {c}"}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    target = tmp_path / "warehouse"
    shutil.copytree(WAREHOUSE, target)
    write(target, PDDL, YAML)
    return target


def write(folder: Path, pddl: str, yaml: str, name: str = "sealing") -> None:
    (folder / "fragments").mkdir(exist_ok=True)
    (folder / "fragments" / f"{name}.pddl").write_text(pddl)
    (folder / "fragments" / f"{name}.yaml").write_text(yaml)


def test_a_fragment_adds_skills_and_the_domain_alone_stays_as_it_was(folder: Path) -> None:
    alone, more = load_domain(folder), load_domain(f"{folder}+sealing")
    assert "seal" not in alone.actions and "seal" in more.actions
    assert set(more.actions) == {*alone.actions, "seal"}
    assert more.name == f"{alone.name}+sealing"
    assert more.actions["Drive"] == alone.actions["Drive"]  # spelling and all
    assert more.class_of("Crate").words == (*alone.class_of("Crate").words, "parcel")
    assert load_domain(f"{folder}+sealing") is more
    assert available_fragments(folder) == ("sealing",)


def test_several_fragments_are_added_in_turn(folder: Path) -> None:
    write(
        folder,
        "(define (fragment weighing) (:action weigh :parameters (?c - Crate) :precondition (and (Sealed ?c)) "
        ":effect (and (not (Sealed ?c)))))",
        'skills: {weigh: {skill: weigh, arguments: [c], text: "weigh {c}"}}',
        "weighing",
    )
    assert {"seal", "weigh"} <= set(load_domain(f"{folder}+sealing+weighing").actions)
    with pytest.raises(DomainError, match="sealed"):
        load_domain(f"{folder}+weighing")


def test_a_changed_fragment_is_read_again(folder: Path) -> None:
    assert load_domain(f"{folder}+sealing").skills["seal"].text == "seal {c}"
    write(folder, PDDL, YAML.replace('"seal {c}"', '"close {c} for good"'))
    assert load_domain(f"{folder}+sealing").skills["seal"].text == "close {c} for good"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("(Sealed ?c - Crate)", "(STORED ?c - Crate)", "the predicate 'STORED' is in the domain already"),
        ("(:action seal", "(:action load", "the action 'load' is in the domain already"),
        ("(define (fragment", "(define (domain", r"expected \(define \(fragment sealing\)"),
        ("(:predicates (Sealed ?c - Crate))", "(:goal (Sealed))", "expected sections out of"),
        ("(Sealed ?c))))", "(Sealed ?c)))", "never closed"),
        ("(Sealed ?c))))", "(Sealed ?c)))))", "too many"),
        (":effect (and (Sealed ?c))", ":effect (and (Wrapped ?c))", "domain.pddl"),
    ],
)
def test_a_wrong_pddl_fragment_is_named(folder: Path, old: str, new: str, expected: str) -> None:
    assert old in PDDL
    write(folder, PDDL.replace(old, new), YAML)
    with pytest.raises(DomainError, match=expected):
        load_domain(f"{folder}+sealing")
    load_domain(folder)


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        (YAML + "name: Depot", "name: the domain says 'Warehouse' already"),
        (YAML.replace("words: [parcel]", "type: Dock"), r"classes\.Crate\.type: the domain says 'Crate' already"),
        (YAML.replace("seal {c}", "seal {x}"), r"domain\.yaml with sealing\.yaml: skills\.seal\.text.*'x'"),
        (YAML.replace("skills:", "skils:"), "did you mean 'skills'|expected an entry for the action 'seal'"),
        (YAML + "remove: {classes: {Crate: {words: [barrel]}}}", r"remove\.classes\.Crate\.words.*'barrel'"),
        (YAML + "remove: {colours: [red]}", r"remove\.colours: the domain has no such entry"),
        (YAML + "remove: {classes: [Crate]}", r"remove\.classes: expected the shape"),
        ("- 1", "expected a mapping"),
        ("{", "not YAML"),
    ],
)
def test_a_wrong_yaml_fragment_is_named(folder: Path, yaml: str, expected: str) -> None:
    write(folder, PDDL, yaml)
    with pytest.raises(DomainError, match=expected) as caught:
        load_domain(f"{folder}+sealing")
    assert "sealing.yaml" in str(caught.value)


def test_words_can_be_taken_away(folder: Path) -> None:
    write(folder, PDDL, YAML + "remove: {classes: {Crate: {words: [box]}}}")
    assert load_domain(f"{folder}+sealing").class_of("Crate").words == ("crate", "parcel")


@pytest.mark.parametrize("name", ["household+nothing", "household+", "household+ai2thor_skills+nothing"])
def test_a_fragment_that_does_not_exist_is_named_with_those_that_do(name: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"no fragment.*ai2thor_skills"):
        load_domain(name)


def test_a_fragment_needs_both_files(folder: Path) -> None:
    (folder / "fragments" / "sealing.yaml").unlink()
    with pytest.raises(FileNotFoundError, match=r"sealing\.yaml"):
        load_domain(f"{folder}+sealing")


def test_the_same_fragment_twice_is_refused() -> None:
    with pytest.raises(DomainError, match="in the domain already"):
        load_domain("household+ai2thor_skills+ai2thor_skills")


def test_a_folder_with_a_plus_in_its_name_is_a_folder(folder: Path) -> None:
    odd = folder.parent / "ware+house"
    folder.rename(odd)
    assert "seal" not in load_domain(odd).actions


def test_the_household_is_not_changed_by_its_fragment(household: Domain) -> None:
    load_domain("household+ai2thor_skills")
    assert "cook" in household.wording["phrases"]["HEAT"]
    assert "breakable" not in household.class_of("Mug").facts
