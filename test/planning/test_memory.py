"""Positive memory prices places, negative memory excludes them; both survive on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.planning.memory import KAPPA_BASE, LAMBDA, NegativeMemory, PositiveMemory
from graph_planner_ros.planning.storage import StoredMemoryError

DOMAIN = load_domain("household")
PLACES = {"fridge_1": "Fridge", "drawer_1": "Drawer", "drawer_2": "Drawer", "cabinet_1": "Cabinet"}


def test_the_prior_of_the_domain_makes_likely_places_cheap() -> None:
    costs = PositiveMemory(DOMAIN).costs("slice the bread", "Knife", PLACES)
    assert min(costs, key=lambda place: costs[place]) in ("drawer_1", "drawer_2")
    assert costs["drawer_1"] < costs["fridge_1"]


@given(label=st.sampled_from(sorted(DOMAIN.classes)), text=st.text(max_size=40))
def test_costs_stay_within_the_bounds_of_the_formula(label: str, text: str) -> None:
    costs = PositiveMemory(DOMAIN).costs(text, label, PLACES)
    assert set(costs) == set(PLACES)
    assert all(KAPPA_BASE <= cost <= KAPPA_BASE + LAMBDA for cost in costs.values())
    assert min(costs.values()) == pytest.approx(KAPPA_BASE)


def test_what_was_seen_somewhere_makes_that_place_cheaper_than_others_of_its_kind() -> None:
    memory = PositiveMemory(DOMAIN)
    memory.observe([("spatula_1", "Spatula", "drawer_2", "Drawer")])
    costs = memory.costs("", "Spatula", PLACES)
    assert costs["drawer_2"] < costs["drawer_1"]


def test_seeing_the_same_thing_in_the_same_place_again_counts_once() -> None:
    memory = PositiveMemory(DOMAIN)
    for _ in range(5):
        memory.observe([("mug_1", "Mug", "drawer_2", "Drawer")])
    assert memory.seen == {("Mug", "drawer_2"): 1.0}


def test_a_hint_outweighs_every_guess() -> None:
    costs = PositiveMemory(DOMAIN).costs("", "Knife", PLACES, {"fridge_1": 1.0, "elsewhere": 1.0})
    assert min(costs, key=lambda place: costs[place]) == "fridge_1"


def test_no_places_no_costs() -> None:
    assert PositiveMemory(DOMAIN).costs("", "Knife", {}) == {}


def test_a_refutation_fades_and_no_longer_excludes() -> None:
    memory = NegativeMemory(half_life=100.0, threshold=0.25)
    memory.refute("Mug", "drawer_1", 0.9, 10.0)
    assert memory.is_refuted("Mug", "drawer_1", 10.0)
    assert memory.confidence("Mug", "drawer_1", 110.0) == pytest.approx(0.45)
    assert not memory.is_refuted("Mug", "drawer_1", 410.0)
    assert not memory.is_refuted("Mug", "drawer_2", 10.0)


def test_later_evidence_withdraws_a_refutation_and_older_or_known_does_not() -> None:
    memory = NegativeMemory()
    memory.refute("Mug", "drawer_1", 0.9, 10.0, known=["mug_1"])
    assert not memory.contradict("Mug", "drawer_1", 9.0, "mug_2")
    assert not memory.contradict("Mug", "drawer_1", 11.0, "mug_1")
    assert memory.contradict("Mug", "drawer_1", 11.0, "mug_2")
    assert not memory.is_refuted("Mug", "drawer_1", 12.0)


def test_the_least_certain_of_those_that_are_not_certain_is_relaxed_once_a_task() -> None:
    memory = NegativeMemory()
    places = ["drawer_1", "drawer_2", "drawer_3"]
    for place, confidence in zip(places, (0.6, 0.5, 0.9), strict=True):
        memory.refute("Mug", place, confidence, 10.0)
    assert [memory.relax("Mug", places, 11.0).place for _ in range(2)] == ["drawer_2", "drawer_1"]  # type: ignore
    assert memory.relax("Mug", places, 11.0) is None  # the third is certain
    memory.refute("Mug", "drawer_2", 0.5, 12.0)
    assert memory.is_refuted("Mug", "drawer_2", 12.0)
    assert memory.relax("Mug", places, 13.0) is None


def test_what_was_found_out_in_an_earlier_task_is_looked_at_again_however_certain() -> None:
    memory = NegativeMemory()
    places = [f"drawer_{number}" for number in range(8)]
    for place in places:
        memory.refute("Mug", place, 1.0, 10.0)
    assert memory.relax("Mug", places, 11.0) is None
    memory.new_task()
    for _ in places:
        relaxed = memory.relax("Mug", places, 11.0)
        assert relaxed is not None
        memory.refute("Mug", relaxed.place, 1.0, 12.0)
    assert memory.relax("Mug", places, 13.0) is None


def test_a_task_looks_again_at_a_few_places_only() -> None:
    memory = NegativeMemory(max_looks_again=2)
    places = [f"drawer_{number}" for number in range(8)]
    for place in places:
        memory.refute("Mug", place, 0.4, 10.0)
    assert [memory.relax("Mug", places, 11.0) is not None for _ in range(3)] == [True, True, False]


def test_what_was_refuted_before_a_thing_was_seen_elsewhere_is_withdrawn_when_that_has_gone() -> None:
    memory = NegativeMemory()
    memory.refute("Mug", "drawer_1", 1.0, 10.0)
    memory.refute("Mug", "drawer_2", 1.0, 30.0)
    memory.refute("Egg", "drawer_1", 1.0, 10.0)
    assert memory.withdraw_before("Mug", 20.0) == 1
    refuted = [pair for pair in (("Mug", "drawer_1"), ("Mug", "drawer_2"), ("Egg", "drawer_1"))
               if memory.is_refuted(*pair, 30.0)]  # fmt: skip
    assert refuted == [("Mug", "drawer_2"), ("Egg", "drawer_1")]
    memory.refute("Mug", "drawer_1", 1.0, 15.0)  # an old look says nothing any more
    assert not memory.is_refuted("Mug", "drawer_1", 30.0)


def test_older_evidence_does_not_replace_newer_and_time_may_jump_back() -> None:
    memory = NegativeMemory()
    memory.refute("Mug", "drawer_1", 0.9, 100.0)
    memory.refute("Mug", "drawer_1", 0.1, 50.0)
    assert memory.confidence("Mug", "drawer_1", 100.0) == pytest.approx(0.9)
    memory.clock_went_back(5.0)
    memory.refute("Mug", "drawer_1", 0.5, 6.0)
    assert memory.confidence("Mug", "drawer_1", 6.0) == pytest.approx(0.5)


def test_memories_come_back_from_disk_as_they_were(tmp_path: Path) -> None:
    negative = NegativeMemory()
    negative.refute("Mug", "Schublade (2) é", 0.9, 10.0, known=["mug_1"])
    negative.save(tmp_path / "deep" / "negative.json")
    other = NegativeMemory()
    other.load(tmp_path / "deep" / "negative.json")
    assert other.get("Mug", "Schublade (2) é") == negative.get("Mug", "Schublade (2) é")
    positive = PositiveMemory(DOMAIN)
    positive.observe([("mug_1", "Mug", "drawer_2", "Drawer")])
    positive.save(tmp_path / "positive.json")
    again = PositiveMemory(DOMAIN)
    again.load(tmp_path / "positive.json")
    assert again.seen == positive.seen
    assert again.costs("", "Mug", PLACES) == positive.costs("", "Mug", PLACES)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("0.9", "NaN"),
        ("0.9", '"x"'),
        ("0.9", "5"),
        ("0.9", "-1"),
        ("10.0", "Infinity"),
        ("10.0", "null"),
        ('"Mug"', "3"),
        ('"relaxations": 0', '"relaxations": "many"'),
        ('"earlier": false', '"earlier": 1'),
        ('"refutations": [', '"refutations": [' + "[" * 100_000),
    ],
)
def test_wrong_values_in_a_file_are_found_when_it_is_read(tmp_path: Path, right: str, wrong: str) -> None:
    path = tmp_path / "negative.json"
    memory = NegativeMemory()
    memory.refute("Mug", "drawer_1", 0.9, 10.0)
    memory.save(path)
    text = path.read_text()
    assert right in text
    path.write_text(text.replace(right, wrong))
    with pytest.raises(StoredMemoryError, match=r"negative\.json"):
        NegativeMemory().load(path)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"kind": "negative memory"}', '{"kind": "negative memory", "refutations": [{"what": 1}]}']
)
def test_a_damaged_file_is_named_and_memory_stays_as_it_was(tmp_path: Path, text: str) -> None:
    path = tmp_path / "negative.json"
    path.write_text(text)
    memory = NegativeMemory()
    memory.refute("Mug", "drawer_1", 0.9, 10.0)
    with pytest.raises(StoredMemoryError, match=r"negative\.json"):
        memory.load(path)
    assert len(memory) == 1


def test_a_crash_while_saving_leaves_the_old_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "negative.json"
    memory = NegativeMemory()
    memory.refute("Mug", "drawer_1", 0.9, 10.0)
    memory.save(path)
    before = path.read_bytes()

    def crash(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", crash)
    memory.refute("Mug", "drawer_2", 0.9, 10.0)
    with pytest.raises(OSError, match="disk full"):
        memory.save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["negative.json"]


@pytest.mark.parametrize(
    "options",
    [{"half_life": 0.0}, {"threshold": 2.0}, {"max_relaxations": -1}, {"doubtful": 1.5}, {"max_looks_again": -1}],
)
def test_bad_parameters_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expects"):
        NegativeMemory(**options)  # type: ignore[arg-type]
