"""The evaluation: its episodes, its judge, its report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from graph_planner_ros.benchmarks.kitchen import (
    Episode,
    EpisodeRecord,
    EvaluationTask,
    Judge,
    load_evaluation,
    new_record,
    rate,
    run_episodes,
    summarize,
    write_report,
)
from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable
from graph_planner_ros.scene.graph import GROUND_TRUTH, Box, Relation, SceneGraph, SceneNode
from graph_planner_ros.sim.layouts import describe_layouts


def box(x: float) -> Box:
    return Box(np.array([x, 0.0, 0.5]), np.array([0.5, 0.5, 1.0]))


def truth(*places: tuple[str, str]) -> SceneGraph:
    """Ground truth with a table, a sink, an apple and an egg, and who is where."""
    labels = {"table_1": "DiningTable", "sink_1": "SinkBasin", "apple_1": "Apple", "egg_1": "Egg"}
    nodes = {
        name: SceneNode(name, label, box(float(index)), box(float(index)), source=GROUND_TRUTH)
        for index, (name, label) in enumerate(labels.items())
    }
    relations = [Relation(item, "in", place, source=GROUND_TRUTH) for item, place in places]
    return SceneGraph(domain="household", nodes=nodes, relations=relations)


def goal(item: str, place: str) -> Goal:
    variables = (GoalVariable("?i", "item", item), GoalVariable("?p", "fixture", place))
    return Goal(variables, (GoalLiteral("in", ("?i", "?p")),), text=f"{item} in {place}")


def test_the_judge_looks_at_the_end_of_a_single_goal() -> None:
    judge = Judge(load_domain("household"), [goal("Apple", "DiningTable")])
    judge.see(truth(("apple_1", "table_1")))
    assert judge.verdict(truth(("apple_1", "sink_1")))[0] is False
    assert judge.verdict(truth(("apple_1", "table_1"))) == (True, "the goal holds")


def test_goals_in_sequence_must_have_held_in_their_order() -> None:
    domain = load_domain("household")
    goals = [goal("Apple", "SinkBasin"), goal("Egg", "DiningTable")]
    end = truth(("apple_1", "table_1"), ("egg_1", "table_1"))
    judge = Judge(domain, goals)
    assert judge.verdict(end)[0] is False
    judge = Judge(domain, goals)
    judge.see(truth(("apple_1", "sink_1")))
    judge.see(truth(("apple_1", "table_1")))
    assert judge.verdict(end)[0] is True


def test_without_ground_truth_nothing_is_a_success() -> None:
    success, sentence = Judge(load_domain("household"), [goal("Apple", "SinkBasin")]).verdict(None)
    assert success is False and "simulator" in sentence


def test_an_instruction_that_cannot_be_read_cannot_be_judged() -> None:
    with pytest.raises(ValueError, match="florble"):
        Judge.for_instruction(load_domain("household"), "florble the wug")


def test_the_package_own_evaluation_is_what_it_promises() -> None:
    evaluation = load_evaluation()
    instructions = {task.instruction for task in evaluation.tasks}
    disturbed = sum(bool(task.disturbances) for task in evaluation.tasks)
    assert len(instructions) >= 12
    assert 2 * disturbed >= len(evaluation.tasks)
    assert set(evaluation.layouts) <= set(describe_layouts())
    domain = load_domain("household")
    for task in evaluation.tasks:
        Judge.for_instruction(domain, task.instruction)


def test_every_task_meets_every_seed_and_the_layouts_take_turns() -> None:
    episodes = load_evaluation().episodes(3)
    assert len({episode.name for episode in episodes}) == len(episodes) == 3 * len(load_evaluation().tasks)
    assert {episode.layout for episode in episodes} == set(load_evaluation().layouts)


def test_tasks_are_chosen_by_name_and_unknown_ones_refused() -> None:
    evaluation = load_evaluation()
    name = evaluation.tasks[0].name
    assert [episode.task.name for episode in evaluation.episodes(2, [name])] == [name, name]
    with pytest.raises(ValueError, match="nonsense"):
        evaluation.episodes(1, ["nonsense"])
    with pytest.raises(ValueError, match="seed"):
        evaluation.episodes(0)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({}, "layouts"),
        ({"layouts": ["a"], "instructions": [{"name": "x"}]}, "entry 1"),
        ({"layouts": ["a"], "instructions": [{"name": "x", "instruction": "y"}] * 2}, "one name: x"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(tmp_path: Path, content: object, expected: str) -> None:
    path = tmp_path / "tasks.yaml"
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ValueError, match=expected):
        load_evaluation(path)


def episode(name: str, seed: int = 0) -> Episode:
    return Episode(EvaluationTask(name, f"do {name}", ({"kind": "slip"},) if name == "b" else ()), "l", seed)


def test_an_episode_that_breaks_is_a_failure_and_the_rest_goes_on() -> None:
    def run(one: Episode) -> EpisodeRecord:
        if one.seed == 1:
            raise OSError("no space left")
        record = new_record(one)
        record.success = True
        return record

    told: list[EpisodeRecord] = []
    records = run_episodes([episode("a", seed) for seed in range(3)], run, jobs=2, on_record=told.append)
    assert [record.success for record in records] == [True, False, True]
    assert records[1].status == "broken" and "no space left" in records[1].reason
    assert sorted(record.seed for record in told) == [0, 1, 2]


def test_the_report_counts_by_task_and_disturbance(tmp_path: Path) -> None:
    records = [new_record(episode(name, seed)) for name in "ab" for seed in range(4)]
    for record in records[:6]:
        record.success, record.status = True, "succeeded"
    records[7].status = "succeeded"
    records[0].step_times = [0.01, 0.03]
    summary = summarize(records)
    assert summary["success"]["all"]["estimate"] == 0.75
    assert summary["success"]["disturbed"]["count"] == 4
    assert summary["success_by_task"]["b"]["estimate"] == 0.5
    assert summary["claimed_but_false"] == 1
    assert summary["planning_time_per_step"]["count"] == 2
    assert summary["undisturbed_after_all"] == sum(record.disturbed for record in records)
    assert rate(records).low < 0.75 < rate(records).high
    path = tmp_path / "out.json"
    write_report(path, records, {"seeds": 4})
    content = json.loads(path.read_text())
    assert len(content["records"]) == 8 and content["settings"] == {"seeds": 4}


def test_a_report_without_any_planning_is_valid_json(tmp_path: Path) -> None:
    write_report(tmp_path / "out.json", [], {})
    assert json.loads((tmp_path / "out.json").read_text())["summary"]["episodes"] == 0


def test_episodes_that_were_not_carried_out_are_no_failures() -> None:
    def run(given: Episode) -> EpisodeRecord:
        if given.seed > 0:
            raise InterruptedError("stopped")
        return new_record(given)

    told: list[EpisodeRecord] = []
    records = run_episodes([episode("a", seed) for seed in range(3)], run, on_record=told.append)
    assert [record.seed for record in records] == [record.seed for record in told] == [0]
