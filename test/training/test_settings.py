"""Settings of a training: the files of the package, and what is said of a wrong entry."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from graph_planner_ros.domain.paths import find_config
from graph_planner_ros.training.errors import TrainingError
from graph_planner_ros.training.settings import load_settings, settings_of

FILES = sorted(find_config("training").glob("*.yaml"))
SMOKE = yaml.safe_load((find_config("training") / "smoke.yaml").read_text())


def changed(key: str, value: Any) -> dict[str, Any]:
    """Return the smoke configuration with one entry set; None takes it out."""
    raw = copy.deepcopy(SMOKE)
    *path, last = key.split(".")
    entry = raw
    for name in path:
        entry = entry[name]
    if value is None:
        del entry[last]
    else:
        entry[last] = value
    return raw


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_packages_files_are_right(path: Path) -> None:
    settings = load_settings(path.stem)
    assert settings == load_settings(path)
    assert settings.grpo.reward_weights == {"format": 1.0, "node": 1.0, "edge": 1.0, "instruction": 1.0}


def test_one_is_for_a_gpu_and_one_for_a_processor() -> None:
    assert load_settings("smoke").model.tiny is not None
    large = load_settings("qwen2.5-7b")
    assert large.model.name == "Qwen/Qwen2.5-7B-Instruct"
    assert (large.model.bf16, large.grpo.use_vllm, large.grpo.num_generations) == (True, True, 8)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("grpo.learning_rat", 1.0, "grpo.learning_rat: unknown entry; did you mean 'learning_rate'?"),
        ("model.tiny.width", 3, "model.tiny.width: unknown entry"),
        ("speed", 3, "speed: unknown entry; .*seed"),
        ("sft.max_steps", None, "sft.max_steps: the entry is missing"),
        ("grpo", None, "grpo: the entry is missing"),
        ("sft", [], r"sft: expected entries, found \[\]"),
        ("sft.max_steps", "ten", "sft.max_steps: expected a whole number, found 'ten'"),
        ("sft.max_steps", True, "sft.max_steps: expected a whole number"),
        ("sft.max_steps", 0, "sft.max_steps: expected at least 1"),
        ("sft.learning_rate", "1e-5", "sft.learning_rate: expected a number .with a point: 1.0e-5., found '1e-5'"),
        ("grpo.beta", -0.1, "grpo.beta: expected a number from 0"),
        ("model.bf16", 1, "model.bf16: expected true or false"),
        ("model.name", "some/model", "model: expected either a name or an entry tiny"),
        ("grpo.num_generations", 7, "grpo.num_generations: expected at least 2 and a divisor of the batch of [0-9]+"),
        ("grpo.num_generations", 1, "grpo.num_generations: expected at least 2"),
        ("grpo.reward_weights", {"format": 1.0}, "grpo.reward_weights: expected a weight from 0 for each of format"),
        ("grpo.meta_class_weights", {"thing": 1.0}, "grpo.meta_class_weights: .*obj, rec, mov, spec"),
    ],
)
def test_a_wrong_entry_is_named(key: str, value: Any, message: str) -> None:
    with pytest.raises(TrainingError, match=f"here: {message}"):
        settings_of(changed(key, value), "here")


def test_a_file_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(TrainingError, match=r"'nothing'; there are: .*smoke"):
        load_settings("nothing")


def test_a_file_that_is_no_yaml_is_named(tmp_path: Path) -> None:
    (file := tmp_path / "broken.yaml").write_text("model: [")
    with pytest.raises(TrainingError, match=r"broken\.yaml: not YAML"):
        load_settings(file)


def test_the_digest_changes_with_every_setting() -> None:
    assert settings_of(changed("grpo.beta", 0.5), "").digest != settings_of(SMOKE, "").digest
    assert settings_of(copy.deepcopy(SMOKE), "").digest == settings_of(SMOKE, "").digest


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.sampled_from(["model", "data", "sft", "grpo", "seed", "model.tiny", "grpo.beta", "sft.max_steps"]), PLAIN)
def test_whatever_stands_in_a_file_is_read_or_refused_in_a_sentence(key: str, value: Any) -> None:
    try:
        settings_of(changed(key, value), "here")
    except TrainingError as error:
        assert str(error).startswith("here: ")
