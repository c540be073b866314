"""Retries, workers, accounting and the scripted model, each by itself."""

from __future__ import annotations

import threading
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_planner_ros.language.models import (
    LanguageModel,
    Message,
    MeteredModel,
    Reply,
    ReplyStatus,
    Request,
    ScriptedModel,
    retrying,
)
from graph_planner_ros.language.models.retrying import Attempt, asked_pause, backoff, with_retries
from graph_planner_ros.language.models.running import Job, run_job

QUESTION = Request((Message("user", "Where is the mug?"),))
LONG = 600.0


@given(st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms"]), st.text() | st.floats().map(str)))
def test_a_header_is_a_wait_of_some_seconds_or_none(headers: dict[str, str]) -> None:
    pause = asked_pause(headers)
    assert pause is None or 0 <= pause < float("inf")


def test_waits_in_seconds_milliseconds_and_dates() -> None:
    assert asked_pause({"retry-after": "7"}) == 7.0 and asked_pause({"retry-after-ms": "250"}) == 0.25
    assert asked_pause({"retry-after": "-3"}) == 0.0 and asked_pause({"retry-after": formatdate(0)}) == 0.0
    assert (asked_pause({"retry-after": formatdate(4e9)}) or 0) > 1e6
    assert asked_pause({}) is None and asked_pause({"retry-after": "nan"}) is None


def test_pauses_grow_to_a_limit() -> None:
    for number in range(20):
        longest = min(retrying.LONGEST_PAUSE, retrying.FIRST_PAUSE * 2**number)
        assert longest / 2 <= backoff(number) <= longest


def test_tries_end_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "FIRST_PAUSE", LONG)
    busy = Reply(ReplyStatus.UNREACHABLE, reason="busy")
    reply = with_retries(lambda: Attempt(busy, passing=True), 5, Job(1.0))
    assert reply.retries == 0 and reply.reason.startswith("busy; only ")


def test_a_worker_that_raises_is_a_reply_without_its_words() -> None:
    def work(job: Job) -> Reply:
        raise MemoryError("with a key in it")

    reply = run_job(work, "the library", "m", LONG, None)
    assert reply.status is ReplyStatus.UNREACHABLE and reply.reason == "the library failed: MemoryError"


@pytest.mark.parametrize("by", ["cancel", "time"])
def test_a_worker_that_hangs_is_left_and_told(by: str) -> None:
    cancel, closed, go = threading.Event(), threading.Event(), threading.Event()

    def work(job: Job) -> Reply:
        job.on_abandoned(closed.set)
        if by == "cancel":
            cancel.set()
        go.wait(LONG)
        return Reply(ReplyStatus.ANSWERED)

    reply = run_job(work, "the library", "m", LONG if by == "cancel" else 0.05, cancel)
    assert reply.status is (ReplyStatus.CANCELLED if by == "cancel" else ReplyStatus.TIMED_OUT)
    assert closed.is_set()
    go.set()


def test_what_is_closed_late_is_closed_at_once() -> None:
    job, closed = Job(LONG), threading.Event()
    job.abandon()
    job.on_abandoned(closed.set)
    assert closed.is_set()
    job.on_abandoned(lambda: 1 // 0)


def test_usage_adds_up_over_threads() -> None:
    def reply(request: Request) -> Reply:
        number = int(request.messages[0].content)
        status = ReplyStatus.TIMED_OUT if number % 4 == 0 else ReplyStatus.ANSWERED
        return Reply(status, "x", "", 10, number, latency=0.5, cached=number % 4 == 1)

    model = MeteredModel(ScriptedModel(reply, name="counted"))
    assert isinstance(model, LanguageModel) and model.name == "counted"
    workers = [
        threading.Thread(target=lambda n=number: model.ask(Request((Message("user", str(n)),)))) for number in range(40)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    usage = model.usage
    assert (usage.calls, usage.cached, usage.failed) == (40, 10, 10)
    assert (usage.prompt_tokens, usage.completion_tokens) == (400, sum(range(40)))
    assert usage.latencies == [0.5] * 30
    usage.latencies.clear()
    assert len(model.usage.latencies) == 30


def test_a_scripted_model_says_its_lines() -> None:
    refused = Reply(ReplyStatus.REFUSED, reason="no")
    model = ScriptedModel(["one", refused, lambda request: request.messages[-1].content])
    replies = [model.ask(QUESTION) for _ in range(4)]
    assert [reply.text for reply in replies] == ["one", "", "Where is the mug?", ""]
    assert replies[1] is refused and replies[3].status is ReplyStatus.UNREACHABLE
    assert model.requests == [QUESTION] * 4 and isinstance(model, LanguageModel)
    assert ScriptedModel(lambda request: "always").ask(QUESTION).text == "always"
    cancel = threading.Event()
    cancel.set()
    assert model.ask(QUESTION, cancel=cancel).status is ReplyStatus.CANCELLED
