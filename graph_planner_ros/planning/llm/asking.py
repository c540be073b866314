"""One question to a model that is answered with a JSON object; what goes wrong is a problem, never an exception."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graph_planner_ros.language.models import LanguageModel, Message, Request
from graph_planner_ros.planning.result import ModelRound

MAX_READ = 100_000
"""Characters of an answer that are looked at."""
MAX_SHOWN = 8000
"""Characters of an answer that are kept for the trace."""
MAX_REASON = 240
MAX_ATTEMPTS = 30
"""Brackets at which it is tried to read an object."""


@dataclass(frozen=True)
class Answer:
    """What came of a question.

    Attributes:
        content: the object; None if there is none. problem: why there is none, a sentence; else empty.
        round: for the trace. cancelled: the question was cancelled.
    """

    content: dict[str, Any] | None
    problem: str
    round: ModelRound
    cancelled: bool = False


def ask_object(
    model: LanguageModel,
    messages: tuple[Message, ...],
    schema: Mapping[str, Any],
    key: str,
    *,
    max_tokens: int,
    timeout: float,
    cancel: threading.Event | None = None,
) -> Answer:
    """Ask for a JSON object with a key; never raises for what the model does.

    Args:
        schema: of the object, for models that keep to one. key: that it must have.
        timeout: seconds. cancel: ends it within a second.
    """
    started = time.monotonic()
    try:
        name = str(model.name)
        reply = model.ask(Request(messages, schema=schema, max_tokens=max_tokens), timeout=timeout, cancel=cancel)
        text = printable(reply.text[:MAX_READ])
        content = find_object(text, key) if reply.answered else None
    except Exception as error:  # a model must never end a task
        problem = f"asking failed: {type(error).__name__}: {one_line(str(error))}"
        latency = time.monotonic() - started
        return Answer(None, problem, ModelRound(1, type(model).__name__, "failed", "", (problem,), latency=latency))
    cancelled = reply.status.value == "cancelled" or (cancel is not None and cancel.is_set())
    problem = ""
    if cancelled:
        problem = "cancelled while a language model was asked"
    elif not reply.answered:
        problem = f"{reply.status.value.replace('_', ' ')}: {one_line(reply.reason)}"
    elif content is None:
        problem = f"the answer is no JSON object with the key {key!r}"
    entry = ModelRound(
        1,
        reply.model or name,
        reply.status.value,
        text[:MAX_SHOWN],
        (problem,) if problem else (),
        reply.prompt_tokens,
        reply.completion_tokens,
        reply.latency,
        reply.cached,
    )
    return Answer(None if cancelled else content, problem, entry, cancelled)


def find_object(text: str, key: str) -> dict[str, Any] | None:
    """Return the first whole JSON object in a text that has a key; None if there is none. The cost is bounded."""
    body = text[:MAX_READ].rpartition("</think>")[2]
    decoder = json.JSONDecoder()
    position = 0
    for _ in range(MAX_ATTEMPTS):
        position = body.find("{", position)
        if position < 0:
            return None
        try:
            value, end = decoder.raw_decode(body, position)
        except (ValueError, RecursionError):
            position += 1
            continue
        if isinstance(value, dict) and key in value:
            return value
        position = end
    return None


def one_line(text: object, limit: int = MAX_REASON) -> str:
    """Return what a model said as one line of printable text; empty if it is no text."""
    if not isinstance(text, str):
        return ""
    clean = " ".join("".join(sign if sign.isprintable() else " " for sign in text[: 4 * limit]).split())
    return clean if len(clean) <= limit else f"{clean[:limit]}..."


def printable(text: str) -> str:
    """Return a text that can be sent as UTF-8: halves of surrogate pairs become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
