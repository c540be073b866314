"""What all nodes share: parameters, life cycle, diagnostics, clean ends."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from harness import System, free_domain, wait_until
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter

from graph_planner_ros.bridges.mujoco_node import MujocoNode
from graph_planner_ros.nodes.base import ManagedNode, Param, ParameterError
from graph_planner_ros.nodes.executor import ExecutorNode
from graph_planner_ros.nodes.perception import PerceptionNode
from graph_planner_ros.nodes.planner import PlannerNode
from graph_planner_ros.nodes.recorder import RecorderNode

PARAMETERS = (
    Param("rate", 2.0, "a rate", 0.1, 10.0),
    Param("count", 3, "a count", 1, 5, dynamic=True),
    Param("engine", "fast", "an engine", choices=("fast", "slow")),
)


class Sample(ManagedNode):
    """Notes what happens to it."""

    def __init__(self, **options: Any) -> None:
        super().__init__("sample", PARAMETERS, **options)
        self.story: list[str] = []
        self.fail = ""

    def configure(self) -> None:
        self.story.append("configure")
        if self.fail == "configure":
            raise ValueError("the model file is missing")

    def activate(self) -> None:
        self.story.append("activate")
        if self.fail == "activate":
            raise RuntimeError("the device is busy")

    def deactivate(self) -> None:
        self.story.append("deactivate")

    def release(self) -> None:
        self.story.append("release")


def test_parameters_that_are_wrong_are_all_refused_by_name(system: System) -> None:
    with pytest.raises(ParameterError) as refused:
        system.add(Sample, rate=50.0, engine="turbo", colour="red", autostart=False)
    text = str(refused.value)
    assert "'rate'" in text and "50" in text
    assert "'engine'" in text and "fast, slow" in text
    assert "'colour'" in text and "count" in text


def test_a_parameter_of_the_wrong_type_is_refused_by_name(system: System) -> None:
    with pytest.raises(ParameterError, match="'count'"):
        system.add(Sample, count="many", autostart=False)


def test_parameters_are_described_with_their_range(system: System) -> None:
    node = system.add(Sample)
    descriptor = node.describe_parameter("rate")
    assert descriptor.description == "a rate" and descriptor.floating_point_range[0].to_value == 10.0
    assert "fast, slow" in node.describe_parameter("engine").additional_constraints


def test_a_running_node_takes_only_parameters_that_may_change(system: System) -> None:
    node = system.add(Sample)
    answers = system.on_thread(
        node,
        node.set_parameters,
        [Parameter("count", value=4), Parameter("count", value=9), Parameter("rate", value=3.0)],
    )
    assert [answer.successful for answer in answers] == [True, False, False]
    assert "count" in answers[1].reason and "unconfigured" in answers[2].reason
    assert node.value("count") == 4


def test_the_life_cycle_can_be_gone_through_again_and_again(system: System) -> None:
    node = system.add(Sample, autostart=False)
    for _ in range(2):
        for name in ("trigger_configure", "trigger_activate", "trigger_deactivate", "trigger_cleanup"):
            assert system.transition(node, name) == TransitionCallbackReturn.SUCCESS
    assert node.story == ["configure", "activate", "deactivate", "release"] * 2
    system.transition(node, "trigger_configure")
    system.transition(node, "trigger_activate")
    system.transition(node, "trigger_shutdown")
    assert node.story[-2:] == ["deactivate", "release"] and not node.active


@pytest.mark.parametrize(("step", "cause"), [("configure", "model file"), ("activate", "device is busy")])
def test_a_transition_that_fails_is_refused_with_its_cause_and_can_be_tried_again(
    system: System, step: str, cause: str
) -> None:
    node = system.add(Sample, autostart=False)
    node.fail = step
    system.transition(node, "trigger_configure")
    if step == "activate":
        system.transition(node, "trigger_activate")
    assert cause in node.fault and not node.active
    node.fail = ""
    if step == "configure":
        assert system.transition(node, "trigger_configure") == TransitionCallbackReturn.SUCCESS
    assert system.transition(node, "trigger_activate") == TransitionCallbackReturn.SUCCESS
    assert node.active and not node.fault


def test_diagnostics_say_the_state_and_the_fault(system: System) -> None:
    seen: list[DiagnosticStatus] = []
    watcher = system.add(Sample, autostart=False)
    watcher.create_subscription(DiagnosticArray, "/diagnostics", lambda m: seen.extend(m.status), 10)
    node = system.add(Sample, autostart=False, diagnostics_period=0.05)
    node.fail = "configure"
    system.transition(node, "trigger_configure")
    wait_until(
        lambda: [s for s in seen if s.level == DiagnosticStatus.ERROR and "model file" in s.message], "the fault"
    )


def test_an_exception_in_a_callback_is_counted_and_the_node_goes_on(system: System) -> None:
    node = system.add(Sample)

    def fail() -> None:
        raise RuntimeError("on purpose")

    node.create_timer(0.02, fail, clock=node.steady_clock)
    wait_until(lambda: node.errors >= 2, "the exception is counted twice")
    assert system.on_thread(node, lambda: 42) == 42


def node_process(module: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a node as a process of its own group."""
    environment = {**os.environ, "ROS_DOMAIN_ID": str(free_domain())}
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_node_process_ends_cleanly_on_a_signal(number: int, tmp_path: Any) -> None:
    process = node_process("graph_planner_ros.nodes.executor")
    try:
        # The process is up when it has opened its DDS sockets; a signal before its handlers are set would kill it.
        wait_until(lambda: _sockets(process.pid) > 2, "the node has sockets")
        process.send_signal(number)
        output, _ = process.communicate(timeout=30)
        assert process.returncode == 0, output
    finally:
        process.kill()
        process.communicate()


def _sockets(pid: int) -> int:
    """Number of sockets that a process has open."""
    count = 0
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            count += os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket")
    except OSError:
        pass  # a descriptor that was closed meanwhile
    return count


def test_a_node_process_with_bad_parameters_says_which_and_ends_with_2() -> None:
    process = node_process(
        "graph_planner_ros.nodes.executor", "--ros-args", "-p", "skill_timeout:=-5.0", "-p", "typo:=1"
    )
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "skill_timeout" in output and "typo" in output


FILES = {
    "no YAML": "a: [",
    "a list": "- a\n- b\n",
    "no node": "planner:\n  colour: red\n",
    "no text": "\x01\x02",
    "wrong type": "/**:\n  ros__parameters:\n    domain: 5\n",
    "a list for a text": "/**:\n  ros__parameters:\n    domain: [a, b]\n",
    "a table for a text": "/**:\n  ros__parameters:\n    domain:\n      colour: red\n",
    "no number": "/**:\n  ros__parameters:\n    diagnostics_period: .nan\n",
    "too large": "/**:\n  ros__parameters:\n    diagnostics_period: 1.0e+9\n",
    "unknown": "/**:\n  ros__parameters:\n    colour: red\n",
}


@pytest.mark.parametrize("what", [*FILES, "missing"])
def test_a_file_of_parameters_that_cannot_be_used_ends_the_node_with_one_sentence(what: str, tmp_path: Any) -> None:
    file = tmp_path / "parameters.yaml"
    if what in FILES:
        file.write_text(FILES[what])
    process = node_process("graph_planner_ros.nodes.executor", "--ros-args", "--params-file", str(file))
    try:
        output, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 2, output
    last = output.strip().splitlines()[-1]
    assert last.startswith("bad parameters: ") and "Traceback" not in output
    assert any(word in last for word in ("parameters.yaml", "'domain", "'diagnostics_period'", "'colour'")), last


@pytest.mark.parametrize("factory", [PlannerNode, ExecutorNode, PerceptionNode, MujocoNode, RecorderNode])
def test_every_parameter_of_every_node_refuses_what_it_cannot_be(system: System, factory: Any) -> None:
    params = system.add(factory, autostart=False)._params.values()
    for param in params:
        wrong: list[Any] = ["text" if not isinstance(param.default, (str, list)) else 5]
        if isinstance(param.default, float):
            wrong += [math.nan, math.inf]
        if param.maximum is not None:
            wrong.append(type(param.default)(2 * param.maximum + 1))
        if param.minimum is not None:
            wrong.append(type(param.default)(param.minimum - 1))
        if param.choices:
            wrong.append("nonsense")
        for value in wrong:
            with pytest.raises(ParameterError, match=f"'{param.name}'"):
                factory(context=system.context, parameter_overrides=[Parameter(param.name, value=value)])


BROKEN_DOMAINS = {
    "missing": None,
    "empty": ("", ""),
    "a list": ("(define (domain d))", "- a\n"),
    "binary": ("\x01\x02", "\x01\x02"),
    "no PDDL": (None, "classes: {}\n"),
    "unfinished": ("(define (domain d) (:predicates (p ?x)", "classes: {}\n"),
}


@pytest.mark.parametrize("factory", [PlannerNode, ExecutorNode, PerceptionNode, MujocoNode])
@pytest.mark.parametrize("what", BROKEN_DOMAINS)
def test_a_broken_domain_keeps_a_node_from_starting_with_the_name_of_the_file(
    system: System, tmp_path: Any, factory: Any, what: str
) -> None:
    folder = tmp_path / "broken"
    content = BROKEN_DOMAINS[what]
    if content is not None:
        folder.mkdir()
        for name, text in zip(("domain.pddl", "domain.yaml"), content, strict=True):
            if text is not None:
                (folder / name).write_text(text)
    node = system.add(factory, autostart=False, domain=str(folder))
    assert system.transition(node, "trigger_configure") == TransitionCallbackReturn.FAILURE
    assert "cannot configure" in node.fault and "broken" in node.fault, node.fault
    assert node.errors == 0
