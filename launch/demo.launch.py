"""Start the system in the simulated kitchen, send one instruction, and end everything when it is done.

``ros2 launch graph_planner_ros demo.launch.py instruction:="put a cold tomato on the dining table"``
"""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    ExecuteProcess,
    IncludeLaunchDescription,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration

from graph_planner_ros import bringup


def generate_launch_description() -> LaunchDescription:
    """Return the bring-up, the sender of the instruction and what ends both."""
    instruction = DeclareLaunchArgument(
        "instruction", default_value=bringup.DEMO_INSTRUCTION, description="what the robot is told"
    )
    system = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(Path(__file__).with_name("bringup.launch.py"))),
    )
    namespace = LaunchConfiguration("namespace")
    sender = ExecuteProcess(
        cmd=["graph-planner", "send", LaunchConfiguration("instruction"), "--namespace", namespace, "--wait", "60"],
        output="screen",
    )
    end = RegisterEventHandler(
        OnProcessExit(target_action=sender, on_exit=[EmitEvent(event=Shutdown(reason="the demo is over"))])
    )
    return LaunchDescription([instruction, system, sender, end])
