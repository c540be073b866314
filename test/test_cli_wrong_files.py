"""Files of any wrong shape given to commands: one sentence that names the file, exit code 2, nothing written."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from graph_planner_ros import cli
from graph_planner_ros.scene.graph import SceneGraph, SceneNode
from graph_planner_ros.scene.storage import save_graph

SHAPES = {
    "empty": b"",
    "list": b"[]\n",
    "object": b"{}\n",
    "number": b"5\n",
    "null": b"null\n",
    "words": b"a shopping list\n",
    "binary": bytes(range(256)),
    "archive": gzip.compress(b"{}\n" * 5000, mtime=0)[:40],
    "deep": b"[" * 100_000,
    "digits": b"1" * 6000,
    "nan": b'{"version": 1, "stamp": NaN, "nodes": NaN, "relations": []}\n',
}
COMMANDS = {
    "task-graph show --graph FILE": "",
    "task-graph check PLAN --scene FILE": "stored scene graph",
    "train sft --data FILE --run OUT": "",
    "train grpo --data FILE --run OUT": "",
    "train data plans --data FILE --out OUT": "",
    "train data language FILE --domain alfworld --out OUT": "",
    "bench alfred --data FILE --reader rules --out OUT": "",
    "bench alfred-compose --data FILE --out OUT": "",
    "bench table FILE": "",
    "bench compare FILE FILE": "",
    "language train --pairs FILE --out OUT --domain alfworld": "",
    "language evaluate --pairs FILE --domain alfworld": "",
    "memory import OUT FILE": "",
    "memory transitions --bank FILE --held-out FILE --encoder triples": "",
    "memory stats FILE": "",
    "memory collect bag FILE --out OUT": "",
    "bag info FILE": "",
    "domains translate robotouille FILE --out OUT": "",
    "evaluate kitchen --file FILE --runs OUT": "",
    "bench alfworld --data FILE --out OUT": "",
    "bench robotouille --data FILE --checkout . --out OUT": "",
    "benchmark advice kitchen --episodes FILE": "",
    "model ask question --model m --schema FILE --endpoint http://localhost:9 --retries 0": "",
    "instruction evaluate --data FILE": "",
}
PYTHON = re.compile(r"Traceback|[A-Z]\w*Error\b|Errno|indices|NoneType|unpack|codec|no attribute")
RIGHT = ("model ask question --model m --schema FILE --endpoint http://localhost:9 --retries 0", ("object", "nan"))


@pytest.fixture(autouse=True)
def signals_stay_with_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli.signal, "signal", lambda *_: None)


@pytest.mark.parametrize("shape", [*SHAPES, "folder", "missing", "below a file"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_of_another_shape_is_one_sentence(tmp_path: Path, command: str, shape: str) -> None:
    if command == RIGHT[0] and shape in RIGHT[1]:
        return  # objects are what is wanted there
    file = tmp_path / shape
    if shape in SHAPES:
        file.write_bytes(SHAPES[shape])
    elif shape == "folder":
        file.mkdir()
    elif shape == "below a file":
        (tmp_path / "file").write_text("")
        file = tmp_path / "file" / "below"
    (tmp_path / "plan").write_text("pick_up Mug\n")
    names = {"FILE": str(file), "OUT": str(tmp_path / "out"), "PLAN": str(tmp_path / "plan")}
    result = CliRunner().invoke(cli.app, [names.get(word, word) for word in command.split()])
    said = " ".join(re.sub("[│╭╮╰╯─]", " ", result.output).split())
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (1, 2, 3), said
    assert not PYTHON.search(said), said
    assert shape not in SHAPES or COMMANDS[command] in said
    assert not (tmp_path / "out").exists()


WRITING = (
    "task-graph show --format json --out OUT",
    "task-graph review --endpoint http://localhost:9 --out OUT",
    "train data plans --data nowhere --out OUT",
    "train data language nowhere --domain alfworld --out OUT",
    "language collect --data nowhere --out OUT",
    "memory collect kitchen --games 1 --seed 0 --out OUT",
    "memory collect alfworld --data nowhere --out OUT",
    "memory export nowhere OUT",
    "memory evaluate --data nowhere --json OUT",
    "memory train --data nowhere --out OUT",
    "bench alfred --data nowhere --out OUT",
    "bench alfred-compose --data nowhere --out OUT",
    "bench alfworld --data nowhere --out OUT",
    "bench learn-places alfworld --out OUT",
    "bench robotouille-tasks --out OUT",
    "benchmark llm-fuzz --json OUT",
    "benchmark memory --json OUT",
    "bag picture nowhere OUT",
)


@pytest.mark.parametrize("where", [".", "missing/out", "file/out"])
@pytest.mark.parametrize("command", WRITING)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path, command: str, where: str) -> None:
    (tmp_path / "file").write_text("")
    words = [str(tmp_path / where) if word == "OUT" else word for word in command.split()]
    result = CliRunner().invoke(cli.app, words)
    said = " ".join(re.sub("[│╭╮╰╯─]", " ", result.output).split())
    assert result.exit_code == 2 and "cannot be written" in said, said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_a_scene_of_wrong_fields_is_told_which(tmp_path: Path) -> None:
    scene = SceneGraph("map", 1.0, "household", nodes={"mug_1": SceneNode("mug_1", "Mug")})
    save_graph(scene, file := tmp_path / "scene.json")
    (tmp_path / "plan").write_text("pick_up Mug\n")
    file.write_text(file.read_text().replace('"label"', '"lable"'))
    result = CliRunner().invoke(cli.app, ["task-graph", "check", str(tmp_path / "plan"), "--scene", str(file)])
    assert result.exit_code == 2 and "node 1: there is no field 'lable'" in " ".join(result.output.split())


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
@pytest.mark.parametrize(
    "command",
    [
        "send x --wait VALUE",
        "demo --timeout VALUE",
        "bench alfred --data x --effort VALUE",
        "bench alfworld --data x --wall VALUE",
        "memory retrieval --bank x --held-out x --tau VALUE",
        "memory loops --data x --threshold VALUE",
        "model ask x --temperature VALUE",
        "task-graph check x --scene x --timeout VALUE",
    ],
)
def test_what_is_no_number_is_refused(command: str, value: str) -> None:
    result = CliRunner().invoke(cli.app, [value if word == "VALUE" else word for word in command.split()])
    assert result.exit_code == 2 and command.split()[-2] in result.output


def test_no_option_of_a_float_takes_what_is_no_number() -> None:
    folder = Path(cli.__file__).parent
    sources = {path.name: path.read_text() for path in (*folder.glob("*_cli.py"), Path(cli.__file__))}
    bare = [
        (name, found)
        for name, text in sources.items()
        for found in re.findall(r"float(?: \| None)?,\s+typer\.\w+\((?!\s*callback=finite)[^\n]*", text)
    ]
    assert not bare


def runs(words: list[str], **options: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "graph_planner_ros.cli", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


@pytest.mark.parametrize(
    "command", ["parameters", "task-graph show", "task-graph show --format json", "domains", "task-graph show --help"]
)
def test_a_reader_that_goes_away_ends_it_quietly(command: str) -> None:
    with runs(command.split(), env={**os.environ, "PYTHONUNBUFFERED": ""}) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        said = process.stderr.read().decode()
        assert process.wait(120) in (0, 1) and not said


def test_words_that_no_terminal_can_show_do_not_end_it() -> None:
    with runs(
        ["instruction", "parse", "put a \udcff mug \U0001f600", "--kind", "rules"], env={**os.environ, "LC_ALL": "C"}
    ) as process:
        said = b"".join(process.communicate(timeout=120)).decode()
        assert process.returncode == 1 and "Traceback" not in said


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("bench world os:getcwd --out OUT", "expected name, domain, games"),
        ("bench world os:sep --out OUT", "cannot be loaded"),
        ("bench world json:loads --option s=0 --out OUT", "expected name, domain, games"),
        ("bench world json:loads --option t=0 --out OUT", "it takes: s"),
        ("bench learn-places os:getcwd --out OUT", "expected name, domain, games"),
        ("language collect --world os:getcwd --out OUT", "expected name, domain, games"),
        ("bench alfworld --data x --seeds 99999999999999999999 --out OUT", "at most"),
        ("memory collect kitchen --seed 5-1 --out OUT", "the smaller first"),
        ("memory collect kitchen --seed 0-999999999999 --out OUT", "expected from 1 to"),
        ("benchmark memory --sizes 99999999999999999999", "up to 100000000"),
        ("benchmark memory --dimension 999999999999", "--dimension"),
        ("benchmark planner --timeout -1", "--timeout"),
        ("send x --wait -1", "--wait"),
        ("train data plans --data x --prompt zzz --out OUT", "prompt 'zzz': "),
    ],
)
def test_worlds_and_numbers_that_cannot_be_are_one_sentence(tmp_path: Path, command: str, words: str) -> None:
    names = {"OUT": str(tmp_path / "out")}
    result = CliRunner().invoke(cli.app, [names.get(word, word) for word in command.split()])
    said = " ".join(re.sub("[│╭╮╰╯─]", " ", result.output).split())
    assert result.exit_code == 2 and words in said and not PYTHON.search(said), said
    assert not list(tmp_path.iterdir())
