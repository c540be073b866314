"""Scenes and episodes of the household domain that the tests of reasoning share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable, GroundAction, Truth
from graph_planner_ros.memory.experience import Episode, EpisodeHeader, EpisodeStatus, ExperienceStep
from graph_planner_ros.scene.effects import apply_effects
from graph_planner_ros.scene.graph import MAP, ROBOT_ID, Attribute, Relation, SceneGraph, SceneNode


def scene_of(
    things: Mapping[str, str],
    inside: Mapping[str, str] | None = None,
    *,
    at: str = "",
    true: Iterable[tuple[str, str]] = (),
    false: Iterable[tuple[str, str]] = (),
) -> SceneGraph:
    """Return a scene.

    Args:
        things: id -> class. inside: thing -> place. at: where the robot is. true, false: (attribute, thing).
    """
    scene = SceneGraph(domain="household")
    for name, label in things.items():
        scene.nodes[name] = SceneNode(name, label, source=MAP)
    for values, truth in ((true, Truth.TRUE), (false, Truth.FALSE)):
        for attribute, name in values:
            scene.nodes[name].attributes[attribute] = Attribute(attribute, truth)
    for thing, place in (inside or {}).items():
        scene.relations.append(Relation(thing, "in", place))
    if at:
        scene.relations.append(Relation(ROBOT_ID, "at", at))
    return scene


def put_goal(thing: str, place: str, predicate: str = "in") -> Goal:
    """Return the goal that some thing of a class is in some place of a class."""
    variables = (GoalVariable("?i", "item", thing), GoalVariable("?r", "fixture", place))
    return Goal(variables, (GoalLiteral(predicate, ("?i", "?r")),), text=f"put {thing} in {place}")


def act(name: str, *arguments: str) -> GroundAction:
    """Return an action."""
    return GroundAction(name, arguments)


def later(domain: Domain, scene: SceneGraph, action: GroundAction | None) -> SceneGraph:
    """Return the scene after an action that has its effects; after None, the same scene a second later."""
    after = deepcopy(scene)
    after.stamp += 1.0
    if action is not None:
        apply_effects(after, domain, action, after.stamp)
    return after


def episode_of(
    domain: Domain,
    scene: SceneGraph,
    actions: Sequence[GroundAction],
    goals: Sequence[Goal] = (),
    name: str = "episode",
    status: EpisodeStatus = EpisodeStatus.SUCCEEDED,
) -> Episode:
    """Return an episode in which the actions had their effects."""
    header = EpisodeHeader(name, domain.name, "hash", goals=tuple(goals), origin="test", started=100.0, status=status)
    steps = []
    for number, action in enumerate(actions):
        steps.append(ExperienceStep(number, float(number), scene, action, True))
        scene = later(domain, scene, action)
    steps.append(ExperienceStep(len(actions), float(len(actions)), scene))
    return Episode(header, tuple(steps))
