"""``graph-planner memory``: what is in an experience bank, in and out of it, and the encoder that its vectors are from.

Exit codes: 0 done; 1 the bank is damaged, or something was left out; 2 wrong usage, wrong files, or a bank that does
not fit; 3 something is not installed; 130 stopped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from graph_planner_ros.commands import memory_collect, memory_reasoning, memory_training
from graph_planner_ros.console import Terminal, errors, fail, table, writable

if TYPE_CHECKING:
    from graph_planner_ros.domain.domain import Domain
    from graph_planner_ros.memory.bank_reports import AddReport
    from graph_planner_ros.memory.experience import EpisodeHeader, SceneEncoder

app = typer.Typer(help="The memory of past episodes: its bank, its encoder, its use.", no_args_is_help=True)
app.add_typer(memory_collect.app, name="collect")
app.registered_commands.extend(memory_training.app.registered_commands)
app.registered_commands.extend(memory_reasoning.app.registered_commands)
console = Terminal(highlight=False)

Bank = Annotated[Path, typer.Argument(help="File of the bank (SQLite).")]
Model = Annotated[Path | None, typer.Option(help="Encoder to embed scenes with; without it the one that is shipped.")]
DomainName = Annotated[str, typer.Option(help="Folder of config/domains, or a path; empty: whatever the bank has.")]
Limit = Annotated[int, typer.Option(help="Steps that the bank may hold; docs/memory.md says what goes.", min=1)]
LIMIT_STEPS = 200_000


@app.command()
def stats(
    bank: Bank,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    check: Annotated[bool, typer.Option(help="Read the whole bank and say what is damaged.")] = False,
) -> None:
    """Say what is in a bank."""
    from graph_planner_ros.memory.bank import ExperienceBank
    from graph_planner_ros.memory.bank_files import check_bank

    with _errors():
        with ExperienceBank.open(bank, None, None, read_only=True) as opened:
            found = opened.stats()
        damage = check_bank(bank) if check else []
    if as_json:
        # not the console, which breaks lines at the width of the terminal, and long paths with them
        typer.echo(json.dumps({**found.as_json(), "damage": damage if check else None}, indent=2))
    else:
        episodes = ", ".join(f"{count} {status}" for status, count in found.episodes.items()) or "none"
        rows = [
            ("episodes", episodes),
            ("steps", str(found.steps)),
            ("origins, layouts", f"{found.origins}, {found.layouts}"),
            ("domain", f"{found.domain or 'not decided yet'} {found.domain_hash}"),
            ("vectors", f"dimension {found.dimension}, model {found.model_hash}"),
            ("on disk", f"{found.bytes / 1e6:.1f} MB, index file {found.index_bytes / 1e6:.1f} MB"),
            ("format", str(found.format)),
        ]
        console.print(table(escape(str(bank)), ("what", "value"), rows))
        if check:
            console.print("\n".join(map(escape, damage)) if damage else "nothing is damaged", soft_wrap=True)
    raise typer.Exit(1 if damage else 0)


@app.command("export")
def export_command(
    bank: Bank,
    out: Annotated[
        Path,
        typer.Argument(callback=writable, help="New file of episodes (JSON lines; gzipped if its name ends in .gz)."),
    ],
    damaged: Annotated[bool, typer.Option("--damaged", help="Write what can still be read of a damaged bank.")] = False,
) -> None:
    """Write the episodes of a bank to a file."""
    from graph_planner_ros.memory.bank import ExperienceBank
    from graph_planner_ros.memory.bank_files import export_damaged, export_episodes

    with _errors():
        if damaged:
            salvage = export_damaged(bank, out, _progress("written"))
            console.print(f"{out}: {salvage.written} episodes", markup=False, soft_wrap=True)
            for reason in salvage.lost:
                errors.print(f"lost: {reason}", markup=False, soft_wrap=True)
            raise typer.Exit(1 if salvage.lost else 0)
        with ExperienceBank.open(bank, None, None, read_only=True) as opened:
            count = export_episodes(opened, out, progress=_progress("written"))
    console.print(f"{out}: {count} episodes", markup=False, soft_wrap=True)


@app.command("import")
def import_command(
    bank: Bank,
    files: Annotated[list[Path], typer.Argument(help="Files of episodes that `collect` or `export` made.")],
    domain: DomainName = "",
    model: Model = None,
    limit: Limit = LIMIT_STEPS,
) -> None:
    """Add episodes of files to a bank, which is made if it is not there; those that it has already are left out."""
    from graph_planner_ros.memory.bank import ExperienceBank
    from graph_planner_ros.memory.bank_files import check_files, import_episodes
    from graph_planner_ros.memory.episode_files import domain_hash

    with _errors():
        loaded = _domain(domain)
        checked = check_files(files)
        if loaded is not None:
            checked.check(loaded.name, domain_hash(loaded))
        with ExperienceBank.open(bank, loaded, _encoder(model), limit_steps=limit) as opened:
            report = import_episodes(opened, files, _progress("read"), checked)
            opened.warm_up()
    raise typer.Exit(1 if _show_report(bank, report) else 0)


@app.command()
def merge(
    bank: Bank,
    others: Annotated[list[Path], typer.Argument(help="Banks of other robots; they are only read.")],
    model: Model = None,
    limit: Limit = LIMIT_STEPS,
) -> None:
    """Add the episodes of other banks of the same domain; those that are there already are left out."""
    from graph_planner_ros.memory.bank import ExperienceBank
    from graph_planner_ros.memory.bank_session import check_same_domain

    left_out = False
    with _errors(), ExitStack() as stack:
        # All are looked at before the first one is added, and before a bank is made for them.
        sources = [stack.enter_context(ExperienceBank.open(other, None, None, read_only=True)) for other in others]
        for source in sources[1:]:
            check_same_domain(sources[0], source)
        opened = stack.enter_context(ExperienceBank.open(bank, None, _encoder(model), limit_steps=limit))
        for source in sources:
            check_same_domain(opened, source)
        for source in sources:
            report = opened.merge(source, _progress("read"))
            left_out = _show_report(source.path, report) or left_out
        opened.warm_up()
    raise typer.Exit(1 if left_out else 0)


@app.command()
def delete(
    bank: Bank,
    episode: Annotated[list[str] | None, typer.Option(help="Id of an episode; may be repeated.")] = None,
    origin: Annotated[str, typer.Option(help="All episodes of this origin.")] = "",
    layout: Annotated[str, typer.Option(help="All episodes of this layout.")] = "",
    status: Annotated[str, typer.Option(help="All that are succeeded, failed or interrupted.")] = "",
    before: Annotated[str, typer.Option(help="All that began before this day, UTC (YYYY-MM-DD).")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete the episodes of which everything holds that is asked for."""
    from graph_planner_ros.memory.bank import ExperienceBank
    from graph_planner_ros.memory.experience import EpisodeStatus

    if not (episode or origin or layout or status or before):
        raise fail("say which episodes: --episode, --origin, --layout, --status or --before", 2)
    allowed = [value.value for value in EpisodeStatus if value is not EpisodeStatus.RUNNING]
    if status and status not in allowed:
        raise fail(f"--status: expected {', '.join(allowed)}, found {status!r}", 2)
    moment = _day(before)

    def applies(header: EpisodeHeader) -> bool:
        return (
            header.status is not EpisodeStatus.RUNNING
            and (not episode or header.episode_id in episode)
            and (not origin or header.origin == origin)
            and (not layout or header.layout == layout)
            and (not status or header.status.value == status)
            and (moment is None or header.started < moment)
        )

    if not bank.is_file():
        raise fail(f"{bank}: there is no such bank", 2)
    with _errors(), ExperienceBank.open(bank, None, None) as opened:
        headers = opened.headers()
        unknown = sorted(set(episode or ()) - {header.episode_id for header in headers})
        if unknown:
            raise fail(f"there are no episodes with these ids: {', '.join(unknown)}", 2)
        chosen = [header.episode_id for header in headers if applies(header)]
        if not yes and chosen and not typer.confirm(f"delete {len(chosen)} of {len(headers)} episodes?"):
            raise typer.Exit(130)
        steps = opened.delete(chosen)
    console.print(f"{bank}: {len(chosen)} episodes with {steps} steps deleted", markup=False, soft_wrap=True)


@app.command()
def rebuild(
    bank: Bank,
    domain: Annotated[str, typer.Option(help="Domain whose changed files the episodes are checked against.")] = "",
    model: Model = None,
) -> None:
    """Embed all scenes of a bank anew, with the present encoder, and make its index anew."""
    from graph_planner_ros.memory.bank import ExperienceBank
    from graph_planner_ros.memory.bank_rebuild import rebuild_bank

    def show(done: int, total: int) -> None:
        errors.print(f"{done} of {total} steps", end="\r" if errors.is_terminal else "\n")

    with _errors():
        loaded, encoder = _domain(domain), _encoder(model)
        rebuilt = rebuild_bank(bank, loaded, encoder, show)
        limit = max(LIMIT_STEPS, rebuilt.steps)
        with ExperienceBank.open(bank, loaded, encoder, limit_steps=limit) as opened:
            opened.warm_up()
    before, after = rebuilt.before, rebuilt.after
    console.print(f"{bank}: {rebuilt.steps} steps embedded", markup=False, soft_wrap=True)
    for what, old, new in (
        ("dimension", before.dimension, after.dimension),
        ("model", before.model_hash, after.model_hash),
        ("domain hash", before.domain_hash, after.domain_hash),
    ):
        console.print(f"  {what}: {old} -> {new}" if old != new else f"  {what}: {old}", markup=False)


def _encoder(path: Path | None) -> SceneEncoder:
    from graph_planner_ros.memory.encoder import load_encoder

    return load_encoder(path)


def _domain(name: str) -> Domain | None:
    from graph_planner_ros.domain.domain import load_domain

    return load_domain(name) if name else None


def _day(text: str) -> float | None:
    if not text:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        raise fail(f"--before: expected a day like 2026-01-31, found {text!r}", 2) from None


def _show_report(source: Path, report: AddReport) -> bool:
    """Say what came of adding episodes; return whether some were left out that should have come."""
    parts = [f"{report.added} episodes with {report.steps} steps added"]
    parts += [f"{report.duplicates} were there already"] if report.duplicates else []
    parts += [f"{report.running} are still being written and were left out"] if report.running else []
    parts += [f"{report.forgotten} had to go because of the limit"] if report.forgotten else []
    console.print(f"{source}: {', '.join(parts)}", markup=False, soft_wrap=True)
    for name in report.conflicts:
        errors.print(f"left out: another episode with the id {name} is in the bank", markup=False, soft_wrap=True)
    for reason in report.unreadable:
        errors.print(f"left out: {reason}", markup=False, soft_wrap=True)
    return bool(report.conflicts or report.unreadable)


def _progress(what: str) -> Callable[[int], None]:
    def show(count: int) -> None:
        if count % 100 == 0:
            errors.print(f"{count} episodes {what}", end="\r" if errors.is_terminal else "\n")

    return show


@contextmanager
def _errors() -> Iterator[None]:
    """Turn what can go wrong into an error message and an exit code."""
    from graph_planner_ros.memory.bank_errors import BankError
    from graph_planner_ros.memory.encoder import EncoderMissingError

    try:
        yield
    except EncoderMissingError as error:
        raise fail(error, 3) from None
    except (BankError, ValueError, OSError) as error:
        raise fail(error, 2) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
