"""Training of the encoder, and that torch and ONNX are one. Needs the extra ``training``; skipped without it.

What torch gave for the encoder that ships is held by `test_encoder` everywhere.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from encoder_scenes import scenes
from hypothesis import given, settings
from hypothesis import strategies as st

HOW = "needs requirements/training.txt (./run extra training)"
torch = pytest.importorskip("torch", reason=HOW)
pytest.importorskip("torch_geometric", reason=HOW)
pytest.importorskip("onnx", reason=HOW)

from graph_planner_ros.domain.paths import find_config  # noqa: E402
from graph_planner_ros.memory.encoder import SHIPPED, load_encoder  # noqa: E402
from graph_planner_ros.memory.experience import distance  # noqa: E402
from graph_planner_ros.memory.features import FORMAT, FeatureMaker, structure_of  # noqa: E402
from graph_planner_ros.memory.gat import GatShape, GraphEncoder, graph_data  # noqa: E402
from graph_planner_ros.memory.onnx_export import pack_vectors, read_onnx, save_onnx  # noqa: E402
from graph_planner_ros.memory.sentences import SentenceEncoder  # noqa: E402
from graph_planner_ros.memory.training import (  # noqa: E402
    Look,
    Trainer,
    TrainingOptions,
    Trajectory,
    draw,
    loss_of,
    split,
    thin,
)
from graph_planner_ros.scene.graph import Relation, SceneGraph, SceneNode  # noqa: E402

torch.set_num_threads(1)
SENTENCES = SentenceEncoder()
SHIPPED_TORCH = read_onnx(find_config(SHIPPED))
SHIPPED_ONNX = load_encoder()
SMALL = GatShape(width=16, layers=2, heads=2, dimension=8)


def torch_rows(model: GraphEncoder, several: list[SceneGraph], features: FeatureMaker) -> np.ndarray:
    model.eval()
    with torch.no_grad():
        return np.asarray(model(graph_data(features.batch([structure_of(scene) for scene in several]))))


@given(st.lists(scenes(), min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_torch_and_onnx_are_within_one_ten_thousandth(several: list[SceneGraph]) -> None:
    features = FeatureMaker(SentenceEncoder(SHIPPED_ONNX.text_vectors))
    rows = torch_rows(SHIPPED_TORCH, several, features)
    assert np.abs(rows - SHIPPED_ONNX.encode(several)).max() < 1e-4


@pytest.mark.parametrize("shape", [SMALL, GatShape(8, 1, 1, 3), GatShape(12, 3, 3, 5)], ids=str)
def test_encoders_of_every_shape_come_out_of_the_file_as_they_went_in(shape: GatShape, tmp_path: Path) -> None:
    torch.manual_seed(1)
    model, features = GraphEncoder(shape), FeatureMaker(SENTENCES)
    several = [kitchen(number)[0] for number in range(6)]
    model.train()
    model(graph_data(features.batch([structure_of(scene) for scene in several])))  # BatchNorm sees something
    before = torch_rows(model, several, features)
    information = {"format": FORMAT, "tau": 0.1, "text_vectors": pack_vectors(SENTENCES.computed())}
    save_onnx(model, tmp_path / "encoder.onnx", information)
    assert np.abs(load_encoder(tmp_path / "encoder.onnx").encode(several) - before).max() < 1e-4
    assert np.abs(torch_rows(read_onnx(tmp_path / "encoder.onnx"), several, features) - before).max() < 1e-4


def test_the_loss_is_the_papers() -> None:
    def rows(*degrees: float) -> torch.Tensor:
        angles = torch.deg2rad(torch.tensor(degrees))
        return torch.stack([torch.cos(angles), torch.sin(angles)], dim=1)

    # positives are equal and negatives orthogonal: every triplet is met at a margin of 1; 2 of 6 pairs have cos^2 = 1
    assert float(loss_of(rows(0, 90, 0, 90), margin=1.0, spread=0.0)) == pytest.approx(0.0, abs=1e-6)
    assert float(loss_of(rows(0, 90, 0, 90), margin=1.0, spread=1.5)) == pytest.approx(1.5 / 3, abs=1e-6)
    # all the same: each triplet costs the margin; half of it if it is half
    assert float(loss_of(rows(0, 0, 0, 0), margin=1.0, spread=0.0)) == pytest.approx(1.0, abs=1e-6)
    assert float(loss_of(rows(0, 0, 0, 0), margin=0.5, spread=1.0)) == pytest.approx(1.5, abs=1e-6)


CLASSES = ("Mug", "Fork", "Pillow", "Book", "Apple", "Lamp", "Chair", "Knife")


def kitchen(number: int) -> list[SceneGraph]:
    """Return the scenes of an episode: a home of its own, in which one thing after the other is put away."""
    rng = random.Random(number)
    nodes = {f"thing_{index}": SceneNode(f"thing_{index}", rng.choice(CLASSES)) for index in range(8)}
    nodes["box"] = SceneNode("box", "Cabinet")
    done = [Relation(f"thing_{index}", "in", "box") for index in range(5)]
    return [SceneGraph(nodes=dict(nodes), relations=done[:count]) for count in range(5)]


def homes(count: int, domain: str = "made_up") -> list[Trajectory]:
    return [Trajectory(domain, (f"home {number}", None), tuple(kitchen(number))) for number in range(count)]


def test_what_is_held_out_shares_no_home_with_what_is_learned() -> None:
    items = [item for _ in range(3) for item in homes(10)] + homes(3, "another")
    learned, held_out = split(items, 0.2, seed=4)
    assert len(learned) + len(held_out) == len(items)
    assert {(item.domain, item.home) for item in learned}.isdisjoint((item.domain, item.home) for item in held_out)
    assert {item.domain for item in held_out} == {"made_up", "another"}
    assert len({item.home for item in held_out if item.domain == "made_up"}) == 2
    with pytest.raises(ValueError, match="'lonely' has trajectories of 1 home"):
        split([*items, *homes(1, "lonely")], 0.2, seed=4)


def test_a_batch_has_as_many_of_each_domain_and_none_twice() -> None:
    chosen = draw([*homes(30), *homes(4, "small")], 12, random.Random(0))
    assert len({id(item) for item in chosen}) == 12
    assert sum(item.domain == "small" for item in chosen) == 4


@given(st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_thinning_takes_the_same_things_out_of_every_scene(seed: int) -> None:
    before = kitchen(seed)[2:4]
    after = thin(before, random.Random(seed))
    assert set(after[0].nodes) == set(after[1].nodes) <= set(before[0].nodes)
    for scene in after:
        assert all({item.subject, item.object} <= set(scene.nodes) for item in scene.relations)
    assert len(before[0].nodes) == 9


def trained(seed: int, steps: int = 60) -> tuple[Trainer, Look, list[Look]]:
    looks: list[Look] = []
    trainer = Trainer(homes(24), FeatureMaker(SENTENCES), TrainingOptions(seed, batch=12, steps=steps, every=20), SMALL)
    return trainer, trainer.run(looks.append), looks


def test_training_parts_trajectories_that_it_has_not_seen() -> None:
    trainer, best, looks = trained(seed=0)
    assert best.held_out == min(look.held_out for look in looks) < trainer_start(trainer)
    groups = [trainer.embed(item.scenes) for item in trainer.held_out]
    within = max(float(distance(rows[0], rows[1])) for rows in groups)
    between = np.median([float(distance(a[0], b[0])) for a in groups for b in groups if a is not b])
    assert within < between


def trainer_start(trainer: Trainer) -> float:
    """Return the held-out loss of an encoder that has learned nothing."""
    options = TrainingOptions(trainer.options.seed, batch=12, steps=1, every=1, rate=0.0)
    return Trainer(homes(24), FeatureMaker(SENTENCES), options, SMALL).run().held_out


def test_the_same_seed_gives_the_same_encoder_and_another_another() -> None:
    first, again, other = (trained(seed, steps=10)[0] for seed in (3, 3, 4))
    rows = [trainer.embed(kitchen(1)) for trainer in (first, again, other)]
    assert np.array_equal(rows[0], rows[1])
    assert not np.allclose(rows[0], rows[2], atol=1e-3)


def test_training_stops_early_when_it_is_told_to() -> None:
    looks: list[Look] = []
    trainer = Trainer(homes(6), FeatureMaker(SENTENCES), TrainingOptions(batch=4, steps=500, every=500), SMALL)
    trainer.run(looks.append, stop=lambda: True)
    assert [look.step for look in looks] == [1]
    assert np.isfinite(trainer.embed(kitchen(0))).all()
