"""JSON files that survive a crash in the middle of writing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from graph_planner_ros.domain.files import write_atomically
from graph_planner_ros.domain.json_files import what_is_wrong


class StoredMemoryError(ValueError):
    """A file of a memory cannot be read; the message names it."""


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file atomically: whoever reads sees the old file or the new one, never half of it."""
    write_atomically(path, json.dumps(content, ensure_ascii=False, indent=1))


def read_json(path: Path, kind: str) -> dict[str, Any]:
    """Read a JSON file whose entry ``kind`` says what it is.

    Raises:
        FileNotFoundError: if there is none.
        StoredMemoryError: naming the file, if it is no such file.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise StoredMemoryError(f"{path}: {what_is_wrong(error, f'a {kind}')}") from error
    if not isinstance(content, dict) or content.get("kind") != kind:
        raise StoredMemoryError(f"{path} is not a {kind}")
    return content
