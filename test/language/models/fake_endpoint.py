"""An endpoint on this machine that speaks OpenAI's protocol as a test says, well and badly.

Tests of other folders import it after ``sys.path.insert(0, <this folder>)``, or load `FakeEndpoint` by its path::

    with FakeEndpoint() as endpoint:
        endpoint.script(Say("hello"), Fail(429, retry_after="1"), Silence())
        options = ModelOptions(model="m", endpoint=endpoint.url)

Each behaviour answers one request, the last one all that follow. Nothing sleeps: what waits, waits until the test ends
it (`release`), the client closes the connection, or the endpoint is closed.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKENS = {"prompt_tokens": 70, "completion_tokens": 7, "total_tokens": 77}


@dataclass
class Say:
    """Answer with a text, streamed if that was asked for and ``stream`` allows it."""

    text: str | None
    finish: str | None = "stop"
    usage: dict[str, int] | None = field(default_factory=lambda: dict(TOKENS))
    stream: bool = True
    done: bool = True
    """Whether a stream ends with [DONE]."""

    def __call__(self, call: Call) -> None:
        if call.body.get("stream") and self.stream:
            call.stream(self.events())
        else:
            call.send(200, completion(self.text, self.finish, self.usage))

    def events(self) -> Iterator[bytes]:
        """Yield the events of the stream, a word each."""
        for word in _words(self.text or ""):
            yield event({"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]})
        if self.finish:
            yield event({"choices": [{"index": 0, "delta": {}, "finish_reason": self.finish}]})
        if self.usage is not None:
            yield event({"choices": [], "usage": self.usage})
        if self.done:
            yield b"data: [DONE]\n\n"


@dataclass
class Fail:
    """Answer with an HTTP error; ``headers`` may ask to wait."""

    status: int
    message: str = "busy"
    headers: dict[str, str] = field(default_factory=dict)

    def __call__(self, call: Call) -> None:
        call.send(self.status, {"error": {"message": self.message}}, self.headers)


@dataclass
class Raw:
    """Answer with these bytes."""

    content: bytes
    status: int = 200
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)

    def __call__(self, call: Call) -> None:
        call.send(self.status, self.content, self.headers, self.kind)


@dataclass
class Silence:
    """Take the request and never answer."""

    def __call__(self, call: Call) -> None:
        call.wait_for_the_end()


@dataclass
class Stall:
    """Stream a text and then nothing more, the connection open."""

    text: str = "so far"

    def __call__(self, call: Call) -> None:
        call.stream(Say(self.text, finish=None, usage=None, done=False).events(), end=False)
        call.wait_for_the_end()


@dataclass
class Break:
    """Stream a text and close the connection in the middle of the stream."""

    text: str = "so far"

    def __call__(self, call: Call) -> None:
        call.stream(Say(self.text, finish=None, usage=None, done=False).events(), end=False)
        call.hang_up()


@dataclass
class HangUp:
    """Close the connection without a word."""

    def __call__(self, call: Call) -> None:
        call.hang_up()


@dataclass
class Endless:
    """Stream without an end: these bytes again and again, until the client has had enough."""

    piece: bytes = b""
    status: int = 200
    kind: str = "text/event-stream"

    def __call__(self, call: Call) -> None:
        piece = self.piece or event({"choices": [{"index": 0, "delta": {"content": "on and on "}}]})
        call.stream(iter(lambda: piece, None), status=self.status, kind=self.kind)


@dataclass
class Drip:
    """Stream a comment now and then and never an answer: each piece comes in time, the answer never does."""

    pause: float = 0.02

    def __call__(self, call: Call) -> None:
        call.stream(call.drops(self.pause))


Behaviour = Callable[["Call"], None]


class Call:
    """One request and the means to answer it."""

    def __init__(self, handler: BaseHTTPRequestHandler, endpoint: FakeEndpoint, body: dict[str, Any]) -> None:
        self.body = body
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.path = handler.path
        self._handler = handler
        self._endpoint = endpoint

    def send(
        self, status: int, content: Any, headers: dict[str, str] | None = None, kind: str = "application/json"
    ) -> None:
        """Send a whole response; what is not bytes becomes JSON."""
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self._begin(status, kind, {**(headers or {}), "Content-Length": str(len(data))})
        self._handler.wfile.write(data)

    def stream(
        self, pieces: Iterator[bytes], end: bool = True, status: int = 200, kind: str = "text/event-stream"
    ) -> None:
        """Send pieces as they come; with ``end`` the stream is closed in order."""
        self._begin(status, kind, {"Transfer-Encoding": "chunked"})
        for piece in pieces:
            self._handler.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            self._endpoint.sent += len(piece)
        if end:
            self._handler.wfile.write(b"0\r\n\r\n")
        self._handler.wfile.flush()

    def drops(self, pause: float) -> Iterator[bytes]:
        """Yield comments of a stream until the test lets go."""
        while not self._endpoint.released.wait(pause):
            yield b": ping\n\n"

    def wait_for_the_end(self) -> None:
        """Wait until the client closes the connection, or the test lets go."""
        self._endpoint.waiting.set()
        while not self._endpoint.released.is_set():
            readable, _, _ = select.select([self._handler.connection], [], [], 0.02)
            if readable and not self._peek():
                self._endpoint.left.set()
                return

    def hang_up(self) -> None:
        """Close the connection at once."""
        with contextlib.suppress(OSError):
            self._handler.connection.shutdown(socket.SHUT_RDWR)

    def _peek(self) -> bytes:
        try:
            return self._handler.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return b""

    def _begin(self, status: int, kind: str, headers: dict[str, str]) -> None:
        self._handler.send_response(status)
        self._handler.send_header("Content-Type", kind)
        self._handler.send_header("Connection", "close")
        for name, value in headers.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()


class FakeEndpoint:
    """The server, in a ``with`` block.

    Attributes:
        url: of the endpoint. bodies, headers (names in small letters), paths: of the requests, in order.
        sent: bytes of streams.
        waiting: set when a behaviour waits for ever.
        left: set when the client has closed a connection before the end of its answer.
    """

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.sent = 0
        self.waiting = threading.Event()
        self.left = threading.Event()
        self.released = threading.Event()
        self._behaviours: list[Behaviour] = [Say("yes")]
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self.port = int(self._http.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def script(self, *behaviours: Behaviour) -> None:
        """Say what the next requests get, one each, the last one all that follow."""
        with self._lock:
            self._behaviours = list(behaviours)

    def __enter__(self) -> FakeEndpoint:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it; a second time does nothing."""
        self.released.set()
        if self._thread.is_alive():
            self._http.shutdown()
        self._http.server_close()

    def _next(self, call: Call) -> Behaviour:
        with self._lock:
            self.bodies.append(call.body)
            self.headers.append(call.headers)
            self.paths.append(call.path)
            return self._behaviours.pop(0) if len(self._behaviours) > 1 else self._behaviours[0]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
                self.close_connection = True
                call = Call(self, endpoint, body)
                try:
                    endpoint._next(call)(call)
                except OSError:  # the client had enough
                    endpoint.left.set()

            def log_message(self, *_: Any) -> None:
                return

        return Handler


def completion(text: str | None, finish: str | None = "stop", usage: dict[str, int] | None = None) -> dict[str, Any]:
    """Return the body of a whole answer."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
    made = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return made if usage is None else {**made, "usage": usage}


def event(content: Any) -> bytes:
    """Return one event of a stream."""
    return b"data: " + json.dumps(content).encode() + b"\n\n"


def _words(text: str) -> list[str]:
    words = text.split(" ")
    return [word + " " for word in words[:-1]] + words[-1:]
