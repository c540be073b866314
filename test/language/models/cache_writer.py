"""What another process does in the test of the cache."""

from __future__ import annotations

from pathlib import Path

from graph_planner_ros.language.models import Message, Reply, ReplyStatus, Request
from graph_planner_ros.language.models.cache import ReplyCache

SOURCE = {"backend": "openai", "model": "m", "endpoint": "http://host/v1"}
QUESTION = Request((Message("user", "Where is the mug?"),), schema={"type": "object", "title": "t"})


def write_often(folder: str, word: str) -> None:
    """Keep fifty replies to one question, each of one letter."""
    cache = ReplyCache(Path(folder), SOURCE)
    for number in range(50):
        cache.put(QUESTION, Reply(ReplyStatus.ANSWERED, word * (2000 + number)))
