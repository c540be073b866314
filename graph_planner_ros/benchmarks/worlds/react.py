"""ReAct with any server that speaks OpenAI's protocol: think, act, look, again.

The key comes from the environment (``OPENAI_API_KEY``) and goes nowhere else: not into records, headers or messages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from graph_planner_ros.benchmarks.worlds.baselines import Choice, StoppedError
from graph_planner_ros.benchmarks.worlds.game import Observation, WorldUnavailableError
from graph_planner_ros.benchmarks.worlds.records import ACT

KEY = "OPENAI_API_KEY"
ENDPOINT = "OPENAI_BASE_URL"
PROMPTS = Path(__file__).parent / "prompts"
INSTALL = "ReAct needs the package openai: ./run extra llm, or pip install openai"
_ACTION = re.compile(r"^[\s*>]{0,8}action[ \t*]{0,8}:(?P<command>[^\n]*)$", re.IGNORECASE | re.MULTILINE)
_DECORATION = ' \t\r*`".'
_LONGEST_TEXT = 6000


@dataclass(frozen=True)
class ReactSettings:
    """How the model is asked.

    Attributes:
        model: as the server calls it. endpoint: base URL; empty for ``OPENAI_BASE_URL`` or the client's own.
        timeout: seconds for one answer. retries: after time-outs, lost connections and errors of the server.
        answers: answers without a command before the game is given up. window: turns that the model is shown.
        max_tokens: of one answer. temperature: of sampling.
    """

    model: str
    endpoint: str = ""
    timeout: float = 60.0
    retries: int = 3
    answers: int = 3
    window: int = 30
    max_tokens: int = 512
    temperature: float = 0.0


def public_endpoint(endpoint: str) -> str:
    """Return where answers come from, without credentials that an address may carry."""
    parts = urlsplit(endpoint or os.environ.get(ENDPOINT, ""))
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def prompt(name: str) -> Template:
    """Return a prompt of the package, ``prompts/<name>.txt``."""
    return Template((PROMPTS / f"{name}.txt").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Answer:
    """What the model said, and the tokens of question and answer."""

    text: str
    tokens: int


class ChatModel:
    """A model behind an endpoint.

    Raises:
        WorldUnavailableError: the client is not installed.
    """

    def __init__(self, settings: ReactSettings) -> None:
        try:
            import openai
        except ImportError:
            raise WorldUnavailableError(INSTALL) from None
        self._openai = openai
        self._settings = settings
        self._key = os.environ.get(KEY, "")
        self._client = openai.OpenAI(
            api_key=self._key or "none",
            base_url=settings.endpoint or None,
            timeout=settings.timeout,
            max_retries=settings.retries,
        )

    def __call__(self, messages: Sequence[dict[str, str]], seed: int) -> Answer:
        """Ask.

        Raises:
            WorldUnavailableError: the endpoint cannot be used at all: no connection, no right, no such model.
            StoppedError: this question was not answered.
        """
        openai = self._openai
        settings = self._settings
        where = public_endpoint(settings.endpoint) or "the endpoint"
        try:
            said: Any = self._client.chat.completions.create(
                model=settings.model, messages=list(messages), temperature=settings.temperature,  # type: ignore[arg-type]
                max_tokens=settings.max_tokens, seed=seed % 2**31,
            )  # fmt: skip
        except openai.APITimeoutError:
            raise StoppedError(
                f"{where} did not answer within {settings.timeout:g} s, {settings.retries} retries"
            ) from None
        except openai.APIConnectionError:
            raise WorldUnavailableError(f"{where} cannot be reached") from None
        except (openai.AuthenticationError, openai.PermissionDeniedError):
            raise WorldUnavailableError(f"{where} refuses the key in {KEY}") from None
        except openai.NotFoundError:
            raise WorldUnavailableError(f"{where} has no model {settings.model!r}, or no chat completions") from None
        except openai.APIStatusError as error:
            raise StoppedError(self._without_key(f"{where} answered {error.status_code}: {error.message}")) from None
        except (openai.OpenAIError, ValueError, AttributeError) as error:
            raise StoppedError(self._without_key(f"{where} answered nonsense: {error}")) from None
        return self._read(said, messages, where)

    def _read(self, said: Any, messages: Sequence[dict[str, str]], where: str) -> Answer:
        try:
            text = str(said.choices[0].message.content or "")
        except (AttributeError, IndexError, TypeError):
            raise StoppedError(f"{where} answered without a choice") from None
        usage = getattr(said, "usage", None)
        if usage is not None and isinstance(usage.prompt_tokens, int) and isinstance(usage.completion_tokens, int):
            return Answer(text, usage.prompt_tokens + usage.completion_tokens)
        # A server that does not count: about four characters a token, rather too many than none.
        return Answer(text, (sum(len(message["content"]) for message in messages) + len(text)) // 4 + 1)

    def _without_key(self, text: str) -> str:
        text = text.replace(self._key, "***") if self._key else text
        return " ".join(text.split())[:400]


class ReactChooser:
    """Asks a model for a thought and a command, and shows it what came of it."""

    def __init__(
        self, ask: Callable[[Sequence[dict[str, str]], int], Answer], settings: ReactSettings, seed: int
    ) -> None:
        self._ask = ask
        self._settings = settings
        self._seed = seed
        self._turns: list[dict[str, str]] = []

    def choose(self, observation: Observation, command: str) -> Choice:
        """Ask until an answer has a command; one that the world does not offer is given to the world as it is."""
        self._turns.append({"role": "user", "content": self._describe(observation, first=not command)})
        tokens = 0
        for _ in range(self._settings.answers):
            try:
                answer = self._ask(self._messages(observation), self._seed)
            except StoppedError as error:
                raise StoppedError(str(error), tokens + error.tokens) from None
            tokens += answer.tokens
            self._turns.append({"role": "assistant", "content": answer.text})
            found = parse_action(answer.text, observation.commands)
            if found:
                return Choice(found, ACT, tokens, answer.text)
            self._turns.append({"role": "user", "content": prompt("react_reminder").substitute().strip()})
        raise StoppedError(f"the model gave no command in {self._settings.answers} answers", tokens)

    def _messages(self, observation: Observation) -> list[dict[str, str]]:
        system = prompt("react_system").substitute(goal=_cut(observation.goal) or "find out and do what is asked")
        first, rest = self._turns[:1], self._turns[1:]
        kept = rest[-2 * self._settings.window :]
        if kept and kept[0]["role"] == "user" and len(kept) < len(rest):
            kept = kept[1:]  # user and assistant take turns, also after the cut
        return [{"role": "system", "content": system.strip()}, *first, *kept]

    def _describe(self, observation: Observation, first: bool) -> str:
        commands = "\n".join(f"- {command}" for command in observation.commands)
        name = "react_first" if first else "react_turn"
        told = prompt(name).substitute(observation=_cut(observation.text), commands=_cut(commands) or "(not listed)")
        return told.strip()


def parse_action(text: str, commands: Sequence[str]) -> str:
    """Return the command of an answer, as the world writes it where it offers it; empty if there is none.

    The first one counts: what comes after it was made up without having seen the world's answer.
    """
    found = _ACTION.search(text)
    command = " ".join(found["command"].strip(_DECORATION).split()) if found is not None else ""
    same = {offered.casefold(): offered for offered in commands}
    return same.get(command.casefold(), command)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + " [...]"
