"""What a task's thread waits for."""

from __future__ import annotations

import threading

import pytest

from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.nodes.mailbox import ExecutorBeat, Mailbox, StepEvent, TaskCancelled
from graph_planner_ros.scene.graph import SceneGraph
from graph_planner_ros.skills.result import SkillResult, SkillStatus


def event(task: str, revision: int) -> StepEvent:
    return StepEvent(task, revision, 0, GroundAction("look", ("a",)), SkillResult(SkillStatus.SUCCEEDED), 1.0)


def test_only_a_belief_that_is_new_enough_ends_the_wait() -> None:
    box = Mailbox()
    box.put_graph(SceneGraph(stamp=1.0))
    assert box.wait_graph(2.0, timeout=0.01) is None
    box.put_graph(SceneGraph(stamp=2.0))
    graph = box.wait_graph(2.0, timeout=5.0)
    assert graph is not None and graph.stamp == 2.0


def test_events_of_other_tasks_and_revisions_are_dropped() -> None:
    box = Mailbox()
    for task, revision in (("other", 3), ("mine", 2), ("mine", 3)):
        box.put_event(event(task, revision))
    found = box.wait_event("mine", 3, timeout=5.0)
    assert found is not None and (found.task_id, found.revision) == ("mine", 3)
    assert box.wait_event("mine", 3, timeout=0.01) is None


def test_a_cancel_ends_every_wait_with_the_first_reason() -> None:
    box = Mailbox()
    reasons: list[str] = []

    def wait() -> None:
        try:
            box.wait_graph(1.0, timeout=60.0)
        except TaskCancelled as cancelled:
            reasons.append(str(cancelled))

    waiter = threading.Thread(target=wait)
    waiter.start()
    box.cancel("first")
    box.cancel("second")
    waiter.join(timeout=10.0)
    assert reasons == ["first"]
    with pytest.raises(TaskCancelled):
        box.wait_event("t", 1, timeout=60.0)


def test_after_time_jumped_back_the_next_belief_counts_whatever_its_stamp() -> None:
    box = Mailbox()
    found: list[SceneGraph | None] = []
    waiter = threading.Thread(target=lambda: found.append(box.wait_graph(100.0, timeout=60.0)))
    waiter.start()
    while not box._condition._waiters:  # type: ignore[attr-defined]  # until it waits
        pass
    box.time_jumped()
    box.put_graph(SceneGraph(stamp=0.5))
    waiter.join(timeout=10.0)
    assert found and found[0] is not None and found[0].stamp == 0.5


def test_the_age_of_a_heartbeat_that_never_came_is_infinite() -> None:
    box = Mailbox()
    assert box.beat_age() == float("inf")
    box.put_beat(ExecutorBeat("t", 1, idle=True))
    assert box.beat_age() < 60.0
