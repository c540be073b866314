"""Scene graphs on disk."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rendered_world import box, fixture_map

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.scene.admission import known_part
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import Attribute, Presence, Relation, SceneGraph, SceneNode
from graph_planner_ros.scene.storage import StorageError, graph_from_dict, graph_to_dict, load_graph, save_graph


def some_graph() -> SceneGraph:
    graph = fixture_map()
    graph.nodes["mug_1"] = SceneNode(
        "mug_1", "Mug", box(0.1, 0.2, 1, 0.1, 0.1, 0.1, 0.4), presence=Presence.STALE, last_seen=3.5, observations=4
    )
    graph.nodes["mug_1"].attributes["dirty"] = Attribute("dirty", Truth.TRUE, stamp=2.0)
    graph.relations.append(Relation("mug_1", "on", "counter_top_1", Truth.TRUE, "effect", 2.5, 0.5))
    graph.revision, graph.stamp = 7, 3.5
    graph.limits["holding"] = 2
    return graph


def test_a_saved_graph_comes_back(tmp_path: Path) -> None:
    graph, path = some_graph(), tmp_path / "deep" / "graph.json"
    save_graph(graph, path)
    assert graph_to_dict(load_graph(path)) == graph_to_dict(graph)
    assert load_graph(path).nodes["mug_1"].presence is Presence.STALE
    assert [p.name for p in path.parent.iterdir()] == ["graph.json"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"version": 1}',
        '{"version": 99}',
        "null",
        '{"version": 1, "nodes": 3}',
        "\x00\x01",
        "[" * 100_000,
    ],
)
def test_a_broken_file_is_named_and_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "graph.json"
    path.write_text(content)
    with pytest.raises(StorageError, match=r"graph\.json: expected a stored scene graph") as caught:
        load_graph(path)
    assert "Error" not in str(caught.value) and "indices" not in str(caught.value)
    assert path.read_text() == content


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every entry of a JSON value."""
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, key)
        if isinstance(entry, (dict, list)):
            yield from leaves(entry, (*path, key))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


NONSENSE = (float("nan"), float("inf"), -1, -1e300, 2**70, 1.5, "", "text", None, True, [], {}, [1], "TRUE")


def test_no_entry_of_a_file_can_be_nonsense(tmp_path: Path, domain: Domain) -> None:
    """Every entry replaced by everything: the file is refused by name, or what was read is sound."""
    path, whole = tmp_path / "graph.json", graph_to_dict(some_graph())
    for place in list(leaves(whole)):
        for value in NONSENSE:
            content = copy.deepcopy(whole)
            at(content, place[:-1])[place[-1]] = value
            path.write_text(json.dumps(content))
            try:
                graph = load_graph(path)
            except StorageError as error:
                assert "graph.json" in str(error)
                continue
            known, _ = known_part(graph, domain)
            symbolic_state(known, domain)
            save_graph(known, path)


def test_two_nodes_of_one_id_are_refused_by_name(tmp_path: Path) -> None:
    content = graph_to_dict(some_graph())
    content["nodes"].append(content["nodes"][-1])
    (tmp_path / "graph.json").write_text(json.dumps(content))
    with pytest.raises(StorageError, match="mug_1"):
        load_graph(tmp_path / "graph.json")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_half_a_file_is_no_graph(tmp_path: Path, share: float) -> None:
    path = tmp_path / "graph.json"
    save_graph(some_graph(), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(StorageError):
        load_graph(path)


def test_a_failed_save_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    save_graph(some_graph(), path)
    broken = some_graph()
    broken.nodes["mug_1"].confidence = float("nan")
    with pytest.raises(ValueError):
        save_graph(broken, path)
    assert load_graph(path).revision == 7
    assert [p.name for p in tmp_path.iterdir()] == ["graph.json"]


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_graph(tmp_path / "none.json")


@settings(deadline=None)
@given(st.text(min_size=1), st.text(min_size=1), st.floats(0, 1e9), st.sampled_from(Truth), st.floats(-1e3, 1e3))
def test_any_names_and_numbers_survive(name: str, label: str, stamp: float, value: Truth, x: float) -> None:
    graph = SceneGraph(stamp=stamp)
    graph.nodes[name] = SceneNode(name, label, box(x, 0, 0, 1, 1, 1))
    graph.nodes[name].attributes[label] = Attribute(label, value, stamp=stamp)
    graph.relations.append(Relation(name, label, name, value))
    text = json.dumps(graph_to_dict(graph))
    assert graph_to_dict(graph_from_dict(json.loads(text))) == graph_to_dict(graph)
