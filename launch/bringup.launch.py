"""Start the whole system: ``ros2 launch graph_planner_ros bringup.launch.py sim:=mujoco planner:=memplan``.

A text world needs its games: ``sim:=alfworld data:=FOLDER game:=NAME``, or ``sim:=textworld game:=FILE``.

What is started, and with which parameters, is described in `graph_planner_ros.bringup`.
"""

from launch import LaunchContext, LaunchDescription
from launch.action import Action
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from graph_planner_ros import bringup


def start_nodes(context: LaunchContext) -> list[Action]:
    """Return an action for each node of the description, for the arguments as they were given."""
    given = {argument.name: LaunchConfiguration(argument.name).perform(context) for argument in bringup.ARGUMENTS}
    arguments = bringup.check_arguments(given)
    bringup.check_world(arguments)
    bringup.check_model(arguments)
    return [
        Node(
            package=bringup.PACKAGE,
            executable=spec.executable,
            name=spec.name,
            namespace=arguments["namespace"],
            parameters=[
                *(str(path) for path in bringup.parameter_files(spec, arguments)),
                dict(spec.parameters),
            ],
            remappings=list(spec.remappings),
            output="screen",
            respawn=True,
            respawn_delay=1.0,
            respawn_max_retries=5,
        )
        for spec in bringup.nodes(arguments)
    ]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and the nodes."""
    arguments = [
        DeclareLaunchArgument(
            argument.name,
            default_value=argument.default,
            description=argument.description,
            choices=list(argument.choices) or None,
        )
        for argument in bringup.ARGUMENTS
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=start_nodes)])
