"""The scene graph as markers for RViz."""

from __future__ import annotations

from geometry_msgs.msg import Point, Vector3
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from graph_planner_ros.conversions import box_to_msg, header
from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.scene.graph import MAP, Presence, SceneGraph, SceneNode

COLORS = {
    Presence.PRESENT: (0.1, 0.8, 0.2, 0.7),
    Presence.STALE: (0.9, 0.7, 0.1, 0.5),
    Presence.ABSENT: (0.9, 0.1, 0.1, 0.3),
}
FIXTURE_COLOR = (0.5, 0.5, 0.6, 0.15)


def graph_markers(graph: SceneGraph) -> MarkerArray:
    """Return a box and a name for every placed node, and a line for every true relation."""
    markers = [Marker(action=Marker.DELETEALL)]
    markers[0].header = header(graph.stamp, graph.frame_id)
    for index, node in enumerate(graph.nodes.values()):
        if node.box is not None:
            markers += _node_markers(graph, node, index)
    lines = _marker(graph, "relations", 0, Marker.LINE_LIST, (0.9, 0.9, 0.9, 0.8))
    lines.scale = Vector3(x=0.005, y=0.0, z=0.0)
    for relation in graph.relations:
        ends = [graph.nodes.get(relation.subject), graph.nodes.get(relation.object)]
        boxes = [node.box for node in ends if node is not None and node.box is not None]
        if relation.value is Truth.TRUE and len(boxes) == 2:
            lines.points += [Point(x=float(b.center[0]), y=float(b.center[1]), z=float(b.center[2])) for b in boxes]
    if lines.points:
        markers.append(lines)
    return MarkerArray(markers=markers)


def _marker(
    graph: SceneGraph, namespace: str, number: int, kind: int, color: tuple[float, float, float, float]
) -> Marker:
    marker = Marker(ns=namespace, id=number, type=kind, action=Marker.ADD)
    marker.header = header(graph.stamp, graph.frame_id)
    marker.color = ColorRGBA(r=color[0], g=color[1], b=color[2], a=color[3])
    marker.pose.orientation.w = 1.0
    return marker


def _node_markers(graph: SceneGraph, node: SceneNode, index: int) -> list[Marker]:
    color = FIXTURE_COLOR if node.source == MAP else COLORS[node.presence]
    box = _marker(graph, "boxes", index, Marker.CUBE, color)
    box.pose, box.scale = box_to_msg(node.box)
    text = _marker(graph, "names", index, Marker.TEXT_VIEW_FACING, (1.0, 1.0, 1.0, 0.9))
    text.pose, extent = box_to_msg(node.box)
    text.pose.position.z += 0.5 * extent.z + 0.05
    text.scale = Vector3(x=0.0, y=0.0, z=0.06)
    states = [a.name for a in node.attributes.values() if a.value is Truth.TRUE]
    text.text = " ".join([node.instance_id, *states])
    return [box, text]
