"""The bridge to a text world (ALFWorld, Robotouille, TextWorld, or one of your own): one game, played by skills.

It stands for robot and perception: what the world says becomes the scene graph, by the language interface alone.

    topic or service        type                  what
    scene_graph             SceneGraph            latched; what is believed from the texts. frame_id is empty: no poses
    observation_text        TextObservation       kept; each observation with commands, goal, status, score
    admissible_commands     AdmissibleCommands    latched; what the world admits now
    goal_text               std_msgs/String       latched; the goal of the game in the world's own words
    execute_skill           action ExecuteSkill   a skill of the domain becomes one admissible command
    start_game              service StartGame     the next game, the same again, or a named one
    executor/state, goal_status, events/*         heard, so that who waits for a newer belief gets it at once

A long way through several places is taken one command a skill, see `planning.ways.is_under_way`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from std_msgs.msg import String

from graph_planner_ros import msg as messages
from graph_planner_ros.benchmarks.worlds.game import GameStatus
from graph_planner_ros.bridges.skill_server import ServedSkill, SkillServer
from graph_planner_ros.bridges.text_game import Told
from graph_planner_ros.bridges.text_world import TextWorld, open_world, world_settings
from graph_planner_ros.conversions import graph_to_msg, header, to_stamp
from graph_planner_ros.nodes.base import KEPT, LATCHED, RELIABLE, ManagedNode, Param
from graph_planner_ros.nodes.process import run_node
from graph_planner_ros.scene.graph import SceneNode
from graph_planner_ros.srv import StartGame

STATUS = {
    GameStatus.RUNNING: messages.TextObservation.RUNNING,
    GameStatus.WON: messages.TextObservation.WON,
    GameStatus.LOST: messages.TextObservation.LOST,
    GameStatus.CRASHED: messages.TextObservation.CRASHED,
}
ANY = -1
"""Value of the parameters ``seed`` and ``limit`` that stands for the world's own."""

PARAMETERS = (
    Param("world", "alfworld", "alfworld, robotouille, textworld, or module:callable of a world of one's own"),
    Param("data", "", "file or folder of games; not needed if game is a file"),
    Param("game", "", "game to begin with: name, part of a name, number from 0, or a file; empty: the first"),
    Param("split", "", "split of the data; empty: the world's own"),
    Param("seed", ANY, "seed of the games; -1: the world's own", ANY, 2**31 - 1),
    Param("limit", ANY, "commands after which a game is lost; -1: the world's own", ANY, 2**31 - 1),
    Param("checkout", "", "checkout of the engine, for robotouille"),
    Param("python", "", "Python of the engine's environment; empty: where graph-planner bench finds it"),
    Param("belief_rate", 2.0, "scene graphs per second of wall time while nothing happens", 0.1, 30.0),
    Param("client_timeout", 10.0, "silence of the executor after which its skill is stopped, wall seconds", 0.5, 60.0),
)


class TextWorldNode(ManagedNode):
    """Owns one text world; see the top of this file."""

    def __init__(self, **options: Any) -> None:
        super().__init__("text_world_bridge", PARAMETERS, **options)
        self._entities: list[Any] = []
        self._world: TextWorld | None = None
        self._server: SkillServer | None = None
        self._served: ServedSkill | None = None
        self._lock = threading.Lock()
        self._belief: messages.SceneGraph | None = None
        self._told: messages.TextObservation | None = None
        self._publishing = False

    # ---- life cycle

    def configure(self) -> None:
        """Start the engine and the first game; skills are refused until the node is active."""
        words = {name: str(self.value(name)) for name in ("data", "game", "split", "checkout", "python")}
        seed, limit = (self.value(name) if self.value(name) != ANY else None for name in ("seed", "limit"))
        games = open_world(world_settings(str(self.value("world")), **words, seed=seed, limit=limit))
        self._world = TextWorld(games, self.now, self._hear)
        begun = threading.Event()
        problems: list[str] = []

        def done(problem: str) -> None:
            problems.append(problem)
            begun.set()

        self._world.start_game(str(games.first), done)
        begun.wait()  # ends by the engine's own time limits
        if problems[0]:
            raise RuntimeError(problems[0])
        self._create_publishers()  # only now: who finds the topics may rely on what they say
        self._server = SkillServer(self, self._begin, client_timeout=self.value("client_timeout"))
        subscribe = self.create_subscription
        self._entities += [
            subscribe(messages.ExecutorState, "executor/state", self._refresh, LATCHED),
            subscribe(messages.GoalStatus, "goal_status", self._refresh, LATCHED),
            subscribe(messages.SubtaskCompleted, "events/subtask_completed", self._refresh, RELIABLE),
            subscribe(messages.ActionFailure, "events/action_failure", self._refresh, RELIABLE),
            self.create_service(StartGame, "start_game", self._on_start_game, callback_group=ReentrantCallbackGroup()),
            self.create_timer(1.0 / self.value("belief_rate"), self._beat, clock=self.steady_clock),
        ]

    def activate(self) -> None:
        """Say what is believed."""
        self._refresh()

    def deactivate(self) -> None:
        """Stop the running skill; the game waits."""
        if self._server is not None:
            self._server.stop_current("the bridge was deactivated")

    def release(self) -> None:
        """End the engine and destroy the interfaces."""
        world, self._world = self._world, None
        if world is not None:
            world.close()
        with self._lock:
            self._publishing = False
        if self._server is not None:
            self._server.destroy()
            self._server = None
        self.destroy_all(self._entities)
        self._entities, self._belief, self._told, self._served = [], None, None, None

    def busy(self) -> bool:
        """Return whether a skill has not given its result yet."""
        return self._server is not None and self._server.busy

    def diagnose(self) -> tuple[bytes, str, dict[str, Any]]:
        """Say which game is played, and how it stands."""
        world, told = self._world, self._told
        if world is None or told is None:
            return DiagnosticStatus.OK, "no game", {}
        values = {"game": told.game, "step": told.step, "score": f"{told.score:.2f}", "goal": told.goal}
        if told.status == messages.TextObservation.CRASHED:
            return DiagnosticStatus.ERROR, told.reason, values
        return DiagnosticStatus.OK, told.reason or next(s.value for s, n in STATUS.items() if n == told.status), values

    # ---- what the world says

    def _create_publishers(self) -> None:
        self._texts = self.create_publisher(messages.TextObservation, "observation_text", KEPT)
        self._commands = self.create_publisher(messages.AdmissibleCommands, "admissible_commands", LATCHED)
        self._goals = self.create_publisher(String, "goal_text", LATCHED)
        self._beliefs = self.create_publisher(messages.SceneGraph, "scene_graph", LATCHED)
        self._entities = [self._texts, self._commands, self._goals, self._beliefs]
        with self._lock:
            self._publishing = True
            self._send_text()

    def _hear(self, told: Told) -> None:
        """Publish an observation, and then what is believed; on the world's thread."""
        seen = told.observation
        text = messages.TextObservation(
            header=header(self.now()),
            world=told.spec.world,
            game=told.spec.name,
            step=told.step,
            command=told.command,
            text=seen.text,
            commands=list(seen.commands),
            goal=seen.goal,
            status=STATUS[seen.status],
            reason=seen.reason,
            score=float(seen.score),
            revision=told.graph.revision,
        )
        belief = graph_to_msg(told.graph)
        with self._lock:
            self._told, self._belief = text, belief
            if self._publishing:
                self._send_text()

    def _refresh(self, _: Any = None) -> None:
        """Say what is believed now; the world changes by commands only, so what was told last still holds."""
        with self._lock:
            self._send_belief()

    def _send_text(self) -> None:
        text = self._told
        assert text is not None
        self._texts.publish(text)
        commands = messages.AdmissibleCommands(header=text.header, step=text.step, commands=text.commands)
        self._commands.publish(commands)
        self._goals.publish(String(data=text.goal))
        self._send_belief()

    def _send_belief(self) -> None:
        if self._belief is not None and self._publishing:
            self._belief.header.stamp = to_stamp(self.now())
            self._beliefs.publish(self._belief)

    def _beat(self) -> None:
        self._refresh()
        served = self._served
        if served is None or served.future.done():
            return
        if not served.alive():
            served.stop("nobody waits for it any more")
        else:
            served.feedback(0.5, "waiting for the world's answer")

    # ---- what it is asked for

    def _begin(
        self, served: ServedSkill, skill: str, arguments: list[SceneNode], timeout: float
    ) -> Callable[[str], None]:
        assert self._world is not None
        self._served = served
        return self._world.run_skill(skill, [node.instance_id for node in arguments], served)

    async def _on_start_game(self, request: Any, response: Any) -> Any:
        world = self._world
        if world is None:
            response.success, response.reason = False, "no world runs"
            return response
        if self._server is not None:
            self._server.stop_current("another game begins")
        ended: Future = Future()
        world.start_game(request.game, lambda problem: self.on_executor(ended.set_result, problem))
        problem: str = await ended
        response.success, response.reason = not problem, problem
        if self._told is not None:
            response.game, response.goal = self._told.game, self._told.goal
        return response


def main() -> int:
    """Run the bridge."""
    return run_node(TextWorldNode, sys.argv)


if __name__ == "__main__":
    sys.exit(main())
