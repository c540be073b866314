"""Reading of trajectories and of the map, ground-truth goals and scenes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.benchmarks.alfred.annotation_map import Request, load_map
from graph_planner_ros.benchmarks.alfred.data import AlfredDataError, data_file, file_hash, read_trajectories
from graph_planner_ros.benchmarks.alfred.samples import read_samples, sample_of
from graph_planner_ros.benchmarks.alfred.scene import make_scene
from graph_planner_ros.domain.goal import goal_holds
from graph_planner_ros.scene.facts import symbolic_state

FEW = Path(__file__).resolve().parents[2] / "fixtures" / "alfred" / "few.jsonl"
MAP = load_map()
LINE = json.loads(FEW.read_text().splitlines()[0])
CLASSES = yaml.safe_load(FEW.with_name("classes.yaml").read_text())


def test_the_domain_has_all_classes_of_alfred() -> None:
    names = [*CLASSES["targets"], *CLASSES["receptacles"]]
    assert [name for name in names if name not in MAP.domain.classes] == []
    assert all(MAP.domain.classes[name].words for name in names)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"plan": None}, "plan"),
        ({"plan": [[]]}, "without a name"),
        ({"plan": [["PickupObject", 3]]}, "plan"),
        ({"objects": [["Apple", 0]]}, "Apple"),
        ({"objects": [["Apple"]]}, "objects"),
        ({"objects": [["Apple", True]]}, "objects"),
        ({"fixtures": "Fridge"}, "fixtures"),
        ({"annotations": ["x"]}, "annotations"),
        ({"annotations": [{"goal": " "}]}, "goal"),
        ({"params": {"object_sliced": "no"}}, "object_sliced"),
        ({"params": {"object_target": 1}}, "object_target"),
        ({"task_type": 3}, "task_type"),
        ({"id": ""}, "id"),
    ],
)
def test_wrong_data_are_named(tmp_path: Path, change: dict, named: str) -> None:
    file = tmp_path / "wrong.jsonl"
    file.write_text(json.dumps({**LINE, **change}) + "\n")
    with pytest.raises(AlfredDataError, match="line 1") as raised:
        read_trajectories(file)
    assert named in str(raised.value)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "no trajectories"),
        (b"[1]\n", "JSON object"),
        (b"{\n", "no JSON"),
        (b"\xff\xfe\n", "no UTF-8"),
        (b"\x1f\x8bnot really", "cannot be read"),
    ],
)
def test_files_of_something_else_are_named(tmp_path: Path, content: bytes, named: str) -> None:
    file = tmp_path / "wrong.jsonl"
    file.write_bytes(content)
    with pytest.raises(AlfredDataError, match=named):
        read_trajectories(file)


def test_the_same_id_twice_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "twice.jsonl"
    file.write_text((json.dumps(LINE) + "\n") * 2)
    with pytest.raises(AlfredDataError, match="twice"):
        read_trajectories(file)


@pytest.mark.parametrize("name", list(LINE))
def test_missing_fields_are_named(tmp_path: Path, name: str) -> None:
    file = tmp_path / "wrong.jsonl"
    file.write_text(json.dumps({key: value for key, value in LINE.items() if key != name}) + "\n")
    with pytest.raises(AlfredDataError, match=f"{name}.*missing"):
        read_trajectories(file)


def test_packed_and_plain_files_are_the_same(tmp_path: Path) -> None:
    packed = tmp_path / "valid_seen.jsonl.gz"
    packed.write_bytes(gzip.compress(FEW.read_bytes()))
    assert data_file(tmp_path, "valid_seen") == packed
    assert file_hash(packed) == file_hash(FEW)
    assert read_trajectories(packed) == read_trajectories(FEW)


def test_a_split_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AlfredDataError, match="valid_unseen"):
        data_file(tmp_path, "valid_unseen")
    with pytest.raises(AlfredDataError, match="does not exist"):
        data_file(tmp_path / "nothing", "train")


@pytest.mark.parametrize(
    ("task", "params", "sliced", "text"),
    [
        ("pick_and_place_simple", ("Book", "Bed", "", ""), False, "in(i, r)"),
        ("pick_two_obj_and_place", ("Book", "Bed", "", ""), True, "in(i, r) in(j, r) sliced(i) sliced(j)"),
        ("pick_and_place_with_movable_recep", ("Pen", "Bed", "Box", ""), False, "in(i, m) in(m, r)"),
        ("pick_heat_then_place_in_recep", ("Apple", "Sofa", "", ""), True, "in(i, r) hot(i) sliced(i)"),
        ("pick_cool_then_place_in_recep", ("Apple", "Sofa", "", ""), False, "in(i, r) cold(i)"),
        ("pick_clean_then_place_in_recep", ("Apple", "Sofa", "", ""), False, "in(i, r) cleaned(i)"),
        ("look_at_obj_in_light", ("Book", "", "", "DeskLamp"), False, "holding(i) switched_on(l) at(l)"),
    ],
)
def test_ground_truth_conditions(task: str, params: tuple[str, ...], sliced: bool, text: str) -> None:
    names = ("object_target", "parent_target", "mrecep_target", "toggle_target")
    goal = MAP.goal([Request(task, dict(zip(names, params, strict=True)), sliced)])
    found = " ".join(f"{item.predicate}({', '.join(item.arguments)})" for item in goal.literals).replace("?", "")
    assert found == text
    assert goal.distinct == ((("?i", "?j"),) if "two" in task else ())


def test_goals_that_the_map_does_not_know_are_named() -> None:
    with pytest.raises(AlfredDataError, match="sing"):
        MAP.goal([Request("sing", {})])
    with pytest.raises(AlfredDataError, match="parent_target"):
        MAP.goal([Request("pick_and_place_simple", {"object_target": "Book", "parent_target": ""})])
    with pytest.raises(AlfredDataError, match="Unicorn"):
        MAP.goal([Request("pick_and_place_simple", {"object_target": "Unicorn", "parent_target": "Bed"})])


@pytest.mark.parametrize("sample", read_samples(FEW, MAP), ids=lambda sample: sample.name)
@pytest.mark.parametrize("seed", [0, 1])
def test_scenes_are_whole_and_no_goal_is_true_at_the_start(sample, seed: int) -> None:
    graph = make_scene(sample, MAP, seed)
    state = symbolic_state(graph, MAP.domain)
    assert set(graph.nodes) <= set(state.objects)  # everything is somewhere
    known = {label: count for label, count in sample.objects.items() if label in MAP.domain.classes}
    for label, count in known.items():
        assert sum(node.label == label for node in graph.nodes.values()) == count
    assert not goal_holds(MAP.goal(sample.requests), state, MAP.domain)
    again = make_scene(sample, MAP, seed)
    assert [(r.subject, r.object) for r in again.relations] == [(r.subject, r.object) for r in graph.relations]


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_samples_survive_being_written(data) -> None:
    sample = data.draw(st.sampled_from(read_samples(FEW, MAP)))
    assert sample_of(json.loads(json.dumps(sample.as_json())), "here") == sample
    broken = dict(sample.as_json())
    del broken[data.draw(st.sampled_from(sorted(set(broken) - {"kind"})))]
    with pytest.raises(AlfredDataError, match="missing"):
        sample_of(broken, "here")
