"""From what a model said to subtasks: whatever it is, it ends as a list of subtasks or a list of problems.

Models put JSON between fences, think aloud, break off, write comments, trailing commas, single quotes and tuples. The
first balanced list or object that holds a plan counts. Names are taken only if they are those of the domain or the
scene, but for capitals and signs; nothing is guessed. The cost is bounded by caps on length, nesting and attempts.
"""

from __future__ import annotations

import ast
import difflib
import json
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from graph_planner_ros.planning.task_graph import Subtask

KEY = "high_level"
"""Key of the plan in the answer (GraphThink III-A3)."""
OTHER_KEYS = ("plan", "subtasks", "steps", "actions")
MAX_READ = 100_000
"""Characters of an answer that are looked at."""
MAX_NESTING = 12
MAX_ATTEMPTS = 30
"""Brackets at which it is tried to read a plan."""
MAX_ITEMS = 100
_THOUGHT = re.compile(r"<think>(.*?)(?:</think>|$)", re.DOTALL)
_ANSWER = re.compile(r"<answer>(.*?)(?:</answer>|$)", re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|(?<=[\s,\[{])#[^\n]*", re.DOTALL)
"""A comment that is never closed goes to the end: otherwise many of them cost the square of their number."""
_TRAILING = re.compile(r",(\s*[\]}\)])")
_CALL = re.compile(r"\s*([\w-]{1,60})\s*\(([^()]{0,400})\)\s*")
_CLOSING = {"{": "}", "[": "]", "(": ")"}
_SHOWN = 60


@dataclass(frozen=True)
class ParsedPlan:
    """What was read.

    Attributes:
        subtasks: as far as they could be read. thought: what was between <think> and </think>.
        problems: what could not be read, a sentence each; empty if all could.
    """

    subtasks: tuple[Subtask, ...] = ()
    thought: str = ""
    problems: tuple[str, ...] = ()


class Names:
    """Names that a plan may use, found whatever their capitals and signs.

    Args:
        actions: subtasks. things: classes and instance ids.
    """

    def __init__(self, actions: Iterable[str], things: Iterable[str]) -> None:
        self.actions, self.things = _table(actions), _table(things)

    @staticmethod
    def find(table: Mapping[str, str], said: str) -> str | None:
        """Return the name that was meant; None if there is none, or more than one."""
        return table.get(_key(said)) or None

    @staticmethod
    def near(table: Mapping[str, str], said: str) -> str:
        """Return a hint at a name that is like the one that was said; empty if none is."""
        found = difflib.get_close_matches(_key(said)[:_SHOWN], [key for key, name in table.items() if name], 1, 0.75)
        return f"; did you mean {table[found[0]]}?" if found else ""


def read_plan(text: str, names: Names) -> ParsedPlan:
    """Read the plan in an answer; never raises.

    Args:
        text: what the model said. names: that may be used.
    """
    text = text[:MAX_READ]
    thought = _THOUGHT.search(text)
    thinking = thought[1].strip() if thought else ""
    answer = _ANSWER.search(text)
    body = answer[1] if answer else _THOUGHT.sub("", text)
    items, problem = _items(body)
    if items is None and thinking and "</think>" not in text:
        items, problem = _items(thinking)  # the thought was never closed
    if items is None:
        return ParsedPlan((), thinking, (problem,))
    subtasks: list[Subtask] = []
    problems = [problem] if problem else []
    if len(items) > MAX_ITEMS:
        problems.append(f"the plan has {len(items)} subtasks, and at most {MAX_ITEMS} are read")
    for number, item in enumerate(items[:MAX_ITEMS], 1):
        subtask, wrong = _subtask(item, names)
        if wrong:
            problems.append(f"subtask {number}: {wrong}")
        if subtask is None:
            break
        subtasks.append(subtask)
    return ParsedPlan(tuple(subtasks), thinking, tuple(problems))


# ---- JSON, or what is like it


def _items(body: str) -> tuple[list[Any] | None, str]:
    """Return the list of the plan and what was odd about it."""
    attempts = 0
    fallback: list[Any] | None = None
    position = max(body.rfind("{", 0, max(0, body.find(KEY))), 0)  # chatter before the key may be full of brackets
    jumped = position > 0
    while attempts < MAX_ATTEMPTS:
        start = min((at for at in (body.find("{", position), body.find("[", position)) if at >= 0), default=-1)
        if start < 0:
            if not jumped:
                break
            position, jumped = 0, False
            continue
        attempts += 1
        piece, whole = _balanced(body, start)
        value = _load(piece)
        found = _plan_in(value)
        if found is not None:
            note = "" if whole else "the answer broke off"
            if isinstance(value, dict) and KEY not in value:
                note = f"expected the key {KEY!r}"
            return found, note
        if isinstance(value, list) and value and fallback is None:
            fallback = value
        position = start + 1 if value is None else start + len(piece)
    if fallback is not None:
        return fallback, f"expected an object with the key {KEY!r}"
    return None, f'expected a JSON object {{"{KEY}": [...]}}, and there is none'


def _plan_in(value: Any) -> list[Any] | None:
    if not isinstance(value, dict):
        return None
    for key in (KEY, *OTHER_KEYS):
        if isinstance(value.get(key), list):
            return list(value[key])
    return None


def _balanced(body: str, start: int) -> tuple[str, bool]:
    """Return the text from a bracket to the one that closes it; what is missing at the end of the text is added."""
    stack: list[str] = []
    quote, escaped = "", False
    cut, cut_stack = start, [""]
    for index in range(start, len(body)):
        sign = body[index]
        if quote:
            if escaped:
                escaped = False
            elif sign == "\\":
                escaped = True
            elif sign == quote:
                quote = ""
            continue
        if sign == '"' or (sign == "'" and (index == start or not body[index - 1].isalnum())):
            quote = sign
        elif sign in _CLOSING:
            stack.append(_CLOSING[sign])
            if len(stack) > MAX_NESTING:
                return body[start : start + 1], False
        elif stack and sign == stack[-1]:
            stack.pop()
            if not stack:
                return body[start : index + 1], True
            cut, cut_stack = index + 1, list(stack)
    if cut == start:
        return body[start : start + 1], False
    return body[start:cut] + "".join(reversed(cut_stack)), False


def _load(piece: str) -> Any:
    """Return the value of a text that is JSON, or nearly; None if it is neither."""
    if len(piece) < 2:
        return None
    tidy = _TRAILING.sub(r"\1", _COMMENT.sub("", piece))
    for text in (piece, tidy):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            continue
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(tidy)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return _quoted_tuples(tidy)


def _quoted_tuples(text: str) -> Any:
    """Read ``[(PickupObject, Knife), (Put, (Knife, Sink))]``, whose names have no quotes."""
    if '"' in text or "'" in text:
        return None
    quoted = re.sub(r"[\w-]{1,60}", lambda match: f'"{match[0]}"', text).replace("(", "[").replace(")", "]")
    try:
        return json.loads(quoted)
    except (ValueError, RecursionError):
        return None


# ---- subtasks


def _subtask(item: Any, names: Names) -> tuple[Subtask | None, str]:
    words = _words(item)
    if not words:
        return None, f"expected [action, thing, ...], found {_short(item)}"
    action = Names.find(names.actions, words[0])
    if action is None:
        return None, f"there is no subtask {_short(words[0])}{Names.near(names.actions, words[0])}"
    arguments = []
    for word in words[1:]:
        thing = Names.find(names.things, word)
        if thing is None:
            return None, f"there is no {_short(word)} here{Names.near(names.things, word)}"
        arguments.append(thing)
    return Subtask(action, tuple(arguments)), ""


def _words(item: Any) -> list[str]:
    """Return action and things of an item of the list, whatever its form; empty if it has none that is known."""
    if isinstance(item, str):
        call = _CALL.fullmatch(item[:500])
        if call is not None:
            return [call[1], *(part.strip() for part in call[2].split(",") if part.strip())]
        return item[:500].split()
    if isinstance(item, dict):
        action = next((item[key] for key in ("action", "subtask", "name") if isinstance(item.get(key), str)), None)
        things: Any = next((item[key] for key in ("arguments", "args", "objects", "parameters") if key in item), [])
        if action is None:
            return []
        if isinstance(things, dict):
            things = list(things.values())
        flat = _flat(things)
        return [action, *flat] if flat is not None else []
    if isinstance(item, (list, tuple)):
        flat = _flat(item)
        if flat is not None and len(flat) == 1 and not isinstance(item[0], (list, tuple)):
            return _words(flat[0])
        return flat or []
    return []


def _flat(value: Any, depth: int = 0) -> list[str] | None:
    """Return the texts in nested lists; None if there is something else among them."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, (list, tuple)) or depth > 3:
        return None
    found: list[str] = []
    for item in value:
        inner = _flat(item, depth + 1)
        if inner is None:
            return None
        found += inner
    return found


def _table(names: Iterable[str]) -> dict[str, str]:
    """Return key -> name; empty where two names have one key, unless one of them is spelled like that."""
    found: dict[str, str] = {}
    for name in names:
        key = _key(name)
        if key:
            found[key] = name if found.get(key, name) == name else ""
    return found


def _key(name: str) -> str:
    return "".join(sign for sign in name.casefold() if sign.isalnum())


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # a number of more digits than Python writes
        return "a number that is too long"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
