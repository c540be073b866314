"""What a model is told: the task graph, what is there, what memory says, what could be done next.

Names from the world and instructions of people are data. They are written as JSON strings without line breaks and cut
short, so that a label can neither end its line nor look like a heading.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.state import applicable_actions, effects
from graph_planner_ros.domain.symbols import Atom, Goal, GroundAction, SymbolicState, Truth
from graph_planner_ros.domain.wording import describe_action
from graph_planner_ros.planning.task_graph import KnownThings, TaskGraph
from graph_planner_ros.scene.graph import ROBOT_ID, Presence, SceneGraph

MAX_NAME = 60
MAX_INSTRUCTION = 2000
MAX_TRIPLES = 60
MAX_PROJECTIONS = 30
NOTHING = "(nothing)"


def quoted(text: str, limit: int = MAX_NAME) -> str:
    """Return a text from the world as data: one line, in quotes, at most so many characters."""
    clean = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return json.dumps(clean if len(clean) <= limit else f"{clean[:limit]}...", ensure_ascii=True)


def named(text: str) -> str:
    """Return a name bare if it is only letters, digits and underscores, else `quoted`."""
    return text if text.isascii() and text.replace("_", "a").isalnum() and len(text) <= MAX_NAME else quoted(text)


def describe_nodes(graph: TaskGraph) -> str:
    """Return the subtasks, one labelled line each (GraphThink III-A2)."""
    return "\n".join(node.text for node in graph.nodes)


def describe_edges(graph: TaskGraph) -> str:
    """Return what may come after each subtask, e.g. ``A -> C, D``."""
    labels = {node.action: node.label for node in graph.nodes}
    return "\n".join(
        f"{node.label} -> {', '.join(labels[name] for name in graph.successors(node.action)) or NOTHING}"
        for node in graph.nodes
    )


def describe_things(known: KnownThings, domain: Domain) -> str:
    """Return the classes of what is there by meta-class, with counts."""
    counts: dict[str, dict[str, int]] = {}
    for label in known.labels.values():
        entry = domain.classes.get(label)
        if entry is not None:
            row = counts.setdefault(entry.meta, {})
            row[label] = row.get(label, 0) + 1
    lines = [
        f"{meta}: {', '.join(named(name) + (f' x{count}' if count > 1 else '') for name, count in sorted(row.items()))}"
        for meta, row in sorted(counts.items())
    ]
    return "\n".join(lines) or NOTHING


def describe_scene(scene: SceneGraph | None, about: Iterable[str] = (), limit: int = MAX_TRIPLES) -> str:
    """Return what is believed as triples: those about the robot first, then those about the given classes."""
    if scene is None:
        return NOTHING
    wanted = {*about, ROBOT_ID}
    labels = {name: node.label for name, node in scene.nodes.items() if node.presence is not Presence.ABSENT}
    labels[ROBOT_ID] = ROBOT_ID
    rows: list[tuple[int, str]] = []
    for relation in scene.relations:
        if relation.value is Truth.TRUE and relation.subject in labels:
            ends = (relation.subject, relation.object)
            near = any(labels.get(end) in wanted for end in ends)
            rows.append(
                (0 if ROBOT_ID in ends else 2 - near, f"{named(ends[0])} {named(relation.predicate)} {named(ends[1])}")
            )
    for name in sorted(labels):
        node = scene.nodes.get(name)
        for attribute, value in sorted(node.attributes.items()) if node is not None else ():
            if value.value is Truth.TRUE:
                rows.append((1 + (labels[name] not in wanted), f"{named(name)} is {named(attribute)}"))
    rows.sort(key=lambda row: row[0])
    lines = [text for _, text in rows[:limit]]
    if len(rows) > limit:
        lines.append(f"... and {len(rows) - limit} more")
    return "\n".join(lines) or NOTHING


def describe_projections(domain: Domain, state: SymbolicState, goal: Goal, limit: int = MAX_PROJECTIONS) -> str:
    """Return P(s), what could be done now and what it would make true (GiG), what the goal speaks of first."""
    wanted = {variable.class_name for variable in goal.variables} | {v.instance for v in goal.variables}
    labels = KnownThings.of(domain, state).labels
    rows = []
    for action in applicable_actions(domain, state):
        near = sum(name in wanted or labels.get(name) in wanted for name in action.arguments)
        rows.append((-near, action))
    rows.sort(key=lambda row: row[0])
    return "\n".join(f"{named_action(action)}: {_made_true(domain, action)}" for _, action in rows[:limit]) or NOTHING


def named_action(action: GroundAction) -> str:
    """Return an action with names that are safe to print."""
    return f"{action.name}({', '.join(map(named, action.arguments))})"


def describe_advice(domain: Domain, origins: Mapping[GroundAction, str], limit: int = 8) -> str:
    """Return what was done in situations like this one."""
    lines = [
        f"{quoted(describe_action(domain, action), 120)} (in {quoted(origin)})" for action, origin in origins.items()
    ]
    return "\n".join(lines[:limit]) or NOTHING


def describe_problems(problems: Sequence[str], limit: int = 6) -> str:
    """Return why a plan was refused, as lines."""
    lines = [f"- {quoted(problem, 400)[1:-1]}" for problem in problems[:limit]]
    return "\n".join(lines)


def _made_true(domain: Domain, action: GroundAction) -> str:
    added, deleted = effects(domain, action)
    texts = [_atom(atom) for atom in sorted(added)] + [f"not {_atom(atom)}" for atom in sorted(deleted)]
    return ", ".join(texts[:4])


def _atom(atom: Atom) -> str:
    return f"{atom.predicate}({', '.join(map(named, atom.arguments))})"
