"""The graph memory beside planner and executor: tasks become episodes, episodes become advice, nothing is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness import System, kitchen, running, wait_until
from rclpy.duration import Duration
from test_task import Robot, Status

from graph_planner_ros import msg as messages
from graph_planner_ros import srv as services
from graph_planner_ros.conversions import completion_to_msg, graph_to_msg, plan_to_msg
from graph_planner_ros.domain.symbols import GroundAction
from graph_planner_ros.memory.episode_files import read_episodes
from graph_planner_ros.memory.experience import EpisodeStatus
from graph_planner_ros.nodes.base import LATCHED, RELIABLE, ManagedNode
from graph_planner_ros.nodes.graph_memory import GraphMemoryNode
from graph_planner_ros.planning.result import PlannedStep
from graph_planner_ros.scene.graph import Relation

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
    assert listener.ask("retrieve", scene_graph=graph_to_msg(kitchen())).success
    assert memory.active and memory.errors == 0


class Speaker(ManagedNode):
    """Says what planner, executor and perception say, in whatever order."""

    def __init__(self, **options: Any) -> None:
        super().__init__("speaker", (), **options)

    def configure(self) -> None:
        self.topics = {
            kind: self.create_publisher(kind, topic, qos)
            for kind, topic, qos in (
                (messages.GoalStatus, "goal_status", LATCHED),
                (messages.Plan, "plan", LATCHED),
                (messages.SceneGraph, "scene_graph", LATCHED),
                (messages.SubtaskCompleted, "events/subtask_completed", RELIABLE),
            )
        }

    def release(self) -> None:
        self.destroy_all(getattr(self, "topics", {}).values())

    def say(self, message: Any) -> None:
        publisher = self.topics[type(message)]
        wait_until(lambda: publisher.get_subscription_count() > 0, "somebody listens")
        publisher.publish(message)
        assert publisher.wait_for_all_acked(Duration(seconds=20.0))


def test_a_plan_that_comes_before_the_scene_it_rests_on_waits_for_it(system: System, tmp_path: Path) -> None:
    memory = system.add(GraphMemoryNode, bank_file=str(tmp_path / "bank.sqlite"))
    speaker = system.add(Speaker)
    scene = kitchen()

    def seen(stamp: float, at: str) -> messages.SceneGraph:
        scene.stamp = stamp
        scene.relations = [Relation("robot", "at", at)]
        return graph_to_msg(scene)

    def plan(revision: int, *actions: GroundAction, status: int = messages.Plan.ACTIVE) -> messages.Plan:
        steps = [PlannedStep(action) for action in actions]
        return plan_to_msg(steps, stamp=float(revision), task_id="t", revision=revision, status=status)

    there = GroundAction("go_to", ("start", "fridge_1"))
    back = GroundAction("go_to", ("fridge_1", "counter_top_1"))
    speaker.say(seen(1.0, "start"))
    speaker.say(messages.GoalStatus(task_id="t", instruction="go round", status=messages.GoalStatus.RUNNING))
    for revision, action, at in ((1, there, "fridge_1"), (2, back, "counter_top_1")):
        said = plan(revision, action)
        speaker.say(said)
        wait_until(lambda number=revision: plan_seen(memory, number), f"revision {revision} has come")
        speaker.say(completion_to_msg(said, stamp=2.0 * revision, attempts=1, duration=1.0))
        wait_until(lambda end=2.0 * revision: memory._ended == end, "the event has come")
        if revision == 1:
            speaker.say(plan(2, back))  # the planner is faster than the scene graph
        else:
            speaker.say(messages.GoalStatus(task_id="t", status=messages.GoalStatus.SUCCEEDED))
            wait_until(lambda: memory._task == "", "the end has come")
        speaker.say(seen(2.0 * revision + 0.5, at))
    wait_until(lambda: any(h.status is EpisodeStatus.SUCCEEDED for h in memory._worker.bank.headers()), "an episode")
    (header,) = memory._worker.bank.headers()
    steps = memory._worker.bank.episode(header.episode_id).steps
    assert [step.action for step in steps] == [there, back, None]
    assert [step.scene.relations[0].object for step in steps] == ["start", "fridge_1", "counter_top_1"]


def plan_seen(memory: GraphMemoryNode, revision: int) -> bool:
    running = memory._worker._running
    return running is not None and running.revision == revision


def test_a_file_that_is_no_bank_refuses_the_start_and_is_left_as_it_is(system: System, tmp_path: Path) -> None:
    path = tmp_path / "bank.sqlite"
    path.write_text("a shopping list")
    node = system.add(GraphMemoryNode, autostart=False, bank_file=str(path))
    system.transition(node, "trigger_configure")
    assert "bank.sqlite" in node.fault and "bank" in node.fault
    assert path.read_text() == "a shopping list"
