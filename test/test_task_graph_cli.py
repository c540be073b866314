"""The command ``graph-planner task-graph``: it shows graphs and checks plans, and says what is wrong in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graph_planner_ros.cli import app
from graph_planner_ros.scene.graph import Relation, SceneGraph, SceneNode
from graph_planner_ros.scene.storage import save_graph

RUNNER = CliRunner()


def call(*arguments: str, input: str | None = None) -> tuple[int, str]:
    result = RUNNER.invoke(app, ["task-graph", *arguments], input=input)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, " ".join((result.output + result.stderr).split())


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    graph = SceneGraph("map", stamp=1.0, domain="household")
    for name, label in {"fridge_1": "Fridge", "counter_1": "CounterTop", "mug_1": "Mug", "apple_1": "Apple"}.items():
        graph.nodes[name] = SceneNode(name, label)
    graph.relations = [Relation(name, "in", "counter_1") for name in ("mug_1", "apple_1")]
    save_graph(graph, tmp_path / "scene.json")
    return tmp_path / "scene.json"


@pytest.mark.parametrize(("form", "start"), [("json", "{"), ("dot", "digraph"), ("svg", "<svg")])
def test_graphs_are_written(tmp_path: Path, form: str, start: str) -> None:
    out = tmp_path / f"graph.{form}"
    code, text = call("show", "--format", form, "--out", str(out))
    assert code == 0 and "12 subtasks" in text
    assert out.read_text().startswith(start)


def test_a_graph_is_shown_as_a_table() -> None:
    code, text = call("show", "--domain", "household+ai2thor_skills")
    assert code == 0 and "break" in text


def test_a_written_graph_is_read_again(tmp_path: Path) -> None:
    out = tmp_path / "graph.json"
    call("show", "--format", "json", "--out", str(out))
    content = json.loads(out.read_text())
    content["edges"] = [e for e in content["edges"] if (e["source"], e["target"]) != ("slice", "heat")]
    out.write_text(json.dumps(content))
    code, text = call("why", "slice", "heat", "--graph", str(out))
    assert code == 1 and "taken out" in text
    assert call("why", "slice", "heat")[0] == 0


def test_a_valid_plan_is_written_out(scene: Path) -> None:
    plan = "pick_up Mug  # the only one\n\nput Mug Fridge\n"
    code, text = call("check", "-", "--scene", str(scene), "--instruction", "put the mug in the fridge", input=plan)
    assert code == 0, text
    assert "open fridge_1" in text and "can be carried out" in text


@pytest.mark.parametrize(
    ("plan", "instruction", "expected"),
    [
        ("put Mug Fridge", "", "holding"),
        ("pick_up Mug\npick_up Apple", "", "needs hand_empty"),
        ("pick_up Zeppelin", "", "there is no 'Zeppelin' here"),
        ("pick_up Mug\nput Mug Fridge", "put the apple in the fridge", "still lacks: in(Apple, Fridge)"),
    ],
)
def test_a_plan_that_is_not_valid_is_told_why(scene: Path, plan: str, instruction: str, expected: str) -> None:
    code, text = call("check", "-", "--scene", str(scene), "--instruction", instruction, input=plan)
    assert code == 1 and expected in text


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("show", "--domain", "kitchenette"), "kitchenette"),
        (("show", "--domain", "household+nothing"), "no fragment 'nothing'"),
        (("show", "--format", "png"), "expected table, json, dot or svg"),
        (("show", "--graph", "missing.json"), "missing.json"),
        (("why", "fly", "put"), "fly is no subtask"),
        (("check", "missing.txt", "--scene", "missing.json"), "missing.txt"),
        (("check", "-", "--scene", "missing.json"), "missing.json"),
    ],
)
def test_what_is_wrong_is_named(arguments: tuple[str, ...], expected: str) -> None:
    code, text = call(*arguments, input="pick_up Mug")
    assert code == 2 and expected in text


def test_an_instruction_that_is_not_understood_is_refused(scene: Path) -> None:
    code, text = call("check", "-", "--scene", str(scene), "--instruction", "xyzzy", input="pick_up Mug")
    assert code == 2 and "--instruction" in text
