"""Other readings of a goal: the same but for one thing or place that the instruction may have meant otherwise.

GraphThink's example: "place the lettuce on the microwave oven table" was read as the counter, and the microwave is on
a side table. Only what the instruction does not name in so many words is open to another reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import check_goal
from graph_planner_ros.domain.schema import DomainError
from graph_planner_ros.domain.symbols import Goal, GoalVariable
from graph_planner_ros.planning.task_graph import KnownThings, Subtask

_WORD = re.compile(r"[^\W_]+")
MAX_READINGS = 4
"""Other readings of one goal that are looked into."""


def other_readings(
    domain: Domain,
    goal: Goal,
    instruction: str,
    before: Sequence[Subtask],
    after: Sequence[Subtask],
    known: KnownThings,
) -> tuple[Goal, ...]:
    """Return the goals that differ from one in a single variable, as two plans of subtasks do.

    Args:
        goal: as it was understood. before, after: what was left of the plan, and what is to take its place.
        known: what has been seen; nothing else is ever put into a goal.
    """
    kept = _named(after)
    new = [name for name in dict.fromkeys(_in_order(after)) if name not in _named(before) and known.instances(name)]
    found: list[Goal] = []
    for position, variable in enumerate(goal.variables):
        old = _names(variable, known)
        if not old or old & kept or _is_said(domain, variable, instruction, known):
            continue
        for name in new:
            other = _replaced(domain, variable, name, known)
            if other is None or name in _goal_names(goal):
                continue
            variables = (*goal.variables[:position], other, *goal.variables[position + 1 :])
            reading = replace(goal, variables=variables, text="")
            try:
                check_goal(reading, domain)
            except DomainError:
                continue
            found.append(reading)
    return tuple(found[:MAX_READINGS])


def _in_order(subtasks: Iterable[Subtask]) -> list[str]:
    return [name for subtask in subtasks for name in subtask.arguments]


def _named(subtasks: Iterable[Subtask]) -> set[str]:
    return set(_in_order(subtasks))


def _names(variable: GoalVariable, known: KnownThings) -> set[str]:
    """Return how a plan can name what a variable stands for: its class and every thing of it, or the one thing."""
    if variable.instance is not None:
        return {variable.instance}
    return {variable.class_name, *known.instances(variable.class_name)} if variable.class_name is not None else set()


def _goal_names(goal: Goal) -> set[str]:
    return {name for item in goal.variables for name in (item.class_name, item.instance) if name is not None}


def _class(variable: GoalVariable, known: KnownThings) -> str | None:
    return known.labels.get(variable.instance) if variable.instance is not None else variable.class_name


def _is_said(domain: Domain, variable: GoalVariable, instruction: str, known: KnownThings) -> bool:
    """Return whether the instruction names what a variable stands for, so that it is not open to another reading.

    A word that several classes share does not count: a table may be one of many.
    """
    said = _words(instruction)
    if variable.instance is not None and f" {_words(variable.instance).strip()} " in said:
        return True
    entry = domain.classes.get(_class(variable, known) or "")
    if entry is None:
        return True  # nothing is known of it, so nothing can be like it
    shared = {word for other in domain.classes.values() if other.name != entry.name for word in other.words}
    own = [word for word in (entry.name, *entry.words) if word not in shared]
    return any(_words(word).strip() and _words(word) in said for word in own)


def _words(text: str) -> str:
    """Return a text as small words with a space around each, so that whole words can be looked for."""
    return f" {' '.join(_WORD.findall(text.lower()))} "


def _replaced(domain: Domain, variable: GoalVariable, name: str, known: KnownThings) -> GoalVariable | None:
    """Return a variable that stands for something else; None if that is of another kind."""
    instance = name if name in known.labels else None
    label = known.labels[name] if instance is not None else name
    entry, old = domain.classes.get(label), domain.classes.get(_class(variable, known) or "")
    if entry is None or old is None or not domain.is_a(entry.type_name, variable.type_name):
        return None
    # what can be done with the one can be done with the other
    if entry.meta != old.meta or not set(old.facts) <= set(entry.facts):
        return None
    return replace(variable, class_name=label, instance=instance)
