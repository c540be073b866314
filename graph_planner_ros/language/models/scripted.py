"""A model for tests: it says what it was told to say."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable

from graph_planner_ros.language.models.messages import Reply, ReplyStatus, Request

Scripted = str | Reply | Callable[[Request], "str | Reply"]


class ScriptedModel:
    """Gives replies in turn.

    Args:
        replies: texts, whole replies, or functions of the request that return either; or one such function for all
            requests. When they are used up, the model is unreachable.

    Attributes:
        requests: what was asked, in order.
    """

    def __init__(
        self, replies: Iterable[Scripted] | Callable[[Request], str | Reply] = (), name: str = "scripted"
    ) -> None:
        self.name = name
        self.requests: list[Request] = []
        self._always = replies if callable(replies) else None
        self._replies: deque[Scripted] = deque(() if callable(replies) else replies)

    def ask(self, request: Request, *, timeout: float | None = None, cancel: threading.Event | None = None) -> Reply:
        """Return the next reply."""
        self.requests.append(request)
        if cancel is not None and cancel.is_set():
            return Reply(ReplyStatus.CANCELLED, reason="cancelled", model=self.name)
        if self._always is None and not self._replies:
            return Reply(ReplyStatus.UNREACHABLE, reason="the script has no more replies", model=self.name)
        said = self._always if self._always is not None else self._replies.popleft()
        said = said(request) if callable(said) else said
        if isinstance(said, Reply):
            return said
        asked = sum(len(message.content) for message in request.messages)
        return Reply(ReplyStatus.ANSWERED, said, "", asked // 4 + 1, len(said) // 4 + 1, model=self.name)
