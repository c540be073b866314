"""Endpoints well and badly behaved: always a reply with a status and a sentence, never an exception."""

from __future__ import annotations

import socket
import threading
from email.utils import formatdate
from typing import Any

import pytest
from fake_endpoint import (
    Break,
    Call,
    Drip,
    Endless,
    Fail,
    FakeEndpoint,
    HangUp,
    Raw,
    Say,
    Silence,
    Stall,
    completion,
    event,
)

from graph_planner_ros.language.models import (
    LanguageModel,
    Message,
    ModelOptions,
    ModelUnavailableError,
    Reply,
    ReplyStatus,
    Request,
    make_language_model,
)

LONG = 600.0
"""Seconds: a test that waits so long has failed."""
QUESTION = Request((Message("system", "You plan."), Message("user", "Where is the mug?")))
SHORT = Request(QUESTION.messages, max_tokens=16)


def model(endpoint: FakeEndpoint, **options: Any) -> LanguageModel:
    return make_language_model(ModelOptions(model="m", endpoint=endpoint.url, **{"timeout": LONG, **options}))


def ask(endpoint: FakeEndpoint, request: Request = QUESTION, **options: Any) -> Reply:
    return model(endpoint, **options).ask(request)


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_comes_with_its_tokens_streamed_or_whole(endpoint: FakeEndpoint, stream: bool) -> None:
    endpoint.script(Say("in the  drawer\n\u2028é", stream=stream))
    reply = ask(endpoint)
    assert reply.status is ReplyStatus.ANSWERED and reply.answered and reply.reason == ""
    assert reply.text == "in the  drawer\n\u2028é"
    assert (reply.prompt_tokens, reply.completion_tokens, reply.retries, reply.cached) == (70, 7, 0, False)
    assert reply.latency >= reply.first_token > 0 and reply.model == "m"


def test_what_is_sent(endpoint: FakeEndpoint, key: str) -> None:
    schema = {"type": "object"}
    ask(endpoint, Request(QUESTION.messages, schema=schema, stop=("END",), seed=3))
    body = endpoint.bodies[0]
    assert body["messages"] == [{"role": m.role, "content": m.content} for m in QUESTION.messages]
    assert (body["model"], body["temperature"], body["max_tokens"], body["seed"]) == ("m", 0.0, 4096, 3)
    assert body["stop"] == ["END"] and body["response_format"]["json_schema"]["schema"] == schema
    assert endpoint.headers[0]["authorization"] == f"Bearer {key}"
    assert endpoint.paths == ["/v1/chat/completions"]


def test_tokens_are_estimated_where_the_endpoint_does_not_count(endpoint: FakeEndpoint) -> None:
    endpoint.script(Say("a" * 400, usage=None))
    reply = ask(endpoint)
    assert reply.prompt_tokens == 26 // 4 + 1 and reply.completion_tokens == 101


FAULTS = [
    (Raw(b"<html>Bad gateway</html>", kind="text/html"), ReplyStatus.MALFORMED, "web page"),
    (Raw(b"<html>Bad gateway</html>", status=502, kind="text/html"), ReplyStatus.UNREACHABLE, "502: a web page"),
    (Raw(b"[]"), ReplyStatus.MALFORMED, "no completion"),
    (Raw(b"{}"), ReplyStatus.MALFORMED, "no completion"),
    (Raw(b'{"choices": 3}'), ReplyStatus.MALFORMED, "no completion"),
    (Raw(b'{"choices": [7]}'), ReplyStatus.MALFORMED, "no completion"),
    (Raw(b'{"choices": []}'), ReplyStatus.MALFORMED, "without choices"),
    (Raw(b'{"choices": [{"message": null}]}'), ReplyStatus.MALFORMED, "without a message"),
    (Raw(b'{"choices": [{"message": {"content": 7}}]}'), ReplyStatus.MALFORMED, "no text"),
    (Raw(b'{"choices": [{"mess'), ReplyStatus.MALFORMED, "no JSON"),
    (Raw(b"[" * 100_000), ReplyStatus.MALFORMED, "no JSON"),
    (Raw(b""), ReplyStatus.MALFORMED, "nothing at all"),
    (Raw(b"", kind="text/event-stream"), ReplyStatus.MALFORMED, "nothing at all"),
    (Raw(b"\xff\xfe\x00"), ReplyStatus.MALFORMED, "no JSON"),
    (Raw(b"data: {broken\n\n"), ReplyStatus.MALFORMED, "no JSON"),
    (Raw(b"data: [DONE]\n\n"), ReplyStatus.MALFORMED, "without a choice"),
    (Raw(b"x", headers={"Content-Encoding": "gzip"}), ReplyStatus.MALFORMED, "compressed"),
    (Raw(event({"error": {"message": "out of memory"}})), ReplyStatus.UNREACHABLE, "out of memory"),
    (Raw(event({"error": {"code": "rate_limit_exceeded"}})), ReplyStatus.RATE_LIMITED, "error"),
    (Raw(b'{"error": "no model is loaded"}'), ReplyStatus.UNREACHABLE, "no model is loaded"),
    (Fail(500), ReplyStatus.UNREACHABLE, "answered 500: busy"),
    (Fail(503), ReplyStatus.UNREACHABLE, "answered 503: busy"),
    (Fail(529), ReplyStatus.UNREACHABLE, "answered 529: busy"),
    (Fail(408), ReplyStatus.UNREACHABLE, "answered 408"),
    (Fail(429), ReplyStatus.RATE_LIMITED, "answered 429: busy"),
    (Fail(400, "no such thing"), ReplyStatus.REFUSED, "answered 400: no such thing"),
    (Fail(401), ReplyStatus.REFUSED, "refuses the key in OPENAI_API_KEY"),
    (Fail(403), ReplyStatus.REFUSED, "refuses the key in OPENAI_API_KEY"),
    (Fail(404), ReplyStatus.REFUSED, "has no model 'm'"),
    (Fail(418, "a teapot"), ReplyStatus.REFUSED, "answered 418: a teapot"),
    (Fail(308, headers={"Location": "http://127.0.0.1:9/"}), ReplyStatus.REFUSED, "not followed"),
    (HangUp(), ReplyStatus.UNREACHABLE, "cannot be reached"),
    (Break("so far"), ReplyStatus.TRUNCATED, "broke"),
    (Say("so far", finish=None, done=False), ReplyStatus.TRUNCATED, "without saying so"),
    (Say("so far", finish="length"), ReplyStatus.TRUNCATED, "tokens ran out"),
    (Say("", finish="content_filter"), ReplyStatus.REFUSED, "content filter"),
    (Say("", finish="tool_calls"), ReplyStatus.MALFORMED, "tool"),
    (Say(""), ReplyStatus.ANSWERED, "empty"),
    (Say(None, stream=False), ReplyStatus.ANSWERED, "empty"),
    (
        Raw(b'{"choices": [{"finish_reason": "stop", "message": {"refusal": "I will not."}}]}'),
        ReplyStatus.REFUSED,
        "I will not.",
    ),
]


@pytest.mark.parametrize(("behaviour", "status", "words"), FAULTS, ids=lambda value: str(value)[:60])
def test_a_fault_is_a_status_and_a_sentence(
    endpoint: FakeEndpoint, behaviour: Any, status: ReplyStatus, words: str
) -> None:
    endpoint.script(behaviour)
    reply = ask(endpoint, SHORT, retries=1)
    assert reply.status is status and words in reply.reason
    assert "\n" not in reply.reason and len(reply.reason) < 800
    if status is ReplyStatus.TRUNCATED:
        assert reply.text == "so far" and reply.answered


@pytest.mark.parametrize("behaviour", [Silence(), Stall("so far")], ids=["silence", "stall"])
def test_an_endpoint_that_is_slow_runs_out_of_time(endpoint: FakeEndpoint, behaviour: Any) -> None:
    endpoint.script(behaviour)
    reply = ask(endpoint, timeout=0.4)
    assert reply.status is ReplyStatus.TIMED_OUT and "did not answer within 0.4 s" in reply.reason
    assert endpoint.left.wait(LONG), "the connection is closed"


def test_a_time_out_of_the_question_goes_before_that_of_the_model(endpoint: FakeEndpoint) -> None:
    endpoint.script(Silence())
    assert model(endpoint).ask(QUESTION, timeout=0.3).status is ReplyStatus.TIMED_OUT


@pytest.mark.parametrize("behaviour", [Silence(), Stall(), Drip()], ids=["silence", "stall", "drip"])
def test_one_try_may_have_a_time_out_of_its_own(endpoint: FakeEndpoint, behaviour: Any) -> None:
    endpoint.script(behaviour, Say("late"))
    reply = ask(endpoint, attempt_timeout=0.3)
    assert reply.text == "late" and reply.retries == 1


@pytest.mark.parametrize(
    "behaviour",
    [
        Endless(),
        Endless(b"x" * 65536),
        Endless(b"data: " + b"x" * 65536),
        Endless(b"data: x\n" * 1000),
        Endless(b": ping\n\n" * 1000),
        Endless(b'{"a":\n' * 1000),
        Endless(b"x" * 65536, status=500),
        Endless(event({"choices": [{"delta": {"content": "x" * 100_000}}]})),
        Endless(event({"choices": [{"delta": {"refusal": "x" * 100_000}}]})),
    ],
    ids=["text", "line", "event", "events", "pings", "JSON", "error", "megabytes", "refusals"],
)
def test_an_endpoint_without_an_end_is_left(endpoint: FakeEndpoint, behaviour: Any) -> None:
    endpoint.script(behaviour)
    reply = ask(endpoint, SHORT, retries=0)
    assert reply.status in (ReplyStatus.TRUNCATED, ReplyStatus.MALFORMED, ReplyStatus.UNREACHABLE) and reply.reason
    assert len(reply.text) < 1000 and endpoint.sent < 1 << 25


def test_an_endpoint_that_is_not_there(endpoint: FakeEndpoint) -> None:
    endpoint.close()
    reply = ask(endpoint, retries=1)
    assert reply.status is ReplyStatus.UNREACHABLE and "cannot be reached" in reply.reason and reply.retries == 1
    reply = make_language_model(ModelOptions(model="m", endpoint="http://no.such.host.invalid/v1", retries=0)).ask(
        SHORT
    )
    assert reply.status is ReplyStatus.UNREACHABLE and "no.such.host.invalid" in reply.reason


# ---- cancelling


def cancelling(behaviour: Any, cancel: threading.Event) -> Any:
    """The behaviour, which has the request cancelled when it has arrived."""

    def behave(call: Call) -> None:
        cancel.set()
        behaviour(call)

    return behave


@pytest.mark.parametrize(
    "behaviour",
    [Silence(), Stall(), Endless(), Drip(), Fail(503, headers={"Retry-After": "300"})],
    ids=["silence", "stall", "endless", "drip", "waiting to try again"],
)
def test_cancel_returns_whatever_the_endpoint_does(endpoint: FakeEndpoint, behaviour: Any) -> None:
    cancel = threading.Event()
    endpoint.script(cancelling(behaviour, cancel))
    reply = model(endpoint).ask(Request(QUESTION.messages, max_tokens=10**6), cancel=cancel)
    assert reply.status is ReplyStatus.CANCELLED and not reply.answered
    if isinstance(behaviour, (Silence, Stall)):
        assert endpoint.left.wait(LONG), "the connection is closed, so that the endpoint can stop"
    assert len(endpoint.bodies) == 1


def test_cancel_returns_when_nobody_takes_the_connection(key: str) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)
        cancel = threading.Event()
        threading.Timer(0.1, cancel.set).start()
        options = ModelOptions(model="m", endpoint=f"http://127.0.0.1:{listening.getsockname()[1]}/v1", timeout=LONG)
        assert make_language_model(options).ask(QUESTION, cancel=cancel).status is ReplyStatus.CANCELLED


def test_what_is_cancelled_already_is_not_asked(endpoint: FakeEndpoint) -> None:
    cancel = threading.Event()
    cancel.set()
    assert model(endpoint).ask(QUESTION, cancel=cancel).status is ReplyStatus.CANCELLED and endpoint.bodies == []


def test_several_threads_may_ask_and_one_be_cancelled(endpoint: FakeEndpoint) -> None:
    cancel = threading.Event()
    endpoint.script(cancelling(Silence(), cancel), Say("the other one"))
    asked = model(endpoint)
    replies: list[Reply] = []
    first = threading.Thread(target=lambda: replies.append(asked.ask(QUESTION, cancel=cancel)))
    first.start()
    assert endpoint.waiting.wait(LONG)
    assert asked.ask(QUESTION).text == "the other one"
    first.join(LONG)
    assert replies[0].status is ReplyStatus.CANCELLED


# ---- trying again


@pytest.mark.parametrize(
    "behaviour", [Fail(500), Fail(429), Fail(408), HangUp(), Break(), Say("x", finish=None, done=False)], ids=str
)
def test_what_may_pass_is_tried_again(endpoint: FakeEndpoint, behaviour: Any) -> None:
    endpoint.script(behaviour, behaviour, Say("at last"))
    reply = ask(endpoint, retries=2)
    assert reply.status is ReplyStatus.ANSWERED and reply.text == "at last" and reply.retries == 2


@pytest.mark.parametrize("behaviour", [Fail(400), Fail(401), Fail(404), Raw(b"<html>"), Say("x", finish="length")])
def test_what_will_not_pass_is_not_tried_again(endpoint: FakeEndpoint, behaviour: Any) -> None:
    endpoint.script(behaviour, Say("another"))
    assert ask(endpoint, retries=2).retries == 0 and len(endpoint.bodies) == 1


@pytest.mark.parametrize("asked", ["3600", "1e3", formatdate(4e9), "99999999999"])
@pytest.mark.parametrize("status", [429, 503])
def test_a_wait_that_is_longer_than_the_time_left_is_not_begun(endpoint: FakeEndpoint, asked: str, status: int) -> None:
    endpoint.script(Fail(status, headers={"Retry-After": asked}), Say("too early"))
    reply = ask(endpoint, timeout=60.0)
    assert not reply.answered and "asks to wait" in reply.reason and len(endpoint.bodies) == 1


@pytest.mark.parametrize(
    "headers", [{"Retry-After": "0"}, {"retry-after-ms": "1"}, {"Retry-After": "soon"}, {"Retry-After": formatdate(0)}]
)
def test_a_wait_that_the_endpoint_asks_for_is_kept_to(endpoint: FakeEndpoint, headers: dict[str, str]) -> None:
    endpoint.script(Fail(429, headers=headers), Say("now"))
    assert ask(endpoint).text == "now"


# ---- what endpoints do not take


SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}}}


class Choosy:
    """Refuses requests for which ``refuses`` gives a message."""

    def __init__(self, refuses: Any, status: int = 400) -> None:
        self.refuses, self.status = refuses, status

    def __call__(self, call: Call) -> None:
        message = self.refuses(call.body)
        (Fail(self.status, message) if message else Say("ok"))(call)


@pytest.mark.parametrize("status", [400, 422, 501])
def test_a_schema_that_is_refused_is_left_out_said_and_remembered(endpoint: FakeEndpoint, status: int) -> None:
    endpoint.script(Choosy(lambda body: "response_format.type" if "response_format" in body else "", status))
    asked = model(endpoint)
    first = asked.ask(Request(QUESTION.messages, schema=SCHEMA))
    assert first.status is ReplyStatus.ANSWERED and first.retries == 0
    assert "does not take the JSON schema, so it was asked without" in first.reason
    before = len(endpoint.bodies)
    again = model(endpoint).ask(Request(QUESTION.messages, schema=SCHEMA))
    assert again.reason == first.reason and len(endpoint.bodies) == before + 1


def test_an_endpoint_that_refuses_every_schema_gets_no_more_of_them(endpoint: FakeEndpoint) -> None:
    endpoint.script(Choosy(lambda body: "no" if "response_format" in body else ""))
    asked = model(endpoint)
    for number in range(2):
        asked.ask(Request(QUESTION.messages, schema={"title": str(number)}))
    before = len(endpoint.bodies)
    assert "so it was asked without" in asked.ask(Request(QUESTION.messages, schema={"title": "another"})).reason
    assert len(endpoint.bodies) == before + 1


def test_one_schema_that_is_refused_does_not_spoil_the_others(endpoint: FakeEndpoint) -> None:
    endpoint.script(Choosy(lambda body: "odd schema" if "odd" in str(body.get("response_format")) else ""))
    asked = model(endpoint)
    assert asked.ask(Request(QUESTION.messages, schema=SCHEMA)).reason == ""
    for number in range(3):
        assert asked.ask(Request(QUESTION.messages, schema={"title": f"odd {number}"})).reason
    assert asked.ask(Request(QUESTION.messages, schema=SCHEMA)).reason == ""
    assert endpoint.bodies[-1]["response_format"]["type"] == "json_schema"


def test_a_weaker_constraint_comes_before_none(endpoint: FakeEndpoint) -> None:
    def refuses(body: dict[str, Any]) -> str:
        return "no schemas" if (body.get("response_format") or {}).get("type") == "json_schema" else ""

    endpoint.script(Choosy(refuses))
    reply = ask(endpoint, Request(QUESTION.messages, schema=SCHEMA, grammar='root ::= "x"'))
    assert reply.reason == "" and endpoint.bodies[-1]["grammar"] == 'root ::= "x"'
    reply = ask(endpoint, Request(QUESTION.messages, schema=SCHEMA))
    assert "in JSON mode" in reply.reason and endpoint.bodies[-1]["response_format"] == {"type": "json_object"}


def test_a_limit_by_another_name_and_parameters_that_are_not_taken(endpoint: FakeEndpoint) -> None:
    def refuses(body: dict[str, Any]) -> str:
        for name in ("max_tokens", "temperature", "seed", "stream_options"):
            if name in body:
                return f"Unsupported parameter: '{name}' is not supported with this model."
        return ""

    endpoint.script(Choosy(refuses))
    asked = model(endpoint)
    assert asked.ask(QUESTION).status is ReplyStatus.ANSWERED
    assert endpoint.bodies[-1]["max_completion_tokens"] == 4096
    before = len(endpoint.bodies)
    assert asked.ask(QUESTION).answered and len(endpoint.bodies) == before + 1


def test_a_prompt_that_leaves_too_little_room_is_answered_as_long_as_it_goes(endpoint: FakeEndpoint) -> None:
    def refuses(body: dict[str, Any]) -> str:
        long = max(body.get("max_tokens", 0), body.get("max_completion_tokens", 0)) > 100
        return "'max_tokens' is too large: 4096. This model's maximum context length is 2048 tokens" if long else ""

    endpoint.script(Choosy(refuses))
    asked = model(endpoint)
    assert asked.ask(QUESTION).status is ReplyStatus.ANSWERED
    assert asked.ask(SHORT).answered and endpoint.bodies[-1]["max_tokens"] == 16, "the next one is limited again"


def test_a_request_that_is_refused_whatever_is_left_out_ends(endpoint: FakeEndpoint) -> None:
    endpoint.script(Fail(400, "'temperature' 'seed' max_tokens stream_options 'stop' schema"))
    reply = ask(endpoint, Request(QUESTION.messages, schema=SCHEMA, grammar="g", stop=("x",)))
    assert reply.status is ReplyStatus.REFUSED and len(endpoint.bodies) < 16


# ---- strange requests and options


def test_half_characters_are_neither_sent_nor_handed_on(endpoint: FakeEndpoint) -> None:
    content = completion("x")
    content["choices"][0]["message"]["content"] = "a\ud800b\ud83d\ude00"
    endpoint.script(Raw(b'{"choices": [{"finish_reason": "stop", "message": {"content": "a\\ud800b\\ud83d\\ude00"}}]}'))
    reply = ask(endpoint, Request((Message("user", "label \udfff of a mug"),)))
    assert reply.text == "a\ufffdb\U0001f600" and reply.text.encode()
    assert endpoint.bodies[0]["messages"][0]["content"] == "label \ufffd of a mug"


def test_a_schema_that_is_no_json_is_refused_with_a_sentence(endpoint: FakeEndpoint) -> None:
    reply = ask(endpoint, Request(QUESTION.messages, schema={"enum": {1, 2}}))
    assert reply.status is ReplyStatus.REFUSED and "cannot be sent" in reply.reason and endpoint.bodies == []


@pytest.mark.parametrize(
    "address", ["localhost:8000", "ftp://host/v1", "http://", "http://host:port/v1", "http://[::1/v1", "http://a b/v1"]
)
def test_an_address_that_is_none_is_refused_before_anything_is_asked(key: str, address: str) -> None:
    with pytest.raises(ModelUnavailableError, match="expected http"):
        make_language_model(ModelOptions(model="m", endpoint=address))


def test_options_that_cannot_be_used_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="no model backend 'telepathy'; there are: openai"):
        ModelOptions(backend="telepathy")
    with pytest.raises(ValueError, match="timeout"):
        ModelOptions(timeout=0)
    with pytest.raises(ValueError, match="retries"):
        ModelOptions(retries=-1)
    with pytest.raises(ModelUnavailableError, match="needs the name of a model"):
        make_language_model(ModelOptions())
    monkeypatch.setenv("OPENAI_API_KEY", "sk\nevil: header")
    with pytest.raises(ModelUnavailableError, match="key in OPENAI_API_KEY has characters"):
        make_language_model(ModelOptions(model="m", endpoint="http://localhost/v1"))


def test_requests_that_cannot_be_are_named() -> None:
    with pytest.raises(ValueError, match="at least one message"):
        Request(())
    with pytest.raises(ValueError, match="max_tokens"):
        Request(QUESTION.messages, max_tokens=0)
    with pytest.raises(ValueError, match="temperature"):
        Request(QUESTION.messages, temperature=-1.0)
    with pytest.raises(ValueError, match="role"):
        Message("robot", "x")  # type: ignore[arg-type]
