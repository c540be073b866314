"""Symbolic actions to commands by the templates of a language file."""

from __future__ import annotations

import re

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.language.interface import Context, Grounding
from graph_planner_ros.language.rules_file import HERE
from graph_planner_ros.language.rules_names import fold
from graph_planner_ros.language.rules_patterns import fill
from graph_planner_ros.language.rules_schema import LanguageRules

NEAREST = 0.6
"""Least share of words in common, names apart, for a command that is no template's."""
_WORD = re.compile(r"\w+")


class RuleGrounder:
    """Fills templates; the first admissible one is the command, else the most similar command about the same things."""

    def __init__(self, domain: Domain, rules: LanguageRules) -> None:
        self._domain = domain
        self._rules = rules

    def ground(self, action: GroundAction, context: Context) -> Grounding:
        """Choose the admissible command that carries out the action; where the world lists none, the first template."""
        schema = self._domain.actions.get(action.name)
        if schema is None or len(schema.parameters) != len(action.arguments):
            return Grounding(None, 0.0, f"the domain has no action {action}")
        if self._rules.commands.get(action.name) == ():
            return Grounding("", 1.0, "it needs no command")
        values = {p.name.lstrip("?"): value for p, value in zip(schema.parameters, action.arguments, strict=True)}
        values.setdefault(HERE, context.location)
        filled = [text for template in self._rules.commands.get(action.name, ()) if (text := fill(template, values))]
        if action.name in self._rules.commands and not self._rules.commands[action.name]:
            return Grounding("", 1.0, "what it does happens by itself in this world")
        if not filled:
            return Grounding(None, 0.0, f"the language file has no command for {action.name}")
        others = [text for text in filled if not context.refused or fold(text) != fold(context.refused)]
        exact = _first(others, context) or self._unlisted(others, context) or _first(filled, context)
        if exact is not None:
            return exact
        used = [
            value
            for name, value in values.items()
            if any(fold(value) in fold(text) for text in filled) and name != HERE
        ]
        return _nearest(filled, used, context)

    def _unlisted(self, filled: list[str], context: Context) -> Grounding | None:
        """Return other words for what the world has just refused, which it takes though it does not list them."""
        found = (text for text in filled if any(pattern.fullmatch(fold(text)) for pattern in self._rules.unlisted))
        text = next(found, None) if context.refused else None
        return Grounding(text, 0.5, f"{context.refused!r} was refused") if text is not None else None

    def observe(self, context: Context) -> Grounding:
        """Choose the first admissible command of ``observe``."""
        filled = [text for template in self._rules.observe if (text := fill(template, {HERE: context.location}))]
        return _first(filled, context) or Grounding(None, 0.0, "no command that only looks is admissible")

    def is_irreversible(self, command: str) -> bool:
        """Return whether a command is among those that are not given just to see what happens."""
        return any(pattern.fullmatch(fold(command)) for pattern in self._rules.irreversible)


def _first(filled: list[str], context: Context) -> Grounding | None:
    if not filled:
        return None
    if not context.commands:
        return Grounding(filled[0], 1.0, "the world lists no commands")
    admissible = {fold(" ".join(command.split())): command for command in reversed(context.commands)}
    return next((Grounding(admissible[fold(text)], 1.0) for text in filled if fold(text) in admissible), None)


def _nearest(filled: list[str], used: list[str], context: Context) -> Grounding:
    """Return the command most like a template: same verb, same things in the same order, most other words in common."""
    best, score = None, 0.0
    wanted = [_frame(text, used) for text in filled]
    for command in context.commands:
        frame = _frame(command, used)
        for other in wanted:
            if frame[:1] != other[:1] or [w for w in frame if w in used] != [w for w in other if w in used]:
                continue
            words, others = set(frame) - set(used), set(other) - set(used)
            share = len(words & others) / max(len(words | others), 1)
            if share > score:
                best, score = command, share
    if best is None or score < NEAREST:
        return Grounding(None, 0.0, f"{filled[0]!r} is not admissible")
    return Grounding(best, score * 0.9, f"{filled[0]!r} is not admissible; this is the nearest")


def _frame(text: str, used: list[str]) -> list[str]:
    """Return the words of a command, each name as one."""
    names = sorted(used, key=len, reverse=True)
    pattern = "|".join([*(rf"\b{re.escape(fold(name))}\b" for name in names), r"\w+"])
    original = {fold(name): name for name in names}
    return [original.get(word, word) for word in re.findall(pattern, fold(text))]
