"""Bounds of one exchange with an endpoint: bytes, time, and a connection that can be cut from outside.

They hang on the hooks of the HTTP client, so they hold for answers and error pages alike.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

from graph_planner_ros.language.models.running import Job

_BYTES = 1 << 20
_BYTES_A_TOKEN = 2048
"""A streamed token comes in an event of about 300 bytes."""
_ERROR_BYTES = 1 << 16


class TooMuchError(Exception):
    """The endpoint sent more than any answer to the request can have; the message goes on after its name."""


class Watch:
    """Counts what comes in one exchange.

    Args:
        job: that the exchange is for. deadline: of this try, monotonic seconds. max_tokens: that were asked for.
    """

    def __init__(self, job: Job, deadline: float, max_tokens: int) -> None:
        self._job = job
        self._deadline = deadline
        self._limit = _BYTES + _BYTES_A_TOKEN * max_tokens
        self._sockets: list[Any] = []
        job.on_abandoned(self.close)

    @property
    def remaining(self) -> float:
        """Return the seconds of this try that are left."""
        return min(self._deadline, self._job.deadline) - time.monotonic()

    def close(self) -> None:
        """Cut the connection, also while another thread reads from it."""
        while self._sockets:
            try:
                socket.socket.shutdown(self._sockets.pop(), socket.SHUT_RDWR)
            except (OSError, TypeError, IndexError):
                continue

    def on_request(self, request: Any) -> None:
        """Hook: learn of the connection as soon as there is one."""
        self._job.check(self._deadline)
        request.extensions = {**request.extensions, "trace": self._trace}

    def on_response(self, response: Any) -> None:
        """Hook: count the body before anybody reads it."""
        if response.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
            # a few bytes could become any number of them
            raise TooMuchError("answers compressed, which it was asked not to do")
        limit = self._limit if response.status_code < 400 else _ERROR_BYTES
        response.stream = _counted(response.stream, self._check, limit, cut=response.status_code >= 400)

    def _check(self) -> None:
        self._job.check(self._deadline)

    def _trace(self, name: str, info: dict[str, Any]) -> None:
        if name in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            found = info["return_value"].get_extra_info("socket")
            if found is not None:
                self._sockets.append(found)
                if self._job.abandoned:
                    self.close()


def client_hooks(watch: Watch) -> dict[str, list[Callable[..., None]]]:
    """Return the hooks for the HTTP client."""
    return {"request": [watch.on_request], "response": [watch.on_response]}


def _counted(stream: Any, check: Callable[[], None], limit: int, cut: bool) -> Any:
    """Return a stream of the same kind that checks each piece; one that is too long is cut, or an error."""
    base = next(kind for kind in type(stream).__mro__ if kind.__name__ == "SyncByteStream")

    def pieces(_: Any) -> Iterator[bytes]:
        total = 0
        for piece in stream:
            check()
            total += len(piece)
            if total > limit:
                if cut:
                    return
                raise TooMuchError("did not come to an end")
            yield piece

    return type("CountedStream", (base,), {"__iter__": pieces, "close": lambda _: stream.close()})()
