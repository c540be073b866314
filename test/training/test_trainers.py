"""The trainers themselves, with a model of some thousand parameters, where trl is installed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graph_planner_ros.cli import app
from graph_planner_ros.training.errors import TrainingError
from graph_planner_ros.training.examples import ExampleSet, read_examples
from graph_planner_ros.training.runs import FINISHED, STOPPED, Run
from graph_planner_ros.training.settings import DataUse, Settings, TinyModel, load_settings

FEW = Path(__file__).parents[1] / "fixtures" / "alfred" / "few.jsonl"
REASON = "the trainers need the extra llm_training (./run extra llm_training)"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> ExampleSet:
    """Examples as the command makes them."""
    file = tmp_path_factory.mktemp("data") / "plans.jsonl"
    words = ["train", "data", "plans", "--data", str(FEW), "--prompt", "train_plan_short", "--no-thoughts"]
    result = CliRunner().invoke(app, [*words, "--out", str(file)])
    assert result.exit_code == 0, result.output
    return read_examples(file)


@pytest.fixture(scope="module")
def settings() -> Settings:
    smoke = load_settings("smoke")
    return replace(
        smoke,
        model=replace(smoke.model, tiny=TinyModel(hidden=16, layers=1, heads=2, vocabulary=400, context=256)),
        data=DataUse(held_out=3),
        sft=replace(
            smoke.sft, max_steps=4, per_device_train_batch_size=4, warmup_steps=0, logging_steps=1, save_steps=2
        ),
        grpo=replace(
            smoke.grpo,
            max_steps=4,
            num_generations=2,
            per_device_train_batch_size=4,
            max_completion_length=8,
            save_steps=2,
        ),
    )


def begin(folder: Path, kind: str, settings: Settings, data: ExampleSet, model: str = "", resume: bool = False) -> Run:
    return Run.open(folder, kind, settings, data, model, resume)


def stop_after(steps: int) -> Callable[[], bool]:
    """Return a stop signal that comes in the given step."""
    asked = [0]

    def stop() -> bool:
        asked[0] += 1
        return asked[0] >= steps

    return stop


def graph():  # type: ignore[no-untyped-def]
    from graph_planner_ros.domain.domain import load_domain
    from graph_planner_ros.planning.task_graph import TaskGraph

    return TaskGraph.of(load_domain("household"))


def test_from_fine_tuning_to_grpo(tmp_path: Path, settings: Settings, data: ExampleSet) -> None:
    pytest.importorskip("trl", reason=REASON)
    from graph_planner_ros.training.grpo import run_grpo
    from graph_planner_ros.training.sft import run_sft

    lines: list[str] = []
    first = begin(tmp_path / "sft", "sft", settings, data)
    assert run_sft(first, settings, data, graph(), lines.append, lambda: False, False)
    assert first.content["state"] == FINISHED
    assert first.content["results"]["held_out"]["total"]["n"] == 3
    assert [row["step"] for row in first.rows() if "loss" in row] == [1, 2, 3, 4]
    assert (first.model / "config.json").is_file() and (first.folder / "curve.png").is_file()

    second = begin(tmp_path / "grpo", "grpo", settings, data, str(first.model))
    assert run_grpo(second, settings, data, graph(), lines.append, lambda: False, False)
    results = second.content["results"]
    likeliest, sampled = results["held_out_likeliest"], results["held_out_sampled"]
    assert likeliest["before"]["total"] == first.content["results"]["held_out"]["total"]
    assert likeliest["difference"]["n"] == sampled["difference"]["n"] == 3
    row = second.rows()[0]
    parts = [row[f"rewards/{name}/mean"] for name in ("format", "node", "edge", "instruction")]
    assert row["reward"] == pytest.approx(sum(parts))
    assert any(line.startswith("seed 0;") for line in lines)


def test_a_stopped_run_is_gone_on_with(tmp_path: Path, settings: Settings, data: ExampleSet) -> None:
    pytest.importorskip("trl", reason=REASON)
    from graph_planner_ros.training.sft import run_sft

    lines: list[str] = []
    run = begin(tmp_path / "run", "sft", settings, data)
    assert not run_sft(run, settings, data, None, lines.append, stop_after(3), False)
    assert json.loads((run.folder / "run.json").read_text())["state"] == STOPPED
    assert "step 3 is saved" in lines[-1]
    checkpoint = run.last_checkpoint()
    assert checkpoint is not None and checkpoint.name == "checkpoint-3"

    again = begin(tmp_path / "run", "sft", settings, data, resume=True)
    assert run_sft(again, settings, data, None, lines.append, lambda: False, True)
    whole = begin(tmp_path / "whole", "sft", settings, data)
    assert run_sft(whole, settings, data, None, lines.append, lambda: False, False)
    losses = [[row["loss"] for row in item.rows() if "loss" in row] for item in (again, whole)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-3)  # as if nobody had stopped it


def test_what_this_machine_cannot_do_is_named(tmp_path: Path, settings: Settings, data: ExampleSet) -> None:
    pytest.importorskip("trl", reason=REASON)
    import importlib.util

    import torch

    from graph_planner_ros.training.trainers import load_model, prepare

    if not torch.cuda.is_available():
        with pytest.raises(TrainingError, match=r"model\.bf16"):
            prepare(replace(settings, model=replace(settings.model, bf16=True)))
    if importlib.util.find_spec("vllm") is None:
        with pytest.raises(TrainingError, match=r"grpo\.use_vllm: vllm is not installed"):
            prepare(replace(settings, grpo=replace(settings.grpo, use_vllm=True)))
    (tmp_path / "empty").mkdir()
    with pytest.raises(TrainingError, match="cannot be loaded"):
        load_model(settings, str(tmp_path / "empty"), data.examples)


def test_the_same_seed_makes_the_same_tiny_model(settings: Settings, data: ExampleSet) -> None:
    pytest.importorskip("trl", reason=REASON)
    import torch

    from graph_planner_ros.training.trainers import load_model, prepare

    made = []
    for _ in range(2):
        prepare(settings)
        model, tokenizer = load_model(settings, "", data.examples)
        made.append((torch.cat([item.flatten() for item in model.parameters()]), tokenizer.get_vocab()))
    assert torch.equal(made[0][0], made[1][0]) and made[0][1] == made[1][1]
    text = "Züge 漢字 \x00 <think>"
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text  # it can write anything


# ---- commands


def test_commands_say_in_a_sentence_what_is_wrong(tmp_path: Path) -> None:
    runner = CliRunner()
    (empty := tmp_path / "empty.jsonl").write_text("")
    cases = [
        (["train", "sft", "--data", str(empty)], "line 1: expected a JSON object, found nothing"),
        (["train", "grpo", "--data", str(tmp_path / "none.jsonl")], "cannot be read"),
        (["train", "sft", "--data", str(empty), "--config", "nothing"], "there is no training configuration"),
        (["train", "data", "plans", "--data", str(tmp_path / "none"), "--out", str(tmp_path / "x")], "does not exist"),
        (["train", "data", "plans", "--data", str(empty), "--out", str(tmp_path / "x")], "holds no trajectories"),
    ]
    for words, message in cases:
        result = runner.invoke(app, words)
        assert result.exit_code == 2
        assert message in result.output.replace("\n", " ")
    assert not (tmp_path / "x").exists()


def test_without_the_extra_it_is_named(tmp_path: Path, data: ExampleSet, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from graph_planner_ros.training.examples import write_examples

    write_examples(file := tmp_path / "plans.jsonl", data)
    for name in ("trl", "datasets", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("sft", "grpo", "trainers"):
        monkeypatch.delitem(sys.modules, f"graph_planner_ros.training.{name}", raising=False)
    for kind in ("sft", "grpo"):
        result = CliRunner().invoke(app, ["train", kind, "--data", str(file), "--run", str(tmp_path / kind)])
        assert result.exit_code == 3
        assert "./run extra llm_training" in result.output.replace("\n", " ")
        assert not (tmp_path / kind).exists()
