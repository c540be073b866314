"""Engines in processes of their own: whatever they do, a call ends, and nothing is left behind."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from graph_planner_ros.benchmarks.worlds import process
from graph_planner_ros.benchmarks.worlds.game import WorldUnavailableError
from graph_planner_ros.benchmarks.worlds.process import EngineError, EngineProcess

SERVERS = Path(process.__file__).parent / "servers"
HEAD = f"""
import os, subprocess, sys, time
sys.path.insert(0, {str(SERVERS)!r})
from channel import serve
"""
SERVER = (
    HEAD
    + """
class Server:
    def do_echo(self, text):
        return {"text": text}
    def do_noise(self):
        print("hello from Python")
        os.write(1, b"hello from C")
        os.system("echo hello from a child")
        return {"quiet": True}
    def do_raise(self):
        raise ValueError("no such thing")
    def do_die(self):
        print("about to die")
        os._exit(3)
    def do_abort(self):
        os.abort()
    def do_hang(self):
        time.sleep(1000)
    def do_child(self):
        return {"pid": subprocess.Popen(["sleep", "1000"]).pid}
    def do_list(self):
        return [1]
if __name__ == "__main__":
    serve(Server)
"""
)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "server.py"
    path.write_text(SERVER)
    return path


@pytest.fixture
def engine(script: Path) -> Iterator[EngineProcess]:
    with EngineProcess(sys.executable, script) as started:
        yield started


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_answers_are_exchanged(engine: EngineProcess) -> None:
    for text in ("a", "Grüße\nzwei Zeilen", "x" * 300_000):
        assert engine.call("echo", text=text) == {"text": text}


def test_what_the_engine_prints_does_not_mix_with_its_answers(engine: EngineProcess) -> None:
    assert engine.call("noise") == {"quiet": True}
    assert engine.call("echo", text="b") == {"text": "b"}


def test_an_error_of_the_engine_is_told_and_it_lives_on(engine: EngineProcess) -> None:
    with pytest.raises(EngineError, match="could not raise: ValueError: no such thing"):
        engine.call("raise")
    assert engine.alive
    assert engine.call("echo", text="c") == {"text": "c"}


@pytest.mark.parametrize(("do", "words"), [("die", "exit code 3.*about to die"), ("abort", "signal SIGABRT")])
def test_a_death_is_told_with_its_cause_and_last_words(engine: EngineProcess, do: str, words: str) -> None:
    with pytest.raises(EngineError, match=f"died during {do} .*{words}"):
        engine.call(do)
    assert not engine.alive
    with pytest.raises(EngineError, match="died"):
        engine.call("echo", text="d")


def test_a_hang_ends_with_the_time_out_and_the_process_with_it(engine: EngineProcess) -> None:
    with pytest.raises(EngineError, match=r"did not answer hang within 0\.2 s"):
        engine.call("hang", timeout=0.2)
    assert gone(engine.pid)


def test_the_whole_group_is_ended(engine: EngineProcess) -> None:
    child = engine.call("child")["pid"]
    engine.close()
    engine.close()
    assert gone(engine.pid)
    psutil.wait_procs([psutil.Process(child)] if psutil.pid_exists(child) else [], timeout=10)
    assert gone(child)
    with pytest.raises(EngineError, match="closed"):
        engine.call("echo", text="e")


def test_an_answer_that_is_no_object_is_refused(engine: EngineProcess) -> None:
    with pytest.raises(EngineError):
        engine.call("list")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("print('no protocol at all')", "no JSON object"),
        ("", "died during start .exit code 0"),
        ("import sys; sys.exit('some module is missing')", "exit code 1.*some module is missing"),
        (HEAD + "def make():\n    raise ImportError('no engine here')\nserve(make)", "ImportError: no engine here"),
    ],
)
def test_a_server_that_cannot_start_says_why(tmp_path: Path, body: str, words: str) -> None:
    path = tmp_path / "broken.py"
    path.write_text(body)
    with EngineProcess(sys.executable, path) as started, pytest.raises(EngineError, match=words):
        started.call("echo", text="f")


def test_an_interpreter_that_is_not_there_is_told_at_once(script: Path) -> None:
    with pytest.raises(WorldUnavailableError, match="No such file"):
        EngineProcess("/nowhere/python", script)


def test_a_server_called_like_its_engine_does_not_hide_it(tmp_path: Path) -> None:
    for name in ("channel.py",):
        (tmp_path / name).write_text((SERVERS / name).read_text())
    (tmp_path / "json5000.py").write_text("raise SystemExit('this is the server, not the engine')")
    script = tmp_path / "server.py"
    script.write_text(
        "from channel import serve\n"
        "import importlib.util\n"
        "class Server:\n"
        "    def do_find(self):\n"
        "        return {'found': importlib.util.find_spec('json5000') is not None}\n"
        "serve(Server)\n"
    )
    with EngineProcess(sys.executable, script) as started:
        assert started.call("find") == {"found": False}


def test_the_engine_ends_when_the_one_who_started_it_is_killed(script: Path, tmp_path: Path) -> None:
    import subprocess

    starter = tmp_path / "starter.py"
    starter.write_text(
        "import sys, time\nfrom pathlib import Path\n"
        "from graph_planner_ros.benchmarks.worlds.process import EngineProcess\n"
        f"engine = EngineProcess(sys.executable, Path({str(script)!r}))\n"
        "engine.wait_ready()\nprint(engine.pid, flush=True)\nengine.call('hang')\n"
    )
    running = subprocess.Popen([sys.executable, str(starter)], stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    pid = int(running.stdout.readline())
    running.kill()
    running.wait()
    running.stdout.close()
    left = [psutil.Process(pid)] if psutil.pid_exists(pid) else []
    psutil.wait_procs(left, timeout=20)
    assert gone(pid)
