"""Task graphs as JSON, which is read again, and in the language of Graphviz."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.json_files import NO_SUCH_SHAPE, what_is_wrong
from graph_planner_ros.planning.task_graph.graph import EdgeKind, SubtaskNode, TaskGraph

if TYPE_CHECKING:
    from collections.abc import Iterable

FORMAT = "graph_planner_ros task graph"
VERSION = 1


def as_json(graph: TaskGraph) -> str:
    """Return a graph as JSON: nodes, edges with kind and reason, what is missing and why."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "domain": graph.domain.name,
        "nodes": [_node(node) for node in graph.nodes],
        "starts": list(graph.starts),
        "edges": [
            {"source": edge.source, "target": edge.target, "kind": edge.kind.value, "reason": edge.reason}
            for edge in graph.edges.values()
        ],
        "missing": [
            {"source": source, "target": target, "reason": reason} for (source, target), reason in graph.missing.items()
        ],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def from_json(text: str, domain: Domain) -> TaskGraph:
    """Read a graph: the domain's own without the edges that the file lacks.

    Raises:
        ValueError: if it is no task graph, is of another domain, or has a node or an edge that the domain has not.
    """
    try:
        content = json.loads(text)
        found = (content["format"], content["version"])
        nodes, edges = content["nodes"], {(entry["source"], entry["target"]) for entry in content["edges"]}
        reasons = {(entry["source"], entry["target"]): str(entry["reason"]) for entry in content["missing"]}
        name = content["domain"]
    except NO_SUCH_SHAPE as error:
        raise ValueError(what_is_wrong(error, "a task graph as JSON")) from error
    if found != (FORMAT, VERSION):
        raise ValueError(f"expected {FORMAT}, version {VERSION}, found {found[0]!r}, version {found[1]!r}")
    if name != domain.name:
        raise ValueError(f"the task graph is of the domain {name!r}, not of {domain.name!r}")
    graph = TaskGraph.of(domain)
    if nodes != [_node(node) for node in graph.nodes]:
        raise ValueError(f"the subtasks of the task graph are not those of the domain {domain.name!r} as it is now")
    more = sorted(edges - set(graph.edges), key=str)
    if more:
        source, target = more[0]
        raise ValueError(f"the domain does not allow {source} -> {target}: {graph.why_not(source, target)}")
    for source, target in graph.edges:
        if (source, target) not in edges:
            reason = reasons.get((source, target), "the edge was taken out")
            graph = graph.without([(source, target)], reason)
    return graph


def as_dot(graph: TaskGraph) -> str:
    """Return a graph in the language of Graphviz; edges that help are bold, the others grey."""
    lines = [f"digraph {_quoted(graph.domain.name)} {{", "  rankdir=LR;", "  node [shape=box, style=rounded];"]
    lines += [f"  {_quoted(node.action)} [label={_quoted(node.text)}];" for node in graph.nodes]
    for edge in graph.edges.values():
        look = "penwidth=2" if edge.kind is EdgeKind.HELPS else 'color="#999999"'
        ends = f"{_quoted(edge.source)} -> {_quoted(edge.target)}"
        lines.append(f"  {ends} [{look}, tooltip={_quoted(edge.reason)}];")
    return "\n".join([*lines, "}"]) + "\n"


def edge_lines(graph: TaskGraph) -> Iterable[str]:
    """Yield the edges as prompts write them, a line for each subtask: ``A -> B, C``."""
    for node in graph.nodes:
        labels = [graph.by_action[name].label for name in graph.successors(node.action)]
        if labels:
            yield f"{node.label} -> {', '.join(labels)}"


def _node(node: SubtaskNode) -> dict[str, Any]:
    parameters = [
        {"name": parameter.name, "type": parameter.type_name, "meta_classes": list(parameter.meta_classes)}
        for parameter in node.parameters
    ]
    return {"label": node.label, "action": node.action, "parameters": parameters}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'
