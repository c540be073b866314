"""Prompts as files: ``config/prompts/<name>.md``.

A line ``# system``, ``# user`` or ``# assistant`` begins a message; what stands before the first one is for people.
``{{name}}`` stands for a value. Values are put in once and literally: what looks like a placeholder or a heading in
a value stays text, so a label of an object cannot change who says what.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from graph_planner_ros.domain.json_files import read_text
from graph_planner_ros.domain.paths import find_config
from graph_planner_ros.language.models.messages import ROLES, Message, Role

_PLACEHOLDER = re.compile(r"\{\{[ \t]*([a-z_][a-z0-9_]*)[ \t]*\}\}")
_HEADING = re.compile(rf"^# ({'|'.join(ROLES)})[ \t]*$", re.MULTILINE)
_NAME = re.compile(r"[a-z0-9_]+")


class PromptError(ValueError):
    """A prompt that cannot be used; the message names the prompt and what is wrong."""


@dataclass(frozen=True)
class Prompt:
    """A conversation with places for values.

    Attributes:
        name: of the file. templates: messages with placeholders. source: the whole text of the file.
    """

    name: str
    templates: tuple[Message, ...]
    source: str = ""

    @property
    def values(self) -> frozenset[str]:
        """Return the names of the values that it needs."""
        return frozenset(name for template in self.templates for name in _PLACEHOLDER.findall(template.content))

    @property
    def digest(self) -> str:
        """Return a hash of the file, for the header of an evaluation."""
        return hashlib.sha256(self.source.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def render(self, **values: str) -> tuple[Message, ...]:
        """Return the messages with the values in their places.

        Raises:
            PromptError: a value is missing, is not used, or is no text; it is named.
        """
        needed = self.values
        missing, unused = sorted(needed - set(values)), sorted(set(values) - needed)
        if missing:
            raise PromptError(f"prompt {self.name!r}: no value for {', '.join(missing)}")
        if unused:
            raise PromptError(f"prompt {self.name!r} has no place for {', '.join(unused)}")
        for name, value in values.items():
            if not isinstance(value, str):
                raise PromptError(f"prompt {self.name!r}: {name} is to be a text, found {type(value).__name__}")
        return tuple(
            Message(template.role, _PLACEHOLDER.sub(lambda match: values[match[1]], template.content))
            for template in self.templates
        )


def parse_prompt(name: str, source: str) -> Prompt:
    """Read the text of a prompt file.

    Raises:
        PromptError: it has no message.
    """
    headings = list(_HEADING.finditer(source))
    if not headings:
        expected = ", ".join(f"'# {role}'" for role in ROLES)
        raise PromptError(f"prompt {name!r} has no message: a line {expected} begins one")
    ends = [heading.start() for heading in headings[1:]] + [len(source)]
    templates = tuple(
        Message(cast(Role, heading[1]), source[heading.end() : end].strip())
        for heading, end in zip(headings, ends, strict=True)
    )
    return Prompt(name, templates, source)


def load_prompt(name: str, folder: Path | None = None) -> Prompt:
    """Read a prompt.

    Args:
        name: of the file, without ``.md``. folder: None for the package's ``config/prompts``.

    Raises:
        PromptError: there is no such file, or it is no prompt.
    """
    if not _NAME.fullmatch(name):
        raise PromptError(f"name of a prompt: expected small letters, digits and _, found {name!r}")
    try:
        path = (folder if folder is not None else find_config("prompts")) / f"{name}.md"
        source = read_text(path)
    except (OSError, ValueError) as error:
        raise PromptError(f"prompt {name!r}: {error}") from None
    return parse_prompt(name, source)
