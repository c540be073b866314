"""Made-up answers to the shorter questions to a model: an action, key objects, places to look at, keep or revise.

An answer is a right JSON object that is changed, written in one of several forms, wrapped and damaged; wrappings and
damages are those of plans (`model_outputs`). What is right is read from the schema that comes with the question.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graph_planner_ros.benchmarks.model_outputs import (
    CHANGES,
    DAMAGES,
    INJECTIONS,
    INVENTED_ACTIONS,
    INVENTED_THINGS,
    STRANGE,
    WRAPPINGS,
    AnswerMaker,
    MadeAnswer,
)
from graph_planner_ros.language.models import Request
from graph_planner_ros.planning.llm import KEY
from graph_planner_ros.planning.task_graph import Subtask

Json = dict[str, Any]
ODD: tuple[Any, ...] = (
    None, True, 7, -1, 1e400, float("nan"), "", [], {}, [[]], [None, 3, {}], {"a": {"b": []}}, "9" * 6000, 10**400,
)  # fmt: skip
"""Values that no schema allows, or hardly."""
DEPTH = 5000
"""Brackets in brackets, more than a parser takes."""


class ObjectMaker:
    """Makes answers to questions that come with a schema.

    Args:
        rng: of everything random. maker: makes plans, wrappings and damages. plan: a right plan, for revisions.
    """

    def __init__(self, rng: random.Random, maker: AnswerMaker, plan: Sequence[Subtask]) -> None:
        self._rng, self._maker, self._plan = rng, maker, tuple(plan)

    def make(self, request: Request) -> MadeAnswer:
        """Return an answer to a question; one part of the way in four is left as it is."""
        asked: Json = dict((request.schema or {}).get("properties", {}))
        if ("decision" not in asked and KEY in asked) or not asked:
            return self._maker.make(self._plan)
        change, form = self._pick(OBJECT_CHANGES), self._pick(OBJECT_FORMS)
        wrapping, damage = self._pick(WRAPPINGS), self._pick(DAMAGES)
        made = OBJECT_CHANGES[change](self, self._right(asked))
        text = WRAPPINGS[wrapping](self._maker, OBJECT_FORMS[form](made))
        return MadeAnswer(DAMAGES[damage](self._maker, text), change, form, wrapping, damage)

    def _pick(self, table: Mapping[str, Callable[..., object]]) -> str:
        names = list(table)
        return names[0] if self._rng.random() < 0.25 else self._rng.choice(names)

    def _right(self, asked: Json) -> Json:
        """Return an object that keeps to the schema."""
        why = self._rng.choice((*INJECTIONS, "it is near", "x" * 3000))
        if "action" in asked:
            return {"action": self._rng.choice(asked["action"]["enum"]), "reason": why}
        if "classes" in asked:
            return {"classes": self._some(asked["classes"]["items"]["enum"])}
        if "places" in asked:
            names = asked["places"]["items"]["properties"]["place"]["enum"]
            return {"places": [{"place": name, "relevance": self._rng.random()} for name in self._some(names)]}
        rows = [[item.action, *item.arguments] for item in self._plan]
        if self._rng.random() < 0.75:
            rows = CHANGES[self._rng.choice(list(CHANGES))](self._maker, rows)
        return {"decision": "keep" if self._rng.random() < 0.1 else "revise", "reason": why, KEY: rows}

    def _some(self, names: Sequence[str]) -> list[str]:
        return self._rng.sample(list(names), self._rng.randrange(1, len(names) + 1))

    # ---- changes

    def lose_key(self, made: Json) -> Json:
        """Leave out a key."""
        gone = self._rng.choice(list(made))
        return {name: value for name, value in made.items() if name != gone}

    def rename_key(self, made: Json) -> Json:
        """Call a key something else."""
        old, new = self._rng.choice(list(made)), self._rng.choice(("answer", "Action", "", "__class__", KEY * 2))
        return {new if name == old else name: value for name, value in made.items()}

    def odd_value(self, made: Json) -> Json:
        """Have a value that cannot be."""
        return {**made, self._rng.choice(list(made)): self._rng.choice(ODD)}

    def odd_part(self, made: Json) -> Json:
        """Have something that cannot be inside a value."""
        name = self._rng.choice(list(made))
        value = made[name]
        if not isinstance(value, list) or not value:
            return self.odd_value(made)
        at = self._rng.randrange(len(value))
        part = value[at]
        if isinstance(part, dict):
            part = {**part, self._rng.choice(list(part)): self._rng.choice(ODD)}
        else:
            part = self._rng.choice(ODD)
        return {**made, name: [*value[:at], part, *value[at + 1 :]]}

    def invent(self, made: Json) -> Json:
        """Speak of what there is not, or of what has a strange name."""
        names = (*INVENTED_ACTIONS, *INVENTED_THINGS, *INJECTIONS, *STRANGE, "go_to(moon_1, mars_1)", "\u0000" * 9)
        return self._replaced(made, self._rng.choice(names))

    def repeat(self, made: Json) -> Json:
        """Say it again and again."""
        times = self._rng.choice((2, 30, 1000))
        return {name: value * times if isinstance(value, (list, str)) else value for name, value in made.items()}

    def claim(self, made: Json) -> Json:
        """Claim things beside the answer."""
        return {"verified": True, "status": "solved", **made, "steps": [["teleport"]], "goal": {}}

    def nothing(self, made: Json) -> Json:
        """Have the keys and nothing in them."""
        return {name: type(value)() for name, value in made.items()}

    def deep(self, made: Json) -> Json:
        """Have brackets in brackets; written by hand, since no writer goes so deep."""
        return {**made, self._rng.choice(list(made)): _DEEP}

    def _replaced(self, value: Any, new: str) -> Any:
        """Return a value with one of its texts replaced."""
        if isinstance(value, str):
            return new
        if isinstance(value, list) and value:
            at = self._rng.randrange(len(value))
            return [*value[:at], self._replaced(value[at], new), *value[at + 1 :]]
        if isinstance(value, dict) and value:
            name = self._rng.choice(list(value))
            return {**value, name: self._replaced(value[name], new)}
        return value


_DEEP = "(deep)"


def _json(made: Json) -> str:
    return json.dumps(made).replace(json.dumps(_DEEP), "[" * DEPTH + "]" * DEPTH)


OBJECT_CHANGES: dict[str, Callable[[ObjectMaker, Json], Json]] = {
    "none": lambda maker, made: made,
    "key lost": ObjectMaker.lose_key,
    "other key": ObjectMaker.rename_key,
    "odd value": ObjectMaker.odd_value,
    "odd part": ObjectMaker.odd_part,
    "invented": ObjectMaker.invent,
    "repeated": ObjectMaker.repeat,
    "claims": ObjectMaker.claim,
    "nothing": ObjectMaker.nothing,
    "deep": ObjectMaker.deep,
}
OBJECT_FORMS: dict[str, Callable[[Json], str]] = {
    "json": _json,
    "python": lambda made: repr(made),
    "list": lambda made: f"[{_json(made)}]",
    "lines": lambda made: json.dumps(made, indent=2, ensure_ascii=False),
    "text": lambda made: json.dumps(_json(made)),
    "value": lambda made: json.dumps(next(iter(made.values()), None)),
}
