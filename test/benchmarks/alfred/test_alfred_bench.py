"""Runs: rows, crashes, going on, tables, the list of errors, the command."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graph_planner_ros.benchmarks.alfred import report
from graph_planner_ros.benchmarks.alfred.action_run import actions_factory
from graph_planner_ros.benchmarks.alfred.annotation_map import load_map
from graph_planner_ros.benchmarks.alfred.evaluation import (
    CRASHED,
    NO_PLAN,
    NOT_UNDERSTOOD,
    Evaluator,
    llm_factory,
    memplan_factory,
)
from graph_planner_ros.benchmarks.alfred.judge import Judge
from graph_planner_ros.benchmarks.alfred.readers import TruthReader, open_reader
from graph_planner_ros.benchmarks.alfred.samples import read_samples
from graph_planner_ros.benchmarks.alfred.session import MODEL_PARTS, choose, model_planning
from graph_planner_ros.benchmarks.statistics import bootstrap_clustered_mean, bootstrap_mean
from graph_planner_ros.benchmarks.worlds.results import read_results
from graph_planner_ros.cli import app
from graph_planner_ros.language.instruction import ParsedInstruction, ParseStatus
from graph_planner_ros.language.models import Request, ScriptedModel
from graph_planner_ros.planning.engines import make_engine

pytest.importorskip("pymimir")
FEW = Path(__file__).resolve().parents[2] / "fixtures" / "alfred" / "few.jsonl"
MAP = load_map()
SAMPLES = read_samples(FEW, MAP)


def evaluator(reader) -> Evaluator:
    return Evaluator(MAP, reader, memplan_factory(MAP, make_engine("mimir"), 10.0), Judge(MAP))


class Saying:
    name = "saying"

    def __init__(self, answer) -> None:
        self.answer = answer

    def read(self, sample, graph):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_with_the_ground_truth_as_goal_every_plan_is_right() -> None:
    rows = [evaluator(TruthReader(MAP)).evaluate(sample) for sample in choose(SAMPLES, 14)]
    assert [(row["name"], row["reason"]) for row in rows if not row["success"]] == []


def test_plans_end_where_the_goal_is_reached() -> None:
    """A lazy search went on after the goal and put the thing back."""
    for sample in read_samples(FEW.with_name("lamp.jsonl"), MAP):
        for seed in range(3):
            judged = Evaluator(
                MAP, TruthReader(MAP), memplan_factory(MAP, make_engine("mimir"), 10.0), Judge(MAP), seed
            ).evaluate(sample)
            assert judged["success"], judged["reason"]


@pytest.mark.parametrize(
    ("answer", "status", "reason"),
    [
        (ValueError("boom"), CRASHED, "ValueError: boom"),
        (ParsedInstruction(ParseStatus.NOT_UNDERSTOOD, reason="no such word"), NOT_UNDERSTOOD, "no such word"),
        (ParsedInstruction(ParseStatus.UNDERSTOOD, (None,)), CRASHED, "Error"),
    ],
)
def test_what_goes_wrong_is_a_failure_with_its_reason(answer, status, reason) -> None:
    row = evaluator(Saying(answer)).evaluate(SAMPLES[0])
    assert (row["success"], row["status"], row["missing"], row["graph"]) == (False, status, 1.0, False)
    assert reason in row["reason"]


def test_what_is_not_there_is_no_plan() -> None:
    sample = SAMPLES[0]
    goal = MAP.goal([replace(sample.requests[0], params={**sample.requests[0].params, "object_target": "Plunger"})])
    assert "Plunger" not in sample.objects
    row = evaluator(Saying(ParsedInstruction(ParseStatus.UNDERSTOOD, (goal,)))).evaluate(sample)
    assert row["status"] == NO_PLAN and not row["success"]


def test_a_number_of_samples_is_spread_over_types_and_trajectories() -> None:
    chosen = choose(SAMPLES, 7)
    assert len({sample.group for sample in chosen}) == 7
    assert choose(SAMPLES, 0) == SAMPLES
    assert len({sample.parts for sample in choose(SAMPLES, 21)}) == 21


@pytest.mark.parametrize(("kind", "model"), [("magic", None), ("rules", FEW), ("truth", FEW)])
def test_readers_that_cannot_be_are_named(kind, model) -> None:
    with pytest.raises(ValueError, match=kind):
        open_reader(kind, MAP, model)


def invoke(*arguments: object):
    return CliRunner().invoke(app, ["bench", *map(str, arguments)])


def test_a_run_can_be_stopped_and_gone_on_with(tmp_path: Path) -> None:
    out, errors, table = tmp_path / "r.jsonl", tmp_path / "e.md", tmp_path / "t.md"
    common = ("alfred", "--data", FEW, "--reader", "rules", "--out", out)
    assert invoke(*common, "--games", 4).exit_code == 0
    first = out.read_bytes()
    with out.open("ab") as file:
        file.write(b'{"kind": "game", "na')
    result = invoke(*common, "--games", 8, "--errors", errors, "--markdown", table)
    assert result.exit_code == 0, result.output
    assert out.read_bytes().startswith(first)
    results = read_results(out, report.keep_row)
    assert len(results.raw) == 8
    failed = [row for row in results.raw.values() if not row["success"]]
    text = errors.read_text()
    for row in failed:
        assert f"## {row['name']}" in text and " ".join(row["instruction"].split()) in text
    assert text.count("\n## ") == len(failed)
    assert "| all | 8 |" in table.read_text()
    header = results.header["settings"]
    assert header["reader"] == "rules" and header["seed"] == 0 and len(header["data"]) == 16
    refused = invoke(*common, "--seed", 1)
    assert refused.exit_code == 2


def test_the_command_composes_and_plays_a_set(tmp_path: Path) -> None:
    file = tmp_path / "long.jsonl"
    made = invoke("alfred-compose", "--data", FEW, "--samples", 3, "--seed", 1, "--out", file)
    assert made.exit_code == 0, made.output
    again = tmp_path / "again.jsonl"
    invoke("alfred-compose", "--data", FEW, "--samples", 3, "--seed", 1, "--out", again)
    assert file.read_text().splitlines()[1:] == again.read_text().splitlines()[1:]
    head = json.loads(file.read_text().splitlines()[0])
    assert (head["seed"], head["samples"]) == (1, 3) and head["data"] and head["command"]
    played = invoke("alfred", "--data", file, "--reader", "truth", "--out", tmp_path / "r.jsonl")
    assert played.exit_code == 0, played.output
    rows = read_results(tmp_path / "r.jsonl", report.keep_row).raw.values()
    assert len(rows) == 3 and all(row["success"] for row in rows)


PARTS = ",".join(sorted(set(MODEL_PARTS) - {"key_objects"}))


def test_a_model_proposes_and_what_is_wrong_is_never_a_plan() -> None:
    """Right answers are the model's own; chatter is not, and MemPlan plans then."""
    sample = next(item for item in SAMPLES if item.group == "pick_and_place_simple" and item.horizon == 2)
    classes = MAP.classes(sample.requests[0])
    right = json.dumps({"high_level": [["pick_up", classes["i"]], ["put", classes["i"], classes["r"]]]})
    for answers, first, own in (([right], True, True), (["no plan", right], False, True), (["no"] * 9, False, False)):
        model = ScriptedModel(answers)
        factory = llm_factory(MAP, make_engine("mimir"), 10.0, model, model_planning(PARTS, 60.0),
                              lambda: None)  # fmt: skip
        row = Evaluator(MAP, TruthReader(MAP), factory, Judge(MAP)).evaluate(sample)
        assert row["success"], row["reason"]
        assert (row["model_first"], row["model_own"]) == (first, own)
        assert len(row["rounds"]) == len(model.requests)


def choice(label: str) -> str:
    return json.dumps({"action": label, "reason": "so"})


def listed(request: Request, number: int) -> str:
    assert request.schema is not None
    return str(request.schema["properties"]["action"]["enum"][number])


@pytest.mark.parametrize(
    ("script", "first", "own"),
    [
        (lambda request: choice(listed(request, 0)), True, True),
        (lambda request: "I am only a model.", False, False),
        (lambda request: choice(listed(request, -1)), None, None),  # detours: what counts is that the goal is reached
    ],
)
def test_a_model_chooses_actions_and_the_task_succeeds_all_the_same(script, first, own) -> None:
    sample = next(item for item in SAMPLES if item.group == "pick_and_place_simple" and item.horizon == 2)
    model = ScriptedModel(script)
    factory = actions_factory(MAP, make_engine("mimir"), 10.0, model, model_planning(PARTS, 60.0), lambda: None)
    row = Evaluator(MAP, TruthReader(MAP), factory, Judge(MAP)).evaluate(sample)
    assert row["success"], row["reason"]
    assert first is None or (row["model_first"], row["model_own"]) == (first, own)
    assert len(row["rounds"]) == len(model.requests)


def test_questions_about_key_objects_are_no_answers_to_a_plan() -> None:
    sample = next(item for item in SAMPLES if item.group == "pick_and_place_simple" and item.horizon == 2)
    classes = MAP.classes(sample.requests[0])
    right = json.dumps({"high_level": [["pick_up", classes["i"]], ["put", classes["i"], classes["r"]]]})
    model = ScriptedModel(["{}", right])
    planning = model_planning(f"{PARTS},key_objects", 60.0)
    factory = llm_factory(MAP, make_engine("mimir"), 10.0, model, planning, lambda: None)
    row = Evaluator(MAP, TruthReader(MAP), factory, Judge(MAP)).evaluate(sample)
    assert row["success"] and row["model_first"] and [item["number"] for item in row["rounds"]] == [0, 1]


def test_parts_of_planning_with_a_model() -> None:
    assert not any(getattr(model_planning("bare", 1.0), name) for name in MODEL_PARTS.values())
    assert model_planning("task_graph, verification", 1.0).verification
    with pytest.raises(ValueError, match="magic"):
        model_planning("magic", 1.0)


@pytest.mark.parametrize(
    "arguments",
    [("--data", "nowhere"), ("--data", FEW, "--planner", "magic"), ("--data", FEW, "--effort", 0)],
)
def test_wrong_usage_is_told(arguments, tmp_path: Path) -> None:
    assert invoke("alfred", *arguments, "--reader", "rules", "--out", tmp_path / "r.jsonl").exit_code == 2
    assert not (tmp_path / "r.jsonl").exists()


def test_intervals_of_clusters() -> None:
    alone = bootstrap_clustered_mean([[0.0], [1.0], [1.0], [0.0], [1.0]])
    plain = bootstrap_mean([[0.0, 1.0, 1.0, 0.0, 1.0]])
    assert (alone.estimate, alone.count) == (pytest.approx(0.6), 5)
    assert (alone.low, alone.high) == pytest.approx((plain.low, plain.high), abs=0.21)
    alike = bootstrap_clustered_mean([[0.0] * 10, [1.0] * 10])
    assert alike.estimate == 0.5 and (alike.low, alike.high) == (0.0, 1.0)  # two clusters are two samples
    assert bootstrap_clustered_mean([[1.0, 1.0], [1.0]]).low == 1.0
    assert math.isnan(bootstrap_clustered_mean([]).estimate)
