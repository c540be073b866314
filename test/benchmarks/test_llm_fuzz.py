"""Made-up answers of a language model: the tool finds what gets past a planner, and nothing gets past ours."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from graph_planner_ros.benchmarks import llm_fuzz
from graph_planner_ros.benchmarks.llm_fuzz import PARTS, fuzz_planner, judge
from graph_planner_ros.benchmarks.model_objects import OBJECT_CHANGES, OBJECT_FORMS, ObjectMaker
from graph_planner_ros.benchmarks.model_outputs import CHANGES, DAMAGES, FORMS, WRAPPINGS, AnswerMaker
from graph_planner_ros.cli import app
from graph_planner_ros.domain.domain import Domain, load_domain
from graph_planner_ros.language.models import Message, Request
from graph_planner_ros.planning.engines import make_engine
from graph_planner_ros.planning.llm import ActionPlanner, LlmPlanner, Names, read_plan
from graph_planner_ros.planning.llm.asking import find_object
from graph_planner_ros.planning.result import PlanningResult, PlanningStatus
from graph_planner_ros.planning.task_graph import Subtask

PLAN = (Subtask("pick_up", ("Mug",)), Subtask("put", ("Mug", "Shelf")))
NAMES = Names(("pick_up", "put"), ("Mug", "Shelf"))


@pytest.fixture(scope="module")
def household() -> Domain:
    """The domain that the package brings."""
    return load_domain("household")


def test_hundreds_of_answers_are_taken_or_refused(household: Domain) -> None:
    report = fuzz_planner(household, make_engine("auto"), 200, seed=1)
    assert report.clean, report.as_json()
    assert report.answers >= 200 and report.proposed and report.searched and set(report.asked) == set(PARTS)


@pytest.mark.parametrize("part", PARTS)
def test_what_a_model_says_counts_now_and_then_in_each_part(household: Domain, part: str) -> None:
    """Else nothing would have been tried."""
    report = fuzz_planner(household, make_engine("auto"), 60, seed=4, parts=(part,))
    assert report.clean, report.as_json()
    assert report.counted[part] and set(report.asked) == {part}


def test_parts_that_there_are_not_are_named(household: Domain) -> None:
    with pytest.raises(ValueError, match="dreams"):
        fuzz_planner(household, make_engine("auto"), 5, parts=("plans", "dreams"))
    with pytest.raises(ValueError, match="nothing"):
        fuzz_planner(household, make_engine("auto"), 5, parts=())


def test_the_same_seed_makes_the_same_answers() -> None:
    def said(seed: int) -> list[str]:
        maker = AnswerMaker(random.Random(seed), ("pick_up", "put"), ("Mug", "Shelf"))
        return [maker.make(PLAN).text for _ in range(30)]

    assert said(3) == said(3) != said(4)


def kinds(table: dict[str, Any]) -> st.SearchStrategy[str]:
    return st.sampled_from([name for name in table if name != "megabytes"])  # these take their time: see below


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), kinds(CHANGES), kinds(FORMS), kinds(WRAPPINGS), kinds(DAMAGES))
def test_every_kind_of_answer_is_read_without_an_exception(
    seed: int, change: str, form: str, wrapping: str, damage: str
) -> None:
    maker = AnswerMaker(random.Random(seed), ("pick_up", "put"), ("Mug", "Shelf"))
    rows = CHANGES[change](maker, [[item.action, *item.arguments] for item in PLAN])
    parsed = read_plan(DAMAGES[damage](maker, WRAPPINGS[wrapping](maker, FORMS[form](rows))), NAMES)
    assert all(item.action in ("pick_up", "put") for item in parsed.subtasks)
    assert all({*item.arguments} <= {"Mug", "Shelf"} for item in parsed.subtasks)


OBJECTS = {
    "action": {"action": {"type": "string", "enum": ["go_to(a, b)", "look(b)"]}, "reason": {"type": "string"}},
    "classes": {"classes": {"items": {"enum": ["Mug", "Shelf"]}}},
    "places": {"places": {"items": {"properties": {"place": {"enum": ["a", "b"]}}}}},
    "decision": {"decision": {"enum": ["keep", "revise"]}, "high_level": {}},
}


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(sorted(OBJECTS)), kinds(OBJECT_CHANGES), kinds(OBJECT_FORMS))
def test_every_kind_of_object_is_read_without_an_exception(seed: int, key: str, change: str, form: str) -> None:
    rng = random.Random(seed)
    maker = ObjectMaker(rng, AnswerMaker(rng, ("pick_up", "put"), ("Mug", "Shelf")), PLAN)
    made = maker.make(Request((Message("user", "?"),), schema={"properties": OBJECTS[key]}))
    found = find_object(made.text, key)
    assert found is None or key in found
    unwrapped = find_object(OBJECT_FORMS[form](OBJECT_CHANGES[change](maker, maker._right(OBJECTS[key]))), key)
    assert (unwrapped is not None) or (change, form) != ("none", "json")


def test_megabytes_are_read_in_bounded_time() -> None:
    maker = AnswerMaker(random.Random(5), ("pick_up", "put"), ("Mug", "Shelf"))
    for _ in range(30):
        read_plan(DAMAGES["megabytes"](maker, FORMS["rows"]([["pick_up", "Mug"]])), NAMES)


def test_a_planner_that_believes_its_model_is_found_out(household: Domain, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = LlmPlanner.plan

    def gullible(self: LlmPlanner, *args: object, **options: object) -> PlanningResult:
        result = honest(self, *args, **options)  # type: ignore[arg-type]
        return PlanningResult(PlanningStatus.SOLVED, result.reason, result.steps[:-1], hypotheses=result.hypotheses)

    monkeypatch.setattr(LlmPlanner, "plan", gullible)
    report = fuzz_planner(household, make_engine("auto"), 5, parts=("plans",))
    assert len(report.wrong) == report.plans and not report.clean


def test_actions_that_nobody_verifies_are_found_out(household: Domain, monkeypatch: pytest.MonkeyPatch) -> None:
    def gullible(self: ActionPlanner, *args: object, **options: object) -> PlanningResult:
        result = honest(self, *args, **options)  # type: ignore[arg-type]
        return replace(result, steps=(*result.steps[1:], result.steps[0]))

    honest = ActionPlanner.plan
    monkeypatch.setattr(ActionPlanner, "plan", gullible)
    report = fuzz_planner(household, make_engine("auto"), 10, parts=("actions",))
    assert report.wrong and not report.clean


@pytest.mark.parametrize(
    ("part", "function"),
    [
        ("actions", "action_selection.one_line"),
        ("key_objects", "asking.find_object"),
        ("places", "key_objects._is_share"),
        ("revisions", "replanning.read_plan"),
    ],
)
def test_exceptions_of_the_other_parts_are_found_out(
    household: Domain, monkeypatch: pytest.MonkeyPatch, part: str, function: str
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("text")

    module, _, name = function.partition(".")
    monkeypatch.setattr(sys.modules[f"graph_planner_ros.planning.llm.{module}"], name, broken)
    report = fuzz_planner(household, make_engine("auto"), 60, seed=4, parts=(part,))
    assert report.raised or report.caught


def test_exceptions_and_plans_that_are_none_are_found_out(household: Domain, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> PlanningResult:
        raise KeyError("text")

    task = next(llm_fuzz._tasks(household, make_engine("auto"), random.Random(0)))
    assert "no plan" in judge(household, task, PlanningResult(PlanningStatus.UNREACHABLE, "no plan"))
    monkeypatch.setattr("graph_planner_ros.planning.llm.planner.read_plan", broken)
    report = fuzz_planner(household, make_engine("auto"), 5, parts=("plans",))
    assert report.caught and not report.raised and not report.wrong and not report.clean


def test_the_command_writes_what_came_of_it(tmp_path: Path) -> None:
    file = tmp_path / "fuzz.json"
    done = CliRunner().invoke(app, ["benchmark", "llm-fuzz", "--count", "9", "--seed", "2", "--json", str(file)])
    assert done.exit_code == 0, done.output
    written = json.loads(file.read_text())
    assert written["answers"] >= 9 and not written["wrong"] and {row["part"] for row in written["rows"]} >= {"damage"}


def test_a_file_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["benchmark", "llm-fuzz", "--json", str(tmp_path / "no" / "file.json")])
    assert done.exit_code == 2
    done = CliRunner().invoke(app, ["benchmark", "llm-fuzz", "--parts", "dreams"])
    assert done.exit_code == 2 and "dreams" in done.output
