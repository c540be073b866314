"""Recorded runs as episodes of experience: a robot's own bags are its first source of it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import Goal, GroundAction
from graph_planner_ros.language.instruction import InstructionParser
from graph_planner_ros.memory.episode_files import domain_hash
from graph_planner_ros.memory.experience import Episode, EpisodeHeader, EpisodeStatus, ExperienceStep
from graph_planner_ros.planning.looks import name_what_was_found
from graph_planner_ros.planning.result import TaskStatus
from graph_planner_ros.scene.admission import known_part
from graph_planner_ros.scene.graph import SceneGraph

SCENE, PLAN, STATUS = "scene_graph", "plan", "goal_status"
DONE, FAILED = "events/subtask_completed", "events/action_failure"
_RUNNING = (TaskStatus.IDLE.value, TaskStatus.RUNNING.value)
_ENDED = {
    TaskStatus.SUCCEEDED.value: EpisodeStatus.SUCCEEDED,
    TaskStatus.ALREADY_SATISFIED.value: EpisodeStatus.SUCCEEDED,
    TaskStatus.CANCELLED.value: EpisodeStatus.INTERRUPTED,
    TaskStatus.NODE_LOST.value: EpisodeStatus.INTERRUPTED,
}


def episodes_of_bag(bag: Path, domain: Domain) -> list[Episode]:
    """Return the tasks of a bag as episodes; those in which nothing was done are left out.

    Args:
        bag: folder of the recording. domain: that the robot planned with; scenes of another one are left out.

    Raises:
        FileNotFoundError: there is no such bag.
        ValueError: it cannot be read, or the messages of this package are not built.
    """
    if not bag.is_dir():
        raise FileNotFoundError(f"there is no bag {bag}")
    try:
        from graph_planner_ros.conversions import graph_from_msg
    except ImportError as error:
        raise ValueError(
            f"bags are read with the messages of this package, which are not built here: {error}"
        ) from None
    telling = BagTelling(domain, str(bag))
    try:
        with AnyReader([bag], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
            wanted = [(c, kind) for c in reader.connections if (kind := _kind(c.topic)) is not None]
            kinds = {connection.id: kind for connection, kind in wanted}
            for connection, stamp, data in reader.messages(connections=[c for c, _ in wanted]):
                message: Any = reader.deserialize(data, connection.msgtype)
                kind = kinds[connection.id]
                if kind == SCENE:
                    if not hasattr(message, "limits"):  # the bag is older than these
                        message.limits = []
                    telling.scene(graph_from_msg(message))
                else:
                    telling.tell(kind, message, stamp * 1e-9)
    except Exception as error:  # each reader of a broken bag fails in a way of its own
        raise ValueError(f"{bag} cannot be read: {error!r}; graph-planner bag repair may help") from error
    return telling.finish()


def _kind(topic: str) -> str | None:
    """Return what a topic tells, in whatever namespace; ground truth tells nothing."""
    for kind in (SCENE, PLAN, STATUS, DONE, FAILED):
        if (topic == f"/{kind}" or topic.endswith(f"/{kind}")) and "ground_truth" not in topic:
            return kind
    return None


@dataclass
class _Task:
    """A task whose end was not seen yet."""

    header: EpisodeHeader
    steps: list[ExperienceStep]
    before: SceneGraph | None = None
    action: GroundAction | None = None
    outcome: bool | None = None
    revision: int = -1


class BagTelling:
    """Makes episodes of the messages of a run, in their order.

    Args:
        domain: of the scenes. origin: where they come from.
    """

    def __init__(self, domain: Domain, origin: str) -> None:
        self._domain = domain
        self._origin = origin
        self._parser = InstructionParser(domain) if domain.raw.get("wording") else None
        self._scene: SceneGraph | None = None
        self._tasks: dict[str, _Task] = {}
        self._episodes: list[Episode] = []

    def scene(self, graph: SceneGraph) -> None:
        """Take in what is believed from now on."""
        if graph.domain in ("", self._domain.name):
            self._scene = known_part(graph, self._domain)[0]

    def tell(self, kind: str, message: Any, now: float) -> None:
        """Take in a message of `PLAN`, `DONE`, `FAILED` or `STATUS`; ``now`` in seconds."""
        if not message.task_id:
            return
        if kind == PLAN:
            self._planned(message, now)
        elif kind == STATUS:
            self._status(message, now)
        elif (task := self._tasks.get(message.task_id)) is not None and message.revision == task.revision:
            task.outcome = kind == DONE

    def finish(self) -> list[Episode]:
        """Return all episodes; tasks without an end were interrupted."""
        for task_id in list(self._tasks):
            self._end(task_id, EpisodeStatus.INTERRUPTED, "the recording ends before the task does")
        return self._episodes

    def _planned(self, message: Any, now: float) -> None:
        task = self._begin(message, now)
        if message.next < len(message.subtasks) and message.revision > task.revision and self._scene is not None:
            self._close_step(task)
            subtask = message.subtasks[message.next]
            task.before, task.outcome, task.revision = self._scene, None, message.revision
            task.action = GroundAction(subtask.action, tuple(subtask.arguments))

    def _status(self, message: Any, now: float) -> None:
        if message.status in _RUNNING:
            self._begin(message, now)
        elif message.task_id in self._tasks:
            status = _ENDED.get(message.status, EpisodeStatus.FAILED)
            self._end(message.task_id, status, message.reason)

    def _begin(self, message: Any, now: float) -> _Task:
        task = self._tasks.get(message.task_id)
        if task is None:
            header = EpisodeHeader(
                uuid.uuid5(uuid.NAMESPACE_URL, message.task_id).hex,  # so the same bag read twice is the same episode
                self._domain.name,
                domain_hash(self._domain),
                message.instruction,
                self._goals(message),
                self._origin,
                started=now,
            )
            task = self._tasks[message.task_id] = _Task(header, [])
        if getattr(message, "goals", None):
            task.header = replace(task.header, goals=self._goals(message))
        return task

    def _goals(self, message: Any) -> tuple[Goal, ...]:
        """Return the goals that a message tells, or, in bags that are older than those, what its instruction says."""
        if getattr(message, "goals", None):
            from graph_planner_ros.conversions import goal_from_msg

            return tuple(goal_from_msg(goal) for goal in message.goals)
        return self._parser.parse(message.instruction, self._scene).goals if self._parser is not None else ()

    def _close_step(self, task: _Task) -> None:
        """Keep the step before, now that it shows what came of it; one without an end was given up."""
        if task.before is not None and task.action is not None and task.outcome is not None:
            action, succeeded = task.action, task.outcome
            if succeeded and self._scene is not None:
                action, succeeded = name_what_was_found(self._domain, task.before, self._scene, action)
            task.steps.append(ExperienceStep(len(task.steps), task.before.stamp, task.before, action, succeeded))
        task.before = task.action = None

    def _end(self, task_id: str, status: EpisodeStatus, reason: str) -> None:
        task = self._tasks.pop(task_id)
        self._close_step(task)
        if task.steps and self._scene is not None:
            last = ExperienceStep(len(task.steps), self._scene.stamp, self._scene)
            header = replace(task.header, status=status, reason=reason)
            self._episodes.append(Episode(header, (*task.steps, last)))


def find_bags(paths: list[Path]) -> Iterator[Path]:
    """Yield the bags among folders and below them.

    Raises:
        FileNotFoundError: naming a path that is none and has none below it.
    """
    for path in paths:
        found = sorted({file.parent for file in path.rglob("metadata.yaml")}) if path.is_dir() else []
        if not found:
            raise FileNotFoundError(f"there is no bag in {path}")
        yield from found
