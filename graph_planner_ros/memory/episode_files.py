"""Episodes as JSON lines: what collecting writes, training reads, and banks exchange."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.json_files import NO_SUCH_SHAPE, read_lines, what_is_wrong
from graph_planner_ros.domain.symbols import Goal, GoalLiteral, GoalVariable, GroundAction
from graph_planner_ros.memory.experience import Episode, EpisodeHeader, EpisodeStatus, ExperienceStep
from graph_planner_ros.scene.storage import graph_from_dict, graph_to_dict

FORMAT = 1


class EpisodeFileError(ValueError):
    """A file of episodes cannot be read; the message names file and line."""


def domain_hash(domain: Domain) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of what a domain's two files say."""
    content = b"".join((domain.folder / name).read_bytes() for name in ("domain.pddl", "domain.yaml"))
    return hashlib.sha256(content).hexdigest()[:16]


def episode_to_dict(episode: Episode) -> dict[str, Any]:
    """Return an episode as plain JSON values."""
    header = episode.header
    goals = [goal_to_dict(goal) for goal in header.goals]
    return {
        "format": FORMAT,
        **asdict(replace(header, goals=())),
        "goals": goals,
        "status": header.status.value,
        "steps": [step_to_dict(step) for step in episode.steps],
    }


def episode_from_dict(data: dict[str, Any]) -> Episode:
    """Return the episode that `episode_to_dict` wrote.

    Raises:
        ValueError, KeyError, TypeError: if it is something else.
    """
    if data["format"] != FORMAT:
        raise ValueError(f"expected format {FORMAT}, found {data['format']!r}")
    values = {name: value for name, value in data.items() if name not in ("format", "steps", "goals", "status")}
    goals = tuple(goal_from_dict(goal) for goal in data["goals"])
    header = EpisodeHeader(**values, goals=goals, status=EpisodeStatus(data["status"]))
    return Episode(header, tuple(step_from_dict(step) for step in data["steps"]))


def step_to_dict(step: ExperienceStep) -> dict[str, Any]:
    """Return a step as plain JSON values."""
    return {
        "index": step.index,
        "stamp": step.stamp,
        "scene": graph_to_dict(step.scene),
        "action": [step.action.name, *step.action.arguments] if step.action is not None else None,
        "succeeded": step.succeeded,
        "embedding": [float(value) for value in step.embedding] if step.embedding is not None else None,
    }


def step_from_dict(data: dict[str, Any]) -> ExperienceStep:
    """Return the step that `step_to_dict` wrote."""
    action, embedding = data["action"], data["embedding"]
    return ExperienceStep(
        int(data["index"]),
        float(data["stamp"]),
        graph_from_dict(data["scene"]),
        GroundAction(str(action[0]), tuple(str(name) for name in action[1:])) if action is not None else None,
        data["succeeded"],
        np.asarray(embedding, dtype=np.float32) if embedding is not None else None,
    )


def goal_to_dict(goal: Goal) -> dict[str, Any]:
    """Return a goal as plain JSON values."""
    return asdict(goal)


def goal_from_dict(data: dict[str, Any]) -> Goal:
    """Return the goal that `goal_to_dict` wrote."""
    return Goal(
        tuple(GoalVariable(**variable) for variable in data["variables"]),
        tuple(GoalLiteral(item["predicate"], tuple(item["arguments"]), item["positive"]) for item in data["literals"]),
        tuple(tuple(group) for group in data["distinct"]),
        data["text"],
        data["optional"],
    )


def write_episodes(path: Path, episodes: Iterable[Episode]) -> int:
    """Append episodes to a file of JSON lines, gzipped if its name ends so; return how many."""
    count = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "at", encoding="utf-8") as file:
        for episode in episodes:
            file.write(json.dumps(episode_to_dict(episode), allow_nan=False) + "\n")
            file.flush()
            count += 1
    return count


def read_episodes(path: Path) -> Iterator[Episode]:
    """Yield the episodes of a file one by one.

    Raises:
        EpisodeFileError: naming the file, and the line where that is known.
    """
    number = 0
    try:
        for line in read_lines(path, EpisodeFileError):
            number += 1
            if line.strip():
                yield episode_from_dict(json.loads(line))
    except EpisodeFileError:
        raise
    except NO_SUCH_SHAPE as error:
        raise EpisodeFileError(f"{path}, line {number}: {what_is_wrong(error, 'an episode')}") from error
