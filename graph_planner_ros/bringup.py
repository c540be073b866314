"""The one description of the system: its arguments and its nodes, as plain data.

``launch/*.launch.py`` turns the description into launch_ros actions, `graph_planner_ros.supervisor` starts the same
description as processes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from graph_planner_ros.domain.paths import find_config
from graph_planner_ros.supervisor import ProcessSpec

PACKAGE = "graph_planner_ros"

DEMO_INSTRUCTION = "put a cold tomato on the dining table"
"""What the demo asks for: a search in closed containers and one change of state."""

ParameterValue = str | int | float | bool


@dataclass(frozen=True)
class Argument:
    """An argument of the bring-up; its value is always text, as on a command line.

    ``choices`` are all allowed values; empty: any. ``kind`` names what the text must read as: text, bool, seed (a whole
    number from 0), speed (a number from 0) or engine.
    """

    name: str
    default: str
    description: str
    choices: tuple[str, ...] = ()
    kind: str = "text"


BOOLEAN = ("true", "false")
ENGINES = ("auto", "mimir", "fast_downward")
LAYOUTS = ("l_shape", "galley", "island")
"""Kitchens of the simulator, known here so that a wrong one is refused before anything is started."""

ARGUMENTS = (
    Argument("sim", "mujoco", "simulator that stands for the robot; none: a real robot's bridge runs elsewhere",
             ("mujoco", "none")),
    Argument("planner", "memplan", "planning method", ("memplan",)),
    Argument("engine", "auto", "planning engine: auto, mimir or fast_downward; or module:function", kind="engine"),
    Argument("domain", "household", "planning domain: a folder under config/domains, or a path"),
    Argument("namespace", "", "namespace of all nodes; one for each robot"),
    Argument("use_sim_time", "auto", "take the time from /clock; auto: exactly if there is a simulator",
             ("auto", *BOOLEAN)),
    Argument("params_file", "", "YAML file of parameters that override the package's own"),
    Argument("record", "true", "record a bag", BOOLEAN, "bool"),
    Argument("bag", "bag", "folder of the bag; one that exists is never overwritten, the new one gets a number"),
    Argument("layout", "", "simulator: kitchen layout; empty: its default", ("", *LAYOUTS)),
    Argument("seed", "0", "simulator: seed of the kitchen, from 0", kind="seed"),
    Argument("disturbances", "", "simulator: disturbances as a JSON list"),
    Argument("real_time_factor", "1.0", "simulator: speed; 0: as fast as possible", kind="speed"),
    Argument("state_directory", "", "folder where the belief and the memory survive a restart; empty: nowhere"),
)  # fmt: skip


@dataclass(frozen=True)
class NodeSpec:
    """One node.

    Attributes:
        name: name of the node; also of its parameter file ``config/params/<name>.yaml``.
        executable: program in ``lib/graph_planner_ros``. module: the Python module that it runs.
        parameters: values that override the parameter file.
        remappings: pairs (from, to).
        stop_order: nodes with smaller numbers are ended first.
    """

    name: str
    executable: str
    module: str
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    remappings: tuple[tuple[str, str], ...] = ()
    stop_order: int = 0


def parse_arguments(given: Sequence[str]) -> dict[str, str]:
    """Return all arguments of a command line of ``name:=value`` words; ValueError as from `check_arguments`."""
    wrong = [word for word in given if ":=" not in word]
    if wrong:
        raise ValueError(f"expected name:=value, not {', '.join(wrong)}")
    return check_arguments(dict(word.split(":=", 1) for word in given))


def check_arguments(given: Mapping[str, str]) -> dict[str, str]:
    """Return all arguments with defaults filled in.

    Raises:
        ValueError: naming every argument that is unknown or whose value cannot be used, and what was expected.
    """
    known = {argument.name: argument for argument in ARGUMENTS}
    problems = [f"unknown argument '{name}'; there are: {', '.join(known)}" for name in given if name not in known]
    values = {name: given.get(name, argument.default) for name, argument in known.items()}
    for name, argument in known.items():
        problem = _problem(argument, values[name])
        if problem:
            problems.append(f"argument {name}:={values[name]}: {problem}")
    if values["params_file"] and not Path(values["params_file"]).is_file():
        problems.append(f"argument params_file: no file {values['params_file']}")
    if problems:
        raise ValueError("; ".join(problems))
    return values


def _problem(argument: Argument, value: str) -> str:
    if argument.choices and value not in argument.choices:
        return f"expected one of {', '.join(choice or '(nothing)' for choice in argument.choices)}"
    if argument.kind == "engine" and value not in ENGINES and ":" not in value:
        return f"expected one of {', '.join(ENGINES)}, or module:function"
    if argument.kind in ("seed", "speed"):
        try:
            usable = 0 <= (int if argument.kind == "seed" else float)(value) < math.inf
        except ValueError:
            usable = False
        if not usable:
            return f"expected {'a whole number' if argument.kind == 'seed' else 'a number'} from 0"
    return ""


def nodes(arguments: Mapping[str, str]) -> list[NodeSpec]:
    """Return the nodes to start for arguments that `check_arguments` has seen."""
    simulated = arguments["sim"] != "none"
    sim_time = simulated if arguments["use_sim_time"] == "auto" else arguments["use_sim_time"] == "true"
    time: dict[str, ParameterValue] = {"use_sim_time": sim_time}
    domain: dict[str, ParameterValue] = {"domain": arguments["domain"]}
    state = arguments["state_directory"]
    specs = []
    if arguments["record"] == "true":
        specs.append(_node("recorder", "nodes.recorder", {"bag": arguments["bag"]}, stop_order=2))
    if arguments["sim"] == "mujoco":
        world: dict[str, ParameterValue] = {
            "seed": int(arguments["seed"]),
            "real_time_factor": float(arguments["real_time_factor"]),
        }
        world |= {key: arguments[key] for key in ("layout", "disturbances") if arguments[key]}
        # It is the source of the simulated time, so it does not wait for it.
        specs.append(_node("mujoco_bridge", "bridges.mujoco_node", {**domain, **world}, stop_order=1))
    perception_state: dict[str, ParameterValue] = {"state_file": f"{state}/belief.json"} if state else {}
    specs.append(_node("perception", "nodes.perception", {**time, **domain, **perception_state}, stop_order=1))
    noted: dict[str, ParameterValue] = {"memory_file": f"{state}/skill_memory.json"} if state else {}
    specs.append(_node("executor", "nodes.executor", {**time, **domain, **noted}))
    memory: dict[str, ParameterValue] = {"memory_file": f"{state}/negative_memory.json"} if state else {}
    method: dict[str, ParameterValue] = {"planner": arguments["planner"], "engine": arguments["engine"]}
    specs.append(_node("planner", "nodes.planner", {**time, **domain, **method, **memory}))
    return specs


def _node(name: str, module: str, parameters: Mapping[str, ParameterValue], stop_order: int = 0) -> NodeSpec:
    return NodeSpec(name, name, f"{PACKAGE}.{module}", parameters, stop_order=stop_order)


def parameter_files(spec: NodeSpec, arguments: Mapping[str, str]) -> list[Path]:
    """Return the files of parameters of a node, later ones overriding earlier ones."""
    files = [find_config(f"params/{spec.name}.yaml")]
    if arguments["params_file"]:
        files.append(Path(arguments["params_file"]).resolve())
    return files


def write_parameters(spec: NodeSpec, folder: Path) -> Path:
    """Write the node's own parameters as a ROS parameter file, for any namespace, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{spec.name}.yaml"
    content = {f"/**/{spec.name}": {"ros__parameters": dict(spec.parameters)}}
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def process(
    spec: NodeSpec, arguments: Mapping[str, str], run_directory: Path, domain_id: int | None = None
) -> ProcessSpec:
    """Return the process that runs a node; its parameters are written below ``run_directory``.

    ``domain_id`` is the ROS domain; None: that of the environment.
    """
    environment = {"ROS_LOG_DIR": str(run_directory / "ros")}
    if domain_id is not None:
        environment["ROS_DOMAIN_ID"] = str(domain_id)
    remaps = [f"__node:={spec.name}", f"__ns:=/{arguments['namespace'].strip('/')}"]
    remaps += [f"{source}:={target}" for source, target in spec.remappings]
    files = [*parameter_files(spec, arguments), write_parameters(spec, run_directory / "params")]
    ros_arguments = ["--ros-args", *_each("-r", remaps), *_each("--params-file", map(str, files))]
    return ProcessSpec(
        name=spec.name,
        command=(sys.executable, "-m", spec.module, *ros_arguments),
        environment=environment,
        stop_order=spec.stop_order,
    )


def processes(arguments: Mapping[str, str], run_directory: Path, domain_id: int | None = None) -> list[ProcessSpec]:
    """Return the processes of the whole system."""
    return [process(spec, arguments, run_directory, domain_id) for spec in nodes(arguments)]


def _each(option: str, values: Iterable[str]) -> Sequence[str]:
    return [text for value in values for text in (option, value)]
