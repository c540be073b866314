"""The long-horizon set: what is composed can be asked for, is there, and has a plan that the verifier lets pass."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph_planner_ros.benchmarks.alfred.annotation_map import load_map
from graph_planner_ros.benchmarks.alfred.compose import FEWEST, MOST, SHORTEST, Composer
from graph_planner_ros.benchmarks.alfred.data import AlfredDataError, read_trajectories
from graph_planner_ros.benchmarks.alfred.evaluation import Outcome, plan_goals
from graph_planner_ros.benchmarks.alfred.judge import Judge, alfred_view
from graph_planner_ros.benchmarks.alfred.samples import read_samples, write_samples
from graph_planner_ros.benchmarks.alfred.scene import labels_of, make_scene
from graph_planner_ros.benchmarks.alfred.session import open_engine
from graph_planner_ros.planning.memplan import MemPlan
from graph_planner_ros.planning.supposing import Evidence
from graph_planner_ros.planning.task_graph import subtasks_of
from graph_planner_ros.scene.facts import symbolic_state

pytest.importorskip("pymimir")
FEW = Path(__file__).resolve().parents[2] / "fixtures" / "alfred" / "few.jsonl"
MAP = load_map()
TRAJECTORIES = read_trajectories(FEW)
COUNT = 4


def planner() -> MemPlan:
    return MemPlan(MAP.domain, open_engine("mimir", 0.1))


@functools.lru_cache(maxsize=8)
def composed(seed: int):
    return tuple(Composer(MAP, TRAJECTORIES, planner(), seed).compose(COUNT))


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 1000))
def test_every_composed_sample_is_consistent_and_its_plan_is_verified(seed: int) -> None:
    domain = MAP.domain
    for sample in composed(seed):
        assert FEWEST <= len(sample.requests) <= MOST
        assert sample.horizon >= SHORTEST
        needed: dict[str, int] = {}
        for request in sample.requests:
            for label in MAP.classes(request).values():
                needed[label] = needed.get(label, 0) + 1
        for label, count in needed.items():
            assert label in sample.fixtures if MAP.is_fixed(label) else sample.objects[label] >= count
        goal = MAP.goal(sample.requests)
        for predicate in MAP.once:
            assert sum(literal.predicate == predicate for literal in goal.literals) <= 1
        graph = make_scene(sample, MAP)
        state, outcome, engine = symbolic_state(graph, domain), Outcome(goals=(goal,)), planner()
        plan_goals(domain, lambda _, state, goal, made=engine: made.plan(state, goal), Evidence(), state, outcome)
        judgement = Judge(MAP).judge(sample, state, labels_of(graph), outcome.actions)
        assert judgement.execution.reached and judgement.graph and judgement.comparison.exact
        assert alfred_view(MAP, subtasks_of(domain, outcome.actions, labels_of(graph))) == sample.plan


def test_the_same_seed_gives_the_same_set() -> None:
    again = Composer(MAP, list(reversed(TRAJECTORIES)), planner(), 3).compose(COUNT)
    assert tuple(again) == composed(3)
    assert composed(3) != composed(4)


def test_goals_that_share_a_thing_are_not_composed() -> None:
    for sample in composed(5):
        things = [
            {label for label in MAP.classes(request).values() if not MAP.is_fixed(label)} for request in sample.requests
        ]
        assert sum(map(len, things)) == len(set().union(*things))


def test_trajectories_that_do_not_give_enough_are_told() -> None:
    with pytest.raises(AlfredDataError, match="were wanted"):
        Composer(MAP, TRAJECTORIES[:1], planner()).compose(1)


def test_a_set_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "set.jsonl"
    write_samples(file, composed(3), {"seed": 3, "data": "x"})
    assert tuple(read_samples(file, MAP)) == composed(3)
    lines = file.read_text().splitlines(keepends=True)
    assert json.loads(lines[0])["seed"] == 3
    file.write_text("".join(lines[:-1]))
    with pytest.raises(AlfredDataError, match="holds 3 samples"):
        read_samples(file, MAP)
    file.write_text("".join([*lines, lines[-1]]))
    with pytest.raises(AlfredDataError, match="twice"):
        read_samples(file, MAP)
    file.write_text("".join([json.dumps({"kind": "header", "set": "other"}) + "\n", *lines[1:]]))
    with pytest.raises(AlfredDataError, match="no composed set"):
        read_samples(file, MAP)
