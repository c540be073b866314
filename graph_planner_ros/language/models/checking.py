"""Whether a model can be used: is it there, does it keep to a JSON schema and a grammar, and how fast is it."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from graph_planner_ros.language.models.messages import LanguageModel, Message, Reply, ReplyStatus, Request

_SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["blue", "green"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
_GRAMMAR = 'root ::= "colour " ("blue" | "green")'


@dataclass(frozen=True)
class Finding:
    """One line of a check.

    Attributes:
        name: of what was looked at. good: whether it is as one would wish. needed: whether nothing works without it.
        text: what was found, a sentence.
    """

    name: str
    good: bool
    text: str
    needed: bool = False


def check_model(
    model: LanguageModel, timeout: float | None = None, cancel: threading.Event | None = None
) -> Iterator[Finding]:
    """Yield what is found, in order; ends after the first finding without which nothing works.

    Args:
        model: without a cache, else it is the cache that is measured. timeout: seconds for each of four requests.
    """

    def ask(text: str, **wanted: Any) -> Reply:
        request = Request((Message("user", text),), **wanted)
        return model.ask(request, timeout=timeout, cancel=cancel)

    first = ask("Say hello.", max_tokens=32)
    if not first.answered:
        yield Finding("answers", False, f"{first.status.value}: {first.reason}", needed=True)
        return
    waited = f", the first text after {first.first_token:.2f} s" if first.first_token else ""
    yield Finding("answers", True, f"yes, in {first.latency:.2f} s{waited}")
    yield _constrained("JSON schema", ask("Say hello.", schema=_SCHEMA, max_tokens=64), _keeps_schema)
    yield _constrained("grammar", ask("Say hello.", grammar=_GRAMMAR, max_tokens=64), _keeps_grammar)
    yield _speed(ask("Count from 1 to 100, in words.", max_tokens=128))


def _constrained(name: str, reply: Reply, keeps: Callable[[str], bool]) -> Finding:
    if reply.status is ReplyStatus.TRUNCATED or not reply.answered:
        return Finding(name, False, f"not known, {reply.status.value}: {reply.reason}")
    if reply.reason:
        return Finding(name, False, f"no: {reply.reason}")
    if not keeps(reply.text):
        said = " ".join(reply.text.split())[:60]
        return Finding(name, False, f"no: it is taken and not kept to; the answer was {said!r}")
    return Finding(name, True, "yes")


def _keeps_schema(text: str) -> bool:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and set(found) == {"colour"} and found["colour"] in ("blue", "green")


def _keeps_grammar(text: str) -> bool:
    return re.fullmatch(r"colour (blue|green)", text) is not None


def _speed(reply: Reply) -> Finding:
    if not reply.answered:
        return Finding("speed", False, f"not known, {reply.status.value}: {reply.reason}")
    seconds = reply.latency - reply.first_token
    if reply.completion_tokens < 2 or seconds <= 0:
        return Finding("speed", False, f"not known: the answer had {reply.completion_tokens} tokens")
    rate = (reply.completion_tokens - 1) / seconds
    return Finding("speed", True, f"{rate:.1f} tokens/s over {reply.completion_tokens} tokens of answer")
