"""What the memory has to say at a moment: remembered actions, and the loop that the episode is in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graph_planner_ros.domain.domain import Domain
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.memory.retrieval import RetrievedAction
from graph_planner_ros.memory.state_graph import Loop


@dataclass(frozen=True)
class Advice:
    """The content of ``msg/MemoryAdvice``, its lists in the same order.

    Attributes:
        retrieved: remembered actions, best first. loop: that the last action closed; None if it closed none.
        task_id: of the running task. stamp: seconds of ROS time of the scene that was asked about.
    """

    retrieved: tuple[RetrievedAction, ...] = ()
    loop: Loop | None = None
    task_id: str = ""
    stamp: float = 0.0

    @property
    def actions(self) -> tuple[GroundAction, ...]:
        """The remembered next actions."""
        return tuple(item.action for item in self.retrieved)

    @property
    def distances(self) -> tuple[float, ...]:
        """Embedding distance of each."""
        return tuple(item.distance for item in self.retrieved)

    @property
    def origins(self) -> tuple[str, ...]:
        """Where the episode of each comes from, and its id."""
        return tuple(f"{item.origin} {item.episode_id}".strip() for item in self.retrieved)

    @property
    def cycle(self) -> tuple[str, ...]:
        """The actions of the loop; empty if there is none."""
        return tuple(map(str, self.loop.actions)) if self.loop is not None else ()


def describe_action(domain: Domain, action: GroundAction) -> str:
    """Return an action in the domain's words."""
    schema, skill = domain.actions.get(action.name), domain.skills.get(action.name)
    if schema is None or skill is None or len(schema.parameters) != len(action.arguments):
        return str(action)
    values = {parameter.name: value for parameter, value in zip(schema.parameters, action.arguments, strict=True)}
    return skill.text.format(**values)


def describe_advice(domain: Domain, advice: Advice, following: int = 3) -> str:
    """Return advice as short sentences for people and prompts; empty if there is none.

    Args:
        following: actions that are told after each remembered one.
    """
    lines = []
    if advice.loop is not None:
        words = " -> ".join(_words(domain, advice.loop.actions))
        times = f", {advice.loop.turns} times in a row" if advice.loop.turns > 1 else ""
        lines.append(f"You went in a circle{times}: {words}.")
    for item in advice.retrieved:
        words = ", then ".join(_words(domain, (item.action, *item.following[:following])))
        lines.append(f"In a similar situation (distance {item.distance:.2f}): {words}.")
    return "\n".join(lines)


def _words(domain: Domain, actions: Sequence[GroundAction]) -> list[str]:
    return [describe_action(domain, action) for action in actions]
