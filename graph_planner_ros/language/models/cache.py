"""Replies kept on disk, so that an evaluation can be repeated without asking again.

One file for each request, named by a hash of everything that decides the answer: the request, the model and where it
runs. Only complete answers are kept. A file that is broken, or of another request, counts as none and is written anew.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from graph_planner_ros.domain.files import write_atomically
from graph_planner_ros.language.models.messages import LanguageModel, Reply, ReplyStatus, Request
from graph_planner_ros.language.models.options import ModelOptions
from graph_planner_ros.language.models.secrets import public_endpoint

FORMAT = 1
_LARGEST_FILE = 1 << 26
_ENDS = 1 << 20
_KEPT = ("text", "reason", "prompt_tokens", "completion_tokens", "model", "first_token")


def source_of(options: ModelOptions, model: LanguageModel) -> dict[str, Any]:
    """Return what decides answers apart from the request: the backend, the model, and where it runs."""
    source: dict[str, Any] = {"backend": options.backend, "model": model.name}
    if options.backend == "openai":
        source["endpoint"] = public_endpoint(options.endpoint)
    path = Path(getattr(model, "path", "") or "")
    if path.is_file():
        source["file"] = _fingerprint(path)
    return source


def cache_key(request: Request, source: Mapping[str, Any]) -> str:
    """Return the hash of a request to a source."""
    content = {"format": FORMAT, "request": request.as_json(), "source": dict(source)}
    return hashlib.sha256(_canonical(content)).hexdigest()


class ReplyCache:
    """A folder of replies; several threads and processes may use it at the same time.

    Args:
        folder: made when the first reply is kept. source: see `source_of`.
    """

    def __init__(self, folder: Path, source: Mapping[str, Any]) -> None:
        self._folder = folder
        self._source = dict(source)

    def path(self, request: Request) -> Path:
        """Return where the reply to a request is kept."""
        key = cache_key(request, self._source)
        return self._folder / key[:2] / f"{key}.json"

    def get(self, request: Request) -> Reply | None:
        """Return the reply that is kept, if there is one and it is in order."""
        path = self.path(request)
        try:
            if path.stat().st_size > _LARGEST_FILE:
                return None
            content = json.loads(path.read_text(encoding="utf-8"))
            reply = content["reply"]
            if content["digest"] != _digest(reply) or content["request"] != _plain(request.as_json()):
                return None
            found = Reply(ReplyStatus.ANSWERED, cached=True, **{name: reply[name] for name in _KEPT})
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        right = isinstance(found.text, str) and isinstance(found.reason, str)
        counts = (found.prompt_tokens, found.completion_tokens)
        return found if right and all(isinstance(count, int) for count in counts) else None

    def put(self, request: Request, reply: Reply) -> str:
        """Keep a complete answer; return a sentence if it cannot be written, else an empty text."""
        if reply.status is not ReplyStatus.ANSWERED or not reply.text:
            return ""
        kept = {name: getattr(reply, name) for name in _KEPT}
        content = {"source": self._source, "request": request.as_json(), "reply": kept, "digest": _digest(kept)}
        try:
            write_atomically(self.path(request), json.dumps(content, indent=1) + "\n")
        except (OSError, TypeError, ValueError) as error:  # a full disk, or a schema that is no JSON
            return f"the reply cannot be kept in {self._folder}: {getattr(error, 'strerror', '') or error}"
        return ""


class CachedModel:
    """A model whose complete answers are kept."""

    def __init__(self, model: LanguageModel, folder: Path, source: Mapping[str, Any]) -> None:
        self._model = model
        self._cache = ReplyCache(folder, source)

    def __repr__(self) -> str:
        return f"CachedModel({self._model!r})"

    @property
    def name(self) -> str:
        """Return the model's name."""
        return self._model.name

    def ask(self, request: Request, *, timeout: float | None = None, cancel: threading.Event | None = None) -> Reply:
        """Return the reply that is kept, or ask and keep."""
        if cancel is not None and cancel.is_set():
            return Reply(ReplyStatus.CANCELLED, reason="cancelled", model=self.name)
        start = time.monotonic()
        found = self._cache.get(request)
        if found is not None:
            return replace(found, latency=time.monotonic() - start)
        reply = self._model.ask(request, timeout=timeout, cancel=cancel)
        problem = self._cache.put(request, reply)
        return replace(reply, reason="; ".join(filter(None, (reply.reason, problem)))) if problem else reply


def _canonical(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), default=repr).encode()


def _plain(content: Any) -> Any:
    return json.loads(json.dumps(content))


def _digest(reply: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(reply)).hexdigest()


def _fingerprint(path: Path) -> str:
    """Return a hash of a model file's size and ends: all of it would take seconds for a large one."""
    digest = hashlib.sha256(str(path.stat().st_size).encode())
    with path.open("rb") as file:
        digest.update(file.read(_ENDS))
        file.seek(max(0, path.stat().st_size - _ENDS))
        digest.update(file.read(_ENDS))
    return digest.hexdigest()
