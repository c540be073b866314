"""``graph-planner memory loops``, ``retrieval`` and ``transitions``: how well reasoning with memory works."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from graph_planner_ros.console import Terminal, errors, fail, finite, writable
from graph_planner_ros.domain.files import write_atomically

if TYPE_CHECKING:
    from graph_planner_ros.benchmarks.statistics import Interval
    from graph_planner_ros.memory.experience import Episode, SceneEncoder

app = typer.Typer(help="Measure reasoning with memory.", no_args_is_help=True)
console = Terminal(highlight=False)

SHIPPED = "shipped"
TRIPLES = "triples"

Encoder = Annotated[str, typer.Option(help=f"{SHIPPED}: the trained graph encoder; {TRIPLES}: a bag of triples.")]
Bank = Annotated[list[Path], typer.Option("--bank", help="File of episodes to remember; may be given several times.")]
HeldOut = Annotated[
    list[Path], typer.Option("--held-out", help="File of episodes to be predicted; may be given several times.")
]
Limit = Annotated[int, typer.Option(help="At most so many held-out episodes, evenly spread; 0: all.", min=0)]
JsonFile = Annotated[
    Path | None, typer.Option("--json", callback=writable, help="Write the results to this file as JSON.")
]


@app.command("loops")
def loops(
    data: Annotated[list[Path], typer.Option("--data", help="File of episodes; may be given several times.")],
    encoder: Encoder = SHIPPED,
    threshold: Annotated[
        float | None, typer.Option(callback=finite, help="Cosine distance up to which scenes may be the same.")
    ] = None,
    per_episode: Annotated[int, typer.Option(help="Cycles of each length planted in each episode.", min=1)] = 1,
    seed: Annotated[int, typer.Option(help="Of the places and the cycles.")] = 0,
    limit: Limit = 0,
    json_file: JsonFile = None,
) -> None:
    """Plant cycles of length 1 to 6 in solved episodes, and count what loop detection finds and invents."""
    from graph_planner_ros.benchmarks.memory_loops import LENGTHS, measure_loops
    from graph_planner_ros.benchmarks.statistics import wilson
    from graph_planner_ros.memory.state_graph import LOOP_THRESHOLD

    made = _encoder(encoder)
    report = measure_loops(
        _thinned(_read(data), limit),
        _domain_of(),
        made,
        threshold=LOOP_THRESHOLD if threshold is None else threshold,
        per_episode=per_episode,
        seed=seed,
    )
    result: dict[str, Any] = {
        "false alarms, steps": _numbers(report.alarm_rate),
        "false alarms, episodes": _numbers(report.alarmed_rate),
        "of them after a failed action": report.harmless,
        "episodes left out": report.skipped,
        "lengths": {
            length: {
                "found when the first turn ends": _numbers(report.found(length, at_once=True)),
                "found within one more turn": _numbers(report.found(length)),
                "planted while something went on": report.planted[length].waiting,
                "found within one more turn after that": _numbers(
                    wilson(report.planted[length].after_waiting, report.planted[length].planted)
                ),
                "no cycle to plant": report.planted[length].impossible,
            }
            for length in LENGTHS
        },
        "alarms": report.examples,
    }
    console.print(f"{report.episodes} solved episodes, {report.steps} steps; {report.skipped} left out", soft_wrap=True)
    console.print(f"false alarms: {_percent(report.alarm_rate)} of steps, {_percent(report.alarmed_rate)} of episodes")
    for length in LENGTHS:
        at_once, later = report.found(length, at_once=True), report.found(length)
        console.print(
            f"planted cycles of length {length}: found when they close {_percent(at_once)}, "
            f"within one turn more {_percent(later)}"
            + (
                f"; {report.planted[length].waiting} were planted while something went on; with one turn after that "
                f"{report.planted[length].after_waiting} of {report.planted[length].planted}"
                if report.planted[length].waiting
                else ""
            ),
            soft_wrap=True,
        )
    for line in report.examples:
        console.print(escape(f"alarm: {line}"), soft_wrap=True)
    _write(json_file, result)


@app.command("retrieval")
def retrieval(
    bank: Bank,
    held_out: HeldOut,
    encoder: Encoder = SHIPPED,
    tau: Annotated[
        float, typer.Option(callback=finite, help="Cosine distance up to which experience fits.", min=0, max=2)
    ] = 0.1,
    bank_limit: Annotated[int, typer.Option(help="At most so many episodes to remember; 0: all.", min=0)] = 0,
    limit: Limit = 0,
    json_file: JsonFile = None,
) -> None:
    """Compare the first advice for every held-out step with what was done, and with other ways to find what is near."""
    from graph_planner_ros.benchmarks.memory_retrieval import measure_retrieval, standard_ways
    from graph_planner_ros.memory.sentences import SentencesMissingError

    made = _encoder(encoder)
    try:
        report = measure_retrieval(
            _thinned(_read(bank), bank_limit),
            _thinned(_read(held_out), limit),
            _domain_of(),
            standard_ways(made, tau),
            errors.print,
        )
    except SentencesMissingError as error:
        raise fail(error, 3) from None
    except ValueError as error:
        raise fail(error, 2) from None
    result: dict[str, Any] = {}
    for domain, ways in report.items():
        reference = list(ways.values())[1]
        for way, outcomes in ways.items():
            precision, gain = outcomes.rate(outcomes.correct), reference.gain(outcomes)
            classes, advised = outcomes.rate(outcomes.same_classes), outcomes.rate(outcomes.advised)
            console.print(
                f"{domain}, {way}: precision at 1 {_percent(precision)}; same action and classes {_percent(classes)}; "
                f"advised {_percent(advised)}, precision then {_percent(outcomes.precision_if_advised)}; "
                f"graph memory at any distance is better by {_percent(gain)}",
                soft_wrap=True,
            )
            result.setdefault(domain, {})[way] = {
                "precision at 1": _numbers(precision),
                "same action and classes": _numbers(classes),
                "advised": _numbers(advised),
                "precision where advised": _numbers(outcomes.precision_if_advised),
                "graph memory at any distance is better by": _numbers(gain),
            }
    _write(json_file, result)


@app.command("transitions")
def transitions(
    bank: Bank, held_out: HeldOut, encoder: Encoder = SHIPPED, limit: Limit = 0, json_file: JsonFile = None
) -> None:
    """Learn what actions change as if no domain told it, and predict the steps of held-out episodes."""
    from graph_planner_ros.benchmarks.memory_transitions import measure_transitions
    from graph_planner_ros.benchmarks.statistics import bootstrap, wilson

    report = measure_transitions(_read(bank), _thinned(_read(held_out), limit), _domain_of(), _encoder(encoder))
    result: dict[str, Any] = {}
    for domain, found in report.items():
        sure, right = found.sure()
        error, before = found.calibration_error
        rows = {
            "exact successors": found.accuracy,
            "if nothing ever changed": wilson(sum(found.still), len(found.still)),
            "by the domain's own effects": wilson(sum(found.told), len(found.told)),
            "confidence at least 0.8": sure,
            "exact among those": right,
        }
        distances = {
            "median distance of the predicted embedding": bootstrap(found.predicted_distance),
            "median distance of the old embedding": bootstrap(found.still_distance),
            "expected calibration error": error,
        }
        console.print(f"{domain}: learned from {found.learned_from} attempts", soft_wrap=True)
        for name, value in rows.items():
            console.print(f"  {name}: {_percent(value)}", soft_wrap=True)
        for name, value in distances.items():
            console.print(f"  {name}: {value.estimate:.3f} {escape(f'[{value.low:.3f}, {value.high:.3f}]')}")
        console.print(f"  calibration error before calibration: {before:.3f}; F1 of changes: {found.change_f1:.3f}")
        result[domain] = {
            **{name: _numbers(value) for name, value in (rows | distances).items()},
            "calibration error before calibration": before,
            "F1 of changes": found.change_f1,
            "learned from": found.learned_from,
        }
    _write(json_file, result)


def _encoder(name: str) -> SceneEncoder:
    from graph_planner_ros.memory.triple_encoder import TripleBagEncoder

    if name == TRIPLES:
        return TripleBagEncoder()
    if name != SHIPPED:
        raise typer.BadParameter(f"there is no encoder {name!r}; there are: {SHIPPED}, {TRIPLES}")
    from graph_planner_ros.memory.encoder import EncoderMissingError, load_encoder

    try:
        return load_encoder()
    except EncoderMissingError as error:
        raise fail(error, 3) from None


def _read(paths: Sequence[Path]) -> Iterator[Episode]:
    from graph_planner_ros.memory.episode_files import EpisodeFileError, read_episodes

    for path in paths:
        try:
            episodes = list(read_episodes(path))
        except EpisodeFileError as error:
            raise fail(error, 2) from None
        if not episodes:
            raise fail(f"{path} has no episodes", 2)
        yield from episodes


def _thinned(episodes: Iterable[Episode], limit: int) -> list[Episode]:
    found = list(episodes)
    return [found[round(k * len(found) / limit)] for k in range(limit)] if 0 < limit < len(found) else found


def _domain_of() -> Any:
    from graph_planner_ros.domain.domain import load_domain

    return lru_cache(maxsize=32)(load_domain)


def _percent(value: Interval) -> str:
    text = f"{100 * value.estimate:.1f} % [{100 * value.low:.1f}, {100 * value.high:.1f}], n = {value.count}"
    return escape(text)


def _numbers(value: Interval) -> dict[str, float | int]:
    return {"estimate": value.estimate, "low": value.low, "high": value.high, "n": value.count}


def _write(path: Path | None, content: dict[str, Any]) -> None:
    import json

    if path is not None:
        write_atomically(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    app()
