"""``graph-planner model``: what it prints and with which exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_endpoint import Call, Fail, FakeEndpoint, Raw, Say
from typer.testing import CliRunner

from graph_planner_ros.commands import models
from graph_planner_ros.language.models import ReplyStatus, Request, ScriptedModel
from graph_planner_ros.language.models.checking import check_model
from graph_planner_ros.language.models.messages import Reply


@pytest.fixture(autouse=True)
def signals_stay_with_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models.signal, "signal", lambda *_: None)


def run(*words: str, standard_input: str | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(models.app, list(words), input=standard_input)
    return result.exit_code, result.stdout, result.stderr


def at(endpoint: FakeEndpoint) -> list[str]:
    return ["--endpoint", endpoint.url, "--model", "m"]


def test_an_answer_goes_to_the_output_and_its_cost_to_the_errors(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    endpoint.script(Say("in the [drawer]"))
    words = ["ask", "Where is it?", *at(endpoint), "--system", "Be brief.", "--cache", str(tmp_path)]
    code, said, cost = run(*words)
    assert (code, said) == (0, "in the [drawer]\n") and "70 + 7 tokens" in cost and "cache" not in cost
    assert [message["role"] for message in endpoint.bodies[0]["messages"]] == ["system", "user"]
    code, said, cost = run(*words)
    assert (code, said) == (0, "in the [drawer]\n") and "from the cache" in cost and len(endpoint.bodies) == 1


def test_a_question_may_come_from_the_input(endpoint: FakeEndpoint) -> None:
    assert run("ask", "-", *at(endpoint), standard_input="Where?\n")[0] == 0
    assert endpoint.bodies[0]["messages"][0]["content"] == "Where?\n"
    assert run("ask", " ", *at(endpoint))[0] == 2


def test_a_schema_and_a_grammar_are_read_from_files(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    schema, grammar = tmp_path / "schema.json", tmp_path / "grammar.gbnf"
    schema.write_text('{"type": "object"}')
    grammar.write_text('root ::= "x"')
    assert run("ask", "x", *at(endpoint), "--schema", str(schema))[0] == 0
    assert run("ask", "x", *at(endpoint), "--grammar", str(grammar))[0] == 0
    assert endpoint.bodies[0]["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert endpoint.bodies[1]["grammar"] == 'root ::= "x"'
    for content in ("[]", "{", "[" * 100_000):
        schema.write_text(content)
        code, _, error = run("ask", "x", *at(endpoint), "--schema", str(schema))
        assert code == 2 and "--schema" in error
    assert run("ask", "x", *at(endpoint), "--grammar", str(tmp_path / "none"))[0] == 2


@pytest.mark.parametrize("behaviour", [Fail(401), Raw(b"<html>"), Fail(404)])
def test_no_answer_is_one_line_and_an_exit_code(endpoint: FakeEndpoint, behaviour: Any) -> None:
    endpoint.script(behaviour)
    code, said, error = run("ask", "x", *at(endpoint), "--retries", "0")
    assert code == 1 and said == "" and len(error.strip().splitlines()) == 1
    code, said, _ = run("check", *at(endpoint))
    assert code == 1 and said.startswith("-- answers: ") and len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "expected", "why"),
    [
        (["--backend", "telepathy"], 2, "no model backend"),
        ([], 3, "needs the name of a model"),
        (["--model", "m", "--endpoint", "nowhere"], 3, "expected http"),
        (["--backend", "llama_cpp"], 3, "run extra local_llm"),
        (["--backend", "transformers", "--model", "m"], 3, "run extra transformers"),
    ],
)
@pytest.mark.parametrize("command", [["check"], ["ask", "x"]])
def test_what_cannot_be_used_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, key: str, command: list[str], words: list[str], expected: int, why: str
) -> None:
    for name in ("xllamacpp", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    code, said, error = run(*command, *words)
    assert code == expected and why in error and said == "" and len(error.strip().splitlines()) == 1


def keep_to_it(call: Call) -> None:
    """Answer as a model does that keeps to what it was asked for."""
    if "response_format" in call.body:
        Say(json.dumps({"colour": "blue"}))(call)
    elif "grammar" in call.body:
        Say("colour green")(call)
    else:
        Say("hello to you")(call)


def test_a_check_says_what_there_is_a_line_each(endpoint: FakeEndpoint) -> None:
    endpoint.script(keep_to_it)
    code, said, _ = run("check", *at(endpoint))
    lines = said.splitlines()
    assert code == 0 and [line.split(":")[0] for line in lines] == [
        "ok answers", "ok JSON schema", "ok grammar", "ok speed",
    ]  # fmt: skip
    assert "first text after" in lines[0] and "tokens/s" in lines[3]


def test_a_check_finds_out_an_endpoint_that_takes_a_schema_and_ignores_it(endpoint: FakeEndpoint) -> None:
    endpoint.script(Say("hello"))
    code, said, _ = run("check", *at(endpoint))
    assert code == 0 and "-- JSON schema: no: it is taken and not kept to; the answer was 'hello'" in said


def test_a_check_tells_a_refused_schema_and_a_time_out() -> None:
    def reply(request: Request) -> Reply:
        if request.schema is not None:
            return Reply(ReplyStatus.ANSWERED, "x", "the endpoint does not take the JSON schema")
        if request.grammar is not None:
            return Reply(ReplyStatus.TIMED_OUT, reason="too slow")
        return Reply(ReplyStatus.ANSWERED, "x", latency=2.0, first_token=1.0, completion_tokens=11)

    texts = {finding.name: finding.text for finding in check_model(ScriptedModel(reply))}
    assert texts["JSON schema"] == "no: the endpoint does not take the JSON schema"
    assert texts["grammar"] == "not known, timed_out: too slow" and texts["speed"].startswith("10.0 tokens/s")
