"""ReAct with any server that speaks OpenAI's protocol: think, act, look, again.

The model is asked by `graph_planner_ros.language.models`; the key is in ``OPENAI_API_KEY`` and goes nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, cast

from graph_planner_ros.benchmarks.worlds.baselines import Choice, StoppedError
from graph_planner_ros.benchmarks.worlds.game import Observation, WorldUnavailableError
from graph_planner_ros.benchmarks.worlds.records import ACT
from graph_planner_ros.language.models import (
    Message,
    ModelOptions,
    ModelUnavailableError,
    ReplyStatus,
    Request,
    make_language_model,
)
from graph_planner_ros.language.models.messages import Role
from graph_planner_ros.language.models.retrying import LONGEST_PAUSE

PROMPTS = Path(__file__).parent / "prompts"
_ACTION = re.compile(r"^[\s*>]{0,8}action[ \t*]{0,8}:(?P<command>[^\n]*)$", re.IGNORECASE | re.MULTILINE)
_DECORATION = ' \t\r*`".'
_LONGEST_TEXT = 6000
_UNUSABLE = (401, 403, 404)


@dataclass(frozen=True)
class ReactSettings:
    """How a game is played with a model.

    Attributes:
        model: which one, and how it is asked; see `endpoint_options`.
        answers: answers without a command before the game is given up. window: turns that the model is shown.
        max_tokens: of one answer. temperature: of sampling.
    """

    model: ModelOptions
    answers: int = 3
    window: int = 30
    max_tokens: int = 512
    temperature: float = 0.0

    def described(self) -> dict[str, Any]:
        """Return what may be written down, as plain values."""
        return {**vars(self), **self.model.described()}


def endpoint_options(model: str, endpoint: str = "", timeout: float = 60.0, retries: int = 3) -> ModelOptions:
    """Return how a model behind an endpoint is asked, with time for every retry.

    Args:
        model, endpoint: as in `ModelOptions`. timeout: seconds for one answer.
        retries: after time-outs, lost connections and errors of the server.
    """
    whole = (retries + 1) * (timeout + LONGEST_PAUSE)
    return ModelOptions(model=model, endpoint=endpoint, retries=retries, attempt_timeout=timeout, timeout=whole)


def prompt(name: str) -> Template:
    """Return a prompt of the package, ``prompts/<name>.txt``."""
    return Template((PROMPTS / f"{name}.txt").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Answer:
    """What the model said, and the tokens of question and answer."""

    text: str
    tokens: int


class ChatModel:
    """A model behind an endpoint, as the games need it.

    Raises:
        WorldUnavailableError: the client is not installed, or the address is none.
    """

    def __init__(self, settings: ReactSettings) -> None:
        self._settings = settings
        try:
            self._model = make_language_model(settings.model)
        except ModelUnavailableError as error:
            raise WorldUnavailableError(str(error)) from None

    def __call__(self, messages: Sequence[dict[str, str]], seed: int) -> Answer:
        """Ask.

        Raises:
            WorldUnavailableError: the endpoint cannot be used at all: no connection, no right, no such model.
            StoppedError: this question was not answered.
        """
        settings = self._settings
        turns = tuple(Message(cast(Role, turn["role"]), turn["content"]) for turn in messages)
        reply = self._model.ask(Request(turns, None, None, settings.max_tokens, settings.temperature, seed % 2**31))
        if reply.answered:
            return Answer(reply.text, reply.prompt_tokens + reply.completion_tokens)
        refused = reply.status is ReplyStatus.REFUSED and reply.http_status in _UNUSABLE
        if refused or (reply.status is ReplyStatus.UNREACHABLE and not reply.http_status):
            raise WorldUnavailableError(reply.reason)
        tries = f", {reply.retries} retries" if reply.retries else ""
        raise StoppedError(reply.reason + tries, reply.prompt_tokens + reply.completion_tokens)


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
