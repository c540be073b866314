"""Any endpoint that speaks OpenAI's protocol: vLLM, Ollama, a llama.cpp server, a cloud."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from graph_planner_ros.language.models.messages import ModelUnavailableError, Reply, ReplyStatus, Request
from graph_planner_ros.language.models.options import ModelOptions
from graph_planner_ros.language.models.parameters import Abilities, Left, body_of, leave_out, note_on
from graph_planner_ros.language.models.reading import AnswerReader
from graph_planner_ros.language.models.retrying import Attempt, asked_pause, with_retries
from graph_planner_ros.language.models.running import AbandonedError, Job, OutOfTimeError, run_job
from graph_planner_ros.language.models.secrets import ENDPOINT_VARIABLE, Secrets, public_endpoint
from graph_planner_ros.language.models.watching import TooMuchError, Watch, client_hooks

INSTALL = "language models behind an endpoint need the package openai: ./run extra llm, or pip install openai"
_NO_WORDS = "no words"
_PASSING = (408, 409, 425, 429)
_ABILITIES: dict[tuple[str, str], Abilities] = {}
"""What each endpoint and model takes; for the life of the process."""


@dataclass(frozen=True)
class _Address:
    """An endpoint's address, its credentials apart."""

    base: str
    query: dict[str, str]
    user: tuple[str, str] | None


class OpenAiModel:
    """A model behind an endpoint.

    Raises:
        ModelUnavailableError: the client is not installed, or the address is none.
    """

    def __init__(self, options: ModelOptions) -> None:
        try:
            import openai
        except ImportError:
            raise ModelUnavailableError(INSTALL) from None
        self._openai = openai
        self._options = options
        self.name = options.model
        self._where = public_endpoint(options.endpoint) or "the endpoint"
        endpoint = options.endpoint or os.environ.get(ENDPOINT_VARIABLE, "")
        self._address = _read_address(endpoint, self._where)
        self._key = os.environ.get(options.key_variable, "").strip()
        if not (self._key.isascii() and self._key.isprintable()):
            raise ModelUnavailableError(f"the key in {options.key_variable} has characters that no key can have")
        self._secrets = Secrets(self._key, endpoint)
        self._secrets.guard_logs()
        self._certificates = _certificates()  # once: it takes longer than all the rest of a client

    def __repr__(self) -> str:
        return f"OpenAiModel({self.name!r}, {self._where!r})"

    def ask(self, request: Request, *, timeout: float | None = None, cancel: threading.Event | None = None) -> Reply:
        """See `LanguageModel`."""
        seconds = timeout if timeout is not None else self._options.timeout
        return run_job(lambda job: self._work(request, job), self._where, self.name, seconds, cancel)

    def _work(self, request: Request, job: Job) -> Reply:
        return with_retries(lambda: self._attempt(request, job), self._options.retries, job)

    def _attempt(self, request: Request, job: Job) -> Attempt:
        """Try once; what the endpoint refuses to take is left out at once, without counting as a retry."""
        abilities = _ABILITIES.setdefault((self._where, self.name), Abilities())
        left = abilities.left_for(request)
        limit = self._options.attempt_timeout
        deadline = min(job.deadline, time.monotonic() + limit) if limit > 0 else job.deadline
        while True:
            attempt, said = self._exchange(request, left, job, deadline)
            less = leave_out(request, left, attempt.reply.http_status, said) if said else None
            if less is None:
                break
            left = less
        if attempt.reply.answered:
            abilities.learn(request, left)
            note = note_on(request, left)
            reason = "; ".join(text for text in (attempt.reply.reason, note) if text)
            attempt = replace(attempt, reply=replace(attempt.reply, reason=reason))
        return attempt

    def _exchange(self, request: Request, left: Left, job: Job, deadline: float) -> tuple[Attempt, str]:
        """Send one request; return what came of it, and what the endpoint said if it refused."""
        reader = AnswerReader(request.max_tokens)
        watch = Watch(job, deadline, request.max_tokens)
        error: Exception | None = None
        try:
            with self._client(watch) as client:
                body = body_of(request, self.name, left)
                with client.chat.completions.with_streaming_response.create(**body) as response:
                    for piece in response.iter_bytes():
                        if reader.feed(piece):
                            break
                    reader.end()
        except Exception as caught:  # judged below, by what it is and by how much of an answer came before it
            error = caught
        finally:
            watch.close()
        said = _refusal(error) if isinstance(error, self._openai.APIStatusError) else ""
        attempt = self._judge(reader, error, job.timeout if deadline == job.deadline else self._options.attempt_timeout)
        first = reader.first_text - job.started if reader.first_text is not None else 0.0
        prompt, completion = _tokens(request, reader)
        reply = replace(
            attempt.reply, text=self._secrets.hide_in_answer(reader.text), model=self.name, first_token=first,
            prompt_tokens=prompt, completion_tokens=completion,
        )  # fmt: skip
        return replace(attempt, reply=reply), said

    @contextlib.contextmanager
    def _client(self, watch: Watch) -> Iterator[Any]:
        """A client for one exchange: its connection can be closed from outside without touching another's."""
        seconds = max(0.001, watch.remaining)
        http = self._openai.DefaultHttpxClient(
            timeout=seconds, follow_redirects=False, auth=self._address.user, event_hooks=client_hooks(watch),
            verify=self._certificates,
        )  # fmt: skip
        try:
            with self._openai.OpenAI(
                api_key=self._key or "none", base_url=self._address.base or None, timeout=seconds, max_retries=0,
                default_query=self._address.query, http_client=http,
                default_headers={"Accept-Encoding": "identity"},
            ) as client:  # fmt: skip
                yield client
        finally:
            http.close()

    def _judge(self, reader: AnswerReader, error: Exception | None, seconds: float) -> Attempt:
        where, openai = self._where, self._openai
        if error is None or (reader.finish and not isinstance(error, openai.APIStatusError)):
            error = None  # the answer was whole before the connection ended as it did
        if isinstance(error, AbandonedError):
            return Attempt(Reply(ReplyStatus.CANCELLED, reason="cancelled"))
        if isinstance(error, (OutOfTimeError, openai.APITimeoutError)) or _is_timeout(error):
            return Attempt(Reply(ReplyStatus.TIMED_OUT, reason=f"{where} did not answer within {seconds:.3g} s"), True)
        if isinstance(error, openai.APIStatusError):
            return self._judge_status(error)
        if isinstance(error, TooMuchError) or reader.too_long:
            return Attempt(_cut_off(reader, f"{where} {error or 'did not come to an end'}"))
        if isinstance(error, (UnicodeError, TypeError, ValueError)) and not reader.done and not reader.text:
            return Attempt(Reply(ReplyStatus.REFUSED, reason=f"the request cannot be sent: {type(error).__name__}"))
        if error is not None:
            return Attempt(self._broken(reader, error), True)
        return self._judge_answer(reader)

    def _broken(self, reader: AnswerReader, error: Exception) -> Reply:
        if reader.text:
            return Reply(ReplyStatus.TRUNCATED, reason=f"the connection to {self._where} broke in the answer")
        cause = error.__cause__ or error
        what = f"{self._where} cannot be reached: {type(cause).__name__}"
        detail = self._secrets.sentence(cause, 160)
        return Reply(ReplyStatus.UNREACHABLE, reason=f"{what}, {detail}" if detail else what)

    def _judge_answer(self, reader: AnswerReader) -> Attempt:
        where = self._where
        if reader.error:
            limited = reader.error_code == 429
            reason = self._secrets.sentence(f"{where} answered with an error: {reader.error}")
            status = ReplyStatus.RATE_LIMITED if limited else ReplyStatus.UNREACHABLE
            return Attempt(Reply(status, reason=reason, http_status=reader.error_code), passing=True)
        if reader.refusal or reader.finish == "content_filter":
            said = self._secrets.sentence(reader.refusal) or "its content filter"
            return Attempt(Reply(ReplyStatus.REFUSED, reason=f"{self.name} refuses to answer: {said}"))
        if reader.problem and not reader.text:
            return Attempt(Reply(ReplyStatus.MALFORMED, reason=f"{where} answered with {reader.problem}"))
        if not reader.completions:
            return Attempt(Reply(ReplyStatus.MALFORMED, reason=f"{where} answered without a choice"))
        if not reader.finish:
            return Attempt(_cut_off(reader, f"the answer of {where} ends without saying so"), passing=True)
        if reader.finish == "length":
            return Attempt(Reply(ReplyStatus.TRUNCATED, reason="the answer ends early: its tokens ran out"))
        if reader.finish in ("tool_calls", "function_call") and not reader.text:
            return Attempt(Reply(ReplyStatus.MALFORMED, reason=f"{where} answered with a call of a tool"))
        return Attempt(Reply(ReplyStatus.ANSWERED, reason="" if reader.text else "the answer is empty"))

    def _judge_status(self, error: Any) -> Attempt:
        code = int(error.status_code)
        where, pause = self._where, asked_pause(error.response.headers)
        said = self._secrets.sentence(f"{where} answered {code}: {_words(error)}")
        if code == 429:
            return Attempt(Reply(ReplyStatus.RATE_LIMITED, reason=said, http_status=code), True, pause)
        if code >= 500 or code in _PASSING:
            return Attempt(Reply(ReplyStatus.UNREACHABLE, reason=said, http_status=code), True, pause)
        if code in (401, 403):
            said = f"{where} refuses the key in {self._options.key_variable}" if self._key else (
                f"{where} wants a key, and there is none in {self._options.key_variable}"
            )  # fmt: skip
        elif code == 404:
            said = f"{where} has no model {self.name!r}, or no chat completions"
        elif 300 <= code < 400:
            said = f"{where} answered {code}: it points to another address, which is not followed"
        return Attempt(Reply(ReplyStatus.REFUSED, reason=said, http_status=code))


def _certificates() -> ssl.SSLContext:
    """Return the authorities of the system (or of ``SSL_CERT_FILE``) and of certifi, which a bare system lacks."""
    context = ssl.create_default_context()
    with contextlib.suppress(ImportError, OSError):
        import certifi

        context.load_verify_locations(certifi.where())
    return context


def _read_address(endpoint: str, where: str) -> _Address:
    if not endpoint:
        return _Address("", {}, None)
    try:
        parts = urlsplit(endpoint)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid or any(character.isspace() for character in endpoint):
        raise ModelUnavailableError(
            f"endpoint of a model: expected http://host:port/v1 or https://..., found {where!r}"
        )
    userinfo, _, host = parts.netloc.rpartition("@")
    user, _, password = userinfo.partition(":")
    base = urlunsplit((parts.scheme, host, parts.path, "", ""))
    return _Address(base, dict(parse_qsl(parts.query)), (unquote(user), unquote(password)) if userinfo else None)


def _tokens(request: Request, reader: AnswerReader) -> tuple[int, int]:
    """Count prompt and answer as the endpoint does, else about four characters a token if anything came."""
    prompt, completion = reader.prompt_tokens, reader.completion_tokens
    if prompt is None:
        asked = sum(len(message.content) for message in request.messages)
        prompt = asked // 4 + 1 if reader.completions else 0
    if completion is None:
        completion = len(reader.text) // 4 + 1 if reader.completions else 0
    return prompt, completion


def _cut_off(reader: AnswerReader, reason: str) -> Reply:
    return Reply(ReplyStatus.TRUNCATED if reader.text else ReplyStatus.MALFORMED, reason=reason)


def _words(error: Any) -> str:
    """Return what an error response says: its message, not its web page."""
    body = error.body
    if isinstance(body, dict):
        inner = body.get("error", body)
        return str(inner.get("message", "") if isinstance(inner, dict) else inner) or _NO_WORDS
    text = str(body or "").strip()
    return "a web page" if text.startswith("<") else text or _NO_WORDS


def _refusal(error: Any) -> str:
    """Return what an error response says of the request, with the parameter that it names."""
    words = _words(error)
    return f"{words} {error.param or ''}" if words != _NO_WORDS else str(error.message)


def _is_timeout(error: Exception | None) -> bool:
    while error is not None:
        if isinstance(error, (TimeoutError, socket.timeout)) or type(error).__name__ in ("ReadTimeout", "WriteTimeout"):
            return True
        error = error.__cause__ if isinstance(error.__cause__, Exception) else None
    return False
