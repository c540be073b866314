"""The task-aware scene graph: what of a scene a model is told about a task (GraphThink III-C, key objects).

Key objects are what the goal needs (see `scene.task_filter`) and the classes that a model names for the instruction. A
model is asked once for an instruction and a goal, and without a useful answer it is what the goal needs.
"""

from __future__ import annotations

import threading
from dataclasses import replace

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Goal
from graph_planner_ros.language.models import LanguageModel
from graph_planner_ros.planning.llm.key_objects import asked_key_objects
from graph_planner_ros.planning.result import ModelRound
from graph_planner_ros.planning.supposing import Evidence
from graph_planner_ros.planning.task_graph import KnownThings
from graph_planner_ros.scene.graph import ROBOT_ID, SceneGraph
from graph_planner_ros.scene.task_filter import key_objects as needed_things

_KEPT = 64
"""Instructions and goals whose key objects are kept."""


class KeyObjects:
    """Asks a model which classes matter, once for each instruction and goal.

    Args:
        domain: fixed. model: is asked. timeout: seconds for a question.
    """

    def __init__(self, domain: Domain, model: LanguageModel, timeout: float = 10.0) -> None:
        self._domain, self._model, self._timeout = domain, model, timeout
        self._known: dict[tuple[str, Goal], tuple[str, ...]] = {}

    def of(
        self,
        known: KnownThings,
        goal: Goal,
        evidence: Evidence,
        timeout: float,
        cancel: threading.Event | None = None,
    ) -> tuple[tuple[str, ...], ModelRound | None]:
        """Return the classes that matter, those of the goal among them, and the round if the model was asked now.

        Args:
            known: what is there. timeout: seconds that are left for the question.
        """
        key = (evidence.instruction, goal)
        if key in self._known:
            return self._known[key], None
        classes, entry = asked_key_objects(
            self._model,
            evidence.instruction,
            known.labels.values(),
            goal,
            self._domain,
            min(self._timeout, timeout),
            cancel,
        )
        if len(self._known) >= _KEPT:
            self._known.clear()
        self._known[key] = classes
        return classes, entry


def task_scene(domain: Domain, scene: SceneGraph | None, goal: Goal, classes: tuple[str, ...]) -> SceneGraph | None:
    """Return the part of a scene that matters for a task: what the goal needs, the classes, what the robot handles."""
    if scene is None:
        return None
    kept = needed_things(scene, goal, domain) | {name for name, node in scene.nodes.items() if node.label in classes}
    for relation in scene.relations:
        if relation.subject == ROBOT_ID:
            kept.add(relation.object)
    ends = {*kept, ROBOT_ID}
    return replace(
        scene,
        nodes={name: node for name, node in scene.nodes.items() if name in kept},
        relations=[item for item in scene.relations if item.subject in ends and item.object in ends],
    )
