"""Pairs of the language interface (``graph-planner language collect``) as conversations to learn from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.language.interface import Context
from graph_planner_ros.language.models import Prompt
from graph_planner_ros.language.pairs import CommandPair, FactPair, Pair, PairFile
from graph_planner_ros.training.examples import Example

FACTS, COMMAND = "facts", "command"
LOOK = "look"
"""What the action is called where a command was asked for that only looks."""


def language_examples(pairs: PairFile, domain: Domain, facts: Prompt, command: Prompt) -> list[Example]:
    """Return an example for each pair; pairs that say the same as an earlier one of their game are left out.

    Args:
        domain: whose predicates the facts use. facts, command: prompts of the two questions.
    """
    predicates = "\n".join(
        f"{schema.name}({', '.join(parameter.type_name for parameter in schema.parameters)})"
        for schema in domain.predicates.values()
    )
    found: dict[str, Example] = {}
    seen: set[tuple[str, ...]] = set()
    for number, pair in enumerate(_all(pairs)):
        values = {"things": _things(pair.context), "location": pair.context.location or "unknown"}
        if isinstance(pair, FactPair):
            values |= {"predicates": predicates, "command": pair.context.command or "none", "text": pair.text}
            kind, prompt, answer = FACTS, facts, _facts(pair)
        else:
            values |= {"action": _action(pair), "commands": "\n".join(pair.context.commands) or "none"}
            kind, prompt, answer = COMMAND, command, json.dumps({"command": pair.command})
        messages = prompt.render(**{name: value for name, value in values.items() if name in prompt.values})
        key = (pair.origin.game, kind, *(message.content for message in messages), answer)
        if key not in seen:
            seen.add(key)
            name = f"{pair.origin.world}/{pair.origin.game}/{kind}/{number}"
            turns: tuple[Mapping[str, str], ...] = tuple(
                {"role": message.role, "content": message.content} for message in messages
            )
            found[name] = Example(name, kind, (f"{pair.origin.world}/{pair.origin.game}",), turns, answer)
    return list(found.values())


def _all(pairs: PairFile) -> Iterable[Pair]:
    yield from pairs.facts
    yield from pairs.commands


def _things(context: Context) -> str:
    return ", ".join(f"{name}: {kind}" for name, kind in sorted(context.objects.items())) or "none"


def _action(pair: CommandPair) -> str:
    return LOOK if pair.observing else str(pair.action)


def _facts(pair: FactPair) -> str:
    parsed = pair.parsed
    content = {
        "facts": [[fact.positive, fact.atom.predicate, *fact.atom.arguments] for fact in parsed.facts],
        "objects": dict(parsed.objects),
        "failed": parsed.failed,
        "complete": sorted(parsed.complete),
        "complete_places": sorted(parsed.complete_places),
    }
    return json.dumps(content)
