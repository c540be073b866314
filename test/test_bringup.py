"""The description of the system, and the processes that are made of it."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from graph_planner_ros import bringup, process_guard
from graph_planner_ros.language.models import ModelUnavailableError
from graph_planner_ros.supervisor import LogFollower, ProcessEvent, ProcessSpec, Supervisor

SLEEPER = (
    "import signal, time\nsignal.signal(signal.SIGINT, lambda *_: exit(0))\nprint('up', flush=True)\ntime.sleep(1000)"
)
STUBBORN = (
    "import signal, time\n"
    "for s in (signal.SIGINT, signal.SIGTERM): signal.signal(s, signal.SIG_IGN)\n"
    "print('up', flush=True)\ntime.sleep(1000)"
)
PARENT_OF_DETACHED = (
    "import subprocess, sys, time\n"
    "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'], start_new_session=True)\n"
    "print('child', p.pid, flush=True)\ntime.sleep(1000)"
)


def python(name: str, code: str, **options: object) -> ProcessSpec:
    return ProcessSpec(name, (sys.executable, "-c", code), **options)  # type: ignore[arg-type]


def wait_for(condition: Callable[[], object], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def log_has(path: Path, text: str) -> bool:
    return path.exists() and text in path.read_text()


# --- the description


def test_defaults_start_the_simulated_system_with_a_recorder() -> None:
    arguments = bringup.check_arguments({})
    names = [spec.name for spec in bringup.nodes(arguments)]
    assert sorted(names) == ["executor", "graph_memory", "mujoco_bridge", "perception", "planner", "recorder"]


def test_what_survives_a_restart_lies_in_one_folder_in_files_of_their_own() -> None:
    specs = {spec.name: spec.parameters for spec in bringup.nodes(bringup.check_arguments({"state_directory": "/s"}))}
    files = [specs["perception"]["state_file"], specs["executor"]["memory_file"], specs["planner"]["memory_file"]]
    files.append(specs["graph_memory"]["bank_file"])
    assert files == ["/s/belief.json", "/s/skill_memory.json", "/s/negative_memory.json", "/s/experience.sqlite"]
    specs = {spec.name: spec.parameters for spec in bringup.nodes(bringup.check_arguments({}))}
    assert "state_file" not in specs["perception"] and "memory_file" not in specs["executor"]
    assert "bank_file" not in specs["graph_memory"]


def test_the_memory_can_be_left_out() -> None:
    specs = bringup.nodes(bringup.check_arguments({"memory": "false"}))
    assert "graph_memory" not in [spec.name for spec in specs]


def test_a_real_robot_gets_no_simulator_and_no_simulated_time() -> None:
    specs = {spec.name: spec for spec in bringup.nodes(bringup.check_arguments({"sim": "none", "record": "false"}))}
    assert sorted(specs) == ["executor", "graph_memory", "perception", "planner"]
    assert all(spec.parameters["use_sim_time"] is False for spec in specs.values())


def test_what_a_language_model_is_asked_for_goes_to_the_planner() -> None:
    given = {"planner": "llm_actions", "model": "tiny", "model_places": "true"}
    planner = next(spec for spec in bringup.nodes(bringup.check_arguments(given)) if spec.name == "planner").parameters
    assert (planner["planner"], planner["model"]) == ("llm_actions", "tiny")
    assert planner["model_places"] is True and planner["model_key_objects"] is False


def test_the_planning_methods_are_those_of_the_node() -> None:
    pytest.importorskip("graph_planner_ros.msg", reason="needs the built messages")
    from graph_planner_ros.nodes.planner_parameters import METHODS

    known = next(argument for argument in bringup.ARGUMENTS if argument.name == "planner")
    assert known.choices == METHODS


@pytest.mark.parametrize("world", bringup.TEXT_WORLDS)
def test_a_text_world_stands_for_simulator_and_perception(world: str, tmp_path: Path) -> None:
    given = {"sim": world, "data": str(tmp_path), "game": "3", "limit": "40", "split": "some", "record": "false"}
    arguments = bringup.check_arguments({**given, "world_python": "~/python", "state_directory": "/s"})
    specs = {spec.name: spec for spec in bringup.nodes(arguments)}
    assert {"executor", "planner", "text_world_bridge"} <= set(specs)
    assert not {"perception", "mujoco_bridge"} & set(specs)
    assert all(specs[name].parameters["domain"] == world for name in ("executor", "planner"))
    assert all(specs[name].parameters["use_sim_time"] is False for name in ("executor", "planner"))
    assert specs["text_world_bridge"].parameters == {
        "world": world,
        "data": str(tmp_path),
        "game": "3",
        "limit": 40,
        "split": "some",
        "python": str(Path("~/python").expanduser()),
    }
    assert specs["text_world_bridge"].stop_order > specs["planner"].stop_order
    own, shared = bringup.parameter_files(specs["planner"], arguments)
    assert (own.name, shared.name) == ("planner.yaml", "text_worlds.yaml")
    assert set(yaml.safe_load(shared.read_text())) == {"/**/planner", "/**/executor"}


def test_the_domain_follows_the_sim_unless_it_is_named(tmp_path: Path) -> None:
    text = {"sim": "alfworld", "data": str(tmp_path)}
    assert bringup.check_arguments(text)["domain"] == "alfworld"
    assert bringup.check_arguments({**text, "domain": "mine"})["domain"] == "mine"
    assert {bringup.check_arguments({"sim": sim})["domain"] for sim in ("mujoco", "none")} == {"household"}


def test_a_file_as_game_needs_no_data_and_is_found_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.z8").touch()
    monkeypatch.chdir(tmp_path)
    arguments = bringup.check_arguments({"sim": "textworld", "game": "a.z8"})
    (bridge,) = [spec for spec in bringup.nodes(arguments) if spec.name == "text_world_bridge"]
    assert bridge.parameters["game"] == str(tmp_path / "a.z8")


def test_a_text_world_that_cannot_be_played_is_found_out_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graph_planner_ros.benchmarks.worlds.game import WorldUnavailableError

    (tmp_path / "valid_seen.jsonl").write_text('{"id": "put-1", "goal": "put a mug in desk", "pddl_problem": ""}\n')
    given = {"sim": "alfworld", "data": str(tmp_path), "world_python": str(tmp_path / "python")}
    with pytest.raises(WorldUnavailableError, match="run world alfworld"):
        bringup.check_world(bringup.check_arguments(given))
    with pytest.raises(ValueError, match="no game is called 'wash'"):
        bringup.check_world(bringup.check_arguments({**given, "game": "wash"}))
    monkeypatch.delenv("ROBOTOUILLE", raising=False)
    kitchens = tmp_path / "seeded.jsonl"
    row = '{"family": "synchronous", "task": "0_cheese_sandwich", "seed": 1, "environment": {}}\n'
    kitchens.write_text(row)
    with pytest.raises(WorldUnavailableError, match="portal-cornell"):
        bringup.check_world(bringup.check_arguments({"sim": "robotouille", "data": str(kitchens)}))
    bringup.check_world(bringup.check_arguments({}))


def test_every_node_of_a_text_world_has_a_module_and_a_parameter_file(tmp_path: Path) -> None:
    arguments = bringup.check_arguments({"sim": "alfworld", "data": str(tmp_path)})
    for spec in bringup.nodes(arguments):
        assert importlib.util.find_spec(spec.module) is not None
        file = bringup.parameter_files(spec, arguments)[0]
        assert list(yaml.safe_load(file.read_text())) == [f"/**/{spec.name}"]


def test_simulated_time_can_be_forced_either_way() -> None:
    for text, expected in (("true", True), ("false", False)):
        specs = bringup.nodes(bringup.check_arguments({"use_sim_time": text}))
        assert {s.parameters["use_sim_time"] for s in specs if "use_sim_time" in s.parameters} == {expected}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"sim": "gazebo"}, "expected one of mujoco, none, alfworld, robotouille, textworld"),
        ({"sim": "alfworld"}, "data:=PATH, or game:=FILE"),
        ({"sim": "textworld", "game": "no_such_file.z8"}, "data:=PATH, or game:=FILE"),
        ({"limit": "0"}, "expected a whole number from 1"),
        ({"limit": "ten"}, "expected a whole number from 1"),
        ({"seed": "many"}, "expected a whole number"),
        ({"speed": "1"}, "unknown argument 'speed'"),
        ({"params_file": "/nowhere.yaml"}, "no file /nowhere.yaml"),
    ],
)
def test_wrong_arguments_are_refused_by_name(given: dict[str, str], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        bringup.check_arguments(given)


def test_all_wrong_arguments_are_named_at_once() -> None:
    with pytest.raises(ValueError) as caught:
        bringup.check_arguments({"sim": "x", "seed": "y"})
    assert "sim:=x" in str(caught.value) and "seed:=y" in str(caught.value)


def test_command_line_words_are_read_as_ros2_launch_does() -> None:
    assert bringup.parse_arguments(["sim:=none", "namespace:=robot1"])["namespace"] == "robot1"
    with pytest.raises(ValueError, match="name:=value"):
        bringup.parse_arguments(["sim=none"])


def test_every_node_has_a_module_and_a_parameter_file() -> None:
    for spec in bringup.nodes(bringup.check_arguments({})):
        assert importlib.util.find_spec(spec.module) is not None
        (file,) = bringup.parameter_files(spec, bringup.check_arguments({}))
        content = yaml.safe_load(file.read_text())
        assert list(content) == [f"/**/{spec.name}"]


def test_parameters_reach_the_process_whatever_they_contain(tmp_path: Path) -> None:
    arguments = bringup.check_arguments({"disturbances": '[{"kind": "slip"}]', "domain": "y", "namespace": "a/b"})
    process = next(p for p in bringup.processes(arguments, tmp_path, 42) if p.name == "mujoco_bridge")
    written = Path(process.command[-1])
    parameters = yaml.safe_load(written.read_text())["/**/mujoco_bridge"]["ros__parameters"]
    assert parameters["disturbances"] == '[{"kind": "slip"}]'
    assert parameters["domain"] == "y"
    assert "__ns:=/a/b" in process.command
    assert process.environment["ROS_DOMAIN_ID"] == "42"


def test_the_recorder_is_ended_last() -> None:
    orders = {spec.name: spec.stop_order for spec in bringup.nodes(bringup.check_arguments({}))}
    assert all(orders["recorder"] > order for name, order in orders.items() if name != "recorder")
    assert orders["planner"] < orders["mujoco_bridge"]


# --- the processes


def test_processes_are_ended_in_order(tmp_path: Path) -> None:
    events: list[ProcessEvent] = []
    specs = [python("last", SLEEPER, stop_order=2), python("first", SLEEPER), python("middle", SLEEPER, stop_order=1)]
    supervisor = Supervisor(specs, tmp_path, events.append)
    with supervisor:
        assert all(wait_for(lambda path=path: log_has(path, "up")) for path in supervisor.logs().values())
    assert [event.name for event in events if event.kind == "stopped"] == ["first", "middle", "last"]
    assert process_guard.marked_processes(supervisor.marker) == []


def test_a_process_that_ignores_signals_is_killed(tmp_path: Path) -> None:
    supervisor = Supervisor([python("stubborn", STUBBORN, grace=0.3)], tmp_path)
    with supervisor:
        assert wait_for(lambda: log_has(tmp_path / "stubborn.log", "up"))
    assert process_guard.marked_processes(supervisor.marker) == []


def test_a_killed_process_is_restarted_and_the_others_live(tmp_path: Path) -> None:
    with Supervisor([python("one", SLEEPER), python("two", SLEEPER)], tmp_path) as supervisor:
        assert wait_for(lambda: log_has(tmp_path / "one.log", "up"))
        first, other = supervisor.pid("one"), supervisor.pid("two")
        assert first is not None
        os.kill(first, signal.SIGKILL)
        assert wait_for(lambda: supervisor.pid("one") not in (None, first))
        assert supervisor.pid("two") == other
        assert supervisor.restarts("one") == 1
        assert supervisor.failure() == ""


def test_restarts_are_bounded_and_the_cause_is_named(tmp_path: Path) -> None:
    crash = python("crasher", "import sys; print('no camera'); sys.exit(1)", max_restarts=1)
    with Supervisor([crash], tmp_path) as supervisor:
        assert wait_for(supervisor.failure)
        assert "crasher ended 2 times" in supervisor.failure()


def test_a_process_that_is_given_up_is_quoted_with_what_it_said_last(tmp_path: Path) -> None:
    crash = python("crash", "raise SystemExit('the disk is on fire')", max_restarts=0)
    with Supervisor([crash], tmp_path) as supervisor:
        assert wait_for(supervisor.failure)
    assert "crash" in supervisor.failure() and "the disk is on fire" in supervisor.failure()


def test_a_listener_that_fails_keeps_nothing_from_being_looked_after_and_ended(tmp_path: Path) -> None:
    def fail(event: ProcessEvent) -> None:
        raise OSError("the terminal is gone")

    with Supervisor([python("one", SLEEPER), python("two", SLEEPER)], tmp_path, fail) as supervisor:
        pids = [pid for name in ("one", "two") if (pid := supervisor.pid(name)) is not None]
        assert len(pids) == 2
        os.kill(pids[0], signal.SIGKILL)
        assert wait_for(lambda: supervisor.restarts("one") == 1 and supervisor.pid("one") not in (None, pids[0]))
        pids = [pid for name in ("one", "two") if (pid := supervisor.pid(name)) is not None]
    assert not any(alive(pid) for pid in pids)


def test_bad_parameters_are_not_tried_again(tmp_path: Path) -> None:
    events: list[ProcessEvent] = []
    bad = python("bad", "import sys; print('parameter x: expected a number'); sys.exit(2)")
    with Supervisor([bad], tmp_path, events.append) as supervisor:
        assert wait_for(supervisor.failure)
        assert "expected a number" in supervisor.failure()
    assert [event.kind for event in events].count("started") == 1


def test_a_program_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with Supervisor([ProcessSpec("ghost", ("/no/such/program",))], tmp_path) as supervisor:
        assert wait_for(supervisor.failure)
        assert "/no/such/program" in supervisor.failure()


def test_detached_descendants_are_ended_too(tmp_path: Path) -> None:
    supervisor = Supervisor([python("parent", PARENT_OF_DETACHED, grace=0.3)], tmp_path)
    with supervisor:
        assert wait_for(lambda: log_has(tmp_path / "parent.log", "child"))
        child = int((tmp_path / "parent.log").read_text().split()[1])
        assert alive(child)
    assert not alive(child)


@pytest.mark.parametrize("code", [SLEEPER, STUBBORN, PARENT_OF_DETACHED], ids=["polite", "stubborn", "detached"])
def test_killing_the_supervisor_takes_everything_with_it(tmp_path: Path, code: str) -> None:
    program = (
        "import sys, time\nfrom pathlib import Path\n"
        "from graph_planner_ros import process_guard\n"
        "from graph_planner_ros.supervisor import ProcessSpec, Supervisor\n"
        f"s = Supervisor([ProcessSpec('node', (sys.executable, '-c', {code!r}))], Path({str(tmp_path)!r}))\n"
        "s.start()\nprint(s.marker, flush=True)\ntime.sleep(1000)\n"
    )
    supervisor = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert supervisor.stdout is not None
    marker = supervisor.stdout.readline().strip()
    assert wait_for(lambda: log_has(tmp_path / "node.log", "up") or log_has(tmp_path / "node.log", "child"))
    assert process_guard.marked_processes(marker)
    supervisor.kill()
    supervisor.wait()
    assert wait_for(lambda: not process_guard.marked_processes(marker))
    supervisor.stdout.close()


def test_log_follower_gives_each_complete_line_once(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    follower = LogFollower({"a": log})
    assert follower.new_lines() == []
    log.write_text("one\ntw")
    assert follower.new_lines() == [("a", "one")]
    with open(log, "a") as file:
        file.write("o\n")
    assert follower.new_lines() == [("a", "two")]
    follower.close()


def test_the_kitchens_of_the_bring_up_are_those_of_the_simulator() -> None:
    layouts = pytest.importorskip("graph_planner_ros.sim.layouts")
    assert set(bringup.LAYOUTS) == set(layouts.LAYOUTS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("layout", "nowhere"), ("engine", "lama"), ("seed", "-1"), ("seed", "1.5"), ("seed", "")),
        *(("real_time_factor", "-2"), ("real_time_factor", "nan"), ("real_time_factor", "inf"), ("sim", "gazebo")),
    ],
)
def test_a_value_that_no_node_could_use_is_refused_before_anything_starts(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"argument {name}:={value}"):
        bringup.check_arguments({name: value})


def test_text_worlds_are_planned_for_as_their_benchmarks_are() -> None:
    from graph_planner_ros.benchmarks.worlds.options import BEAM, AgentOptions

    shared = yaml.safe_load((Path(__file__).parents[1] / "config/params/text_worlds.yaml").read_text())
    planner, options = shared["/**/planner"]["ros__parameters"], AgentOptions()
    assert (planner["beam"], planner["max_states"], planner["max_failures"], planner["planning_timeout"]) == (
        *(BEAM, options.states, options.max_failures, options.timeout),
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"planner": "llm"}, "name of a model"),
        ({"planner": "llm_actions", "model": "m", "model_endpoint": "no address"}, "endpoint"),
        ({"model_places": "true", "model_backend": "transformers", "model": "m"}, "extra transformers"),
        ({"planner": "llm", "model_backend": "llama_cpp"}, "extra local_llm"),
    ],
)
def test_a_model_that_cannot_be_asked_is_told_before_anything_starts(
    given: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelUnavailableError, match=said):
        bringup.check_model(bringup.check_arguments(given))


def test_without_a_model_none_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    bringup.check_model(bringup.check_arguments({}))
