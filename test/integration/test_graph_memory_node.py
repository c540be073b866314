"""The graph memory beside planner and executor: tasks become episodes, episodes become advice, nothing is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness import System, wait_until
from test_task import Robot, Status

from graph_planner_ros import msg as messages
from graph_planner_ros import srv as services
from graph_planner_ros.conversions import graph_to_msg
from graph_planner_ros.memory.episode_files import read_episodes
from graph_planner_ros.memory.experience import EpisodeStatus
from graph_planner_ros.nodes.base import LATCHED, ManagedNode
from graph_planner_ros.nodes.graph_memory import GraphMemoryNode

TASK = "put a tomato on the dining table"
HIDDEN = {"tomato_1": ("Tomato", "fridge_1")}


class Listener(ManagedNode):
    """Hears what the memory says, and calls its services."""

    def __init__(self, **options: Any) -> None:
        super().__init__("listener", (), **options)
        self.advice: list[Any] = []
        self.states: list[Any] = []
        self.statistics: list[Any] = []

    def configure(self) -> None:
        subscribe = self.create_subscription
        self._own = [
            subscribe(messages.MemoryAdvice, "memory/advice", self.advice.append, LATCHED),
            subscribe(messages.StateTransitionGraph, "memory/state_graph", self.states.append, LATCHED),
            subscribe(messages.MemoryStatistics, "memory/statistics", self.statistics.append, LATCHED),
        ]
        self.callers = {
            "retrieve": self.create_client(services.RetrieveExperience, "retrieve_experience"),
            "save": self.create_client(services.SaveExperience, "graph_memory/save"),
            "load": self.create_client(services.LoadExperience, "graph_memory/load"),
            "statistics": self.create_client(services.GetMemoryStatistics, "graph_memory/statistics"),
        }

    def release(self) -> None:
        self.destroy_all([*getattr(self, "_own", []), *getattr(self, "callers", {}).values()])

    def ask(self, name: str, **fields: Any) -> Any:
        client = self.callers[name]
        wait_until(client.service_is_ready, f"the service {name}")
        future = client.call_async(client.srv_type.Request(**fields))
        wait_until(future.done, f"the answer of {name}")
        return future.result()


class Remembering(Robot):
    """A robot with a graph memory."""

    def __init__(self, system: System, bank: Path, **options: Any) -> None:
        self.memory = system.add(GraphMemoryNode, bank_file=str(bank), tau=1.0)
        self.listener = system.add(Listener)
        super().__init__(system, **options)

    def episodes(self, count: int) -> None:
        """Wait until the bank holds so many episodes."""
        wait_until(lambda: any(item.episodes == count for item in self.listener.statistics), f"{count} episodes")


def test_a_task_becomes_an_episode_and_the_next_one_is_told_of_it(system: System, tmp_path: Path) -> None:
    robot = Remembering(system, tmp_path / "bank.sqlite", hidden=HIDDEN)
    result = robot.do(TASK)
    assert result.status == Status.SUCCEEDED, result.reason
    robot.episodes(1)
    statistics = robot.listener.ask("statistics").statistics
    assert (statistics.episodes, statistics.succeeded, statistics.domain) == (1, 1, "household")
    assert statistics.steps == result.steps + 1
    assert robot.listener.states[-1].transitions and robot.listener.states[-1].task_id == result.task_id

    said = robot.listener.ask("retrieve", goals=list(robot.client.statuses[-1].goals))
    assert said.success, said.reason
    # what to do then: the tomato lies on the table now, so what is remembered is told only as far as it applies
    again = robot.do("put a mug on the dining table")
    assert again.status == Status.SUCCEEDED, again.reason
    robot.episodes(2)
    assert any(advice.actions for advice in robot.listener.advice)


def test_the_first_plan_of_a_task_knows_where_such_things_were_in_an_earlier_life(tmp_path: Path) -> None:
    from harness import running

    bank = tmp_path / "bank.sqlite"
    with running() as first:
        robot = Remembering(first, bank, hidden=HIDDEN)
        assert robot.do(TASK).status == Status.SUCCEEDED
        robot.episodes(1)
    with running() as second:
        robot = Remembering(second, bank, hidden=HIDDEN)
        wait_until(lambda: robot.listener.statistics, "the statistics")
        assert robot.listener.statistics[0].episodes == 1
        result = robot.do(TASK)
        assert result.status == Status.SUCCEEDED, result.reason
        mine = [plan for plan in robot.client.plans if plan.task_id == result.task_id]
        assert "memory" in mine[0].reason and "fridge_1" in mine[0].reason, mine[0].reason


def test_a_cancelled_task_is_an_interrupted_episode(system: System, tmp_path: Path) -> None:
    robot = Remembering(system, tmp_path / "bank.sqlite", hidden=HIDDEN, script={"open": ["hang"]})
    sent = robot.send(TASK)
    wait_until(lambda: ("open", ("fridge_1",)) in robot.bridge.calls, "the fridge is being opened")
    sent.cancel()
    assert sent.result().status == Status.CANCELLED
    robot.episodes(1)
    (header,) = robot.memory._worker.bank.headers()
    assert header.status is EpisodeStatus.INTERRUPTED and header.instruction == TASK


def test_episodes_are_saved_and_loaded_by_service_and_wrong_paths_are_told(system: System, tmp_path: Path) -> None:
    robot = Remembering(system, tmp_path / "bank.sqlite", hidden=HIDDEN)
    assert robot.do(TASK).status == Status.SUCCEEDED
    robot.episodes(1)
    saved = tmp_path / "saved.jsonl.gz"
    answer = robot.listener.ask("save", path=str(saved))
    assert answer.success and answer.episodes == 1, answer.reason
    (episode,) = read_episodes(saved)
    assert episode.header.status is EpisodeStatus.SUCCEEDED and episode.header.goals
    again = robot.listener.ask("save", path=str(saved))
    assert not again.success and "saved.jsonl.gz" in again.reason
    loaded = robot.listener.ask("load", path=str(saved))
    assert loaded.success and loaded.episodes == 0
    wrong = robot.listener.ask("load", path=str(tmp_path / "none.jsonl"))
    assert not wrong.success and "none.jsonl" in wrong.reason
    assert robot.memory.active


def test_a_question_with_a_scene_that_cannot_be_is_answered_with_why(system: System, tmp_path: Path) -> None:
    memory = system.add(GraphMemoryNode, bank_file=str(tmp_path / "bank.sqlite"))
    listener = system.add(Listener)
    assert "no scene graph" in listener.ask("retrieve").reason
    message = messages.SceneGraph(nodes=[messages.SceneNode(instance_id="mug_1", label="Mug", confidence=7.0)])
    answer = listener.ask("retrieve", scene_graph=message)
    assert not answer.success and "mug_1" in answer.reason
    from harness import kitchen

    assert listener.ask("retrieve", scene_graph=graph_to_msg(kitchen())).success
    assert memory.active and memory.errors == 0


def test_a_file_that_is_no_bank_refuses_the_start_and_is_left_as_it_is(system: System, tmp_path: Path) -> None:
    path = tmp_path / "bank.sqlite"
    path.write_text("a shopping list")
    node = system.add(GraphMemoryNode, autostart=False, bank_file=str(path))
    system.transition(node, "trigger_configure")
    assert "bank.sqlite" in node.fault and "bank" in node.fault
    assert path.read_text() == "a shopping list"
