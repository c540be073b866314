"""What a text world adds to a task: its own word counts, and beliefs wait for the texts that they were made of."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.language.rules import load_language
from graph_planner_ros.msg import TextObservation
from graph_planner_ros.nodes.world_task import WorldTask
from graph_planner_ros.nodes.world_texts import LONGEST_HOLD, GameView, WorldText, WorldTexts
from graph_planner_ros.planning.result import TaskStatus
from graph_planner_ros.planning.session import Decision, DecisionKind
from graph_planner_ros.scene.graph import SceneGraph

GOAL = "put a mug in desk"
RUNNING, WON, LOST, CRASHED = (
    *(TextObservation.RUNNING, TextObservation.WON, TextObservation.LOST, TextObservation.CRASHED),
)
DONE = Decision(DecisionKind.DONE, TaskStatus.SUCCEEDED, "the goal is reached")
ON = Decision(DecisionKind.KEEP, TaskStatus.RUNNING, "the rest of the plan holds")
STUCK = Decision(DecisionKind.FAILED, TaskStatus.GOAL_UNKNOWN, "nobody knows a mug")


class Source:
    def __init__(self, view: GameView, texts: Sequence[WorldText] = ()) -> None:
        self.view, self.texts = view, texts

    def since(self, count: int) -> Sequence[WorldText]:
        return tuple(self.texts[count:])


def judged(status: int, decision: Decision, instruction: str = GOAL) -> Decision:
    source = Source(GameView(GOAL, status, "time is up" if status in (LOST, CRASHED) else ""))
    language = load_language("alfworld")
    return WorldTask(language.domain, language.parser, source, instruction).judge(decision)


@pytest.mark.parametrize("decision", [DONE, ON, STUCK])
def test_a_game_that_is_won_ends_its_own_goal_well_whatever_is_believed(decision: Decision) -> None:
    found = judged(WON, decision)
    assert (found.kind, found.status) == (DecisionKind.DONE, TaskStatus.SUCCEEDED)


def test_while_the_world_does_not_say_so_its_own_goal_is_not_reached() -> None:
    found = judged(RUNNING, DONE)
    assert found.status is TaskStatus.EXECUTION_FAILED and "does not say so" in found.reason
    assert judged(RUNNING, ON) == ON and judged(RUNNING, STUCK) == STUCK


@pytest.mark.parametrize("status", [LOST, CRASHED])
@pytest.mark.parametrize("instruction", [GOAL, "put a pen in drawer"])
def test_a_game_that_is_over_ends_every_task_with_its_reason(status: int, instruction: str) -> None:
    found = judged(status, ON, instruction)
    assert found.kind is DecisionKind.FAILED and "time is up" in found.reason


def test_another_goal_is_judged_by_the_belief() -> None:
    for status in (RUNNING, WON, LOST):
        assert judged(status, DONE, "put a pen in drawer") == DONE
    assert "the game is won" in judged(WON, ON, "put a pen in drawer").reason


def test_what_the_texts_ask_for_belongs_to_the_games_own_goal_only() -> None:
    domain, parser = load_domain("textworld"), load_language("textworld").parser
    goal = "Check the cookbook in the kitchen for the recipe. Once done, enjoy your meal!"
    source = Source(GameView(goal), (WorldText("Ingredients:\n  carrot\n\nDirections:\n  prepare meal\n"),))
    graph = SceneGraph(frame_id="", domain="textworld")
    own = WorldTask(domain, parser, source, goal)
    asked = parser.goals(goal, SimpleNamespace(objects={}, location="", command="", commands=(), goal=goal))  # type: ignore[arg-type]
    assert len(own.goals(asked, graph)) > len(asked)
    assert len(own.goals((), graph)) >= 1 and WorldTask(domain, parser, source, "find the knife").goals((), graph) == ()


class Node:
    """Stands for the planner node."""

    def __init__(self, publishers: int = 1) -> None:
        self.publishers, self.warned, self.hear = publishers, 0, lambda message: None

    def create_subscription(self, kind: Any, topic: str, hear: Any, qos: Any) -> object:
        self.hear = hear
        return object()

    def resolve_topic_name(self, topic: str) -> str:
        return f"/{topic}"

    def count_publishers(self, topic: str) -> int:
        return self.publishers

    def warn_once(self, key: str, text: str) -> None:
        self.warned += 1


def test_a_belief_waits_for_its_text_but_not_for_one_that_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("graph_planner_ros.nodes.world_texts.time.monotonic", lambda: now[0])
    node, begun, came = Node(), [], []
    texts = WorldTexts(node, begun.append, lambda: came.append(True))  # type: ignore[arg-type]
    graph = SceneGraph(revision=3)
    assert not texts.covers(graph)
    node.hear(TextObservation(step=0, game="one", goal=GOAL, revision=2))
    assert came and not texts.covers(graph) and texts.covers(SceneGraph(revision=2))
    node.hear(TextObservation(step=1, game="one", goal=GOAL, text="You open it.", revision=3))
    assert texts.covers(graph) and len(texts.since(0)) == 2 and texts.since(1)[0].text == "You open it."
    late = SceneGraph(revision=4)
    assert not texts.covers(late)
    now[0] += LONGEST_HOLD + 0.1
    assert texts.covers(late) and node.warned == 1 and begun == []


def test_a_new_game_is_told_and_its_texts_begin_anew() -> None:
    node, begun = Node(), []
    texts = WorldTexts(node, begun.append, lambda: None)  # type: ignore[arg-type]
    for game in ("one", "two"):
        for step in range(3):
            node.hear(TextObservation(step=step, game=game, revision=step + 1))
    assert begun == ["two"] and len(texts.since(0)) == 3


def test_where_no_world_talks_nothing_waits() -> None:
    texts = WorldTexts(Node(publishers=0), lambda name: None, lambda: None)  # type: ignore[arg-type]
    assert texts.covers(SceneGraph(revision=9))
