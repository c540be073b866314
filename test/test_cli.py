"""The command line: what it answers and with which exit code."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

import graph_planner_ros.msg as messages
from graph_planner_ros import __version__, cli
from graph_planner_ros.analysis.bag_writer import BagWriter, Topic
from graph_planner_ros.console import Terminal
from graph_planner_ros.conversions import plan_to_msg
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.msg import TextObservation
from graph_planner_ros.nodes.client import TaskReport
from graph_planner_ros.planning.result import PlannedStep, TaskStatus
from graph_planner_ros.running import game_as_json, report_as_json
from graph_planner_ros.srv import PlanTask
from graph_planner_ros.terminal import TaskPrinter, exit_code, print_outcome, print_planned

COMMANDS = (
    "up", "send", "game", "demo", "plan", "disturb", "domains", "version", "evaluate kitchen", "benchmark planner",
    "bag info", "bag repair", "model ask", "model check",
)  # fmt: skip


@pytest.fixture(autouse=True)
def signals_stay_with_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli.signal, "signal", lambda *_: None)


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli.app, list(words))
    return result.exit_code, result.output


def step(*words: str) -> PlannedStep:
    return PlannedStep(GroundAction(words[0], words[1:]), text=" ".join(words))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    code, output = run(*command.split(), "--help")
    assert code == 0 and "Usage" in output


@pytest.mark.parametrize("command", ["demo", "send x", "evaluate kitchen", "benchmark planner"])
@pytest.mark.parametrize("where", [".", "missing/out.json", "file/out.json"])
def test_a_json_file_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, command: str, where: str
) -> None:
    (tmp_path / "file").write_text("")
    code, output = run(*command.split(), "--json", str(tmp_path / where))
    assert code == 2 and "--json" in output and "cannot be written" in " ".join(output.replace("│", " ").split())


@pytest.mark.parametrize("command", ["up", "demo"])
@pytest.mark.parametrize(
    ("words", "expected", "why"),
    [
        (["data:={folder}", "world_python:=/no/python"], 3, "run world alfworld"),
        (["data:={folder}/nowhere"], 3, "data:="),
        (["data:={folder}", "game:=wash"], 2, "no game is called 'wash'"),
        ([], 2, "data:=PATH"),
    ],
)
def test_a_text_world_that_cannot_be_played_is_one_sentence_and_nothing_is_started(
    tmp_path: Path, command: str, words: list[str], expected: int, why: str
) -> None:
    (tmp_path / "valid_seen.jsonl").write_text('{"id": "put-1", "goal": "put a mug in desk", "pddl_problem": ""}\n')
    given = [word.format(folder=tmp_path) for word in words]
    code, output = run(command, "sim:=alfworld", *given, "--runs", str(tmp_path / "runs"))
    assert code == expected and why in output and len(output.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_how_a_game_stands_is_written_as_the_world_said_it() -> None:
    said = TextObservation(world="alfworld", game="put-1", goal="put a mug in desk", step=7, score=0.5, status=2)
    found = game_as_json(said)
    assert (found["name"], found["status"], found["commands"], found["score"]) == ("put-1", "lost", 7, 0.5)
    assert game_as_json(None)["status"] == "unknown"


def test_version() -> None:
    assert run("version") == (0, f"{__version__}\n")


def test_domains_lists_domains_and_kitchens() -> None:
    code, output = run("domains")
    assert code == 0 and "household" in output and "l_shape" in output


def test_up_lists_its_arguments_with_their_choices() -> None:
    code, output = run("up", "--list")
    assert code == 0 and "use_sim_time" in output


@pytest.mark.parametrize("word", ["sim:=gazebo", "nonsense:=1", "sim"])
def test_wrong_arguments_are_wrong_usage(word: str) -> None:
    code, output = run("up", word)
    assert code == 2 and word.split(":=")[0] in output


def test_without_a_system_send_says_what_is_missing() -> None:
    code, output = run("send", "put an apple in the sink", "--wait", "0.2")
    assert code == 3 and "execute_task" in output


def test_without_a_system_plan_and_disturb_say_what_is_missing() -> None:
    assert run("plan", "find a mug", "--wait", "0.2")[0] == 3
    code, output = run("disturb", "drop", "--wait", "0.2")
    assert code == 3 and "/disturb" in output


def test_bag_info_and_repair(tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag")
    writer.add_topic(Topic("/holding", "std_msgs/msg/Bool", "bool data\n"))
    writer.write("/holding", 10**18, b"\x00\x01\x00\x00\x01")
    writer.close()
    code, output = run("bag", "info", str(tmp_path / "bag"))
    assert code == 0 and "/holding" in output
    (tmp_path / "bag" / "metadata.yaml").unlink()
    code, output = run("bag", "info", str(tmp_path / "bag"))
    assert code == 1 and "repaired" in output
    assert run("bag", "repair", str(tmp_path / "bag"))[0] == 0
    assert run("bag", "info", str(tmp_path / "bag"))[0] == 0
    assert run("bag", "repair", str(tmp_path / "nothing"))[0] == 1


def test_evaluate_refuses_an_unknown_task_before_anything_starts(tmp_path: Path) -> None:
    code, output = run("evaluate", "kitchen", "--tasks", "nonsense", "--runs", str(tmp_path))
    assert code == 2 and "nonsense" in output
    assert list(tmp_path.iterdir()) == []


# --- what is shown of a task


def recording_console() -> Console:
    return Console(record=True, width=200, highlight=False, file=io.StringIO())


def shown(*sent: object) -> str:
    console = recording_console()
    printer = TaskPrinter(console)
    for message in sent:
        printer.show(message)
    return console.export_text()


def plan(revision: int, steps: list[PlannedStep], index: int = 0, reason: str = "") -> messages.Plan:
    return plan_to_msg(
        steps,
        stamp=0.0,
        task_id="t",
        revision=revision,
        next_index=index,
        reason=reason,
        goal="(in a b)",
        engine="mimir",
    )


def test_a_plan_is_shown_when_it_is_made_and_when_it_changes() -> None:
    first = [step("go_to", "fridge_1"), step("open", "fridge_1"), step("find", "tomato")]
    text = shown(plan(1, first), plan(2, first, 1), plan(3, [*first[:2], step("open", "cabinet_1")], 2, "no tomato"))
    assert text.count("goal (in a b)") == 1
    assert text.count("go_to fridge_1") == 1  # the second message only goes on
    assert "new plan" in text and "no tomato" in text and "open cabinet_1" in text


def test_names_in_square_brackets_are_shown_as_they_are() -> None:
    assert "pick_up [bold]mug" in shown(plan(1, [step("pick_up", "[bold]mug")]))


def test_done_and_failed_subtasks_are_shown_with_reasons() -> None:
    subtask = messages.Subtask(text="open fridge_1")
    text = shown(
        messages.SubtaskCompleted(subtask=subtask, attempts=2),
        messages.ActionFailure(subtask=subtask, reason="the door is stuck"),
    )
    assert "attempt 2" in text and "open fridge_1: the door is stuck" in text


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (TaskStatus.SUCCEEDED, 0),
        (TaskStatus.ALREADY_SATISFIED, 0),
        (TaskStatus.INSTRUCTION_NOT_UNDERSTOOD, 2),
        (TaskStatus.GOAL_UNKNOWN, 1),
        (TaskStatus.GOAL_UNREACHABLE, 1),
        (TaskStatus.NODE_LOST, 3),
        (TaskStatus.CANCELLED, 130),
    ],
)
def test_exit_codes_tell_outcomes_apart(status: TaskStatus, code: int) -> None:
    assert exit_code(TaskReport("x", status)) == code


def test_what_was_not_understood_is_shown_with_suggestions() -> None:
    console = recording_console()
    report = TaskReport(
        "florble", TaskStatus.INSTRUCTION_NOT_UNDERSTOOD, not_understood=("florble",), suggestions=("find a mug",)
    )
    print_outcome(console, report)
    text = console.export_text()
    assert "florble" in text and "find a mug" in text


def test_a_report_is_valid_json() -> None:
    report = TaskReport("x", TaskStatus.SUCCEEDED, plans=[plan(1, [step("look", "a")])])
    content = json.loads(json.dumps(report_as_json(report)))
    assert content["success"] is True and content["plans"][0]["subtasks"] == ["look a"]


# --- a goal that is true already, and plans that no engine made


def planned(status: TaskStatus, engine: str, steps: list[PlannedStep], reason: str = "") -> tuple[int, str]:
    console = recording_console()
    made = plan_to_msg(steps, stamp=0.0, task_id="", revision=0, goal="(in a b)", engine=engine)
    answer = PlanTask.Response(status=status.value, reason=reason, plan=made)
    answer.trace.valid = True
    return print_planned(console, answer), console.export_text()


def test_a_goal_that_is_true_already_is_said_to_be_so_and_has_no_plan() -> None:
    code, text = planned(TaskStatus.ALREADY_SATISFIED, "", [], "a mug is on the table")
    assert code == 0 and "already satisfied a mug is on the table" in text and "(in a b)" in text
    assert "plan" not in text and "ms" not in text


@pytest.mark.parametrize("engine", ["", "mimir"])
def test_a_plan_says_who_made_it_or_nothing(engine: str) -> None:
    steps = [step("look", "a")]
    code, text = planned(TaskStatus.SUCCEEDED, engine, steps)
    sent = plan_to_msg(steps, stamp=0.0, task_id="t", revision=1, engine=engine, reason="the first")
    for said in (text, shown(sent)):
        assert "plan ," not in said and "plan :" not in said and "look a" in said
        assert ("mimir, 0 ms" in said) == bool(engine)
    assert code == 0


@pytest.mark.parametrize("number", [0, 1, 99, 255])
def test_an_answer_whose_status_is_none_is_no_plan(number: int) -> None:
    console = recording_console()
    assert print_planned(console, PlanTask.Response(status=number)) == 1


# --- a terminal that goes away


class Gone(io.StringIO):
    """A file whose reader has gone."""

    def __init__(self, error: type[OSError]) -> None:
        super().__init__()
        self.error = error

    def write(self, text: str) -> int:
        raise self.error(5, "gone")


@pytest.mark.parametrize("error", [OSError, BrokenPipeError])
def test_a_terminal_that_goes_away_tells_the_program_once_and_is_quiet(error: type[OSError]) -> None:
    terminal, told = Terminal(file=Gone(error)), []
    terminal.on_lost = lambda: told.append(True)
    for _ in range(3):
        terminal.print("hello")
    assert told == [True]


def test_a_terminal_that_goes_away_ends_a_program_that_waits_for_nothing() -> None:
    with pytest.raises(SystemExit):
        Terminal(file=Gone(OSError)).print("hello")
