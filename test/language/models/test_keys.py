"""Keys and credentials in addresses reach the endpoint and nothing else: no reply, log, cache file or repr."""

from __future__ import annotations

import base64
import json
import logging
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fake_endpoint import Fail, FakeEndpoint, HangUp, Raw, Say, Silence, event
from hypothesis import given
from hypothesis import strategies as st

from graph_planner_ros.language.models import (
    Message,
    ModelOptions,
    ModelUnavailableError,
    ReplyStatus,
    Request,
    make_language_model,
    public_endpoint,
)
from graph_planner_ros.language.models.secrets import Secrets

KEY, USER, PASSWORD, QUERY = "sk-secret-of-the-test-4711", "robot-user", "pass word/9182", "query-secret-5566"
BASIC = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
SECRETS = (KEY, PASSWORD, quote(PASSWORD, safe=""), QUERY, BASIC)
ECHO = f"you sent {KEY} and {USER}:{PASSWORD} and {quote(PASSWORD, safe='')} and {QUERY} and Basic {BASIC}"
QUESTION = Request((Message("user", "Where is the mug?"),))


def address(endpoint: FakeEndpoint) -> str:
    return f"http://{USER}:{quote(PASSWORD, safe='')}@127.0.0.1:{endpoint.port}/v1?version=1&api-key={QUERY}"


def test_key_and_credentials_of_the_address_are_sent(endpoint: FakeEndpoint) -> None:
    make_language_model(ModelOptions(model="m", endpoint=endpoint.url)).ask(QUESTION)
    make_language_model(ModelOptions(model="m", endpoint=address(endpoint))).ask(QUESTION)
    assert [headers["authorization"] for headers in endpoint.headers] == [f"Bearer {KEY}", f"Basic {BASIC}"]
    assert endpoint.paths[1] == f"/v1/chat/completions?version=1&api-key={QUERY}"


@pytest.mark.parametrize(
    "behaviour",
    [
        Say(ECHO), Say(ECHO, stream=False), Say(ECHO, finish="length"), Fail(400, ECHO), Fail(401, ECHO),
        Fail(429, ECHO), Fail(500, ECHO), Fail(500, "x" * 380 + ECHO), Raw(ECHO.encode()), Raw(ECHO.encode(), 500),
        Raw(event({"error": {"message": ECHO}})),
        Raw(json.dumps({"choices": [{"message": {"refusal": ECHO}}]}).encode()), HangUp(), Silence(),
    ],
    ids=lambda behaviour: str(behaviour)[:30],
)  # fmt: skip
def test_an_endpoint_that_gives_keys_back_gets_them_nowhere(
    endpoint: FakeEndpoint, behaviour: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: Any
) -> None:
    for name in ("", "openai", "httpx", "httpx2", "httpcore", "httpcore2"):
        caplog.set_level(logging.DEBUG, logger=name or None)
    endpoint.script(behaviour)
    options = ModelOptions(model="m", endpoint=address(endpoint), cache=tmp_path, timeout=0.5, retries=1)
    model = make_language_model(options)
    replies = [model.ask(QUESTION), model.ask(QUESTION)]
    kept = "".join(path.read_text() for path in tmp_path.rglob("*.json"))
    assert bool(kept) == (replies[0].status is ReplyStatus.ANSWERED)
    shown = f"{replies!r} {options!r} {options} {options.described()} {model!r} {vars(model)}"
    printed = capfd.readouterr()
    for text in (shown, kept, caplog.text, printed.out, printed.err):
        for secret in SECRETS:
            assert secret not in text
        assert KEY[:-4] not in text, "nor the better part of one"
    assert "127.0.0.1" in repr(model)


def test_a_key_may_be_in_another_variable(endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROBOT_KEY", "rk-another-0815")
    make_language_model(ModelOptions(model="m", endpoint=endpoint.url, key_variable="ROBOT_KEY")).ask(QUESTION)
    assert endpoint.headers[0]["authorization"] == "Bearer rk-another-0815"


def test_without_a_key_an_endpoint_is_asked_all_the_same(
    endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    model = make_language_model(ModelOptions(model="m", endpoint=endpoint.url))
    assert model.ask(QUESTION).answered
    endpoint.script(Fail(401))
    assert "wants a key, and there is none in OPENAI_API_KEY" in model.ask(QUESTION).reason


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://me:pass@host:8/v1?key=1#x", "https://host:8/v1"),
        ("http://[::1]:80/v1", "http://[::1]:80/v1"),
        ("http://[::1/v1?key=1", "an address that is none"),
        ("https://a@b@host/v1", "https://host/v1"),
        ("user:password@host/v1", "an address that is none"),
        ("host:8000/v1?key=1", "an address that is none"),
    ],
)
def test_an_address_is_shown_without_credentials(address: str, shown: str) -> None:
    assert public_endpoint(address) == shown


def test_an_address_that_is_none_is_refused_without_its_password(key: str) -> None:
    for text in (f"user:{QUERY}@host/v1", f"http://user:{QUERY}@[::1/v1", f"ftp://user:{QUERY}@host", f"host?{QUERY}"):
        with pytest.raises(ModelUnavailableError, match="expected http") as found:
            make_language_model(ModelOptions(model="m", endpoint=text))
        assert QUERY not in str(found.value) + repr(ModelOptions(model="m", endpoint=text).described())


@given(
    st.text(st.characters(codec="ascii", exclude_characters="*"), min_size=8, max_size=40),
    st.lists(st.text(max_size=30), max_size=4),
)
def test_no_key_survives_hiding(secret: str, words: list[str]) -> None:
    hidden = Secrets(secret, "").hide(secret.join(["", *words, ""]))
    assert secret not in hidden


def test_words_that_are_no_secrets_stay_in_answers() -> None:
    assert Secrets("none", "").hide_in_answer("there is none") == "there is none"
    assert Secrets("", "http://a:b@host/v1").hide("a bread board") == "a bread board"
