"""A picture of a task graph as SVG: subtasks on an ellipse, so that every edge can be followed by eye."""

from __future__ import annotations

import math
from collections.abc import Iterator
from xml.sax.saxutils import escape

from graph_planner_ros.planning.task_graph.graph import Edge, EdgeKind, SubtaskNode, TaskGraph

_BOX_HEIGHT = 26.0
_CHARACTER = 7.0
"""Sizes in pixels; a character of the font below is that wide."""
_STYLE = {EdgeKind.HELPS: ("#1f5fa8", 1.6, 0.9), EdgeKind.NEUTRAL: ("#888888", 0.8, 0.35)}
"""Colour, width and opacity of an edge."""
_FONT = "font-family='DejaVu Sans Mono, monospace' font-size='11'"


def as_svg(graph: TaskGraph) -> str:
    """Return the picture; the reasons of edges and of missing loops are shown where the pointer rests."""
    count = max(1, len(graph.nodes))
    widest = max((_width(node) for node in graph.nodes), default=0.0)
    # neighbours at the top and at the bottom lie side by side and must not overlap
    across = max(130.0 + 19.0 * count, (widest + 12.0) / math.sin(2 * math.pi / max(count, 5)) if count > 2 else 0.0)
    down = 110.0 + 14.0 * count
    width, height = 2 * across + widest + 90.0, 2 * down + 120.0
    centre = (width / 2, height / 2 - 10.0)
    places = {
        node.action: (
            centre[0] + across * math.sin(2 * math.pi * index / count),
            centre[1] - down * math.cos(2 * math.pi * index / count),
        )
        for index, node in enumerate(graph.nodes)
    }
    widths = {node.action: _width(node) for node in graph.nodes}
    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width:.0f}' height='{height:.0f}' "
        f"viewBox='0 0 {width:.0f} {height:.0f}'>",
        f"<title>{escape(f'Task graph of the domain {graph.domain.name}')}</title>",
        "<defs>",
        *_arrows(),
        "</defs>",
        "<rect width='100%' height='100%' fill='white'/>",
    ]
    # what helps lies on top
    for kind in (EdgeKind.NEUTRAL, EdgeKind.HELPS):
        lines += [_edge(edge, places, widths, centre) for edge in graph.edges.values() if edge.kind is kind]
    lines += [_node(node, places[node.action], node.action in graph.starts) for node in graph.nodes]
    lines += _legend(height)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _width(node: SubtaskNode) -> float:
    return _CHARACTER * len(node.text) + 14.0


def _arrows() -> Iterator[str]:
    for kind, (colour, _, opacity) in _STYLE.items():
        yield (
            f"<marker id='{kind.value}' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' markerHeight='7' "
            f"markerUnits='userSpaceOnUse' orient='auto'><path d='M0,0 L8,4 L0,8 z' fill='{colour}' "
            f"fill-opacity='{opacity}'/></marker>"
        )


def _edge(
    edge: Edge, places: dict[str, tuple[float, float]], widths: dict[str, float], centre: tuple[float, float]
) -> str:
    colour, width, opacity = _STYLE[edge.kind]
    (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
    if edge.source == edge.target:
        path = _loop((x1, y1), widths[edge.source], centre)
    else:
        # both directions bend to their own right, so that they lie apart
        bend = 0.10
        control = ((x1 + x2) / 2 - bend * (y2 - y1), (y1 + y2) / 2 + bend * (x2 - x1))
        start = _border((x1, y1), control, widths[edge.source])
        end = _border((x2, y2), control, widths[edge.target])
        path = f"M{start[0]:.1f},{start[1]:.1f} Q{control[0]:.1f},{control[1]:.1f} {end[0]:.1f},{end[1]:.1f}"
    return (
        f"<path d='{path}' fill='none' stroke='{colour}' stroke-width='{width}' stroke-opacity='{opacity}' "
        f"marker-end='url(#{edge.kind.value})'><title>{escape(f'{edge.source} -> {edge.target}: {edge.reason}')}"
        "</title></path>"
    )


def _loop(place: tuple[float, float], width: float, centre: tuple[float, float]) -> str:
    """Return the path of an edge from a box to itself, on the side away from the centre."""
    x, side = place[0], -1.0 if place[1] <= centre[1] else 1.0
    y, reach = place[1] + side * _BOX_HEIGHT / 2, side * 30.0
    half = min(16.0, width / 4)
    return (
        f"M{x - half:.1f},{y:.1f} C{x - half:.1f},{y + reach:.1f} {x + half:.1f},{y + reach:.1f} {x + half:.1f},{y:.1f}"
    )


def _border(place: tuple[float, float], towards: tuple[float, float], width: float) -> tuple[float, float]:
    """Return where the line from the middle of a box towards a point leaves the box."""
    dx, dy = towards[0] - place[0], towards[1] - place[1]
    scale = max(abs(dx) / (width / 2 + 2.0), abs(dy) / (_BOX_HEIGHT / 2 + 2.0), 1e-9)
    return (place[0] + dx / scale, place[1] + dy / scale)


def _node(node: SubtaskNode, place: tuple[float, float], start: bool) -> str:
    x, y, width = place[0], place[1], _width(node)
    border = 2.0 if start else 1.0
    return (
        f"<g><rect x='{x - width / 2:.1f}' y='{y - _BOX_HEIGHT / 2:.1f}' width='{width:.1f}' height='{_BOX_HEIGHT}' "
        f"rx='6' fill='#f6f1e4' stroke='#444444' stroke-width='{border}'/>"
        f"<text x='{x:.1f}' y='{y + 4:.1f}' text-anchor='middle' {_FONT}>{escape(node.text)}</text></g>"
    )


def _legend(height: float) -> Iterator[str]:
    said = "blue: the first brings about what the second needs; grey: it does not stand in its way; thick box: may come"
    yield f"<text x='10' y='{height - 22:.0f}' {_FONT}>{escape(said)}</text>"
    yield f"<text x='10' y='{height - 8:.0f}' {_FONT}>first with an empty hand. No arrow: it can never follow.</text>"
