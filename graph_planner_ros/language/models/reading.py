"""Chat completions as they come over the line: streamed events or one JSON document, right or wrong, always bounded."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

_EVENT_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")
LONGEST_TOKEN = 32
"""Characters of answer that a token is allowed to have on average; an answer that is longer has no end."""


class AnswerReader:
    """Puts a completion together.

    Args:
        max_tokens: that were asked for; the text is cut at `LONGEST_TOKEN` times as many characters.

    Attributes:
        finish: the reason that the model gave for its end; empty: none. done: nothing more will come.
        problem: what was wrong with what came; empty: nothing. error: what the endpoint said instead of an answer, with
            ``error_code``, its HTTP-like status or 0. refusal: the model's words.
        prompt_tokens, completion_tokens: None where the endpoint does not count.
        first_text: monotonic time of the first text; None: none came.
        completions: choices that had a message.
    """

    def __init__(self, max_tokens: int) -> None:
        self._longest = LONGEST_TOKEN * max_tokens + 64
        self._parts: list[str] = []
        self._length = 0
        self._line = bytearray()
        self._looked = 0
        self._data: list[bytes] = []
        self._streamed: bool | None = None
        self.finish = ""
        self.done = False
        self.too_long = False
        self.problem = ""
        self.error = ""
        self.error_code = 0
        self.refusal = ""
        self.model = ""
        self.prompt_tokens: int | None = None
        self.completion_tokens: int | None = None
        self.first_text: float | None = None
        self.completions = 0

    @property
    def pieces(self) -> int:
        """Return in how many pieces the text came: tokens, for most servers that stream."""
        return len(self._parts)

    @property
    def text(self) -> str:
        """Return the text so far; half characters, which nobody could write down, are replaced."""
        return whole_text("".join(self._parts))

    def feed(self, piece: bytes) -> bool:
        """Take the next bytes; return whether that is enough."""
        self._line += piece
        while not self.done:
            end = self._line.find(b"\n", self._looked)
            if end < 0:
                self._looked = len(self._line)
                break
            if self._streamed is False:
                self._looked = end + 1
                continue
            line = bytes(self._line[:end]).rstrip(b"\r")
            if self._streamed is None and line.strip():
                self._streamed = line.lstrip().startswith(_EVENT_STARTS)
                if not self._streamed:
                    continue
            del self._line[: end + 1]
            self._looked = 0
            self._take_line(line)
        return self.done

    def end(self) -> None:
        """No more bytes come."""
        if self.done:
            return
        rest = bytes(self._line)
        self._line.clear()
        if self._streamed or (self._streamed is None and rest.lstrip().startswith(_EVENT_STARTS)):
            self._take_line(rest.rstrip(b"\r"))
            self._take_line(b"")
        else:
            self._streamed = False
            self._take_document(rest)
        self.done = True

    def take_chunk(self, content: Any) -> None:
        """Take one event, or one whole completion, as parsed JSON; what does not fit is told in `problem`."""
        if not isinstance(content, Mapping):
            self.problem = self.problem or "JSON that is no completion"
            return
        if content.get("error"):
            self._take_error(content["error"])
            return
        if isinstance(content.get("model"), str):
            self.model = content["model"]
        self._take_usage(content.get("usage"))
        choices = content.get("choices")
        if not isinstance(choices, list) or not all(isinstance(choice, Mapping) for choice in choices):
            if content.get("usage") is None or choices is not None:
                self.problem = self.problem or "JSON that is no completion"
            return
        for choice in choices[:1]:
            self._take_choice(choice)

    def _take_choice(self, choice: Mapping[str, Any]) -> None:
        said = choice.get("delta") if choice.get("delta") is not None else choice.get("message")
        finish = choice.get("finish_reason")
        if isinstance(said, Mapping):
            self.completions += 1
            self._take_text(said.get("content"))
            if isinstance(said.get("refusal"), str):
                self.refusal = (self.refusal + said["refusal"])[:1000]
        elif not finish or said is not None:
            self.problem = self.problem or "a choice without a message"
        if isinstance(finish, str) and finish:
            self.finish = finish

    def _take_text(self, content: Any) -> None:
        if isinstance(content, list):  # parts, as some servers send them
            content = "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
        if content is None or content == "":
            return
        if not isinstance(content, str):
            self.problem = self.problem or "an answer that is no text"
            return
        if self.first_text is None:
            self.first_text = time.monotonic()
        room = self._longest - self._length
        self._parts.append(content[:room])
        self._length += len(self._parts[-1])
        if len(content) > room:
            self.too_long = self.done = True

    def _take_usage(self, usage: Any) -> None:
        if isinstance(usage, Mapping):
            self.prompt_tokens = _count(usage.get("prompt_tokens"), self.prompt_tokens)
            self.completion_tokens = _count(usage.get("completion_tokens"), self.completion_tokens)

    def _take_error(self, error: Any) -> None:
        message = error.get("message") if isinstance(error, Mapping) else error
        code = error.get("code") if isinstance(error, Mapping) else None
        kind = f"{code} {error.get('type')}" if isinstance(error, Mapping) else ""
        self.error = str(message)[:1000] or "an error without words"
        self.error_code = code if isinstance(code, int) and 100 <= code <= 599 else 429 if "rate_limit" in kind else 0
        self.done = True

    def _take_line(self, line: bytes) -> None:
        if line.startswith(b"data:"):
            data = line[5:].strip()
            if data == b"[DONE]":
                self.finish = self.finish or "done"
                self.done = True
            elif self._data or not self._take_json(data):
                self._data.append(data)
        elif not line.strip() and self._data:
            whole = b"\n".join(self._data)
            self._data.clear()
            if not self._take_json(whole):
                self.problem = self.problem or "an event that is no JSON"

    def _take_json(self, data: bytes) -> bool:
        if not data:
            return True
        try:
            content = json.loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return False
        self.take_chunk(content)
        return True

    def _take_document(self, data: bytes) -> None:
        start = data.lstrip()[:200].lower()
        if not start:
            self.problem = "nothing at all"
        elif start.startswith(b"<"):
            self.problem = "a web page instead of a completion"
        elif not self._take_json(data):
            self.problem = "what is no JSON"
        elif not self.completions and not self.error:
            self.problem = self.problem or "a completion without choices"
        elif not self.finish:
            self.finish = "done"


def whole_text(text: str) -> str:
    """Return a text that can be encoded: halves of a character are joined where they meet, and replaced elsewhere."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _count(value: Any, otherwise: int | None) -> int | None:
    valid = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9
    return value if valid else otherwise
