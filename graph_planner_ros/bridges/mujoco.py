"""The MuJoCo kitchen's skills behind the interface that every bridge offers: start, tick, cancel.

Positions of items come from the passed belief only, see `graph_planner_ros.sim.skill_context`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from graph_planner_ros.scene.graph import SceneNode
from graph_planner_ros.sim import skills_door, skills_pick, skills_put, skills_use, skills_view
from graph_planner_ros.sim.fixture_map import FixtureMap
from graph_planner_ros.sim.motion import Mover, SkillFailure
from graph_planner_ros.sim.robot import MujocoRobot
from graph_planner_ros.sim.skill_context import Held, Skill, SkillContext
from graph_planner_ros.skills.result import SkillResult, SkillStatus

Starter = Callable[..., Skill]
_SKILLS: dict[str, tuple[int, Starter]] = {
    "go_to": (1, skills_view.go_to),
    "look": (1, skills_view.look),
    "pick_up": (2, skills_pick.pick_up),
    "put": (2, skills_put.put),
    "open": (1, skills_door.open_door),
    "close": (1, skills_door.close_door),
    "slice": (2, skills_use.cut),
    "heat": (2, skills_use.heat),
    "cool": (2, skills_use.cool),
    "clean": (2, skills_use.clean),
    "toggle_on": (1, lambda context, node: skills_use.toggle(context, node, True)),
    "toggle_off": (1, lambda context, node: skills_use.toggle(context, node, False)),
    "examine": (2, skills_use.examine),
}


class SkillRun:
    """One skill being carried out.

    Attributes:
        skill: its name. phase: what is being done, in words. progress: 0..1.
        result: None while it runs.
    """

    def __init__(self, bridge: MujocoBridge, skill: str, context: SkillContext | None, steps: Skill | None,
                 timeout: float, result: SkillResult | None = None) -> None:  # fmt: skip
        self._bridge, self.skill, self._context, self._steps = bridge, skill, context, steps
        self._end = bridge.world.data.time + timeout if timeout > 0 else float("inf")
        self.result: SkillResult | None = None
        if result is not None:
            self._finish(result)

    @property
    def phase(self) -> str:
        """What is being done now, in words."""
        return self._context.phase if self._context else ""

    @property
    def progress(self) -> float:
        """How far it has come, 0..1."""
        return self._context.progress if self._context else 0.0

    @property
    def done(self) -> bool:
        """True once there is a result."""
        return self.result is not None

    def tick(self) -> SkillResult | None:
        """Go on for one control period (the physics runs inside); returns the result once there is one."""
        if self.result is not None:
            self._bridge.robot.tick()
            return self.result
        assert self._steps is not None
        if self._bridge.world.data.time >= self._end:
            self._steps.close()
            self._finish(
                SkillResult(SkillStatus.EXECUTION_FAILED, "timeout", f"{self.skill} took longer than allowed", True)
            )
            return self.result
        try:
            next(self._steps)
        except StopIteration:
            self._finish(SkillResult(SkillStatus.SUCCEEDED))
        except SkillFailure as failure:
            self._finish(SkillResult(failure.status, failure.code, failure.reason, failure.recoverable))
        except Exception as error:  # a mistake in one skill must not take the whole robot down
            logging.getLogger(__name__).exception("skill %s broke", self.skill)
            reason = f"{self.skill} broke: {type(error).__name__}: {error}"
            self._finish(SkillResult(SkillStatus.EXECUTION_FAILED, "", reason, False))
        else:
            self._bridge.robot.tick()
        return self.result

    def run(self) -> SkillResult:
        """Tick to the end."""
        while self.result is None:
            self.tick()
        return self.result

    def cancel(self, reason: str = "cancelled") -> None:
        """Stop at once: the robot stands still where it is and is ready for the next skill."""
        if self.result is None:
            if self._steps is not None:
                self._steps.close()
            self._finish(SkillResult(SkillStatus.CANCELLED, "", reason))

    def _finish(self, result: SkillResult) -> None:
        self.result = result
        self._bridge.finished(self, result, self._context)


class MujocoBridge:
    """Starts skills of the simulated robot, one at a time.

    Args:
        world: a `KitchenWorld`. robot: the robot in it.
    """

    def __init__(self, world: Any, robot: MujocoRobot) -> None:
        self.world, self.robot = world, robot
        self.fixtures = FixtureMap(world)
        self.mover = Mover(robot, self.fixtures)
        self.active: SkillRun | None = None
        self._held: Held | None = None
        self._arguments: list[SceneNode] = []

    @property
    def skills(self) -> tuple[str, ...]:
        """Names of all skills."""
        return tuple(_SKILLS)

    def start(self, skill: str, arguments: Sequence[SceneNode], timeout: float = 0.0,
              context: Sequence[SceneNode] = ()) -> SkillRun:  # fmt: skip
        """Start a skill; a running one is cancelled first.

        Args:
            arguments: believed things, in the order of the domain's YAML; boxes in the map frame.
            timeout: seconds of simulated time, 0 for none.
            context: everything else that is believed; helps to keep clear of it.
        """
        if self.active is not None:
            self.active.cancel("another skill was started")
        refused = self._refuse(skill, arguments)
        if refused is not None:
            return SkillRun(self, skill, None, None, timeout, refused)
        self._report(skill, arguments, "start")
        self._arguments = list(arguments)
        believed = {node.instance_id: node for node in (*context, *arguments)}
        run_context = SkillContext(self.world, self.robot, self.fixtures, self.mover, list(believed.values()), skill,
                                   lambda: self._report(skill, arguments, "middle"))  # fmt: skip
        run_context.held = self._held if self.robot.holding else None
        steps = self._steps(skill, run_context, arguments)
        self.active = SkillRun(self, skill, run_context, steps, timeout)
        return self.active

    def tick(self) -> SkillResult | None:
        """One control period, whether a skill runs or not; returns the result of a skill that has just ended."""
        if self.active is not None:
            return self.active.tick()
        self.robot.tick()
        return None

    def finished(self, run: SkillRun, result: SkillResult, context: SkillContext | None) -> None:
        """A run tells that it has ended: the robot stops, and what is in the hand is remembered."""
        if context is None:
            return
        self.robot.release_handle()
        self.robot.stop()
        self._held = context.held if self.robot.holding else None
        if self.active is run:
            self.active = None
        if result.succeeded and run.skill == "go_to":
            self.world.robot_at = self._arguments[0].instance_id
        self._report(run.skill, self._arguments, "end")

    def _refuse(self, skill: str, arguments: Sequence[SceneNode]) -> SkillResult | None:
        if skill not in _SKILLS:
            return SkillResult(SkillStatus.UNKNOWN_SKILL, "", f"this robot has no skill {skill!r}; it has "
                               + ", ".join(self.skills), False, self.skills)  # fmt: skip
        count = _SKILLS[skill][0]
        if len(arguments) != count:
            return SkillResult(SkillStatus.PRECONDITION_FAILED, "object_not_found",
                               f"{skill} needs {count} argument(s), got {len(arguments)}", False)  # fmt: skip
        return None

    def _steps(self, skill: str, context: SkillContext, arguments: Sequence[SceneNode]) -> Skill:
        if skill not in ("go_to", "look") or self.robot.position("arm") > 0.02:
            yield from self._tidy()
        yield from _SKILLS[skill][1](context, *arguments)

    def _tidy(self) -> Skill:
        """Bring the arm home if the last skill was stopped half-way."""
        robot = self.robot
        if robot.position("arm") < 0.02 and abs(robot.position("wrist_pitch") - 1.5708) < 0.1:
            robot.hand_solid(True)
            return
        yield from self.mover.recover()

    def _report(self, skill: str, arguments: Sequence[SceneNode], phase: str) -> None:
        report = getattr(self.world, "on_skill", None)
        if report is not None:
            report(skill, list(arguments), phase)
