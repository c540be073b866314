"""The launch files turn the description into launch actions. Needs `launch` and `launch_ros` (a ROS installation)."""

from __future__ import annotations

from pathlib import Path

import pytest

from graph_planner_ros import bringup

pytest.importorskip("launch", reason="launch comes with a ROS installation only")
pytest.importorskip("launch_ros", reason="launch_ros comes with a ROS installation only")

from launch import LaunchContext
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import Node

LAUNCH = Path(__file__).parents[1] / "launch"


def description(name: str, context: LaunchContext) -> object:
    return PythonLaunchDescriptionSource(str(LAUNCH / name)).get_launch_description(context)


@pytest.mark.parametrize("name", ["bringup.launch.py", "demo.launch.py"])
def test_arguments_are_those_of_the_description_with_their_choices(name: str) -> None:
    declared = {a.name: a for a in description(name, LaunchContext()).get_launch_arguments()}  # type: ignore[attr-defined]
    for argument in bringup.ARGUMENTS:
        assert list(argument.choices) == (declared[argument.name].choices or [])


@pytest.mark.parametrize("given", [{}, {"sim": "none", "namespace": "robot1"}, {"record": "false"}])
def test_the_nodes_are_those_of_the_description(given: dict[str, str]) -> None:
    context = LaunchContext()
    arguments = bringup.check_arguments(given)
    context.launch_configurations.update(arguments)
    actions = description("bringup.launch.py", context).entities[-1].execute(context)  # type: ignore[attr-defined]
    assert all(isinstance(action, Node) for action in actions)
    assert [action.node_executable for action in actions] == [spec.executable for spec in bringup.nodes(arguments)]


def test_wrong_arguments_are_refused() -> None:
    context = LaunchContext()
    context.launch_configurations.update({**bringup.check_arguments({}), "seed": "many"})
    with pytest.raises(ValueError, match="seed"):
        description("bringup.launch.py", context).entities[-1].execute(context)  # type: ignore[attr-defined]
