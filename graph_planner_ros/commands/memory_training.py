"""``graph-planner memory train``, ``evaluate`` and ``time``: the graph encoder, how good it is and how fast.

Exit codes: 0 done; 2 wrong usage or wrong files; 3 something is not installed; 130 stopped (what was learned is kept).
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graph_planner_ros.console import Terminal, errors, fail, finite, writable
from graph_planner_ros.domain.files import write_atomically

if TYPE_CHECKING:
    from graph_planner_ros.memory.encoder import OnnxSceneEncoder
    from graph_planner_ros.memory.experience import Episode
    from graph_planner_ros.memory.geometry import Geometry
    from graph_planner_ros.memory.training import Trainer, Trajectory

app = typer.Typer(help="Train and judge the graph encoder.", no_args_is_help=True)
console = Terminal(highlight=False)

TRAINING = (
    "training needs torch, torch-geometric, onnx and matplotlib ({error}): ./run extra training, or "
    "pip install -r requirements/training.txt"
)
TARGETS = {"adjacent": "< 0.1", "cross": "> 0.75", "auc": "> 0.98"}
NAMES = {
    "adjacent": "adjacent, median",
    "cross": "across, median",
    "auc": "same, ROC-AUC",
}

Data = Annotated[list[Path], typer.Option(help="File of episodes that `memory collect` made; may be repeated.")]
Model = Annotated[Path | None, typer.Option(help="Encoder to use; without it the one that is shipped.")]
Plot = Annotated[
    Path | None,
    typer.Option(callback=writable, help="Write a picture of the distances to this file (.png, .svg)."),
]


@app.command()
def train(
    data: Data,
    out: Annotated[Path, typer.Option(callback=writable, help="File for the encoder (.onnx).")],
    seed: Annotated[int, typer.Option(help="Of weights, of drawing and of what is held out.", min=0)] = 0,
    steps: Annotated[int, typer.Option(help="Most batches.", min=1)] = 1200,
    spread: Annotated[
        float, typer.Option(callback=finite, help="Weight of the uniformity term (lambda).", min=0.0)
    ] = 1.0,
    far: Annotated[
        float,
        typer.Option(
            callback=finite,
            help="Share of positives that are any step of the trajectory; 0: all adjacent.",
            min=0,
            max=1,
        ),
    ] = 0.5,
    held_out: Annotated[
        float, typer.Option(callback=finite, help="Share of the homes of each domain to hold out.", min=0.05, max=0.9)
    ] = 0.2,
    threads: Annotated[int, typer.Option(help="Processor threads.", min=1)] = 1,
    plot: Plot = None,
    golden: Annotated[
        Path | None,
        typer.Option(callback=writable, help="Write some scenes with torch's embeddings here, for tests."),
    ] = None,
) -> None:
    """Train the graph encoder on trajectories, on the processor, in minutes."""
    from graph_planner_ros.memory.features import FeatureMaker
    from graph_planner_ros.memory.sentences import SentenceEncoder, SentencesMissingError

    try:
        import torch

        from graph_planner_ros.memory.training import Trainer, TrainingOptions, trajectories_of
    except ImportError as error:
        raise fail(TRAINING.format(error=error), 3) from None
    torch.set_num_threads(threads)
    stop = console.stop_signal()
    try:
        episodes = _read(data)
        sentences = SentenceEncoder()
        options = TrainingOptions(seed, spread=spread, steps=steps, far=far, held_out=held_out)
        trainer = Trainer(trajectories_of(episodes), FeatureMaker(sentences), options)
        console.print(
            f"seed {seed}; {len(trainer.learned)} trajectories to learn from, {len(trainer.held_out)} held out, "
            "no home (layout and seed of the world) in both"
        )
        started = time.monotonic()
        best = _run(trainer, steps, stop)
        console.print(
            f"best after {best.step} batches: held-out loss {best.held_out:.4f}; {time.monotonic() - started:.0f} s"
        )
        _finish(trainer, sentences, data, out, plot, golden)
    except SentencesMissingError as error:
        raise fail(error, 3) from None
    except (ValueError, OSError) as error:
        raise fail(error, 2) from None
    if stop():
        raise typer.Exit(130)


@app.command()
def evaluate(
    data: Data,
    model: Model = None,
    rounds: Annotated[int, typer.Option(help="Resamples of trajectories for the intervals.", min=1)] = 1000,
    plot: Plot = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", callback=writable, help="Write the figures to this file as well.")
    ] = None,
) -> None:
    """Judge an encoder by unseen trajectories, domain by domain, with 95 % intervals over trajectories."""
    encoder = _load(model)
    try:
        groups = _embed(encoder, _read(data))
    except (ValueError, OSError) as error:
        raise fail(error, 2) from None
    rows: list[dict[str, Any]] = []
    geometries: dict[str, Geometry] = {}
    for (domain, subset), trajectories in groups.items():
        found, geometry = _figures(trajectories, rounds)
        rows.append({"domain": domain, "subset": subset, **found})
        if subset == "all":
            geometries[domain] = geometry
    _show(encoder, rows, geometries)
    try:
        if plot is not None:
            _plot(geometries, encoder.tau, plot)
        if json_file is not None:
            content = {"model_hash": encoder.model_hash, "tau": encoder.tau, "rows": rows}
            write_atomically(json_file, json.dumps(content, indent=2) + "\n")
    except OSError as error:
        raise fail(error, 2) from None


BATCHES = (1, 32, 256)


@app.command(name="time")
def measure_time(
    data: Data,
    model: Model = None,
    nodes: Annotated[int, typer.Option(help="Of scenes with about so many nodes.", min=1)] = 20,
    count: Annotated[int, typer.Option(help="Scenes.", min=1)] = 1000,
) -> None:
    """Measure how long an embedding takes, on one thread: one scene at a time, in batches, and all at once."""
    encoder = _load(model)
    try:
        scenes = [step.scene for episode in _read(data) for step in episode.steps]
        scenes = sorted(scenes, key=lambda scene: abs(len(scene.nodes) - nodes))[:count]
        started = time.perf_counter()
        encoder.encode(scenes[:1])
        first = time.perf_counter() - started
        sizes = [size for size in BATCHES if size < len(scenes)] + [len(scenes)]
        timed = {size: _time_batches(encoder, scenes, size) for size in sizes}
    except (ValueError, OSError) as error:
        raise fail(error, 2) from None
    middle_size = sorted(len(scene.nodes) for scene in scenes)[len(scenes) // 2]
    console.print(f"{len(scenes)} scenes with {middle_size} nodes; the very first took {1e3 * first:.0f} ms")
    for size, (median, slow, processor) in timed.items():
        console.print(
            f"batches of {size}: {median:.3f} ms a scene (median), p99 {slow:.3f} ms, processor {processor:.3f} ms; "
            f"{timed[sizes[0]][2] / processor:.1f} times as fast as one by one",
            soft_wrap=True,
        )


def _time_batches(encoder: OnnxSceneEncoder, scenes: Sequence[Any], size: int) -> tuple[float, float, float]:
    """Return milliseconds a scene in batches of a size: median and p99 over batches, and of the processor's time."""
    import numpy as np

    took, busy, done = [], time.process_time(), 0
    for start in range(0, len(scenes) - size + 1, size):
        started = time.perf_counter()
        encoder.encode(scenes[start : start + size])
        took.append(1e3 * (time.perf_counter() - started) / size)
        done += size
    median, slow = np.percentile(took, [50, 99])
    return float(median), float(slow), 1e3 * (time.process_time() - busy) / done


# -- training -------------------------------------------------------------------------------------------------------


def _run(trainer: Trainer, steps: int, stop: Callable[[], bool]) -> Any:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=errors, transient=True) as bar:
        task = bar.add_task("training", total=steps)

        def tell(look: Any) -> None:
            text = f"loss {look.training:.4f}, held out {look.held_out:.4f}{' *' if look.best else ''}"
            bar.update(task, completed=look.step, description=text)
            if not errors.is_terminal:
                errors.print(f"{look.step} of {steps}: {text}")

        return trainer.run(tell, stop)


def _finish(
    trainer: Trainer, sentences: Any, data: Sequence[Path], out: Path, plot: Path | None, golden: Path | None
) -> None:
    """Choose tau on what was held out, and write the encoder with all that is to be known of it."""
    from dataclasses import asdict

    from graph_planner_ros.memory.features import FORMAT
    from graph_planner_ros.memory.geometry import PAPER_TAU, choose_tau, figures, threshold_at
    from graph_planner_ros.memory.onnx_export import pack_vectors, save_onnx
    from graph_planner_ros.memory.training import data_hash

    geometries = _geometries(trainer, trainer.held_out)
    tau = choose_tau(list(geometries.values()))
    found = {name: asdict(figures(item)) for name, item in geometries.items()}
    for name, item in geometries.items():
        shares = [threshold_at(item, value) for value in (tau, PAPER_TAU)]
        found[name] |= {"trajectories": item.trajectories, "under_tau": [asdict(share) for share in shares]}
    information = {
        "format": FORMAT,
        "tau": tau,
        "command": shlex.join(("graph-planner", "memory", "train", *_after(sys.argv, "train"))),
        "seed": trainer.options.seed,
        "options": asdict(trainer.options),
        "data": [path.name for path in data],
        "data_hash": data_hash(path.read_bytes() for path in data),
        "trajectories": len(trainer.learned),
        "held_out": found,
        "homes": sorted({_home(item.domain, *item.home) for item in (*trainer.learned, *trainer.held_out)}),
        "text_vectors": pack_vectors(sentences.computed()),
    }
    save_onnx(trainer.model, out, information)
    if golden is not None:
        _write_golden(trainer, golden)
    if plot is not None:
        _plot(geometries, tau, plot)
    size = out.stat().st_size / 1024
    console.print(
        f"{out}: {size:.0f} KiB, data {information['data_hash']}; tau {tau:g} (paper {PAPER_TAU:g})", soft_wrap=True
    )
    for name, values in found.items():
        console.print(
            f"  {name}: {values['trajectories']} held-out trajectories: adjacent {values['adjacent']:.4f}, "
            f"cross {values['cross']:.3f}, AUC {values['auc']:.4f}"
        )


def _after(words: Sequence[str], word: str) -> Sequence[str]:
    return words[words.index(word) + 1 :] if word in words else ()


def _geometries(trainer: Trainer, trajectories: Sequence[Trajectory]) -> dict[str, Geometry]:
    from graph_planner_ros.memory.geometry import measure

    return {
        domain: measure([trainer.embed(item.scenes) for item in trajectories if item.domain == domain])
        for domain in sorted({item.domain for item in trajectories})
    }


def _write_golden(trainer: Trainer, path: Path) -> None:
    """Write the first and the last scene of one held-out trajectory of each domain with torch's embeddings."""
    from graph_planner_ros.scene.storage import graph_to_dict

    chosen = {item.domain: item for item in trainer.held_out}
    scenes = [scene for _, item in sorted(chosen.items()) for scene in (item.scenes[0], item.scenes[-1])]
    rows = [[round(float(value), 7) for value in row] for row in trainer.embed(scenes)]
    entries = [{"scene": graph_to_dict(scene), "embedding": row} for scene, row in zip(scenes, rows, strict=True)]
    write_atomically(path, json.dumps(entries, ensure_ascii=False) + "\n")


# -- figures --------------------------------------------------------------------------------------------------------


def _embed(encoder: OnnxSceneEncoder, episodes: Sequence[Episode]) -> dict[tuple[str, str], list[Any]]:
    """Return embeddings of trajectories by domain, of all and of those in homes that the encoder never saw."""
    known = set(encoder.information.get("homes", ()))
    groups: dict[tuple[str, str], list[Any]] = {}
    for episode in sorted((item for item in episodes if len(item.steps) > 1), key=lambda item: item.header.domain):
        header = episode.header
        rows = encoder.encode([step.scene for step in episode.steps])
        groups.setdefault((header.domain, "all"), []).append(rows)
        if _home(header.domain, header.layout, header.seed) not in known:
            groups.setdefault((header.domain, "unseen"), []).append(rows)
    whole = {domain: len(rows) for (domain, subset), rows in groups.items() if subset == "all"}
    return {key: rows for key, rows in groups.items() if key[1] == "all" or len(rows) < whole[key[0]]}


def _figures(trajectories: Sequence[Any], rounds: int) -> tuple[dict[str, Any], Geometry]:
    from dataclasses import astuple

    from graph_planner_ros.benchmarks.statistics import bootstrap_clusters
    from graph_planner_ros.memory.geometry import figures, measure

    geometry = measure(trajectories)
    value = figures(geometry)
    intervals = bootstrap_clusters(len(trajectories), lambda drawn: astuple(figures(geometry, drawn)), rounds=rounds)
    counts = {"adjacent": len(geometry.adjacent.distances), "cross": len(geometry.cross.distances)}
    counts["auc"] = len(geometry.same.distances)
    found = {
        name: {"value": getattr(value, name), "low": low, "high": high, "n": counts[name], "target": TARGETS[name]}
        for name, (low, high) in zip(("adjacent", "cross", "auc"), intervals, strict=True)
    }
    return {"trajectories": len(trajectories), "figures": found}, geometry


def _show(encoder: OnnxSceneEncoder, rows: Sequence[dict[str, Any]], geometries: dict[str, Geometry]) -> None:
    from graph_planner_ros.console import table
    from graph_planner_ros.memory.geometry import PAPER_TAU, threshold_at

    lines = []
    for row in rows:
        for number, (name, item) in enumerate(row["figures"].items()):
            first = (row["domain"], row["subset"], str(row["trajectories"])) if number == 0 else ("", "", "")
            interval = f"{item['low']:.3f} to {item['high']:.3f}"
            lines.append((*first, NAMES[name], f"{item['value']:.4f}", interval, str(item["n"]), item["target"]))
    columns = ("domain", "homes", "n", "figure", "value", "95 %", "pairs", "wanted")
    console.print(table(f"encoder {encoder.model_hash}, cosine distances, n trajectories", columns, lines))
    for tau in (encoder.tau, PAPER_TAU):
        for domain, geometry in geometries.items():
            share = threshold_at(geometry, tau)
            console.print(
                f"tau {tau:g}, {domain}: {100 * share.adjacent_share:.1f} % of adjacent pairs are nearer, "
                f"{100 * share.cross_share:.1f} % of pairs across trajectories"
            )


def _home(domain: str, layout: str, seed: int | None) -> str:
    import hashlib

    return hashlib.sha256(repr((domain, layout, seed)).encode()).hexdigest()[:10]


def _plot(geometries: dict[str, Geometry], tau: float, path: Path) -> None:
    try:
        from graph_planner_ros.memory.distance_plot import plot_distances

        plot_distances(geometries, tau, path)
    except ImportError as error:
        raise fail(TRAINING.format(error=error), 3) from None
    console.print(f"{path}: distances", soft_wrap=True)


def _read(paths: Sequence[Path]) -> list[Episode]:
    from graph_planner_ros.memory.episode_files import read_episodes

    episodes = [episode for path in paths for episode in read_episodes(path)]
    if not episodes:
        raise ValueError(f"there are no episodes in {', '.join(map(str, paths))}")
    return episodes


def _load(model: Path | None) -> OnnxSceneEncoder:
    from graph_planner_ros.memory.encoder import EncoderMissingError, load_encoder

    try:
        return load_encoder(model)
    except EncoderMissingError as error:
        raise fail(error, 3) from None


if __name__ == "__main__":
    app()
