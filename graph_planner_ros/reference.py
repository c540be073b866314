"""The reference tables of the documentation, made from the nodes themselves so that they cannot go stale."""

from __future__ import annotations

import importlib
from types import ModuleType

NODES = {
    "perception": "graph_planner_ros.nodes.perception",
    "planner": "graph_planner_ros.nodes.planner",
    "executor": "graph_planner_ros.nodes.executor",
    "graph_memory": "graph_planner_ros.nodes.graph_memory",
    "recorder": "graph_planner_ros.nodes.recorder",
    "mujoco_bridge": "graph_planner_ros.bridges.mujoco_node",
    "text_world_bridge": "graph_planner_ros.bridges.text_world_node",
}
"""Node name -> module that declares its parameters as ``PARAMETERS``."""


def parameter_tables() -> str:
    """Return a Markdown table of the parameters of every node: name, default, allowed values, meaning."""
    lines = [
        "# Parameters",
        "",
        "Made by `graph-planner parameters`. Values are set in `config/params/<node>.yaml`, or with `params_file:=...`",
        "in a file that overrides these; a value that cannot be used is refused with its name. Parameters marked * can",
        "be set while the node runs. Every node also has `use_sim_time` and `autostart` (configure and activate by",
        "itself; default true).",
    ]
    for name, module in NODES.items():
        lines += ["", f"## {name}", "", "| parameter | default | allowed | meaning |", "|---|---|---|---|"]
        lines += _rows(importlib.import_module(module))
    return "\n".join(lines) + "\n"


def _rows(module: ModuleType) -> list[str]:
    rows = []
    for parameter in module.PARAMETERS:
        if parameter.choices:
            allowed = ", ".join(str(choice) for choice in parameter.choices)
        elif parameter.minimum is not None:
            allowed = f"{parameter.minimum:g} to {parameter.maximum:g}"
        else:
            allowed = type(parameter.default).__name__
        mark = " *" if parameter.dynamic else ""
        default = str(parameter.default).replace("|", "\\|")
        rows.append(f"| `{parameter.name}`{mark} | `{default}` | {allowed} | {parameter.description} |")
    return rows
