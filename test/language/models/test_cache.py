"""Replies on disk: the same request is not asked twice, and nothing that is broken or incomplete is handed out."""

from __future__ import annotations

import json
import multiprocessing
import random
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cache_writer import QUESTION, SOURCE, write_often
from fake_endpoint import Fail, FakeEndpoint
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_planner_ros.language.models import (
    Message,
    ModelOptions,
    Reply,
    ReplyStatus,
    Request,
    ScriptedModel,
    make_language_model,
)
from graph_planner_ros.language.models.cache import CachedModel, ReplyCache, cache_key, source_of


def test_the_same_request_is_answered_from_the_disk(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    options = ModelOptions(model="m", endpoint=endpoint.url, cache=tmp_path / "made" / "when needed")
    first = make_language_model(options).ask(QUESTION)
    endpoint.script(Fail(500))
    second = make_language_model(options).ask(QUESTION)
    assert not first.cached and second.cached and len(endpoint.bodies) == 1
    assert second == replace(first, cached=True, latency=second.latency)
    assert second.latency != first.latency


def test_another_request_model_or_endpoint_is_asked(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    options = ModelOptions(model="m", endpoint=endpoint.url, cache=tmp_path)
    make_language_model(options).ask(QUESTION)
    make_language_model(options).ask(replace(QUESTION, seed=1))
    make_language_model(replace(options, model="n")).ask(QUESTION)
    make_language_model(replace(options, endpoint=f"http://localhost:{endpoint.port}/v1")).ask(QUESTION)
    assert len(endpoint.bodies) == 4


@pytest.mark.parametrize("status", [status for status in ReplyStatus if status is not ReplyStatus.ANSWERED])
def test_only_complete_answers_are_kept(tmp_path: Path, status: ReplyStatus) -> None:
    scripted = ScriptedModel([Reply(status, "half an ans"), Reply(ReplyStatus.ANSWERED, ""), "whole"])
    model = CachedModel(scripted, tmp_path, SOURCE)
    assert model.ask(QUESTION).status is status
    assert model.ask(QUESTION).text == "" and list(tmp_path.rglob("*")) == []
    assert model.ask(QUESTION).text == "whole" and model.ask(QUESTION).cached


def damages(content: bytes) -> dict[str, bytes]:
    """Return what may have become of a file."""
    other = json.loads(content)
    other["request"]["seed"] = 99
    changed = json.loads(content)
    changed["reply"]["text"] = "changed"
    odd = json.loads(content)
    del odd["reply"]["prompt_tokens"]
    return {
        "empty": b"", "half": content[: len(content) // 2], "binary": b"\xff\x00" * 100, "list": b"[]",
        "null": b"null", "deep": b"[" * 100_000, "another request": json.dumps(other).encode(),
        "another text": json.dumps(changed).encode(), "without tokens": json.dumps(odd).encode(),
    }  # fmt: skip


@pytest.mark.parametrize("damage", sorted(damages(b'{"request": {}, "reply": {"prompt_tokens": 1}}')))
def test_a_broken_file_counts_as_none_and_is_written_anew(tmp_path: Path, damage: str) -> None:
    cache = ReplyCache(tmp_path, SOURCE)
    CachedModel(ScriptedModel(["first"]), tmp_path, SOURCE).ask(QUESTION)
    path = cache.path(QUESTION)
    path.write_bytes(damages(path.read_bytes())[damage])
    model = CachedModel(ScriptedModel(["second"]), tmp_path, SOURCE)
    assert model.ask(QUESTION).text == "second" and model.ask(QUESTION).cached
    assert cache.get(QUESTION) is not None


def test_every_bit_of_a_file_that_matters_is_guarded(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path, SOURCE)
    kept = Reply(ReplyStatus.ANSWERED, "in the drawer", model="m", prompt_tokens=3, completion_tokens=4)
    cache.put(QUESTION, kept)
    path = cache.path(QUESTION)
    content = path.read_bytes()
    chosen = random.Random(5)
    for _ in range(300):
        damaged = bytearray(content)
        damaged[chosen.randrange(len(content))] ^= 1 << chosen.randrange(8)
        path.write_bytes(damaged)
        found = cache.get(QUESTION)
        assert found is None or replace(found, cached=False) == kept


def test_a_folder_that_cannot_be_written_costs_no_answer(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    model = CachedModel(ScriptedModel(["yes"]), tmp_path / "file", SOURCE)
    reply = model.ask(QUESTION)
    assert reply.text == "yes" and reply.answered and "cannot be kept" in reply.reason


def test_a_cancelled_request_is_not_answered_from_the_disk(tmp_path: Path) -> None:
    model = CachedModel(ScriptedModel(["yes"]), tmp_path, SOURCE)
    model.ask(QUESTION)
    cancel = threading.Event()
    cancel.set()
    assert model.ask(QUESTION, cancel=cancel).status is ReplyStatus.CANCELLED


def test_two_processes_may_write_while_a_third_reads(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    cache = ReplyCache(tmp_path, SOURCE)
    cache.put(QUESTION, Reply(ReplyStatus.ANSWERED, "start"))
    writers = [context.Process(target=write_often, args=(str(tmp_path), word)) for word in "ab"]
    for writer in writers:
        writer.start()
    try:
        while any(writer.is_alive() for writer in writers):
            found = cache.get(QUESTION)
            assert found is not None and (found.text == "start" or len(set(found.text)) == 1)
    finally:
        for writer in writers:
            writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert len(list(tmp_path.rglob("*.json"))) == 1 and list(tmp_path.rglob(".*")) == []


def test_a_model_file_of_the_same_name_and_other_content_is_another_model(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"

    class FileModel(ScriptedModel):
        def __init__(self) -> None:
            super().__init__(name="model")
            self.path = path

    options = ModelOptions(backend="llama_cpp", model=str(path))
    sources = []
    for content in (b"GGUF one", b"GGUF two", b"GGUF one"):
        path.write_bytes(content)
        sources.append(source_of(options, FileModel()))
    assert sources[0] == sources[2] != sources[1]


# ---- the key

texts = st.text(max_size=20)
requests = st.builds(
    Request,
    st.lists(st.builds(Message, st.sampled_from(["system", "user", "assistant"]), texts), min_size=1, max_size=3).map(
        tuple
    ),
    st.none() | st.dictionaries(texts, st.integers() | texts | st.lists(texts, max_size=2), max_size=3),
    st.none() | texts,
    st.integers(1, 9),
    st.sampled_from([0.0, 0.5]),
    st.none() | st.integers(0, 3),
    st.lists(texts, max_size=2).map(tuple),
)


@given(requests, requests)
def test_keys_are_equal_if_and_only_if_the_requests_are(first: Request, second: Request) -> None:
    assert (cache_key(first, SOURCE) == cache_key(second, SOURCE)) == (first == second)
    assert cache_key(first, SOURCE) == cache_key(replace(first), dict(reversed(SOURCE.items())))


@given(requests, st.dictionaries(texts, texts), st.dictionaries(texts, texts))
def test_keys_tell_sources_apart(request: Request, first: dict[str, str], second: dict[str, str]) -> None:
    assert (cache_key(request, first) == cache_key(request, second)) == (first == second)


@settings(max_examples=50, deadline=None)
@given(requests, texts.filter(bool))
def test_what_is_kept_is_found_again(tmp_path_factory: Any, request: Request, text: str) -> None:
    cache = ReplyCache(tmp_path_factory.mktemp("cache"), SOURCE)
    assert cache.put(request, Reply(ReplyStatus.ANSWERED, text)) == ""
    found = cache.get(request)
    assert found is not None and found.text == text
