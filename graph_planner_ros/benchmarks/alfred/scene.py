"""What is there, as a scene graph: one fixture of each class, as many things as were counted, every thing somewhere.

ALFRED's data say what is there and not where. Things lie where the recorded plan picked them up; others in a place
that the domain calls likely for their class, drawn with a seed, as is where on the floor the fixtures stand (so that
ways have lengths). No goal is true at the start.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

import numpy as np

from graph_planner_ros.benchmarks.alfred.annotation_map import AnnotationMap
from graph_planner_ros.benchmarks.alfred.data import AlfredDataError
from graph_planner_ros.benchmarks.alfred.samples import Sample
from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.goal import goal_holds
from graph_planner_ros.scene.belief import IN, ON, set_place
from graph_planner_ros.scene.facts import symbolic_state
from graph_planner_ros.scene.graph import GROUND_TRUTH, MAP, Box, SceneGraph, SceneNode

FLOOR_PER_FIXTURE = 1.7
"""Floor area [m^2] for each fixture."""
EXTENT = (0.6, 0.6, 0.9)
"""Side lengths [m] of every fixture: only ways are made of them."""


def make_scene(sample: Sample, annotations: AnnotationMap, seed: int = 0) -> SceneGraph:
    """Return the scene of a sample; the same for the same sample and seed.

    Classes that the domain does not have are left out: nothing can be done with them.

    Raises:
        AlfredDataError: if a thing can be nowhere, or the goal would be true at once.
    """
    domain = annotations.domain
    rng = random.Random(f"{seed} {sample.name}")
    graph = SceneGraph("", domain=domain.name, revision=1)
    fixtures = [label for label in dict.fromkeys(sample.fixtures) if label in domain.classes]
    for label in fixtures:
        name = instance_name(label, 1)
        graph.nodes[name] = SceneNode(name, label, _spot(rng, len(fixtures)), source=MAP)
    forbidden = _forbidden(sample, annotations)
    for label in sorted(sample.objects):
        if label not in domain.classes or annotations.is_fixed(label):
            continue
        recorded = [place for place in sample.places.get(label, ()) if place in fixtures]
        for number in range(1, sample.objects[label] + 1):
            name = instance_name(label, number)
            graph.nodes[name] = SceneNode(name, label, source=GROUND_TRUTH)
            wanted = recorded[number - 1 : number] or _likely(domain, label, fixtures)
            place = _draw(rng, domain, wanted, fixtures, forbidden.get(label, frozenset()))
            if place is None:
                raise AlfredDataError(f"{sample.name}: there is no place for a thing of the class {label}")
            relation = IN if domain.class_of(place).encloses else ON
            set_place(graph, name, (relation, instance_name(place, 1)), GROUND_TRUTH)
    if goal_holds(annotations.goal(sample.requests), symbolic_state(graph, domain), domain):
        raise AlfredDataError(f"{sample.name}: the goal is true at the start")
    return graph


def instance_name(label: str, number: int) -> str:
    """Return the id of a thing."""
    return f"{label.lower()}_{number}"


def _spot(rng: random.Random, fixtures: int) -> Box:
    side = math.sqrt(FLOOR_PER_FIXTURE * fixtures)
    center = np.array([rng.uniform(0.0, side), rng.uniform(0.0, side), EXTENT[2] / 2])
    return Box(center, np.array(EXTENT), rng.uniform(-math.pi, math.pi))


def _forbidden(sample: Sample, annotations: AnnotationMap) -> dict[str, frozenset[str]]:
    """Return class of a thing -> classes of fixtures where it must not be, since the goal wants it there."""
    found: dict[str, set[str]] = {}
    for request in sample.requests:
        classes = annotations.classes(request)
        for literal in annotations.task(request.task).literals:
            labels = [classes[name] for name in literal.arguments]
            if len(labels) == 2 and annotations.is_fixed(labels[1]):
                found.setdefault(labels[0], set()).add(labels[1])
    return {label: frozenset(places) for label, places in found.items()}


def _likely(domain: Domain, label: str, fixtures: list[str]) -> list[str]:
    return [place for place in domain.class_of(label).likely_in if place in fixtures]


def _draw(
    rng: random.Random, domain: Domain, wanted: list[str], fixtures: list[str], forbidden: frozenset[str]
) -> str | None:
    """Return a wanted place that may be, else any; those that enclose nothing come first, since anything fits there."""
    assert domain.hypotheses is not None
    fact = domain.hypotheses.place_fact
    receiving = [label for label in fixtures if fact is None or fact in domain.class_of(label).facts]
    open_ones = [label for label in receiving if not domain.class_of(label).encloses]
    for choices in (wanted, open_ones, receiving):
        allowed = [label for label in choices if label in receiving and label not in forbidden]
        if allowed:
            return rng.choice(allowed)
    return None


def labels_of(graph: SceneGraph) -> Mapping[str, str]:
    """Return instance id -> class."""
    return {name: node.label for name, node in graph.nodes.items()}
