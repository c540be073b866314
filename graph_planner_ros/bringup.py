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
    number from 0), speed (a number from 0), count (a whole number from 1, or nothing) or engine.
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
TEXT_WORLDS = ("alfworld", "robotouille", "textworld")
"""Worlds that talk; each has a planning domain of its own name."""
HOUSEHOLD = "household"
"""Domain of a robot and of the simulated kitchen."""

ARGUMENTS = (
    Argument("sim", "mujoco", "what stands for the robot: a simulator, or a text world, whose words stand for "
             "perception too; none: a real robot's bridge runs elsewhere", ("mujoco", "none", *TEXT_WORLDS)),
    Argument("planner", "memplan", "planning method; llm: a language model proposes plans; llm_actions: it chooses one "
             "action at a time; nothing counts that is not verified", ("memplan", "llm", "llm_actions")),
    Argument("reader", "auto", "how instructions are read: rules, trained, or what is surer",
             ("auto", "rules", "trained")),
    Argument("model", "", "language model of llm, llm_actions and model_places: its server's name for it, or a file"),
    Argument("model_backend", "openai", "where the model runs: openai (any server with that protocol), transformers, "
             "llama_cpp", ("openai", "transformers", "llama_cpp")),
    Argument("model_endpoint", "", "base URL of the model's server; empty: OPENAI_BASE_URL"),
    Argument("model_places", "false", "ask the model where things are likely to be that nobody has seen",
             BOOLEAN, "bool"),
    Argument("model_key_objects", "false", "llm, llm_actions: ask the model first which classes matter for the task",
             BOOLEAN, "bool"),
    Argument("engine", "auto", "planning engine: auto, mimir or fast_downward; or module:function", kind="engine"),
    Argument("domain", "", "planning domain: a folder under config/domains, or a path; empty: that of the text "
             f"world, else {HOUSEHOLD}"),
    Argument("namespace", "", "namespace of all nodes; one for each robot"),
    Argument("use_sim_time", "auto", "take the time from /clock; auto: exactly if there is a simulator that gives it",
             ("auto", *BOOLEAN)),
    Argument("params_file", "", "YAML file of parameters that override the package's own"),
    Argument("record", "true", "record a bag", BOOLEAN, "bool"),
    Argument("bag", "bag", "folder of the bag; one that exists is never overwritten, the new one gets a number"),
    Argument("layout", "", "simulator: kitchen layout; empty: its default", ("", *LAYOUTS)),
    Argument("seed", "0", "simulator: seed of the kitchen, from 0", kind="seed"),
    Argument("disturbances", "", "simulator: disturbances as a JSON list"),
    Argument("real_time_factor", "1.0", "simulator: speed; 0: as fast as possible", kind="speed"),
    Argument("data", "", "text world: file or folder of games"),
    Argument("game", "", "text world: the game to begin with: name, part of a name, number from 0, or a file; empty: "
             "the first"),
    Argument("split", "", "text world: split of the data; empty: the world's own"),
    Argument("limit", "", "text world: commands after which a game is lost; empty: the world's own", kind="count"),
    Argument("checkout", "", "text world: checkout of the engine, for robotouille"),
    Argument("world_python", "", "text world: Python of the engine's environment; empty: as bench finds it"),
    Argument("memory", "true", "remember episodes, and plan with what they say", BOOLEAN, "bool"),
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


def parse_arguments(given: Sequence[str], others: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return all arguments of a command line of ``name:=value`` words; ValueError as from `check_arguments`.

    Args:
        others: values of arguments that the words do not name.
    """
    wrong = [word for word in given if ":=" not in word]
    if wrong:
        raise ValueError(f"expected name:=value, not {', '.join(wrong)}")
    return check_arguments({**(others or {}), **dict(word.split(":=", 1) for word in given)})


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
    talks = values["sim"] in TEXT_WORLDS
    if talks and not values["data"] and not Path(values["game"]).expanduser().is_file():
        raise ValueError(f"sim:={values['sim']} needs games: data:=PATH, or game:=FILE")
    values["domain"] = values["domain"] or (values["sim"] if talks else HOUSEHOLD)
    return values


def check_world(arguments: Mapping[str, str]) -> None:
    """Look whether the text world of the arguments can be played, before anything is started.

    Raises:
        WorldUnavailableError: engine or games are missing; the message is one sentence that says how to get them.
        ValueError: there is no such split or game.
    """
    if arguments["sim"] in TEXT_WORLDS:
        from graph_planner_ros.benchmarks.worlds.game import WorldUnavailableError
        from graph_planner_ros.bridges.text_world import open_world, world_settings

        limit = int(arguments["limit"]) if arguments["limit"] else None
        settings = world_settings(
            arguments["sim"],
            data=arguments["data"],
            game=arguments["game"],
            split=arguments["split"],
            limit=limit,
            checkout=arguments["checkout"],
            python=arguments["world_python"],
        )
        try:
            open_world(settings)
        except WorldUnavailableError as error:
            raise WorldUnavailableError(_in_our_words(str(error))) from None


def check_model(arguments: Mapping[str, str]) -> None:
    """Look whether the language model of the arguments can be asked, before anything is started.

    Raises:
        ModelUnavailableError: something is not installed, or not named; the message is one sentence.
    """
    from graph_planner_ros.language.models import ModelOptions, check_model

    if arguments["planner"] != "memplan" or arguments["model_places"] == "true":
        check_model(
            ModelOptions(
                backend=arguments["model_backend"], model=arguments["model"], endpoint=arguments["model_endpoint"]
            )
        )


def _in_our_words(text: str) -> str:
    """Return a sentence of a world, which speaks of the options of ``bench``, with the arguments of the bring-up."""
    for option, argument in (("--python", "world_python:="), ("--checkout", "checkout:="), ("--data", "data:="),
                             ("--games", "data:=")):  # fmt: skip
        text = text.replace(option, argument)
    return text


def _problem(argument: Argument, value: str) -> str:
    if argument.choices and value not in argument.choices:
        return f"expected one of {', '.join(choice or '(nothing)' for choice in argument.choices)}"
    if argument.kind == "engine" and value not in ENGINES and ":" not in value:
        return f"expected one of {', '.join(ENGINES)}, or module:function"
    if argument.kind == "count" and value and not (value.isdecimal() and int(value) > 0):
        return "expected a whole number from 1"
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
    talks = arguments["sim"] in TEXT_WORLDS
    sim_time = (
        arguments["sim"] == "mujoco" if arguments["use_sim_time"] == "auto" else arguments["use_sim_time"] == "true"
    )
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
    if talks:
        specs.append(_node("text_world_bridge", "bridges.text_world_node", _world(arguments), stop_order=1))
    else:
        perception_state: dict[str, ParameterValue] = {"state_file": f"{state}/belief.json"} if state else {}
        specs.append(_node("perception", "nodes.perception", {**time, **domain, **perception_state}, stop_order=1))
    noted: dict[str, ParameterValue] = {"memory_file": f"{state}/skill_memory.json"} if state else {}
    specs.append(_node("executor", "nodes.executor", {**time, **domain, **noted}))
    memory: dict[str, ParameterValue] = {"memory_file": f"{state}/negative_memory.json"} if state else {}
    if arguments["memory"] == "true":
        bank: dict[str, ParameterValue] = {"bank_file": f"{state}/experience.sqlite"} if state else {}
        # It hears of the planner's end, so that the episode has one too.
        specs.append(_node("graph_memory", "nodes.graph_memory", {**time, **domain, **bank}, stop_order=1))
    names = ("planner", "engine", "reader", "model", "model_backend", "model_endpoint")
    method: dict[str, ParameterValue] = {name: arguments[name] for name in names}
    method.update({name: arguments[name] == "true" for name in ("model_places", "model_key_objects")})
    specs.append(_node("planner", "nodes.planner", {**time, **domain, **method, **memory}))
    return specs


def _world(arguments: Mapping[str, str]) -> dict[str, ParameterValue]:
    """Return the parameters of a text world's bridge; paths hold wherever the process is started."""
    found: dict[str, ParameterValue] = {"world": arguments["sim"]}
    for name, parameter in (("data", "data"), ("game", "game"), ("checkout", "checkout"), ("world_python", "python")):
        path = Path(arguments[name]).expanduser()
        if arguments[name]:
            is_path = name != "game" or path.is_file()
            found[parameter] = str(path.absolute()) if is_path else arguments[name]
    if arguments["split"]:
        found["split"] = arguments["split"]
    if arguments["limit"]:
        found["limit"] = int(arguments["limit"])
    return found


def _node(name: str, module: str, parameters: Mapping[str, ParameterValue], stop_order: int = 0) -> NodeSpec:
    return NodeSpec(name, name, f"{PACKAGE}.{module}", parameters, stop_order=stop_order)


def parameter_files(spec: NodeSpec, arguments: Mapping[str, str]) -> list[Path]:
    """Return the files of parameters of a node, later ones overriding earlier ones."""
    files = [find_config(f"params/{spec.name}.yaml")]
    if arguments["sim"] in TEXT_WORLDS:
        files.append(find_config("params/text_worlds.yaml"))
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
