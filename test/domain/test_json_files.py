"""JSON that people hand over: whatever it is, the answer names the file and what was expected, in words."""

from __future__ import annotations

import gzip
import json
import os
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_planner_ros.domain.json_files import check_fields, parse_object, read_lines, read_text, what_is_wrong

VALUES = st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner), max_leaves=4)


class WrongError(ValueError):
    """Raised instead of a plain ValueError."""


@dataclass
class Thing:
    """Two fields, one of which may be left out."""

    name: str
    size: int = 1


@given(st.binary() | VALUES.map(lambda value: json.dumps(value).encode()))
def test_what_is_no_object_is_refused_in_words(content: bytes) -> None:
    with pytest.raises(WrongError, match=r"^file, line 3: expected a JSON object, found ") as caught:
        parse_object(content, "file, line 3", WrongError)
    assert "Error" not in str(caught.value) and "codec" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"one", b"one\n\ntwo\n", "é\u2028x\n".encode()])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_lines_are_read_packed_or_not_whatever_the_name(tmp_path: Path, content: bytes, pack) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "any").write_bytes(pack(content))
    assert b"".join(read_lines(tmp_path / "any")) == content


@pytest.mark.parametrize("read", [lambda *given: list(read_lines(*given)), read_text])
@pytest.mark.parametrize("name", [".", "none", "file/below"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str, read) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "file").write_text("")
    with pytest.raises(WrongError, match="cannot be read") as caught:
        read(tmp_path / name, WrongError)
    assert str(tmp_path / name) in str(caught.value) and "Errno" not in str(caught.value)


@pytest.mark.parametrize("content", [b"\x1f\x8bnot really", gzip.compress(b"{}\n" * 4000, mtime=0)[:-20]])
def test_a_damaged_archive_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "any").write_bytes(content)
    with pytest.raises(WrongError, match="any cannot be read: it is cut off or damaged"):
        list(read_lines(tmp_path / "any", WrongError))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"size": 2}, "node 4: the field 'name' is missing"),
        ({"name": "a", "colour": 1}, "node 4: there is no field 'colour'; there are: name, size"),
        ([], "node 4: expected an object, found a list"),
    ],
)
def test_fields_that_do_not_fit_are_named(content: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_fields(Thing, content, "node 4")
    assert check_fields(Thing, {"name": "a"}, "node 4") == {"name": "a"}


@pytest.mark.parametrize("error", [TypeError("list indices must be integers"), AttributeError("x"), IndexError("y")])
def test_words_of_python_are_left_out(error: Exception) -> None:
    assert what_is_wrong(error, "an episode") == "expected an episode, found JSON of another shape"


@pytest.mark.parametrize("packed", [False, True])
def test_a_pipe_is_read_whole(packed: bool) -> None:
    content = b"".join(b"%d\n" % number for number in range(20_000))
    reading, writing = os.pipe()

    def fill() -> None:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(gzip.compress(content) if packed else content)

    writer = threading.Thread(target=fill)
    writer.start()
    try:
        assert b"".join(read_lines(Path(f"/dev/fd/{reading}"))) == content
    finally:
        os.close(reading)
        writer.join()
