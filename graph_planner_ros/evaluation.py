"""``graph-planner evaluate kitchen``: episodes through real processes, judged by the simulator's ground truth."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from graph_planner_ros import __version__, bringup
from graph_planner_ros.benchmarks.kitchen import (
    Episode,
    EpisodeRecord,
    Judge,
    load_evaluation,
    new_record,
    rate,
    run_episodes,
    summarize,
    write_report,
)
from graph_planner_ros.benchmarks.statistics import Interval
from graph_planner_ros.console import table
from graph_planner_ros.domain.domain import load_domain
from graph_planner_ros.system import System, new_run_directory, reserve_domain


@dataclass(frozen=True)
class EvaluationSettings:
    """What the command line says; see its help."""

    seeds: int
    first_seed: int
    tasks: tuple[str, ...]
    file: Path | None
    jobs: int
    speed: float
    engine: str
    timeout: float
    record: bool
    runs: Path
    json_file: Path | None


def evaluate_kitchen(console: Console, settings: EvaluationSettings, stop: Callable[[], bool]) -> int:
    """Run the evaluation, print the table, write the JSON; 130 if it was stopped, else 0."""
    episodes = load_evaluation(settings.file).episodes(settings.seeds, settings.tasks, settings.first_seed)
    bringup.check_arguments({"engine": settings.engine, "real_time_factor": str(settings.speed)})
    domain = load_domain("household")
    for episode in episodes:
        Judge.for_instruction(domain, episode.task.instruction)  # refuse what cannot be judged before an hour is spent
    directory = new_run_directory(settings.runs, "evaluate_kitchen")
    console.print(f"{len(episodes)} episodes, {settings.jobs} at a time; logs and bags in {directory}")
    records: list[EpisodeRecord] = []
    start = time.monotonic()

    def run(episode: Episode) -> EpisodeRecord:
        record = None if stop() else run_episode(episode, settings, directory / episode.name, stop)
        if record is None or stop():
            raise InterruptedError("the evaluation was stopped")
        return record

    def tell(record: EpisodeRecord) -> None:
        records.append(record)
        mark = "[green]success[/green]" if record.success else "[red]failure[/red]"
        detail = record.verdict if record.status == "succeeded" else f"{record.status}: {record.reason}"
        console.print(
            f"{len(records):3d}/{len(episodes)} {mark} {record.task} {record.layout} {record.seed} "
            f"{record.steps} steps, {record.replans} replans, {record.wall_time:.0f} s  {escape(detail)}",
            soft_wrap=True,
        )
        _save(settings, records, start)

    run_episodes(episodes, run, settings.jobs, tell)
    print_summary(console, records, time.monotonic() - start)
    return 130 if stop() else 0


def run_episode(
    episode: Episode, settings: EvaluationSettings, directory: Path, stop: Callable[[], bool]
) -> EpisodeRecord:
    """Run one episode in processes of its own and on a ROS domain of its own."""
    record = new_record(episode)
    arguments = {
        "layout": episode.layout,
        "seed": str(episode.seed),
        "real_time_factor": str(settings.speed),
        "engine": settings.engine,
        "record": "true" if settings.record else "false",
        "disturbances": json.dumps(list(episode.task.disturbances)) if episode.task.disturbances else "",
    }
    start = time.monotonic()
    with reserve_domain() as domain_id:
        system = System(arguments, directory, domain_id)
        with system:
            missing = system.wait_ready()
            if missing:
                record.status, record.reason, record.verdict = "node_lost", missing, "not carried out"
                return record
            judge = Judge.for_instruction(load_domain(system.arguments["domain"]), episode.task.instruction)
            system.on_truth = judge.see
            report = system.execute(episode.task.instruction, settings.timeout, stop)
            record.success, record.verdict = judge.verdict(system.newest_truth())
    record.status, record.reason = report.status.name.lower(), report.reason
    record.steps, record.replans = report.steps, report.replans
    record.planning_time, record.duration = report.planning_time, report.duration
    record.step_times = [plan.planning_time for plan in report.plans if plan.planning_time > 0]
    record.replan_times = [
        plan.planning_time for plan in report.plans if plan.decision == plan.REPLACED and plan.planning_time > 0
    ]
    record.happened = list(system.disturbances)
    record.failures = report.failures
    record.bag = str(next(iter(system.bags()), ""))
    record.wall_time = time.monotonic() - start
    return record


def print_summary(console: Console, records: list[EpisodeRecord], wall_time: float) -> None:
    """Print the tables and figures of an evaluation."""
    names = list(dict.fromkeys(record.task for record in records))
    rows = []
    for name in names:
        group = [record for record in records if record.task == name]
        kinds = "yes" if group[0].disturbed else "no"
        steps = sum(record.steps for record in group) / len(group)
        replans = sum(record.replans for record in group) / len(group)
        rows.append((name, group[0].instruction, kinds, _rate_text(rate(group)), f"{steps:.1f}", f"{replans:.1f}"))
    for title, group in (
        ("undisturbed", [record for record in records if not record.disturbed]),
        ("disturbed", [record for record in records if record.disturbed]),
        ("all", records),
    ):
        rows.append((title, "", "", _rate_text(rate(group)), "", ""))
    columns = ("task", "instruction", "disturbed", "success (95 % interval)", "steps", "replans")
    console.print(table("evaluation in the kitchen", columns, rows))
    figures = summarize(records)
    for what in ("step", "replan"):
        time_taken = figures[f"planning_time_per_{what}"]
        if time_taken["count"]:
            console.print(
                f"planning time a {what}: median {1000 * time_taken['estimate']:.1f} ms "
                f"({1000 * time_taken['low']:.1f} to {1000 * time_taken['high']:.1f}, n = {time_taken['count']})"
            )
    console.print(
        f"disturbed episodes in which the disturbance had no occasion to happen: {figures['undisturbed_after_all']}"
    )
    console.print(
        f"reported as done but not true: {figures['claimed_but_false']} of {len(records)}; "
        f"{wall_time / 60:.1f} min for {figures['simulated_time'] / 60:.1f} min of robot time"
    )


def _rate_text(interval: Interval) -> str:
    if interval.count == 0:
        return "-"
    successes = round(interval.estimate * interval.count)
    return f"{successes}/{interval.count} = {interval.estimate:.0%} ({interval.low:.0%} to {interval.high:.0%})"


def _save(settings: EvaluationSettings, records: list[EpisodeRecord], start: float) -> None:
    """Write what there is so far, so that an evaluation that is stopped has not been in vain."""
    if settings.json_file is not None:
        facts = {
            "version": __version__,
            "seeds": settings.seeds,
            "first_seed": settings.first_seed,
            "jobs": settings.jobs,
            "speed": settings.speed,
            "engine": settings.engine,
            "wall_time": time.monotonic() - start,
        }
        write_report(settings.json_file, records, facts)
