"""From one frame to observations: segmentation, back-projection, doors. Merging into the belief is the scene's."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.perception.backprojection import clean_points, fit_box, grid_points, hidden_share, points_of_mask
from graph_planner_ros.perception.doors import MIN_PART_POINTS, look_at_front, read_part
from graph_planner_ros.perception.frame import Detection, Frame
from graph_planner_ros.perception.segmentation import Segmenter
from graph_planner_ros.scene.belief import can_have, is_fixture, part_attributes
from graph_planner_ros.scene.geometry import bottom, corners, extended, outside_distance, to_local, volume
from graph_planner_ros.scene.graph import Box, FloatArray, SceneGraph, SceneNode
from graph_planner_ros.scene.observation import Observations, ObservedObject, PartReading, RobotState
from graph_planner_ros.scene.presence import project
from graph_planner_ros.scene.relations import PLACE_TOLERANCE


@dataclass(frozen=True)
class PipelineConfig:
    """Limits of what is taken from an image.

    Attributes:
        max_range: depth beyond this [m] is not used.
        view_angle: relations are judged only within this angle [rad] of the camera's heading (GraphThink III-C).
        border: masks that come this near to the image's edge [pixels] show a part only.
        grid_step: every so manieth pixel is used for looking at doors.
        min_border_pixels: smaller parts at the image's edge are left for a better view.
        part_reach: how far out of its fixture a part may be [m], e.g. a door that is open.
        max_hidden: a thing with more of its outline behind something else is seen in part only.
        hidden_height: at most so much of it [m] may be hidden above the fixture that it stands on.
    """

    max_range: float = 3.5
    view_angle: float = math.radians(45.0)
    border: int = 2
    grid_step: int = 4
    min_border_pixels: int = 400
    part_reach: float = 0.8
    max_hidden: float = 0.12
    hidden_height: float = 0.10


@dataclass
class ProcessedFrame:
    """What was made of one frame.

    Attributes:
        detections: all of the segmenter's, in its order.
        observations: what they say, for `SceneUpdater.update`, which fills in the node ids.
        unknown_labels: labels that the domain does not have; their detections are not used.
        duration: seconds of wall time that it took.
    """

    stamp: float
    detections: list[Detection] = field(default_factory=list)
    observations: Observations = field(default_factory=Observations)
    unknown_labels: tuple[str, ...] = ()
    duration: float = 0.0

    def results(self) -> list[tuple[Detection, str, Box | None]]:
        """Return every detection with the node that it was merged into (or empty) and its box in the map (or None)."""
        objects = {seen.detection: seen for seen in self.observations.objects}
        return [
            (
                detection,
                objects[index].node_id if index in objects else detection.instance_id,
                objects[index].box if index in objects else None,
            )
            for index, detection in enumerate(self.detections)
        ]


class PerceptionPipeline:
    """Turns frames into observations. It changes no belief; the graph serves to read the fixtures' state.

    Args:
        domain: whose classes are looked for.
        segmenter: finds things in images.
        fixtures: the robot's map; more may come by `set_fixtures`.
    """

    def __init__(
        self,
        domain: Domain,
        segmenter: Segmenter,
        fixtures: SceneGraph | Iterable[SceneNode] = (),
        config: PipelineConfig | None = None,
    ) -> None:
        self._domain, self._segmenter = domain, segmenter
        self._config = config or PipelineConfig()
        self._fixtures: dict[str, SceneNode] = {}
        self._parts = part_attributes(domain)
        self.set_fixtures(fixtures)

    def set_fixtures(self, fixtures: SceneGraph | Iterable[SceneNode]) -> None:
        """Take over the robot's map of the fixtures: their poses, extents and volumes."""
        nodes = fixtures.nodes.values() if isinstance(fixtures, SceneGraph) else fixtures
        self._fixtures = {node.instance_id: node for node in nodes}

    def process(self, graph: SceneGraph, frame: Frame, robot: RobotState | None = None) -> ProcessedFrame:
        """Return what one frame shows.

        Raises:
            FrameError: if the segmenter cannot use the frame.
        """
        started = time.perf_counter()
        fixtures = self._fixtures or {n.instance_id: n for n in graph.nodes.values() if is_fixture(self._domain, n)}
        detections = self._segmenter.segment(frame)
        result = ProcessedFrame(frame.stamp, detections)
        unknown: set[str] = set()
        parts: list[tuple[int, FloatArray]] = []
        for index, detection in enumerate(detections):
            if detection.label not in self._domain.classes:
                unknown.add(detection.label)
            elif detection.part:
                parts.append((index, points_of_mask(frame, detection.mask, detection.roi, 800)))
            elif is_fixture(self._domain, SceneNode("", detection.label)):
                self._see_fixture(frame, detection, fixtures, result.observations)
            else:
                seen = self._place(frame, detection, index, fixtures)
                if seen is not None:
                    result.observations.objects.append(seen)
        result.observations.parts = self._read_parts(frame, fixtures, detections, parts)
        result.unknown_labels = tuple(sorted(unknown))
        result.duration = time.perf_counter() - started
        return result

    # -- items ----------------------------------------------------------------------------------------------------

    def _place(
        self, frame: Frame, detection: Detection, index: int, fixtures: dict[str, SceneNode]
    ) -> ObservedObject | None:
        """The observed thing of a detection; None if it has no usable depth or is a small part at the image's edge."""
        pixels = int(np.count_nonzero(detection.mask))
        cut = self._touches_border(detection, frame)
        if cut and pixels < self._config.min_border_pixels:
            return None
        hidden = hidden_share(frame, detection.mask, detection.roi)
        camera = np.asarray(frame.camera_pose[:3, 3], dtype=np.float64)
        box = fit_box(clean_points(points_of_mask(frame, detection.mask, detection.roi)), camera)
        if box is None:
            return None
        if hidden > self._config.max_hidden:
            box = self._down_to_support(box, fixtures)
        ray = box.center - camera
        distance = float(np.linalg.norm(ray))
        if distance > self._config.max_range:
            return None
        angle = math.acos(float(np.clip(ray @ frame.camera_pose[:3, 2] / max(distance, 1e-6), -1.0, 1.0)))
        detection.center, detection.extent = box.center, box.extent
        return ObservedObject(
            label=detection.label,
            box=box,
            attributes=detection.attributes,
            score=detection.score,
            pixels=pixels,
            distance=distance,
            complete=not cut and hidden <= self._config.max_hidden,
            in_view_cone=angle <= self._config.view_angle,
            detection=index,
        )

    def _down_to_support(self, box: Box, fixtures: dict[str, SceneNode]) -> Box:
        """A thing whose lower end may be hidden, by a rim or by other things, stands on its fixture nonetheless."""
        rooms = [
            f.containment
            for f in fixtures.values()
            if f.containment is not None and outside_distance(f.containment, box.center) <= PLACE_TOLERANCE
        ]
        if not rooms:
            return box
        missing = bottom(box) - bottom(min(rooms, key=volume))
        if not 0.0 < missing <= self._config.hidden_height:
            return box
        down = np.array([0.0, 0.0, missing])
        return Box(box.center - 0.5 * down, box.extent + down, box.yaw)

    def _touches_border(self, detection: Detection, frame: Frame) -> bool:
        (top, left, bottom, right), (height, width) = detection.roi, frame.depth.shape[:2]
        edge = self._config.border
        return top < edge or left < edge or bottom > height - edge or right > width - edge

    # -- fixtures -------------------------------------------------------------------------------------------------

    def _see_fixture(
        self, frame: Frame, detection: Detection, fixtures: dict[str, SceneNode], observations: Observations
    ) -> None:
        """Note a fixture of the map where this detection is; its attributes hold of it."""
        points = points_of_mask(frame, detection.mask, detection.roi, 60)
        if len(points) == 0:
            return
        found = self._nearest(points, detection.label, fixtures, 0.0)
        if found is not None:
            known = observations.fixtures.get(found, ())
            observations.fixtures[found] = tuple(sorted({*known, *detection.attributes}))
            detection.instance_id = found

    def _nearest(
        self, points: FloatArray, label: str, fixtures: dict[str, SceneNode], reach: float, taken: Iterable[str] = ()
    ) -> str | None:
        """Id of the fixture of a class whose box, longer by ``reach`` out of its front, the points fit best."""
        best: tuple[float, str] | None = None
        sample = points[:: max(1, len(points) // 20)]
        for node_id, fixture in fixtures.items():
            if fixture.label != label or fixture.box is None or node_id in taken:
                continue
            box = extended(fixture.box, reach)
            misfit = float(np.mean([outside_distance(box, point) for point in sample]))
            # of several that fit, the one in whose width the points are
            aside = float(np.mean(np.abs(to_local(fixture.box, sample)[:, 1]))) / max(float(fixture.box.extent[1]), 0.1)
            if misfit <= 0.15 and (best is None or misfit + 0.1 * aside < best[0]):
                best = misfit + 0.1 * aside, node_id
        return best[1] if best is not None else None

    def _read_parts(
        self,
        frame: Frame,
        fixtures: dict[str, SceneNode],
        detections: list[Detection],
        parts: list[tuple[int, FloatArray]],
    ) -> list[PartReading]:
        """Readings of all doors and drawers that are in view."""
        if not self._parts:
            return []
        camera = np.asarray(frame.camera_pose[:3, 3], dtype=np.float64)
        points: FloatArray | None = None
        readings: list[PartReading] = []
        for attribute, part_name in self._parts.items():
            having = {k: f for k, f in fixtures.items() if can_have(self._domain, f.label, attribute)}
            clouds = self._assign_parts(having, detections, [p for p in parts if detections[p[0]].part == part_name])
            for node_id, fixture in having.items():
                if node_id not in clouds and not self._in_view(fixture, frame):
                    continue
                if points is None:
                    points = grid_points(frame, self._config.grid_step)
                    points = points[np.linalg.norm(points - camera, axis=1) <= self._config.max_range]
                reading = read_part(fixture, attribute, clouds.get(node_id), look_at_front(fixture, points, camera))
                if reading is not None:
                    readings.append(reading)
        return readings

    def _assign_parts(
        self, fixtures: dict[str, SceneNode], detections: list[Detection], parts: list[tuple[int, FloatArray]]
    ) -> dict[str, FloatArray]:
        """Fixture id -> points of its part; every part has one owner."""
        clouds: dict[str, FloatArray] = {}
        for index, points in parts:
            if len(points) < MIN_PART_POINTS:
                continue
            owner = self._nearest(points, detections[index].label, fixtures, self._config.part_reach, clouds)
            if owner is not None:
                clouds[owner] = points
                detections[index].instance_id = owner
        return clouds

    def _in_view(self, fixture: SceneNode, frame: Frame) -> bool:
        """Whether some of a fixture's opening may be in the image."""
        if fixture.box is None or fixture.containment is None:
            return False
        pixels, forward = project(
            np.vstack((corners(fixture.containment), fixture.containment.center)), frame.intrinsics, frame.camera_pose
        )
        height, width = frame.depth.shape[:2]
        pixels = pixels[forward > 0.1]
        if len(pixels) == 0:
            return False
        low, high = pixels.min(axis=0), pixels.max(axis=0)
        return bool(low[0] < width and low[1] < height and high[0] > 0 and high[1] > 0)


__all__ = ["Observations", "PerceptionPipeline", "PipelineConfig", "ProcessedFrame", "RobotState"]
