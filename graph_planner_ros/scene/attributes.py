"""Visible attributes: no single noisy image overturns what is known."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Truth
from graph_planner_ros.scene.belief import attribute_value, can_have, contents, part_attributes, set_attribute
from graph_planner_ros.scene.geometry import to_world
from graph_planner_ros.scene.graph import EFFECT, PERCEPTION, Box, SceneGraph, SceneNode
from graph_planner_ros.scene.observation import Observations, ObservedObject

VOTES = 2
"""Images that must agree before a known value, or the domain's assumption, is overturned."""
PART_VOTES = 3
"""The same for attributes that are judged from the place of a part: their geometry is noisier."""
CLOSE = 2.5
"""Things further than this [m] from the camera tell nothing about their attributes."""
MIN_PIXELS = 120
SLIDE_STEP = 0.02
"""Smaller changes of a drawer's position [m] are noise."""

OPEN_SLIDE = 0.1
"""A sliding part further out than this [m] is open; what lies in it may have slid about."""


@dataclass
class AttributeBelief:
    """Votes on visible attributes, and how far sliding parts are out.

    Attributes:
        slides: fixture id -> how far its sliding part is out of its front [m].
        doubted: ids of fixtures that the last image showed open, whatever is believed of them.
        settled_now: ids of fixtures whose door or drawer the last image showed at rest.
        hinged: ids of fixtures whose door is known not to be a drawer.
        unsettled: ids of fixtures whose sliding part seems to be moving.
    """

    domain: Domain
    slides: dict[str, float] = field(default_factory=dict)
    unsettled: set[str] = field(default_factory=set)
    settled_now: set[str] = field(default_factory=set)
    hinged: set[str] = field(default_factory=set)
    doubted: set[str] = field(default_factory=set)
    _seen_at: dict[str, tuple[str, float]] = field(default_factory=dict)
    _swings: dict[str, int] = field(default_factory=dict)
    _pending: dict[str, float] = field(default_factory=dict)
    _rest: dict[str, float] = field(default_factory=dict)
    _votes: dict[tuple[str, str], tuple[Truth, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._parts = part_attributes(self.domain)
        visible = [name for name, schema in self.domain.attributes.items() if schema.visible]
        self._visible = [name for name in visible if name not in self._parts]
        self._known: dict[str, list[str]] = {}

    def time_jumped(self) -> None:
        """Drop the votes, after time has jumped back."""
        self._votes.clear()

    def update_item(self, node: SceneNode, seen: ObservedObject, stamp: float) -> bool:
        """Give every visible attribute that the class can have its value, if the thing was seen well enough."""
        if seen.distance > CLOSE or seen.pixels < MIN_PIXELS:
            return False
        return self._set_visible(node, seen.attributes, stamp)

    def update_fixtures(self, graph: SceneGraph, observations: Observations, stamp: float) -> bool:
        """Merge what an image says about fixtures: switches, doors, drawers; the content moves with a drawer."""
        changed = False
        for node_id, attributes in observations.fixtures.items():
            node = graph.nodes.get(node_id)
            if node is None:
                continue
            node.last_seen, node.observations = stamp, node.observations + 1
            changed |= self._set_visible(node, attributes, stamp)
        self.doubted.clear()
        self.settled_now.clear()
        for reading in observations.parts:
            node = graph.nodes.get(reading.node_id)
            if node is None:
                continue
            changed |= self._vote(node, reading.attribute, reading.value, PART_VOTES, stamp)
            if reading.value is Truth.FALSE:
                self.doubted.add(reading.node_id)
                if reading.slide > 0.0:
                    self._slide_when_settled(graph, node, reading.slide)
                else:
                    self._swing(node.instance_id)
            elif attribute_value(self.domain, node, reading.attribute) is Truth.TRUE:
                self._rest[node.instance_id] = reading.slide
                self.slides.setdefault(node.instance_id, reading.slide)
                self.unsettled.discard(node.instance_id)
                self.settled_now.add(node.instance_id)
        for node_id, slide in list(self.slides.items()):
            node = graph.nodes.get(node_id)
            if node is not None and self._is_shut_now(node) and slide > self._rest.get(node_id, 0.0):
                self._slide(graph, node, self._rest.get(node_id, 0.0))
        return changed

    def forget_effects(self, node: SceneNode, stamp: float) -> None:
        """A thing that was lost and came back may be another one: what cannot be seen of it is unknown again."""
        for name, attribute in node.attributes.items():
            schema = self.domain.attributes.get(name)
            if attribute.source == EFFECT and schema is not None and not schema.visible:
                set_attribute(node, name, Truth.UNKNOWN, PERCEPTION, stamp)

    def _is_shut_now(self, node: SceneNode) -> bool:
        return any(name in node.attributes and node.attributes[name].value is Truth.TRUE for name in self._parts)

    def _set_visible(self, node: SceneNode, attributes: tuple[str, ...], stamp: float) -> bool:
        names = self._known.get(node.label)
        if names is None:
            names = [name for name in self._visible if can_have(self.domain, node.label, name)]
            self._known[node.label] = names
        changed = False
        for name in names:
            value = Truth.TRUE if name in attributes else Truth.FALSE
            changed |= self._vote(node, name, value, VOTES, stamp)
        return changed

    def _vote(self, node: SceneNode, name: str, value: Truth, needed: int, stamp: float) -> bool:
        key = (node.instance_id, name)
        known = attribute_value(self.domain, node, name)
        old = node.attributes.get(name)
        if old is not None and old.stamp > stamp:
            return False  # a skill has changed it since this image was taken
        if known in (value, Truth.UNKNOWN):
            self._votes.pop(key, None)
            return set_attribute(node, name, value, PERCEPTION, stamp)
        last, count = self._votes.get(key, (value, 0))
        count = count + 1 if last is value else 1
        self._votes[key] = value, count
        if count < needed:
            return False
        del self._votes[key]
        return set_attribute(node, name, value, PERCEPTION, stamp)

    def _swing(self, fixture_id: str) -> None:
        """Note a door that is open but not out; a drawer looks like that only in passing, while it moves."""
        if fixture_id in self._pending:
            self.unsettled.add(fixture_id)
            return
        count = self._swings.get(fixture_id, 0) + 1
        self._swings[fixture_id] = count
        if count >= PART_VOTES:
            self.hinged.add(fixture_id)
            self.settled_now.add(fixture_id)

    def _slide_when_settled(self, graph: SceneGraph, node: SceneNode, slide: float) -> None:
        """Follow a drawer only once two images agree: a hand before it, or a moving drawer, gives odd readings."""
        self.hinged.discard(node.instance_id)
        last = self._pending.get(node.instance_id)
        self._pending[node.instance_id] = slide
        if last is not None and abs(last - slide) < SLIDE_STEP:
            self._slide(graph, node, slide)
            self.unsettled.discard(node.instance_id)
            self.settled_now.add(node.instance_id)
        else:
            self.unsettled.add(node.instance_id)

    def in_motion(self, fixture_id: str) -> bool:
        """Return whether a drawer is out and may be moving, so that what is in it cannot be located."""
        out = fixture_id in self.unsettled or self.slides.get(fixture_id, 0.0) > OPEN_SLIDE
        return out and fixture_id not in self.settled_now

    def note_seen(self, node_id: str, fixture_id: str) -> None:
        """Remember how far a drawer was out when a thing was seen in it."""
        slide = self._pending.get(fixture_id) if fixture_id in self.unsettled else self.slides.get(fixture_id)
        if slide is not None:
            self._seen_at[node_id] = fixture_id, slide
        else:
            self._seen_at.pop(node_id, None)

    def _slide(self, graph: SceneGraph, node: SceneNode, slide: float) -> None:
        """Note a drawer's new position; what is believed in it moves along from where it was when it was seen."""
        before = self.slides.get(node.instance_id)
        self.slides[node.instance_id] = slide
        if node.box is None:
            return
        axes = Box(np.zeros(3), node.box.extent, node.box.yaw)
        for inner in contents(graph, node.instance_id):
            thing = graph.nodes.get(inner)
            fixture_id, seen_at = self._seen_at.get(inner, (node.instance_id, before))
            if thing is None or thing.box is None or seen_at is None or fixture_id != node.instance_id:
                continue
            shift = to_world(axes, np.array([[slide - seen_at, 0.0, 0.0]]))[0]
            thing.box = Box(thing.box.center + shift, thing.box.extent, thing.box.yaw)
            self._seen_at[inner] = node.instance_id, slide
