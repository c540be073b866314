"""A model in this process, by the library transformers; it has no grammars, so answers are as free as the model is."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from graph_planner_ros.language.models.messages import Message, ModelUnavailableError, Reply, ReplyStatus, Request
from graph_planner_ros.language.models.options import ModelOptions
from graph_planner_ros.language.models.parameters import GRAMMAR, JSON_OBJECT, SCHEMA, STRICT_SCHEMA, note_on
from graph_planner_ros.language.models.reading import whole_text
from graph_planner_ros.language.models.running import AbandonedError, Job, OutOfTimeError, run_job

INSTALL = (
    "models by transformers need torch and transformers: ./run extra transformers, "
    "or pip install -r requirements/transformers.txt"
)
_LOOK = 0.05


class TransformersModel:
    """A causal language model with its tokenizer.

    Args:
        options: ``model`` is a folder, or a name that the library finds by itself (it may then download it).

    Attributes:
        path: of a file with the weights, where the model is a folder.

    Raises:
        ModelUnavailableError: the library or the model is missing.
    """

    def __init__(self, options: ModelOptions) -> None:
        try:
            import torch
            import transformers
        except ImportError:
            raise ModelUnavailableError(INSTALL) from None
        self._torch = torch
        self._options = options
        folder = Path(options.model)
        self.name = folder.resolve().name if folder.is_dir() else options.model
        self.path = next(iter(sorted(folder.glob("*.safetensors"))), None) if folder.is_dir() else None
        try:
            device = torch.device(options.device or ("cuda" if torch.cuda.is_available() else "cpu"))
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(options.model)
            self._model = transformers.AutoModelForCausalLM.from_pretrained(options.model).to(device).eval()
        except Exception as error:  # the library, its hub and torch raise many kinds
            reason = " ".join(str(error).split())[:300] or type(error).__name__
            raise ModelUnavailableError(f"the model {options.model!r} cannot be loaded: {reason}") from None
        torch.set_num_threads(options.threads or max(1, (os.cpu_count() or 1) // 2))
        self._free = threading.Lock()

    def __repr__(self) -> str:
        return f"TransformersModel({self.name!r})"

    def ask(self, request: Request, *, timeout: float | None = None, cancel: threading.Event | None = None) -> Reply:
        """See `LanguageModel`. One answer at a time; a request that was given up leaves at the next token."""
        seconds = timeout if timeout is not None else self._options.timeout
        return run_job(lambda job: self._work(request, job), self.name, self.name, seconds, cancel)

    def _work(self, request: Request, job: Job) -> Reply:
        progress = _Progress(job, self._tokenizer, request.stop)
        try:
            while not self._free.acquire(timeout=_LOOK):
                job.check()
            try:
                reply = self._generate(request, job, progress)
            finally:
                self._free.release()
        except OutOfTimeError:
            progress.end = OutOfTimeError.__name__
            reply = Reply(ReplyStatus.TIMED_OUT)
        except AbandonedError:
            reply = Reply(ReplyStatus.CANCELLED, reason="cancelled")
        if progress.end == OutOfTimeError.__name__:
            reply = Reply(ReplyStatus.TIMED_OUT, reason=f"{self.name} did not answer within {job.timeout:.3g} s")
        elif progress.end == AbandonedError.__name__:
            reply = Reply(ReplyStatus.CANCELLED, reason="cancelled")
        return replace(
            reply, text=progress.text(), model=self.name, latency=time.monotonic() - job.started,
            first_token=progress.first - job.started if progress.first else 0.0,
            prompt_tokens=progress.prompt, completion_tokens=len(progress.tokens),
        )  # fmt: skip

    def _generate(self, request: Request, job: Job, progress: _Progress) -> Reply:
        job.check()
        inputs = self._tokenizer(self._conversation(request.messages), add_special_tokens=False, return_tensors="pt")
        inputs = {name: inputs[name].to(self._model.device) for name in ("input_ids", "attention_mask")}
        progress.prompt = int(inputs["input_ids"].shape[1])
        room = int(getattr(self._model.config, "max_position_embeddings", 0) or 1 << 30) - progress.prompt
        if room < 1 or not progress.prompt:
            reason = f"{self.name} has no room for an answer to {progress.prompt} tokens"
            return Reply(ReplyStatus.REFUSED, reason=reason)
        sampling: dict[str, Any] = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        if request.temperature > 0:
            sampling = {"do_sample": True, "temperature": request.temperature}
            if request.seed is not None:
                self._torch.manual_seed(request.seed)
        longest = min(request.max_tokens, room)
        with self._torch.inference_mode():
            self._model.generate(
                **inputs, max_new_tokens=longest, stopping_criteria=[progress], pad_token_id=self._ending(), **sampling
            )
        nothing = frozenset((STRICT_SCHEMA, SCHEMA, GRAMMAR, JSON_OBJECT))
        note = note_on(request, nothing, "the backend transformers")
        status, reason = ReplyStatus.ANSWERED, "" if progress.text() else "the answer is empty"
        if len(progress.tokens) >= longest and not progress.stopped and progress.tokens[-1] not in self._endings():
            status, reason = ReplyStatus.TRUNCATED, "the answer ends early: its tokens ran out"
        return Reply(status, reason="; ".join(filter(None, (reason, note))))

    def _conversation(self, messages: Sequence[Message]) -> str:
        """Return the text that the model continues: by its own template, or as lines for a model without one."""
        turns = [{"role": message.role, "content": whole_text(message.content)} for message in messages]
        if getattr(self._tokenizer, "chat_template", None):
            return str(self._tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False))
        return "".join(f"{turn['role']}: {turn['content']}\n" for turn in turns) + "assistant:"

    def _endings(self) -> tuple[int, ...]:
        found = self._model.generation_config.eos_token_id
        return tuple(found) if isinstance(found, (list, tuple)) else () if found is None else (int(found),)

    def _ending(self) -> int:
        return next(iter(self._endings()), 0)


class _Progress:
    """Looks at each token: keeps it, and ends the answer when nobody waits, time is up, or a stop text came.

    Attributes:
        tokens: of the answer. prompt: number of tokens before it. first: monotonic time of the first one.
        end: name of the exception that ended it; empty: none did. stopped: whether a stop text came.
    """

    def __init__(self, job: Job, tokenizer: Any, stop: Sequence[str]) -> None:
        self._job = job
        self._tokenizer = tokenizer
        self._stop = stop
        self.tokens: list[int] = []
        self.prompt = 0
        self.first = 0.0
        self.end = ""
        self.stopped = False

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> bool:
        """Return whether to stop; called by the library after each token."""
        self.first = self.first or time.monotonic()
        self.tokens = input_ids[0, self.prompt :].tolist()
        try:
            self._job.check()
        except (OutOfTimeError, AbandonedError) as error:
            self.end = type(error).__name__
        if self._stop:
            said = self._decode()
            self.stopped = any(text in said for text in self._stop)
        return bool(self.end) or self.stopped

    def text(self) -> str:
        """Return the answer so far, up to a stop text."""
        said = self._decode()
        return min((said.split(text)[0] for text in self._stop), key=len, default=said)

    def _decode(self) -> str:
        with suppress(Exception):  # half a character at the end, in some tokenizers
            return str(self._tokenizer.decode(self.tokens, skip_special_tokens=True))
        return ""
