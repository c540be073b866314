"""ReAct against a server on this machine that speaks OpenAI's protocol, well and badly."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from graph_planner_ros.benchmarks.worlds.experiment import Experiment, Selection
from graph_planner_ros.benchmarks.worlds.game import WorldUnavailableError
from graph_planner_ros.benchmarks.worlds.react import ReactSettings, endpoint_options, parse_action
from graph_planner_ros.benchmarks.worlds.records import EpisodeRecord
from graph_planner_ros.benchmarks.worlds.registry import make_world
from graph_planner_ros.benchmarks.worlds.session import RunSettings, run_bench
from graph_planner_ros.language.models import public_endpoint

pytest.importorskip("openai", reason="the package openai is not installed (requirements/llm.txt)")

KEY = "sk-secret-of-the-test-4711"
WAY = ["go to drawer 1", "open drawer 1", "take mug 1 from drawer 1", "go to sinkbasin 1", "move mug 1 to sinkbasin 1"]
"""Solves the game whose mug is in the drawer."""

BUSY = {"error": {"message": "busy"}}
Answer = Callable[[dict[str, Any], int], tuple[int, Any]]


class Server:
    """Answers chat completions as a test says; keeps what was asked."""

    def __init__(self) -> None:
        self.answer: Answer = lambda request, number: (200, said("Action: look"))
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.release = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(body)
                outer.keys.append(self.headers.get("Authorization", ""))
                status, content = outer.answer(body, len(outer.requests))
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.send_header("retry-after-ms", "1")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                return

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.release.set()
        self._http.shutdown()
        self._http.server_close()


def said(text: str | None, usage: dict[str, int] | None = None) -> dict[str, Any]:
    """Return the body of an answer."""
    counted = {"prompt_tokens": 70, "completion_tokens": 7, "total_tokens": 77} if usage is None else usage
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": counted}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    made = Server()
    yield made
    made.close()


def experiment(server: Server, **settings: Any) -> Experiment:
    asking = {name: settings.pop(name) for name in ("timeout", "retries") if name in settings}
    model = endpoint_options("m", server.endpoint, **{"timeout": 20.0, "retries": 2, **asking})
    asked = ReactSettings(model, **settings)
    return Experiment("bench_world:RoomWorld", {}, "react", react=asked)


def play(server: Server, limit: int = 10, **settings: Any) -> EpisodeRecord:
    chosen = experiment(server, **settings)
    spec = next(spec for spec in make_world(chosen.world, {}).games("", (1,), limit) if spec.data["mug"] == "drawer 1")
    return chosen().play(spec, lambda game: game)


def walk(request: dict[str, Any], number: int) -> tuple[int, Any]:
    """Go the way, one command an answer."""
    turns = sum(message["role"] == "assistant" for message in request["messages"])
    return 200, said(f"Thought: I go on.\nAction: {WAY[min(turns, len(WAY) - 1)]}")


def test_a_model_that_knows_the_way_wins_and_its_tokens_are_counted(server: Server) -> None:
    server.answer = walk
    record = play(server)
    assert record.won and record.steps_taken == 5 and record.tokens == 5 * 77
    assert [step.command for step in record.steps[1:]] == WAY
    assert "I go on" in record.steps[1].decision
    first = server.requests[0]["messages"]
    assert first[0]["role"] == "system" and "put a mug in sinkbasin" in first[0]["content"]
    assert "middle of a room" in first[1]["content"] and "- go to drawer 1" in first[1]["content"]
    assert server.requests[0]["temperature"] == 0.0
    assert [message["role"] for message in server.requests[-1]["messages"]] == [
        "system",
        *["user", "assistant"] * 4,
        "user",
    ]


def test_the_conversation_stays_bounded(server: Server) -> None:
    assert play(server, limit=20, window=3).steps_taken == 20
    last = server.requests[-1]["messages"]
    assert len(last) <= 2 + 2 * 3 and [message["role"] for message in last[:2]] == ["system", "user"]


def test_the_key_is_sent_and_goes_nowhere_else(server: Server, tmp_path: Path) -> None:
    server.answer = lambda request, number: (200, said("Action: look")) if number < 3 else (
        400, {"error": {"message": f"bad key {KEY} in request"}}
    )  # fmt: skip
    out, log = tmp_path / "out.jsonl", tmp_path / "log"
    with log.open("w") as file:
        run_bench(experiment(server), Selection(games=1, limit=4), RunSettings(out), Console(file=file))
    assert set(server.keys) == {f"Bearer {KEY}"}
    assert "answered 400" in out.read_text() and "***" in out.read_text()
    for path in (out, log):
        assert KEY not in path.read_text()
    assert KEY not in json.dumps(experiment(server).settings()) and KEY not in repr(asdict(experiment(server)))


def test_an_address_is_shown_without_credentials() -> None:
    assert public_endpoint("https://me:pass@host:8/v1?key=1#x") == "https://host:8/v1"


def test_errors_of_the_server_are_tried_again(server: Server) -> None:
    server.answer = lambda request, number: (
        (500, {"error": {"message": "busy"}}) if number % 2 else walk(request, number)
    )
    record = play(server)
    assert record.won and len(server.requests) == 10 and record.tokens == 5 * 77


def test_a_server_that_stays_broken_ends_the_game_with_the_reason(server: Server) -> None:
    server.answer = lambda request, number: (
        walk(request, number) if number < 3 else (503, {"error": {"message": "busy"}})
    )
    record = play(server)
    assert not record.won and "answered 503" in record.reason and record.steps_taken == 2 and record.tokens == 2 * 77


def test_no_answer_in_time_ends_the_game_with_the_reason(server: Server) -> None:
    def late(request: dict[str, Any], number: int) -> tuple[int, Any]:
        server.release.wait(60)
        return 200, said("Action: look")

    server.answer = late
    record = play(server, timeout=0.3, retries=1)
    assert "did not answer within 0.3 s" in record.reason and len(server.requests) == 2


@pytest.mark.parametrize("text", ["I do not know.", "", None, "Action:", "Action:   \n"])
def test_answers_without_a_command_are_asked_again_and_counted(server: Server, text: str | None) -> None:
    server.answer = lambda request, number: (200, said(text)) if number == 1 else (200, said("Action: go to drawer 1"))
    record = play(server, limit=1)
    assert record.steps[1].command == "go to drawer 1" and record.tokens == 2 * 77
    server.answer = lambda request, number: (200, said(text))
    record = play(server, answers=2)
    assert record.reason == "the model gave no command in 2 answers" and record.tokens == 2 * 77


def test_a_command_that_is_not_offered_is_an_invalid_action(server: Server) -> None:
    server.answer = lambda request, number: (200, said("Action: fly to the moon"))
    record = play(server, limit=3)
    assert record.invalid == 3 and record.steps[1].observation == "Nothing happens."


@pytest.mark.parametrize(
    "body", [b"<html>504</html>", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"message": null}]}', b""]
)
def test_nonsense_ends_the_game_with_a_reason(server: Server, body: bytes) -> None:
    server.answer = lambda request, number: (200, body)
    record = play(server)
    assert not record.won and "answered" in record.reason


def test_a_server_that_does_not_count_is_counted_for(server: Server) -> None:
    content = said("Action: look")
    del content["usage"]
    server.answer = lambda request, number: (200, content)
    assert play(server, limit=1).tokens > 20


@pytest.mark.parametrize(
    ("status", "words"), [(401, "refuses the key"), (403, "refuses the key"), (404, "has no model 'm'")]
)
def test_an_unusable_endpoint_stops_the_run_with_one_sentence(server: Server, status: int, words: str) -> None:
    server.answer = lambda request, number: (status, {"error": {"message": f"no {KEY}"}})
    with pytest.raises(WorldUnavailableError, match=words) as found:
        play(server)
    assert KEY not in str(found.value)


def test_an_endpoint_that_is_not_there_stops_the_run_with_one_sentence(server: Server) -> None:
    server.close()
    chosen = experiment(server, retries=0)
    with pytest.raises(WorldUnavailableError, match="cannot be reached"):
        chosen().play(make_world(chosen.world, {}).games("", (), None)[0], lambda game: game)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("Thought: x\nAction: look", "look"),
        ("**Action:** `Go To Drawer 1`.", "go to drawer 1"),
        ("action: open  the\tdoor\nObservation: it opens\nAction: look", "open the door"),
        ("> Action: look", "look"),
        ("My action will be to look", ""),
        ("Action:\nlook", ""),
        ("x" * 100_000, ""),
        ("Action: " + "*" * 50_000, ""),
    ],
)
def test_commands_are_read_out_of_answers(text: str, command: str) -> None:
    assert parse_action(text, ("look", "go to drawer 1")) == command


def test_without_a_key_a_local_server_is_asked_all_the_same(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    server.answer = walk
    assert play(server).won
    assert os.environ.get("OPENAI_API_KEY") is None
