"""Values that messages are made of, and ways to send and compare them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message

from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.domain.symbols import GroundAction, Truth
from graph_planner_ros.planning.result import PlannedStep
from graph_planner_ros.scene.graph import Attribute, Box, Presence, Relation, SceneGraph, SceneNode

# CDR strings hold anything but NUL; surrogates are no text.
TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12)
NAME = TEXT.filter(bool)
SECONDS = st.floats(0, 2**31 - 2)
COORDINATE = st.floats(-100, 100)
LENGTH = st.floats(1e-3, 10)
UNIT = st.floats(0, 1, width=32)
HOUSEHOLD = load_domain("household")
FINE = settings(max_examples=60, deadline=None)


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    center, extent = (np.array([draw(s) for _ in range(3)]) for s in (COORDINATE, LENGTH))
    return Box(center, extent, draw(st.floats(-math.pi + 1e-6, math.pi - 1e-6)))


ATTRIBUTES = st.builds(Attribute, NAME, st.sampled_from(Truth), TEXT, SECONDS, UNIT)
RELATIONS = st.builds(Relation, NAME, NAME, NAME, st.sampled_from(Truth), TEXT, SECONDS, UNIT)
NODES = st.builds(
    SceneNode,
    NAME,
    TEXT,
    st.none() | boxes(),
    st.none() | boxes(),
    st.sampled_from(Presence),
    st.lists(ATTRIBUTES, max_size=3).map(lambda found: {attribute.name: attribute for attribute in found}),
    TEXT,
    SECONDS,
    SECONDS,
    st.integers(0, 2**32 - 1),
    UNIT,
)
GRAPHS = st.builds(
    SceneGraph,
    TEXT,
    SECONDS,
    TEXT,
    st.integers(0, 2**63),
    st.lists(NODES, max_size=3).map(lambda nodes: {node.instance_id: node for node in nodes}),
    st.lists(RELATIONS, max_size=3),
    st.dictionaries(NAME, st.integers(0, 2**32 - 1), max_size=2),
)
STEPS = st.builds(PlannedStep, st.builds(GroundAction, TEXT, st.lists(TEXT, max_size=3).map(tuple)), UNIT, TEXT)


def through_the_wire(message: Any) -> Any:
    return deserialize_message(serialize_message(message), type(message))


def same_box(one: Box | None, other: Box | None) -> bool:
    if one is None or other is None:
        return one is other
    return (
        np.allclose(one.center, other.center)
        and np.allclose(one.extent, other.extent)
        and math.isclose(one.yaw, other.yaw, abs_tol=1e-6)
    )


def leaves(message: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every number and text in a message, as a path of field names and indices."""
    for name in message.get_fields_and_field_types():
        value = getattr(message, name)
        entries = (
            [((name, i), entry) for i, entry in enumerate(value)] if isinstance(value, list) else [((name,), value)]
        )
        for step, entry in entries:
            if hasattr(entry, "get_fields_and_field_types"):
                yield from leaves(entry, (*path, *step))
            else:
                yield (*path, *step)


def put(message: Any, path: tuple[Any, ...], value: Any) -> None:
    """Write into a message; AssertionError if its field cannot hold the value."""
    for step in path[:-1]:
        message = message[step] if isinstance(step, int) else getattr(message, step)
    setattr(message, path[-1], value)
