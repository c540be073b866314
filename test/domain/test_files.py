"""Files that are written at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from graph_planner_ros.domain.files import write_atomically


@pytest.mark.parametrize("content", ["text\n", b"\x00bytes"])
def test_what_was_written_is_there_and_nothing_else(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "deep" / "file"
    write_atomically(path, content)
    write_atomically(path, content)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert [found.name for found in path.parent.iterdir()] == ["file"]


def test_others_may_read_a_new_file_as_any_other_and_an_old_one_keeps_its_permissions(tmp_path: Path) -> None:
    plain, path = tmp_path / "plain", tmp_path / "file"
    plain.write_text("as any other")
    write_atomically(path, "new")
    assert path.stat().st_mode == plain.stat().st_mode
    os.chmod(path, 0o600)
    write_atomically(path, "again")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomically(path, "old")

    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "file", tmp_path / "link"
    link.symlink_to(target)
    for content in ("new", "again"):
        write_atomically(link, content)
        assert link.is_symlink() and target.read_text() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "there"]


def test_what_is_no_file_is_written_to_and_stays(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(pipe, "text")
        assert os.read(reader, 100) == b"text" and pipe.is_fifo()
    finally:
        os.close(reader)


def test_half_a_character_is_written_escaped(tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", '{"name": "\udcff"}')
    assert (tmp_path / "file").read_text() == '{"name": "\\udcff"}'
