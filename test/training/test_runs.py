"""The folder of a run: begun, gone on with, refused; what was interrupted is not taken for whole."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from graph_planner_ros.planning.rewards import Rewards
from graph_planner_ros.training import report
from graph_planner_ros.training.errors import TrainingError
from graph_planner_ros.training.examples import PLANS, Example, ExampleSet
from graph_planner_ros.training.runs import FINISHED, RUNNING, STOPPED, Run
from graph_planner_ros.training.settings import load_settings

SETTINGS = load_settings("smoke")
DATA = ExampleSet(PLANS, [Example("a", "k", ("o",), ({"role": "user", "content": "x"},), "y")], {"seed": 1}, "d1")


def begin(folder: Path, **changes: object) -> Run:
    given = {"kind": "sft", "settings": SETTINGS, "data": DATA, "model": "m", "resume": False} | changes
    return Run.open(folder, **given)  # type: ignore[arg-type]


def test_a_run_says_what_it_was_started_with(tmp_path: Path) -> None:
    begin(tmp_path / "run")
    content = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (content["kind"], content["model"], content["state"], content["seed"]) == ("sft", "m", RUNNING, 0)
    assert (content["data_digest"], content["settings_digest"]) == ("d1", SETTINGS.digest)
    assert content["settings"]["grpo"]["num_generations"] == SETTINGS.grpo.num_generations
    assert content["data"] == {"set": PLANS, "examples": 1, "seed": 1}


def test_a_folder_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(TrainingError, match="is not empty"):
        begin(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"kind": "grpo"}, "kind 'sft', not 'grpo'"),
        ({"model": "other"}, "model 'm', not 'other'"),
        ({"settings": replace(SETTINGS, seed=5)}, "settings digest"),
        ({"data": replace(DATA, digest="d2")}, "data digest 'd1', not 'd2'"),
    ],
)
def test_only_the_same_run_is_gone_on_with(tmp_path: Path, changes: dict[str, object], named: str) -> None:
    begin(tmp_path / "run").write(state=STOPPED)
    with pytest.raises(TrainingError, match=named):
        begin(tmp_path / "run", resume=True, **changes)
    assert begin(tmp_path / "run", resume=True).content["state"] == RUNNING


def test_there_must_be_something_to_go_on_with(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="no run to go on with"):
        begin(tmp_path / "none", resume=True)
    begin(tmp_path / "run").write(state=FINISHED)
    with pytest.raises(TrainingError, match="is finished"):
        begin(tmp_path / "run", resume=True)


def test_the_newest_whole_checkpoint_counts(tmp_path: Path) -> None:
    run = begin(tmp_path / "run")
    assert run.last_checkpoint() is None
    for step in (9, 100, 200):
        (run.checkpoints / f"checkpoint-{step}").mkdir(parents=True)
    run.mark_complete(9)
    run.mark_complete(100)
    assert run.last_checkpoint() == run.checkpoints / "checkpoint-100"
    assert not (run.checkpoints / "checkpoint-200").exists()  # it was being written when all ended


def test_figures_of_steps_that_are_done_again_are_dropped(tmp_path: Path) -> None:
    run = begin(tmp_path / "run")
    assert run.rows() == []
    for step in (1, 2, 3):
        run.append({"step": step, "loss": 1.0 / step})
    with run.metrics.open("a") as file:
        file.write('{"step": 4, "lo')  # cut off
    run.forget_after(2)
    assert [row["step"] for row in run.rows()] == [1, 2]
    run.append({"step": 3, "loss": 0.1})
    assert [row["step"] for row in run.rows()] == [1, 2, 3]


def test_the_curve_is_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is in the extras training and llm_training")
    run = begin(tmp_path / "run")
    run.draw(("loss",), "nothing yet")
    assert not (run.folder / "curve.png").exists()
    for step in range(1, 30):
        run.append({"step": step, "loss": 1.0 / step})
    run.draw(("loss", "never logged"), "title")
    assert (run.folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in run.folder.iterdir()) == ["curve.png", "metrics.jsonl", "run.json"]


# ---- figures


def test_beginning_and_end_of_a_run() -> None:
    rows = [{"step": step, "reward": float(step)} for step in range(1, 21)] + [{"step": 20}]
    found = report.first_and_last(rows, "reward")
    # a tenth of 20 steps: (1 + 2) / 2 and (19 + 20) / 2
    assert (found["steps"], found["first"]["mean"], found["last"]["mean"]) == (2, 1.5, 19.5)
    assert found["difference"] == {"mean": 18.0, "low": 18.0, "high": 18.0, "n": 2}
    assert report.first_and_last(rows[:1], "reward") == {}


def test_held_out_rewards_are_compared_prompt_by_prompt() -> None:
    before, after = [Rewards(1, 0.5, 0, 0), Rewards(1, 1, 1, 0)], [Rewards(1, 1, 1, 0.5), Rewards(1, 1, 1, 1)]
    # (3.5 - 1.5 + 4 - 3) / 2
    assert report.difference(before, after)["mean"] == 1.5
    assert report.reward_figures(after)["total"]["mean"] == 3.75
    assert report.reward_figures(after)["instruction"] == {"mean": 0.75, "low": 0.5, "high": 1.0, "n": 2}
