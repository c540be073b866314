"""Every node of the package goes through its life cycle, by the services that a lifecycle manager uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from harness import Client, System, wait_until
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState

from graph_planner_ros.bridges.mujoco_node import MujocoNode
from graph_planner_ros.nodes.executor import ExecutorNode
from graph_planner_ros.nodes.perception import PerceptionNode
from graph_planner_ros.nodes.planner import PlannerNode

NODES = [PlannerNode, ExecutorNode, PerceptionNode, MujocoNode]


@pytest.mark.parametrize("factory", NODES, ids=lambda factory: factory.__name__)
def test_a_node_can_be_managed_from_outside(system: System, factory: Callable[..., Any]) -> None:
    node = system.add(factory, autostart=False)
    client = system.add(Client)
    name = node.get_name()
    change = client.create_client(ChangeState, f"{name}/change_state")
    state = client.create_client(GetState, f"{name}/get_state")
    wait_until(lambda: change.service_is_ready() and state.service_is_ready(), "the life-cycle services")

    def call(service: Any, request: Any) -> Any:
        future = system.on_thread(client, service.call_async, request)
        wait_until(future.done, "the node answers")
        return future.result()

    def go(transition: int) -> str:
        assert call(change, ChangeState.Request(transition=Transition(id=transition))).success, node.fault
        return str(call(state, GetState.Request()).current_state.label)

    assert go(Transition.TRANSITION_CONFIGURE) == "inactive"
    assert go(Transition.TRANSITION_ACTIVATE) == "active"
    assert go(Transition.TRANSITION_DEACTIVATE) == "inactive"
    assert go(Transition.TRANSITION_CLEANUP) == "unconfigured"
    assert go(Transition.TRANSITION_CONFIGURE) == "inactive"
    assert go(Transition.TRANSITION_ACTIVATE) == "active"
    assert go(Transition.TRANSITION_ACTIVE_SHUTDOWN) == "finalized"


@pytest.mark.parametrize("factory", NODES, ids=lambda factory: factory.__name__)
def test_every_parameter_has_a_description(system: System, factory: Callable[..., Any]) -> None:
    node = system.add(factory, autostart=False)
    names = list(node._params)
    assert all(node.describe_parameter(name).description for name in names)
