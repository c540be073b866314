"""What people see of a task in the terminal: the plan as it evolves, progress, and the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

import graph_planner_ros.msg as messages
from graph_planner_ros.nodes.client import TaskReport, task_status
from graph_planner_ros.planning.result import TaskStatus


class TaskPrinter:
    """Prints each message of a task once, in a line or a few."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._task = ""
        self._rest: Sequence[str] = ()

    def show(self, message: Any) -> None:
        """Print what is new in a Plan, SubtaskCompleted or ActionFailure; other messages are left out."""
        if isinstance(message, messages.Plan):
            self._show_plan(message)
        elif isinstance(message, messages.SubtaskCompleted):
            tries = f" (attempt {message.attempts})" if message.attempts > 1 else ""
            self.console.print(f"  [green]done[/green]    {escape(message.subtask.text)}{tries}")
        elif isinstance(message, messages.ActionFailure):
            self.console.print(
                f"  [red]failed[/red]  {escape(message.subtask.text)}: {escape(message.reason)}", soft_wrap=True
            )

    def _show_plan(self, plan: messages.Plan) -> None:
        if plan.status != messages.Plan.ACTIVE:
            return
        new_task = plan.task_id != self._task
        rest = [subtask.text for subtask in plan.subtasks[plan.next :]]
        expected = list(self._rest)
        self._rest = rest
        self._task = plan.task_id
        if not new_task and (rest == expected or rest == expected[1:]):
            return  # the rest of the plan goes on as it was
        if new_task:
            self.console.print(f"[bold]goal[/bold] {escape(plan.goal)}", soft_wrap=True)
        title = "plan" if new_task else "new plan"
        said = [text for text in (_how_made(plan), escape(plan.reason)) if text]
        self.console.print(f"[bold]{title}[/bold] {': '.join(said)}".rstrip(), soft_wrap=True)
        for number, text in enumerate(rest, 1):
            self.console.print(f"  {number:2d}. {escape(text)}")


def _how_made(plan: messages.Plan) -> str:
    """Return who made a plan, how fast and at what cost; empty for a plan that no engine made."""
    if not plan.engine:
        return ""
    return f"{escape(plan.engine)}, {1000 * plan.planning_time:.0f} ms, cost {plan.cost:.1f}"


def print_outcome(console: Console, report: TaskReport) -> None:
    """Print how a task ended and, if the instruction was not understood, what could be said instead."""
    color = "green" if report.succeeded else "red"
    name = report.status.name.lower().replace("_", " ")
    console.print(f"[bold {color}]{name}[/bold {color}] {escape(report.reason)}")
    console.print(
        f"{report.steps} steps, {report.replans} replans, planning {report.planning_time:.2f} s, "
        f"{report.duration:.1f} s of robot time, {report.wall_time:.1f} s in all"
    )
    if report.not_understood:
        console.print(f"not understood: {escape(', '.join(report.not_understood))}")
    for suggestion in report.suggestions:
        console.print(f"  you could say: {escape(suggestion)}")


def print_planned(console: Console, answer: Any) -> int:
    """Print the answer of the service plan_task and return the exit code of the command."""
    status = task_status(answer.status)
    if status is TaskStatus.ALREADY_SATISFIED:
        if answer.plan.goal:
            console.print(f"[bold]goal[/bold] {escape(answer.plan.goal)}", soft_wrap=True)
        console.print(f"[green]already satisfied[/green] {escape(answer.reason)}")
        return 0
    if status is not TaskStatus.SUCCEEDED:
        console.print(f"[red]{status.name.lower().replace('_', ' ')}[/red] {escape(answer.reason)}")
        return 2 if status is TaskStatus.INSTRUCTION_NOT_UNDERSTOOD else 1
    plan = answer.plan
    console.print(f"[bold]goal[/bold] {escape(plan.goal)}", soft_wrap=True)
    console.print(f"[bold]plan[/bold] {_how_made(plan)}".rstrip())
    for number, subtask in enumerate(plan.subtasks, 1):
        console.print(f"  {number:2d}. {escape(subtask.text)}")
    if answer.reason:
        console.print(escape(answer.reason))
    if not answer.trace.valid and answer.trace.reason:
        console.print(f"[red]the verifier objects[/red] {escape(answer.trace.reason)}")
    return 0


def exit_code(report: TaskReport) -> int:
    """Return the exit code of a command for what came of a task, as the command line's help explains it."""
    if report.succeeded:
        return 0
    special = {
        TaskStatus.INSTRUCTION_NOT_UNDERSTOOD: 2,
        TaskStatus.NODE_LOST: 3,
        TaskStatus.CANCELLED: 130,
    }
    return special.get(report.status, 1)
