"""What is written into a request to an OpenAI-compatible endpoint, and what is left out when it does not take it.

Endpoints differ: some know JSON schemas, some grammars, some neither; some call the limit of tokens by a newer name or
refuse a temperature. What one refuses is left out of the next try, and remembered once that one was answered.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from typing import Any

from graph_planner_ros.language.models.messages import Request
from graph_planner_ros.language.models.reading import whole_text

STRICT_SCHEMA, SCHEMA, GRAMMAR, JSON_OBJECT = "strict JSON schema", "JSON schema", "grammar", "JSON mode"
_NAMED = ("stream_options", "max_completion_tokens", "max_tokens", "temperature", "seed", "stop")
_ABOUT_CONSTRAINTS = re.compile(r"response_format|json_schema|schema|grammar|guided|structured", re.IGNORECASE)
_ABOUT_LENGTH = re.compile(r"context|too large|too long|too many tokens", re.IGNORECASE)

Left = frozenset[str]
"""What an endpoint does not take: constraints and names of parameters."""


_LIMITS = frozenset(("max_tokens", "max_completion_tokens"))
_CONSTRAINTS = frozenset((STRICT_SCHEMA, SCHEMA, GRAMMAR, JSON_OBJECT))
_TRIED = 2
"""Refusals of different schemas (or grammars) after which an endpoint counts as one that takes none."""
_LONGEST_MEMORY = 1000


class Abilities:
    """What one endpoint was found not to take; several threads may ask and tell.

    A schema that was refused is not sent again. An endpoint that refused two and never took one gets no more of them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parameters: Left = frozenset()
        self._refused: dict[str, set[str]] = {constraint: set() for constraint in _CONSTRAINTS}
        self._taken: set[str] = set()

    def left_for(self, request: Request) -> Left:
        """Return what to leave out of a request from the start."""
        digest = _digest(request)
        with self._lock:
            known = {
                constraint
                for constraint, refused in self._refused.items()
                if digest in refused or (constraint not in self._taken and len(refused) >= _TRIED)
            }
            return self._parameters | known

    def learn(self, request: Request, left: Left) -> None:
        """Remember that a request was answered when this was left out, and would not have been otherwise."""
        used = constraint_of(request, left)
        parameters = left - _CONSTRAINTS
        if parameters >= _LIMITS:
            parameters -= _LIMITS  # it was this prompt that left no room for an answer of the wanted length
        with self._lock:
            self._parameters |= parameters
            if used:
                self._taken.add(used)
            for constraint in left & _CONSTRAINTS:
                if len(self._refused[constraint]) < _LONGEST_MEMORY:
                    self._refused[constraint].add(_digest(request))


def constraint_of(request: Request, left: Left) -> str:
    """Return the strongest constraint that a request wants and the endpoint takes; empty: none."""
    wanted: tuple[str, ...] = ()
    if request.schema is not None:
        wanted += (STRICT_SCHEMA, SCHEMA)
    if request.grammar is not None:
        wanted += (GRAMMAR,)
    if request.schema is not None:
        wanted += (JSON_OBJECT,)
    return next((constraint for constraint in wanted if constraint not in left), "")


def body_of(request: Request, model: str, left: Left) -> dict[str, Any]:
    """Return the arguments for ``chat.completions.create``."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": each.role, "content": whole_text(each.content)} for each in request.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": request.temperature,
        "seed": request.seed,
        "stop": list(request.stop) or None,
        "max_tokens": request.max_tokens,
    }
    if "max_tokens" in left:
        body["max_completion_tokens"] = request.max_tokens
    body = {name: value for name, value in body.items() if value is not None and name not in left}
    constraint = constraint_of(request, left)
    if constraint in (STRICT_SCHEMA, SCHEMA):
        schema = {"name": "answer", "schema": dict(request.schema or {}), "strict": constraint == STRICT_SCHEMA}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif constraint == JSON_OBJECT:
        body["response_format"] = {"type": "json_object"}
    elif constraint == GRAMMAR:
        body["extra_body"] = {"grammar": request.grammar}
    return body


def leave_out(request: Request, left: Left, status: int, message: str) -> Left | None:
    """Return what to leave out of the next try after a refusal; None if nothing would help.

    Args:
        left: what was left out already. status: of the response. message: what the endpoint said.
    """
    if status not in (400, 415, 422, 500, 501):
        return None
    body = body_of(request, "", left)
    if status < 500:
        if _LIMITS & set(body) and _ABOUT_LENGTH.search(message):
            return left | _LIMITS
        for name in _NAMED:
            if name in body and _names(message, name):
                return left | {name}
    constraint = constraint_of(request, left)
    if constraint and (status != 500 or _ABOUT_CONSTRAINTS.search(message)):
        return left | {constraint}
    return None


def note_on(request: Request, left: Left, who: str = "the endpoint") -> str:
    """Return a sentence on what a request wanted and ``who`` did not take; empty: nothing of weight."""
    if request.schema is None and request.grammar is None:
        return ""
    constraint = constraint_of(request, left)
    if constraint in (STRICT_SCHEMA, SCHEMA, GRAMMAR):
        return ""
    wanted = "JSON schema" if request.schema is not None else "grammar"
    instead = "in JSON mode" if constraint else "without"
    return f"{who} does not take the {wanted}, so it was asked {instead}"


def _names(message: str, name: str) -> bool:
    quoted = rf"['\"`]{name}['\"`]"
    return re.search(quoted if name == "stop" else rf"{quoted}|\b{name}\b", message) is not None


def _digest(request: Request) -> str:
    content = json.dumps([request.as_json()["schema"], request.grammar], sort_keys=True, default=repr)
    return hashlib.sha256(content.encode()).hexdigest()
