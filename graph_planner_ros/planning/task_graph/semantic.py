"""The check of a task graph by a language model (GraphThink III-A1): it may take edges out and can add none.

Preconditions and effects say what can be done; a model may know what nobody would do. It is asked about the edges of
one subtask at a time, and only edges that it was asked about, with a reason, are taken out. Whatever else comes
back, or does not, leaves the graph as it is.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graph_planner_ros.language.models import LanguageModel, ReplyStatus, Request, load_prompt
from graph_planner_ros.planning.task_graph.graph import TaskGraph

PROMPT = "task_graph_edges"
MOST_TEXT = 20_000
"""Characters of an answer that are read."""
MOST_REASON = 200
_MAX_TOKENS = 1024


@dataclass(frozen=True)
class SemanticCheck:
    """What came of a check.

    Attributes:
        graph: with at most the edges of the one that was checked. removed: (source, target) -> the model's reason.
        problems: a sentence for each subtask whose edges could not be checked.
    """

    graph: TaskGraph
    removed: Mapping[tuple[str, str], str]
    problems: tuple[str, ...] = ()


def semantic_check(
    graph: TaskGraph,
    model: LanguageModel,
    *,
    timeout: float = 300.0,
    cancel: threading.Event | None = None,
) -> SemanticCheck:
    """Ask a model which edges make no sense, and take those out.

    Every subtask keeps at least one edge: a model that refuses all of them has not understood the question.

    Args:
        timeout: seconds for all questions together. cancel: ends it soon; what is known by then counts.
    """
    deadline = time.monotonic() + timeout
    removed: dict[tuple[str, str], str] = {}
    problems: list[str] = []
    for source in graph.by_action:
        targets = graph.successors(source)
        left = deadline - time.monotonic()
        if not targets:
            continue
        if left <= 0.0 or (cancel is not None and cancel.is_set()):
            problems.append(f"{source}: not asked about, the check was ended")
            continue
        reply = model.ask(_question(graph, source, targets), timeout=left, cancel=cancel)
        if reply.status is not ReplyStatus.ANSWERED:
            problems.append(f"{source}: {reply.status.value}: {reply.reason}")
            continue
        wrong, problem = _read(reply.text, targets)
        if problem:
            problems.append(f"{source}: {problem}")
            continue
        removed.update({(source, target): reason for target, reason in wrong.items()})
    for pair, reason in removed.items():
        graph = graph.without([pair], f"a language model finds that it makes no sense: {reason}")
    return SemanticCheck(graph, removed, tuple(problems))


def _question(graph: TaskGraph, source: str, targets: tuple[str, ...]) -> Request:
    edges = "\n".join(f"{target}: {graph.edges[source, target].reason}" for target in targets)
    nodes = "\n".join(node.text for node in graph.nodes)
    messages = load_prompt(PROMPT).render(nodes=nodes, source=source, edges=edges)
    return Request(messages, schema=_schema(targets), max_tokens=_MAX_TOKENS)


def _schema(targets: tuple[str, ...]) -> dict[str, Any]:
    entry = {
        "type": "object",
        "properties": {"subtask": {"type": "string", "enum": list(targets)}, "reason": {"type": "string"}},
        "required": ["subtask", "reason"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"remove": {"type": "array", "items": entry}},
        "required": ["remove"],
        "additionalProperties": False,
    }


def _read(text: str, targets: tuple[str, ...]) -> tuple[dict[str, str], str]:
    """Return the edges to be taken out with their reasons, or why the answer does not count."""
    if len(text) > MOST_TEXT:
        return {}, f"the answer has {len(text)} characters, and at most {MOST_TEXT} are read"
    start, end = text.find("{"), text.rfind("}")
    try:
        content = json.loads(text[start : end + 1]) if start >= 0 else None
    except (ValueError, RecursionError):
        content = None
    entries = content.get("remove") if isinstance(content, dict) else None
    if not isinstance(entries, list):
        return {}, "the answer is no JSON object with a list 'remove'"
    wrong: dict[str, str] = {}
    for entry in entries:
        name, reason = (entry.get("subtask"), entry.get("reason")) if isinstance(entry, dict) else (None, None)
        if name not in targets or not isinstance(reason, str) or not reason.strip():
            return {}, f"the answer takes out {str(name)[:60]!r}, which was not asked about or has no reason"
        wrong[str(name)] = " ".join(reason.split())[:MOST_REASON]
    if len(wrong) == len(targets):
        return {}, "the answer takes out everything that was asked about"
    return wrong, ""
