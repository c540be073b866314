"""Writes a translated Robotouille domain as the three files of a domain folder; see `robotouille_translation`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from graph_planner_ros.benchmarks.worlds.robotouille_translation import (
    CLASS_PREDICATE,
    CLASS_TYPE,
    DELAY,
    REPETITIONS,
    Action,
    Term,
    Translation,
    TranslationError,
    command_slots,
    translate,
)
from graph_planner_ros.domain.files import write_atomically
from graph_planner_ros.domain.json_files import NO_SUCH_SHAPE, parse_object, read_text, what_is_wrong

_GENERATED = (
    "Written by `graph-planner domains translate robotouille`; change the world's JSON or that command instead."
)
REFUSED = "That command cannot be carried out now."
"""What the server says of a command that is no valid action, see ``servers/robotouille.py``."""
_NAMES = r"(?P<class>[a-z_]+?)\d+"


def translate_file(source: Path, folder: Path, delay: int = DELAY, repetitions: int = REPETITIONS) -> list[Path]:
    """Translate a domain JSON into ``domain.pddl``, ``domain.yaml`` and ``language.yaml`` of a folder.

    Args:
        source: Robotouille's domain JSON. folder: made if it does not exist; other files in it stay.
        delay, repetitions: see `translate`.

    Raises:
        TranslationError: the file cannot be read, or is no such JSON.
        OSError: a file cannot be written.
    """
    document = parse_object(read_text(source, TranslationError), str(source), TranslationError)
    try:
        translation = translate(document, delay, repetitions)
    except TranslationError:
        raise
    except NO_SUCH_SHAPE as error:
        raise TranslationError(f"{source}: {what_is_wrong(error, 'a domain of Robotouille')}") from error
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, text in (
        ("domain.pddl", pddl_text(translation)),
        ("domain.yaml", description_text(translation)),
        ("language.yaml", language_text(translation)),
    ):
        write_atomically(folder / name, text)
        written.append(folder / name)
    return written


# -- PDDL -------------------------------------------------------------------------------------------------------------


def pddl_text(translation: Translation) -> str:
    """Return the PDDL domain."""
    classes = {predicate for _, predicate, _ in translation.classes.values()}
    lines = [
        f";; {_GENERATED}",
        ";; `<action>-started` and `<action>-done` are the beginning and the end of what takes time by itself.",
        f"(define (domain {translation.name})",
        "  (:requirements :strips :typing :negative-preconditions :equality :action-costs)",
        f"  (:types {' '.join(translation.types)} {CLASS_TYPE} - object)",
        "  (:predicates",
        "    ;; what a thing is, given by its class",
        f"    ({CLASS_PREDICATE} ?x - object ?c - {CLASS_TYPE})",
        *(_declaration(name, item.types) for name, item in translation.predicates.items() if name in classes),
        "    ;; what the world tells",
        *(_declaration(name, item.types) for name, item in translation.predicates.items() if name not in classes),
        "    ;; what only planning needs to know",
        *(_declaration(item.name, item.types) for item in translation.made),
        "  )",
        "  (:functions (total-cost) - number)",
        *(_action_text(action, translation) for action in _acting(translation)),
        ")",
    ]
    return "\n".join(lines) + "\n"


def _acting(translation: Translation) -> list[Action]:
    """Return the actions that change something; that which changes nothing is how one waits."""
    return [action for action in translation.actions if action.effects]


def _declaration(name: str, types: tuple[str, ...]) -> str:
    return f"    ({' '.join((name, *(f'?x{index} - {of}' for index, of in enumerate(types))))})"


def _action_text(action: Action, translation: Translation) -> str:
    needs = [_literal(term) for term in action.needs] + [f"(not (= ?{a} ?{b}))" for a, b in action.different]
    cost = action.cost * translation.repetitions.get(action.name, 1)
    effects = [_literal(term) for term in action.effects] + [f"(increase (total-cost) {cost})"]
    return "\n".join(
        (
            f"  (:action {action.name}",
            f"    :parameters ({' '.join(f'?{name} - {of}' for name, of in action.types.items())})",
            f"    :precondition (and {' '.join(needs)})",
            f"    :effect (and {' '.join(effects)}))",
        )
    )


def _literal(term: Term) -> str:
    text = f"({' '.join((term.predicate, *(f'?{name}' for name in term.arguments)))})"
    return text if term.positive else f"(not {text})"


# -- YAML -------------------------------------------------------------------------------------------------------------


def description_text(translation: Translation) -> str:
    """Return the description beside the PDDL."""
    classes = {}
    for label, (of, predicate, words) in translation.classes.items():
        called = list(dict.fromkeys((label, words)))
        classes[label] = {"type": of, "facts": [predicate], "words": called}
    identities = {predicate for _, predicate, _ in translation.classes.values()}
    told = [item for name, item in translation.predicates.items() if name not in identities]
    skills = {}
    for action in _acting(translation):
        text = action.sentence if action.cost else f"wait until {_outcome(action, translation)}"
        skills[action.name] = {"skill": action.name, "arguments": list(action.types), "text": text}
    sections: list[tuple[str, Any]] = [
        ("classes", classes),
        (
            "relations",
            {p.name: {"predicate": p.name, "arguments": ["subject", "object"]} for p in told if len(p.types) == 2},
        ),
        ("attributes", {p.name: {"visible": True} for p in told if len(p.types) == 1}),
        ("skills", skills),
        ("delays", {name: {"done": done, "steps": steps} for name, (done, steps) in translation.delays.items()}),
        ("repetitions", dict(translation.repetitions)),
        (
            "creations",
            {
                name: {"thing": thing, "class": label, "unmade": "unmade"}
                for name, (thing, label) in translation.creations.items()
            },
        ),
    ]
    lines = [
        f"# {_GENERATED}",
        f"name: {translation.name}",
        f"class_type: {CLASS_TYPE}",
        f"class_predicate: {CLASS_PREDICATE}",
    ]
    for name, section in sections:
        lines.append(f"{name}:" if section else f"{name}: {{}}")
        lines.extend(f"  {_flow(key)}: {_flow(value)}" for key, value in section.items())
    return "\n".join(lines) + "\n"


def _outcome(action: Action, translation: Translation) -> str:
    """Return the world's sentence about what an action makes true."""
    term = next(term for term in action.effects if term.positive)
    sentence = translation.predicates[term.predicate].sentences.get(0, action.sentence)
    return sentence.format(*(f"{{{name}}}" for name in term.arguments))


def language_text(translation: Translation) -> str:
    """Return how the world talks: its sentences about each predicate and its commands."""
    identities = {predicate for _, predicate, _ in translation.classes.values()}
    idle = next((action.sentence for action in translation.actions if not action.effects and not action.types), None)
    observations = [{"pattern": f"{of.capitalize()} {{x0:{of}}}:"} for of in translation.types]
    for name, predicate in translation.predicates.items():
        slots = [f"{{x{index}:{of}}}" for index, of in enumerate(predicate.types)]
        patterns = [text.format(*slots) for text in predicate.sentences.values()]
        entry: dict[str, Any] = {"pattern": patterns if len(patterns) > 1 else patterns[0]}
        if name not in identities:
            entry["facts"] = [f"{name}({', '.join(f'{{x{index}}}' for index in range(len(slots)))})"]
        observations.append(entry)
    commands = {}
    for action in _acting(translation):
        if action.cost == 0 and idle is not None:
            commands[action.name] = [idle]
        else:
            unknown = set(command_slots(action.sentence)) - set(action.types)
            if unknown:
                raise TranslationError(f"{action.name}: its sentence names {', '.join(sorted(unknown))}")
            commands[action.name] = [action.sentence]
    told = [name for name in translation.predicates if name not in identities]
    lines = [
        f"# {_GENERATED}",
        "# How dishes are asked for is in compositions.yaml.",
        f"names: {_flow({'pattern': _NAMES, 'articles': []})}",
        "observations:",
        *(f"  - {_flow(entry)}" for entry in observations),
        f"complete: {_flow(told)}",
        f"failed: {_flow([REFUSED])}",
        "commands:",
        *(f"  {_flow(name)}: {_flow(templates)}" for name, templates in commands.items()),
        f"observe: {_flow([idle] if idle else [])}",
    ]
    return "\n".join(lines) + "\n"


def _flow(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=1_000_000, sort_keys=False, allow_unicode=True)
    return text.removesuffix("...\n").strip()
