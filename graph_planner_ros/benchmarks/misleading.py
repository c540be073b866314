"""Makes experience wrong, so that what it costs to believe it can be measured."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from dataclasses import replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.memory.experience import Episode
from graph_planner_ros.scene.belief import is_fixture, place_relations
from graph_planner_ros.scene.graph import SceneGraph, SceneNode


def mislead(domain: Domain, episodes: Sequence[Episode], seed: int = 0) -> list[Episode]:
    """Return episodes in which things were in wrong places and actions were done in a wrong order.

    All of them tell the same lie: what was in places of one class was in places of another, always the same one. That
    misleads more than noise, which averages out.
    """
    rng = random.Random(seed)
    labels = sorted(
        {
            node.label
            for e in episodes
            for step in e.steps
            for node in step.scene.nodes.values()
            if is_fixture(domain, node)
        }
    )
    shuffled = list(labels)
    while len(labels) > 1 and any(first == second for first, second in zip(labels, shuffled, strict=True)):
        rng.shuffle(shuffled)
    instead = dict(zip(labels, shuffled, strict=True))
    return [_misled(domain, episode, instead, rng) for episode in episodes]


def _misled(domain: Domain, episode: Episode, instead: dict[str, str], rng: random.Random) -> Episode:
    moved = _moves(domain, episode.steps[-1].scene, instead)
    actions = [(step.action, step.succeeded) for step in episode.steps[:-1]]
    rng.shuffle(actions)
    steps = [
        replace(step, scene=_with_moves(domain, step.scene, moved), embedding=None, action=action, succeeded=succeeded)
        for step, (action, succeeded) in zip(episode.steps, [*actions, (None, None)], strict=True)
    ]
    header = replace(episode.header, episode_id=f"{episode.header.episode_id}-misled")
    return Episode(header, tuple(steps))


def _moves(domain: Domain, scene: SceneGraph, instead: dict[str, str]) -> dict[str, str]:
    """Return place -> the wrong place that stands for it, as far as this home has one of the other class."""
    by_label: dict[str, list[str]] = {}
    for name, node in sorted(scene.nodes.items()):
        if _can_hold(domain, node):
            by_label.setdefault(node.label, []).append(name)
    moves: dict[str, str] = {}
    for label, names in by_label.items():
        other = instead[label]
        for _ in instead:
            if other in by_label and other != label:
                break
            other = instead[other]
        targets = by_label.get(other, names)
        moves.update({name: targets[number % len(targets)] for number, name in enumerate(names)})
    return moves


def _can_hold(domain: Domain, node: SceneNode) -> bool:
    """Return whether a node is a place in which things are looked for."""
    fact = domain.hypotheses.place_fact if domain.hypotheses is not None else None
    entry = domain.classes.get(node.label)
    return is_fixture(domain, node) and (fact is None or (entry is not None and fact in entry.facts))


def _with_moves(domain: Domain, scene: SceneGraph, moves: dict[str, str]) -> SceneGraph:
    """Return a copy of a scene in which things are in the wrong places, and these were looked at."""
    wrong = copy.deepcopy(scene)
    places = place_relations(domain)
    for relation in wrong.relations:
        if relation.predicate in places:
            relation.object = moves.get(relation.object, relation.object)
    attributes = {name: dict(node.attributes) for name, node in wrong.nodes.items()}
    for place, other in moves.items():
        if place in wrong.nodes and other in wrong.nodes:
            for key, value in attributes[place].items():
                if domain.attributes[key].visible is False:
                    wrong.nodes[other].attributes[key] = copy.deepcopy(value)
    return wrong
