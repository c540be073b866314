"""What the executor remembers of the things a task needs: where they were seen, from where, and as what mask.

GraphThink III-B: on the way to one object the robot notes every other object of the task that it sees, each instance
in a record of its own, and later goes to the noted place first. The records are hints: the scene graph decides.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graph_planner_ros.domain.files import write_atomically
from graph_planner_ros.scene.belief import place_relation
from graph_planner_ros.scene.graph import PERCEPTION, Box, SceneGraph, SceneNode

FORMAT = 1
MEMORY = "memory"
"""The source of a node whose position comes from a sighting, not from the belief."""
UNKNOWN_EXTENT = (0.07, 0.07, 0.07)
"""Side lengths [m] of a thing of which only the position is known: something that fits a hand."""


class MemoryFileError(ValueError):
    """A file of the memory cannot be read; the message names it and says what is wrong."""


@dataclass(frozen=True)
class Mask:
    """A binary image in run lengths: (height, width), and lengths of alternating runs that start with False."""

    shape: tuple[int, int]
    runs: tuple[int, ...]

    @classmethod
    def encode(cls, mask: NDArray[np.bool_]) -> Mask:
        """Encode a (height, width) array of booleans."""
        if mask.ndim != 2:
            raise ValueError(f"a mask has two dimensions, this one has {mask.ndim}")
        flat = np.concatenate(([False], np.asarray(mask, dtype=bool).ravel()))
        changes = np.flatnonzero(flat[1:] != flat[:-1])
        ends = np.concatenate((changes, [mask.size]))
        runs = np.diff(np.concatenate(([0], ends)))
        return cls((int(mask.shape[0]), int(mask.shape[1])), tuple(int(run) for run in runs))

    def decode(self) -> NDArray[np.bool_]:
        """Return the (height, width) array of booleans."""
        values = np.arange(len(self.runs)) % 2 == 1
        return np.repeat(values, self.runs).reshape(self.shape)


@dataclass(frozen=True)
class Sighting:
    """Where a thing was seen last.

    Attributes:
        instance_id, label: of the scene graph.
        position: [m] in the map frame. waypoint: x [m], y [m], yaw [rad] of the base from where it was seen.
        stamp: seconds of ROS time. place: id of the fixture or receptacle that it was in or on, if known.
        mask: in the image's pixels, cut off below and to the right of the thing. extent: full side lengths [m].
    """

    instance_id: str
    label: str
    position: tuple[float, float, float]
    waypoint: tuple[float, float, float]
    stamp: float
    place: str = ""
    mask: Mask | None = None
    extent: tuple[float, float, float] = UNKNOWN_EXTENT


def remembered_node(graph: SceneGraph, seen: Sighting) -> SceneNode | None:
    """Return a thing at the position where it was seen, or None if the belief knows better.

    The belief knows better if it takes the thing for another one, or if it says since a later time than the sighting's
    where the thing is; except that a sighting in the very place where the camera has seen it again still helps.
    """
    known, relation = graph.nodes.get(seen.instance_id), place_relation(graph, seen.instance_id)
    if known is not None and known.label != seen.label:
        return None
    if relation is not None and relation.stamp > seen.stamp:
        seen_again_there = relation.source == PERCEPTION and relation.object == seen.place
        if not seen_again_there:
            return None
    box = Box(np.array(seen.position), np.array(seen.extent))
    if known is not None:
        return replace(known, box=box, source=MEMORY)
    return SceneNode(seen.instance_id, seen.label, box, source=MEMORY, first_seen=seen.stamp, last_seen=seen.stamp)


class SkillMemory:
    """Sightings of the things that the running task is about."""

    def __init__(self) -> None:
        self._labels: frozenset[str] = frozenset()
        self._instances: frozenset[str] = frozenset()
        self._sightings: dict[str, Sighting] = {}

    def __len__(self) -> int:
        return len(self._sightings)

    def watch(self, labels: Iterable[str], instances: Iterable[str] = ()) -> None:
        """Set which classes and instances the task is about; sightings of others are dropped."""
        self._labels, self._instances = frozenset(labels), frozenset(instances)
        self._sightings = {name: seen for name, seen in self._sightings.items() if self.wants(name, seen.label)}

    def observe(self, sighting: Sighting) -> bool:
        """Note a sighting; returns whether it was kept: it is of the task, and not older than what is known."""
        if not self.wants(sighting.instance_id, sighting.label):
            return False
        known = self._sightings.get(sighting.instance_id)
        if known is not None and known.stamp > sighting.stamp:
            return False
        self._sightings[sighting.instance_id] = sighting
        return True

    def recall(self, instance_id: str) -> Sighting | None:
        """Return the last sighting of one thing."""
        return self._sightings.get(instance_id)

    def recall_class(self, label: str) -> tuple[Sighting, ...]:
        """Return the last sighting of each thing of a class, the newest first."""
        found = [seen for seen in self._sightings.values() if seen.label == label]
        return tuple(sorted(found, key=lambda seen: (-seen.stamp, seen.instance_id)))

    def forget(self, instance_id: str) -> None:
        """Drop what is known of a thing that was not where it was seen."""
        self._sightings.pop(instance_id, None)

    def time_jumped(self, now: float) -> None:
        """Drop sightings from after ``now`` [s]: the clock went back, they belong to another run of time."""
        self._sightings = {name: seen for name, seen in self._sightings.items() if seen.stamp <= now}

    def wants(self, instance_id: str, label: str) -> bool:
        """Return whether a thing is one of those that the task is about."""
        return label in self._labels or instance_id in self._instances

    def copy(self) -> SkillMemory:
        """Return a memory of the same content, for instance to be saved on another thread."""
        other = SkillMemory()
        other._labels, other._instances = self._labels, self._instances
        other._sightings = dict(self._sightings)
        return other

    def save(self, path: Path) -> None:
        """Write all sightings as JSON; the file is replaced in one step, so it is whole at any moment."""
        document = {
            "format": FORMAT,
            "labels": sorted(self._labels),
            "instances": sorted(self._instances),
            "sightings": [_to_json(seen) for seen in self._sightings.values()],
        }
        write_atomically(path, json.dumps(document))

    @classmethod
    def load(cls, path: Path) -> SkillMemory:
        """Read what `save` wrote.

        Raises:
            MemoryFileError: naming the file, if it is damaged or of another format.
        """
        memory = cls()
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            if document["format"] != FORMAT:
                raise MemoryFileError(f"{path}: format {document['format']!r}, expected {FORMAT}")
            memory._labels = frozenset(document["labels"])
            memory._instances = frozenset(document["instances"])
            memory._sightings = {seen.instance_id: seen for seen in map(_from_json, document["sightings"])}
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            if isinstance(error, MemoryFileError):
                raise
            raise MemoryFileError(f"{path}: not a file of the executor's memory: {error}") from error
        return memory


def _to_json(seen: Sighting) -> dict[str, Any]:
    return {
        "instance_id": seen.instance_id,
        "label": seen.label,
        "position": list(seen.position),
        "extent": list(seen.extent),
        "waypoint": list(seen.waypoint),
        "stamp": seen.stamp,
        "place": seen.place,
        "mask": None if seen.mask is None else {"shape": list(seen.mask.shape), "runs": list(seen.mask.runs)},
    }


def _from_json(entry: dict[str, Any]) -> Sighting:
    mask = entry["mask"]
    x, y, z = map(float, entry["position"])
    base_x, base_y, yaw = map(float, entry["waypoint"])
    length, depth, tall = map(float, entry.get("extent", UNKNOWN_EXTENT))
    if not all(map(math.isfinite, (x, y, z, base_x, base_y, yaw, length, depth, tall, float(entry["stamp"])))):
        raise ValueError(f"the sighting of {entry['instance_id']!r} has numbers that are not finite")
    height, width = mask["shape"] if mask else (0, 0)
    return Sighting(
        str(entry["instance_id"]),
        str(entry["label"]),
        (x, y, z),
        (base_x, base_y, yaw),
        float(entry["stamp"]),
        str(entry["place"]),
        Mask((int(height), int(width)), tuple(int(run) for run in mask["runs"])) if mask else None,
        (length, depth, tall),
    )
