"""What is asked of a language model and what comes back; every backend speaks these terms."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, Protocol, runtime_checkable

Role = Literal["system", "user", "assistant"]
ROLES: tuple[Role, ...] = ("system", "user", "assistant")
MAX_TOKENS = 4096


class ModelUnavailableError(RuntimeError):
    """A backend that cannot be used at all: a package or a file is missing, or an option is wrong. One sentence."""


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"role of a message: expected {', '.join(ROLES)}, found {self.role!r}")


@dataclass(frozen=True)
class Request:
    """A question to a model.

    Attributes:
        messages: the conversation, at least one.
        schema: JSON schema that the answer has to satisfy. grammar: GBNF grammar that the answer has to satisfy.
            A backend uses what it can do, and says in the reply's reason when it could do neither.
        max_tokens: of the answer. temperature: of sampling, 0 for the likeliest. seed: None for the backend's own.
        stop: texts that end the answer.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    grammar: str | None = None
    max_tokens: int = MAX_TOKENS
    temperature: float = 0.0
    seed: int | None = 0
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.messages:
            raise ValueError("a request needs at least one message")
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens: expected at least 1, found {self.max_tokens}")
        if not 0 <= self.temperature <= 2:
            raise ValueError(f"temperature: expected 0 to 2, found {self.temperature}")

    def as_json(self) -> dict[str, Any]:
        """Return everything that decides the answer as plain values."""
        return {
            "messages": [{"role": message.role, "content": message.content} for message in self.messages],
            "schema": None if self.schema is None else dict(self.schema),
            "grammar": self.grammar,
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "seed": self.seed,
            "stop": list(self.stop),
        }


class ReplyStatus(str, Enum):
    """How asking ended."""

    ANSWERED = "answered"
    TRUNCATED = "truncated"
    """The text ends early: tokens ran out, the connection broke, or the answer was longer than it may be."""
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    UNREACHABLE = "unreachable"
    """No connection, or the server says that it cannot serve (5xx)."""
    RATE_LIMITED = "rate_limited"
    REFUSED = "refused"
    """The endpoint or the model does not want to: wrong key, no such model, wrong request, content filter."""
    MALFORMED = "malformed"
    """What came is no chat completion: HTML, broken JSON, no choices."""


@dataclass(frozen=True)
class Reply:
    """What came of a request. Keys and credentials are in none of its texts.

    Attributes:
        text: of the answer; what came until then if the status is `ReplyStatus.TRUNCATED` or worse.
        reason: a sentence on what went wrong, or what had to be left out of an answered request; else empty.
        prompt_tokens, completion_tokens: as the backend counts, or about four characters a token where it does not.
        latency: seconds from asking to the end, retries included. first_token: seconds to the first text; 0: not known.
        cached: whether it came from the cache, with the tokens of the time when it was made.
        model: who answered, as the backend calls it. retries: how often the request was sent again.
        http_status: of the last response, where it was an error; 0: none.
    """

    status: ReplyStatus
    text: str = ""
    reason: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency: float = 0.0
    cached: bool = False
    model: str = ""
    retries: int = 0
    first_token: float = 0.0
    http_status: int = 0

    @property
    def answered(self) -> bool:
        """Whether there is an answer to read, perhaps one that ends early."""
        return self.status in (ReplyStatus.ANSWERED, ReplyStatus.TRUNCATED)


@runtime_checkable
class LanguageModel(Protocol):
    """Anything that answers requests."""

    @property
    def name(self) -> str:
        """Return what the model is called."""

    def ask(self, request: Request, *, timeout: float | None = None, cancel: threading.Event | None = None) -> Reply:
        """Ask and wait; never raises for what a backend does.

        Args:
            timeout: seconds for everything, retries included; None: the model's own.
            cancel: when it is set, the reply is `ReplyStatus.CANCELLED` within a second, whatever the backend does.
        """
