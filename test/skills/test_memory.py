"""The executor's memory of the things of a task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.scene.graph import EFFECT, PERCEPTION, Relation, SceneGraph, SceneNode
from graph_planner_ros.skills.memory import MEMORY, Mask, MemoryFileError, Sighting, SkillMemory, remembered_node

UNTIMED = settings(deadline=None)  # a busy machine is not a failure


def sighting(name: str = "mug_1", label: str = "Mug", stamp: float = 1.0, mask: Mask | None = None) -> Sighting:
    """Something seen from somewhere."""
    return Sighting(name, label, (1.0, 2.0, 0.9), (0.5, 2.0, 1.57), stamp, "table_1", mask)


@UNTIMED
@given(arrays(bool, st.tuples(st.integers(0, 8), st.integers(0, 8))))
def test_masks_come_back_as_they_were(mask: np.ndarray) -> None:
    encoded = Mask.encode(mask)
    assert np.array_equal(encoded.decode(), mask)
    assert sum(encoded.runs) == mask.size


def test_things_of_the_task_are_remembered_and_others_are_not() -> None:
    memory = SkillMemory()
    memory.watch({"Mug"}, {"bowl_2"})
    assert memory.observe(sighting("mug_1", "Mug"))
    assert memory.observe(sighting("bowl_2", "Bowl"))
    assert not memory.observe(sighting("bowl_1", "Bowl"))
    assert len(memory) == 2
    memory.watch({"Bowl"})
    assert memory.recall("mug_1") is None and memory.recall("bowl_2") is not None


def test_instances_of_one_class_have_records_of_their_own() -> None:
    memory = SkillMemory()
    memory.watch({"Mug"})
    memory.observe(sighting("mug_1", stamp=1.0))
    memory.observe(sighting("mug_10", stamp=2.0))
    assert [seen.instance_id for seen in memory.recall_class("Mug")] == ["mug_10", "mug_1"]
    memory.forget("mug_1")
    assert [seen.instance_id for seen in memory.recall_class("Mug")] == ["mug_10"]


def test_an_older_view_does_not_replace_a_newer_one() -> None:
    memory = SkillMemory()
    memory.watch({"Mug"})
    memory.observe(sighting(stamp=5.0))
    assert not memory.observe(sighting(stamp=4.0))
    seen = memory.recall("mug_1")
    assert seen is not None and seen.stamp == 5.0


def test_when_time_goes_back_later_views_are_dropped() -> None:
    memory = SkillMemory()
    memory.watch({"Mug"})
    memory.observe(sighting("mug_1", stamp=5.0))
    memory.observe(sighting("mug_2", stamp=1.0))
    memory.time_jumped(2.0)
    assert memory.recall("mug_1") is None and memory.recall("mug_2") is not None


def test_a_copy_does_not_change_with_its_original() -> None:
    memory = SkillMemory()
    memory.watch({"Mug"})
    memory.observe(sighting("mug_1"))
    copy = memory.copy()
    memory.forget("mug_1")
    memory.watch({"Bowl"})
    assert copy.recall("mug_1") == sighting("mug_1") and copy.wants("mug_2", "Mug")


def believed(*relations: Relation, label: str = "Mug") -> SceneGraph:
    """A belief with a mug of which no position is known."""
    graph = SceneGraph(relations=list(relations))
    graph.nodes["mug_1"] = SceneNode("mug_1", label, observations=3)
    return graph


def placed(place: str, stamp: float, source: str = EFFECT) -> Relation:
    """The mug is there, since then."""
    return Relation("mug_1", "on", place, Truth.TRUE, source, stamp)


@pytest.mark.parametrize(
    "graph",
    [
        SceneGraph(),
        believed(),
        believed(placed("shelf_1", 0.5)),  # seen after it was put there
        believed(placed("table_1", 2.0, PERCEPTION)),  # in the same place ever since
    ],
)
def test_the_position_of_a_sighting_stands_in_for_one_that_the_belief_lacks(graph: SceneGraph) -> None:
    node = remembered_node(graph, sighting(stamp=1.0))
    assert node is not None and node.box is not None and node.source == MEMORY
    assert (node.instance_id, node.label, tuple(node.box.center)) == ("mug_1", "Mug", (1.0, 2.0, 0.9))
    assert all(known.box is None for known in graph.nodes.values()), "the belief stays as it is"


@pytest.mark.parametrize(
    "graph",
    [
        believed(placed("shelf_1", 2.0)),  # carried elsewhere since
        believed(placed("table_1", 2.0)),  # taken up and put back: not where it was
        believed(placed("shelf_1", 2.0, PERCEPTION)),  # seen elsewhere since
        believed(label="Bowl"),  # the name stands for another thing
    ],
)
def test_a_sighting_that_the_belief_contradicts_is_not_used(graph: SceneGraph) -> None:
    assert remembered_node(graph, sighting(stamp=1.0)) is None


def test_memory_survives_a_restart(tmp_path: Path) -> None:
    memory = SkillMemory()
    memory.watch({"Mug"}, {"bowl_2"})
    memory.observe(sighting(mask=Mask.encode(np.eye(4, dtype=bool))))
    path = tmp_path / "state" / "memory.json"
    memory.save(path)
    again = SkillMemory.load(path)
    assert again.recall("mug_1") == memory.recall("mug_1")
    assert again.observe(sighting("bowl_2", "Bowl"))
    assert [file.name for file in path.parent.iterdir()] == ["memory.json"]


def test_numbers_that_are_not_finite_are_damage(tmp_path: Path) -> None:
    memory, path = SkillMemory(), tmp_path / "memory.json"
    memory.watch({"Mug"})
    memory.observe(replace(sighting(), position=(float("nan"), 0.0, 0.0)))
    memory.save(path)
    with pytest.raises(MemoryFileError, match="not finite"):
        SkillMemory.load(path)


DAMAGED = ["", "{", "[]", "{}", '{"format": 99}', '{"format": 1, "labels": [], "sightings": 3}', "[" * 100_000]


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_file_is_named_and_kept(tmp_path: Path, text: str) -> None:
    path = tmp_path / "memory.json"
    path.write_text(text)
    with pytest.raises(MemoryFileError, match=r"memory\.json"):
        SkillMemory.load(path)
    assert path.read_text() == text


def test_a_failed_save_leaves_the_old_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, path = SkillMemory(), tmp_path / "memory.json"
    memory.watch({"Mug"})
    memory.save(path)
    before = path.read_text()

    def fail(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="no space"):
        memory.save(path)
    assert path.read_text() == before
    assert [file.name for file in tmp_path.iterdir()] == ["memory.json"]
