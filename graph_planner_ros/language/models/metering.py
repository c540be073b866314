"""What a model's answers cost."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

from graph_planner_ros.language.models.messages import LanguageModel, Reply, Request


@dataclass
class Usage:
    """Sums over requests.

    Attributes:
        calls: requests, those included that the cache answered. cached: answered by the cache. failed: not answered.
        prompt_tokens, completion_tokens: of all replies, those of the cache as when they were made: an evaluation that
            is repeated from the cache counts the same.
        latencies: seconds of each request that the cache did not answer.
    """

    calls: int = 0
    cached: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latencies: list[float] = field(default_factory=list)

    def add(self, reply: Reply) -> None:
        """Count one reply."""
        self.calls += 1
        self.cached += reply.cached
        self.failed += not reply.answered
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens
        if not reply.cached:
            self.latencies.append(reply.latency)


class MeteredModel:
    """A model whose replies are counted; may be asked by several threads."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._usage = Usage()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Return the model's name."""
        return self._model.name

    @property
    def usage(self) -> Usage:
        """Return a copy of the sums so far."""
        with self._lock:
            return replace(self._usage, latencies=list(self._usage.latencies))

    def ask(self, request: Request, *, timeout: float | None = None, cancel: threading.Event | None = None) -> Reply:
        """Ask the model and count."""
        reply = self._model.ask(request, timeout=timeout, cancel=cancel)
        with self._lock:
            self._usage.add(reply)
        return reply
