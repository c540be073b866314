"""Reading what comes over the line: any bytes, in any pieces."""

from __future__ import annotations

import itertools
import json

from fake_endpoint import Say, completion
from hypothesis import given
from hypothesis import strategies as st

from graph_planner_ros.language.models.reading import AnswerReader, whole_text

keys = st.sampled_from(
    ["choices", "delta", "message", "content", "finish_reason", "usage", "prompt_tokens", "error", "code", "refusal"]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys | st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
chunks = st.dictionaries(keys, json_values, max_size=5) | json_values


def read(pieces: list[bytes], max_tokens: int = 100) -> AnswerReader:
    reader = AnswerReader(max_tokens)
    for piece in pieces:
        if reader.feed(piece):
            break
    reader.end()
    return reader


def outcome(reader: AnswerReader) -> tuple[object, ...]:
    return reader.text, reader.finish, reader.problem, reader.error, reader.refusal, reader.prompt_tokens


def split(content: bytes, places: list[int]) -> list[bytes]:
    cuts = sorted({0, len(content), *(place % (len(content) + 1) for place in places)})
    return [content[start:end] for start, end in itertools.pairwise(cuts)]


@given(st.text(), st.booleans(), st.lists(st.integers(0, 10**6), max_size=8))
def test_a_text_arrives_as_it_was_said(text: str, stream: bool, places: list[int]) -> None:
    said = Say(text)
    whole = b"".join(said.events()) if stream else json.dumps(completion(text, "stop", said.usage)).encode()
    reader = read(split(whole, places), max_tokens=10_000)
    assert reader.text == whole_text(text) and reader.finish == "stop" and not reader.problem
    assert (reader.prompt_tokens, reader.completion_tokens) == (70, 7)


@given(st.text(), st.lists(st.integers(0, 10**6), max_size=8), st.sampled_from([b"\n", b"\r\n"]))
def test_characters_are_not_escaped_by_every_server(text: str, places: list[int], end: bytes) -> None:
    text = whole_text(text)
    content = {"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}
    line = b"data: " + json.dumps(content, ensure_ascii=False).encode() + end + end
    assert read(split(line, places), max_tokens=10_000).text == text


@given(
    st.binary(max_size=300) | st.lists(chunks, max_size=4).map(
        lambda found: b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in found)
    ) | chunks.map(lambda found: json.dumps(found).encode()),
    st.lists(st.integers(0, 10**6), max_size=8),
)  # fmt: skip
def test_any_bytes_are_read_the_same_however_they_are_cut(content: bytes, places: list[int]) -> None:
    whole, pieces = read([content]), read(split(content, places))
    assert outcome(whole) == outcome(pieces)
    assert whole.text.encode() is not None
    assert all(count is None or count >= 0 for count in (whole.prompt_tokens, whole.completion_tokens))


@given(st.lists(st.text(max_size=200), max_size=30), st.integers(1, 5))
def test_the_text_is_bounded_by_the_tokens_that_were_asked_for(words: list[str], max_tokens: int) -> None:
    reader = AnswerReader(max_tokens)
    for word in words:
        reader.take_chunk({"choices": [{"delta": {"content": word}}]})
    longest = 32 * max_tokens + 64
    assert len("".join(reader._parts)) <= longest
    assert reader.too_long == (sum(map(len, words)) > longest)


def test_an_event_over_several_lines_and_one_without_an_end() -> None:
    lines = b'event: x\nid: 1\n: comment\ndata: {"choices":\ndata: [{"delta": {"content": "a"}}]}\n\n'
    assert read([lines]).text == "a"
    assert read([lines + b'data: {"choices": [{"delta": {"content": "b"}}]}']).text == "ab"


def test_contents_in_parts_are_joined() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert read([json.dumps({"choices": [{"message": {"content": parts}}]}).encode()]).text == "ab"
