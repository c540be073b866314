"""What the commands do that start a system or talk to one. The command line itself is in `cli`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from graph_planner_ros import bringup
from graph_planner_ros.benchmarks.kitchen import Judge
from graph_planner_ros.benchmarks.worlds.game import WorldUnavailableError
from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.language.models import ModelUnavailableError
from graph_planner_ros.msg import TextObservation
from graph_planner_ros.nodes.client import TaskClient, TaskReport
from graph_planner_ros.srv import Disturb, PlanTask, StartGame
from graph_planner_ros.supervisor import LogFollower, ProcessEvent, Supervisor
from graph_planner_ros.system import System, in_run_directory, new_run_directory, reserve_domain
from graph_planner_ros.terminal import TaskPrinter, exit_code, print_outcome

Stop = Callable[[], bool]
RUNNING = TextObservation.RUNNING
STATUS_WORDS = {
    RUNNING: "running",
    TextObservation.WON: "won",
    TextObservation.LOST: "lost",
    TextObservation.CRASHED: "crashed",
}
START_GAME_TIMEOUT = 600.0
"""Longest wait [s of wall time] for a game to begin: an engine may translate and ground it first."""


def report_as_json(report: TaskReport) -> dict[str, Any]:
    """Return a report's figures and the plans as they followed one another."""
    return {
        "success": report.succeeded,
        "status": report.status.name.lower(),
        "reason": report.reason,
        "instruction": report.instruction,
        "steps": report.steps,
        "replans": report.replans,
        "planning_time": report.planning_time,
        "duration": report.duration,
        "not_understood": list(report.not_understood),
        "suggestions": list(report.suggestions),
        "history": [{"subtask": text, "success": success} for text, success in report.history],
        "failures": list(report.failures),
        "plans": [
            {
                "revision": plan.revision,
                "reason": plan.reason,
                "engine": plan.engine,
                "planning_time": plan.planning_time,
                "cost": plan.cost,
                "next": plan.next,
                "subtasks": [subtask.text for subtask in plan.subtasks],
            }
            for plan in report.plans
        ],
    }


def run_until_stopped(console: Console, arguments: Mapping[str, str], runs: Path, stop: Stop) -> int:
    """Run the system in the foreground with its output on the terminal; 3 if a node could not be kept alive."""
    refused = _refuse(console, arguments)
    if refused:
        return refused[1]
    directory = new_run_directory(runs, "up")
    values = in_run_directory(arguments, directory)

    def tell(event: ProcessEvent) -> None:
        console.print(f"[bold]{event.name}[/bold] {event.kind.replace('_', ' ')}: {escape(event.text)}")

    supervisor = Supervisor(bringup.processes(values, directory), directory / "logs", tell)
    follower = LogFollower(supervisor.logs())
    console.print(f"run directory {directory}")

    def ended() -> bool:
        return stop() or bool(supervisor.failure())

    with supervisor:
        with TaskClient(values["namespace"]) as client:
            while not ended() and client.missing():
                _print_lines(console, follower)
                client.spin(0.1)
            domain_id = client.context.get_domain_id()
        if not ended():
            console.print(f'[green]ready[/green] in ROS domain {domain_id}: graph-planner send "..."')
        while not ended():
            _print_lines(console, follower)
            time.sleep(0.1)
        failure = supervisor.failure()
    _print_lines(console, follower)
    follower.close()
    if failure:
        console.print(f"[red]error[/red] {escape(failure)}")
        return 3
    return 0


def _refuse(console: Console, arguments: Mapping[str, str]) -> tuple[str, int] | None:
    """Say why the world or the model of the arguments cannot be used, if so; return the sentence and the exit code.

    3: it is not installed; 2: there is no such game.
    """
    try:
        bringup.check_world(arguments)
        bringup.check_model(arguments)
    except (WorldUnavailableError, ModelUnavailableError, ValueError, OSError) as error:
        console.print(f"[red]error[/red] {escape(str(error))}", soft_wrap=True)
        return str(error), 3 if isinstance(error, WorldUnavailableError | ModelUnavailableError) else 2
    return None


def _print_lines(console: Console, follower: LogFollower) -> None:
    for name, line in follower.new_lines():
        console.print(f"[dim]{name:>13}[/dim] {escape(line)}", soft_wrap=True)


def call_plan_task(instruction: str, namespace: str, wait: float, stop: Stop) -> Any:
    """Return the answer of the service plan_task, or a sentence why there is none."""
    return _call(PlanTask, "plan_task", PlanTask.Request(instruction=instruction), namespace, wait, stop)


def call_disturb(kind: str, target: str, namespace: str, wait: float, stop: Stop) -> Any:
    """Return the answer of the service disturb, or a sentence why there is none."""
    return _call(Disturb, "disturb", Disturb.Request(kind=kind, target=target), namespace, wait, stop)


def call_start_game(game: str, namespace: str, wait: float, stop: Stop) -> Any:
    """Return the answer of the service start_game, or a sentence why there is none."""
    return _call(StartGame, "start_game", StartGame.Request(game=game), namespace, wait, stop, START_GAME_TIMEOUT)


def _call(
    service: Any, name: str, request: Any, namespace: str, wait: float, stop: Stop, timeout: float = 120.0
) -> Any:
    with TaskClient(namespace) as client:
        caller = client.node.create_client(service, name)
        full_name = client.node.resolve_service_name(name)
        if not client.spin_until(caller.service_is_ready, wait, stop):
            return f"nobody offers the service {full_name}. Is the system up (graph-planner up)?"
        future = caller.call_async(request)
        if not client.spin_until(future.done, timeout, stop):
            return f"the service {full_name} did not answer"
        return future.result()


def run_demo(
    console: Console, instruction: str, arguments: Mapping[str, str], timeout: float, runs: Path, stop: Stop
) -> tuple[dict[str, Any], int]:
    """Start everything, carry out one instruction, end everything; return the result for JSON and the exit code.

    The code is 0 only if the simulator's ground truth, or the text world itself, agrees that the goal holds.
    """
    refused = _refuse(console, arguments)
    if refused:
        return {"success": False, "status": "node_lost", "reason": refused[0]}, refused[1]
    start = time.monotonic()
    talks = arguments["sim"] in bringup.TEXT_WORLDS
    directory = new_run_directory(runs, instruction or arguments["sim"])
    console.print(f"[bold]instruction[/bold] {escape(instruction or 'the goal of the game')}")
    with reserve_domain() as domain_id:
        system = System(arguments, directory, domain_id, _teller(console), TaskPrinter(console).show)
        with system:
            missing = system.wait_ready(START_GAME_TIMEOUT if talks else 60.0)
            ready = time.monotonic()
            if missing:
                report, verdict = None, (False, missing)
            else:
                console.print(f"system ready after {ready - start:.1f} s (ROS domain {domain_id})")
                report, verdict = _carry_out(system, instruction, timeout, stop)
            ended = time.monotonic()
    over = time.monotonic()
    bags = system.bags()
    content = report_as_json(report) if report is not None else {"status": "node_lost", "reason": missing}
    content |= {
        "success": verdict[0] and report is not None and report.succeeded,
        "ground_truth": {"goal_holds": verdict[0], "verdict": verdict[1]},
        "game": game_as_json(system.game) if talks else None,
        "layout": system.arguments["layout"],
        "seed": int(system.arguments["seed"]),
        "wall_time": {"start": ready - start, "task": ended - ready, "stop": over - ended, "total": over - start},
        "restarts": {name: system.supervisor.restarts(name) for name in system.supervisor.logs()},
        "run_directory": str(directory),
        "bag": str(bags[0]) if bags else "",
        "bags": [str(bag) for bag in bags],
    }
    if report is None:
        console.print(f"[red]error[/red] {escape(missing)}; see {directory / 'logs'}")
        return content, 3
    print_outcome(console, report)
    console.print(f"{'the world itself' if talks else 'ground truth'}: {escape(verdict[1])}")
    for bag in bags:
        console.print(f"[bold]bag[/bold] {bag}", soft_wrap=True)
    code = exit_code(report)
    return content, 1 if code == 0 and not verdict[0] else code


def _carry_out(system: System, instruction: str, timeout: float, stop: Stop) -> tuple[TaskReport, tuple[bool, str]]:
    if system.arguments["sim"] in bringup.TEXT_WORLDS:
        report = system.execute(instruction, timeout, stop)
        # what was said last may still be on its way when the task ends
        system.client.spin_until(lambda: system.game is not None and system.game.status != RUNNING, 2.0, stop)
        said = game_as_json(system.game)
        word = f"{said['status']}, {said['commands']} commands, score {said['score']:g}"
        if instruction.split() in ([], said["goal"].split()):
            return report, (said["status"] == "won", word)
        return report, (report.succeeded, f"{word}; it judges no goal but its own, so the belief is taken for it")
    try:
        judge = Judge.for_instruction(load_domain(system.arguments["domain"]), instruction)
    except ValueError as error:
        return system.execute(instruction, timeout, stop), (False, str(error))
    system.on_truth = judge.see
    report = system.execute(instruction, timeout, stop)
    return report, judge.verdict(system.newest_truth())


def game_as_json(said: Any) -> dict[str, Any]:
    """Return how a text world's game stands, from what it said last (a TextObservation; None: nothing)."""
    if said is None:
        return {"world": "", "name": "", "goal": "", "status": "unknown", "reason": "", "commands": 0, "score": 0.0}
    return {
        "world": said.world,
        "name": said.game,
        "goal": said.goal,
        "status": STATUS_WORDS.get(said.status, "unknown"),
        "reason": said.reason,
        "commands": said.step,
        "score": float(said.score),
    }


def _teller(console: Console) -> Callable[[ProcessEvent], None]:
    """Return a listener that prints what goes wrong with the processes and leaves out the rest."""

    def tell(event: ProcessEvent) -> None:
        if event.kind in ("ended", "restarting", "given_up"):
            console.print(f"[yellow]{event.name}[/yellow] {event.kind.replace('_', ' ')}: {escape(event.text)}")

    return tell
